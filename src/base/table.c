/*
 * table.c: tables of text for people. See table.h.
 *
 * Cells are kept as strings, row by row, the titles first; columns are measured when the table is
 * printed.
 */
#include "base/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

struct fr_table {
    int n_columns;
    int64_t n_cells, capacity;
    char **cells;
    int *widths;      /* of each column, in columns of the screen */
    fr_status status; /* FR_ENOMEM once a cell was lost */
};

/* Room for a cell of `length` bytes at the table's end; NULL where memory ran out. */
static char *add_cell(fr_table *table, size_t length)
{
    if (table->n_cells == table->capacity) {
        const int64_t wanted = table->capacity == 0 ? 64 : 2 * table->capacity;
        table->status = fr_realloc(&table->cells, (size_t)wanted, sizeof *table->cells, "table");
        if (table->status != FR_OK)
            return NULL;
        table->capacity = wanted;
    }
    char *cell;
    table->status = fr_alloc(length + 1, 1, "table", &cell);
    if (table->status == FR_OK)
        table->cells[table->n_cells++] = cell;
    return cell;
}

fr_status fr_table_create(const char *const *titles, int n_columns, fr_table **out)
{
    *out = NULL;
    if (n_columns < 1)
        return fr_fail(FR_EINVAL, "a table of %d columns", n_columns);
    fr_table *table;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *table, "table", &table));
    table->n_columns = n_columns;
    fr_status status;
    FR_TRY(fr_alloc((size_t)n_columns, sizeof *table->widths, "table", &table->widths));
    for (int i = 0; i < n_columns; i++) {
        const size_t length = strlen(titles[i]);
        char *cell = add_cell(table, length);
        FR_TRY(table->status);
        memcpy(cell, titles[i], length + 1);
    }
    *out = table;
    table = NULL;
done:
    fr_table_free(table);
    return status;
}

void fr_table_cell(fr_table *table, const char *format, ...)
{
    if (table->status != FR_OK)
        return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *cell = add_cell(table, length > 0 ? (size_t)length : 0);
    if (cell != NULL && length > 0)
        (void)vsnprintf(cell, (size_t)length + 1, format, again);
    va_end(again);
}

void fr_table_free(fr_table *table)
{
    if (table == NULL)
        return;
    for (int64_t i = 0; i < table->n_cells; i++)
        fr_free(table->cells[i]);
    fr_free(table->cells);
    fr_free(table->widths);
    fr_free(table);
}

static bool is_right(const fr_table *table, int64_t column)
{
    return table->cells[column][0] == '>';
}

/* "" beyond the last cell, so that an unfinished row prints as a row. */
static const char *cell_text(const fr_table *table, int64_t i)
{
    if (i >= table->n_cells)
        return "";
    return table->cells[i] + (i < table->n_columns && table->cells[i][0] == '>');
}

/* Columns on the screen: UTF-8 continuation bytes take none; Markdown writes '|' as "\|". */
static int display_width(const char *text, bool markdown)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) == 0x80 ? 0 : markdown && *text == '|' ? 2 : 1;
    return width;
}

static void measure(fr_table *table, bool markdown)
{
    for (int c = 0; c < table->n_columns; c++)
        table->widths[c] = markdown ? 3 : 0; /* "---" */
    for (int64_t i = 0; i < table->n_cells; i++) {
        int *widest = &table->widths[i % table->n_columns];
        const int width = display_width(cell_text(table, i), markdown);
        *widest = width > *widest ? width : *widest;
    }
}

static void print_text(const char *text, bool markdown, FILE *stream)
{
    if (!markdown) {
        (void)fputs(text, stream);
        return;
    }
    for (; *text != '\0'; text++)
        (void)fprintf(stream, "%s%c", *text == '|' ? "\\" : "", *text);
}

static void print_row(const fr_table *table, int64_t first, bool markdown, FILE *stream)
{
    for (int c = 0; c < table->n_columns; c++) {
        const char *text = cell_text(table, first + c);
        const int padding = table->widths[c] - display_width(text, markdown);
        const bool right = is_right(table, c);
        const bool last =
            c + 1 == table->n_columns && !markdown; /* no blanks at the end of a line */
        (void)fputs(markdown ? "| " : c > 0 ? "  " : "", stream);
        (void)fprintf(stream, "%*s", right ? padding : 0, "");
        print_text(text, markdown, stream);
        (void)fprintf(stream, "%*s", right || last ? 0 : padding, "");
        (void)fputs(markdown ? " " : "", stream);
    }
    (void)fputs(markdown ? "|\n" : "\n", stream);
}

static void print_rule(const fr_table *table, FILE *stream)
{
    for (int c = 0; c < table->n_columns; c++) {
        const bool right = is_right(table, c);
        (void)fputs("| ", stream);
        for (int i = 0; i < table->widths[c]; i++)
            (void)fputc(right && i + 1 == table->widths[c] ? ':' : '-', stream);
        (void)fputc(' ', stream);
    }
    (void)fputs("|\n", stream);
}

static fr_status print(fr_table *table, bool markdown, FILE *stream)
{
    if (table->status != FR_OK)
        return fr_fail(table->status, "a table lost cells: out of memory");
    measure(table, markdown);
    for (int64_t first = 0; first < table->n_cells; first += table->n_columns) {
        print_row(table, first, markdown, stream);
        if (first == 0 && markdown)
            print_rule(table, stream);
    }
    if (fflush(stream) != 0 || ferror(stream))
        return fr_fail(FR_EIO, "printing a table failed");
    return FR_OK;
}

fr_status fr_table_print(fr_table *table, FILE *stream) { return print(table, false, stream); }
fr_status fr_table_print_markdown(fr_table *table, FILE *stream)
{
    return print(table, true, stream);
}
