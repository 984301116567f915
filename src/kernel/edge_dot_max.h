/*
 * edge_dot_max.h: the gradient of the edges' weights under a maximum (fr_spmm with FR_MAX): only
 * the elements that an edge won count.
 *
 *     score[e, h] = sum over j of head h with argmax[i, j] = e of dy[i, j] x[source[e], j]
 */
#ifndef FR_KERNEL_EDGE_DOT_MAX_H
#define FR_KERNEL_EDGE_DOT_MAX_H

#include "kernel/sparse.h"

/** dy and argmax [n_rows, heads * width], x [sources, heads * width], score [n_edges, heads]. Edges
 * that won nothing, or lie in no row, get 0. Rows and sources are those the forward run checked. */
void fr_edge_dot_max_run(const fr_sparse_rows *rows, fr_dtype dtype, const void *dy, const void *x,
                         const int32_t *argmax, int64_t heads, int64_t width, void *score);

#endif
