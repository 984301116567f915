/*
 * open.c: opening a graph folder.
 *
 * Order of trust: meta.json is parsed; each file's length must be what meta.json says and what the counts ask for;
 * then small tables are scanned (indptr monotone, labels within classes, splits labelled). indices are scanned by
 * `verify`, and by the sampler only as far as it reads them, so that a graph of billions of edges opens at
 * once; an index out of range is therefore checked where it is first numbered.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "graph/graph.h"
#include "graph/meta.h"

const fr_graph_info *fr_graph_get_info(const fr_graph *graph) { return &graph->info; }
const char *fr_graph_path(const fr_graph *graph) { return graph->path; }
fr_store *fr_graph_features(const fr_graph *graph) { return graph->features; }

const uint64_t *fr_graph_indptr(const fr_graph *graph)
{
    return (const uint64_t *)(const void *)graph->indptr.bytes;
}

const uint32_t *fr_graph_indices32(const fr_graph *graph)
{
    return graph->info.index_bytes == 4 ? (const uint32_t *)(const void *)graph->indices.bytes
                                        : NULL;
}

const uint64_t *fr_graph_indices64(const fr_graph *graph)
{
    return graph->info.index_bytes == 8 ? (const uint64_t *)(const void *)graph->indices.bytes
                                        : NULL;
}

const float *fr_graph_weights(const fr_graph *graph)
{
    return graph->info.has_weights ? (const float *)(const void *)graph->weights.bytes : NULL;
}

const int32_t *fr_graph_labels(const fr_graph *graph)
{
    return graph->info.task == FR_TASK_MULTICLASS ? (const int32_t *)(const void *)graph->labels.bytes
                                                  : NULL;
}

const uint8_t *fr_graph_label_bits(const fr_graph *graph)
{
    return graph->info.task == FR_TASK_MULTILABEL ? (const uint8_t *)graph->labels.bytes : NULL;
}

const uint8_t *fr_graph_split(const fr_graph *graph) { return (const uint8_t *)graph->split.bytes; }

/* Maps FOLDER/name after comparing its length with meta.json and with count * size. */
static fr_status map_file(const fr_graph *graph, const fr_graph_meta *meta, const char *name,
                          int64_t count, int64_t size, fr_mapping *mapping)
{
    const fr_graph_file *file = fr_graph_meta_find(meta, name);
    if (file == NULL)
        return fr_fail(FR_EFORMAT, "%s/meta.json: files: %s is missing", graph->path, name);
    int64_t wanted;
    if (!fr_multiply(count, size, &wanted) || file->n_bytes != wanted)
        return fr_fail(FR_EFORMAT, "%s/%s: %" PRId64 " entries of %" PRId64
                       " bytes are asked for, meta.json says %" PRId64 " bytes",
                       graph->path, name, count, size, file->n_bytes);
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(graph->path, name, &path));
    FR_TRY(fr_mapping_open(path, mapping));
    if ((int64_t)mapping->length != wanted)
        status = fr_fail(FR_EFORMAT, "%s: %zu bytes in the file, %" PRId64 " in meta.json", path,
                         mapping->length, wanted);
done:
    fr_free(path);
    return status;
}

static fr_status check_indptr(const fr_graph *graph)
{
    const uint64_t *indptr = fr_graph_indptr(graph);
    const int64_t n = graph->info.n_nodes;
    if (indptr[0] != 0 || indptr[n] != (uint64_t)graph->info.n_edges)
        return fr_fail(FR_EFORMAT, "%s/indptr.bin: runs from %" PRIu64 " to %" PRIu64
                       ", meta.json has %" PRId64 " edges",
                       graph->path, indptr[0], indptr[n], graph->info.n_edges);
    for (int64_t i = 0; i < n; i++)
        if (indptr[i] > indptr[i + 1])
            return fr_fail(FR_EFORMAT, "%s/indptr.bin: row %" PRId64 " begins at %" PRIu64
                           " and ends at %" PRIu64,
                           graph->path, i, indptr[i], indptr[i + 1]);
    return FR_OK;
}

static bool is_labelled(const fr_graph *graph, int64_t node)
{
    if (graph->info.task == FR_TASK_MULTICLASS)
        return fr_graph_labels(graph)[node] >= 0;
    return graph->info.n_classes > 0 &&
           fr_graph_label_bits(graph)[node * graph->info.n_classes] != 255;
}

