/*
 * test_executor.c: binding sizes, giving and taking memory, running. Oracle: the perceptron written
 * out as loops in double.
 */
#include "test_main.h"

#include <frugal/program.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "program/executor_body.h"
#include "two_layer.h"

enum { MOST_ROWS = 64 };

typedef struct rig {
    two_layer m;
    fr_executor *e;
    double x[MOST_ROWS * IN_WIDTH], t[MOST_ROWS * OUT_WIDTH];
} rig;

static void set_up(rig *r)
{
    r->m = make_two_layer(FR_F64);
    fill_random(r->x, MOST_ROWS * IN_WIDTH, fr_test_seed());
    fill_random(r->t, MOST_ROWS * OUT_WIDTH, fr_test_seed() + 1);
    assert_int_equal(
        fr_executor_create(r->m.p, &(fr_executor_options){.training = true, .seed = 5}, &r->e),
        FR_OK);
    assert_int_equal(fr_executor_set(r->e, r->m.x, r->x), FR_OK);
    assert_int_equal(fr_executor_set(r->e, r->m.t, r->t), FR_OK);
}

static void tear_down(rig *r)
{
    fr_executor_free(r->e);
    fr_program_free(r->m.p);
}

/* The loss as loops. */
static double loss_by_loops(rig *r, int64_t rows)
{
    const double *w1 = fr_executor_data(r->e, r->m.w[0]), *b1 = fr_executor_data(r->e, r->m.w[1]);
    const double *w2 = fr_executor_data(r->e, r->m.w[2]);
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        double hidden[HIDDEN];
        for (int h = 0; h < HIDDEN; h++) {
            hidden[h] = b1[h];
            for (int k = 0; k < IN_WIDTH; k++)
                hidden[h] += r->x[i * IN_WIDTH + k] * w1[k * HIDDEN + h];
            hidden[h] = hidden[h] > 0 ? hidden[h] : 0;
        }
        for (int c = 0; c < OUT_WIDTH; c++) {
            double y = -r->t[i * OUT_WIDTH + c];
            for (int h = 0; h < HIDDEN; h++)
                y += hidden[h] * w2[h * OUT_WIDTH + c];
            sum += y * y;
        }
    }
    return rows == 0 ? 0 : sum / (double)(rows * OUT_WIDTH);
}

static void run_rows(rig *r, int64_t rows)
{
    assert_int_equal(fr_executor_bind(r->e, r->m.rows, rows), FR_OK);
    assert_int_equal(fr_executor_run(r->e), FR_OK);
    const double loss = *(double *)fr_executor_data(r->e, r->m.loss),
                 expected = loss_by_loops(r, rows);
    assert_true(fabs(loss - expected) < 1e-12 * (1 + expected));
}

static void any_size_gives_what_loops_give(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    for (int64_t rows = 0; rows <= MOST_ROWS; rows += rows < 4 ? 1 : 13)
        run_rows(&r, rows);
    run_rows(&r, 0);
    const double *dw = fr_executor_data(r.e, r.m.dw[0]);
    for (int i = 0; i < IN_WIDTH * HIDDEN; i++)
        assert_true(dw[i] == 0); /* of no rows */
    tear_down(&r);
}

static void sizes_within_capacity_plan_nothing_and_allocate_nothing(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    run_rows(&r, 40);
    const int64_t allocations = fr_alloc_count(), plans = fr_executor_get_stats(r.e).n_plans;
    assert_int_equal(plans, 1);
    for (int64_t rows = 0; rows <= 40; rows++)
        run_rows(&r, rows);
    assert_int_equal(fr_alloc_count(), allocations);
    assert_int_equal(fr_executor_get_stats(r.e).n_plans, plans);
    assert_int_equal(fr_executor_get_stats(r.e).n_runs, 42);
    tear_down(&r);
}

static void capacity_grows_with_slack_and_by_reserve(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    run_rows(&r, 40);
    run_rows(&r, 41); /* room for 50 from here on */
    assert_int_equal(fr_executor_get_stats(r.e).n_plans, 2);
    run_rows(&r, 50);
    assert_int_equal(fr_executor_get_stats(r.e).n_plans, 2);
    assert_int_equal(fr_executor_reserve(r.e, r.m.rows, 64), FR_OK);
    run_rows(&r, 3);
    assert_int_equal(fr_executor_get_stats(r.e).n_plans, 3);
    run_rows(&r, 64);
    assert_int_equal(fr_executor_get_stats(r.e).n_plans, 3);
    const fr_executor_stats stats = fr_executor_get_stats(r.e);
    assert_true(stats.planned_peak_bytes < stats.sum_bytes);
    assert_int_equal(stats.parameter_bytes, 8 * (IN_WIDTH * HIDDEN + HIDDEN + HIDDEN * OUT_WIDTH));
    tear_down(&r);
}

