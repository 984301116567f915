/*
 * table.c: tables of text for people. See table.h.
 */
#include "base/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

struct fr_table {
    int n_columns, n_cells, capacity;
    char **cells; /* titles first, row by row */
    fr_status status;
};

static void add_cell(fr_table *table, char *text)
{
    if (table->n_cells == table->capacity) {
        const int wanted = table->capacity == 0 ? 64 : 2 * table->capacity;
        table->status = fr_realloc(&table->cells, (size_t)wanted, sizeof *table->cells, "table");
        if (table->status != FR_OK) {
            fr_free(text);
            return;
        }
        table->capacity = wanted;
    }
    table->cells[table->n_cells++] = text;
}

fr_status fr_table_create(const char *const *titles, int n_columns, fr_table **out)
{
    *out = NULL;
    fr_table *table;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *table, "table", &table));
    table->n_columns = n_columns;
    for (int i = 0; i < n_columns && table->status == FR_OK; i++) {
        char *title;
        table->status = fr_strdup(titles[i], &title);
        if (table->status == FR_OK)
            add_cell(table, title);
    }
    const fr_status status = table->status;
    if (status == FR_OK)
        *out = table;
    else
        fr_table_free(table);
    return status;
}

void fr_table_cell(fr_table *table, const char *format, ...)
{
    if (table->status != FR_OK)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy;
    table->status = fr_strdup(text, &copy);
    if (table->status == FR_OK)
        add_cell(table, copy);
}

void fr_table_free(fr_table *table)
{
    if (table == NULL)
        return;
    for (int i = 0; i < table->n_cells; i++)
        fr_free(table->cells[i]);
    fr_free(table->cells);
    fr_free(table);
}

static bool is_right(const fr_table *table, int column) { return table->cells[column][0] == '>'; }

static const char *cell_text(const fr_table *table, int i)
{
    return table->cells[i] + (i < table->n_columns && table->cells[i][0] == '>');
}

/* Columns on the screen: UTF-8 continuation bytes take none. */
static int display_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static int column_width(const fr_table *table, int column)
{
    int widest = 0;
    for (int i = column; i < table->n_cells; i += table->n_columns) {
        const int width = display_width(cell_text(table, i));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_cell(const fr_table *table, int i, FILE *stream)
{
    const int column = i % table->n_columns;
    const char *text = cell_text(table, i);
    const int padding = column_width(table, column) - display_width(text);
    if (is_right(table, column))
        (void)fprintf(stream, "%*s%s", padding, "", text);
    else
        (void)fprintf(stream, "%s%*s", text, padding, "");
}

static fr_status check(const fr_table *table, FILE *stream)
{
    if (table->status != FR_OK)
        return table->status;
    return ferror(stream) ? fr_fail(FR_EIO, "printing a table failed") : FR_OK;
}

fr_status fr_table_print(fr_table *table, FILE *stream)
{
    for (int i = 0; table->status == FR_OK && i < table->n_cells; i++) {
        print_cell(table, i, stream);
        const bool last = (i + 1) % table->n_columns == 0 || i + 1 == table->n_cells;
        (void)fputs(last ? "\n" : "  ", stream);
    }
    return check(table, stream);
}

fr_status fr_table_print_markdown(fr_table *table, FILE *stream)
{
    for (int i = 0; table->status == FR_OK && i < table->n_cells; i++) {
        (void)fputs("| ", stream);
        print_cell(table, i, stream);
        if ((i + 1) % table->n_columns != 0) {
            (void)fputs(" ", stream);
            continue;
        }
        (void)fputs(" |\n", stream);
        for (int c = 0; i + 1 == table->n_columns && c < table->n_columns; c++)
            (void)fprintf(stream, "| %s%s", is_right(table, c) ? "--:" : "---", c + 1 == table->n_columns ? " |\n" : " ");
    }
    return check(table, stream);
}
