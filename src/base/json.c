/*
 * json.c: JSON over cJSON. See json.h.
 *
 * The add functions return nothing, so what went wrong is marked in the tree itself (json_marks.h),
 * and fr_json_text in json_text.c finds the marks.
 *
 * cJSON's hooks are set when the library is loaded: a node made before them would come from malloc
 * and go to fr_free.
 */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json_marks.h"

enum { MOST_JSON_BYTES = 256 << 20 };
/* From 2^53 on a double no longer tells an integer from the next. */
static const int64_t MOST_INTEGER = ((int64_t)1 << 53) - 1;

static _Thread_local bool ran_out; /* cJSON says NULL for bad text and for no memory alike */

static void *allocate(size_t bytes)
{
    void *block;
    if (fr_alloc(bytes, 1, "JSON", &block) == FR_OK)
        return block;
    ran_out = true;
    return NULL;
}

__attribute__((constructor)) static void install_hooks(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = fr_free};
    cJSON_InitHooks(&hooks);
}

fr_json *fr_json_object(void) { return cJSON_CreateObject(); }
fr_json *fr_json_array(void) { return cJSON_CreateArray(); }
void fr_json_free(fr_json *json) { cJSON_Delete(json); }

/* ---- parsing ---- */

/* cJSON also notes where parsing stopped in a variable of the process; the lock keeps threads apart
 * there. */
static cJSON *parse(const char *text, const char **end)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    cJSON *json = cJSON_ParseWithOpts(text, end, 1);
    (void)pthread_mutex_unlock(&lock);
    return json;
}

/* What stands there, up to the line's end; letters beyond ASCII as '?', as one could be cut in two.
 */
static const char *excerpt(const char *text, char *buffer, size_t bytes)
{
    size_t n = 0;
    for (; n + 1 < bytes && (unsigned char)text[n] >= ' '; n++)
        buffer[n] = (char)((unsigned char)text[n] < 0x7F ? text[n] : '?');
    buffer[n] = '\0';
    return buffer;
}

fr_status fr_json_parse(const char *text, const char *origin, fr_json **json)
{
    const char *end = text;
    ran_out = false;
    *json = parse(text, &end);
    if (*json != NULL)
        return FR_OK;
    if (ran_out)
        return fr_fail(FR_ENOMEM, "%s: out of memory for JSON", origin);
    int64_t line = 1;
    for (const char *c = text; c < end && *c != '\0'; c++)
        line += *c == '\n' ? 1 : 0;
    char near[24];
    return fr_fail(FR_EFORMAT, "%s: line %" PRId64 " is not JSON near \"%s\"", origin, line,
                   excerpt(end, near, sizeof near));
}

fr_status fr_json_read(const char *path, fr_json **json)
{
    *json = NULL;
    char *text;
    size_t length;
    FR_RETURN_IF_ERROR(fr_file_read(path, MOST_JSON_BYTES, &text, &length));
    const fr_status status =
        strlen(text) != length
            ? fr_fail(FR_EFORMAT, "%s: holds a zero byte at %zu", path, strlen(text))
            : fr_json_parse(text, path, json);
    fr_free(text);
    return status;
}

/* ---- writing ---- */

fr_status fr_json_write(const char *path, const fr_json *json)
{
    char *text = NULL, *line = NULL;
    fr_status status;
    FR_TRY(fr_wrap(fr_json_text(json, true, &text), "%s", path));
    FR_TRY(fr_format(&line, "%s\n", text));
    FR_TRY(fr_file_write(path, line, strlen(line)));
done:
    fr_free(text);
    fr_free(line);
    return status;
}

fr_status fr_json_line(FILE *stream, const fr_json *json)
{
    char *text;
    FR_RETURN_IF_ERROR(fr_json_text(json, false, &text));
    const int written = fprintf(stream, "%s\n", text);
    fr_free(text);
    if (written < 0 || fflush(stream) != 0)
        return fr_fail_errno(errno, "writing a line of JSON");
    return FR_OK;
}

/* Takes the child; where it cannot be added, the parent bears the mark, or is NULL itself. */
static void keep(fr_json *json, fr_json *child, bool added)
{
    if (added)
        return;
    cJSON_Delete(child);
    if (json != NULL)
        json->type |= FR_JSON_LOST;
}

