/*
 * Writing store files: any cut of the rows gives the same bytes; nothing half-written is ever left.
 * Oracle: the file built byte by byte from the description.
 */
#include "store_test.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>

static int count_files_beside(const char *path)
{
    char folder[5000];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(fr_path_name(path) - path), path);
    DIR *open_folder = opendir(folder);
    int n = -2; /* . and .. */
    assert_non_null(open_folder);
    while (readdir(open_folder) != NULL)
        n++;
    (void)closedir(open_folder);
    return n;
}

/* The file a correct writer makes of the known table. */
static unsigned char *expected_file(fr_dtype dtype, int64_t n_rows, int64_t width, size_t *length)
{
    fr_store_layout layout;
    OK(fr_store_layout_make(dtype, n_rows, width, &layout));
    unsigned char *bytes = calloc((size_t)layout.file_bytes, 1);
    fr_store_header_write(&layout, bytes);
    for (int64_t i = 0; i < n_rows * layout.row_bytes; i++) {
        const int64_t row = i / layout.row_bytes;
        bytes[fr_store_row_offset(&layout, row) + i % layout.row_bytes] = known_byte(i);
    }
    *length = (size_t)layout.file_bytes;
    return bytes;
}

static void any_cut_of_the_rows_gives_the_same_file(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{0, 3},    {4, 0},    {1, 1},    {1023, 1}, {1024, 1},
                                       {1025, 1}, {95, 100}, {9, 1024}, {7, 1025}, {5, 3000}};
    const char *path = fresh_path("rows.bin");
    fr_random random = fr_random_start(fr_test_seed(), 3);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int round = 0; round < 4; round++) {
            const int64_t n_rows = sizes[s][0], row_bytes = 4 * sizes[s][1];
            unsigned char *table = known_table(n_rows * row_bytes);
            fr_store_writer *writer;
            OK(fr_store_writer_create(path, FR_F32, n_rows, sizes[s][1], &writer));
            for (int64_t done = 0; done < n_rows;) {
                int64_t n = round == 0
                                ? 1
                                : 1 + (int64_t)fr_random_below(&random, (uint64_t)(n_rows - done));
                n = round == 1 ? n_rows : n;
                OK(fr_store_writer_append(writer, table + done * row_bytes, n));
                OK(fr_store_writer_append(writer, NULL, 0));
                done += n;
            }
            OK(fr_store_writer_commit(writer));
            size_t length, expected_length;
            unsigned char *bytes = slurp(path, &length);
            unsigned char *expected = expected_file(FR_F32, n_rows, sizes[s][1], &expected_length);
            assert_int_equal(length, expected_length);
            assert_memory_equal(bytes, expected, length);
            free(bytes);
            free(expected);
            fr_free(table);
        }
    remove_folder_of(path);
}

static void too_many_or_too_few_rows_are_refused(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    const float rows[40] = {0};
    fr_store_writer *writer;
    OK(fr_store_writer_create(path, FR_F32, 9, 4, &writer));
    assert_int_equal(fr_store_writer_append(writer, rows, 10), FR_ERANGE);
    OK(fr_store_writer_append(writer, rows, 8));
    assert_int_equal(fr_store_writer_append(writer, rows, 2), FR_ERANGE);
    assert_int_equal(fr_store_writer_append(writer, rows, -1), FR_ERANGE);
    assert_int_equal(fr_store_writer_commit(writer), FR_ESHAPE);
    assert_non_null(strstr(fr_error_message(), "8 rows written of 9"));
    assert_int_equal(count_files_beside(path), 0);
    assert_int_equal(fr_store_writer_create(path, FR_F32, -1, 4, &writer), FR_ESHAPE);
    assert_null(writer);
    assert_int_equal(fr_store_writer_create(path, FR_NO_DTYPE, 1, 4, &writer), FR_EDTYPE);
    remove_folder_of(path);
}

static void abort_leaves_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    const int64_t live = fr_live_blocks();
    const float rows[40] = {0};
    fr_store_writer *writer;
    OK(fr_store_writer_create(path, FR_F32, 9, 4, &writer));
    OK(fr_store_writer_append(writer, rows, 8));
    fr_store_writer_abort(writer);
    fr_store_writer_abort(NULL);
    assert_int_equal(count_files_beside(path), 0);
    assert_int_equal(fr_live_blocks(), live);
    remove_folder_of(path);
}

/* Writes 300 rows of 2,000 bytes, in three calls, as one call that may fail anywhere. */
static fr_status write_a_file(const char *path, const unsigned char *table)
{
    fr_store_writer *writer;
    FR_RETURN_IF_ERROR(fr_store_writer_create(path, FR_F32, 300, 500, &writer));
    fr_status kept = FR_OK;
    for (int i = 0; i < 3; i++) {
        const fr_status status = fr_store_writer_append(writer, table + i * 200000, 100);
        kept = kept != FR_OK ? kept : status;
        if (kept != FR_OK)
            assert_int_equal(status, kept); /* the first failure stays */
    }
    const fr_status status = fr_store_writer_commit(writer);
    if (kept != FR_OK)
        assert_int_equal(status, kept);
    return status;
}

