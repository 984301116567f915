/*
 * lines.c: see lines.h. zlib's gzread passes plain files through, so one path serves both.
 */
#include "format/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

enum { START_BYTES = 1 << 20, MOST_LINE_BYTES = 1 << 24 };

struct fr_lines {
    char *path;
    gzFile file;
    int64_t length, number;
    char *buffer;
    size_t capacity, begin, end; /* unread text is buffer[begin .. end) */
    bool at_end;
};

fr_status fr_lines_open(const char *path, fr_lines **out)
{
    *out = NULL;
    fr_lines *lines;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *lines, "text reader", &lines));
    FR_TRY(fr_file_length(path, &lines->length)); /* also: a regular file, there */
    FR_TRY(fr_strdup(path, &lines->path));
    lines->capacity = START_BYTES;
    FR_TRY(fr_alloc(lines->capacity + 1, 1, "text buffer", &lines->buffer));
    lines->file = gzopen(path, "rbe");
    if (lines->file == NULL)
        FR_TRY(fr_fail_errno(errno, "%s", path));
    (void)gzbuffer(lines->file, 1 << 18);
    *out = lines;
    lines = NULL;
done:
    fr_lines_free(lines);
    return status;
}

void fr_lines_free(fr_lines *lines)
{
    if (lines == NULL)
        return;
    if (lines->file != NULL)
        (void)gzclose_r(lines->file);
    fr_free(lines->buffer);
    fr_free(lines->path);
    fr_free(lines);
}

int64_t fr_lines_number(const fr_lines *lines) { return lines->number; }
int64_t fr_lines_length(const fr_lines *lines) { return lines->length; }
int64_t fr_lines_position(const fr_lines *lines) { return (int64_t)gzoffset(lines->file); }
const char *fr_lines_path(const fr_lines *lines) { return lines->path; }

fr_status fr_lines_fail(const fr_lines *lines, fr_status status, const char *format, ...)
{
    char text[FR_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fr_fail(status, "%s:%" PRId64 ": %s", lines->path, lines->number, text);
}

/* Makes room and reads on; the unread text moves to the front. */
static fr_status fill(fr_lines *lines)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
    }
    if (lines->end == lines->capacity) {
        if (lines->capacity >= MOST_LINE_BYTES)
            return fr_fail(FR_EFORMAT, "%s:%" PRId64 ": the line is longer than %d bytes", lines->path, lines->number + 1, MOST_LINE_BYTES);
        FR_RETURN_IF_ERROR(fr_realloc(&lines->buffer, 2 * lines->capacity + 1, 1, "text buffer"));
        lines->capacity *= 2;
    }
    const int n = gzread(lines->file, lines->buffer + lines->end, (unsigned)(lines->capacity - lines->end));
    int error = Z_OK;
    const char *message = gzerror(lines->file, &error);
    if (n < 0 || (n == 0 && error != Z_OK && error != Z_STREAM_END)) {
        if (error == Z_ERRNO)
            return fr_fail_errno(errno, "%s: reading", lines->path);
        return fr_fail(FR_ECORRUPT, "%s: line %" PRId64 ": damaged gzip data: %s", lines->path, lines->number + 1, message);
    }
    lines->end += (size_t)n;
    lines->at_end = n == 0;
    return FR_OK;
}

fr_status fr_lines_next(fr_lines *lines, char **line)
{
    *line = NULL;
    size_t searched = 0;
    char *newline = NULL;
    for (;;) {
        char *text = lines->buffer + lines->begin;
        const size_t n = lines->end - lines->begin;
        newline = memchr(text + searched, '\n', n - searched);
        if (newline != NULL || lines->at_end)
            break;
        searched = n;
        FR_RETURN_IF_ERROR(fill(lines));
    }
    if (newline == NULL && lines->begin == lines->end)
        return FR_OK;
    char *text = lines->buffer + lines->begin;
    char *end = newline != NULL ? newline : lines->buffer + lines->end;
    lines->begin = newline != NULL ? (size_t)(newline + 1 - lines->buffer) : lines->end;
    lines->number++;
    if (memchr(text, '\0', (size_t)(end - text)) != NULL)
        return fr_lines_fail(lines, FR_EFORMAT, "holds a 0 byte: no text");
    *end = '\0';
    if (end > text && end[-1] == '\r')
        end[-1] = '\0';
    *line = text;
    return FR_OK;
}

bool fr_scan_int(const char **at, int64_t *value)
{
    const char *c = *at;
    const bool negative = *c == '-';
    c += negative || *c == '+';
    if (*c < '0' || *c > '9')
        return false;
    uint64_t number = 0;
    for (; *c >= '0' && *c <= '9'; c++) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (number > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *value = negative ? -(int64_t)number : (int64_t)number;
    *at = c;
    return true;
}

void fr_scan_separator(const char **at)
{
    const char *c = *at;
    while (*c == ' ' || *c == '\t')
        c++;
    if (*c == ',' || *c == ';')
        c++;
    while (*c == ' ' || *c == '\t')
        c++;
    *at = c;
}

int fr_split_csv(char *line, char **fields, int most)
{
    int n = 0;
    for (char *read = line;; read++) {
        if (n == most)
            return -2;
        char *write = read;
        fields[n++] = write;
        if (*read == '"') {
            for (read++;; read++) {
                if (*read == '\0')
                    return -1;
                if (*read == '"' && *++read != '"')
                    break; /* a doubled quote stands for one */
                *write++ = *read;
            }
        }
        while (*read != ',' && *read != '\0')
            *write++ = *read++;
        const bool last = *read == '\0';
        *write = '\0';
        if (last)
            return n;
    }
}
