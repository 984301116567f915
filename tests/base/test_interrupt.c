/*
 * test_interrupt.c: a request to stop, from a signal handler.
 */
#include "test_main.h"

#include <signal.h>

#include "base/interrupt.h"

static void handle(int number)
{
    (void)number;
    fr_interrupt_request();
}

static void a_signal_requests_and_clear_forgets(void **state)
{
    (void)state;
    assert_false(fr_interrupt_requested());
    struct sigaction action = {.sa_handler = handle};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_true(fr_interrupt_requested());
    assert_true(fr_interrupt_requested()); /* asking does not forget */
    fr_interrupt_clear();
    assert_false(fr_interrupt_requested());
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_signal_requests_and_clear_forgets),
};
FR_TEST_MAIN(tests)
