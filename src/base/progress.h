/*
 * progress.h: what people see of long work, and what programs read of it.
 *
 * The library never prints: it calls the sink that the caller gave. fr_progress draws a bar with
 * rate and time left on a terminal, plain lines (at most one in 5 s) elsewhere, nothing when
 * quiet.
 */
#ifndef FR_BASE_PROGRESS_H
#define FR_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct fr_progress {
    FILE *stream; /* NULL = quiet */
    bool terminal;
    const char *unit; /* "batches" */
    double started, last_shown;
    int64_t started_at; /* count at the start: a resumed run is not credited with it */
    int last_length;
} fr_progress;

/** `stream` NULL or quiet: nothing is ever shown. */
fr_progress fr_progress_start(FILE *stream, bool quiet, const char *unit, int64_t done_already);
/** Shows "label  [#####.....] 120/400 batches  31.2/s  9.0 s left". `label` may change per call. */
void fr_progress_update(fr_progress *progress, const char *label, int64_t done, int64_t total);
/** Clears the bar, so that a line can be printed; the next update draws it again. */
void fr_progress_clear(fr_progress *progress);

/** Monotonic seconds. */
double fr_seconds(void);
/** "1 h 02 min", "3 min 10 s", "12.3 s", "4.1 ms" into buffer; returns buffer. */
const char *fr_duration_text(double seconds, char *buffer, size_t bytes);
/** "1.21 GB", "512 B" (powers of 1000); returns buffer. */
const char *fr_bytes_text(int64_t n_bytes, char *buffer, size_t bytes);
/** "1,234,567"; returns buffer. */
const char *fr_count_text(int64_t n, char *buffer, size_t bytes);

#endif
