/*
 * ogb_text.c: OGB's csv.gz files: no header lines, one graph.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "format/csr.h"
#include "format/edge_batch.h"
#include "format/ogb.h"

enum { MOST_FIELDS = 1 << 16 };

typedef struct text_file {
    const fr_import_options *options;
    const char *stage;
    char *folder;
    fr_lines *lines;
    char **fields;
} text_file;

fr_status fr_ogb_file(const char *folder, const char *name, char **path)
{
    char *packed = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, name, path));
    FR_TRY(fr_format(&packed, "%s.gz", *path));
    if (!fr_file_exists(*path)) {
        fr_free(*path);
        *path = packed;
        packed = NULL;
    }
done:
    fr_free(packed);
    return status;
}

/* raw/NAME; *file stays closed where it is absent and optional. */
static fr_status open_file(const fr_ogb *ogb, const char *name, bool optional, const char *stage, text_file *file)
{
    *file = (text_file){.options = ogb->options, .stage = stage};
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(ogb->source, "raw", &file->folder));
    FR_TRY(fr_ogb_file(file->folder, name, &path));
    if (!optional || fr_file_exists(path)) {
        FR_TRY(fr_lines_open(path, &file->lines));
        FR_TRY(fr_alloc(MOST_FIELDS, sizeof *file->fields, "fields", &file->fields));
    }
done:
    fr_free(path);
    return status;
}

static void close_file(text_file *file)
{
    fr_lines_free(file->lines);
    fr_free(file->folder);
    fr_free(file->fields);
}

static fr_status next_line(const text_file *file, char **line)
{
    do {
        FR_RETURN_IF_ERROR(fr_lines_next(file->lines, line));
        if (*line == NULL)
            return FR_OK;
        FR_RETURN_IF_ERROR(fr_report_line(file->options, file->lines, file->stage));
    } while (**line == '\0');
    return FR_OK;
}

/* A list of numbers, one a graph; node-property data sets are one graph. */
static fr_status read_size(const fr_ogb *ogb, const char *name, int64_t *size)
{
    text_file file;
    char *line;
    fr_status status;
    FR_TRY(open_file(ogb, name, false, "reading sizes", &file));
    FR_TRY(next_line(&file, &line));
    if (line == NULL)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: is empty, a number is asked for", fr_lines_path(file.lines)));
    if (!fr_parse_int(line, size) || *size < 0)
        FR_TRY(fr_lines_fail(file.lines, FR_EFORMAT, "\"%.40s\" is no number from 0 on", line));
    FR_TRY(next_line(&file, &line));
    if (line != NULL)
        FR_TRY(fr_lines_fail(file.lines, FR_ENOTSUP, "lists a second graph; data sets of one graph are read"));
done:
    close_file(&file);
    return status;
}

fr_status fr_ogb_text_sizes(fr_ogb *ogb)
{
    FR_RETURN_IF_ERROR(read_size(ogb, "num-node-list.csv", &ogb->n_nodes));
    return read_size(ogb, "num-edge-list.csv", &ogb->n_edges);
}

static fr_status check_count(const text_file *file, int64_t n, int64_t wanted, const char *things)
{
    if (n != wanted)
        return fr_fail(FR_EFORMAT, "%s: %" PRId64 " lines for %" PRId64 " %s", fr_lines_path(file->lines), n, wanted, things);
    return FR_OK;
}

static fr_status parse_edge(const fr_ogb *ogb, const text_file *file, const char *line, fr_edge_batch *batch)
{
    int64_t source, target;
    const char *at = line;
    bool good = fr_scan_int(&at, &source);
    fr_scan_separator(&at);
    good = good && fr_scan_int(&at, &target) && *at == '\0';
    if (!good)
        return fr_lines_fail(file->lines, FR_EFORMAT, "\"%.40s\" is not two node numbers", line);
    if (source < 0 || source >= ogb->n_nodes || target < 0 || target >= ogb->n_nodes)
        return fr_lines_fail(file->lines, FR_ERANGE, "edge %" PRId64 " -> %" PRId64 " lies outside nodes 0 to %" PRId64, source, target,
                             ogb->n_nodes - 1);
    return fr_edge_batch_add(batch, source, target, 1);
}

fr_status fr_ogb_text_edges(fr_ogb *ogb)
{
    text_file file;
    fr_edge_batch batch = {0};
    char *line;
    int64_t n = 0;
    fr_status status;
    FR_TRY(open_file(ogb, "edge.csv", false, "reading edges", &file));
    FR_TRY(fr_edge_batch_start(ogb->builder, false, &batch));
    for (;; n++) {
        FR_TRY(next_line(&file, &line));
        if (line == NULL)
            break;
        FR_TRY(parse_edge(ogb, &file, line, &batch));
    }
    FR_TRY(check_count(&file, n, ogb->n_edges, "edges of num-edge-list.csv"));
    FR_TRY(fr_edge_batch_flush(&batch));
done:
    fr_edge_batch_release(&batch);
    close_file(&file);
    return status;
}

