/*
 * batch.c: assembling mini-batches. See batch.h.
 *
 * Slots: look_ahead + 1 batches are in flight, batch b in slot b mod (look_ahead + 1). A worker fills a slot's hops; the
 * caller's thread then looks up, prunes, samples what depends on the cache, and fetches.
 */
#include "gnn/batch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/workers.h"
#include "gnn/layer.h"
#include "gnn/options.h"

typedef struct slot {
    fr_gnn_loader *loader;
    fr_hop ahead[FR_GNN_MAX_LAYERS]; /* hops 0 .. n_ahead-1 */
    int64_t batch, ticket;
} slot;

struct fr_gnn_loader {
    fr_graph *graph;
    const fr_gnn_options *options;
    const fr_fresh_cache *cache;
    bool direct;
    int n_hops, n_ahead; /* n_ahead: hops that do not wait for the cache */
    int lookup_hop;      /* its sources are the cached layer's rows; -1 without cache */
    fr_sampler *sampler, *worker_sampler;
    fr_workers *workers;
    slot *slots;
    int64_t n_slots;
    int64_t *train, *order, n_train;
    int64_t epoch, batch_size, n_batches, next_batch, next_submit;
    fr_hop hops[FR_GNN_MAX_LAYERS]; /* pruned or sampled after the lookup */
    int64_t *misses;
    float *features;
    /* the arrays of fr_gnn_batch */
    float *edge_weight[FR_GNN_MAX_LAYERS];
    int64_t weight_capacity[FR_GNN_MAX_LAYERS];
    int32_t *position, *own, *labels;
    float *targets;
    int64_t miss_capacity, feature_capacity, position_capacity, own_capacity;
};

static fr_status grow(void *array, int64_t *capacity, int64_t needed, size_t element, const char *what)
{
    if (needed <= *capacity)
        return FR_OK;
    /* Contents are not kept: the arrays are filled anew for each batch. */
    void *fresh;
    const int64_t wanted = needed + needed / 4 + 64;
    FR_RETURN_IF_ERROR(fr_alloc_aligned((size_t)wanted, element, what, &fresh));
    void *old;
    memcpy(&old, array, sizeof old);
    fr_free(old);
    memcpy(array, &fresh, sizeof fresh);
    *capacity = wanted;
    return FR_OK;
}

static fr_status make_workers(fr_gnn_loader *loader)
{
    const fr_gnn_options *o = loader->options;
    loader->n_slots = o->look_ahead + 1;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)loader->n_slots, sizeof(slot), "batches in flight", &loader->slots));
    for (int64_t i = 0; i < loader->n_slots; i++)
        loader->slots[i].loader = loader;
    if (o->look_ahead == 0 || loader->n_ahead == 0)
        return FR_OK;
    FR_RETURN_IF_ERROR(fr_sampler_create(loader->graph,
                                         &(fr_sampler_options){.seed = o->seed,
                                                               .self_edges = fr_gnn_needs_self_edges(o->kind),
                                                               .serial = true},
                                         &loader->worker_sampler));
    return fr_workers_create(1, (int)loader->n_slots, &loader->workers);
}

static fr_status make_label_arrays(fr_gnn_loader *loader)
{
    const fr_graph_info *info = fr_graph_get_info(loader->graph);
    int64_t n;
    if (info->task != FR_TASK_MULTILABEL)
        return fr_alloc((size_t)loader->batch_size, sizeof(int32_t), "labels of a batch", &loader->labels);
    if (!fr_multiply(loader->batch_size, info->n_classes, &n))
        return fr_fail(FR_ENOMEM, "labels of a batch: %" PRId64 " x %" PRId64 " overflow", loader->batch_size, info->n_classes);
    return fr_alloc((size_t)n, sizeof(float), "labels of a batch", &loader->targets);
}

