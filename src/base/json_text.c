/*
 * json_text.c: trees of cJSON as text. See json.h.
 *
 * Not cJSON's own printer, which takes two numbers for equal within an epsilon and so drops the
 * last digits of a double and of integers beyond 10^15. Here every double reads back as itself: the
 * shortest of 15, 16 and 17 digits that does.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_marks.h"

typedef struct text_writer {
    char *bytes;
    size_t length, capacity;
    bool pretty;
    fr_status status; /* the first failure; later writes do nothing */
} text_writer;

static void put(text_writer *w, const char *bytes, size_t n)
{
    if (w->status == FR_OK && w->capacity - w->length < n) {
        const size_t wanted = 2 * w->capacity + n + 256;
        w->status = fr_realloc(&w->bytes, wanted, 1, "JSON");
        w->capacity = w->status == FR_OK ? wanted : w->capacity;
    }
    if (w->status != FR_OK || n == 0)
        return;
    memcpy(w->bytes + w->length, bytes, n);
    w->length += n;
}

static void put_text(text_writer *w, const char *text) { put(w, text, strlen(text)); }

static void put_line(text_writer *w, int depth)
{
    if (!w->pretty)
        return;
    put_text(w, "\n");
    for (int i = 0; i < depth; i++)
        put_text(w, "  ");
}

static void put_string(text_writer *w, const char *text)
{
    put_text(w, "\"");
    for (const char *rest = text; *rest != '\0';) {
        size_t plain = 0;
        while ((unsigned char)rest[plain] >= ' ' && rest[plain] != '"' && rest[plain] != '\\')
            plain++;
        put(w, rest, plain);
        rest += plain;
        if (*rest == '\0')
            break;
        char escape[8];
        static const char letters[] =
            "\"\"\\\\\bb\ff\nn\rr\tt"; /* a byte and its letter, in pairs */
        const char *pair = strchr(letters, *rest);
        if (pair != NULL)
            (void)snprintf(escape, sizeof escape, "\\%c", pair[1]);
        else
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*rest);
        put_text(w, escape);
        rest++;
    }
    put_text(w, "\"");
}

/* The program's locale may write "2,5", or its own sign for the comma in several bytes. */
static void put_in_c_locale(text_writer *w, const char *number)
{
    for (; *number != '\0'; number++) {
        if (strchr("0123456789+-e", *number) != NULL) {
            put(w, number, 1);
        } else {
            put_text(w, ".");
            while (number[1] != '\0' && strchr("0123456789", number[1]) == NULL)
                number++;
        }
    }
}

static void put_number(text_writer *w, const cJSON *number)
{
    const double value = number->valuedouble;
    char text[40];
    if (!isfinite(value)) {
        put_text(w, "null");
        return;
    }
    if (value == floor(value) && fabs(value) < 0x1p53 && !(value == 0 && signbit(value) != 0)) {
        (void)snprintf(text, sizeof text, "%" PRId64, (int64_t)value);
        put_text(w, text);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    put_in_c_locale(w, text);
}

static void put_value(text_writer *w, const cJSON *json, int depth);

static void put_children(text_writer *w, const cJSON *json, int depth)
{
    const bool object = cJSON_IsObject(json);
    put_text(w, object ? "{" : "[");
    for (const cJSON *child = json->child; child != NULL && w->status == FR_OK;
         child = child->next) {
        put_line(w, depth + 1);
        if (object) {
            put_string(w, child->string != NULL ? child->string : "");
            put_text(w, w->pretty ? ": " : ":");
        }
        put_value(w, child, depth + 1);
        put_text(w, child->next != NULL ? "," : "");
    }
    if (json->child != NULL)
        put_line(w, depth);
    put_text(w, object ? "}" : "]");
}

/* Trees are at most 1,000 levels deep: cJSON reads no deeper ones, and programs build shallow ones.
 */
static void put_value(text_writer *w, const cJSON *json, int depth)
{
    if (w->status != FR_OK)
        return;
    if ((json->type & FR_JSON_LOST) != 0)
        w->status = fr_fail(FR_ENOMEM, "out of memory for JSON");
    else if ((json->type & FR_JSON_ROUNDED) != 0)
        w->status = fr_fail(
            FR_ERANGE, "field \"%s\" is an integer of 2^53 or more: a string would keep its digits",
            json->string != NULL ? json->string : "");
    else if (cJSON_IsObject(json) || cJSON_IsArray(json))
        put_children(w, json, depth);
    else if (cJSON_IsNumber(json))
        put_number(w, json);
    else if (cJSON_IsString(json))
        put_string(w, json->valuestring);
    else if (cJSON_IsRaw(json))
        put_text(w, json->valuestring);
    else
        put_text(w, cJSON_IsTrue(json) ? "true" : cJSON_IsFalse(json) ? "false" : "null");
}

fr_status fr_json_text(const fr_json *json, bool pretty, char **text)
{
    *text = NULL;
    if (json == NULL)
        return fr_fail(FR_ENOMEM, "out of memory for JSON");
    text_writer w = {.pretty = pretty};
    put_value(&w, json, 0);
    put(&w, "", 1); /* the zero byte */
    if (w.status == FR_OK)
        *text = w.bytes;
    else
        fr_free(w.bytes);
    return w.status;
}
