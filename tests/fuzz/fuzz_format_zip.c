/*
 * Reads any bytes as an archive: members that importers ask for, whole and as a stream of an array.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "format/npy_stream.h"
#include "format/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void read_members(const fr_zip *zip, const char *path)
{
    static const char *const names[] = {"x", "m", "adj_indptr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fr_npy_stream stream;
        char *member, file[32];
        size_t n;
        (void)snprintf(file, sizeof file, "%s.npy", names[i]);
        if (fr_zip_read(zip, file, &member, &n) == FR_OK)
            fr_free(member);
        if (fr_npy_stream_open(zip, path, names[i], &stream) != FR_OK)
            continue;
        double value;
        while (stream.n_left > 0 && fr_npy_stream_read(&stream, FR_F64, &value, 1) == FR_OK)
            ;
        if (fr_npy_stream_finish(&stream) == FR_OK && stream.n_left != 0)
            abort();
        fr_npy_stream_close(&stream);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64];
    fr_zip *zip = NULL;
    const int fd = memfd_create("zip", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fr_zip_open(path, &zip) == FR_OK)
        read_members(zip, path);
    else if (zip != NULL || fr_error_message()[0] == 0)
        abort();
    fr_zip_free(zip);
    if (fr_live_blocks() != 0)
        abort();
    (void)close(fd);
    return 0;
}
