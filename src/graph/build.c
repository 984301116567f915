/*
 * build.c: a graph folder from edges, features, labels and a split, in bounded memory.
 *
 * Work happens in PATH.tmp-PID, a sibling of PATH: edges go to buckets on disk (spill.h), features straight into
 * their store file. Commit sorts bucket by bucket, writes indptr, indices and weights, then the checksums and
 * meta.json, and renames the folder. Whatever fails or stops before leaves PATH as it was.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "graph/edge_sort.h"
#include "graph/graph.h"
#include "graph/meta.h"
#include "graph/spill.h"

enum { DEFAULT_MEMORY = 1 << 30 };

struct fr_graph_builder {
    char *path, *work;
    fr_graph_builder_options options;
    fr_graph_info info;
    fr_spill *spill;
    fr_store_writer *features;
    int64_t n_feature_rows;
    int32_t *labels;
    uint8_t *label_bits, *split;
    fr_graph_build_counts counts;
    void (*progress)(void *context, const char *stage, int64_t done, int64_t total);
    void *progress_context;
};

fr_status fr_graph_builder_create(const char *path, const fr_graph_builder_options *options,
                                  fr_graph_builder **out)
{
    *out = NULL;
    if (options->n_nodes < 0)
        return fr_fail(FR_ERANGE, "%s: a graph of %" PRId64 " nodes", path, options->n_nodes);
    if (!options->replace && fr_file_exists(path))
        return fr_fail(FR_EEXIST, "%s: already there", path);
    fr_graph_builder *builder;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *builder, "graph builder", &builder));
    builder->options = *options;
    if (builder->options.memory_bytes <= 0)
        builder->options.memory_bytes = DEFAULT_MEMORY;
    builder->info = (fr_graph_info){.n_nodes = options->n_nodes,
                                    .index_bytes = options->n_nodes <= UINT32_MAX ? 4 : 8,
                                    .has_weights = options->weighted};
    FR_TRY(fr_strdup(path, &builder->path));
    for (size_t n = strlen(path); n > 1 && builder->path[n - 1] == '/'; n--)
        builder->path[n - 1] = '\0'; /* "g.frgraph/": the work folder is to lie beside, not within */
    FR_TRY(fr_format(&builder->work, "%s.tmp-%ld", builder->path, (long)getpid()));
    FR_TRY(fr_folder_remove(builder->work));
    FR_TRY(fr_folder_create(builder->work));
    FR_TRY(fr_spill_create(builder->work, options->n_nodes, options->weighted,
                           builder->options.memory_bytes, &builder->spill));
    *out = builder;
    builder = NULL;
done:
    fr_graph_builder_abort(builder);
    return status;
}

void fr_graph_builder_abort(fr_graph_builder *builder)
{
    if (builder == NULL)
        return;
    fr_spill_free(builder->spill);
    fr_store_writer_abort(builder->features);
    if (builder->work != NULL && fr_folder_exists(builder->work)) {
        char sentence[FR_ERROR_BYTES]; /* cleaning up must not hide why it is needed */
        (void)snprintf(sentence, sizeof sentence, "%s", fr_error_message());
        const fr_status removed = fr_folder_remove(builder->work);
        (void)removed; /* a work folder left behind does no harm */
        fr_error_set(sentence);
    }
    fr_free(builder->labels);
    fr_free(builder->label_bits);
    fr_free(builder->split);
    fr_free(builder->path);
    fr_free(builder->work);
    fr_free(builder);
}

void fr_graph_builder_on_progress(fr_graph_builder *builder,
                                  void (*progress)(void *, const char *, int64_t, int64_t),
                                  void *context)
{
    builder->progress = progress;
    builder->progress_context = context;
}

static fr_status report(const fr_graph_builder *builder, const char *stage, int64_t done, int64_t total)
{
    if (builder->progress != NULL)
        builder->progress(builder->progress_context, stage, done, total);
    if (fr_interrupt_requested())
        return fr_fail(FR_EINTERRUPTED, "%s: stopped, nothing was written", builder->path);
    return FR_OK;
}

/* ---- edges ---- */

static fr_status check_edge(const fr_graph_builder *builder, int64_t i, int64_t source, int64_t target)
{
    const int64_t n = builder->options.n_nodes;
    const bool source_wrong = source < 0 || source >= n;
    if (source_wrong || target < 0 || target >= n)
        return fr_fail(FR_ERANGE, "edge %" PRId64 ": %s node %" PRId64 " is outside [0, %" PRId64 ")",
                       builder->counts.edges_given + i, source_wrong ? "source" : "target",
                       source_wrong ? source : target, n);
    return FR_OK;
}

