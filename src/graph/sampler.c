/*
 * sampler.c: one hop of neighbour sampling: draw, then number.
 *
 * Drawing is a pure function of (seed, epoch, batch, hop, node): each row takes its numbers from Philox under a
 * stream of the first four, counted from the node. So rows are drawn in any order by any number of
 * threads, and a row that is stopped changes nothing for the others.
 *
 * Numbering goes once over the drawn edges in order and gives each new node the next local number, through
 * a table of one u32 a node (`local_of`), which is cleared again by the list of nodes it numbered:
 *
 *     rows  7 3        edges of 7: 3 9   edges of 3: 9 5
 *     nodes 7 3 9 5    source            1 2             2 3
 *
 * One thread numbers: at 2 M edges a hop one random access an edge (about 4 ns) beats two threads that would need four
 * (claim the first occurrence, flag it, assign, look up).
 *
 * Invariant between calls: every entry of local_of is NOT_SEEN and every bit of `seen` is 0.
 */
#include "graph/graph.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "graph/draw.h"

enum { ROW_TILE = 1024, NUMBER_AHEAD = 24 };
static const uint32_t NOT_SEEN = UINT32_MAX;

struct fr_sampler {
    const fr_graph *graph;
    fr_sampler_options options;
    uint32_t *local_of; /* n_nodes; made at the first use that numbers */
    uint64_t *seen;     /* n_nodes bits; made at the first use that counts */
    int64_t *drawn;     /* global ids of the hop's edges */
    int64_t drawn_capacity;
};

fr_status fr_sampler_create(const fr_graph *graph, const fr_sampler_options *options,
                            fr_sampler **sampler)
{
    *sampler = NULL;
    if (graph->info.n_nodes >= INT32_MAX)
        return fr_fail(FR_ENOTSUP, "%s: %" PRId64 " nodes, sampling numbers at most %" PRId32,
                       graph->path, graph->info.n_nodes, INT32_MAX);
    fr_sampler *made;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *made, "sampler", &made));
    made->graph = graph;
    if (options != NULL)
        made->options = *options;
    *sampler = made;
    return FR_OK;
}

void fr_sampler_free(fr_sampler *sampler)
{
    if (sampler == NULL)
        return;
    fr_free(sampler->local_of);
    fr_free(sampler->seen);
    fr_free(sampler->drawn);
    fr_free(sampler);
}

void fr_hop_release(fr_hop *hop)
{
    fr_free(hop->begin);
    fr_free(hop->end);
    fr_free(hop->source);
    fr_free(hop->nodes);
    *hop = (fr_hop){0};
}

static fr_status reserve_rows(fr_hop *hop, int64_t n)
{
    int64_t capacity = hop->row_capacity;
    FR_RETURN_IF_ERROR(fr_reserve(&hop->begin, &capacity, n, sizeof(int64_t), "hop rows"));
    capacity = hop->row_capacity;
    FR_RETURN_IF_ERROR(fr_reserve(&hop->end, &capacity, n, sizeof(int64_t), "hop rows"));
    hop->row_capacity = capacity;
    return FR_OK;
}

static fr_status reserve_edges(fr_sampler *sampler, fr_hop *hop, int64_t n)
{
    FR_RETURN_IF_ERROR(
        fr_reserve(&hop->source, &hop->edge_capacity, n, sizeof(int32_t), "hop edges"));
    return fr_reserve(&sampler->drawn, &sampler->drawn_capacity, n, sizeof(int64_t), "hop edges");
}

static fr_status reserve_nodes(fr_hop *hop, int64_t n)
{
    return fr_reserve(&hop->nodes, &hop->source_capacity, n, sizeof(int64_t), "hop nodes");
}

/* ---- drawing ---- */

typedef struct draw_context {
    const fr_sampler *sampler;
    fr_draw_stream stream;
    int64_t fanout;
    const int64_t *rows;
    const uint8_t *stop;
    fr_hop *hop;
} draw_context;

static fr_status check_rows(const fr_sampler *sampler, const int64_t *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (rows[i] < 0 || rows[i] >= sampler->graph->info.n_nodes)
            return fr_fail(FR_ERANGE, "sampling %s: row %" PRId64 " is node %" PRId64
                           ", the graph has %" PRId64 " nodes",
                           sampler->graph->path, i, rows[i], sampler->graph->info.n_nodes);
    return FR_OK;
}

/* begin and end from the number of edges each row takes; returns their total. */
static int64_t lay_out_rows(const draw_context *context, int64_t n)
{
    const uint64_t *indptr = fr_graph_indptr(context->sampler->graph);
    const int64_t self = context->sampler->options.self_edges ? 1 : 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i + NUMBER_AHEAD < n)
            __builtin_prefetch(&indptr[context->rows[i + NUMBER_AHEAD]]);
        context->hop->begin[i] = total;
        if (context->stop == NULL || context->stop[i] == 0) {
            const int64_t degree = fr_graph_degree(indptr, context->rows[i]);
            const bool all = context->fanout < 0 || degree <= context->fanout;
            total += self + (all ? degree : context->fanout);
        }
        context->hop->end[i] = total;
    }
    return total;
}

