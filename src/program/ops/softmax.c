/*
 * softmax.c: Softmax and LogSoftmax along one axis, as ONNX since version 13.
 *
 *     y = exp(x) / sum exp(x)        dx = y (dy - sum(dy y))
 *     l = x - log sum exp(x)         dx = dy - exp(l) sum(dy)
 *
 * Attribute `axis` (default -1). The gradients need the result only, never x. For a mean of
 * negative log likelihoods take SoftmaxCrossEntropyLoss, which keeps two numbers a row instead of a
 * matrix.
 */
#include "kernel/softmax.h"

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"axis", NULL};

static int axis_of(const fr_node *node, int rank)
{
    const int64_t axis = fr_node_int(node, "axis", -1);
    return (int)(axis < 0 ? axis + rank : axis);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 1, FR_MAX_RANK));
    const int rank = in[0].shape.rank;
    const int64_t axis = fr_node_int(node, "axis", -1);
    if (axis < -rank || axis >= rank)
        return fr_infer_fail(p, node, FR_ERANGE, "axis %" PRId64 " of operand 0, which has rank %d",
                             axis, rank);
    out[0] = in[0];
    return FR_OK;
}

static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer(p, node, in, out));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    return fr_infer_same_shape(p, node, in, 0, 1);
}

static fr_status add_gradient(fr_program *p, const fr_node *node, const char *op,
                              const fr_value *grad_out, fr_value *grad_in)
{
    const fr_attribute axis = FR_INT("axis", fr_node_int(node, "axis", -1));
    const fr_value operands[] = {node->outputs[0], grad_out[0]};
    grad_in[0] = fr_apply_one(p, op, operands, 2, &axis, 1);
    return fr_program_check(p);
}

static fr_status softmax_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                  const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, "SoftmaxGrad", grad_out, grad_in);
}

static fr_status log_softmax_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, "LogSoftmaxGrad", grad_out, grad_in);
}

static fr_softmax_shape shape_of(const fr_run *run, bool is_log)
{
    const fr_tensor *x = &run->in[0];
    const int axis = axis_of(run->node, x->rank);
    return (fr_softmax_shape){
        .dtype = x->dtype,
        .log = is_log,
        .outer = fr_sizes_product(x, 0, axis),
        .n = x->shape[axis],
        .inner = fr_sizes_product(x, axis + 1, x->rank),
    };
}

static fr_status run_softmax(const fr_run *run)
{
    const fr_softmax_shape shape = shape_of(run, false);
    fr_softmax_run(&shape, run->in[0].data, run->out[0].data);
    return FR_OK;
}

static fr_status run_log_softmax(const fr_run *run)
{
    const fr_softmax_shape shape = shape_of(run, true);
    fr_softmax_run(&shape, run->in[0].data, run->out[0].data);
    return FR_OK;
}

static fr_status run_softmax_gradient(const fr_run *run)
{
    const fr_softmax_shape shape = shape_of(run, false);
    fr_softmax_gradient_run(&shape, run->in[0].data, run->in[1].data, run->out[0].data);
    return FR_OK;
}

static fr_status run_log_softmax_gradient(const fr_run *run)
{
    const fr_softmax_shape shape = shape_of(run, true);
    fr_softmax_gradient_run(&shape, run->in[0].data, run->in[1].data, run->out[0].data);
    return FR_OK;
}

/* An element: maximum, difference, exponential (counted as one), sum, quotient. */
static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = 5 * (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_softmax = {
    .name = "Softmax",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = softmax_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_softmax}},
};

const fr_op fr_op_log_softmax = {
    .name = "LogSoftmax",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = log_softmax_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_log_softmax}},
};

const fr_op fr_op_softmax_grad = {
    .name = "SoftmaxGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_softmax_gradient}},
};

const fr_op fr_op_log_softmax_grad = {
    .name = "LogSoftmaxGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_log_softmax_gradient}},
};
