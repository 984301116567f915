/*
 * store.c: what all tiers share: opening, checking row numbers, tickets, counts.
 *
 * A ticket is a number never given twice in a store's life. Pending requests lie in a small array,
 * searched from its front: a prefetcher runs a few steps ahead, not thousands.
 *
 * `lock` guards the pending requests and the counts; it is held for additions and look-ups only,
 * never while rows move.
 */
#include <frugal/store.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "store/tier.h"

typedef struct pending_request {
    int64_t ticket, n;
    int64_t *ids; /* owned */
    void *of_tier;
} pending_request;

/* What calls change; behind a pointer, so that fr_store_get_stats may take a const store. */
typedef struct store_counts {
    pthread_mutex_t lock;
    fr_store_stats stats;
} store_counts;

struct fr_store {
    fr_store_layout layout;
    const fr_store_tier_functions *functions;
    void *tier;
    bool writable;
    store_counts *counts;
    pending_request *pending;
    int64_t n_pending, room_pending, last_ticket;
};

/* ---- opening and closing ---- */

static fr_status make_store(const fr_store_layout *layout, bool writable, fr_store **store)
{
    fr_store *made = NULL;
    fr_status status;
    FR_TRY(fr_alloc(1, sizeof *made, "store", &made));
    FR_TRY(fr_alloc(1, sizeof *made->counts, "store", &made->counts));
    if (pthread_mutex_init(&made->counts->lock, NULL) != 0)
        FR_TRY(fr_fail(FR_ENOMEM, "store: no lock could be made"));
    made->layout = *layout;
    made->writable = writable;
    made->functions = &fr_ram_tier_functions;
    *store = made;
    return FR_OK;
done:
    if (made != NULL)
        fr_free(made->counts);
    fr_free(made);
    return status;
}

void fr_store_free(fr_store *store)
{
    if (store == NULL)
        return;
    for (int64_t i = 0; i < store->n_pending; i++) {
        store->functions->forget(store->tier, store->pending[i].of_tier);
        fr_free(store->pending[i].ids);
    }
    fr_free(store->pending);
    store->functions->free(store->tier);
    (void)pthread_mutex_destroy(&store->counts->lock);
    fr_free(store->counts);
    fr_free(store);
}

fr_status fr_store_create(fr_dtype dtype, int64_t n_rows, int64_t width, fr_store **store)
{
    fr_store *made = NULL;
    fr_store_layout layout = {0};
    fr_status status;
    *store = NULL;
    FR_TRY(fr_store_layout_make(dtype, n_rows, width, &layout));
    FR_TRY(make_store(&layout, true, &made));
    FR_TRY(fr_ram_tier_create(&layout, NULL, -1, &made->tier));
    *store = made;
    made = NULL;
done:
    fr_store_free(made);
    return status;
}

/* Reads and checks the header of an open file. */
static fr_status read_layout(int fd, const char *path, fr_store_layout *layout)
{
    struct stat about;
    unsigned char page[FR_STORE_PAGE_BYTES];
    if (fr_fault_due() || fstat(fd, &about) != 0)
        return fr_fail_errno(errno, "%s: cannot be examined", path);
    if (!S_ISREG(about.st_mode))
        return fr_fail(FR_EFORMAT, "%s: is no regular file", path);
    if (about.st_size < FR_STORE_PAGE_BYTES)
        return fr_fail(FR_EFORMAT, "%s: a store file has a header of %d bytes, the file %" PRId64,
                       path, FR_STORE_PAGE_BYTES, (int64_t)about.st_size);
    FR_RETURN_IF_ERROR(fr_read_at(fd, path, page, sizeof page, 0));
    return fr_store_header_read(page, (int64_t)about.st_size, path, layout);
}

fr_status fr_store_open(const char *path, const fr_store_options *options, fr_store **store)
{
    const fr_store_options asked = options != NULL ? *options : (fr_store_options){0};
    fr_store *made = NULL;
    fr_store_layout layout = {0};
    fr_status status;
    *store = NULL;
    if (asked.tier == FR_TIER_FILE)
        return fr_fail(FR_ENOTSUP, "%s: the file tier is not built; open it with the RAM tier",
                       path);
    if (asked.tier != FR_TIER_AUTO && asked.tier != FR_TIER_RAM)
        return fr_fail(FR_EINVAL, "%s: tier %d is none", path, (int)asked.tier);
    /* Not blocking: a pipe of that name would otherwise wait for its writer. */
    const int fd = fr_fault_due() ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fr_fail_errno(errno, "%s: cannot be opened", path);
    FR_TRY(read_layout(fd, path, &layout));
    const int64_t bytes = layout.n_rows * layout.row_bytes;
    if (asked.memory_bytes > 0 && bytes > asked.memory_bytes)
        FR_TRY(fr_fail(FR_ENOMEM, "%s: its rows take %" PRId64 " bytes, the budget is %" PRId64,
                       path, bytes, asked.memory_bytes));
    FR_TRY(make_store(&layout, asked.writable, &made));
    FR_TRY(fr_ram_tier_create(&layout, path, fd, &made->tier));
    *store = made;
    made = NULL;
done:
    fr_store_free(made);
    (void)close(fd);
    return status;
}

/* ---- facts ---- */

int64_t fr_store_rows(const fr_store *store) { return store->layout.n_rows; }
int64_t fr_store_width(const fr_store *store) { return store->layout.width; }
fr_dtype fr_store_dtype(const fr_store *store) { return store->layout.dtype; }

const void *fr_store_in_memory(const fr_store *store)
{
    return store->functions->in_memory(store->tier);
}

