/*
 * store.h: tables of rows in tiers behind one interface.
 *
 * A store is n_rows x width elements of one dtype. Node features, historical embeddings, Engram
 * tables and any table of a user are stores; who reads one does not know the tier.
 *
 *     fr_store *features;
 *     fr_store_open("G.frgraph/features.bin", NULL, &features);
 *     fr_store_gather(features, ids, n, rows);            // or, early:
 *     fr_store_prefetch(features, next_ids, m, &ticket);  // ... compute ...
 *     fr_store_collect(features, ticket, next_rows);
 *
 * A store file is a page of header (magic "FRROWS1", dtype, rows_per_page, n_rows, width, row_bytes,
 * stride_bytes) and pages of rows; a row never straddles a page unless it is longer than one. See
 * docs/formats.md. Stable: opening, gather, prefetch, scatter, stats.
 *
 * Tiers now: RAM. The file tier comes behind the same calls.
 */
#ifndef FRUGAL_STORE_H
#define FRUGAL_STORE_H

#include <frugal/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_store fr_store;

typedef enum fr_store_tier { FR_TIER_AUTO, FR_TIER_RAM, FR_TIER_FILE } fr_store_tier;

typedef struct fr_store_options {
    fr_store_tier tier;   /* AUTO: RAM where the table fits the budget */
    int64_t memory_bytes; /* budget of this store; 0 = no limit */
    bool writable;        /* scatter is allowed and flush writes back */
} fr_store_options;

typedef struct fr_store_stats {
    int64_t rows_asked;   /* by gather, prefetch and scatter, doubles included */
    int64_t rows_read;    /* after dropping doubles within a call where the tier does so */
    int64_t bytes_read;   /* moved out of the tier */
    int64_t rows_written;
    int64_t pages_read;   /* file tier */
    int64_t hits;         /* hot-row cache */
    double seconds_waited;
} fr_store_stats;

/** A zeroed table in RAM, 64-byte aligned, rows contiguous. */
FR_API fr_status fr_store_create(fr_dtype dtype, int64_t n_rows, int64_t width, fr_store **store);
/** Opens a store file. The header is checked against the file's length before memory is taken; with the RAM
 * tier the rows are read into memory. NULL options: all zero.
 * @return FR_EFORMAT, FR_EIO, FR_ENOMEM (also: does not fit memory_bytes), FR_ENOTSUP a tier not built */
FR_API fr_status fr_store_open(const char *path, const fr_store_options *options, fr_store **store);
FR_API void fr_store_free(fr_store *store); /* NULL-safe; does not flush */

FR_API int64_t fr_store_rows(const fr_store *store);
FR_API int64_t fr_store_width(const fr_store *store);
FR_API fr_dtype fr_store_dtype(const fr_store *store);
/** The table itself where it lies in RAM with contiguous rows, else NULL: for who can read in place. */
FR_API const void *fr_store_in_memory(const fr_store *store);

/**
 * Reads rows into one dense matrix.
 *
 * Rows come in the order of `ids`; an id may appear twice. Safe from several threads on one store.
 *
 * @param ids  n row numbers, each in [0, fr_store_rows(store))
 * @param out  n x width values of the store's dtype, row-major, caller's
 * @return FR_OK; FR_ERANGE an id out of range (none is read); FR_EIO the file failed after retries
 */
FR_API fr_status fr_store_gather(fr_store *store, const int64_t *ids, int64_t n, void *out);

/** Starts reading rows for a later fr_store_collect; ids are copied. *ticket names the request. */
FR_API fr_status fr_store_prefetch(fr_store *store, const int64_t *ids, int64_t n, int64_t *ticket);
/** Waits for a prefetch, copies its rows (in the order of its ids) to `out`, forgets the ticket. The rows are
 * those as of this call: a scatter made since the prefetch is seen, whatever the tier.
 * @return FR_EINVAL no such ticket */
FR_API fr_status fr_store_collect(fr_store *store, int64_t ticket, void *out);

/** Writes rows; an id that appears twice takes the last. FR_EINVAL where the store is not writable. */
FR_API fr_status fr_store_scatter(fr_store *store, const int64_t *ids, int64_t n, const void *rows);
/** Makes what was scattered durable (file-backed, writable), as one atomic replacement. */
FR_API fr_status fr_store_flush(fr_store *store);
FR_API fr_store_stats fr_store_get_stats(const fr_store *store);

/* Writing a store file, row by row, in bounded memory. */
typedef struct fr_store_writer fr_store_writer;
FR_API fr_status fr_store_writer_create(const char *path, fr_dtype dtype, int64_t n_rows, int64_t width, fr_store_writer **writer);
/** Appends n rows of the dtype given at creation. @return FR_ERANGE more than n_rows in all */
FR_API fr_status fr_store_writer_append(fr_store_writer *writer, const void *rows, int64_t n);
/** Finishes the file under its name, durably, and frees the writer, also on failure (nothing is left then). @return FR_ESHAPE fewer rows than stated */
FR_API fr_status fr_store_writer_commit(fr_store_writer *writer);
FR_API void fr_store_writer_abort(fr_store_writer *writer); /* NULL-safe */

#ifdef __cplusplus
}
#endif
#endif
