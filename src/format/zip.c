/*
 * zip.c: see zip.h. Source: APPNOTE.TXT, "ZIP file format specification", sections 4.3 and 4.5.3 (ZIP64).
 *
 *     [local header, name, data] ... [central directory entry] ... [ZIP64 end] [end of central directory]
 *
 * All offsets are read as 64 bits and compared with the file's length before use.
 */
#include "format/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

enum { END_BYTES = 22, MOST_COMMENT = 65535, ENTRY_BYTES = 46, LOCAL_BYTES = 30, ZIP64_END_BYTES = 56, LOCATOR_BYTES = 20, MOST_RATIO = 1032,
       INPUT_BYTES = 1 << 16, MOST_OUTPUT = 1 << 30 };
static const uint32_t END_SIGNATURE = 0x06054b50, ENTRY_SIGNATURE = 0x02014b50, LOCAL_SIGNATURE = 0x04034b50, LOCATOR_SIGNATURE = 0x07064b50,
                      ZIP64_END_SIGNATURE = 0x06064b50;

typedef struct member {
    const char *name;
    size_t name_length;
    int method, flags;
    uint32_t crc;
    uint64_t stored, size, offset;
} member;

struct fr_zip {
    char *path;
    fr_mapping file;
    member *members;
    int64_t n_members;
};

static uint64_t number(const char *at, int n_bytes)
{
    uint64_t value = 0;
    for (int i = n_bytes - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

/* `length` bytes at `offset`, NULL where the file has fewer. */
static const char *bytes_at(const fr_zip *zip, uint64_t offset, uint64_t length)
{
    if (offset > zip->file.length || length > zip->file.length - offset)
        return NULL;
    return zip->file.bytes + offset;
}

static fr_status find_end(const fr_zip *zip, uint64_t *end)
{
    const size_t length = zip->file.length;
    for (size_t back = END_BYTES; back <= length && back <= END_BYTES + MOST_COMMENT; back++)
        if (number(zip->file.bytes + length - back, 4) == END_SIGNATURE) {
            *end = length - back;
            return FR_OK;
        }
    return fr_fail(FR_EFORMAT, "%s: no zip archive: it has no end of central directory", zip->path);
}

/* Where the central directory lies and how many entries it has. */
static fr_status locate_directory(const fr_zip *zip, uint64_t *offset, uint64_t *count)
{
    uint64_t end;
    FR_RETURN_IF_ERROR(find_end(zip, &end));
    const char *e = zip->file.bytes + end;
    *count = number(e + 10, 2);
    *offset = number(e + 16, 4);
    if (*count != 0xFFFF && *offset != 0xFFFFFFFF)
        return FR_OK;
    const char *locator = end >= LOCATOR_BYTES ? bytes_at(zip, end - LOCATOR_BYTES, LOCATOR_BYTES) : NULL;
    const char *end64 = locator != NULL && number(locator, 4) == LOCATOR_SIGNATURE ? bytes_at(zip, number(locator + 8, 8), ZIP64_END_BYTES) : NULL;
    if (end64 == NULL || number(end64, 4) != ZIP64_END_SIGNATURE)
        return fr_fail(FR_EFORMAT, "%s: asks for a ZIP64 directory that is not there", zip->path);
    *count = number(end64 + 32, 8);
    *offset = number(end64 + 48, 8);
    return FR_OK;
}

/* Sizes of 0xFFFFFFFF stand in the ZIP64 extra field, in the order size, stored, offset. */
static void read_extra(const char *extra, size_t length, member *m)
{
    while (length >= 4) {
        const size_t n = (size_t)number(extra + 2, 2);
        if (n + 4 > length)
            return;
        if (number(extra, 2) == 1) {
            const char *at = extra + 4, *end = at + n;
            uint64_t *const wide[] = {&m->size, &m->stored, &m->offset};
            for (int i = 0; i < 3; i++)
                if (*wide[i] == 0xFFFFFFFF && end - at >= 8) {
                    *wide[i] = number(at, 8);
                    at += 8;
                }
        }
        extra += n + 4;
        length -= n + 4;
    }
}

static fr_status read_entry(const fr_zip *zip, uint64_t *offset, member *m)
{
    const char *e = bytes_at(zip, *offset, ENTRY_BYTES);
    if (e == NULL || number(e, 4) != ENTRY_SIGNATURE)
        return fr_fail(FR_EFORMAT, "%s: no directory entry at byte %" PRIu64, zip->path, *offset);
    const uint64_t name_length = number(e + 28, 2), extra_length = number(e + 30, 2), comment_length = number(e + 32, 2);
    const char *name = bytes_at(zip, *offset + ENTRY_BYTES, name_length + extra_length + comment_length);
    if (name == NULL)
        return fr_fail(FR_EFORMAT, "%s: the directory entry at byte %" PRIu64 " passes the end of the file", zip->path, *offset);
    *m = (member){.name = name,
                  .name_length = (size_t)name_length,
                  .flags = (int)number(e + 8, 2),
                  .method = (int)number(e + 10, 2),
                  .crc = (uint32_t)number(e + 16, 4),
                  .stored = number(e + 20, 4),
                  .size = number(e + 24, 4),
                  .offset = number(e + 42, 4)};
    read_extra(name + name_length, (size_t)extra_length, m);
    *offset += ENTRY_BYTES + name_length + extra_length + comment_length;
    return FR_OK;
}

fr_status fr_zip_open(const char *path, fr_zip **out)
{
    *out = NULL;
    fr_zip *zip;
    fr_status status;
    uint64_t offset, count;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *zip, "zip archive", &zip));
    FR_TRY(fr_strdup(path, &zip->path));
    FR_TRY(fr_mapping_open(path, &zip->file));
    FR_TRY(locate_directory(zip, &offset, &count));
    if (count > zip->file.length / ENTRY_BYTES)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: %" PRIu64 " members in %zu bytes", path, count, zip->file.length));
    FR_TRY(fr_alloc((size_t)count, sizeof *zip->members, "zip directory", &zip->members));
    for (; zip->n_members < (int64_t)count; zip->n_members++)
        FR_TRY(read_entry(zip, &offset, &zip->members[zip->n_members]));
    *out = zip;
    zip = NULL;
done:
    fr_zip_free(zip);
    return status;
}

