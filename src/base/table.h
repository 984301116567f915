/*
 * table.h: tables of text for people: columns padded, numbers to the right, one header line.
 */
#ifndef FR_BASE_TABLE_H
#define FR_BASE_TABLE_H

#include <stdio.h>

#include "base/error.h"

typedef struct fr_table fr_table;

/** Column titles; a title that begins with '>' is set to the right. */
fr_status fr_table_create(const char *const *titles, int n_columns, fr_table **table) FR_MUST_USE;
/** Adds a cell of the current row, left to right; a full row starts the next. Failure is kept and
 * reported by fr_table_print. */
void fr_table_cell(fr_table *table, const char *format, ...) FR_PRINTF(2, 3);
/** Prints plain columns, or a Markdown table. */
fr_status fr_table_print(fr_table *table, FILE *stream) FR_MUST_USE;
fr_status fr_table_print_markdown(fr_table *table, FILE *stream) FR_MUST_USE;
void fr_table_free(fr_table *table); /* NULL-safe */

#endif
