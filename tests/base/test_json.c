/*
 * test_json.c: JSON in and out. Oracle: the sentences and texts written here; what is written reads
 * back.
 */
#include "base_test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>

#include "base/json.h"
#include "base/random.h"

static fr_json *parsed(const char *text)
{
    fr_json *json = NULL;
    assert_int_equal(fr_json_parse(text, "x.json", &json), FR_OK);
    return json;
}

static const char *const sample = "{\"i\": 7, \"d\": 2.5, \"b\": true, \"s\": \"text\", \"o\": "
                                  "{\"n\": -1}, \"a\": [1, 2], \"z\": null}";

static void getters_give_what_is_there(void **state)
{
    (void)state;
    fr_json *json = parsed(sample);
    int64_t i = 0;
    double d = 0;
    bool b = false;
    const char *s = NULL;
    const fr_json *o = NULL, *a = NULL;
    assert_int_equal(fr_json_get_int(json, "x.json", "i", &i), FR_OK);
    assert_int_equal(fr_json_get_double(json, "x.json", "d", &d), FR_OK);
    assert_int_equal(fr_json_get_bool(json, "x.json", "b", &b), FR_OK);
    assert_int_equal(fr_json_get_string(json, "x.json", "s", &s), FR_OK);
    assert_int_equal(fr_json_get_object(json, "x.json", "o", &o), FR_OK);
    assert_int_equal(fr_json_get_array(json, "x.json", "a", &a), FR_OK);
    assert_int_equal(i, 7);
    assert_true(d == 2.5);
    assert_true(b);
    assert_string_equal(s, "text");
    assert_int_equal(fr_json_get_int(o, "x.json", "n", &i), FR_OK);
    assert_int_equal(i, -1);
    assert_int_equal(cJSON_GetArraySize(a), 2);
    fr_json_free(json);
    fr_json_free(NULL);
}

static void a_wrong_field_is_named(void **state)
{
    (void)state;
    fr_json *json = parsed(sample);
    int64_t i = 5;
    double d = 5;
    bool b = true;
    const char *s = "old";
    const fr_json *o = json;
    assert_int_equal(fr_json_get_int(json, "x.json", "n_nodes", &i), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"n_nodes\" is missing");
    assert_int_equal(fr_json_get_int(json, "x.json", "I", &i), FR_EFORMAT); /* letters count */
    assert_int_equal(fr_json_get_int(json, "x.json", "s", &i), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"s\" is a string, not an integer");
    assert_int_equal(fr_json_get_int(json, "x.json", "d", &i), FR_EFORMAT);
    assert_string_equal(fr_error_message(),
                        "x.json: field \"d\" is 2.5, not an integer below 2^53");
    assert_int_equal(fr_json_get_double(json, "x.json", "z", &d), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"z\" is null, not a number");
    assert_int_equal(fr_json_get_bool(json, "x.json", "i", &b), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"i\" is a number, not true or false");
    assert_int_equal(fr_json_get_string(json, "x.json", "b", &s), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"b\" is true or false, not a string");
    assert_int_equal(fr_json_get_object(json, "x.json", "a", &o), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"a\" is an array, not an object");
    assert_int_equal(fr_json_get_array(json, "x.json", "o", &o), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "x.json: field \"o\" is an object, not an array");
    assert_int_equal(fr_json_get_int(NULL, "x.json", "i", &i), FR_EFORMAT);
    assert_true(i == 5 && d == 5 && b && strcmp(s, "old") == 0); /* unchanged */
    fr_json_free(json);
}

static void integers_a_double_cannot_hold_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fr_status status;
    } cases[] = {{"{\"n\": 9007199254740991}", FR_OK},
                 {"{\"n\": 9007199254740992}", FR_EFORMAT},
                 {"{\"n\": 9007199254740993}", FR_EFORMAT},
                 {"{\"n\": -9007199254740991}", FR_OK},
                 {"{\"n\": -9007199254740993}", FR_EFORMAT},
                 {"{\"n\": 1e300}", FR_EFORMAT},
                 {"{\"n\": 1e999}", FR_EFORMAT},
                 {"{\"n\": -0}", FR_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_json *json = parsed(cases[i].text);
        int64_t n;
        assert_int_equal(fr_json_get_int(json, "x", "n", &n), cases[i].status);
        fr_json_free(json);
    }
    fr_json *json = parsed("{\"n\": 1e999}");
    double d;
    assert_int_equal(fr_json_get_double(json, "x", "n", &d), FR_EFORMAT);
    fr_json_free(json);
}

