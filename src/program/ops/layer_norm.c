/*
 * layer_norm.c: LayerNormalization over the last axis, as ONNX with axis -1.
 *
 *     y = (x - mean) / sqrt(variance + epsilon) * scale + bias
 *
 * Inputs x [.., d], scale [d], bias [d] (optional). Attribute `epsilon` (1e-5). Outputs y, and per
 * row the mean and the inverse deviation [..], which the gradient needs. A row of one value gives
 * bias.
 */
#include "kernel/norm.h"

#include "program/op.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"epsilon", NULL};

static fr_status infer_scale(fr_program *p, const fr_node *node, const fr_type *in)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 1, FR_MAX_RANK));
    return fr_infer_per_column(p, node, in, 1, "scale (operand 1)",
                               in[0].shape.dims[in[0].shape.rank - 1]);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_scale(p, node, in));
    if (fr_is_given(node, 2))
        FR_RETURN_IF_ERROR(fr_infer_per_column(p, node, in, 2, "bias (operand 2)",
                                               in[0].shape.dims[in[0].shape.rank - 1]));
    if (!(fr_node_float(node, "epsilon", 1e-5) >= 0))
        return fr_infer_fail(p, node, FR_ERANGE, "epsilon %g is below 0",
                             fr_node_float(node, "epsilon", 1e-5));
    out[0] = in[0];
    out[1] = out[2] = fr_leading_type(&in[0], in[0].dtype, in[0].shape.rank - 1);
    return FR_OK;
}

/* x, scale, mean, inverse, dy -> dx, dscale, dbias. */
static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_scale(p, node, in));
    const int rank = in[0].shape.rank;
    for (int i = 2; i < 4; i++) {
        FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, i, rank - 1, rank - 1));
        FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, i));
        for (int d = 0; d < rank - 1; d++)
            FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "dim of the row statistics",
                                            in[i].shape.dims[d], "dim of x", in[0].shape.dims[d]));
    }
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 4));
    FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, in, 0, 4));
    out[0] = in[0];
    out[1] = out[2] = in[1];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (grad_out[1] != FR_NO_VALUE || grad_out[2] != FR_NO_VALUE)
        return fr_fail(FR_ENOTSUP,
                       "LayerNormalization: the row statistics (results 1 and 2) have no gradient");
    const bool has_bias = fr_is_given(node, 2);
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->outputs[1],
                                 node->outputs[2], grad_out[0]};
    fr_value outputs[3];
    fr_apply(p, "LayerNormalizationGrad", operands, 5, NULL, 0, outputs, 3);
    for (int i = 0; i < (has_bias ? 3 : 2); i++)
        if (wanted[i])
            grad_in[i] = outputs[i];
    return fr_program_check(p);
}

static fr_row_norm norm_of(const fr_run *run)
{
    const fr_tensor *x = &run->in[0];
    return (fr_row_norm){
        .dtype = x->dtype,
        .center = true,
        .n_rows = fr_sizes_product(x, 0, x->rank - 1),
        .width = x->shape[x->rank - 1],
        .epsilon = fr_node_float(run->node, "epsilon", 1e-5),
    };
}

static fr_status run_norm(const fr_run *run)
{
    const fr_row_norm norm = norm_of(run);
    fr_row_norm_run(&norm, run->in[0].data, run->in[1].data,
                    fr_is_given(run->node, 2) ? run->in[2].data : NULL, run->out[0].data,
                    run->out[1].data, run->out[2].data);
    return FR_OK;
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return fr_row_norm_scratch(in[0].dtype, in[0].shape[in[0].rank - 1]);
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_row_norm norm = norm_of(run);
    const fr_row_norm_gradient at = {
        .x = run->in[0].data,
        .scale = run->in[1].data,
        .mean = run->in[2].data,
        .inverse = run->in[3].data,
        .dy = run->in[4].data,
        .dx = run->out[0].data,
        .dscale = run->out[1].data,
        .dbias = run->out[2].data,
        .scratch = run->workspace,
    };
    fr_row_norm_gradient_run(&norm, &at);
    return FR_OK;
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = 8 * (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_layer_norm = {
    .name = "LayerNormalization",
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 3,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_norm}},
};

const fr_op fr_op_layer_norm_grad = {
    .name = "LayerNormalizationGrad",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 3,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = workspace, .run = run_gradient}},
};
