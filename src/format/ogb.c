/*
 * ogb.c: node-property data sets of the Open Graph Benchmark, as the folder that its loader unpacks.
 *
 *     raw/edge.csv.gz  num-node-list.csv.gz  num-edge-list.csv.gz  node-feat.csv.gz  node-label.csv.gz    or
 *     raw/data.npz     raw/node-label.npz
 *     split/RULE/{train,valid,test}.csv.gz
 *
 * One column of labels is a class (NaN or -1: none), several are 0 or 1 each. RULE is options->split, or the only folder under
 * split. Tables of the nodes (labels, split) are held; edges and features stream.
 *
 * Source: Hu et al., "Open Graph Benchmark", NeurIPS 2020, and its io/read_graph_raw.py.
 */
#include "format/ogb.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "format/edge_batch.h"
#include "format/node_files.h"

fr_status fr_ogb_start_labels(fr_ogb *ogb, const char *origin, int64_t n_columns)
{
    int64_t n;
    if (n_columns < 1 || !fr_multiply(ogb->n_nodes, n_columns, &n))
        return fr_fail(FR_ESHAPE, "%s: %" PRId64 " columns of labels for %" PRId64 " nodes", origin, n_columns, ogb->n_nodes);
    ogb->n_columns = n_columns;
    if (n_columns == 1)
        return fr_alloc((size_t)n, sizeof *ogb->labels, "labels", &ogb->labels);
    ogb->n_classes = n_columns;
    return fr_alloc((size_t)n, 1, "labels", &ogb->bits);
}

fr_status fr_ogb_take_labels(fr_ogb *ogb, const char *origin, int64_t node, const double *row)
{
    if (ogb->n_columns == 1) {
        const double value = isnan(row[0]) ? -1 : row[0];
        if (value < -1 || value >= INT32_MAX || value != floor(value))
            return fr_fail(FR_ERANGE, "%s: node %" PRId64 " has label %g, which is no class from 0 on", origin, node, value);
        ogb->labels[node] = (int32_t)value;
        if (ogb->labels[node] + 1 > ogb->n_classes)
            ogb->n_classes = ogb->labels[node] + 1;
        return FR_OK;
    }
    for (int64_t c = 0; c < ogb->n_columns; c++) {
        if (!isnan(row[c]) && row[c] != 0 && row[c] != 1)
            return fr_fail(FR_ERANGE, "%s: node %" PRId64 " has %g in column %" PRId64 " of %" PRId64 ", not 0 or 1", origin, node, row[c], c,
                           ogb->n_columns);
        ogb->bits[node * ogb->n_columns + c] = isnan(row[c]) ? 255 : row[c] != 0;
    }
    return FR_OK;
}

static fr_status add_labels(const fr_ogb *ogb)
{
    if (ogb->labels != NULL)
        return fr_graph_builder_labels(ogb->builder, ogb->labels, ogb->n_classes);
    return ogb->bits != NULL ? fr_graph_builder_label_bits(ogb->builder, ogb->bits, ogb->n_classes) : FR_OK;
}

static fr_status add_split(const fr_ogb *ogb)
{
    uint8_t *parts = NULL;
    bool found;
    fr_status status;
    FR_TRY(fr_alloc((size_t)ogb->n_nodes, 1, "split", &parts));
    FR_TRY(fr_ogb_read_split(ogb, parts, &found));
    if (found)
        FR_TRY(fr_wrap(fr_graph_builder_split(ogb->builder, parts), "%s/split", ogb->source));
    else if (ogb->n_columns > 0)
        FR_TRY(fr_add_random_split(ogb->builder, ogb->options));
done:
    fr_free(parts);
    return status;
}

static fr_status check_sizes(const fr_ogb *ogb)
{
    if (ogb->n_nodes < 0 || ogb->n_edges < 0)
        return fr_fail(FR_ERANGE, "%s: says it has %" PRId64 " nodes and %" PRId64 " edges", ogb->source, ogb->n_nodes, ogb->n_edges);
    return FR_OK;
}

static fr_status is_binary(const char *source, bool *binary)
{
    char *npz = NULL;
    fr_status status;
    if (!fr_folder_exists(source))
        return fr_fail(FR_ENOENT, "%s: is no folder; ogb wants the one that holds raw and split", source);
    FR_TRY(fr_path_join(source, "raw/data.npz", &npz));
    *binary = fr_file_exists(npz);
done:
    fr_free(npz);
    return status;
}

fr_status fr_import_ogb(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    fr_ogb ogb = {.source = source, .options = options};
    bool binary;
    fr_status status;
    FR_TRY(is_binary(source, &binary));
    FR_TRY(binary ? fr_ogb_binary_sizes(&ogb) : fr_ogb_text_sizes(&ogb));
    FR_TRY(check_sizes(&ogb));
    FR_TRY(fr_wrap(fr_start_import(path, ogb.n_nodes, false, !options->directed, options, &ogb.builder), "%s", source));
    FR_TRY(binary ? fr_ogb_binary_edges(&ogb) : fr_ogb_text_edges(&ogb));
    FR_TRY(binary ? fr_ogb_binary_features(&ogb) : fr_ogb_text_features(&ogb));
    FR_TRY(binary ? fr_ogb_binary_labels(&ogb) : fr_ogb_text_labels(&ogb));
    FR_TRY(fr_wrap(add_labels(&ogb), "%s", source));
    FR_TRY(add_split(&ogb));
    fr_graph_builder *const finished = ogb.builder;
    ogb.builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(ogb.builder);
    fr_free(ogb.labels);
    fr_free(ogb.bits);
    return status;
}