static void a_full_disk_leaves_no_file_and_keeps_the_old_one(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    unsigned char *table = known_table(600000);
    size_t length, old_length = 0;
    for (int with_old = 0; with_old < 2; with_old++) {
        int64_t n = 0;
        for (fr_status status = FR_EIO; status != FR_OK; n++) {
            (void)unlink(path);
            if (with_old)
                write_known_file(path, FR_F32, 3, 3);
            unsigned char *old = with_old ? slurp(path, &old_length) : NULL;
            const int64_t live = fr_live_blocks();
            fr_file_fail_at(n, ENOSPC);
            status = write_a_file(path, table);
            fr_file_fail_at(-1, 0);
            assert_int_equal(fr_live_blocks(), live);
            if (status != FR_OK)
                assert_int_equal(status, FR_ENOSPC);
            assert_int_equal(count_files_beside(path), with_old || fr_file_exists(path) ? 1 : 0);
            if (fr_file_exists(path)) { /* old, or whole (the failure came after the rename) */
                unsigned char *now = slurp(path, &length);
                size_t whole_length;
                unsigned char *whole = expected_file(FR_F32, 300, 500, &whole_length);
                assert_true((length == whole_length && memcmp(now, whole, length) == 0) ||
                            (status != FR_OK && old != NULL && length == old_length &&
                             memcmp(now, old, length) == 0));
                free(whole);
                free(now);
            }
            free(old);
        }
        assert_true(n > 4);
    }
    fr_free(table);
    remove_folder_of(path);
}

static void lack_of_memory_leaves_no_file(void **state)
{
    (void)state;
    const char *path = fresh_path("rows.bin");
    unsigned char *table = known_table(600000);
    const int64_t live = fr_live_blocks();
    int64_t n = 0;
    for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
        (void)unlink(path);
        fr_alloc_fail_at(n);
        status = write_a_file(path, table);
        fr_alloc_fail_at(-1);
        if (status != FR_OK)
            assert_int_equal(status, FR_ENOMEM);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 3);
    fr_free(table);
    remove_folder_of(path);
}

/* ---- hostile files: in memory, since there are thousands of them ---- */

/* A memory file of these bytes; `path` names it. */
static int memory_file(const void *bytes, size_t length, char path[64])
{
    const int fd = memfd_create("rows.bin", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, length, 0), length);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void every_cut_of_a_file_is_refused(void **state)
{
    (void)state;
    char path[64];
    size_t length;
    unsigned char *bytes = expected_file(FR_F32, 5, 300, &length);
    const int fd = memory_file(bytes, length, path);
    for (size_t cut = length + 2; cut-- > 0;) {
        fr_store *store = NULL;
        assert_int_equal(ftruncate(fd, (off_t)cut), 0);
        assert_int_equal(fr_store_open(path, NULL, &store), cut == length ? FR_OK : FR_EFORMAT);
        fr_store_free(store);
    }
    (void)close(fd);
    free(bytes);
}

static void a_flipped_byte_is_refused_or_changes_that_byte_alone(void **state)
{
    (void)state;
    char path[64];
    size_t length;
    enum { ROWS = 5, ROW_BYTES = 1200 };
    unsigned char *bytes = expected_file(FR_F32, ROWS, ROW_BYTES / 4, &length);
    const int fd = memory_file(bytes, length, path);
    for (size_t at = 0; at < length; at++) {
        fr_store *store = NULL;
        const unsigned char flipped = bytes[at] ^ 0x81;
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
        const fr_status status = fr_store_open(path, NULL, &store);
        assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t)at), 1);
        if (at < FR_STORE_PAGE_BYTES) {
            assert_int_not_equal(status, FR_OK);
            continue;
        }
        OK(status);
        const unsigned char *all = fr_store_in_memory(store);
        const size_t page = at / FR_STORE_PAGE_BYTES - 1, within = at % FR_STORE_PAGE_BYTES;
        const size_t row = page * 3 + within / ROW_BYTES; /* 3 rows a page */
        const bool is_gap = within >= 3 * ROW_BYTES || row >= ROWS;
        const size_t changed = row * ROW_BYTES + within % ROW_BYTES;
        for (size_t i = 0; i < ROWS * ROW_BYTES; i++)
            if (all[i] !=
                (unsigned char)(known_byte((int64_t)i) ^ (!is_gap && i == changed ? 0x81 : 0)))
                fail_msg("flipped %zu, differs at %zu", at, i);
        fr_store_free(store);
    }
    (void)close(fd);
    free(bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_cut_of_the_rows_gives_the_same_file),
    cmocka_unit_test(too_many_or_too_few_rows_are_refused),
    cmocka_unit_test(abort_leaves_nothing),
    cmocka_unit_test(a_full_disk_leaves_no_file_and_keeps_the_old_one),
    cmocka_unit_test(lack_of_memory_leaves_no_file),
    cmocka_unit_test(every_cut_of_a_file_is_refused),
    cmocka_unit_test(a_flipped_byte_is_refused_or_changes_that_byte_alone),
};
FR_TEST_MAIN(tests)
