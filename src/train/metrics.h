/*
 * metrics.h: RUN/metrics.csv: one header line, then one line a record (private).
 */
#ifndef FR_TRAIN_METRICS_H
#define FR_TRAIN_METRICS_H

#include <frugal/status.h>
#include <stdint.h>

typedef struct fr_metrics {
    char *path; /* NULL: no columns, no file */
    char *line; /* scratch for one record */
    int n_columns;
    int64_t n_records;
    int64_t n_bytes; /* of the file: header and whole records */
} fr_metrics;

/** Writes a file of no records, atomically, over what may be there. */
fr_status fr_metrics_create(const char *path, const char *const *columns, int n_columns,
                            fr_metrics *metrics) FR_MUST_USE;
/** Reads what is there; a last line that a kill cut off is dropped.
 * @return FR_EINVAL columns differ (the first is named); FR_EFORMAT a record has too few or many
 * cells */
fr_status fr_metrics_open(const char *path, const char *const *columns, int n_columns,
                          fr_metrics *metrics) FR_MUST_USE;
fr_status fr_metrics_append(fr_metrics *metrics, const double *values, int n) FR_MUST_USE;
fr_status fr_metrics_truncate(fr_metrics *metrics, int64_t n) FR_MUST_USE;
void fr_metrics_close(fr_metrics *metrics); /* safe on a zeroed struct */

#endif
