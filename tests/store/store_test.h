/*
 * store_test.h: what the store tests share: a folder, tables whose every byte is known, files as
 * bytes.
 */
#ifndef FR_STORE_TEST_H
#define FR_STORE_TEST_H

#include "test_main.h"

#include <frugal/store.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "store/file_format.h"

static inline void check_ok(fr_status status, int line)
{
    if (status != FR_OK)
        fail_msg("line %d: %s: %s", line, fr_status_name(status), fr_error_message());
}
#define OK(call) check_ok((call), __LINE__)

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

/** The known content: a byte of a table of `bytes` bytes. */
static inline unsigned char known_byte(int64_t i)
{
    return (unsigned char)((uint64_t)i * 2654435761U >> 7 ^ (uint64_t)i);
}

static inline unsigned char *known_table(int64_t bytes)
{
    unsigned char *table;
    OK(fr_alloc((size_t)bytes, 1, "table", &table));
    for (int64_t i = 0; i < bytes; i++)
        table[i] = known_byte(i);
    return table;
}

/** Writes the known table as a store file. */
static inline void write_known_file(const char *path, fr_dtype dtype, int64_t n_rows, int64_t width)
{
    fr_store_writer *writer;
    unsigned char *table = known_table(n_rows * width * (int64_t)fr_dtype_bytes(dtype));
    OK(fr_store_writer_create(path, dtype, n_rows, width, &writer));
    OK(fr_store_writer_append(writer, table, n_rows));
    OK(fr_store_writer_commit(writer));
    fr_free(table);
}

/** The file's bytes as they are, without the code under test; the caller frees (free). */
static inline unsigned char *slurp(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    rewind(file);
    unsigned char *bytes = malloc((size_t)end + 1);
    assert_int_equal(fread(bytes, 1, (size_t)end, file), end);
    (void)fclose(file);
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

#endif
