/*
 * csr.c: see csr.h.
 */
#include "format/csr.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

/* Any integer type into fresh i64; the source may be unaligned, so it is copied first. */
static fr_status take_integers(const char *what, const char *part, const fr_tensor *from, int64_t **out)
{
    const int64_t n = fr_tensor_count(from);
    void *aligned = NULL;
    fr_status status;
    if (fr_dtype_is_float(from->dtype) || from->rank != 1)
        return fr_fail(FR_EFORMAT, "%s: %s is no vector of integers", what, part);
    FR_TRY(fr_alloc((size_t)n, fr_dtype_bytes(from->dtype), part, &aligned));
    if (n > 0)
        memcpy(aligned, from->data, (size_t)n * fr_dtype_bytes(from->dtype));
    FR_TRY(fr_alloc((size_t)n, sizeof **out, part, out));
    FR_TRY(fr_convert(from->dtype, aligned, FR_I64, *out, n));
done:
    fr_free(aligned);
    return status;
}

static fr_status take_values(const char *what, const fr_tensor *from, float **out)
{
    const int64_t n = fr_tensor_count(from);
    void *aligned = NULL;
    fr_status status;
    FR_TRY(fr_alloc((size_t)n, fr_dtype_bytes(from->dtype), what, &aligned));
    if (n > 0)
        memcpy(aligned, from->data, (size_t)n * fr_dtype_bytes(from->dtype));
    FR_TRY(fr_alloc((size_t)n, sizeof **out, what, out));
    FR_TRY(fr_convert(from->dtype, aligned, FR_F32, *out, n));
done:
    fr_free(aligned);
    return status;
}

static fr_status check(const char *what, const fr_csr *csr, int64_t n_entries)
{
    if (csr->indptr[0] != 0 || csr->indptr[csr->n_rows] != n_entries)
        return fr_fail(FR_EFORMAT, "%s: rows run from %" PRId64 " to %" PRId64 ", there are %" PRId64 " entries", what, csr->indptr[0],
                       csr->indptr[csr->n_rows], n_entries);
    for (int64_t i = 0; i < csr->n_rows; i++)
        if (csr->indptr[i] > csr->indptr[i + 1])
            return fr_fail(FR_EFORMAT, "%s: row %" PRId64 " begins at %" PRId64 " and ends at %" PRId64, what, i, csr->indptr[i], csr->indptr[i + 1]);
    for (int64_t e = 0; e < n_entries; e++)
        if (csr->columns[e] < 0 || csr->columns[e] >= csr->n_columns)
            return fr_fail(FR_ERANGE, "%s: entry %" PRId64 " is in column %" PRId64 " of %" PRId64, what, e, csr->columns[e], csr->n_columns);
    return FR_OK;
}

fr_status fr_csr_make(const char *what, int64_t n_rows, int64_t n_columns, const fr_tensor *indptr, const fr_tensor *columns, const fr_tensor *data, fr_csr *csr)
{
    *csr = (fr_csr){.n_rows = n_rows, .n_columns = n_columns};
    const int64_t n_entries = fr_tensor_count(columns);
    fr_status status;
    if (n_rows < 0 || n_columns < 0 || fr_tensor_count(indptr) != n_rows + 1)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " x %" PRId64 " needs %" PRId64 " row ends, there are %" PRId64, what, n_rows, n_columns, n_rows + 1,
                       fr_tensor_count(indptr)));
    if (data != NULL && fr_tensor_count(data) != n_entries)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " columns for %" PRId64 " values", what, n_entries, fr_tensor_count(data)));
    FR_TRY(take_integers(what, "indptr", indptr, &csr->indptr));
    FR_TRY(take_integers(what, "indices", columns, &csr->columns));
    if (data != NULL)
        FR_TRY(take_values(what, data, &csr->values));
    FR_TRY(check(what, csr, n_entries));
done:
    if (status != FR_OK)
        fr_csr_release(csr);
    return status;
}

void fr_csr_release(fr_csr *csr)
{
    fr_free(csr->indptr);
    fr_free(csr->columns);
    fr_free(csr->values);
    *csr = (fr_csr){0};
}

void fr_normalise_rows(float *rows, int64_t n, int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < width; j++)
            sum += (double)rows[i * width + j];
        for (int64_t j = 0; j < width && sum != 0; j++)
            rows[i * width + j] = (float)((double)rows[i * width + j] / sum);
    }
}

void fr_csr_dense_row(const fr_csr *csr, int64_t i, bool normalise, float *out)
{
    memset(out, 0, (size_t)csr->n_columns * sizeof *out);
    for (int64_t e = csr->indptr[i]; e < csr->indptr[i + 1]; e++)
        out[csr->columns[e]] += csr->values != NULL ? csr->values[e] : 1.0F;
    if (normalise)
        fr_normalise_rows(out, 1, csr->n_columns);
}
