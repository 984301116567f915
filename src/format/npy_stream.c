/*
 * npy_stream.c: see npy_stream.h. The header is the Python literal that NumPy writes:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * The product of the shape is compared with the member's length before anything is read.
 */
#include "format/npy_stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "format/lines.h"

enum { START_BYTES = 10, MOST_HEADER = 1 << 16, RAW_ELEMENTS = 1 << 13 };

static fr_dtype dtype_of(const char *descr)
{
    static const struct {
        const char *text;
        fr_dtype dtype;
    } types[] = {{"<f4'", FR_F32}, {"<f8'", FR_F64}, {"<f2'", FR_F16}, {"<i4'", FR_I32}, {"<i8'", FR_I64}, {"<u4'", FR_U32},
                 {"<u8'", FR_U64}, {"|i1'", FR_I8},  {"|u1'", FR_U8},  {"|b1'", FR_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(descr, types[i].text, 4) == 0)
            return types[i].dtype;
    return FR_NO_DTYPE;
}

/* What follows 'key': in the header; NULL where it is not there. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " ");
}

static bool parse_shape(const char *at, fr_npy_stream *s)
{
    if (*at++ != '(')
        return false;
    for (s->rank = 0;; s->rank++) {
        at += strspn(at, " ");
        if (*at == ')')
            return true;
        if (s->rank == FR_MAX_RANK || !fr_scan_int(&at, &s->shape[s->rank]) || s->shape[s->rank] < 0)
            return false;
        at += strspn(at, " ");
        if (*at != ',' && *at != ')')
            return false;
        at += *at == ',';
    }
}

static fr_status parse_header(const char *header, size_t data_bytes, fr_npy_stream *s)
{
    const char *descr = value_of(header, "'descr':"), *order = value_of(header, "'fortran_order':"), *shape = value_of(header, "'shape':");
    if (descr == NULL || order == NULL || shape == NULL || !parse_shape(shape, s))
        return fr_fail(FR_EFORMAT, "%s: \"%.60s\" is no header of an array", s->name, header);
    s->dtype = *descr == '\'' ? dtype_of(descr + 1) : FR_NO_DTYPE;
    if (s->dtype == FR_NO_DTYPE)
        return fr_fail(FR_ENOTSUP, "%s: element type %.8s is not read", s->name, descr);
    s->n_left = 1;
    int64_t n_bytes = 0;
    bool good = true;
    for (int d = 0; d < s->rank; d++)
        good = good && fr_multiply(s->n_left, s->shape[d], &s->n_left);
    if (!good || !fr_multiply(s->n_left, (int64_t)fr_dtype_bytes(s->dtype), &n_bytes) || (uint64_t)n_bytes != data_bytes)
        return fr_fail(FR_EFORMAT, "%s: the shape needs %" PRId64 " bytes, the member has %zu", s->name, n_bytes, data_bytes);
    if (strncmp(order, "False", 5) != 0 && s->rank > 1)
        return fr_fail(FR_ENOTSUP, "%s: is in Fortran order; save it with order=\"C\"", s->name);
    return FR_OK;
}

static fr_status read_header(fr_npy_stream *s)
{
    unsigned char start[START_BYTES + 2];
    char *header = NULL;
    fr_status status;
    FR_TRY(fr_zip_stream_read(s->zip, start, START_BYTES));
    if (memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: is no .npy array", s->name));
    size_t length = (size_t)start[8] | (size_t)start[9] << 8, before = START_BYTES;
    if (start[6] > 1) {
        FR_TRY(fr_zip_stream_read(s->zip, start + START_BYTES, 2));
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
        before += 2;
    }
    if (length > MOST_HEADER)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: has a header of %zu bytes, at most %d are read", s->name, length, MOST_HEADER));
    FR_TRY(fr_alloc(length + 1, 1, "header", &header));
    FR_TRY(fr_zip_stream_read(s->zip, header, length));
    FR_TRY(parse_header(header, (size_t)fr_zip_stream_length(s->zip) - before - length, s));
done:
    fr_free(header);
    return status;
}

fr_status fr_npy_stream_open(const fr_zip *zip, const char *path, const char *name, fr_npy_stream *s)
{
    *s = (fr_npy_stream){0};
    fr_status status;
    FR_TRY(fr_format(&s->name, "%s: %s.npy", path, name));
    const char *member = s->name + strlen(path) + 2;
    FR_TRY(fr_zip_stream_open(zip, member, &s->zip));
    FR_TRY(read_header(s));
    FR_TRY(fr_alloc(RAW_ELEMENTS, fr_dtype_bytes(s->dtype), "array", &s->raw));
done:
    if (status != FR_OK)
        fr_npy_stream_close(s);
    return status;
}

void fr_npy_stream_close(fr_npy_stream *s)
{
    fr_zip_stream_free(s->zip);
    fr_free(s->raw);
    fr_free(s->name);
    *s = (fr_npy_stream){0};
}

fr_status fr_npy_stream_read(fr_npy_stream *s, fr_dtype to, void *out, int64_t n)
{
    if (n > s->n_left)
        return fr_fail(FR_EFORMAT, "%s: %" PRId64 " elements are left, %" PRId64 " are asked for", s->name, s->n_left, n);
    char *at = out;
    while (n > 0) {
        const int64_t k = n < RAW_ELEMENTS ? n : RAW_ELEMENTS;
        FR_RETURN_IF_ERROR(fr_zip_stream_read(s->zip, s->raw, (size_t)k * fr_dtype_bytes(s->dtype)));
        FR_RETURN_IF_ERROR(fr_convert(s->dtype, s->raw, to, at, k));
        at += (size_t)k * fr_dtype_bytes(to);
        n -= k;
        s->n_left -= k;
    }
    return FR_OK;
}

fr_status fr_npy_stream_skip(fr_npy_stream *s, int64_t n)
{
    if (n > s->n_left)
        return fr_fail(FR_EFORMAT, "%s: %" PRId64 " elements are left, %" PRId64 " are passed over", s->name, s->n_left, n);
    for (; n > 0;) {
        const int64_t k = n < RAW_ELEMENTS ? n : RAW_ELEMENTS;
        FR_RETURN_IF_ERROR(fr_zip_stream_read(s->zip, s->raw, (size_t)k * fr_dtype_bytes(s->dtype)));
        n -= k;
        s->n_left -= k;
    }
    return FR_OK;
}

fr_status fr_npy_stream_finish(fr_npy_stream *s) { return fr_zip_stream_finish(s->zip); }
