/*
 * extent.h: the least and the greatest value an index takes over a box of iterator values, with
 * where it takes them.
 */
#ifndef FR_EXPR_EXTENT_H
#define FR_EXPR_EXTENT_H

#include <frugal/expr.h>

#include "base/error.h"

typedef struct fr_extent {
    bool is_empty; /* a range is empty: there is no value */
    bool is_exact; /* else: bounds that are perhaps too wide, and no points */
    int64_t least, greatest;
    int64_t at_least[FR_EXPR_ITERATORS], at_greatest[FR_EXPR_ITERATORS];
} fr_extent;

/* Points that one check may enumerate. */
enum { FR_EXTENT_BUDGET = 1 << 20 };

/** Exact where the index is affine, or takes at most *budget points (which is lowered by them).
 * FR_ERANGE where values leave +-2^61. */
fr_status fr_index_extent(const fr_expr_pool *pool, fr_expr_id index, const fr_expr_range *ranges,
                          int n, int64_t *budget, fr_extent *extent) FR_MUST_USE;

/** Writes "h=0, r=2" for the iterators that occur in the index; returns buffer. `names` are ids of
 * NAME nodes or 0. */
const char *fr_point_text(const fr_expr_pool *pool, fr_expr_id index, const int64_t *names,
                          const int64_t *values, char *buffer, size_t bytes);

#endif
