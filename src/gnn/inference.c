/*
 * inference.c: see inference.h.
 *
 * Chunks are cut by rows and edges: at most CHUNK_ROWS rows and CHUNK_EDGES edges (a row with more stands alone).
 */
#include "gnn/inference.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "gnn/layer.h"

enum { CHUNK_ROWS = 16384, CHUNK_EDGES = 1 << 21 };

/* n_nodes x width floats, in memory or in a file without a name. */
typedef struct table {
    float *rows;
    size_t n_bytes;
    bool mapped;
} table;

/* The two programs of one layer, and their inputs and outputs. */
typedef struct layer_programs {
    fr_gnn_layer layer;
    bool projects; /* z is not x itself */
    fr_program *project, *combine;
    fr_executor *run_project, *run_combine;
    fr_dim rows, edges;
    fr_value x, z_out, r_out;                               /* project */
    fr_value own_x, own_z, z, r, begin, end, source, weight, out; /* combine */
} layer_programs;

struct fr_gnn_inference {
    fr_graph *graph;
    const fr_gnn_options *options;
    char *work_folder;
    int64_t memory_bytes, held_bytes;
    layer_programs layers[FR_GNN_MAX_LAYERS + 1];
    table h[2], z, r;
    int64_t *begin, *end; /* of a chunk */
    int32_t *source;      /* with self edges */
    float *weight;
    int64_t source_capacity, weight_capacity;
};

/* ---- tables ---- */

static void release_table(fr_gnn_inference *inference, table *t)
{
    if (t->rows == NULL)
        return;
    inference->held_bytes -= t->mapped ? 0 : (int64_t)t->n_bytes;
    if (t->mapped)
        (void)munmap(t->rows, t->n_bytes);
    else
        fr_free(t->rows);
    *t = (table){0};
}

