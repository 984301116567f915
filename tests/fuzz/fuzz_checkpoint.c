/*
 * Opens any bytes as a checkpoint. To get past the checksums, the fuzzer's bytes are also tried
 * with the index's and trailer's sums made right, as a file made on purpose would have them.
 */
#include <frugal/train.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "train/checkpoint_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void open_bytes(const void *bytes, size_t length)
{
    char path[64];
    fr_checkpoint *checkpoint = NULL;
    fr_tensor view;
    const char *text;
    const int fd = memfd_create("checkpoint", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fr_checkpoint_open(path, &checkpoint) == FR_OK) {
        if (fr_checkpoint_tensor(checkpoint, "w", &view) == FR_OK) {
            const size_t view_bytes = (size_t)fr_tensor_count(&view) * fr_dtype_bytes(view.dtype);
            if (view_bytes > length)
                abort();
            if (fr_hash(view.data, view_bytes, 0) == 1)
                puts(""); /* touches every byte */
        }
        if (fr_checkpoint_text(checkpoint, "t", &text) == FR_OK && strlen(text) >= length)
            abort();
    } else if (checkpoint != NULL || fr_error_message()[0] == 0) {
        abort();
    }
    fr_checkpoint_free(checkpoint);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    open_bytes(bytes, length);
    if (length < FR_CHECKPOINT_HEADER_BYTES + FR_CHECKPOINT_TRAILER_BYTES)
        return 0;
    char *sealed = malloc(length);
    if (sealed == NULL)
        abort();
    memcpy(sealed, bytes, length);
    char *trailer = sealed + length - FR_CHECKPOINT_TRAILER_BYTES;
    memcpy(sealed, fr_checkpoint_magic, sizeof fr_checkpoint_magic);
    memcpy(trailer + TRAILER_MAGIC, fr_checkpoint_end, sizeof fr_checkpoint_end);
    const uint64_t at = checkpoint_get(trailer + TRAILER_OFFSET, 8);
    const uint64_t index_bytes = checkpoint_get(trailer + TRAILER_BYTES, 8);
    if (at <= length && index_bytes <= length - at)
        checkpoint_put(trailer + TRAILER_INDEX_SUM, 8, fr_hash(sealed + at, index_bytes, 0));
    checkpoint_put(trailer + TRAILER_SUM, 8, fr_hash(trailer, TRAILER_SUM, 0));
    open_bytes(sealed, length);
    free(sealed);
    return 0;
}
