/*
 * hash.c: XXH3 checksums through libxxhash's header.
 *
 * Compiled in (XXH_INLINE_ALL), because only then is the size of its state ours to know: the state
 * then comes from alloc.h, is counted and can be made to fail.
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/alloc.h"

uint64_t fr_hash(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

fr_status fr_chunk_sums_start(fr_chunk_sums *sums)
{
    *sums = (fr_chunk_sums){0};
    XXH3_state_t *state;
    FR_RETURN_IF_ERROR(fr_alloc_aligned(1, sizeof *state, "checksum", &state));
    XXH3_INITSTATE(state);
    sums->state = state;
    (void)XXH3_64bits_reset_withSeed(sums->state, 0);
    return FR_OK;
}

static fr_status close_chunk(fr_chunk_sums *sums)
{
    /* Capacity is the next power of two: grown whenever the count reaches one. */
    if ((sums->n_sums & (sums->n_sums - 1)) == 0)
        FR_RETURN_IF_ERROR(fr_realloc(&sums->sums,
                                      (size_t)(sums->n_sums == 0 ? 1 : 2 * sums->n_sums),
                                      sizeof *sums->sums, "checksums"));
    sums->sums[sums->n_sums++] = XXH3_64bits_digest(sums->state);
    (void)XXH3_64bits_reset_withSeed(sums->state, 0);
    return FR_OK;
}

fr_status fr_chunk_sums_feed(fr_chunk_sums *sums, const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        const int64_t filled = sums->n_bytes % FR_CHECKSUM_CHUNK_BYTES;
        const size_t room = (size_t)(FR_CHECKSUM_CHUNK_BYTES - filled);
        const size_t n = length < room ? length : room;
        (void)XXH3_64bits_update(sums->state, next, n);
        sums->n_bytes += (int64_t)n;
        next += n;
        length -= n;
        if (n == room)
            FR_RETURN_IF_ERROR(close_chunk(sums));
    }
    return FR_OK;
}

fr_status fr_chunk_sums_finish(fr_chunk_sums *sums)
{
    if (sums->n_bytes % FR_CHECKSUM_CHUNK_BYTES != 0)
        FR_RETURN_IF_ERROR(close_chunk(sums));
    return FR_OK;
}

void fr_chunk_sums_free(fr_chunk_sums *sums)
{
    fr_free(sums->sums);
    fr_free(sums->state);
    *sums = (fr_chunk_sums){0};
}
