/*
 * sparse.c: checks, cuts and dispatches the sparse operations of sparse.h.
 *
 * Cutting. Forward loops write one row of the output per row of the block, so rows are handed out
 * in tiles that hold about TILE_VALUES values of work at the average degree; the queue evens out
 * uneven degrees. Rows may lie anywhere in `source` and may be pruned (begin = end), so there is no
 * sorted list of edge counts to search; a tile is small enough that it does not matter.
 *
 * Transposes add into rows in the order of the edges. Each thread walks all edges and adds only to
 * a range of output rows that is its own: any split gives the same order per element, so the
 * number of parts may follow the number of threads. Splitting columns instead was tried: 1.85 times
 * slower at width 16 (threads share cache lines), 1.35 at 256, 1.2 at 512, two threads each.
 */
#include "kernel/sparse.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "kernel/cpu.h"
#include "kernel/sparse/sparse_kernels.h"

enum { TILE_VALUES = 1 << 19, TILE_EDGES_LEAST = 512, SCATTER_SERIAL = 1 << 14 };

/* ---- dispatch ---- */

static const fr_sparse_kernels *portable(fr_dtype dtype)
{
    return dtype == FR_F64 ? &fr_sparse_f64_portable : &fr_sparse_f32_portable;
}

static const fr_sparse_kernels *fastest(fr_dtype dtype)
{
#if FR_X86
    if (dtype == FR_F32 && fr_cpu_isa() == FR_ISA_AVX512)
        return &fr_sparse_f32_avx512;
    if (dtype == FR_F32 && fr_cpu_isa() == FR_ISA_AVX2)
        return &fr_sparse_f32_avx2;
#endif
    return portable(dtype);
}

/* The best loop `entry` for a dtype. */
#define LOOP(dtype, entry)                                                                         \
    (fastest(dtype)->entry != NULL ? fastest(dtype)->entry : portable(dtype)->entry)

/* ---- checks ---- */

static fr_status check_dtype(fr_dtype dtype, const char *what)
{
    if (dtype != FR_F32 && dtype != FR_F64)
        return fr_fail(FR_EDTYPE, "%s: f32 or f64 is needed, not dtype number %d", what,
                       (int)dtype);
    return FR_OK;
}

/* Every row's edges lie within the block; *covered says whether every edge lies in some row. */
static fr_status check_rows(const fr_sparse_rows *rows, const char *what, bool *covered)
{
    int64_t total = 0;
    bool good = rows->n_rows >= 0 && rows->n_edges >= 0;
    for (int64_t i = 0; i < rows->n_rows; i++) {
        const int64_t begin = rows->begin[i], end = rows->end[i];
        good = good && (begin >= 0) && (begin <= end) && (end <= rows->n_edges);
        total += end - begin;
    }
    if (!good) {
        for (int64_t i = 0; i < rows->n_rows; i++)
            if (rows->begin[i] < 0 || rows->end[i] < rows->begin[i] || rows->end[i] > rows->n_edges)
                return fr_fail(FR_ERANGE,
                               "%s: row %" PRId64 " has the edges [%" PRId64 ", %" PRId64
                               ") of %" PRId64,
                               what, i, rows->begin[i], rows->end[i], rows->n_edges);
        return fr_fail(FR_ERANGE, "%s: %" PRId64 " rows and %" PRId64 " edges", what, rows->n_rows,
                       rows->n_edges);
    }
    if (covered != NULL)
        *covered = total == rows->n_edges;
    return FR_OK;
}

/* Sources of edges that lie in a row, for operations that write to them. */
static fr_status check_sources(const fr_sparse_rows *rows, int64_t n_sources, const char *what)
{
    for (int64_t i = 0; i < rows->n_rows; i++) {
        int32_t least = INT32_MAX, most = -1;
        for (int64_t e = rows->begin[i]; e < rows->end[i]; e++) {
            least = rows->source[e] < least ? rows->source[e] : least;
            most = rows->source[e] > most ? rows->source[e] : most;
        }
        if (least < 0 || most >= n_sources)
            return fr_fail(FR_ERANGE,
                           "%s: row %" PRId64 " has an edge from source %" PRId32 " of %" PRId64,
                           what, i, least < 0 ? least : most, n_sources);
    }
    return FR_OK;
}

static fr_status check_spmm(const fr_spmm *s, const char *what)
{
    FR_RETURN_IF_ERROR(check_dtype(s->dtype, what));
    FR_RETURN_IF_ERROR(check_rows(&s->rows, what, NULL));
    int64_t values;
    if (s->heads < 1 || s->width < 0 || __builtin_mul_overflow(s->heads, s->width, &values))
        return fr_fail(FR_ESHAPE, "%s: %" PRId64 " heads of width %" PRId64, what, s->heads,
                       s->width);
    if (s->x_stride < values || s->out_stride < values)
        return fr_fail(FR_ESHAPE,
                       "%s: rows of %" PRId64 " values lie %" PRId64 " and %" PRId64 " apart", what,
                       values, s->x_stride, s->out_stride);
    if (s->reduction == FR_MAX && s->rows.n_edges > INT32_MAX)
        return fr_fail(FR_ERANGE, "%s: %" PRId64 " edges do not fit a 32-bit argmax", what,
                       s->rows.n_edges);
    return FR_OK;
}