fr_status fr_graph_builder_add_edges(fr_graph_builder *builder, const int64_t *source,
                                     const int64_t *target, const float *weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        FR_RETURN_IF_ERROR(check_edge(builder, i, source[i], target[i]));
        if (weight != NULL && !isfinite(weight[i]))
            return fr_fail(FR_ERANGE, "edge %" PRId64 ": its weight is not finite",
                           builder->counts.edges_given + i);
    }
    for (int64_t i = 0; i < n; i++) {
        const float w = weight != NULL ? weight[i] : 1.0F;
        if (source[i] == target[i] && !builder->options.keep_self_loops) {
            builder->counts.self_loops_dropped++;
            continue;
        }
        FR_RETURN_IF_ERROR(fr_spill_add(builder->spill, source[i], target[i], w));
        if (builder->options.symmetrize && source[i] != target[i])
            FR_RETURN_IF_ERROR(fr_spill_add(builder->spill, target[i], source[i], w));
    }
    builder->counts.edges_given += n;
    return FR_OK;
}

/* ---- what nodes carry ---- */

fr_status fr_graph_builder_features(fr_graph_builder *builder, fr_dtype dtype, int64_t width)
{
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(builder->work, "features.bin", &path));
    FR_TRY(fr_store_writer_create(path, dtype, builder->options.n_nodes, width, &builder->features));
    builder->info.feature_dtype = dtype;
    builder->info.n_features = width;
done:
    fr_free(path);
    return status;
}

fr_status fr_graph_builder_add_features(fr_graph_builder *builder, const void *rows, int64_t n)
{
    const int64_t width = builder->info.n_features;
    if (builder->info.feature_dtype == FR_F32) {
        const float *values = rows;
        for (int64_t i = 0; i < n * width; i++)
            if (!isfinite(values[i]))
                return fr_fail(FR_ERANGE, "features: node %" PRId64 ", column %" PRId64 " is %s",
                               builder->n_feature_rows + i / width, i % width,
                               isnan(values[i]) ? "not a number" : "infinite");
    }
    FR_RETURN_IF_ERROR(fr_store_writer_append(builder->features, rows, n));
    builder->n_feature_rows += n;
    return FR_OK;
}

fr_status fr_graph_builder_labels(fr_graph_builder *builder, const int32_t *labels, int64_t n_classes)
{
    const int64_t n = builder->options.n_nodes;
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < -1 || labels[i] >= n_classes)
            return fr_fail(FR_ERANGE, "labels: node %" PRId64 " has class %" PRId32
                           ", outside [0, %" PRId64 ")",
                           i, labels[i], n_classes);
    if (builder->labels == NULL)
        FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof *labels, "labels", &builder->labels));
    memcpy(builder->labels, labels, (size_t)n * sizeof *labels);
    builder->info.task = FR_TASK_MULTICLASS;
    builder->info.n_classes = n_classes;
    return FR_OK;
}

fr_status fr_graph_builder_label_bits(fr_graph_builder *builder, const uint8_t *bits, int64_t n_classes)
{
    int64_t n;
    if (!fr_multiply(builder->options.n_nodes, n_classes, &n))
        return fr_fail(FR_ERANGE, "labels: %" PRId64 " nodes of %" PRId64 " classes overflow",
                       builder->options.n_nodes, n_classes);
    for (int64_t i = 0; i < n; i++)
        if (bits[i] > 1 && bits[i] != 255)
            return fr_fail(FR_ERANGE, "labels: node %" PRId64 ", class %" PRId64
                           " is %d, not 0, 1 or 255 (none)",
                           i / n_classes, i % n_classes, bits[i]);
    fr_free(builder->label_bits);
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n, 1, "labels", &builder->label_bits));
    if (n > 0)
        memcpy(builder->label_bits, bits, (size_t)n);
    builder->info.task = FR_TASK_MULTILABEL;
    builder->info.n_classes = n_classes;
    return FR_OK;
}

static bool is_labelled(const fr_graph_builder *builder, int64_t node)
{
    if (builder->label_bits != NULL)
        return builder->info.n_classes > 0 &&
               builder->label_bits[node * builder->info.n_classes] != 255;
    return builder->labels != NULL && builder->labels[node] >= 0;
}