void fr_json_add(fr_json *json, const char *field, fr_json *child)
{
    keep(json, child, json != NULL && child != NULL && cJSON_AddItemToObject(json, field, child));
}

void fr_json_push(fr_json *array, fr_json *child)
{
    keep(array, child, array != NULL && child != NULL && cJSON_AddItemToArray(array, child));
}

fr_json *fr_json_int(int64_t value)
{
    cJSON *number = cJSON_CreateNumber((double)value);
    if (number != NULL && (value > MOST_INTEGER || value < -MOST_INTEGER))
        number->type |= FR_JSON_ROUNDED;
    return number;
}

fr_json *fr_json_double(double value)
{
    return isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}
fr_json *fr_json_string(const char *value) { return cJSON_CreateString(value); }

void fr_json_add_int(fr_json *json, const char *field, int64_t value)
{
    fr_json_add(json, field, fr_json_int(value));
}

void fr_json_add_double(fr_json *json, const char *field, double value)
{
    fr_json_add(json, field, fr_json_double(value));
}

void fr_json_add_bool(fr_json *json, const char *field, bool value)
{
    fr_json_add(json, field, cJSON_CreateBool(value));
}

void fr_json_add_string(fr_json *json, const char *field, const char *value)
{
    fr_json_add(json, field, fr_json_string(value));
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

/* The field, or NULL with the sentence left: FR_EFORMAT. */
static const cJSON *get(const fr_json *json, const char *origin, const char *field,
                        cJSON_bool (*is_right)(const cJSON *), const char *wanted)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field);
    if (item == NULL) {
        (void)fr_fail(FR_EFORMAT, "%s: field \"%s\" is missing", origin, field);
        return NULL;
    }
    if (is_right(item))
        return item;
    (void)fr_fail(FR_EFORMAT, "%s: field \"%s\" is %s, not %s", origin, field, kind_of(item),
                  wanted);
    return NULL;
}

fr_status fr_json_get_double(const fr_json *json, const char *origin, const char *field,
                             double *out)
{
    const cJSON *item = get(json, origin, field, cJSON_IsNumber, "a number");
    if (item == NULL)
        return FR_EFORMAT;
    if (!isfinite(item->valuedouble))
        return fr_fail(FR_EFORMAT, "%s: field \"%s\" is a number too large", origin, field);
    *out = item->valuedouble;
    return FR_OK;
}

fr_status fr_json_get_int(const fr_json *json, const char *origin, const char *field, int64_t *out)
{
    const cJSON *item = get(json, origin, field, cJSON_IsNumber, "an integer");
    if (item == NULL)
        return FR_EFORMAT;
    const double value = item->valuedouble;
    if (!(fabs(value) <= (double)MOST_INTEGER) || value != floor(value))
        return fr_fail(FR_EFORMAT, "%s: field \"%s\" is %g, not an integer below 2^53", origin,
                       field, value);
    *out = (int64_t)value;
    return FR_OK;
}

fr_status fr_json_get_bool(const fr_json *json, const char *origin, const char *field, bool *out)
{
    const cJSON *item = get(json, origin, field, cJSON_IsBool, "true or false");
    if (item == NULL)
        return FR_EFORMAT;
    *out = cJSON_IsTrue(item);
    return FR_OK;
}

fr_status fr_json_get_string(const fr_json *json, const char *origin, const char *field,
                             const char **out)
{
    const cJSON *item = get(json, origin, field, cJSON_IsString, "a string");
    if (item == NULL)
        return FR_EFORMAT;
    *out = item->valuestring;
    return FR_OK;
}

static fr_status get_branch(const fr_json *item, const fr_json **out)
{
    if (item == NULL)
        return FR_EFORMAT;
    *out = item;
    return FR_OK;
}

fr_status fr_json_get_object(const fr_json *json, const char *origin, const char *field,
                             const fr_json **out)
{
    return get_branch(get(json, origin, field, cJSON_IsObject, "an object"), out);
}

fr_status fr_json_get_array(const fr_json *json, const char *origin, const char *field,
                            const fr_json **out)
{
    return get_branch(get(json, origin, field, cJSON_IsArray, "an array"), out);
}
