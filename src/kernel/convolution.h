/*
 * convolution.h: convolution of 1 to 3 spatial dimensions and its two gradients, plain layout.
 *
 *     y[n, f, o] = bias[f] + sum over c, r of x[n, c, o * stride + r * dilation - pad_begin] * w[f,
 * c, r]
 *
 * x is [n, c, in...], w [filters, c / groups, kernel...], y [n, filters, out...]; what lies in the
 * padding is 0. f32 by oneDNN, which keeps its own blocked layouts inside `prepared`: a slot of the
 * caller that starts NULL, holds primitives and buffers for the shape last seen, and is freed by
 * fr_convolution_release. One slot serves one call at a time and one of the three operations.
 * f64 is plain loops, for gradient checks. The bits do not depend on the number of threads.
 */
#ifndef FR_KERNEL_CONVOLUTION_H
#define FR_KERNEL_CONVOLUTION_H

#include <stdint.h>

#include "base/error.h"

enum { FR_SPATIAL_MOST = 3 };

typedef struct fr_convolution {
    int rank; /* spatial dimensions; the arrays hold that many */
    int64_t n, c, filters, groups;
    int64_t in[FR_SPATIAL_MOST], kernel[FR_SPATIAL_MOST], stride[FR_SPATIAL_MOST];
    int64_t dilation[FR_SPATIAL_MOST]; /* 1: none */
    int64_t pad_begin[FR_SPATIAL_MOST], pad_end[FR_SPATIAL_MOST];
} fr_convolution;

/** Fills out[rank]. FR_ESHAPE where a size makes no sense or the kernel does not fit the padded
 * input. */
fr_status fr_convolution_out(const fr_convolution *convolution, int64_t *out);

/** bias [filters] or NULL. */
fr_status fr_convolution_forward_f32(const fr_convolution *convolution, const float *x,
                                     const float *w, const float *bias, float *y, void **prepared);
fr_status fr_convolution_backward_data_f32(const fr_convolution *convolution, const float *dy,
                                           const float *w, float *dx, void **prepared);
/** dbias may be NULL. */
fr_status fr_convolution_backward_weights_f32(const fr_convolution *convolution, const float *x,
                                              const float *dy, float *dw, float *dbias,
                                              void **prepared);
void fr_convolution_release(void *prepared);

fr_status fr_convolution_forward_f64(const fr_convolution *convolution, const double *x,
                                     const double *w, const double *bias, double *y);
fr_status fr_convolution_backward_data_f64(const fr_convolution *convolution, const double *dy,
                                           const double *w, double *dx);
fr_status fr_convolution_backward_weights_f64(const fr_convolution *convolution, const double *x,
                                              const double *dy, double *dw, double *dbias);

#endif
