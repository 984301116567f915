/*
 * spill.c: the out-of-core half of building a graph.
 *
 *     add(source, target) -> buffer of the target's bucket -> appended to bucket-B.bin when full
 *     drain(B)            -> read, radix sort, hand on
 *
 * A bucket that does not fit in memory (twice its keys: radix sort moves between two arrays) is handed on in
 * parts: [low, high) ranges of keys, chosen by a histogram over the keys' upper bits, each read by
 * one pass over the file. Doubles have equal keys, so they never fall into different parts.
 *
 * Memory: buffers (a fourth of the budget) while adding, sort arrays (half) while draining; never both in use,
 * and the buffers are released before the first drain.
 */
#include "graph/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph/edge_sort.h"

enum { LEAST_BUCKETS = 64, BUFFER_LEAST = 512, HISTOGRAM_BITS = 16, READ_KEYS = 1 << 16 };

typedef struct bucket {
    int fd; /* -1 until the first flush */
    char *path;
    int64_t n_stored, n_buffered;
    uint64_t *keys; /* buffer */
    float *weights;
} bucket;

struct fr_spill {
    char *folder;
    int64_t n_nodes, targets_each, memory_bytes;
    int64_t buffer_keys; /* of one bucket */
    bool weighted;
    int n_buckets;
    bucket *buckets;
    uint64_t *key_block; /* all buffers, released before draining */
    float *weight_block;
};

static int64_t record_bytes(const fr_spill *spill)
{
    return (int64_t)sizeof(uint64_t) + (spill->weighted ? (int64_t)sizeof(float) : 0);
}

int fr_spill_n_buckets(const fr_spill *spill) { return spill->n_buckets; }

int64_t fr_spill_first_target(const fr_spill *spill, int index)
{
    const int64_t first = index * spill->targets_each;
    return first < spill->n_nodes ? first : spill->n_nodes;
}

static fr_status make_buffers(fr_spill *spill)
{
    const int64_t budget = spill->memory_bytes / 4 / (spill->n_buckets * record_bytes(spill));
    spill->buffer_keys = budget < BUFFER_LEAST ? BUFFER_LEAST : budget > (1 << 17) ? 1 << 17 : budget;
    const size_t n = (size_t)(spill->buffer_keys * spill->n_buckets);
    FR_RETURN_IF_ERROR(fr_alloc(n, sizeof(uint64_t), "edge buffers", &spill->key_block));
    if (spill->weighted)
        FR_RETURN_IF_ERROR(fr_alloc(n, sizeof(float), "edge buffers", &spill->weight_block));
    for (int b = 0; b < spill->n_buckets; b++) {
        spill->buckets[b].keys = spill->key_block + b * spill->buffer_keys;
        if (spill->weighted)
            spill->buckets[b].weights = spill->weight_block + b * spill->buffer_keys;
    }
    return FR_OK;
}

fr_status fr_spill_create(const char *folder, int64_t n_nodes, bool weighted, int64_t memory_bytes,
                          fr_spill **out)
{
    *out = NULL;
    if (n_nodes > (1LL << FR_EDGE_SOURCE_BITS))
        return fr_fail(FR_ENOTSUP, "%s: %" PRId64 " nodes, at most 2^40 can be built", folder, n_nodes);
    fr_spill *spill;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *spill, "edge buckets", &spill));
    spill->n_nodes = n_nodes;
    spill->memory_bytes = memory_bytes;
    spill->weighted = weighted;
    spill->targets_each = (n_nodes + LEAST_BUCKETS - 1) / LEAST_BUCKETS;
    if (spill->targets_each < 1)
        spill->targets_each = 1;
    if (spill->targets_each > (1 << FR_EDGE_TARGET_BITS))
        spill->targets_each = 1 << FR_EDGE_TARGET_BITS;
    const int64_t n_buckets = (n_nodes + spill->targets_each - 1) / spill->targets_each;
    spill->n_buckets = n_buckets < 1 ? 1 : (int)n_buckets;
    FR_TRY(fr_strdup(folder, &spill->folder));
    FR_TRY(fr_alloc((size_t)spill->n_buckets, sizeof(bucket), "edge buckets", &spill->buckets));
    for (int b = 0; b < spill->n_buckets; b++)
        spill->buckets[b].fd = -1;
    FR_TRY(make_buffers(spill));
    *out = spill;
    spill = NULL;
done:
    fr_spill_free(spill);
    return status;
}

