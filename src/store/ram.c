/*
 * ram.c: the RAM tier: one dense matrix in aligned memory (huge pages where it is large).
 *
 * Opening reads the file in pieces of about PIECE_BYTES, in parallel, each thread into its own part
 * of the matrix. Where several rows share a page and leave a gap behind them, a piece is read into
 * the thread's buffer, from which pages are copied; all other rows are read in place.
 *
 * Reading ahead does nothing until the collect, which is then a gather: the rows lie in RAM, so a
 * copy made early would only be copied once more.
 *
 * `lock`: gathers share it, a scatter has it alone, so that no gather sees half a row; a flush
 * shares it, so the file is the table at one moment. `dirty` is written under it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "kernel/rows.h"
#include "store/tier.h"

enum { PIECE_BYTES = 1 << 20 };

typedef struct ram_tier {
    fr_store_layout layout;
    char *rows;
    char *path; /* NULL: no file behind */
    pthread_rwlock_t lock;
    bool has_lock;
    _Atomic bool dirty;
} ram_tier;

static void ram_free(void *tier)
{
    ram_tier *ram = tier;
    if (ram == NULL)
        return;
    if (ram->has_lock)
        (void)pthread_rwlock_destroy(&ram->lock);
    fr_free(ram->rows);
    fr_free(ram->path);
    fr_free(ram);
}

/* ---- filling the matrix ---- */

static void zero_piece(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    memset((char *)context + begin, 0, (size_t)(end - begin));
}

/* One reading of a whole file, shared by its threads. */
typedef struct file_reading {
    const ram_tier *ram;
    const char *path;
    int fd;
    int64_t rows_per_piece;
    char *buffers; /* PIECE_BYTES a thread; NULL where rows are read in place */
    /* The failure of the earliest piece: the same whichever thread came first. */
    pthread_mutex_t lock;
    int64_t failed_at;
    fr_status status;
    char message[FR_ERROR_BYTES];
} file_reading;

static void note_failure(file_reading *reading, int64_t row, fr_status status)
{
    (void)pthread_mutex_lock(&reading->lock);
    if (reading->status == FR_OK || row < reading->failed_at) {
        reading->status = status;
        reading->failed_at = row;
        (void)snprintf(reading->message, sizeof reading->message, "%s", fr_error_message());
    }
    (void)pthread_mutex_unlock(&reading->lock);
}

/* Reads rows [begin, end), several a page, through a buffer that has the file's gaps; `begin` opens
 * a page. */
static fr_status read_with_gaps(const file_reading *reading, int64_t begin, int64_t end,
                                char *buffer)
{
    const fr_store_layout *layout = &reading->ram->layout;
    const int64_t row_bytes = layout->row_bytes, together = layout->rows_per_page;
    const int64_t from = fr_store_row_offset(layout, begin);
    const int64_t bytes = fr_store_row_offset(layout, end - 1) + row_bytes - from;
    char *to = reading->ram->rows + begin * row_bytes;
    FR_RETURN_IF_ERROR(fr_read_at(reading->fd, reading->path, buffer, (size_t)bytes, from));
    /* Rows of one page lie side by side, so a page is one copy. */
    for (int64_t row = begin; row < end; row += together) {
        const int64_t n = end - row < together ? end - row : together;
        memcpy(to, buffer + (fr_store_row_offset(layout, row) - from), (size_t)(n * row_bytes));
        to += n * row_bytes;
    }
    return FR_OK;
}

/* Reads rows [begin, end) in place: side by side in the file, or longer than a page, one by one. */
static fr_status read_in_place(const file_reading *reading, int64_t begin, int64_t end)
{
    const fr_store_layout *layout = &reading->ram->layout;
    const int64_t row_bytes = layout->row_bytes;
    const int64_t together = fr_store_is_dense(layout) ? end - begin : 1;
    for (int64_t row = begin; row < end; row += together)
        FR_RETURN_IF_ERROR(
            fr_read_at(reading->fd, reading->path, reading->ram->rows + row * row_bytes,
                       (size_t)(together * row_bytes), fr_store_row_offset(layout, row)));
    return FR_OK;
}

static void read_piece(void *context, int64_t begin_piece, int64_t end_piece, int thread)
{
    file_reading *reading = context;
    const fr_store_layout *layout = &reading->ram->layout;
    const int64_t begin = begin_piece * reading->rows_per_piece;
    int64_t end = end_piece * reading->rows_per_piece;
    end = end < layout->n_rows ? end : layout->n_rows;
    const fr_status status =
        reading->buffers == NULL
            ? read_in_place(reading, begin, end)
            : read_with_gaps(reading, begin, end, reading->buffers + (int64_t)thread * PIECE_BYTES);
    if (status != FR_OK)
        note_failure(reading, begin, status);
}

