/*
 * metrics.c: a CSV file that is never seen with half a record by who reads it later.
 *
 * Invariant: n_bytes is the end of the last whole record. A record is one write at that offset, and
 * the system has it when the call returns, so a kill of the process loses nothing that was
 * recorded. A write that fails midway is cut off again. What a kill left behind n_bytes is dropped
 * by the next open. Cutting back writes a new file and renames it.
 *
 * The file is opened for each record: a record a second needs no descriptor kept, and a file that
 * somebody moved or edited meanwhile is noticed.
 */
#include "train/metrics.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

enum { CELL_BYTES = 32 }; /* %.17g takes at most 24 */
static const size_t most_file_bytes = (size_t)4 << 30;

void fr_metrics_close(fr_metrics *metrics)
{
    fr_free(metrics->path);
    fr_free(metrics->line);
    *metrics = (fr_metrics){0};
}

/* ---- header ---- */

/* The header line, with its line break, in a fresh string. */
static fr_status header_line(const char *const *columns, int n, char **line)
{
    size_t bytes = 1;
    *line = NULL;
    for (int i = 0; i < n; i++) {
        if (columns[i][0] == 0 || strpbrk(columns[i], ",\"\r\n") != NULL)
            return fr_fail(FR_EINVAL, "metrics: \"%s\" cannot be the name of a column", columns[i]);
        bytes += strlen(columns[i]) + 1;
    }
    FR_RETURN_IF_ERROR(fr_alloc(bytes, 1, "header of metrics", line));
    char *to = *line;
    for (int i = 0; i < n; i++) {
        memcpy(to, columns[i], strlen(columns[i]));
        to += strlen(columns[i]);
        *to++ = i < n - 1 ? ',' : '\n';
    }
    return FR_OK;
}

static fr_status start(const char *path, int n_columns, fr_metrics *metrics)
{
    *metrics = (fr_metrics){.n_columns = n_columns};
    FR_RETURN_IF_ERROR(
        fr_alloc((size_t)n_columns + 1, CELL_BYTES, "line of metrics", &metrics->line));
    return fr_strdup(path, &metrics->path);
}

fr_status fr_metrics_create(const char *path, const char *const *columns, int n_columns,
                            fr_metrics *metrics)
{
    char *header = NULL;
    fr_status status;
    *metrics = (fr_metrics){0};
    if (n_columns == 0)
        return FR_OK;
    FR_TRY(header_line(columns, n_columns, &header));
    FR_TRY(start(path, n_columns, metrics));
    FR_TRY(fr_file_write(path, header, strlen(header)));
    metrics->n_bytes = (int64_t)strlen(header);
done:
    fr_free(header);
    if (status != FR_OK)
        fr_metrics_close(metrics);
    return status;
}

/* ---- reading ---- */

/* Names the first column in which the file's header differs. */
static fr_status refuse_columns(const char *path, const char *text, const char *const *columns,
                                int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        const int there = (int)strcspn(text, ",\n");
        if ((size_t)there != strlen(columns[i]) || strncmp(text, columns[i], (size_t)there) != 0)
            return fr_fail(FR_EINVAL, "%s: column %d is \"%.*s\", asked is \"%s\"", path, i, there,
                           text, columns[i]);
        text += text[there] == ',' ? there + 1 : there;
    }
    return fr_fail(FR_EINVAL, "%s: has more columns than the %d asked", path, n_columns);
}

static int count_cells(const char *line, const char *end)
{
    int n = 1;
    for (; line < end; line++)
        n += *line == ',';
    return n;
}

/* Counts whole records, at most `most` of them; metrics->n_bytes becomes the end of the last. */
static fr_status count_records(fr_metrics *metrics, const char *text, size_t length, int64_t most)
{
    const char *line = text + metrics->n_bytes, *const end = text + length;
    metrics->n_records = 0;
    while (metrics->n_records < most && line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        if (line_end == NULL)
            break; /* cut off by a kill */
        const int n = count_cells(line, line_end);
        if (n != metrics->n_columns)
            return fr_fail(FR_EFORMAT, "%s: line %" PRId64 " has %d cells, the header %d",
                           metrics->path, metrics->n_records + 2, n, metrics->n_columns);
        metrics->n_records++;
        line = line_end + 1;
    }
    metrics->n_bytes = line - text;
    return FR_OK;
}

