/*
 * edge.c: operators whose results lie on the edges of a block: what attention over neighbours (GAT)
 * is made of.
 *
 *     EdgeAdd      out[e, h]   = left[row(e), h] + right[source[e], h]
 *     EdgeSoftmax  out[e, h]   = exp(score[e, h]) / sum over the edges of row(e)
 *     EdgeDot      out[e, h]   = <left[row(e), head h], right[source[e], head h]>
 *
 * Inputs begin, end, source (block.h), then scores [edges, heads], or left [rows, d] and right [m,
 * d]. EdgeDot's attribute `heads` divides d (left out: one head, result [edges]), and its
 * `reduction` mean divides by the row's edges (it is the gradient of SpMM's weight). Edges in no
 * row give 0.
 *
 * Gradients of a sum over edges run through sparse.h: by rows for left, transposed for right.
 */
#include "program/ops/block.h"

enum { LEFT = 3, RIGHT = 4 };

static const char *const gradient_attributes[] = {"rows", NULL};
static const char *const dot_attributes[] = {"heads", "reduction", NULL};

/* left [rows, d] and right [m, d]. */
static fr_status infer_ends(fr_program *p, const fr_node *node, const fr_type *in)
{
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(
        fr_infer_block_matrix(p, node, in, LEFT, "rows of begin", in[0].shape.dims[0]));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, RIGHT, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, LEFT, RIGHT));
    return fr_infer_dim(p, node, "columns of operand 3", in[LEFT].shape.dims[1],
                        "columns of operand 4", in[RIGHT].shape.dims[1]);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    const double moved = (double)in[2].shape[0] * (double)in[LEFT].shape[1];
    *flop = 2 * moved;
    *bytes = fr_operand_bytes(node, in, out) + moved * (double)fr_dtype_bytes(in[LEFT].dtype);
}

/* ---- EdgeAdd ---- */

static fr_status infer_add(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_ends(p, node, in));
    out[0] = (fr_type){.dtype = in[LEFT].dtype,
                       .shape = FR_SHAPE(in[2].shape.dims[0], in[LEFT].shape.dims[1])};
    return FR_OK;
}

static fr_status add_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    const fr_dim rows = fr_value_shape(p, node->inputs[RIGHT]).dims[0];
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->inputs[2], grad_out[0]};
    const fr_attribute given = FR_DIMS("rows", &rows, 1);
    fr_value outputs[2];
    fr_apply(p, "EdgeAddGrad", operands, 4, &given, 1, outputs, 2);
    if (wanted[LEFT])
        grad_in[LEFT] = outputs[0];
    if (wanted[RIGHT])
        grad_in[RIGHT] = outputs[1];
    return fr_program_check(p);
}

static fr_status run_add(const fr_run *run)
{
    const fr_sparse_rows rows = fr_block_rows(run->in);
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &rows, run->in[RIGHT].shape[0]));
    return fr_edge_add_run(&rows, run->in[LEFT].dtype, run->in[LEFT].data, run->in[RIGHT].data,
                           run->in[LEFT].shape[1], run->out[0].data);
}

/* grad [edges, heads] -> left [rows, heads], right [attribute rows, heads]. */
static fr_status infer_add_gradient(fr_program *p, const fr_node *node, const fr_type *in,
                                    fr_type *out)
{
    int n_rows;
    const fr_dim *rows = fr_node_dims(node, "rows", &n_rows);
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(
        fr_infer_block_matrix(p, node, in, 3, "edges of source", in[2].shape.dims[0]));
    if (n_rows != 1)
        return fr_infer_fail(p, node, FR_EINVAL, "attribute rows has %d dims and not 1", n_rows);
    const fr_dim heads = in[3].shape.dims[1];
    out[0] = (fr_type){.dtype = in[3].dtype, .shape = FR_SHAPE(in[0].shape.dims[0], heads)};
    out[1] = (fr_type){.dtype = in[3].dtype, .shape = FR_SHAPE(rows[0], heads)};
    return FR_OK;
}

static fr_status run_add_gradient(const fr_run *run)
{
    const fr_sparse_rows rows = fr_block_rows(run->in);
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &rows, run->out[1].shape[0]));
    return fr_edge_add_gradient_run(&rows, run->in[3].dtype, run->in[3].data, run->in[3].shape[1],
                                    run->out[1].shape[0], run->out[0].data, run->out[1].data);
}

const fr_op fr_op_edge_add = {
    .name = "EdgeAdd",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 1,
    .infer = infer_add,
    .gradient = add_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_add}},
};

const fr_op fr_op_edge_add_grad = {
    .name = "EdgeAddGrad",
    .min_inputs = 4,
    .max_inputs = 4,
    .n_outputs = 2,
    .attributes = gradient_attributes,
    .infer = infer_add_gradient,
    .kernels = {{.name = "own", .run = run_add_gradient}},
};

/* ---- EdgeSoftmax ---- */

static fr_status infer_softmax(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_block(p, node, in));
    FR_RETURN_IF_ERROR(
        fr_infer_block_matrix(p, node, in, 3, "edges of source", in[2].shape.dims[0]));
    out[0] = in[3];
    return FR_OK;
}

