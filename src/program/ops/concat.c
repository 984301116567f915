/*
 * concat.c: Concat: operands one behind the other along attribute `axis` (0), as ONNX. The size of
 * the axis is the sum, also of symbols. The gradient of an operand is its slice.
 */
#include "kernel/transpose.h"

#include "program/op.h"
#include "program/ops/axis.h"
#include "program/program_body.h"

static const char *const attributes[] = {"axis", NULL};

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int axis;
    FR_RETURN_IF_ERROR(fr_infer_axis(p, node, in, 0, &axis));
    out[0] = in[0];
    for (int i = 1; i < node->n_inputs; i++) {
        FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, i));
        FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, i, in[0].shape.rank, in[0].shape.rank));
        for (int d = 0; d < in[0].shape.rank; d++)
            if (d != axis && !fr_dim_equal(in[0].shape.dims[d], in[i].shape.dims[d])) {
                char a[64], b[64];
                return fr_infer_fail(p, node, FR_ESHAPE,
                                     "dim %d of operand 0 is %s, of operand %d %s", d,
                                     fr_dim_text(p, in[0].shape.dims[d], a, sizeof a), i,
                                     fr_dim_text(p, in[i].shape.dims[d], b, sizeof b));
            }
        out[0].shape.dims[axis] = fr_dim_add(p, out[0].shape.dims[axis], in[i].shape.dims[axis]);
    }
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    const int axis = fr_node_axis(node, fr_value_shape(p, node->inputs[0]).rank);
    fr_dim begin = fr_constant(0);
    for (int i = 0; i < node->n_inputs; i++) {
        const fr_dim end = fr_dim_add(p, begin, fr_value_shape(p, node->inputs[i]).dims[axis]);
        if (wanted[i])
            grad_in[i] = fr_slice(p, grad_out[0], axis, begin, end);
        begin = end;
    }
    return fr_program_check(p);
}

static fr_status run_concat(const fr_run *run)
{
    const fr_tensor *out = &run->out[0];
    const int axis = fr_node_axis(run->node, out->rank);
    const int64_t outer = fr_sizes_product(out, 0, axis), inner = fr_inner_bytes(out, axis);
    char *to = out->data;
    for (int i = 0; i < run->node->n_inputs; i++) {
        const int64_t bytes = run->in[i].shape[axis] * inner;
        fr_copy_blocks(run->in[i].data, bytes, to, out->shape[axis] * inner, bytes, outer);
        to += bytes;
    }
    return FR_OK;
}

const fr_op fr_op_concat = {
    .name = "Concat",
    .min_inputs = 1,
    .max_inputs = -1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .kernels = {{.name = "own", .run = run_concat}},
};
