/*
 * cross_entropy.c: SoftmaxCrossEntropyLoss (reduction mean): the mean over rows whose label is not
 * `ignore_index` of -log softmax(logits[row])[label[row]]; 0 where no row is left.
 *
 * Inputs logits [n, c] and labels [n] (i32 or i64). Outputs the loss and, for the gradient, two
 * numbers a row [n, 2]: its maximum and the log of the sum of exponentials above it. A label
 * outside [0, c) other than ignore_index stops the run with FR_ERANGE, row and label named.
 */
#include "kernel/loss.h"

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"ignore_index", NULL};

static fr_status infer_operands(fr_program *p, const fr_node *node, const fr_type *in)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_index(p, node, in, 1));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 1, 1, 1));
    return fr_infer_dim(p, node, "rows of logits", in[0].shape.dims[0], "labels",
                        in[1].shape.dims[0]);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_operands(p, node, in));
    out[0] = (fr_type){.dtype = in[0].dtype, .shape = FR_SCALAR};
    out[1] =
        (fr_type){.dtype = in[0].dtype, .shape = FR_SHAPE(in[0].shape.dims[0], fr_constant(2))};
    return FR_OK;
}

static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_operands(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 2, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 2));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "rows of logits", in[0].shape.dims[0],
                                    "rows of operand 2", in[2].shape.dims[0]));
    FR_RETURN_IF_ERROR(
        fr_infer_dim(p, node, "numbers a row", in[2].shape.dims[1], "expected", fr_constant(2)));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 3, 0, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 3));
    out[0] = in[0];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0] || grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    const fr_attribute ignore = FR_INT("ignore_index", fr_node_int(node, "ignore_index", -1));
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->outputs[1], grad_out[0]};
    grad_in[0] = fr_apply_one(p, "SoftmaxCrossEntropyLossGrad", operands, 4, &ignore, 1);
    return fr_program_check(p);
}

static fr_cross_entropy_shape shape_of(const fr_run *run)
{
    return (fr_cross_entropy_shape){
        .dtype = run->in[0].dtype,
        .n_rows = run->in[0].shape[0],
        .n_classes = run->in[0].shape[1],
        .label_dtype = run->in[1].dtype,
        .labels = run->in[1].data,
        .ignore = fr_node_int(run->node, "ignore_index", -1),
    };
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return (size_t)in[0].shape[0] * sizeof(double);
}

static fr_status run_loss(const fr_run *run)
{
    const fr_cross_entropy_shape shape = shape_of(run);
    return fr_cross_entropy_run(&shape, run->in[0].data, run->out[0].data, run->out[1].data,
                                run->workspace);
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_cross_entropy_shape shape = shape_of(run);
    return fr_cross_entropy_gradient_run(&shape, run->in[0].data, run->in[2].data, run->in[3].data,
                                         run->out[0].data);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = 4 * (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_cross_entropy = {
    .name = "SoftmaxCrossEntropyLoss",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 2,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = workspace, .run = run_loss}},
};

const fr_op fr_op_cross_entropy_grad = {
    .name = "SoftmaxCrossEntropyLossGrad",
    .min_inputs = 4,
    .max_inputs = 4,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_gradient}},
};
