/*
 * synth.c: a synthetic graph of any size, streamed.
 *
 * Nodes have a hidden number h; the graph's id of h is a seeded bijection of [0, n) (a Feistel network), so that
 * nothing about a node can be read off its id, and no table of n entries is needed either way.
 *
 *     community of h   contiguous ranges of hidden numbers, sizes falling gently (rank^-0.5)
 *     class of h       its community: one a class
 *     out-degree of h  Pareto with exponent `power`, mean n_edges / n_nodes, cut at sqrt(n_edges)
 *     far end          with probability `homophily` in the own community, else anywhere; rank r of a range is chosen
 *                      with weight r^-1/(power-1), so that in-degrees follow the same law
 *     features         signal * direction[class] + unit noise, per column
 *
 * One node's features say little of its class (signal against noise), the mean over its neighbours more, the mean over
 * two hops most: that is what "labels need two hops" means here, and what docs/results.md measures with an MLP, a
 * one-layer and a two-layer model.
 *
 * Everything drawn is a function of (seed, what for, number): chunks may be made in any order.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/random.h"
#include "graph/graph.h"

enum { CHUNK_ROWS = 1 << 13, CHUNK_EDGES = 1 << 16, FEISTEL_ROUNDS = 4 };
enum { FOR_DEGREE = 0x6465, FOR_EDGE = 0x6564, FOR_FEATURE = 0x6665, FOR_CLASS = 0x636C, FOR_SHUFFLE = 0x7368, FOR_REST = 0x7265 };

typedef struct synth {
    fr_synth_options options;
    int64_t *first_of; /* n_classes + 1: hidden numbers of community c are [first_of[c], first_of[c+1]) */
    float *direction;  /* n_classes x n_features, unit variance a column */
    int half_bits;     /* of the Feistel network */
    fr_graph_builder *builder;
    int64_t *source, *target;
    int64_t n_buffered, n_given;
    void (*progress)(void *context, const char *stage, int64_t done, int64_t total);
    void *context;
} synth;

/* ---- the bijection between hidden numbers and ids ---- */

/* Forward: (L, R) -> (R, L ^ f(R)), rounds 0, 1, ..; backward undoes them from the last. */
static uint64_t feistel(const synth *s, uint64_t x, bool forward)
{
    const uint64_t mask = (1ULL << s->half_bits) - 1;
    uint64_t left = x >> s->half_bits, right = x & mask;
    for (int i = 0; i < FEISTEL_ROUNDS; i++) {
        const uint64_t round = (uint64_t)(forward ? i : FEISTEL_ROUNDS - 1 - i);
        const uint64_t kept = forward ? right : left;
        const uint64_t mixed = fr_random_stream(s->options.seed, FOR_SHUFFLE, round, kept) & mask;
        const uint64_t other = (forward ? left : right) ^ mixed;
        left = forward ? kept : other;
        right = forward ? other : kept;
    }
    return left << s->half_bits | right;
}

/* Cycle-walking keeps a bijection of 2^(2 half_bits) within [0, n). */
static int64_t permute(const synth *s, int64_t number, bool forward)
{
    uint64_t x = (uint64_t)number;
    do
        x = feistel(s, x, forward);
    while (x >= (uint64_t)s->options.n_nodes);
    return (int64_t)x;
}

/* ---- communities ---- */

static fr_status lay_out_communities(synth *s)
{
    const int64_t n = s->options.n_nodes, c = s->options.n_classes;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)c + 1, sizeof *s->first_of, "communities", &s->first_of));
    double total = 0, sum = 0;
    for (int64_t i = 0; i < c; i++)
        total += 1 / sqrt((double)(i + 1));
    for (int64_t i = 0; i < c; i++) {
        s->first_of[i] = llround(sum / total * (double)n);
        sum += 1 / sqrt((double)(i + 1));
    }
    s->first_of[c] = n;
    return FR_OK;
}

static int64_t community_of(const synth *s, int64_t hidden)
{
    int64_t low = 0, high = s->options.n_classes;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (s->first_of[middle] <= hidden)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static fr_status draw_directions(synth *s)
{
    const int64_t n = s->options.n_classes * s->options.n_features;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof *s->direction, "class directions", &s->direction));
    fr_random random = fr_random_start(s->options.seed, fr_random_stream(FOR_CLASS, 0, 0, 0));
    for (int64_t i = 0; i < n; i++)
        s->direction[i] = (float)fr_random_normal(&random);
    return FR_OK;
}

