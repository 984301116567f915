/*
 * Row-sparse Adam. Oracles: Adam in double, row by row, as torch.optim.SparseAdam publishes it (one
 * step number, moments of untouched rows stand still); the dense kernel where all rows are touched.
 */
#include "train_test.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "kernel/optimizer.h"

enum { ROWS = 40, WIDTH = 19, COUNT = ROWS * WIDTH, STEPS = 12, MOST_IDS = 64 };

typedef struct reference {
    double table[COUNT], first[COUNT], second[COUNT];
    int64_t step;
} reference;

/* One step in double. Gradients of equal ids are summed. */
static void reference_step(reference *r, const fr_optimizer_options *o, bool per_row,
                           const int64_t *ids, int64_t n, const float *grads, double rate)
{
    double sum[COUNT] = {0}, squares = 0;
    bool touched[ROWS] = {false};
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < WIDTH; j++) {
            sum[ids[i] * WIDTH + j] += (double)grads[i * WIDTH + j];
            touched[ids[i]] = true;
        }
    for (int k = 0; k < COUNT; k++)
        squares += sum[k] * sum[k];
    const double norm = sqrt(squares);
    const double scale = o->clip_norm > 0 && norm > o->clip_norm ? o->clip_norm / (norm + 1e-6) : 1;
    r->step++;
    const double c1 = 1 - pow(0.9, (double)r->step), c2 = 1 - pow(0.999, (double)r->step);
    for (int row = 0; row < ROWS; row++) {
        double mean = 0, g[WIDTH];
        if (!touched[row])
            continue;
        for (int j = 0; j < WIDTH; j++) {
            g[j] = sum[row * WIDTH + j] * scale;
            if (o->kind == FR_ADAM)
                g[j] += o->weight_decay * r->table[row * WIDTH + j];
            mean += g[j] * g[j] / WIDTH;
        }
        if (per_row)
            r->second[row] = 0.999 * r->second[row] + 0.001 * mean;
        for (int j = 0; j < WIDTH; j++) {
            const int k = row * WIDTH + j;
            r->first[k] = 0.9 * r->first[k] + 0.1 * g[j];
            if (!per_row)
                r->second[k] = 0.999 * r->second[k] + 0.001 * g[j] * g[j];
            const double v = per_row ? r->second[row] : r->second[k];
            if (o->kind == FR_ADAMW)
                r->table[k] *= 1 - rate * o->weight_decay;
            r->table[k] -= rate * (r->first[k] / c1) / (sqrt(v / c2) + 1e-8);
        }
    }
}

static void steps_agree_with_adam_in_double(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    double worst = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int per_row = 0; per_row < 2; per_row++)
            for (int clip = 0; clip < 2; clip++) {
                const fr_optimizer_options o = {.kind = kind ? FR_ADAMW : FR_ADAM,
                                                .learning_rate = 0.01,
                                                .weight_decay = 0.1,
                                                .clip_norm = clip ? 2.0 : 0};
                static reference r;
                float table[COUNT], grads[MOST_IDS * WIDTH];
                int64_t ids[MOST_IDS];
                fr_row_optimizer *optimizer;
                r = (reference){.step = 0};
                fill_normal(&random, table, COUNT);
                for (int k = 0; k < COUNT; k++)
                    r.table[k] = (double)table[k];
                OK(fr_row_optimizer_create(table, ROWS, WIDTH, per_row == 1, &o, &optimizer));
                for (int step = 0; step < STEPS; step++) {
                    const int64_t n = (int64_t)fr_random_below(&random, MOST_IDS + 1);
                    for (int64_t i = 0; i < n; i++)
                        ids[i] = (int64_t)fr_random_below(&random, ROWS);
                    fill_normal(&random, grads, n * WIDTH);
                    const double rate = step % 2 == 0 ? -1 : 0.02;
                    OK(fr_row_optimizer_step(optimizer, ids, n, grads, rate));
                    reference_step(&r, &o, per_row == 1, ids, n, grads, rate < 0 ? 0.01 : rate);
                }
                for (int k = 0; k < COUNT; k++) {
                    const double difference = fabs((double)table[k] - r.table[k]);
                    worst = difference > worst ? difference : worst;
                }
                fr_row_optimizer_free(optimizer);
            }
    printf("worst difference %.3g\n", worst);
    assert_true(worst < 1e-5); /* 12 steps of 0.02: each wrong by a few ulp of 0.02 / sqrt(v) */
}

