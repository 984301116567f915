/*
 * test_plan.c: memory planning. Oracles: brute force over pairs of buffers; values kept apart one
 * by one.
 */
#include "test_main.h"

#include <frugal/program.h>
#include <math.h>

#include "base/alloc.h"
#include "base/random.h"
#include "program/plan.h"
#include "two_layer.h"

/* ---- offsets ---- */

static void check_offsets(const fr_plan_buffer *buffers, int n, size_t arena)
{
    for (int i = 0; i < n; i++) {
        assert_true(buffers[i].offset + buffers[i].bytes <= arena);
        for (int j = 0; j < i; j++) {
            const fr_plan_buffer *a = &buffers[i], *b = &buffers[j];
            const bool meet = a->first <= b->last && b->first <= a->last;
            const bool apart = a->offset + a->bytes <= b->offset ||
                               b->offset + b->bytes <= a->offset || a->bytes == 0 || b->bytes == 0;
            assert_true(!meet || apart);
        }
    }
}

/* The most bytes alive at one time: no plan needs less. */
static size_t lower_bound(const fr_plan_buffer *buffers, int n, int last)
{
    size_t most = 0;
    for (int t = 0; t <= last; t++) {
        size_t alive = 0;
        for (int i = 0; i < n; i++)
            alive += buffers[i].first <= t && t <= buffers[i].last ? buffers[i].bytes : 0;
        most = alive > most ? alive : most;
    }
    return most;
}

static void buffers_that_live_together_never_overlap(void **state)
{
    (void)state;
    enum { MOST = 120 };
    fr_random random = fr_random_start(fr_test_seed(), 1);
    double worst = 1, total = 0;
    const int rounds = 500;
    for (int round = 0; round < rounds; round++) {
        fr_plan_buffer buffers[MOST];
        int32_t order[2 * MOST];
        const int n = 1 + (int)fr_random_below(&random, MOST),
                  span = 1 + (int)fr_random_below(&random, 60);
        for (int i = 0; i < n; i++) {
            const int first = (int)fr_random_below(&random, (uint64_t)span);
            buffers[i] = (fr_plan_buffer){.bytes = 64 * fr_random_below(&random, 100),
                                          .first = first,
                                          .last = first + (int)fr_random_below(&random, 8)};
        }
        const size_t arena = fr_plan_offsets(buffers, n, order);
        check_offsets(buffers, n, arena);
        const size_t least = lower_bound(buffers, n, span + 8);
        const double ratio = least == 0 ? 1 : (double)arena / (double)least;
        worst = ratio > worst ? ratio : worst;
        total += ratio;
    }
    printf("  arena over lower bound: mean %.3f, worst %.3f\n", total / rounds, worst);
    assert_true(worst < 1.6);
}

/* ---- random programs ---- */

enum { POOL = 40, WIDTH = 6 };

/* A program of n random operators over matrices; some values are kept. */
static fr_program *random_program(fr_random *random, fr_dim *rows, int n, fr_value *values,
                                  int *n_values)
{
    fr_program *p = fr_program_create();
    *rows = fr_symbol(p, "n");
    const fr_shape matrix = FR_SHAPE(*rows, fr_constant(WIDTH)),
                   flat = FR_SHAPE(fr_dim_multiply(p, *rows, fr_constant(WIDTH)));
    values[0] = fr_input(p, "x", FR_F64, matrix);
    values[1] =
        fr_parameter(p, "w", FR_F64, FR_SHAPE(fr_constant(WIDTH), fr_constant(WIDTH)), fr_glorot());
    values[1] = fr_add(p, values[0], fr_reduce_sum(p, values[1], (int64_t[]){0}, 1, true));
    *n_values = 2;
    for (int i = 0; i < n; i++) {
        const fr_value a = values[fr_random_below(random, (uint64_t)*n_values)];
        const fr_value b = values[fr_random_below(random, (uint64_t)*n_values)];
        fr_value made = FR_NO_VALUE;
        switch (fr_random_below(random, 9)) {
        case 0: made = fr_add(p, a, b); break;
        case 1: made = fr_mul(p, a, b); break;
        case 2: made = fr_tanh(p, a); break;
        case 3: made = fr_reshape(p, fr_relu(p, fr_reshape(p, a, flat)), matrix); break;
        case 4: made = fr_matmul(p, a, fr_find(p, "w")); break;
        case 5: made = fr_sub(p, a, fr_reduce_mean(p, b, (int64_t[]){1}, 1, true)); break;
        case 6:
            made = fr_slice(p, fr_concat(p, (fr_value[]){a, b}, 2, 0), 0, *rows,
                            fr_dim_add(p, *rows, *rows));
            break;
        case 7: made = fr_reshape(p, a, matrix); break;
        default: made = fr_softmax(p, a, 1); break;
        }
        values[(*n_values)++] = made;
    }
    return p;
}

