/*
 * ids.c: distinct ids by sorting: a buffer is filled, radix-sorted, and merged into the ascending list so far.
 *
 * Numbers are found in O(1) where a bitmap of the largest id takes no more than 8 bytes a distinct id (rank of a bit), else by
 * binary search.
 */
#include "format/ids.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/edge_sort.h"

enum { LEAST_BUFFER = 1 << 12 };

struct fr_ids {
    uint64_t *sorted, *merged; /* distinct, ascending */
    int64_t n_sorted, sorted_capacity, merged_capacity;
    uint64_t *buffer, *scratch;
    int64_t n_buffered, buffer_capacity;
    uint64_t *bits;
    int64_t *rank; /* set bits before each word */
};

fr_status fr_ids_create(int64_t memory_bytes, fr_ids **out)
{
    *out = NULL;
    fr_ids *ids;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *ids, "node ids", &ids));
    const int64_t wanted = memory_bytes / 4 / (2 * (int64_t)sizeof(uint64_t));
    ids->buffer_capacity = wanted < LEAST_BUFFER ? LEAST_BUFFER : wanted > 1 << 24 ? 1 << 24 : wanted;
    FR_TRY(fr_alloc((size_t)ids->buffer_capacity, sizeof(uint64_t), "node ids", &ids->buffer));
    FR_TRY(fr_alloc((size_t)ids->buffer_capacity, sizeof(uint64_t), "node ids", &ids->scratch));
    *out = ids;
    ids = NULL;
done:
    fr_ids_free(ids);
    return status;
}

void fr_ids_free(fr_ids *ids)
{
    if (ids == NULL)
        return;
    fr_free(ids->sorted);
    fr_free(ids->merged);
    fr_free(ids->buffer);
    fr_free(ids->scratch);
    fr_free(ids->bits);
    fr_free(ids->rank);
    fr_free(ids);
}

/* Merges the sorted, distinct buffer into the list. */
static fr_status merge(fr_ids *ids, int64_t n)
{
    const int64_t needed = ids->n_sorted + n;
    if (needed > ids->merged_capacity) {
        fr_free(ids->merged);
        ids->merged = NULL;
        ids->merged_capacity = 0;
        FR_RETURN_IF_ERROR(fr_alloc((size_t)(needed + needed / 2), sizeof(uint64_t), "node ids", &ids->merged));
        ids->merged_capacity = needed + needed / 2;
    }
    int64_t i = 0, j = 0, count = 0;
    while (i < ids->n_sorted || j < n) {
        const bool from_list = j == n || (i < ids->n_sorted && ids->sorted[i] <= ids->buffer[j]);
        const uint64_t id = from_list ? ids->sorted[i++] : ids->buffer[j++];
        if (count == 0 || ids->merged[count - 1] != id)
            ids->merged[count++] = id;
    }
    uint64_t *const list = ids->sorted;
    const int64_t capacity = ids->sorted_capacity;
    ids->sorted = ids->merged;
    ids->sorted_capacity = ids->merged_capacity;
    ids->n_sorted = count;
    ids->merged = list;
    ids->merged_capacity = capacity;
    return FR_OK;
}

static fr_status flush(fr_ids *ids)
{
    fr_edge_sort(ids->buffer, NULL, ids->scratch, NULL, ids->n_buffered);
    const int64_t n = fr_edge_drop_doubles(ids->buffer, NULL, ids->n_buffered);
    ids->n_buffered = 0;
    return n > 0 ? merge(ids, n) : FR_OK;
}

fr_status fr_ids_add(fr_ids *ids, int64_t id)
{
    /* An edge list sorted by source repeats ids: the last one is skipped cheaply. */
    if (ids->n_buffered > 1 && (ids->buffer[ids->n_buffered - 1] == (uint64_t)id || ids->buffer[ids->n_buffered - 2] == (uint64_t)id))
        return FR_OK;
    ids->buffer[ids->n_buffered++] = (uint64_t)id;
    return ids->n_buffered == ids->buffer_capacity ? flush(ids) : FR_OK;
}

static fr_status make_rank(fr_ids *ids)
{
    const uint64_t last = ids->sorted[ids->n_sorted - 1];
    if (last / 64 > (uint64_t)ids->n_sorted)
        return FR_OK; /* too sparse */
    const size_t n_words = (size_t)(last / 64 + 1);
    FR_RETURN_IF_ERROR(fr_alloc(n_words, sizeof *ids->bits, "node ids", &ids->bits));
    FR_RETURN_IF_ERROR(fr_alloc(n_words, sizeof *ids->rank, "node ids", &ids->rank));
    for (int64_t i = 0; i < ids->n_sorted; i++)
        ids->bits[ids->sorted[i] / 64] |= 1ULL << (ids->sorted[i] % 64);
    int64_t before = 0;
    for (size_t w = 0; w < n_words; w++) {
        ids->rank[w] = before;
        before += __builtin_popcountll(ids->bits[w]);
    }
    return FR_OK;
}

fr_status fr_ids_finish(fr_ids *ids)
{
    FR_RETURN_IF_ERROR(flush(ids));
    fr_free(ids->buffer);
    fr_free(ids->scratch);
    fr_free(ids->merged);
    ids->buffer = ids->scratch = ids->merged = NULL;
    return ids->n_sorted > 0 && !fr_ids_are_dense(ids) ? make_rank(ids) : FR_OK;
}

int64_t fr_ids_count(const fr_ids *ids) { return ids->n_sorted; }
const uint64_t *fr_ids_sorted(const fr_ids *ids) { return ids->sorted; }

bool fr_ids_are_dense(const fr_ids *ids)
{
    return ids->n_sorted == 0 || ids->sorted[ids->n_sorted - 1] == (uint64_t)ids->n_sorted - 1;
}

int64_t fr_ids_number(const fr_ids *ids, int64_t id)
{
    const uint64_t key = (uint64_t)id;
    if (ids->bits != NULL)
        return ids->rank[key / 64] + __builtin_popcountll(ids->bits[key / 64] & ((1ULL << (key % 64)) - 1));
    if (fr_ids_are_dense(ids))
        return id;
    int64_t low = 0, high = ids->n_sorted;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (ids->sorted[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}
