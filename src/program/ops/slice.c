/*
 * slice.c: Slice: the places [begin, end) of one axis; and SliceGrad, its gradient.
 *
 *     Slice      attributes `axis` (0), `bounds` (begin, end), which may be symbols
 *     SliceGrad  the same and `size` of the axis: dy between zeros; with a second operand `base`,
 *                base + that
 *
 * Where several gradients meet in one value (a layer reads its own rows as a slice of all rows),
 * the sum is made by adding dy into the others' memory: no zeros are written or added.
 */
#include "kernel/elementwise.h"
#include "kernel/transpose.h"

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/axis.h"
#include "program/program_body.h"

static const char *const attributes[] = {"axis", "bounds", NULL};
static const char *const gradient_attributes[] = {"axis", "bounds", "size", NULL};

static fr_status bounds_of(const fr_program *p, const fr_node *node, fr_dim size, fr_dim *bounds)
{
    int n;
    char text[3][64];
    const fr_dim *given = fr_node_dims(node, "bounds", &n);
    if (n != 2)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute bounds has %d dims and not 2", n);
    bounds[0] = given[0];
    bounds[1] = given[1];
    const bool known = given[0].symbol < 0 && given[1].symbol < 0;
    if ((given[0].symbol < 0 && given[0].size < 0) || (known && given[1].size < given[0].size) ||
        (given[1].symbol < 0 && size.symbol < 0 && given[1].size > size.size))
        return fr_infer_fail(p, node, FR_ERANGE, "[%s, %s) of an axis of %s",
                             fr_dim_text(p, given[0], text[0], sizeof text[0]),
                             fr_dim_text(p, given[1], text[1], sizeof text[1]),
                             fr_dim_text(p, size, text[2], sizeof text[2]));
    return FR_OK;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int axis;
    fr_dim bounds[2];
    FR_RETURN_IF_ERROR(fr_infer_axis(p, node, in, 0, &axis));
    FR_RETURN_IF_ERROR(bounds_of(p, node, in[0].shape.dims[axis], bounds));
    out[0] = in[0];
    out[0].shape.dims[axis] = fr_dim_subtract(p, bounds[1], bounds[0]);
    return FR_OK;
}

static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int axis, n;
    fr_dim bounds[2];
    const fr_dim *size = fr_node_dims(node, "size", &n);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_axis(p, node, in, 0, &axis));
    if (n != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute size has %d dims and not 1", n);
    FR_RETURN_IF_ERROR(bounds_of(p, node, size[0], bounds));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "axis of operand 0", in[0].shape.dims[axis],
                                    "end - begin", fr_dim_subtract(p, bounds[1], bounds[0])));
    out[0] = in[0];
    out[0].shape.dims[axis] = size[0];
    if (!fr_is_given(node, 1))
        return FR_OK;
    const fr_type types[] = {out[0], in[1]};
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    return fr_infer_same_shape(p, node, types, 1, 0);
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    int n;
    const fr_shape x = fr_value_shape(p, node->inputs[0]);
    const int axis = fr_node_axis(node, x.rank);
    const fr_attribute given[] = {FR_INT("axis", axis),
                                  FR_DIMS("bounds", fr_node_dims(node, "bounds", &n), 2),
                                  FR_DIMS("size", &x.dims[axis], 1)};
    grad_in[0] = fr_apply_one(p, "SliceGrad", grad_out, 1, given, 3);
    return fr_program_check(p);
}

static fr_status gradient_of_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    int n;
    const fr_dim *bounds = fr_node_dims(node, "bounds", &n);
    if (wanted[0])
        grad_in[0] =
            fr_slice(p, grad_out[0], (int)fr_node_int(node, "axis", 0), bounds[0], bounds[1]);
    if (node->n_inputs > 1 && wanted[1])
        grad_in[1] = grad_out[0];
    return fr_program_check(p);
}

/* ---- running ---- */

/* The part of `whole` between the bounds: where it begins, its bytes per outer index. */
typedef struct part {
    int64_t outer, whole_bytes, part_bytes, first_byte;
} part;

