/*
 * operator_cases_dense.h: cases of element-wise operators with their broadcasting, of products and
 * of reductions.
 */
#ifndef FR_TESTS_OPERATOR_CASES_DENSE_H
#define FR_TESTS_OPERATOR_CASES_DENSE_H

#include "operator_case.h"

/* ---- two operands: equal shapes, a row, a column, a scalar, new leading dims ---- */

static void case_pair(op_case *c, operand *(*add)(op_case *c, int rank, const int64_t *shape))
{
    const int64_t n = case_extent(c, 4, 3000), m = case_extent(c, 5, 37);
    switch (c->round) {
    case 0:
        add(c, SHAPE(n, m));
        add(c, SHAPE(n, m));
        break;
    case 1:
        add(c, SHAPE(n, m));
        add(c, SHAPE(m));
        break;
    case 2:
        add(c, SHAPE(n, 1));
        add(c, SHAPE(n, m));
        break;
    case 3:
        add(c, 0, NULL);
        add(c, SHAPE(n, m));
        break;
    default: add(c, SHAPE(2, 1, m)); add(c, SHAPE(n, 1));
    }
    c->tolerance = 1e-4; /* gradients sum over what was repeated */
}

static operand *add_normal(op_case *c, int rank, const int64_t *shape)
{
    return case_floats(c, 1, rank, shape);
}

/* Between 0.5 and 2, so that quotients stay tame. */
static operand *add_positive(op_case *c, int rank, const int64_t *shape)
{
    return case_uniform(c, 0.5, 2, rank, shape);
}

static void make_pair(op_case *c) { case_pair(c, add_normal); }
static void make_positive_pair(op_case *c) { case_pair(c, add_positive); }

/* ---- one operand ---- */

static void make_unary(op_case *c)
{
    const int64_t n = case_extent(c, 6, 3000);
    case_floats(c, c->round == 1 ? 4 : 1, SHAPE(n, 7));
}

static void make_unary_positive(op_case *c)
{
    const int64_t n = case_extent(c, 6, 3000);
    case_uniform(c, 0.3, 3, SHAPE(n, 7));
}

static void make_unary_alpha(op_case *c)
{
    make_unary(c);
    if (c->round > 0)
        case_attribute(c, FR_FLOAT("alpha", 0.3));
}

static void make_scale(op_case *c)
{
    make_unary(c);
    case_attribute(c, FR_FLOAT("factor", -1.7));
}

/* ---- products ---- */

static void make_matmul(op_case *c)
{
    const int64_t m = case_extent(c, 4, 2000), k = case_extent(c, 5, 70), n = case_extent(c, 4, 33);
    const int64_t some = case_extent(c, 3, 9);
    const bool ta = c->round == 1 || c->round == 3, tb = c->round == 2 || c->round == 3;
    switch (c->round) {
    case 0:
    case 1:
    case 2:
    case 3:
        case_floats(c, 1, 2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k});
        case_floats(c, 1, 2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n});
        case_attribute(c, FR_INT("transA", ta));
        case_attribute(c, FR_INT("transB", tb));
        break;
    case 4: /* one matrix for a batch of them */
        case_floats(c, 1, SHAPE(3, some, k));
        case_floats(c, 1, SHAPE(k, n));
        break;
    case 5: /* dims before are broadcast */
        case_floats(c, 1, SHAPE(2, 1, some, k));
        case_floats(c, 1, SHAPE(3, k, n));
        break;
    case 6: /* vectors */
        case_floats(c, 1, SHAPE(k));
        case_floats(c, 1, SHAPE(k, n));
        break;
    case 7:
        case_floats(c, 1, SHAPE(some, k));
        case_floats(c, 1, SHAPE(k));
        break;
    case 8:
        case_floats(c, 1, SHAPE(k));
        case_floats(c, 1, SHAPE(k));
        break;
    default: /* a batch with transposes */
        case_floats(c, 1, SHAPE(6, k, some));
        case_floats(c, 1, SHAPE(6, n, k));
        case_attribute(c, FR_INT("transA", 1));
        case_attribute(c, FR_INT("transB", 1));
    }
    c->tolerance = 3e-4;
}

