/*
 * sparse.h: aggregation over the rows of a block: products with a sparse matrix, their transposes,
 * scores on edges. f32 (vectorised, dispatched by instruction set) and f64 (reference).
 *
 * Row i of a block holds the edges begin[i] .. end[i); source[e] is the row of x the message comes
 * from. With several heads x is [n_sources, heads * width] and weight [n_edges, heads]; without
 * weights heads is 1. Work is split over rows by equal numbers of edges, never within a row's sum:
 * the same bits with any number of threads. A row without edges gives zeros.
 */
#ifndef FR_KERNEL_SPARSE_H
#define FR_KERNEL_SPARSE_H

#include <frugal/tensor.h>
#include <stdint.h>

typedef struct fr_sparse_rows {
    int64_t n_rows;
    const int64_t *begin, *end; /* n_rows each */
    const int32_t *source;
    int64_t n_edges; /* length of source (a row may lie anywhere in it) */
} fr_sparse_rows;

typedef struct fr_spmm {
    fr_sparse_rows rows;
    fr_dtype dtype; /* FR_F32 or FR_F64: of x, weight and out */
    const void *x;
    int64_t x_stride;     /* elements between rows of x */
    const void *weight;   /* [n_edges, heads] or NULL */
    int64_t heads, width; /* of one head */
    fr_reduction reduction;
    void *out; /* [n_rows, heads * width], rows out_stride apart */
    int64_t out_stride;
    int32_t *argmax; /* FR_MAX: edge number that won per element, -1 for an empty row; else NULL */
} fr_spmm;

/** out[i] = reduce over e of weight[e] * x[source[e]]. Ties of max: the first edge. */
fr_status fr_spmm_run(const fr_spmm *spmm);

/** The transpose: for every row i and edge e, out[source[e]] += weight[e] * x[i] (mean: divided by
 * the row's edges; max: only where argmax[i, j] == e). Here x is [n_rows, heads*width] and out
 * [n_sources, heads*width], zeroed first. Sources are split between threads, so every sum keeps
 * its order. */
fr_status fr_spmm_transposed_run(const fr_spmm *spmm, int64_t n_sources);

/** score[e, h] = < a[i, h], b[source[e], h] > over width: the gradient of an edge's weight. Mean
 * divides by the row's edges. */
fr_status fr_edge_dot_run(const fr_sparse_rows *rows, fr_dtype dtype, fr_reduction reduction,
                          const void *a, const void *b, int64_t heads, int64_t width, void *score);

/** out[e, h] = left[i, h] + right[source[e], h]. Edges outside every row are left 0. */
fr_status fr_edge_add_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *left,
                          const void *right, int64_t heads, void *out);
/** Its gradients: left[i, h] = sum over e of grad[e, h]; right[source[e], h] += grad[e, h] (zeroed
 * first). */
fr_status fr_edge_add_gradient_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *grad,
                                   int64_t heads, int64_t n_sources, void *left, void *right);

/** Softmax of scores [n_edges, heads] over each row's edges; and its gradient from y and dy. */
fr_status fr_edge_softmax_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *scores,
                              int64_t heads, void *out);
fr_status fr_edge_softmax_gradient_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *y,
                                       const void *dy, int64_t heads, void *dx);

/** out[i] = reduce over rows offset[i] .. offset[i+1) of x [.., width]; argmax as in fr_spmm (row
 * of x). */
fr_status fr_segment_run(int64_t n_segments, const int64_t *offset, fr_dtype dtype,
                         fr_reduction reduction, const void *x, int64_t width, void *out,
                         int32_t *argmax);
fr_status fr_segment_gradient_run(int64_t n_segments, const int64_t *offset, fr_dtype dtype,
                                  fr_reduction reduction, const void *dy, int64_t width,
                                  const int32_t *argmax, int64_t n_rows, void *dx);

#endif
