/*
 * test_random.c: Philox 4x32-10 and what is made of it. Oracles: the known answers published with
 * Random123 (kat_vectors), and the moments of the distributions.
 */
#include "test_main.h"

#include <math.h>

#include "base/random.h"

static void philox_gives_the_published_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint32_t *c = known[i].counter, *k = known[i].key;
        uint32_t out[4];
        fr_philox((uint64_t)k[1] << 32 | k[0], (uint64_t)c[3] << 32 | c[2],
                  (uint64_t)c[1] << 32 | c[0], out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

static void a_sequence_is_its_counters_in_order(void **state)
{
    (void)state;
    fr_random random = fr_random_start(7, 9);
    for (uint64_t counter = 0; counter < 10; counter++) {
        uint32_t expected[4];
        fr_philox(7, 9, counter, expected);
        for (int i = 0; i < 4; i++)
            assert_int_equal(fr_random_u32(&random), expected[i]);
    }
}

static void equal_starts_give_equal_numbers(void **state)
{
    (void)state;
    fr_random a = fr_random_start(1, 2), b = fr_random_start(1, 2), c = fr_random_start(1, 3),
              d = fr_random_start(2, 2);
    int same_c = 0, same_d = 0;
    for (int i = 0; i < 1000; i++) {
        const uint64_t x = fr_random_u64(&a);
        assert_true(x == fr_random_u64(&b));
        same_c += x == fr_random_u64(&c);
        same_d += x == fr_random_u64(&d);
    }
    assert_int_equal(same_c + same_d, 0);
}

/* SplitMix64 chained over four parts, written out again from its definition. */
static uint64_t slow_stream(const uint64_t parts[4])
{
    uint64_t x = 0;
    for (int i = 0; i < 4; i++) {
        x += parts[i] + 0x9E3779B97F4A7C15U;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
        x ^= x >> 31;
    }
    return x;
}

static void a_stream_depends_on_every_part_and_its_place(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t p[4];
        for (int k = 0; k < 4; k++)
            p[k] = fr_random_u64(&random);
        const uint64_t stream = fr_random_stream(p[0], p[1], p[2], p[3]);
        assert_true(stream == slow_stream(p));
        assert_true(stream != fr_random_stream(p[1], p[0], p[2], p[3]));
        assert_true(stream != fr_random_stream(p[0], p[1], p[3], p[2]));
        assert_true(stream != fr_random_stream(p[0], p[1], p[2], p[3] + 1));
    }
    /* The finaliser itself: the first output of SplitMix64 from seed 0, as its authors give it. */
    const uint64_t zero = 0xe220a8397b1dcdafU;
    uint64_t x = 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    assert_true((x ^ (x >> 31)) == zero);
}

static void uniform_numbers_stay_below_one(void **state)
{
    (void)state;
    assert_true(fr_uniform_f32(UINT32_MAX) < 1.0F);
    assert_true(fr_uniform_f32(0) == 0.0F);
    assert_int_equal(fr_uniform_below(UINT32_MAX, 10), 9);
    assert_int_equal(fr_uniform_below(0, 10), 0);
    assert_int_equal(fr_uniform_below(UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
    fr_random random = fr_random_start(fr_test_seed(), 1);
    const int n = 100000;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        const double u = fr_random_uniform(&random);
        assert_true(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    printf("uniform: mean %g, variance %g\n", mean, variance);
    assert_true(fabs(mean - 0.5) < 6 * sqrt(1.0 / 12 / n)); /* 6 standard errors */
    assert_true(fabs(variance - 1.0 / 12) < 0.003);
}

static void normal_numbers_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    const int n = 100000;
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < n; i++) {
        const double z = fr_random_normal(&random);
        assert_true(isfinite(z));
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
    }
    printf("normal: mean %g, second %g, fourth moment %g\n", sum / n, squares / n, fourth / n);
    assert_true(fabs(sum / n) < 6 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 6 * sqrt(2.0 / n));
    assert_true(fabs(fourth / n - 3) < 6 * sqrt(96.0 / n));
}

static void integers_below_a_bound_are_equally_likely(void **state)
{
    (void)state;
    enum { BOUND = 7, N = 70000 };
    fr_random random = fr_random_start(fr_test_seed(), 3);
    int counts[BOUND] = {0};
    for (int i = 0; i < N; i++) {
        const uint64_t x = fr_random_below(&random, BOUND);
        assert_in_range(x, 0, BOUND - 1);
        counts[x]++;
    }
    double chi = 0;
    for (int i = 0; i < BOUND; i++)
        chi += (counts[i] - N / BOUND) * (double)(counts[i] - N / BOUND) / (N / BOUND);
    printf("below 7: chi-square %g over 6 degrees\n", chi);
    assert_true(chi < 45); /* p about 5e-8 */
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fr_random_below(&random, 1), 0);
        assert_true(fr_random_below(&random, UINT64_MAX) < UINT64_MAX);
    }
}

/* Of 3 * 2^62 numbers a third lies below 2^62; a plain remainder of 64 bits would put half of them
 * there. */
static void a_large_bound_is_not_biased(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 6);
    int n_low = 0;
    for (int i = 0; i < 30000; i++)
        n_low += fr_random_below(&random, (uint64_t)3 << 62) < (uint64_t)1 << 62;
    assert_in_range(n_low, 10000 - 500, 10000 + 500); /* 6 deviations */
}

static void a_shuffle_keeps_every_value(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 4);
    for (int64_t n = 0; n < 50; n++) {
        int64_t values[50];
        int seen[50] = {0};
        for (int64_t i = 0; i < n; i++)
            values[i] = i;
        fr_random_shuffle(&random, values, n);
        for (int64_t i = 0; i < n; i++) {
            assert_in_range(values[i], 0, n - 1);
            seen[values[i]]++;
        }
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(seen[i], 1);
    }
}

static void every_order_of_three_is_equally_likely(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 5);
    int counts[27] = {0};
    for (int i = 0; i < 60000; i++) {
        int64_t v[3] = {0, 1, 2};
        fr_random_shuffle(&random, v, 3);
        counts[v[0] * 9 + v[1] * 3 + v[2]]++;
    }
    int n_orders = 0;
    for (int i = 0; i < 27; i++)
        if (counts[i] > 0) {
            n_orders++;
            assert_in_range(counts[i], 9400, 10600); /* 6.5 deviations */
        }
    assert_int_equal(n_orders, 6);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_the_published_answers),
    cmocka_unit_test(a_sequence_is_its_counters_in_order),
    cmocka_unit_test(equal_starts_give_equal_numbers),
    cmocka_unit_test(a_stream_depends_on_every_part_and_its_place),
    cmocka_unit_test(uniform_numbers_stay_below_one),
    cmocka_unit_test(normal_numbers_have_mean_0_and_deviation_1),
    cmocka_unit_test(integers_below_a_bound_are_equally_likely),
    cmocka_unit_test(a_large_bound_is_not_biased),
    cmocka_unit_test(a_shuffle_keeps_every_value),
    cmocka_unit_test(every_order_of_three_is_equally_likely),
};
FR_TEST_MAIN(tests)
