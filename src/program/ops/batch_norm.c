/*
 * batch_norm.c: BatchNormalization per channel of x [n, c] or [n, c, ...], as ONNX.
 *
 *     y = (x - mean) / sqrt(variance + epsilon) * scale + bias
 *
 * Inputs x, scale [c], bias [c], and the states mean [c] and variance [c]. While the executor
 * trains, mean and variance are the batch's (variance over n) and the states move in place: state =
 * momentum * state + (1 - momentum) * batch, with the batch's variance over n - 1 as torch has it.
 * Otherwise they are the states. Attributes `epsilon` (1e-5), `momentum` (0.9, in ONNX's sense;
 * fr_batch_norm's is one minus it). Outputs y, and the mean and inverse deviation used [c], which
 * the gradient needs. States get no gradient.
 */
#include "kernel/norm.h"

#include "program/op.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"epsilon", "momentum", NULL};

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    static const char *const names[] = {"", "scale (operand 1)", "bias (operand 2)",
                                        "mean (operand 3)", "variance (operand 4)"};
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, FR_MAX_RANK));
    for (int i = 1; i < 5; i++)
        FR_RETURN_IF_ERROR(fr_infer_per_column(p, node, in, i, names[i], in[0].shape.dims[1]));
    const double epsilon = fr_node_float(node, "epsilon", 1e-5),
                 momentum = fr_node_float(node, "momentum", 0.9);
    if (!(epsilon >= 0))
        return fr_infer_fail(p, node, FR_ERANGE, "epsilon %g is below 0", epsilon);
    if (!(momentum >= 0 && momentum <= 1))
        return fr_infer_fail(p, node, FR_ERANGE, "momentum %g is outside [0, 1]", momentum);
    out[0] = in[0];
    out[1] = out[2] = in[1];
    return FR_OK;
}

/* x, scale, mean, inverse, dy -> dx, dscale, dbias. */
static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    static const char *const names[] = {"", "scale (operand 1)", "mean (operand 2)",
                                        "inverse deviation (operand 3)"};
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, FR_MAX_RANK));
    for (int i = 1; i < 4; i++)
        FR_RETURN_IF_ERROR(fr_infer_per_column(p, node, in, i, names[i], in[0].shape.dims[1]));
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
                       "BatchNormalization: the statistics (results 1 and 2) have no gradient");
    if (wanted[3] || wanted[4])
        return fr_fail(
            FR_ENOTSUP,
            "BatchNormalization: the states mean and variance (operands 3 and 4) have no gradient");
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->outputs[1],
                                 node->outputs[2], grad_out[0]};
    fr_value outputs[3];
    fr_apply(p, "BatchNormalizationGrad", operands, 5, NULL, 0, outputs, 3);
    for (int i = 0; i < 3; i++)
        if (wanted[i])
            grad_in[i] = outputs[i];
    return fr_program_check(p);
}

static fr_batch_norm_shape norm_of(const fr_run *run)
{
    const fr_tensor *x = &run->in[0];
    return (fr_batch_norm_shape){
        .dtype = x->dtype,
        .training = run->training,
        .n_rows = x->shape[0],
        .channels = x->shape[1],
        .inner = fr_sizes_product(x, 2, x->rank),
        .epsilon = fr_node_float(run->node, "epsilon", 1e-5),
        .momentum = 1 - fr_node_float(run->node, "momentum", 0.9),
    };
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return fr_batch_norm_scratch(in[0].shape[1]);
}

static fr_status run_norm(const fr_run *run)
{
    const fr_batch_norm_shape norm = norm_of(run);
    const fr_batch_norm_forward at = {
        .x = run->in[0].data,
        .scale = run->in[1].data,
        .bias = run->in[2].data,
        .running_mean = run->in[3].data,
        .running_variance = run->in[4].data,
        .y = run->out[0].data,
        .mean = run->out[1].data,
        .inverse = run->out[2].data,
        .scratch = run->workspace,
    };
    fr_batch_norm_run(&norm, &at);
    return FR_OK;
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_batch_norm_shape norm = norm_of(run);
    const fr_batch_norm_gradient at = {
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
    fr_batch_norm_gradient_run(&norm, &at);
    return FR_OK;
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = 8 * (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_batch_norm = {
    .name = "BatchNormalization",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 3,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = workspace, .run = run_norm}},
};

const fr_op fr_op_batch_norm_grad = {
    .name = "BatchNormalizationGrad",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 3,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = workspace, .run = run_gradient}},
};
