/*
 * Oracle: a dense table of all pairs, filled edge by edge.
 */
#include "graph_test.h"

typedef struct build_case {
    int64_t n_nodes, n_edges, memory;
    bool symmetrize, keep_duplicates, keep_loops, weighted;
} build_case;

typedef struct dense {
    int64_t *count; /* n_nodes x n_nodes, row = target */
    float *first;   /* weight of the first edge of a pair */
    int64_t loops;
} dense;

static void put(dense *d, const build_case *c, int64_t source, int64_t target, float weight)
{
    const int64_t at = target * c->n_nodes + source;
    if (d->count[at]++ == 0)
        d->first[at] = weight;
}

static void fill(dense *d, const build_case *c, const int64_t *source, const int64_t *target, const float *weight)
{
    const size_t n = (size_t)(c->n_nodes * c->n_nodes);
    *d = (dense){.count = calloc(n + 1, sizeof *d->count), .first = calloc(n + 1, sizeof *d->first)};
    assert_non_null(d->count);
    assert_non_null(d->first);
    for (int64_t i = 0; i < c->n_edges; i++) {
        const bool loop = source[i] == target[i];
        if (loop && !c->keep_loops) {
            d->loops++;
            continue;
        }
        put(d, c, source[i], target[i], weight[i]);
        if (c->symmetrize && !loop)
            put(d, c, target[i], source[i], weight[i]);
    }
}

static void compare(const fr_graph *graph, const build_case *c, const dense *d, const fr_graph_build_counts *counts)
{
    const uint64_t *indptr = fr_graph_indptr(graph);
    int64_t n_kept = 0, n_all = 0;
    for (int64_t t = 0; t < c->n_nodes; t++) {
        uint64_t e = indptr[t];
        for (int64_t s = 0; s < c->n_nodes; s++) {
            const int64_t copies = d->count[t * c->n_nodes + s];
            n_all += copies;
            for (int64_t k = 0; k < (c->keep_duplicates ? copies : copies > 0); k++, e++, n_kept++) {
                assert_true(e < indptr[t + 1]);
                assert_int_equal(fr_graph_indices32(graph)[e], s);
                if (c->weighted && k == 0)
                    assert_true(fr_graph_weights(graph)[e] == d->first[t * c->n_nodes + s]);
            }
        }
        assert_int_equal(e, indptr[t + 1]);
    }
    assert_int_equal(counts->edges_given, c->n_edges);
    assert_int_equal(counts->edges_kept, n_kept);
    assert_int_equal(counts->duplicates_dropped, n_all - n_kept);
    assert_int_equal(counts->self_loops_dropped, d->loops);
}

static void build_and_compare(const char *folder, const build_case *c, uint64_t seed)
{
    int64_t *source, *target;
    float *weight;
    fr_graph_builder *builder;
    fr_graph *graph;
    fr_graph_build_counts counts;
    dense d;
    const char *path = path_in(folder, "g.frgraph");
    random_edges(seed, c->n_nodes > 3 ? c->n_nodes - 2 : c->n_nodes, c->n_edges, &source, &target, &weight); /* two nodes are isolated */
    const int64_t live = fr_live_blocks();
    MUST(fr_graph_builder_create(path,
                                 &(fr_graph_builder_options){.n_nodes = c->n_nodes,
                                                             .memory_bytes = c->memory,
                                                             .symmetrize = c->symmetrize,
                                                             .keep_duplicates = c->keep_duplicates,
                                                             .keep_self_loops = c->keep_loops,
                                                             .weighted = c->weighted,
                                                             .replace = true},
                                 &builder));
    for (int64_t i = 0; i < c->n_edges; i += 700) {
        const int64_t n = c->n_edges - i < 700 ? c->n_edges - i : 700;
        MUST(fr_graph_builder_add_edges(builder, source + i, target + i, c->weighted ? weight + i : NULL, n));
    }
    MUST(fr_graph_builder_commit(builder, &counts));
    MUST(fr_graph_open(path, &(fr_graph_options){.verify = true}, &graph));
    fill(&d, c, source, target, weight);
    compare(graph, c, &d, &counts);
    fr_graph_free(graph);
    assert_int_equal(fr_live_blocks(), live);
    free(d.count);
    free(d.first);
    free(source);
    free(target);
    free(weight);
}

