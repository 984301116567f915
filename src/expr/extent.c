/*
 * extent.c: least and greatest value of an index, exact where that is cheap.
 *
 * An affine index takes them in corners of the box. One with divisions is bounded by intervals,
 * which treat every occurrence of an iterator as another one; where that is not good enough the
 * caller asks here, and the iterators that occur are enumerated, odometer fashion.
 */
#include "expr/extent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "expr/pool.h"

static bool is_affine(const fr_expr_view *index)
{
    return index->n_terms == 0 || index->terms[index->n_terms - 1].of < FIRST_ID;
}

static void find_corners(const fr_expr_view *index, const fr_expr_range *ranges, fr_extent *extent)
{
    for (int i = 0; i < index->n_terms; i++) {
        const int64_t of = index->terms[i].of;
        const bool rising = index->terms[i].coefficient > 0;
        extent->at_least[of] = rising ? ranges[of].low : ranges[of].high - 1;
        extent->at_greatest[of] = rising ? ranges[of].high - 1 : ranges[of].low;
    }
}

static void enumerate(const fr_expr_pool *pool, fr_expr_id index, const int *used, int n_used,
                      const fr_expr_range *ranges, fr_extent *extent)
{
    int64_t point[FR_EXPR_ITERATORS] = {0};
    for (int k = 0; k < n_used; k++)
        point[used[k]] = ranges[used[k]].low;
    extent->least = INT64_MAX;
    extent->greatest = INT64_MIN;
    for (;;) {
        const int64_t value = fr_expr_index_value(pool, index, point);
        if (value < extent->least) {
            extent->least = value;
            memcpy(extent->at_least, point, sizeof point);
        }
        if (value > extent->greatest) {
            extent->greatest = value;
            memcpy(extent->at_greatest, point, sizeof point);
        }
        int k = n_used - 1;
        for (; k >= 0; k--) {
            const int i = used[k];
            if (++point[i] < ranges[i].high)
                break;
            point[i] = ranges[i].low;
        }
        if (k < 0)
            return;
    }
}

fr_status fr_index_extent(const fr_expr_pool *pool, fr_expr_id index, const fr_expr_range *ranges,
                          int n, int64_t *budget, fr_extent *extent)
{
    *extent = (fr_extent){0};
    for (int i = 0; i < n; i++)
        extent->is_empty |= ranges[i].low >= ranges[i].high;
    if (extent->is_empty)
        return FR_OK;
    if (!fr_expr_index_bounds(pool, index, ranges, n, &extent->least, &extent->greatest))
        return fr_fail(FR_ERANGE, "an index leaves +-2^61");
    const fr_expr_view view = fr_expr_look(pool, index);
    if (is_affine(&view)) {
        extent->is_exact = true;
        find_corners(&view, ranges, extent);
        return FR_OK;
    }
    int used[FR_EXPR_ITERATORS], n_used = 0;
    int64_t points = 1;
    for (int i = 0; i < n; i++)
        if ((view.iterators >> i & 1) != 0) {
            used[n_used++] = i;
            if (__builtin_mul_overflow(points, ranges[i].high - ranges[i].low, &points) ||
                points > *budget)
                return FR_OK;
        }
    *budget -= points;
    enumerate(pool, index, used, n_used, ranges, extent);
    extent->is_exact = true;
    return FR_OK;
}

const char *fr_point_text(const fr_expr_pool *pool, fr_expr_id index, const int64_t *names,
                          const int64_t *values, char *buffer, size_t bytes)
{
    const uint64_t iterators = fr_pool_node(pool, index)->iterators;
    size_t used = 0;
    buffer[0] = 0;
    for (int i = 0; i < FR_EXPR_ITERATORS && used + 1 < bytes; i++) {
        if ((iterators >> i & 1) == 0)
            continue;
        const char *comma = used > 0 ? ", " : "";
        const int written = names != NULL && names[i] != 0
                                ? snprintf(buffer + used, bytes - used, "%s%s=%" PRId64, comma,
                                           fr_expr_look(pool, (fr_expr_id)names[i]).name, values[i])
                                : snprintf(buffer + used, bytes - used, "%siterator %d=%" PRId64,
                                           comma, i, values[i]);
        used += (size_t)written;
    }
    if (buffer[0] == 0)
        (void)snprintf(buffer, bytes, "everywhere");
    return buffer;
}
