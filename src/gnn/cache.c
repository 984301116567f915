/*
 * cache.c: the ring of fresh embeddings and its policy. See cache.h for the picture.
 */
#include "gnn/cache.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/random.h"

struct fr_fresh_cache {
    int64_t n_nodes, capacity, width;
    int64_t head, tail; /* sequence numbers: slot = number % capacity; head - tail <= capacity */
    int64_t n_live;
    int32_t *slot_of; /* n_nodes */
    int32_t *node_of; /* capacity */
    int32_t *born;    /* capacity */
    float *ring;      /* capacity x width */
    float *norms, *sorted; /* scratch of update */
    int64_t scratch_capacity;
};

fr_status fr_fresh_cache_create(int64_t n_nodes, int64_t capacity, int64_t width,
                                fr_fresh_cache **out)
{
    *out = NULL;
    if (capacity < 1 || capacity > INT32_MAX - 1 || n_nodes > INT32_MAX)
        return fr_fail(FR_ERANGE, "cache: %" PRId64 " rows for %" PRId64 " nodes; 1 to 2^31-2 are possible",
                       capacity, n_nodes);
    fr_fresh_cache *cache;
    fr_status status;
    int64_t n_floats;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *cache, "cache", &cache));
    cache->n_nodes = n_nodes;
    cache->capacity = capacity;
    cache->width = width;
    if (!fr_multiply(capacity, width, &n_floats))
        FR_TRY(fr_fail(FR_ENOMEM, "cache: %" PRId64 " rows of %" PRId64 " floats overflow", capacity, width));
    FR_TRY(fr_alloc((size_t)n_nodes, sizeof(int32_t), "cache map", &cache->slot_of));
    FR_TRY(fr_alloc((size_t)capacity, sizeof(int32_t), "cache map", &cache->node_of));
    FR_TRY(fr_alloc((size_t)capacity, sizeof(int32_t), "cache map", &cache->born));
    FR_TRY(fr_alloc_aligned((size_t)n_floats, sizeof(float), "cache rows", &cache->ring));
    memset(cache->slot_of, 0xFF, (size_t)n_nodes * sizeof(int32_t));
    *out = cache;
    cache = NULL;
done:
    fr_fresh_cache_free(cache);
    return status;
}

void fr_fresh_cache_free(fr_fresh_cache *cache)
{
    if (cache == NULL)
        return;
    fr_free(cache->slot_of);
    fr_free(cache->node_of);
    fr_free(cache->born);
    fr_free(cache->ring);
    fr_free(cache->norms);
    fr_free(cache->sorted);
    fr_free(cache);
}

const float *fr_fresh_cache_rows(const fr_fresh_cache *cache) { return cache->ring; }
int64_t fr_fresh_cache_capacity(const fr_fresh_cache *cache) { return cache->capacity; }
int64_t fr_fresh_cache_live(const fr_fresh_cache *cache) { return cache->n_live; }

static bool is_fresh(const fr_fresh_cache *cache, int32_t slot, int64_t t, const fr_fresh_policy *policy)
{
    return (double)(t - cache->born[slot]) < policy->t_stale;
}

/* Gives up the oldest slot; true where a live row went with it. */
static bool drop_tail(fr_fresh_cache *cache)
{
    const int32_t slot = (int32_t)(cache->tail++ % cache->capacity);
    const int32_t node = cache->node_of[slot];
    if (cache->slot_of[node] != slot)
        return false; /* evicted before, or renewed elsewhere */
    cache->slot_of[node] = -1;
    cache->n_live--;
    return true;
}

void fr_fresh_cache_expire(fr_fresh_cache *cache, int64_t t, const fr_fresh_policy *policy,
                           fr_fresh_counts *counts)
{
    while (cache->tail < cache->head &&
           !is_fresh(cache, (int32_t)(cache->tail % cache->capacity), t, policy))
        counts->evicted_by_age += drop_tail(cache);
}

static bool is_probed(double probe, uint64_t seed, int64_t t, int64_t node)
{
    enum { PROBE = 0x7072 };
    if (probe <= 0)
        return false;
    const uint64_t draw = fr_random_stream(seed, PROBE, (uint64_t)t, (uint64_t)node);
    return (double)(draw >> 11) * 0x1p-53 < probe;
}

void fr_fresh_cache_lookup(const fr_fresh_cache *cache, const int64_t *nodes, int64_t n, int64_t t,
                           const fr_fresh_policy *policy, double probe, uint64_t seed,
                           int32_t *position, int64_t *misses, int64_t *n_misses,
                           fr_fresh_counts *counts)
{
    enum { AHEAD = 16 };
    int64_t missed = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&cache->slot_of[nodes[i + AHEAD]]);
        const int32_t slot = cache->slot_of[nodes[i]];
        if (slot >= 0 && is_fresh(cache, slot, t, policy) && !is_probed(probe, seed, t, nodes[i])) {
            const int64_t age = t - cache->born[slot];
            counts->max_age = age > counts->max_age ? age : counts->max_age;
            position[i] = -1 - slot;
        } else {
            position[i] = (int32_t)missed;
            misses[missed++] = nodes[i];
        }
    }
    *n_misses = missed;
    counts->lookups += n;
    counts->hits += n - missed;
}

