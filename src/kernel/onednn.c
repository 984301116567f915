/*
 * onednn.c: calls of oneDNN's C API, versions 2 and 3.
 *
 * Each call is made with the thread's OpenMP width set to 1 and put back afterwards. That costs two
 * stores; without it oneDNN would open a parallel region of its own where the caller is not in one.
 */
#include "kernel/onednn.h"

#include <inttypes.h>
#include <oneapi/dnnl/dnnl.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

/* Makes oneDNN stay on this thread; returns what to give to `leave_one_thread`. */
static int enter_one_thread(void)
{
#if defined(_OPENMP)
    const int before = omp_get_max_threads();
    if (before != 1)
        omp_set_num_threads(1);
    return before;
#else
    return 1;
#endif
}

static void leave_one_thread(int before)
{
#if defined(_OPENMP)
    if (before != 1)
        omp_set_num_threads(before);
#else
    (void)before;
#endif
}

/* A oneDNN failure as one of ours. */
static fr_status onednn_failed(dnnl_status_t code, const char *what)
{
    if (code == dnnl_out_of_memory)
        return fr_fail(FR_ENOMEM, "%s: oneDNN ran out of memory", what);
    if (code == dnnl_unimplemented)
        return fr_fail(FR_ENOTSUP, "%s: oneDNN has no implementation for these sizes", what);
    return fr_fail(FR_EINTERNAL, "%s: oneDNN returned status %d", what, (int)code);
}

fr_status fr_onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc)
{
    const int before = enter_one_thread();
    const dnnl_status_t code = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k,
                                          alpha, a, lda, b, ldb, beta, c, ldc);
    leave_one_thread(before);
    if (code != dnnl_success)
        return onednn_failed(code, "matrix product");
    return FR_OK;
}
