/*
 * embedding.c: Embedding: rows of a table by id.
 *
 *     out[..] = table[ids[..]]        table [v, d], ids i32 or i64 of any shape, out [.., d]
 *
 * A gather whose gradient is known to be row-sparse: fr_gradient_rows stops at the gathered rows;
 * plain fr_gradient adds them into a dense table by EmbeddingGrad, in the order of ids. An id
 * outside [0, v) stops the run with FR_ERANGE.
 */
#include "kernel/rows.h"

#include <string.h>

#include "program/op.h"
#include "program/ops/operands.h"

static const char *const gradient_attributes[] = {"rows", NULL};

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_index(p, node, in, 1));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 1, 0, FR_MAX_RANK - 1));
    out[0] = fr_leading_type(&in[1], in[0].dtype, in[1].shape.rank);
    out[0].shape.dims[out[0].shape.rank++] = in[0].shape.dims[1];
    return FR_OK;
}

/* dy [.., d], ids [..] -> [attribute rows, d]. */
static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int n_rows;
    const fr_dim *rows = fr_node_dims(node, "rows", &n_rows);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_index(p, node, in, 1));
    const int rank = in[1].shape.rank;
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, rank + 1, rank + 1));
    for (int d = 0; d < rank; d++)
        FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "dim of operand 0", in[0].shape.dims[d],
                                        "dim of ids", in[1].shape.dims[d]));
    if (n_rows != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n_rows);
    out[0] = (fr_type){.dtype = in[0].dtype, .shape = FR_SHAPE(rows[0], in[0].shape.dims[rank])};
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0])
        return FR_OK;
    const fr_dim rows = fr_value_shape(p, node->inputs[0]).dims[0];
    const fr_value operands[] = {grad_out[0], node->inputs[1]};
    const fr_attribute given = FR_DIMS("rows", &rows, 1);
    grad_in[0] = fr_apply_one(p, "EmbeddingGrad", operands, 2, &given, 1);
    return fr_program_check(p);
}

/* Adding rows is linear: the gradient of what was added is a gather. */
static fr_status gradient_of_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0])
        return FR_OK;
    const fr_value operands[] = {grad_out[0], node->inputs[1]};
    grad_in[0] = fr_apply_one(p, "Embedding", operands, 2, NULL, 0);
    return fr_program_check(p);
}

static fr_status run_gather(const fr_run *run)
{
    const fr_tensor *table = &run->in[0], *ids = &run->in[1];
    const int64_t n = fr_tensor_count(ids);
    const int64_t row_bytes = table->shape[1] * (int64_t)fr_dtype_bytes(table->dtype);
    if (ids->dtype == FR_I32)
        return fr_rows_gather_i32(table->data, table->shape[0], row_bytes, row_bytes, ids->data, n,
                                  run->out[0].data);
    return fr_rows_gather_i64(table->data, table->shape[0], row_bytes, row_bytes, ids->data, n,
                              run->out[0].data);
}

static fr_status run_add(const fr_run *run)
{
    const fr_tensor *rows = &run->in[0], *ids = &run->in[1];
    fr_tensor *table = &run->out[0];
    const int64_t n = fr_tensor_count(ids), count = fr_tensor_count(table);
    if (count > 0)
        memset(table->data, 0, (size_t)count * fr_dtype_bytes(table->dtype));
    if (ids->dtype == FR_I32)
        return fr_rows_add_i32(table->data, table->shape[0], table->dtype, table->shape[1],
                               ids->data, n, rows->data);
    return fr_rows_add_i64(table->data, table->shape[0], table->dtype, table->shape[1], ids->data,
                           n, rows->data);
}

/* Only the rows named are read, not the table. */
static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    (void)node;
    *flop = 0;
    *bytes = 2 * (double)fr_tensor_count(&out[0]) * (double)fr_dtype_bytes(out[0].dtype) +
             (double)fr_tensor_count(&in[1]) * (double)fr_dtype_bytes(in[1].dtype);
}

const fr_op fr_op_embedding = {
    .name = "Embedding",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_gather}},
};

const fr_op fr_op_embedding_grad = {
    .name = "EmbeddingGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_gradient,
    .gradient = gradient_of_gradient,
    .kernels = {{.name = "own", .run = run_add}},
};
