/*
 * merge_rows.c: MergeRows: how cached rows join computed ones.
 *
 *     out[i] = computed[position[i]]       where position[i] >= 0
 *            = cached[-1 - position[i]]    otherwise
 *
 * computed [m, d], cached [c, d], position i32 [n]. The gradient of either side is
 * MergeRowsGrad(dy, position) with attributes `rows` (m or c) and `cached` (0 or 1): a row that no
 * position names gets zeros, one named several times their sum in the order of position. The cached
 * side is a whole ring: its gradient is made only where it is asked for.
 *
 * Source: FreshGNN (PVLDB 17:6), section 4.
 */
#include "kernel/rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/elementwise.h"
#include "program/op.h"
#include "program/ops/operands.h"

static const char *const gradient_attributes[] = {"rows", "cached", NULL};

static fr_status infer_position(const fr_program *p, const fr_node *node, const fr_type *in,
                                int operand)
{
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, operand, 1, 1));
    if (in[operand].dtype != FR_I32)
        return fr_infer_fail(p, node, FR_EDTYPE, "operand %d, position, is %s and not i32", operand,
                             fr_dtype_name(in[operand].dtype));
    return FR_OK;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 1, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "columns of operand 0, computed,", in[0].shape.dims[1],
                                    "columns of operand 1, cached,", in[1].shape.dims[1]));
    FR_RETURN_IF_ERROR(infer_position(p, node, in, 2));
    out[0] = (fr_type){.dtype = in[0].dtype,
                       .shape = FR_SHAPE(in[2].shape.dims[0], in[0].shape.dims[1])};
    return FR_OK;
}

static fr_status infer_gradient(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    int n;
    const fr_dim *rows = fr_node_dims(node, "rows", &n);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 2, 2));
    FR_RETURN_IF_ERROR(infer_position(p, node, in, 1));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "rows of operand 0", in[0].shape.dims[0],
                                    "rows of operand 1, position,", in[1].shape.dims[0]));
    if (n != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n);
    out[0] = (fr_type){.dtype = in[0].dtype, .shape = FR_SHAPE(rows[0], in[0].shape.dims[1])};
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    for (int side = 0; side < 2; side++) {
        if (!wanted[side])
            continue;
        const fr_dim rows = fr_value_shape(p, node->inputs[side]).dims[0];
        const fr_value operands[] = {grad_out[0], node->inputs[2]};
        const fr_attribute given[] = {FR_DIMS("rows", &rows, 1), FR_INT("cached", side)};
        grad_in[side] = fr_apply_one(p, "MergeRowsGrad", operands, 2, given, 2);
    }
    return fr_program_check(p);
}

static fr_status run_merge(const fr_run *run)
{
    const fr_tensor *computed = &run->in[0], *cached = &run->in[1], *position = &run->in[2];
    return fr_rows_merge(computed->data, computed->shape[0], cached->data, cached->shape[0],
                         position->data, position->shape[0],
                         computed->shape[1] * (int64_t)fr_dtype_bytes(computed->dtype),
                         run->out[0].data);
}

/* ---- gradient: which rows of dy belong to a row of the side, as chains through `next` ---- */

typedef struct merge_gradient {
    fr_dtype dtype;
    int64_t width;
    const int32_t *first,
        *next; /* by row of the side: first row of dy; by row of dy: the next; -1 none */
    const char *dy;
    char *out;
} merge_gradient;

static size_t gradient_workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node;
    return (size_t)(out[0].shape[0] + in[1].shape[0]) * sizeof(int32_t);
}

static void sum_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const merge_gradient *at = context;
    const int64_t row_bytes = at->width * (int64_t)fr_dtype_bytes(at->dtype);
    const fr_broadcast shape = {.rank = 1, .size = {at->width}, .stride = {{1}, {1}}};
    for (int64_t row = begin; row < end; row++) {
        char *to = at->out + row * row_bytes;
        int32_t i = at->first[row];
        if (i < 0) {
            memset(to, 0, (size_t)row_bytes);
            continue;
        }
        memcpy(to, at->dy + i * row_bytes, (size_t)row_bytes);
        while ((i = at->next[i]) >= 0)
            fr_binary_run(FR_BINARY_add, at->dtype, &shape, to, at->dy + i * row_bytes, to);
    }
}

static fr_status run_gradient(const fr_run *run)
{
    const fr_tensor *dy = &run->in[0], *out = &run->out[0];
    const int32_t *position = run->in[1].data;
    const int64_t n = run->in[1].shape[0], rows = out->shape[0];
    const bool cached = fr_node_int(run->node, "cached", 0) != 0;
    int32_t *first = run->workspace, *next = first + rows;
    for (int64_t row = 0; row < rows; row++)
        first[row] = -1;
    for (int64_t i = n - 1; i >= 0; i--) { /* from the last, so that chains ascend */
        if ((position[i] < 0) != cached)
            continue;
        const int64_t row = cached ? -1 - (int64_t)position[i] : position[i];
        if (row >= rows)
            return fr_fail(FR_ERANGE,
                           "MergeRowsGrad %%%d: position %" PRId64 " names row %" PRId64
                           " of %" PRId64,
                           (int)run->node->outputs[0], i, row, rows);
        next[i] = first[row];
        first[row] = (int32_t)i;
    }
    merge_gradient at = {.dtype = out->dtype, .width = out->shape[1], .first = first, .next = next};
    at.dy = dy->data;
    at.out = out->data;
    if (at.width > 0)
        fr_parallel_for(rows, at.width >= 16384 ? 1 : 16384 / at.width, sum_rows, &at);
    return FR_OK;
}

/* Every row is read once and written once. */
static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    (void)in, (void)node;
    *flop = 0;
    *bytes = 2 * (double)fr_tensor_count(&out[0]) * (double)fr_dtype_bytes(out[0].dtype);
}

const fr_op fr_op_merge_rows = {
    .name = "MergeRows",
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_merge}},
};

const fr_op fr_op_merge_rows_grad = {
    .name = "MergeRowsGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_gradient,
    .work = work,
    .kernels = {{.name = "own", .workspace = gradient_workspace, .run = run_gradient}},
};