static fr_status find_part(const fr_run *run, const fr_tensor *whole, part *at)
{
    int n;
    const int axis = fr_node_axis(run->node, whole->rank);
    const fr_dim *bounds = fr_node_dims(run->node, "bounds", &n);
    const int64_t begin = fr_run_size(run, bounds[0]), end = fr_run_size(run, bounds[1]);
    if (begin < 0 || end < begin || end > whole->shape[axis])
        return fr_fail(FR_ERANGE, "%s %%%d: [%" PRId64 ", %" PRId64 ") of an axis of %" PRId64,
                       run->node->op->name, (int)run->node->outputs[0], begin, end,
                       whole->shape[axis]);
    const int64_t inner = fr_inner_bytes(whole, axis);
    *at = (part){.outer = fr_sizes_product(whole, 0, axis),
                 .whole_bytes = whole->shape[axis] * inner,
                 .part_bytes = (end - begin) * inner,
                 .first_byte = begin * inner};
    return FR_OK;
}

static fr_status run_slice(const fr_run *run)
{
    part at;
    FR_RETURN_IF_ERROR(find_part(run, &run->in[0], &at));
    fr_copy_blocks((const char *)run->in[0].data + at.first_byte, at.whole_bytes, run->out[0].data,
                   at.part_bytes, at.part_bytes, at.outer);
    return FR_OK;
}

/* out[.., begin + i, ..] += dy[.., i, ..]: a sum of strided matrices. */
static void add_part(const fr_run *run, const part *at)
{
    const fr_tensor *dy = &run->in[0];
    const int64_t element = (int64_t)fr_dtype_bytes(dy->dtype);
    fr_broadcast shape = {.rank = 1, .size = {at->part_bytes / element}, .stride = {{1}, {1}}};
    for (int64_t o = 0; o < at->outer; o++) {
        char *to = (char *)run->out[0].data + o * at->whole_bytes + at->first_byte;
        fr_binary_run(FR_BINARY_add, dy->dtype, &shape, to,
                      (const char *)dy->data + o * at->part_bytes, to);
    }
}

static fr_status run_gradient(const fr_run *run)
{
    part at;
    const fr_tensor *dy = &run->in[0], *out = &run->out[0];
    FR_RETURN_IF_ERROR(find_part(run, out, &at));
    const int64_t n = fr_tensor_count(out), bytes = n * (int64_t)fr_dtype_bytes(out->dtype);
    if (fr_is_given(run->node, 1)) {
        if (out->data != run->in[1].data)
            fr_copy_blocks(run->in[1].data, 0, out->data, 0, bytes, 1);
        add_part(run, &at);
        return FR_OK;
    }
    /* zeros before and behind the part of each outer index */
    char *to = out->data;
    for (int64_t o = 0; o < at.outer; o++, to += at.whole_bytes) {
        fr_fill_run(FR_U8, 0, at.first_byte, to);
        const int64_t behind = at.first_byte + at.part_bytes;
        fr_fill_run(FR_U8, 0, at.whole_bytes - behind, to + behind);
    }
    fr_copy_blocks(dy->data, at.part_bytes, (char *)out->data + at.first_byte, at.whole_bytes,
                   at.part_bytes, at.outer);
    return FR_OK;
}

static void gradient_work(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                          double *flop, double *bytes)
{
    (void)out;
    const double n = (double)fr_tensor_count(&in[0]), element = (double)fr_dtype_bytes(in[0].dtype);
    *flop = fr_is_given(node, 1) ? n : 0;
    *bytes = fr_is_given(node, 1) ? 3 * n * element : fr_operand_bytes(node, in, out);
}

const fr_op fr_op_slice = {
    .name = "Slice",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .kernels = {{.name = "own", .run = run_slice}},
};

const fr_op fr_op_slice_grad = {
    .name = "SliceGrad",
    .min_inputs = 1,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_gradient,
    .gradient = gradient_of_gradient,
    .work = gradient_work,
    .in_place = 2,
    .kernels = {{.name = "own", .run = run_gradient}},
};