static fr_status ensure_split(fr_graph_builder *builder)
{
    if (builder->split != NULL)
        return FR_OK;
    return fr_alloc((size_t)builder->options.n_nodes, 1, "split", &builder->split);
}

fr_status fr_graph_builder_split(fr_graph_builder *builder, const uint8_t *split)
{
    for (int64_t i = 0; i < builder->options.n_nodes; i++) {
        if (split[i] > FR_SPLIT_TEST)
            return fr_fail(FR_ERANGE, "split: node %" PRId64 " is in part %d; there are 3", i, split[i]);
        if (split[i] != FR_SPLIT_NONE && !is_labelled(builder, i))
            return fr_fail(FR_EINVAL, "split: node %" PRId64 " is in a part but has no label", i);
    }
    FR_RETURN_IF_ERROR(ensure_split(builder));
    if (builder->options.n_nodes > 0)
        memcpy(builder->split, split, (size_t)builder->options.n_nodes);
    return FR_OK;
}

fr_status fr_graph_builder_random_split(fr_graph_builder *builder, double train, double valid,
                                        double test, uint64_t seed)
{
    if (!(train >= 0 && valid >= 0 && test >= 0 && train + valid + test <= 1 + 1e-9))
        return fr_fail(FR_EINVAL, "split: fractions %g, %g, %g must be 0 or more and sum to at most 1",
                       train, valid, test);
    const int64_t n = builder->options.n_nodes;
    int64_t *order = NULL, n_labelled = 0;
    fr_status status;
    FR_TRY(ensure_split(builder));
    FR_TRY(fr_alloc((size_t)n, sizeof *order, "order of a split", &order));
    for (int64_t i = 0; i < n; i++)
        if (is_labelled(builder, i))
            order[n_labelled++] = i;
    fr_random random = fr_random_start(seed, fr_random_stream(0x73706C, 0, 0, 0));
    fr_random_shuffle(&random, order, n_labelled);
    const int64_t n_train = llround(train * (double)n_labelled);
    const int64_t n_valid = llround((train + valid) * (double)n_labelled);
    const int64_t n_test = llround((train + valid + test) * (double)n_labelled);
    for (int64_t i = 0; i < n_labelled; i++)
        builder->split[order[i]] = i < n_train   ? FR_SPLIT_TRAIN
                                   : i < n_valid ? FR_SPLIT_VALID
                                   : i < n_test  ? FR_SPLIT_TEST
                                                 : FR_SPLIT_NONE;
done:
    fr_free(order);
    return status;
}

/* ---- commit ---- */

typedef struct topology_writer {
    const fr_graph_builder *builder;
    fr_file_writer *indptr, *indices, *weights;
    int64_t next_target; /* rows below it are closed in indptr */
    uint64_t n_edges;
} topology_writer;

static fr_status close_rows(topology_writer *writer, int64_t up_to)
{
    for (; writer->next_target < up_to; writer->next_target++)
        FR_RETURN_IF_ERROR(
            fr_file_writer_write(writer->indptr, &writer->n_edges, sizeof writer->n_edges));
    return FR_OK;
}

static fr_status write_edges(void *context, int bucket, const uint64_t *keys, const float *weights,
                             int64_t n)
{
    topology_writer *writer = context;
    const int64_t first = fr_spill_first_target(writer->builder->spill, bucket);
    for (int64_t i = 0; i < n; i++) {
        /* indptr[t + 1] is the number of edges up to row t: written when a later row begins. */
        FR_RETURN_IF_ERROR(close_rows(writer, first + (int64_t)fr_edge_target(keys[i])));
        const uint64_t source = fr_edge_source(keys[i]);
        const uint32_t narrow = (uint32_t)source;
        if (writer->builder->info.index_bytes == 4)
            FR_RETURN_IF_ERROR(fr_file_writer_write(writer->indices, &narrow, sizeof narrow));
        else
            FR_RETURN_IF_ERROR(fr_file_writer_write(writer->indices, &source, sizeof source));
        if (writer->weights != NULL)
            FR_RETURN_IF_ERROR(fr_file_writer_write(writer->weights, &weights[i], sizeof(float)));
        writer->n_edges++;
    }
    return FR_OK;
}

static fr_status open_in(const char *folder, const char *name, fr_file_writer **writer)
{
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, name, &path));
    FR_TRY(fr_file_writer_open(path, writer));
done:
    fr_free(path);
    return status;
}

static fr_status commit_writer(fr_file_writer **writer)
{
    fr_file_writer *const finished = *writer;
    *writer = NULL;
    return fr_file_writer_commit(finished);
}

