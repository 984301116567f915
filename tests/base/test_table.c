/*
 * test_table.c: tables of text. Oracle: the tables written here.
 */
#include "base_test.h"

#include "base/table.h"

static char printed[4096];

/* What print writes, in `printed`. */
static fr_status print_to_text(fr_table *table, fr_status (*print)(fr_table *, FILE *))
{
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    assert_non_null(stream);
    const fr_status status = print(table, stream);
    (void)fclose(stream);
    return status;
}

static fr_table *sample(void)
{
    static const char *const titles[] = {"model", ">epochs", "note"};
    fr_table *table;
    assert_int_equal(fr_table_create(titles, 3, &table), FR_OK);
    fr_table_cell(table, "%s", "gat");
    fr_table_cell(table, "%d", 7);
    fr_table_cell(table, "%s", "");
    fr_table_cell(table, "%s", "na\xc3\xafve|x");
    fr_table_cell(table, "%d", 12345678);
    fr_table_cell(table, "%s", "second");
    return table;
}

static void columns_are_padded_and_numbers_set_right(void **state)
{
    (void)state;
    fr_table *table = sample();
    assert_int_equal(print_to_text(table, fr_table_print), FR_OK);
    assert_string_equal(printed, "model      epochs  note\n"
                                 "gat             7  \n"
                                 "na\xc3\xafve|x  12345678  second\n");
    fr_table_free(table);
}

static void markdown_has_a_rule_and_no_stray_bars(void **state)
{
    (void)state;
    fr_table *table = sample();
    assert_int_equal(print_to_text(table, fr_table_print_markdown), FR_OK);
    assert_string_equal(printed, "| model    |   epochs | note   |\n"
                                 "| -------- | -------: | ------ |\n"
                                 "| gat      |        7 |        |\n"
                                 "| na\xc3\xafve\\|x | 12345678 | second |\n");
    fr_table_free(table);
}

static void an_unfinished_row_prints_as_a_row(void **state)
{
    (void)state;
    static const char *const titles[] = {">a", "b"};
    fr_table *table;
    assert_int_equal(fr_table_create(titles, 2, &table), FR_OK);
    assert_int_equal(print_to_text(table, fr_table_print), FR_OK); /* titles alone */
    assert_string_equal(printed, "a  b\n");
    fr_table_cell(table, "%d", 1);
    assert_int_equal(print_to_text(table, fr_table_print), FR_OK);
    assert_string_equal(printed, "a  b\n1  \n");
    assert_int_equal(print_to_text(table, fr_table_print_markdown), FR_OK);
    assert_string_equal(printed, "|   a | b   |\n| --: | --- |\n|   1 |     |\n");
    fr_table_free(table);
}

static void a_long_cell_is_kept_whole(void **state)
{
    (void)state;
    static const char *const titles[] = {"path"};
    fr_table *table;
    assert_int_equal(fr_table_create(titles, 1, &table), FR_OK);
    fr_table_cell(table, "%0*d", 1000, 0);
    assert_int_equal(print_to_text(table, fr_table_print), FR_OK);
    assert_int_equal(strlen(printed), 5 + 1000 + 1);
    fr_table_free(table);
}

static void a_table_without_columns_is_refused(void **state)
{
    (void)state;
    fr_table *table;
    assert_int_equal(fr_table_create(NULL, 0, &table), FR_EINVAL);
    assert_null(table);
    fr_table_free(NULL);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip();
    fr_table *table = sample();
    assert_int_equal(fr_table_print(table, full), FR_EIO);
    (void)fclose(full);
    fr_table_free(table);
}

static fr_status fill_and_print(void *context)
{
    (void)context;
    static const char *const titles[] = {"a", ">b"};
    fr_table *table;
    fr_status status = fr_table_create(titles, 2, &table);
    if (status != FR_OK) {
        assert_null(table);
        return status;
    }
    for (int i = 0; i < 100; i++)
        fr_table_cell(table, "%d", i);
    status = print_to_text(table, fr_table_print);
    fr_table_free(table);
    return status;
}

static void a_table_survives_every_failure(void **state)
{
    (void)state;
    assert_true(fr_fail_each_allocation(fill_and_print, NULL) > 100);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(columns_are_padded_and_numbers_set_right),
    cmocka_unit_test(markdown_has_a_rule_and_no_stray_bars),
    cmocka_unit_test(an_unfinished_row_prints_as_a_row),
    cmocka_unit_test(a_long_cell_is_kept_whole),
    cmocka_unit_test(a_table_without_columns_is_refused),
    cmocka_unit_test(a_full_disk_is_reported),
    cmocka_unit_test(a_table_survives_every_failure),
};
FR_TEST_MAIN(tests)
