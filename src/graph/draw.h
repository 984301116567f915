/*
 * draw.h: neighbours of one node without replacement, as a function of (seed, epoch, batch, hop, node).
 */
#ifndef FR_GRAPH_DRAW_H
#define FR_GRAPH_DRAW_H

#include "graph/graph.h"

/** What all rows of one hop share. */
typedef struct fr_draw_stream {
    uint64_t seed, stream;
} fr_draw_stream;

fr_draw_stream fr_draw_stream_start(uint64_t seed, const fr_draw *draw);

/** Fills `out` with n of the node's neighbours (all of them, in the graph's order, where n is the degree). */
void fr_draw_neighbours(const fr_graph *graph, const fr_draw_stream *stream, int64_t node, int64_t n,
                        int64_t *out);

/** Asks for the cache lines where the list of neighbours at `position` of indices begins. */
static inline void fr_prefetch_neighbours(const fr_graph *graph, uint64_t position)
{
    const char *first = graph->indices.bytes + position * (uint64_t)graph->info.index_bytes;
    __builtin_prefetch(first);
    __builtin_prefetch(first + 64);
}

#endif
