/*
 * test_elementwise.c: functions of one number against libm in double, special values, broadcasting
 * and copies against index arithmetic, the same bits for any number of threads and instruction set.
 */
#include "test_main.h"

#include <math.h>

#include "base/parallel.h"
#include "base/random.h"
#include "kernel/cpu.h"
#include "kernel/elementwise.h"

/* ---- functions of one number ---- */

static double ref_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double ref_relu(double x) { return x > 0 ? x : 0; }
static double ref_elu(double x) { return x > 0 ? x : expm1(x); }
static double ref_gelu(double x) { return 0.5 * x * erfc(-x / sqrt(2)); }
static double ref_silu(double x) { return x / (1 + exp(-x)); }
static double ref_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

typedef struct function_row {
    const char *name;
    fr_unary kind;
    double (*reference)(double);
    double low, high; /* where it is measured */
    double units;     /* allowed error in units of the last place of the result */
} function_row;

static const function_row functions[] = {
    {"exp", FR_UNARY_exp, exp, -87, 88, 2},
    {"log", FR_UNARY_log, log, 0, 3e38, 2},
    {"sqrt", FR_UNARY_sqrt, sqrt, 0, 3e38, 0.5},
    {"sigmoid", FR_UNARY_sigmoid, ref_sigmoid, -80, 80, 4},
    {"tanh", FR_UNARY_tanh, tanh, -20, 20, 2.5},
    {"relu", FR_UNARY_relu, ref_relu, -3, 3, 0},
    {"elu", FR_UNARY_elu, ref_elu, -80, 20, 2.5},
    {"silu", FR_UNARY_silu, ref_silu, -80, 80, 4},
    {"softplus", FR_UNARY_softplus, ref_softplus, -80, 80, 4},
    {"gelu", FR_UNARY_gelu, ref_gelu, -3, 20, 10},
};

enum { N_POINTS = 1 << 20 };

/* Random floats of [low, high]: half uniform, half uniform in bits, so that small ones come too. */
static void fill_points(const function_row *f, float *x)
{
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int i = 0; i < N_POINTS; i++) {
        const double u = fr_random_uniform(&random);
        x[i] = (float)(f->low + (f->high - f->low) * u);
        if (i % 2) {
            const double size = exp((u * 2 - 1) * 30);
            const double signed_size = i % 4 == 1 ? size : -size;
            if (signed_size >= f->low && signed_size <= f->high)
                x[i] = (float)signed_size;
        }
    }
}

static double last_place(double y)
{
    int exponent;
    if (y == 0)
        return 0x1p-149;
    (void)frexp(y, &exponent);
    return ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

static void functions_stay_within_units_of_the_last_place(void **state)
{
    (void)state;
    static float x[N_POINTS], y[N_POINTS];
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        fill_points(&functions[f], x);
        fr_unary_run(functions[f].kind, 1, FR_F32, N_POINTS, x, y);
        double worst = 0, at = 0;
        for (int i = 0; i < N_POINTS; i++) {
            const double exact = functions[f].reference((double)x[i]);
            const double units = fabs((double)y[i] - exact) / last_place(exact);
            if (units > worst) {
                worst = units;
                at = (double)x[i];
            }
        }
        printf("  %-9s worst %.2f units at %g\n", functions[f].name, worst, at);
        assert_true(worst <= functions[f].units + 0.01);
    }
}

static void special_values_come_out_as_in_libm(void **state)
{
    (void)state;
    static const float special[] = {0,       -0.0F, INFINITY, -INFINITY, NAN,   1e-45F,
                                    -1e-45F, 1,     -1,       3e38F,     -3e38F};
    enum { N = sizeof special / sizeof *special };
    float y[N];
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        fr_unary_run(functions[f].kind, 1, FR_F32, N, special, y);
        for (int i = 0; i < N; i++) {
            const float exact = (float)functions[f].reference((double)special[i]);
            if (functions[f].kind == FR_UNARY_relu && isnan(special[i]))
                continue; /* tested below */
            if (functions[f].kind == FR_UNARY_gelu && isinf(special[i]))
                continue; /* infinity times 0 */
            if (functions[f].kind == FR_UNARY_silu && special[i] < -1e30F)
                continue;
            if (isnan(exact) ? !isnan(y[i])
                             : fabsf(y[i] - exact) > 1e-5F * fabsf(exact) && y[i] != exact) {
                printf("%s(%g) is %g, not %g\n", functions[f].name, (double)special[i],
                       (double)y[i], (double)exact);
                fail();
            }
        }
    }
    const float nan = NAN;
    fr_unary_run(FR_UNARY_relu, 0, FR_F32, 1, &nan, y);
    assert_true(isnan(y[0])); /* a mistake upstream stays visible */
}

