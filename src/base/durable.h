/*
 * durable.h: making a rename survive a power cut.
 *
 * A name is on the disk once the folder that holds it is. The folder is opened before the rename,
 * so that whatever can fail early fails while nothing has changed yet; after the rename only its
 * fsync is left.
 */
#ifndef FR_BASE_DURABLE_H
#define FR_BASE_DURABLE_H

#include "base/error.h"

/** Opens the folder that holds `path`. On failure *fd is -1. */
fr_status fr_parent_open(const char *path, int *fd) FR_MUST_USE;
/** Makes the folder's names durable and closes it, also on failure; `path` is for the sentence. */
fr_status fr_parent_sync(int fd, const char *path) FR_MUST_USE;

#endif