fr_status fr_gnn_loader_create(fr_graph *graph, const fr_gnn_options *options, bool direct,
                               const fr_fresh_cache *cache, fr_gnn_loader **out)
{
    *out = NULL;
    fr_gnn_loader *loader;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *loader, "loader", &loader));
    loader->graph = graph;
    loader->options = options;
    loader->cache = cache;
    loader->direct = direct;
    loader->n_hops = options->kind == FR_GNN_MLP ? 0 : options->n_layers;
    loader->lookup_hop = cache != NULL ? options->n_layers - fr_gnn_cached_layer(options) - 1 : -1;
    loader->n_ahead = cache != NULL && !options->sample_full ? loader->lookup_hop + 1 : loader->n_hops;
    if (direct && loader->n_ahead == loader->n_hops)
        loader->n_ahead--; /* the last hop stays in global ids */
    if (loader->n_ahead < 0)
        loader->n_ahead = 0;
    FR_TRY(fr_graph_split_nodes(graph, FR_SPLIT_TRAIN, &loader->train, &loader->n_train));
    FR_TRY(fr_alloc((size_t)loader->n_train, sizeof(int64_t), "order of an epoch", &loader->order));
    loader->batch_size = options->batch > 0 && options->batch < loader->n_train ? options->batch : loader->n_train;
    FR_TRY(fr_sampler_create(graph,
                             &(fr_sampler_options){.seed = options->seed,
                                                   .self_edges = fr_gnn_needs_self_edges(options->kind)},
                             &loader->sampler));
    FR_TRY(make_workers(loader));
    FR_TRY(make_label_arrays(loader));
    *out = loader;
    loader = NULL;
done:
    fr_gnn_loader_free(loader);
    return status;
}

void fr_gnn_loader_free(fr_gnn_loader *loader)
{
    if (loader == NULL)
        return;
    fr_workers_free(loader->workers); /* first: jobs use the slots */
    for (int64_t i = 0; loader->slots != NULL && i < loader->n_slots; i++)
        for (int h = 0; h < FR_GNN_MAX_LAYERS; h++)
            fr_hop_release(&loader->slots[i].ahead[h]);
    for (int h = 0; h < FR_GNN_MAX_LAYERS; h++) {
        fr_hop_release(&loader->hops[h]);
        fr_free(loader->edge_weight[h]);
    }
    fr_sampler_free(loader->sampler);
    fr_sampler_free(loader->worker_sampler);
    fr_nodes_free(loader->train);
    fr_free(loader->slots);
    fr_free(loader->order);
    fr_free(loader->misses);
    fr_free(loader->features);
    fr_free(loader->position);
    fr_free(loader->own);
    fr_free(loader->labels);
    fr_free(loader->targets);
    fr_free(loader);
}

/* ---- sampling ahead ---- */

static int64_t fanout_of(const fr_gnn_options *options, int hop)
{
    return options->n_fanouts == 0 ? -1 : options->fanout[hop];
}

static const int64_t *seeds_of(const fr_gnn_loader *loader, int64_t batch, int64_t *n)
{
    const int64_t first = batch * loader->batch_size, left = loader->n_train - first;
    *n = left < loader->batch_size ? left : loader->batch_size;
    return loader->order + first;
}

static fr_status sample_ahead(fr_sampler *sampler, slot *s)
{
    const fr_gnn_loader *loader = s->loader;
    int64_t n;
    const int64_t *rows = seeds_of(loader, s->batch, &n);
    for (int h = 0; h < loader->n_ahead; h++) {
        const fr_draw draw = {.epoch = loader->epoch, .batch = s->batch, .hop = h};
        FR_RETURN_IF_ERROR(fr_sampler_expand(sampler, &draw, fanout_of(loader->options, h), rows, n,
                                             NULL, &s->ahead[h]));
        rows = s->ahead[h].nodes;
        n = s->ahead[h].n_sources;
    }
    return FR_OK;
}

static fr_status sample_job(void *context, int worker)
{
    (void)worker;
    slot *s = context;
    return sample_ahead(s->loader->worker_sampler, s);
}

/* Hands out batches up to, not including, `end`. */
static fr_status submit_ahead(fr_gnn_loader *loader, int64_t end)
{
    for (; loader->workers != NULL && loader->next_submit < loader->n_batches && loader->next_submit < end;
         loader->next_submit++) {
        slot *s = &loader->slots[loader->next_submit % loader->n_slots];
        s->batch = loader->next_submit;
        FR_RETURN_IF_ERROR(fr_workers_submit(loader->workers, sample_job, s, &s->ticket));
    }
    return FR_OK;
}

/* Jobs of an epoch that was left early still write to the slots. */
static fr_status drain_ahead(fr_gnn_loader *loader)
{
    for (int64_t b = loader->next_batch; loader->workers != NULL && b < loader->next_submit; b++)
        FR_RETURN_IF_ERROR(fr_workers_wait(loader->workers, loader->slots[b % loader->n_slots].ticket));
    return FR_OK;
}

