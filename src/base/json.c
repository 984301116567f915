/*
 * json.c: JSON over cJSON. See json.h.
 *
 * Lack of memory while building shows at the end: cJSON's add functions return NULL, the tree then carries a mark
 * (a NULL child cannot be seen), so every add here notes its failure in `broken`, which is of the thread.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MOST_JSON_BYTES = 256 << 20 };
static const double MOST_INTEGER = 9007199254740992.0; /* 2^53 */

static _Thread_local bool broken;

static void *allocate(size_t bytes)
{
    void *block;
    return fr_alloc(bytes, 1, "JSON", &block) == FR_OK ? block : NULL;
}

static void install_hooks(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = fr_free};
    cJSON_InitHooks(&hooks);
}

static void start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_hooks);
}

fr_json *fr_json_object(void)
{
    start();
    fr_json *json = cJSON_CreateObject();
    broken |= json == NULL;
    return json;
}

void fr_json_free(fr_json *json) { cJSON_Delete(json); }

/* ---- parsing ---- */

fr_status fr_json_parse(const char *text, const char *origin, fr_json **json)
{
    start();
    const char *end = NULL;
    *json = cJSON_ParseWithOpts(text, &end, 1);
    if (*json != NULL)
        return FR_OK;
    int64_t line = 1;
    for (const char *c = text; end != NULL && c < end && *c != '\0'; c++)
        line += *c == '\n';
    return fr_fail(FR_EFORMAT, "%s: line %" PRId64 " is not JSON near \"%.20s\"", origin, line, end != NULL ? end : "");
}

fr_status fr_json_read(const char *path, fr_json **json)
{
    *json = NULL;
    char *text;
    size_t length;
    FR_RETURN_IF_ERROR(fr_file_read(path, MOST_JSON_BYTES, &text, &length));
    const fr_status status = strlen(text) != length ? fr_fail(FR_EFORMAT, "%s: holds a zero byte at %zu", path, strlen(text))
                                                    : fr_json_parse(text, path, json);
    fr_free(text);
    return status;
}

/* ---- writing ---- */

fr_status fr_json_text(const fr_json *json, bool pretty, char **text)
{
    *text = NULL;
    const bool lost = broken || json == NULL;
    broken = false;
    if (!lost)
        *text = pretty ? cJSON_Print(json) : cJSON_PrintUnformatted(json);
    return *text != NULL ? FR_OK : fr_fail(FR_ENOMEM, "out of memory for JSON");
}

fr_status fr_json_write(const char *path, const fr_json *json)
{
    char *text = NULL, *line = NULL;
    fr_status status;
    FR_TRY(fr_json_text(json, true, &text));
    FR_TRY(fr_format(&line, "%s\n", text));
    FR_TRY(fr_file_write(path, line, strlen(line)));
done:
    fr_free(text);
    fr_free(line);
    return status;
}

void fr_json_add(fr_json *json, const char *field, fr_json *child)
{
    if (json != NULL && child != NULL && cJSON_AddItemToObject(json, field, child))
        return;
    cJSON_Delete(child);
    broken = true;
}

void fr_json_add_int(fr_json *json, const char *field, int64_t value)
{
    fr_json_add(json, field, cJSON_CreateNumber((double)value));
}

void fr_json_add_double(fr_json *json, const char *field, double value)
{
    fr_json_add(json, field, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void fr_json_add_bool(fr_json *json, const char *field, bool value)
{
    fr_json_add(json, field, cJSON_CreateBool(value));
}

void fr_json_add_string(fr_json *json, const char *field, const char *value)
{
    fr_json_add(json, field, cJSON_CreateString(value));
}

/* ---- typed getters ---- */

static const char *kind_of(const cJSON *item)
{
    if (cJSON_IsString(item))
        return "a string";
    if (cJSON_IsNumber(item))
        return "a number";
    if (cJSON_IsBool(item))
        return "true or false";
    if (cJSON_IsArray(item))
        return "an array";
    return cJSON_IsObject(item) ? "an object" : "null";
}

static fr_status get(const fr_json *json, const char *origin, const char *field,
                     cJSON_bool (*is_right)(const cJSON *), const char *wanted, const cJSON **item)
{
    *item = cJSON_GetObjectItemCaseSensitive(json, field);
    if (*item == NULL)
        return fr_fail(FR_EFORMAT, "%s: field \"%s\" is missing", origin, field);
    if (!is_right(*item))
        return fr_fail(FR_EFORMAT, "%s: field \"%s\" is %s, not %s", origin, field, kind_of(*item), wanted);
    return FR_OK;
}

fr_status fr_json_get_double(const fr_json *json, const char *origin, const char *field, double *out)
{
    const cJSON *item;
    FR_RETURN_IF_ERROR(get(json, origin, field, cJSON_IsNumber, "a number", &item));
    *out = item->valuedouble;
    return FR_OK;
}

fr_status fr_json_get_int(const fr_json *json, const char *origin, const char *field, int64_t *out)
{
    double value;
    FR_RETURN_IF_ERROR(fr_json_get_double(json, origin, field, &value));
    if (!(fabs(value) <= MOST_INTEGER) || value != floor(value))
        return fr_fail(FR_EFORMAT, "%s: field \"%s\" is %g, not an integer within 2^53", origin, field, value);
    *out = (int64_t)value;
    return FR_OK;
}

fr_status fr_json_get_bool(const fr_json *json, const char *origin, const char *field, bool *out)
{
    const cJSON *item;
    FR_RETURN_IF_ERROR(get(json, origin, field, cJSON_IsBool, "true or false", &item));
    *out = cJSON_IsTrue(item);
    return FR_OK;
}

fr_status fr_json_get_string(const fr_json *json, const char *origin, const char *field, const char **out)
{
    const cJSON *item;
    FR_RETURN_IF_ERROR(get(json, origin, field, cJSON_IsString, "a string", &item));
    *out = item->valuestring;
    return FR_OK;
}

fr_status fr_json_get_object(const fr_json *json, const char *origin, const char *field, const fr_json **out)
{
    return get(json, origin, field, cJSON_IsObject, "an object", out);
}

fr_status fr_json_get_array(const fr_json *json, const char *origin, const char *field, const fr_json **out)
{
    return get(json, origin, field, cJSON_IsArray, "an array", out);
}
