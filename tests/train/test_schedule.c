/*
 * Schedules at their corners. Oracle: the formulas in train.h, by hand.
 */
#include "train_test.h"

#include <math.h>

static void near(double value, double expected, int line)
{
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("line %d: %.17g, expected %.17g", line, value, expected);
}
#define NEAR(schedule, step, expected) near(fr_schedule_rate(&(schedule), step), expected, __LINE__)

static void constant_warms_up_from_zero(void **state)
{
    (void)state;
    const fr_schedule s = {.kind = FR_SCHEDULE_CONSTANT, .peak = 0.5, .warmup = 4};
    NEAR(s, -3, 0);
    NEAR(s, 0, 0);
    NEAR(s, 1, 0.125);
    NEAR(s, 3, 0.375);
    NEAR(s, 4, 0.5);
    NEAR(s, INT64_MAX, 0.5);
    const fr_schedule plain = {.kind = FR_SCHEDULE_CONSTANT, .peak = 0.5};
    NEAR(plain, 0, 0.5);
}

static void cosine_goes_from_peak_to_floor(void **state)
{
    (void)state;
    const fr_schedule s = {
        .kind = FR_SCHEDULE_COSINE, .peak = 1, .floor = 0.2, .warmup = 10, .total = 110};
    NEAR(s, 0, 0);
    NEAR(s, 5, 0.5);
    NEAR(s, 10, 1);
    NEAR(s, 60, 0.6);
    NEAR(s, 35, 0.2 + 0.8 * 0.5 * (1 + sqrt(0.5)));
    NEAR(s, 110, 0.2);
    NEAR(s, 111, 0.2);
    NEAR(s, INT64_MAX, 0.2);
    double last = 1;
    for (int64_t step = 11; step < 130; step++) {
        assert_true(fr_schedule_rate(&s, step) <= last);
        last = fr_schedule_rate(&s, step);
    }
}

static void warmup_as_long_as_the_run_or_longer(void **state)
{
    (void)state;
    const fr_schedule equal = {
        .kind = FR_SCHEDULE_COSINE, .peak = 1, .floor = 0.1, .warmup = 10, .total = 10};
    NEAR(equal, 9, 0.9);
    NEAR(equal, 10, 0.1);
    const fr_schedule longer = {
        .kind = FR_SCHEDULE_WSD, .peak = 1, .floor = 0.1, .warmup = 20, .total = 10, .decay = 5};
    NEAR(longer, 10, 0.5);
    NEAR(longer, 20, 0.1);
}

static void no_known_end_stays_at_the_peak(void **state)
{
    (void)state;
    const fr_schedule cosine = {.kind = FR_SCHEDULE_COSINE, .peak = 1, .floor = 0.1};
    const fr_schedule wsd = {.kind = FR_SCHEDULE_WSD, .peak = 1, .floor = 0.1, .decay = 5};
    NEAR(cosine, 0, 1);
    NEAR(cosine, 1000000, 1);
    NEAR(wsd, 1000000, 1);
}

static void steps_multiply_by_the_factor(void **state)
{
    (void)state;
    const fr_schedule s = {.kind = FR_SCHEDULE_STEP,
                           .peak = 1,
                           .floor = 0.1,
                           .warmup = 2,
                           .step_every = 3,
                           .factor = 0.5};
    NEAR(s, 1, 0.5);
    NEAR(s, 2, 1);
    NEAR(s, 4, 1);
    NEAR(s, 5, 0.5);
    NEAR(s, 8, 0.25);
    NEAR(s, 11, 0.125);
    NEAR(s, 14, 0.1);
    NEAR(s, INT64_MAX, 0.1);
    const fr_schedule never = {.kind = FR_SCHEDULE_STEP, .peak = 1, .factor = 0.5};
    NEAR(never, 50, 1);
}

static void warmup_stable_decay(void **state)
{
    (void)state;
    const fr_schedule s = {
        .kind = FR_SCHEDULE_WSD, .peak = 1, .floor = 0.2, .warmup = 10, .total = 100, .decay = 20};
    NEAR(s, 5, 0.5);
    NEAR(s, 10, 1);
    NEAR(s, 80, 1);
    NEAR(s, 90, 0.6);
    NEAR(s, 99, 0.2 + 0.8 / 20);
    NEAR(s, 100, 0.2);
    const fr_schedule sudden = {.kind = FR_SCHEDULE_WSD, .peak = 1, .floor = 0.2, .total = 100};
    NEAR(sudden, 99, 1);
    NEAR(sudden, 100, 0.2);
    const fr_schedule all = {
        .kind = FR_SCHEDULE_WSD, .peak = 1, .warmup = 10, .total = 20, .decay = 50};
    NEAR(all, 10, 1);
    NEAR(all, 15, 0.5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(constant_warms_up_from_zero),
    cmocka_unit_test(cosine_goes_from_peak_to_floor),
    cmocka_unit_test(warmup_as_long_as_the_run_or_longer),
    cmocka_unit_test(no_known_end_stays_at_the_peak),
    cmocka_unit_test(steps_multiply_by_the_factor),
    cmocka_unit_test(warmup_stable_decay),
};
FR_TEST_MAIN(tests)
