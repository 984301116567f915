/*
 * test_row_wise.c: softmax, losses, norms and dropout over rows. Oracles: the formula in double,
 * written out in loops; the documented order of Philox draws; and for the two f32 versions each
 * other's bits.
 */
#include "kernel/dropout.h"
#include "kernel/loss.h"
#include "kernel/norm.h"
#include "kernel/softmax.h"
#include "kernel/vector_exp.h"
#include "kernel_test.h"

/* ---- exponential ---- */

/* Every 4099th float of the whole range: the error in units of the last place. */
static void the_exponential_is_within_two_units_of_the_last_place(void **state)
{
    (void)state;
    double worst = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
        const float x = fr_float_of_bits((uint32_t)bits), y = fr_exp_f32(x);
        const double exact = exp((double)x);
        if (isnan(x)) {
            assert_true(isnan(y));
        } else if (exact > 3.4028235e38) {
            assert_true(y >= 3.4e38f);
        } else {
            const double unit = exact < 1.17549435e-38 ? 0x1p-149 : ldexp(1, ilogb(exact) - 23);
            const double error = fabs((double)y - exact) / unit;
            worst = error > worst ? error : worst;
        }
    }
    printf("worst error of the exponential: %.2f units\n", worst);
    assert_true(worst <= 2);
    assert_true(fr_exp_f32(0) == 1.0f);
    assert_true(fr_exp_f32(-INFINITY) == 0.0f);
    assert_true(fr_exp_f32(INFINITY) == INFINITY);
}

/* ---- softmax ---- */

static void softmax_loops(const fr_softmax_shape *s, const double *x, double *y)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            const double *from = x + o * s->n * s->inner + i;
            double sum = 0, most = -(double)INFINITY;
            for (int64_t j = 0; j < s->n; j++)
                most = fmax(most, from[j * s->inner]);
            for (int64_t j = 0; j < s->n; j++)
                sum += exp(from[j * s->inner] - most);
            for (int64_t j = 0; j < s->n; j++) {
                const double l = from[j * s->inner] - most - log(sum);
                y[o * s->n * s->inner + j * s->inner + i] = s->log ? l : exp(l);
            }
        }
}

static void softmax_case(int64_t outer, int64_t n, int64_t inner, bool is_log)
{
    fr_softmax_shape shape = {FR_F32, is_log, outer, n, inner};
    const int64_t count = outer * n * inner;
    float *x = test_floats(count), *y = test_block(count, sizeof *y);
    for (int64_t i = 0; i < count; i++)
        x[i] *= 20;
    double *reference = test_block(count, sizeof(double)), *x64 = test_doubles_of(x, count);
    softmax_loops(&shape, x64, reference);
    for (TEST_EACH_ISA(isa)) {
        fr_softmax_run(&shape, x, y);
        test_close_f32(y, reference, count, 8, "softmax");
    }
    fr_cpu_limit_isa(FR_ISA_AVX512);
    double *y64 = test_block(count, sizeof(double));
    shape.dtype = FR_F64;
    fr_softmax_run(&shape, x64, y64);
    test_close_f64(y64, reference, count, 64, "softmax in f64");
    free(x), free(y), free(reference), free(x64), free(y64);
}

static void softmax_of_every_width_equals_the_loops(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 67; n++)
        for (int is_log = 0; is_log < 2; is_log++) {
            softmax_case(3, n, 1, is_log);
            softmax_case(2, n % 9, 1 + n * 2, is_log);
        }
    softmax_case(1, 5000, 1, false);
    softmax_case(300, 47, 1, true);
    softmax_case(0, 5, 1, false);
}

static void a_value_that_is_no_number_spreads_over_its_row_only(void **state)
{
    (void)state;
    float x[6] = {1, NAN, 2, 1, 2, 3}, y[6];
    fr_softmax_run(&(fr_softmax_shape){FR_F32, false, 2, 3, 1}, x, y);
    for (int i = 0; i < 3; i++)
        assert_true(isnan(y[i]) && !isnan(y[3 + i]));
}

/* ---- losses ---- */

static void a_label_outside_the_classes_is_named(void **state)
{
    (void)state;
    const float logits[6] = {0};
    int32_t labels[3] = {1, -1, 2};
    float loss, rows[6];
    double scratch[3];
    fr_cross_entropy_shape shape = {FR_F32, 3, 2, FR_I32, labels, -1};
    assert_int_equal(fr_cross_entropy_run(&shape, logits, &loss, rows, scratch), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "label 2 of row 2"));
    labels[2] = 0;
    assert_int_equal(fr_cross_entropy_run(&shape, logits, &loss, rows, scratch), FR_OK);
    assert_true(fabsf(loss - logf(2)) < 1e-6f);
}