static fr_status map_table(const fr_gnn_inference *inference, table *t)
{
    const int fd = open(inference->work_folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return fr_fail_errno(errno, "%s: making a work file", inference->work_folder);
    fr_status status = FR_OK;
    const int failed = posix_fallocate(fd, 0, (off_t)t->n_bytes); /* a full disk shows here, not as SIGBUS */
    if (failed != 0)
        status = fr_fail_errno(failed, "%s: a work file of %zu bytes", inference->work_folder, t->n_bytes);
    void *rows = status == FR_OK ? mmap(NULL, t->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (status == FR_OK && rows == MAP_FAILED)
        status = fr_fail_errno(errno, "%s: mapping a work file", inference->work_folder);
    (void)close(fd); /* the mapping keeps the file */
    if (status == FR_OK) {
        t->rows = rows;
        t->mapped = true;
    }
    return status;
}

static fr_status make_table(fr_gnn_inference *inference, int64_t width, table *t)
{
    const int64_t n_nodes = fr_graph_get_info(inference->graph)->n_nodes;
    int64_t n;
    size_t n_bytes;
    if (!fr_multiply(n_nodes, width, &n))
        return fr_fail(FR_ENOMEM, "%" PRId64 " nodes x %" PRId64 " overflow", n_nodes, width);
    FR_RETURN_IF_ERROR(fr_checked_bytes((size_t)n, sizeof(float), "table of all nodes", &n_bytes));
    if (t->rows != NULL && t->n_bytes == n_bytes)
        return FR_OK; /* of the layer before, or the run before */
    release_table(inference, t);
    t->n_bytes = n_bytes;
    const bool fits = inference->memory_bytes <= 0 ||
                      inference->held_bytes + (int64_t)t->n_bytes <= inference->memory_bytes;
    if (!fits && t->n_bytes > 0)
        return map_table(inference, t);
    FR_RETURN_IF_ERROR(fr_alloc_aligned((size_t)n, sizeof(float), "table of all nodes", &t->rows));
    inference->held_bytes += (int64_t)t->n_bytes;
    return FR_OK;
}

/* ---- programs ---- */

static fr_status build_project(fr_gnn_inference *inference, layer_programs *l, fr_executor *share)
{
    l->project = fr_program_create();
    if (l->project == NULL)
        return fr_fail(FR_ENOMEM, "out of memory for a program");
    fr_program *p = l->project;
    const fr_dim rows = fr_symbol(p, "rows");
    l->x = fr_input(p, "x", FR_F32, FR_SHAPE(rows, fr_constant(l->layer.in_width)));
    const fr_gnn_projected projected = fr_gnn_project(p, &l->layer, l->x);
    l->z_out = projected.z;
    l->r_out = projected.r;
    fr_output(p, "z", l->z_out);
    if (l->r_out != FR_NO_VALUE)
        fr_output(p, "r", l->r_out);
    (void)inference;
    return fr_executor_create(p, &(fr_executor_options){.share = share}, &l->run_project);
}

static fr_status build_combine(const fr_gnn_inference *inference, layer_programs *l, fr_executor *share)
{
    l->combine = fr_program_create();
    if (l->combine == NULL)
        return fr_fail(FR_ENOMEM, "out of memory for a program");
    fr_program *p = l->combine;
    const fr_graph_info *info = fr_graph_get_info(inference->graph);
    const fr_gnn_kind kind = inference->options->kind;
    const fr_dim all = fr_constant(info->n_nodes), z_width = fr_constant(fr_gnn_projected_width(&l->layer));
    const fr_dim heads = fr_constant(fr_gnn_score_width(&l->layer));
    l->rows = fr_symbol(p, "rows");
    l->edges = fr_symbol(p, "edges");
    fr_gnn_neighbourhood around = {.edge_weight = FR_NO_VALUE, .sources = {FR_NO_VALUE, FR_NO_VALUE}, .own_z = FR_NO_VALUE};
    around.own_x = l->own_x = fr_input(p, "own_x", FR_F32, FR_SHAPE(l->rows, fr_constant(l->layer.in_width)));
    if (kind != FR_GNN_MLP) {
        l->begin = fr_input(p, "begin", FR_I64, FR_SHAPE(l->rows));
        l->end = fr_input(p, "end", FR_I64, FR_SHAPE(l->rows));
        l->source = fr_input(p, "source", FR_I32, FR_SHAPE(l->edges));
        around.block = (fr_block){l->begin, l->end, l->source};
        around.sources.z = l->z = fr_input(p, "z", FR_F32, FR_SHAPE(all, z_width));
    }
    if (fr_gnn_score_width(&l->layer) > 0) {
        around.sources.r = l->r = fr_input(p, "r", FR_F32, FR_SHAPE(all, heads));
        around.own_z = l->own_z = fr_input(p, "own_z", FR_F32, FR_SHAPE(l->rows, z_width));
    }
    if (fr_gnn_needs_edge_weights(kind))
        around.edge_weight = l->weight = fr_input(p, "edge_weight", FR_F32, FR_SHAPE(l->edges, fr_constant(1)));
    l->out = fr_gnn_combine(p, &l->layer, &around);
    fr_output(p, "out", l->out);
    return fr_executor_create(p, &(fr_executor_options){.share = share}, &l->run_combine);
}

fr_status fr_gnn_inference_create(fr_graph *graph, const fr_gnn_options *options, fr_executor *executor,
                                  const char *work_folder, int64_t memory_bytes, fr_gnn_inference **out)
{
    *out = NULL;
    fr_gnn_inference *inference;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *inference, "inference", &inference));
    inference->graph = graph;
    inference->options = options;
    inference->memory_bytes = memory_bytes;
    FR_TRY(fr_strdup(work_folder, &inference->work_folder));
    for (int i = 1; i <= options->n_layers; i++) {
        layer_programs *l = &inference->layers[i];
        l->layer = fr_gnn_layer_of(options, fr_graph_get_info(graph), i, true);
        l->projects = options->kind == FR_GNN_GAT || l->layer.project_first;
        if (l->projects)
            FR_TRY(build_project(inference, l, executor));
        FR_TRY(build_combine(inference, l, executor));
    }
    FR_TRY(fr_alloc(CHUNK_ROWS, sizeof(int64_t), "rows of a chunk", &inference->begin));
    FR_TRY(fr_alloc(CHUNK_ROWS, sizeof(int64_t), "rows of a chunk", &inference->end));
    *out = inference;
    inference = NULL;
done:
    fr_gnn_inference_free(inference);
    return status;
}

void fr_gnn_inference_free(fr_gnn_inference *inference)
{
    if (inference == NULL)
        return;
    for (int i = 1; i <= FR_GNN_MAX_LAYERS; i++) {
        fr_executor_free(inference->layers[i].run_project);
        fr_executor_free(inference->layers[i].run_combine);
        fr_program_free(inference->layers[i].project);
        fr_program_free(inference->layers[i].combine);
    }
    release_table(inference, &inference->h[0]);
    release_table(inference, &inference->h[1]);
    release_table(inference, &inference->z);
    release_table(inference, &inference->r);
    fr_free(inference->begin);
    fr_free(inference->end);
    fr_free(inference->source);
    fr_free(inference->weight);
    fr_free(inference->work_folder);
    fr_free(inference);
}

/* ---- running ---- */

