/*
 * Oracle: the published sizes of Cora and CiteSeer, and the commonly reported counts of undirected edges.
 */
#include "test_main.h"

#include <frugal/format.h>

#include "base/alloc.h"
#include "base/file.h"

static void import_and_check(const char *source, int64_t n_nodes, int64_t n_edges, int64_t n_features, int64_t n_classes, int64_t n_train)
{
    char path[4096];
    const char *folder = fr_test_folder();
    (void)snprintf(path, sizeof path, "%s/g.frgraph", folder);
    fr_graph_build_counts counts;
    const fr_import_options options = {.normalize_features = true};
    if (fr_import_planetoid(source, path, &options, &counts) != FR_OK)
        fail_msg("%s", fr_error_message());
    fr_graph *graph;
    if (fr_graph_open(path, &(fr_graph_options){.verify = true}, &graph) != FR_OK)
        fail_msg("%s", fr_error_message());
    const fr_graph_info *info = fr_graph_get_info(graph);
    assert_int_equal(info->n_nodes, n_nodes);
    assert_int_equal(info->n_edges, n_edges);
    assert_int_equal(info->n_features, n_features);
    assert_int_equal(info->n_classes, n_classes);
    assert_int_equal(info->n_train, n_train);
    assert_int_equal(info->n_valid, 500);
    assert_int_equal(info->n_test, 1000);
    assert_int_equal(counts.edges_kept, n_edges);
    const float *rows = fr_store_in_memory(fr_graph_features(graph));
    assert_non_null(rows);
    for (int64_t i = 0; i < n_nodes; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n_features; j++)
            sum += (double)rows[i * n_features + j];
        assert_true(sum == 0 || (sum > 0.999 && sum < 1.001));
    }
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static char *copy_path(const char *relative)
{
    static char path[4096];
    const char *file = fr_test_data(relative);
    if (file == NULL)
        skip();
    (void)snprintf(path, sizeof path, "%.*s", (int)(strlen(file) - 2), file); /* less ".x" */
    return path;
}

static void cora_has_its_published_sizes(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    import_and_check(copy_path("graphs/planetoid/ind.cora.x"), 2708, 10556, 1433, 7, 140);
    assert_int_equal(fr_live_blocks(), live);
}

static void citeseer_keeps_its_gaps_as_isolated_nodes(void **state)
{
    (void)state;
    import_and_check(copy_path("graphs/planetoid/ind.citeseer.x"), 3327, 9104, 3703, 6, 120);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cora_has_its_published_sizes),
    cmocka_unit_test(citeseer_keeps_its_gaps_as_isolated_nodes),
};

FR_TEST_MAIN(tests)
