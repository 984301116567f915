/*
 * spmm.c: SpMM, the product of a block (a sparse matrix) and the rows of x: what a GNN layer's
 * aggregation is.
 *
 *     out[i] = reduce over e in row i of weight[e] * x[source[e]]
 *
 * Inputs begin, end, source (block.h), x [m, d], weight [edges] or [edges, heads] (then d = heads *
 * width and weight[e, h] scales its head's columns) or none. Attribute `reduction`: sum, mean (over
 * the row's edges), max. Outputs [rows, d] and, for max, the winning edge of every element (i32,
 * [rows, d]; else i32 [0]). A row without edges gives 0.
 *
 * Gradients: of x by SpMMTransposed, of weight by EdgeDot (EdgeDotMax where max chose). Those are
 * linear in the gradient that arrives and lead back to SpMM, so second derivatives exist as well.
 */
#include "program/ops/block.h"

#include "kernel/edge_dot_max.h"
#include "program/op.h"

enum { X = 3, WEIGHT = 4, ARGMAX = 5 };

static const char *const attributes[] = {"reduction", NULL};
static const char *const transposed_attributes[] = {"reduction", "rows", NULL};
static const char *const edge_dot_max_attributes[] = {"heads", NULL};

static int64_t heads_of(const fr_tensor *weight)
{
    return weight->dtype == FR_NO_DTYPE || weight->rank == 1 ? 1 : weight->shape[1];
}

/* weight [edges] or [edges, heads], heads a divisor of the columns of operand X. */
static fr_status infer_weight(fr_program *p, const fr_node *node, const fr_type *in)
{
    if (!fr_is_given(node, WEIGHT))
        return FR_OK;
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, WEIGHT, 1, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, X, WEIGHT));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "edges of weight (operand 4)",
                                    in[WEIGHT].shape.dims[0], "edges of source",
                                    in[2].shape.dims[0]));
    if (in[WEIGHT].shape.rank == 2) {
        const fr_dim heads = in[WEIGHT].shape.dims[1], columns = in[X].shape.dims[1];
        if (heads.symbol >= 0)
            return fr_infer_fail(p, node, FR_ESHAPE,
                                 "the number of heads of weight (operand 4) is not a constant");
        if (heads.size < 1 || (columns.symbol < 0 && columns.size % heads.size != 0))
            return fr_infer_fail(p, node, FR_ESHAPE,
                                 "%" PRId64 " columns of operand 3 do not divide into %" PRId64
                                 " heads of weight (operand 4)",
                                 columns.size, heads.size);
    }
    return FR_OK;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_reduction reduction;
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_reduction(p, node, &reduction));
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, X));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, X, 2, 2));
    FR_RETURN_IF_ERROR(infer_weight(p, node, in));
    out[0] = (fr_type){.dtype = in[X].dtype,
                       .shape = FR_SHAPE(in[0].shape.dims[0], in[X].shape.dims[1])};
    out[1] = (fr_type){.dtype = FR_I32,
                       .shape = reduction == FR_MAX ? out[0].shape : FR_SHAPE(fr_constant(0))};
    return FR_OK;
}

static fr_status infer_transposed(fr_program *p, const fr_node *node, const fr_type *in,
                                  fr_type *out)
{
    fr_reduction reduction;
    int n_rows;
    const fr_dim *rows = fr_node_dims(node, "rows", &n_rows);
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_reduction(p, node, &reduction));
    FR_RETURN_IF_ERROR(fr_infer_block_matrix(p, node, in, X, "rows of begin", in[0].shape.dims[0]));
    FR_RETURN_IF_ERROR(infer_weight(p, node, in));
    if (n_rows != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n_rows);
    if ((reduction == FR_MAX) != fr_is_given(node, ARGMAX))
        return fr_infer_fail(p, node, FR_EINVAL,
                             "operand 5, argmax, goes with reduction max and no other");
    if (reduction == FR_MAX) {
        if (in[ARGMAX].dtype != FR_I32)
            return fr_infer_fail(p, node, FR_EDTYPE, "operand 5, argmax, is %s and not i32",
                                 fr_dtype_name(in[ARGMAX].dtype));
        FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, in, X, ARGMAX));
    }
    out[0] = (fr_type){.dtype = in[X].dtype, .shape = FR_SHAPE(rows[0], in[X].shape.dims[1])};
    return FR_OK;
}

