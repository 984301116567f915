/*
 * Oracle: archives built by hand (make_zip) whose content the test knows.
 */
#include "format_test.h"

#include "format/npy_stream.h"
#include "format/zip.h"

static const char content[] = "some bytes of a member, long enough to be read in pieces";

static void a_stored_member_reads_back(void **state)
{
    (void)state;
    unsigned char archive[512];
    const char *folder = fr_test_folder(), *path = path_in(folder, "a.zip");
    write_bytes(path, archive, make_zip(archive, "m", content, sizeof content, 0, sizeof content));
    fr_zip *zip;
    char *bytes;
    size_t length;
    assert_int_equal(fr_zip_open(path, &zip), FR_OK);
    assert_true(fr_zip_has(zip, "m"));
    assert_false(fr_zip_has(zip, "mm"));
    assert_int_equal(fr_zip_read(zip, "m", &bytes, &length), FR_OK);
    assert_int_equal(length, sizeof content);
    assert_memory_equal(bytes, content, length);
    fr_free(bytes);
    assert_int_equal(fr_zip_read(zip, "n", &bytes, &length), FR_ENOENT);
    fr_zip_free(zip);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void two_streams_read_one_member_at_once(void **state)
{
    (void)state;
    unsigned char archive[512];
    const char *folder = fr_test_folder(), *path = path_in(folder, "a.zip");
    write_bytes(path, archive, make_zip(archive, "m", content, sizeof content, 0, sizeof content));
    fr_zip *zip;
    fr_zip_stream *a, *b;
    char one, two[10];
    assert_int_equal(fr_zip_open(path, &zip), FR_OK);
    assert_int_equal(fr_zip_stream_open(zip, "m", &a), FR_OK);
    assert_int_equal(fr_zip_stream_open(zip, "m", &b), FR_OK);
    assert_int_equal(fr_zip_stream_read(a, two, 10), FR_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(fr_zip_stream_read(b, &one, 1), FR_OK);
        assert_int_equal(one, content[i]);
    }
    assert_memory_equal(two, content, 10);
    assert_int_equal(fr_zip_stream_finish(b), FR_OK);
    assert_int_equal(fr_zip_stream_read(b, &one, 1), FR_EFORMAT);
    fr_zip_stream_free(a);
    fr_zip_stream_free(b);
    fr_zip_free(zip);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static fr_status read_one(const char *path)
{
    fr_zip *zip = NULL;
    char *bytes = NULL;
    size_t length;
    const int64_t live = fr_live_blocks();
    fr_status status = fr_zip_open(path, &zip);
    if (status == FR_OK)
        status = fr_zip_read(zip, "m", &bytes, &length);
    if (status == FR_OK)
        fr_free(bytes);
    else
        assert_non_null(strstr(fr_error_message(), fr_path_name(path)));
    fr_zip_free(zip);
    assert_int_equal(fr_live_blocks(), live);
    return status;
}

static void lies_about_sizes_and_methods_are_refused(void **state)
{
    (void)state;
    unsigned char archive[512];
    const char *folder = fr_test_folder(), *path = path_in(folder, "lie.zip");
    const struct {
        int method;
        uint32_t size;
        fr_status status;
    } cases[] = {{0, 10, FR_EFORMAT},          {0, 4000000000U, FR_EFORMAT}, {8, 4000000000U, FR_EFORMAT},
                 {8, sizeof content, FR_ECORRUPT}, {12, sizeof content, FR_ENOTSUP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_bytes(path, archive, make_zip(archive, "m", content, sizeof content, cases[i].method, cases[i].size));
        assert_int_equal(read_one(path), cases[i].status);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void an_archive_cut_anywhere_or_with_flipped_bits_is_refused(void **state)
{
    (void)state;
    unsigned char archive[512];
    const char *folder = fr_test_folder(), *path = path_in(folder, "cut.zip");
    const size_t length = make_zip(archive, "m", content, sizeof content, 0, sizeof content);
    for (size_t cut = 0; cut < length; cut++) {
        write_bytes(path, archive, cut);
        assert_int_not_equal(read_one(path), FR_OK);
    }
    for (size_t at = 31; at < 31 + sizeof content; at++) {
        archive[at] ^= 4;
        write_bytes(path, archive, length);
        assert_int_equal(read_one(path), FR_ECORRUPT);
        archive[at] ^= 4;
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static fr_status open_array(const char *folder, const char *descr, const char *shape, size_t n_bytes)
{
    unsigned char archive[1024], array[512] = "\x93NUMPY\x01";
    const int n = snprintf((char *)array + 10, sizeof array - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
    array[8] = (unsigned char)n;
    fr_zip *zip;
    fr_npy_stream stream;
    const char *path = path_in(folder, "a.npz");
    write_bytes(path, archive,
                make_zip(archive, "x.npy", array, 10 + (size_t)n + n_bytes, 0, (uint32_t)((size_t)n + 10 + n_bytes)));
    assert_int_equal(fr_zip_open(path, &zip), FR_OK);
    const int64_t live = fr_live_blocks();
    fr_status status = fr_npy_stream_open(zip, path, "x", &stream);
    if (status == FR_OK) {
        double values[2];
        assert_int_equal(fr_npy_stream_skip(&stream, stream.n_left - 1), FR_OK);
        assert_int_equal(fr_npy_stream_read(&stream, FR_F64, values, 1), FR_OK);
        assert_int_equal(fr_npy_stream_read(&stream, FR_F64, values, 1), FR_EFORMAT);
        assert_int_equal(fr_npy_stream_finish(&stream), FR_OK);
        fr_npy_stream_close(&stream);
    } else
        assert_non_null(strstr(fr_error_message(), "a.npz"));
    assert_int_equal(fr_live_blocks(), live);
    fr_zip_free(zip);
    return status;
}

static void headers_of_streamed_arrays_are_checked_against_their_length(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    assert_int_equal(open_array(folder, "<f4", "(2, 3)", 24), FR_OK);
    assert_int_equal(open_array(folder, "<i8", "(3,)", 24), FR_OK);
    assert_int_equal(open_array(folder, "<f2", "()", 2), FR_OK);
    assert_int_equal(open_array(folder, "<f4", "(2, 3)", 23), FR_EFORMAT);
    assert_int_equal(open_array(folder, "<f4", "(2, 3)", 25), FR_EFORMAT);
    assert_int_equal(open_array(folder, "<f4", "(4611686018427387904, 4611686018427387904)", 0), FR_EFORMAT);
    assert_int_equal(open_array(folder, "<f4", "(-1, 3)", 24), FR_EFORMAT);
    assert_int_equal(open_array(folder, "<f4", "2, 3", 24), FR_EFORMAT);
    assert_int_equal(open_array(folder, "<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", 4), FR_EFORMAT);
    assert_int_equal(open_array(folder, ">f4", "(2, 3)", 24), FR_ENOTSUP);
    assert_int_equal(open_array(folder, "|O", "(2, 3)", 24), FR_ENOTSUP);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_stored_member_reads_back),
    cmocka_unit_test(two_streams_read_one_member_at_once),
    cmocka_unit_test(lies_about_sizes_and_methods_are_refused),
    cmocka_unit_test(an_archive_cut_anywhere_or_with_flipped_bits_is_refused),
    cmocka_unit_test(headers_of_streamed_arrays_are_checked_against_their_length),
};

FR_TEST_MAIN(tests)
