/*
 * test_alloc.c: checked, counted, injectable memory. Oracle: the counts, and the sanitizers that
 * run the same tests.
 */
#include "base_test.h"

static void blocks_are_zeroed_and_counted(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks(), bytes = fr_live_bytes(), count = fr_alloc_count();
    int *block;
    assert_int_equal(fr_alloc(1000, sizeof *block, "numbers", &block), FR_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(block[i], 0);
    assert_int_equal(fr_live_blocks(), live + 1);
    assert_int_equal(fr_live_bytes(), bytes + 4000);
    assert_int_equal(fr_alloc_count(), count + 1);
    fr_free(block);
    fr_free(NULL);
    assert_int_equal(fr_live_blocks(), live);
    assert_int_equal(fr_live_bytes(), bytes);
    assert_int_equal(fr_alloc_count(), count + 1);
}

static void nothing_is_a_valid_block(void **state)
{
    (void)state;
    char *none = NULL, *aligned = NULL;
    assert_int_equal(fr_alloc(0, 8, "none", &none), FR_OK);
    assert_int_equal(fr_alloc_aligned(8, 0, "none", &aligned), FR_OK);
    assert_non_null(none);
    assert_non_null(aligned);
    assert_int_equal(fr_realloc(&none, 0, 8, "none"), FR_OK);
    assert_non_null(none);
    fr_free(none);
    fr_free(aligned);
}

static void aligned_blocks_are_aligned_at_every_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,      63, 64, 65, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1,
                                   5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block;
        assert_int_equal(fr_alloc_aligned(sizes[i], 1, "tensor", &block), FR_OK);
        assert_int_equal((uintptr_t)block % FR_ALIGNMENT, 0);
        block[0] = 1;
        block[sizes[i] - 1] = 1;
        fr_free(block);
    }
}

static void a_product_that_overflows_is_out_of_memory(void **state)
{
    (void)state;
    static const struct {
        size_t count, size;
    } cases[] = {
        {SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 8 + 1, 8}, {SIZE_MAX, 1}, {PTRDIFF_MAX, 1}};
    const int64_t live = fr_live_blocks();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dummy = 0, *block = &dummy;
        assert_int_equal(fr_alloc(cases[i].count, cases[i].size, "rows of x", &block), FR_ENOMEM);
        assert_null(block);
        assert_non_null(strstr(fr_error_message(), "rows of x: "));
        block = &dummy;
        assert_int_equal(fr_alloc_aligned(cases[i].count, cases[i].size, "x", &block), FR_ENOMEM);
        assert_null(block);
    }
    assert_int_equal(fr_live_blocks(), live);
}

static void growing_keeps_the_content(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks(), bytes = fr_live_bytes();
    int *numbers = NULL;
    for (int n = 1; n <= 300; n++) {
        assert_int_equal(fr_realloc(&numbers, (size_t)n, sizeof *numbers, "numbers"), FR_OK);
        numbers[n - 1] = n;
        assert_int_equal(fr_live_blocks(), live + 1);
        assert_int_equal(fr_live_bytes(), bytes + 4 * n);
    }
    for (int n = 1; n <= 300; n++)
        assert_int_equal(numbers[n - 1], n);
    fr_free(numbers);
}

static void failed_growth_leaves_the_old_block(void **state)
{
    (void)state;
    int *numbers = NULL;
    assert_int_equal(fr_realloc(&numbers, 1, sizeof *numbers, "numbers"), FR_OK);
    numbers[0] = 42;
    const int64_t bytes = fr_live_bytes();
    fr_alloc_fail_at(0);
    assert_int_equal(fr_realloc(&numbers, 1000, sizeof *numbers, "numbers"), FR_ENOMEM);
    assert_int_equal(fr_realloc(&numbers, SIZE_MAX, sizeof *numbers, "numbers"), FR_ENOMEM);
    assert_int_equal(numbers[0], 42);
    assert_int_equal(fr_live_bytes(), bytes);
    fr_free(numbers);
}

