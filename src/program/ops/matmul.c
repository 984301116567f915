/*
 * matmul.c: MatMul, the matrix product over the last two dims with the dims before them broadcast,
 * as ONNX and NumPy; and Linear, a product with a bias added as it is made.
 *
 *     MatMul  C = op(A) op(B)          attributes transA, transB (0): of matrices as stored
 *     Linear  y[.., m] = x[.., k] W[k, m] + b[m]
 *
 *     dA = dC op(B)^T, dB = op(A)^T dC, with the transposes moved to where A and B were stored so
 *
 * An operand of rank 1 is a row on the left and a column on the right, whose dim of 1 the result
 * lacks. Where B is one matrix and A is not transposed, the dims before are rows of one product.
 */
#include "kernel/gemm.h"

#include <inttypes.h>
#include <string.h>

#include "base/parallel.h"
#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"
#include "program/program_body.h"

static const char *const attributes[] = {"transA", "transB", NULL};

static bool is_transposed(const fr_node *node, int operand)
{
    return fr_node_int(node, operand == 0 ? "transA" : "transB", 0) != 0;
}

/* Rows and columns of op(operand); a vector is a row on the left and a column on the right. */
static void matrix_dims(const fr_node *node, const fr_shape *shape, int operand, fr_dim *rows,
                        fr_dim *columns)
{
    const fr_dim one = fr_constant(1), last = shape->dims[shape->rank - 1];
    const fr_dim before = shape->rank == 1 ? one : shape->dims[shape->rank - 2];
    const bool across = shape->rank == 1 ? operand == 1 : is_transposed(node, operand);
    *rows = across ? last : before;
    *columns = across ? before : last;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_dim m, k, k_right, n;
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    for (int i = 0; i < 2; i++) {
        FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, i, 1, FR_MAX_RANK));
        if (in[i].shape.rank == 1 && is_transposed(node, i))
            return fr_infer_fail(p, node, FR_ESHAPE, "operand %d is a vector and transposed", i);
    }
    matrix_dims(node, &in[0].shape, 0, &m, &k);
    matrix_dims(node, &in[1].shape, 1, &k_right, &n);
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "inner sizes: columns of operand 0", k,
                                    "rows of operand 1", k_right));
    fr_type batch[2] = {in[0], in[1]}; /* a vector has no dims before its matrix */
    for (int i = 0; i < 2; i++)
        if (batch[i].shape.rank == 1)
            batch[i].shape.rank = 2;
    out[0].dtype = in[0].dtype;
    FR_RETURN_IF_ERROR(fr_infer_broadcast(p, node, batch, 0, 1, 2, &out[0].shape));
    fr_shape *shape = &out[0].shape;
    if (in[0].shape.rank > 1)
        shape->dims[shape->rank++] = m;
    if (in[1].shape.rank > 1)
        shape->dims[shape->rank++] = n;
    return FR_OK;
}

/* ---- gradient ---- */

/* All dims but the last as one: [.., k] -> [rows, k]. */
static fr_value flatten_rows(fr_program *p, fr_value x)
{
    const fr_shape shape = fr_value_shape(p, x);
    const fr_dim rows = fr_shape_product(p, &shape, 0, shape.rank - 1);
    return shape.rank == 2 ? x : fr_reshape_to(p, x, FR_SHAPE(rows, shape.dims[shape.rank - 1]));
}

/* The product's operands as matrices, and the result's gradient likewise. */
static fr_value as_matrix(fr_program *p, fr_value x, bool is_row)
{
    const fr_shape shape = fr_value_shape(p, x);
    if (shape.rank != 1)
        return x;
    const fr_dim one = fr_constant(1), n = shape.dims[0];
    return fr_reshape_to(p, x, is_row ? FR_SHAPE(one, n) : FR_SHAPE(n, one));
}

