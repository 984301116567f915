/*
 * gather.c: Gather: places of one axis by number, as ONNX; and GatherGrad, which adds them back.
 *
 *     out[a.., i.., b..] = x[a.., indices[i..], b..]      attribute `axis` (0); indices i32 or i64
 *
 * GatherGrad takes (dy, indices) and attributes `axis` and `rows`, the size of x's axis; places
 * with the same number are added in the order of indices. A number outside the axis stops the run
 * with FR_ERANGE; negative numbers do not count from the end.
 */
#include "kernel/elementwise.h"
#include "kernel/rows.h"

#include "program/op.h"
#include "program/ops/axis.h"

static const char *const attributes[] = {"axis", NULL};
static const char *const gradient_attributes[] = {"axis", "rows", NULL};

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int axis;
    FR_RETURN_IF_ERROR(fr_infer_axis(p, node, in, 0, &axis));
    FR_RETURN_IF_ERROR(fr_infer_index(p, node, in, 1));
    const int rank = in[0].shape.rank, rank_indices = in[1].shape.rank;
    if (rank + rank_indices - 1 > FR_MAX_RANK)
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "operands of rank %d and %d give rank %d, above %d", rank,
                             rank_indices, rank + rank_indices - 1, (int)FR_MAX_RANK);
    out[0] = fr_leading_type(&in[0], in[0].dtype, axis);
    for (int d = 0; d < rank_indices; d++)
        out[0].shape.dims[out[0].shape.rank++] = in[1].shape.dims[d];
    for (int d = axis + 1; d < rank; d++)
        out[0].shape.dims[out[0].shape.rank++] = in[0].shape.dims[d];
    return FR_OK;
}

/* dy [a.., i.., b..], indices [i..] -> [a.., rows, b..]; here `axis` counts the dims a. */
static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int n;
    const fr_dim *rows = fr_node_dims(node, "rows", &n);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_index(p, node, in, 1));
    const int64_t axis = fr_node_int(node, "axis", 0);
    const int rank_indices = in[1].shape.rank;
    if (n != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n);
    if (axis < 0 || axis + rank_indices > in[0].shape.rank)
        return fr_infer_fail(p, node, FR_ERANGE,
                             "axis %" PRId64 " and operand 1 of rank %d, operand 0 has rank %d",
                             axis, rank_indices, in[0].shape.rank);
    for (int d = 0; d < rank_indices; d++)
        FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "dim of operand 0", in[0].shape.dims[axis + d],
                                        "dim of operand 1, the indices,", in[1].shape.dims[d]));
    out[0] = fr_leading_type(&in[0], in[0].dtype, (int)axis);
    out[0].shape.dims[out[0].shape.rank++] = rows[0];
    for (int d = (int)axis + rank_indices; d < in[0].shape.rank; d++)
        out[0].shape.dims[out[0].shape.rank++] = in[0].shape.dims[d];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0])
        return FR_OK;
    const fr_shape x = fr_value_shape(p, node->inputs[0]);
    const int axis = fr_node_axis(node, x.rank);
    const fr_value operands[] = {grad_out[0], node->inputs[1]};
    const fr_attribute given[] = {FR_INT("axis", axis), FR_DIMS("rows", &x.dims[axis], 1)};
    grad_in[0] = fr_apply_one(p, "GatherGrad", operands, 2, given, 2);
    return fr_program_check(p);
}

static fr_status gradient_of_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    if (wanted[0])
        grad_in[0] = fr_gather(p, grad_out[0], node->inputs[1], (int)fr_node_int(node, "axis", 0));
    return fr_program_check(p);
}

static fr_status run_gather(const fr_run *run)
{
    const fr_tensor *x = &run->in[0], *indices = &run->in[1];
    const int axis = fr_node_axis(run->node, x->rank);
    const int64_t outer = fr_sizes_product(x, 0, axis), n = fr_tensor_count(indices);
    const int64_t rows = x->shape[axis], row_bytes = fr_inner_bytes(x, axis);
    for (int64_t o = 0; o < outer; o++) {
        const char *from = (const char *)x->data + o * rows * row_bytes;
        char *to = (char *)run->out[0].data + o * n * row_bytes;
        FR_RETURN_IF_ERROR(
            indices->dtype == FR_I32
                ? fr_rows_gather_i32(from, rows, row_bytes, row_bytes, indices->data, n, to)
                : fr_rows_gather_i64(from, rows, row_bytes, row_bytes, indices->data, n, to));
    }
    return FR_OK;
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_tensor *dy = &run->in[0], *indices = &run->in[1], *out = &run->out[0];
    const int axis = (int)fr_node_int(run->node, "axis", 0);
    const int64_t outer = fr_sizes_product(out, 0, axis), n = fr_tensor_count(indices);
    const int64_t width = fr_sizes_product(out, axis + 1, out->rank), rows = out->shape[axis];
    const int64_t element = (int64_t)fr_dtype_bytes(out->dtype);
    fr_fill_run(out->dtype, 0, fr_tensor_count(out), out->data);
    for (int64_t o = 0; o < outer; o++) {
        const char *from = (const char *)dy->data + o * n * width * element;
        char *to = (char *)out->data + o * rows * width * element;
        FR_RETURN_IF_ERROR(
            indices->dtype == FR_I32
                ? fr_rows_add_i32(to, rows, out->dtype, width, indices->data, n, from)
                : fr_rows_add_i64(to, rows, out->dtype, width, indices->data, n, from));
    }
    return FR_OK;
}

/* Only the places named are read. */
static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    (void)node;
    *flop = 0;
    *bytes = 2 * (double)fr_tensor_count(&out[0]) * (double)fr_dtype_bytes(out[0].dtype) +
             (double)fr_tensor_count(&in[1]) * (double)fr_dtype_bytes(in[1].dtype);
}

const fr_op fr_op_gather = {
    .name = "Gather",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_gather}},
};

const fr_op fr_op_gather_grad = {
    .name = "GatherGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_gradient,
    .gradient = gradient_of_gradient,
    .kernels = {{.name = "own", .run = run_gradient}},
};
