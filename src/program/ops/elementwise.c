/*
 * elementwise.c: Add, Sub, Mul, Div, Max and Min of two operands, broadcast as NumPy and ONNX do.
 *
 *     d(a+b) = g, g        d(ab) = g b, g a        d(a/b) = g / b, -g y / b
 *
 * A gradient is summed over the dims in which its operand was repeated (ReduceSumTo). MaxGrad and
 * MinGrad let g pass where the operand they are for was chosen; equal operands count as a being
 * chosen.
 */
#include "kernel/elementwise.h"

#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    out[0].dtype = in[0].dtype;
    return fr_infer_broadcast(p, node, in, 0, 1, 0, &out[0].shape);
}

/* Sums down and hands over, where the operand's gradient is wanted. */
static void hand_over(fr_program *p, const fr_node *node, const bool *wanted, int operand,
                      fr_value grad, fr_value *grad_in)
{
    if (!wanted[operand])
        return;
    const fr_shape shape = fr_value_shape(p, node->inputs[operand]);
    grad_in[operand] = fr_sum_to(p, grad, &shape);
}

static fr_status add_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    hand_over(p, node, wanted, 0, grad_out[0], grad_in);
    hand_over(p, node, wanted, 1, grad_out[0], grad_in);
    return fr_program_check(p);
}

static fr_status sub_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    hand_over(p, node, wanted, 0, grad_out[0], grad_in);
    hand_over(p, node, wanted, 1, grad_out[0], grad_in);
    if (wanted[1])
        grad_in[1] = fr_neg(p, grad_in[1]);
    return fr_program_check(p);
}

static fr_status mul_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    for (int i = 0; i < 2; i++)
        if (wanted[i])
            hand_over(p, node, wanted, i, fr_mul(p, grad_out[0], node->inputs[1 - i]), grad_in);
    return fr_program_check(p);
}

static fr_status div_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    const fr_value da = fr_div(p, grad_out[0], node->inputs[1]);
    hand_over(p, node, wanted, 0, da, grad_in);
    if (wanted[1])
        hand_over(p, node, wanted, 1, fr_neg(p, fr_mul(p, da, node->outputs[0])), grad_in);
    return fr_program_check(p);
}

static fr_status chosen_gradient(fr_program *p, const fr_node *node, const char *op,
                                 fr_value grad_out, const bool *wanted, fr_value *grad_in)
{
    for (int i = 0; i < 2; i++)
        if (wanted[i]) {
            const fr_value operands[] = {node->inputs[0], node->inputs[1], grad_out};
            const fr_value grad = fr_apply_one(p, op, operands, 3, &FR_INT("operand", i), 1);
            hand_over(p, node, wanted, i, grad, grad_in);
        }
    return fr_program_check(p);
}

static fr_status max_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    return chosen_gradient(p, node, "MaxGrad", grad_out[0], wanted, grad_in);
}

static fr_status min_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    return chosen_gradient(p, node, "MinGrad", grad_out[0], wanted, grad_in);
}

/* ---- running ---- */

static fr_status run_binary(const fr_run *run, fr_binary kind)
{
    const fr_tensor *in[] = {&run->in[0], &run->in[1]};
    const fr_broadcast shape = fr_broadcast_of(&run->out[0], in, 2);
    fr_binary_run(kind, run->out[0].dtype, &shape, in[0]->data, in[1]->data, run->out[0].data);
    return FR_OK;
}

static fr_status run_add(const fr_run *run) { return run_binary(run, FR_BINARY_add); }
static fr_status run_sub(const fr_run *run) { return run_binary(run, FR_BINARY_sub); }
static fr_status run_mul(const fr_run *run) { return run_binary(run, FR_BINARY_mul); }
static fr_status run_div(const fr_run *run) { return run_binary(run, FR_BINARY_div); }
static fr_status run_max(const fr_run *run) { return run_binary(run, FR_BINARY_max); }
static fr_status run_min(const fr_run *run) { return run_binary(run, FR_BINARY_min); }

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    *flop = (double)fr_tensor_count(&out[0]);
    *bytes = fr_operand_bytes(node, in, out);
}

