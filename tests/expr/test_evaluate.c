/*
 * test_evaluate.c: the interpreter on operators written out.
 *
 * Oracle: nested loops of the textbook formula in each test, in the same order of summation, so
 * that float64 values are equal bit by bit; residues are compared with the same loops over small
 * integers.
 */
#include "test_main.h"

#include <frugal/expr.h>
#include <math.h>

#include "base/random.h"

/* A tensor of small integers; exact in every arithmetic. */
static fr_tensor integers(fr_dtype dtype, int rank, const int64_t *shape, uint64_t stream)
{
    fr_tensor x;
    fr_random random = fr_random_start(fr_test_seed(), stream);
    assert_int_equal(fr_tensor_create(dtype, rank, shape, &x), FR_OK);
    for (int64_t i = 0; i < fr_tensor_count(&x); i++) {
        const double value = (double)fr_random_below(&random, 21) - 10;
        assert_int_equal(fr_convert(FR_F64, &value, dtype,
                                    (char *)x.data + (size_t)i * fr_dtype_bytes(dtype), 1),
                         FR_OK);
    }
    return x;
}

/* Evaluates a text on inputs A and B (B may be NULL) both ways; compares with `expected`. */
static void check(const char *text, const fr_tensor *a, const fr_tensor *b, const double *expected,
                  int64_t n_expected)
{
    const char *const names[] = {"A", "B"};
    const fr_tensor *const inputs[] = {a, b};
    const int n = b != NULL ? 2 : 1;
    fr_expr e;
    fr_tensor real, exact;
    if (fr_expr_parse(text, &e) != FR_OK ||
        fr_expr_evaluate(&e, names, inputs, n, &real) != FR_OK ||
        fr_expr_evaluate_exact(&e, names, inputs, n, 1, &exact) != FR_OK)
        fail_msg("%s: %s", text, fr_error_message());
    assert_int_equal(fr_tensor_count(&real), n_expected);
    for (int64_t i = 0; i < n_expected; i++) {
        assert_true(((double *)real.data)[i] == expected[i]);
        const int64_t whole = (int64_t)expected[i];
        const uint64_t residue = whole < 0 ? FR_EXPR_PRIME - (uint64_t)-whole : (uint64_t)whole;
        assert_true(((uint64_t *)exact.data)[i] == residue);
    }
    fr_tensor_release(&real);
    fr_tensor_release(&exact);
    fr_expr_release(&e);
}

static double at(const fr_tensor *x, int64_t i) { return ((const double *)x->data)[i]; }

static void a_matrix_product_equals_three_loops(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F64, 2, (int64_t[]){5, 7}, 1),
              b = integers(FR_F64, 2, (int64_t[]){7, 3}, 2);
    double expected[15] = {0};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 7; k++)
                expected[i * 3 + j] += at(&a, i * 7 + k) * at(&b, k * 3 + j);
    check("O[i:5, j:3] = sum[k:7] A[i,k] * B[k,j]", &a, &b, expected, 15);
    check("O[i:5, j:3] = { [p:3, q:5] sum[k:7] A[q,k] * B[k,p] }[j, i]", &a, &b, expected, 15);
    check("O[i:5, j:3] = sum[k:7] { [x:5, y:3, z:7] A[x,z] * B[z,y] }[i,j,k]", &a, &b, expected,
          15);
    fr_tensor_release(&a);
    fr_tensor_release(&b);
}

static void inputs_of_any_dtype_and_stride_are_read_by_value(void **state)
{
    (void)state;
    const fr_dtype dtypes[] = {FR_F32, FR_BF16, FR_F16, FR_F8E4M3, FR_I8, FR_I32, FR_I64};
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
        fr_tensor a = integers(dtypes[t], 2, (int64_t[]){4, 6}, t);
        fr_tensor view = {
            .dtype = dtypes[t], .rank = 2, .shape = {6, 2}, .stride = {1, 12}, .data = a.data};
        double all[24], expected[12];
        assert_int_equal(fr_convert(dtypes[t], a.data, FR_F64, all, 24), FR_OK);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 2; j++)
                expected[i * 2 + j] = all[i + 12 * j];
        check("O[i:6, j:2] = A[i,j]", &view, NULL, expected, 12);
        fr_tensor_release(&a);
    }
}

