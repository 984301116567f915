/*
 * row_order.c: radix sort of (id, position) pairs, stable, from the lowest digit up.
 *
 * Digits have 11 bits (2,048 counters fit the first cache level); a list with ids below 2^22 takes
 * two passes. Comparison sorting would take log2(n) passes of the same traffic.
 */
#include "train/row_order.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

typedef struct id_place {
    int64_t id, place;
} id_place;

static fr_status make_room(row_order *order, int64_t n)
{
    if (n <= order->room)
        return FR_OK;
    fr_row_order_free(order);
    fr_status status;
    FR_TRY(fr_alloc((size_t)n, sizeof *order->rows, "order of rows", &order->rows));
    FR_TRY(fr_alloc((size_t)n, sizeof *order->place, "order of rows", &order->place));
    FR_TRY(fr_alloc((size_t)n + 1, sizeof *order->begin, "order of rows", &order->begin));
    FR_TRY(fr_alloc((size_t)n, 2 * sizeof(id_place), "order of rows", &order->scratch));
    order->room = n;
    return FR_OK;
done:
    fr_row_order_free(order);
    return status;
}

void fr_row_order_free(row_order *order)
{
    fr_free(order->rows);
    fr_free(order->place);
    fr_free(order->begin);
    fr_free(order->scratch);
    *order = (row_order){0};
}

static void sort_by_digit(const id_place *from, id_place *to, int64_t n, int shift)
{
    int64_t next[N_DIGITS] = {0};
    for (int64_t i = 0; i < n; i++)
        next[(uint64_t)from[i].id >> shift & (N_DIGITS - 1)]++;
    int64_t sum = 0;
    for (int digit = 0; digit < N_DIGITS; digit++) {
        const int64_t count = next[digit];
        next[digit] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++)
        to[next[(uint64_t)from[i].id >> shift & (N_DIGITS - 1)]++] = from[i];
}

fr_status fr_row_order_make(row_order *order, const int64_t *ids, int64_t n, int64_t limit)
{
    FR_RETURN_IF_ERROR(make_room(order, n));
    order->n_rows = 0;
    if (n == 0)
        return FR_OK;
    id_place *pairs = order->scratch, *other = pairs + n;
    for (int64_t i = 0; i < n; i++)
        pairs[i] = (id_place){ids[i], i};
    for (int shift = 0; shift < 63 && (limit - 1) >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(pairs, other, n, shift);
        id_place *const sorted = other;
        other = pairs;
        pairs = sorted;
    }
    for (int64_t i = 0; i < n; i++) {
        order->place[i] = pairs[i].place;
        if (i == 0 || pairs[i].id != pairs[i - 1].id) {
            order->rows[order->n_rows] = pairs[i].id;
            order->begin[order->n_rows++] = i;
        }
    }
    order->begin[order->n_rows] = n;
    return FR_OK;
}