static void all_rows_touched_is_dense_adam_bit_for_bit(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    float table[COUNT], dense[COUNT], grads[COUNT], first[COUNT] = {0}, second[COUNT] = {0};
    int64_t ids[ROWS];
    fr_row_optimizer *optimizer;
    const fr_optimizer_options o = {.kind = FR_ADAMW, .learning_rate = 0.01, .weight_decay = 0.1};
    fill_normal(&random, table, COUNT);
    memcpy(dense, table, sizeof table);
    for (int i = 0; i < ROWS; i++)
        ids[i] = i;
    OK(fr_row_optimizer_create(table, ROWS, WIDTH, false, &o, &optimizer));
    for (int step = 1; step <= STEPS; step++) {
        fill_normal(&random, grads, COUNT);
        OK(fr_row_optimizer_step(optimizer, ids, ROWS, grads, -1));
        const fr_adam_step adam = {.learning_rate = 0.01F,
                                   .beta1 = 0.9F,
                                   .beta2 = 0.999F,
                                   .epsilon = 1e-8F,
                                   .weight_decay = 0.1F,
                                   .decoupled = true,
                                   .step = step,
                                   .grad_scale = 1};
        fr_adam_run(&adam, COUNT, dense, grads, first, second);
        assert_memory_equal(table, dense, sizeof table);
    }
    fr_row_optimizer_free(optimizer);
}

/* Runs some steps from a seed; `shuffle` permutes the ids (and gradients) of each step. */
static void run_steps(uint64_t seed, bool doubles, double clip, bool shuffle, int threads,
                      float *table)
{
    fr_random random = fr_random_start(seed, 3), order = fr_random_start(seed, 4);
    int64_t ids[MOST_IDS], places[MOST_IDS], asked[MOST_IDS];
    float grads[MOST_IDS * WIDTH], given[MOST_IDS * WIDTH];
    fr_row_optimizer *optimizer;
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.01, .clip_norm = clip};
    const int64_t n = doubles ? MOST_IDS : ROWS / 2;
    fr_set_threads(threads);
    fill_normal(&random, table, COUNT);
    OK(fr_row_optimizer_create(table, ROWS, WIDTH, false, &o, &optimizer));
    for (int step = 0; step < STEPS; step++) {
        int64_t rows[ROWS];
        for (int i = 0; i < ROWS; i++)
            rows[i] = i;
        fr_random_shuffle(&random, rows, ROWS);
        for (int64_t i = 0; i < n; i++) {
            ids[i] = doubles ? (int64_t)fr_random_below(&random, ROWS) : rows[i];
            places[i] = i;
        }
        fill_normal(&random, grads, n * WIDTH);
        if (shuffle)
            fr_random_shuffle(&order, places, n);
        for (int64_t i = 0; i < n; i++) {
            asked[i] = ids[places[i]];
            memcpy(given + i * WIDTH, grads + places[i] * WIDTH, WIDTH * sizeof(float));
        }
        OK(fr_row_optimizer_step(optimizer, asked, n, given, -1));
    }
    fr_row_optimizer_free(optimizer);
}