static void a_convolution_with_padding_stride_and_dilation_equals_the_loops(void **state)
{
    (void)state;
    enum { N = 2, C = 3, F = 4, H = 7, W = 6, R = 3, S = 2, OH = 4, OW = 7 };
    fr_tensor a = integers(FR_F64, 4, (int64_t[]){N, C, H, W}, 1);
    fr_tensor b = integers(FR_F64, 4, (int64_t[]){F, C, R, S}, 2);
    double expected[N * F * OH * OW] = {0};
    for (int i = 0; i < N * F * OH * OW; i++) {
        const int n = i / (F * OH * OW), f = i / (OH * OW) % F, h = i / OW % OH, w = i % OW;
        for (int c = 0; c < C; c++)
            for (int r = 0; r < R; r++)
                for (int s = 0; s < S; s++) {
                    const int y = 2 * h + r - 1, x = w + 2 * s - 2;
                    if (y >= 0 && y < H && x >= 0 && x < W)
                        expected[i] += at(&a, ((n * C + c) * H + y) * W + x) *
                                       at(&b, ((f * C + c) * R + r) * S + s);
                }
    }
    check("O[n:2, f:4, h:4, w:7] = sum[c:3, r:3, s:2] A[n, c, 2*h+r-1, w+2*s-2] * B[f, c, r, s] "
          "where A:2x3x7x6 pad 0,0,1,2:1; B:4x3x3x2",
          &a, &b, expected, N * F * OH * OW);
    fr_tensor_release(&a);
    fr_tensor_release(&b);
}

/* Scatter form: every input element adds a kernel at stride times its place, less the padding. */
static void a_transposed_convolution_equals_its_scatter(void **state)
{
    (void)state;
    enum { C = 3, F = 2, H = 3, R = 4, OH = 6 }; /* stride 2, padding 1 */
    fr_tensor a = integers(FR_F64, 2, (int64_t[]){C, H}, 1);
    fr_tensor b = integers(FR_F64, 3, (int64_t[]){C, F, R}, 2);
    double expected[F * OH] = {0};
    for (int c = 0; c < C; c++)
        for (int f = 0; f < F; f++)
            for (int h = 0; h < H; h++)
                for (int r = 0; r < R; r++)
                    if (2 * h + r - 1 >= 0 && 2 * h + r - 1 < OH)
                        expected[f * OH + 2 * h + r - 1] +=
                            at(&a, c * H + h) * at(&b, (c * F + f) * R + r);
    /* Output h reads input (h + 1 - r) / 2 where that is whole: r = (h+1)%2 + 2 t. */
    check("O[f:2, h:6] = sum[c:3, t:2] A[c, (h+1)/2-t] * B[c, f, (h+1)%2+2*t] "
          "where A:3x3 pad 0,1; B:3x2x4",
          &a, &b, expected, F * OH);
    fr_tensor_release(&a);
    fr_tensor_release(&b);
}

static void a_max_pool_takes_the_greatest(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F64, 1, (int64_t[]){9}, 1), out;
    fr_expr e;
    assert_int_equal(fr_expr_parse("O[i:4] = max[r:3] A[2*i+r]", &e), FR_OK);
    assert_int_equal(
        fr_expr_evaluate(&e, (const char *[]){"A"}, (const fr_tensor *[]){&a}, 1, &out), FR_OK);
    for (int i = 0; i < 4; i++) {
        double greatest = at(&a, 2 * i);
        for (int r = 1; r < 3; r++)
            greatest = at(&a, 2 * i + r) > greatest ? at(&a, 2 * i + r) : greatest;
        assert_true(at(&out, i) == greatest);
    }
    fr_tensor_release(&out);
    ((double *)a.data)[3] = (double)NAN; /* stays, wherever it stands in the window */
    assert_int_equal(
        fr_expr_evaluate(&e, (const char *[]){"A"}, (const fr_tensor *[]){&a}, 1, &out), FR_OK);
    assert_true(isnan(at(&out, 1)));
    assert_false(isnan(at(&out, 2)));
    fr_tensor_release(&out);
    fr_tensor_release(&a);
    fr_expr_release(&e);
}

