/*
 * test_npy.c: .npy files written, read back, and refused.
 *
 * Oracle: the bytes that NumPy 2 writes for small arrays (given here as text), and equality
 * after a round trip. Hostile files are built from a header's text and a count of data bytes.
 */
#include "test_main.h"

#include <frugal/tensor.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static const char *folder;
static char path[4200];

static int make_folder(void **state)
{
    (void)state;
    folder = fr_test_folder();
    (void)snprintf(path, sizeof path, "%s/x.npy", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_bytes(const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* A file of the given version with `text` as header and n_data bytes counting up from 0. */
static void write_npy(int major, const char *text, size_t n_data)
{
    char bytes[4096];
    const size_t length = strlen(text), width = major == 1 ? 2 : 4;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)major;
    bytes[7] = 0;
    for (size_t i = 0; i < width; i++)
        bytes[8 + i] = (char)(length >> (8 * i));
    memcpy(bytes + 8 + width, text, length);
    const size_t start = 8 + width + length;
    for (size_t i = 0; i < n_data; i++)
        bytes[start + i] = (char)i;
    write_bytes(bytes, start + n_data);
}

static void every_dtype_survives_a_round_trip(void **state)
{
    (void)state;
    const fr_dtype dtypes[] = {FR_F32, FR_F64, FR_F16, FR_I8,  FR_U8,
                               FR_I32, FR_I64, FR_U32, FR_U64, FR_BOOL};
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (int rank = 0; rank <= FR_MAX_RANK; rank++) {
            const int64_t shape[] = {2, 3, 1, 2, 1, 1, 2, 3};
            fr_tensor x, y;
            assert_int_equal(fr_tensor_create(dtypes[t], rank, shape, &x), FR_OK);
            const size_t bytes = (size_t)fr_tensor_count(&x) * fr_dtype_bytes(dtypes[t]);
            for (size_t i = 0; i < bytes; i++)
                ((char *)x.data)[i] = (char)(dtypes[t] == FR_BOOL ? i % 2 : i * 7);
            assert_int_equal(fr_npy_write(path, &x), FR_OK);
            assert_int_equal(fr_npy_read(path, &y), FR_OK);
            assert_int_equal(y.dtype, dtypes[t]);
            assert_int_equal(y.rank, rank);
            for (int d = 0; d < rank; d++)
                assert_int_equal(y.shape[d], shape[d]);
            assert_memory_equal(x.data, y.data, bytes);
            fr_tensor_release(&x);
            fr_tensor_release(&y);
        }
}

static void the_file_is_byte_for_byte_what_numpy_writes(void **state)
{
    (void)state;
    /* np.save of np.arange(3, dtype=np.uint8) and of a float32 array of shape (2, 1) */
    const struct {
        fr_dtype dtype;
        int rank;
        int64_t shape[2];
        const char *header;
    } cases[] = {
        {FR_U8, 1, {3}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"},
        {FR_F32, 2, {2, 1}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }"},
        {FR_BOOL, 0, {0}, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_tensor x;
        assert_int_equal(fr_tensor_create(cases[i].dtype, cases[i].rank, cases[i].shape, &x),
                         FR_OK);
        assert_int_equal(fr_npy_write(path, &x), FR_OK);
        char *bytes;
        size_t length;
        assert_int_equal(fr_file_read(path, 4096, &bytes, &length), FR_OK);
        assert_int_equal(length, 128 + fr_tensor_count(&x) * (int64_t)fr_dtype_bytes(x.dtype));
        assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
        const size_t text = strlen(cases[i].header);
        assert_memory_equal(bytes + 10, cases[i].header, text);
        for (size_t k = 10 + text; k < 127; k++)
            assert_int_equal(bytes[k], ' ');
        assert_int_equal(bytes[127], '\n');
        fr_free(bytes);
        fr_tensor_release(&x);
    }
}

static void fortran_order_is_turned_into_rows(void **state)
{
    (void)state;
    fr_tensor x;
    /* 2x3 stored by columns: element (i, j) is byte i + 2 j */
    write_npy(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", 6);
    assert_int_equal(fr_npy_read(path, &x), FR_OK);
    assert_memory_equal(x.data, "\0\2\4\1\3\5", 6);
    assert_true(fr_tensor_is_contiguous(&x));
    fr_tensor_release(&x);
    write_npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 5), }", 120);
    assert_int_equal(fr_npy_read(path, &x), FR_OK);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 5; k++) {
                const unsigned char first = ((unsigned char *)x.data)[4 * ((i * 3 + j) * 5 + k)];
                assert_int_equal(first, 4 * (i + 2 * j + 6 * k));
            }
    fr_tensor_release(&x);
}

static void other_versions_orders_of_keys_and_old_spellings_are_read(void **state)
{
    (void)state;
    const struct {
        int major;
        const char *header;
    } cases[] = {
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}"}, /* refused below: no u2 */
        {1, "{'shape': (2, 2), 'descr': '|u1', 'fortran_order': False}"},
        {2, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }       \n"},
        {3, "{'fortran_order': False, 'descr': '|u1', 'shape': (2, 2)}"},
        {1, "{'descr': '<u1', 'fortran_order': False, 'shape': (2L, 2L), }"},
        {1, "{'descr': '>u1', 'fortran_order': False, 'shape': (2, 2, ), }"},
        {1, "{'descr': \"|u1\", 'fortran_order': False,'shape':(2,2),}"},
    };
    write_npy(1, cases[0].header, 4);
    fr_tensor x;
    assert_int_equal(fr_npy_read(path, &x), FR_ENOTSUP);
    for (size_t i = 1; i < sizeof cases / sizeof *cases; i++) {
        write_npy(cases[i].major, cases[i].header, 4);
        assert_int_equal(fr_npy_read(path, &x), FR_OK);
        assert_memory_equal(x.data, "\0\1\2\3", 4);
        fr_tensor_release(&x);
    }
}

static void hostile_headers_are_refused_before_memory_is_taken(void **state)
{
    (void)state;
#define D "'descr': '|u1', "
#define F "'fortran_order': False, "
    const struct {
        int major;
        const char *header;
        size_t n_data;
        fr_status status;
        const char *words; /* that the sentence must hold */
    } cases[] = {
        {1, "{" D F "'shape': (4,), }", 3, FR_EFORMAT, "asks for u8 4, 4 bytes, but 3 follow"},
        {1, "{" D F "'shape': (4,), }", 5, FR_EFORMAT, "4 bytes, but 5 follow"},
        {1, "{" D F "'shape': (4,), }", 0, FR_EFORMAT, "but 0 follow"},
        {1, "{" D F "'shape': (), }", 0, FR_EFORMAT, "asks for u8 scalar, 1 bytes"},
        {1, "{" D F "'shape': (1099511627776,), }", 4, FR_EFORMAT, "1099511627776 bytes"},
        {1, "{" D F "'shape': (9223372036854775807,), }", 4, FR_EFORMAT, "but 4 follow"},
        {1, "{" D F "'shape': (9223372036854775808,), }", 4, FR_EFORMAT, "exceeds 64 bits"},
        {1, "{" D F "'shape': (4294967296, 4294967296), }", 4, FR_ESHAPE, "overflows"},
        {1, "{'descr': '<f8', " F "'shape': (2305843009213693952,), }", 0, FR_ESHAPE, "overflow"},
        {1, "{" D F "'shape': (0, 4294967296, 4294967296), }", 0, FR_ESHAPE, "overflows"},
        {1, "{" D F "'shape': (-4,), }", 4, FR_EFORMAT, "a size of 0 or more"},
        {1, "{" D F "'shape': (4), }", 4, FR_EFORMAT, "a shape of one size"},
        {1, "{" D F "'shape': (2 2), }", 4, FR_EFORMAT, "',' or ')'"},
        {1, "{" D F "'shape': (2,,2), }", 4, FR_EFORMAT, "a size"},
        {1, "{" D F "'shape': (2, 2", 4, FR_EFORMAT, "',' or ')'"},
        {1, "{" D F "'shape': (2, 2)", 4, FR_EFORMAT, "',' or '}'"},
        {1, "{" D F "'shape': [2, 2], }", 4, FR_EFORMAT, "a shape such as"},
        {1, "{" D F "'shape': (1,1,1,1,1,1,1,2,2), }", 4, FR_ENOTSUP, "more than 8"},
        {1, "{" D F "'shape': (0x4,), }", 4, FR_EFORMAT, "',' or ')'"},
        {1, "{" D F "'shape': (4.0,), }", 4, FR_EFORMAT, "',' or ')'"},
        {1, "{" D F "'shape': (1e9,), }", 4, FR_EFORMAT, "',' or ')'"},
        {1, "{'descr': '>f4', " F "'shape': (1,), }", 4, FR_ENOTSUP, "big-endian ('>f4')"},
        {1, "{'descr': '>i8', " F "'shape': (1,), }", 8, FR_ENOTSUP, "big-endian"},
        {1, "{'descr': '<c8', " F "'shape': (1,), }", 8, FR_ENOTSUP, "'<c8' has no equal"},
        {1, "{'descr': '<f16', " F "'shape': (1,), }", 16, FR_ENOTSUP, "'<f16' has no equal"},
        {1, "{'descr': '|O', " F "'shape': (1,), }", 8, FR_ENOTSUP, "'|O' has no equal"},
        {1, "{'descr': '|S4', " F "'shape': (1,), }", 4, FR_ENOTSUP, "no equal"},
        {1, "{'descr': '<M8[ns]', " F "'shape': (1,), }", 8, FR_ENOTSUP, "no equal"},
        {1, "{'descr': '', " F "'shape': (1,), }", 8, FR_ENOTSUP, "'' has no equal"},
        {1, "{'descr': '!f4', " F "'shape': (1,), }", 4, FR_ENOTSUP, "no equal"},
        {1, "{'descr': [('a', '<f4')], " F "'shape': (1,), }", 4, FR_ENOTSUP, "structured"},
        {1, "{'descr': '<f4, " F, 4, FR_ENOTSUP, "has no equal"},
        {1, "{'descr': '<f4", 4, FR_EFORMAT, "quote after a descr"},
        {1, "{'descr': <f4, " F "'shape': (1,), }", 4, FR_EFORMAT, "a descr such as"},
        {1, "{" D "'fortran_order': Maybe, 'shape': (4,), }", 4, FR_EFORMAT, "True or False"},
        {1, "{" D "'fortran_order': 0, 'shape': (4,), }", 4, FR_EFORMAT, "True or False"},
        {1, "{" D D F "'shape': (4,), }", 4, FR_EFORMAT, "one each"},
        {1, "{" D F "'shape': (4,), 'shape': (4,), }", 4, FR_EFORMAT, "one each"},
        {1, "{" D F "'shape': (4,), 'more': 1}", 4, FR_EFORMAT, "one each"},
        {1, "{" D F "}", 4, FR_EFORMAT, "lacks 'shape'"},
        {1, "{" F "'shape': (4,), }", 4, FR_EFORMAT, "lacks 'descr'"},
        {1, "{" D "'shape': (4,), }", 4, FR_EFORMAT, "lacks 'fortran_order'"},
        {1, "{}", 4, FR_EFORMAT, "lacks 'descr'"},
        {1, "{,}", 4, FR_EFORMAT, "one each"},
        {1, "", 4, FR_EFORMAT, "a '{'"},
        {1, "[]", 4, FR_EFORMAT, "a '{'"},
        {1, "{" D F "'shape': (4,), } x", 4, FR_EFORMAT, "its end"},
        {1, "{" D F "'shape': (4,), }}", 4, FR_EFORMAT, "its end"},
        {4, "{" D F "'shape': (4,), }", 4, FR_ENOTSUP, "version 4.0"},
        {0, "{" D F "'shape': (4,), }", 4, FR_ENOTSUP, "version 0.0"},
    };
#undef D
#undef F
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_npy(cases[i].major, cases[i].header, cases[i].n_data);
        const int64_t before = fr_live_blocks(), bytes = fr_live_bytes();
        fr_tensor x = {.rank = 3};
        const fr_status status = fr_npy_read(path, &x);
        if (status != cases[i].status || strstr(fr_error_message(), cases[i].words) == NULL ||
            strncmp(fr_error_message(), path, strlen(path)) != 0)
            fail_msg("%s: %s: %s", cases[i].header, fr_status_name(status), fr_error_message());
        assert_null(x.data);
        assert_int_equal(fr_live_blocks(), before);
        assert_int_equal(fr_live_bytes(), bytes);
    }
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    fr_tensor x, y;
    for (int order = 0; order < 2; order++) {
        write_npy(order + 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n", 24);
        char *bytes;
        size_t length;
        assert_int_equal(fr_file_read(path, 4096, &bytes, &length), FR_OK);
        for (size_t cut = 0; cut < length; cut++) {
            write_bytes(bytes, cut);
            assert_int_equal(fr_npy_read(path, &x), FR_EFORMAT);
        }
        fr_free(bytes);
    }
    (void)unlink(path);
    assert_int_equal(fr_npy_read(path, &y), FR_ENOENT);
    assert_null(y.data);
}

static void a_flipped_byte_never_crashes(void **state)
{
    (void)state;
    write_npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }\n", 24);
    char *bytes;
    size_t length;
    assert_int_equal(fr_file_read(path, 4096, &bytes, &length), FR_OK);
    const char junk[] = "\0\xFF(9'{,L-";
    for (size_t at = 0; at < length - 24; at++)
        for (size_t k = 0; k < sizeof junk - 1; k++) {
            const char old = bytes[at];
            fr_tensor x;
            bytes[at] = junk[k];
            write_bytes(bytes, length);
            if (fr_npy_read(path, &x) == FR_OK)
                fr_tensor_release(&x);
            bytes[at] = old;
        }
    fr_free(bytes);
}

