/*
 * dropout.h: dropout whose mask is a function of (seed, stream, element), never stored.
 *
 * out[i] = x[i] / (1 - ratio) where element i is kept, else 0. The gradient is the same map of dy,
 * so it is made by the same call. Which draw belongs to an element is fixed: elements go in blocks
 * of 128, which use 16 counters of 4 draws of 2 halves; with w = e / 2, element e of a block takes
 * draw w / 16 of counter w % 16 (so that 16 counters run side by side in vector registers), its lower half
 * where e is even.
 */
#ifndef FR_KERNEL_DROPOUT_H
#define FR_KERNEL_DROPOUT_H

#include <frugal/tensor.h>
#include <stdint.h>

typedef struct fr_dropout_mask {
    uint64_t seed, stream;
    double ratio; /* probability of 0, in [0, 1) */
} fr_dropout_mask;

/** out may be x. f32 or f64; both drop the same elements. */
void fr_dropout_run(const fr_dropout_mask *mask, fr_dtype dtype, int64_t n, const void *x,
                    void *out);

#endif
