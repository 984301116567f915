/*
 * csv.c: a folder of nodes.csv and edges.csv (or the same with .gz), header lines first.
 *
 *     nodes.csv  id, and by their names label, split; all other columns are features, in their order
 *     edges.csv  source, target and, by its name, weight
 *
 * Ids are any text; nodes are numbered in the order of nodes.csv. A label is a class from 0 on, or empty; a split is train, valid,
 * test or empty. nodes.csv is read twice, so that features stream: once for ids, labels and splits, once for features.
 */
#include <frugal/format.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "format/csr.h"
#include "format/edge_batch.h"
#include "format/names.h"
#include "format/node_files.h"

enum { MOST_FIELDS = 1 << 16 };

typedef struct table {
    const fr_import_options *options;
    const char *stage;
    fr_lines *lines;
    char **fields;
    int n_fields; /* of the header */
} table;

static fr_status open_table(const char *folder, const char *name, table *t)
{
    char *path = NULL, *packed = NULL, *line;
    fr_status status;
    FR_TRY(fr_path_join(folder, name, &path));
    FR_TRY(fr_format(&packed, "%s.gz", path));
    FR_TRY(fr_lines_open(!fr_file_exists(path) && fr_file_exists(packed) ? packed : path, &t->lines));
    FR_TRY(fr_alloc(MOST_FIELDS, sizeof *t->fields, "fields", &t->fields));
    FR_TRY(fr_lines_next(t->lines, &line));
    if (line == NULL)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: is empty, a header line is asked for", fr_lines_path(t->lines)));
    if (strncmp(line, "\xEF\xBB\xBF", 3) == 0)
        line += 3; /* the byte order mark of spreadsheets */
    t->n_fields = fr_split_csv(line, t->fields, MOST_FIELDS);
    if (t->n_fields < 0)
        FR_TRY(fr_lines_fail(t->lines, FR_EFORMAT, t->n_fields == -1 ? "a quote is not closed" : "more than 65536 columns"));
done:
    fr_free(packed);
    fr_free(path);
    return status;
}

static void close_table(table *t)
{
    fr_lines_free(t->lines);
    fr_free(t->fields);
}

static int column_of(const table *t, const char *name)
{
    for (int i = 0; i < t->n_fields; i++)
        if (strcmp(t->fields[i], name) == 0)
            return i;
    return -1;
}

static fr_status need_column(const table *t, const char *name, int *column)
{
    *column = column_of(t, name);
    if (*column < 0)
        return fr_lines_fail(t->lines, FR_EFORMAT, "the header has no column \"%s\"; its first is \"%.40s\"", name, t->fields[0]);
    return FR_OK;
}

/* The next line's fields; empty lines are passed over. */
static fr_status next_row(table *t, bool *more)
{
    char *line;
    do {
        FR_RETURN_IF_ERROR(fr_lines_next(t->lines, &line));
        *more = line != NULL;
        if (line == NULL)
            return FR_OK;
        FR_RETURN_IF_ERROR(fr_report_line(t->options, t->lines, t->stage));
    } while (line[0] == '\0');
    const int n = fr_split_csv(line, t->fields, MOST_FIELDS);
    if (n == -1)
        return fr_lines_fail(t->lines, FR_EFORMAT, "a quote is not closed");
    if (n != t->n_fields)
        return fr_lines_fail(t->lines, FR_EFORMAT, "%d fields, the header has %d", n == -2 ? MOST_FIELDS + 1 : n, t->n_fields);
    return FR_OK;
}

/* ---- nodes ---- */

typedef struct nodes {
    fr_names *ids;
    int id, label, split; /* columns; -1 none */
    int n_features;
    int32_t *labels;
    uint8_t *parts;
    int64_t capacity, n_classes, n_labelled;
} nodes;

