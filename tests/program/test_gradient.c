/*
 * test_gradient.c: reverse-mode differentiation of whole programs. Oracle: central differences in
 * f64.
 */
#include "test_main.h"

#include <frugal/program.h>
#include <math.h>

#include "base/alloc.h"
#include "two_layer.h"

static double run_loss(fr_executor *e, fr_value loss)
{
    assert_int_equal(fr_executor_run(e), FR_OK);
    return *(double *)fr_executor_data(e, loss);
}

/* Central differences of the loss by each element of `at`. */
static void check_by_differences(fr_executor *e, fr_value loss, double *at, const double *grad,
                                 int64_t n, const char *name)
{
    const double step = 1e-6;
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double before = at[i];
        at[i] = before + step;
        const double above = run_loss(e, loss);
        at[i] = before - step;
        const double below = run_loss(e, loss);
        at[i] = before;
        const double difference =
            fabs((above - below) / (2 * step) - grad[i]) / (1 + fabs(grad[i]));
        worst = difference > worst ? difference : worst;
    }
    printf("  %s: worst difference %.2e\n", name, worst);
    assert_true(worst < 1e-7);
}

static void gradient_of_a_two_layer_perceptron_is_the_difference_quotient(void **state)
{
    (void)state;
    enum { ROWS = 6 };
    static const char *const names[] = {"w1", "b1", "w2"};
    static const int64_t counts[] = {IN_WIDTH * HIDDEN, HIDDEN, HIDDEN * OUT_WIDTH};
    const two_layer m = make_two_layer(FR_F64);
    double x[ROWS * IN_WIDTH], t[ROWS * OUT_WIDTH], grad[IN_WIDTH * HIDDEN];
    fill_random(x, ROWS * IN_WIDTH, fr_test_seed());
    fill_random(t, ROWS * OUT_WIDTH, fr_test_seed() + 1);
    fr_executor *e;
    assert_int_equal(
        fr_executor_create(m.p, &(fr_executor_options){.training = true, .seed = 3}, &e), FR_OK);
    assert_int_equal(fr_executor_bind(e, m.rows, ROWS), FR_OK);
    assert_int_equal(fr_executor_set(e, m.x, x), FR_OK);
    assert_int_equal(fr_executor_set(e, m.t, t), FR_OK);
    for (int i = 0; i < 3; i++) {
        (void)run_loss(e, m.loss);
        memcpy(grad, fr_executor_data(e, m.dw[i]), (size_t)counts[i] * sizeof *grad);
        check_by_differences(e, m.loss, fr_executor_data(e, m.w[i]), grad, counts[i], names[i]);
    }
    (void)run_loss(e, m.loss);
    memcpy(grad, fr_executor_data(e, m.dx), sizeof x);
    check_by_differences(e, m.loss, x, grad, ROWS * IN_WIDTH, "x");
    fr_executor_free(e);
    fr_program_free(m.p);
    assert_int_equal(fr_live_blocks(), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gradient_of_a_two_layer_perceptron_is_the_difference_quotient),
};

FR_TEST_MAIN(tests)