static void functions_and_operators_are_those_of_the_c_library(void **state)
{
    (void)state;
    const double x[] = {-800, -2.5, -1e-9, 0, 0.3, 1, 7, 800};
    fr_tensor a, out;
    assert_int_equal(fr_tensor_view(FR_F64, 1, (int64_t[]){8}, (double *)(uintptr_t)x, &a), FR_OK);
    static const char *const texts[] = {"exp(A[i])",        "log(abs(A[i]))",
                                        "sqrt(abs(A[i]))",  "tanh(A[i])",
                                        "sigmoid(A[i])",    "relu(A[i])",
                                        "erf(A[i])",        "-A[i]",
                                        "1 / (A[i] - 0.5)", "(A[i] - 2) * 3 + A[i] / 4"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        char text[64];
        fr_expr e;
        (void)snprintf(text, sizeof text, "O[i:8] = %s", texts[t]);
        assert_int_equal(fr_expr_parse(text, &e), FR_OK);
        assert_int_equal(
            fr_expr_evaluate(&e, (const char *[]){"A"}, (const fr_tensor *[]){&a}, 1, &out), FR_OK);
        for (int i = 0; i < 8; i++) {
            const double v = x[i];
            const double values[] = {exp(v),
                                     log(fabs(v)),
                                     sqrt(fabs(v)),
                                     tanh(v),
                                     1 / (1 + exp(-v)),
                                     fmax(v, 0),
                                     erf(v),
                                     -v,
                                     1 / (v - 0.5),
                                     (v - 2) * 3 + v / 4};
            const double got = at(&out, i), want = values[t];
            if (got != want && fabs(got - want) > 4e-16 * fabs(want))
                fail_msg("%s at %g is %.17g, not %.17g", texts[t], v, got, want);
        }
        fr_tensor_release(&out);
        fr_expr_release(&e);
    }
}

static void scopes_shift_pad_and_nest(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F64, 1, (int64_t[]){6}, 1);
    double expected[8];
    for (int i = -1; i < 7; i++) { /* O[i] = twice the square of A[i], 0 beyond the ends */
        const double v = i >= 0 && i < 6 ? at(&a, i) : 0;
        expected[i + 1] = 2 * v * v;
    }
    check("O[i:-1..7] = { [j:-3..3] { [k:6] A[k] * A[k] }[j+3] * 2 pad 1 }[i-3]", &a, NULL,
          expected, 8);
    check("O[i:-1..7] = { [k:6] A[k] * A[k] pad 1 }[i] * 2", &a, NULL, expected, 8);
    check("O[i:-1..7] = sum[t:2] A[i] * A[i] where A:6 pad 1", &a, NULL, expected, 8);
    fr_tensor_release(&a);
}

static void divisions_of_negative_indices_round_down(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F64, 1, (int64_t[]){20}, 1);
    double expected[13];
    for (int i = -6; i < 7; i++) {
        const int quotient = (i + 30) / 3 - 10, rest = (i + 30) % 3;
        expected[i + 6] = at(&a, 5 + quotient) + at(&a, rest);
    }
    check("O[i:-6..7] = A[5+i/3] + A[i%3] where A:20", &a, NULL, expected, 13);
    fr_tensor_release(&a);
}

