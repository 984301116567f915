/*
 * rows.c: gather, scatter, add and merge of rows by number.
 *
 * Numbers are checked in one pass before anything moves: a row number i of n is good where neither
 * i nor n - 1 - i is negative, so the pass is nothing but adds and ors, which vectorise in any
 * instruction set. It costs 8 bytes a row beside the hundreds that move.
 *
 * Where several numbers may name one row (scatter, add), threads split the *table*: each walks all
 * numbers and serves those in its range, in order. So the last write wins and every sum keeps its
 * order, with any number of threads and without scratch memory.
 */
#include "kernel/rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    LINE = 64,
    AHEAD = 8,            /* rows between a prefetch and its use */
    PREFETCH_MOST = 1024, /* bytes of a row that are prefetched; the hardware follows */
    TILE_BYTES = 1 << 18,
    SPLIT_BYTES_LEAST = 1 << 18, /* below it one thread moves everything */
};

/* Row numbers of either width; `wide` is a constant wherever speed counts. */
typedef struct row_ids {
    const void *values;
    bool wide;
} row_ids;

INLINE int64_t id_at(const void *ids, int64_t i, bool wide)
{
    return wide ? ((const int64_t *)ids)[i] : ((const int32_t *)ids)[i];
}

INLINE bool all_in_range(const void *ids, int64_t n, int64_t n_rows, bool wide)
{
    uint64_t sign = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t id = (uint64_t)id_at(ids, i, wide);
        sign |= id | ((uint64_t)(n_rows - 1) - id);
    }
    return sign >> 63 == 0;
}

static fr_status check_ids(const row_ids *ids, int64_t n, int64_t n_rows, const char *what)
{
    if (n < 0 || n_rows < 0)
        return fr_fail(FR_ERANGE, "%s: %" PRId64 " numbers, %" PRId64 " rows", what, n, n_rows);
    const bool good = ids->wide ? all_in_range(ids->values, n, n_rows, true)
                                : all_in_range(ids->values, n, n_rows, false);
    for (int64_t i = 0; !good && i < n; i++) {
        const int64_t id = id_at(ids->values, i, ids->wide);
        if (id < 0 || id >= n_rows)
            return fr_fail(FR_ERANGE,
                           "%s: number %" PRId64 " at place %" PRId64 " of a table of %" PRId64
                           " rows",
                           what, id, i, n_rows);
    }
    return FR_OK;
}

INLINE void prefetch_row(const char *row, int64_t bytes)
{
    for (int64_t at = 0; at < bytes && at < PREFETCH_MOST; at += LINE)
        __builtin_prefetch(row + at, 0, 3);
}

/* ---- gather ---- */

typedef struct gather_job {
    const char *table;
    int64_t stride, bytes, n;
    row_ids ids;
    char *out;
} gather_job;

INLINE void gather_rows(const gather_job *job, int64_t begin, int64_t end, bool wide, int64_t bytes)
{
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < job->n)
            prefetch_row(job->table + id_at(job->ids.values, i + AHEAD, wide) * job->stride, bytes);
        memcpy(job->out + i * bytes, job->table + id_at(job->ids.values, i, wide) * job->stride,
               (size_t)bytes);
    }
}

/* Copies of a few bytes are one instruction where the compiler knows how many. */
INLINE void gather_sized(const gather_job *job, int64_t begin, int64_t end, bool wide)
{
    switch (job->bytes) {
    case 4: gather_rows(job, begin, end, wide, 4); break;
    case 8: gather_rows(job, begin, end, wide, 8); break;
    case 16: gather_rows(job, begin, end, wide, 16); break;
    case 32: gather_rows(job, begin, end, wide, 32); break;
    default: gather_rows(job, begin, end, wide, job->bytes);
    }
}

static void run_gather(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const gather_job *job = context;
    if (job->ids.wide)
        gather_sized(job, begin, end, true);
    else
        gather_sized(job, begin, end, false);
}

static int64_t rows_per_tile(int64_t row_bytes) { return 1 + TILE_BYTES / (row_bytes + 8); }

static fr_status gather(const void *table, int64_t n_rows, int64_t stride, int64_t bytes,
                        row_ids ids, int64_t n, void *out)
{
    FR_RETURN_IF_ERROR(check_ids(&ids, n, n_rows, "gather of rows"));
    gather_job job = {table, stride, bytes, n, ids, out};
    if (bytes > 0)
        fr_parallel_for(n, rows_per_tile(bytes), run_gather, &job);
    return FR_OK;
}

fr_status fr_rows_gather_i64(const void *table, int64_t n_rows, int64_t row_stride_bytes,
                             int64_t row_bytes, const int64_t *ids, int64_t n, void *out)
{
    return gather(table, n_rows, row_stride_bytes, row_bytes, (row_ids){ids, true}, n, out);
}

fr_status fr_rows_gather_i32(const void *table, int64_t n_rows, int64_t row_stride_bytes,
                             int64_t row_bytes, const int32_t *ids, int64_t n, void *out)
{
    return gather(table, n_rows, row_stride_bytes, row_bytes, (row_ids){ids, false}, n, out);
}

/* ---- scatter and add: each part owns a range of the table ---- */

typedef void (*row_writer)(char *to, const char *from, int64_t bytes);

typedef struct scatter_job {
    char *table;
    int64_t n_rows, stride, bytes, n, parts;
    row_ids ids;
    const char *rows;
    row_writer write;
} scatter_job;

