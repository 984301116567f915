/*
 * file_format.c: writing and checking the header page of a store file.
 *
 *     byte  0  magic "FRROWS1\0"
 *           8  dtype number, u32          12  rows_per_page, u32
 *          16  n_rows, u64                24  width, u64
 *          32  row_bytes, u64             40  stride_bytes, u64
 *          48  XXH3 of bytes 0..47, u64   56  zeros to the end of the page
 *
 * Bytes after the fields must be zero, so that a later version may give them a meaning which this
 * one refuses instead of overlooking.
 */
#include "store/file_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

static const unsigned char magic[8] = {'F', 'R', 'R', 'O', 'W', 'S', '1', 0};

enum {
    DTYPE_AT = 8,
    ROWS_PER_PAGE_AT = 12,
    N_ROWS_AT = 16,
    WIDTH_AT = 24,
    ROW_BYTES_AT = 32,
    STRIDE_BYTES_AT = 40,
    CHECKSUM_AT = 48,
    FIELDS_END = 56,
};

fr_status fr_store_layout_make(fr_dtype dtype, int64_t n_rows, int64_t width,
                               fr_store_layout *layout)
{
    const int64_t page = FR_STORE_PAGE_BYTES;
    fr_store_layout made = {.dtype = dtype, .n_rows = n_rows, .width = width};
    const int64_t element_bytes = (int64_t)fr_dtype_bytes(dtype);
    if (element_bytes == 0)
        return fr_fail(FR_EDTYPE, "store: %d is no dtype", (int)dtype);
    if (n_rows < 0 || width < 0)
        return fr_fail(FR_ESHAPE, "store: a size of %" PRId64 " x %" PRId64 " is negative", n_rows,
                       width);
    int64_t data_bytes = 0;
    bool fits = fr_multiply(width, element_bytes, &made.row_bytes);
    if (fits && made.row_bytes > page) {
        fits = made.row_bytes <= INT64_MAX - page;
        if (fits)
            made.stride_bytes = (made.row_bytes + page - 1) / page * page;
        fits = fits && fr_multiply(n_rows, made.stride_bytes, &data_bytes);
    } else if (fits && made.row_bytes > 0) {
        made.rows_per_page = page / made.row_bytes;
        const int64_t n_pages =
            n_rows / made.rows_per_page + (n_rows % made.rows_per_page > 0 ? 1 : 0);
        fits = fr_multiply(n_pages, page, &data_bytes);
    }
    if (!fits || data_bytes > INT64_MAX - page)
        return fr_fail(FR_ESHAPE,
                       "store: %" PRId64 " rows of %" PRId64 " %s overflow a file's size", n_rows,
                       width, fr_dtype_name(dtype));
    made.file_bytes = page + data_bytes;
    *layout = made;
    return FR_OK;
}

static void put_number(unsigned char *at, int n_bytes, uint64_t value)
{
    for (int i = 0; i < n_bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_number(const unsigned char *at, int n_bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void fr_store_header_write(const fr_store_layout *layout, unsigned char page[FR_STORE_PAGE_BYTES])
{
    memset(page, 0, FR_STORE_PAGE_BYTES);
    memcpy(page, magic, sizeof magic);
    put_number(page + DTYPE_AT, 4, (uint64_t)layout->dtype);
    put_number(page + ROWS_PER_PAGE_AT, 4, (uint64_t)layout->rows_per_page);
    put_number(page + N_ROWS_AT, 8, (uint64_t)layout->n_rows);
    put_number(page + WIDTH_AT, 8, (uint64_t)layout->width);
    put_number(page + ROW_BYTES_AT, 8, (uint64_t)layout->row_bytes);
    put_number(page + STRIDE_BYTES_AT, 8, (uint64_t)layout->stride_bytes);
    put_number(page + CHECKSUM_AT, 8, fr_hash(page, CHECKSUM_AT, 0));
}

/* Compares the derived fields of a header with what dtype, n_rows and width make of them. */
static fr_status check_derived_fields(const unsigned char *page, const char *path,
                                      const fr_store_layout *layout)
{
    const struct {
        const char *name;
        uint64_t stated;
        int64_t made;
    } fields[] = {
        {"rows_per_page", get_number(page + ROWS_PER_PAGE_AT, 4), layout->rows_per_page},
        {"row_bytes", get_number(page + ROW_BYTES_AT, 8), layout->row_bytes},
        {"stride_bytes", get_number(page + STRIDE_BYTES_AT, 8), layout->stride_bytes},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].stated != (uint64_t)fields[i].made)
            return fr_fail(FR_EFORMAT,
                           "%s: the header states %s %" PRIu64 ", rows of %" PRId64
                           " %s make %" PRId64,
                           path, fields[i].name, fields[i].stated, layout->width,
                           fr_dtype_name(layout->dtype), fields[i].made);
    return FR_OK;
}

fr_status fr_store_header_read(const unsigned char page[FR_STORE_PAGE_BYTES], int64_t file_bytes,
                               const char *path, fr_store_layout *layout)
{
    if (memcmp(page, magic, sizeof magic) != 0)
        return fr_fail(FR_EFORMAT, "%s: is no store file (does not begin with FRROWS1)", path);
    const uint64_t stated_sum = get_number(page + CHECKSUM_AT, 8);
    const uint64_t sum = fr_hash(page, CHECKSUM_AT, 0);
    if (sum != stated_sum)
        return fr_fail(FR_ECORRUPT,
                       "%s: the header's checksum is %016" PRIx64 ", its bytes give %016" PRIx64,
                       path, stated_sum, sum);
    for (int i = FIELDS_END; i < FR_STORE_PAGE_BYTES; i++)
        if (page[i] != 0)
            return fr_fail(FR_EFORMAT,
                           "%s: byte %d of the header is %d, not 0: written by a newer version?",
                           path, i, page[i]);
    const uint64_t dtype = get_number(page + DTYPE_AT, 4);
    const uint64_t n_rows = get_number(page + N_ROWS_AT, 8);
    const uint64_t width = get_number(page + WIDTH_AT, 8);
    if (n_rows > INT64_MAX || width > INT64_MAX)
        return fr_fail(FR_EFORMAT, "%s: the header states %" PRIu64 " rows of width %" PRIu64, path,
                       n_rows, width);
    fr_store_layout made;
    fr_status status = fr_store_layout_make(dtype > INT32_MAX ? FR_NO_DTYPE : (fr_dtype)dtype,
                                            (int64_t)n_rows, (int64_t)width, &made);
    if (status != FR_OK)
        return fr_wrap(FR_EFORMAT, "%s", path);
    FR_RETURN_IF_ERROR(check_derived_fields(page, path, &made));
    if (made.file_bytes != file_bytes)
        return fr_fail(
            FR_EFORMAT,
            "%s: %" PRId64 " rows of %" PRId64 " %s make %" PRId64 " bytes, the file has %" PRId64,
            path, made.n_rows, made.width, fr_dtype_name(made.dtype), made.file_bytes, file_bytes);
    *layout = made;
    return FR_OK;
}