static fr_status project_all(fr_gnn_inference *inference, layer_programs *l, const float *x)
{
    const int64_t n = fr_graph_get_info(inference->graph)->n_nodes;
    const int64_t z_width = fr_gnn_projected_width(&l->layer), heads = fr_gnn_score_width(&l->layer);
    FR_RETURN_IF_ERROR(make_table(inference, z_width, &inference->z));
    if (heads > 0)
        FR_RETURN_IF_ERROR(make_table(inference, heads, &inference->r));
    const fr_dim rows = fr_value_shape(l->project, l->x).dims[0];
    for (int64_t first = 0; first < n; first += CHUNK_ROWS) {
        const int64_t count = n - first < CHUNK_ROWS ? n - first : CHUNK_ROWS;
        FR_RETURN_IF_ERROR(fr_executor_bind(l->run_project, rows, count));
        FR_RETURN_IF_ERROR(fr_executor_set(l->run_project, l->x, x + first * l->layer.in_width));
        FR_RETURN_IF_ERROR(fr_executor_run(l->run_project));
        memcpy(inference->z.rows + first * z_width, fr_executor_data(l->run_project, l->z_out),
               (size_t)(count * z_width) * sizeof(float));
        if (heads > 0)
            memcpy(inference->r.rows + first * heads, fr_executor_data(l->run_project, l->r_out),
                   (size_t)(count * heads) * sizeof(float));
        if (fr_interrupt_requested())
            return fr_fail(FR_EINTERRUPTED, "stopped");
    }
    return FR_OK;
}

/* Rows of the chunk that begins at `first`. */
static int64_t chunk_rows(const uint64_t *indptr, int64_t n_nodes, int64_t first)
{
    int64_t count = 1;
    while (first + count < n_nodes && count < CHUNK_ROWS &&
           indptr[first + count + 1] - indptr[first] <= CHUNK_EDGES)
        count++;
    return count;
}

typedef struct chunk {
    fr_gnn_inference *inference;
    const uint64_t *indptr;
    const uint32_t *indices;
    int64_t first, count;
    bool self_edges;
} chunk;

/* Source lists with each row's own edge first, and GCN's weights. */
static void fill_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const chunk *c = context;
    fr_gnn_inference *inference = c->inference;
    for (int64_t i = begin; i < end; i++) {
        const int64_t node = c->first + i;
        int64_t at = inference->begin[i];
        inference->source[at++] = (int32_t)node;
        for (uint64_t e = c->indptr[node]; e < c->indptr[node + 1]; e++)
            inference->source[at++] = (int32_t)c->indices[e];
        if (inference->weight == NULL)
            continue;
        const double degree = (double)fr_graph_degree(c->indptr, node);
        for (int64_t e = inference->begin[i]; e < inference->end[i]; e++) {
            const double other = (double)fr_graph_degree(c->indptr, inference->source[e]);
            inference->weight[e] = (float)(1 / sqrt((degree + 1) * (other + 1)));
        }
    }
}

/* begin, end and source of a chunk; *source points into the graph's own indices where no self edges are asked for. */
static fr_status lay_out_chunk(const chunk *c, const int32_t **source, int64_t *n_edges)
{
    fr_gnn_inference *inference = c->inference;
    const uint64_t base = c->indptr[c->first];
    const int64_t self = c->self_edges ? 1 : 0;
    for (int64_t i = 0; i < c->count; i++) {
        inference->begin[i] = (int64_t)(c->indptr[c->first + i] - base) + self * i;
        inference->end[i] = (int64_t)(c->indptr[c->first + i + 1] - base) + self * (i + 1);
    }
    *n_edges = inference->end[c->count - 1];
    if (!c->self_edges) {
        *source = (const int32_t *)(const void *)(c->indices + base); /* ids are below 2^31 */
        return FR_OK;
    }
    FR_RETURN_IF_ERROR(fr_reserve(&inference->source, &inference->source_capacity, *n_edges, sizeof(int32_t), "edges of a chunk"));
    if (fr_gnn_needs_edge_weights(inference->options->kind))
        FR_RETURN_IF_ERROR(fr_reserve(&inference->weight, &inference->weight_capacity, *n_edges, sizeof(float), "edges of a chunk"));
    chunk copy = *c;
    fr_parallel_for(c->count, 128, fill_rows, &copy);
    *source = inference->source;
    return FR_OK;
}

static fr_status bind_chunk(const chunk *c, layer_programs *l, const float *x, const float *z)
{
    fr_gnn_inference *inference = c->inference;
    fr_executor *e = l->run_combine;
    FR_RETURN_IF_ERROR(fr_executor_bind(e, l->rows, c->count));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->own_x, x + c->first * l->layer.in_width));
    if (inference->options->kind == FR_GNN_MLP)
        return FR_OK;
    const int32_t *source;
    int64_t n_edges;
    FR_RETURN_IF_ERROR(lay_out_chunk(c, &source, &n_edges));
    FR_RETURN_IF_ERROR(fr_executor_bind(e, l->edges, n_edges));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->begin, inference->begin));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->end, inference->end));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->source, source));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->z, z));
    if (fr_gnn_needs_edge_weights(inference->options->kind))
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->weight, inference->weight));
    if (fr_gnn_score_width(&l->layer) > 0) {
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->r, inference->r.rows));
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->own_z, z + c->first * fr_gnn_projected_width(&l->layer)));
    }
    return FR_OK;
}