static void injection_fails_the_nth_call_and_only_that(void **state)
{
    (void)state;
    fr_alloc_fail_at(2);
    char *blocks[5];
    for (int i = 0; i < 5; i++)
        assert_int_equal(fr_alloc(1, 1, "block", &blocks[i]), i == 2 ? FR_ENOMEM : FR_OK);
    for (int i = 0; i < 5; i++)
        fr_free(blocks[i]);
    fr_alloc_fail_at(0);
    fr_alloc_fail_at(-1);
    assert_int_equal(fr_alloc(1, 1, "block", &blocks[0]), FR_OK);
    fr_free(blocks[0]);
}

static fr_status copy_and_format(void *context)
{
    (void)context;
    char *copy = NULL, *text = NULL;
    fr_status status = fr_strdup("abc", &copy);
    if (status == FR_OK)
        status = fr_format(&text, "%s-%d", copy, 7);
    if (status != FR_OK)
        assert_null(text);
    else
        assert_string_equal(text, "abc-7");
    fr_free(copy);
    fr_free(text);
    return status;
}

static void strings_survive_every_failure(void **state)
{
    (void)state;
    assert_int_equal(fr_fail_each_allocation(copy_and_format, NULL), 2);
}

static void a_formatted_string_has_any_length(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(fr_format(&text, "%0*d", 5000, 1), FR_OK);
    assert_int_equal(strlen(text), 5000);
    fr_free(text);
    assert_int_equal(fr_format(&text, "%s", ""), FR_OK);
    assert_string_equal(text, "");
    fr_free(text);
}

static void products_of_sizes_are_checked(void **state)
{
    (void)state;
    int64_t product = 1;
    assert_true(fr_multiply(3000000000, 3000000000, &product));
    assert_int_equal(product, 9000000000000000000);
    assert_true(fr_multiply(0, INT64_MAX, &product));
    assert_int_equal(product, 0);
    assert_true(fr_multiply(1, INT64_MAX, &product));
    static const int64_t bad[][2] = {{2, INT64_MAX}, {INT64_MAX, INT64_MAX}, {-1, 1}, {1, -1},
                                     {-2, -2},       {INT64_MIN, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        product = 1;
        assert_false(fr_multiply(bad[i][0], bad[i][1], &product));
        assert_int_equal(product, 0);
    }
}

static void reserving_keeps_contents_and_allocates_only_to_grow(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    int32_t *values = NULL;
    int64_t capacity = 0;
    assert_int_equal(fr_reserve(&values, &capacity, 3, sizeof *values, "values"), FR_OK);
    assert_true(capacity >= 3);
    values[2] = 7;
    const int64_t before = fr_alloc_count();
    assert_int_equal(fr_reserve(&values, &capacity, capacity, sizeof *values, "values"), FR_OK);
    assert_int_equal(fr_alloc_count(), before);
    assert_int_equal(fr_reserve(&values, &capacity, capacity + 1, sizeof *values, "values"), FR_OK);
    assert_int_equal(values[2], 7);
    const int64_t held = capacity;
    fr_alloc_fail_at(0);
    assert_int_equal(fr_reserve(&values, &capacity, held + 1, sizeof *values, "values"), FR_ENOMEM);
    fr_alloc_fail_at(-1);
    assert_int_equal(capacity, held);
    assert_int_equal(values[2], 7);
    fr_free(values);
    assert_int_equal(fr_live_blocks(), live);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reserving_keeps_contents_and_allocates_only_to_grow),
    cmocka_unit_test(blocks_are_zeroed_and_counted),
    cmocka_unit_test(nothing_is_a_valid_block),
    cmocka_unit_test(aligned_blocks_are_aligned_at_every_size),
    cmocka_unit_test(a_product_that_overflows_is_out_of_memory),
    cmocka_unit_test(growing_keeps_the_content),
    cmocka_unit_test(failed_growth_leaves_the_old_block),
    cmocka_unit_test(injection_fails_the_nth_call_and_only_that),
    cmocka_unit_test(strings_survive_every_failure),
    cmocka_unit_test(a_formatted_string_has_any_length),
    cmocka_unit_test(products_of_sizes_are_checked),
};
FR_TEST_MAIN(tests)
