/*
 * Stores in RAM: gather, prefetch, scatter, flush. Oracle: a plain copy of the table, row by row.
 */
#include "store_test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/parallel.h"

typedef struct table_size {
    fr_dtype dtype;
    int64_t n_rows, width;
} table_size;

/* Rows that fill a page exactly, leave a gap, are longer than a page, take several pieces. */
static const table_size sizes[] = {
    {FR_F32, 0, 0},       {FR_F32, 0, 7},       {FR_F32, 5, 0},          {FR_F32, 1, 1},
    {FR_F32, 1024, 1},    {FR_F32, 1025, 1},    {FR_F32, 77, 100},       {FR_F64, 33, 64},
    {FR_BF16, 999, 17},   {FR_I8, 5000, 3},     {FR_F32, 9, 1024},       {FR_F32, 5, 1025},
    {FR_F32, 3, 2048},    {FR_F32, 4, 5000},    {FR_F8E4M3, 4097, 4096}, {FR_F32, 2, 600000},
    {FR_F32, 30000, 100}, {FR_F32, 20000, 128},
};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static int64_t row_bytes_of(table_size size)
{
    return size.width * (int64_t)fr_dtype_bytes(size.dtype);
}

static void check_rows(const unsigned char *rows, const int64_t *ids, int64_t n, int64_t row_bytes)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < row_bytes; b++)
            if (rows[i * row_bytes + b] != known_byte(ids[i] * row_bytes + b))
                fail_msg("row %" PRId64 " (id %" PRId64 "), byte %" PRId64, i, ids[i], b);
}

static void opened_files_give_the_rows_that_were_written(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    for (int i = 0; i < N_SIZES; i++)
        for (int threads = 1; threads <= 3; threads++) {
            fr_store *store;
            fr_set_threads(threads);
            write_known_file(path, sizes[i].dtype, sizes[i].n_rows, sizes[i].width);
            OK(fr_store_open(path, NULL, &store));
            assert_int_equal(fr_store_rows(store), sizes[i].n_rows);
            assert_int_equal(fr_store_width(store), sizes[i].width);
            assert_int_equal(fr_store_dtype(store), sizes[i].dtype);
            const unsigned char *all = fr_store_in_memory(store);
            assert_non_null(all);
            assert_int_equal((uintptr_t)all % 64, 0);
            for (int64_t b = 0; b < sizes[i].n_rows * row_bytes_of(sizes[i]); b++)
                if (all[b] != known_byte(b))
                    fail_msg("size %d, byte %" PRId64, i, b);
            fr_store_free(store);
        }
    remove_folder_of(path);
}

/* Files of each release stay in tests/golden. */
static void a_file_of_release_0_1_still_opens(void **state)
{
    (void)state;
    char path[4096];
    fr_store *store;
    if (getenv("FR_SOURCE_DIR") == NULL)
        skip();
    (void)snprintf(path, sizeof path, "%s/tests/golden/store/rows_0_1.bin",
                   getenv("FR_SOURCE_DIR"));
    OK(fr_store_open(path, NULL, &store));
    assert_int_equal(fr_store_rows(store), 5);
    assert_int_equal(fr_store_width(store), 300);
    check_rows(fr_store_in_memory(store), (const int64_t[]){0, 1, 2, 3, 4}, 5, 1200);
    fr_store_free(store);
}

static void gather_follows_the_ids(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int i = 0; i < N_SIZES; i++) {
        if (sizes[i].n_rows == 0)
            continue;
        fr_store *store;
        int64_t ids[200];
        write_known_file(path, sizes[i].dtype, sizes[i].n_rows, sizes[i].width);
        OK(fr_store_open(path, &(fr_store_options){.tier = FR_TIER_RAM}, &store));
        const int64_t n = sizes[i].width > 10000 ? 5 : 200, row_bytes = row_bytes_of(sizes[i]);
        for (int64_t k = 0; k < n; k++) /* doubles are sure for most sizes */
            ids[k] = (int64_t)fr_random_below(&random, (uint64_t)sizes[i].n_rows);
        unsigned char *out = known_table(n * row_bytes);
        OK(fr_store_gather(store, ids, n, out));
        check_rows(out, ids, n, row_bytes);
        OK(fr_store_gather(store, ids, 0, NULL));
        fr_free(out);
        fr_store_free(store);
    }
    remove_folder_of(path);
}