static void values_that_live_together_never_share_bytes(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    for (int round = 0; round < 200; round++) {
        fr_value values[POOL];
        fr_dim rows;
        int n_values;
        fr_program *p = random_program(&random, &rows, POOL - 2, values, &n_values);
        fr_output(p, "last", values[n_values - 1]);
        fr_output(p, "middle", values[n_values / 2]);
        int64_t sizes[64] = {0};
        sizes[rows.symbol] = 1 + (int64_t)fr_random_below(&random, 30);
        fr_plan plan;
        fr_tensor scratch[8];
        assert_int_equal(fr_plan_create(p, NULL, 0, &plan), FR_OK);
        assert_int_equal(fr_dims_bound(p, sizes), FR_OK);
        assert_int_equal(fr_plan_layout(&plan, sizes, scratch), FR_OK);
        check_offsets(plan.buffers, plan.n_buffers, plan.arena_bytes);
        assert_true(plan.arena_bytes <= plan.sum_bytes);
        /* every value lives within its buffer's lifetime */
        for (fr_value v = 0; v < p->n_values; v++)
            if (plan.places[v].kind == FR_PLACE_ARENA) {
                assert_true(plan.buffers[plan.places[v].buffer].first <= p->values[v].node);
                assert_true(plan.buffers[plan.places[v].buffer].last >= plan.last_use[v]);
            }
        fr_plan_release(&plan);
        fr_program_free(p);
    }
}

/* The same program with every value kept shares nothing: results must be the same bits. */
static void sharing_memory_does_not_change_results(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 3);
    enum { ROWS = 9 };
    double x[ROWS * WIDTH];
    int64_t shared_bytes = 0, apart_bytes = 0;
    fill_random(x, ROWS * WIDTH, fr_test_seed());
    for (int round = 0; round < 200; round++) {
        fr_value values[POOL];
        fr_dim rows;
        int n_values;
        fr_program *p = random_program(&random, &rows, POOL - 2, values, &n_values);
        fr_value loss = fr_reduce_mean(p, values[n_values - 1], NULL, 0, false), grads[2];
        const fr_value wrt[] = {fr_find(p, "w"), values[n_values / 3]};
        assert_int_equal(fr_gradient(p, loss, wrt, 2, grads), FR_OK);
        fr_value all[512], outputs[] = {loss, grads[0], grads[1]};
        assert_true(p->n_values < 512);
        for (int v = 0; v < p->n_values; v++)
            all[v] = v;
        fr_executor *shared, *apart;
        assert_int_equal(
            fr_executor_create(p, &(fr_executor_options){.keep = outputs, .n_keep = 3}, &shared),
            FR_OK);
        assert_int_equal(fr_executor_create(
                             p, &(fr_executor_options){.keep = all, .n_keep = p->n_values}, &apart),
                         FR_OK);
        fr_executor *both[] = {shared, apart};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(fr_executor_bind(both[i], rows, ROWS), FR_OK);
            assert_int_equal(fr_executor_set(both[i], values[0], x), FR_OK);
            assert_int_equal(fr_executor_run(both[i]), FR_OK);
        }
        for (int i = 0; i < 3; i++) {
            fr_tensor a, b;
            assert_int_equal(fr_executor_shape(shared, outputs[i], &a), FR_OK);
            assert_int_equal(fr_executor_shape(apart, outputs[i], &b), FR_OK);
            assert_memory_equal(a.data, b.data, (size_t)fr_tensor_count(&a) * sizeof(double));
        }
        shared_bytes += fr_executor_get_stats(shared).planned_peak_bytes;
        apart_bytes += fr_executor_get_stats(shared).sum_bytes;
        fr_executor_free(apart);
        fr_executor_free(shared);
        fr_program_free(p);
    }
    printf("  planned %" PRId64 " bytes where all values together take %" PRId64 "\n", shared_bytes,
           apart_bytes);
    assert_true(shared_bytes * 2 < apart_bytes);
}

