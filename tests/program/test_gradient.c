/*
 * test_gradient.c: reverse-mode differentiation of whole programs. Oracle: central differences in
 * f64.
 */
#include "test_main.h"

#include <frugal/program.h>
#include <math.h>

#include "base/alloc.h"
#include "program/program_body.h"
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

/* ---- small programs over one vector ---- */

enum { N = 6 };

typedef struct small {
    fr_program *p;
    fr_value x;
    double data[N];
} small;

static void make_small(small *s)
{
    s->p = fr_program_create();
    s->x = fr_input(s->p, "x", FR_F64, FR_SHAPE(fr_constant(N)));
    for (int i = 0; i < N; i++)
        s->data[i] = i + 1;
}

/* Runs with one value kept and copies it out. */
static void run_small(small *s, fr_value value, double *out, int n)
{
    fr_executor *e;
    const fr_executor_options options = {.keep = &value, .n_keep = 1};
    assert_int_equal(fr_executor_create(s->p, &options, &e), FR_OK);
    assert_int_equal(fr_executor_set(e, s->x, s->data), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_OK);
    memcpy(out, fr_executor_data(e, value), (size_t)n * sizeof *out);
    fr_executor_free(e);
}

static int count_nodes(const fr_program *p, const char *op)
{
    int n = 0;
    for (int i = 0; i < p->n_nodes; i++)
        n += strcmp(p->nodes[i]->op->name, op) == 0;
    return n;
}

static void all_uses_of_a_value_add_up(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    /* f = sum(x^3 + 2x - x), as x x x + (x + x) - x */
    const fr_value cube = fr_mul(s.p, fr_mul(s.p, s.x, s.x), s.x);
    const fr_value y = fr_sub(s.p, fr_add(s.p, cube, fr_add(s.p, s.x, s.x)), s.x);
    const fr_value loss = fr_reduce_sum(s.p, y, NULL, 0, false);
    fr_value grad;
    double got[N];
    assert_int_equal(fr_gradient(s.p, loss, &s.x, 1, &grad), FR_OK);
    run_small(&s, grad, got, N);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 3 * s.data[i] * s.data[i] + 1);
    fr_program_free(s.p);
}

static void a_gradient_of_a_gradient_is_the_second_derivative(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    const fr_value cube = fr_mul(s.p, fr_mul(s.p, s.x, s.x), s.x);
    fr_value first, second;
    double got[N];
    assert_int_equal(fr_gradient(s.p, fr_reduce_sum(s.p, cube, NULL, 0, false), &s.x, 1, &first),
                     FR_OK);
    assert_int_equal(fr_gradient(s.p, fr_reduce_sum(s.p, first, NULL, 0, false), &s.x, 1, &second),
                     FR_OK);
    run_small(&s, second, got, N);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 6 * s.data[i]);
    fr_program_free(s.p);
}

static void any_value_may_be_asked_for(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    const fr_value square = fr_mul(s.p, s.x, s.x), both = fr_scale(s.p, square, 3);
    const fr_value loss = fr_reduce_sum(s.p, both, NULL, 0, false);
    const fr_value unrelated = fr_exp(s.p, s.x),
                   other = fr_input(s.p, "z", FR_F64, FR_SHAPE(fr_constant(2)));
    const fr_value wrt[] = {square, s.x, loss, unrelated, other};
    fr_value grads[5];
    double got[N];
    assert_int_equal(fr_gradient(s.p, loss, wrt, 5, grads), FR_OK);
    run_small(&s, grads[0], got, N);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 3);
    run_small(&s, grads[1], got, N);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 6 * s.data[i]);
    run_small(&s, grads[2], got, 1);
    assert_true(got[0] == 1);
    run_small(&s, grads[3], got, N); /* the loss does not depend on it */
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 0);
    run_small(&s, grads[4], got, 2);
    assert_true(got[0] == 0 && got[1] == 0);
    fr_program_free(s.p);
}

static void what_no_one_asks_for_is_not_computed(void **state)
{
    (void)state;
    const two_layer m = make_two_layer(FR_F32);
    const int before = count_nodes(m.p, "MatMul");
    fr_value grad;
    assert_int_equal(fr_gradient(m.p, m.loss, &m.w[2], 1, &grad), FR_OK);
    assert_int_equal(count_nodes(m.p, "MatMul"), before + 1); /* the last layer's weight alone */
    fr_program_free(m.p);
}

