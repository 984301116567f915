/*
 * test_rows.c: moves of rows against one memcpy or one addition at a time.
 */
#include "kernel/rows.h"
#include "kernel_test.h"

static int64_t *numbers(int64_t n, int64_t n_rows)
{
    int64_t *ids = test_block(n, sizeof *ids);
    for (int64_t i = 0; i < n; i++)
        ids[i] = test_below(n_rows);
    return ids;
}

static int32_t *narrow(const int64_t *ids, int64_t n)
{
    int32_t *copy = test_block(n, sizeof *copy);
    for (int64_t i = 0; i < n; i++)
        copy[i] = (int32_t)ids[i];
    return copy;
}

static unsigned char *bytes_of(int64_t n)
{
    unsigned char *bytes = test_block(n, 1);
    for (int64_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)test_draw();
    return bytes;
}

static void check_gather(int64_t n_rows, int64_t bytes, int64_t gap, int64_t n)
{
    const int64_t stride = bytes + gap;
    unsigned char *table = bytes_of(n_rows * stride);
    unsigned char *out = bytes_of(n * bytes), *expected = bytes_of(n * bytes);
    int64_t *ids = numbers(n, n_rows);
    int32_t *ids32 = narrow(ids, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + i * bytes, table + ids[i] * stride, (size_t)bytes);
    for (int threads = 1; threads <= 2; threads++) {
        fr_set_threads(threads);
        assert_int_equal(fr_rows_gather_i64(table, n_rows, stride, bytes, ids, n, out), FR_OK);
        assert_memory_equal(out, expected, (size_t)(n * bytes));
        memset(out, 0, (size_t)(n * bytes));
        assert_int_equal(fr_rows_gather_i32(table, n_rows, stride, bytes, ids32, n, out), FR_OK);
        assert_memory_equal(out, expected, (size_t)(n * bytes));
    }
    free(table);
    free(out);
    free(expected);
    free(ids);
    free(ids32);
}

static void gathered_rows_are_copies(void **state)
{
    (void)state;
    const int64_t widths[] = {0, 1, 4, 8, 16, 32, 63, 64, 65, 400, 512, 1024, 2100};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_gather(1, widths[i], 0, 1);
        check_gather(50, widths[i], 0, 0);
        check_gather(50, widths[i], 16, 33);
        check_gather(700, widths[i], 0, 5000);
    }
}

static void check_scatter(int64_t n_rows, int64_t bytes, int64_t n)
{
    unsigned char *start = bytes_of(n_rows * bytes), *rows = bytes_of(n * bytes);
    unsigned char *table = bytes_of(n_rows * bytes), *expected = bytes_of(n_rows * bytes);
    int64_t *ids = numbers(n, n_rows);
    memcpy(expected, start, (size_t)(n_rows * bytes));
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + ids[i] * bytes, rows + i * bytes, (size_t)bytes);
    for (int threads = 1; threads <= 2; threads++) {
        fr_set_threads(threads);
        memcpy(table, start, (size_t)(n_rows * bytes));
        assert_int_equal(fr_rows_scatter_i64(table, n_rows, bytes, bytes, ids, n, rows), FR_OK);
        assert_memory_equal(table, expected, (size_t)(n_rows * bytes));
    }
    free(start);
    free(rows);
    free(table);
    free(expected);
    free(ids);
}

static void the_last_row_scattered_to_a_place_wins(void **state)
{
    (void)state;
    const int64_t widths[] = {1, 4, 64, 100, 1024};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_scatter(1, widths[i], 9);
        check_scatter(40, widths[i], 3000);
    }
}

