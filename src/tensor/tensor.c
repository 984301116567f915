/*
 * tensor.c: making, viewing, describing and copying strided tensors.
 *
 * Invariant of every tensor made here: each size is at least 0 and the product of the sizes (a
 * size of 0 counted as 1) times the element's bytes fits the address space, so that no later
 * index arithmetic can overflow. Strides count elements; a stride of 0 repeats, a negative one
 * walks backwards: both may stand in a view that the caller writes by hand.
 *
 * A copy walks the outer dimensions and treats the innermost one in blocks: pack the strided
 * elements of a block, convert it (convert.c), unpack it. Elements move by memcpy, so a view of a
 * file's bytes may be misaligned.
 */
#include <frugal/tensor.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* What is known of each dtype, at its number; the gap at FR_NO_DTYPE has no name. */
static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define ENTRY(dtype, number, size, text) [number] = {.name = (text), .bytes = (size)},
    FR_DTYPE_TABLE(ENTRY)
#undef ENTRY
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

static bool is_dtype(fr_dtype dtype)
{
    return (unsigned)dtype < N_DTYPES && dtypes[dtype].name != NULL;
}

size_t fr_dtype_bytes(fr_dtype dtype) { return is_dtype(dtype) ? dtypes[dtype].bytes : 0; }

const char *fr_dtype_name(fr_dtype dtype) { return is_dtype(dtype) ? dtypes[dtype].name : "?"; }

fr_dtype fr_dtype_from_name(const char *name)
{
    for (int i = 0; name != NULL && i < N_DTYPES; i++)
        if (dtypes[i].name != NULL && strcmp(name, dtypes[i].name) == 0)
            return (fr_dtype)i;
    return FR_NO_DTYPE;
}

bool fr_dtype_is_float(fr_dtype dtype)
{
    return dtype == FR_F32 || dtype == FR_F64 || dtype == FR_BF16 || dtype == FR_F16 ||
           dtype == FR_F8E4M3;
}

/* Fills dtype, rank, shape and row-major strides; leaves data and owned alone. */
static fr_status describe(fr_dtype dtype, int rank, const int64_t *shape, fr_tensor *tensor)
{
    const size_t bytes = fr_dtype_bytes(dtype);
    if (bytes == 0)
        return fr_fail(FR_EDTYPE, "tensor: %d is no dtype", (int)dtype);
    if (rank < 0 || rank > FR_MAX_RANK)
        return fr_fail(FR_ESHAPE, "tensor: rank %d is not within 0..%d", rank, FR_MAX_RANK);
    fr_tensor result = {.dtype = dtype, .rank = rank};
    int64_t stride = 1, total;
    for (int d = rank - 1; d >= 0; d--) {
        if (shape[d] < 0)
            return fr_fail(FR_ESHAPE, "tensor: dimension %d has size %" PRId64 ", below 0", d,
                           shape[d]);
        result.shape[d] = shape[d];
        result.stride[d] = stride;
        if (!fr_multiply(stride, shape[d] > 0 ? shape[d] : 1, &stride))
            return fr_fail(FR_ESHAPE,
                           "tensor: the product of the sizes from dimension %d on "
                           "overflows",
                           d);
    }
    if (!fr_multiply(stride, (int64_t)bytes, &total))
        return fr_fail(FR_ESHAPE, "tensor: %" PRId64 " elements of %zu bytes overflow", stride,
                       bytes);
    *tensor = result;
    return FR_OK;
}

fr_status fr_tensor_create(fr_dtype dtype, int rank, const int64_t *shape, fr_tensor *tensor)
{
    *tensor = (fr_tensor){0};
    fr_tensor made = {0};
    FR_RETURN_IF_ERROR(describe(dtype, rank, shape, &made));
    const size_t bytes = fr_dtype_bytes(dtype), count = (size_t)fr_tensor_count(&made);
    FR_RETURN_IF_ERROR(fr_alloc_aligned(count, bytes, "tensor", &made.owned));
    memset(made.owned, 0, count * bytes);
    made.data = made.owned;
    *tensor = made;
    return FR_OK;
}

fr_status fr_tensor_view(fr_dtype dtype, int rank, const int64_t *shape, void *data,
                         fr_tensor *view)
{
    *view = (fr_tensor){0};
    FR_RETURN_IF_ERROR(describe(dtype, rank, shape, view));
    view->data = data;
    return FR_OK;
}