static void an_id_out_of_range_reads_and_writes_nothing(void **state)
{
    (void)state;
    fr_store *store;
    OK(fr_store_create(FR_F32, 10, 4, &store));
    static const int64_t bad[] = {-1, 10, 11, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (int at = 0; at < 3; at++) {
            int64_t ids[3] = {1, 2, 3}, ticket;
            float out[12], before[12];
            for (int k = 0; k < 12; k++)
                out[k] = before[k] = (float)(k + 1);
            ids[at] = bad[i];
            assert_int_equal(fr_store_gather(store, ids, 3, out), FR_ERANGE);
            assert_memory_equal(out, before, sizeof out);
            assert_int_equal(fr_store_prefetch(store, ids, 3, &ticket), FR_ERANGE);
            assert_int_equal(fr_store_scatter(store, ids, 3, out), FR_ERANGE);
            const float *all = fr_store_in_memory(store);
            for (int k = 0; k < 40; k++)
                assert_true(all[k] == 0.0F);
        }
    assert_int_equal(fr_store_gather(store, NULL, -1, NULL), FR_ERANGE);
    assert_int_equal(fr_store_get_stats(store).rows_asked, 0);
    fr_store_free(store);
    OK(fr_store_create(FR_F32, 0, 4, &store));
    const int64_t zero = 0;
    float out[4];
    assert_int_equal(fr_store_gather(store, &zero, 1, out), FR_ERANGE);
    fr_store_free(store);
}

static void scatter_takes_the_last_of_equal_ids(void **state)
{
    (void)state;
    fr_store *store;
    enum { ROWS = 50, WIDTH = 33, N = 400 };
    float mirror[ROWS][WIDTH] = {{0}}, rows[N][WIDTH];
    int64_t ids[N];
    fr_random random = fr_random_start(fr_test_seed(), 2);
    OK(fr_store_create(FR_F32, ROWS, WIDTH, &store));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) {
            ids[i] = (int64_t)fr_random_below(&random, ROWS);
            for (int j = 0; j < WIDTH; j++)
                rows[i][j] = mirror[ids[i]][j] = (float)fr_random_normal(&random);
        }
        OK(fr_store_scatter(store, ids, N, rows));
        assert_memory_equal(fr_store_in_memory(store), mirror, sizeof mirror);
    }
    assert_int_equal(fr_store_get_stats(store).rows_written, 5 * N);
    fr_store_free(store);
}

static void collect_gives_the_rows_as_of_the_collect(void **state)
{
    (void)state;
    fr_store *store;
    int64_t first, second, third;
    float out[6];
    OK(fr_store_create(FR_F32, 4, 2, &store));
    OK(fr_store_prefetch(store, (const int64_t[]){3, 1, 3}, 3, &first));
    OK(fr_store_prefetch(store, (const int64_t[]){0}, 1, &second));
    OK(fr_store_prefetch(store, NULL, 0, &third));
    assert_true(first != second && second != third && first != third);
    OK(fr_store_scatter(store, (const int64_t[]){3}, 1, (const float[]){5, 6}));
    OK(fr_store_collect(store, second, out));
    assert_true(out[0] == 0.0F && out[1] == 0.0F);
    OK(fr_store_collect(store, first, out));
    assert_memory_equal(out, ((const float[]){5, 6, 0, 0, 5, 6}), sizeof out);
    OK(fr_store_collect(store, third, NULL));
    assert_int_equal(fr_store_collect(store, first, out), FR_EINVAL); /* once only */
    assert_int_equal(fr_store_collect(store, 0, out), FR_EINVAL);
    assert_int_equal(fr_store_collect(store, 77, out), FR_EINVAL);
    fr_store_free(store);
}