static void bad_text_is_named_with_its_line(void **state)
{
    (void)state;
    fr_json *json = NULL;
    const int64_t live = fr_live_blocks();
    assert_int_equal(fr_json_parse("{\"a\": 1,\n\"b\": oops\n}", "meta.json", &json), FR_EFORMAT);
    assert_null(json);
    assert_string_equal(fr_error_message(), "meta.json: line 2 is not JSON near \"oops\"");
    static const char *const bad[] = {"",       " ",   "{",   "[1,",  "[1 2]", "{\"a\" 1}",
                                      "{a: 1}", "nul", "1 2", "{} x", "\"abc", "\"\\u12\"",
                                      "[1,]",   "+1",  "--1", "\xff", "]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json = NULL;
        assert_int_equal(fr_json_parse(bad[i], "x", &json), FR_EFORMAT);
        assert_null(json);
    }
    assert_int_equal(fr_live_blocks(), live);
}

static void every_prefix_of_a_text_is_refused(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    char text[200];
    for (size_t n = 0; n < strlen(sample); n++) {
        memcpy(text, sample, n);
        text[n] = '\0';
        fr_json *json;
        assert_int_equal(fr_json_parse(text, "x", &json), FR_EFORMAT);
    }
    assert_int_equal(fr_live_blocks(), live);
}

static void changed_bytes_never_crash_or_leak(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    fr_random random = fr_random_start(fr_test_seed(), 0);
    for (int round = 0; round < 20000; round++) {
        char text[200];
        const size_t n = strlen(sample);
        memcpy(text, sample, n + 1);
        for (int k = 0; k < 3; k++)
            text[fr_random_below(&random, n)] = (char)fr_random_u32(&random);
        fr_json *json;
        const fr_status status = fr_json_parse(text, "x", &json);
        assert_true(status == FR_OK || status == FR_EFORMAT);
        char *again = NULL;
        if (status == FR_OK)
            assert_int_equal(fr_json_text(json, true, &again), FR_OK);
        fr_free(again);
        fr_json_free(json);
    }
    assert_int_equal(fr_live_blocks(), live);
}

static void deep_nesting_is_refused_not_followed(void **state)
{
    (void)state;
    static char text[1000001];
    memset(text, '[', sizeof text - 1);
    fr_json *json;
    assert_int_equal(fr_json_parse(text, "x", &json), FR_EFORMAT);
}

static fr_json *built(void)
{
    fr_json *json = fr_json_object(), *inner = fr_json_object(), *array = fr_json_array();
    fr_json_add_int(json, "i", -3);
    fr_json_add_double(json, "d", 0.1);
    fr_json_add_double(json, "nan", (double)NAN);
    fr_json_add_double(json, "inf", -(double)INFINITY);
    fr_json_add_bool(json, "b", false);
    fr_json_add_string(inner, "s", "a \"quoted\"\n\xc3\xa9");
    fr_json_push(array, fr_json_int(1));
    fr_json_push(array, fr_json_string("two"));
    fr_json_push(array, fr_json_double(2.5));
    fr_json_add(inner, "a", array);
    fr_json_add_int(inner, "large", 9007199254740991);
    fr_json_add(json, "o", inner);
    return json;
}

static const char *const built_text =
    "{\"i\":-3,\"d\":0.1,\"nan\":null,\"inf\":null,\"b\":false,"
    "\"o\":{\"s\":\"a "
    "\\\"quoted\\\"\\n\xc3\xa9\",\"a\":[1,\"two\",2.5],\"large\":9007199254740991}}";

static void trees_become_text(void **state)
{
    (void)state;
    fr_json *json = built();
    char *text, *pretty;
    assert_int_equal(fr_json_text(json, false, &text), FR_OK);
    assert_string_equal(text, built_text);
    assert_int_equal(fr_json_text(json, true, &pretty), FR_OK);
    assert_non_null(strchr(pretty, '\n'));
    fr_json *again = parsed(pretty);
    assert_true(cJSON_Compare(json, again, 1));
    fr_free(text);
    fr_free(pretty);
    fr_json_free(again);
    fr_json_free(json);
}

