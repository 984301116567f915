/*
 * Oracle: the lines and fields written out in the test.
 */
#include "format_test.h"

#include "format/lines.h"

static void lines_of_any_ending_and_length_come_in_order(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "t.txt");
    const size_t n_long = 3 << 20;
    char *text = malloc(n_long + 64), *line;
    assert_non_null(text);
    memset(text, 'x', n_long);
    memcpy(text + n_long, "\n\nb\r\n\r\nlast", 12);
    write_gz(path, text);
    fr_lines *lines;
    assert_int_equal(fr_lines_open(path, &lines), FR_OK);
    assert_int_equal(fr_lines_next(lines, &line), FR_OK);
    assert_int_equal(strlen(line), n_long);
    const char *rest[] = {"", "b", "", "last"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fr_lines_next(lines, &line), FR_OK);
        assert_string_equal(line, rest[i]);
        assert_int_equal(fr_lines_number(lines), i + 2);
    }
    assert_int_equal(fr_lines_next(lines, &line), FR_OK);
    assert_null(line);
    assert_int_equal(fr_lines_next(lines, &line), FR_OK);
    assert_null(line);
    fr_lines_free(lines);
    free(text);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_0_byte_and_a_line_without_end_are_refused(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "t.txt");
    char *line, *text = calloc(1, 17 << 20);
    fr_lines *lines;
    assert_non_null(text);
    write_bytes(path, "ab\0c\n", 5);
    assert_int_equal(fr_lines_open(path, &lines), FR_OK);
    assert_int_equal(fr_lines_next(lines, &line), FR_EFORMAT);
    assert_non_null(strstr(fr_error_message(), "t.txt:1"));
    fr_lines_free(lines);
    memset(text, 'y', 17 << 20);
    write_bytes(path, text, 17 << 20);
    assert_int_equal(fr_lines_open(path, &lines), FR_OK);
    assert_int_equal(fr_lines_next(lines, &line), FR_EFORMAT);
    fr_lines_free(lines);
    free(text);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void integers_stop_at_the_last_digit_and_at_64_bits(void **state)
{
    (void)state;
    int64_t value;
    const char *at = "-12x";
    assert_true(fr_scan_int(&at, &value));
    assert_int_equal(value, -12);
    assert_string_equal(at, "x");
    at = "9223372036854775807";
    assert_true(fr_scan_int(&at, &value));
    assert_true(value == INT64_MAX);
    const char *bad[] = {"", "-", "+", "x", " 1", "9223372036854775808", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        at = bad[i];
        assert_false(fr_scan_int(&at, &value));
        assert_ptr_equal(at, bad[i]);
    }
}

static void csv_fields_lose_their_quotes(void **state)
{
    (void)state;
    char line[] = "a,\"b,c\",\"d\"\"e\",,\"\"", *fields[8];
    assert_int_equal(fr_split_csv(line, fields, 8), 5);
    const char *expected[] = {"a", "b,c", "d\"e", "", ""};
    for (int i = 0; i < 5; i++)
        assert_string_equal(fields[i], expected[i]);
    char open[] = "a,\"b", many[] = "a,b,c", empty[] = "";
    assert_int_equal(fr_split_csv(open, fields, 8), -1);
    assert_int_equal(fr_split_csv(many, fields, 2), -2);
    assert_int_equal(fr_split_csv(empty, fields, 2), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_of_any_ending_and_length_come_in_order),
    cmocka_unit_test(a_0_byte_and_a_line_without_end_are_refused),
    cmocka_unit_test(integers_stop_at_the_last_digit_and_at_64_bits),
    cmocka_unit_test(csv_fields_lose_their_quotes),
};

FR_TEST_MAIN(tests)
