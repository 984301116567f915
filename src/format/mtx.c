/*
 * mtx.c: Matrix Market coordinate files, plain or gzip.
 *
 *     %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric
 *     % comments
 *     rows columns entries
 *     i j [value]          from 1; of a symmetric matrix only the lower triangle is stored
 *
 * Entry (i, j) is an edge from node i-1 to node j-1, its value the weight. What a symmetric file leaves out is added (a
 * skew-symmetric one with the sign changed), also where edges are kept directed.
 *
 * Source: Boisvert, Pozo, Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935, 1996.
 */
#include <frugal/format.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/edge_batch.h"
#include "format/node_files.h"

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW } symmetry;

typedef struct matrix {
    const fr_import_options *options;
    fr_lines *lines;
    symmetry symmetry;
    bool has_values;
    int64_t n_nodes, n_entries;
} matrix;

/* The next word of a line, lengths of up to 31 letters. */
static const char *next_word(const char *at, char word[32])
{
    size_t n = 0;
    at += strspn(at, " \t");
    const size_t length = strcspn(at, " \t");
    for (; n < length && n < 31; n++)
        word[n] = at[n];
    word[n] = '\0';
    return at + length;
}

static fr_status read_banner(matrix *m)
{
    char *line, words[5][32];
    FR_RETURN_IF_ERROR(fr_lines_next(m->lines, &line));
    if (line == NULL)
        return fr_fail(FR_EFORMAT, "%s: is empty", fr_lines_path(m->lines));
    const char *at = line;
    for (int i = 0; i < 5; i++)
        at = next_word(at, words[i]);
    if (strcasecmp(words[0], "%%MatrixMarket") != 0 || strcasecmp(words[1], "matrix") != 0)
        return fr_lines_fail(m->lines, FR_EFORMAT, "starts with \"%.40s\", not with %%%%MatrixMarket matrix", line);
    if (strcasecmp(words[2], "coordinate") != 0)
        return fr_lines_fail(m->lines, FR_ENOTSUP, "the matrix is of format \"%s\", only coordinate is read", words[2]);
    m->has_values = strcasecmp(words[3], "real") == 0 || strcasecmp(words[3], "integer") == 0;
    if (!m->has_values && strcasecmp(words[3], "pattern") != 0)
        return fr_lines_fail(m->lines, FR_ENOTSUP, "values are \"%s\"; real, integer and pattern are read", words[3]);
    if (strcasecmp(words[4], "general") == 0)
        m->symmetry = GENERAL;
    else if (strcasecmp(words[4], "symmetric") == 0)
        m->symmetry = SYMMETRIC;
    else if (strcasecmp(words[4], "skew-symmetric") == 0)
        m->symmetry = SKEW;
    else
        return fr_lines_fail(m->lines, FR_ENOTSUP, "the matrix is \"%s\"; general, symmetric and skew-symmetric are read", words[4]);
    return FR_OK;
}

/* The next line that is neither a comment nor empty; NULL at the end. */
static fr_status next_line(const matrix *m, char **line)
{
    do {
        FR_RETURN_IF_ERROR(fr_lines_next(m->lines, line));
        if (*line == NULL)
            return FR_OK;
        FR_RETURN_IF_ERROR(fr_report_line(m->options, m->lines, "reading edges"));
    } while (**line == '%' || (*line)[strspn(*line, " \t")] == '\0');
    return FR_OK;
}

static bool scan_field(const char **at, int64_t *value)
{
    *at += strspn(*at, " \t");
    return fr_scan_int(at, value) && (**at == '\0' || **at == ' ' || **at == '\t');
}

static bool at_end(const char *at) { return at[strspn(at, " \t")] == '\0'; }

