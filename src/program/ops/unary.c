/*
 * unary.c: functions of one number, one row of a table each: ONNX's name, the function in
 * kernel/elementwise.h, its attribute, its gradient operator, and whether the gradient reads the
 * result y rather than the operand x (then x need not be kept until the backward pass).
 *
 * The gradient operator takes (s, dy), s being x or y, and is what the table's function says; those
 * of Neg and Scale are Neg and Scale.
 */
#include "kernel/elementwise.h"

#include <string.h>

#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"

typedef struct unary_row {
    const char *op, *gradient;
    fr_unary kind;
    const char *attribute; /* NULL: none */
    double otherwise;      /* its default */
    bool of_result;
    double flop; /* an element, an exponential counted as one */
} unary_row;

static const unary_row rows[] = {
    {"Neg", "Neg", FR_UNARY_neg, NULL, 0, false, 1},
    {"Scale", "Scale", FR_UNARY_scale, "factor", 1, false, 1},
    {"Abs", "AbsGrad", FR_UNARY_abs, NULL, 0, false, 1},
    {"Exp", "ExpGrad", FR_UNARY_exp, NULL, 0, true, 1},
    {"Log", "LogGrad", FR_UNARY_log, NULL, 0, false, 1},
    {"Sqrt", "SqrtGrad", FR_UNARY_sqrt, NULL, 0, true, 1},
    {"Sigmoid", "SigmoidGrad", FR_UNARY_sigmoid, NULL, 0, true, 3},
    {"Tanh", "TanhGrad", FR_UNARY_tanh, NULL, 0, true, 3},
    {"Relu", "ReluGrad", FR_UNARY_relu, NULL, 0, true, 1},
    {"LeakyRelu", "LeakyReluGrad", FR_UNARY_leaky_relu, "alpha", 0.01, false, 2},
    {"Elu", "EluGrad", FR_UNARY_elu, "alpha", 1, false, 3},
    {"Gelu", "GeluGrad", FR_UNARY_gelu, NULL, 0, false, 8},
    {"Silu", "SiluGrad", FR_UNARY_silu, NULL, 0, false, 4},
    {"Softplus", "SoftplusGrad", FR_UNARY_softplus, NULL, 0, false, 4},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* Of a node of one of the operators below, which all stand in the table. */
static const unary_row *row_of(const fr_node *node, bool *is_gradient)
{
    *is_gradient = node->n_inputs == 2;
    int i = 0;
    while (i < N_ROWS - 1 &&
           strcmp(*is_gradient ? rows[i].gradient : rows[i].op, node->op->name) != 0)
        i++;
    return &rows[i];
}

static double attribute_of(const fr_node *node, const unary_row *row)
{
    return row->attribute == NULL ? 0 : fr_node_float(node, row->attribute, row->otherwise);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    for (int i = 0; i < node->n_inputs; i++)
        FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, i));
    if (node->n_inputs == 2) {
        FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
        FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, in, 0, 1));
    }
    out[0] = in[0];
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    bool is_gradient;
    const unary_row *row = row_of(node, &is_gradient);
    const fr_attribute given = FR_FLOAT(row->attribute, attribute_of(node, row));
    const int n_given = row->attribute == NULL ? 0 : 1;
    if (strcmp(row->op, row->gradient) == 0) {
        grad_in[0] = fr_apply_one(p, row->op, grad_out, 1, &given, n_given);
    } else {
        const fr_value operands[] = {row->of_result ? node->outputs[0] : node->inputs[0],
                                     grad_out[0]};
        grad_in[0] = fr_apply_one(p, row->gradient, operands, 2, &given, n_given);
    }
    return fr_program_check(p);
}

/* A gradient operator is linear in dy; its second derivatives are left out. */
static fr_status gradient_again(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                const bool *wanted, fr_value *grad_in)
{
    bool is_gradient;
    const unary_row *row = row_of(node, &is_gradient);
    const bool flat =
        row->kind == FR_UNARY_relu || row->kind == FR_UNARY_leaky_relu || row->kind == FR_UNARY_abs;
    if (wanted[0] && !flat)
        return fr_fail(FR_ENOTSUP, "%s: second derivatives are not supported", node->op->name);
    const fr_attribute given = FR_FLOAT(row->attribute, attribute_of(node, row));
    const fr_value operands[] = {node->inputs[0], grad_out[0]};
    if (wanted[1])
        grad_in[1] = fr_apply_one(p, row->gradient, operands, 2, &given, row->attribute != NULL);
    return fr_program_check(p);
}