static fr_value result_as_matrix(fr_program *p, const fr_node *node, fr_value grad)
{
    fr_shape shape = fr_value_shape(p, grad);
    if (fr_value_shape(p, node->inputs[1]).rank == 1)
        shape.dims[shape.rank++] = fr_constant(1);
    if (fr_value_shape(p, node->inputs[0]).rank == 1) { /* a dim of 1 before the columns */
        shape.dims[shape.rank] = shape.dims[shape.rank - 1];
        shape.dims[shape.rank - 1] = fr_constant(1);
        shape.rank++;
    }
    return fr_reshape_to(p, grad, shape);
}

static fr_value back_to(fr_program *p, fr_value grad, fr_value operand,
                        const fr_shape *as_matrix_shape)
{
    const fr_shape shape = fr_value_shape(p, operand);
    return fr_reshape_to(p, fr_sum_to(p, grad, as_matrix_shape), shape);
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    const bool ta = is_transposed(node, 0), tb = is_transposed(node, 1);
    const fr_value a = as_matrix(p, node->inputs[0], true),
                   b = as_matrix(p, node->inputs[1], false);
    const fr_value dc = result_as_matrix(p, node, grad_out[0]);
    const fr_shape shape_a = fr_value_shape(p, a), shape_b = fr_value_shape(p, b);
    if (wanted[0]) {
        const fr_value da = ta ? fr_matmul_transposed(p, b, tb, dc, true)
                               : fr_matmul_transposed(p, dc, false, b, !tb);
        grad_in[0] = back_to(p, da, node->inputs[0], &shape_a);
    }
    if (wanted[1]) {
        const bool rows = shape_b.rank == 2 && !ta && shape_a.rank > 2; /* sums over dims before */
        const fr_value left = rows ? flatten_rows(p, a) : a,
                       right = rows ? flatten_rows(p, dc) : dc;
        const fr_value db = tb ? fr_matmul_transposed(p, right, true, left, ta)
                               : fr_matmul_transposed(p, left, !ta, right, false);
        grad_in[1] = back_to(p, db, node->inputs[1], &shape_b);
    }
    return fr_program_check(p);
}

/* ---- running ---- */

/* One execution: a batch of products. */
typedef struct product {
    fr_dtype dtype;
    int64_t m, n, k, batch;
    bool transpose_a, transpose_b;
    int rank;                       /* of the batch */
    int64_t size[FR_MAX_RANK];      /* of its dims */
    int64_t stride[2][FR_MAX_RANK]; /* elements between matrices of A and B; 0 where repeated */
    double beta;
    const char *a, *b;
    char *c;
    void *workspace;
    fr_status failure; /* of any product: all fail alike */
} product;

static void batch_strides(const fr_tensor *x, int rank, int64_t *stride)
{
    int64_t step = x->rank < 2 ? 0 : x->shape[x->rank - 1] * x->shape[x->rank - 2];
    for (int d = 0; d < rank; d++)
        stride[d] = 0;
    for (int d = x->rank - 3, at = rank - 1; d >= 0; d--, at--) {
        stride[at] = x->shape[d] == 1 ? 0 : step;
        step *= x->shape[d];
    }
}

static product product_of(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    const fr_tensor *a = &in[0], *b = &in[1];
    const int batch_a = a->rank < 2 ? 0 : a->rank - 2, batch_b = b->rank < 2 ? 0 : b->rank - 2;
    product at = {.dtype = a->dtype, .batch = 1, .a = a->data, .b = b->data, .c = out->data};
    at.transpose_a = a->rank > 1 && is_transposed(node, 0);
    at.transpose_b = b->rank > 1 && is_transposed(node, 1);
    const int64_t last_a = a->shape[a->rank - 1],
                  before_a = a->rank == 1 ? 1 : a->shape[a->rank - 2];
    at.m = at.transpose_a ? last_a : before_a;
    at.k = at.transpose_a ? before_a : last_a;
    at.n = b->rank == 1 ? 1 : at.transpose_b ? b->shape[b->rank - 2] : b->shape[b->rank - 1];
    at.rank = batch_a > batch_b ? batch_a : batch_b;
    for (int d = 0; d < at.rank; d++) {
        at.size[d] = out->shape[d];
        at.batch *= out->shape[d];
    }
    batch_strides(a, at.rank, at.stride[0]);
    batch_strides(b, at.rank, at.stride[1]);
    if (batch_b == 0 && !at.transpose_a) { /* the rows of all of A are rows of one product */
        at.m *= at.batch;
        at.batch = 1;
        at.rank = 0;
    }
    return at;
}