/* ---- edges ---- */

static fr_status flush_edges(synth *s)
{
    FR_RETURN_IF_ERROR(
        fr_graph_builder_add_edges(s->builder, s->source, s->target, NULL, s->n_buffered));
    s->n_given += s->n_buffered;
    s->n_buffered = 0;
    return FR_OK;
}

static fr_status add_edge(synth *s, int64_t a, int64_t b)
{
    s->source[s->n_buffered] = permute(s, a, true);
    s->target[s->n_buffered] = permute(s, b, true);
    if (++s->n_buffered < CHUNK_EDGES)
        return FR_OK;
    return flush_edges(s);
}

/* The far end of an edge: low ranks of the range are popular. */
static int64_t far_end(const synth *s, int64_t hidden, fr_random *random)
{
    int64_t first = 0, last = s->options.n_nodes;
    if (fr_random_uniform(random) < s->options.homophily) {
        const int64_t community = community_of(s, hidden);
        first = s->first_of[community];
        last = s->first_of[community + 1];
    }
    /* Weights r^-s, s = 1 / (power - 1): the inverse of their sum is u^(1 / (1 - s)). */
    const double skew = (s->options.power - 1) / (s->options.power - 2);
    const double rank = pow(fr_random_uniform(random), skew) * (double)(last - first);
    return first + (int64_t)rank;
}

static int64_t out_degree(const synth *s, int64_t hidden)
{
    /* Pareto: x_min * u^(-1/a), mean x_min * a / (a - 1), a = power - 1 */
    const double a = s->options.power - 1;
    const double mean = (double)s->options.n_edges / (double)s->options.n_nodes;
    fr_random random = fr_random_start(s->options.seed, fr_random_stream(FOR_DEGREE, (uint64_t)hidden, 0, 0));
    const double most = sqrt((double)s->options.n_edges) + 1;
    double degree = mean * (a - 1) / a * pow(1 - fr_random_uniform(&random), -1 / a);
    degree = degree < most ? degree : most;
    return (int64_t)(degree + fr_random_uniform(&random)); /* rounded up or down at random: the mean stays */
}

static fr_status draw_edges(synth *s)
{
    const int64_t n = s->options.n_nodes, wanted = s->options.n_edges;
    int64_t drawn = 0;
    for (int64_t h = 0; h < n && drawn < wanted; h++) {
        int64_t degree = out_degree(s, h);
        degree = degree < wanted - drawn ? degree : wanted - drawn;
        fr_random random = fr_random_start(s->options.seed, fr_random_stream(FOR_EDGE, (uint64_t)h, 0, 0));
        for (int64_t i = 0; i < degree; i++)
            FR_RETURN_IF_ERROR(add_edge(s, h, far_end(s, h, &random)));
        drawn += degree;
        if (s->progress != NULL && h % CHUNK_EDGES == 0)
            s->progress(s->context, "drawing edges", drawn, wanted);
    }
    fr_random random = fr_random_start(s->options.seed, fr_random_stream(FOR_REST, 0, 0, 0));
    for (; drawn < wanted && n > 0; drawn++) {
        const int64_t h = (int64_t)fr_random_below(&random, (uint64_t)n);
        FR_RETURN_IF_ERROR(add_edge(s, h, far_end(s, h, &random)));
    }
    return flush_edges(s);
}

/* ---- features and labels ---- */

typedef struct feature_chunk {
    const synth *s;
    int64_t first; /* node id of row 0 */
    float *rows;
} feature_chunk;

static void draw_features(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const feature_chunk *chunk = context;
    const synth *s = chunk->s;
    const int64_t width = s->options.n_features;
    for (int64_t i = begin; i < end; i++) {
        const int64_t node = chunk->first + i;
        const float *direction = s->direction + community_of(s, permute(s, node, false)) * width;
        fr_random random =
            fr_random_start(s->options.seed, fr_random_stream(FOR_FEATURE, (uint64_t)node, 0, 0));
        for (int64_t j = 0; j < width; j++)
            chunk->rows[i * width + j] = (float)s->options.signal * direction[j] + (float)fr_random_normal(&random);
    }
}