/* A layer reads all rows and, as a slice, its own. */
static void slices_add_into_the_other_gradients(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    const fr_value doubled = fr_scale(s.p, s.x, 2);
    const fr_value head = fr_slice(s.p, doubled, 0, fr_constant(0), fr_constant(2));
    const fr_value tail = fr_slice(s.p, doubled, 0, fr_constant(1), fr_constant(6));
    const fr_value squares = fr_reduce_sum(s.p, fr_mul(s.p, doubled, doubled), NULL, 0, false);
    const fr_value parts = fr_add(s.p, fr_reduce_sum(s.p, head, NULL, 0, false),
                                  fr_reduce_sum(s.p, tail, NULL, 0, false));
    fr_value grad;
    double got[N];
    assert_int_equal(fr_gradient(s.p, fr_add(s.p, squares, parts), &s.x, 1, &grad), FR_OK);
    run_small(&s, grad, got, N);
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 2 * (4 * s.data[i] + (i < 2) + (i >= 1)));
    fr_program_free(s.p);
}

static void rows_of_a_table_have_a_gradient_of_their_own(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    const fr_shape shape = FR_SHAPE(fr_constant(3), fr_constant(2));
    int32_t ids[] = {2, 0, 2};
    fr_tensor view;
    assert_int_equal(fr_tensor_view(FR_I32, 1, (int64_t[]){3}, ids, &view), FR_OK);
    const fr_value table =
        fr_parameter(s.p, "table", FR_F64, FR_SHAPE(fr_constant(4), fr_constant(2)), fr_zeros());
    const fr_value rows = fr_embedding(s.p, table, fr_literal(s.p, &view));
    const fr_value weighted = fr_mul(s.p, rows, fr_reshape(s.p, s.x, shape));
    const fr_value loss = fr_reduce_sum(s.p, weighted, NULL, 0, false);
    fr_value of_rows, of_table;
    double got[8];
    assert_int_equal(fr_gradient_rows(s.p, loss, table, &of_rows), FR_OK);
    assert_int_equal(fr_gradient(s.p, loss, &table, 1, &of_table), FR_OK);
    run_small(&s, of_rows, got, N);
    assert_memory_equal(got, s.data, sizeof s.data);
    run_small(&s, of_table, got, 8);
    const double expected[] = {3, 4, 0, 0, 1 + 5, 2 + 6, 0, 0};
    assert_memory_equal(got, expected, sizeof expected);
    (void)fr_relu(s.p, table); /* a second use */
    assert_int_equal(fr_gradient_rows(s.p, loss, table, &of_rows), FR_EINVAL);
    assert_non_null(strstr(fr_error_message(), "\"table\" has 2 uses"));
    fr_program_free(s.p);
}

static void a_node_without_gradient_is_named(void **state)
{
    (void)state;
    small s;
    make_small(&s);
    const fr_value y = fr_tanh(s.p, s.x), loss = fr_reduce_sum(s.p, y, NULL, 0, false);
    fr_value first, second = 5;
    assert_int_equal(fr_gradient(s.p, loss, &s.x, 1, &first), FR_OK);
    const fr_value again = fr_reduce_sum(s.p, first, NULL, 0, false);
    assert_int_equal(fr_gradient(s.p, again, &s.x, 1, &second), FR_ENOTSUP);
    assert_non_null(strstr(fr_error_message(), "TanhGrad"));
    assert_int_equal(second, FR_NO_VALUE);
    assert_int_equal(fr_program_check(s.p), FR_ENOTSUP); /* sticky like any mistake */
    fr_program_free(s.p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gradient_of_a_two_layer_perceptron_is_the_difference_quotient),
    cmocka_unit_test(all_uses_of_a_value_add_up),
    cmocka_unit_test(a_gradient_of_a_gradient_is_the_second_derivative),
    cmocka_unit_test(any_value_may_be_asked_for),
    cmocka_unit_test(what_no_one_asks_for_is_not_computed),
    cmocka_unit_test(slices_add_into_the_other_gradients),
    cmocka_unit_test(rows_of_a_table_have_a_gradient_of_their_own),
    cmocka_unit_test(a_node_without_gradient_is_named),
};

FR_TEST_MAIN(tests)
