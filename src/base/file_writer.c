/*
 * file_writer.c: files that appear under their name whole and durable, or not at all. See file.h.
 *
 *     open     PATH.tmp-PID-N            nobody else's: O_EXCL
 *     write    buffer -> temporary
 *     commit   fsync, rename to PATH, fsync of the folder
 *
 * A process killed in between leaves only the temporary file. Its number is skipped by a later
 * process that happens to have the same PID, as it does in containers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/durable.h"
#include "base/fault.h"
#include "base/file.h"

enum { WRITER_BYTES = 1 << 18, MOST_NAMES = 1000 };

struct fr_file_writer {
    char *path, *temporary;
    int fd;
    int64_t position; /* buffered bytes included */
    size_t n_buffered;
    char *buffer;
};

static fr_status open_temporary(fr_file_writer *writer)
{
    static _Atomic unsigned n_opened;
    for (int attempt = 0;; attempt++) {
        const unsigned number = atomic_fetch_add(&n_opened, 1);
        FR_RETURN_IF_ERROR(
            fr_format(&writer->temporary, "%s.tmp-%ld-%u", writer->path, (long)getpid(), number));
        writer->fd = fr_fault_due()
                         ? -1
                         : open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0)
            return FR_OK;
        const int error = errno;
        fr_free(writer->temporary); /* not made by us: not ours to remove */
        writer->temporary = NULL;
        if (error != EEXIST || attempt == MOST_NAMES)
            return fr_fail_errno(error, "%s: making a temporary file beside it", writer->path);
    }
}

fr_status fr_file_writer_open(const char *path, fr_file_writer **out)
{
    *out = NULL;
    fr_file_writer *writer;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *writer, "file writer", &writer));
    writer->fd = -1;
    FR_TRY(fr_strdup(path, &writer->path));
    FR_TRY(fr_alloc(WRITER_BYTES, 1, "file buffer", &writer->buffer));
    FR_TRY(open_temporary(writer));
    *out = writer;
    writer = NULL;
done:
    fr_file_writer_abort(writer);
    return status;
}

static fr_status flush_writer(fr_file_writer *writer)
{
    const int64_t at = writer->position - (int64_t)writer->n_buffered;
    FR_RETURN_IF_ERROR(
        fr_write_at(writer->fd, writer->path, writer->buffer, writer->n_buffered, at));
    writer->n_buffered = 0;
    return FR_OK;
}

fr_status fr_file_writer_write(fr_file_writer *writer, const void *bytes, size_t length)
{
    if (length > WRITER_BYTES - writer->n_buffered)
        FR_RETURN_IF_ERROR(flush_writer(writer));
    if (length > WRITER_BYTES - writer->n_buffered) {
        FR_RETURN_IF_ERROR(fr_write_at(writer->fd, writer->path, bytes, length, writer->position));
    } else if (length > 0) {
        memcpy(writer->buffer + writer->n_buffered, bytes, length);
        writer->n_buffered += length;
    }
    writer->position += (int64_t)length;
    return FR_OK;
}

int64_t fr_file_writer_position(const fr_file_writer *writer) { return writer->position; }

static fr_status finish_writer(fr_file_writer *writer)
{
    FR_RETURN_IF_ERROR(flush_writer(writer));
    if (fr_fault_due() || fsync(writer->fd) != 0)
        return fr_fail_errno(errno, "%s: making it durable", writer->path);
    const int fd = writer->fd;
    writer->fd = -1;
    if (close(fd) != 0)
        return fr_fail_errno(errno, "%s: closing", writer->path);
    int parent;
    FR_RETURN_IF_ERROR(fr_parent_open(writer->path, &parent));
    if (fr_fault_due() || rename(writer->temporary, writer->path) != 0) {
        const int error = errno;
        (void)close(parent);
        return fr_fail_errno(error, "%s: moving it into place", writer->path);
    }
    return fr_parent_sync(parent, writer->path);
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