static void nothing_that_counts_gives_a_loss_and_gradient_of_zero(void **state)
{
    (void)state;
    const float logits[4] = {1, 2, 3, 4}, one = 1, targets[4] = {-1, -1, -1, -1};
    const int64_t labels[2] = {7, 7};
    float loss, rows[4], grad[4];
    double scratch[4];
    int64_t count;
    fr_cross_entropy_shape shape = {FR_F32, 2, 2, FR_I64, labels, 7};
    assert_int_equal(fr_cross_entropy_run(&shape, logits, &loss, rows, scratch), FR_OK);
    assert_true(loss == 0);
    assert_int_equal(fr_cross_entropy_gradient_run(&shape, logits, rows, &one, grad), FR_OK);
    for (int i = 0; i < 4; i++)
        assert_true(grad[i] == 0);
    fr_binary_cross_entropy_run(FR_F32, 4, logits, targets, &loss, &count, scratch);
    assert_true(loss == 0 && count == 0);
    fr_binary_cross_entropy_gradient_run(FR_F32, 4, logits, targets, count, &one, grad);
    for (int i = 0; i < 4; i++)
        assert_true(grad[i] == 0);
}

static void binary_cross_entropy_equals_the_loop(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 9000; n = n * 3 + 1) {
        float *x = test_floats(n), *t = test_floats(n), loss;
        double *scratch = test_block(fr_binary_cross_entropy_scratch(n), sizeof *scratch);
        double sum = 0;
        int64_t count = 0, counted;
        for (int64_t i = 0; i < n; i++) {
            x[i] *= 30;
            if (t[i] >= 0) {
                const double logit = (double)x[i];
                sum += fmax(logit, 0) - logit * (double)t[i] + log1p(exp(-fabs(logit)));
                count++;
            }
        }
        const double reference = count ? sum / (double)count : 0;
        fr_binary_cross_entropy_run(FR_F32, n, x, t, &loss, &counted, scratch);
        assert_int_equal(counted, count);
        test_close_f32(&loss, &reference, 1, 4, "binary cross-entropy");
        free(x), free(t), free(scratch);
    }
}

/* ---- norms ---- */

/* x = 1, 2, 3, 4: mean 2.5, variance 1.25 over n and 5/3 over n - 1. */
static void batch_norm_moves_its_states_by_the_unbiased_variance(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 4}, scale = 2, bias = 1;
    float running_mean = 1, running_variance = 1, y[4], mean, inverse;
    void *scratch = test_block(1, fr_batch_norm_scratch(1));
    fr_batch_norm_shape norm = {FR_F32, true, 4, 1, 1, 0, 0.1};
    const fr_batch_norm_forward at = {x, &scale, &bias,    &running_mean, &running_variance,
                                      y, &mean,  &inverse, scratch};
    fr_batch_norm_run(&norm, &at);
    assert_true(fabsf(running_mean - 1.15f) < 1e-6f);
    assert_true(fabsf(running_variance - (0.9f + 0.1f * 5 / 3)) < 1e-6f);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(y[i] - ((x[i] - 2.5f) / sqrtf(1.25f) * 2 + 1)) < 1e-5f);
    norm.training = false;
    fr_batch_norm_run(&norm, &at);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(y[i] - ((x[i] - running_mean) / sqrtf(running_variance) * 2 + 1)) <
                    1e-5f);
    free(scratch);
}

static void row_norms_of_every_width_equal_the_loops(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 70; d++)
        for (int center = 0; center < 2; center++) {
            enum { ROWS = 3 };
            float *x = test_floats(ROWS * d), *scale = test_floats(d),
                  *y = test_block(ROWS * d, sizeof *y);
            float mean[ROWS], inverse[ROWS];
            double *reference = test_block(ROWS * d, sizeof *reference);
            for (int64_t i = 0; i < ROWS; i++) {
                double m = 0, v = 0;
                for (int64_t j = 0; j < d; j++)
                    m += (double)x[i * d + j] / (double)d;
                m = center ? m : 0;
                for (int64_t j = 0; j < d; j++)
                    v += pow((double)x[i * d + j] - m, 2) / (double)d;
                for (int64_t j = 0; j < d; j++)
                    reference[i * d + j] =
                        ((double)x[i * d + j] - m) / sqrt(v + 0.01) * (double)scale[j];
            }
            const fr_row_norm norm = {FR_F32, center, ROWS, d, 0.01};
            for (TEST_EACH_ISA(isa)) {
                fr_row_norm_run(&norm, x, scale, NULL, y, center ? mean : NULL, inverse);
                test_close_f32(y, reference, ROWS * d, 32, "norm of rows");
            }
            fr_cpu_limit_isa(FR_ISA_AVX512);
            free(x), free(scale), free(y), free(reference);
        }
}

/* ---- dropout ---- */

