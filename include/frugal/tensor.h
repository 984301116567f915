/*
 * tensor.h: element types, shapes and strided views of memory.
 *
 * A tensor is a view: dtype, shape, strides (in elements) and a pointer. fr_tensor_create makes one
 * that owns its memory; fr_tensor_view wraps the caller's. Rows are contiguous unless a view says
 * otherwise. Stable.
 *
 *     fr_tensor x = {0};
 *     fr_tensor_create(FR_F32, 2, (int64_t[]){3, 4}, &x);    // zeros
 *     ((float *)x.data)[0] = 1;
 *     fr_tensor_release(&x);
 */
#ifndef FRUGAL_TENSOR_H
#define FRUGAL_TENSOR_H

#include <frugal/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FR_MAX_RANK = 8 };

/* One table of element types: name, number (as stored in files, never reused), bytes, text. */
#define FR_DTYPE_TABLE(X)                                                                          \
    X(FR_F32, 1, 4, "f32")                                                                         \
    X(FR_F64, 2, 8, "f64")                                                                         \
    X(FR_BF16, 3, 2, "bf16")                                                                       \
    X(FR_F16, 4, 2, "f16")                                                                         \
    X(FR_F8E4M3, 5, 1, "f8e4m3")                                                                   \
    X(FR_I8, 6, 1, "i8")                                                                           \
    X(FR_U8, 7, 1, "u8")                                                                           \
    X(FR_I32, 8, 4, "i32")                                                                         \
    X(FR_I64, 9, 8, "i64")                                                                         \
    X(FR_U32, 10, 4, "u32")                                                                        \
    X(FR_U64, 11, 8, "u64")                                                                        \
    X(FR_BOOL, 12, 1, "bool")

typedef enum fr_dtype {
    FR_NO_DTYPE = 0,
#define FR_DTYPE_ENUM(name, number, bytes, text) name = number,
    FR_DTYPE_TABLE(FR_DTYPE_ENUM)
#undef FR_DTYPE_ENUM
} fr_dtype;

/** Bytes of one element; 0 for a number that is no dtype. */
FR_API size_t fr_dtype_bytes(fr_dtype dtype);
/** "f32"; "?" for none. */
FR_API const char *fr_dtype_name(fr_dtype dtype);
/** The dtype called `name`, FR_NO_DTYPE for none. */
FR_API fr_dtype fr_dtype_from_name(const char *name);
FR_API bool fr_dtype_is_float(fr_dtype dtype);

/** How several values become one. */
typedef enum fr_reduction { FR_SUM, FR_MEAN, FR_MAX } fr_reduction;

typedef struct fr_tensor {
    fr_dtype dtype;
    int rank;
    int64_t shape[FR_MAX_RANK];
    int64_t stride[FR_MAX_RANK]; /* in elements */
    void *data;
    void *owned; /* what fr_tensor_release frees; NULL for a view */
} fr_tensor;

/** A zeroed contiguous tensor that owns its memory (64-byte aligned).
 * @return FR_OK; FR_ESHAPE a negative size, a rank above FR_MAX_RANK, or a product that overflows;
 * FR_ENOMEM */
FR_API fr_status fr_tensor_create(fr_dtype dtype, int rank, const int64_t *shape,
                                  fr_tensor *tensor);

/** A contiguous view of the caller's memory, which must outlive it. Errors as fr_tensor_create. */
FR_API fr_status fr_tensor_view(fr_dtype dtype, int rank, const int64_t *shape, void *data,
                                fr_tensor *view);

/** Frees what the tensor owns and zeroes it; a view or a zeroed struct is fine. */
FR_API void fr_tensor_release(fr_tensor *tensor);

/** Number of elements (1 for rank 0). */
FR_API int64_t fr_tensor_count(const fr_tensor *tensor);
FR_API bool fr_tensor_is_contiguous(const fr_tensor *tensor);

/** Copies values of equal shape, converting the dtype (to integer types: rounds to nearest,
 * saturates). Strides of both are honoured. @return FR_ESHAPE where shapes differ */
FR_API fr_status fr_tensor_copy(const fr_tensor *from, fr_tensor *to);

/** Writes "f32 3x4" into buffer and returns it. */
FR_API const char *fr_tensor_text(const fr_tensor *tensor, char *buffer, size_t bytes);

/** Converts n contiguous elements between dtypes, as fr_tensor_copy. */
FR_API fr_status fr_convert(fr_dtype from_dtype, const void *from, fr_dtype to_dtype, void *to,
                            int64_t n);

/** Writes a tensor as .npy (format 1.0), atomically; reads one (any version, C or Fortran order,
 * little-endian, dtypes with a Frugal equal). The file's length is checked before memory is taken.
 * bf16 and f8 have no NumPy equal and are refused. */
FR_API fr_status fr_npy_write(const char *path, const fr_tensor *tensor);
FR_API fr_status fr_npy_read(const char *path, fr_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
