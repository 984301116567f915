/*
 * Oracle: the published sizes of the data sets, and a CSR archive built by hand.
 */
#include "format_test.h"

static void import_and_check(const char *relative, int64_t n_nodes, int64_t n_classes)
{
    const char *file = fr_test_data(relative);
    if (file == NULL)
        skip();
    const char *folder = fr_test_folder();
    const int64_t live = fr_live_blocks();
    fr_graph *graph = import_graph(fr_import_npz, file, folder, &(fr_import_options){.normalize_features = true, .seed = 3});
    const fr_graph_info *info = fr_graph_get_info(graph);
    assert_int_equal(info->n_nodes, n_nodes);
    assert_int_equal(info->n_classes, n_classes);
    assert_int_equal(info->n_labelled, n_nodes);
    assert_int_equal(info->n_train + info->n_valid + info->n_test, n_nodes);
    assert_true(llabs(info->n_train - n_nodes * 6 / 10) <= 1);
    const uint64_t *indptr = fr_graph_indptr(graph);
    for (int64_t i = 0; i < n_nodes; i++) /* symmetric: every edge is there the other way */
        for (uint64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            const int64_t j = fr_graph_indices32(graph)[e];
            bool back = false;
            for (uint64_t k = indptr[j]; k < indptr[j + 1]; k++)
                back = back || fr_graph_indices32(graph)[k] == i;
            assert_true(back);
        }
    fr_graph_free(graph);
    assert_int_equal(fr_live_blocks(), live);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void facebook_pages_have_their_published_sizes(void **state)
{
    (void)state;
    import_and_check("graphs/npz/facebook_pages.npz", 22470, 4);
}

static void cora_has_its_published_sizes(void **state)
{
    (void)state;
    import_and_check("graphs/npz/cora.npz", 2708, 7);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(facebook_pages_have_their_published_sizes),
    cmocka_unit_test(cora_has_its_published_sizes),
};

FR_TEST_MAIN(tests)
