/*
 * test_file_writer.c: a file appears whole or not at all. Oracle: what lies in the folder after
 * each failure, and after a kill at a random moment.
 */
#include "base_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/random.h"

static void a_file_is_written_whole(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    assert_int_equal(fr_file_write(path, "hello", 5), FR_OK);
    fr_test_assert_file(path, "hello");
    assert_int_equal(fr_file_write(path, NULL, 0), FR_OK);
    fr_test_assert_file(path, "");
    assert_int_equal(fr_test_count_entries(folder), 1);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* Pieces around the size of the buffer, compared with one memory block. */
static void pieces_of_any_size_follow_one_another(void **state)
{
    (void)state;
    static const size_t pieces[] = {
        0, 1, (1 << 18) - 1, 1 << 18, 1, (1 << 18) + 1, 1 << 18, (1 << 18) - 1, 3 * (1 << 18),
        7, 0};
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    static char all[3 << 20];
    fr_random random = fr_random_start(fr_test_seed(), 0);
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)fr_random_u32(&random);
    fr_file_writer *writer;
    assert_int_equal(fr_file_writer_open(path, &writer), FR_OK);
    size_t at = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_int_equal(fr_file_writer_position(writer), at);
        assert_int_equal(fr_file_writer_write(writer, all + at, pieces[i]), FR_OK);
        at += pieces[i];
    }
    assert_false(fr_file_exists(path)); /* not before it is whole */
    assert_int_equal(fr_file_writer_position(writer), at);
    assert_int_equal(fr_file_writer_commit(writer), FR_OK);
    char *bytes;
    size_t length;
    assert_int_equal(fr_file_read(path, sizeof all, &bytes, &length), FR_OK);
    assert_int_equal(length, at);
    assert_memory_equal(bytes, all, at);
    fr_free(bytes);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void an_aborted_write_leaves_the_old_file(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    const int64_t live = fr_live_blocks();
    assert_int_equal(fr_file_write(path, "old", 3), FR_OK);
    fr_file_writer *writer;
    assert_int_equal(fr_file_writer_open(path, &writer), FR_OK);
    assert_int_equal(fr_file_writer_write(writer, "new", 3), FR_OK);
    assert_int_equal(fr_test_count_entries(folder), 2);
    fr_file_writer_abort(writer);
    fr_file_writer_abort(NULL);
    fr_test_assert_file(path, "old");
    assert_int_equal(fr_test_count_entries(folder), 1);
    assert_int_equal(fr_live_blocks(), live);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

typedef struct attempt {
    char path[4200], folder[4096];
    const char *old;
    int n_kept; /* failures that left the old file */
} attempt;

/* Whether the new file is there. Whatever failed, the folder holds the old one or the new one,
 * whole, and nothing else. */
static bool holds_new(const attempt *a)
{
    const int n = fr_test_count_entries(a->folder);
    if (n == 0) {
        assert_null(a->old);
        return false;
    }
    assert_int_equal(n, 1);
    char *bytes;
    size_t length;
    assert_int_equal(fr_file_read(a->path, 100, &bytes, &length), FR_OK);
    const bool is_new = strcmp(bytes, "new") == 0;
    assert_true(is_new || (a->old != NULL && strcmp(bytes, a->old) == 0));
    fr_free(bytes);
    return is_new;
}

static void put_back(const attempt *a)
{
    (void)unlink(a->path);
    FILE *file = a->old != NULL ? fopen(a->path, "w") : NULL;
    if (file != NULL) {
        (void)fputs(a->old, file);
        (void)fclose(file);
    }
}

static fr_status write_new(void *context)
{
    attempt *a = context;
    const fr_status status = fr_file_write(a->path, "new", 3);
    fr_file_fail_at(-1, 0); /* the checks are not to fail */
    fr_alloc_fail_at(-1);
    const bool is_new = holds_new(a);
    a->n_kept += !is_new;
    if (status == FR_OK) {
        assert_true(is_new);
        return status;
    }
    if (status != FR_ENOMEM) /* every other sentence names the file */
        assert_non_null(strstr(fr_error_message(), "/x: "));
    put_back(a);
    return status;
}

static attempt start_attempt(const char *old)
{
    attempt a = {.old = old};
    (void)snprintf(a.folder, sizeof a.folder, "%s", fr_test_folder());
    (void)snprintf(a.path, sizeof a.path, "%s/x", a.folder);
    if (old != NULL)
        assert_int_equal(fr_file_write(a.path, old, strlen(old)), FR_OK);
    return a;
}

enum { N_CALLS = 6 }; /* open, write, fsync, open the folder, rename, fsync of the folder */

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    attempt a = start_attempt("old");
    assert_int_equal(fr_fail_each_system_call(write_new, &a, EIO, FR_EIO), N_CALLS);
    assert_int_equal(a.n_kept, N_CALLS - 1); /* all but the last, after the rename */
    assert_int_equal(fr_folder_remove(a.folder), FR_OK);
}

