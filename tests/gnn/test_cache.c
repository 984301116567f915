/*
 * The fresh cache against a ten-line model of it: maps of node -> (row, birth), and against the policy's own words.
 */
#include "test_main.h"

#include "gnn/cache.h"

#include <math.h>

#include "base/alloc.h"
#include "base/random.h"

enum { WIDTH = 3 };

typedef struct scene {
    fr_fresh_cache *cache;
    fr_fresh_counts counts;
    int32_t position[64];
    int64_t misses[64], n_misses;
} scene;

static void look_up(scene *s, const int64_t *nodes, int64_t n, int64_t t, const fr_fresh_policy *policy)
{
    fr_fresh_cache_expire(s->cache, t, policy, &s->counts);
    fr_fresh_cache_lookup(s->cache, nodes, n, t, policy, 0, 0, s->position, s->misses, &s->n_misses, &s->counts);
}

/* One iteration in which row i has the value 100 t + node and gradient norm norms[i]. */
static void iterate(scene *s, const int64_t *nodes, int64_t n, int64_t t, const float *norms, const fr_fresh_policy *policy)
{
    float rows[64 * WIDTH], gradient[64 * WIDTH] = {0};
    look_up(s, nodes, n, t, policy);
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < WIDTH; j++)
            rows[i * WIDTH + j] = (float)(100 * t + nodes[i]);
        gradient[i * WIDTH] = norms[i];
    }
    assert_int_equal(fr_fresh_cache_update(s->cache, nodes, s->position, n, rows, gradient, t, policy, &s->counts), FR_OK);
    assert_int_equal(fr_fresh_cache_check(s->cache), FR_OK);
}

static scene start(int64_t n_nodes, int64_t capacity)
{
    scene s = {0};
    assert_int_equal(fr_fresh_cache_create(n_nodes, capacity, WIDTH, &s.cache), FR_OK);
    return s;
}

static void rows_below_the_quantile_are_admitted(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 0.5, .t_stale = 100};
    iterate(&s, (int64_t[]){1, 2, 3, 4}, 4, 0, (float[]){4, 1, 3, 2}, &policy);
    look_up(&s, (int64_t[]){1, 2, 3, 4}, 4, 1, &policy);
    /* sorted norms 1 2 3 4, k = 2, threshold 3: nodes 2 and 4 are stable */
    assert_true(s.position[0] >= 0 && s.position[1] < 0 && s.position[2] >= 0 && s.position[3] < 0);
    assert_int_equal(s.n_misses, 2);
    assert_int_equal(s.misses[0], 1);
    assert_int_equal(s.misses[1], 3);
    const float *row = fr_fresh_cache_rows(s.cache) + (-1 - s.position[1]) * WIDTH;
    assert_true(row[0] == 2 && row[2] == 2);
    fr_fresh_cache_free(s.cache);
}

static void p_grad_0_admits_nothing_not_even_zero_gradients(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 0, .t_stale = 100};
    iterate(&s, (int64_t[]){1, 2, 3}, 3, 0, (float[]){0, 0, 0}, &policy);
    assert_int_equal(fr_fresh_cache_live(s.cache), 0);
    fr_fresh_cache_free(s.cache);
}

static void t_stale_0_admits_nothing(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 1, .t_stale = 0};
    iterate(&s, (int64_t[]){1, 2, 3}, 3, 0, (float[]){1, 2, 3}, &policy);
    assert_int_equal(fr_fresh_cache_live(s.cache), 0);
    fr_fresh_cache_free(s.cache);
}

static void p_grad_1_without_age_keeps_everything_for_ever(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 1, .t_stale = (double)INFINITY};
    for (int64_t t = 0; t < 1000; t++)
        iterate(&s, (int64_t[]){1, 2, 3}, 3, t, (float[]){1, 2, 3}, &policy);
    assert_int_equal(s.counts.admitted, 3);
    assert_int_equal(s.counts.max_age, 999);
    fr_fresh_cache_free(s.cache);
}

static void ties_at_a_threshold_of_0_are_stable(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 0.5, .t_stale = 100};
    iterate(&s, (int64_t[]){1, 2, 3, 4}, 4, 0, (float[]){0, 0, 0, 5}, &policy);
    assert_int_equal(fr_fresh_cache_live(s.cache), 3);
    fr_fresh_cache_free(s.cache);
}

static void a_hit_is_not_made_younger_and_dies_at_its_age(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 1, .t_stale = 5};
    const int64_t node = 7;
    iterate(&s, &node, 1, 0, (float[]){1}, &policy);
    for (int64_t t = 1; t < 5; t++) {
        iterate(&s, &node, 1, t, (float[]){1}, &policy);
        assert_int_equal(s.n_misses, 0);
    }
    assert_int_equal(s.counts.max_age, 4);
    look_up(&s, &node, 1, 5, &policy);
    assert_int_equal(s.n_misses, 1);
    assert_int_equal(s.counts.evicted_by_age, 1);
    fr_fresh_cache_free(s.cache);
}