static void shapes_and_sizes_can_be_asked_for(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    run_rows(&r, 7);
    fr_tensor view;
    assert_int_equal(fr_executor_shape(r.e, r.m.dx, &view), FR_OK);
    assert_int_equal(view.rank, 2);
    assert_int_equal(view.shape[0], 7);
    assert_int_equal(view.shape[1], IN_WIDTH);
    assert_ptr_equal(view.data, fr_executor_data(r.e, r.m.dx));
    assert_int_equal(fr_executor_size(r.e, r.m.rows), 7);
    assert_int_equal(fr_executor_size(r.e, fr_constant(3)), 3);
    assert_null(fr_executor_data(r.e, r.m.hidden)); /* not kept */
    assert_null(fr_executor_data(r.e, -5));
    assert_ptr_equal(fr_executor_data(r.e, r.m.x), r.x);
    assert_int_equal(fr_executor_shape(r.e, 9999, &view), FR_EINVAL);
    tear_down(&r);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    assert_int_equal(fr_executor_run(r.e), FR_EINVAL);
    assert_non_null(strstr(fr_error_message(), "symbol n is not bound"));
    assert_int_equal(fr_executor_bind(r.e, r.m.rows, 2), FR_OK);
    assert_int_equal(fr_executor_set(r.e, r.m.t, NULL), FR_OK);
    assert_int_equal(fr_executor_run(r.e), FR_EINVAL);
    assert_non_null(strstr(fr_error_message(), "input \"t\" is not set"));
    assert_int_equal(fr_executor_set(r.e, r.m.loss, r.t), FR_EINVAL);
    assert_int_equal(fr_executor_set(r.e, r.m.t, r.t), FR_OK);
    run_rows(&r, 2);
    tear_down(&r);
}

static void an_input_without_elements_needs_no_memory(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    assert_int_equal(fr_executor_set(r.e, r.m.x, NULL), FR_OK);
    assert_int_equal(fr_executor_set(r.e, r.m.t, NULL), FR_OK);
    run_rows(&r, 0);
    assert_non_null(fr_executor_data(r.e, r.m.dx));
    tear_down(&r);
}

static void sizes_that_disagree_at_run_time_are_named(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim n = fr_symbol(p, "n"), m = fr_symbol(p, "m");
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(n));
    const fr_value y = fr_reshape(p, x, FR_SHAPE(fr_dim_divide(p, n, 4), fr_constant(4)));
    const fr_value part = fr_slice(p, x, 0, m, n), head = fr_slice(p, x, 0, fr_constant(0), m);
    fr_output(p, "y", y);
    fr_output(p, "part", part);
    fr_output(p, "head", head);
    float data[16];
    for (int i = 0; i < 16; i++)
        data[i] = (float)i;
    fr_executor *e;
    assert_int_equal(fr_executor_create(p, NULL, &e), FR_OK);
    assert_int_equal(fr_executor_set(e, x, data), FR_OK);
    assert_int_equal(fr_executor_bind(e, m, 3), FR_OK);
    assert_int_equal(fr_executor_bind(e, n, 13), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_ESHAPE);
    assert_non_null(strstr(fr_error_message(), "Reshape %1"));
    assert_int_equal(fr_executor_bind(e, n, 16), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_OK);
    assert_true(((float *)fr_executor_data(e, part))[0] == 3);
    assert_true(((float *)fr_executor_data(e, head))[2] == 2);
    assert_int_equal(fr_executor_bind(e, m, 17), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_ESHAPE); /* n - m is negative */
    assert_non_null(strstr(fr_error_message(), "-1"));
    assert_int_equal(fr_executor_bind(e, m, 16), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_OK);
    fr_executor_free(e);
    fr_program_free(p);
}