fr_status fr_gnn_loader_start_epoch(fr_gnn_loader *loader, int64_t epoch, int64_t first_batch,
                                    int64_t *n_batches)
{
    FR_RETURN_IF_ERROR(drain_ahead(loader));
    FR_RETURN_IF_ERROR(fr_shuffle_epoch(loader->options->seed, epoch, loader->train, loader->n_train, loader->order));
    loader->epoch = epoch;
    loader->n_batches = (loader->n_train + loader->batch_size - 1) / loader->batch_size;
    loader->next_batch = loader->next_submit = first_batch;
    *n_batches = loader->n_batches;
    return submit_ahead(loader, first_batch + loader->n_slots);
}

/* ---- from the lookup down ---- */

/* Hop h of the batch for these rows: as sampled ahead, pruned, or sampled now. */
static fr_status take_hop(fr_gnn_loader *loader, slot *s, int h, const int64_t *rows, int64_t n,
                          int64_t *n_distinct, const fr_hop **hop)
{
    const bool pruned = loader->lookup_hop >= 0 && h > loader->lookup_hop;
    *hop = &loader->hops[h];
    if (h < loader->n_ahead && !pruned) {
        *hop = &s->ahead[h];
        return FR_OK;
    }
    if (h < loader->n_ahead)
        return fr_sampler_restrict(loader->sampler, &s->ahead[h], rows, n, &loader->hops[h]);
    const fr_draw draw = {.epoch = loader->epoch, .batch = s->batch, .hop = h};
    const int64_t fanout = fanout_of(loader->options, h);
    if (loader->direct && h == loader->n_hops - 1)
        return fr_sampler_expand_global(loader->sampler, &draw, fanout, rows, n, NULL, &loader->hops[h], n_distinct);
    return fr_sampler_expand(loader->sampler, &draw, fanout, rows, n, NULL, &loader->hops[h]);
}

static fr_status look_up(fr_gnn_loader *loader, const fr_hop *hop, int64_t t, const fr_fresh_policy *policy,
                         double probe, fr_fresh_counts *counts, int64_t *n_misses)
{
    FR_RETURN_IF_ERROR(grow(&loader->position, &loader->position_capacity, hop->n_sources, sizeof(int32_t), "positions"));
    FR_RETURN_IF_ERROR(grow(&loader->misses, &loader->miss_capacity, hop->n_sources, sizeof(int64_t), "misses"));
    fr_fresh_cache_lookup(loader->cache, hop->nodes, hop->n_sources, t, policy, probe, loader->options->seed,
                          loader->position, loader->misses, n_misses, counts);
    return FR_OK;
}

typedef struct weight_context {
    const uint64_t *indptr;
    const fr_hop *hop;
    float *weights;
} weight_context;

/* w = 1 / sqrt((d_v + 1)(d_u + 1)) over full degrees d; neighbours count d_v / drawn times, so that the sum over those
 * drawn estimates the sum over all. */
static void weigh_rows(void *opaque, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const weight_context *context = opaque;
    const fr_hop *hop = context->hop;
    for (int64_t i = begin; i < end; i++) {
        const double degree = (double)fr_graph_degree(context->indptr, hop->nodes[i]);
        const double drawn = (double)(hop->end[i] - hop->begin[i] - 1); /* the first edge is the row's own */
        const double scale = drawn > 0 ? degree / drawn : 1;
        for (int64_t e = hop->begin[i]; e < hop->end[i]; e++) {
            const double other = (double)fr_graph_degree(context->indptr, hop->nodes[hop->source[e]]);
            const double weight = 1 / sqrt((degree + 1) * (other + 1));
            context->weights[e] = (float)(e == hop->begin[i] ? weight : weight * scale);
        }
    }
}

static fr_status weigh_edges(fr_gnn_loader *loader, int h, const fr_hop *hop)
{
    FR_RETURN_IF_ERROR(grow(&loader->edge_weight[h], &loader->weight_capacity[h], hop->n_edges, sizeof(float), "edge weights"));
    weight_context context = {.indptr = fr_graph_indptr(loader->graph), .hop = hop, .weights = loader->edge_weight[h]};
    fr_parallel_for(hop->n_rows, 256, weigh_rows, &context);
    return FR_OK;
}

