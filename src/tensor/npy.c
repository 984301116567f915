/*
 * npy.c: NumPy's .npy files.
 *
 *     "\x93NUMPY" | major, minor | header length (2 bytes in 1.x, 4 in 2.x and 3.x) | header | data
 *     header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and spaces up to a
 * newline
 *
 * The header is a Python literal; exactly these three keys are read, in any order, and anything
 * else is an error. Nothing is allocated before the data's length, computed from the header, was
 * found equal to what the file holds. The writer pads the header so that the data starts at a
 * multiple of 64 bytes.
 *
 * Source: NumPy enhancement proposal 1, "A simple file format for NumPy arrays".
 */
#include <frugal/tensor.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tensor/npy.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies little-endian data as it is"
#endif

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, ALIGN_BYTES = 64, HEADER_BYTES = 512 };

static const struct {
    fr_dtype dtype;
    char kind;
    char bytes;
} numpy_types[] = {
    {FR_F32, 'f', '4'}, {FR_F64, 'f', '8'},  {FR_F16, 'f', '2'}, {FR_I8, 'i', '1'},
    {FR_U8, 'u', '1'},  {FR_I32, 'i', '4'},  {FR_I64, 'i', '8'}, {FR_U32, 'u', '4'},
    {FR_U64, 'u', '8'}, {FR_BOOL, 'b', '1'},
};
enum { N_NUMPY_TYPES = sizeof numpy_types / sizeof *numpy_types };

/* ---- writing ---- */

/* The magic, version, length and padded header of a tensor, into `out`; returns its bytes. */
static size_t print_header(const fr_tensor *tensor, int type, char out[HEADER_BYTES])
{
    const size_t start = MAGIC_BYTES + 4;
    const char bytes = numpy_types[type].bytes;
    int used = snprintf(out + start, HEADER_BYTES - start,
                        "{'descr': '%c%c%c', 'fortran_order': False, 'shape': (",
                        bytes == '1' ? '|' : '<', numpy_types[type].kind, bytes);
    size_t end = start + (size_t)used;
    for (int d = 0; d < tensor->rank; d++) {
        /* A tuple of one is written "(3,)". */
        const char *separator = tensor->rank == 1 ? "," : d + 1 < tensor->rank ? ", " : "";
        used =
            snprintf(out + end, HEADER_BYTES - end, "%" PRId64 "%s", tensor->shape[d], separator);
        end += (size_t)used;
    }
    used = snprintf(out + end, HEADER_BYTES - end, "), }");
    end += (size_t)used;
    while ((end + 1) % ALIGN_BYTES != 0)
        out[end++] = ' ';
    out[end++] = '\n';
    memcpy(out, magic, MAGIC_BYTES);
    out[MAGIC_BYTES] = 1;
    out[MAGIC_BYTES + 1] = 0;
    out[MAGIC_BYTES + 2] = (char)((end - start) & 255);
    out[MAGIC_BYTES + 3] = (char)((end - start) >> 8);
    return end;
}

fr_status fr_npy_write(const char *path, const fr_tensor *tensor)
{
    int type = 0;
    while (type < N_NUMPY_TYPES && numpy_types[type].dtype != tensor->dtype)
        type++;
    if (type == N_NUMPY_TYPES)
        return fr_fail(FR_ENOTSUP, "%s: NumPy has no equal of dtype %s", path,
                       fr_dtype_name(tensor->dtype));
    char header[HEADER_BYTES];
    fr_tensor dense = {0};
    fr_file_writer *writer = NULL;
    fr_status status = FR_OK;
    const void *data = tensor->data;
    if (!fr_tensor_is_contiguous(tensor)) {
        FR_TRY(fr_tensor_create(tensor->dtype, tensor->rank, tensor->shape, &dense));
        FR_TRY(fr_tensor_copy(tensor, &dense));
        data = dense.data;
    }
    const size_t data_bytes = (size_t)fr_tensor_count(tensor) * fr_dtype_bytes(tensor->dtype);
    FR_TRY(fr_file_writer_open(path, &writer));
    FR_TRY(fr_file_writer_write(writer, header, print_header(tensor, type, header)));
    if (data_bytes > 0)
        FR_TRY(fr_file_writer_write(writer, data, data_bytes));
    fr_file_writer *const finished = writer;
    writer = NULL; /* commit frees it, also where it fails */
    FR_TRY(fr_file_writer_commit(finished));
done:
    fr_file_writer_abort(writer);
    fr_tensor_release(&dense);
    return status;
}