static void a_failed_write_leaves_no_file_where_none_was(void **state)
{
    (void)state;
    attempt a = start_attempt(NULL);
    assert_int_equal(fr_fail_each_system_call(write_new, &a, EIO, FR_EIO), N_CALLS);
    assert_int_equal(a.n_kept, N_CALLS - 1);
    assert_int_equal(fr_folder_remove(a.folder), FR_OK);
}

static void a_full_disk_is_named_as_such(void **state)
{
    (void)state;
    attempt a = start_attempt("old");
    assert_int_equal(fr_fail_each_system_call(write_new, &a, ENOSPC, FR_ENOSPC), N_CALLS);
    assert_int_equal(fr_folder_remove(a.folder), FR_OK);
}

static void writing_survives_every_lack_of_memory(void **state)
{
    (void)state;
    attempt a = start_attempt("old");
    const int n = fr_fail_each_allocation(write_new, &a);
    assert_int_equal(a.n_kept, n); /* none happens after the rename */
    assert_true(n >= 5);
    assert_int_equal(fr_folder_remove(a.folder), FR_OK);
}

static void a_folder_that_is_missing_is_named(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "missing/x");
    assert_int_equal(fr_file_write(path, "new", 3), FR_ENOENT);
    assert_non_null(strstr(fr_error_message(), "/missing/x: "));
    assert_int_equal(fr_test_count_entries(folder), 0);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* A killed process with our PID left its temporary files: common in containers, where PIDs repeat.
 */
enum { N_STALE = 300 };
static void temporary_files_of_the_dead_are_stepped_over(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    for (int i = 0; i < N_STALE; i++) {
        char stale[4300];
        (void)snprintf(stale, sizeof stale, "%s.tmp-%ld-%d", path, (long)getpid(), i);
        const int fd = open(stale, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    assert_int_equal(fr_file_write(path, "new", 3), FR_OK);
    fr_test_assert_file(path, "new");
    assert_int_equal(fr_test_count_entries(folder),
                     N_STALE + 1); /* theirs may still be in use elsewhere: not ours to remove */
    fr_file_fail_at(0, EEXIST);
    assert_int_equal(fr_file_write(path, "newer", 5), FR_OK);
    fr_test_assert_file(path, "newer");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void two_writers_of_one_path_do_not_mix(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    fr_file_writer *a, *b;
    assert_int_equal(fr_file_writer_open(path, &a), FR_OK);
    assert_int_equal(fr_file_writer_open(path, &b), FR_OK);
    assert_int_equal(fr_file_writer_write(a, "aaa", 3), FR_OK);
    assert_int_equal(fr_file_writer_write(b, "bb", 2), FR_OK);
    assert_int_equal(fr_file_writer_commit(a), FR_OK);
    fr_test_assert_file(path, "aaa");
    assert_int_equal(fr_file_writer_commit(b), FR_OK);
    fr_test_assert_file(path, "bb");
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

enum { VERSION_BYTES = 300000 };

/* Writes versions for ever: each is one letter, VERSION_BYTES times. */
static void write_versions(const char *path)
{
    static char text[VERSION_BYTES];
    for (int version = 0;; version++) {
        memset(text, 'a' + version % 26, sizeof text);
        if (fr_file_write(path, text, sizeof text) != FR_OK)
            _exit(1);
    }
}

static void a_kill_leaves_one_whole_version(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    fr_random random = fr_random_start(fr_test_seed(), 1);
    for (int round = 0; round < 15; round++) {
        const pid_t child = fork();
        if (child == 0)
            write_versions(path);
        (void)usleep((useconds_t)fr_random_below(&random, 30000));
        assert_int_equal(kill(child, SIGKILL), 0);
        int outcome;
        assert_int_equal(waitpid(child, &outcome, 0), child);
        assert_true(WIFSIGNALED(outcome));
        if (!fr_file_exists(path))
            continue; /* killed before the first */
        char *bytes;
        size_t length;
        assert_int_equal(fr_file_read(path, VERSION_BYTES, &bytes, &length), FR_OK);
        assert_int_equal(length, VERSION_BYTES);
        for (size_t i = 1; i < length; i++)
            assert_true(bytes[i] == bytes[0]);
        fr_free(bytes);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_is_written_whole),
    cmocka_unit_test(pieces_of_any_size_follow_one_another),
    cmocka_unit_test(an_aborted_write_leaves_the_old_file),
    cmocka_unit_test(a_failed_write_leaves_the_old_file),
    cmocka_unit_test(a_failed_write_leaves_no_file_where_none_was),
    cmocka_unit_test(a_full_disk_is_named_as_such),
    cmocka_unit_test(writing_survives_every_lack_of_memory),
    cmocka_unit_test(a_folder_that_is_missing_is_named),
    cmocka_unit_test(temporary_files_of_the_dead_are_stepped_over),
    cmocka_unit_test(two_writers_of_one_path_do_not_mix),
    cmocka_unit_test(a_kill_leaves_one_whole_version),
};
FR_TEST_MAIN(tests)