static fr_status open_bucket(fr_spill *spill, int index)
{
    bucket *b = &spill->buckets[index];
    FR_RETURN_IF_ERROR(fr_format(&b->path, "%s/bucket-%d.tmp", spill->folder, index));
    b->fd = open(b->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (b->fd < 0)
        return fr_fail_errno(errno, "%s", b->path);
    return FR_OK;
}

/* A bucket's file is blocks as flushed: buffer_keys keys, then (weighted) buffer_keys weights. */
static int64_t block_bytes(const fr_spill *spill) { return spill->buffer_keys * record_bytes(spill); }

static fr_status flush_bucket(fr_spill *spill, int index)
{
    bucket *b = &spill->buckets[index];
    if (b->n_buffered == 0)
        return FR_OK;
    if (b->fd < 0)
        FR_RETURN_IF_ERROR(open_bucket(spill, index));
    /* Only the last flush is of a buffer that is not full, so blocks stay aligned. */
    const int64_t at = b->n_stored / spill->buffer_keys * block_bytes(spill);
    FR_RETURN_IF_ERROR(
        fr_write_at(b->fd, b->path, b->keys, (size_t)b->n_buffered * sizeof *b->keys, at));
    if (spill->weighted)
        FR_RETURN_IF_ERROR(fr_write_at(b->fd, b->path, b->weights,
                                       (size_t)b->n_buffered * sizeof *b->weights,
                                       at + spill->buffer_keys * (int64_t)sizeof *b->keys));
    b->n_stored += b->n_buffered;
    b->n_buffered = 0;
    return FR_OK;
}

fr_status fr_spill_add(fr_spill *spill, int64_t source, int64_t target, float weight)
{
    const int64_t index = target / spill->targets_each;
    bucket *b = &spill->buckets[index];
    b->keys[b->n_buffered] =
        fr_edge_key((uint64_t)(target - index * spill->targets_each), (uint64_t)source);
    if (spill->weighted)
        b->weights[b->n_buffered] = weight;
    if (++b->n_buffered < spill->buffer_keys)
        return FR_OK;
    return flush_bucket(spill, (int)index);
}

/* ---- draining ---- */

static fr_status finish_adding(fr_spill *spill)
{
    if (spill->key_block == NULL)
        return FR_OK;
    for (int b = 0; b < spill->n_buckets; b++)
        FR_RETURN_IF_ERROR(flush_bucket(spill, b));
    fr_free(spill->key_block);
    fr_free(spill->weight_block);
    spill->key_block = NULL;
    spill->weight_block = NULL;
    return FR_OK;
}

typedef struct sort_arrays {
    uint64_t *keys, *scratch;
    float *weights, *scratch_weights;
    int64_t n;
} sort_arrays;

static void release_arrays(sort_arrays *arrays)
{
    fr_free(arrays->keys);
    fr_free(arrays->scratch);
    fr_free(arrays->weights);
    fr_free(arrays->scratch_weights);
}

static fr_status make_arrays(const fr_spill *spill, int64_t capacity, sort_arrays *arrays)
{
    const size_t n = (size_t)capacity;
    FR_RETURN_IF_ERROR(fr_alloc(n, sizeof(uint64_t), "edges to sort", &arrays->keys));
    FR_RETURN_IF_ERROR(fr_alloc(n, sizeof(uint64_t), "edges to sort", &arrays->scratch));
    if (!spill->weighted)
        return FR_OK;
    FR_RETURN_IF_ERROR(fr_alloc(n, sizeof(float), "edges to sort", &arrays->weights));
    return fr_alloc(n, sizeof(float), "edges to sort", &arrays->scratch_weights);
}

/* Calls take(context, keys, weights, n) for stretches of the stored edges, in order. */
typedef void (*stretch_function)(void *context, const uint64_t *keys, const float *weights, int64_t n);

static fr_status read_stretches(const fr_spill *spill, const bucket *b, stretch_function take, void *context)
{
    uint64_t *keys = NULL;
    float *weights = NULL;
    fr_status status;
    FR_TRY(fr_alloc(READ_KEYS, sizeof *keys, "edges read back", &keys));
    if (spill->weighted)
        FR_TRY(fr_alloc(READ_KEYS, sizeof *weights, "edges read back", &weights));
    for (int64_t i = 0; i < b->n_stored;) {
        const int64_t in_block = i % spill->buffer_keys;
        int64_t n = spill->buffer_keys - in_block;
        n = n < READ_KEYS ? n : READ_KEYS;
        n = n < b->n_stored - i ? n : b->n_stored - i;
        const int64_t block = i / spill->buffer_keys * block_bytes(spill);
        FR_TRY(fr_read_at(b->fd, b->path, keys, (size_t)n * sizeof *keys,
                          block + in_block * (int64_t)sizeof *keys));
        if (spill->weighted)
            FR_TRY(fr_read_at(b->fd, b->path, weights, (size_t)n * sizeof *weights,
                              block + spill->buffer_keys * (int64_t)sizeof *keys +
                                  in_block * (int64_t)sizeof *weights));
        take(context, keys, weights, n);
        i += n;
    }
    status = FR_OK;
done:
    fr_free(keys);
    fr_free(weights);
    return status;
}

typedef struct histogram {
    int shift;
    int64_t counts[1 << HISTOGRAM_BITS];
} histogram;

static void count_keys(void *context, const uint64_t *keys, const float *weights, int64_t n)
{
    (void)weights;
    histogram *h = context;
    for (int64_t i = 0; i < n; i++)
        h->counts[keys[i] >> h->shift]++;
}

typedef struct part {
    uint64_t low, high; /* of keys, high excluded */
    sort_arrays *arrays;
} part;

static void collect_part(void *context, const uint64_t *keys, const float *weights, int64_t n)
{
    part *p = context;
    for (int64_t i = 0; i < n; i++)
        if (keys[i] >= p->low && keys[i] < p->high) {
            if (weights != NULL)
                p->arrays->weights[p->arrays->n] = weights[i];
            p->arrays->keys[p->arrays->n++] = keys[i];
        }
}

typedef struct drain {
    fr_spill *spill;
    int index;
    bool drop_doubles;
    int64_t *n_doubles;
    fr_spill_consumer consumer;
    void *context;
} drain;

static fr_status drain_part(const drain *d, uint64_t low, uint64_t high, int64_t n)
{
    sort_arrays arrays = {0};
    fr_status status;
    FR_TRY(make_arrays(d->spill, n, &arrays));
    part p = {.low = low, .high = high, .arrays = &arrays};
    FR_TRY(read_stretches(d->spill, &d->spill->buckets[d->index], collect_part, &p));
    fr_edge_sort(arrays.keys, arrays.weights, arrays.scratch, arrays.scratch_weights, arrays.n);
    if (d->drop_doubles) {
        const int64_t kept = fr_edge_drop_doubles(arrays.keys, arrays.weights, arrays.n);
        *d->n_doubles += arrays.n - kept;
        arrays.n = kept;
    }
    FR_TRY(d->consumer(d->context, d->index, arrays.keys, arrays.weights, arrays.n));
done:
    release_arrays(&arrays);
    return status;
}

/* Bits that keys of this bucket use at most. */
static int key_bits(const fr_spill *spill)
{
    int bits = 1;
    while (bits < 63 - FR_EDGE_SOURCE_BITS && (spill->targets_each - 1) >> bits != 0)
        bits++;
    return bits + FR_EDGE_SOURCE_BITS;
}

static fr_status drain_in_parts(const drain *d, int64_t most)
{
    histogram *h = NULL;
    fr_status status;
    FR_TRY(fr_alloc(1, sizeof *h, "histogram of edges", &h));
    const int bits = key_bits(d->spill);
    h->shift = bits > HISTOGRAM_BITS ? bits - HISTOGRAM_BITS : 0;
    FR_TRY(read_stretches(d->spill, &d->spill->buckets[d->index], count_keys, h));
    int64_t first = 0, n = 0;
    for (int64_t i = 0; i <= 1 << HISTOGRAM_BITS; i++) {
        const bool at_end = i == 1 << HISTOGRAM_BITS;
        if (n > 0 && (at_end || n + h->counts[i] > most)) {
            FR_TRY(drain_part(d, (uint64_t)first << h->shift, (uint64_t)i << h->shift, n));
            first = i;
            n = 0;
        }
        if (!at_end)
            n += h->counts[i];
    }
    status = FR_OK;
done:
    fr_free(h);
    return status;
}

fr_status fr_spill_drain(fr_spill *spill, int index, bool drop_doubles, int64_t *n_doubles,
                         fr_spill_consumer consumer, void *context)
{
    FR_RETURN_IF_ERROR(finish_adding(spill));
    bucket *b = &spill->buckets[index];
    const drain d = {.spill = spill,
                     .index = index,
                     .drop_doubles = drop_doubles,
                     .n_doubles = n_doubles,
                     .consumer = consumer,
                     .context = context};
    if (b->n_stored == 0)
        return consumer(context, index, NULL, NULL, 0);
    const int64_t most = spill->memory_bytes / 2 / (2 * record_bytes(spill));
    fr_status status = b->n_stored <= most ? drain_part(&d, 0, UINT64_MAX, b->n_stored)
                                           : drain_in_parts(&d, most);
    if (close(b->fd) != 0 && status == FR_OK)
        status = fr_fail_errno(errno, "%s", b->path);
    b->fd = -1;
    (void)unlink(b->path); /* the folder is removed in the end anyway */
    return status;
}

void fr_spill_free(fr_spill *spill)
{
    if (spill == NULL)
        return;
    for (int b = 0; spill->buckets != NULL && b < spill->n_buckets; b++) {
        if (spill->buckets[b].fd >= 0)
            (void)close(spill->buckets[b].fd); /* work files: what they hold is no longer wanted */
        fr_free(spill->buckets[b].path);
    }
    fr_free(spill->buckets);
    fr_free(spill->key_block);
    fr_free(spill->weight_block);
    fr_free(spill->folder);
    fr_free(spill);
}
