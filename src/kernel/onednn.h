/*
 * onednn.h: the only door to oneDNN, so that its versions 2 and 3 differ in one file.
 *
 * oneDNN brings its own OpenMP loops. A sum that crosses the cut between its threads would change
 * with their number, so such work is cut here, by shape, and each piece runs on one thread.
 */
#ifndef FR_KERNEL_ONEDNN_H
#define FR_KERNEL_ONEDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/convolution.h"

/** C = alpha * op(A) op(B) + beta * C, row-major, on one thread; m, n, k >= 1. */
fr_status fr_onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc);

typedef enum fr_convolution_kind {
    FR_CONVOLUTION_FORWARD,          /* a: x, b: w, result: y */
    FR_CONVOLUTION_BACKWARD_DATA,    /* a: dy, b: w, result: dx */
    FR_CONVOLUTION_BACKWARD_WEIGHTS, /* a: x, b: dy, result: dw */
} fr_convolution_kind;

/** Sizes are checked and none is 0; bias only for forward, may be NULL. *prepared as in
 * convolution.h. */
fr_status fr_onednn_convolution(fr_convolution_kind kind, const fr_convolution *convolution,
                                const float *a, const float *b, const float *bias, float *result,
                                void **prepared);
void fr_onednn_convolution_release(void *prepared);

#endif