/* The next line's fields, `width` of them where it is not 0; *n is 0 at the end. */
static fr_status next_row(const text_file *file, int64_t width, int *n)
{
    char *line;
    *n = 0;
    FR_RETURN_IF_ERROR(next_line(file, &line));
    if (line == NULL)
        return FR_OK;
    *n = fr_split_csv(line, file->fields, MOST_FIELDS);
    if (*n < 0)
        return fr_lines_fail(file->lines, FR_EFORMAT, *n == -1 ? "a quote is not closed" : "more than 65536 fields");
    if (width != 0 && *n != width)
        return fr_lines_fail(file->lines, FR_EFORMAT, "%d fields, the lines before have %" PRId64, *n, width);
    return FR_OK;
}

static fr_status parse_features(const text_file *file, int64_t width, float *row)
{
    for (int64_t i = 0; i < width; i++) {
        double value;
        if (!fr_parse_double(file->fields[i], &value) || !isfinite((float)value))
            return fr_lines_fail(file->lines, FR_EFORMAT, "field %" PRId64 " is \"%.30s\", not a finite number", i + 1, file->fields[i]);
        row[i] = (float)value;
    }
    return FR_OK;
}

fr_status fr_ogb_text_features(fr_ogb *ogb)
{
    text_file file;
    float *row = NULL;
    int64_t n = 0, width = 0;
    fr_status status;
    FR_TRY(open_file(ogb, "node-feat.csv", true, "reading features", &file));
    if (file.lines == NULL)
        goto done;
    for (;; n++) {
        int n_fields;
        FR_TRY(next_row(&file, width, &n_fields));
        if (n_fields == 0)
            break;
        if (width == 0) {
            width = n_fields;
            FR_TRY(fr_graph_builder_features(ogb->builder, FR_F32, width));
            FR_TRY(fr_alloc((size_t)width, sizeof *row, "features", &row));
        }
        if (n == ogb->n_nodes)
            FR_TRY(fr_lines_fail(file.lines, FR_EFORMAT, "more lines than the %" PRId64 " nodes", n));
        FR_TRY(parse_features(&file, width, row));
        if (ogb->options->normalize_features)
            fr_normalise_rows(row, 1, width);
        FR_TRY(fr_wrap(fr_graph_builder_add_features(ogb->builder, row, 1), "%s", fr_lines_path(file.lines)));
    }
    FR_TRY(check_count(&file, n, ogb->n_nodes, "nodes"));
done:
    fr_free(row);
    close_file(&file);
    return status;
}

static fr_status parse_labels(const text_file *file, int64_t width, double *row)
{
    for (int64_t i = 0; i < width; i++) {
        const char *text = file->fields[i];
        if (*text == '\0' || strcasecmp(text, "nan") == 0)
            row[i] = (double)NAN;
        else if (!fr_parse_double(text, &row[i]))
            return fr_lines_fail(file->lines, FR_EFORMAT, "the label \"%.40s\" is no number", text);
    }
    return FR_OK;
}

fr_status fr_ogb_text_labels(fr_ogb *ogb)
{
    text_file file;
    double *row = NULL;
    int64_t n = 0;
    fr_status status;
    FR_TRY(open_file(ogb, "node-label.csv", true, "reading labels", &file));
    if (file.lines == NULL)
        goto done;
    for (;; n++) {
        int n_fields;
        FR_TRY(next_row(&file, ogb->n_columns, &n_fields));
        if (n_fields == 0)
            break;
        if (ogb->n_columns == 0) {
            FR_TRY(fr_ogb_start_labels(ogb, fr_lines_path(file.lines), n_fields));
            FR_TRY(fr_alloc((size_t)n_fields, sizeof *row, "labels", &row));
        }
        if (n == ogb->n_nodes)
            FR_TRY(fr_lines_fail(file.lines, FR_EFORMAT, "more lines than the %" PRId64 " nodes", n));
        FR_TRY(parse_labels(&file, n_fields, row));
        FR_TRY(fr_ogb_take_labels(ogb, fr_lines_path(file.lines), n, row));
    }
    FR_TRY(check_count(&file, n, ogb->n_nodes, "nodes"));
done:
    fr_free(row);
    close_file(&file);
    return status;
}