/* The gradient of weight [edges] or [edges, heads] from the rows' gradient and x. */
static fr_value add_weight_gradient(fr_program *p, const fr_value *block, fr_value weight,
                                    fr_value rows_grad, fr_value x, fr_reduction reduction,
                                    fr_value argmax)
{
    const fr_shape shape = fr_value_shape(p, weight);
    const fr_value operands[] = {block[0], block[1], block[2], rows_grad, x, argmax};
    const fr_attribute reduced = FR_STRING("reduction", fr_reduction_name(reduction));
    const fr_attribute given[] = {FR_INT("heads", shape.rank == 2 ? shape.dims[1].size : 0),
                                  reduced};
    if (reduction == FR_MAX)
        return fr_apply_one(p, "EdgeDotMax", operands, 6, given, 1);
    return fr_apply_one(p, "EdgeDot", operands, 5, given, 2);
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    if (grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    const fr_reduction reduction = fr_node_reduction(node);
    const fr_value block[] = {node->inputs[0], node->inputs[1], node->inputs[2]};
    const fr_value x = node->inputs[X], weight = fr_node_input(node, WEIGHT);
    const fr_value argmax = reduction == FR_MAX ? node->outputs[1] : FR_NO_VALUE;
    if (wanted[X]) {
        const fr_dim rows = fr_value_shape(p, x).dims[0];
        const fr_value operands[] = {block[0], block[1], block[2], grad_out[0], weight, argmax};
        const fr_attribute given[] = {FR_STRING("reduction", fr_reduction_name(reduction)),
                                      FR_DIMS("rows", &rows, 1)};
        grad_in[X] = fr_apply_one(p, "SpMMTransposed", operands, 6, given, 2);
    }
    if (weight != FR_NO_VALUE && wanted[WEIGHT])
        grad_in[WEIGHT] = add_weight_gradient(p, block, weight, grad_out[0], x, reduction, argmax);
    return fr_program_check(p);
}

/* out[source[e]] += weight[e] x[i]: the gradient of x is the product itself. */
static fr_status transposed_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                     const bool *wanted, fr_value *grad_in)
{
    const fr_reduction reduction = fr_node_reduction(node);
    if (reduction == FR_MAX)
        return fr_fail(FR_ENOTSUP, "SpMMTransposed of a maximum has no gradient");
    const fr_value block[] = {node->inputs[0], node->inputs[1], node->inputs[2]};
    const fr_value x = node->inputs[X], weight = fr_node_input(node, WEIGHT);
    if (wanted[X]) {
        const fr_value operands[] = {block[0], block[1], block[2], grad_out[0], weight};
        const fr_attribute given = FR_STRING("reduction", fr_reduction_name(reduction));
        fr_value outputs[2];
        fr_apply(p, "SpMM", operands, 5, &given, 1, outputs, 2);
        grad_in[X] = outputs[0];
    }
    if (weight != FR_NO_VALUE && wanted[WEIGHT])
        grad_in[WEIGHT] =
            add_weight_gradient(p, block, weight, x, grad_out[0], reduction, FR_NO_VALUE);
    return fr_program_check(p);
}

/* What both directions share. */
static fr_status spmm_of(const fr_run *run, fr_spmm_job *spmm)
{
    const fr_tensor *x = &run->in[X];
    const fr_tensor left_out = {.dtype = FR_NO_DTYPE};
    const fr_tensor *weight = fr_is_given(run->node, WEIGHT) ? &run->in[WEIGHT] : &left_out;
    const int64_t heads = heads_of(weight), columns = x->shape[1];
    if (columns % heads != 0)
        return fr_fail(FR_ESHAPE,
                       "%s %%%d: %" PRId64 " columns do not divide into %" PRId64 " heads",
                       run->node->op->name, (int)run->node->outputs[0], columns, heads);
    *spmm = (fr_spmm_job){
        .rows = fr_block_rows(run->in),
        .dtype = x->dtype,
        .x = x->data,
        .x_stride = columns,
        .weight = weight->data,
        .heads = heads,
        .width = columns / heads,
        .reduction = fr_node_reduction(run->node),
        .out = run->out[0].data,
        .out_stride = columns,
    };
    return FR_OK;
}