static void graphs_equal_a_dense_table_of_their_edges(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    static const build_case sizes[] = {{.n_nodes = 0, .n_edges = 0},      {.n_nodes = 1, .n_edges = 0},      {.n_nodes = 1, .n_edges = 5},
                                       {.n_nodes = 2, .n_edges = 9},      {.n_nodes = 63, .n_edges = 500},   {.n_nodes = 64, .n_edges = 900},
                                       {.n_nodes = 65, .n_edges = 3000},  {.n_nodes = 200, .n_edges = 4000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int flags = 0; flags < 16; flags++) {
            build_case c = sizes[i];
            c.symmetrize = (flags & 1) != 0;
            c.keep_duplicates = (flags & 2) != 0;
            c.keep_loops = (flags & 4) != 0;
            c.weighted = (flags & 8) != 0;
            build_and_compare(folder, &c, fr_test_seed() + i);
        }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void buckets_beyond_the_memory_are_drained_in_parts(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    for (int flags = 0; flags < 8; flags++) {
        const build_case c = {.n_nodes = 130,
                              .n_edges = 90000,
                              .memory = 4096,
                              .symmetrize = (flags & 1) != 0,
                              .keep_duplicates = (flags & 2) != 0,
                              .weighted = (flags & 4) != 0};
        build_and_compare(folder, &c, fr_test_seed());
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void bad_edges_are_refused_by_position(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "g.frgraph/");
    fr_graph_builder *builder;
    const float infinite[] = {1, (float)(1e300 * 1e300)};
    MUST(fr_graph_builder_create(path, &(fr_graph_builder_options){.n_nodes = 3, .weighted = true}, &builder));
    assert_int_equal(fr_graph_builder_add_edges(builder, (int64_t[]){0, 3}, (int64_t[]){1, 1}, NULL, 2), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "edge 1"));
    assert_int_equal(fr_graph_builder_add_edges(builder, (int64_t[]){0}, (int64_t[]){-1}, NULL, 1), FR_ERANGE);
    assert_int_equal(fr_graph_builder_add_edges(builder, (int64_t[]){0, 1}, (int64_t[]){1, 2}, infinite, 2), FR_ERANGE);
    fr_graph_build_counts counts;
    MUST(fr_graph_builder_commit(builder, &counts));
    assert_int_equal(counts.edges_given, 0);
    assert_true(fr_folder_exists(path_in(folder, "g.frgraph")));
    assert_int_equal(fr_graph_builder_create(path, &(fr_graph_builder_options){.n_nodes = 3}, &builder), FR_EEXIST);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "g.frgraph");
    const int64_t source[] = {0, 1, 2}, target[] = {1, 2, 0}, live = fr_live_blocks();
    const int32_t labels[] = {0, 1, -1};
    const float features[] = {1, 2, 3};
    fr_status status = FR_ENOMEM;
    for (int64_t n = 0; status != FR_OK; n++) {
        fr_graph_builder *builder = NULL;
        fr_alloc_fail_at(n);
        status = fr_graph_builder_create(path, &(fr_graph_builder_options){.n_nodes = 3, .symmetrize = true}, &builder);
        if (status == FR_OK)
            status = fr_graph_builder_features(builder, FR_F32, 1);
        if (status == FR_OK)
            status = fr_graph_builder_add_features(builder, features, 3);
        if (status == FR_OK)
            status = fr_graph_builder_add_edges(builder, source, target, NULL, 3);
        if (status == FR_OK)
            status = fr_graph_builder_labels(builder, labels, 2);
        if (status == FR_OK)
            status = fr_graph_builder_random_split(builder, 0.5, 0.5, 0, 1);
        if (status == FR_OK)
            status = fr_graph_builder_commit(builder, NULL);
        else
            fr_graph_builder_abort(builder);
        fr_alloc_fail_at(-1);
        assert_true(status == FR_OK || status == FR_ENOMEM);
        assert_int_equal(fr_folder_exists(path), status == FR_OK);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(graphs_equal_a_dense_table_of_their_edges),
    cmocka_unit_test(buckets_beyond_the_memory_are_drained_in_parts),
    cmocka_unit_test(bad_edges_are_refused_by_position),
    cmocka_unit_test(without_memory_nothing_is_left),
};

FR_TEST_MAIN(tests)