/* ---- the policy ---- */

typedef struct norm_context {
    const float *gradient;
    int64_t width;
    float *norms;
} norm_context;

static void row_norms(void *opaque, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const norm_context *context = opaque;
    for (int64_t i = begin; i < end; i++) {
        const float *row = context->gradient + i * context->width;
        double sum = 0;
        for (int64_t j = 0; j < context->width; j++)
            sum += (double)row[j] * (double)row[j];
        context->norms[i] = (float)sqrt(sum); /* g = ||dL/dh||_2 */
    }
}

/* The k-th smallest of n values (k < n), by selection in place. */
static float select_kth(float *values, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const float pivot = values[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                const float swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return values[k];
}

/* Rows with norm < threshold are stable, or <= threshold where that is 0. With k = floor(p_grad * n) the
 * threshold is the k-th smallest norm; k = 0 makes no row stable and k = n every row. */
static float stable_below(const float *norms, float *sorted, int64_t n, double p_grad)
{
    const int64_t k = (int64_t)floor(p_grad * (double)n);
    if (k <= 0)
        return -1.0F;
    if (k >= n)
        return INFINITY;
    memcpy(sorted, norms, (size_t)n * sizeof *norms);
    return select_kth(sorted, n, k);
}

static bool is_stable(float norm, float threshold)
{
    return norm < threshold || (threshold == 0.0F && norm <= threshold);
}

static void admit(fr_fresh_cache *cache, int64_t node, const float *row, int64_t t,
                  fr_fresh_counts *counts)
{
    if (cache->head - cache->tail == cache->capacity)
        counts->evicted_by_room += drop_tail(cache);
    const int32_t slot = (int32_t)(cache->head++ % cache->capacity);
    if (cache->slot_of[node] < 0)
        cache->n_live++;
    cache->slot_of[node] = slot;
    cache->node_of[slot] = (int32_t)node;
    cache->born[slot] = (int32_t)t;
    memcpy(cache->ring + slot * cache->width, row, (size_t)cache->width * sizeof *row);
    counts->admitted++;
}

static void evict(fr_fresh_cache *cache, int64_t node)
{
    cache->slot_of[node] = -1;
    cache->n_live--;
}

/* |h - cached| / |h| of a hit that was recomputed. */
static double relative_error(const float *exact, const float *cached, int64_t width)
{
    double difference = 0, size = 0;
    for (int64_t j = 0; j < width; j++) {
        const double d = (double)exact[j] - (double)cached[j];
        difference += d * d;
        size += (double)exact[j] * (double)exact[j];
    }
    if (size > 0)
        return sqrt(difference / size);
    return difference > 0 ? 1.0 : 0.0;
}

static fr_status reserve_scratch(fr_fresh_cache *cache, int64_t n)
{
    if (n <= cache->scratch_capacity)
        return FR_OK;
    const size_t wanted = (size_t)(n + n / 4);
    FR_RETURN_IF_ERROR(fr_realloc(&cache->norms, wanted, sizeof(float), "cache scores"));
    FR_RETURN_IF_ERROR(fr_realloc(&cache->sorted, wanted, sizeof(float), "cache scores"));
    cache->scratch_capacity = (int64_t)wanted;
    return FR_OK;
}

fr_status fr_fresh_cache_update(fr_fresh_cache *cache, const int64_t *nodes, const int32_t *position,
                                int64_t n, const float *rows, const float *gradient, int64_t t,
                                const fr_fresh_policy *policy, fr_fresh_counts *counts)
{
    if (t > INT32_MAX)
        return fr_fail(FR_ERANGE, "cache: iteration %" PRId64 " exceeds 2^31-1", t);
    FR_RETURN_IF_ERROR(reserve_scratch(cache, n));
    norm_context context = {.gradient = gradient, .width = cache->width, .norms = cache->norms};
    fr_parallel_for(n, 256, row_norms, &context);
    const float threshold = stable_below(cache->norms, cache->sorted, n, policy->p_grad);

    /* Evictions first: what is appended may take the slot of a hit of this batch only through the tail. */
    for (int64_t i = 0; i < n; i++)
        if (position[i] < 0 && !is_stable(cache->norms[i], threshold) && cache->slot_of[nodes[i]] >= 0) {
            evict(cache, nodes[i]);
            counts->evicted_by_gradient++;
        }
    for (int64_t i = 0; i < n; i++) {
        if (position[i] < 0)
            continue; /* a hit stays as it is: not made younger */
        const int32_t old = cache->slot_of[nodes[i]];
        const float *row = rows + i * cache->width;
        if (old >= 0) { /* a probe: recomputed although it was fresh */
            counts->probes++;
            counts->error_sum += relative_error(row, cache->ring + old * cache->width, cache->width);
            evict(cache, nodes[i]);
        }
        if (is_stable(cache->norms[i], threshold) && policy->t_stale > 0)
            admit(cache, nodes[i], row, t, counts);
    }
    return FR_OK;
}

/* ---- checking, saving ---- */

fr_status fr_fresh_cache_check(const fr_fresh_cache *cache)
{
    int64_t live = 0;
    for (int64_t s = cache->tail; s < cache->head; s++) {
        const int32_t node = cache->node_of[s % cache->capacity];
        if (node < 0 || node >= cache->n_nodes)
            return fr_fail(FR_EINTERNAL, "cache: sequence number %" PRId64 " holds node %" PRId32
                           " of %" PRId64,
                           s, node, cache->n_nodes);
    }
    for (int64_t v = 0; v < cache->n_nodes; v++) {
        const int32_t slot = cache->slot_of[v];
        if (slot < 0)
            continue;
        live++;
        if (slot >= cache->capacity || cache->node_of[slot] != v)
            return fr_fail(FR_EINTERNAL, "cache: node %" PRId64 " points to slot %" PRId32
                           ", which belongs to node %" PRId32,
                           v, slot, slot < cache->capacity ? cache->node_of[slot] : -1);
        const int64_t behind = ((cache->head - 1) % cache->capacity - slot + cache->capacity) % cache->capacity;
        if (behind >= cache->head - cache->tail)
            return fr_fail(FR_EINTERNAL, "cache: node %" PRId64 " points to slot %" PRId32
                           " outside head %" PRId64 " and tail %" PRId64,
                           v, slot, cache->head, cache->tail);
    }
    if (live != cache->n_live)
        return fr_fail(FR_EINTERNAL, "cache: %" PRId64 " live rows counted, %" PRId64 " kept", live,
                       cache->n_live);
    for (int64_t s = cache->tail + 1; s < cache->head; s++)
        if (cache->born[(s - 1) % cache->capacity] > cache->born[s % cache->capacity])
            return fr_fail(FR_EINTERNAL, "cache: births fall at sequence number %" PRId64, s);
    return FR_OK;
}

static fr_status add_array(fr_checkpoint_writer *writer, const char *name, fr_dtype dtype,
                           int64_t count, void *data)
{
    fr_tensor view;
    FR_RETURN_IF_ERROR(fr_tensor_view(dtype, 1, &count, data, &view));
    return fr_checkpoint_add(writer, name, &view);
}

/* Slots in use form at most the first min(head, capacity): a young ring is saved by what it holds. */
static int64_t slots_used(const fr_fresh_cache *cache)
{
    return cache->head < cache->capacity ? cache->head : cache->capacity;
}

fr_status fr_fresh_cache_save(const fr_fresh_cache *cache, fr_checkpoint_writer *writer)
{
    int64_t state[] = {cache->n_nodes, cache->capacity, cache->width, cache->head, cache->tail, cache->n_live};
    const int64_t used = slots_used(cache);
    FR_RETURN_IF_ERROR(add_array(writer, "cache/state", FR_I64, 6, state));
    FR_RETURN_IF_ERROR(add_array(writer, "cache/slot_of", FR_I32, cache->n_nodes, cache->slot_of));
    FR_RETURN_IF_ERROR(add_array(writer, "cache/node_of", FR_I32, used, cache->node_of));
    FR_RETURN_IF_ERROR(add_array(writer, "cache/born", FR_I32, used, cache->born));
    return add_array(writer, "cache/ring", FR_F32, used * cache->width, cache->ring);
}

fr_status fr_fresh_cache_load(fr_fresh_cache *cache, const fr_checkpoint *checkpoint)
{
    int64_t state[6];
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "cache/state", FR_I64, 6, state));
    if (state[0] != cache->n_nodes || state[1] != cache->capacity || state[2] != cache->width)
        return fr_fail(FR_ESHAPE, "the checkpoint's cache is for %" PRId64 " nodes, %" PRId64 " rows of %" PRId64
                       "; the run asks for %" PRId64 ", %" PRId64 ", %" PRId64,
                       state[0], state[1], state[2], cache->n_nodes, cache->capacity, cache->width);
    cache->head = state[3];
    cache->tail = state[4];
    cache->n_live = state[5];
    if (cache->tail < 0 || cache->head < cache->tail || cache->head - cache->tail > cache->capacity)
        return fr_fail(FR_EFORMAT, "the checkpoint's cache has head %" PRId64 " and tail %" PRId64
                       " for %" PRId64 " rows",
                       cache->head, cache->tail, cache->capacity);
    const int64_t used = slots_used(cache);
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "cache/slot_of", FR_I32, cache->n_nodes, cache->slot_of));
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "cache/node_of", FR_I32, used, cache->node_of));
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "cache/born", FR_I32, used, cache->born));
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "cache/ring", FR_F32, used * cache->width, cache->ring));
    return fr_wrap(fr_fresh_cache_check(cache), "the checkpoint");
}