static void make_linear(op_case *c)
{
    const int64_t m = case_extent(c, 4, 2000), k = case_extent(c, 5, 70), n = case_extent(c, 4, 33);
    if (c->round == 0)
        case_floats(c, 1, SHAPE(m, k));
    else if (c->round == 1)
        case_floats(c, 1, SHAPE(2, m, k));
    else
        case_floats(c, 1, SHAPE(k));
    case_floats(c, 1, SHAPE(k, n));
    case_floats(c, 1, SHAPE(n));
    c->tolerance = 3e-4;
}

static void make_linear_sum(op_case *c)
{
    const int64_t m = case_extent(c, 4, 2000), n = case_extent(c, 4, 33);
    const int n_products = 1 + c->round % 3;
    for (int i = 0; i < n_products; i++) {
        /* once an inner size that a product by itself would cut into chunks */
        const int64_t k = c->size == CASE_LARGE && c->round == 0 ? 4714 : case_extent(c, 5, 70);
        case_floats(c, 1, SHAPE(c->size == CASE_LARGE && c->round == 0 ? 300 : m, k));
        case_floats(c, 1, SHAPE(k, n));
    }
    case_floats(c, 1, SHAPE(n));
    static const fr_attribute given[2] = {{.name = "activation", .kind = FR_ATTRIBUTE_STRING, .s = "none"},
                                          {.name = "activation", .kind = FR_ATTRIBUTE_STRING, .s = "relu"}};
    c->attributes[c->n_attributes++] = given[c->round / 3 % 2];
    c->tolerance = 3e-4;
}

/* ---- reductions ---- */

static void make_reduce(op_case *c)
{
    const int64_t n = case_extent(c, 4, 2500), m = case_extent(c, 3, 17);
    static const int64_t axes[][2] = {{0, 0}, {0, 0}, {-1, 0}, {0, 2}, {1, 0}};
    static const int n_axes[] = {0, 1, 1, 2, 1};
    const int which = c->round % 5;
    case_floats(c, 1, SHAPE(n, 3, m));
    if (n_axes[which] > 0)
        case_ints(c, "axes", axes[which], n_axes[which]);
    case_attribute(c, FR_INT("keepdims", c->round % 2));
    c->tolerance = 1e-4;
}

static void make_expand(op_case *c)
{
    const int64_t n = case_extent(c, 4, 2000), m = case_extent(c, 5, 37);
    if (c->round == 0)
        case_floats(c, 1, SHAPE(m));
    else if (c->round == 1)
        case_floats(c, 1, SHAPE(n, 1));
    else
        case_floats(c, 1, 0, NULL);
    case_dims(c, "shape", (int64_t[]){n, m}, 2);
    case_attribute(c, FR_INT("mean", c->round == 1));
    c->tolerance = 2e-4;
}

static void make_reduce_sum_to(op_case *c)
{
    const int64_t n = case_extent(c, 4, 2000), m = case_extent(c, 5, 37);
    case_floats(c, 1, SHAPE(n, 2, m));
    if (c->round == 0)
        case_dims(c, "shape", (int64_t[]){m}, 1);
    else if (c->round == 1)
        case_dims(c, "shape", (int64_t[]){n, 1, 1}, 3);
    else
        case_dims(c, "shape", NULL, 0);
    case_attribute(c, FR_INT("mean", c->round == 1));
    c->tolerance = 2e-4;
}

static void make_fill(op_case *c)
{
    const int64_t n = case_extent(c, 4, 2000);
    case_dims(c, "shape", (int64_t[]){n, 3}, 2);
    case_attribute(c, FR_FLOAT("value", 2.5));
    case_attribute(c, FR_STRING("dtype", c->round == 0 ? "f32" : "f64"));
}

