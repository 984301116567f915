/*
 * batch_norm.c: batch norm, forward and backward; formulae in norm.h.
 *
 * While training: a pass for the means, a pass for the squares around them (mean(x^2) - mean^2
 * would cancel), a pass that writes y. The gradient: a pass for the two sums per channel, a pass
 * that writes dx. All passes cut rows the same way; each cut keeps two numbers a channel in the
 * scratch.
 */
#include "kernel/norm.h"

#include "base/parallel.h"

typedef enum batch_kind { BATCH_MEAN, BATCH_VARIANCE, BATCH_GRADIENT } batch_kind;

typedef struct batch_call {
    fr_batch_norm_shape norm;
    batch_kind kind;
    const void *x, *scale, *bias, *dy;
    void *running_mean, *running_variance, *mean, *inverse;
    void *out, *dscale, *dbias, *scratch;
} batch_call;

#define TEMPLATE "kernel/batch_norm_template.h"
#include "kernel/variants.h"

size_t fr_batch_norm_scratch(int64_t channels)
{
    return (size_t)FR_ROW_CUTS * 2 * (size_t)channels * sizeof(double);
}

/* The partial sums of all cuts; returns how many cuts there are. */
static int64_t sum_cuts(batch_call *call, batch_kind kind)
{
    const int64_t rows_per_cut = fr_rows_per_cut(call->norm.n_rows);
    const int64_t n_cuts = (call->norm.n_rows + rows_per_cut - 1) / rows_per_cut;
    call->kind = kind;
    fr_parallel_for(n_cuts, 1, FR_PICK(batch_cuts, call->norm.dtype), call);
    return n_cuts;
}

/* The two f32 versions of the small loops over channels do the same: FR_PICK serves all alike. */
void fr_batch_norm_run(const fr_batch_norm_shape *norm, const fr_batch_norm_forward *f)
{
    batch_call call = {
        .norm = *norm,
        .x = f->x,
        .scale = f->scale,
        .bias = f->bias,
        .running_mean = f->running_mean,
        .running_variance = f->running_variance,
        .mean = f->mean,
        .inverse = f->inverse,
        .out = f->y,
        .scratch = f->scratch,
    };
    if (norm->training) {
        const double n = (double)(norm->n_rows * norm->inner);
        const int64_t n_cuts = sum_cuts(&call, BATCH_MEAN);
        FR_PICK(batch_mean, norm->dtype)(&call, n_cuts, n);
        sum_cuts(&call, BATCH_VARIANCE);
        FR_PICK(batch_inverse, norm->dtype)(&call, n_cuts, n);
    } else {
        FR_PICK(batch_from_states, norm->dtype)(&call);
    }
    fr_parallel_for(norm->n_rows, fr_rows_per_tile(norm->channels * norm->inner),
                    FR_PICK(batch_apply, norm->dtype), &call);
}

void fr_batch_norm_gradient_run(const fr_batch_norm_shape *norm, const fr_batch_norm_gradient *g)
{
    batch_call call = {
        .norm = *norm,
        .x = g->x,
        .scale = g->scale,
        .dy = g->dy,
        .mean = (void *)(uintptr_t)g->mean,
        .inverse = (void *)(uintptr_t)g->inverse,
        .out = g->dx,
        .dscale = g->dscale,
        .dbias = g->dbias,
        .scratch = g->scratch,
    };
    const int64_t n_cuts = sum_cuts(&call, BATCH_GRADIENT);
    FR_PICK(batch_gradient_sums, norm->dtype)(&call, n_cuts, (double)(norm->n_rows * norm->inner));
    fr_parallel_for(norm->n_rows, fr_rows_per_tile(norm->channels * norm->inner),
                    FR_PICK(batch_gradient_apply, norm->dtype), &call);
}