static fr_status expression(const fr_tensor *in, const fr_tensor *out, const char *sign, char *text,
                            size_t bytes)
{
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    FR_RETURN_IF_ERROR(fr_expression_operand("I0", &in[0], out, text, bytes));
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, " %s ", sign));
    return fr_expression_operand("I1", &in[1], out, text, bytes);
}

static fr_status add_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    (void)node;
    return expression(in, out, "+", text, bytes);
}

static fr_status sub_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    (void)node;
    return expression(in, out, "-", text, bytes);
}

static fr_status mul_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    (void)node;
    return expression(in, out, "*", text, bytes);
}

static fr_status div_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    (void)node;
    return expression(in, out, "/", text, bytes);
}

#define BINARY_OP(symbol, onnx_name, gradient_function, expression_function, run_function)         \
    const fr_op symbol = {                                                                         \
        .name = (onnx_name),                                                                       \
        .min_inputs = 2,                                                                           \
        .max_inputs = 2,                                                                           \
        .n_outputs = 1,                                                                            \
        .infer = infer,                                                                            \
        .gradient = (gradient_function),                                                           \
        .expression = (expression_function),                                                       \
        .work = work,                                                                              \
        .in_place = 3,                                                                             \
        .kernels = {{.name = "own", .run = (run_function)}},                                       \
    }

BINARY_OP(fr_op_add, "Add", add_gradient, add_expression, run_add);
BINARY_OP(fr_op_sub, "Sub", sub_gradient, sub_expression, run_sub);
BINARY_OP(fr_op_mul, "Mul", mul_gradient, mul_expression, run_mul);
BINARY_OP(fr_op_div, "Div", div_gradient, div_expression, run_div);
BINARY_OP(fr_op_max, "Max", max_gradient, NULL, run_max);
BINARY_OP(fr_op_min, "Min", min_gradient, NULL, run_min);

/* ---- MaxGrad, MinGrad: a, b, dy of the result's shape; attribute `operand` 0 or 1 ---- */

static const char *const chosen_attributes[] = {"operand", NULL};

static fr_status infer_chosen(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_type pair = {.dtype = in[2].dtype};
    FR_RETURN_IF_ERROR(infer(p, node, in, &pair));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 2));
    const fr_type types[] = {pair, pair, in[2]}; /* operand 2 against what 0 and 1 broadcast to */
    FR_RETURN_IF_ERROR(fr_infer_same_shape(p, node, types, 2, 0));
    out[0] = in[2];
    return FR_OK;
}

/* Linear in dy, and flat in a and b. */
static fr_status chosen_again(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    const fr_value operands[] = {node->inputs[0], node->inputs[1], grad_out[0]};
    const fr_attribute operand = FR_INT("operand", fr_node_int(node, "operand", 0));
    if (wanted[2])
        grad_in[2] = fr_apply_one(p, node->op->name, operands, 3, &operand, 1);
    return fr_program_check(p);
}

static fr_status run_chosen(const fr_run *run, bool smaller)
{
    const fr_tensor *in[] = {&run->in[0], &run->in[1], &run->in[2]};
    const fr_broadcast shape = fr_broadcast_of(&run->out[0], in, 3);
    fr_chosen_run(smaller, fr_node_int(run->node, "operand", 0) == 1, run->out[0].dtype, &shape,
                  in[0]->data, in[1]->data, in[2]->data, run->out[0].data);
    return FR_OK;
}

static fr_status run_max_chosen(const fr_run *run) { return run_chosen(run, false); }
static fr_status run_min_chosen(const fr_run *run) { return run_chosen(run, true); }

const fr_op fr_op_max_grad = {
    .name = "MaxGrad",
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .attributes = chosen_attributes,
    .infer = infer_chosen,
    .gradient = chosen_again,
    .work = work,
    .in_place = 4,
    .kernels = {{.name = "own", .run = run_max_chosen}},
};

const fr_op fr_op_min_grad = {
    .name = "MinGrad",
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs = 1,
    .attributes = chosen_attributes,
    .infer = infer_chosen,
    .gradient = chosen_again,
    .work = work,
    .in_place = 4,
    .kernels = {{.name = "own", .run = run_min_chosen}},
};
