/*
 * block.h: the three operands that describe a block, which come first in every sparse operator.
 *
 *     operand 0  begin   i64 [rows]    row i's edges are [begin[i], end[i])
 *     operand 1  end     i64 [rows]
 *     operand 2  source  i32 [edges]   the row of x that an edge's message comes from
 *
 * Row and edge numbers are data: what reads through them checks them first (fr_block_check).
 */
#ifndef FR_PROGRAM_BLOCK_H
#define FR_PROGRAM_BLOCK_H

#include <inttypes.h>
#include <string.h>

/* The kernel's struct has the name of the builder's call: here it goes by another. */
#define fr_spmm fr_spmm_job
#include "kernel/sparse.h"
#undef fr_spmm

#include "program/op.h"
#include "program/ops/operands.h"

static inline fr_status fr_infer_block(fr_program *p, const fr_node *node, const fr_type *in)
{
    static const char *const names[] = {"begin", "end", "source"};
    for (int i = 0; i < 3; i++) {
        const fr_dtype needed = i < 2 ? FR_I64 : FR_I32;
        FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, i, 1, 1));
        if (in[i].dtype != needed)
            return fr_infer_fail(p, node, FR_EDTYPE, "operand %d, the block's %s, is %s and not %s",
                                 i, names[i], fr_dtype_name(in[i].dtype), fr_dtype_name(needed));
    }
    return fr_infer_dim(p, node, "rows of begin", in[0].shape.dims[0], "rows of end",
                        in[1].shape.dims[0]);
}

/** A float matrix [first, any], its first dim called `what`. */
static inline fr_status fr_infer_block_matrix(fr_program *p, const fr_node *node, const fr_type *in,
                                              int operand, const char *what, fr_dim first)
{
    char name[64];
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, operand));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, operand, 2, 2));
    snprintf(name, sizeof name, "rows of operand %d", operand);
    return fr_infer_dim(p, node, name, in[operand].shape.dims[0], what, first);
}

/** Attribute `reduction`: "sum" (default), "mean" or "max". */
static inline fr_status fr_infer_reduction(fr_program *p, const fr_node *node,
                                           fr_reduction *reduction)
{
    const char *name = fr_node_string(node, "reduction", "sum");
    *reduction = strcmp(name, "mean") == 0 ? FR_MEAN : strcmp(name, "max") == 0 ? FR_MAX : FR_SUM;
    if (*reduction == FR_SUM && strcmp(name, "sum") != 0)
        return fr_infer_fail(p, node, FR_EINVAL, "reduction \"%s\" is none of sum, mean, max",
                             name);
    return FR_OK;
}

static inline const char *fr_reduction_name(fr_reduction reduction)
{
    return reduction == FR_SUM ? "sum" : reduction == FR_MEAN ? "mean" : "max";
}

/** Of a node that infer has accepted. */
static inline fr_reduction fr_node_reduction(const fr_node *node)
{
    const char *name = fr_node_string(node, "reduction", "sum");
    return strcmp(name, "mean") == 0 ? FR_MEAN : strcmp(name, "max") == 0 ? FR_MAX : FR_SUM;
}

static inline fr_sparse_rows fr_block_rows(const fr_tensor *in)
{
    return (fr_sparse_rows){
        .n_rows = in[0].shape[0],
        .begin = in[0].data,
        .end = in[1].data,
        .source = in[2].data,
        .n_edges = in[2].shape[0],
    };
}

/** Every row's edges lie in the block and come from one of n_sources rows. Edges in no row may say
 * anything (pruned rows leave theirs behind). */
static inline fr_status fr_block_check(const fr_node *node, const fr_sparse_rows *rows,
                                       int64_t n_sources)
{
    for (int64_t i = 0; i < rows->n_rows; i++) {
        const int64_t begin = rows->begin[i], end = rows->end[i];
        if (begin < 0 || begin > end || end > rows->n_edges)
            return fr_fail(FR_ERANGE,
                           "%s %%%d: row %" PRId64 " has the edges [%" PRId64 ", %" PRId64
                           ") of %" PRId64,
                           node->op->name, (int)node->outputs[0], i, begin, end, rows->n_edges);
        int64_t bad = 0;
        for (int64_t e = begin; e < end; e++)
            bad += rows->source[e] < 0 || rows->source[e] >= n_sources;
        for (int64_t e = begin; bad && e < end; e++)
            if (rows->source[e] < 0 || rows->source[e] >= n_sources)
                return fr_fail(FR_ERANGE,
                               "%s %%%d: edge %" PRId64 " of row %" PRId64
                               " comes from source %" PRId32 " of %" PRId64,
                               node->op->name, (int)node->outputs[0], e, i, rows->source[e],
                               n_sources);
    }
    return FR_OK;
}

#endif