static void draw_rows(void *opaque, int64_t first, int64_t last, int thread)
{
    (void)thread;
    const draw_context *context = opaque;
    const fr_graph *graph = context->sampler->graph;
    const uint64_t *indptr = fr_graph_indptr(graph);
    const int64_t self = context->sampler->options.self_edges ? 1 : 0;
    for (int64_t i = first; i < last; i++) {
        if (i + 8 < last)
            fr_prefetch_neighbours(graph, indptr[context->rows[i + 8]]);
        int64_t *out = context->sampler->drawn + context->hop->begin[i];
        const int64_t n_out = context->hop->end[i] - context->hop->begin[i];
        if (n_out == 0)
            continue;
        if (self != 0)
            *out++ = context->rows[i];
        fr_draw_neighbours(graph, &context->stream, context->rows[i], n_out - self, out);
    }
}

/* Fills begin, end and sampler->drawn for the rows. */
static fr_status draw_hop(fr_sampler *sampler, const fr_draw *draw, int64_t fanout,
                          const int64_t *rows, int64_t n, const uint8_t *stop, fr_hop *hop)
{
    if (fanout < -1)
        return fr_fail(FR_EINVAL, "sampling: a fan-out of %" PRId64 " (-1 means all)", fanout);
    FR_RETURN_IF_ERROR(check_rows(sampler, rows, n));
    FR_RETURN_IF_ERROR(reserve_rows(hop, n));
    draw_context context = {.sampler = sampler,
                            .stream = fr_draw_stream_start(sampler->options.seed, draw),
                            .fanout = fanout,
                            .rows = rows,
                            .stop = stop,
                            .hop = hop};
    hop->n_rows = n;
    hop->n_edges = lay_out_rows(&context, n);
    if (hop->n_edges > INT32_MAX)
        return fr_fail(FR_ENOTSUP,
                       "sampling: a hop of %" PRId64 " edges; at most 2^31-1: use smaller batches or fan-outs",
                       hop->n_edges);
    FR_RETURN_IF_ERROR(reserve_edges(sampler, hop, hop->n_edges));
    if (sampler->options.serial)
        draw_rows(&context, 0, n, 0);
    else
        fr_parallel_for(n, ROW_TILE, draw_rows, &context);
    return FR_OK;
}

/* ---- numbering ---- */

static fr_status ensure_local_of(fr_sampler *sampler)
{
    if (sampler->local_of != NULL)
        return FR_OK;
    const size_t n = (size_t)sampler->graph->info.n_nodes;
    FR_RETURN_IF_ERROR(fr_alloc_aligned(n, sizeof(uint32_t), "sampler table", &sampler->local_of));
    memset(sampler->local_of, 0xFF, n * sizeof(uint32_t));
    return FR_OK;
}

static void forget(fr_sampler *sampler, const int64_t *nodes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sampler->local_of[nodes[i]] = NOT_SEEN;
}

/* The rows take the numbers 0 .. n-1. */
static fr_status number_rows(fr_sampler *sampler, const int64_t *rows, int64_t n, fr_hop *hop)
{
    for (int64_t i = 0; i < n; i++) {
        if (sampler->local_of[rows[i]] != NOT_SEEN) {
            const uint32_t earlier = sampler->local_of[rows[i]];
            forget(sampler, hop->nodes, i);
            return fr_fail(FR_EINVAL,
                           "sampling: node %" PRId64 " stands twice among the rows, at %" PRIu32
                           " and %" PRId64,
                           rows[i], earlier, i);
        }
        sampler->local_of[rows[i]] = (uint32_t)i;
        hop->nodes[i] = rows[i];
    }
    return FR_OK;
}

/* Opening a graph does not read indices.bin: a number out of range shows where it is first used. */
static fr_status bad_index(const fr_sampler *sampler, int64_t node)
{
    return fr_fail(FR_ERANGE, "%s/indices.bin: names node %" PRId64 ", the graph has %" PRId64,
                   sampler->graph->path, node, sampler->graph->info.n_nodes);
}

static fr_status number_hop(fr_sampler *sampler, const int64_t *rows, fr_hop *hop)
{
    FR_RETURN_IF_ERROR(ensure_local_of(sampler));
    const int64_t n_edges = hop->n_edges, n_nodes = sampler->graph->info.n_nodes;
    const int64_t most = hop->n_rows + n_edges;
    FR_RETURN_IF_ERROR(reserve_nodes(hop, most < n_nodes ? most : n_nodes));
    FR_RETURN_IF_ERROR(number_rows(sampler, rows, hop->n_rows, hop));

    uint32_t *const local_of = sampler->local_of;
    const int64_t *const drawn = sampler->drawn;
    int64_t n_sources = hop->n_rows;
    for (int64_t e = 0; e < n_edges; e++) {
        if (e + NUMBER_AHEAD < n_edges)
            __builtin_prefetch(local_of + drawn[e + NUMBER_AHEAD], 1);
        const int64_t node = drawn[e];
        if ((uint64_t)node >= (uint64_t)n_nodes) {
            forget(sampler, hop->nodes, n_sources);
            return bad_index(sampler, node);
        }
        uint32_t number = local_of[node];
        if (number == NOT_SEEN) {
            number = (uint32_t)n_sources;
            local_of[node] = number;
            hop->nodes[n_sources++] = node;
        }
        hop->source[e] = (int32_t)number;
    }
    hop->n_sources = n_sources;
    forget(sampler, hop->nodes, n_sources);
    return FR_OK;
}

