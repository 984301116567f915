/*
 * test_text.c: numbers out of strings. Oracle: the values written here; a recursive edit distance.
 */
#include "test_main.h"

#include <locale.h>

#include "base/random.h"
#include "base/text.h"

static void integers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"+7", 7},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 1;
        assert_true(fr_parse_int(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"",
                                      " ",
                                      "-",
                                      "+",
                                      " 7",
                                      "7 ",
                                      "7x",
                                      "x7",
                                      "1.5",
                                      "1e3",
                                      "0x10",
                                      "--7",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "7\n",
                                      "\t7",
                                      "1,000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 42;
        assert_false(fr_parse_int(bad[i], &value));
        assert_int_equal(value, 42);
    }
}

static void doubles_are_finite_decimal_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},  {"-1.5", -1.5}, {"1e-3", 1e-3}, {".5", 0.5},
                {"5.", 5}, {"1E3", 1e3},   {"1e-400", 0}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 42;
        assert_true(fr_parse_double(good[i].text, &value));
        assert_true(value == good[i].value);
    }
    static const char *const bad[] = {"",         "x",     ".",     "-",      "e5",    " 1",
                                      "1 ",       "1,5",   "nan",   "NaN",    "inf",   "-inf",
                                      "infinity", "0x1p3", "1e400", "-1e400", "1.5.5", "1e"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 42;
        assert_false(fr_parse_double(bad[i], &value));
        assert_true(value == 42);
    }
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found)
        skip();
    double value;
    assert_true(fr_parse_double("1.5", &value));
    assert_true(value == 1.5);
    assert_false(fr_parse_double("1,5", &value));
    (void)setlocale(LC_ALL, "C");
}

static void sizes_have_suffixes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"1", 1},
                {"512M", (int64_t)512 << 20},
                {"8G", (int64_t)8 << 30},
                {"8g", (int64_t)8 << 30},
                {"1.5G", (int64_t)3 << 29},
                {"2K", 2048},
                {"3T", (int64_t)3 << 40},
                {"0.0001K", 0},
                {"1e3", 1000},
                {"9007199254740993", 9007199254740993}, /* more digits than a double has */
                {"9223372036854775807", INT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 42;
        assert_true(fr_parse_size(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "-1K",
                                      "-0.5G",
                                      "1KB",
                                      "1 K",
                                      "K1",
                                      "1.5",
                                      "8X",
                                      "1MM",
                                      "nanG",
                                      "9223372036854775807K",
                                      "1e30",
                                      "8388608T",
                                      "10000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 42;
        assert_false(fr_parse_size(bad[i], &value));
        if (strcmp(bad[i], "9223372036854775807K") != 0 && strcmp(bad[i], "8388608T") != 0)
            assert_int_equal(value, 42);
    }
}

static void lists_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    int64_t values[4] = {0};
    int n = 0;
    assert_true(fr_parse_int_list("20,15,10", values, 4, &n));
    assert_int_equal(n, 3);
    assert_true(values[0] == 20 && values[1] == 15 && values[2] == 10);
    assert_true(fr_parse_int_list("-1", values, 1, &n));
    assert_true(n == 1 && values[0] == -1);
    static const char *const bad[] = {
        "",     ",",   "1,",  ",1",        "1,,2",
        "1, 2", "1;2", "1,x", "1,2,3,4,5", "1,00000000000000000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        values[0] = 42;
        n = 42;
        assert_false(fr_parse_int_list(bad[i], values, 4, &n));
        assert_true(values[0] == 42 && n == 42);
    }
    assert_false(fr_parse_int_list("1", values, 0, &n));
}

static void junk_never_changes_the_output(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 0);
    static const char letters[] = "0123456789+-.,eEkKMGTxXnNaAiIfF \t";
    for (int round = 0; round < 50000; round++) {
        char text[20];
        const size_t length = (size_t)fr_random_below(&random, sizeof text);
        for (size_t i = 0; i < length; i++)
            text[i] = round % 2 == 0 ? letters[fr_random_below(&random, sizeof letters - 1)]
                                     : (char)fr_random_u32(&random);
        text[length] = '\0';
        int64_t i = 42, s = 42, values[3] = {42, 42, 42};
        double d = 42;
        int n = 42;
        assert_true(fr_parse_int(text, &i) || i == 42);
        assert_true(fr_parse_double(text, &d) || d == 42);
        assert_true(fr_parse_size(text, &s) || s == 42);
        assert_true(s >= 0);
        assert_true(fr_parse_int_list(text, values, 3, &n) ||
                    (n == 42 && values[0] == 42 && values[2] == 42));
    }
}

/* Optimal string alignment by its recursion. */
static int slow_distance(const char *a, int n, const char *b, int m)
{
    if (n == 0 || m == 0)
        return n + m;
    int best = slow_distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    const int drop = slow_distance(a, n - 1, b, m) + 1, add = slow_distance(a, n, b, m - 1) + 1;
    best = drop < best ? drop : best;
    best = add < best ? add : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        const int swap = slow_distance(a, n - 2, b, m - 2) + 1;
        best = swap < best ? swap : best;
    }
    return best;
}

static void distances_agree_with_the_recursion(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int round = 0; round < 500; round++) {
        char words[2][7];
        int lengths[2];
        for (int w = 0; w < 2; w++) {
            lengths[w] = (int)fr_random_below(&random, 7);
            for (int i = 0; i < lengths[w]; i++)
                words[w][i] = (char)('a' + fr_random_below(&random, 3));
            words[w][lengths[w]] = '\0';
        }
        assert_int_equal(fr_edit_distance(words[0], words[1]),
                         slow_distance(words[0], lengths[0], words[1], lengths[1]));
        assert_int_equal(fr_edit_distance(words[0], words[1]),
                         fr_edit_distance(words[1], words[0]));
    }
    assert_int_equal(fr_edit_distance("epochs", "epcohs"), 1);
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(fr_edit_distance(longer, ""), 63); /* longer words are cut */
}

static void the_nearest_word_is_near_or_none(void **state)
{
    (void)state;
    static const char *const words[] = {"--epochs", "--fanout", "--hidden", "--seed",
                                        "gcn",      "gat",      "sage"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"--epoch", "--epochs"},
                 {"--hiden", "--hidden"},
                 {"--fan-out", "--fanout"},
                 {"--sede", "--seed"},
                 {"gatt", "gat"},
                 {"gcn", "gcn"},
                 {"--something", NULL},
                 {"xyz", NULL},
                 {"", NULL},
                 {"q", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = fr_nearest_word(cases[i].word, words, 7);
        if (cases[i].nearest == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, cases[i].nearest);
    }
    assert_null(fr_nearest_word("gcn", words, 0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(integers_are_read_whole_or_not_at_all),
    cmocka_unit_test(doubles_are_finite_decimal_numbers),
    cmocka_unit_test(numbers_do_not_follow_the_locale),
    cmocka_unit_test(sizes_have_suffixes),
    cmocka_unit_test(lists_are_read_whole_or_not_at_all),
    cmocka_unit_test(junk_never_changes_the_output),
    cmocka_unit_test(distances_agree_with_the_recursion),
    cmocka_unit_test(the_nearest_word_is_near_or_none),
};
FR_TEST_MAIN(tests)
