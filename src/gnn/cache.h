/*
 * cache.h: embeddings that are still fresh: the ring of one cached layer.
 *
 *     slot_of[node] -> slot or -1          node_of[slot] -> node, born[slot] -> iteration
 *
 *     ring   [ . . t t+1 t+1 t+2 ...  head )        rows in time order, appended at head
 *              ^ tail: the oldest slot not yet given up
 *
 * Invariant: slot_of[v] = s implies node_of[s] = v and tail <= s's sequence number < head; not the reverse. A slot whose
 * node points elsewhere is dead and waits for the tail. `born` never falls along the ring, so what is too old is
 * always at the tail: expiry is a move of the tail, O(expired).
 *
 * A row is used only while t - born < t_stale: the age of a hit is bounded exactly. A hit is never made younger: what was
 * computed at `born` stays that old. (An implementation that resets its ring every t_stale iterations, instead, breaks
 * its own bound for 8-26% of its hits.)
 *
 * One thread calls; lookups and copies inside are parallel. Source: FreshGNN, section 4.
 */
#ifndef FR_GNN_CACHE_H
#define FR_GNN_CACHE_H

#include <frugal/train.h>

typedef struct fr_fresh_cache fr_fresh_cache;

typedef struct fr_fresh_policy {
    double p_grad;   /* rows with gradient norm below this quantile are stable; 0 admits nothing, 1 everything */
    double t_stale;  /* iterations a row stays fresh; INFINITY: for ever; 0: never */
} fr_fresh_policy;

typedef struct fr_fresh_counts {
    int64_t lookups, hits, max_age;
    int64_t admitted, evicted_by_gradient, evicted_by_age, evicted_by_room;
    int64_t probes;      /* hits recomputed to measure the error */
    double error_sum;    /* sum over probes of |h - cached| / |h| */
} fr_fresh_counts;

/** capacity rows of `width` floats; capacity >= 1. */
fr_status fr_fresh_cache_create(int64_t n_nodes, int64_t capacity, int64_t width, fr_fresh_cache **cache) FR_MUST_USE;
void fr_fresh_cache_free(fr_fresh_cache *cache);

/** Gives up rows with t - born >= t_stale. Call once at the start of iteration t. */
void fr_fresh_cache_expire(fr_fresh_cache *cache, int64_t t, const fr_fresh_policy *policy, fr_fresh_counts *counts);

/**
 * Looks up the nodes of a layer at iteration t.
 *
 * position[i] becomes -1 - slot for a hit. For a miss it becomes the next number 0, 1, ..: its row among those to
 * compute; misses[] takes those nodes in that order. With probe > 0 that share of hits (chosen by seed, t and node)
 * is treated as misses, so that `update` can compare.
 */
void fr_fresh_cache_lookup(const fr_fresh_cache *cache, const int64_t *nodes, int64_t n, int64_t t, const fr_fresh_policy *policy,
                           double probe, uint64_t seed, int32_t *position, int64_t *misses, int64_t *n_misses, fr_fresh_counts *counts);

/**
 * Applies the policy after backward (section 4 of the paper; derive the threshold, admit, keep, evict).
 *
 * @param position  as lookup gave it
 * @param rows      n x width: the layer's output as used (computed or cached)
 * @param gradient  n x width: gradient at those rows
 * @return FR_ENOMEM on first growth of scratch
 */
fr_status fr_fresh_cache_update(fr_fresh_cache *cache, const int64_t *nodes, const int32_t *position, int64_t n, const float *rows, const float *gradient,
                                int64_t t, const fr_fresh_policy *policy, fr_fresh_counts *counts) FR_MUST_USE;

/** The ring, for reading rows in place: fr_fresh_cache_capacity x width. Valid until update. */
const float *fr_fresh_cache_rows(const fr_fresh_cache *cache);
int64_t fr_fresh_cache_capacity(const fr_fresh_cache *cache);
int64_t fr_fresh_cache_live(const fr_fresh_cache *cache); /* nodes cached now */

/** Checks the invariant in O(n_nodes + capacity): for tests. */
fr_status fr_fresh_cache_check(const fr_fresh_cache *cache) FR_MUST_USE;

/** The whole state under "cache/...": a resumed run goes on with the same bits. */
fr_status fr_fresh_cache_save(const fr_fresh_cache *cache, fr_checkpoint_writer *writer) FR_MUST_USE;
fr_status fr_fresh_cache_load(fr_fresh_cache *cache, const fr_checkpoint *checkpoint) FR_MUST_USE;

#endif