static fr_status run_spmm(const fr_run *run)
{
    fr_spmm_job spmm;
    FR_RETURN_IF_ERROR(spmm_of(run, &spmm));
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &spmm.rows, run->in[X].shape[0]));
    spmm.argmax = spmm.reduction == FR_MAX ? run->out[1].data : NULL;
    return fr_spmm_run(&spmm);
}

static fr_status run_transposed(const fr_run *run)
{
    fr_spmm_job spmm;
    FR_RETURN_IF_ERROR(spmm_of(run, &spmm));
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &spmm.rows, run->out[0].shape[0]));
    spmm.argmax = spmm.reduction == FR_MAX ? run->in[ARGMAX].data : NULL;
    return fr_spmm_transposed_run(&spmm, run->out[0].shape[0]);
}

/* Every edge reads one row of the dense operand (or adds to one row of the result): no cache is
 * counted. */
static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    const double moved = (double)in[2].shape[0] * (double)in[X].shape[1];
    *flop = (fr_is_given(node, WEIGHT) ? 2 : 1) * moved;
    *bytes = fr_operand_bytes(node, in, out) + moved * (double)fr_dtype_bytes(in[X].dtype);
}

const fr_op fr_op_spmm = {
    .name = "SpMM",
    .min_inputs = 4,
    .max_inputs = 5,
    .n_outputs = 2,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_spmm}},
};

const fr_op fr_op_spmm_transposed = {
    .name = "SpMMTransposed",
    .min_inputs = 4,
    .max_inputs = 6,
    .n_outputs = 1,
    .attributes = transposed_attributes,
    .infer = infer_transposed,
    .gradient = transposed_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_transposed}},
};

/* ---- EdgeDotMax: begin, end, source, dy [rows, d], x [m, d], argmax [rows, d] ---- */

static fr_status infer_edge_dot_max(fr_program *p, const fr_node *node, const fr_type *in,
                                    fr_type *out)
{
    const int64_t heads = fr_node_int(node, "heads", 0);
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_block_matrix(p, node, in, 3, "rows of begin", in[0].shape.dims[0]));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 4, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 3, 4));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "columns of operand 3", in[3].shape.dims[1],
                                    "columns of operand 4", in[4].shape.dims[1]));
    if (in[5].dtype != FR_I32)
        return fr_infer_fail(p, node, FR_EDTYPE, "operand 5, argmax, is %s and not i32",
                             fr_dtype_name(in[5].dtype));
    FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, in, 3, 5));
    const fr_dim columns = in[3].shape.dims[1];
    if (heads < 0 || (heads > 0 && columns.symbol < 0 && columns.size % heads != 0))
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "%" PRId64 " columns of operand 3 do not divide into %" PRId64
                             " heads",
                             columns.size, heads);
    const fr_dim edges = in[2].shape.dims[0];
    out[0] = (fr_type){.dtype = in[3].dtype,
                       .shape = heads > 0 ? FR_SHAPE(edges, fr_constant(heads)) : FR_SHAPE(edges)};
    return FR_OK;
}

static fr_status run_edge_dot_max(const fr_run *run)
{
    const int64_t given = fr_node_int(run->node, "heads", 0), heads = given > 0 ? given : 1;
    const fr_sparse_rows rows = fr_block_rows(run->in);
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &rows, run->in[4].shape[0]));
    fr_edge_dot_max_run(&rows, run->in[3].dtype, run->in[3].data, run->in[4].data, run->in[5].data,
                        heads, run->in[3].shape[1] / heads, run->out[0].data);
    return FR_OK;
}

const fr_op fr_op_edge_dot_max = {
    .name = "EdgeDotMax",
    .min_inputs = 6,
    .max_inputs = 6,
    .n_outputs = 1,
    .attributes = edge_dot_max_attributes,
    .infer = infer_edge_dot_max,
    .kernels = {{.name = "own", .run = run_edge_dot_max}},
};
