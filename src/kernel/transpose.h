/*
 * transpose.h: moving elements without reading them: permuted dims, and blocks between strided
 * places. Element sizes 1, 2, 4 and 8 bytes. Work is cut by shape alone.
 */
#ifndef FR_KERNEL_TRANSPOSE_H
#define FR_KERNEL_TRANSPOSE_H

#include <frugal/tensor.h>
#include <stddef.h>
#include <stdint.h>

/** out = x with dim d of out being dim permutation[d] of x; both contiguous. */
void fr_transpose_run(const fr_tensor *x, const int64_t *permutation, void *out);

/** Copies n blocks of `bytes` bytes; block i from `from` + i * from_stride to `to` + i * to_stride.
 */
void fr_copy_blocks(const void *from, int64_t from_stride, void *to, int64_t to_stride,
                    int64_t bytes, int64_t n);

#endif
