/*
 * operands.h: small readings of an operator's operands that many operators share.
 */
#ifndef FR_PROGRAM_OPERANDS_H
#define FR_PROGRAM_OPERANDS_H

#include "program/op.h"

/** Bytes of all operands and results: what must move at least. */
static inline double fr_operand_bytes(const fr_node *node, const fr_tensor *in,
                                      const fr_tensor *out)
{
    double bytes = 0;
    for (int i = 0; i < node->n_inputs; i++)
        if (in[i].dtype != FR_NO_DTYPE)
            bytes += (double)fr_tensor_count(&in[i]) * (double)fr_dtype_bytes(in[i].dtype);
    for (int i = 0; i < node->n_outputs; i++)
        bytes += (double)fr_tensor_count(&out[i]) * (double)fr_dtype_bytes(out[i].dtype);
    return bytes;
}

/** Product of the sizes of dims [begin, end). */
static inline int64_t fr_sizes_product(const fr_tensor *tensor, int begin, int end)
{
    int64_t product = 1;
    for (int d = begin; d < end; d++)
        product *= tensor->shape[d];
    return product;
}

/** The type with another dtype and no dims but the first `rank`. */
static inline fr_type fr_leading_type(const fr_type *type, fr_dtype dtype, int rank)
{
    fr_type leading = {.dtype = dtype, .shape = {.rank = rank}};
    for (int d = 0; d < rank; d++)
        leading.shape.dims[d] = type->shape.dims[d];
    return leading;
}

/** Where an optional input was given. */
static inline bool fr_is_given(const fr_node *node, int operand)
{
    return operand < node->n_inputs && node->inputs[operand] != FR_NO_VALUE;
}

/** The input, or FR_NO_VALUE where it was left out. */
static inline fr_value fr_node_input(const fr_node *node, int operand)
{
    return operand < node->n_inputs ? node->inputs[operand] : FR_NO_VALUE;
}

/** Fails where two operands differ in rank or in any dim. */
static inline fr_status fr_infer_same_shape(fr_program *p, const fr_node *node, const fr_type *in,
                                            int a, int b)
{
    if (in[a].shape.rank != in[b].shape.rank)
        return fr_infer_fail(p, node, FR_ESHAPE, "operand %d has rank %d, operand %d has rank %d",
                             a, in[a].shape.rank, b, in[b].shape.rank);
    for (int d = 0; d < in[a].shape.rank; d++)
        if (!fr_dim_equal(in[a].shape.dims[d], in[b].shape.dims[d])) {
            char text_a[64], text_b[64];
            return fr_infer_fail(p, node, FR_ESHAPE, "dim %d of operand %d is %s, of operand %d %s",
                                 d, a, fr_dim_text(p, in[a].shape.dims[d], text_a, sizeof text_a),
                                 b, fr_dim_text(p, in[b].shape.dims[d], text_b, sizeof text_b));
        }
    return FR_OK;
}

/** Fails where operand `operand` is not one row of operand 0's last axis: rank 1, same size, same
 * dtype. */
static inline fr_status fr_infer_per_column(fr_program *p, const fr_node *node, const fr_type *in,
                                            int operand, const char *what, fr_dim columns)
{
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, operand, 1, 1));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, operand));
    return fr_infer_dim(p, node, what, in[operand].shape.dims[0], "columns of operand 0", columns);
}

#endif
