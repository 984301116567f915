/*
 * planetoid.c: Cora, CiteSeer and PubMed as the Planetoid paper published them.
 *
 *     ind.NAME.x, y        features and one-hot labels of the training nodes, numbers 0 .. n_train-1
 *     ind.NAME.allx, ally  of all nodes but the test nodes, numbers 0 .. n_all-1
 *     ind.NAME.tx, ty      of the test nodes, in the order of
 *     ind.NAME.test.index  their numbers, a line each, not sorted
 *     ind.NAME.graph       {node: [neighbours]}
 *
 * The standard split: train 0 .. n_train-1, validation the next 500, test test.index. CiteSeer's test numbers have gaps: those
 * nodes exist, isolated, without features or label.
 */
#include <frugal/format.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "format/csr.h"
#include "format/pickle.h"

enum { N_VALID = 500, MOST_INDEX_BYTES = 1 << 26, BATCH_EDGES = 4096 };

typedef struct planetoid {
    const char *source;
    fr_csr x, tx, allx; /* x only for its number of rows */
    int32_t *all_labels, *test_labels;
    int64_t n_train, n_all, n_test, n_nodes, n_classes;
    int64_t *test_index;
    fr_pickle *graph;
} planetoid;

static fr_status part_path(const planetoid *p, const char *part, char **path) { return fr_format(path, "%s.%s", p->source, part); }

static fr_status read_matrix(const planetoid *p, const char *part, fr_csr *csr)
{
    char *path = NULL;
    fr_pickle *pickle = NULL;
    fr_status status;
    FR_TRY(part_path(p, part, &path));
    FR_TRY(fr_pickle_open(path, &pickle));
    const fr_pickle_value *state = fr_pickle_root(pickle)->state;
    const fr_pickle_value *shape = fr_pickle_find(state, "_shape");
    if (shape == NULL || shape->kind != FR_PICKLE_TUPLE || shape->n_items != 2)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: holds no sparse matrix", path));
    fr_tensor indptr, indices, data;
    FR_TRY(fr_pickle_array(pickle, fr_pickle_find(state, "indptr"), "indptr", &indptr));
    FR_TRY(fr_pickle_array(pickle, fr_pickle_find(state, "indices"), "indices", &indices));
    FR_TRY(fr_pickle_array(pickle, fr_pickle_find(state, "data"), "data", &data));
    FR_TRY(fr_csr_make(path, shape->items[0]->integer, shape->items[1]->integer, &indptr, &indices, &data, csr));
done:
    fr_pickle_free(pickle);
    fr_free(path);
    return status;
}

/* One-hot rows to class numbers; a row without a one is -1. */
static fr_status read_labels(const planetoid *p, const char *part, int32_t **labels, int64_t *n, int64_t *n_classes)
{
    char *path = NULL;
    fr_pickle *pickle = NULL;
    int64_t *ones = NULL;
    fr_status status;
    FR_TRY(part_path(p, part, &path));
    FR_TRY(fr_pickle_open(path, &pickle));
    fr_tensor view;
    FR_TRY(fr_pickle_array(pickle, fr_pickle_root(pickle), "labels", &view));
    if (view.rank != 2 || fr_dtype_is_float(view.dtype))
        FR_TRY(fr_fail(FR_EFORMAT, "%s: labels are no matrix of integers", path));
    const int64_t count = fr_tensor_count(&view);
    *n = view.shape[0];
    *n_classes = view.shape[1];
    void *raw = NULL;
    FR_TRY(fr_alloc((size_t)count, fr_dtype_bytes(view.dtype), "labels", &raw));
    if (count > 0)
        memcpy(raw, view.data, (size_t)count * fr_dtype_bytes(view.dtype));
    status = fr_alloc((size_t)count, sizeof *ones, "labels", &ones);
    if (status == FR_OK)
        status = fr_convert(view.dtype, raw, FR_I64, ones, count);
    fr_free(raw);
    FR_TRY(status);
    FR_TRY(fr_alloc((size_t)*n, sizeof **labels, "labels", labels));
    for (int64_t i = 0; i < *n; i++) {
        (*labels)[i] = -1;
        for (int64_t c = 0; c < *n_classes; c++)
            if (ones[i * *n_classes + c] != 0)
                (*labels)[i] = (int32_t)c;
    }
done:
    fr_free(ones);
    fr_pickle_free(pickle);
    fr_free(path);
    return status;
}

