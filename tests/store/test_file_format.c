/*
 * Layout arithmetic and header of a store file. Oracle: the description in docs/formats.md, walked
 * row by row.
 */
#include "store_test.h"

#include "base/hash.h"

static const fr_dtype dtypes[] = {FR_F32, FR_F64, FR_BF16, FR_F8E4M3, FR_I64};

static void offsets_follow_the_description(void **state)
{
    (void)state;
    static const int64_t widths[] = {1,   2,    3,    31,   100,  255,  256,  511, 512,
                                     513, 1023, 1024, 1025, 4095, 4096, 4097, 9000};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            fr_store_layout layout;
            const int64_t n_rows = 300, bytes = widths[w] * (int64_t)fr_dtype_bytes(dtypes[d]);
            OK(fr_store_layout_make(dtypes[d], n_rows, widths[w], &layout));
            int64_t at = 4096;
            for (int64_t row = 0; row < n_rows; row++) {
                if (bytes <= 4096 && at % 4096 + bytes > 4096)
                    at = (at + 4095) / 4096 * 4096; /* would straddle */
                assert_int_equal(fr_store_row_offset(&layout, row), at);
                at += bytes;
                if (bytes > 4096)
                    at = (at + 4095) / 4096 * 4096;
                if (bytes <= 4096 && at % 4096 + bytes > 4096)
                    at = (at + 4095) / 4096 * 4096;
            }
            assert_int_equal(layout.file_bytes, (at + 4095) / 4096 * 4096);
        }
}

static void empty_tables_are_a_header(void **state)
{
    (void)state;
    fr_store_layout layout;
    OK(fr_store_layout_make(FR_F32, 0, 100, &layout));
    assert_int_equal(layout.file_bytes, 4096);
    OK(fr_store_layout_make(FR_F32, 1000000, 0, &layout));
    assert_int_equal(layout.file_bytes, 4096);
    assert_int_equal(layout.rows_per_page, 0);
    assert_int_equal(layout.stride_bytes, 0);
    OK(fr_store_layout_make(FR_F32, INT64_MAX, 0, &layout));
    assert_int_equal(layout.file_bytes, 4096);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    fr_store_layout layout;
    static const int64_t sizes[][2] = {
        {-1, 4},
        {4, -1},
        {INT64_MAX, 1},
        {INT64_MAX, 1024},
        {1, INT64_MAX},
        {1, INT64_MAX / 4},
        {INT64_MAX / 4096, 2048},
        {INT64_MAX / 4096 + 1, 1024},
        {(int64_t)1 << 40, (int64_t)1 << 40},
        {1, (INT64_MAX - 100) / 4},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_int_equal(fr_store_layout_make(FR_F32, sizes[i][0], sizes[i][1], &layout),
                         FR_ESHAPE);
    assert_int_equal(fr_store_layout_make(FR_NO_DTYPE, 1, 1, &layout), FR_EDTYPE);
    assert_int_equal(fr_store_layout_make((fr_dtype)99, 1, 1, &layout), FR_EDTYPE);
}

static void header_reads_back(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{0, 0},    {0, 5},    {5, 0},      {1, 1},
                                       {77, 100}, {3, 1025}, {1000, 1024}};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char page[FR_STORE_PAGE_BYTES];
            fr_store_layout made, read;
            OK(fr_store_layout_make(dtypes[d], sizes[i][0], sizes[i][1], &made));
            fr_store_header_write(&made, page);
            OK(fr_store_header_read(page, made.file_bytes, "f", &read));
            assert_memory_equal(&made, &read, sizeof made);
            assert_int_not_equal(fr_store_header_read(page, made.file_bytes + 1, "f", &read),
                                 FR_OK);
            assert_int_not_equal(fr_store_header_read(page, made.file_bytes - 1, "f", &read),
                                 FR_OK);
        }
}

static void every_flipped_bit_of_a_header_is_refused(void **state)
{
    (void)state;
    unsigned char page[FR_STORE_PAGE_BYTES];
    fr_store_layout made, read;
    OK(fr_store_layout_make(FR_F32, 77, 100, &made));
    fr_store_header_write(&made, page);
    for (int bit = 0; bit < 8 * FR_STORE_PAGE_BYTES; bit++) {
        page[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_not_equal(fr_store_header_read(page, made.file_bytes, "f", &read), FR_OK);
        page[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void seal(unsigned char *page)
{
    const uint64_t sum = fr_hash(page, 48, 0);
    for (int i = 0; i < 8; i++)
        page[48 + i] = (unsigned char)(sum >> 8 * i);
}

/* A header made on purpose: its checksum is right, one field lies. */
static void lying_fields_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        int at, bytes;
        uint64_t value;
        const char *expected;
    } lies[] = {
        {8, 4, 0, "dtype"},
        {8, 4, 13, "dtype"},
        {8, 4, 0xffffffff, "dtype"},
        {12, 4, 9, "rows_per_page"},
        {12, 4, 0, "rows_per_page"},
        {16, 8, 78, "the file has"},
        {16, 8, UINT64_MAX, "rows"},
        {16, 8, (uint64_t)1 << 62, "overflow"},
        {24, 8, UINT64_MAX, "width"},
        {24, 8, (uint64_t)1 << 62, "overflow"},
        {24, 8, 101, "row_bytes"},
        {32, 8, 401, "row_bytes"},
        {40, 8, 4096, "stride_bytes"},
    };
    fr_store_layout made, read;
    OK(fr_store_layout_make(FR_F32, 80, 100, &made));
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        unsigned char page[FR_STORE_PAGE_BYTES];
        fr_store_header_write(&made, page);
        for (int b = 0; b < lies[i].bytes; b++)
            page[lies[i].at + b] = (unsigned char)(lies[i].value >> 8 * b);
        seal(page);
        /* Fewer rows of the same pages would be a good file; so the file is longer there. */
        const int64_t length = lies[i].at == 16 ? made.file_bytes + 4096 : made.file_bytes;
        assert_int_equal(fr_store_header_read(page, length, "features.bin", &read), FR_EFORMAT);
        if (strstr(fr_error_message(), lies[i].expected) == NULL)
            fail_msg("lie %zu: \"%s\" lacks \"%s\"", i, fr_error_message(), lies[i].expected);
        assert_non_null(strstr(fr_error_message(), "features.bin"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(offsets_follow_the_description),
    cmocka_unit_test(empty_tables_are_a_header),
    cmocka_unit_test(sizes_that_overflow_are_refused),
    cmocka_unit_test(header_reads_back),
    cmocka_unit_test(every_flipped_bit_of_a_header_is_refused),
    cmocka_unit_test(lying_fields_are_refused_by_name),
};
FR_TEST_MAIN(tests)