static void the_order_of_distinct_ids_changes_no_bit(void **state)
{
    (void)state;
    float straight[COUNT], shuffled[COUNT];
    for (int clip = 0; clip < 2; clip++) {
        run_steps(fr_test_seed(), false, clip, false, 1, straight);
        run_steps(fr_test_seed(), false, clip, true, 1, shuffled);
        assert_memory_equal(straight, shuffled, sizeof straight);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    float one[COUNT], more[COUNT];
    for (int clip = 0; clip < 2; clip++)
        for (int threads = 2; threads < 5; threads++) {
            run_steps(fr_test_seed(), true, clip, false, 1, one);
            run_steps(fr_test_seed(), true, clip, false, threads, more);
            assert_memory_equal(one, more, sizeof one);
        }
}

static void what_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const float bad[] = {NAN, HUGE_VALF, -HUGE_VALF};
    float table[COUNT], before[COUNT], grads[3 * WIDTH];
    fr_random random = fr_random_start(fr_test_seed(), 5);
    fr_row_optimizer *optimizer, *fresh;
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.01};
    fill_normal(&random, table, COUNT);
    memcpy(before, table, sizeof table);
    OK(fr_row_optimizer_create(table, ROWS, WIDTH, false, &o, &optimizer));
    for (int doubles = 0; doubles < 2; doubles++)
        for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
            const int64_t ids[3] = {7, doubles ? 7 : 9, 11};
            fill_normal(&random, grads, 3 * WIDTH);
            grads[2 * WIDTH + 5] = bad[b];
            assert_int_equal(fr_row_optimizer_step(optimizer, ids, 3, grads, -1), FR_ERANGE);
            SENTENCE("row 11");
            assert_memory_equal(table, before, sizeof table);
        }
    /* Two finite gradients whose sum overflows. */
    for (int j = 0; j < 2 * WIDTH; j++)
        grads[j] = FLT_MAX;
    assert_int_equal(fr_row_optimizer_step(optimizer, (const int64_t[]){3, 3}, 2, grads, -1),
                     FR_ERANGE);
    static const int64_t out[] = {-1, ROWS, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++)
        assert_int_equal(fr_row_optimizer_step(optimizer, &out[i], 1, grads, -1), FR_ERANGE);
    assert_int_equal(fr_row_optimizer_step(optimizer, out, -1, grads, -1), FR_ERANGE);
    assert_int_equal(fr_row_optimizer_step(optimizer, out, 0, grads, (double)NAN), FR_EINVAL);
    assert_memory_equal(table, before, sizeof table);
    /* Nor did the refused steps count: the next one equals that of a fresh optimizer. */
    fill_normal(&random, grads, 3 * WIDTH);
    OK(fr_row_optimizer_create(before, ROWS, WIDTH, false, &o, &fresh));
    OK(fr_row_optimizer_step(optimizer, (const int64_t[]){1, 2, 3}, 3, grads, -1));
    OK(fr_row_optimizer_step(fresh, (const int64_t[]){1, 2, 3}, 3, grads, -1));
    assert_memory_equal(table, before, sizeof table);
    fr_row_optimizer_free(optimizer);
    fr_row_optimizer_free(fresh);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    float table[4] = {0};
    fr_row_optimizer *optimizer;
    static const struct {
        fr_optimizer_options options;
        fr_status expected;
        const char *sentence;
    } cases[] = {
        {{.kind = FR_SGD}, FR_ENOTSUP, "SGD"},
        {{.kind = (fr_optimizer_kind)9}, FR_EINVAL, "kind"},
        {{.kind = FR_ADAM, .beta1 = 1}, FR_EINVAL, "beta1"},
        {{.kind = FR_ADAM, .beta2 = -0.1}, FR_EINVAL, "beta2"},
        {{.kind = FR_ADAM, .learning_rate = -1}, FR_EINVAL, "learning_rate"},
        {{.kind = FR_ADAM, .epsilon = -1}, FR_EINVAL, "epsilon"},
        {{.kind = FR_ADAM, .clip_norm = -1}, FR_EINVAL, "clip_norm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(fr_row_optimizer_create(table, 2, 2, false, &cases[i].options, &optimizer),
                         cases[i].expected);
        SENTENCE(cases[i].sentence);
        assert_null(optimizer);
    }
    const fr_optimizer_options nan = {.kind = FR_ADAM, .weight_decay = (double)NAN},
                               good = {.kind = FR_ADAM};
    assert_int_equal(fr_row_optimizer_create(table, 2, 2, false, &nan, &optimizer), FR_EINVAL);
    assert_int_equal(fr_row_optimizer_create(table, -1, 2, false, &good, &optimizer), FR_ESHAPE);
    assert_int_equal(fr_row_optimizer_create(table, INT64_MAX, 2, false, &good, &optimizer),
                     FR_ESHAPE);
    OK(fr_row_optimizer_create(NULL, 0, 2, false, &good, &optimizer));
    OK(fr_row_optimizer_step(optimizer, NULL, 0, NULL, -1));
    fr_row_optimizer_free(optimizer);
    OK(fr_row_optimizer_create(NULL, 5, 0, true, &good, &optimizer));
    OK(fr_row_optimizer_step(optimizer, (const int64_t[]){1, 1}, 2, NULL, -1));
    fr_row_optimizer_free(optimizer);
    fr_row_optimizer_free(NULL);
}

static void lack_of_memory_changes_nothing(void **state)
{
    (void)state;
    float table[COUNT] = {0}, grads[2 * WIDTH];
    const int64_t ids[2] = {3, 3}, live = fr_live_blocks();
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.01};
    for (int i = 0; i < 2 * WIDTH; i++)
        grads[i] = 1;
    int64_t n = 0;
    for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
        fr_row_optimizer *optimizer = NULL;
        fr_alloc_fail_at(n);
        status = fr_row_optimizer_create(table, ROWS, WIDTH, false, &o, &optimizer);
        if (status == FR_OK)
            status = fr_row_optimizer_step(optimizer, ids, 2, grads, -1);
        fr_alloc_fail_at(-1);
        if (status != FR_OK) {
            assert_int_equal(status, FR_ENOMEM);
            for (int i = 0; i < COUNT; i++)
                assert_true(table[i] == 0.0F);
        }
        fr_row_optimizer_free(optimizer);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 8);
}

static void a_warm_step_allocates_nothing(void **state)
{
    (void)state;
    float table[COUNT] = {0}, grads[2 * WIDTH] = {0};
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.01};
    fr_row_optimizer *optimizer;
    OK(fr_row_optimizer_create(table, ROWS, WIDTH, false, &o, &optimizer));
    OK(fr_row_optimizer_step(optimizer, (const int64_t[]){3, 3}, 2, grads, -1));
    const int64_t count = fr_alloc_count();
    OK(fr_row_optimizer_step(optimizer, (const int64_t[]){5, 5}, 2, grads, -1));
    OK(fr_row_optimizer_step(optimizer, (const int64_t[]){5}, 1, grads, -1));
    assert_int_equal(fr_alloc_count(), count);
    fr_row_optimizer_free(optimizer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_agree_with_adam_in_double),
    cmocka_unit_test(all_rows_touched_is_dense_adam_bit_for_bit),
    cmocka_unit_test(the_order_of_distinct_ids_changes_no_bit),
    cmocka_unit_test(threads_change_no_bit),
    cmocka_unit_test(what_is_not_finite_changes_nothing),
    cmocka_unit_test(options_that_make_no_sense_are_refused),
    cmocka_unit_test(lack_of_memory_changes_nothing),
    cmocka_unit_test(a_warm_step_allocates_nothing),
};
FR_TEST_MAIN(tests)
