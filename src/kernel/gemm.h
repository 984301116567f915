/*
 * gemm.h: C = alpha * op(A) op(B) + beta * C, row-major.
 *
 * f32 by oneDNN's sgemm run on one thread per tile: tiles are cut by shape alone, and a long inner
 * dimension (weight gradients) is cut into a fixed number of partial products added in order, so
 * the bits do not depend on the number of threads. f64 is a plain blocked reference for gradient
 * checks.
 */
#ifndef FR_KERNEL_GEMM_H
#define FR_KERNEL_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_gemm {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a;
    int64_t lda; /* elements between rows as stored */
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    void *workspace; /* fr_gemm_workspace bytes; NULL where that is 0 */
    bool whole_k;    /* never cut k: for who runs tiles of rows in parallel already; needs no workspace */
} fr_gemm;

/** Scratch bytes of partial products; 0 for most shapes. Monotone in m, n, k. */
size_t fr_gemm_workspace(int64_t m, int64_t n, int64_t k, size_t element_bytes);
fr_status fr_gemm_f32(const fr_gemm *gemm);
fr_status fr_gemm_f64(const fr_gemm *gemm);

#endif
