/*
 * long_random_expressions.c: 10,000 random expressions through printer, parser, interpreter and
 * fingerprint. Oracle: the expression itself.
 */
#include "test_main.h"

#include "random_expression.h"

enum { N_EXPRESSIONS = 10000 };

static void text_parses_to_the_expression_it_was_printed_from(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < N_EXPRESSIONS; i++)
        check_round_trip(fr_test_seed(), i);
}

static void an_expression_told_differently_keeps_values_and_fingerprint(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < N_EXPRESSIONS; i++)
        check_fingerprint(fr_test_seed(), i);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(text_parses_to_the_expression_it_was_printed_from),
    cmocka_unit_test(an_expression_told_differently_keeps_values_and_fingerprint),
};
FR_TEST_MAIN(tests)
