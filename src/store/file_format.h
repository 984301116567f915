/*
 * file_format.h: the header of a store file and where its rows lie.
 *
 *     | header, one page | page of rows | page of rows | ...            rows of at most a page
 *     | header, one page | row, padded to pages | row, padded to pages  longer rows
 *
 * Invariant: dtype, n_rows and width determine every other field and the file's length. So a reader
 * computes the layout from those three and refuses a header or a file that says anything else:
 * nothing in a file can make it take memory that the file's own bytes do not back.
 *
 * Numbers are little-endian; rows are the bytes of little-endian elements. See docs/formats.md.
 */
#ifndef FR_STORE_FILE_FORMAT_H
#define FR_STORE_FILE_FORMAT_H

#include <frugal/tensor.h>
#include <stdint.h>

enum { FR_STORE_PAGE_BYTES = 4096 };

typedef struct fr_store_layout {
    fr_dtype dtype;
    int64_t n_rows, width;
    int64_t row_bytes;
    int64_t rows_per_page; /* 0 where a row is longer than a page, or empty */
    int64_t stride_bytes;  /* of such longer rows: whole pages; else 0 */
    int64_t file_bytes;    /* header and padding included */
} fr_store_layout;

/** The layout of n_rows x width elements.
 * @return FR_EDTYPE no such dtype; FR_ESHAPE a negative size or a product that overflows */
fr_status fr_store_layout_make(fr_dtype dtype, int64_t n_rows, int64_t width,
                               fr_store_layout *layout) FR_MUST_USE;

/** Offset of a row in the file; `row` may be n_rows or above, up to the end of the last page. */
static inline int64_t fr_store_row_offset(const fr_store_layout *layout, int64_t row)
{
    if (layout->rows_per_page == 0)
        return FR_STORE_PAGE_BYTES + row * layout->stride_bytes;
    return FR_STORE_PAGE_BYTES + row / layout->rows_per_page * FR_STORE_PAGE_BYTES +
           row % layout->rows_per_page * layout->row_bytes;
}

/** Whether rows follow each other in the file without a gap, so that the file is the matrix. */
static inline bool fr_store_is_dense(const fr_store_layout *layout)
{
    return layout->rows_per_page == 0
               ? layout->stride_bytes == layout->row_bytes
               : layout->rows_per_page * layout->row_bytes == FR_STORE_PAGE_BYTES;
}

/** Fills a page with the header. */
void fr_store_header_write(const fr_store_layout *layout, unsigned char page[FR_STORE_PAGE_BYTES]);

/** Reads a header and compares it with itself and with the file's length; `path` is for the
 * sentence.
 * @return FR_EFORMAT; FR_ECORRUPT the checksum differs */
fr_status fr_store_header_read(const unsigned char page[FR_STORE_PAGE_BYTES], int64_t file_bytes,
                               const char *path, fr_store_layout *layout) FR_MUST_USE;

#endif
