/*
 * test_dim.c: symbolic sizes. Oracle: the same expressions evaluated as numbers.
 */
#include "test_main.h"

#include <frugal/program.h>

#include "base/alloc.h"
#include "base/random.h"
#include "program/program_body.h"

static void equal_expressions_are_equal_dims(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim a = fr_symbol(p, "a"), b = fr_symbol(p, "b"), two = fr_constant(2);
    assert_true(fr_dim_equal(a, fr_symbol(p, "a")));
    assert_false(fr_dim_equal(a, b));
    assert_true(fr_dim_equal(fr_dim_add(p, a, b), fr_dim_add(p, b, a)));
    assert_true(fr_dim_equal(fr_dim_multiply(p, a, b), fr_dim_multiply(p, b, a)));
    assert_true(fr_dim_equal(fr_dim_add(p, a, a), fr_dim_multiply(p, two, a)));
    /* (a+b)^2 = a^2 + 2ab + b^2 */
    const fr_dim sum = fr_dim_add(p, a, b), ab = fr_dim_multiply(p, a, b);
    const fr_dim squares = fr_dim_add(p, fr_dim_multiply(p, a, a), fr_dim_multiply(p, b, b));
    assert_true(fr_dim_equal(fr_dim_multiply(p, sum, sum),
                             fr_dim_add(p, squares, fr_dim_multiply(p, two, ab))));
    /* what is added is taken away; what is multiplied is divided */
    assert_true(fr_dim_equal(fr_dim_subtract(p, sum, b), a));
    assert_true(fr_dim_equal(fr_dim_divide(p, fr_dim_multiply(p, a, fr_constant(6)), 3),
                             fr_dim_multiply(p, a, two)));
    assert_true(fr_dim_equal(fr_dim_divide(p, a, 1), a));
    assert_true(fr_dim_equal(fr_dim_divide(p, a, 4), fr_dim_divide(p, a, 4)));
    assert_int_equal(fr_program_check(p), FR_OK);
    fr_program_free(p);
}

static void constants_fold(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim a = fr_symbol(p, "a");
    const fr_dim five = fr_dim_add(p, fr_constant(2), fr_constant(3));
    assert_true(five.symbol == -1 && five.size == 5);
    assert_int_equal(fr_dim_multiply(p, five, fr_constant(4)).size, 20);
    assert_int_equal(fr_dim_divide(p, fr_constant(17), 5).size, 3);
    assert_true(fr_dim_equal(fr_dim_multiply(p, a, fr_constant(0)), fr_constant(0)));
    assert_true(fr_dim_equal(fr_dim_multiply(p, a, fr_constant(1)), a));
    assert_true(fr_dim_equal(fr_dim_add(p, a, fr_constant(0)), a));
    fr_program_free(p);
}

static void dims_print(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim n = fr_symbol(p, "n0"), m = fr_symbol(p, "m");
    char text[64], tiny[4];
    assert_string_equal(fr_dim_text(p, fr_constant(64), text, sizeof text), "64");
    assert_string_equal(fr_dim_text(p, n, text, sizeof text), "n0");
    assert_string_equal(fr_dim_text(p, fr_dim_add(p, m, n), text, sizeof text), "(n0+m)");
    assert_string_equal(fr_dim_text(p, fr_dim_subtract(p, n, fr_dim_multiply(p, fr_constant(3), m)),
                                    text, sizeof text),
                        "(n0-3*m)");
    assert_string_equal(
        fr_dim_text(p, fr_dim_divide(p, fr_dim_add(p, n, fr_constant(1)), 4), text, sizeof text),
        "((n0+1)/4)");
    assert_string_equal(fr_dim_text(p, fr_dim_multiply(p, n, fr_dim_multiply(p, m, fr_constant(2))),
                                    text, sizeof text),
                        "(2*n0*m)");
    assert_string_equal(fr_dim_text(p, fr_dim_add(p, m, n), tiny, sizeof tiny), "(n0");
    fr_program_free(p);
}

