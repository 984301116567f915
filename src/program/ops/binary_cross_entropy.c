/*
 * binary_cross_entropy.c: SigmoidBinaryCrossEntropy: the mean over elements whose target is not
 * below 0 of the binary cross-entropy of sigmoid(x) against the target (multi-label classification;
 * targets below 0 are unknown labels).
 *
 *     loss(x, t) = max(x, 0) - x t + log(1 + exp(-|x|))        dx = (sigmoid(x) - t) / count
 *
 * Inputs x and targets of one shape and dtype. Outputs the loss and the count (i64). Targets get no
 * gradient.
 */
#include "kernel/loss.h"

#include "program/op.h"
#include "program/ops/operands.h"

static fr_status infer_operands(fr_program *p, const fr_node *node, const fr_type *in)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    return fr_infer_same_shape(p, node, in, 0, 1);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_operands(p, node, in));
    out[0] = (fr_type){.dtype = in[0].dtype, .shape = FR_SCALAR};
    out[1] = (fr_type){.dtype = FR_I64, .shape = FR_SCALAR};
    return FR_OK;
}

static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_operands(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 2, 0, 0));
    if (in[2].dtype != FR_I64)
        return fr_infer_fail(p, node, FR_EDTYPE, "operand 2, the count, is %s and not i64",
                             fr_dtype_name(in[2].dtype));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 3, 0, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 3));
    out[0] = in[0];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (wanted[1])
        return fr_fail(FR_ENOTSUP,
                       "SigmoidBinaryCrossEntropy: targets (operand 1) have no gradient");
    if (!wanted[0] || grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->outputs[1], grad_out[0]};
    grad_in[0] = fr_apply_one(p, "SigmoidBinaryCrossEntropyGrad", operands, 4, NULL, 0);
    return fr_program_check(p);
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return (size_t)fr_binary_cross_entropy_scratch(fr_tensor_count(&in[0])) * sizeof(double);
}

static fr_status run_loss(const fr_run *run)
{
    fr_binary_cross_entropy_run(run->in[0].dtype, fr_tensor_count(&run->in[0]), run->in[0].data,
                                run->in[1].data, run->out[0].data, run->out[1].data,
                                run->workspace);
    return FR_OK;
}

static fr_status run_gradient(const fr_run *run)
{
    fr_binary_cross_entropy_gradient_run(
        run->in[0].dtype, fr_tensor_count(&run->in[0]), run->in[0].data, run->in[1].data,
        *(const int64_t *)run->in[2].data, run->in[3].data, run->out[0].data);
    return FR_OK;
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = 6 * (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_binary_cross_entropy = {
    .name = "SigmoidBinaryCrossEntropy",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 2,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = workspace, .run = run_loss}},
};

const fr_op fr_op_binary_cross_entropy_grad = {
    .name = "SigmoidBinaryCrossEntropyGrad",
    .min_inputs = 4,
    .max_inputs = 4,
    .n_outputs = 1,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_gradient}},
};
