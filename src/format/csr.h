/*
 * csr.h: compressed sparse rows as other people's files hold them, checked, in our types.
 */
#ifndef FR_FORMAT_CSR_H
#define FR_FORMAT_CSR_H

#include <frugal/tensor.h>

/** rows x columns; row i holds columns[indptr[i] .. indptr[i+1]) with values (1 where values is NULL). Owned arrays. */
typedef struct fr_csr {
    int64_t n_rows, n_columns;
    int64_t *indptr, *columns;
    float *values;
} fr_csr;

/** Takes copies of the three parts (any integer and float types), and checks monotone rows and columns in range.
 * `data` may be NULL. `what` names the matrix in the sentence. */
fr_status fr_csr_make(const char *what, int64_t n_rows, int64_t n_columns, const fr_tensor *indptr, const fr_tensor *columns, const fr_tensor *data, fr_csr *csr) FR_MUST_USE;
void fr_csr_release(fr_csr *csr); /* safe on a zeroed struct */

/** Writes row i densely into out[n_columns]; `normalise` divides by the row's sum where that is not 0. */
void fr_csr_dense_row(const fr_csr *csr, int64_t i, bool normalise, float *out);
/** Divides each row of a dense matrix by its sum where that is not 0. */
void fr_normalise_rows(float *rows, int64_t n, int64_t width);

#endif
