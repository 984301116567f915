/*
 * test_error.c: the sentence behind a status. Oracle: the words written here, and docs/errors.md.
 */
#include "test_main.h"

#include <errno.h>
#include <pthread.h>

#include "base/error.h"

static const struct {
    fr_status status;
    int number;
    const char *name, *words;
} statuses[] = {
#define ROW(name, number, words) {name, number, #name, words},
    FR_STATUS_TABLE(ROW)
#undef ROW
};
enum { N_STATUSES = sizeof statuses / sizeof *statuses };

static void every_status_has_its_number_name_and_words(void **state)
{
    (void)state;
    for (int i = 0; i < N_STATUSES; i++) {
        assert_int_equal(statuses[i].status, statuses[i].number);
        assert_int_equal(statuses[i].number, i); /* numbers have no gaps, so none was taken away */
        assert_string_equal(fr_status_name(statuses[i].status), statuses[i].name);
        assert_string_equal(fr_status_words(statuses[i].status), statuses[i].words);
    }
    assert_string_equal(fr_status_name((fr_status)N_STATUSES), "FR_UNKNOWN");
    assert_string_equal(fr_status_words((fr_status)N_STATUSES), "unknown status");
}

static char *read_documentation(void)
{
    const char *source = getenv("FR_SOURCE_DIR");
    char path[4096];
    if (source == NULL ||
        snprintf(path, sizeof path, "%s/docs/errors.md", source) >= (int)sizeof path)
        return NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    static char text[1 << 16];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void every_status_is_documented(void **state)
{
    (void)state;
    const char *text = read_documentation();
    if (text == NULL)
        skip();
    for (int i = 0; i < N_STATUSES; i++) {
        char row[256];
        (void)snprintf(row, sizeof row, "\n| %d | `%s` | %s |", statuses[i].number,
                       statuses[i].name, statuses[i].words);
        if (strstr(text, row) == NULL)
            fail_msg("docs/errors.md lacks the row:%s", row);
    }
    int n_rows = 0;
    for (const char *row = text; (row = strstr(row, "\n| ")) != NULL; row += 3)
        n_rows += row[3] >= '0' && row[3] <= '9';
    assert_int_equal(n_rows, N_STATUSES); /* and names none that does not exist */
}

static void a_failure_leaves_its_sentence(void **state)
{
    (void)state;
    assert_int_equal(fr_fail(FR_ESHAPE, "inner sizes %d and %d differ", 3, 4), FR_ESHAPE);
    assert_string_equal(fr_error_message(), "inner sizes 3 and 4 differ");
}

static void a_sentence_may_quote_the_one_before(void **state)
{
    (void)state;
    (void)fr_fail(FR_EIO, "first");
    (void)fr_fail(FR_EIO, "second after %s", fr_error_message());
    assert_string_equal(fr_error_message(), "second after first");
}

static void wrapping_puts_the_outer_fact_in_front(void **state)
{
    (void)state;
    (void)fr_fail(FR_EFORMAT, "3 edges, 4 expected");
    assert_int_equal(fr_wrap(fr_wrap(FR_EFORMAT, "indices.bin"), "graph %d", 7), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "graph 7: indices.bin: 3 edges, 4 expected");
}

static void wrapping_success_changes_nothing(void **state)
{
    (void)state;
    (void)fr_fail(FR_EIO, "old");
    assert_int_equal(fr_wrap(FR_OK, "new"), FR_OK);
    assert_string_equal(fr_error_message(), "old");
}

static void system_errors_become_statuses(void **state)
{
    (void)state;
    static const struct {
        int error;
        fr_status status;
    } cases[] = {{ENOSPC, FR_ENOSPC}, {EDQUOT, FR_ENOSPC}, {ENOMEM, FR_ENOMEM}, {ENOENT, FR_ENOENT},
                 {EEXIST, FR_EEXIST}, {EIO, FR_EIO},       {EACCES, FR_EIO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(fr_fail_errno(cases[i].error, "x"), cases[i].status);
    (void)fr_fail_errno(ENOENT, "%s: opening", "cora.npz");
    assert_string_equal(fr_error_message(), "cora.npz: opening: No such file or directory");
}

static void a_long_sentence_is_cut_not_overrun(void **state)
{
    (void)state;
    static char long_text[4 * FR_ERROR_BYTES];
    memset(long_text, 'x', sizeof long_text - 1);
    (void)fr_fail(FR_EIO, "%s", long_text);
    assert_int_equal(strlen(fr_error_message()), FR_ERROR_BYTES - 1);
    (void)fr_wrap(FR_EIO, "%s", long_text);
    (void)fr_fail_errno(EIO, "%s", long_text);
    assert_int_equal(strlen(fr_error_message()), FR_ERROR_BYTES - 1);
    fr_error_set(long_text);
    assert_int_equal(strlen(fr_error_message()), FR_ERROR_BYTES - 1);
}

static void *fail_elsewhere(void *seen)
{
    *(char *)seen = fr_error_message()[0];
    (void)fr_fail(FR_EIO, "of the other thread");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state)
{
    (void)state;
    (void)fr_fail(FR_EIO, "of this thread");
    pthread_t thread;
    char seen = '?';
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, '\0');
    assert_string_equal(fr_error_message(), "of this thread");
}

static void the_version_is_three_numbers(void **state)
{
    (void)state;
    int major, minor, patch, end = 0;
    assert_int_equal(sscanf(fr_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    assert_int_equal(fr_version()[end], '\0');
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_status_has_its_number_name_and_words),
    cmocka_unit_test(every_status_is_documented),
    cmocka_unit_test(a_failure_leaves_its_sentence),
    cmocka_unit_test(a_sentence_may_quote_the_one_before),
    cmocka_unit_test(wrapping_puts_the_outer_fact_in_front),
    cmocka_unit_test(wrapping_success_changes_nothing),
    cmocka_unit_test(system_errors_become_statuses),
    cmocka_unit_test(a_long_sentence_is_cut_not_overrun),
    cmocka_unit_test(each_thread_has_its_own_sentence),
    cmocka_unit_test(the_version_is_three_numbers),
};
FR_TEST_MAIN(tests)