void fr_zip_free(fr_zip *zip)
{
    if (zip == NULL)
        return;
    fr_mapping_close(&zip->file);
    fr_free(zip->members);
    fr_free(zip->path);
    fr_free(zip);
}

static const member *find(const fr_zip *zip, const char *name)
{
    for (int64_t i = 0; i < zip->n_members; i++)
        if (zip->members[i].name_length == strlen(name) && memcmp(zip->members[i].name, name, strlen(name)) == 0)
            return &zip->members[i];
    return NULL;
}

bool fr_zip_has(const fr_zip *zip, const char *name) { return find(zip, name) != NULL; }

static fr_status check_member(const fr_zip *zip, const char *name, const member *m)
{
    if ((m->flags & 1) != 0)
        return fr_fail(FR_ENOTSUP, "%s: %s is encrypted", zip->path, name);
    if (m->method != 0 && m->method != 8)
        return fr_fail(FR_ENOTSUP, "%s: %s is packed by method %d; stored (0) and deflate (8) are read", zip->path, name, m->method);
    if (m->stored > zip->file.length || (m->method == 0 && m->size != m->stored) || m->size / MOST_RATIO > m->stored)
        return fr_fail(FR_EFORMAT, "%s: %s says %" PRIu64 " bytes from %" PRIu64 " stored in a file of %zu", zip->path, name, m->size, m->stored,
                       zip->file.length);
    return FR_OK;
}

/* ---- members from front to back ---- */

struct fr_zip_stream {
    const char *name, *path;
    const member *member;
    int fd;
    z_stream inflater; /* method 8 */
    bool inflating;
    uint64_t data_offset, taken, made; /* stored bytes fetched, unpacked bytes handed out */
    uLong crc;
    unsigned char input[INPUT_BYTES];
};

static fr_status locate_data(const fr_zip *zip, const char *name, const member *m, uint64_t *offset)
{
    const char *local = bytes_at(zip, m->offset, LOCAL_BYTES);
    if (local == NULL || number(local, 4) != LOCAL_SIGNATURE)
        return fr_fail(FR_EFORMAT, "%s: %s: no local header at byte %" PRIu64, zip->path, name, m->offset);
    *offset = m->offset + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (bytes_at(zip, *offset, m->stored) == NULL)
        return fr_fail(FR_EFORMAT, "%s: %s passes the end of the file", zip->path, name);
    return FR_OK;
}

