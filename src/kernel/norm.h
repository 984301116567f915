/*
 * norm.h: normalisation over rows (layer norm, RMS norm) and over the batch (batch norm), with
 * their gradients. f32 (vectorised) and f64 (reference).
 *
 * Sums over many rows are cut into at most 32 partial sums by the number of rows alone, which are
 * then added in order: the same bits with any number of threads.
 */
#ifndef FR_KERNEL_NORM_H
#define FR_KERNEL_NORM_H

#include <frugal/tensor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- over each row ---- */

typedef struct fr_row_norm {
    fr_dtype dtype;
    bool center; /* true: layer norm; false: RMS norm, which takes no mean off */
    int64_t n_rows, width;
    double epsilon;
} fr_row_norm;

/**
 * y = (x - mean) * inverse * scale + bias, inverse = 1 / sqrt(variance + epsilon); variance is the
 * mean square of x - mean (of x where not centred).
 *
 * @param bias     NULL: none
 * @param mean     n_rows, written where centred, else NULL
 * @param inverse  n_rows, written
 */
void fr_row_norm_run(const fr_row_norm *norm, const void *x, const void *scale, const void *bias,
                     void *y, void *mean, void *inverse);

/** Bytes of scratch for the gradient. */
size_t fr_row_norm_scratch(fr_dtype dtype, int64_t width);

typedef struct fr_row_norm_gradient {
    const void *x, *scale, *mean, *inverse, *dy; /* mean NULL where not centred */
    void *dx, *dscale, *dbias;                   /* dbias NULL: not asked for */
    void *scratch;
} fr_row_norm_gradient;

/**
 * With h = (x - mean) * inverse and g = dy * scale:
 * dx = inverse * (g - mean(g) - h * mean(g h)), without mean(g) where not centred;
 * dscale = sum over rows of dy h; dbias = sum over rows of dy.
 */
void fr_row_norm_gradient_run(const fr_row_norm *norm, const fr_row_norm_gradient *g);

/* ---- over the batch ---- */

typedef struct fr_batch_norm_shape {
    fr_dtype dtype;
    bool training;
    int64_t n_rows, channels, inner; /* x is [n_rows, channels, inner] */
    double epsilon, momentum;
} fr_batch_norm_shape;

/** Bytes of scratch of the forward run and of the gradient. */
size_t fr_batch_norm_scratch(int64_t channels);

typedef struct fr_batch_norm_forward {
    const void *x, *scale, *bias;
    void *running_mean, *running_variance; /* moved while training, else read */
    void *y, *mean, *inverse;              /* [channels]: what was taken off and multiplied with */
    void *scratch;
} fr_batch_norm_forward;

/**
 * y = (x - mean) * inverse * scale + bias per channel. While training mean and variance are the
 * batch's and the running ones move: new = (1 - momentum) * old + momentum * batch, where the
 * batch's variance is the unbiased one, as in torch (one value a channel: 0). Without a value they
 * stay.
 */
void fr_batch_norm_run(const fr_batch_norm_shape *norm, const fr_batch_norm_forward *f);

typedef struct fr_batch_norm_gradient {
    const void *x, *scale, *mean, *inverse, *dy;
    void *dx, *dscale, *dbias;
    void *scratch;
} fr_batch_norm_gradient;

/** dscale = sum dy h; dbias = sum dy; dx = scale * inverse * (dy - dbias / n - h dscale / n) while
 * training (n values a channel), else scale * inverse * dy. */
void fr_batch_norm_gradient_run(const fr_batch_norm_shape *norm, const fr_batch_norm_gradient *g);

#endif
