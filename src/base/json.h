/*
 * json.h: JSON over cJSON, with errors that name the file and the field.
 *
 * Reading: fr_json_parse / fr_json_read give a tree (cJSON), and the typed getters fail with
 * "FILE: field \"n_nodes\" is missing" or "... is a string, not an integer". Integers of 2^53
 * and beyond are refused: keep such numbers as strings.
 * Writing: build a tree; fr_json_write makes it a file, fr_json_line a line of an event stream.
 * cJSON's allocations go through alloc.h: free what cJSON's own functions return with fr_free.
 */
#ifndef FR_BASE_JSON_H
#define FR_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

typedef cJSON fr_json;

fr_json *fr_json_object(void); /* NULL where memory ran out; the add functions accept NULL */
fr_json *fr_json_array(void);  /* likewise */
void fr_json_free(fr_json *json);

fr_status fr_json_parse(const char *text, const char *origin, fr_json **json) FR_MUST_USE;
fr_status fr_json_read(const char *path, fr_json **json) FR_MUST_USE;
fr_status fr_json_write(const char *path, const fr_json *json) FR_MUST_USE;
/** Text of a tree in a fresh string (fr_free); `pretty` with line breaks. Every number reads back
 * as itself. */
fr_status fr_json_text(const fr_json *json, bool pretty, char **text) FR_MUST_USE;
/** Writes a tree as one line and flushes it. */
fr_status fr_json_line(FILE *stream, const fr_json *json) FR_MUST_USE;

/* Typed getters of an object's fields; `origin` names the file in the sentence. */
fr_status fr_json_get_int(const fr_json *json, const char *origin, const char *field,
                          int64_t *out) FR_MUST_USE;
fr_status fr_json_get_double(const fr_json *json, const char *origin, const char *field,
                             double *out) FR_MUST_USE;
fr_status fr_json_get_bool(const fr_json *json, const char *origin, const char *field,
                           bool *out) FR_MUST_USE;
/** Points into the tree. */
fr_status fr_json_get_string(const fr_json *json, const char *origin, const char *field,
                             const char **out) FR_MUST_USE;
fr_status fr_json_get_object(const fr_json *json, const char *origin, const char *field,
                             const fr_json **out) FR_MUST_USE;
fr_status fr_json_get_array(const fr_json *json, const char *origin, const char *field,
                            const fr_json **out) FR_MUST_USE;

/* Adding to an object; lack of memory shows when the text is made (a sticky mark in the tree), and
 * so does an integer of 2^53 or beyond, as FR_ERANGE. */
void fr_json_add_int(fr_json *json, const char *field, int64_t value);
void fr_json_add_double(fr_json *json, const char *field, double value); /* not finite -> null */
void fr_json_add_bool(fr_json *json, const char *field, bool value);
void fr_json_add_string(fr_json *json, const char *field, const char *value);
/* Takes child, and frees it where it cannot be added: fill it before, do not touch it after. */
void fr_json_add(fr_json *json, const char *field, fr_json *child);
/* Likewise for an array: fr_json_push(array, fr_json_int(7)). */
void fr_json_push(fr_json *array, fr_json *child);
fr_json *fr_json_int(int64_t value);
fr_json *fr_json_double(double value); /* not finite -> null */
fr_json *fr_json_string(const char *value);

#endif
