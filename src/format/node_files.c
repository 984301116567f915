/*
 * node_files.c: see node_files.h.
 */
#include "format/node_files.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "format/csr.h"
#include "format/lines.h"

enum { MOST_FIELDS = 1 << 16 };

static bool ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), k = strlen(ending);
    return n >= k && strcmp(text + n - k, ending) == 0;
}

typedef struct growing {
    double *values;
    int64_t n, capacity, width;
} growing;

static fr_status add_line(const fr_lines *lines, char *line, char **fields, growing *g)
{
    const int n = fr_split_csv(line, fields, MOST_FIELDS);
    if (n < 0)
        return fr_lines_fail(lines, FR_EFORMAT, n == -1 ? "a quote is not closed" : "more than 65536 fields");
    double probe;
    if (g->n == 0 && fr_lines_number(lines) == 1 && !fr_parse_double(fields[0], &probe))
        return FR_OK; /* a header */
    if (g->n == 0)
        g->width = n;
    if (n != g->width)
        return fr_lines_fail(lines, FR_EFORMAT, "%d fields, the lines before have %" PRId64, n, g->width);
    if (g->n + n > g->capacity) {
        const int64_t wanted = 2 * g->capacity + n + 1024;
        FR_RETURN_IF_ERROR(fr_realloc(&g->values, (size_t)wanted, sizeof(double), "table"));
        g->capacity = wanted;
    }
    for (int i = 0; i < n; i++)
        if (!fr_parse_double(fields[i], &g->values[g->n++]))
            return fr_lines_fail(lines, FR_EFORMAT, "field %d is \"%.30s\", not a number", i + 1, fields[i]);
    return FR_OK;
}

static fr_status read_csv(const char *path, fr_dtype dtype, fr_tensor *table)
{
    fr_lines *lines = NULL;
    char **fields = NULL, *line;
    growing g = {0};
    fr_status status;
    FR_TRY(fr_lines_open(path, &lines));
    FR_TRY(fr_alloc(MOST_FIELDS, sizeof *fields, "fields", &fields));
    for (;;) {
        FR_TRY(fr_lines_next(lines, &line));
        if (line == NULL)
            break;
        if (line[0] != '\0')
            FR_TRY(add_line(lines, line, fields, &g));
    }
    FR_TRY(fr_tensor_create(dtype, 2, (int64_t[]){g.width > 0 ? g.n / g.width : 0, g.width}, table));
    FR_TRY(fr_convert(FR_F64, g.values, dtype, table->data, g.n));
done:
    fr_free(g.values);
    fr_free(fields);
    fr_lines_free(lines);
    return status;
}

static fr_status read_npy(const char *path, fr_dtype dtype, fr_tensor *table)
{
    fr_tensor raw;
    FR_RETURN_IF_ERROR(fr_npy_read(path, &raw));
    fr_status status;
    if (raw.rank != 1 && raw.rank != 2)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: has rank %d, a vector or matrix is asked for", path, raw.rank));
    FR_TRY(fr_tensor_create(dtype, 2, (int64_t[]){raw.shape[0], raw.rank == 2 ? raw.shape[1] : 1}, table));
    FR_TRY(fr_convert(raw.dtype, raw.data, dtype, table->data, fr_tensor_count(&raw)));
done:
    fr_tensor_release(&raw);
    return status;
}

fr_status fr_read_table(const char *path, fr_dtype dtype, fr_tensor *table)
{
    *table = (fr_tensor){0};
    return ends_with(path, ".npy") ? read_npy(path, dtype, table) : read_csv(path, dtype, table);
}

static fr_status check_rows(const char *path, const fr_tensor *table, int64_t n_nodes)
{
    if (table->shape[0] != n_nodes)
        return fr_fail(FR_ESHAPE, "%s: %" PRId64 " rows, the graph has %" PRId64 " nodes", path, table->shape[0], n_nodes);
    return FR_OK;
}

static fr_status add_features(fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options)
{
    fr_tensor table = {0};
    fr_status status;
    FR_TRY(fr_read_table(options->features, FR_F32, &table));
    FR_TRY(check_rows(options->features, &table, n_nodes));
    if (options->normalize_features)
        fr_normalise_rows(table.data, n_nodes, table.shape[1]);
    FR_TRY(fr_graph_builder_features(builder, FR_F32, table.shape[1]));
    FR_TRY(fr_wrap(fr_graph_builder_add_features(builder, table.data, n_nodes), "%s", options->features));
done:
    fr_tensor_release(&table);
    return status;
}

static fr_status add_labels(fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options)
{
    fr_tensor table = {0};
    int32_t *labels = NULL;
    int64_t n_classes = 0;
    fr_status status;
    FR_TRY(fr_read_table(options->labels, FR_I64, &table));
    FR_TRY(check_rows(options->labels, &table, n_nodes));
    if (table.shape[1] != 1)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " columns of labels, one is asked for", options->labels, table.shape[1]));
    FR_TRY(fr_alloc((size_t)n_nodes, sizeof *labels, "labels", &labels));
    FR_TRY(fr_convert(FR_I64, table.data, FR_I32, labels, n_nodes));
    for (int64_t i = 0; i < n_nodes; i++)
        n_classes = labels[i] + 1 > n_classes ? (int64_t)labels[i] + 1 : n_classes;
    FR_TRY(fr_wrap(fr_graph_builder_labels(builder, labels, n_classes), "%s", options->labels));
done:
    fr_free(labels);
    fr_tensor_release(&table);
    return status;
}

static fr_status add_split(fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options)
{
    fr_tensor table = {0};
    uint8_t *split = NULL;
    fr_status status;
    FR_TRY(fr_read_table(options->split, FR_I64, &table));
    FR_TRY(check_rows(options->split, &table, n_nodes));
    FR_TRY(fr_alloc((size_t)n_nodes, 1, "split", &split));
    for (int64_t i = 0; i < n_nodes; i++) {
        const int64_t part = ((const int64_t *)table.data)[i * table.shape[1]];
        if (part < 0 || part > 3)
            FR_TRY(fr_fail(FR_ERANGE, "%s: node %" PRId64 " is in part %" PRId64 "; 0 none, 1 train, 2 valid, 3 test", options->split, i, part));
        split[i] = (uint8_t)part;
    }
    FR_TRY(fr_wrap(fr_graph_builder_split(builder, split), "%s", options->split));
done:
    fr_free(split);
    fr_tensor_release(&table);
    return status;
}

fr_status fr_add_random_split(fr_graph_builder *builder, const fr_import_options *options)
{
    const bool given = options->train > 0 || options->valid > 0 || options->test > 0;
    return fr_graph_builder_random_split(builder, given ? options->train : 0.6, given ? options->valid : 0.2, given ? options->test : 0.2, options->seed);
}

fr_status fr_add_node_files(fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options)
{
    if (options->split != NULL && options->labels == NULL)
        return fr_fail(FR_EINVAL, "%s: a split needs labels too", options->split);
    if (options->features != NULL)
        FR_RETURN_IF_ERROR(add_features(builder, n_nodes, options));
    if (options->labels == NULL)
        return FR_OK;
    FR_RETURN_IF_ERROR(add_labels(builder, n_nodes, options));
    return options->split != NULL ? add_split(builder, n_nodes, options) : fr_add_random_split(builder, options);
}
