/*
 * sparse_template.h: every sparse loop in plain C, for one element type.
 *
 * Included by sparse_f32.c and sparse_f64.c, which define
 *
 *     real        float or double
 *     real_exp    expf or exp
 *     NAME        the table to define
 *
 * This is the reference the vector loops are tested against, what f64 runs, and what a processor
 * without AVX2 runs. Sums go over the edges in order, in `real`.
 */
#include <math.h>
#include <string.h>

#include "kernel/sparse/sparse_kernels.h"

enum { COLUMNS = 64 }; /* accumulators kept on the stack per pass over a row's edges */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t source_of(const fr_sparse_rows *rows, int64_t edge)
{
    return rows->source == NULL ? edge : rows->source[edge];
}

/* What a row's sum is multiplied with: 1, or 1 / edges for a mean. */
static real row_scale(fr_reduction reduction, int64_t n_edges)
{
    return reduction == FR_MEAN && n_edges > 0 ? (real)1 / (real)n_edges : (real)1;
}

static real edge_weight(const fr_spmm *s, int64_t edge, int64_t head)
{
    return s->weight == NULL ? (real)1 : ((const real *)s->weight)[edge * s->heads + head];
}

/* out[i, columns] = scale * sum over e of w[e] * x[source[e], columns] */
static void sum_columns(const fr_spmm *s, int64_t row, int64_t head, int64_t column, int64_t count)
{
    const int64_t begin = s->rows.begin[row], end = s->rows.end[row];
    const int64_t offset = head * s->width + column;
    real total[COLUMNS] = {0};
    for (int64_t e = begin; e < end; e++) {
        const real *x = (const real *)s->x + source_of(&s->rows, e) * s->x_stride + offset;
        const real w = edge_weight(s, e, head);
        for (int64_t j = 0; j < count; j++)
            total[j] += w * x[j];
    }
    real *out = (real *)s->out + row * s->out_stride + offset;
    const real scale = row_scale(s->reduction, end - begin);
    for (int64_t j = 0; j < count; j++)
        out[j] = scale * total[j];
}

/* The first edge wins a tie; a value that is no number wins over all that follow. */
static void max_columns(const fr_spmm *s, int64_t row, int64_t head, int64_t column, int64_t count)
{
    const int64_t begin = s->rows.begin[row], end = s->rows.end[row];
    const int64_t offset = head * s->width + column;
    real best[COLUMNS] = {0};
    int32_t winner[COLUMNS];
    for (int64_t j = 0; j < count; j++)
        winner[j] = -1;
    for (int64_t e = begin; e < end; e++) {
        const real *x = (const real *)s->x + source_of(&s->rows, e) * s->x_stride + offset;
        const real w = edge_weight(s, e, head);
        for (int64_t j = 0; j < count; j++) {
            const real value = w * x[j];
            if (e == begin || (!(value <= best[j]) && best[j] == best[j])) {
                best[j] = value;
                winner[j] = (int32_t)e;
            }
        }
    }
    memcpy((real *)s->out + row * s->out_stride + offset, best, (size_t)count * sizeof *best);
    if (s->argmax != NULL)
        memcpy(s->argmax + row * s->heads * s->width + offset, winner,
               (size_t)count * sizeof *winner);
}

static void sum_rows(const fr_spmm *s, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        for (int64_t head = 0; head < s->heads; head++)
            for (int64_t j = 0; j < s->width; j += COLUMNS)
                sum_columns(s, row, head, j, least(COLUMNS, s->width - j));
}

static void max_rows(const fr_spmm *s, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        for (int64_t head = 0; head < s->heads; head++)
            for (int64_t j = 0; j < s->width; j += COLUMNS)
                max_columns(s, row, head, j, least(COLUMNS, s->width - j));
}

/* One edge of the transpose, columns [column, end) of all heads' columns. */
static void scatter_edge(const fr_spmm *s, int64_t row, int64_t edge, int64_t column, int64_t end,
                         real scale)
{
    const real *x = (const real *)s->x + row * s->x_stride;
    const int32_t *winner = s->argmax + (s->argmax == NULL ? 0 : row * s->heads * s->width);
    real *out = (real *)s->out + (int64_t)s->rows.source[edge] * s->out_stride;
    for (int64_t head = column / s->width; head * s->width < end; head++) {
        const real w = edge_weight(s, edge, head) * scale;
        const int64_t from = head * s->width < column ? column : head * s->width;
        const int64_t to = least(end, (head + 1) * s->width);
        if (s->reduction == FR_MAX)
            for (int64_t j = from; j < to; j++)
                out[j] += winner[j] == edge ? w * x[j] : (real)0;
        else
            for (int64_t j = from; j < to; j++)
                out[j] += w * x[j];
    }
}