/* ---- reading ---- */

/* The header's text, read from left to right. */
typedef struct cursor {
    const char *at, *end;
    const char *path;
} cursor;

typedef struct header {
    fr_dtype dtype;
    bool fortran_order;
    int rank;
    int64_t shape[FR_MAX_RANK];
} header;

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Skips spaces and takes `word` where it stands next. */
static bool take(cursor *c, const char *word)
{
    skip_spaces(c);
    const size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static fr_status malformed(const cursor *c, const char *expected)
{
    return fr_fail(FR_EFORMAT, "%s: the npy header lacks %s where it says \"%.*s\"", c->path,
                   expected, (int)(c->end - c->at < 16 ? c->end - c->at : 16), c->at);
}

/* 'descr': one of the ten simple types; a list (a structured type) is refused. */
static fr_status read_descr(cursor *c, header *h)
{
    if (take(c, "["))
        return fr_fail(FR_ENOTSUP, "%s: structured npy types are not supported", c->path);
    if (!take(c, "'") && !take(c, "\""))
        return malformed(c, "a descr such as '<f4'");
    const char quote = c->at[-1], *const text = c->at; /* byte order, kind, bytes */
    while (c->at < c->end && *c->at != quote)
        c->at++;
    if (c->at == c->end)
        return malformed(c, "the quote after a descr");
    const int length = (int)(c->at - text < 32 ? c->at - text : 32);
    c->at++;
    for (int i = 0; length == 3 && i < N_NUMPY_TYPES; i++) {
        if (text[1] != numpy_types[i].kind || text[2] != numpy_types[i].bytes)
            continue;
        if (text[0] == '>' && text[2] != '1')
            return fr_fail(FR_ENOTSUP,
                           "%s: the data is big-endian ('%.3s'); only little-endian "
                           "is read",
                           c->path, text);
        if (text[0] == 0 ||
            strchr("<>|=", text[0]) == NULL) /* '>' of a single byte means nothing */
            break;
        h->dtype = numpy_types[i].dtype;
        return FR_OK;
    }
    return fr_fail(FR_ENOTSUP, "%s: dtype '%.*s' has no equal in Frugal", c->path, length, text);
}

static fr_status read_size(cursor *c, int64_t *size)
{
    skip_spaces(c);
    const char *const start = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c->at - '0', &value))
            return fr_fail(FR_EFORMAT, "%s: a size in the npy header exceeds 64 bits", c->path);
    if (c->at == start)
        return malformed(c, "a size of 0 or more");
    if (c->at < c->end && *c->at == 'L') /* Python 2 wrote long integers so */
        c->at++;
    *size = value;
    return FR_OK;
}

static fr_status read_shape(cursor *c, header *h)
{
    if (!take(c, "("))
        return malformed(c, "a shape such as (3, 4)");
    while (!take(c, ")")) {
        if (h->rank == FR_MAX_RANK)
            return fr_fail(FR_ENOTSUP, "%s: the array has more than %d dimensions", c->path,
                           FR_MAX_RANK);
        FR_RETURN_IF_ERROR(read_size(c, &h->shape[h->rank]));
        h->rank++;
        if (!take(c, ",")) {
            if (!take(c, ")"))
                return malformed(c, "a ',' or ')'");
            return h->rank > 1 ? FR_OK : malformed(c, "the ',' of a shape of one size");
        }
    }
    return FR_OK;
}

