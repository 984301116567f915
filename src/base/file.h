/*
 * file.h: whole files in, whole files out, nothing half-written.
 *
 * Writers write to "PATH.tmp-PID-N", and fr_file_writer_commit makes it durable (fsync of the file,
 * rename, fsync of the folder). Whoever stops before leaves PATH as it was; a failure of the last
 * fsync leaves the new file, whole, without the promise that it survives a power cut. Reads compare
 * the length they rely on with the file's first. Every system call can be made to fail by injection
 * (fr_file_fail_at), as allocations can.
 */
#ifndef FR_BASE_FILE_H
#define FR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** Reads a whole file of at most `most_bytes` into a fresh block (fr_free), with a 0 byte after it.
 */
fr_status fr_file_read(const char *path, size_t most_bytes, char **bytes,
                       size_t *length) FR_MUST_USE;

/** Writes a whole file durably (temporary + fsync + rename). */
fr_status fr_file_write(const char *path, const void *bytes, size_t length) FR_MUST_USE;

/** Length in bytes; FR_ENOENT, FR_EIO; FR_EFORMAT where it is no regular file. */
fr_status fr_file_length(const char *path, int64_t *length) FR_MUST_USE;
bool fr_file_exists(const char *path);
bool fr_folder_exists(const char *path);

/** Makes a folder and its missing parents; fine where it exists already as a folder. */
fr_status fr_folder_create(const char *path) FR_MUST_USE;
/** Removes a folder and what is in it; fine where it does not exist. Never follows links. */
fr_status fr_folder_remove(const char *path) FR_MUST_USE;
/** Moves a finished folder `from` into place as `to`, durably. An existing `to` is replaced only
 * where `replace` and only where it is a folder; else FR_EEXIST. Both are exchanged in one step
 * where the file system can; where it cannot (NFS), a kill between two renames leaves the old
 * folder beside `to` as "TO.old-PID". */
fr_status fr_folder_commit(const char *from, const char *to, bool replace) FR_MUST_USE;

/** A read-only mapping of a whole file. An empty file maps to length 0, bytes non-NULL. */
typedef struct fr_mapping {
    const char *bytes;
    size_t length;
} fr_mapping;
fr_status fr_mapping_open(const char *path, fr_mapping *mapping) FR_MUST_USE;
void fr_mapping_close(fr_mapping *mapping); /* NULL-safe, idempotent */

/** A buffered sequential writer that ends in an atomic rename. */
typedef struct fr_file_writer fr_file_writer;
fr_status fr_file_writer_open(const char *path, fr_file_writer **writer) FR_MUST_USE;
fr_status fr_file_writer_write(fr_file_writer *writer, const void *bytes,
                               size_t length) FR_MUST_USE;
int64_t fr_file_writer_position(const fr_file_writer *writer);
/** Makes the file durable under its name and frees the writer, also on failure. */
fr_status fr_file_writer_commit(fr_file_writer *writer) FR_MUST_USE;
/** Removes the temporary file and frees the writer; NULL-safe. */
void fr_file_writer_abort(fr_file_writer *writer);

/** Full pread / pwrite with retries of short and interrupted calls; `path` is for the sentence. */
fr_status fr_read_at(int fd, const char *path, void *bytes, size_t length,
                     int64_t offset) FR_MUST_USE;
fr_status fr_write_at(int fd, const char *path, const void *bytes, size_t length,
                      int64_t offset) FR_MUST_USE;

/** "a/b" from "a" and "b" in a fresh string (fr_free). */
fr_status fr_path_join(const char *folder, const char *name, char **path) FR_MUST_USE;
/** Last part of a path, pointing into it. */
const char *fr_path_name(const char *path);

/** Makes the n-th coming system call of this module (open, read, write, fsync, rename, mmap) fail
 * with `error_number`; -1 switches it off. */
void fr_file_fail_at(int64_t n, int error_number);

#endif
