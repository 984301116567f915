/*
 * loss.c: cross-entropy and binary cross-entropy of logits; see loss.h.
 *
 * Cross-entropy keeps two numbers a row (maximum, log of the sum) instead of the probabilities, so
 * that a large vocabulary costs no second matrix; the gradient makes the probabilities again.
 * Losses of rows are added in double, in order of rows.
 */
#include "kernel/loss.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

enum { BINARY_TILE = 4096, BINARY_RUN = 1024 };

typedef struct cross_entropy_call {
    fr_cross_entropy_shape shape;
    const void *logits;
    void *rows; /* read by the gradient, written by the loss */
    double *row_losses;
    void *out;
    double scale;
} cross_entropy_call;

typedef struct binary_call {
    int64_t n;
    const void *logits, *targets;
    double *partial; /* sum and count of each tile */
    void *out;
    double scale;
} binary_call;

static inline int64_t label_of(const fr_cross_entropy_shape *shape, int64_t row)
{
    return shape->label_dtype == FR_I32 ? ((const int32_t *)shape->labels)[row]
                                        : ((const int64_t *)shape->labels)[row];
}

#define TEMPLATE "kernel/loss_template.h"
#include "kernel/variants.h"

/* All labels are looked at before anything is computed; *count is how many rows count. */
static fr_status check_labels(const fr_cross_entropy_shape *shape, int64_t *count)
{
    *count = 0;
    for (int64_t row = 0; row < shape->n_rows; row++) {
        const int64_t label = label_of(shape, row);
        if (label == shape->ignore)
            continue;
        if (label < 0 || label >= shape->n_classes)
            return fr_fail(FR_ERANGE,
                           "cross-entropy: label %" PRId64 " of row %" PRId64
                           " is outside [0, %" PRId64 ")",
                           label, row, shape->n_classes);
        ++*count;
    }
    return FR_OK;
}

static double number_at(fr_dtype dtype, const void *scalar)
{
    return dtype == FR_F64 ? *(const double *)scalar : (double)*(const float *)scalar;
}

static void set_number(fr_dtype dtype, void *scalar, double number)
{
    if (dtype == FR_F64)
        *(double *)scalar = number;
    else
        *(float *)scalar = (float)number;
}

fr_status fr_cross_entropy_run(const fr_cross_entropy_shape *shape, const void *logits, void *loss,
                               void *rows, double *row_losses)
{
    int64_t count;
    FR_RETURN_IF_ERROR(check_labels(shape, &count));
    cross_entropy_call call = {
        .shape = *shape, .logits = logits, .rows = rows, .row_losses = row_losses};
    fr_parallel_for(shape->n_rows, fr_rows_per_tile(shape->n_classes),
                    FR_PICK(cross_entropy_rows, shape->dtype), &call);
    double sum = 0;
    for (int64_t row = 0; row < shape->n_rows; row++)
        sum += row_losses[row];
    set_number(shape->dtype, loss, count ? sum / (double)count : 0);
    return FR_OK;
}

fr_status fr_cross_entropy_gradient_run(const fr_cross_entropy_shape *shape, const void *logits,
                                        const void *rows, const void *dloss, void *dlogits)
{
    int64_t count;
    FR_RETURN_IF_ERROR(check_labels(shape, &count));
    cross_entropy_call call = {
        .shape = *shape,
        .logits = logits,
        .rows = (void *)(uintptr_t)rows,
        .out = dlogits,
        .scale = count ? number_at(shape->dtype, dloss) / (double)count : 0,
    };
    fr_parallel_for(shape->n_rows, fr_rows_per_tile(shape->n_classes),
                    FR_PICK(cross_entropy_gradient_rows, shape->dtype), &call);
    return FR_OK;
}

static int64_t binary_tiles(int64_t n) { return (n + BINARY_TILE - 1) / BINARY_TILE; }

int64_t fr_binary_cross_entropy_scratch(int64_t n) { return 2 * binary_tiles(n); }

void fr_binary_cross_entropy_run(fr_dtype dtype, int64_t n, const void *logits, const void *targets,
                                 void *loss, int64_t *count, double *scratch)
{
    binary_call call = {.n = n, .logits = logits, .targets = targets, .partial = scratch};
    fr_parallel_for(binary_tiles(n), 1, FR_PICK(binary_cross_entropy_tile, dtype), &call);
    double sum = 0, counted = 0;
    for (int64_t tile = 0; tile < binary_tiles(n); tile++) {
        sum += scratch[2 * tile];
        counted += scratch[2 * tile + 1];
    }
    *count = (int64_t)counted;
    set_number(dtype, loss, counted > 0 ? sum / counted : 0);
}

void fr_binary_cross_entropy_gradient_run(fr_dtype dtype, int64_t n, const void *logits,
                                          const void *targets, int64_t count, const void *dloss,
                                          void *dlogits)
{
    binary_call call = {
        .n = n,
        .logits = logits,
        .targets = targets,
        .out = dlogits,
        .scale = count ? number_at(dtype, dloss) / (double)count : 0,
    };
    fr_parallel_for(n, 16384, FR_PICK(binary_cross_entropy_gradient, dtype), &call);
}
