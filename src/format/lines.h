/*
 * lines.h: lines of a text file, plain or gzip, one after the other in a buffer of fixed size.
 */
#ifndef FR_FORMAT_LINES_H
#define FR_FORMAT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_lines fr_lines;

fr_status fr_lines_open(const char *path, fr_lines **lines) FR_MUST_USE;
void fr_lines_free(fr_lines *lines); /* NULL-safe */

/** The next line without its end ("\n" or "\r\n"), terminated by 0, valid until the next call; *line is NULL at the end of
 * the file. @return FR_EFORMAT a line of more than 16 MiB or with a 0 byte, FR_ECORRUPT damaged gzip data */
fr_status fr_lines_next(fr_lines *lines, char **line) FR_MUST_USE;
/** Number of the line returned last, from 1; bytes read of the file so far, and its length: for progress. */
int64_t fr_lines_number(const fr_lines *lines);
int64_t fr_lines_position(const fr_lines *lines);
int64_t fr_lines_length(const fr_lines *lines);
const char *fr_lines_path(const fr_lines *lines);

/** Fails with "PATH:LINE: sentence". */
fr_status fr_lines_fail(const fr_lines *lines, fr_status status, const char *format, ...) FR_PRINTF(3, 4);

/** Reads a decimal integer at *at and moves past it; false where there is none, or beyond 64 bits. */
bool fr_scan_int(const char **at, int64_t *value);
/** Moves past spaces, tabs and at most one comma or semicolon between fields. */
void fr_scan_separator(const char **at);

/** Splits a CSV line in place into fields: quotes, doubled quotes. @return number of fields, -1 where a quote is left open,
 * -2 where there are more than `most` */
int fr_split_csv(char *line, char **fields, int most);

#endif
