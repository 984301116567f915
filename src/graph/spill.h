/*
 * spill.h: edges on their way to disk, bucketed by target range.
 */
#ifndef FR_GRAPH_SPILL_H
#define FR_GRAPH_SPILL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_spill fr_spill;

/** Buckets in files under `folder` (exists). Buffers take about a fourth of memory_bytes. */
fr_status fr_spill_create(const char *folder, int64_t n_nodes, bool weighted, int64_t memory_bytes, fr_spill **spill) FR_MUST_USE;
fr_status fr_spill_add(fr_spill *spill, int64_t source, int64_t target, float weight) FR_MUST_USE;
int fr_spill_n_buckets(const fr_spill *spill);
/** First target of bucket b (b = n_buckets: n_nodes). */
int64_t fr_spill_first_target(const fr_spill *spill, int bucket);

/** Sorted edges of a part of a bucket, in order of (target, source); `keys` count targets from the bucket's first. */
typedef fr_status (*fr_spill_consumer)(void *context, int bucket, const uint64_t *keys, const float *weights, int64_t n);
/** Sorts one bucket and hands it on, in one piece or, where it exceeds the memory, several; drops doubles on request
 * (*n_doubles is raised). The bucket's file is removed. */
fr_status fr_spill_drain(fr_spill *spill, int bucket, bool drop_doubles, int64_t *n_doubles, fr_spill_consumer consumer, void *context) FR_MUST_USE;
void fr_spill_free(fr_spill *spill); /* NULL-safe; files are the owner's folder's */

#endif