static void scalars_and_empty_ranges_evaluate(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F64, 0, NULL, 1), b = integers(FR_F64, 1, (int64_t[]){0}, 2);
    const double twice = 2 * at(&a, 0), zero = 0;
    check("O[] = 2 * A[]", &a, NULL, &twice, 1);
    check("O[] = A[] * 0 + { [] sum[i:0] B[i] }[]", &a, &b, &zero, 1);
    check("O[i:0] = A[] where A:scalar", &a, NULL, NULL, 0);
    fr_tensor_release(&a);
    fr_tensor_release(&b);
}

static void wrong_inputs_are_named(void **state)
{
    (void)state;
    fr_tensor a = integers(FR_F32, 2, (int64_t[]){3, 4}, 1), out = {.rank = 3};
    fr_expr e;
    assert_int_equal(fr_expr_parse("O[i:3, j:3] = A[i,j] + C[i]", &e), FR_OK);
    const char *const names[] = {"unused", "A"};
    const fr_tensor *const inputs[] = {&a, &a};
    assert_int_equal(fr_expr_evaluate(&e, names, inputs, 2, &out), FR_ESHAPE);
    assert_string_equal(fr_error_message(), "A is f32 3x4, but the expression reads f32 3x3");
    assert_null(out.data);
    a.shape[1] = 3;
    assert_int_equal(fr_expr_evaluate(&e, names, inputs, 2, &out), FR_ENOENT);
    assert_string_equal(fr_error_message(), "the expression reads C, which is not given");
    fr_expr_release(&e);
    fr_tensor_release(&a);
    assert_int_equal(fr_expr_parse("O[a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1] = 1", &e), FR_OK);
    assert_int_equal(fr_expr_evaluate(&e, NULL, NULL, 0, &out), FR_ENOTSUP);
    fr_expr_release(&e);
    assert_int_equal(fr_expr_parse("O[i:1099511627776] = 1", &e), FR_OK);
    assert_int_equal(fr_expr_evaluate(&e, NULL, NULL, 0, &out), FR_ENOMEM);
    fr_expr_release(&e);
}

/* ---- exact arithmetic ---- */

static uint64_t exact(const char *text, uint64_t seed)
{
    fr_expr e;
    fr_tensor out;
    if (fr_expr_parse(text, &e) != FR_OK ||
        fr_expr_evaluate_exact(&e, NULL, NULL, 0, seed, &out) != FR_OK)
        fail_msg("%s: %s", text, fr_error_message());
    const uint64_t value = *(uint64_t *)out.data;
    fr_tensor_release(&out);
    fr_expr_release(&e);
    return value;
}

/* Oracle of the field: 128-bit remainders. */
static void field_operations_equal_remainders(void **state)
{
    (void)state;
    __extension__ typedef unsigned __int128 wide;
    fr_random random = fr_random_start(fr_test_seed(), 9);
    fr_expr e;
    assert_int_equal(fr_expr_parse("O[] = A[0] * A[1] + A[2] - A[3] / A[4]", &e), FR_OK);
    for (int round = 0; round < 2000; round++) {
        uint64_t x[5];
        for (int i = 0; i < 5; i++) {
            x[i] = fr_random_u64(&random) >> 3;
            if (fr_random_below(&random, 4) == 0)
                x[i] = FR_EXPR_PRIME - 1 - fr_random_below(&random, 3);
            x[i] = x[i] % (FR_EXPR_PRIME - 1) + 1;
        }
        fr_tensor a, out;
        assert_int_equal(fr_tensor_view(FR_U64, 1, (int64_t[]){5}, x, &a), FR_OK);
        assert_int_equal(fr_expr_evaluate_exact(&e, (const char *[]){"A"},
                                                (const fr_tensor *[]){&a}, 1, 1, &out),
                         FR_OK);
        const wide p = FR_EXPR_PRIME, result = *(uint64_t *)out.data;
        /* result = x0 x1 + x2 - x3/x4, so (x0 x1 + x2 - result) x4 = x3 */
        const wide left = ((wide)x[0] * x[1] + x[2] + (p - result)) % p * x[4] % p;
        assert_true(left == x[3] % p);
        fr_tensor_release(&out);
    }
    fr_expr_release(&e);
}

