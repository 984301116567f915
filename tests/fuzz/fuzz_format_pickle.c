/*
 * Reads any bytes as a pickle; every array of a tree that is taken must lie within the file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static unsigned touched;

static void touch(const fr_pickle *pickle, const fr_pickle_value *value, int depth)
{
    fr_tensor view;
    if (value == NULL || depth > 8)
        return;
    if (value->kind == FR_PICKLE_OBJECT && fr_pickle_array(pickle, value, "array", &view) == FR_OK) {
        const size_t n = (size_t)fr_tensor_count(&view) * fr_dtype_bytes(view.dtype);
        for (size_t i = 0; i < n; i++)
            touched += ((const unsigned char *)view.data)[i];
    }
    for (int64_t i = 0; i < value->n_items && i < 16; i++)
        touch(pickle, value->items[i], depth + 1);
    touch(pickle, value->state, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64];
    fr_pickle *pickle = NULL;
    const int fd = memfd_create("pickle", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fr_pickle_open(path, &pickle) == FR_OK)
        touch(pickle, fr_pickle_root(pickle), 0);
    else if (pickle != NULL || fr_error_message()[0] == 0)
        abort();
    fr_pickle_free(pickle);
    (void)close(fd);
    return 0;
}