static void dropout_follows_the_documented_draws(void **state)
{
    (void)state;
    const fr_dropout_mask mask = {
        .seed = 0x123456789abcdef, .stream = 0xfedcba9876543210, .ratio = 0.3};
    for (int64_t n = 0; n < 700; n += 1 + n / 5) {
        float *x = test_floats(n), *y = test_block(n, sizeof *y);
        double *x64 = test_doubles_of(x, n), *y64 = test_block(n, sizeof *y64);
        for (TEST_EACH_ISA(isa)) {
            fr_dropout_run(&mask, FR_F32, n, x, y);
            for (int64_t i = 0; i < n; i++) {
                uint32_t draws[4];
                const int64_t word = i % 128 / 2;
                fr_philox(mask.seed, mask.stream, (uint64_t)(i / 128 * 16 + word % 16), draws);
                const uint32_t half = draws[word / 16] >> (i % 2 * 16) & 0xFFFF;
                const bool kept = half >= (uint32_t)(0.3 * 65536.0);
                assert_true(y[i] == (kept ? x[i] * (float)(1 / 0.7) : 0));
            }
        }
        fr_cpu_limit_isa(FR_ISA_AVX512);
        fr_dropout_run(&mask, FR_F64, n, x64, y64);
        for (int64_t i = 0; i < n; i++)
            assert_true((y64[i] == 0) == (y[i] == 0));
        free(x), free(y), free(x64), free(y64);
    }
}

static void dropout_drops_its_share(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    float *x = test_block(N, sizeof *x);
    for (int64_t i = 0; i < N; i++)
        x[i] = 1;
    fr_dropout_run(&(fr_dropout_mask){.seed = fr_test_seed(), .stream = 1, .ratio = 0.25}, FR_F32, N,
                   x, x);
    double sum = 0;
    for (int64_t i = 0; i < N; i++)
        sum += (double)x[i];
    assert_true(fabs(sum / N - 1) < 0.004); /* 7 deviations */
    free(x);
}

/* ---- versions ---- */

static void both_f32_versions_give_the_same_bits(void **state)
{
    (void)state;
    enum { ROWS = 100, D = 43, N = ROWS * D };
    float *x = test_floats(N), *dy = test_floats(N), *scale = test_floats(D);
    float *out[2];
    int32_t labels[ROWS];
    for (int i = 0; i < ROWS; i++)
        labels[i] = (int32_t)test_below(D);
    for (int v = 0; v < 2; v++) {
        fr_cpu_limit_isa(v ? FR_ISA_AVX2 : FR_ISA_PORTABLE);
        float *at = out[v] = test_block(6 * N, sizeof *at), inverse[ROWS], mean[ROWS],
              rows[2 * ROWS], one = 1;
        double losses[ROWS];
        void *scratch = test_block(1, fr_row_norm_scratch(FR_F32, D));
        memset(at, 0, 6 * N * sizeof *at);
        fr_softmax_run(&(fr_softmax_shape){FR_F32, false, ROWS, D, 1}, x, at);
        fr_softmax_gradient_run(&(fr_softmax_shape){FR_F32, true, ROWS, D, 1}, at, dy, at + N);
        const fr_row_norm norm = {FR_F32, true, ROWS, D, 0.01};
        fr_row_norm_run(&norm, x, scale, scale, at + 2 * N, mean, inverse);
        const fr_row_norm_gradient g = {x,          scale,      mean,           inverse, dy,
                                        at + 3 * N, at + 4 * N, at + 4 * N + D, scratch};
        fr_row_norm_gradient_run(&norm, &g);
        const fr_cross_entropy_shape ce = {FR_F32, ROWS, D, FR_I32, labels, -1};
        assert_int_equal(fr_cross_entropy_run(&ce, x, at + 4 * N + 2 * D, rows, losses), FR_OK);
        assert_int_equal(fr_cross_entropy_gradient_run(&ce, x, rows, &one, at + 5 * N), FR_OK);
        free(scratch);
    }
    fr_cpu_limit_isa(FR_ISA_AVX512);
    assert_memory_equal(out[0], out[1], 6 * N * sizeof(float));
    free(out[0]), free(out[1]), free(x), free(dy), free(scale);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_exponential_is_within_two_units_of_the_last_place),
    cmocka_unit_test(softmax_of_every_width_equals_the_loops),
    cmocka_unit_test(a_value_that_is_no_number_spreads_over_its_row_only),
    cmocka_unit_test(a_label_outside_the_classes_is_named),
    cmocka_unit_test(nothing_that_counts_gives_a_loss_and_gradient_of_zero),
    cmocka_unit_test(binary_cross_entropy_equals_the_loop),
    cmocka_unit_test(batch_norm_moves_its_states_by_the_unbiased_variance),
    cmocka_unit_test(row_norms_of_every_width_equal_the_loops),
    cmocka_unit_test(dropout_follows_the_documented_draws),
    cmocka_unit_test(dropout_drops_its_share),
    cmocka_unit_test(both_f32_versions_give_the_same_bits),
};

FR_TEST_MAIN(tests)