static void requests_nobody_collects_are_freed(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    fr_store *store;
    int64_t ticket, last = 0;
    OK(fr_store_create(FR_F32, 4, 2, &store));
    for (int i = 0; i < 20; i++) {
        OK(fr_store_prefetch(store, (const int64_t[]){3, 1, 3}, 3, &ticket));
        assert_true(ticket > last);
        last = ticket;
    }
    fr_store_free(store);
    fr_store_free(NULL);
    assert_int_equal(fr_live_blocks(), live);
}

static void counts_say_what_moved(void **state)
{
    (void)state;
    fr_store *store;
    int64_t ticket;
    float out[12];
    OK(fr_store_create(FR_F32, 10, 4, &store));
    OK(fr_store_gather(store, (const int64_t[]){1, 1, 2}, 3, out));
    OK(fr_store_prefetch(store, (const int64_t[]){7, 8}, 2, &ticket));
    assert_int_equal(fr_store_get_stats(store).rows_read, 3);
    OK(fr_store_collect(store, ticket, out));
    OK(fr_store_scatter(store, (const int64_t[]){7}, 1, out));
    const fr_store_stats stats = fr_store_get_stats(store);
    assert_int_equal(stats.rows_asked, 6);
    assert_int_equal(stats.rows_read, 5);
    assert_int_equal(stats.bytes_read, 5 * 16);
    assert_int_equal(stats.rows_written, 1);
    fr_store_free(store);
}

static void budget_and_tier_are_kept(void **state)
{
    (void)state;
    fr_store *store;
    const char *path = fresh_path("rows.bin");
    write_known_file(path, FR_F32, 100, 10);
    assert_int_equal(fr_store_open(path, &(fr_store_options){.memory_bytes = 3999}, &store),
                     FR_ENOMEM);
    assert_null(store);
    assert_non_null(strstr(fr_error_message(), "3999"));
    OK(fr_store_open(path, &(fr_store_options){.memory_bytes = 4000}, &store));
    fr_store_free(store);
    assert_int_equal(fr_store_open(path, &(fr_store_options){.tier = FR_TIER_FILE}, &store),
                     FR_ENOTSUP);
    assert_int_equal(fr_store_open(path, &(fr_store_options){.tier = (fr_store_tier)9}, &store),
                     FR_EINVAL);
    OK(fr_store_open(path, NULL, &store));
    assert_int_equal(fr_store_scatter(store, (const int64_t[]){1}, 1, fr_store_in_memory(store)),
                     FR_EINVAL);
    assert_int_equal(fr_store_flush(store), FR_EINVAL);
    fr_store_free(store);
    remove_folder_of(path);
}

static void what_is_no_store_file_is_refused(void **state)
{
    (void)state;
    fr_store *store = NULL;
    const char *path = fresh_path("rows.bin");
    assert_int_equal(fr_store_open(path, NULL, &store), FR_ENOENT);
    assert_non_null(strstr(fr_error_message(), "rows.bin"));
    OK(fr_folder_create(path));
    assert_int_equal(fr_store_open(path, NULL, &store), FR_EFORMAT);
    OK(fr_folder_remove(path));
    assert_int_equal(mkfifo(path, 0600), 0); /* must not wait for a writer */
    assert_int_equal(fr_store_open(path, NULL, &store), FR_EFORMAT);
    assert_int_equal(unlink(path), 0);
    static const char text[] = "id,feature\n1,0.5\n";
    spill(path, text, sizeof text - 1);
    assert_int_equal(fr_store_open(path, NULL, &store), FR_EFORMAT);
    char zeros[8192] = {0};
    spill(path, zeros, sizeof zeros);
    assert_int_equal(fr_store_open(path, NULL, &store), FR_EFORMAT);
    remove_folder_of(path);
}

