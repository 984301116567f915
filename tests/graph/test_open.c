/*
 * Oracle: what was written; for 3 billion edges, a folder whose files are mostly holes.
 */
#include "graph_test.h"

#include "base/hash.h"
#include "graph/meta.h"

static const char *const files[] = {"indptr.bin", "indices.bin", "labels.bin", "split.bin", "features.bin", "weights.bin"};

static void build_small(const char *path)
{
    fr_graph_builder *builder;
    const int32_t labels[] = {0, 1, -1, 1};
    const uint8_t split[] = {FR_SPLIT_TRAIN, FR_SPLIT_TEST, FR_SPLIT_NONE, FR_SPLIT_VALID};
    const float features[] = {1, 2, 3, 4, 5, 6, 7, 8}, weights[] = {1, 2, 3};
    MUST(fr_graph_builder_create(path, &(fr_graph_builder_options){.n_nodes = 4, .symmetrize = true, .weighted = true}, &builder));
    MUST(fr_graph_builder_features(builder, FR_F32, 2));
    MUST(fr_graph_builder_add_features(builder, features, 4));
    MUST(fr_graph_builder_add_edges(builder, (int64_t[]){0, 1, 2}, (int64_t[]){1, 2, 3}, weights, 3));
    MUST(fr_graph_builder_labels(builder, labels, 2));
    MUST(fr_graph_builder_split(builder, split));
    MUST(fr_graph_builder_commit(builder, NULL));
}

static void refuse_verified(const char *path, const char *name)
{
    const int64_t live = fr_live_blocks();
    fr_graph *graph;
    if (fr_graph_open(path, &(fr_graph_options){.verify = true}, &graph) == FR_OK)
        fail_msg("%s was taken", name);
    if (strstr(fr_error_message(), name) == NULL)
        fail_msg("\"%s\" does not name %s", fr_error_message(), name);
    assert_null(graph);
    assert_int_not_equal(fr_graph_verify(path, NULL, NULL), FR_OK);
    assert_int_equal(fr_live_blocks(), live);
}

static int64_t length_of(const char *path)
{
    int64_t length;
    MUST(fr_file_length(path, &length));
    return length;
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
    assert_int_equal(fclose(file), 0);
}

static void a_file_one_byte_short_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *folder = fr_test_folder(), *path = path_in(folder, "g.frgraph");
        build_small(path);
        const char *file = path_in(path, files[i]);
        assert_int_equal(truncate(file, length_of(file) - 1), 0);
        fr_graph *graph;
        assert_int_not_equal(fr_graph_open(path, NULL, &graph), FR_OK); /* also without verify */
        assert_non_null(strstr(fr_error_message(), files[i]));
        refuse_verified(path, files[i]);
        assert_int_equal(unlink(file), 0);
        refuse_verified(path, files[i]);
        assert_int_equal(fr_folder_remove(folder), FR_OK);
    }
}

static void any_flipped_byte_is_found_by_verify(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/g.frgraph", folder);
    build_small(path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *file = path_in(path, files[i]);
        const int64_t length = length_of(file), step = length > 500 ? 97 : 1;
        for (int64_t at = 0; at < length; at += step) {
            flip(file, (long)at);
            refuse_verified(path, files[i]);
            flip(file, (long)at);
        }
    }
    MUST(fr_graph_verify(path, NULL, NULL));
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void meta_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "g.frgraph");
    build_small(path);
    char meta[4096];
    (void)snprintf(meta, sizeof meta, "%s/meta.json", path);
    for (int64_t n = length_of(meta) - 3; n >= 0; n -= 7) {
        assert_int_equal(truncate(meta, n), 0);
        refuse_verified(path, "meta.json");
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* ---- more than 2^31 edges, in a file of holes ---- */

static const int64_t HUGE_ROW = 3000000000;

static void add_entry(fr_graph_meta *meta, const char *name, int64_t n_bytes)
{
    fr_graph_file *file = &meta->files[meta->n_files++];
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    file->n_bytes = n_bytes;
    file->n_sums = (n_bytes + FR_CHECKSUM_CHUNK_BYTES - 1) / FR_CHECKSUM_CHUNK_BYTES;
    MUST(fr_alloc((size_t)file->n_sums, sizeof *file->sums, "sums", &file->sums));
}

static void write_huge(const char *path, const uint64_t indptr[5])
{
    const int32_t labels[] = {0, 0, 0, 0};
    const uint8_t split[] = {1, 1, 1, 1};
    fr_graph_meta meta = {.info = {.n_nodes = 4, .n_edges = (int64_t)indptr[4], .n_classes = 1, .n_train = 4, .n_labelled = 4, .index_bytes = 4}};
    const int64_t bytes = 4 * meta.info.n_edges;
    MUST(fr_folder_create(path));
    MUST(fr_file_write(path_in(path, "indptr.bin"), indptr, 5 * sizeof *indptr));
    MUST(fr_file_write(path_in(path, "labels.bin"), labels, sizeof labels));
    MUST(fr_file_write(path_in(path, "split.bin"), split, sizeof split));
    FILE *file = fopen(path_in(path, "indices.bin"), "wb");
    assert_non_null(file);
    const uint32_t last = 3;
    if (ftruncate(fileno(file), bytes) != 0)
        skip();
    assert_int_equal(fseeko(file, bytes - 4, SEEK_SET), 0);
    assert_int_equal(fwrite(&last, sizeof last, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    add_entry(&meta, "indptr.bin", 5 * sizeof *indptr);
    add_entry(&meta, "labels.bin", sizeof labels);
    add_entry(&meta, "split.bin", sizeof split);
    add_entry(&meta, "indices.bin", bytes);
    MUST(fr_graph_meta_write(path, &meta));
    fr_graph_meta_release(&meta);
}

static void edges_beyond_2_to_the_31_open_and_sample(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = path_in(folder, "huge.frgraph");
    const uint64_t end = 3 + (uint64_t)HUGE_ROW, indptr[] = {0, 1, 2, end, end + 1};
    write_huge(path, indptr);
    fr_graph *graph;
    fr_sampler *sampler;
    fr_hop hop = {0};
    MUST(fr_graph_open(path, NULL, &graph));
    assert_true(fr_graph_get_info(graph)->n_edges == HUGE_ROW + 4);
    assert_true(fr_graph_degree(fr_graph_indptr(graph), 2) == HUGE_ROW + 1);
    MUST(fr_sampler_create(graph, &(fr_sampler_options){.seed = 1}, &sampler));
    MUST(fr_sampler_expand(sampler, &(fr_draw){0}, 10, (int64_t[]){2, 3, 0}, 3, NULL, &hop));
    assert_int_equal(hop.n_edges, 12);
    for (int64_t e = 0; e < 10; e++)
        assert_int_equal(hop.nodes[hop.source[e]], 0); /* holes read as node 0 */
    assert_int_equal(hop.nodes[hop.source[10]], 3);    /* the last edge, beyond 2^31 */
    assert_int_equal(fr_sampler_expand(sampler, &(fr_draw){0}, -1, (int64_t[]){2}, 1, NULL, &hop), FR_ENOTSUP);
    fr_hop_release(&hop);
    fr_sampler_free(sampler);
    fr_graph_free(graph);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_one_byte_short_is_refused_by_name),
    cmocka_unit_test(any_flipped_byte_is_found_by_verify),
    cmocka_unit_test(meta_cut_anywhere_is_refused),
    cmocka_unit_test(edges_beyond_2_to_the_31_open_and_sample),
};

FR_TEST_MAIN(tests)