static fr_status combine_all(fr_gnn_inference *inference, layer_programs *l, const float *x, const float *z,
                             float *out, const fr_gnn_observer *observer)
{
    const int64_t n = fr_graph_get_info(inference->graph)->n_nodes;
    chunk c = {.inference = inference,
               .indptr = fr_graph_indptr(inference->graph),
               .indices = fr_graph_indices32(inference->graph),
               .self_edges = fr_gnn_needs_self_edges(inference->options->kind)};
    for (c.first = 0; c.first < n; c.first += c.count) {
        c.count = chunk_rows(c.indptr, n, c.first);
        FR_RETURN_IF_ERROR(bind_chunk(&c, l, x, z));
        FR_RETURN_IF_ERROR(fr_executor_run(l->run_combine));
        memcpy(out + c.first * l->layer.out_width, fr_executor_data(l->run_combine, l->out),
               (size_t)(c.count * l->layer.out_width) * sizeof(float));
        if (fr_interrupt_requested())
            return fr_fail(FR_EINTERRUPTED, "stopped");
        if (observer != NULL && observer->batch != NULL)
            observer->batch(observer->context, l->layer.index, c.first + c.count, n);
    }
    return FR_OK;
}

fr_status fr_gnn_inference_run(fr_gnn_inference *inference, bool embeddings, const fr_gnn_observer *observer,
                               const float **out, int64_t *width)
{
    const fr_graph_info *info = fr_graph_get_info(inference->graph);
    if (info->index_bytes != 4)
        return fr_fail(FR_ENOTSUP, "%s: node numbers of 8 bytes", fr_graph_path(inference->graph));
    const float *x = fr_store_in_memory(fr_graph_features(inference->graph));
    if (x == NULL)
        return fr_fail(FR_ENOTSUP, "%s: features are not in memory", fr_graph_path(inference->graph));
    const int last = inference->options->n_layers - (embeddings ? 1 : 0);
    *width = info->n_features;
    for (int i = 1; i <= last; i++) {
        layer_programs *l = &inference->layers[i];
        const float *z = x;
        if (l->projects) {
            FR_RETURN_IF_ERROR(project_all(inference, l, x));
            z = inference->z.rows;
        }
        table *to = &inference->h[i & 1];
        FR_RETURN_IF_ERROR(make_table(inference, l->layer.out_width, to));
        FR_RETURN_IF_ERROR(combine_all(inference, l, x, z, to->rows, observer));
        x = to->rows;
        *width = l->layer.out_width;
    }
    *out = x;
    return FR_OK;
}

/* ---- scores ---- */

static double accuracy(const fr_graph *graph, fr_split part, const float *logits)
{
    const fr_graph_info *info = fr_graph_get_info(graph);
    const uint8_t *split = fr_graph_split(graph);
    const int32_t *labels = fr_graph_labels(graph);
    int64_t n = 0, right = 0;
    for (int64_t i = 0; i < info->n_nodes; i++) {
        if (split[i] != part)
            continue;
        const float *row = logits + i * info->n_classes;
        int64_t best = 0;
        for (int64_t c = 1; c < info->n_classes; c++)
            if (row[c] > row[best])
                best = c;
        right += best == labels[i];
        n++;
    }
    return n > 0 ? (double)right / (double)n : (double)NAN;
}

/* F1 = 2 tp / (2 tp + fp + fn), over all known entries together. */
static double micro_f1(const fr_graph *graph, fr_split part, const float *logits)
{
    const fr_graph_info *info = fr_graph_get_info(graph);
    const uint8_t *split = fr_graph_split(graph);
    const uint8_t *bits = fr_graph_label_bits(graph);
    int64_t hits = 0, wrong = 0, n = 0;
    for (int64_t i = 0; i < info->n_nodes; i++) {
        if (split[i] != part)
            continue;
        n++;
        for (int64_t c = 0; c < info->n_classes; c++) {
            const uint8_t bit = bits[i * info->n_classes + c];
            const bool predicted = logits[i * info->n_classes + c] > 0;
            if (bit != 255 && (predicted || bit == 1)) {
                hits += predicted && bit == 1;
                wrong += !(predicted && bit == 1);
            }
        }
    }
    if (n == 0)
        return (double)NAN;
    return hits + wrong > 0 ? 2.0 * (double)hits / (double)(2 * hits + wrong) : 1.0;
}

double fr_gnn_score(const fr_graph *graph, fr_split part, const float *logits)
{
    return fr_graph_get_info(graph)->task == FR_TASK_MULTILABEL ? micro_f1(graph, part, logits)
                                                                : accuracy(graph, part, logits);
}