static void every_double_reads_back_as_itself(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    static const double special[] = {0,      -0.0,    1,          0.1,  1.0 / 3, 1e15 + 0.5,
                                     0x1p53, -0x1p53, 0x1p53 - 1, 1e22, 5e-324,  DBL_MAX};
    const int n_special = sizeof special / sizeof *special;
    for (int i = 0; i < 2000; i++) {
        const uint64_t bits = fr_random_u64(&random);
        double value, read = 0;
        memcpy(&value, &bits, sizeof value);
        value = i < n_special ? special[i] : value;
        if (!isfinite(value))
            continue;
        fr_json *json = fr_json_object();
        fr_json_add_double(json, "d", value);
        char *text;
        assert_int_equal(fr_json_text(json, false, &text), FR_OK);
        fr_json *again = parsed(text);
        assert_int_equal(fr_json_get_double(again, "x", "d", &read), FR_OK);
        assert_memory_equal(&read, &value, sizeof value);
        fr_free(text);
        fr_json_free(again);
        fr_json_free(json);
    }
}

static void text_does_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found)
        skip();
    fr_json *json = fr_json_object();
    fr_json_add_double(json, "d", 2.5);
    char *text;
    const fr_status status = fr_json_text(json, false, &text);
    (void)setlocale(LC_ALL, "C");
    assert_int_equal(status, FR_OK);
    assert_string_equal(text, "{\"d\":2.5}");
    fr_free(text);
    fr_json_free(json);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    fr_json *json = fr_json_array();
    char all[256], *text;
    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    fr_json_push(json, fr_json_string("\"\\\b\f\n\r\t\x01\x1f/"));
    assert_int_equal(fr_json_text(json, false, &text), FR_OK);
    assert_string_equal(text, "[\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f/\"]");
    fr_free(text);
    fr_json_push(json, fr_json_string(all));
    assert_int_equal(fr_json_text(json, true, &text), FR_OK);
    fr_json *again = parsed(text);
    assert_string_equal(cJSON_GetArrayItem(again, 1)->valuestring, all);
    fr_free(text);
    fr_json_free(again);
    fr_json_free(json);
}

static void pretty_text_is_indented(void **state)
{
    (void)state;
    fr_json *json = parsed("{\"a\": [1, {\"b\": true}], \"e\": {}, \"f\": []}");
    char *text;
    assert_int_equal(fr_json_text(json, true, &text), FR_OK);
    assert_string_equal(text, "{\n  \"a\": [\n    1,\n    {\n      \"b\": true\n    }\n  ],\n  "
                              "\"e\": {},\n  \"f\": []\n}");
    fr_free(text);
    fr_json_free(json);
}

static void an_integer_that_would_be_rounded_is_not_written(void **state)
{
    (void)state;
    fr_json *json = fr_json_object();
    fr_json_add_int(json, "seed", 9007199254740993);
    char dummy = 0, *text = &dummy;
    assert_int_equal(fr_json_text(json, false, &text), FR_ERANGE);
    assert_null(text);
    assert_string_equal(
        fr_error_message(),
        "field \"seed\" is an integer of 2^53 or more: a string would keep its digits");
    fr_json_free(json);
}

static fr_status parse_sample(void *context)
{
    (void)context;
    fr_json *json;
    const fr_status status = fr_json_parse(sample, "x", &json);
    assert_true((status == FR_OK) == (json != NULL));
    fr_json_free(json);
    return status;
}

static void parsing_survives_every_failure(void **state)
{
    (void)state;
    assert_true(fr_fail_each_allocation(parse_sample, NULL) > 10);
}

static fr_status build_text(void *context)
{
    (void)context;
    char dummy = 0, *text = &dummy;
    fr_json *json = built();
    const fr_status status = fr_json_text(json, false, &text);
    if (status == FR_OK)
        assert_string_equal(text, built_text); /* never a text that lacks a field */
    else
        assert_null(text);
    fr_free(text);
    fr_json_free(json);
    return status;
}