void fr_tensor_release(fr_tensor *tensor)
{
    if (tensor == NULL)
        return;
    fr_free(tensor->owned);
    *tensor = (fr_tensor){0};
}

int64_t fr_tensor_count(const fr_tensor *tensor)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++)
        count *= tensor->shape[d];
    return count;
}

bool fr_tensor_is_contiguous(const fr_tensor *tensor)
{
    int64_t expected = 1;
    if (fr_tensor_count(tensor) == 0)
        return true;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->shape[d] != 1 && tensor->stride[d] != expected)
            return false;
        expected *= tensor->shape[d];
    }
    return true;
}

const char *fr_tensor_text(const fr_tensor *tensor, char *buffer, size_t bytes)
{
    if (bytes == 0)
        return buffer;
    size_t used = 0;
    (void)snprintf(buffer, bytes, "%s%s", fr_dtype_name(tensor->dtype),
                   tensor->rank == 0 ? " scalar" : "");
    for (int d = 0; d < tensor->rank; d++) {
        used = strlen(buffer);
        (void)snprintf(buffer + used, bytes - used, "%s%" PRId64, d == 0 ? " " : "x",
                       tensor->shape[d]);
    }
    return buffer;
}

/* ---- strided copies ---- */

enum { BLOCK = 256 }; /* elements converted at a time: 2 x 2 KiB of scratch on the stack */

/* Moves n elements of `bytes` bytes; strides in bytes, either may be the dense one. */
static void move_strided(const char *from, int64_t from_stride, char *to, int64_t to_stride,
                         size_t bytes, int64_t n)
{
    switch (bytes) { /* a constant size lets memcpy become one load and one store */
    case 1:
        for (int64_t i = 0; i < n; i++)
            to[i * to_stride] = from[i * from_stride];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 4);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 8);
        break;
    }
}

/* One innermost run of n elements, block by block. */
static fr_status copy_run(const fr_tensor *from, const char *source, int64_t from_stride,
                          const fr_tensor *to, char *target, int64_t to_stride, int64_t n)
{
    _Alignas(8) char packed[BLOCK * 8], converted[BLOCK * 8];
    const size_t from_bytes = fr_dtype_bytes(from->dtype), to_bytes = fr_dtype_bytes(to->dtype);
    for (int64_t done = 0; done < n; done += BLOCK) {
        const int64_t block = n - done < BLOCK ? n - done : BLOCK;
        move_strided(source + done * from_stride, from_stride, packed, (int64_t)from_bytes,
                     from_bytes, block);
        FR_RETURN_IF_ERROR(fr_convert(from->dtype, packed, to->dtype, converted, block));
        move_strided(converted, (int64_t)to_bytes, target + done * to_stride, to_stride, to_bytes,
                     block);
    }
    return FR_OK;
}

fr_status fr_tensor_copy(const fr_tensor *from, fr_tensor *to)
{
    bool equal = from->rank == to->rank;
    for (int d = 0; equal && d < from->rank; d++)
        equal = from->shape[d] == to->shape[d];
    if (!equal) {
        char a[128], b[128];
        return fr_fail(FR_ESHAPE, "copy: %s into %s", fr_tensor_text(from, a, sizeof a),
                       fr_tensor_text(to, b, sizeof b));
    }
    const int64_t count = fr_tensor_count(from);
    if (count == 0 || (fr_tensor_is_contiguous(from) && fr_tensor_is_contiguous(to)))
        return fr_convert(from->dtype, from->data, to->dtype, to->data, count);

    const int64_t from_bytes = (int64_t)fr_dtype_bytes(from->dtype);
    const int64_t to_bytes = (int64_t)fr_dtype_bytes(to->dtype);
    const int last = from->rank - 1; /* a rank of 0 is contiguous, so there is a last dimension */
    int64_t index[FR_MAX_RANK] = {0};
    const char *source = from->data;
    char *target = to->data;
    for (;;) {
        FR_RETURN_IF_ERROR(copy_run(from, source, from->stride[last] * from_bytes, to, target,
                                    to->stride[last] * to_bytes, from->shape[last]));
        int d = last - 1;
        for (; d >= 0; d--) { /* an odometer over the outer dimensions */
            source += from->stride[d] * from_bytes;
            target += to->stride[d] * to_bytes;
            if (++index[d] < from->shape[d])
                break;
            source -= from->stride[d] * from_bytes * from->shape[d];
            target -= to->stride[d] * to_bytes * to->shape[d];
            index[d] = 0;
        }
        if (d < 0)
            return FR_OK;
    }
}