static fr_status read_test_index(planetoid *p)
{
    char *path = NULL, *text = NULL;
    size_t length;
    fr_status status;
    FR_TRY(part_path(p, "test.index", &path));
    FR_TRY(fr_file_read(path, MOST_INDEX_BYTES, &text, &length));
    FR_TRY(fr_alloc((size_t)p->n_test, sizeof *p->test_index, "test index", &p->test_index));
    int64_t n = 0;
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n')
            *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0')
            continue;
        int64_t node;
        if (!fr_parse_int(line, &node) || node < p->n_all)
            FR_TRY(fr_fail(FR_EFORMAT, "%s:%" PRId64 ": \"%.30s\" is no node number from %" PRId64 " on", path, n + 1, line, p->n_all));
        if (n == p->n_test)
            FR_TRY(fr_fail(FR_ESHAPE, "%s: more lines than the %" PRId64 " test nodes of tx", path, p->n_test));
        p->test_index[n++] = node;
    }
    if (n != p->n_test)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " lines for the %" PRId64 " test nodes of tx", path, n, p->n_test));
done:
    fr_free(text);
    fr_free(path);
    return status;
}

static fr_status check_sizes(planetoid *p, int64_t n_all_labels, int64_t n_test_labels, int64_t all_classes, int64_t test_classes)
{
    if (p->allx.n_columns != p->tx.n_columns || p->allx.n_columns != p->x.n_columns)
        return fr_fail(FR_ESHAPE, "%s: x, allx and tx have %" PRId64 ", %" PRId64 " and %" PRId64 " columns", p->source, p->x.n_columns,
                       p->allx.n_columns, p->tx.n_columns);
    if (n_all_labels != p->allx.n_rows || n_test_labels != p->tx.n_rows)
        return fr_fail(FR_ESHAPE, "%s: allx has %" PRId64 " rows and ally %" PRId64 "; tx %" PRId64 " and ty %" PRId64, p->source, p->allx.n_rows,
                       n_all_labels, p->tx.n_rows, n_test_labels);
    if (all_classes != test_classes)
        return fr_fail(FR_ESHAPE, "%s: ally has %" PRId64 " classes, ty %" PRId64, p->source, all_classes, test_classes);
    if (p->x.n_rows + N_VALID > p->allx.n_rows)
        return fr_fail(FR_ESHAPE, "%s: %" PRId64 " training nodes and %d for validation exceed the %" PRId64 " of allx", p->source, p->x.n_rows, N_VALID,
                       p->allx.n_rows);
    p->n_train = p->x.n_rows;
    p->n_all = p->allx.n_rows;
    p->n_test = p->tx.n_rows;
    p->n_classes = all_classes;
    return FR_OK;
}

static fr_status read_parts(planetoid *p)
{
    int64_t n_all_labels, n_test_labels, all_classes, test_classes;
    FR_RETURN_IF_ERROR(read_matrix(p, "x", &p->x));
    FR_RETURN_IF_ERROR(read_matrix(p, "allx", &p->allx));
    FR_RETURN_IF_ERROR(read_matrix(p, "tx", &p->tx));
    FR_RETURN_IF_ERROR(read_labels(p, "ally", &p->all_labels, &n_all_labels, &all_classes));
    FR_RETURN_IF_ERROR(read_labels(p, "ty", &p->test_labels, &n_test_labels, &test_classes));
    FR_RETURN_IF_ERROR(check_sizes(p, n_all_labels, n_test_labels, all_classes, test_classes));
    FR_RETURN_IF_ERROR(read_test_index(p));
    p->n_nodes = p->n_all;
    for (int64_t i = 0; i < p->n_test; i++)
        p->n_nodes = p->test_index[i] + 1 > p->n_nodes ? p->test_index[i] + 1 : p->n_nodes;
    if (p->n_nodes > p->n_all + 16 * p->n_test + 16) /* gaps are few; a foreign number would ask for a huge table */
        return fr_fail(FR_ERANGE, "%s.test.index: node %" PRId64 " for %" PRId64 " nodes of allx and tx", p->source, p->n_nodes - 1, p->n_all + p->n_test);
    char *path = NULL;
    FR_RETURN_IF_ERROR(part_path(p, "graph", &path));
    const fr_status status = fr_pickle_open(path, &p->graph);
    fr_free(path);
    return status;
}

/* ---- writing ---- */

static fr_status add_neighbours(const planetoid *p, fr_graph_builder *builder, const fr_pickle_value *key, const fr_pickle_value *list)
{
    if (key->kind != FR_PICKLE_INT || list->kind != FR_PICKLE_LIST)
        return fr_fail(FR_EFORMAT, "%s.graph: is no dictionary of node numbers to lists", p->source);
    int64_t source[BATCH_EDGES], target[BATCH_EDGES];
    int64_t n = 0;
    for (int64_t i = 0; i < list->n_items; i++) {
        if (list->items[i]->kind != FR_PICKLE_INT)
            return fr_fail(FR_EFORMAT, "%s.graph: node %" PRId64 " has a neighbour that is no number", p->source, key->integer);
        source[n] = list->items[i]->integer;
        target[n++] = key->integer;
        if (n == BATCH_EDGES) {
            FR_RETURN_IF_ERROR(fr_graph_builder_add_edges(builder, source, target, NULL, n));
            n = 0;
        }
    }
    return fr_wrap(fr_graph_builder_add_edges(builder, source, target, NULL, n), "%s.graph", p->source);
}

