/*
 * segment.c: SegmentReduce: sum, mean or maximum of consecutive segments of rows (the readout of a
 * batch of graphs).
 *
 *     out[i] = reduce over x[offset[i] .. offset[i + 1])        an empty segment gives 0
 *
 * Inputs x [m, ...] and offset i64 [n + 1], not decreasing, within [0, m]. Attribute `reduction`.
 * Outputs [n, ...] and, for max, the winning row of every element (i32, [n, ...]; else i32 [0]).
 * Rows that lie in no segment get no gradient.
 */
#include "program/ops/block.h"

enum { ARGMAX = 2 };

static const char *const attributes[] = {"reduction", NULL};
static const char *const gradient_attributes[] = {"reduction", "rows", NULL};

static fr_status infer_offset(fr_program *p, const fr_node *node, const fr_type *in)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 1, FR_MAX_RANK));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 1, 1, 1));
    if (in[1].dtype != FR_I64)
        return fr_infer_fail(p, node, FR_EDTYPE, "operand 1, offset, is %s and not i64",
                             fr_dtype_name(in[1].dtype));
    if (in[1].shape.dims[0].symbol < 0 && in[1].shape.dims[0].size < 1)
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "operand 1, offset, is empty: n segments have n + 1 offsets");
    return FR_OK;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_reduction reduction;
    FR_RETURN_IF_ERROR(infer_offset(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_reduction(p, node, &reduction));
    out[0] = in[0];
    out[0].shape.dims[0] = fr_dim_add(p, in[1].shape.dims[0], fr_constant(-1));
    out[1] = (fr_type){.dtype = FR_I32,
                       .shape = reduction == FR_MAX ? out[0].shape : FR_SHAPE(fr_constant(0))};
    return FR_OK;
}

/* dy [n, ...], offset [n + 1], argmax where max. */
static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_reduction reduction;
    int n_rows;
    const fr_dim *rows = fr_node_dims(node, "rows", &n_rows);
    FR_RETURN_IF_ERROR(infer_offset(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_reduction(p, node, &reduction));
    if (n_rows != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n_rows);
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "rows of operand 0", in[0].shape.dims[0],
                                    "segments of operand 1",
                                    fr_dim_add(p, in[1].shape.dims[0], fr_constant(-1))));
    if ((reduction == FR_MAX) != fr_is_given(node, ARGMAX))
        return fr_infer_fail(p, node, FR_EINVAL,
                             "operand 2, argmax, goes with reduction max and no other");
    if (reduction == FR_MAX) {
        if (in[ARGMAX].dtype != FR_I32)
            return fr_infer_fail(p, node, FR_EDTYPE, "operand 2, argmax, is %s and not i32",
                                 fr_dtype_name(in[ARGMAX].dtype));
        FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, in, 0, ARGMAX));
    }
    out[0] = in[0];
    out[0].shape.dims[0] = rows[0];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0] || grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    const fr_reduction reduction = fr_node_reduction(node);
    const fr_dim rows = fr_value_shape(p, node->inputs[0]).dims[0];
    const fr_value operands[] = {grad_out[0], node->inputs[1],
                                 reduction == FR_MAX ? node->outputs[1] : FR_NO_VALUE};
    const fr_attribute given[] = {FR_STRING("reduction", fr_reduction_name(reduction)),
                                  FR_DIMS("rows", &rows, 1)};
    grad_in[0] = fr_apply_one(p, "SegmentReduceGrad", operands, 3, given, 2);
    return fr_program_check(p);
}

/* Sum and mean are linear: the gradient of dy is the reduction itself. */
static fr_status gradient_of_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    const fr_reduction reduction = fr_node_reduction(node);
    if (reduction == FR_MAX)
        return fr_fail(FR_ENOTSUP, "SegmentReduceGrad of a maximum has no gradient");
    if (!wanted[0])
        return FR_OK;
    const fr_value operands[] = {grad_out[0], node->inputs[1]};
    const fr_attribute given = FR_STRING("reduction", fr_reduction_name(reduction));
    fr_value outputs[2];
    fr_apply(p, "SegmentReduce", operands, 2, &given, 1, outputs, 2);
    grad_in[0] = outputs[0];
    return fr_program_check(p);
}

/* Offsets within [0, n_rows], not decreasing. */
static fr_status check_offsets(const fr_run *run, int64_t n_rows)
{
    const int64_t *offset = run->in[1].data, n = run->in[1].shape[0];
    for (int64_t i = 0; i < n; i++) {
        const int64_t least = i == 0 ? 0 : offset[i - 1];
        if (offset[i] < least || offset[i] > n_rows)
            return fr_fail(
                FR_ERANGE,
                "%s %%%d: offset %" PRId64 " is %" PRId64 ", outside [%" PRId64 ", %" PRId64 "]",
                run->node->op->name, (int)run->node->outputs[0], i, offset[i], least, n_rows);
    }
    return FR_OK;
}

static fr_status run_reduce(const fr_run *run)
{
    const fr_tensor *x = &run->in[0];
    const fr_reduction reduction = fr_node_reduction(run->node);
    FR_RETURN_IF_ERROR(check_offsets(run, x->shape[0]));
    return fr_segment_run(run->out[0].shape[0], run->in[1].data, x->dtype, reduction, x->data,
                          fr_sizes_product(x, 1, x->rank), run->out[0].data,
                          reduction == FR_MAX ? run->out[1].data : NULL);
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_tensor *dy = &run->in[0];
    const fr_reduction reduction = fr_node_reduction(run->node);
    FR_RETURN_IF_ERROR(check_offsets(run, run->out[0].shape[0]));
    return fr_segment_gradient_run(dy->shape[0], run->in[1].data, dy->dtype, reduction, dy->data,
                                   fr_sizes_product(dy, 1, dy->rank),
                                   reduction == FR_MAX ? run->in[ARGMAX].data : NULL,
                                   run->out[0].shape[0], run->out[0].data);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = (double)fr_tensor_count(&in[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_segment_reduce = {
    .name = "SegmentReduce",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 2,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_reduce}},
};

const fr_op fr_op_segment_reduce_grad = {
    .name = "SegmentReduceGrad",
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_gradient,
    .gradient = gradient_of_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_gradient}},
};