fr_status fr_zip_stream_open(const fr_zip *zip, const char *name, fr_zip_stream **out)
{
    *out = NULL;
    const member *m = find(zip, name);
    if (m == NULL)
        return fr_fail(FR_ENOENT, "%s: has no member %s", zip->path, name);
    FR_RETURN_IF_ERROR(check_member(zip, name, m));
    uint64_t offset;
    FR_RETURN_IF_ERROR(locate_data(zip, name, m, &offset));
    fr_zip_stream *stream;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *stream, "zip member", &stream));
    stream->fd = open(zip->path, O_RDONLY | O_CLOEXEC);
    if (stream->fd < 0)
        FR_TRY(fr_fail_errno(errno, "%s", zip->path));
    stream->path = zip->path;
    stream->member = m;
    stream->name = name;
    stream->data_offset = offset;
    if (m->method == 8 && inflateInit2(&stream->inflater, -MAX_WBITS) != Z_OK)
        FR_TRY(fr_fail(FR_ENOMEM, "%s: %s: out of memory for unpacking", zip->path, name));
    stream->inflating = m->method == 8;
    *out = stream;
    stream = NULL;
    status = FR_OK;
done:
    fr_zip_stream_free(stream);
    return status;
}

void fr_zip_stream_free(fr_zip_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->inflating)
        (void)inflateEnd(&stream->inflater);
    if (stream->fd >= 0)
        (void)close(stream->fd); /* only read */
    fr_free(stream);
}

uint64_t fr_zip_stream_length(const fr_zip_stream *stream) { return stream->member->size; }

/* Unpacks exactly n bytes. */
static fr_status inflate_bytes(fr_zip_stream *s, unsigned char *to, uint64_t n)
{
    z_stream *z = &s->inflater;
    uint64_t done = 0;
    while (done < n) {
        if (z->avail_in == 0 && s->taken < s->member->stored) {
            const uint64_t left = s->member->stored - s->taken, k = left < INPUT_BYTES ? left : INPUT_BYTES;
            FR_RETURN_IF_ERROR(fr_read_at(s->fd, s->path, s->input, (size_t)k, (int64_t)(s->data_offset + s->taken)));
            z->next_in = s->input;
            z->avail_in = (uInt)k;
            s->taken += k;
        }
        const uint64_t room = n - done;
        z->next_out = to + done;
        z->avail_out = room < MOST_OUTPUT ? (uInt)room : MOST_OUTPUT;
        const uInt before = z->avail_out;
        const int result = inflate(z, Z_NO_FLUSH);
        done += before - z->avail_out;
        if (done < n && (result != Z_OK || (z->avail_in == 0 && z->avail_out == before && s->taken == s->member->stored)))
            return fr_fail(FR_ECORRUPT, "%s: %s: damaged: unpacking stops at byte %" PRIu64 " of %" PRIu64, s->path, s->name, s->made + done,
                           s->member->size);
    }
    return FR_OK;
}

fr_status fr_zip_stream_read(fr_zip_stream *s, void *bytes, size_t n)
{
    if (n > s->member->size - s->made)
        return fr_fail(FR_EFORMAT, "%s: %s ends at byte %" PRIu64 ", %zu bytes more are expected", s->path, s->name, s->member->size,
                       n - (size_t)(s->member->size - s->made));
    if (n == 0)
        return FR_OK;
    if (s->inflating)
        FR_RETURN_IF_ERROR(inflate_bytes(s, bytes, n));
    else
        FR_RETURN_IF_ERROR(fr_read_at(s->fd, s->path, bytes, n, (int64_t)(s->data_offset + s->made)));
    s->crc = crc32_z(s->crc, bytes, n);
    s->made += n;
    return FR_OK;
}

fr_status fr_zip_stream_finish(fr_zip_stream *s)
{
    unsigned char rest[4096];
    while (s->made < s->member->size) {
        const uint64_t left = s->member->size - s->made;
        FR_RETURN_IF_ERROR(fr_zip_stream_read(s, rest, left < sizeof rest ? (size_t)left : sizeof rest));
    }
    if ((uint32_t)s->crc != s->member->crc)
        return fr_fail(FR_ECORRUPT, "%s: %s has checksum %08" PRIx32 ", the archive says %08" PRIx32, s->path, s->name, (uint32_t)s->crc,
                       s->member->crc);
    return FR_OK;
}

fr_status fr_zip_read(const fr_zip *zip, const char *name, char **bytes, size_t *length)
{
    *bytes = NULL;
    *length = 0;
    fr_zip_stream *stream = NULL;
    char *block = NULL;
    fr_status status;
    FR_TRY(fr_zip_stream_open(zip, name, &stream));
    const size_t n = (size_t)fr_zip_stream_length(stream);
    FR_TRY(fr_alloc(n, 1, name, &block));
    FR_TRY(fr_zip_stream_read(stream, block, n));
    FR_TRY(fr_zip_stream_finish(stream));
    *bytes = block;
    *length = n;
    block = NULL;
done:
    fr_free(block);
    fr_zip_stream_free(stream);
    return status;
}