static fr_status check_labels(const fr_graph *graph)
{
    const uint8_t *split = fr_graph_split(graph);
    for (int64_t i = 0; i < graph->info.n_nodes; i++) {
        if (graph->info.task == FR_TASK_MULTICLASS) {
            const int32_t label = fr_graph_labels(graph)[i];
            if (label < -1 || label >= graph->info.n_classes)
                return fr_fail(FR_ERANGE, "%s/labels.bin: node %" PRId64 " has class %" PRId32
                               ", there are %" PRId64,
                               graph->path, i, label, graph->info.n_classes);
        }
        if (split[i] > FR_SPLIT_TEST)
            return fr_fail(FR_ERANGE, "%s/split.bin: node %" PRId64 " is in part %d of 3",
                           graph->path, i, split[i]);
        if (split[i] != FR_SPLIT_NONE && !is_labelled(graph, i))
            return fr_fail(FR_EFORMAT, "%s/split.bin: node %" PRId64 " is in a part but has no label",
                           graph->path, i);
    }
    return FR_OK;
}

static fr_status open_features(fr_graph *graph, const fr_graph_options *options)
{
    if (graph->info.feature_dtype == FR_NO_DTYPE || options->without_features)
        return FR_OK;
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(graph->path, "features.bin", &path));
    FR_TRY(fr_store_open(path,
                         &(fr_store_options){.tier = options->tier,
                                             .memory_bytes = options->memory_bytes},
                         &graph->features));
    if (fr_store_rows(graph->features) != graph->info.n_nodes ||
        fr_store_width(graph->features) != graph->info.n_features ||
        fr_store_dtype(graph->features) != graph->info.feature_dtype)
        status = fr_fail(FR_EFORMAT, "%s: %" PRId64 " x %" PRId64 " %s in the file, meta.json says %" PRId64
                         " x %" PRId64 " %s",
                         path, fr_store_rows(graph->features), fr_store_width(graph->features),
                         fr_dtype_name(fr_store_dtype(graph->features)), graph->info.n_nodes,
                         graph->info.n_features, fr_dtype_name(graph->info.feature_dtype));
done:
    fr_free(path);
    return status;
}

fr_status fr_graph_open(const char *path, const fr_graph_options *options, fr_graph **out)
{
    static const fr_graph_options none = {0};
    *out = NULL;
    if (options == NULL)
        options = &none;
    fr_graph_meta meta = {0};
    fr_graph *graph = NULL;
    fr_status status;
    FR_TRY(fr_alloc(1, sizeof *graph, "graph", &graph));
    FR_TRY(fr_strdup(path, &graph->path));
    if (options->verify)
        FR_TRY(fr_graph_verify(path, NULL, NULL));
    FR_TRY(fr_graph_meta_read(path, &meta));
    graph->info = meta.info;
    const fr_graph_info *info = &graph->info;
    FR_TRY(map_file(graph, &meta, "indptr.bin", info->n_nodes + 1, sizeof(uint64_t), &graph->indptr));
    FR_TRY(map_file(graph, &meta, "indices.bin", info->n_edges, info->index_bytes, &graph->indices));
    if (info->has_weights)
        FR_TRY(map_file(graph, &meta, "weights.bin", info->n_edges, sizeof(float), &graph->weights));
    const bool bits = info->task == FR_TASK_MULTILABEL;
    FR_TRY(map_file(graph, &meta, "labels.bin", info->n_nodes,
                    bits ? info->n_classes : (int64_t)sizeof(int32_t), &graph->labels));
    FR_TRY(map_file(graph, &meta, "split.bin", info->n_nodes, 1, &graph->split));
    FR_TRY(check_indptr(graph));
    FR_TRY(check_labels(graph));
    FR_TRY(open_features(graph, options));
    *out = graph;
    graph = NULL;
done:
    fr_graph_free(graph);
    fr_graph_meta_release(&meta);
    return status;
}

void fr_graph_free(fr_graph *graph)
{
    if (graph == NULL)
        return;
    fr_mapping_close(&graph->indptr);
    fr_mapping_close(&graph->indices);
    fr_mapping_close(&graph->weights);
    fr_mapping_close(&graph->labels);
    fr_mapping_close(&graph->split);
    fr_store_free(graph->features);
    fr_free(graph->path);
    fr_free(graph);
}

fr_status fr_graph_split_nodes(const fr_graph *graph, fr_split part, int64_t **nodes, int64_t *n)
{
    const uint8_t *split = fr_graph_split(graph);
    int64_t count = 0;
    for (int64_t i = 0; i < graph->info.n_nodes; i++)
        count += split[i] == part;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)count, sizeof **nodes, "nodes of a split", nodes));
    *n = 0;
    for (int64_t i = 0; i < graph->info.n_nodes; i++)
        if (split[i] == part)
            (*nodes)[(*n)++] = i;
    return FR_OK;
}

void fr_nodes_free(int64_t *nodes) { fr_free(nodes); }