static void a_hit_with_a_large_gradient_is_evicted(void **state)
{
    (void)state;
    scene s = start(10, 10);
    const fr_fresh_policy policy = {.p_grad = 0.5, .t_stale = 100};
    iterate(&s, (int64_t[]){1, 2}, 2, 0, (float[]){1, 2}, &policy); /* 1 is admitted */
    iterate(&s, (int64_t[]){1, 2}, 2, 1, (float[]){2, 1}, &policy); /* now 1 is at the threshold, 2 below */
    assert_int_equal(s.counts.evicted_by_gradient, 1);
    look_up(&s, (int64_t[]){1, 2}, 2, 2, &policy);
    assert_true(s.position[0] >= 0 && s.position[1] < 0);
    fr_fresh_cache_free(s.cache);
}

static void a_full_ring_gives_up_its_oldest_row(void **state)
{
    (void)state;
    scene s = start(10, 2);
    const fr_fresh_policy policy = {.p_grad = 1, .t_stale = 100};
    for (int64_t t = 0; t < 3; t++)
        iterate(&s, (int64_t[]){t}, 1, t, (float[]){1}, &policy);
    assert_int_equal(s.counts.evicted_by_room, 1);
    look_up(&s, (int64_t[]){0, 1, 2}, 3, 3, &policy);
    assert_true(s.position[0] >= 0 && s.position[1] < 0 && s.position[2] < 0);
    fr_fresh_cache_free(s.cache);
}

/* The model: born[v] = -1 or iteration; the same words as section 3, without a ring. */
static void model_step(int64_t *born, const int64_t *nodes, int64_t n, const float *norms, int64_t t, const fr_fresh_policy *policy, bool *hit)
{
    for (int64_t i = 0; i < n; i++)
        hit[i] = born[nodes[i]] >= 0 && (double)(t - born[nodes[i]]) < policy->t_stale;
    const int64_t k = (int64_t)floor(policy->p_grad * (double)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t below = 0;
        for (int64_t j = 0; j < n; j++)
            below += norms[j] <= norms[i]; /* distinct norms: its rank + 1 */
        const bool stable = below <= k;
        if (hit[i] && !stable)
            born[nodes[i]] = -1;
        if (!hit[i])
            born[nodes[i]] = stable ? t : -1;
    }
}

static void random_histories_agree_with_the_model(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int round = 0; round < 30; round++) {
        enum { NODES = 40 };
        scene s = start(NODES, NODES * 20); /* dead slots wait for the tail: room enough that none is pushed out */
        int64_t born[NODES];
        memset(born, 0xFF, sizeof born);
        const fr_fresh_policy policy = {.p_grad = fr_random_uniform(&random), .t_stale = 1 + (double)fr_random_below(&random, 12)};
        for (int64_t t = 0; t < 200; t++) {
            int64_t nodes[NODES], n = 1 + (int64_t)fr_random_below(&random, NODES);
            float norms[NODES];
            bool hit[NODES];
            for (int64_t i = 0; i < NODES; i++) {
                nodes[i] = i;
                norms[i] = (float)fr_random_uniform(&random);
            }
            fr_random_shuffle(&random, nodes, NODES);
            model_step(born, nodes, n, norms, t, &policy, hit);
            iterate(&s, nodes, n, t, norms, &policy);
            for (int64_t i = 0; i < n; i++)
                assert_int_equal(s.position[i] < 0, hit[i]);
        }
        assert_true((double)s.counts.max_age < policy.t_stale);
        fr_fresh_cache_free(s.cache);
    }
}

static void the_map_survives_fuzzing_of_a_small_ring(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    scene s = start(50, 7);
    for (int64_t t = 0; t < 3000; t++) {
        int64_t nodes[50], n = (int64_t)fr_random_below(&random, 51);
        float norms[50];
        for (int64_t i = 0; i < 50; i++) {
            nodes[i] = i;
            norms[i] = (float)fr_random_below(&random, 4); /* many ties, many zeros */
        }
        fr_random_shuffle(&random, nodes, 50);
        const fr_fresh_policy policy = {.p_grad = fr_random_uniform(&random), .t_stale = (double)fr_random_below(&random, 20)};
        iterate(&s, nodes, n, t, norms, &policy);
    }
    fr_fresh_cache_free(s.cache);
}

static void creating_survives_lack_of_memory(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    for (int64_t n = 0;; n++) {
        fr_fresh_cache *cache = (fr_fresh_cache *)1;
        fr_alloc_fail_at(n);
        const fr_status status = fr_fresh_cache_create(100, 10, WIDTH, &cache);
        fr_alloc_fail_at(-1);
        if (status == FR_OK) {
            fr_fresh_cache_free(cache);
            break;
        }
        assert_int_equal(status, FR_ENOMEM);
        assert_null(cache);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_int_equal(fr_live_blocks(), live);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_below_the_quantile_are_admitted),
    cmocka_unit_test(p_grad_0_admits_nothing_not_even_zero_gradients),
    cmocka_unit_test(t_stale_0_admits_nothing),
    cmocka_unit_test(p_grad_1_without_age_keeps_everything_for_ever),
    cmocka_unit_test(ties_at_a_threshold_of_0_are_stable),
    cmocka_unit_test(a_hit_is_not_made_younger_and_dies_at_its_age),
    cmocka_unit_test(a_hit_with_a_large_gradient_is_evicted),
    cmocka_unit_test(a_full_ring_gives_up_its_oldest_row),
    cmocka_unit_test(random_histories_agree_with_the_model),
    cmocka_unit_test(the_map_survives_fuzzing_of_a_small_ring),
    cmocka_unit_test(creating_survives_lack_of_memory),
};

FR_TEST_MAIN(tests)
