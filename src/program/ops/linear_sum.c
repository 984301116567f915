/*
 * linear_sum.c: LinearSum, a sum of products with bias and activation in one pass over the rows.
 *
 *     y = act(x_0 W_0 + x_1 W_1 + .. + b)
 *
 * Inputs x_0, W_0, x_1, W_1, .., bias; x_i [m, k_i], W_i [k_i, n], bias [n]. Attribute `activation`: "none" or "relu".
 * A GraphSAGE layer is one of these (own rows and neighbours' mean), a dense layer the case of one product.
 *
 * Why not MatMul, MatMul, Add, Add, Relu: at 200,000 rows of 256 each of those reads and writes 200 MB. Here a tile of rows is
 * multiplied, summed, biased and clipped while it lies in the cache, and y is written once.
 *
 *     dz = dy where y > 0 (relu), dx_i = dz W_i^T, dW_i = x_i^T dz, db = column sums of dz
 */
#include "kernel/gemm.h"

#include <inttypes.h>
#include <string.h>

#include "base/parallel.h"
#include "program/op.h"
#include "program/ops/operands.h"

enum { ROW_TILE = 256 };

static const char *const attributes[] = {"activation", NULL};

static int n_products(const fr_node *node) { return (node->n_inputs - 1) / 2; }

static bool has_relu(const fr_node *node)
{
    return strcmp(fr_node_string(node, "activation", "none"), "relu") == 0;
}

