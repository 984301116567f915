/*
 * Opens any bytes as a store file; what opens must hold what its header states. To get past the
 * checksum, they are also tried with magic and checksum made right, as in a file made on purpose.
 */
#include <frugal/store.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/file_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void open_bytes(const uint8_t *bytes, size_t length)
{
    char path[64];
    fr_store *store = NULL;
    const int fd = memfd_create("store", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fr_store_open(path, NULL, &store) == FR_OK) {
        const int64_t n = fr_store_rows(store);
        const size_t row_bytes =
            (size_t)fr_store_width(store) * fr_dtype_bytes(fr_store_dtype(store));
        void *row = malloc(row_bytes + 1);
        if (row == NULL || (row_bytes > 0 && (uint64_t)n > length / row_bytes))
            abort(); /* more rows than the file has bytes for */
        for (int64_t i = 0; i < n && i < 64; i++)
            if (fr_store_gather(store, &i, 1, row) != FR_OK)
                abort();
        free(row);
    } else if (store != NULL || fr_error_message()[0] == 0) {
        abort();
    }
    fr_store_free(store);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    open_bytes(bytes, length);
    if (length < FR_STORE_PAGE_BYTES)
        return 0;
    uint8_t *sealed = malloc(length);
    if (sealed == NULL)
        abort();
    memcpy(sealed, bytes, length);
    memcpy(sealed, "FRROWS1", 8);
    const uint64_t sum = fr_hash(sealed, 48, 0);
    for (int i = 0; i < 8; i++)
        sealed[48 + i] = (uint8_t)(sum >> 8 * i);
    memset(sealed + 56, 0, FR_STORE_PAGE_BYTES - 56);
    open_bytes(sealed, length);
    free(sealed);
    return 0;
}
