/*
 * file.c: reading, writing and mapping single files. See file.h; folders are in folder.c.
 *
 * Every system call that can fail asks fr_fault_due first, so that tests fail the n-th of them.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"

static _Atomic int64_t fail_at = -1;
static _Atomic int fail_error;

void fr_file_fail_at(int64_t n, int error_number)
{
    atomic_store(&fail_error, error_number);
    atomic_store(&fail_at, n);
}

bool fr_fault_due(void)
{
    if (atomic_load_explicit(&fail_at, memory_order_relaxed) < 0 || atomic_fetch_sub(&fail_at, 1) != 0)
        return false;
    errno = atomic_load(&fail_error);
    return true;
}

/* ---- whole reads and writes ---- */

fr_status fr_read_at(int fd, const char *path, void *bytes, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n = fr_fault_due() ? -1 : pread(fd, (char *)bytes + done, length - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fr_fail_errno(errno, "%s: reading", path);
        if (n == 0)
            return fr_fail(FR_EFORMAT, "%s: ends at byte %" PRId64 ", %zu bytes more are expected", path,
                           offset + (int64_t)done, length - done);
        done += (size_t)n;
    }
    return FR_OK;
}

fr_status fr_write_at(int fd, const char *path, const void *bytes, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n =
            fr_fault_due() ? -1 : pwrite(fd, (const char *)bytes + done, length - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fr_fail_errno(errno, "%s: writing", path);
        done += (size_t)n;
    }
    return FR_OK;
}

static fr_status open_for_reading(const char *path, int *fd, int64_t *length)
{
    *fd = fr_fault_due() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return fr_fail_errno(errno, "%s", path);
    struct stat about;
    fr_status status = FR_OK;
    if (fr_fault_due() || fstat(*fd, &about) != 0)
        status = fr_fail_errno(errno, "%s", path);
    else if (!S_ISREG(about.st_mode))
        status = fr_fail(FR_EFORMAT, "%s: is no regular file", path);
    else
        *length = about.st_size;
    if (status != FR_OK)
        (void)close(*fd);
    return status;
}

fr_status fr_file_length(const char *path, int64_t *length)
{
    int fd;
    FR_RETURN_IF_ERROR(open_for_reading(path, &fd, length));
    (void)close(fd); /* nothing was written */
    return FR_OK;
}

bool fr_file_exists(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

fr_status fr_file_read(const char *path, size_t most_bytes, char **bytes, size_t *length)
{
    *bytes = NULL;
    *length = 0;
    int fd;
    int64_t n;
    FR_RETURN_IF_ERROR(open_for_reading(path, &fd, &n));
    fr_status status;
    char *block = NULL;
    if ((uint64_t)n > most_bytes)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: %" PRId64 " bytes, at most %zu are expected", path, n, most_bytes));
    FR_TRY(fr_alloc((size_t)n + 1, 1, path, &block)); /* the byte after the end stays 0 */
    FR_TRY(fr_read_at(fd, path, block, (size_t)n, 0));
    *bytes = block;
    *length = (size_t)n;
    block = NULL;
done:
    fr_free(block);
    (void)close(fd);
    return status;
}

fr_status fr_mapping_open(const char *path, fr_mapping *mapping)
{
    *mapping = (fr_mapping){0};
    int fd;
    int64_t n;
    FR_RETURN_IF_ERROR(open_for_reading(path, &fd, &n));
    fr_status status = FR_OK;
    if (n == 0) {
        mapping->bytes = ""; /* mmap refuses length 0 */
    } else {
        void *bytes = fr_fault_due() ? MAP_FAILED : mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            status = fr_fail_errno(errno, "%s: mapping", path);
        else
            *mapping = (fr_mapping){.bytes = bytes, .length = (size_t)n};
    }
    (void)close(fd);
    return status;
}

void fr_mapping_close(fr_mapping *mapping)
{
    if (mapping->length > 0) {
        void *bytes;
        memcpy(&bytes, &mapping->bytes, sizeof bytes);
        (void)munmap(bytes, mapping->length);
    }
    *mapping = (fr_mapping){0};
}

/* ---- atomic writers ---- */

enum { WRITER_BYTES = 1 << 18 };

struct fr_file_writer {
    char *path, *temporary;
    int fd;
    int64_t position; /* buffered bytes included */
    size_t n_buffered;
    char *buffer;
};

fr_status fr_file_writer_open(const char *path, fr_file_writer **out)
{
    static _Atomic unsigned n_opened;
    *out = NULL;
    fr_file_writer *writer;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *writer, "file writer", &writer));
    writer->fd = -1;
    FR_TRY(fr_strdup(path, &writer->path));
    FR_TRY(fr_format(&writer->temporary, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&n_opened, 1)));
    FR_TRY(fr_alloc(WRITER_BYTES, 1, "file buffer", &writer->buffer));
    writer->fd = fr_fault_due() ? -1 : open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        FR_TRY(fr_fail_errno(errno, "%s", path));
    *out = writer;
    writer = NULL;
