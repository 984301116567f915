/*
 * Oracle: expected.txt of tests/fixtures/make_ogb.py, which makes the folder and states by its own means what is in it.
 */
#include "format_test.h"

static void make_folder(const char *folder, const char *arguments)
{
    char command[8192];
    const char *root = getenv("FR_SOURCE_DIR");
    if (root == NULL || system("python3 -c '' 2>/dev/null") != 0)
        skip();
    (void)snprintf(command, sizeof command, "python3 '%s/tests/fixtures/make_ogb.py' '%s' %s", root, folder, arguments);
    assert_int_equal(system(command), 0);
}

static void check_labels(const fr_graph *graph, int64_t node, const char *text)
{
    const int64_t n_classes = fr_graph_get_info(graph)->n_classes;
    char *end;
    if (fr_graph_labels(graph) != NULL) {
        assert_int_equal(fr_graph_labels(graph)[node], strtol(text, &end, 10));
        return;
    }
    for (int64_t c = 0; c < n_classes; c++, text = end)
        assert_int_equal(fr_graph_label_bits(graph)[node * n_classes + c], strtol(text, &end, 10));
}

static void check_features(const fr_graph *graph, int64_t node, const char *text)
{
    const int64_t width = fr_graph_get_info(graph)->n_features;
    const float *rows = fr_store_in_memory(fr_graph_features(graph));
    char *end;
    assert_non_null(rows);
    for (int64_t i = 0; i < width; i++, text = end)
        assert_true((double)rows[node * width + i] == strtod(text, &end));
}

static void check_against(const fr_graph *graph, const char *expected)
{
    FILE *file = fopen(expected, "r");
    assert_non_null(file);
    char line[4096];
    int64_t n_edges = 0, n_split = 0, row = 0;
    const uint64_t *indptr = fr_graph_indptr(graph);
    while (fgets(line, sizeof line, file) != NULL) {
        char kind[16];
        int64_t a = 0, b = 0;
        int used = 0;
        assert_true(sscanf(line, "%15s %" SCNd64 "%n", kind, &a, &used) == 2);
        if (strcmp(kind, "nodes") == 0)
            assert_int_equal(fr_graph_get_info(graph)->n_nodes, a);
        else if (strcmp(kind, "label") == 0)
            check_labels(graph, a, line + used);
        else if (strcmp(kind, "feature") == 0)
            check_features(graph, a, line + used);
        else {
            assert_true(sscanf(line + used, "%" SCNd64, &b) == 1);
            if (strcmp(kind, "split") == 0) {
                assert_int_equal(fr_graph_split(graph)[a], b);
                n_split++;
                continue;
            }
            while (indptr[row + 1] <= (uint64_t)n_edges)
                row++;
            assert_int_equal(row, a);
            assert_int_equal(fr_graph_indices32(graph)[n_edges++], b);
        }
    }
    assert_int_equal(fclose(file), 0);
    const fr_graph_info *info = fr_graph_get_info(graph);
    assert_int_equal(n_edges, info->n_edges);
    assert_int_equal(n_split, info->n_train + info->n_valid + info->n_test);
}

static void import_and_check(const char *arguments, fr_graph_task task, const fr_import_options *options)
{
    char folder[4096], expected[8192];
    (void)snprintf(folder, sizeof folder, "%s", fr_test_folder());
    make_folder(folder, arguments);
    const int64_t live = fr_live_blocks();
    fr_graph *graph = import_graph(fr_import_ogb, folder, folder, options);
    assert_int_equal(fr_graph_get_info(graph)->task, task);
    assert_int_equal(fr_graph_get_info(graph)->n_features, 5);
    (void)snprintf(expected, sizeof expected, "%s/expected.txt", folder);
    check_against(graph, expected);
    fr_graph_free(graph);
    assert_int_equal(fr_live_blocks(), live);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void csv_form_with_one_label_column_is_multiclass(void **state)
{
    (void)state;
    import_and_check("csv multiclass", FR_TASK_MULTICLASS, &(fr_import_options){0});
}

static void csv_form_with_several_label_columns_is_multilabel(void **state)
{
    (void)state;
    import_and_check("csv multilabel", FR_TASK_MULTILABEL, &(fr_import_options){.split = "scheme"});
}

static void binary_form_reads_features_of_all_float_types(void **state)
{
    (void)state;
    import_and_check("binary multiclass f4 7", FR_TASK_MULTICLASS, &(fr_import_options){0});
    import_and_check("binary multiclass f2 8", FR_TASK_MULTICLASS, &(fr_import_options){0});
    import_and_check("binary multiclass f8 9", FR_TASK_MULTICLASS, &(fr_import_options){0});
}

static void binary_form_with_several_label_columns_is_multilabel(void **state)
{
    (void)state;
    import_and_check("binary multilabel", FR_TASK_MULTILABEL, &(fr_import_options){.memory_bytes = 1 << 20});
}

static void directed_keeps_edges_one_way(void **state)
{
    (void)state;
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", fr_test_folder());
    make_folder(folder, "csv multiclass");
    fr_graph *graph = import_graph(fr_import_ogb, folder, folder,
                                   &(fr_import_options){.directed = true, .keep_duplicates = true, .keep_self_loops = true});
    assert_int_equal(fr_graph_get_info(graph)->n_edges, 400);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_second_split_must_be_named(void **state)
{
    (void)state;
    char folder[4096], path[8192];
    (void)snprintf(folder, sizeof folder, "%s", fr_test_folder());
    make_folder(folder, "csv multiclass");
    (void)snprintf(path, sizeof path, "%s/split/other", folder);
    assert_int_equal(fr_folder_create(path), FR_OK);
    fr_graph_build_counts counts;
    assert_int_equal(fr_import_ogb(folder, path_in(folder, "g.frgraph"), &(fr_import_options){0}, &counts), FR_EINVAL);
    assert_non_null(strstr(fr_error_message(), "other"));
    assert_non_null(strstr(fr_error_message(), "scheme"));
    fr_graph_free(import_graph(fr_import_ogb, folder, folder, &(fr_import_options){.split = "scheme"}));
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", fr_test_folder());
    make_folder(folder, "binary multilabel");
    const int64_t live = fr_live_blocks();
    fr_status status = FR_ENOMEM;
    for (int64_t n = 0; status != FR_OK; n++) {
        fr_graph_build_counts counts;
        fr_alloc_fail_at(n);
        status = fr_import_ogb(folder, path_in(folder, "g.frgraph"), &(fr_import_options){.memory_bytes = 1 << 16}, &counts);
        fr_alloc_fail_at(-1);
        if (status != FR_OK) {
            assert_int_equal(status, FR_ENOMEM);
            assert_false(fr_folder_exists(path_in(folder, "g.frgraph")));
        }
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(csv_form_with_one_label_column_is_multiclass),
    cmocka_unit_test(csv_form_with_several_label_columns_is_multilabel),
    cmocka_unit_test(binary_form_reads_features_of_all_float_types),
    cmocka_unit_test(binary_form_with_several_label_columns_is_multilabel),
    cmocka_unit_test(directed_keeps_edges_one_way),
    cmocka_unit_test(a_second_split_must_be_named),
    cmocka_unit_test(without_memory_nothing_is_left),
};

FR_TEST_MAIN(tests)