#define PAIR_ROW(name, maker)                                                                      \
    {                                                                                              \
        .op = (name), .make = (maker), .rounds = 5, .spoils = {                                    \
            {SPOIL_DTYPE, 0, 0, NULL, 0},                                                          \
            {SPOIL_DTYPE, 1, 0, NULL, 0},                                                          \
        }                                                                                          \
    }
#define UNARY_ROW(name, maker)                                                                     \
    {                                                                                              \
        .op = (name), .make = (maker), .spoils = {                                                 \
            {SPOIL_DTYPE, 0, 0, NULL, 0},                                                          \
        }                                                                                          \
    }
#define COVERED_ROW(name, by)                                                                      \
    {                                                                                              \
        .op = (name), .covered_by = (by)                                                           \
    }

static const op_row dense_rows[] = {
    PAIR_ROW("Add", make_pair),
    PAIR_ROW("Sub", make_pair),
    PAIR_ROW("Mul", make_pair),
    PAIR_ROW("Div", make_positive_pair),
    PAIR_ROW("Max", make_pair),
    PAIR_ROW("Min", make_pair),
    COVERED_ROW("MaxGrad", "Max"),
    COVERED_ROW("MinGrad", "Min"),
    UNARY_ROW("Neg", make_unary),
    UNARY_ROW("Scale", make_scale),
    UNARY_ROW("Abs", make_unary),
    UNARY_ROW("Exp", make_unary),
    UNARY_ROW("Log", make_unary_positive),
    UNARY_ROW("Sqrt", make_unary_positive),
    UNARY_ROW("Sigmoid", make_unary),
    UNARY_ROW("Tanh", make_unary),
    UNARY_ROW("Relu", make_unary),
    UNARY_ROW("LeakyRelu", make_unary_alpha),
    UNARY_ROW("Elu", make_unary_alpha),
    UNARY_ROW("Gelu", make_unary),
    UNARY_ROW("Silu", make_unary),
    UNARY_ROW("Softplus", make_unary),
    COVERED_ROW("AbsGrad", "Abs"),
    COVERED_ROW("ExpGrad", "Exp"),
    COVERED_ROW("LogGrad", "Log"),
    COVERED_ROW("SqrtGrad", "Sqrt"),
    COVERED_ROW("SigmoidGrad", "Sigmoid"),
    COVERED_ROW("TanhGrad", "Tanh"),
    COVERED_ROW("ReluGrad", "Relu"),
    COVERED_ROW("LeakyReluGrad", "LeakyRelu"),
    COVERED_ROW("EluGrad", "Elu"),
    COVERED_ROW("GeluGrad", "Gelu"),
    COVERED_ROW("SiluGrad", "Silu"),
    COVERED_ROW("SoftplusGrad", "Softplus"),
    {.op = "MatMul",
     .make = make_matmul,
     .rounds = 10,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_SIZE, 0, 1, "inner sizes", 1}}},
    {.op = "Linear",
     .make = make_linear,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "inner sizes", 0},
                {SPOIL_SIZE, 2, 0, NULL, 0},
                {SPOIL_RANK, 2, 0, NULL, 0}}},
    {.op = "LinearSum",
     .make = make_linear_sum,
     .rounds = 6,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "inner sizes", 0},
                {SPOIL_SIZE, 2, 0, NULL, 0},
                {SPOIL_RANK, 2, 0, NULL, 0}}},
    {.op = "ReduceSum",
     .make = make_reduce,
     .rounds = 10,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "ReduceMean",
     .make = make_reduce,
     .rounds = 10,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "ReduceMax",
     .make = make_reduce,
     .rounds = 10,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    COVERED_ROW("ReduceMaxGrad", "ReduceMax"),
    {.op = "Expand", .make = make_expand, .spoils = {{SPOIL_SIZE, 0, 0, NULL, 0}}},
    {.op = "ReduceSumTo", .make = make_reduce_sum_to, .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "Fill", .make = make_fill},
};

#endif
