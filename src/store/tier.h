/*
 * tier.h: what a tier (RAM, later file, remote, hot cache) must do for store.c.
 *
 * A tier is a table of functions and its own state. store.c has checked every row number and
 * handles tickets and counts; a tier only moves rows. Functions may be called from several threads
 * at once; each tier guards itself.
 *
 * Invariant of reading ahead, kept by every tier: what `collect` gives are the rows as of the
 * collect, a scatter made in between included. So a training loop that reads step t + 1's rows
 * while step t updates them does not depend on timing.
 */
#ifndef FR_STORE_TIER_H
#define FR_STORE_TIER_H

#include <frugal/store.h>

#include "store/file_format.h"

/** What one call moved; added to the store's counts. */
typedef struct fr_tier_work {
    int64_t rows_read, bytes_read, pages_read, hits;
    double seconds_waited;
} fr_tier_work;

typedef struct fr_store_tier_functions {
    const char *name;
    fr_status (*gather)(void *tier, const int64_t *ids, int64_t n, void *out, fr_tier_work *work);
    /** Starts reading; ids belong to store.c and stay until collect or forget. *request is the
     * tier's own, may stay NULL. */
    fr_status (*prefetch)(void *tier, const int64_t *ids, int64_t n, void **request);
    /** Waits, copies, and ends the request, also on failure. */
    fr_status (*collect)(void *tier, void *request, const int64_t *ids, int64_t n, void *out,
                         fr_tier_work *work);
    /** Ends a request that nobody will collect. */
    void (*forget)(void *tier, void *request);
    fr_status (*scatter)(void *tier, const int64_t *ids, int64_t n, const void *rows);
    fr_status (*flush)(void *tier);
    const void *(*in_memory)(const void *tier); /* NULL where rows are not contiguous in RAM */
    void (*free)(void *tier);
} fr_store_tier_functions;

/** The RAM tier: a dense matrix. `path` NULL: zeros, no file behind. Else the file of this layout,
 * open as `fd`, is read; path is copied and flush writes there. */
fr_status fr_ram_tier_create(const fr_store_layout *layout, const char *path, int fd, void **tier);
extern const fr_store_tier_functions fr_ram_tier_functions;

#endif
