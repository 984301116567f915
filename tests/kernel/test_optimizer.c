/*
 * test_optimizer.c: update steps against the formulas of the papers in double, element by element;
 * the same bits for every instruction set and thread count.
 */
#include "kernel/optimizer.h"
#include "kernel_test.h"

typedef struct state_of {
    float *parameter, *grad, *first, *second;
    int64_t n;
} state_of;

static state_of make_state(int64_t n)
{
    state_of s = {test_floats(n), test_floats(n), test_floats(n), test_floats(n), n};
    for (int64_t i = 0; i < n; i++)
        s.second[i] = fabsf(s.second[i]);
    return s;
}

static state_of copy_state(const state_of *s)
{
    state_of c = make_state(s->n);
    const size_t bytes = (size_t)s->n * sizeof(float);
    memcpy(c.parameter, s->parameter, bytes);
    memcpy(c.grad, s->grad, bytes);
    memcpy(c.first, s->first, bytes);
    memcpy(c.second, s->second, bytes);
    return c;
}

static void drop_state(state_of *s)
{
    free(s->parameter);
    free(s->grad);
    free(s->first);
    free(s->second);
}

static void close_to(float value, double reference)
{
    if (!(fabs((double)value - reference) <= 2e-6 * (1.0 + fabs(reference))))
        fail_msg("%.9g instead of %.9g", (double)value, reference);
}

/* One element of Adam as in the paper; second in, out: v. */
static void slow_adam(const fr_adam_step *a, double grad, double *p, double *m, double *v)
{
    const double b1 = (double)a->beta1, b2 = (double)a->beta2, lr = (double)a->learning_rate;
    const double decay = (double)a->weight_decay;
    const double g = grad * (double)a->grad_scale + (a->decoupled ? 0.0 : decay * *p);
    *p -= a->decoupled ? lr * decay * *p : 0.0;
    *m = b1 * *m + (1 - b1) * g;
    *v = b2 * *v + (1 - b2) * g * g;
    const double m_hat = *m / (1 - pow(b1, (double)a->step));
    const double v_hat = *v / (1 - pow(b2, (double)a->step));
    *p -= lr * m_hat / (sqrt(v_hat) + (double)a->epsilon);
}

static fr_adam_step some_step(int i)
{
    return (fr_adam_step){.learning_rate = 0.01F,
                          .beta1 = 0.9F,
                          .beta2 = 0.999F,
                          .epsilon = 1e-8F,
                          .weight_decay = i % 3 == 0 ? 0.0F : 0.1F,
                          .decoupled = i % 2,
                          .step = 1 + i * i,
                          .grad_scale = i % 4 == 3 ? 0.25F : 1.0F};
}

static void check_adam(int64_t n, int i)
{
    const fr_adam_step step = some_step(i);
    state_of start = make_state(n), one = copy_state(&start);
    fr_cpu_limit_isa(FR_ISA_PORTABLE);
    fr_set_threads(1);
    fr_adam_run(&step, n, one.parameter, one.grad, one.first, one.second);
    for (int64_t j = 0; j < n; j++) {
        double p = (double)start.parameter[j], m = (double)start.first[j],
               v = (double)start.second[j];
        slow_adam(&step, (double)start.grad[j], &p, &m, &v);
        close_to(one.parameter[j], p);
        close_to(one.first[j], m);
        close_to(one.second[j], v);
    }
    fr_set_threads(2);
    for (TEST_EACH_ISA(isa)) {
        state_of again = copy_state(&start);
        fr_adam_run(&step, n, again.parameter, again.grad, again.first, again.second);
        assert_memory_equal(again.parameter, one.parameter, (size_t)n * sizeof(float));
        assert_memory_equal(again.first, one.first, (size_t)n * sizeof(float));
        assert_memory_equal(again.second, one.second, (size_t)n * sizeof(float));
        drop_state(&again);
    }
    drop_state(&start);
    drop_state(&one);
}

static void adam_follows_the_paper(void **state)
{
    (void)state;
    const int64_t sizes[] = {0, 1, 7, 15, 16, 17, 1000, 50001};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            check_adam(sizes[i], j);
}