static fr_status find_columns(const table *t, nodes *n)
{
    FR_RETURN_IF_ERROR(need_column(t, "id", &n->id));
    n->label = column_of(t, "label");
    n->split = column_of(t, "split");
    n->n_features = t->n_fields - 1 - (n->label >= 0) - (n->split >= 0);
    if (n->split >= 0 && n->label < 0)
        return fr_lines_fail(t->lines, FR_EFORMAT, "the header has a column \"split\" but none \"label\": what is split must be labelled");
    for (int i = 0; i < t->n_fields; i++)
        if (column_of(t, t->fields[i]) != i)
            return fr_lines_fail(t->lines, FR_EFORMAT, "the header has the column \"%.40s\" twice", t->fields[i]);
    return FR_OK;
}

static fr_status parse_label(const table *t, const char *text, int32_t *label)
{
    int64_t value = -1;
    if (*text != '\0' && (!fr_parse_int(text, &value) || value < -1 || value >= INT32_MAX))
        return fr_lines_fail(t->lines, FR_EFORMAT, "the label \"%.40s\" is no class number from 0 on, or empty for none", text);
    *label = (int32_t)value;
    return FR_OK;
}

static fr_status parse_split(const table *t, const char *text, int32_t label, uint8_t *part)
{
    static const char *const words[] = {"", "train", "valid", "test"};
    for (uint8_t i = 0; i < 4; i++)
        if (strcmp(text, words[i]) == 0) {
            *part = i;
            if (i != FR_SPLIT_NONE && label < 0)
                return fr_lines_fail(t->lines, FR_EINVAL, "the node is in %s but has no label", text);
            return FR_OK;
        }
    return fr_lines_fail(t->lines, FR_EFORMAT, "the split \"%.40s\" is none of train, valid, test or empty", text);
}

static fr_status take_node(const table *t, nodes *n)
{
    const char *id = t->fields[n->id];
    const int64_t i = fr_names_count(n->ids);
    bool is_new;
    if (*id == '\0')
        return fr_lines_fail(t->lines, FR_EFORMAT, "the id is empty");
    FR_RETURN_IF_ERROR(fr_names_add(n->ids, id, &is_new));
    if (!is_new)
        return fr_lines_fail(t->lines, FR_EFORMAT, "the id \"%.60s\" stands for a second node", id);
    if (i == n->capacity) {
        const int64_t wanted = n->capacity + n->capacity / 2 + 1024;
        FR_RETURN_IF_ERROR(fr_realloc(&n->labels, (size_t)wanted, sizeof *n->labels, "labels"));
        FR_RETURN_IF_ERROR(fr_realloc(&n->parts, (size_t)wanted, 1, "split"));
        n->capacity = wanted;
    }
    n->labels[i] = -1;
    n->parts[i] = FR_SPLIT_NONE;
    if (n->label >= 0)
        FR_RETURN_IF_ERROR(parse_label(t, t->fields[n->label], &n->labels[i]));
    if (n->split >= 0)
        FR_RETURN_IF_ERROR(parse_split(t, t->fields[n->split], n->labels[i], &n->parts[i]));
    if (n->labels[i] + 1 > n->n_classes)
        n->n_classes = n->labels[i] + 1;
    return FR_OK;
}

static fr_status read_nodes(const char *folder, const fr_import_options *options, nodes *n)
{
    table t = {.options = options, .stage = "reading nodes"};
    bool more;
    fr_status status;
    FR_TRY(fr_names_create(&n->ids));
    FR_TRY(open_table(folder, "nodes.csv", &t));
    FR_TRY(find_columns(&t, n));
    for (;;) {
        FR_TRY(next_row(&t, &more));
        if (!more)
            break;
        FR_TRY(take_node(&t, n));
    }
done:
    close_table(&t);
    return status;
}

static fr_status parse_features(const table *t, const nodes *n, float *row)
{
    int column = 0;
    for (int i = 0; i < t->n_fields; i++) {
        double value;
        if (i == n->id || i == n->label || i == n->split)
            continue;
        if (!fr_parse_double(t->fields[i], &value) || !isfinite((float)value))
            return fr_lines_fail(t->lines, FR_EFORMAT, "field %d is \"%.30s\", not a finite number", i + 1, t->fields[i]);
        row[column++] = (float)value;
    }
    return FR_OK;
}

