/*
 * Reads any bytes as lines, plain or gzip, and splits each as CSV and as numbers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void split(char *line)
{
    char *fields[16];
    const char *at = line, *end = line + strlen(line);
    int64_t value;
    while (fr_scan_int(&at, &value))
        fr_scan_separator(&at);
    if (at > end)
        abort();
    const int n = fr_split_csv(line, fields, 16);
    if (n < -2 || n == 0 || n > 16)
        abort();
    for (int i = 0; i < n; i++)
        if (fields[i] < line || fields[i] + strlen(fields[i]) > end)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64], *line = NULL;
    fr_lines *lines = NULL;
    const int fd = memfd_create("lines", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fr_lines_open(path, &lines) != FR_OK)
        abort();
    while (fr_lines_next(lines, &line) == FR_OK && line != NULL)
        split(line);
    fr_lines_free(lines);
    (void)close(fd);
    return 0;
}
