/*
 * text.h: numbers out of strings, with the whole string checked, and sizes such as "512M".
 */
#ifndef FR_BASE_TEXT_H
#define FR_BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Whole-string parsers: false on junk, overflow, or an empty string; *out is then unchanged. */
bool fr_parse_int(const char *text, int64_t *out) FR_MUST_USE;
bool fr_parse_double(const char *text, double *out) FR_MUST_USE; /* finite only, "C" locale */
/** Bytes with suffix K M G T (powers of 1024), "8G", "1.5G"; no suffix = bytes. A part of a byte is
 * dropped. */
bool fr_parse_size(const char *text, int64_t *out) FR_MUST_USE;
/** "20,15,10" into values; *n gets the count; false on junk or more than `most`. */
bool fr_parse_int_list(const char *text, int64_t *values, int most, int *n) FR_MUST_USE;
/** Letters to change, add, drop or swap with their neighbour (optimal string alignment), for "did
 * you mean". Of a longer word only the first 63 bytes count. */
int fr_edit_distance(const char *a, const char *b);
/** The candidate nearest to `word`, the first of several; NULL where none is near. */
const char *fr_nearest_word(const char *word, const char *const *candidates, int n);

#endif