static void scatter_rows(const fr_spmm *s, int64_t first, int64_t last, int64_t column, int64_t end)
{
    for (int64_t row = 0; row < s->rows.n_rows; row++) {
        const real scale = row_scale(s->reduction, s->rows.end[row] - s->rows.begin[row]);
        for (int64_t e = s->rows.begin[row]; e < s->rows.end[row]; e++)
            if (s->rows.source[e] >= first && s->rows.source[e] < last)
                scatter_edge(s, row, e, column, end, scale);
    }
}

/* ---- edges ---- */

static void dot_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads, width = job->width;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = job->rows.begin[row], last = job->rows.end[row];
        const real scale = row_scale(job->reduction, last - first);
        for (int64_t e = first; e < last; e++)
            for (int64_t h = 0; h < heads; h++) {
                const real *a = (const real *)job->a + (row * heads + h) * width;
                const real *b = (const real *)job->b + (job->rows.source[e] * heads + h) * width;
                real total = 0;
                for (int64_t j = 0; j < width; j++)
                    total += a[j] * b[j];
                ((real *)job->out)[e * heads + h] = scale * total;
            }
    }
}

static void add_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        const real *left = (const real *)job->a + row * job->heads;
        for (int64_t e = job->rows.begin[row]; e < job->rows.end[row]; e++) {
            const real *right = (const real *)job->b + job->rows.source[e] * job->heads;
            for (int64_t h = 0; h < job->heads; h++)
                ((real *)job->out)[e * job->heads + h] = left[h] + right[h];
        }
    }
}

static void add_left_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        real *left = (real *)job->out + row * job->heads;
        memset(left, 0, (size_t)job->heads * sizeof *left);
        for (int64_t e = job->rows.begin[row]; e < job->rows.end[row]; e++)
            for (int64_t h = 0; h < job->heads; h++)
                left[h] += ((const real *)job->a)[e * job->heads + h];
    }
}

static void add_right_rows(const fr_edge_job *job, int64_t first, int64_t last)
{
    const fr_sparse_rows *rows = &job->rows;
    for (int64_t row = 0; row < rows->n_rows; row++)
        for (int64_t e = rows->begin[row]; e < rows->end[row]; e++) {
            if (rows->source[e] < first || rows->source[e] >= last)
                continue;
            real *right = (real *)job->out + rows->source[e] * job->heads;
            for (int64_t h = 0; h < job->heads; h++)
                right[h] += ((const real *)job->a)[e * job->heads + h];
        }
}

/* y[e] = exp(s[e] - m) / sum exp(s - m), m the row's largest score: no overflow. */
static void softmax_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads;
    for (int64_t row = begin; row < end; row++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t first = job->rows.begin[row], last = job->rows.end[row];
            const real *score = (const real *)job->a + h;
            real *y = (real *)job->out + h, most = -(real)INFINITY, total = 0;
            for (int64_t e = first; e < last; e++)
                most = score[e * heads] > most ? score[e * heads] : most;
            for (int64_t e = first; e < last; e++)
                total += y[e * heads] = real_exp(score[e * heads] - most);
            for (int64_t e = first; e < last; e++)
                y[e * heads] /= total;
        }
}

/* dx[e] = y[e] * (dy[e] - sum over the row of y * dy) */
static void softmax_gradient_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads;
    for (int64_t row = begin; row < end; row++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t first = job->rows.begin[row], last = job->rows.end[row];
            const real *y = (const real *)job->a + h, *dy = (const real *)job->b + h;
            real *dx = (real *)job->out + h, total = 0;
            for (int64_t e = first; e < last; e++)
                total += y[e * heads] * dy[e * heads];
            for (int64_t e = first; e < last; e++)
                dx[e * heads] = y[e * heads] * (dy[e * heads] - total);
        }
}

/* dx[e] = scale * dy[i] for every row e of segment i; of max: only where e won. */
static void segment_gradient_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t width = job->width;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = job->rows.begin[i], last = job->rows.end[i];
        const real scale = row_scale(job->reduction, last - first);
        const real *dy = (const real *)job->a + i * width;
        real *dx = (real *)job->out;
        for (int64_t e = first; e < last; e++)
            for (int64_t j = 0; j < width; j++)
                dx[e * width + j] = job->reduction == FR_MAX ? (real)0 : scale * dy[j];
        if (job->reduction != FR_MAX)
            continue;
        const int32_t *winner = (const int32_t *)job->b + i * width;
        for (int64_t j = 0; j < width; j++)
            if (winner[j] >= first && winner[j] < last)
                dx[winner[j] * width + j] = dy[j];
    }
}

const fr_sparse_kernels NAME = {
    .sum = sum_rows,
    .max = max_rows,
    .scatter = scatter_rows,
    .dot = dot_rows,
    .add = add_rows,
    .add_left = add_left_rows,
    .add_right = add_right_rows,
    .softmax = softmax_rows,
    .softmax_gradient = softmax_gradient_rows,
    .segment_gradient = segment_gradient_rows,
};