/* ---- cutting ---- */

/* Rows of a tile at the average degree. */
static int64_t tile_rows(const fr_sparse_rows *rows, int64_t values)
{
    int64_t edges = TILE_VALUES / (values < 1 ? 1 : values);
    edges = edges < TILE_EDGES_LEAST ? TILE_EDGES_LEAST : edges;
    const int64_t tile = (int64_t)((double)edges * (double)rows->n_rows /
                                   (double)(rows->n_edges + rows->n_rows + 1));
    return tile < 1 ? 1 : tile;
}

typedef struct spmm_range {
    const fr_spmm *spmm;
    fr_spmm_loop loop;
} spmm_range;

static void run_spmm_range(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const spmm_range *range = context;
    range->loop(range->spmm, begin, end);
}

static void run_spmm(const fr_spmm *s)
{
    spmm_range range = {s, s->reduction == FR_MAX ? LOOP(s->dtype, max) : LOOP(s->dtype, sum)};
    fr_parallel_for(s->rows.n_rows, tile_rows(&s->rows, s->heads * s->width), run_spmm_range,
                    &range);
}

typedef struct edge_range {
    const fr_edge_job *job;
    fr_edge_loop loop;
} edge_range;

static void run_edge_range(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const edge_range *range = context;
    range->loop(range->job, begin, end);
}

static void run_edges(const fr_edge_job *job, fr_edge_loop loop, int64_t values)
{
    edge_range range = {job, loop};
    fr_parallel_for(job->rows.n_rows, tile_rows(&job->rows, values), run_edge_range, &range);
}

/* ---- products ---- */

fr_status fr_spmm_run(const fr_spmm *s)
{
    FR_RETURN_IF_ERROR(check_spmm(s, "sparse product"));
    run_spmm(s);
    return FR_OK;
}

typedef struct scatter_job {
    const fr_spmm *spmm;
    fr_spmm_scatter_loop loop;
    int64_t n_sources, parts;
} scatter_job;

static void run_scatter_part(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const scatter_job *job = context;
    const fr_spmm *s = job->spmm;
    const int64_t values = s->heads * s->width;
    const size_t bytes = fr_dtype_bytes(s->dtype);
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = job->n_sources * part / job->parts;
        const int64_t last = job->n_sources * (part + 1) / job->parts;
        for (int64_t row = first; row < last; row++)
            memset((char *)s->out + (size_t)(row * s->out_stride) * bytes, 0,
                   (size_t)values * bytes);
        job->loop(s, first, last, 0, values);
    }
}

static int64_t scatter_parts(const fr_spmm *s)
{
    return s->rows.n_edges * s->heads * s->width < SCATTER_SERIAL ? 1 : fr_threads();
}

fr_status fr_spmm_transposed_run(const fr_spmm *s, int64_t n_sources)
{
    const char *const what = "transposed sparse product";
    FR_RETURN_IF_ERROR(check_spmm(s, what));
    FR_RETURN_IF_ERROR(check_sources(&s->rows, n_sources, what));
    if (s->reduction == FR_MAX && s->argmax == NULL)
        return fr_fail(FR_EINVAL, "%s: the transpose of a max needs the argmax", what);
    scatter_job job = {s, LOOP(s->dtype, scatter), n_sources, scatter_parts(s)};
    if (s->heads * s->width > 0)
        fr_parallel_for(job.parts, 1, run_scatter_part, &job);
    return FR_OK;
}

/* ---- edges ---- */

/* Checks, and clears `out` where some edge lies in no row. */
static fr_status start_edges(const fr_edge_job *job, fr_dtype dtype, const char *what)
{
    bool covered;
    FR_RETURN_IF_ERROR(check_dtype(dtype, what));
    FR_RETURN_IF_ERROR(check_rows(&job->rows, what, &covered));
    if (job->heads < 1 || job->width < 0)
        return fr_fail(FR_ESHAPE, "%s: %" PRId64 " heads of width %" PRId64, what, job->heads,
                       job->width);
    if (!covered)
        memset(job->out, 0, (size_t)(job->rows.n_edges * job->heads) * fr_dtype_bytes(dtype));
    return FR_OK;
}

fr_status fr_edge_dot_run(const fr_sparse_rows *rows, fr_dtype dtype, fr_reduction reduction,
                          const void *a, const void *b, int64_t heads, int64_t width, void *score)
{
    const fr_edge_job job = {*rows, reduction, heads, width, a, b, score};
    FR_RETURN_IF_ERROR(start_edges(&job, dtype, "products on edges"));
    run_edges(&job, LOOP(dtype, dot), heads * width);
    return FR_OK;
}

fr_status fr_edge_add_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *left,
                          const void *right, int64_t heads, void *out)
{
    const fr_edge_job job = {*rows, FR_SUM, heads, 1, left, right, out};
    FR_RETURN_IF_ERROR(start_edges(&job, dtype, "sums on edges"));
    run_edges(&job, LOOP(dtype, add), heads);
    return FR_OK;
}

