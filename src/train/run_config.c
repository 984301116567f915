/*
 * run_config.c: compares two JSON trees field by field.
 *
 * Fields are met in the order of the kept tree, then those that only the asked one has; their order
 * within an object does not count. Numbers are equal by value (1 and 1.0 are the same).
 */
#include "train/run_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { PLACE_BYTES = 256, VALUE_BYTES = 96 };

/* A place in the tree, as "layers[2].width". */
typedef struct place {
    char text[PLACE_BYTES];
} place;

static place inside(const place *outer, const char *field)
{
    place inner;
    (void)snprintf(inner.text, sizeof inner.text, "%.150s%s%.100s", outer->text,
                   outer->text[0] != 0 ? "." : "", field);
    return inner;
}

static place element(const place *outer, int i)
{
    place inner;
    (void)snprintf(inner.text, sizeof inner.text, "%.200s[%d]", outer->text, i);
    return inner;
}

static const char *describe(const fr_json *value, char buffer[VALUE_BYTES])
{
    if (value == NULL)
        (void)snprintf(buffer, VALUE_BYTES, "not there");
    else if (cJSON_IsString(value))
        (void)snprintf(buffer, VALUE_BYTES, "\"%.60s\"", value->valuestring);
    else if (cJSON_IsNumber(value))
        (void)snprintf(buffer, VALUE_BYTES, "%.15g", value->valuedouble);
    else if (cJSON_IsBool(value))
        (void)snprintf(buffer, VALUE_BYTES, cJSON_IsTrue(value) ? "true" : "false");
    else if (cJSON_IsArray(value))
        (void)snprintf(buffer, VALUE_BYTES, "a list of %d", cJSON_GetArraySize(value));
    else
        (void)snprintf(buffer, VALUE_BYTES, cJSON_IsNull(value) ? "null" : "an object");
    return buffer;
}

static fr_status refuse(const char *path, const place *at, const fr_json *kept,
                        const fr_json *asked)
{
    char there[VALUE_BYTES], here[VALUE_BYTES];
    return fr_fail(FR_EINVAL, "%s: field \"%s\" is %s in the run, asked is %s", path, at->text,
                   describe(kept, there), describe(asked, here));
}

static bool same_scalar(const fr_json *kept, const fr_json *asked)
{
    if (cJSON_IsNumber(kept))
        return cJSON_IsNumber(asked) && !(kept->valuedouble < asked->valuedouble) &&
               !(kept->valuedouble > asked->valuedouble);
    if (cJSON_IsString(kept))
        return cJSON_IsString(asked) && strcmp(kept->valuestring, asked->valuestring) == 0;
    return (kept->type & 0xff) == (asked->type & 0xff);
}

static fr_status compare(const char *path, const place *at, const fr_json *kept,
                         const fr_json *asked);

static fr_status compare_objects(const char *path, const place *at, const fr_json *kept,
                                 const fr_json *asked)
{
    const fr_json *field;
    cJSON_ArrayForEach(field, kept)
    {
        const place inner = inside(at, field->string);
        const fr_json *other = cJSON_GetObjectItemCaseSensitive(asked, field->string);
        FR_RETURN_IF_ERROR(compare(path, &inner, field, other));
    }
    cJSON_ArrayForEach(field, asked)
    {
        const place inner = inside(at, field->string);
        if (cJSON_GetObjectItemCaseSensitive(kept, field->string) == NULL)
            return refuse(path, &inner, NULL, field);
    }
    return FR_OK;
}

static fr_status compare_lists(const char *path, const place *at, const fr_json *kept,
                               const fr_json *asked)
{
    const fr_json *a = kept->child, *b = asked->child;
    int i = 0;
    for (; a != NULL && b != NULL; a = a->next, b = b->next, i++) {
        const place inner = element(at, i);
        FR_RETURN_IF_ERROR(compare(path, &inner, a, b));
    }
    const place inner = element(at, i);
    return a == b ? FR_OK : refuse(path, &inner, a, b);
}

static fr_status compare(const char *path, const place *at, const fr_json *kept,
                         const fr_json *asked)
{
    if (asked == NULL)
        return refuse(path, at, kept, asked);
    if (cJSON_IsObject(kept) && cJSON_IsObject(asked))
        return compare_objects(path, at, kept, asked);
    if (cJSON_IsArray(kept) && cJSON_IsArray(asked))
        return compare_lists(path, at, kept, asked);
    return same_scalar(kept, asked) ? FR_OK : refuse(path, at, kept, asked);
}

fr_status fr_run_config_compare(const char *path, const fr_json *kept, const fr_json *asked)
{
    const place root = {""};
    return compare(path, &root, kept, asked);
}