/* ---- results in place ---- */

static bool same_buffer(const fr_plan *plan, fr_value a, fr_value b)
{
    return plan->places[a].kind == FR_PLACE_ARENA && plan->places[b].kind == FR_PLACE_ARENA &&
           plan->places[a].buffer == plan->places[b].buffer;
}

static void a_result_takes_the_memory_of_an_operand_that_dies(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim n = fr_symbol(p, "n");
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(n, fr_constant(4)));
    const fr_value b = fr_input(p, "b", FR_F32, FR_SHAPE(fr_constant(4)));
    const fr_value first = fr_exp(p, x);              /* x is the caller's: never */
    const fr_value second = fr_add(p, first, b);      /* first dies: in place */
    const fr_value third = fr_tanh(p, second);        /* second is read again: not */
    const fr_value fourth = fr_mul(p, third, second); /* both die: in place of either */
    const fr_value view = fr_reshape(p, fourth, FR_SHAPE(fr_dim_multiply(p, n, fr_constant(4))));
    const fr_value fifth = fr_neg(p, view); /* fourth dies with its view: in place */
    const fr_value kept = fr_abs(p, fifth);
    const fr_value last = fr_neg(p, kept); /* kept is an output: never */
    fr_output(p, "kept", kept);
    fr_output(p, "last", last);
    fr_plan plan;
    assert_int_equal(fr_plan_create(p, NULL, 0, &plan), FR_OK);
    assert_int_equal(plan.places[x].kind, FR_PLACE_OUTSIDE);
    assert_true(same_buffer(&plan, first, second));
    assert_false(same_buffer(&plan, second, third));
    assert_true(same_buffer(&plan, fourth, third));
    assert_true(same_buffer(&plan, view, fourth));
    assert_true(same_buffer(&plan, fifth, fourth));
    assert_true(same_buffer(&plan, kept, fifth));
    assert_false(same_buffer(&plan, last, kept));
    fr_plan_release(&plan);
    fr_program_free(p);
}

static void nodes_that_no_one_needs_are_left_out(void **state)
{
    (void)state;
    const two_layer m = make_two_layer(FR_F32);
    const fr_value unused = fr_exp(m.p, m.hidden);
    fr_plan plan;
    assert_int_equal(fr_plan_create(m.p, NULL, 0, &plan), FR_OK);
    assert_int_equal(plan.places[unused].kind, FR_PLACE_NOWHERE);
    assert_false(plan.needed[m.p->values[unused].node]);
    fr_plan_release(&plan);
    assert_int_equal(fr_plan_create(m.p, &unused, 1, &plan), FR_OK);
    assert_int_equal(plan.places[unused].kind, FR_PLACE_ARENA);
    fr_plan_release(&plan);
    const fr_value none = 12345;
    assert_int_equal(fr_plan_create(m.p, &none, 1, &plan), FR_EINVAL);
    fr_program_free(m.p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(buffers_that_live_together_never_overlap),
    cmocka_unit_test(values_that_live_together_never_share_bytes),
    cmocka_unit_test(sharing_memory_does_not_change_results),
    cmocka_unit_test(a_result_takes_the_memory_of_an_operand_that_dies),
    cmocka_unit_test(nodes_that_no_one_needs_are_left_out),
};

FR_TEST_MAIN(tests)
