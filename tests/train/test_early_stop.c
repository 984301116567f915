/*
 * Early stopping, evaluation by evaluation, by hand.
 */
#include "train_test.h"

#include <math.h>

static void stops_after_patience_without_a_better_value(void **state)
{
    (void)state;
    fr_early_stop stop = fr_early_stop_start(2, true);
    assert_false(fr_early_stop_reached(&stop));
    assert_true(fr_early_stop_note(&stop, 0.5, 10));
    assert_false(fr_early_stop_note(&stop, 0.5, 20)); /* ties keep the earlier */
    assert_false(fr_early_stop_reached(&stop));
    assert_true(fr_early_stop_note(&stop, 0.6, 30));
    assert_false(fr_early_stop_note(&stop, 0.1, 40));
    assert_false(fr_early_stop_reached(&stop));
    assert_false(fr_early_stop_note(&stop, 0.2, 50));
    assert_true(fr_early_stop_reached(&stop));
    assert_int_equal(stop.best_at, 30);
    assert_true(stop.best == 0.6);
}

static void smaller_may_be_better(void **state)
{
    (void)state;
    fr_early_stop stop = fr_early_stop_start(1, false);
    assert_true(fr_early_stop_note(&stop, 3, 0));
    assert_true(fr_early_stop_note(&stop, -3, 1));
    assert_false(fr_early_stop_note(&stop, 0, 2));
    assert_true(fr_early_stop_reached(&stop));
}

static void zero_patience_never_stops(void **state)
{
    (void)state;
    fr_early_stop stop = fr_early_stop_start(0, true);
    for (int64_t i = 0; i < 100; i++)
        (void)fr_early_stop_note(&stop, -(double)i, i);
    assert_false(fr_early_stop_reached(&stop));
    assert_int_equal(stop.best_at, 0);
}

static void what_is_no_number_is_never_best(void **state)
{
    (void)state;
    fr_early_stop stop = fr_early_stop_start(2, false);
    assert_false(fr_early_stop_note(&stop, (double)NAN, 1));
    assert_true(fr_early_stop_note(&stop, HUGE_VAL, 2)); /* the first number, infinite as it is */
    assert_true(fr_early_stop_note(&stop, 7, 3));
    assert_false(fr_early_stop_note(&stop, (double)NAN, 4));
    assert_false(fr_early_stop_note(&stop, (double)NAN, 5));
    assert_true(fr_early_stop_reached(&stop));
    assert_int_equal(stop.best_at, 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(stops_after_patience_without_a_better_value),
    cmocka_unit_test(smaller_may_be_better),
    cmocka_unit_test(zero_patience_never_stops),
    cmocka_unit_test(what_is_no_number_is_never_best),
};
FR_TEST_MAIN(tests)