fr_store_stats fr_store_get_stats(const fr_store *store)
{
    (void)pthread_mutex_lock(&store->counts->lock);
    const fr_store_stats stats = store->counts->stats;
    (void)pthread_mutex_unlock(&store->counts->lock);
    return stats;
}

static void count_work(fr_store *store, int64_t asked, int64_t written, const fr_tier_work *work)
{
    fr_store_stats *stats = &store->counts->stats;
    (void)pthread_mutex_lock(&store->counts->lock);
    stats->rows_asked += asked;
    stats->rows_written += written;
    stats->rows_read += work->rows_read;
    stats->bytes_read += work->bytes_read;
    stats->pages_read += work->pages_read;
    stats->hits += work->hits;
    stats->seconds_waited += work->seconds_waited;
    (void)pthread_mutex_unlock(&store->counts->lock);
}

/* ---- rows ---- */

static fr_status check_ids(const fr_store *store, const int64_t *ids, int64_t n, const char *what)
{
    if (n < 0)
        return fr_fail(FR_ERANGE, "%s: %" PRId64 " rows", what, n);
    /* i is good where neither i nor n_rows - 1 - i is negative: only adds and ors, so it
     * vectorises. */
    const uint64_t last = (uint64_t)store->layout.n_rows - 1;
    uint64_t sign = 0;
    for (int64_t i = 0; i < n; i++)
        sign |= (uint64_t)ids[i] | (last - (uint64_t)ids[i]);
    if (sign >> 63 == 0)
        return FR_OK;
    int64_t i = 0;
    while (i < n - 1 && ids[i] >= 0 && ids[i] < store->layout.n_rows)
        i++;
    return fr_fail(FR_ERANGE,
                   "%s: row %" PRId64 " (the %" PRId64 "-th asked, from 0) of a store of %" PRId64,
                   what, ids[i], i, store->layout.n_rows);
}

fr_status fr_store_gather(fr_store *store, const int64_t *ids, int64_t n, void *out)
{
    fr_tier_work work = {0};
    FR_RETURN_IF_ERROR(check_ids(store, ids, n, "gather"));
    if (n > 0)
        FR_RETURN_IF_ERROR(store->functions->gather(store->tier, ids, n, out, &work));
    count_work(store, n, 0, &work);
    return FR_OK;
}

fr_status fr_store_scatter(fr_store *store, const int64_t *ids, int64_t n, const void *rows)
{
    const fr_tier_work none = {0};
    if (!store->writable)
        return fr_fail(FR_EINVAL, "scatter: the store was not opened writable");
    FR_RETURN_IF_ERROR(check_ids(store, ids, n, "scatter"));
    if (n > 0)
        FR_RETURN_IF_ERROR(store->functions->scatter(store->tier, ids, n, rows));
    count_work(store, n, n, &none);
    return FR_OK;
}

fr_status fr_store_flush(fr_store *store)
{
    if (!store->writable)
        return fr_fail(FR_EINVAL, "flush: the store was not opened writable");
    return store->functions->flush(store->tier);
}

/* ---- reading ahead ---- */

static fr_status add_pending(fr_store *store, pending_request *request)
{
    fr_status status = FR_OK;
    (void)pthread_mutex_lock(&store->counts->lock);
    if (store->n_pending == store->room_pending) {
        const int64_t room = store->room_pending > 0 ? 2 * store->room_pending : 4;
        status = fr_realloc(&store->pending, (size_t)room, sizeof *request, "requests of a store");
        if (status == FR_OK)
            store->room_pending = room;
    }
    if (status == FR_OK) {
        request->ticket = ++store->last_ticket;
        store->pending[store->n_pending++] = *request;
    }
    (void)pthread_mutex_unlock(&store->counts->lock);
    return status;
}

static bool take_pending(fr_store *store, int64_t ticket, pending_request *request)
{
    bool found = false;
    (void)pthread_mutex_lock(&store->counts->lock);
    for (int64_t i = 0; i < store->n_pending && !found; i++) {
        if (store->pending[i].ticket != ticket)
            continue;
        found = true;
        *request = store->pending[i];
        store->n_pending--;
        memmove(store->pending + i, store->pending + i + 1,
                (size_t)(store->n_pending - i) * sizeof *request);
    }
    (void)pthread_mutex_unlock(&store->counts->lock);
    return found;
}

fr_status fr_store_prefetch(fr_store *store, const int64_t *ids, int64_t n, int64_t *ticket)
{
    const fr_tier_work none = {0};
    pending_request request = {.n = n};
    bool started = false;
    fr_status status;
    *ticket = 0;
    FR_RETURN_IF_ERROR(check_ids(store, ids, n, "prefetch"));
    FR_TRY(fr_alloc((size_t)n, sizeof *ids, "row numbers of a prefetch", &request.ids));
    if (n > 0)
        memcpy(request.ids, ids, (size_t)n * sizeof *ids);
    FR_TRY(store->functions->prefetch(store->tier, request.ids, n, &request.of_tier));
    started = true;
    FR_TRY(add_pending(store, &request));
    *ticket = request.ticket;
    count_work(store, n, 0, &none);
    return FR_OK;
done:
    if (started)
        store->functions->forget(store->tier, request.of_tier);
    fr_free(request.ids);
    return status;
}

fr_status fr_store_collect(fr_store *store, int64_t ticket, void *out)
{
    pending_request request = {0};
    fr_tier_work work = {0};
    if (!take_pending(store, ticket, &request))
        return fr_fail(FR_EINVAL, "collect: ticket %" PRId64 " is not of a prefetch that waits",
                       ticket);
    const fr_status status =
        store->functions->collect(store->tier, request.of_tier, request.ids, request.n, out, &work);
    fr_free(request.ids);
    if (status == FR_OK)
        count_work(store, 0, 0, &work);
    return status;
}
