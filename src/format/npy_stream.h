/*
 * npy_stream.h: a .npy member of an .npz archive, element after element, without holding it.
 */
#ifndef FR_FORMAT_NPY_STREAM_H
#define FR_FORMAT_NPY_STREAM_H

#include <frugal/tensor.h>

#include "format/zip.h"

typedef struct fr_npy_stream {
    fr_zip_stream *zip;
    char *name; /* "FILE: MEMBER", for sentences */
    fr_dtype dtype;
    int rank;
    int64_t shape[FR_MAX_RANK];
    int64_t n_left; /* elements not yet read */
    void *raw;      /* elements as they lie in the file, before conversion */
} fr_npy_stream;

/** Opens member "NAME.npy"; C order only. @return FR_ENOENT, FR_EFORMAT, FR_ENOTSUP */
fr_status fr_npy_stream_open(const fr_zip *zip, const char *path, const char *name, fr_npy_stream *stream) FR_MUST_USE;
void fr_npy_stream_close(fr_npy_stream *stream); /* safe on a zeroed struct */
/** The next n elements as dtype `to` (as fr_convert does). @return FR_EFORMAT where fewer are left */
fr_status fr_npy_stream_read(fr_npy_stream *stream, fr_dtype to, void *out, int64_t n) FR_MUST_USE;
fr_status fr_npy_stream_skip(fr_npy_stream *stream, int64_t n) FR_MUST_USE;
/** Reads on to the end and compares the checksum. */
fr_status fr_npy_stream_finish(fr_npy_stream *stream) FR_MUST_USE;

#endif
