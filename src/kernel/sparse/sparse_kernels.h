/*
 * sparse_kernels.h: the table of inner loops that sparse.c dispatches to.
 *
 * Each loop runs on one thread over a range of rows that the caller has cut by shape and checked.
 * There is one portable table per dtype (sparse_template.h, included twice) and, for f32, one per
 * instruction set that replaces the loops worth replacing. A NULL entry means: use the portable
 * one.
 *
 * Inside, a segment reduction is a product whose `source` is NULL: edge e reads row e.
 */
#ifndef FR_KERNEL_SPARSE_KERNELS_H
#define FR_KERNEL_SPARSE_KERNELS_H

#include "kernel/sparse.h"

/* What an edge kernel of a row range needs. Names of operands are those of sparse.h. */
typedef struct fr_edge_job {
    fr_sparse_rows rows;
    fr_reduction reduction;
    int64_t heads, width;
    const void *a, *b;
    void *out;
} fr_edge_job;

typedef void (*fr_spmm_loop)(const fr_spmm *spmm, int64_t begin, int64_t end);
/* Adds only to out rows [first, last) and, within them, columns [column, column_end) of all heads.
 */
typedef void (*fr_spmm_scatter_loop)(const fr_spmm *spmm, int64_t first, int64_t last,
                                     int64_t column, int64_t column_end);
typedef void (*fr_edge_loop)(const fr_edge_job *job, int64_t begin, int64_t end);

typedef struct fr_sparse_kernels {
    fr_spmm_loop sum; /* and mean */
    fr_spmm_loop max;
    fr_spmm_scatter_loop scatter;
    fr_edge_loop dot;
    fr_edge_loop add;
    fr_edge_loop add_left;  /* out[i] = sum of a[e] */
    fr_edge_loop add_right; /* out[source[e]] += a[e] for sources in [begin, end), all rows */
    fr_edge_loop softmax;
    fr_edge_loop softmax_gradient; /* a: y, b: dy */
    fr_edge_loop segment_gradient; /* a: dy, b: argmax or NULL, rows: offsets */
} fr_sparse_kernels;

extern const fr_sparse_kernels fr_sparse_f32_portable, fr_sparse_f64_portable;
#if FR_X86
extern const fr_sparse_kernels fr_sparse_f32_avx2, fr_sparse_f32_avx512;
#endif

#endif