static void a_failure_of_a_kernel_names_the_node(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(fr_constant(3), fr_constant(2)));
    const fr_value ids = fr_input(p, "ids", FR_I32, FR_SHAPE(fr_constant(2)));
    const fr_value y = fr_gather(p, x, ids, 0);
    fr_output(p, "y", y);
    float data[6] = {0, 1, 2, 3, 4, 5};
    int32_t numbers[] = {1, 3};
    fr_executor *e;
    assert_int_equal(fr_executor_create(p, NULL, &e), FR_OK);
    assert_int_equal(fr_executor_set(e, x, data), FR_OK);
    assert_int_equal(fr_executor_set(e, ids, numbers), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "Gather %2"));
    numbers[1] = 2;
    assert_int_equal(fr_executor_run(e), FR_OK);
    assert_true(((float *)fr_executor_data(e, y))[3] == 5);
    fr_executor_free(e);
    fr_program_free(p);
}

/* ---- parameters ---- */

static void parameters_start_by_seed_and_name_alone(void **state)
{
    (void)state;
    enum { N = 2000 };
    double mean = 0, largest = 0;
    float first[N];
    for (int round = 0; round < 2; round++) {
        fr_program *p = fr_program_create();
        if (round == 1) /* another parameter before it changes nothing */
            (void)fr_parameter(p, "other", FR_F32, FR_SHAPE(fr_constant(7)), fr_normal(0, 1));
        const fr_value w =
            fr_parameter(p, "w", FR_F32, FR_SHAPE(fr_constant(20), fr_constant(100)), fr_glorot());
        const fr_value c = fr_parameter(p, "c", FR_F64, FR_SHAPE(fr_constant(2)), fr_fill(1.5));
        const fr_value s = fr_state(p, "s", FR_I32, FR_SHAPE(fr_constant(2)), fr_fill(7));
        fr_executor *e;
        assert_int_equal(fr_executor_create(p, &(fr_executor_options){.seed = 9}, &e), FR_OK);
        const float *data = fr_executor_data(e, w);
        if (round == 0)
            memcpy(first, data, sizeof first);
        assert_memory_equal(first, data, sizeof first);
        assert_true(((double *)fr_executor_data(e, c))[1] == 1.5);
        assert_int_equal(((int32_t *)fr_executor_data(e, s))[1], 7);
        fr_executor_free(e);
        fr_program_free(p);
    }
    for (int i = 0; i < N; i++) {
        mean += (double)first[i] / N;
        largest = fabs((double)first[i]) > largest ? fabs((double)first[i]) : largest;
    }
    const double limit = sqrt(6.0 / 120);
    assert_true(largest <= limit && largest > 0.99 * limit && fabs(mean) < 0.02);
}

static void executors_share_parameters_by_name(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    fr_executor *e;
    assert_int_equal(
        fr_executor_create(r.m.p, &(fr_executor_options){.share = r.e, .seed = 99}, &e), FR_OK);
    assert_ptr_equal(fr_executor_data(e, r.m.w[0]), fr_executor_data(r.e, r.m.w[0]));
    assert_int_equal(fr_executor_get_stats(e).parameter_bytes, 0);
    fr_executor_free(e);
    run_rows(&r, 3); /* what was shared is still there */

    fr_program *p = fr_program_create();
    (void)fr_parameter(p, "w1", FR_F64, FR_SHAPE(fr_constant(2)), fr_zeros());
    assert_int_equal(fr_executor_create(p, &(fr_executor_options){.share = r.e}, &e), FR_ESHAPE);
    assert_null(e);
    assert_non_null(
        strstr(fr_error_message(), "parameter \"w1\" is f64 2, in the one to share with f64 5x7"));
    fr_program_free(p);
    p = fr_program_create();
    (void)fr_state(p, "w1", FR_F64, FR_SHAPE(fr_constant(2)), fr_zeros());
    assert_int_equal(fr_executor_create(p, &(fr_executor_options){.share = r.e}, &e), FR_ENOENT);
    fr_program_free(p);
    tear_down(&r);
}

/* ---- training, threads, outputs that are something else's memory ---- */