static fr_status run_one(const product *at, int64_t i)
{
    int64_t offset[2] = {0, 0};
    const int64_t bytes = (int64_t)fr_dtype_bytes(at->dtype);
    for (int64_t d = at->rank - 1, rest = i; d >= 0; d--) {
        offset[0] += rest % at->size[d] * at->stride[0][d];
        offset[1] += rest % at->size[d] * at->stride[1][d];
        rest /= at->size[d];
    }
    const fr_gemm gemm = {
        .transpose_a = at->transpose_a,
        .transpose_b = at->transpose_b,
        .m = at->m,
        .n = at->n,
        .k = at->k,
        .alpha = 1,
        .beta = at->beta,
        .a = at->a + offset[0] * bytes,
        .lda = at->transpose_a ? at->m : at->k,
        .b = at->b + offset[1] * bytes,
        .ldb = at->transpose_b ? at->k : at->n,
        .c = at->c + i * at->m * at->n * bytes,
        .ldc = at->n,
        .workspace = at->workspace,
    };
    return at->dtype == FR_F32 ? fr_gemm_f32(&gemm) : fr_gemm_f64(&gemm);
}

static void run_some(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    product *at = context;
    for (int64_t i = begin; i < end; i++) {
        const fr_status status = run_one(at, i);
        if (status != FR_OK)
            __atomic_store_n(&at->failure, status, __ATOMIC_RELAXED);
    }
}

static fr_status run_product(product *at)
{
    if (at->m == 0 || at->n == 0 || at->batch == 0)
        return FR_OK;
    if (at->k == 0) { /* a sum of nothing */
        if (at->beta == 0)
            memset(at->c, 0, (size_t)(at->batch * at->m * at->n) * fr_dtype_bytes(at->dtype));
        return FR_OK;
    }
    /* Many products share the threads between them; with partial sums in the one workspace they go
     * one after the other. */
    const bool shared = fr_gemm_workspace(at->m, at->n, at->k, fr_dtype_bytes(at->dtype)) > 0;
    const double flop = 2.0 * (double)at->m * (double)at->n * (double)at->k;
    if (shared || at->batch < 4) {
        for (int64_t i = 0; i < at->batch; i++)
            FR_RETURN_IF_ERROR(run_one(at, i));
        return FR_OK;
    }
    fr_parallel_for(at->batch, flop > 1e6 ? 1 : (int64_t)(1e6 / flop) + 1, run_some, at);
    return at->failure == FR_OK ? FR_OK : fr_fail(at->failure, "a product of the batch failed");
}

static size_t workspace(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    const product at = product_of(node, in, out);
    return fr_gemm_workspace(at.m, at.n, at.k, fr_dtype_bytes(at.dtype));
}

static fr_status run_matmul(const fr_run *run)
{
    product at = product_of(run->node, run->in, run->out);
    at.workspace = run->workspace;
    return run_product(&at);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    const product at = product_of(node, in, out);
    *flop = 2 * (double)at.batch * (double)at.m * (double)at.n * (double)at.k;
    *bytes = fr_operand_bytes(node, in, out);
}

/* "O[i0:2, i1:3, i2:4] = sum[k:5] I0[i0, i1, k] * I1[i0, k, i2]" */
static fr_status put_matrix(const char *name, const fr_tensor *x, const fr_tensor *out, bool left,
                            bool transposed, char *text, size_t bytes)
{
    const int batch = x->rank - 2, shift = out->rank - x->rank;
    char free_index[16];
    (void)snprintf(free_index, sizeof free_index, "i%d", left ? out->rank - 2 : out->rank - 1);
    const bool k_first = left == transposed;
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%s[", name));
    for (int d = 0; d < batch; d++)
        if (x->shape[d] == 1 && out->shape[d + shift] != 1)
            FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "0, "));
        else
            FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "i%d, ", d + shift));
    return fr_expression_put(text, bytes, "%s, %s]", k_first ? "k" : free_index,
                             k_first ? free_index : "k");
}