static fr_status write_topology(fr_graph_builder *builder)
{
    topology_writer writer = {.builder = builder};
    fr_status status;
    FR_TRY(open_in(builder->work, "indptr.bin", &writer.indptr));
    FR_TRY(open_in(builder->work, "indices.bin", &writer.indices));
    if (builder->options.weighted)
        FR_TRY(open_in(builder->work, "weights.bin", &writer.weights));
    const uint64_t zero = 0;
    FR_TRY(fr_file_writer_write(writer.indptr, &zero, sizeof zero));
    const int n_buckets = fr_spill_n_buckets(builder->spill);
    for (int b = 0; b < n_buckets; b++) {
        FR_TRY(fr_spill_drain(builder->spill, b, !builder->options.keep_duplicates,
                              &builder->counts.duplicates_dropped, write_edges, &writer));
        FR_TRY(report(builder, "sorting edges", b + 1, n_buckets));
    }
    FR_TRY(close_rows(&writer, builder->options.n_nodes));
    builder->info.n_edges = (int64_t)writer.n_edges;
    builder->counts.edges_kept = builder->info.n_edges;
    FR_TRY(commit_writer(&writer.indptr));
    FR_TRY(commit_writer(&writer.indices));
    if (writer.weights != NULL)
        FR_TRY(commit_writer(&writer.weights));
done:
    fr_file_writer_abort(writer.indptr);
    fr_file_writer_abort(writer.indices);
    fr_file_writer_abort(writer.weights);
    return status;
}

static fr_status write_in(const char *folder, const char *name, const void *bytes, int64_t length)
{
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, name, &path));
    FR_TRY(fr_file_write(path, bytes, (size_t)length));
done:
    fr_free(path);
    return status;
}

/* Missing labels are -1, a missing split is "none" everywhere. */
static fr_status write_node_tables(fr_graph_builder *builder)
{
    const int64_t n = builder->options.n_nodes;
    if (builder->labels == NULL && builder->label_bits == NULL) {
        FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof(int32_t), "labels", &builder->labels));
        for (int64_t i = 0; i < n; i++)
            builder->labels[i] = -1;
    }
    FR_RETURN_IF_ERROR(ensure_split(builder));
    for (int64_t i = 0; i < n; i++) {
        builder->info.n_labelled += is_labelled(builder, i);
        builder->info.n_train += builder->split[i] == FR_SPLIT_TRAIN;
        builder->info.n_valid += builder->split[i] == FR_SPLIT_VALID;
        builder->info.n_test += builder->split[i] == FR_SPLIT_TEST;
    }
    if (builder->label_bits != NULL)
        FR_RETURN_IF_ERROR(write_in(builder->work, "labels.bin", builder->label_bits,
                                    n * builder->info.n_classes));
    else
        FR_RETURN_IF_ERROR(write_in(builder->work, "labels.bin", builder->labels,
                                    n * (int64_t)sizeof(int32_t)));
    return write_in(builder->work, "split.bin", builder->split, n);
}

static fr_status write_meta(const fr_graph_builder *builder)
{
    fr_graph_meta meta = {.info = builder->info};
    const char *const names[] = {"indptr.bin", "indices.bin", "labels.bin", "split.bin",
                                 builder->options.weighted ? "weights.bin" : NULL,
                                 builder->info.feature_dtype != FR_NO_DTYPE ? "features.bin" : NULL};
    fr_status status = FR_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] != NULL)
            FR_TRY(fr_graph_meta_add_file(builder->work, names[i], &meta));
    FR_TRY(fr_graph_meta_write(builder->work, &meta));
done:
    fr_graph_meta_release(&meta);
    return status;
}

fr_status fr_graph_builder_commit(fr_graph_builder *builder, fr_graph_build_counts *counts)
{
    fr_status status;
    if (builder->features != NULL) {
        fr_store_writer *const features = builder->features;
        builder->features = NULL;
        FR_TRY(fr_store_writer_commit(features));
    }
    FR_TRY(write_topology(builder));
    FR_TRY(write_node_tables(builder));
    FR_TRY(report(builder, "checksums", 0, 1));
    FR_TRY(write_meta(builder));
    FR_TRY(fr_folder_commit(builder->work, builder->path, builder->options.replace));
    if (counts != NULL)
        *counts = builder->counts;
done:
    status = fr_wrap(status, "%s", builder->path);
    fr_graph_builder_abort(builder);
    return status;
}
