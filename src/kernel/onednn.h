/*
 * onednn.h: the only door to oneDNN, so that its versions 2 and 3 differ in one file.
 *
 * oneDNN brings its own OpenMP loops. Here every call runs on the calling thread alone, whatever the
 * thread settings, and callers cut the work into tiles themselves: by shape, so that the bits do
 * not depend on the number of threads.
 */
#ifndef FR_KERNEL_ONEDNN_H
#define FR_KERNEL_ONEDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** C = alpha * op(A) op(B) + beta * C, row-major, on one thread; m, n, k >= 1. */
fr_status fr_onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc);

#endif
