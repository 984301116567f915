/*
 * reduce.h: sum, mean and maximum of a tensor over some of its dims, and the gradient of a maximum.
 *
 * Neighbouring dims that are both reduced or both kept are one group; a pass reduces the last
 * reduced group, [outer, n, inner] -> [outer, inner], until none is left. A long n is cut into at
 * most 32 pieces by shape alone, whose results are joined in order: the same bits with any number
 * of threads. A sum or mean of nothing is 0, a maximum of nothing -infinity; NaN wins a maximum.
 */
#ifndef FR_KERNEL_REDUCE_H
#define FR_KERNEL_REDUCE_H

#include <frugal/tensor.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fr_reduce {
    fr_dtype dtype; /* FR_F32 or FR_F64 */
    fr_reduction reduction;
    int n_groups;
    int64_t size[FR_MAX_RANK];
    bool reduced[FR_MAX_RANK];
} fr_reduce;

/** reduced[d] of each dim of x. */
fr_reduce fr_reduce_of(const fr_tensor *x, fr_reduction reduction, const bool *reduced);
/** Bytes of scratch. Monotone in each size. */
size_t fr_reduce_workspace(const fr_reduce *reduce);
void fr_reduce_run(const fr_reduce *reduce, const void *x, void *workspace, void *out);

/** dx = dy where x is the first element that is the maximum y of its group, else 0. y and dy are of
 * the kept dims. `workspace`: one byte per element of y. */
void fr_reduce_max_gradient_run(const fr_reduce *reduce, const void *x, const void *y,
                                const void *dy, void *workspace, void *dx);

#endif