static fr_status expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                            char *text, size_t bytes)
{
    if (in[0].rank < 2 || in[1].rank < 2)
        return fr_fail(FR_ENOTSUP, "a product with a vector has no expression");
    const product at = product_of(node, in, out);
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "sum[k:%" PRId64 "] ", at.k));
    FR_RETURN_IF_ERROR(put_matrix("I0", &in[0], out, true, at.transpose_a, text, bytes));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, " * "));
    return put_matrix("I1", &in[1], out, false, at.transpose_b, text, bytes);
}

const fr_op fr_op_matmul = {
    .name = "MatMul",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .expression = expression,
    .work = work,
    .kernels = {{.name = "gemm", .workspace = workspace, .run = run_matmul}},
};

/* ---- Linear ---- */

static fr_status infer_linear(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 1, FR_MAX_RANK));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 1, 2, 2));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    const int last = in[0].shape.rank - 1;
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "inner sizes: columns of operand 0",
                                    in[0].shape.dims[last], "rows of operand 1, the weight,",
                                    in[1].shape.dims[0]));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 2, 1, 1));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 2));
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "operand 2, the bias,", in[2].shape.dims[0],
                                    "columns of operand 1, the weight,", in[1].shape.dims[1]));
    out[0] = in[0];
    out[0].shape.dims[last] = in[1].shape.dims[1];
    return FR_OK;
}

static fr_status linear_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                 const bool *wanted, fr_value *grad_in)
{
    const fr_value x = node->inputs[0], weight = node->inputs[1];
    if (wanted[0])
        grad_in[0] = fr_matmul_transposed(p, grad_out[0], false, weight, true);
    if (wanted[1])
        grad_in[1] =
            fr_matmul_transposed(p, flatten_rows(p, x), true, flatten_rows(p, grad_out[0]), false);
    if (wanted[2]) {
        const fr_shape bias = fr_value_shape(p, node->inputs[2]);
        grad_in[2] = fr_sum_to(p, grad_out[0], &bias);
    }
    return fr_program_check(p);
}

static fr_status run_linear(const fr_run *run)
{
    product at = product_of(run->node, run->in, run->out);
    const fr_tensor *bias = &run->in[2];
    const fr_broadcast shape = fr_broadcast_of(&run->out[0], &bias, 1);
    fr_expand_run(fr_dtype_bytes(bias->dtype), &shape, bias->data, run->out[0].data);
    at.beta = 1;
    at.workspace = run->workspace;
    return run_product(&at);
}

static fr_status linear_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                   char *text, size_t bytes)
{
    (void)node;
    if (in[0].rank < 2)
        return fr_fail(FR_ENOTSUP, "a product with a vector has no expression");
    char product_text[512] = "";
    FR_RETURN_IF_ERROR(
        put_matrix("I0", &in[0], out, true, false, product_text, sizeof product_text));
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "{ "));
    for (int d = 0; d < out->rank; d++)
        FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%si%d:%" PRId64, d == 0 ? "[" : ", ", d,
                                             out->shape[d]));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "] sum[k:%" PRId64 "] %s * I1[k, i%d] }",
                                         in[1].shape[0], product_text, out->rank - 1));
    for (int d = 0; d < out->rank; d++)
        FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%si%d", d == 0 ? "[" : ", ", d));
    return fr_expression_put(text, bytes, "] + I2[i%d]", out->rank - 1);
}

const fr_op fr_op_linear = {
    .name = "Linear",
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .infer = infer_linear,
    .gradient = linear_gradient,
    .expression = linear_expression,
    .work = work,
    .kernels = {{.name = "gemm", .workspace = workspace, .run = run_linear}},
};
