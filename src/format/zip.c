/*
 * zip.c: see zip.h. Source: APPNOTE.TXT, "ZIP file format specification", sections 4.3 and 4.5.3 (ZIP64).
 *
 *     [local header, name, data] ... [central directory entry] ... [ZIP64 end] [end of central directory]
 *
 * All offsets are read as 64 bits and compared with the file's length before use.
 */
#include "format/zip.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

enum { END_BYTES = 22, MOST_COMMENT = 65535, ENTRY_BYTES = 46, LOCAL_BYTES = 30, ZIP64_END_BYTES = 56, LOCATOR_BYTES = 20, MOST_RATIO = 1032 };
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

static fr_status inflate_member(const fr_zip *zip, const char *name, const member *m, const char *from, char *to)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return fr_fail(FR_ENOMEM, "%s: %s: out of memory for unpacking", zip->path, name);
    unsigned char input[1 << 14];
    uint64_t taken = 0, made = 0;
    int result = Z_OK;
    while (result == Z_OK && (made < m->size || taken < m->stored)) {
        if (stream.avail_in == 0 && taken < m->stored) {
            const uint64_t left = m->stored - taken, n = left < sizeof input ? left : sizeof input;
            memcpy(input, from + taken, (size_t)n); /* zlib's pointer is not const */
            stream.next_in = input;
            stream.avail_in = (uInt)n;
            taken += n;
        }
        const uint64_t room = m->size - made;
        stream.next_out = (Bytef *)to + made;
        stream.avail_out = room < (1U << 30) ? (uInt)room : 1U << 30;
        const uInt before = stream.avail_out;
        result = inflate(&stream, Z_NO_FLUSH);
        made += before - stream.avail_out;
    }
    (void)inflateEnd(&stream);
    if (made != m->size || (result != Z_OK && result != Z_STREAM_END))
        return fr_fail(FR_ECORRUPT, "%s: %s unpacks to %" PRIu64 " bytes of %" PRIu64, zip->path, name, made, m->size);
    return FR_OK;
}

fr_status fr_zip_read(const fr_zip *zip, const char *name, char **bytes, size_t *length)
{
    *bytes = NULL;
    *length = 0;
    const member *m = find(zip, name);
    if (m == NULL)
        return fr_fail(FR_ENOENT, "%s: has no member %s", zip->path, name);
    FR_RETURN_IF_ERROR(check_member(zip, name, m));
    const char *local = bytes_at(zip, m->offset, LOCAL_BYTES);
    if (local == NULL || number(local, 4) != LOCAL_SIGNATURE)
        return fr_fail(FR_EFORMAT, "%s: %s: no local header at byte %" PRIu64, zip->path, name, m->offset);
    const char *data = bytes_at(zip, m->offset + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2), m->stored);
    if (data == NULL)
        return fr_fail(FR_EFORMAT, "%s: %s passes the end of the file", zip->path, name);
    char *block;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)m->size, 1, name, &block));
    fr_status status = FR_OK;
    if (m->method == 0)
        memcpy(block, data, (size_t)m->size);
    else
        status = inflate_member(zip, name, m, data, block);
    if (status == FR_OK && (uint32_t)crc32_z(0, (const Bytef *)block, (size_t)m->size) != m->crc)
        status = fr_fail(FR_ECORRUPT, "%s: %s does not match its checksum", zip->path, name);
    if (status != FR_OK) {
        fr_free(block);
        return status;
    }
    *bytes = block;
    *length = (size_t)m->size;
    return FR_OK;
}