fr_status fr_sampler_expand(fr_sampler *sampler, const fr_draw *draw, int64_t fanout,
                            const int64_t *rows, int64_t n, const uint8_t *stop, fr_hop *hop)
{
    FR_RETURN_IF_ERROR(draw_hop(sampler, draw, fanout, rows, n, stop, hop));
    return number_hop(sampler, rows, hop);
}

/* ---- without numbering ---- */

static int64_t count_distinct(fr_sampler *sampler, const int64_t *rows, const fr_hop *hop)
{
    uint64_t *const seen = sampler->seen;
    int64_t count = 0;
    const int64_t *const lists[2] = {rows, sampler->drawn};
    const int64_t lengths[2] = {hop->n_rows, hop->n_edges};
    for (int list = 0; list < 2; list++)
        for (int64_t i = 0; i < lengths[list]; i++) {
            const uint64_t node = (uint64_t)lists[list][i], bit = 1ULL << (node & 63);
            count += (seen[node >> 6] & bit) == 0;
            seen[node >> 6] |= bit;
        }
    for (int list = 0; list < 2; list++)
        for (int64_t i = 0; i < lengths[list]; i++)
            seen[lists[list][i] >> 6] = 0;
    return count;
}

fr_status fr_sampler_expand_global(fr_sampler *sampler, const fr_draw *draw, int64_t fanout,
                                   const int64_t *rows, int64_t n, const uint8_t *stop,
                                   fr_hop *hop, int64_t *n_distinct)
{
    FR_RETURN_IF_ERROR(draw_hop(sampler, draw, fanout, rows, n, stop, hop));
    FR_RETURN_IF_ERROR(reserve_nodes(hop, n));
    if (n > 0)
        memcpy(hop->nodes, rows, (size_t)n * sizeof *rows);
    const int64_t n_nodes = sampler->graph->info.n_nodes;
    for (int64_t e = 0; e < hop->n_edges; e++) {
        if ((uint64_t)sampler->drawn[e] >= (uint64_t)n_nodes)
            return bad_index(sampler, sampler->drawn[e]);
        hop->source[e] = (int32_t)sampler->drawn[e];
    }
    hop->n_sources = n_nodes;
    if (n_distinct == NULL)
        return FR_OK;
    if (sampler->seen == NULL)
        FR_RETURN_IF_ERROR(fr_alloc((size_t)(hop->n_sources / 64 + 1), sizeof(uint64_t),
                                    "sampler bits", &sampler->seen));
    *n_distinct = count_distinct(sampler, rows, hop);
    return FR_OK;
}

/* ---- part of a hop ---- */

/* Copies the edges of the wanted rows, as global ids, and lays the rows out; local_of numbers full's rows meanwhile. */
static fr_status copy_rows(fr_sampler *sampler, const fr_hop *full, const int64_t *rows, int64_t n,
                           fr_hop *hop)
{
    int64_t n_edges = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = sampler->local_of[rows[i]];
        if (row == NOT_SEEN)
            return fr_fail(FR_EINVAL, "pruning: node %" PRId64 " is no row of the sampled hop", rows[i]);
        hop->begin[i] = n_edges;
        n_edges += full->end[row] - full->begin[row];
        hop->end[i] = n_edges;
    }
    hop->n_rows = n;
    hop->n_edges = n_edges;
    FR_RETURN_IF_ERROR(reserve_edges(sampler, hop, n_edges));
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = full->begin[sampler->local_of[rows[i]]];
        for (int64_t e = hop->begin[i]; e < hop->end[i]; e++)
            sampler->drawn[e] = full->nodes[full->source[first + e - hop->begin[i]]];
    }
    return FR_OK;
}

fr_status fr_sampler_restrict(fr_sampler *sampler, const fr_hop *full, const int64_t *rows, int64_t n,
                              fr_hop *hop)
{
    FR_RETURN_IF_ERROR(check_rows(sampler, rows, n));
    FR_RETURN_IF_ERROR(ensure_local_of(sampler));
    FR_RETURN_IF_ERROR(reserve_rows(hop, n));
    for (int64_t i = 0; i < full->n_rows; i++)
        sampler->local_of[full->nodes[i]] = (uint32_t)i;
    const fr_status status = copy_rows(sampler, full, rows, n, hop);
    forget(sampler, full->nodes, full->n_rows);
    FR_RETURN_IF_ERROR(status);
    return number_hop(sampler, rows, hop);
}