static void flush_makes_scattered_rows_durable(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    for (int i = 0; i < N_SIZES; i++) {
        if (sizes[i].n_rows == 0 || sizes[i].n_rows > 6000 || sizes[i].width > 10000)
            continue;
        fr_store *store, *again;
        const int64_t last = sizes[i].n_rows - 1, row_bytes = row_bytes_of(sizes[i]);
        unsigned char *row = known_table(row_bytes + 1);
        for (int64_t b = 0; b < row_bytes; b++)
            row[b] = 0x5a;
        write_known_file(path, sizes[i].dtype, sizes[i].n_rows, sizes[i].width);
        OK(fr_store_open(path, &(fr_store_options){.writable = true}, &store));
        OK(fr_store_scatter(store, &last, 1, row));
        OK(fr_store_flush(store));
        OK(fr_store_flush(store));
        OK(fr_store_open(path, NULL, &again));
        assert_memory_equal(fr_store_in_memory(store), fr_store_in_memory(again),
                            (size_t)((last + 1) * row_bytes));
        fr_store_free(again);
        fr_store_free(store);
        fr_free(row);
    }
    fr_store *store;
    OK(fr_store_create(FR_F32, 1, 1, &store));
    assert_int_equal(fr_store_flush(store), FR_EINVAL); /* no file behind it */
    fr_store_free(store);
    remove_folder_of(path);
}

static void a_flush_that_fails_leaves_the_old_file_or_the_new(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    fr_status status = FR_EIO;
    for (int64_t n = 0; status != FR_OK; n++) {
        fr_store *store, *again;
        const int64_t id = 7;
        float row[100] = {0}, read[100];
        write_known_file(path, FR_F32, 77, 100);
        OK(fr_store_open(path, &(fr_store_options){.writable = true}, &store));
        OK(fr_store_scatter(store, &id, 1, row));
        fr_file_fail_at(n, ENOSPC);
        status = fr_store_flush(store);
        fr_file_fail_at(-1, 0);
        OK(fr_store_open(path, NULL, &again));
        OK(fr_store_gather(again, &id, 1, read));
        const bool is_new = memcmp(read, row, sizeof row) == 0;
        if (status == FR_OK)
            assert_true(is_new);
        else
            assert_int_equal(status, FR_ENOSPC);
        if (!is_new)
            check_rows((const unsigned char *)read, &id, 1, sizeof row);
        fr_store_free(again);
        /* The rows are still dirty: a second flush writes them. */
        OK(fr_store_flush(store));
        OK(fr_store_open(path, NULL, &again));
        OK(fr_store_gather(again, &id, 1, read));
        assert_memory_equal(read, row, sizeof row);
        fr_store_free(again);
        fr_store_free(store);
    }
    remove_folder_of(path);
}

/* Everything a user does, as one call that may fail anywhere. */
static fr_status use_a_store(const char *path)
{
    fr_store *store = NULL;
    int64_t ticket;
    float out[300];
    fr_status status = fr_store_open(path, &(fr_store_options){.writable = true}, &store);
    if (status != FR_OK) {
        assert_null(store);
        return status;
    }
    FR_TRY(fr_store_gather(store, (const int64_t[]){5, 6, 5}, 3, out));
    FR_TRY(fr_store_prefetch(store, (const int64_t[]){5, 6}, 2, &ticket));
    FR_TRY(fr_store_scatter(store, (const int64_t[]){5}, 1, out));
    FR_TRY(fr_store_collect(store, ticket, out));
    FR_TRY(fr_store_flush(store));
done:
    fr_store_free(store);
    return status;
}

static void lack_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    write_known_file(path, FR_F32, 77, 100);
    const int64_t live = fr_live_blocks();
    fr_status status = FR_ENOMEM;
    int64_t n = 0;
    for (; status != FR_OK; n++) {
        fr_alloc_fail_at(n);
        status = use_a_store(path);
        fr_alloc_fail_at(-1);
        if (status != FR_OK)
            assert_int_equal(status, FR_ENOMEM);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 5);
    remove_folder_of(path);
}