typedef struct add_right_job {
    const fr_edge_job *job;
    fr_edge_loop loop;
    int64_t n_sources, parts;
    size_t row_bytes;
} add_right_job;

static void run_add_right(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const add_right_job *right = context;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = right->n_sources * part / right->parts;
        const int64_t last = right->n_sources * (part + 1) / right->parts;
        memset((char *)right->job->out + (size_t)first * right->row_bytes, 0,
               (size_t)(last - first) * right->row_bytes);
        right->loop(right->job, first, last);
    }
}

fr_status fr_edge_add_gradient_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *grad,
                                   int64_t heads, int64_t n_sources, void *left, void *right)
{
    const char *const what = "gradient of sums on edges";
    FR_RETURN_IF_ERROR(check_dtype(dtype, what));
    FR_RETURN_IF_ERROR(check_rows(rows, what, NULL));
    FR_RETURN_IF_ERROR(check_sources(rows, n_sources, what));
    if (left != NULL) {
        const fr_edge_job job = {*rows, FR_SUM, heads, 1, grad, NULL, left};
        run_edges(&job, LOOP(dtype, add_left), heads);
    }
    if (right != NULL) {
        const fr_edge_job job = {*rows, FR_SUM, heads, 1, grad, NULL, right};
        add_right_job parts = {&job, LOOP(dtype, add_right), n_sources,
                               rows->n_edges * heads < SCATTER_SERIAL ? 1 : fr_threads(),
                               (size_t)heads * fr_dtype_bytes(dtype)};
        fr_parallel_for(parts.parts, 1, run_add_right, &parts);
    }
    return FR_OK;
}

fr_status fr_edge_softmax_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *scores,
                              int64_t heads, void *out)
{
    const fr_edge_job job = {*rows, FR_SUM, heads, 1, scores, NULL, out};
    FR_RETURN_IF_ERROR(start_edges(&job, dtype, "softmax over edges"));
    run_edges(&job, LOOP(dtype, softmax), 8 * heads);
    return FR_OK;
}

fr_status fr_edge_softmax_gradient_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *y,
                                       const void *dy, int64_t heads, void *dx)
{
    const fr_edge_job job = {*rows, FR_SUM, heads, 1, y, dy, dx};
    FR_RETURN_IF_ERROR(start_edges(&job, dtype, "gradient of softmax over edges"));
    run_edges(&job, LOOP(dtype, softmax_gradient), 4 * heads);
    return FR_OK;
}

/* ---- segments: products whose edge e reads row e ---- */

static fr_sparse_rows segment_rows(int64_t n_segments, const int64_t *offset)
{
    return (fr_sparse_rows){.n_rows = n_segments,
                            .begin = offset,
                            .end = offset + 1,
                            .n_edges = n_segments > 0 ? offset[n_segments] : 0};
}

fr_status fr_segment_run(int64_t n_segments, const int64_t *offset, fr_dtype dtype,
                         fr_reduction reduction, const void *x, int64_t width, void *out,
                         int32_t *argmax)
{
    const fr_spmm s = {.rows = segment_rows(n_segments, offset),
                       .dtype = dtype,
                       .x = x,
                       .x_stride = width,
                       .heads = 1,
                       .width = width,
                       .reduction = reduction,
                       .out = out,
                       .out_stride = width,
                       .argmax = argmax};
    FR_RETURN_IF_ERROR(check_spmm(&s, "reduction of segments"));
    run_spmm(&s);
    return FR_OK;
}

fr_status fr_segment_gradient_run(int64_t n_segments, const int64_t *offset, fr_dtype dtype,
                                  fr_reduction reduction, const void *dy, int64_t width,
                                  const int32_t *argmax, int64_t n_rows, void *dx)
{
    const char *const what = "gradient of a reduction of segments";
    const fr_edge_job job = {segment_rows(n_segments, offset), reduction, 1, width, dy, argmax, dx};
    FR_RETURN_IF_ERROR(check_dtype(dtype, what));
    FR_RETURN_IF_ERROR(check_rows(&job.rows, what, NULL));
    if (job.rows.n_edges > n_rows)
        return fr_fail(FR_ERANGE, "%s: segments end at row %" PRId64 " of %" PRId64, what,
                       job.rows.n_edges, n_rows);
    if (reduction == FR_MAX && argmax == NULL)
        return fr_fail(FR_EINVAL, "%s: the gradient of a max needs the argmax", what);
    /* Rows before the first and behind the last segment belong to none. */
    const int64_t first = n_segments > 0 ? offset[0] : 0, last = job.rows.n_edges;
    const size_t row_bytes = (size_t)width * fr_dtype_bytes(dtype);
    if (row_bytes > 0) {
        memset(dx, 0, (size_t)first * row_bytes);
        memset((char *)dx + (size_t)last * row_bytes, 0, (size_t)(n_rows - last) * row_bytes);
    }
    run_edges(&job, LOOP(dtype, segment_gradient), width);
    return FR_OK;
}