static void equal_expressions_have_equal_residues_and_others_do_not(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } pairs[] = {
        {"(A[] + B[]) * (A[] - B[])", "A[] * A[] - B[] * B[]", true},
        {"A[] / B[] * B[]", "A[]", true},
        {"0.1 * A[] * 10", "A[]", false}, /* 0.1 is no tenth in binary */
        {"0.125 * A[] * 8", "A[]", true},
        {"relu(A[] * B[])", "relu(B[] * A[])", true},
        {"relu(A[] + B[])", "relu(A[]) + relu(B[])", false},
        {"relu(A[] - A[])", "0", true},
        {"sigmoid(0) * 2", "1", true},
        {"exp(A[] * 0)", "1", true},
        {"tanh(A[])", "erf(A[])", false},
        {"{ [] max[i:2] { [j:2] A[] * (1 - 0) }[i] }[]", "A[]", true},
        {"{ [] max[i:4] C[i] }[]", "{ [] max[i:2] { [k:2] max[j:2] C[2*k+j] }[1-i] }[]", true},
        {"{ [] max[i:4] C[i] }[]", "{ [] max[i:4] relu(C[i]) }[]", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char a[256], b[256];
        (void)snprintf(a, sizeof a, "O[] = %s", pairs[i].a);
        (void)snprintf(b, sizeof b, "O[] = %s", pairs[i].b);
        for (uint64_t seed = 1; seed <= 5; seed++)
            if ((exact(a, seed) == exact(b, seed)) != pairs[i].equal)
                fail_msg("%s and %s", a, b);
    }
}

/* Else a max pool over a padded tensor would be taken for one that ignores the padding. */
static void no_residue_is_the_least_for_every_seed(void **state)
{
    (void)state;
    int zero_won = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        zero_won += exact("O[] = max[i:2] A[i-1] where A:1 pad 1", seed) == 0;
    assert_in_range(zero_won, 5, 35);
}

static void exact_arithmetic_refuses_what_it_cannot_do(void **state)
{
    (void)state;
    fr_expr e;
    fr_tensor a, out;
    double x = (double)INFINITY;
    assert_int_equal(fr_tensor_view(FR_F64, 0, NULL, &x, &a), FR_OK);
    assert_int_equal(fr_expr_parse("O[] = A[]", &e), FR_OK);
    assert_int_equal(
        fr_expr_evaluate_exact(&e, (const char *[]){"A"}, (const fr_tensor *[]){&a}, 1, 1, &out),
        FR_ERANGE);
    assert_string_equal(fr_error_message(), "A holds a value that is not finite");
    fr_expr_release(&e);
    assert_int_equal(fr_expr_parse("O[] = 1 / (A[] - A[])", &e), FR_OK);
    assert_int_equal(fr_expr_evaluate_exact(&e, NULL, NULL, 0, 1, &out), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "division by 0"));
    fr_expr_release(&e);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_matrix_product_equals_three_loops),
    cmocka_unit_test(inputs_of_any_dtype_and_stride_are_read_by_value),
    cmocka_unit_test(a_convolution_with_padding_stride_and_dilation_equals_the_loops),
    cmocka_unit_test(a_transposed_convolution_equals_its_scatter),
    cmocka_unit_test(a_max_pool_takes_the_greatest),
    cmocka_unit_test(functions_and_operators_are_those_of_the_c_library),
    cmocka_unit_test(scopes_shift_pad_and_nest),
    cmocka_unit_test(divisions_of_negative_indices_round_down),
    cmocka_unit_test(scalars_and_empty_ranges_evaluate),
    cmocka_unit_test(wrong_inputs_are_named),
    cmocka_unit_test(field_operations_equal_remainders),
    cmocka_unit_test(equal_expressions_have_equal_residues_and_others_do_not),
    cmocka_unit_test(no_residue_is_the_least_for_every_seed),
    cmocka_unit_test(exact_arithmetic_refuses_what_it_cannot_do),
};
FR_TEST_MAIN(tests)