static void check_adam_rows(int64_t width, bool per_row)
{
    enum { TABLE = 40, ROWS = 13 };
    const fr_adam_step step = some_step((int)width);
    state_of start = make_state(TABLE * width), s = copy_state(&start);
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; i++)
        rows[i] = (i * 3 + 1) % TABLE;
    float *second = test_floats(TABLE * (per_row ? 1 : width)), *grad = test_floats(ROWS * width);
    for (int64_t i = 0; i < TABLE * (per_row ? 1 : width); i++)
        second[i] = fabsf(second[i]);
    double *old_second = test_doubles_of(second, TABLE * (per_row ? 1 : width));
    fr_adam_rows_run(&step, rows, ROWS, width, s.parameter, grad, s.first, second, per_row);
    for (int i = 0; i < ROWS; i++) {
        double squares = 0;
        for (int64_t j = 0; j < width; j++) {
            const double p = (double)start.parameter[rows[i] * width + j];
            const double g = (double)grad[i * width + j] * (double)step.grad_scale +
                             (step.decoupled ? 0.0 : (double)step.weight_decay * p);
            squares += g * g;
        }
        for (int64_t j = 0; j < width; j++) {
            const int64_t at = rows[i] * width + j;
            double p = (double)start.parameter[at], m = (double)start.first[at];
            double v = old_second[per_row ? rows[i] : at];
            const double p0 = p;
            slow_adam(&step, (double)grad[i * width + j], &p, &m, &v);
            if (per_row) { /* the update again, with the row's mean square as v */
                v = (double)step.beta2 * old_second[rows[i]] +
                    (1 - (double)step.beta2) * squares / (double)width;
                p = p0 * (step.decoupled
                              ? 1 - (double)step.learning_rate * (double)step.weight_decay
                              : 1) -
                    (double)step.learning_rate * m /
                        (1 - pow((double)step.beta1, (double)step.step)) /
                        (sqrt(v / (1 - pow((double)step.beta2, (double)step.step))) +
                         (double)step.epsilon);
            }
            close_to(s.parameter[at], p);
            close_to(s.first[at], m);
            close_to(second[per_row ? rows[i] : at], v);
        }
    }
    for (int64_t i = 0; i < TABLE; i++) {
        bool named = false;
        for (int r = 0; r < ROWS; r++)
            named = named || rows[r] == i;
        if (!named)
            assert_memory_equal(s.parameter + i * width, start.parameter + i * width,
                                (size_t)width * sizeof(float));
    }
    drop_state(&start);
    drop_state(&s);
    free(second);
    free(grad);
    free(old_second);
}

static void adam_of_rows_touches_only_the_rows_named(void **state)
{
    (void)state;
    const int64_t widths[] = {1, 5, 16, 33, 64};
    for (int i = 0; i < 5; i++) {
        check_adam_rows(widths[i], false);
        check_adam_rows(widths[i], true);
    }
}

static void sgd_follows_its_formula(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const float momentum = i % 2 == 0 ? 0.0F : 0.9F, decay = i / 2 == 0 ? 0.0F : 0.01F;
        state_of start = make_state(40001);
        for (TEST_EACH_ISA(isa))
            for (int threads = 1; threads <= 2; threads++) {
                state_of s = copy_state(&start);
                fr_set_threads(threads);
                fr_sgd_run(0.1F, momentum, decay, 0.5F, s.n, s.parameter, s.grad,
                           i % 2 == 0 ? NULL : s.first);
                for (int64_t j = 0; j < s.n; j++) {
                    double p = (double)start.parameter[j];
                    const double v = (i % 2 == 0 ? 0.0 : 0.9 * (double)start.first[j]) +
                                     0.5 * (double)start.grad[j] + (double)decay * p;
                    close_to(s.parameter[j], p - 0.1 * v);
                }
                drop_state(&s);
            }
        drop_state(&start);
    }
}

static void the_sum_of_squares_is_the_same_on_any_machine(void **state)
{
    (void)state;
    const int64_t sizes[] = {0, 1, 15, 16, 17, 16383, 16384, 16385, 300001};
    for (int i = 0; i < 9; i++) {
        float *values = test_floats(sizes[i]);
        double reference = 0, first = 0;
        for (int64_t j = 0; j < sizes[i]; j++)
            reference += (double)values[j] * (double)values[j];
        for (TEST_EACH_ISA(isa))
            for (int threads = 1; threads <= 2; threads++) {
                fr_set_threads(threads);
                const double sum = fr_sum_of_squares(values, sizes[i]);
                assert_true(fabs(sum - reference) <= 1e-12 * (1 + reference));
                assert_true(isa + threads == 1 || sum == first);
                first = sum;
            }
        free(values);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(adam_follows_the_paper),
    cmocka_unit_test(adam_of_rows_touches_only_the_rows_named),
    cmocka_unit_test(sgd_follows_its_formula),
    cmocka_unit_test(the_sum_of_squares_is_the_same_on_any_machine),
};
FR_TEST_MAIN(tests)
