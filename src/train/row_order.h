/*
 * row_order.h: the distinct rows of a list of ids, sorted, with the places where each appears.
 *
 *     ids        7 2 7 5
 *     rows       2 5 7         distinct, ascending
 *     place      1 3 0 2       positions in ids, by row; within a row in their order of appearance
 *     begin      0 1 2 4       row i's places are place[begin[i] .. begin[i + 1])
 *
 * So sums over equal ids have one order, whatever threads do. Memory grows to the longest list seen
 * and is kept: no allocation once that is reached.
 */
#ifndef FR_TRAIN_ROW_ORDER_H
#define FR_TRAIN_ROW_ORDER_H

#include <frugal/status.h>
#include <stdint.h>

typedef struct row_order {
    int64_t n_rows; /* distinct */
    int64_t *rows, *place, *begin;
    int64_t room;
    void *scratch;
} row_order;

/** Orders n ids, each in [0, limit). */
fr_status fr_row_order_make(row_order *order, const int64_t *ids, int64_t n,
                            int64_t limit) FR_MUST_USE;
void fr_row_order_free(row_order *order); /* what it holds, not the struct; safe on a zeroed one */

#endif