static void instruction_sets_and_threads_give_the_same_bits(void **state)
{
    (void)state;
    enum { N = 100003 };
    static float x[N], a[N], b[N];
    const fr_isa isa = fr_cpu_isa();
    const int threads = fr_threads();
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        fr_random random = fr_random_start(fr_test_seed(), 2);
        for (int i = 0; i < N; i++)
            x[i] = (float)(3 * fr_random_normal(&random));
        fr_set_threads(1);
        (void)fr_cpu_limit_isa(FR_ISA_PORTABLE);
        fr_unary_run(functions[f].kind, 1, FR_F32, N, x, a);
        fr_set_threads(3);
        (void)fr_cpu_limit_isa(isa);
        fr_unary_run(functions[f].kind, 1, FR_F32, N, x, b);
        fr_set_threads(threads);
        for (int i = 0; i < N; i++) /* NaN of a negative root: any bits */
            if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i]))) {
                printf("%s(%a): %a and %a\n", functions[f].name, (double)x[i], (double)a[i],
                       (double)b[i]);
                fail();
            }
    }
}

static void a_result_may_take_the_memory_of_its_operand(void **state)
{
    (void)state;
    enum { N = 50001 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i / N - 0.5F;
    fr_unary_run(FR_UNARY_tanh, 0, FR_F32, N, x, y);
    fr_unary_run(FR_UNARY_tanh, 0, FR_F32, N, x, x);
    assert_memory_equal(x, y, sizeof x);
    const fr_broadcast shape = {.rank = 1, .size = {N}, .stride = {{1}, {1}}};
    fr_binary_run(FR_BINARY_sub, FR_F32, &shape, x, y, y);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 0);
}

/* ---- broadcasting ---- */

static fr_tensor view_of(int rank, const int64_t *shape, void *data)
{
    fr_tensor view;
    assert_int_equal(fr_tensor_view(FR_F64, rank, shape, data, &view), FR_OK);
    return view;
}

/* Element of `x` under the index of `out`. */
static double element_under(const fr_tensor *x, const fr_tensor *out, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++)
        at += (x->shape[d] == 1 ? 0 : index[d + out->rank - x->rank]) * x->stride[d];
    return ((const double *)x->data)[at];
}

static void broadcast_reads_what_index_arithmetic_reads(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 3);
    static double a[4096], b[4096], sum[4096], copy[4096];
    for (int i = 0; i < 4096; i++) {
        a[i] = fr_random_normal(&random);
        b[i] = fr_random_normal(&random);
    }
    for (int round = 0; round < 500; round++) {
        int64_t shape[4], shape_a[4], shape_b[4];
        const int rank = (int)fr_random_below(&random, 5);
        for (int d = 0; d < rank; d++) {
            shape[d] = (int64_t)fr_random_below(&random, 8);
            shape_a[d] = fr_random_below(&random, 3) == 0 ? 1 : shape[d];
            shape_b[d] = shape_a[d] == 1 || fr_random_below(&random, 3) != 0 ? shape[d] : 1;
        }
        const int skip = rank == 0 || shape_b[0] != shape[0] ? 0 : (int)fr_random_below(&random, 2);
        const fr_tensor out = view_of(rank, shape, sum),
                        ta = view_of(rank - skip, shape_a + skip, a);
        const fr_tensor tb = view_of(rank, shape_b, b), *operands[] = {&ta, &tb};
        const fr_broadcast both = fr_broadcast_of(&out, operands, 2),
                           one = fr_broadcast_of(&out, operands, 1);
        fr_binary_run(FR_BINARY_sub, FR_F64, &both, a, b, sum);
        fr_expand_run(8, &one, a, copy);
        for (int64_t i = 0; i < fr_tensor_count(&out); i++) {
            int64_t index[4] = {0}, rest = i;
            for (int d = rank - 1; d >= 0; d--) {
                index[d] = rest % shape[d];
                rest /= shape[d];
            }
            const double x = element_under(&ta, &out, index), y = element_under(&tb, &out, index);
            assert_true(sum[i] == x - y);
            assert_true(copy[i] == x);
        }
    }
}

static void long_rows_are_cut_without_a_gap(void **state)
{
    (void)state;
    enum { ROWS = 3, N = 16384 * 2 + 5 };
    static double a[N], out[ROWS * N];
    for (int i = 0; i < N; i++)
        a[i] = i;
    double column[ROWS] = {1, 2, 3};
    const fr_tensor to = view_of(2, (int64_t[]){ROWS, N}, out), row = view_of(1, (int64_t[]){N}, a);
    const fr_tensor col = view_of(2, (int64_t[]){ROWS, 1}, column), *operands[] = {&row, &col};
    const fr_broadcast shape = fr_broadcast_of(&to, operands, 2);
    fr_binary_run(FR_BINARY_mul, FR_F64, &shape, a, column, out);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++)
            assert_true(out[r * N + i] == (r + 1.0) * i);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(functions_stay_within_units_of_the_last_place),
    cmocka_unit_test(special_values_come_out_as_in_libm),
    cmocka_unit_test(instruction_sets_and_threads_give_the_same_bits),
    cmocka_unit_test(a_result_may_take_the_memory_of_its_operand),
    cmocka_unit_test(broadcast_reads_what_index_arithmetic_reads),
    cmocka_unit_test(long_rows_are_cut_without_a_gap),
};

FR_TEST_MAIN(tests)
