/*
 * train_test.h: what the tests of train share.
 */
#ifndef FR_TRAIN_TEST_H
#define FR_TRAIN_TEST_H

#include "test_main.h"

#include <frugal/train.h>

#include <dirent.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

static inline void check_ok(fr_status status, int line)
{
    if (status != FR_OK)
        fail_msg("line %d: %s: %s", line, fr_status_name(status), fr_error_message());
}
#define OK(call) check_ok((call), __LINE__)

static inline void check_sentence(const char *expected, int line)
{
    if (strstr(fr_error_message(), expected) == NULL)
        fail_msg("line %d: \"%s\" lacks \"%s\"", line, fr_error_message(), expected);
}
#define SENTENCE(expected) check_sentence((expected), __LINE__)

/** A path in a fresh folder, kept until the next call. */
static inline const char *fresh_path(const char *name)
{
    static char path[5000];
    (void)snprintf(path, sizeof path, "%s/%s", fr_test_folder(), name);
    return path;
}

static inline void remove_folder_of(const char *path)
{
    char folder[5000];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(fr_path_name(path) - path), path);
    OK(fr_folder_remove(folder));
}

/** Files in a folder, . and .. not counted. */
static inline int count_files(const char *folder)
{
    DIR *opened = opendir(folder);
    int n = -2;
    assert_non_null(opened);
    while (readdir(opened) != NULL)
        n++;
    (void)closedir(opened);
    return n;
}

static inline int count_files_beside(const char *path)
{
    char folder[5000];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(fr_path_name(path) - path), path);
    return count_files(folder);
}

/** The whole file, 0 behind it; the caller frees (free). */
static inline char *slurp(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    rewind(file);
    char *bytes = calloc((size_t)end + 1, 1);
    assert_int_equal(fread(bytes, 1, (size_t)end, file), end);
    (void)fclose(file);
    if (length != NULL)
        *length = (size_t)end;
    return bytes;
}

static inline void spill(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void fill_normal(fr_random *random, float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)fr_random_normal(random);
}

#endif
