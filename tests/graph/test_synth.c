/*
 * Oracle: the options, and bytes compared between runs.
 */
#include "graph_test.h"

static void make(const char *path, const fr_synth_options *options)
{
    fr_graph_build_counts counts;
    MUST(fr_graph_synth(path, options, NULL, NULL, &counts));
}

static bool same_file(const char *a, const char *b, const char *name)
{
    char *bytes[2];
    size_t length[2];
    MUST(fr_file_read(path_in(a, name), 1 << 28, &bytes[0], &length[0]));
    MUST(fr_file_read(path_in(b, name), 1 << 28, &bytes[1], &length[1]));
    const bool same = length[0] == length[1] && memcmp(bytes[0], bytes[1], length[0]) == 0;
    fr_free(bytes[0]);
    fr_free(bytes[1]);
    return same;
}

static void a_graph_is_a_function_of_its_seed_and_not_of_memory(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    char a[4096], b[4096], c[4096];
    (void)snprintf(a, sizeof a, "%s/a", folder);
    (void)snprintf(b, sizeof b, "%s/b", folder);
    (void)snprintf(c, sizeof c, "%s/c", folder);
    fr_synth_options options = {.n_nodes = 3000, .n_edges = 20000, .n_features = 7, .n_classes = 5, .seed = 3};
    make(a, &options);
    options.memory_bytes = 4096;
    make(b, &options);
    options.seed = 4;
    make(c, &options);
    const char *const names[] = {"indptr.bin", "indices.bin", "labels.bin", "split.bin", "features.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(same_file(a, b, names[i]));
        assert_false(same_file(a, c, names[i]));
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void degrees_have_a_heavy_tail_and_the_split_its_fractions(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "g");
    const int64_t n = 20000;
    make(path, &(fr_synth_options){.n_nodes = n, .n_edges = 200000, .n_features = 4, .n_classes = 8, .train = 0.3, .valid = 0.1, .test = 0.2, .seed = 1});
    fr_graph *graph;
    MUST(fr_graph_open(path, &(fr_graph_options){.verify = true}, &graph));
    const fr_graph_info *info = fr_graph_get_info(graph);
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t degree = fr_graph_degree(fr_graph_indptr(graph), i);
        most = degree > most ? degree : most;
    }
    const double mean = (double)info->n_edges / (double)n;
    printf("mean degree %.1f, most %" PRId64 "\n", mean, most);
    assert_true(mean > 15 && mean <= 20);
    assert_true((double)most > 8 * mean); /* a Poisson law of mean 20 would end near 45 */
    assert_int_equal(info->n_labelled, n);
    assert_in_range(info->n_train, n * 3 / 10 - 1, n * 3 / 10 + 1);
    assert_in_range(info->n_valid, n / 10 - 1, n / 10 + 1);
    assert_in_range(info->n_test, n / 5 - 1, n / 5 + 1);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "g");
    const int64_t live = fr_live_blocks();
    fr_status status = FR_ENOMEM;
    for (int64_t n = 0; status != FR_OK; n++) {
        fr_graph_build_counts counts;
        fr_alloc_fail_at(n);
        status = fr_graph_synth(path, &(fr_synth_options){.n_nodes = 20, .n_edges = 40, .n_features = 2, .n_classes = 2, .memory_bytes = 4096}, NULL,
                                NULL, &counts);
        fr_alloc_fail_at(-1);
        assert_true(status == FR_OK || status == FR_ENOMEM);
        assert_int_equal(fr_folder_exists(path), status == FR_OK);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_graph_is_a_function_of_its_seed_and_not_of_memory),
    cmocka_unit_test(degrees_have_a_heavy_tail_and_the_split_its_fractions),
    cmocka_unit_test(without_memory_nothing_is_left),
};

FR_TEST_MAIN(tests)