static fr_status read_dictionary(cursor *c, header *h)
{
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take(c, "{"))
        return malformed(c, "a '{'");
    while (!take(c, "}")) {
        if (!has_descr && take(c, "'descr':")) {
            has_descr = true;
            FR_RETURN_IF_ERROR(read_descr(c, h));
        } else if (!has_order && take(c, "'fortran_order':")) {
            has_order = true;
            h->fortran_order = take(c, "True");
            if (!h->fortran_order && !take(c, "False"))
                return malformed(c, "True or False");
        } else if (!has_shape && take(c, "'shape':")) {
            has_shape = true;
            FR_RETURN_IF_ERROR(read_shape(c, h));
        } else {
            return malformed(c, "one each of 'descr', 'fortran_order' and 'shape'");
        }
        if (!take(c, ",")) {
            if (!take(c, "}"))
                return malformed(c, "a ',' or '}'");
            break;
        }
    }
    skip_spaces(c);
    if (c->at != c->end)
        return malformed(c, "its end");
    if (!has_descr || !has_order || !has_shape)
        return fr_fail(FR_EFORMAT, "%s: the npy header lacks '%s'", c->path,
                       !has_descr   ? "descr"
                       : !has_order ? "fortran_order"
                                    : "shape");
    return FR_OK;
}

/* Finds the header and the data behind it; the file's length is what everything must fit. */
static fr_status read_frame(const char *path, const fr_mapping *file, cursor *c)
{
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    if (file->length < MAGIC_BYTES + 4 || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return fr_fail(FR_EFORMAT, "%s: no npy file: it does not begin with \\x93NUMPY", path);
    const int major = bytes[MAGIC_BYTES];
    if (major < 1 || major > 3)
        return fr_fail(FR_ENOTSUP, "%s: npy version %d.%d, this reads 1 to 3", path, major,
                       bytes[MAGIC_BYTES + 1]);
    const size_t length_bytes = major == 1 ? 2 : 4, start = MAGIC_BYTES + 2 + length_bytes;
    uint64_t length = 0;
    for (size_t i = 0; i < length_bytes && MAGIC_BYTES + 2 + i < file->length; i++)
        length |= (uint64_t)bytes[MAGIC_BYTES + 2 + i] << (8 * i);
    if (file->length < start || length > file->length - start)
        return fr_fail(FR_EFORMAT, "%s: its header should have %" PRIu64 " bytes, the file has %zu",
                       path, length, file->length);
    *c = (cursor){file->bytes + start, file->bytes + start + length, path};
    return FR_OK;
}

/* The data as a view of the mapping, in the order it is stored in. */
static fr_status view_data(const header *h, const fr_mapping *file, const cursor *c,
                           fr_tensor *view)
{
    const size_t held = (size_t)(file->bytes + file->length - c->end);
    FR_RETURN_IF_ERROR(
        fr_wrap(fr_tensor_view(h->dtype, h->rank, h->shape, NULL, view), "%s", c->path));
    const size_t needed = (size_t)fr_tensor_count(view) * fr_dtype_bytes(h->dtype);
    if (needed != held) {
        char text[192];
        return fr_fail(FR_EFORMAT, "%s: its header asks for %s, %zu bytes, but %zu follow", c->path,
                       fr_tensor_text(view, text, sizeof text), needed, held);
    }
    union { /* the copy only reads: a tensor has no const data pointer */
        const char *bytes;
        void *data;
    } start = {.bytes = c->end};
    view->data = start.data;
    if (h->fortran_order) {
        int64_t stride = 1;
        for (int d = 0; d < h->rank; d++) {
            view->stride[d] = stride;
            stride *= h->shape[d];
        }
    }
    return FR_OK;
}

fr_status fr_npy_parse(const char *origin, const char *bytes, size_t length, fr_tensor *tensor)
{
    *tensor = (fr_tensor){0};
    const fr_mapping file = {.bytes = bytes, .length = length};
    fr_tensor view = {0}, made = {0};
    header h = {0};
    cursor c = {0};
    fr_status status;
    FR_TRY(read_frame(origin, &file, &c));
    FR_TRY(read_dictionary(&c, &h));
    FR_TRY(view_data(&h, &file, &c, &view));
    FR_TRY(fr_wrap(fr_tensor_create(h.dtype, h.rank, h.shape, &made), "%s", origin));
    FR_TRY(fr_tensor_copy(&view, &made));
    *tensor = made;
    made = (fr_tensor){0};
done:
    fr_tensor_release(&made);
    return status;
}

fr_status fr_npy_read(const char *path, fr_tensor *tensor)
{
    *tensor = (fr_tensor){0};
    fr_mapping file = {0};
    FR_RETURN_IF_ERROR(fr_mapping_open(path, &file));
    const fr_status status = fr_npy_parse(path, file.bytes, file.length, tensor);
    fr_mapping_close(&file);
    return status;
}