static fr_status add_features(const char *folder, const fr_import_options *options, const nodes *n, fr_graph_builder *builder)
{
    if (n->n_features == 0)
        return FR_OK;
    table t = {.options = options, .stage = "reading features"};
    float *row = NULL;
    bool more;
    fr_status status;
    FR_TRY(open_table(folder, "nodes.csv", &t));
    FR_TRY(fr_graph_builder_features(builder, FR_F32, n->n_features));
    FR_TRY(fr_alloc((size_t)n->n_features, sizeof *row, "features", &row));
    for (;;) {
        FR_TRY(next_row(&t, &more));
        if (!more)
            break;
        FR_TRY(parse_features(&t, n, row));
        if (options->normalize_features)
            fr_normalise_rows(row, 1, n->n_features);
        FR_TRY(fr_wrap(fr_graph_builder_add_features(builder, row, 1), "%s", fr_lines_path(t.lines)));
    }
done:
    close_table(&t);
    fr_free(row);
    return status;
}

static fr_status add_labels(const fr_import_options *options, const nodes *n, fr_graph_builder *builder)
{
    if (n->label < 0 || fr_names_count(n->ids) == 0)
        return FR_OK;
    FR_RETURN_IF_ERROR(fr_graph_builder_labels(builder, n->labels, n->n_classes));
    return n->split >= 0 ? fr_graph_builder_split(builder, n->parts) : fr_add_random_split(builder, options);
}

/* ---- edges ---- */

typedef struct edge_columns {
    int source, target, weight;
} edge_columns;

static fr_status take_edge(const table *t, const edge_columns *columns, const nodes *n, fr_edge_batch *batch)
{
    const char *ids[] = {t->fields[columns->source], t->fields[columns->target]};
    int64_t ends[2];
    double weight = 1;
    for (int i = 0; i < 2; i++) {
        ends[i] = fr_names_find(n->ids, ids[i]);
        if (ends[i] < 0)
            return fr_lines_fail(t->lines, FR_ERANGE, "%s \"%.60s\" is none of the %" PRId64 " ids of nodes.csv", i == 0 ? "source" : "target", ids[i],
                                 fr_names_count(n->ids));
    }
    if (columns->weight >= 0 && (!fr_parse_double(t->fields[columns->weight], &weight) || !isfinite((float)weight)))
        return fr_lines_fail(t->lines, FR_EFORMAT, "the weight \"%.30s\" is not a finite number", t->fields[columns->weight]);
    return fr_edge_batch_add(batch, ends[0], ends[1], (float)weight);
}

static fr_status add_edges(table *t, const edge_columns *columns, const nodes *n, fr_graph_builder *builder)
{
    fr_edge_batch batch;
    bool more;
    fr_status status;
    FR_TRY(fr_edge_batch_start(builder, columns->weight >= 0, &batch));
    for (;;) {
        FR_TRY(next_row(t, &more));
        if (!more)
            break;
        FR_TRY(take_edge(t, columns, n, &batch));
    }
    FR_TRY(fr_edge_batch_flush(&batch));
done:
    fr_edge_batch_release(&batch);
    return status;
}

fr_status fr_import_csv(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    nodes n = {0};
    table edges = {.options = options, .stage = "reading edges"};
    edge_columns columns;
    fr_graph_builder *builder = NULL;
    fr_status status;
    if (!fr_folder_exists(source))
        FR_TRY(fr_fail(FR_ENOENT, "%s: is no folder; csv wants one with nodes.csv and edges.csv", source));
    FR_TRY(read_nodes(source, options, &n));
    FR_TRY(open_table(source, "edges.csv", &edges));
    FR_TRY(need_column(&edges, "source", &columns.source));
    FR_TRY(need_column(&edges, "target", &columns.target));
    columns.weight = column_of(&edges, "weight");
    FR_TRY(fr_start_import(path, fr_names_count(n.ids), columns.weight >= 0, !options->directed, options, &builder));
    FR_TRY(add_edges(&edges, &columns, &n, builder));
    FR_TRY(add_features(source, options, &n, builder));
    FR_TRY(add_labels(options, &n, builder));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(builder);
    close_table(&edges);
    fr_names_free(n.ids);
    fr_free(n.labels);
    fr_free(n.parts);
    return status;
}