static fr_status write_features(synth *s)
{
    const int64_t n = s->options.n_nodes;
    feature_chunk chunk = {.s = s};
    fr_status status;
    FR_TRY(fr_graph_builder_features(s->builder, FR_F32, s->options.n_features));
    FR_TRY(fr_alloc((size_t)(CHUNK_ROWS * s->options.n_features), sizeof(float), "features", &chunk.rows));
    for (chunk.first = 0; chunk.first < n; chunk.first += CHUNK_ROWS) {
        const int64_t left = n - chunk.first, rows = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        fr_parallel_for(rows, CHUNK_ROWS / 64, draw_features, &chunk);
        FR_TRY(fr_graph_builder_add_features(s->builder, chunk.rows, rows));
        if (s->progress != NULL)
            s->progress(s->context, "drawing features", chunk.first + rows, n);
    }
    status = FR_OK;
done:
    fr_free(chunk.rows);
    return status;
}

static fr_status write_labels(synth *s)
{
    int32_t *labels = NULL;
    fr_status status;
    FR_TRY(fr_alloc((size_t)s->options.n_nodes, sizeof *labels, "labels", &labels));
    for (int64_t i = 0; i < s->options.n_nodes; i++)
        labels[i] = (int32_t)community_of(s, permute(s, i, false));
    FR_TRY(fr_graph_builder_labels(s->builder, labels, s->options.n_classes));
    FR_TRY(fr_graph_builder_random_split(s->builder, s->options.train, s->options.valid,
                                         s->options.test, s->options.seed));
done:
    fr_free(labels);
    return status;
}

/* ---- the whole ---- */

static fr_status check_options(const char *path, fr_synth_options *o)
{
    if (o->homophily == 0)
        o->homophily = 0.6;
    if (o->power == 0)
        o->power = 2.5;
    if (o->signal == 0)
        o->signal = 0.12;
    if (o->train == 0 && o->valid == 0 && o->test == 0) {
        o->train = 0.1;
        o->valid = 0.05;
        o->test = 0.2;
    }
    if (o->n_nodes < 1 || o->n_edges < 0 || o->n_features < 1 || o->n_classes < 1)
        return fr_fail(FR_EINVAL, "%s: %" PRId64 " nodes, %" PRId64 " edges, %" PRId64 " features, %" PRId64
                       " classes: at least 1, 0, 1, 1 are needed",
                       path, o->n_nodes, o->n_edges, o->n_features, o->n_classes);
    if (o->n_classes > o->n_nodes || o->n_classes > INT32_MAX)
        return fr_fail(FR_EINVAL, "%s: %" PRId64 " classes for %" PRId64 " nodes", path, o->n_classes, o->n_nodes);
    if (!(o->homophily >= 0 && o->homophily <= 1) || !(o->power > 2 && o->power < 100))
        return fr_fail(FR_EINVAL, "%s: homophily %g must lie in [0, 1] and the degree exponent %g above 2", path,
                       o->homophily, o->power);
    int64_t product;
    if (!fr_multiply(o->n_features, o->n_classes, &product))
        return fr_fail(FR_EINVAL, "%s: %" PRId64 " features of %" PRId64 " classes overflow", path, o->n_features, o->n_classes);
    return FR_OK;
}

fr_status fr_graph_synth(const char *path, const fr_synth_options *options,
                         void (*progress)(void *, const char *, int64_t, int64_t), void *context,
                         fr_graph_build_counts *counts)
{
    synth s = {.options = *options, .progress = progress, .context = context};
    fr_status status;
    FR_TRY(check_options(path, &s.options));
    while ((1LL << (2 * s.half_bits)) < s.options.n_nodes)
        s.half_bits++;
    FR_TRY(lay_out_communities(&s));
    FR_TRY(draw_directions(&s));
    FR_TRY(fr_alloc(CHUNK_EDGES, sizeof *s.source, "edges", &s.source));
    FR_TRY(fr_alloc(CHUNK_EDGES, sizeof *s.target, "edges", &s.target));
    FR_TRY(fr_graph_builder_create(path,
                                   &(fr_graph_builder_options){.n_nodes = s.options.n_nodes,
                                                               .memory_bytes = s.options.memory_bytes,
                                                               .symmetrize = true,
                                                               .replace = s.options.replace},
                                   &s.builder));
    fr_graph_builder_on_progress(s.builder, progress, context);
    FR_TRY(draw_edges(&s));
    FR_TRY(write_features(&s));
    FR_TRY(write_labels(&s));
    fr_graph_builder *const builder = s.builder;
    s.builder = NULL;
    FR_TRY(fr_graph_builder_commit(builder, counts));
done:
    fr_graph_builder_abort(s.builder);
    fr_free(s.first_of);
    fr_free(s.direction);
    fr_free(s.source);
    fr_free(s.target);
    return status;
}
