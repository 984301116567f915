/*
 * file.c: reading and mapping single files, and paths. See file.h; file_writer.c writes, folder.c
 * has the folders.
 *
 * Every system call that can fail asks fr_fault_due first, so that tests fail the n-th of them.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
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
    if (atomic_load_explicit(&fail_at, memory_order_relaxed) < 0 ||
        atomic_fetch_sub(&fail_at, 1) != 0)
        return false;
    errno = atomic_load(&fail_error);
    return true;
}

/* ---- whole reads and writes ---- */

fr_status fr_read_at(int fd, const char *path, void *bytes, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n =
            fr_fault_due() ? -1
                           : pread(fd, (char *)bytes + done, length - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fr_fail_errno(errno, "%s: reading", path);
        if (n == 0)
            return fr_fail(FR_EFORMAT, "%s: ends at byte %" PRId64 ", %zu bytes more are expected",
                           path, offset + (int64_t)done, length - done);
        done += (size_t)n;
    }
    return FR_OK;
}

fr_status fr_write_at(int fd, const char *path, const void *bytes, size_t length, int64_t offset)
{
    for (size_t done = 0; done < length;) {
        const ssize_t n = fr_fault_due() ? -1
                                         : pwrite(fd, (const char *)bytes + done, length - done,
                                                  offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fr_fail_errno(errno, "%s: writing", path);
        if (n == 0) /* no file system should; without this the loop would never end */
            return fr_fail(FR_EIO, "%s: writing stops at byte %" PRId64, path,
                           offset + (int64_t)done);
        done += (size_t)n;
    }
    return FR_OK;
}

static fr_status open_for_reading(const char *path, int *fd, int64_t *length)
{
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait; regular files do not care. */
    *fd = fr_fault_due() ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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
    int64_t n = 0;
    FR_RETURN_IF_ERROR(open_for_reading(path, &fd, &n));
    fr_status status;
    char *block = NULL;
    if ((uint64_t)n > most_bytes)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: %" PRId64 " bytes, at most %zu are expected", path, n,
                       most_bytes));
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
    int64_t n = 0;
    FR_RETURN_IF_ERROR(open_for_reading(path, &fd, &n));
    fr_status status = FR_OK;
    if (n == 0) {
        mapping->bytes = ""; /* mmap refuses length 0 */
    } else {
        void *bytes =
            fr_fault_due() ? MAP_FAILED : mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
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
    if (mapping == NULL)
        return;
    if (mapping->length > 0) {
        void *bytes;
        memcpy(&bytes, &mapping->bytes, sizeof bytes);
        (void)munmap(bytes, mapping->length);
    }
    *mapping = (fr_mapping){0};
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
