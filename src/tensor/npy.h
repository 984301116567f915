/*
 * npy.h: .npy bytes that lie in memory, such as a member of an .npz archive.
 */
#ifndef FR_TENSOR_NPY_H
#define FR_TENSOR_NPY_H

#include <frugal/tensor.h>

/** As fr_npy_read, from `length` bytes; `origin` names them in the sentence. The tensor owns a
 * copy. */
fr_status fr_npy_parse(const char *origin, const char *bytes, size_t length, fr_tensor *tensor);

#endif
