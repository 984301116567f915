/*
 * checkpoint_format.h: the bytes of a checkpoint, for its writer and its reader (private).
 *
 *     | header 64 | entry's data | ... | entry's data | index | trailer 64 |
 *
 * Everything begins at a multiple of 64; the bytes in between are 0. Data come first and the index
 * after them, so that a writer needs memory for the index alone and never seeks. The file is
 * determined by its entries: a reader accepts one arrangement, and so refuses any changed byte.
 *
 *     header   magic "FRCKPT1\0", zeros
 *     index    per entry: kind u32, dtype u32, rank u32, name_bytes u32, offset u64, bytes u64,
 *              xxh3 of the data u64, shape i64[rank], name with its 0, zeros up to a multiple of 8
 *     trailer  index offset u64, index bytes u64, n_entries u64, xxh3 of the index u64,
 *              xxh3 of the 32 bytes before u64, zeros, magic "FRCKEND\0" in the last 8 bytes
 *
 * Numbers and elements are little-endian. See docs/formats.md.
 */
#ifndef FR_TRAIN_CHECKPOINT_FORMAT_H
#define FR_TRAIN_CHECKPOINT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
    FR_CHECKPOINT_ALIGNMENT = 64,
    FR_CHECKPOINT_HEADER_BYTES = 64,
    FR_CHECKPOINT_TRAILER_BYTES = 64,
    FR_CHECKPOINT_ENTRY_BYTES = 40, /* of an index entry, before its shape */
    FR_CHECKPOINT_MOST_NAME_BYTES = 4096,
};

typedef enum checkpoint_kind { CHECKPOINT_TENSOR = 0, CHECKPOINT_TEXT = 1 } checkpoint_kind;

static const char fr_checkpoint_magic[8] = {'F', 'R', 'C', 'K', 'P', 'T', '1', 0};
static const char fr_checkpoint_end[8] = {'F', 'R', 'C', 'K', 'E', 'N', 'D', 0};

/* Where in an index entry and in the trailer the numbers lie. */
enum {
    ENTRY_KIND = 0,
    ENTRY_DTYPE = 4,
    ENTRY_RANK = 8,
    ENTRY_NAME_BYTES = 12,
    ENTRY_OFFSET = 16,
    ENTRY_BYTES = 24,
    ENTRY_SUM = 32
};
enum {
    TRAILER_OFFSET = 0,
    TRAILER_BYTES = 8,
    TRAILER_COUNT = 16,
    TRAILER_INDEX_SUM = 24,
    TRAILER_SUM = 32,
    TRAILER_SUM_END = 40,
    TRAILER_MAGIC = 56
};

static inline void checkpoint_put(char *at, int n_bytes, uint64_t value)
{
    for (int i = 0; i < n_bytes; i++)
        at[i] = (char)(unsigned char)(value >> (8 * i));
}

static inline uint64_t checkpoint_get(const char *at, int n_bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return value;
}

/** The next multiple of `unit`, a power of two; callers stay far below overflow. */
static inline uint64_t checkpoint_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

#endif
