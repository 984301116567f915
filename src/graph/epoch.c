/*
 * epoch.c: the order of an epoch's seeds: a Fisher-Yates shuffle that is a function of (seed, epoch), so that a resumed
 * run finds the same batches.
 */
#include <string.h>

#include "base/random.h"
#include "graph/graph.h"

fr_status fr_shuffle_epoch(uint64_t seed, int64_t epoch, const int64_t *nodes, int64_t n,
                           int64_t *shuffled)
{
    enum { SEEDS = 0x7365 };
    if (n > 0)
        memcpy(shuffled, nodes, (size_t)n * sizeof *nodes);
    fr_random random = fr_random_start(seed, fr_random_stream(SEEDS, (uint64_t)epoch, 0, 0));
    fr_random_shuffle(&random, shuffled, n);
    return FR_OK;
}