static void copy_row(char *to, const char *from, int64_t bytes) { memcpy(to, from, (size_t)bytes); }

static void add_row_f32(char *to, const char *from, int64_t bytes)
{
    float *restrict sum = (float *)(void *)to;
    const float *restrict term = (const float *)(const void *)from;
    for (int64_t j = 0; j < bytes / (int64_t)sizeof *sum; j++)
        sum[j] += term[j];
}

static void add_row_f64(char *to, const char *from, int64_t bytes)
{
    double *restrict sum = (double *)(void *)to;
    const double *restrict term = (const double *)(const void *)from;
    for (int64_t j = 0; j < bytes / (int64_t)sizeof *sum; j++)
        sum[j] += term[j];
}

INLINE void scatter_rows(const scatter_job *job, int64_t first, int64_t last, bool wide)
{
    for (int64_t i = 0; i < job->n; i++) {
        const int64_t id = id_at(job->ids.values, i, wide);
        if (i + AHEAD < job->n) {
            const int64_t next = id_at(job->ids.values, i + AHEAD, wide);
            if (next >= first && next < last)
                prefetch_row(job->table + next * job->stride, job->bytes);
        }
        if (id >= first && id < last)
            job->write(job->table + id * job->stride, job->rows + i * job->bytes, job->bytes);
    }
}

static void run_scatter(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const scatter_job *job = context;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = job->n_rows * part / job->parts;
        const int64_t last = job->n_rows * (part + 1) / job->parts;
        if (job->ids.wide)
            scatter_rows(job, first, last, true);
        else
            scatter_rows(job, first, last, false);
    }
}

static fr_status scatter(scatter_job *job, const char *what)
{
    FR_RETURN_IF_ERROR(check_ids(&job->ids, job->n, job->n_rows, what));
    job->parts = job->n * job->bytes < SPLIT_BYTES_LEAST ? 1 : fr_threads();
    if (job->bytes > 0)
        fr_parallel_for(job->parts, 1, run_scatter, job);
    return FR_OK;
}

fr_status fr_rows_scatter_i64(void *table, int64_t n_rows, int64_t row_stride_bytes,
                              int64_t row_bytes, const int64_t *ids, int64_t n, const void *rows)
{
    scatter_job job = {.table = table,
                       .n_rows = n_rows,
                       .stride = row_stride_bytes,
                       .bytes = row_bytes,
                       .n = n,
                       .ids = {ids, true},
                       .rows = rows,
                       .write = copy_row};
    return scatter(&job, "scatter of rows");
}

static fr_status add(void *table, int64_t n_rows, fr_dtype dtype, int64_t width, row_ids ids,
                     int64_t n, const void *rows)
{
    if (dtype != FR_F32 && dtype != FR_F64)
        return fr_fail(FR_EDTYPE, "adding rows: f32 or f64 is needed, not %s",
                       fr_dtype_name(dtype));
    const int64_t bytes = width * (int64_t)fr_dtype_bytes(dtype);
    scatter_job job = {.table = table,
                       .n_rows = n_rows,
                       .stride = bytes,
                       .bytes = bytes,
                       .n = n,
                       .ids = ids,
                       .rows = rows,
                       .write = dtype == FR_F32 ? add_row_f32 : add_row_f64};
    return scatter(&job, "adding rows");
}

fr_status fr_rows_add_i32(void *table, int64_t n_rows, fr_dtype dtype, int64_t width,
                          const int32_t *ids, int64_t n, const void *rows)
{
    return add(table, n_rows, dtype, width, (row_ids){ids, false}, n, rows);
}

fr_status fr_rows_add_i64(void *table, int64_t n_rows, fr_dtype dtype, int64_t width,
                          const int64_t *ids, int64_t n, const void *rows)
{
    return add(table, n_rows, dtype, width, (row_ids){ids, true}, n, rows);
}

/* ---- merge ---- */

typedef struct merge_job {
    const char *computed, *cached;
    const int32_t *position;
    int64_t n, bytes;
    char *out;
} merge_job;

static const char *merge_source(const merge_job *job, int64_t i)
{
    const int64_t p = job->position[i];
    return p >= 0 ? job->computed + p * job->bytes : job->cached + (-1 - p) * job->bytes;
}

static void run_merge(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const merge_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < job->n)
            prefetch_row(merge_source(job, i + AHEAD), job->bytes);
        memcpy(job->out + i * job->bytes, merge_source(job, i), (size_t)job->bytes);
    }
}

fr_status fr_rows_merge(const void *computed, int64_t n_computed, const void *cached,
                        int64_t n_cached, const int32_t *position, int64_t n, int64_t row_bytes,
                        void *out)
{
    int64_t most = -1, least = 0;
    for (int64_t i = 0; i < n; i++) {
        most = position[i] > most ? position[i] : most;
        least = position[i] < least ? position[i] : least;
    }
    if (most >= n_computed || -1 - least >= n_cached)
        return fr_fail(FR_ERANGE,
                       "merge of rows: positions from %" PRId64 " to %" PRId64 ", but %" PRId64
                       " rows are cached and %" PRId64 " computed",
                       least, most, n_cached, n_computed);
    merge_job job = {computed, cached, position, n, row_bytes, out};
    if (row_bytes > 0)
        fr_parallel_for(n, rows_per_tile(row_bytes), run_merge, &job);
    return FR_OK;
}
