/*
 * graph_test.h: random edges, and a graph built of them.
 */
#ifndef FR_GRAPH_TEST_H
#define FR_GRAPH_TEST_H

#include "test_main.h"

#include <frugal/graph.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"

/** "FOLDER/name" in one of 64 turning buffers; `folder` may lie in one. */
static inline const char *path_in(const char *folder, const char *name)
{
    static char paths[64][4096];
    static int next;
    char *path = paths[next++ % 64];
    const size_t n = strlen(folder);
    assert_true(n + strlen(name) + 2 < sizeof paths[0]);
    memmove(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, strlen(name) + 1);
    return path;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != FR_OK)                                                                       \
            fail_msg("%s: %s", #call, fr_error_message());                                         \
    } while (0)

/** n random edges among n_nodes; some are doubles, some loops. Freed by the caller with free(). */
static inline void random_edges(uint64_t seed, int64_t n_nodes, int64_t n, int64_t **source, int64_t **target, float **weight)
{
    fr_random random = fr_random_start(seed, 77);
    *source = malloc((size_t)n * sizeof **source + 1);
    *target = malloc((size_t)n * sizeof **target + 1);
    *weight = malloc((size_t)n * sizeof **weight + 1);
    assert_non_null(*source);
    assert_non_null(*target);
    assert_non_null(*weight);
    for (int64_t i = 0; i < n; i++) {
        (*source)[i] = (int64_t)fr_random_below(&random, (uint64_t)n_nodes);
        (*target)[i] = (int64_t)fr_random_below(&random, (uint64_t)n_nodes);
        (*weight)[i] = (float)(i + 1);
    }
}

/** A graph of random edges, each both ways, opened. */
static inline fr_graph *random_graph(const char *folder, uint64_t seed, int64_t n_nodes, int64_t n)
{
    int64_t *source, *target;
    float *weight;
    fr_graph_builder *builder;
    fr_graph *graph;
    random_edges(seed, n_nodes, n, &source, &target, &weight);
    MUST(fr_graph_builder_create(path_in(folder, "g.frgraph"), &(fr_graph_builder_options){.n_nodes = n_nodes, .symmetrize = true}, &builder));
    MUST(fr_graph_builder_add_edges(builder, source, target, NULL, n));
    MUST(fr_graph_builder_commit(builder, NULL));
    MUST(fr_graph_open(path_in(folder, "g.frgraph"), &(fr_graph_options){.verify = true}, &graph));
    free(source);
    free(target);
    free(weight);
    return graph;
}

#endif