static void building_survives_every_failure(void **state)
{
    (void)state;
    assert_true(fr_fail_each_allocation(build_text, NULL) > 20);
    char *text; /* and one tree's failure is not another's */
    fr_json *json = fr_json_object();
    assert_int_equal(fr_json_text(json, false, &text), FR_OK);
    assert_string_equal(text, "{}");
    fr_free(text);
    fr_json_free(json);
}

/* The hooks are in place before the first call of json.h: a node of cJSON's own is counted and
 * freed as ours. */
static void nodes_of_cjson_itself_are_counted(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    cJSON *array = cJSON_CreateArray();
    assert_int_equal(fr_live_blocks(), live + 1);
    fr_json_push(array, fr_json_int(1));
    char *text;
    assert_int_equal(fr_json_text(array, false, &text), FR_OK);
    assert_string_equal(text, "[1]");
    fr_free(text);
    fr_json_free(array);
    assert_int_equal(fr_live_blocks(), live);
}

static void files_and_lines_are_written_and_read(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "meta.json");
    fr_json *json = built(), *again;
    assert_int_equal(fr_json_write(path, json), FR_OK);
    assert_int_equal(fr_json_read(path, &again), FR_OK);
    assert_true(cJSON_Compare(json, again, 1));
    fr_json_free(again);
    char *line = NULL;
    size_t length;
    FILE *stream = open_memstream(&line, &length);
    assert_int_equal(fr_json_line(stream, json), FR_OK);
    assert_int_equal(length, strlen(built_text) + 1);
    assert_int_equal(line[length - 1], '\n');
    (void)fclose(stream);
    free(line);
    fr_json_free(json);
    assert_int_equal(fr_json_read(fr_test_path(folder, "missing"), &again), FR_ENOENT);
    assert_null(again);
    assert_int_equal(fr_file_write(path, "{}\0x", 4), FR_OK);
    assert_int_equal(fr_json_read(path, &again), FR_EFORMAT);
    assert_null(again);
    assert_non_null(strstr(fr_error_message(), "meta.json: holds a zero byte at 2"));
    assert_int_equal(fr_json_write(path, NULL), FR_ENOMEM);
    assert_non_null(strstr(fr_error_message(), "meta.json: "));
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_line_to_a_full_disk_fails(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip();
    fr_json *json = fr_json_object();
    assert_int_equal(fr_json_line(full, json), FR_ENOSPC);
    fr_json_free(json);
    (void)fclose(full);
}

static void *parse_often(void *failed)
{
    for (int i = 0; i < 300; i++) {
        fr_json *json = NULL;
        const bool good = i % 2 == 0;
        if ((fr_json_parse(good ? sample : "[1,", "x", &json) == FR_OK) != good)
            *(bool *)failed = true;
        fr_json_free(json);
    }
    return NULL;
}

static void threads_parse_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[4];
    bool failed[4] = {false};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, parse_often, &failed[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(failed[i]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nodes_of_cjson_itself_are_counted),
    cmocka_unit_test(getters_give_what_is_there),
    cmocka_unit_test(a_wrong_field_is_named),
    cmocka_unit_test(integers_a_double_cannot_hold_are_refused),
    cmocka_unit_test(bad_text_is_named_with_its_line),
    cmocka_unit_test(every_prefix_of_a_text_is_refused),
    cmocka_unit_test(changed_bytes_never_crash_or_leak),
    cmocka_unit_test(deep_nesting_is_refused_not_followed),
    cmocka_unit_test(trees_become_text),
    cmocka_unit_test(every_double_reads_back_as_itself),
    cmocka_unit_test(text_does_not_follow_the_locale),
    cmocka_unit_test(strings_are_escaped),
    cmocka_unit_test(pretty_text_is_indented),
    cmocka_unit_test(an_integer_that_would_be_rounded_is_not_written),
    cmocka_unit_test(parsing_survives_every_failure),
    cmocka_unit_test(building_survives_every_failure),
    cmocka_unit_test(files_and_lines_are_written_and_read),
    cmocka_unit_test(a_line_to_a_full_disk_fails),
    cmocka_unit_test(threads_parse_side_by_side),
};
FR_TEST_MAIN(tests)
