/*
 * draw.c: Floyd's algorithm over counter-based random numbers.
 *
 * To choose n of d positions: for j = d-n .. d-1 take t uniform in [0, j]; take t where it is new, else j. Each
 * set of n is equally likely. "New" is asked of the positions taken so far: a linear search up to SMALL, which
 * vectorises and beats a hash for the usual fan-outs; an open-addressing table above; and for more than LARGE a pass over
 * the whole list (selection sampling), whose cost is the list's length.
 *
 * Sources: Bentley and Floyd, "A sample of brilliance", CACM 30(9), 1987; Knuth, TAOCP 2, 3.4.2, algorithm S.
 */
#include "graph/draw.h"

#include <string.h>

#include "base/random.h"

enum { SMALL = 64, LARGE = 1024, TABLE = 4096 };

/* 32-bit numbers of one node, four at a time. */
typedef struct node_numbers {
    uint64_t seed, stream, counter;
    uint32_t values[4];
    int left;
} node_numbers;

static node_numbers start_numbers(const fr_draw_stream *stream, int64_t node)
{
    /* 2^20 counters a node: 4 M numbers, more than any fan-out below LARGE or list below 2^22 needs; longer lists run
     * into the next node's counters, which is harmless: that one draws under the same law. */
    return (node_numbers){
        .seed = stream->seed, .stream = stream->stream, .counter = (uint64_t)node << 20};
}

static inline uint32_t next_number(node_numbers *numbers)
{
    if (numbers->left == 0) {
        fr_philox(numbers->seed, numbers->stream, numbers->counter++, numbers->values);
        numbers->left = 4;
    }
    return numbers->values[--numbers->left];
}

fr_draw_stream fr_draw_stream_start(uint64_t seed, const fr_draw *draw)
{
    enum { NEIGHBOURS = 0x6E62 }; /* keeps these apart from other uses of the seed */
    return (fr_draw_stream){.seed = seed,
                            .stream = fr_random_stream(NEIGHBOURS, (uint64_t)draw->epoch,
                                                       (uint64_t)draw->batch, (uint64_t)draw->hop)};
}

static inline int64_t neighbour_at(const fr_graph *graph, uint64_t position)
{
    if (graph->info.index_bytes == 4)
        return ((const uint32_t *)(const void *)graph->indices.bytes)[position];
    return (int64_t)((const uint64_t *)(const void *)graph->indices.bytes)[position];
}

/* out takes positions within the list, not yet nodes. */
static void choose_small(node_numbers *numbers, int64_t degree, int64_t n, int64_t *out)
{
    uint32_t taken[SMALL];
    for (int64_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)(degree - n + i);
        const uint32_t t = fr_uniform_below(next_number(numbers), j + 1);
        unsigned found = 0;
        for (int64_t k = 0; k < i; k++)
            found |= taken[k] == t;
        taken[i] = found != 0 ? j : t;
        out[i] = taken[i];
    }
}

static bool table_insert(uint32_t *table, uint32_t position)
{
    uint32_t slot = (position * 2654435761U) >> 20;
    while (table[slot] != UINT32_MAX) {
        if (table[slot] == position)
            return false;
        slot = (slot + 1) & (TABLE - 1);
    }
    table[slot] = position;
    return true;
}

static void choose_medium(node_numbers *numbers, int64_t degree, int64_t n, int64_t *out)
{
    uint32_t table[TABLE];
    memset(table, 0xFF, sizeof table);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)(degree - n + i);
        const uint32_t t = fr_uniform_below(next_number(numbers), j + 1);
        if (table_insert(table, t)) {
            out[i] = t;
        } else {
            (void)table_insert(table, j); /* j is larger than all before it */
            out[i] = j;
        }
    }
}

static void choose_large(node_numbers *numbers, int64_t degree, int64_t n, int64_t *out)
{
    int64_t left = n;
    for (int64_t position = 0; left > 0; position++)
        if (fr_uniform_below(next_number(numbers), (uint32_t)(degree - position)) < (uint64_t)left) {
            *out++ = position;
            left--;
        }
}

void fr_draw_neighbours(const fr_graph *graph, const fr_draw_stream *stream, int64_t node, int64_t n,
                        int64_t *out)
{
    const uint64_t *indptr = fr_graph_indptr(graph);
    const uint64_t first = indptr[node];
    const int64_t degree = fr_graph_degree(indptr, node);
    if (n >= degree) {
        for (int64_t i = 0; i < degree; i++)
            out[i] = neighbour_at(graph, first + (uint64_t)i);
        return;
    }
    node_numbers numbers = start_numbers(stream, node);
    if (n <= SMALL)
        choose_small(&numbers, degree, n, out);
    else if (n <= LARGE)
        choose_medium(&numbers, degree, n, out);
    else
        choose_large(&numbers, degree, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = neighbour_at(graph, first + (uint64_t)out[i]);
}