static fr_status infer_softmax_gradient(fr_program *p, const fr_node *node, const fr_type *in,
                                        fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_softmax(p, node, in, out));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 3, 4));
    return fr_infer_same_shape(p, node, in, 3, 4);
}

static fr_status softmax_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                  const bool *wanted, fr_value *grad_in)
{
    if (!wanted[3])
        return FR_OK;
    const fr_value operands[] = {node->inputs[0], node->inputs[1], node->inputs[2],
                                 node->outputs[0], grad_out[0]};
    grad_in[3] = fr_apply_one(p, "EdgeSoftmaxGrad", operands, 5, NULL, 0);
    return fr_program_check(p);
}

static fr_status run_softmax(const fr_run *run)
{
    const fr_sparse_rows rows = fr_block_rows(run->in);
    return fr_edge_softmax_run(&rows, run->in[3].dtype, run->in[3].data, run->in[3].shape[1],
                               run->out[0].data);
}

static fr_status run_softmax_gradient(const fr_run *run)
{
    const fr_sparse_rows rows = fr_block_rows(run->in);
    return fr_edge_softmax_gradient_run(&rows, run->in[3].dtype, run->in[3].data, run->in[4].data,
                                        run->in[3].shape[1], run->out[0].data);
}

const fr_op fr_op_edge_softmax = {
    .name = "EdgeSoftmax",
    .min_inputs = 4,
    .max_inputs = 4,
    .n_outputs = 1,
    .infer = infer_softmax,
    .gradient = softmax_gradient,
    .kernels = {{.name = "own", .run = run_softmax}},
};

const fr_op fr_op_edge_softmax_grad = {
    .name = "EdgeSoftmaxGrad",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 1,
    .infer = infer_softmax_gradient,
    .kernels = {{.name = "own", .run = run_softmax_gradient}},
};

/* ---- EdgeDot ---- */

static fr_status infer_dot(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_reduction reduction;
    const int64_t heads = fr_node_int(node, "heads", 0);
    FR_RETURN_IF_ERROR(infer_ends(p, node, in));
    FR_RETURN_IF_ERROR(fr_infer_reduction(p, node, &reduction));
    if (reduction == FR_MAX)
        return fr_infer_fail(p, node, FR_EINVAL,
                             "reduction max: products on edges know sum and mean");
    const fr_dim columns = in[LEFT].shape.dims[1], edges = in[2].shape.dims[0];
    if (heads < 0 || (heads > 0 && columns.symbol < 0 && columns.size % heads != 0))
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "%" PRId64 " columns of operand 3 do not divide into %" PRId64
                             " heads",
                             columns.size, heads);
    out[0] = (fr_type){.dtype = in[LEFT].dtype,
                       .shape = heads > 0 ? FR_SHAPE(edges, fr_constant(heads)) : FR_SHAPE(edges)};
    return FR_OK;
}

/* The score's gradient is a weight of edges: left gets the product, right the transposed product.
 */
static fr_status dot_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    const fr_value block[] = {node->inputs[0], node->inputs[1], node->inputs[2]};
    const fr_value left = node->inputs[LEFT], right = node->inputs[RIGHT];
    const fr_dim rows = fr_value_shape(p, right).dims[0];
    const fr_attribute given[] = {
        FR_STRING("reduction", fr_reduction_name(fr_node_reduction(node))),
        FR_DIMS("rows", &rows, 1)};
    if (wanted[LEFT]) {
        const fr_value operands[] = {block[0], block[1], block[2], right, grad_out[0]};
        fr_value outputs[2];
        fr_apply(p, "SpMM", operands, 5, given, 1, outputs, 2);
        grad_in[LEFT] = outputs[0];
    }
    if (wanted[RIGHT]) {
        const fr_value operands[] = {block[0], block[1], block[2], left, grad_out[0]};
        grad_in[RIGHT] = fr_apply_one(p, "SpMMTransposed", operands, 5, given, 2);
    }
    return fr_program_check(p);
}

static fr_status run_dot(const fr_run *run)
{
    const int64_t given = fr_node_int(run->node, "heads", 0), heads = given > 0 ? given : 1;
    const int64_t columns = run->in[LEFT].shape[1];
    const fr_sparse_rows rows = fr_block_rows(run->in);
    if (columns % heads != 0)
        return fr_fail(FR_ESHAPE,
                       "EdgeDot %%%d: %" PRId64 " columns do not divide into %" PRId64 " heads",
                       (int)run->node->outputs[0], columns, heads);
    FR_RETURN_IF_ERROR(fr_block_check(run->node, &rows, run->in[RIGHT].shape[0]));
    return fr_edge_dot_run(&rows, run->in[LEFT].dtype, fr_node_reduction(run->node),
                           run->in[LEFT].data, run->in[RIGHT].data, heads, columns / heads,
                           run->out[0].data);
}

const fr_op fr_op_edge_dot = {
    .name = "EdgeDot",
    .min_inputs = 5,
    .max_inputs = 5,
    .n_outputs = 1,
    .attributes = dot_attributes,
    .infer = infer_dot,
    .gradient = dot_gradient,
    .work = work,
    .kernels = {{.name = "own", .run = run_dot}},
};