static void failed_reads_are_reported_and_leak_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    write_known_file(path, FR_F32, 20000, 100); /* several pieces, read by several threads */
    const int64_t live = fr_live_blocks();
    fr_set_threads(3);
    fr_status status = FR_EIO;
    int64_t n = 0;
    for (; status != FR_OK; n++) {
        fr_store *store;
        fr_file_fail_at(n, EIO);
        status = fr_store_open(path, NULL, &store);
        fr_file_fail_at(-1, 0);
        if (status != FR_OK) {
            assert_int_equal(status, FR_EIO);
            assert_null(store);
            assert_non_null(strstr(fr_error_message(), "rows.bin"));
        }
        fr_store_free(store);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 5);
    remove_folder_of(path);
}

/* ---- threads ---- */

enum { N_READERS = 4, SHARED_ROWS = 64, SHARED_WIDTH = 32 };

typedef struct reader {
    fr_store *store;
    pthread_t thread;
    int number;
    bool torn, failed;
} reader;

/* Every row holds one number in all places at any time; a gather must never see two. */
static void *read_shared_rows(void *context)
{
    reader *me = context;
    fr_random random = fr_random_start(1, (uint64_t)me->number);
    for (int round = 0; round < 300; round++) {
        int64_t ids[8], ticket;
        float rows[8 * SHARED_WIDTH];
        for (int i = 0; i < 8; i++)
            ids[i] = (int64_t)fr_random_below(&random, SHARED_ROWS);
        fr_status status = FR_OK;
        if (me->number == 0) {
            for (int i = 0; i < 8 * SHARED_WIDTH; i++)
                rows[i] = (float)round;
            status = fr_store_scatter(me->store, ids, 8, rows);
        } else if (round % 2 == 0) {
            status = fr_store_gather(me->store, ids, 8, rows);
        } else {
            status = fr_store_prefetch(me->store, ids, 8, &ticket);
            if (status == FR_OK)
                status = fr_store_collect(me->store, ticket, rows);
        }
        me->failed |= status != FR_OK;
        for (int i = 0; i < 8 * SHARED_WIDTH && status == FR_OK; i++)
            me->torn |= rows[i] != rows[i / SHARED_WIDTH * SHARED_WIDTH];
    }
    return NULL;
}

static void threads_share_a_store(void **state)
{
    (void)state;
    fr_store *store;
    reader readers[N_READERS] = {{0}};
    fr_set_threads(1);
    OK(fr_store_create(FR_F32, SHARED_ROWS, SHARED_WIDTH, &store));
    for (int i = 0; i < N_READERS; i++) {
        readers[i] = (reader){.store = store, .number = i};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_shared_rows, &readers[i]),
                         0);
    }
    for (int i = 0; i < N_READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_false(readers[i].torn);
        assert_false(readers[i].failed);
    }
    assert_int_equal(fr_store_get_stats(store).rows_asked, N_READERS * 300 * 8);
    fr_store_free(store);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(opened_files_give_the_rows_that_were_written),
    cmocka_unit_test(a_file_of_release_0_1_still_opens),
    cmocka_unit_test(gather_follows_the_ids),
    cmocka_unit_test(an_id_out_of_range_reads_and_writes_nothing),
    cmocka_unit_test(scatter_takes_the_last_of_equal_ids),
    cmocka_unit_test(collect_gives_the_rows_as_of_the_collect),
    cmocka_unit_test(requests_nobody_collects_are_freed),
    cmocka_unit_test(counts_say_what_moved),
    cmocka_unit_test(budget_and_tier_are_kept),
    cmocka_unit_test(what_is_no_store_file_is_refused),
    cmocka_unit_test(flush_makes_scattered_rows_durable),
    cmocka_unit_test(a_flush_that_fails_leaves_the_old_file_or_the_new),
    cmocka_unit_test(lack_of_memory_is_reported_and_leaks_nothing),
    cmocka_unit_test(failed_reads_are_reported_and_leak_nothing),
    cmocka_unit_test(threads_share_a_store),
};
FR_TEST_MAIN(tests)
