/*
 * offsets.c: where in the arena each buffer lies.
 *
 * Packing intervals into least memory is NP-hard. Largest first, each into the smallest gap that
 * fits among the buffers whose lifetimes it meets, stays within a few percent of the lower bound
 * (the most bytes alive at once) on the programs of this engine; test_plan.c prints both. Lifetimes
 * are known in advance, so nothing fragments.
 */
#include "program/plan.h"

#include <stdlib.h>

static bool meet(const fr_plan_buffer *a, const fr_plan_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Larger first; of equal ones the earlier, then the lower number: the result is a function of its
 * input. */
static bool before(const fr_plan_buffer *buffers, int32_t a, int32_t b)
{
    if (buffers[a].bytes != buffers[b].bytes)
        return buffers[a].bytes > buffers[b].bytes;
    if (buffers[a].first != buffers[b].first)
        return buffers[a].first < buffers[b].first;
    return a < b;
}

/* Heap sort: qsort may allocate, and a new plan must not fail half-way. */
static void sift(const fr_plan_buffer *buffers, int32_t *heap, int root, int n)
{
    for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && before(buffers, heap[child], heap[child + 1]))
            child++;
        if (!before(buffers, heap[root], heap[child]))
            return;
        const int32_t moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
        root = child;
    }
}

static void sort_order(const fr_plan_buffer *buffers, int32_t *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int root = n / 2 - 1; root >= 0; root--)
        sift(buffers, order, root, n);
    for (int end = n - 1; end > 0; end--) {
        const int32_t moved = order[0];
        order[0] = order[end];
        order[end] = moved;
        sift(buffers, order, 0, end);
    }
}

/* The smallest gap that holds `one` between the placed buffers it meets (in order of offset), or
 * the end. */
static size_t best_offset(const fr_plan_buffer *buffers, const int32_t *placed, int n_placed,
                          const fr_plan_buffer *one)
{
    size_t end = 0, best = 0, smallest = SIZE_MAX;
    for (int i = 0; i < n_placed; i++) {
        const fr_plan_buffer *other = &buffers[placed[i]];
        if (!meet(one, other))
            continue;
        if (other->offset > end) {
            const size_t gap = other->offset - end;
            if (gap >= one->bytes && gap < smallest) {
                smallest = gap;
                best = end;
            }
        }
        const size_t other_end = other->offset + other->bytes;
        end = other_end > end ? other_end : end;
    }
    return smallest == SIZE_MAX ? end : best;
}

size_t fr_plan_offsets(fr_plan_buffer *buffers, int n, int32_t *order)
{
    int32_t *placed = order + n;
    size_t arena = 0;
    sort_order(buffers, order, n);
    for (int i = 0; i < n; i++) {
        fr_plan_buffer *one = &buffers[order[i]];
        one->offset = one->bytes == 0 ? 0 : best_offset(buffers, placed, i, one);
        arena = one->offset + one->bytes > arena ? one->offset + one->bytes : arena;
        int at = i;
        for (; at > 0 && buffers[placed[at - 1]].offset > one->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = order[i];
    }
    return arena;
}
