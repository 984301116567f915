/*
 * durable.c: folders opened before a rename and synced after it. See durable.h.
 */
#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"

fr_status fr_parent_open(const char *path, int *fd)
{
    *fd = -1;
    char *folder;
    FR_RETURN_IF_ERROR(fr_strdup(path, &folder));
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') /* "a/b/" lies in "a" */
        folder[--length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0'; /* "/a" lies in "/" */
    *fd = fr_fault_due() ? -1
                         : open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    fr_free(folder);
    return *fd >= 0 ? FR_OK : fr_fail_errno(error, "%s: opening its folder", path);
}

fr_status fr_parent_sync(int fd, const char *path)
{
    fr_status status = FR_OK;
    /* Some file systems cannot sync a folder and say EINVAL: then nothing more can be done. */
    if (fr_fault_due() || (fsync(fd) != 0 && errno != EINVAL))
        status = fr_fail_errno(errno, "%s: making its name durable", path);
    (void)close(fd); /* nothing was written through it */
    return status;
}