static fr_status read_file(const ram_tier *ram, const char *path, int fd)
{
    const fr_store_layout *layout = &ram->layout;
    if (layout->n_rows == 0 || layout->row_bytes == 0)
        return FR_OK;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a wish */
    file_reading reading = {.ram = ram, .path = path, .fd = fd, .status = FR_OK};
    const int64_t unit_bytes =
        layout->rows_per_page > 0 ? FR_STORE_PAGE_BYTES : layout->stride_bytes;
    const int64_t unit_rows = layout->rows_per_page > 0 ? layout->rows_per_page : 1;
    const int64_t units = PIECE_BYTES / unit_bytes > 1 ? PIECE_BYTES / unit_bytes : 1;
    reading.rows_per_piece = units * unit_rows;
    const int64_t n_pieces = (layout->n_rows - 1) / reading.rows_per_piece + 1;
    if (layout->rows_per_page > 0 && !fr_store_is_dense(layout))
        FR_RETURN_IF_ERROR(fr_alloc_aligned((size_t)fr_threads(), PIECE_BYTES,
                                            "buffers to read a store file", &reading.buffers));
    if (pthread_mutex_init(&reading.lock, NULL) != 0) {
        fr_free(reading.buffers);
        return fr_fail(FR_ENOMEM, "%s: no lock could be made", path);
    }
    fr_parallel_for(n_pieces, 1, read_piece, &reading);
    (void)pthread_mutex_destroy(&reading.lock);
    fr_free(reading.buffers);
    if (reading.status != FR_OK)
        fr_error_set(reading.message);
    return reading.status;
}

fr_status fr_ram_tier_create(const fr_store_layout *layout, const char *path, int fd, void **tier)
{
    fr_status status;
    ram_tier *ram = NULL;
    const int64_t bytes = layout->n_rows * layout->row_bytes; /* at most file_bytes */
    *tier = NULL;
    FR_TRY(fr_alloc(1, sizeof *ram, "store", &ram));
    ram->layout = *layout;
    if (pthread_rwlock_init(&ram->lock, NULL) != 0)
        FR_TRY(fr_fail(FR_ENOMEM, "store: no lock could be made"));
    ram->has_lock = true;
    FR_TRY(fr_alloc_aligned((size_t)bytes, 1, "rows of a store", &ram->rows));
    if (path == NULL) {
        fr_parallel_for(bytes, PIECE_BYTES, zero_piece, ram->rows);
    } else {
        FR_TRY(fr_strdup(path, &ram->path));
        FR_TRY(read_file(ram, path, fd));
    }
    *tier = ram;
    ram = NULL;
done:
    ram_free(ram);
    return status;
}

/* ---- moving rows ---- */

static fr_status ram_gather(void *tier, const int64_t *ids, int64_t n, void *out,
                            fr_tier_work *work)
{
    ram_tier *ram = tier;
    const fr_store_layout *layout = &ram->layout;
    fr_status status = FR_OK;
    if (layout->row_bytes > 0) {
        (void)pthread_rwlock_rdlock(&ram->lock);
        status = fr_rows_gather_i64(ram->rows, layout->n_rows, layout->row_bytes, layout->row_bytes,
                                    ids, n, out);
        (void)pthread_rwlock_unlock(&ram->lock);
    }
    if (status == FR_OK) {
        work->rows_read = n;
        work->bytes_read = n * layout->row_bytes;
    }
    return status;
}

static fr_status ram_prefetch(void *tier, const int64_t *ids, int64_t n, void **request)
{
    (void)tier, (void)ids, (void)n;
    *request = NULL;
    return FR_OK;
}

static fr_status ram_collect(void *tier, void *request, const int64_t *ids, int64_t n, void *out,
                             fr_tier_work *work)
{
    (void)request;
    return ram_gather(tier, ids, n, out, work);
}

static void ram_forget(void *tier, void *request) { (void)tier, (void)request; }

static fr_status ram_scatter(void *tier, const int64_t *ids, int64_t n, const void *rows)
{
    ram_tier *ram = tier;
    const fr_store_layout *layout = &ram->layout;
    if (layout->row_bytes == 0)
        return FR_OK;
    (void)pthread_rwlock_wrlock(&ram->lock);
    const fr_status status = fr_rows_scatter_i64(ram->rows, layout->n_rows, layout->row_bytes,
                                                 layout->row_bytes, ids, n, rows);
    atomic_store(&ram->dirty, true);
    (void)pthread_rwlock_unlock(&ram->lock);
    return status;
}

static fr_status write_file(const ram_tier *ram)
{
    const fr_store_layout *layout = &ram->layout;
    fr_store_writer *writer = NULL;
    FR_RETURN_IF_ERROR(
        fr_store_writer_create(ram->path, layout->dtype, layout->n_rows, layout->width, &writer));
    const fr_status status = fr_store_writer_append(writer, ram->rows, layout->n_rows);
    if (status != FR_OK) {
        fr_store_writer_abort(writer);
        return status;
    }
    return fr_store_writer_commit(writer);
}

static fr_status ram_flush(void *tier)
{
    ram_tier *ram = tier;
    if (ram->path == NULL)
        return fr_fail(FR_EINVAL, "store: flush of a table that has no file behind it");
    fr_status status = FR_OK;
    (void)pthread_rwlock_rdlock(&ram->lock);
    if (atomic_load(&ram->dirty))
        status = write_file(ram);
    /* No scatter came in between: it would have waited for the lock. */
    if (status == FR_OK)
        atomic_store(&ram->dirty, false);
    (void)pthread_rwlock_unlock(&ram->lock);
    return status;
}

static const void *ram_in_memory(const void *tier) { return ((const ram_tier *)tier)->rows; }

const fr_store_tier_functions fr_ram_tier_functions = {
    .name = "RAM",
    .gather = ram_gather,
    .prefetch = ram_prefetch,
    .collect = ram_collect,
    .forget = ram_forget,
    .scatter = ram_scatter,
    .flush = ram_flush,
    .in_memory = ram_in_memory,
    .free = ram_free,
};