static fr_status add_edges(const planetoid *p, fr_graph_builder *builder)
{
    const fr_pickle_value *dict = fr_pickle_root(p->graph);
    if (dict->kind != FR_PICKLE_DICT)
        return fr_fail(FR_EFORMAT, "%s.graph: holds no dictionary", p->source);
    for (int64_t i = 0; i + 1 < dict->n_items; i += 2)
        FR_RETURN_IF_ERROR(add_neighbours(p, builder, dict->items[i], dict->items[i + 1]));
    return FR_OK;
}

/* row_of[node]: its row in tx for test nodes, -1 - row in allx for the others, INT64_MIN for gaps. */
static fr_status locate_nodes(const planetoid *p, int64_t **row_of)
{
    FR_RETURN_IF_ERROR(fr_alloc((size_t)p->n_nodes, sizeof **row_of, "node rows", row_of));
    for (int64_t i = 0; i < p->n_nodes; i++)
        (*row_of)[i] = i < p->n_all ? -1 - i : INT64_MIN;
    for (int64_t i = 0; i < p->n_test; i++) {
        if ((*row_of)[p->test_index[i]] >= 0)
            return fr_fail(FR_EFORMAT, "%s.test.index: node %" PRId64 " stands twice", p->source, p->test_index[i]);
        (*row_of)[p->test_index[i]] = i;
    }
    return FR_OK;
}

static fr_status add_features(const planetoid *p, fr_graph_builder *builder, const int64_t *row_of, bool normalise)
{
    const int64_t width = p->allx.n_columns;
    float *row = NULL;
    fr_status status;
    FR_TRY(fr_graph_builder_features(builder, FR_F32, width));
    FR_TRY(fr_alloc((size_t)width, sizeof *row, "features", &row));
    for (int64_t i = 0; i < p->n_nodes; i++) {
        if (row_of[i] == INT64_MIN)
            memset(row, 0, (size_t)width * sizeof *row);
        else if (row_of[i] >= 0)
            fr_csr_dense_row(&p->tx, row_of[i], normalise, row);
        else
            fr_csr_dense_row(&p->allx, -1 - row_of[i], normalise, row);
        FR_TRY(fr_graph_builder_add_features(builder, row, 1));
    }
    status = FR_OK;
done:
    fr_free(row);
    return status;
}

static fr_status add_labels(const planetoid *p, fr_graph_builder *builder, const int64_t *row_of)
{
    int32_t *labels = NULL;
    uint8_t *split = NULL;
    fr_status status;
    FR_TRY(fr_alloc((size_t)p->n_nodes, sizeof *labels, "labels", &labels));
    FR_TRY(fr_alloc((size_t)p->n_nodes, 1, "split", &split));
    for (int64_t i = 0; i < p->n_nodes; i++) {
        labels[i] = row_of[i] == INT64_MIN ? -1 : row_of[i] >= 0 ? p->test_labels[row_of[i]] : p->all_labels[-1 - row_of[i]];
        split[i] = i < p->n_train ? FR_SPLIT_TRAIN : i < p->n_train + N_VALID ? FR_SPLIT_VALID : row_of[i] >= 0 ? FR_SPLIT_TEST : FR_SPLIT_NONE;
        if (labels[i] < 0)
            split[i] = FR_SPLIT_NONE;
    }
    FR_TRY(fr_graph_builder_labels(builder, labels, p->n_classes));
    FR_TRY(fr_graph_builder_split(builder, split));
done:
    fr_free(labels);
    fr_free(split);
    return status;
}

static void release(planetoid *p)
{
    fr_csr_release(&p->x);
    fr_csr_release(&p->tx);
    fr_csr_release(&p->allx);
    fr_free(p->all_labels);
    fr_free(p->test_labels);
    fr_free(p->test_index);
    fr_pickle_free(p->graph);
}

fr_status fr_import_planetoid(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    planetoid p = {.source = source};
    fr_graph_builder *builder = NULL;
    int64_t *row_of = NULL;
    fr_status status;
    FR_TRY(read_parts(&p));
    FR_TRY(locate_nodes(&p, &row_of));
    FR_TRY(fr_graph_builder_create(path,
                                   &(fr_graph_builder_options){.n_nodes = p.n_nodes,
                                                               .memory_bytes = options->memory_bytes,
                                                               .symmetrize = !options->directed,
                                                               .keep_duplicates = options->keep_duplicates,
                                                               .keep_self_loops = options->keep_self_loops,
                                                               .replace = options->replace},
                                   &builder));
    fr_graph_builder_on_progress(builder, options->progress, options->progress_context);
    FR_TRY(add_edges(&p, builder));
    FR_TRY(add_features(&p, builder, row_of, options->normalize_features));
    FR_TRY(add_labels(&p, builder, row_of));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(builder);
    fr_free(row_of);
    release(&p);
    return status;
}
