/*
 * edge_dot_max.c: see edge_dot_max.h. An edge lies in one row, a row is one thread's: the order of
 * every sum is that of the columns.
 */
#include "kernel/edge_dot_max.h"

#include <string.h>

typedef struct edge_dot_max_call {
    fr_sparse_rows rows;
    const void *dy, *x;
    const int32_t *argmax;
    int64_t heads, width;
    void *score;
} edge_dot_max_call;

#define TEMPLATE "kernel/edge_dot_max_template.h"
#include "kernel/variants.h"

void fr_edge_dot_max_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *dy, const void *x,
                         const int32_t *argmax, int64_t heads, int64_t width, void *score)
{
    edge_dot_max_call call = {.rows = *rows,
                              .dy = dy,
                              .x = x,
                              .argmax = argmax,
                              .heads = heads,
                              .width = width,
                              .score = score};
    memset(score, 0, (size_t)(rows->n_edges * heads) * fr_dtype_bytes(dtype));
    fr_parallel_for(rows->n_rows, fr_rows_per_tile(heads * width), FR_PICK(edge_dot_max, dtype),
                    &call);
}