static void dropout_is_the_identity_outside_training(void **state)
{
    (void)state;
    enum { N = 1000 };
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = 1;
    fr_program *p = fr_program_create();
    const fr_value in = fr_input(p, "x", FR_F32, FR_SHAPE(fr_constant(N)));
    const fr_value y = fr_dropout(p, in, 0.5);
    fr_output(p, "y", y);
    for (int training = 0; training < 2; training++) {
        fr_executor *e;
        float first[N];
        assert_int_equal(
            fr_executor_create(p, &(fr_executor_options){.training = training, .seed = 4}, &e),
            FR_OK);
        assert_int_equal(fr_executor_set(e, in, x), FR_OK);
        fr_executor_set_step(e, 1);
        assert_int_equal(fr_executor_run(e), FR_OK);
        memcpy(first, fr_executor_data(e, y), sizeof first);
        int zeros = 0;
        for (int i = 0; i < N; i++)
            zeros += first[i] == 0;
        assert_true(training ? zeros > 400 && zeros < 600 : zeros == 0);
        fr_executor_set_step(e, 2);
        assert_int_equal(fr_executor_run(e), FR_OK);
        assert_int_equal(memcmp(first, fr_executor_data(e, y), sizeof first) != 0, training);
        fr_executor_set_step(e, 1);
        assert_int_equal(fr_executor_run(e), FR_OK);
        assert_memory_equal(first, fr_executor_data(e, y), sizeof first);
        fr_executor_free(e);
    }
    fr_program_free(p);
}

static void outputs_may_be_inputs_parameters_views_or_literals(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    double data[6] = {1, 2, 3, 4, 5, 6};
    const fr_value x = fr_input(p, "x", FR_F64, FR_SHAPE(fr_constant(2), fr_constant(3)));
    const fr_value w = fr_parameter(p, "w", FR_F64, FR_SHAPE(fr_constant(2)), fr_fill(3));
    const fr_value view = fr_reshape(p, x, FR_SHAPE(fr_constant(6)));
    const fr_value literal = fr_literal_scalar(p, FR_F64, 8);
    const fr_value sum = fr_add(p, view, literal),
                   sum_view = fr_reshape(p, sum, FR_SHAPE(fr_constant(3), fr_constant(2)));
    fr_output(p, "same", x);
    fr_output(p, "weights", w);
    fr_output(p, "view", view);
    fr_output(p, "literal", literal);
    fr_output(p, "sum", sum_view);
    fr_executor *e;
    assert_int_equal(fr_executor_create(p, NULL, &e), FR_OK);
    assert_int_equal(fr_executor_get_stats(e).n_plans, 1); /* without symbols at once */
    assert_int_equal(fr_executor_set(e, x, data), FR_OK);
    assert_int_equal(fr_executor_run(e), FR_OK);
    assert_ptr_equal(fr_executor_data(e, x), data);
    assert_ptr_equal(fr_executor_data(e, view), data);
    assert_true(*(double *)fr_executor_data(e, w) == 3);
    assert_true(*(double *)fr_executor_data(e, literal) == 8);
    assert_true(((double *)fr_executor_data(e, sum_view))[5] == 14);
    assert_true(data[5] == 6); /* the caller's memory is never written */
    fr_executor_free(e);
    fr_program_free(p);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    enum { N = 3000, K = 130 };
    fr_program *p = fr_program_create();
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(fr_constant(N), fr_constant(K)));
    const fr_value w =
        fr_parameter(p, "w", FR_F32, FR_SHAPE(fr_constant(K), fr_constant(K)), fr_glorot());
    const fr_value b = fr_parameter(p, "b", FR_F32, FR_SHAPE(fr_constant(K)), fr_normal(0, 1));
    const fr_value loss = fr_reduce_mean(
        p, fr_gelu(p, fr_linear(p, fr_silu(p, fr_linear(p, x, w, b)), w, b)), NULL, 0, false);
    const fr_value wrt[] = {w, b, x};
    fr_value grads[3];
    assert_int_equal(fr_gradient(p, loss, wrt, 3, grads), FR_OK);
    static float data[N * K], first[N * K];
    fr_random random = fr_random_start(fr_test_seed(), 4);
    for (int i = 0; i < N * K; i++)
        data[i] = (float)fr_random_normal(&random);
    const int threads = fr_threads();
    for (int i = 0; i < 3; i++) {
        for (int n = 1; n <= 3; n++) {
            fr_set_threads(n);
            fr_executor *e;
            assert_int_equal(
                fr_executor_create(p, &(fr_executor_options){.keep = grads, .n_keep = 3}, &e),
                FR_OK);
            assert_int_equal(fr_executor_set(e, x, data), FR_OK);
            assert_int_equal(fr_executor_run(e), FR_OK);
            fr_tensor view;
            assert_int_equal(fr_executor_shape(e, grads[i], &view), FR_OK);
            const size_t bytes = (size_t)fr_tensor_count(&view) * sizeof(float);
            if (n == 1)
                memcpy(first, view.data, bytes);
            assert_memory_equal(first, view.data, bytes);
            fr_executor_free(e);
        }
    }
    fr_set_threads(threads);
    fr_program_free(p);
}

