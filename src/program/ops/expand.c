/*
 * expand.c: Expand and ReduceSumTo, each the other's gradient, and Fill.
 *
 *     Expand       attribute `shape`: repeats x along its dims of 1 and along new leading dims
 *     ReduceSumTo  attribute `shape`: sums x over the dims in which `shape` is 1 or lacks the dim
 *     Fill         attributes `shape`, `value` (0), `dtype` ("f32"): one number everywhere
 *
 * With attribute `mean` (0) the results of the first two are divided by how many elements of the
 * larger shape there are for one of the smaller: the way back from a mean.
 */
#include "kernel/elementwise.h"
#include "kernel/reduce.h"

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"
#include "program/program_body.h"

static const char *const attributes[] = {"shape", "mean", NULL};
static const char *const fill_attributes[] = {"shape", "value", "dtype", NULL};

static fr_status shape_of(const fr_program *p, const fr_node *node, fr_shape *shape)
{
    const fr_dim *dims = fr_node_dims(node, "shape", &shape->rank);
    if (shape->rank > FR_MAX_RANK)
        return fr_infer_fail(p, node, FR_ESHAPE, "attribute shape has %d dims, more than %d",
                             shape->rank, (int)FR_MAX_RANK);
    for (int d = 0; d < shape->rank; d++) {
        shape->dims[d] = dims[d];
        if (dims[d].symbol < 0 && dims[d].size < 0)
            return fr_infer_fail(p, node, FR_ESHAPE, "dim %d of attribute shape is %" PRId64, d,
                                 dims[d].size);
    }
    return FR_OK;
}

/* Whether `small` broadcasts to `large`. */
static fr_status check_repeats(const fr_program *p, const fr_node *node, const fr_shape *small,
                               const fr_shape *large)
{
    bool fits = small->rank <= large->rank;
    for (int d = 0; fits && d < small->rank; d++) {
        const fr_dim dim = small->dims[d];
        fits = (dim.symbol < 0 && dim.size == 1) ||
               fr_dim_equal(dim, large->dims[large->rank - small->rank + d]);
    }
    if (fits)
        return FR_OK;
    char small_text[128], large_text[128];
    return fr_infer_fail(p, node, FR_ESHAPE,
                         "%s does not broadcast to %s (operand 0 and attribute shape)",
                         fr_shape_text(p, small, small_text, sizeof small_text),
                         fr_shape_text(p, large, large_text, sizeof large_text));
}

static fr_status infer_expand(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    out[0].dtype = in[0].dtype;
    FR_RETURN_IF_ERROR(shape_of(p, node, &out[0].shape));
    if (fr_node_int(node, "mean", 0) != 0)
        FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    return check_repeats(p, node, &in[0].shape, &out[0].shape);
}

static fr_status infer_sum_to(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    out[0].dtype = in[0].dtype;
    FR_RETURN_IF_ERROR(shape_of(p, node, &out[0].shape));
    return check_repeats(p, node, &out[0].shape, &in[0].shape);
}

static fr_status add_gradient(fr_program *p, const fr_node *node, const char *op, fr_value grad_out,
                              fr_value *grad_in)
{
    const fr_shape x = fr_value_shape(p, node->inputs[0]);
    const fr_attribute given[] = {FR_DIMS("shape", x.dims, x.rank),
                                  FR_INT("mean", fr_node_int(node, "mean", 0))};
    grad_in[0] = fr_apply_one(p, op, &grad_out, 1, given, 2);
    return fr_program_check(p);
}

static fr_status expand_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                 const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, "ReduceSumTo", grad_out[0], grad_in);
}

static fr_status sum_to_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                 const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, "Expand", grad_out[0], grad_in);
}

/* ---- running ---- */

/* Divides the elements of `tensor` by how often it is contained in the larger one. */
static void divide(fr_tensor *tensor, int64_t small, int64_t large)
{
    if (small > 0 && large > small)
        fr_unary_run(FR_UNARY_scale, (double)small / (double)large, tensor->dtype,
                     fr_tensor_count(tensor), tensor->data, tensor->data);
}

static fr_status run_expand(const fr_run *run)
{
    const fr_tensor *x = &run->in[0];
    fr_tensor *out = &run->out[0];
    const fr_broadcast shape = fr_broadcast_of(out, &x, 1);
    fr_expand_run(fr_dtype_bytes(x->dtype), &shape, x->data, out->data);
    if (fr_node_int(run->node, "mean", 0) != 0)
        divide(out, fr_tensor_count(x), fr_tensor_count(out));
    return FR_OK;
}

/* A dim is summed where the result lacks it or has it as 1. */
static fr_reduce reduce_of(const fr_tensor *x, const fr_tensor *out)
{
    bool reduced[FR_MAX_RANK] = {false};
    for (int d = 0; d < x->rank; d++) {
        const int at = d - (x->rank - out->rank);
        reduced[d] = at < 0 || (out->shape[at] == 1 && x->shape[d] != 1);
    }
    return fr_reduce_of(x, FR_SUM, reduced);
}

static size_t sum_to_workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node;
    const fr_reduce reduce = reduce_of(&in[0], &out[0]);
    return fr_reduce_workspace(&reduce);
}

static fr_status run_sum_to(const fr_run *run)
{
    const fr_reduce reduce = reduce_of(&run->in[0], &run->out[0]);
    fr_reduce_run(&reduce, run->in[0].data, run->workspace, run->out[0].data);
    if (fr_node_int(run->node, "mean", 0) != 0)
        divide(&run->out[0], fr_tensor_count(&run->out[0]), fr_tensor_count(&run->in[0]));
    return FR_OK;
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

static fr_status expand_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                   char *text, size_t bytes)
{
    if (fr_node_int(node, "mean", 0) != 0)
        return fr_fail(FR_ENOTSUP, "a mean has no expression");
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    return fr_expression_operand("I0", &in[0], out, text, bytes);
}

const fr_op fr_op_expand = {
    .name = "Expand",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_expand,
    .gradient = expand_gradient,
    .expression = expand_expression,
    .kernels = {{.name = "own", .run = run_expand}},
};

const fr_op fr_op_reduce_sum_to = {
    .name = "ReduceSumTo",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_sum_to,
    .gradient = sum_to_gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = sum_to_workspace, .run = run_sum_to}},
};

/* ---- Fill ---- */

static fr_status infer_fill(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    (void)in;
    const char *name = fr_node_string(node, "dtype", "f32");
    out[0].dtype = fr_dtype_from_name(name);
    if (out[0].dtype != FR_F32 && out[0].dtype != FR_F64)
        return fr_infer_fail(p, node, FR_EDTYPE, "attribute dtype is \"%s\", neither f32 nor f64",
                             name);
    return shape_of(p, node, &out[0].shape);
}

static fr_status run_fill(const fr_run *run)
{
    fr_fill_run(run->out[0].dtype, fr_node_float(run->node, "value", 0),
                fr_tensor_count(&run->out[0]), run->out[0].data);
    return FR_OK;
}

/* There is nothing that it depends on. */
static fr_status no_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                             const bool *wanted, fr_value *grad_in)
{
    (void)p, (void)node, (void)grad_out, (void)wanted, (void)grad_in;
    return FR_OK;
}

const fr_op fr_op_fill = {
    .name = "Fill",
    .min_inputs = 0,
    .max_inputs = 0,
    .n_outputs = 1,
    .attributes = fill_attributes,
    .infer = infer_fill,
    .gradient = no_gradient,
    .kernels = {{.name = "own", .run = run_fill}},
};