fr_status fr_metrics_open(const char *path, const char *const *columns, int n_columns,
                          fr_metrics *metrics)
{
    char *header = NULL, *text = NULL;
    size_t length = 0;
    fr_status status;
    *metrics = (fr_metrics){0};
    if (n_columns == 0)
        return FR_OK;
    FR_TRY(header_line(columns, n_columns, &header));
    FR_TRY(start(path, n_columns, metrics));
    FR_TRY(fr_file_read(path, most_file_bytes, &text, &length));
    assert(header != NULL && text != NULL);
    metrics->n_bytes = (int64_t)strlen(header);
    if (strncmp(text, header, strlen(header)) != 0)
        FR_TRY(refuse_columns(path, text, columns, n_columns));
    FR_TRY(count_records(metrics, text, length, INT64_MAX));
    if ((size_t)metrics->n_bytes < length)
        FR_TRY(fr_file_write(path, text, (size_t)metrics->n_bytes));
done:
    fr_free(header);
    fr_free(text);
    if (status != FR_OK)
        fr_metrics_close(metrics);
    return status;
}

/* ---- records ---- */

/* The shortest of three precisions that reads back as the same number, with a point in any locale.
 */
static size_t write_cell(char *to, double value)
{
    static const int digits[] = {6, 9, 17};
    if (isnan(value))
        return 0;
    for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
        (void)snprintf(to, CELL_BYTES, "%.*g", digits[i], value);
        if (strtod(to, NULL) == value)
            break;
    }
    const size_t bytes = strlen(to);
    for (size_t i = 0; i < bytes; i++)
        if (strchr("0123456789+-einf", to[i]) == NULL)
            to[i] = '.';
    return bytes;
}

static fr_status append_line(const fr_metrics *metrics, size_t bytes)
{
    struct stat about = {0};
    fr_status status;
    const int fd = fr_fault_due() ? -1 : open(metrics->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fr_fail_errno(errno, "%s: opening for a record", metrics->path);
    if (fr_fault_due() || fstat(fd, &about) != 0)
        FR_TRY(fr_fail_errno(errno, "%s", metrics->path));
    if (about.st_size != metrics->n_bytes)
        FR_TRY(fr_fail(FR_ECORRUPT,
                       "%s: has %" PRId64 " bytes, %" PRId64
                       " were written: changed by someone else",
                       metrics->path, (int64_t)about.st_size, metrics->n_bytes));
    status = fr_write_at(fd, metrics->path, metrics->line, bytes, metrics->n_bytes);
    if (status != FR_OK && ftruncate(fd, metrics->n_bytes) != 0)
        (void)fr_wrap(status, "%s: half a record stays at its end", metrics->path);
done:
    if (close(fd) != 0 && status == FR_OK)
        status = fr_fail_errno(errno, "%s: closing after a record", metrics->path);
    return status;
}

fr_status fr_metrics_append(fr_metrics *metrics, const double *values, int n)
{
    if (n != metrics->n_columns || n == 0)
        return fr_fail(FR_ESHAPE, "metrics: a record of %d values, the run has %d columns", n,
                       metrics->n_columns);
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += write_cell(metrics->line + bytes, values[i]);
        metrics->line[bytes++] = i < n - 1 ? ',' : '\n';
    }
    FR_RETURN_IF_ERROR(append_line(metrics, bytes));
    metrics->n_bytes += (int64_t)bytes;
    metrics->n_records++;
    return FR_OK;
}

fr_status fr_metrics_truncate(fr_metrics *metrics, int64_t n)
{
    char *text = NULL;
    size_t length = 0;
    fr_status status;
    if (n < 0 || n > metrics->n_records)
        return fr_fail(FR_ERANGE, "metrics: cutting back to %" PRId64 " of %" PRId64 " records", n,
                       metrics->n_records);
    if (n == metrics->n_records)
        return FR_OK;
    fr_metrics cut = *metrics;
    FR_TRY(fr_file_read(metrics->path, most_file_bytes, &text, &length));
    const char *header_end = memchr(text, '\n', length);
    if (header_end == NULL)
        FR_TRY(fr_fail(FR_ECORRUPT, "%s: has no header any more", metrics->path));
    cut.n_bytes = header_end + 1 - text;
    FR_TRY(count_records(&cut, text, length, n));
    if (cut.n_records != n)
        FR_TRY(fr_fail(FR_ECORRUPT, "%s: holds %" PRId64 " records, fewer than were written",
                       metrics->path, cut.n_records));
    FR_TRY(fr_file_write(metrics->path, text, (size_t)cut.n_bytes));
    metrics->n_bytes = cut.n_bytes;
    metrics->n_records = n;
done:
    fr_free(text);
    return status;
}
