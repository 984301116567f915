/*
 * softmax.h: softmax and log-softmax along one axis of a contiguous tensor, and their gradients.
 *
 * The tensor is seen as [outer, n, inner]; the axis is n. f32 (vectorised) and f64 (reference); the
 * same bits with any number of threads, as every row is one thread's.
 */
#ifndef FR_KERNEL_SOFTMAX_H
#define FR_KERNEL_SOFTMAX_H

#include <frugal/tensor.h>
#include <stdint.h>

typedef struct fr_softmax_shape {
    fr_dtype dtype; /* FR_F32 or FR_F64 */
    bool log;
    int64_t outer, n, inner;
} fr_softmax_shape;

/** y = exp(x - max) / sum exp(x - max), or its logarithm. x and y do not overlap. */
void fr_softmax_run(const fr_softmax_shape *shape, const void *x, void *y);

/** dx = y (dy - <dy, y>); of the logarithm: dx = dy - exp(y) sum(dy). */
void fr_softmax_gradient_run(const fr_softmax_shape *shape, const void *y, const void *dy,
                             void *dx);

#endif
