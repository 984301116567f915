/*
 * rows.h: moving rows by number: gather, scatter, merge. Rows are bytes; only the sums know a
 * dtype. Parallel over rows (sums: over columns), prefetched.
 */
#ifndef FR_KERNEL_ROWS_H
#define FR_KERNEL_ROWS_H

#include <frugal/tensor.h>
#include <stdint.h>

/** out[i] = table[ids[i]]; ids are checked against n_rows before anything is copied. FR_ERANGE
 * names the id. */
fr_status fr_rows_gather_i64(const void *table, int64_t n_rows, int64_t row_stride_bytes,
                             int64_t row_bytes, const int64_t *ids, int64_t n, void *out);
fr_status fr_rows_gather_i32(const void *table, int64_t n_rows, int64_t row_stride_bytes,
                             int64_t row_bytes, const int32_t *ids, int64_t n, void *out);
/** table[ids[i]] = rows[i]; later ones win. */
fr_status fr_rows_scatter_i64(void *table, int64_t n_rows, int64_t row_stride_bytes,
                              int64_t row_bytes, const int64_t *ids, int64_t n, const void *rows);
/** table[ids[i]] += rows[i], in the order of i for every row; table is not zeroed first. */
fr_status fr_rows_add_i32(void *table, int64_t n_rows, fr_dtype dtype, int64_t width,
                          const int32_t *ids, int64_t n, const void *rows);
fr_status fr_rows_add_i64(void *table, int64_t n_rows, fr_dtype dtype, int64_t width,
                          const int64_t *ids, int64_t n, const void *rows);
/** out[i] = position[i] >= 0 ? computed[position[i]] : cached[-1 - position[i]]. */
fr_status fr_rows_merge(const void *computed, int64_t n_computed, const void *cached,
                        int64_t n_cached, const int32_t *position, int64_t n, int64_t row_bytes,
                        void *out);

#endif
