/*
 * edge_sort.h: edges as 64-bit keys, and their radix sort.
 *
 * A key is (target - first target of its bucket) << 40 | source: one integer compare orders edges by target, then
 * source, and equal keys are equal edges. So a bucket spans at most 2^24 targets and a graph at most 2^40
 * nodes.
 */
#ifndef FR_GRAPH_EDGE_SORT_H
#define FR_GRAPH_EDGE_SORT_H

#include <stdint.h>

enum { FR_EDGE_SOURCE_BITS = 40, FR_EDGE_TARGET_BITS = 24 };

static inline uint64_t fr_edge_key(uint64_t target_in_bucket, uint64_t source)
{
    return target_in_bucket << FR_EDGE_SOURCE_BITS | source;
}
static inline uint64_t fr_edge_source(uint64_t key) { return key & ((1ULL << FR_EDGE_SOURCE_BITS) - 1); }
static inline uint64_t fr_edge_target(uint64_t key) { return key >> FR_EDGE_SOURCE_BITS; }

/**
 * Sorts n keys ascending, stable, with a weight each where `weights` is not NULL. The scratch arrays hold as
 * much again. The result is in keys and weights.
 */
void fr_edge_sort(uint64_t *keys, float *weights, uint64_t *scratch_keys, float *scratch_weights,
                  int64_t n);

/** Drops all but the first of equal keys of a sorted list; returns how many are left. */
int64_t fr_edge_drop_doubles(uint64_t *keys, float *weights, int64_t n);

#endif