static void dtypes_without_a_numpy_equal_are_not_written(void **state)
{
    (void)state;
    fr_tensor x;
    (void)unlink(path);
    assert_int_equal(fr_tensor_create(FR_BF16, 1, (int64_t[]){3}, &x), FR_OK);
    assert_int_equal(fr_npy_write(path, &x), FR_ENOTSUP);
    assert_non_null(strstr(fr_error_message(), "no equal of dtype bf16"));
    assert_false(fr_file_exists(path));
    fr_tensor_release(&x);
}

static void a_strided_view_is_written_in_its_own_order(void **state)
{
    (void)state;
    uint8_t data[] = {0, 1, 2, 3, 4, 5};
    fr_tensor x = {.dtype = FR_U8, .rank = 2, .shape = {3, 2}, .stride = {1, 3}, .data = data}, y;
    assert_int_equal(fr_npy_write(path, &x), FR_OK);
    assert_int_equal(fr_npy_read(path, &y), FR_OK);
    assert_memory_equal(y.data, "\0\3\1\4\2\5", 6);
    fr_tensor_release(&y);
}

static void failing_allocations_and_calls_leave_nothing_behind(void **state)
{
    (void)state;
    uint8_t data[] = {0, 1, 2, 3, 4, 5};
    fr_tensor x = {.dtype = FR_U8, .rank = 2, .shape = {3, 2}, .stride = {1, 3}, .data = data}, y;
    const int64_t before = fr_live_blocks();
    for (int kind = 0; kind < 2; kind++) /* 0: memory, 1: system calls */
        for (int writing = 1; writing >= 0; writing--) {
            (void)unlink(path);
            if (!writing)
                assert_int_equal(fr_npy_write(path, &x), FR_OK);
            int64_t n = 0;
            for (;; n++) {
                if (kind == 0)
                    fr_alloc_fail_at(n);
                else
                    fr_file_fail_at(n, 5 /* EIO */);
                const fr_status status = writing ? fr_npy_write(path, &x) : fr_npy_read(path, &y);
                fr_alloc_fail_at(-1);
                fr_file_fail_at(-1, 0);
                if (status == FR_OK)
                    break;
                assert_int_equal(status, kind == 0 ? FR_ENOMEM : FR_EIO);
                assert_int_equal(fr_live_blocks(), before);
            }
            assert_true(n > 0);
            if (!writing)
                fr_tensor_release(&y);
            assert_int_equal(fr_live_blocks(), before);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(every_dtype_survives_a_round_trip, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(the_file_is_byte_for_byte_what_numpy_writes, make_folder,
                                    remove_folder),
    cmocka_unit_test_setup_teardown(fortran_order_is_turned_into_rows, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(other_versions_orders_of_keys_and_old_spellings_are_read,
                                    make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(hostile_headers_are_refused_before_memory_is_taken, make_folder,
                                    remove_folder),
    cmocka_unit_test_setup_teardown(a_file_cut_anywhere_is_refused, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(a_flipped_byte_never_crashes, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(dtypes_without_a_numpy_equal_are_not_written, make_folder,
                                    remove_folder),
    cmocka_unit_test_setup_teardown(a_strided_view_is_written_in_its_own_order, make_folder,
                                    remove_folder),
    cmocka_unit_test_setup_teardown(failing_allocations_and_calls_leave_nothing_behind, make_folder,
                                    remove_folder),
};
FR_TEST_MAIN(tests)