static fr_status fetch_features(fr_gnn_loader *loader, const int64_t *nodes, int64_t n, fr_gnn_batch *batch)
{
    fr_store *store = fr_graph_features(loader->graph);
    int64_t n_floats;
    if (!fr_multiply(n, fr_store_width(store), &n_floats))
        return fr_fail(FR_ENOMEM, "features of a batch: %" PRId64 " rows overflow", n);
    FR_RETURN_IF_ERROR(grow(&loader->features, &loader->feature_capacity, n_floats, sizeof(float), "features of a batch"));
    FR_RETURN_IF_ERROR(fr_store_gather(store, nodes, n, loader->features));
    batch->features = loader->features;
    return FR_OK;
}

static fr_status name_own_rows(fr_gnn_loader *loader, const fr_hop *hop)
{
    FR_RETURN_IF_ERROR(grow(&loader->own, &loader->own_capacity, hop->n_rows, sizeof(int32_t), "own rows"));
    for (int64_t i = 0; i < hop->n_rows; i++)
        loader->own[i] = (int32_t)hop->nodes[i];
    return FR_OK;
}

static void copy_labels(fr_gnn_loader *loader, const int64_t *seeds, int64_t n)
{
    const int32_t *labels = fr_graph_labels(loader->graph);
    if (labels != NULL) {
        for (int64_t i = 0; i < n; i++)
            loader->labels[i] = labels[seeds[i]];
        return;
    }
    const int64_t classes = fr_graph_get_info(loader->graph)->n_classes;
    const uint8_t *bits = fr_graph_label_bits(loader->graph);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < classes; c++) {
            const uint8_t bit = bits[seeds[i] * classes + c];
            loader->targets[i * classes + c] = bit == 255 ? -1.0F : (float)bit;
        }
}

static fr_status walk_down(fr_gnn_loader *loader, slot *s, int64_t t, const fr_fresh_policy *policy,
                           double probe, fr_fresh_counts *counts, fr_gnn_batch *batch)
{
    const int64_t *rows = batch->seeds;
    int64_t n = batch->n_seeds, n_distinct = -1;
    for (int h = 0; h < loader->n_hops; h++) {
        FR_RETURN_IF_ERROR(take_hop(loader, s, h, rows, n, &n_distinct, &batch->hops[h]));
        const fr_hop *hop = batch->hops[h];
        if (fr_gnn_needs_edge_weights(loader->options->kind))
            FR_RETURN_IF_ERROR(weigh_edges(loader, h, hop));
        batch->edge_weight[h] = loader->edge_weight[h];
        batch->rows_wanted = hop->n_rows + hop->n_edges;
        rows = hop->nodes;
        n = hop->n_sources;
        if (h == loader->lookup_hop) {
            FR_RETURN_IF_ERROR(look_up(loader, hop, t, policy, probe, counts, &n));
            rows = loader->misses;
        }
    }
    if (loader->n_hops == 0)
        batch->rows_wanted = n;
    batch->rows_fetched = loader->direct ? n_distinct : n;
    const double before = fr_seconds();
    if (loader->direct)
        FR_RETURN_IF_ERROR(name_own_rows(loader, batch->hops[loader->n_hops - 1]));
    else
        FR_RETURN_IF_ERROR(fetch_features(loader, rows, n, batch));
    batch->seconds_fetch = fr_seconds() - before;
    return FR_OK;
}

fr_status fr_gnn_loader_next(fr_gnn_loader *loader, int64_t t, const fr_fresh_policy *policy, double probe,
                             fr_fresh_counts *counts, fr_gnn_batch *batch)
{
    const double before = fr_seconds();
    *batch = (fr_gnn_batch){0};
    slot *s = &loader->slots[loader->next_batch % loader->n_slots];
    batch->seeds = seeds_of(loader, loader->next_batch, &batch->n_seeds);
    if (loader->workers != NULL) {
        FR_RETURN_IF_ERROR(fr_workers_wait(loader->workers, s->ticket));
    } else {
        s->batch = loader->next_batch;
        FR_RETURN_IF_ERROR(sample_ahead(loader->sampler, s));
    }
    FR_RETURN_IF_ERROR(walk_down(loader, s, t, policy, probe, counts, batch));
    copy_labels(loader, batch->seeds, batch->n_seeds);
    batch->position = loader->position;
    batch->own = loader->own;
    batch->labels = loader->labels;
    batch->targets = loader->targets;
    batch->seconds_sample = fr_seconds() - before - batch->seconds_fetch;
    /* This batch's slot is in use until the next call; the others are free as far as they were taken. */
    loader->next_batch++;
    return submit_ahead(loader, loader->next_batch + loader->n_slots - 1);
}