static fr_status run_unary(const fr_run *run)
{
    bool is_gradient;
    const unary_row *row = row_of(run->node, &is_gradient);
    const fr_tensor *x = &run->in[0];
    const double a = attribute_of(run->node, row);
    const int64_t n = fr_tensor_count(x);
    if (is_gradient)
        fr_unary_gradient_run(row->kind, a, x->dtype, n, x->data, run->in[1].data,
                              run->out[0].data);
    else
        fr_unary_run(row->kind, a, x->dtype, n, x->data, run->out[0].data);
    return FR_OK;
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    bool is_gradient;
    const unary_row *row = row_of(node, &is_gradient);
    *flop = (row->flop + is_gradient) * (double)fr_tensor_count(&out[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

static fr_status expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                            char *text, size_t bytes)
{
    bool is_gradient;
    const unary_row *row = row_of(node, &is_gradient);
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    if (row->kind == FR_UNARY_neg)
        FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "-"));
    FR_RETURN_IF_ERROR(fr_expression_operand("I0", &in[0], out, text, bytes));
    if (row->kind == FR_UNARY_scale)
        return fr_expression_put(text, bytes, " * %.17g", attribute_of(node, row));
    return FR_OK;
}

static const char *const factor_attribute[] = {"factor", NULL};
static const char *const alpha_attribute[] = {"alpha", NULL};

#define UNARY_OP(symbol, onnx_name, given, expression_function)                                    \
    const fr_op symbol = {                                                                         \
        .name = (onnx_name),                                                                       \
        .min_inputs = 1,                                                                           \
        .max_inputs = 1,                                                                           \
        .n_outputs = 1,                                                                            \
        .attributes = (given),                                                                     \
        .infer = infer,                                                                            \
        .gradient = gradient,                                                                      \
        .expression = (expression_function),                                                       \
        .work = work,                                                                              \
        .in_place = 1,                                                                             \
        .kernels = {{.name = "own", .run = run_unary}},                                            \
    }

#define UNARY_GRADIENT_OP(symbol, grad_name, given)                                                \
    const fr_op symbol = {                                                                         \
        .name = (grad_name),                                                                       \
        .min_inputs = 2,                                                                           \
        .max_inputs = 2,                                                                           \
        .n_outputs = 1,                                                                            \
        .attributes = (given),                                                                     \
        .infer = infer,                                                                            \
        .gradient = gradient_again,                                                                \
        .work = work,                                                                              \
        .in_place = 3,                                                                             \
        .kernels = {{.name = "own", .run = run_unary}},                                            \
    }

UNARY_OP(fr_op_neg, "Neg", NULL, expression);
UNARY_OP(fr_op_scale, "Scale", factor_attribute, expression);
UNARY_OP(fr_op_abs, "Abs", NULL, NULL);
UNARY_OP(fr_op_exp, "Exp", NULL, NULL);
UNARY_OP(fr_op_log, "Log", NULL, NULL);
UNARY_OP(fr_op_sqrt, "Sqrt", NULL, NULL);
UNARY_OP(fr_op_sigmoid, "Sigmoid", NULL, NULL);
UNARY_OP(fr_op_tanh, "Tanh", NULL, NULL);
UNARY_OP(fr_op_relu, "Relu", NULL, NULL);
UNARY_OP(fr_op_leaky_relu, "LeakyRelu", alpha_attribute, NULL);
UNARY_OP(fr_op_elu, "Elu", alpha_attribute, NULL);
UNARY_OP(fr_op_gelu, "Gelu", NULL, NULL);
UNARY_OP(fr_op_silu, "Silu", NULL, NULL);
UNARY_OP(fr_op_softplus, "Softplus", NULL, NULL);
UNARY_GRADIENT_OP(fr_op_abs_grad, "AbsGrad", NULL);
UNARY_GRADIENT_OP(fr_op_exp_grad, "ExpGrad", NULL);
UNARY_GRADIENT_OP(fr_op_log_grad, "LogGrad", NULL);
UNARY_GRADIENT_OP(fr_op_sqrt_grad, "SqrtGrad", NULL);
UNARY_GRADIENT_OP(fr_op_sigmoid_grad, "SigmoidGrad", NULL);
UNARY_GRADIENT_OP(fr_op_tanh_grad, "TanhGrad", NULL);
UNARY_GRADIENT_OP(fr_op_relu_grad, "ReluGrad", NULL);
UNARY_GRADIENT_OP(fr_op_leaky_relu_grad, "LeakyReluGrad", alpha_attribute);
UNARY_GRADIENT_OP(fr_op_elu_grad, "EluGrad", alpha_attribute);
UNARY_GRADIENT_OP(fr_op_gelu_grad, "GeluGrad", NULL);
UNARY_GRADIENT_OP(fr_op_silu_grad, "SiluGrad", NULL);
UNARY_GRADIENT_OP(fr_op_softplus_grad, "SoftplusGrad", NULL);
