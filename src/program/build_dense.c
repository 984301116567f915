/*
 * build_dense.c: the typed calls of program.h for element-wise operators, products and reductions:
 * names and attributes put in place for fr_apply, nothing more.
 */
#include <frugal/program.h>

#include "program/op.h"

static fr_value apply_two(fr_program *p, const char *op, fr_value a, fr_value b)
{
    const fr_value operands[] = {a, b};
    return fr_apply_one(p, op, operands, 2, NULL, 0);
}

static fr_value apply_to(fr_program *p, const char *op, fr_value x)
{
    return fr_apply_one(p, op, &x, 1, NULL, 0);
}

fr_value fr_add(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Add", a, b); }
fr_value fr_sub(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Sub", a, b); }
fr_value fr_mul(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Mul", a, b); }
fr_value fr_div(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Div", a, b); }
fr_value fr_max(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Max", a, b); }
fr_value fr_min(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "Min", a, b); }

fr_value fr_neg(fr_program *p, fr_value x) { return apply_to(p, "Neg", x); }
fr_value fr_abs(fr_program *p, fr_value x) { return apply_to(p, "Abs", x); }
fr_value fr_exp(fr_program *p, fr_value x) { return apply_to(p, "Exp", x); }
fr_value fr_log(fr_program *p, fr_value x) { return apply_to(p, "Log", x); }
fr_value fr_sqrt(fr_program *p, fr_value x) { return apply_to(p, "Sqrt", x); }
fr_value fr_sigmoid(fr_program *p, fr_value x) { return apply_to(p, "Sigmoid", x); }
fr_value fr_tanh(fr_program *p, fr_value x) { return apply_to(p, "Tanh", x); }
fr_value fr_relu(fr_program *p, fr_value x) { return apply_to(p, "Relu", x); }
fr_value fr_gelu(fr_program *p, fr_value x) { return apply_to(p, "Gelu", x); }
fr_value fr_silu(fr_program *p, fr_value x) { return apply_to(p, "Silu", x); }
fr_value fr_softplus(fr_program *p, fr_value x) { return apply_to(p, "Softplus", x); }

fr_value fr_leaky_relu(fr_program *p, fr_value x, double slope)
{
    return fr_apply_one(p, "LeakyRelu", &x, 1, &FR_FLOAT("alpha", slope), 1);
}

fr_value fr_elu(fr_program *p, fr_value x, double alpha)
{
    return fr_apply_one(p, "Elu", &x, 1, &FR_FLOAT("alpha", alpha), 1);
}

fr_value fr_scale(fr_program *p, fr_value x, double factor)
{
    return fr_apply_one(p, "Scale", &x, 1, &FR_FLOAT("factor", factor), 1);
}

fr_value fr_matmul(fr_program *p, fr_value a, fr_value b) { return apply_two(p, "MatMul", a, b); }

fr_value fr_matmul_transposed(fr_program *p, fr_value a, bool transpose_a, fr_value b,
                              bool transpose_b)
{
    const fr_value operands[] = {a, b};
    const fr_attribute given[] = {FR_INT("transA", transpose_a), FR_INT("transB", transpose_b)};
    return fr_apply_one(p, "MatMul", operands, 2, given, 2);
}

fr_value fr_linear(fr_program *p, fr_value x, fr_value weight, fr_value bias)
{
    const fr_value operands[] = {x, weight, bias};
    return bias == FR_NO_VALUE ? fr_matmul(p, x, weight)
                               : fr_apply_one(p, "Linear", operands, 3, NULL, 0);
}

fr_value fr_linear_sum(fr_program *p, const fr_value *x, const fr_value *weight, int n, fr_value bias, bool relu)
{
    enum { MOST = 8 };
    fr_value operands[2 * MOST + 1];
    for (int i = 0; i < n && i < MOST; i++) {
        operands[2 * i] = x[i];
        operands[2 * i + 1] = weight[i];
    }
    const int count = n < MOST ? n : MOST;
    operands[2 * count] = bias;
    return fr_apply_one(p, "LinearSum", operands, 2 * count + 1, &FR_STRING("activation", relu ? "relu" : "none"), 1);
}

static fr_value reduce(fr_program *p, const char *op, fr_value x, const int64_t *axes, int n_axes,
                       bool keep)
{
    const fr_attribute given[] = {FR_INT("keepdims", keep), FR_INTS("axes", axes, n_axes)};
    return fr_apply_one(p, op, &x, 1, given, n_axes > 0 ? 2 : 1);
}

fr_value fr_reduce_sum(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep)
{
    return reduce(p, "ReduceSum", x, axes, n_axes, keep);
}

fr_value fr_reduce_mean(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep)
{
    return reduce(p, "ReduceMean", x, axes, n_axes, keep);
}

fr_value fr_reduce_max(fr_program *p, fr_value x, const int64_t *axes, int n_axes, bool keep)
{
    return reduce(p, "ReduceMax", x, axes, n_axes, keep);
}