/* ---- failing allocations ---- */

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const two_layer m = make_two_layer(FR_F64);
    double x[4 * IN_WIDTH] = {0}, t[4 * OUT_WIDTH] = {0};
    const int64_t live = fr_live_blocks();
    for (int64_t n = 0;; n++) {
        fr_executor *e = (fr_executor *)x;
        fr_alloc_fail_at(n);
        fr_status status = fr_executor_create(m.p, NULL, &e);
        if (status == FR_OK) {
            assert_int_equal(fr_executor_bind(e, m.rows, 4), FR_OK);
            assert_int_equal(fr_executor_set(e, m.x, x), FR_OK);
            assert_int_equal(fr_executor_set(e, m.t, t), FR_OK);
            status = fr_executor_run(e);
            if (status != FR_OK) { /* the arena did not fit: the next run tries again */
                assert_null(fr_executor_data(e, m.loss));
                fr_alloc_fail_at(-1);
                assert_int_equal(fr_executor_run(e), FR_OK);
            }
        } else {
            assert_null(e);
        }
        fr_alloc_fail_at(-1);
        fr_executor_free(e);
        assert_int_equal(fr_live_blocks(), live);
        if (status == FR_OK) {
            printf("  %" PRId64 " allocations\n", n);
            break;
        }
        assert_int_equal(status, FR_ENOMEM);
    }
    fr_program_free(m.p);
}

static void a_size_that_no_memory_holds_is_refused(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    run_rows(&r, 4);
    assert_int_equal(fr_executor_bind(r.e, r.m.rows, INT64_MAX / 64), FR_OK);
    assert_int_equal(fr_executor_run(r.e), FR_ENOMEM);
    tear_down(&r);
}

/* ---- profile ---- */

static void the_profile_has_a_line_a_node(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    fr_executor *e;
    char text[8192] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_int_equal(fr_executor_print_profile(r.e, stream), FR_EINVAL); /* not asked for */
    assert_int_equal(fr_executor_create(r.m.p, &(fr_executor_options){.profile = true}, &e), FR_OK);
    assert_int_equal(fr_executor_bind(e, r.m.rows, 8), FR_OK);
    assert_int_equal(fr_executor_set(e, r.m.x, r.x), FR_OK);
    assert_int_equal(fr_executor_set(e, r.m.t, r.t), FR_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fr_executor_run(e), FR_OK);
    assert_int_equal(fr_executor_print_profile(e, stream), FR_OK);
    (void)fclose(stream);
    for (int k = 0; k < r.m.p->n_nodes; k++) {
        char name[64];
        const fr_node *node = r.m.p->nodes[k];
        const bool shown = e->plan.needed[k] && !node->op->is_view;
        (void)fr_node_text(node, name, sizeof name);
        if (shown)
            assert_non_null(strstr(text, name));
    }
    assert_non_null(strstr(text, "GFLOP/s"));
    assert_non_null(strstr(text, "gemm"));
    /* the product of 8x5 and 5x7, three times */
    assert_true(e->steps[0].all_flop == 3 * 2.0 * 8 * IN_WIDTH * HIDDEN);
    fr_executor_free(e);
    tear_down(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_size_gives_what_loops_give),
    cmocka_unit_test(sizes_within_capacity_plan_nothing_and_allocate_nothing),
    cmocka_unit_test(capacity_grows_with_slack_and_by_reserve),
    cmocka_unit_test(shapes_and_sizes_can_be_asked_for),
    cmocka_unit_test(what_is_missing_is_named),
    cmocka_unit_test(an_input_without_elements_needs_no_memory),
    cmocka_unit_test(sizes_that_disagree_at_run_time_are_named),
    cmocka_unit_test(a_failure_of_a_kernel_names_the_node),
    cmocka_unit_test(parameters_start_by_seed_and_name_alone),
    cmocka_unit_test(executors_share_parameters_by_name),
    cmocka_unit_test(dropout_is_the_identity_outside_training),
    cmocka_unit_test(outputs_may_be_inputs_parameters_views_or_literals),
    cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
    cmocka_unit_test(a_failed_allocation_is_reported_and_leaks_nothing),
    cmocka_unit_test(a_size_that_no_memory_holds_is_refused),
    cmocka_unit_test(the_profile_has_a_line_a_node),
};

FR_TEST_MAIN(tests)
