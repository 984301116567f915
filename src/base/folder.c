/*
 * folder.c: making, removing and moving folders. See file.h.
 *
 * Removal walks by descriptors and never follows a link, so a link planted in a work folder costs only itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/file.h"

bool fr_folder_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static fr_status make_one(const char *path)
{
    if (!fr_fault_due() && mkdir(path, 0777) == 0)
        return FR_OK;
    const int error = errno;
    if (error == EEXIST && fr_folder_exists(path))
        return FR_OK;
    return fr_fail_errno(error, "%s: making a folder", path);
}

fr_status fr_folder_create(const char *path)
{
    char *part = NULL;
    fr_status status;
    FR_TRY(fr_strdup(path, &part));
    for (char *slash = part + (part[0] == '/'); (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (part[0] != '\0' && !fr_folder_exists(part))
            FR_TRY(make_one(part));
        *slash = '/';
    }
    FR_TRY(make_one(path));
done:
    fr_free(part);
    return status;
}

/* Removes what is in the folder open as fd, which is closed. `path` is for the sentence. */
static fr_status empty_folder(int fd, const char *path)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
        return fr_fail_errno(errno, "%s: reading a folder", path);
    }
    fr_status status = FR_OK;
    for (const struct dirent *entry; status == FR_OK && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const int inner = openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            status = empty_folder(inner, path);
        if (status == FR_OK &&
            (fr_fault_due() || unlinkat(dirfd(folder), entry->d_name, inner >= 0 ? AT_REMOVEDIR : 0) != 0))
            status = fr_fail_errno(errno, "%s/%s: removing", path, entry->d_name);
    }
    (void)closedir(folder);
    return status;
}

fr_status fr_folder_remove(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return FR_OK;
    if (fd < 0)
        return fr_fail_errno(errno, "%s: removing", path);
    FR_RETURN_IF_ERROR(empty_folder(fd, path));
    if (fr_fault_due() || rmdir(path) != 0)
        return fr_fail_errno(errno, "%s: removing", path);
    return FR_OK;
}

/* Puts `from` where `to` is and removes what was there: exchanged in one step, so that there is always one of both. */
static fr_status replace_folder(const char *from, const char *to)
{
    if (fr_fault_due() || renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) != 0)
        return fr_fail_errno(errno, "%s: replacing", to);
    return fr_folder_remove(from);
}

fr_status fr_folder_commit(const char *from, const char *to, bool replace)
{
    /* Not to replace an existing `to`, not even an empty one, as plain rename would. */
    if (!fr_fault_due() && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return FR_OK;
    const int error = errno;
    if (error == EEXIST && replace)
        return replace_folder(from, to);
    if (error == EINVAL && !fr_file_exists(to) && rename(from, to) == 0)
        return FR_OK; /* a file system without RENAME_NOREPLACE */
    return fr_fail_errno(error, "%s: moving the finished folder into place", to);
}
