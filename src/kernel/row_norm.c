/*
 * row_norm.c: layer norm and RMS norm, forward and backward; formulae in norm.h.
 *
 * The variance is taken around the mean in a second pass over the row (which lies in cache), not as
 * mean(x^2) - mean^2, which cancels. The gradient of scale and bias is a sum over all rows: each
 * cut of rows has its own partial sums in the scratch.
 */
#include "kernel/norm.h"

#include "base/parallel.h"

typedef struct row_norm_call {
    fr_row_norm norm;
    const void *x, *scale, *bias;
    void *y, *mean, *inverse;
    const fr_row_norm_gradient *gradient;
} row_norm_call;

#define TEMPLATE "kernel/row_norm_template.h"
#include "kernel/variants.h"

void fr_row_norm_run(const fr_row_norm *norm, const void *x, const void *scale, const void *bias,
                     void *y, void *mean, void *inverse)
{
    row_norm_call call = {.norm = *norm,
                          .x = x,
                          .scale = scale,
                          .bias = bias,
                          .y = y,
                          .mean = mean,
                          .inverse = inverse};
    fr_parallel_for(norm->n_rows, fr_rows_per_tile(norm->width), FR_PICK(norm_rows, norm->dtype),
                    &call);
}

size_t fr_row_norm_scratch(fr_dtype dtype, int64_t width)
{
    return (size_t)FR_ROW_CUTS * 2 * (size_t)width * fr_dtype_bytes(dtype);
}

void fr_row_norm_gradient_run(const fr_row_norm *norm, const fr_row_norm_gradient *g)
{
    row_norm_call call = {.norm = *norm, .gradient = g};
    const int64_t rows_per_cut = fr_rows_per_cut(norm->n_rows);
    const int64_t n_cuts = (norm->n_rows + rows_per_cut - 1) / rows_per_cut;
    fr_parallel_for(n_cuts, 1, FR_PICK(norm_gradient_cuts, norm->dtype), &call);
    FR_PICK(norm_gradient_join, norm->dtype)(&call, n_cuts);
}