static fr_status infer_product(fr_program *p, const fr_node *node, const fr_type *in, int i)
{
    const int x = 2 * i, w = 2 * i + 1;
    char what[48], which[48];
    for (int operand = x; operand <= w; operand++) {
        FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, operand, 2, 2));
        FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, operand));
    }
    (void)snprintf(what, sizeof what, "inner sizes: columns of operand %d", x);
    (void)snprintf(which, sizeof which, "rows of operand %d", w);
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, what, in[x].shape.dims[1], which, in[w].shape.dims[0]));
    (void)snprintf(what, sizeof what, "rows of operand %d", x);
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, what, in[x].shape.dims[0], "rows of operand 0", in[0].shape.dims[0]));
    (void)snprintf(what, sizeof what, "columns of operand %d", w);
    return fr_infer_dim(p, node, what, in[w].shape.dims[1], "columns of operand 1", in[1].shape.dims[1]);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    const int bias = node->n_inputs - 1;
    const char *activation = fr_node_string(node, "activation", "none");
    if (node->n_inputs % 2 == 0)
        return fr_infer_fail(p, node, FR_EINVAL, "%d operands; pairs of rows and weight, and a bias, are an odd number", node->n_inputs);
    if (strcmp(activation, "none") != 0 && strcmp(activation, "relu") != 0)
        return fr_infer_fail(p, node, FR_EINVAL, "activation \"%.20s\" is not none or relu", activation);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    for (int i = 0; i < n_products(node); i++)
        FR_RETURN_IF_ERROR(infer_product(p, node, in, i));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, bias, 1, 1));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, bias));
    char what[48];
    (void)snprintf(what, sizeof what, "size of operand %d, the bias,", bias);
    FR_RETURN_IF_ERROR(fr_infer_dim(p, node, what, in[bias].shape.dims[0], "columns of operand 1", in[1].shape.dims[1]));
    out[0] = (fr_type){.dtype = in[0].dtype, .shape = FR_SHAPE(in[0].shape.dims[0], in[1].shape.dims[1])};
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out, const bool *wanted, fr_value *grad_in)
{
    if (grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    /* relu(z) > 0 exactly where z > 0: the result serves as the gradient's operand. */
    const fr_value operands[] = {node->outputs[0], grad_out[0]};
    const fr_value dz = has_relu(node) ? fr_apply_one(p, "ReluGrad", operands, 2, NULL, 0) : grad_out[0];
    for (int i = 0; i < n_products(node); i++) {
        const fr_value x = node->inputs[2 * i], weight = node->inputs[2 * i + 1];
        if (wanted[2 * i])
            grad_in[2 * i] = fr_matmul_transposed(p, dz, false, weight, true);
        if (wanted[2 * i + 1])
            grad_in[2 * i + 1] = fr_matmul_transposed(p, x, true, dz, false);
    }
    const int bias = node->n_inputs - 1;
    if (wanted[bias])
        grad_in[bias] = fr_reduce_sum(p, dz, (int64_t[]){0}, 1, false);
    return fr_program_check(p);
}

/* ---- running ---- */

typedef struct linear_call {
    const fr_run *run;
    int64_t n_columns;
    bool relu;
    fr_status failure; /* of any tile: all fail alike */
} linear_call;

/* y = act(y + b) over rows of a tile; fr_choose-like selects keep the loops free of branches. */
static void finish_f32(float *restrict y, const float *restrict bias, int64_t rows, int64_t columns, bool relu)
{
    for (int64_t i = 0; i < rows; i++, y += columns) {
        for (int64_t j = 0; j < columns; j++)
            y[j] += bias[j];
        for (int64_t j = 0; relu && j < columns; j++)
            y[j] = y[j] > 0 ? y[j] : 0;
    }
}

static void finish_f64(double *restrict y, const double *restrict bias, int64_t rows, int64_t columns, bool relu)
{
    for (int64_t i = 0; i < rows; i++, y += columns)
        for (int64_t j = 0; j < columns; j++) {
            const double z = y[j] + bias[j];
            y[j] = relu && !(z > 0) ? 0 : z;
        }
}

static fr_status multiply_tile(const linear_call *call, int64_t first, int64_t rows, int i)
{
    const fr_tensor *x = &call->run->in[2 * i], *weight = &call->run->in[2 * i + 1];
    const int64_t bytes = (int64_t)fr_dtype_bytes(x->dtype), k = x->shape[1];
    char *y = (char *)call->run->out[0].data + first * call->n_columns * bytes;
    if (k == 0) { /* a sum of nothing */
        if (i == 0)
            memset(y, 0, (size_t)(rows * call->n_columns * bytes));
        return FR_OK;
    }
    const fr_gemm gemm = {.m = rows,
                          .n = call->n_columns,
                          .k = k,
                          .alpha = 1,
                          .beta = i == 0 ? 0 : 1,
                          .a = (const char *)x->data + first * k * bytes,
                          .lda = k,
                          .b = weight->data,
                          .ldb = call->n_columns,
                          .c = y,
                          .ldc = call->n_columns,
                          .whole_k = true};
    return x->dtype == FR_F32 ? fr_gemm_f32(&gemm) : fr_gemm_f64(&gemm);
}

static void run_tile(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    linear_call *call = context;
    const fr_run *run = call->run;
    for (int i = 0; i < n_products(run->node); i++) {
        const fr_status status = multiply_tile(call, begin, end - begin, i);
        if (status != FR_OK)
            __atomic_store_n(&call->failure, status, __ATOMIC_RELAXED);
    }
    const void *bias = run->in[run->node->n_inputs - 1].data;
    const int64_t at = begin * call->n_columns;
    if (run->out[0].dtype == FR_F32)
        finish_f32((float *)run->out[0].data + at, bias, end - begin, call->n_columns, call->relu);
    else
        finish_f64((double *)run->out[0].data + at, bias, end - begin, call->n_columns, call->relu);
}

static fr_status run_linear_sum(const fr_run *run)
{
    linear_call call = {.run = run, .n_columns = run->out[0].shape[1], .relu = has_relu(run->node)};
    if (call.n_columns == 0)
        return FR_OK;
    fr_parallel_for(run->out[0].shape[0], ROW_TILE, run_tile, &call);
    return call.failure == FR_OK ? FR_OK : fr_fail(call.failure, "LinearSum: a product failed");
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop, double *bytes)
{
    *flop = 0;
    for (int i = 0; i < n_products(node); i++)
        *flop += 2 * (double)out[0].shape[0] * (double)out[0].shape[1] * (double)in[2 * i].shape[1];
    *bytes = fr_operand_bytes(node, in, out);
}

const fr_op fr_op_linear_sum = {
    .name = "LinearSum",
    .min_inputs = 3,
    .max_inputs = -1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .kernels = {{.name = "gemm", .run = run_linear_sum}},
};
