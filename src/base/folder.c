/*
 * folder.c: making, removing and moving folders. See file.h.
 *
 * Removal walks by descriptors and never follows a link, so a link planted in a work folder costs
 * only itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/durable.h"
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

static fr_status empty_folder(int fd, const char *path);

/* `path` is the folder's, for the sentence. */
static fr_status remove_entry(int folder, const char *name, const char *path)
{
    const int inner =
        fr_fault_due() ? -1 : openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0 && errno != ENOTDIR && errno != ELOOP) /* files and links say one of these two */
        return fr_fail_errno(errno, "%s/%s: opening to remove it", path, name);
    if (inner >= 0)
        FR_RETURN_IF_ERROR(empty_folder(inner, path));
    if (fr_fault_due() || unlinkat(folder, name, inner >= 0 ? AT_REMOVEDIR : 0) != 0)
        return fr_fail_errno(errno, "%s/%s: removing", path, name);
    return FR_OK;
}

/* The next entry but "." and ".."; NULL with errno 0 at the end. */
static const struct dirent *next_entry(DIR *folder)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry =
            fr_fault_due() ? NULL
                           : readdir(folder); // NOLINT(concurrency-mt-unsafe): nobody else has it
        if (entry == NULL || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0))
            return entry;
    }
}

/* Removes what is in the folder open as fd, which is closed. `path` is for the sentence. */
static fr_status empty_folder(int fd, const char *path)
{
    DIR *folder = fr_fault_due() ? NULL : fdopendir(fd);
    if (folder == NULL) {
        const int error = errno;
        (void)close(fd);
        return fr_fail_errno(error, "%s: reading a folder", path);
    }
    fr_status status = FR_OK;
    const struct dirent *entry;
    while (status == FR_OK && (entry = next_entry(folder)) != NULL)
        status = remove_entry(dirfd(folder), entry->d_name, path);
    if (status == FR_OK && errno != 0)
        status = fr_fail_errno(errno, "%s: reading a folder", path);
    (void)closedir(folder);
    return status;
}

fr_status fr_folder_remove(const char *path)
{
    const int fd =
        fr_fault_due() ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return FR_OK;
    if (fd < 0)
        return fr_fail_errno(errno, "%s: removing", path);
    FR_RETURN_IF_ERROR(empty_folder(fd, path));
    if (fr_fault_due() || rmdir(path) != 0)
        return fr_fail_errno(errno, "%s: removing", path);
    return FR_OK;
}

/* ---- moving a finished folder into place ---- */

/* One rename with flags of renameat2; false with errno set where it fails. */
static bool move(const char *from, const char *to, unsigned flags)
{
    if (fr_fault_due())
        return false;
    return (flags == 0 ? rename(from, to) : renameat2(AT_FDCWD, from, AT_FDCWD, to, flags)) == 0;
}

/* Without RENAME_EXCHANGE: the old folder goes aside, and comes back where the new one cannot take
 * its place. */
static fr_status replace_in_two_steps(const char *from, const char *to)
{
    char *aside;
    size_t length = strlen(to);
    while (length > 1 && to[length - 1] == '/') /* beside "a/", not in it */
        length--;
    FR_RETURN_IF_ERROR(fr_format(&aside, "%.*s.old-%ld", (int)length, to, (long)getpid()));
    fr_status status;
    FR_TRY(fr_folder_remove(aside)); /* of a killed process with our PID */
    if (!move(to, aside, 0))
        FR_TRY(fr_fail_errno(errno, "%s: moving it aside", to));
    if (!move(from, to, 0)) {
        status = fr_fail_errno(errno, "%s: replacing", to);
        (void)rename(aside, to);
        goto done;
    }
    FR_TRY(fr_folder_remove(aside));
done:
    fr_free(aside);
    return status;
}

/* Exchanged in one step, so that there is always one of both under `to`; then the old one is
 * removed. */
static fr_status replace_folder(const char *from, const char *to)
{
    struct stat about;
    if (lstat(to, &about) != 0 || !S_ISDIR(about.st_mode))
        return fr_fail(FR_EEXIST, "%s: is there already and no folder", to);
    if (move(from, to, RENAME_EXCHANGE))
        return fr_folder_remove(from);
    if (errno == EINVAL || errno == ENOSYS)
        return replace_in_two_steps(from, to);
    return fr_fail_errno(errno, "%s: replacing", to);
}

static fr_status move_into_place(const char *from, const char *to, bool replace)
{
    /* Not to replace an existing `to`, not even an empty one, as plain rename would. */
    if (move(from, to, RENAME_NOREPLACE))
        return FR_OK;
    int error = errno;
    if (error == EINVAL || error == ENOSYS) { /* a file system without RENAME_NOREPLACE */
        if (!fr_file_exists(to) && move(from, to, 0))
            return FR_OK;
        error = fr_file_exists(to) ? EEXIST : errno;
    }
    if (error == EEXIST && replace)
        return replace_folder(from, to);
    return fr_fail_errno(error, "%s: moving the finished folder into place", to);
}

fr_status fr_folder_commit(const char *from, const char *to, bool replace)
{
    int parent;
    FR_RETURN_IF_ERROR(fr_parent_open(to, &parent));
    const fr_status status = move_into_place(from, to, replace);
    if (status == FR_OK)
        return fr_parent_sync(parent, to);
    (void)close(parent);
    return status;
}
