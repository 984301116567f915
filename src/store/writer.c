/*
 * writer.c: writes a store file row by row, in the memory of one buffered file writer.
 *
 * Invariant: `n_written` rows and all gaps before row n_written are in the file; the gap behind a
 * page's last row is written with that row. A failed append makes the writer good for nothing but
 * the abort: its first failure is kept and given again by the commit, which removes the file.
 */
#include <frugal/store.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "store/file_format.h"

struct fr_store_writer {
    fr_store_layout layout;
    fr_file_writer *file;
    char *path;
    int64_t n_written;
    fr_status failed;
    char message[FR_ERROR_BYTES];
};

void fr_store_writer_abort(fr_store_writer *writer)
{
    if (writer == NULL)
        return;
    fr_file_writer_abort(writer->file);
    fr_free(writer->path);
    fr_free(writer);
}

fr_status fr_store_writer_create(const char *path, fr_dtype dtype, int64_t n_rows, int64_t width,
                                 fr_store_writer **writer)
{
    fr_store_writer *made = NULL;
    fr_store_layout layout;
    unsigned char header[FR_STORE_PAGE_BYTES];
    fr_status status;
    *writer = NULL;
    FR_TRY(fr_store_layout_make(dtype, n_rows, width, &layout));
    FR_TRY(fr_alloc(1, sizeof *made, "store writer", &made));
    made->layout = layout;
    FR_TRY(fr_strdup(path, &made->path));
    FR_TRY(fr_file_writer_open(path, &made->file));
    fr_store_header_write(&layout, header);
    FR_TRY(fr_file_writer_write(made->file, header, sizeof header));
    *writer = made;
    made = NULL;
done:
    fr_store_writer_abort(made);
    return status;
}

static fr_status write_zeros(fr_file_writer *file, int64_t n_bytes)
{
    static const char zeros[FR_STORE_PAGE_BYTES];
    while (n_bytes > 0) {
        const int64_t n = n_bytes < FR_STORE_PAGE_BYTES ? n_bytes : FR_STORE_PAGE_BYTES;
        FR_RETURN_IF_ERROR(fr_file_writer_write(file, zeros, (size_t)n));
        n_bytes -= n;
    }
    return FR_OK;
}

/* Writes n rows, page by page, each full page with the gap behind its last row. */
static fr_status write_rows(fr_store_writer *writer, const char *rows, int64_t n)
{
    const fr_store_layout *layout = &writer->layout;
    const int64_t row_bytes = layout->row_bytes;
    if (row_bytes == 0)
        return FR_OK;
    if (fr_store_is_dense(layout))
        return fr_file_writer_write(writer->file, rows, (size_t)(n * row_bytes));
    const int64_t together = layout->rows_per_page > 0 ? layout->rows_per_page : 1;
    const int64_t unit = layout->rows_per_page > 0 ? FR_STORE_PAGE_BYTES : layout->stride_bytes;
    for (int64_t done = 0; done < n;) {
        const int64_t room = together - (writer->n_written + done) % together;
        const int64_t some = n - done < room ? n - done : room;
        FR_RETURN_IF_ERROR(fr_file_writer_write(writer->file, rows + done * row_bytes,
                                                (size_t)(some * row_bytes)));
        if (some == room)
            FR_RETURN_IF_ERROR(write_zeros(writer->file, unit - together * row_bytes));
        done += some;
    }
    return FR_OK;
}

fr_status fr_store_writer_append(fr_store_writer *writer, const void *rows, int64_t n)
{
    if (writer->failed != FR_OK) {
        fr_error_set(writer->message);
        return writer->failed;
    }
    if (n < 0 || n > writer->layout.n_rows - writer->n_written)
        return fr_fail(FR_ERANGE, "%s: %" PRId64 " more rows after %" PRId64 " of %" PRId64,
                       writer->path, n, writer->n_written, writer->layout.n_rows);
    const fr_status status = n > 0 ? write_rows(writer, rows, n) : FR_OK;
    if (status == FR_OK) {
        writer->n_written += n;
    } else {
        writer->failed = status;
        (void)snprintf(writer->message, sizeof writer->message, "%s", fr_error_message());
    }
    return status;
}

fr_status fr_store_writer_commit(fr_store_writer *writer)
{
    const fr_store_layout *layout = &writer->layout;
    fr_status status = writer->failed;
    if (status != FR_OK) {
        fr_error_set(writer->message);
        goto done;
    }
    if (writer->n_written != layout->n_rows)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " rows written of %" PRId64, writer->path,
                       writer->n_written, layout->n_rows));
    /* The last page is whole, like every other. */
    FR_TRY(write_zeros(writer->file, layout->file_bytes - fr_file_writer_position(writer->file)));
    fr_file_writer *file = writer->file;
    writer->file = NULL; /* the commit frees it, also where it fails */
    FR_TRY(fr_file_writer_commit(file));
done:
    fr_store_writer_abort(writer);
    return status;
}
