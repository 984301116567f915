/*
 * pooling.h: largest value and average of windows, 1 to 3 spatial dimensions, and their gradients.
 *
 * x is [n, c, in...], y [n, c, out...], f32 or f64. Parallel over the n * c planes. The largest
 * value comes with its place in x (flat, as ONNX's Indices); the first place wins a tie and a value
 * that is no number wins over what follows. A window that lies in the padding alone gives -infinity
 * and place -1, or the average 0.
 */
#ifndef FR_KERNEL_POOLING_H
#define FR_KERNEL_POOLING_H

#include <frugal/tensor.h>

#include "kernel/convolution.h"

typedef struct fr_pooling {
    int rank;
    int64_t n, c;
    int64_t in[FR_SPATIAL_MOST], kernel[FR_SPATIAL_MOST], stride[FR_SPATIAL_MOST];
    int64_t dilation[FR_SPATIAL_MOST];
    int64_t pad_begin[FR_SPATIAL_MOST], pad_end[FR_SPATIAL_MOST];
    bool ceil_mode;         /* a last window may hang over the end of the padded input */
    bool count_include_pad; /* averages divide by cells of the padded input, not of the input */
} fr_pooling;

/** Fills out[rank]. FR_ESHAPE as fr_convolution_out. */
fr_status fr_pooling_out(const fr_pooling *pooling, int64_t *out);

/** argmax: as many as y, or NULL. */
fr_status fr_max_pool_run(const fr_pooling *pooling, fr_dtype dtype, const void *x, void *y,
                          int64_t *argmax);
/** dx[argmax[i]] += dy[i]; dx is zeroed first. */
fr_status fr_max_pool_gradient_run(const fr_pooling *pooling, fr_dtype dtype, const void *dy,
                                   const int64_t *argmax, void *dx);
fr_status fr_average_pool_run(const fr_pooling *pooling, fr_dtype dtype, const void *x, void *y);
fr_status fr_average_pool_gradient_run(const fr_pooling *pooling, fr_dtype dtype, const void *dy,
                                       void *dx);

#endif
