/*
 * reduce.c: ReduceSum, ReduceMean and ReduceMax over axes, as ONNX.
 *
 * Attributes `axes` (none: all; negative: from the end) and `keepdims` (1). A sum or mean of
 * nothing is 0, a maximum of nothing -infinity. The gradient of a sum is an Expand, that of a mean
 * an Expand that divides (expand.c), that of a maximum goes to the first element that is it.
 */
#include "kernel/reduce.h"

#include <inttypes.h>
#include <string.h>

#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"
#include "program/program_body.h"

static const char *const attributes[] = {"axes", "keepdims", NULL};
static const char *const max_gradient_attributes[] = {"axes", NULL};

/* reduced[d] for each axis of a rank, of a node that infer has accepted. */
static void find_reduced(const fr_node *node, int rank, bool *reduced)
{
    int n;
    const int64_t *axes = fr_node_ints(node, "axes", &n);
    for (int d = 0; d < FR_MAX_RANK; d++)
        reduced[d] = n == 0;
    for (int i = 0; i < n; i++)
        reduced[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
}

static fr_status check_axes(const fr_program *p, const fr_node *node, int rank)
{
    int n;
    uint32_t seen = 0;
    const int64_t *axes = fr_node_ints(node, "axes", &n);
    for (int i = 0; i < n; i++) {
        if (axes[i] < -rank || axes[i] >= rank)
            return fr_infer_fail(p, node, FR_ERANGE,
                                 "axis %" PRId64 " of operand 0, which has rank %d", axes[i], rank);
        const int axis = (int)(axes[i] < 0 ? axes[i] + rank : axes[i]);
        if (seen >> axis & 1)
            return fr_infer_fail(p, node, FR_EINVAL, "axis %d is given twice", axis);
        seen |= 1U << axis;
    }
    return FR_OK;
}

static void reduced_shape(const fr_node *node, const fr_shape *x, bool keep, fr_shape *out)
{
    bool reduced[FR_MAX_RANK];
    find_reduced(node, x->rank, reduced);
    *out = (fr_shape){.rank = 0};
    for (int d = 0; d < x->rank; d++)
        if (!reduced[d] || keep)
            out->dims[out->rank++] = reduced[d] ? fr_constant(1) : x->dims[d];
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(check_axes(p, node, in[0].shape.rank));
    out[0].dtype = in[0].dtype;
    reduced_shape(node, &in[0].shape, fr_node_int(node, "keepdims", 1) != 0, &out[0].shape);
    return FR_OK;
}

/* The result's gradient with the reduced dims back as 1, so that it broadcasts to x. */
static fr_value with_dims(fr_program *p, const fr_node *node, fr_value value)
{
    fr_shape kept;
    const fr_shape x = fr_value_shape(p, node->inputs[0]);
    reduced_shape(node, &x, true, &kept);
    return fr_reshape_to(p, value, kept);
}

static fr_status expand_gradient(fr_program *p, const fr_node *node, fr_value grad_out, bool mean,
                                 fr_value *grad_in)
{
    const fr_shape x = fr_value_shape(p, node->inputs[0]);
    const fr_value grad = with_dims(p, node, grad_out);
    const fr_attribute given[] = {FR_DIMS("shape", x.dims, x.rank), FR_INT("mean", mean)};
    grad_in[0] = fr_apply_one(p, "Expand", &grad, 1, given, 2);
    return fr_program_check(p);
}

static fr_status sum_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return expand_gradient(p, node, grad_out[0], false, grad_in);
}

static fr_status mean_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                               const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return expand_gradient(p, node, grad_out[0], true, grad_in);
}

static fr_status max_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    int n;
    const int64_t *axes = fr_node_ints(node, "axes", &n);
    const fr_value operands[] = {node->inputs[0], with_dims(p, node, node->outputs[0]),
                                 with_dims(p, node, grad_out[0])};
    const fr_attribute given = FR_INTS("axes", axes, n);
    grad_in[0] = fr_apply_one(p, "ReduceMaxGrad", operands, 3, &given, n > 0);
    return fr_program_check(p);
}

/* ---- running ---- */

static fr_reduce reduce_of(const fr_node *node, const fr_tensor *x, fr_reduction reduction)
{
    bool reduced[FR_MAX_RANK];
    find_reduced(node, x->rank, reduced);
    return fr_reduce_of(x, reduction, reduced);
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)out;
    const fr_reduce reduce = reduce_of(node, &in[0], FR_SUM);
    return fr_reduce_workspace(&reduce);
}

