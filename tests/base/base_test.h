/*
 * base_test.h: the two loops of every test of failure: the n-th allocation, or the n-th system
 * call, fails for n = 0, 1, 2, ... until the attempt succeeds.
 */
#ifndef FR_TESTS_BASE_TEST_H
#define FR_TESTS_BASE_TEST_H

#include "test_main.h"

#include <dirent.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

/** What is tried: on success it may keep blocks in its context; on failure it checks that its
 * outputs are NULL. */
typedef fr_status (*fr_attempt)(void *context);

enum { FR_MOST_FAILURES = 10000 };

/** Returns how often the attempt failed before it succeeded. */
static inline int fr_fail_each_allocation(fr_attempt attempt, void *context)
{
    for (int n = 0; n < FR_MOST_FAILURES; n++) {
        const int64_t live = fr_live_blocks(), bytes = fr_live_bytes();
        fr_error_set("");
        fr_alloc_fail_at(n);
        const fr_status status = attempt(context);
        fr_alloc_fail_at(-1);
        if (status == FR_OK)
            return n;
        assert_int_equal(status, FR_ENOMEM);
        assert_string_not_equal(fr_error_message(), "");
        assert_int_equal(fr_live_blocks(), live);
        assert_int_equal(fr_live_bytes(), bytes);
    }
    fail_msg("still failing after %d allocations", FR_MOST_FAILURES);
    return -1;
}

/** As above for system calls that fail with `error_number`, which has to become `expected`. */
static inline int fr_fail_each_system_call(fr_attempt attempt, void *context, int error_number,
                                           fr_status expected)
{
    for (int n = 0; n < FR_MOST_FAILURES; n++) {
        const int64_t live = fr_live_blocks();
        fr_error_set("");
        fr_file_fail_at(n, error_number);
        const fr_status status = attempt(context);
        fr_file_fail_at(-1, 0);
        if (status == FR_OK)
            return n;
        assert_int_equal(status, expected);
        assert_string_not_equal(fr_error_message(), "");
        assert_int_equal(fr_live_blocks(), live);
    }
    fail_msg("still failing after %d system calls", FR_MOST_FAILURES);
    return -1;
}

/** A path in the test's folder, in one of four buffers that are used in turn. */
static inline const char *fr_test_path(const char *folder, const char *name)
{
    static char paths[4][4200];
    static int next;
    char *path = paths[next++ % 4];
    const int length = snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    assert_in_range(length, 1, sizeof paths[0] - 1);
    return path;
}

/** Entries of a folder, "." and ".." not counted; -1 where it cannot be read. */
static inline int fr_test_count_entries(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return -1;
    int n = -2;
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

/** Checks the whole content of a file. */
static inline void fr_test_assert_file(const char *path, const char *expected)
{
    char *bytes;
    size_t length;
    assert_int_equal(fr_file_read(path, 1 << 20, &bytes, &length), FR_OK);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
    fr_free(bytes);
}

#endif