enum { N_SYMBOLS = 3 };

/* A random expression; *number is its value under `sizes`, *bound under the larger `most`. */
static fr_dim random_dim(fr_program *p, fr_random *random, int depth, const int64_t *sizes,
                         int64_t *number)
{
    static const char *const names[N_SYMBOLS] = {"a", "b", "c"};
    if (depth == 0 || fr_random_below(random, 4) == 0) {
        const uint64_t which = fr_random_below(random, N_SYMBOLS + 1);
        if (which == N_SYMBOLS) {
            *number = (int64_t)fr_random_below(random, 5);
            return fr_constant(*number);
        }
        *number = sizes[which];
        return fr_symbol(p, names[which]);
    }
    int64_t x, y;
    const fr_dim a = random_dim(p, random, depth - 1, sizes, &x),
                 b = random_dim(p, random, depth - 1, sizes, &y);
    const int64_t divisor = 1 + (int64_t)fr_random_below(random, 5);
    switch (fr_random_below(random, 4)) {
    case 0: *number = x + y; return fr_dim_add(p, a, b);
    case 1: *number = x * y; return fr_dim_multiply(p, a, b);
    case 2: *number = x - y; return fr_dim_subtract(p, a, b);
    default: *number = x / divisor - (x % divisor < 0); return fr_dim_divide(p, a, divisor);
    }
}

static void random_expressions_evaluate_to_their_numbers(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int round = 0; round < 2000; round++) {
        fr_program *p = fr_program_create();
        int64_t sizes[N_SYMBOLS], evaluated[256] = {0}, bound[256] = {0}, number;
        const fr_dim symbols[] = {fr_symbol(p, "a"), fr_symbol(p, "b"), fr_symbol(p, "c")};
        for (int i = 0; i < N_SYMBOLS; i++) {
            sizes[i] = (int64_t)fr_random_below(&random, 50);
            evaluated[symbols[i].symbol] = sizes[i];
            bound[symbols[i].symbol] = sizes[i] + (int64_t)fr_random_below(&random, 20);
        }
        const fr_dim dim = random_dim(p, &random, 3, sizes, &number);
        if (fr_program_check(p) == FR_OK) {
            assert_true(p->n_dims < 256);
            assert_int_equal(fr_dims_evaluate(p, evaluated), FR_OK);
            assert_int_equal(fr_dims_bound(p, bound), FR_OK);
            assert_int_equal(fr_dim_size(dim, evaluated), number);
            assert_true(fr_dim_size(dim, bound) >= number); /* memory planned for more suffices */
        } else {
            assert_int_equal(fr_program_check(p), FR_ERANGE); /* a product of too many symbols */
        }
        fr_program_free(p);
    }
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim a = fr_symbol(p, "a");
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(fr_dim_multiply(p, a, a)));
    fr_output(p, "y", fr_relu(p, x));
    fr_executor *e;
    assert_int_equal(fr_executor_create(p, NULL, &e), FR_OK);
    assert_int_equal(fr_executor_bind(e, a, INT64_MAX / 2), FR_ERANGE);
    assert_int_equal(fr_executor_bind(e, a, -1), FR_ERANGE);
    assert_int_equal(fr_executor_bind(e, fr_constant(3), 1), FR_EINVAL);
    fr_executor_free(e);
    const fr_dim huge = fr_constant(INT64_MAX / 2);
    (void)fr_dim_multiply(p, huge, huge);
    assert_int_equal(fr_program_check(p), FR_ERANGE);
    fr_program_free(p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_expressions_are_equal_dims),
    cmocka_unit_test(constants_fold),
    cmocka_unit_test(dims_print),
    cmocka_unit_test(random_expressions_evaluate_to_their_numbers),
    cmocka_unit_test(sizes_that_overflow_are_refused),
};

FR_TEST_MAIN(tests)
