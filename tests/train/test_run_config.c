/*
 * Comparing configurations: the first field that differs is named, with both values.
 */
#include "train_test.h"

#include "train/run_config.h"

static fr_status compare(const char *kept_text, const char *asked_text)
{
    fr_json *kept, *asked;
    OK(fr_json_parse(kept_text, "kept", &kept));
    OK(fr_json_parse(asked_text, "asked", &asked));
    const fr_status status = fr_run_config_compare("RUN/config.json", kept, asked);
    fr_json_free(kept);
    fr_json_free(asked);
    return status;
}

static void equal_configurations_pass(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"{}", "{}"},
        {"{\"a\": 1, \"b\": \"x\"}", "{\"b\": \"x\", \"a\": 1.0}"},
        {"{\"a\": {\"b\": [1, 2, {\"c\": null}]}}", "{ \"a\" : {\"b\":[1,2,{\"c\":null}]}}"},
        {"{\"a\": true, \"b\": false}", "{\"a\": true, \"b\": false}"},
        {"[]", "[]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        OK(compare(pairs[i][0], pairs[i][1]));
}

static void the_first_field_that_differs_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *kept, *asked, *sentence;
    } cases[] = {
        {"{\"hidden\": 256}", "{\"hidden\": 128}",
         "RUN/config.json: field \"hidden\" is 256 in the run, asked is 128"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "{\"a\": 1, \"b\": 9, \"c\": 8}", "field \"b\" is 2"},
        {"{\"model\": {\"layers\": [{\"width\": 3}, {\"width\": 4}]}}",
         "{\"model\": {\"layers\": [{\"width\": 3}, {\"width\": 5}]}}",
         "field \"model.layers[1].width\" is 4 in the run, asked is 5"},
        {"{\"a\": \"gcn\"}", "{\"a\": \"gat\"}", "is \"gcn\" in the run, asked is \"gat\""},
        {"{\"a\": 1}", "{}", "field \"a\" is 1 in the run, asked is not there"},
        {"{}", "{\"a\": 1}", "field \"a\" is not there in the run, asked is 1"},
        {"{\"a\": [1, 2]}", "{\"a\": [1, 2, 3]}",
         "field \"a[2]\" is not there in the run, asked is 3"},
        {"{\"a\": [1, 2]}", "{\"a\": [1]}", "field \"a[1]\" is 2 in the run, asked is not there"},
        {"{\"a\": true}", "{\"a\": false}", "is true in the run, asked is false"},
        {"{\"a\": null}", "{\"a\": 0}", "is null in the run, asked is 0"},
        {"{\"a\": \"1\"}", "{\"a\": 1}", "is \"1\" in the run, asked is 1"},
        {"{\"a\": {}}", "{\"a\": []}", "is an object in the run, asked is a list of 0"},
        {"{\"A\": 1}", "{\"a\": 1}", "field \"A\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(compare(cases[i].kept, cases[i].asked), FR_EINVAL);
        SENTENCE(cases[i].sentence);
    }
}

static void long_and_deep_names_stay_within_the_sentence(void **state)
{
    (void)state;
    enum { DEEP = 300 };
    static const char field[] = "{\"a_rather_long_field_name\":";
    char kept[DEEP * sizeof field + DEEP + 2], asked[sizeof kept], *end = kept;
    for (int i = 0; i < DEEP; i++, end += sizeof field - 1)
        memcpy(end, field, sizeof field - 1);
    const size_t number_at = (size_t)(end - kept);
    *end++ = '1';
    memset(end, '}', DEEP);
    end[DEEP] = 0;
    memcpy(asked, kept, sizeof kept);
    asked[number_at] = '2';
    assert_int_equal(compare(kept, asked), FR_EINVAL);
    SENTENCE("is 1 in the run, asked is 2");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_configurations_pass),
    cmocka_unit_test(the_first_field_that_differs_is_named),
    cmocka_unit_test(long_and_deep_names_stay_within_the_sentence),
};
FR_TEST_MAIN(tests)
