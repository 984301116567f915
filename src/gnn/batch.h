/*
 * batch.h: what one iteration computes on: hops, hits, features, labels.
 *
 *     seeds --hop 0--> sources --lookup--> misses --hop 1--> ... --> feature rows
 *
 * The walk goes from the seeds down. At the cached layer each node is looked up: a hit stops there, so nothing below it is
 * sampled, fetched or computed; the misses are the rows of the next hop. Hops above the lookup depend on the seed alone and may be
 * sampled ahead by a worker (look_ahead); with sample_full all hops are, and are pruned at the lookup. Since every draw depends on
 * (seed, epoch, batch, hop, node) only, all three ways give the same batch.
 */
#ifndef FR_GNN_BATCH_H
#define FR_GNN_BATCH_H

#include <frugal/gnn.h>
#include <frugal/graph.h>

#include "gnn/cache.h"

typedef struct fr_gnn_batch {
    const int64_t *seeds;
    int64_t n_seeds;
    const fr_hop *hops[FR_GNN_MAX_LAYERS]; /* hop h is the block of layer n_layers - h */
    float *edge_weight[FR_GNN_MAX_LAYERS]; /* gcn */
    int32_t *position;                     /* of the cached layer's rows, hops[n_layers - cached - 1]->nodes */
    const float *features;                 /* rows of the last hop's sources; NULL where they are read in place */
    int32_t *own;                          /* in place: node ids of layer 1's rows */
    int32_t *labels;
    float *targets;                        /* multi-label */
    int64_t rows_wanted, rows_fetched;
    double seconds_sample, seconds_fetch;
} fr_gnn_batch;

typedef struct fr_gnn_loader fr_gnn_loader;

/** `direct`: layer 1 reads features in place. The cache may be NULL. All stay the caller's and must outlive the loader. */
fr_status fr_gnn_loader_create(fr_graph *graph, const fr_gnn_options *options, bool direct, const fr_fresh_cache *cache, fr_gnn_loader **loader) FR_MUST_USE;
void fr_gnn_loader_free(fr_gnn_loader *loader); /* NULL-safe */

/** Shuffles the epoch's seeds and starts sampling ahead from `first_batch`. *n_batches gets their number. */
fr_status fr_gnn_loader_start_epoch(fr_gnn_loader *loader, int64_t epoch, int64_t first_batch, int64_t *n_batches) FR_MUST_USE;

/** The next batch of the epoch, at iteration t under the policy. It is valid until the next call. */
fr_status fr_gnn_loader_next(fr_gnn_loader *loader, int64_t t, const fr_fresh_policy *policy, double probe, fr_fresh_counts *counts, fr_gnn_batch *batch) FR_MUST_USE;

#endif