static fr_status run_reduce(const fr_run *run, fr_reduction reduction)
{
    const fr_reduce reduce = reduce_of(run->node, &run->in[0], reduction);
    fr_reduce_run(&reduce, run->in[0].data, run->workspace, run->out[0].data);
    return FR_OK;
}

static fr_status run_sum(const fr_run *run) { return run_reduce(run, FR_SUM); }
static fr_status run_mean(const fr_run *run) { return run_reduce(run, FR_MEAN); }
static fr_status run_max(const fr_run *run) { return run_reduce(run, FR_MAX); }

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

static fr_status reduce_expression(const fr_tensor *x, const fr_tensor *out, const bool *reduced,
                                   bool keep, const char *reduction, char *text, size_t bytes)
{
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    int n = 0;
    for (int d = 0; d < x->rank; d++)
        if (reduced[d])
            FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%sk%d:%" PRId64,
                                                 n++ == 0 ? reduction : ", ", d, x->shape[d]));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, n == 0 ? "I0[" : "] I0["));
    for (int d = 0, at = 0; d < x->rank; d++) {
        FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%s%s%d", d == 0 ? "" : ", ",
                                             reduced[d] ? "k" : "i", reduced[d] ? d : at));
        at += !reduced[d] || keep;
    }
    return fr_expression_put(text, bytes, "]");
}

static fr_status sum_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    bool reduced[FR_MAX_RANK];
    find_reduced(node, in[0].rank, reduced);
    return reduce_expression(&in[0], &out[0], reduced, fr_node_int(node, "keepdims", 1) != 0,
                             "sum[", text, bytes);
}

static fr_status max_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    bool reduced[FR_MAX_RANK];
    find_reduced(node, in[0].rank, reduced);
    return reduce_expression(&in[0], &out[0], reduced, fr_node_int(node, "keepdims", 1) != 0,
                             "max[", text, bytes);
}

#define REDUCE_OP(symbol, onnx_name, gradient_function, expression_function, run_function)         \
    const fr_op symbol = {                                                                         \
        .name = (onnx_name),                                                                       \
        .min_inputs = 1,                                                                           \
        .max_inputs = 1,                                                                           \
        .n_outputs = 1,                                                                            \
        .attributes = attributes,                                                                  \
        .infer = infer,                                                                            \
        .gradient = (gradient_function),                                                           \
        .expression = (expression_function),                                                       \
        .work = work,                                                                              \
        .kernels = {{.name = "own", .workspace = workspace, .run = (run_function)}},               \
    }

REDUCE_OP(fr_op_reduce_sum, "ReduceSum", sum_gradient, sum_expression, run_sum);
REDUCE_OP(fr_op_reduce_mean, "ReduceMean", mean_gradient, NULL, run_mean);
REDUCE_OP(fr_op_reduce_max, "ReduceMax", max_gradient, max_expression, run_max);

/* ---- ReduceMaxGrad: x, y and dy with reduced dims of 1 ---- */

static fr_status infer_max_gradient(fr_program *p, const fr_node *node, const fr_type *in,
                                    fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(check_axes(p, node, in[0].shape.rank));
    fr_type kept = {.dtype = in[0].dtype};
    reduced_shape(node, &in[0].shape, true, &kept.shape);
    for (int i = 1; i < 3; i++) {
        fr_type types[] = {kept, in[1], in[2]};
        FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, i));
        FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, types, i, 0));
    }
    out[0] = in[0];
    return FR_OK;
}

static size_t max_gradient_workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return (size_t)fr_tensor_count(&in[1]);
}

static fr_status run_max_gradient(const fr_run *run)
{
    const fr_reduce reduce = reduce_of(run->node, &run->in[0], FR_MAX);
    fr_reduce_max_gradient_run(&reduce, run->in[0].data, run->in[1].data, run->in[2].data,
                               run->workspace, run->out[0].data);
    return FR_OK;
}

const fr_op fr_op_reduce_max_grad = {
    .name = "ReduceMaxGrad",
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .attributes = max_gradient_attributes,
    .infer = infer_max_gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = max_gradient_workspace, .run = run_max_gradient}},
};