done:
    fr_file_writer_abort(writer);
    return status;
}

static fr_status flush_writer(fr_file_writer *writer)
{
    const int64_t at = writer->position - (int64_t)writer->n_buffered;
    FR_RETURN_IF_ERROR(fr_write_at(writer->fd, writer->path, writer->buffer, writer->n_buffered, at));
    writer->n_buffered = 0;
    return FR_OK;
}

fr_status fr_file_writer_write(fr_file_writer *writer, const void *bytes, size_t length)
{
    if (writer->n_buffered + length > WRITER_BYTES)
        FR_RETURN_IF_ERROR(flush_writer(writer));
    if (length >= WRITER_BYTES)
        FR_RETURN_IF_ERROR(fr_write_at(writer->fd, writer->path, bytes, length, writer->position));
    else if (length > 0)
        memcpy(writer->buffer + writer->n_buffered, bytes, length);
    writer->n_buffered += length >= WRITER_BYTES ? 0 : length;
    writer->position += (int64_t)length;
    return FR_OK;
}

int64_t fr_file_writer_position(const fr_file_writer *writer) { return writer->position; }

/* A rename is durable once its folder is. */
static fr_status sync_folder_of(const char *path)
{
    char *folder = NULL;
    FR_RETURN_IF_ERROR(fr_strdup(path, &folder));
    char *slash = strrchr(folder, '/');
    const char *name = ".";
    if (slash != NULL) {
        slash[slash == folder] = '\0';
        name = folder;
    }
    fr_status status = FR_OK;
    const int fd = fr_fault_due() ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder (EINVAL): then nothing more can be done. */
    if (fd < 0 || fr_fault_due() || (fsync(fd) != 0 && errno != EINVAL))
        status = fr_fail_errno(errno, "%s: making its folder durable", path);
    if (fd >= 0)
        (void)close(fd);
    fr_free(folder);
    return status;
}

static fr_status finish_writer(fr_file_writer *writer)
{
    FR_RETURN_IF_ERROR(flush_writer(writer));
    if (fr_fault_due() || fsync(writer->fd) != 0)
        return fr_fail_errno(errno, "%s: making it durable", writer->path);
    const int fd = writer->fd;
    writer->fd = -1;
    if (close(fd) != 0)
        return fr_fail_errno(errno, "%s: closing", writer->path);
    if (fr_fault_due() || rename(writer->temporary, writer->path) != 0)
        return fr_fail_errno(errno, "%s: moving it into place", writer->path);
    return sync_folder_of(writer->path);
}

fr_status fr_file_writer_commit(fr_file_writer *writer)
{
    const fr_status status = finish_writer(writer);
    fr_file_writer_abort(writer); /* after success there is no temporary file to remove */
    return status;
}

void fr_file_writer_abort(fr_file_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->fd >= 0)
        (void)close(writer->fd);
    if (writer->temporary != NULL)
        (void)unlink(writer->temporary);
    fr_free(writer->path);
    fr_free(writer->temporary);
    fr_free(writer->buffer);
    fr_free(writer);
}

fr_status fr_file_write(const char *path, const void *bytes, size_t length)
{
    fr_file_writer *writer;
    FR_RETURN_IF_ERROR(fr_file_writer_open(path, &writer));
    const fr_status status = fr_file_writer_write(writer, bytes, length);
    if (status != FR_OK) {
        fr_file_writer_abort(writer);
        return status;
    }
    return fr_file_writer_commit(writer);
}

/* ---- paths ---- */

fr_status fr_path_join(const char *folder, const char *name, char **path)
{
    const size_t n = strlen(folder);
    return fr_format(path, n > 0 && folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

const char *fr_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
