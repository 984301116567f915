/*
 * row_optimizer.c: Adam over a table of which a step touches few rows.
 *
 * As torch.optim.SparseAdam: one step number for the whole table, moments of a row move only when
 * the row is touched. Touched rows are sorted and gradients of one row are summed in their order of
 * appearance, so neither threads nor a permutation of distinct ids change a bit; equal ids sum as
 * the gradient of a dense embedding would.
 *
 * Where no id appears twice and nothing is clipped, gradients are used where they lie: each
 * row's update needs nothing of other rows.
 *
 * Moments are zeroed pages that the system hands out when first touched: a table of which a run
 * sees a tenth pays for a tenth.
 *
 * Source: Engram, section "Optimiser".
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kernel/optimizer.h"
#include "train/optimizer.h"
#include "train/row_order.h"

fr_status fr_row_optimizer_create(float *table, int64_t n_rows, int64_t width, bool second_per_row,
                                  const fr_optimizer_options *options, fr_row_optimizer **optimizer)
{
    fr_row_optimizer *made = NULL;
    fr_status status;
    int64_t count = 0;
    *optimizer = NULL;
    if (!fr_multiply(n_rows, width, &count))
        return fr_fail(FR_ESHAPE, "row optimizer: a table of %" PRId64 " x %" PRId64, n_rows,
                       width);
    FR_TRY(fr_alloc(1, sizeof *made, "row optimizer", &made));
    *made = (fr_row_optimizer){.table = table,
                               .n_rows = n_rows,
                               .width = width,
                               .second_per_row = second_per_row,
                               .options = *options};
    FR_TRY(fr_optimizer_options_complete(&made->options));
    if (made->options.kind == FR_SGD)
        FR_TRY(fr_fail(FR_ENOTSUP, "row optimizer: SGD is not supported, use Adam or AdamW"));
    const int64_t n_second = second_per_row ? n_rows : count;
    FR_TRY(fr_alloc(1, sizeof *made->order, "row optimizer", &made->order));
    FR_TRY(fr_alloc((size_t)count, sizeof(float), "first moments of rows", &made->first));
    FR_TRY(fr_alloc((size_t)n_second, sizeof(float), "second moments of rows", &made->second));
    *optimizer = made;
    made = NULL;
done:
    fr_row_optimizer_free(made);
    return status;
}

void fr_row_optimizer_free(fr_row_optimizer *optimizer)
{
    if (optimizer == NULL)
        return;
    if (optimizer->order != NULL)
        fr_row_order_free(optimizer->order);
    fr_free(optimizer->order);
    fr_free(optimizer->sums);
    fr_free(optimizer->first);
    fr_free(optimizer->second);
    fr_free(optimizer);
}

typedef struct sum_rows_job {
    const row_order *order;
    const float *row_grads;
    int64_t width;
    float *sums;
} sum_rows_job;

static void sum_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const sum_rows_job *job = context;
    const row_order *order = job->order;
    const int64_t width = job->width;
    for (int64_t i = begin; i < end; i++) {
        float *restrict sum = job->sums + i * width;
        memcpy(sum, job->row_grads + order->place[order->begin[i]] * width,
               (size_t)width * sizeof(float));
        for (int64_t k = order->begin[i] + 1; k < order->begin[i + 1]; k++) {
            const float *restrict grad = job->row_grads + order->place[k] * width;
            for (int64_t j = 0; j < width; j++)
                sum[j] += grad[j];
        }
    }
}

/* The gradient of every touched row, in sorted order, in optimizer->sums. */
static fr_status sum_by_row(fr_row_optimizer *optimizer, const float *row_grads)
{
    const row_order *order = optimizer->order;
    const int64_t width = optimizer->width;
    int64_t count = 0;
    if (!fr_multiply(order->n_rows, width, &count))
        return fr_fail(FR_ENOMEM, "row optimizer: %" PRId64 " gradient rows", order->n_rows);
    if (count > optimizer->room_sums) {
        fr_free(optimizer->sums);
        optimizer->sums = NULL;
        optimizer->room_sums = 0;
        FR_RETURN_IF_ERROR(
            fr_alloc_aligned((size_t)count, sizeof(float), "gradients of rows", &optimizer->sums));
        optimizer->room_sums = count;
    }
    sum_rows_job job = {order, row_grads, width, optimizer->sums};
    fr_parallel_for(order->n_rows, 1 + 4096 / (width + 1), sum_rows, &job);
    return FR_OK;
}

static fr_status check_ids(const fr_row_optimizer *optimizer, const int64_t *ids, int64_t n)
{
    if (n < 0)
        return fr_fail(FR_ERANGE, "row optimizer: %" PRId64 " rows", n);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= optimizer->n_rows)
            return fr_fail(FR_ERANGE, "row optimizer: row %" PRId64 " of a table of %" PRId64,
                           ids[i], optimizer->n_rows);
    return FR_OK;
}

static fr_status refuse_not_finite(const fr_row_optimizer *optimizer, const int64_t *rows,
                                   int64_t n, const float *grads)
{
    int64_t i = 0;
    while (i < n - 1 && isfinite(fr_sum_of_squares(grads + i * optimizer->width, optimizer->width)))
        i++;
    return fr_fail(FR_ERANGE,
                   "row optimizer: the gradient of row %" PRId64 " is not finite at step %" PRId64,
                   rows[i], optimizer->step + 1);
}

fr_status fr_row_optimizer_step(fr_row_optimizer *optimizer, const int64_t *ids, int64_t n,
                                const float *row_grads, double learning_rate)
{
    const fr_optimizer_options *options = &optimizer->options;
    const double rate = learning_rate < 0 ? options->learning_rate : learning_rate;
    if (!isfinite(rate))
        return fr_fail(FR_EINVAL, "row optimizer: the learning rate is %g", rate);
    FR_RETURN_IF_ERROR(check_ids(optimizer, ids, n));
    if (n == 0 || optimizer->width == 0) {
        optimizer->step++; /* a step of the run, though it touches nothing */
        return FR_OK;
    }
    FR_RETURN_IF_ERROR(fr_row_order_make(optimizer->order, ids, n, optimizer->n_rows));

    const int64_t n_rows = optimizer->order->n_rows;
    const int64_t *rows = ids;
    const float *grads = row_grads;
    if (n_rows < n || options->clip_norm > 0) {
        FR_RETURN_IF_ERROR(sum_by_row(optimizer, row_grads));
        rows = optimizer->order->rows;
        grads = optimizer->sums;
    }
    const double squares = fr_sum_of_squares(grads, n_rows * optimizer->width);
    if (!isfinite(squares))
        return refuse_not_finite(optimizer, rows, n_rows, grads);

    optimizer->step++;
    const fr_adam_step adam = {
        .learning_rate = (float)rate,
        .beta1 = (float)options->beta1,
        .beta2 = (float)options->beta2,
        .epsilon = (float)options->epsilon,
        .weight_decay = (float)options->weight_decay,
        .decoupled = options->kind == FR_ADAMW,
        .step = optimizer->step,
        .grad_scale = (float)fr_clip_scale(sqrt(squares), options->clip_norm),
    };
    fr_adam_rows_run(&adam, rows, n_rows, optimizer->width, optimizer->table, grads,
                     optimizer->first, optimizer->second, optimizer->second_per_row);
    return FR_OK;
}