static fr_status read_sizes(matrix *m)
{
    char *line;
    int64_t columns;
    FR_RETURN_IF_ERROR(next_line(m, &line));
    if (line == NULL)
        return fr_fail(FR_EFORMAT, "%s: ends before its line of sizes", fr_lines_path(m->lines));
    const char *at = line;
    if (!scan_field(&at, &m->n_nodes) || !scan_field(&at, &columns) || !scan_field(&at, &m->n_entries) || !at_end(at))
        return fr_lines_fail(m->lines, FR_EFORMAT, "\"%.60s\" is not three sizes: rows, columns, entries", line);
    if (m->n_nodes < 0 || m->n_entries < 0)
        return fr_lines_fail(m->lines, FR_ERANGE, "%" PRId64 " rows and %" PRId64 " entries: below 0", m->n_nodes, m->n_entries);
    if (m->n_nodes != columns)
        return fr_lines_fail(m->lines, FR_ESHAPE, "the matrix is %" PRId64 " x %" PRId64 ", not square", m->n_nodes, columns);
    return FR_OK;
}

static fr_status add_entry(const matrix *m, const char *line, fr_edge_batch *batch)
{
    int64_t i, j;
    float value = 1;
    const char *at = line;
    if (!scan_field(&at, &i) || !scan_field(&at, &j))
        return fr_lines_fail(m->lines, FR_EFORMAT, "\"%.60s\" is no entry: row, column%s", line, m->has_values ? ", value" : "");
    if (i < 1 || i > m->n_nodes || j < 1 || j > m->n_nodes)
        return fr_lines_fail(m->lines, FR_ERANGE, "entry (%" PRId64 ", %" PRId64 ") lies outside rows and columns 1 to %" PRId64, i, j, m->n_nodes);
    if (m->has_values) {
        at += strspn(at, " \t");
        char *end;
        value = strtof(at, &end);
        if (end == at || !isfinite(value))
            return fr_lines_fail(m->lines, FR_EFORMAT, "the value \"%.30s\" is not a finite number", at);
        at = end;
    }
    if (!at_end(at))
        return fr_lines_fail(m->lines, FR_EFORMAT, "\"%.30s\" stands behind the entry", at);
    if (m->symmetry != GENERAL && (i < j || (m->symmetry == SKEW && i == j)))
        return fr_lines_fail(m->lines, FR_EFORMAT, "entry (%" PRId64 ", %" PRId64 ") is not below the diagonal of a %s matrix", i, j,
                             m->symmetry == SKEW ? "skew-symmetric" : "symmetric");
    FR_RETURN_IF_ERROR(fr_edge_batch_add(batch, i - 1, j - 1, value));
    if (m->symmetry == GENERAL || i == j)
        return FR_OK;
    return fr_edge_batch_add(batch, j - 1, i - 1, m->symmetry == SKEW ? -value : value);
}

static fr_status add_entries(const matrix *m, fr_graph_builder *builder)
{
    fr_edge_batch batch;
    char *line;
    fr_status status;
    FR_TRY(fr_edge_batch_start(builder, m->has_values, &batch));
    for (int64_t n = 0;; n++) {
        FR_TRY(next_line(m, &line));
        if (line == NULL && n < m->n_entries)
            FR_TRY(fr_fail(FR_EFORMAT, "%s: %" PRId64 " entries in the file, its line of sizes says %" PRId64, fr_lines_path(m->lines), n,
                           m->n_entries));
        if (line == NULL)
            break;
        if (n == m->n_entries)
            FR_TRY(fr_lines_fail(m->lines, FR_EFORMAT, "more entries than the %" PRId64 " of the line of sizes", m->n_entries));
        FR_TRY(add_entry(m, line, &batch));
    }
    FR_TRY(fr_edge_batch_flush(&batch));
done:
    fr_edge_batch_release(&batch);
    return status;
}

fr_status fr_import_mtx(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    matrix m = {.options = options};
    fr_graph_builder *builder = NULL;
    fr_status status;
    FR_TRY(fr_lines_open(source, &m.lines));
    FR_TRY(read_banner(&m));
    FR_TRY(read_sizes(&m));
    const bool symmetrize = !options->directed && m.symmetry == GENERAL;
    FR_TRY(fr_wrap(fr_start_import(path, m.n_nodes, m.has_values, symmetrize, options, &builder), "%s", source));
    FR_TRY(add_entries(&m, builder));
    FR_TRY(fr_add_node_files(builder, m.n_nodes, options));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(builder);
    fr_lines_free(m.lines);
    return status;
}
