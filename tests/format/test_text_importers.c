/*
 * Oracle: the graph written out in the test, row by row.
 */
#include "format_test.h"

static const char *folder;

static void check(import_function import, const char *file, const fr_import_options *options, const char *expected)
{
    const int64_t live = fr_live_blocks();
    fr_graph *graph = import_graph(import, path_in(folder, file), folder, options);
    assert_string_equal(graph_text(graph), expected);
    fr_graph_free(graph);
    assert_int_equal(fr_live_blocks(), live);
}

static void comments_line_ends_and_separators_are_read(void **state)
{
    (void)state;
    folder = fr_test_folder();
    const char *text = "# a comment\r\n% another\r\n\r\n0\t1\r\n1,2\r\n  2 ; 3\r\n0 1";
    write_text(path_in(folder, "e.txt"), text);
    write_gz(path_in(folder, "e.gz"), text);
    check(fr_import_edges, "e.txt", &(fr_import_options){0}, "0: 1; 1: 0 2; 2: 1 3; 3: 2");
    check(fr_import_edges, "e.gz", &(fr_import_options){0}, "0: 1; 1: 0 2; 2: 1 3; 3: 2");
    check(fr_import_edges, "e.txt", &(fr_import_options){.directed = true}, "0:; 1: 0; 2: 1; 3: 2");
    check(fr_import_edges, "e.txt", &(fr_import_options){.directed = true, .keep_duplicates = true}, "0:; 1: 0 0; 2: 1; 3: 2");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void weights_come_along_and_the_first_of_doubles_wins(void **state)
{
    (void)state;
    folder = fr_test_folder();
    write_text(path_in(folder, "w.txt"), "0 1 0.5\n1 0 2\n2 2 3\n");
    check(fr_import_edges, "w.txt", &(fr_import_options){0}, "0: 1(0.5); 1: 0(0.5); 2:");
    check(fr_import_edges, "w.txt", &(fr_import_options){.keep_self_loops = true, .directed = true}, "0: 1(2); 1: 0(0.5); 2: 2(3)");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void sparse_ids_are_numbered_in_ascending_order_and_kept(void **state)
{
    (void)state;
    folder = fr_test_folder();
    write_text(path_in(folder, "s.txt"), "1000 7\n7 9223372036854775807\n");
    check(fr_import_edges, "s.txt", &(fr_import_options){0}, "0: 1 2; 1: 0; 2: 0");
    fr_tensor ids;
    assert_int_equal(fr_npy_read(path_in(folder, "g.frgraph.ids.npy"), &ids), FR_OK);
    assert_int_equal(fr_tensor_count(&ids), 3);
    const uint64_t expected[] = {7, 1000, INT64_MAX};
    assert_memory_equal(ids.data, expected, sizeof expected);
    fr_tensor_release(&ids);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void nodes_take_features_labels_and_split_from_files(void **state)
{
    (void)state;
    folder = fr_test_folder();
    char features[4096], labels[4096], split[4096];
    (void)snprintf(features, sizeof features, "%s/f.csv", folder);
    (void)snprintf(labels, sizeof labels, "%s/l.csv", folder);
    (void)snprintf(split, sizeof split, "%s/s.csv", folder);
    write_text(path_in(folder, "e.txt"), "0 1\n1 2\n");
    write_text(features, "a,b\n1,3\n2,2\n0,0\n");
    write_text(labels, "0\n2\n-1\n");
    write_text(split, "1\n3\n0\n");
    fr_graph *graph = import_graph(
        fr_import_edges, path_in(folder, "e.txt"), folder,
        &(fr_import_options){.features = features, .labels = labels, .split = split, .normalize_features = true});
    const fr_graph_info *info = fr_graph_get_info(graph);
    const float *rows = fr_store_in_memory(fr_graph_features(graph));
    assert_int_equal(info->n_classes, 3);
    assert_int_equal(info->n_train, 1);
    assert_int_equal(info->n_test, 1);
    assert_int_equal(fr_graph_labels(graph)[2], -1);
    assert_true(rows[0] == 0.25F && rows[1] == 0.75F && rows[4] == 0.0F);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_file_of_comments_only_is_a_graph_of_no_nodes(void **state)
{
    (void)state;
    folder = fr_test_folder();
    write_text(path_in(folder, "none.txt"), "# nothing\n");
    check(fr_import_edges, "none.txt", &(fr_import_options){0}, "");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void matrices_are_1_based_and_what_symmetry_leaves_out_is_added(void **state)
{
    (void)state;
    folder = fr_test_folder();
    write_text(path_in(folder, "p.mtx"), "%%MatrixMarket matrix coordinate pattern general\r\n% c\r\n3 3 2\r\n1 2\r\n3 1\r\n");
    write_gz(path_in(folder, "s.mtx"), "%%MatrixMarket Matrix COORDINATE Integer symmetric\n3 3 3\n\n2 1 4\n3 3 1\n3 1 5\n");
    write_text(path_in(folder, "k.mtx"), "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n3 1 2.5e0\n");
    const fr_import_options directed = {.directed = true}, loops = {.keep_self_loops = true};
    check(fr_import_mtx, "p.mtx", &directed, "0: 2; 1: 0; 2:");
    check(fr_import_mtx, "p.mtx", &(fr_import_options){0}, "0: 1 2; 1: 0; 2: 0");
    check(fr_import_mtx, "s.mtx", &directed, "0: 1(4) 2(5); 1: 0(4); 2: 0(5)");
    check(fr_import_mtx, "s.mtx", &loops, "0: 1(4) 2(5); 1: 0(4); 2: 0(5) 2(1)");
    check(fr_import_mtx, "k.mtx", &(fr_import_options){0}, "0: 2(2.5); 1:; 2: 0(-2.5)");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void csv_ids_are_any_text(void **state)
{
    (void)state;
    folder = fr_test_folder();
    write_text(path_in(folder, "nodes.csv"),
               "\xEF\xBB\xBFx,id,split,label,y\r\n1,paper,train,0,2\r\n3,\"a \"\"b\"\", c\",test,2,4\r\n5,\xC3\xBC,,,6\r\n");
    write_gz(path_in(folder, "edges.csv.gz"), "weight,target,source\n0.5,paper,\"a \"\"b\"\", c\"\n2,\xC3\xBC,paper\n");
    const char *expected = "0: 1(0.5); 1:; 2: 0(2)";
    check(fr_import_csv, "", &(fr_import_options){.directed = true}, expected);
    fr_graph *graph = import_graph(fr_import_csv, folder, folder, &(fr_import_options){0});
    const float *rows = fr_store_in_memory(fr_graph_features(graph));
    for (int i = 0; i < 6; i++)
        assert_true(rows[i] == (float)(i + 1));
    assert_int_equal(fr_graph_labels(graph)[1], 2);
    assert_int_equal(fr_graph_split(graph)[0], FR_SPLIT_TRAIN);
    assert_int_equal(fr_graph_split(graph)[1], FR_SPLIT_TEST);
    assert_int_equal(fr_graph_labels(graph)[2], -1);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void csv_of_many_ids_finds_each_again(void **state)
{
    (void)state;
    enum { N = 5000 };
    folder = fr_test_folder();
    FILE *nodes = fopen(path_in(folder, "nodes.csv"), "w"), *edges = fopen(path_in(folder, "edges.csv"), "w");
    assert_non_null(nodes);
    assert_non_null(edges);
    (void)fprintf(nodes, "id\n");
    (void)fprintf(edges, "source,target\n");
    for (int i = 0; i < N; i++) {
        (void)fprintf(nodes, "n%d\n", i * 7);
        (void)fprintf(edges, "n%d,n%d\n", i * 7, (i + 1) % N * 7);
    }
    assert_int_equal(fclose(nodes), 0);
    assert_int_equal(fclose(edges), 0);
    fr_graph *graph = import_graph(fr_import_csv, folder, folder, &(fr_import_options){.directed = true});
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(fr_graph_indices32(graph)[i], (i + N - 1) % N);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(comments_line_ends_and_separators_are_read),
    cmocka_unit_test(weights_come_along_and_the_first_of_doubles_wins),
    cmocka_unit_test(sparse_ids_are_numbered_in_ascending_order_and_kept),
    cmocka_unit_test(nodes_take_features_labels_and_split_from_files),
    cmocka_unit_test(a_file_of_comments_only_is_a_graph_of_no_nodes),
    cmocka_unit_test(matrices_are_1_based_and_what_symmetry_leaves_out_is_added),
    cmocka_unit_test(csv_ids_are_any_text),
    cmocka_unit_test(csv_of_many_ids_finds_each_again),
};

FR_TEST_MAIN(tests)
