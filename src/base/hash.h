/*
 * hash.h: checksums (XXH3, 64 bits) of bytes and of files in chunks.
 */
#ifndef FR_BASE_HASH_H
#define FR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { FR_CHECKSUM_CHUNK_BYTES = 16 << 20 };

uint64_t fr_hash(const void *bytes, size_t length, uint64_t seed);

/** Checksums of consecutive chunks, fed piece by piece while a file is written or read. */
typedef struct fr_chunk_sums {
    uint64_t *sums; /* owned: one per finished chunk */
    int64_t n_sums;
    int64_t n_bytes; /* fed so far */
    void *state;
} fr_chunk_sums;
fr_status fr_chunk_sums_start(fr_chunk_sums *sums) FR_MUST_USE;
fr_status fr_chunk_sums_feed(fr_chunk_sums *sums, const void *bytes, size_t length) FR_MUST_USE;
fr_status fr_chunk_sums_finish(fr_chunk_sums *sums) FR_MUST_USE;
void fr_chunk_sums_free(fr_chunk_sums *sums); /* safe on a zeroed struct */

#endif