static void check_add(int64_t n_rows, int64_t width, int64_t n)
{
    const int64_t elements = n_rows * width;
    float *start = test_floats(elements), *rows = test_floats(n * width);
    float *table = test_floats(elements), *expected = test_floats(elements);
    int64_t *ids = numbers(n, n_rows);
    int32_t *ids32 = narrow(ids, n);
    double *wide = test_doubles_of(start, elements), *wide_rows = test_doubles_of(rows, n * width);
    double *wide_expected = test_doubles_of(start, elements);
    memcpy(expected, start, (size_t)elements * sizeof *start);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++) {
            expected[ids[i] * width + j] += rows[i * width + j];
            wide_expected[ids[i] * width + j] += (double)rows[i * width + j];
        }
    for (TEST_EACH_ISA(isa))
        for (int threads = 1; threads <= 2; threads++) {
            fr_set_threads(threads);
            memcpy(table, start, (size_t)elements * sizeof *start);
            assert_int_equal(fr_rows_add_i64(table, n_rows, FR_F32, width, ids, n, rows), FR_OK);
            assert_memory_equal(table, expected, (size_t)elements * sizeof *start);
            memcpy(table, start, (size_t)elements * sizeof *start);
            assert_int_equal(fr_rows_add_i32(table, n_rows, FR_F32, width, ids32, n, rows), FR_OK);
            assert_memory_equal(table, expected, (size_t)elements * sizeof *start);
        }
    assert_int_equal(fr_rows_add_i64(wide, n_rows, FR_F64, width, ids, n, wide_rows), FR_OK);
    assert_memory_equal(wide, wide_expected, (size_t)elements * sizeof *wide);
    free(start);
    free(rows);
    free(table);
    free(expected);
    free(ids);
    free(ids32);
    free(wide);
    free(wide_rows);
    free(wide_expected);
}

static void added_rows_keep_the_order_of_their_numbers(void **state)
{
    (void)state;
    const int64_t widths[] = {0, 1, 7, 15, 16, 17, 64, 257};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_add(1, widths[i], 1);
        check_add(30, widths[i], 0);
        check_add(30, widths[i], 3000);
    }
}

static void merged_rows_come_from_both_places(void **state)
{
    (void)state;
    const int64_t bytes = 12, n = 3000;
    unsigned char *computed = bytes_of(20 * bytes), *cached = bytes_of(30 * bytes);
    unsigned char *out = bytes_of(n * bytes);
    int32_t *position = test_block(n, sizeof *position);
    for (int64_t i = 0; i < n; i++)
        position[i] = (int32_t)(test_below(50) - 30);
    for (int threads = 1; threads <= 2; threads++) {
        fr_set_threads(threads);
        assert_int_equal(fr_rows_merge(computed, 20, cached, 30, position, n, bytes, out), FR_OK);
        for (int64_t i = 0; i < n; i++) {
            const unsigned char *from = position[i] >= 0 ? computed + position[i] * bytes
                                                         : cached + (-1 - position[i]) * bytes;
            assert_memory_equal(out + i * bytes, from, (size_t)bytes);
        }
    }
    position[7] = 20;
    assert_int_equal(fr_rows_merge(computed, 20, cached, 30, position, n, bytes, out), FR_ERANGE);
    position[7] = -31;
    assert_int_equal(fr_rows_merge(computed, 20, cached, 30, position, n, bytes, out), FR_ERANGE);
    assert_int_equal(fr_rows_merge(NULL, 0, NULL, 0, NULL, 0, bytes, NULL), FR_OK);
    free(computed);
    free(cached);
    free(out);
    free(position);
}

static void numbers_out_of_range_are_named_and_nothing_moves(void **state)
{
    (void)state;
    float table[8] = {0}, out[4] = {7, 7, 7, 7};
    const int64_t bad[][2] = {{0, 4}, {0, -1}, {0, INT64_MIN}, {0, INT64_MAX}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fr_rows_gather_i64(table, 4, 8, 8, bad[i], 2, out), FR_ERANGE);
        assert_non_null(strstr(fr_error_message(), "at place 1 of a table of 4 rows"));
        assert_true(out[0] == 7.0F);
        assert_int_equal(fr_rows_scatter_i64(table, 4, 8, 8, bad[i], 2, out), FR_ERANGE);
        assert_int_equal(fr_rows_add_i64(table, 4, FR_F32, 2, bad[i], 2, out), FR_ERANGE);
        assert_true(table[0] == 0.0F);
    }
    const int32_t bad32[2] = {INT32_MIN, 0};
    assert_int_equal(fr_rows_gather_i32(table, 4, 8, 8, bad32, 2, out), FR_ERANGE);
    assert_int_equal(fr_rows_gather_i64(table, 0, 8, 8, bad[0], 1, out), FR_ERANGE);
    assert_int_equal(fr_rows_add_i64(table, 4, FR_I32, 2, bad[0], 1, out), FR_EDTYPE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gathered_rows_are_copies),
    cmocka_unit_test(the_last_row_scattered_to_a_place_wins),
    cmocka_unit_test(added_rows_keep_the_order_of_their_numbers),
    cmocka_unit_test(merged_rows_come_from_both_places),
    cmocka_unit_test(numbers_out_of_range_are_named_and_nothing_moves),
};
FR_TEST_MAIN(tests)
