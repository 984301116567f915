/*
 * node.c: making and looking at tensors, scalars and scopes.
 *
 * What holds of every node made here, so that nobody has to ask again: a read has as many indices
 * as its source has dimensions; a scope's body mentions its own iterators only; ranges lie within
 * +-2^40 and are in order, paddings within 0..2^40; the number of values of a scope, and of points
 * it is computed from, fits 62 bits; a maximum is never over nothing.
 */
#include "expr/pool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const int64_t most_extent = INT64_C(1) << 40;
static const int64_t most_points = INT64_C(1) << 62;

static const fr_expr_range *ranges_at(const int64_t *words)
{
    return (const fr_expr_range *)(const void *)words;
}
static const fr_expr_padding *padding_at(const int64_t *words)
{
    return (const fr_expr_padding *)(const void *)words;
}

fr_expr_view fr_expr_look(const fr_expr_pool *pool, fr_expr_id id)
{
    fr_expr_view view = {.kind = fr_pool_kind(pool, id)};
    if (view.kind == FR_EXPR_NONE)
        return view;
    const pool_node *node = fr_pool_node(pool, id);
    const int64_t *words = node->words;
    view.iterators = node->iterators;
    switch (view.kind) {
    case FR_EXPR_NAME: view.name = (const char *)words; break;
    case FR_EXPR_INDEX:
        view.constant = words[0];
        view.n_terms = (int)(node->n_words / 2);
        view.terms = (const fr_expr_term *)(const void *)(words + 1);
        break;
    case FR_EXPR_FLOOR:
    case FR_EXPR_MODULO:
        view.index = (fr_expr_id)words[0];
        view.divisor = words[1];
        break;
    case FR_EXPR_TENSOR:
        view.name = (const char *)fr_pool_node(pool, (fr_expr_id)words[0])->words;
        view.rank = (int)(node->n_words / 4);
        view.ranges = ranges_at(words + 1);
        view.padding = padding_at(words + 1 + 2 * (ptrdiff_t)view.rank);
        break;
    case FR_EXPR_SCOPE:
        view.reduction = (fr_reduction)words[0];
        view.rank = (int)words[1];
        view.n_reduced = (int)words[2];
        view.body = (fr_expr_id)words[3];
        view.ranges = ranges_at(words + 4);
        view.padding = padding_at(words + 4 + 2 * (ptrdiff_t)(view.rank + view.n_reduced));
        view.names = words + node->n_words;
        break;
    case FR_EXPR_NUMBER: memcpy(&view.number, words, sizeof view.number); break;
    case FR_EXPR_READ:
        view.source = (fr_expr_id)words[0];
        view.rank = (int)node->n_words - 1;
        view.indices = words + 1;
        break;
    default:
        view.operands[0] = (fr_expr_id)words[0];
        view.operands[1] = node->n_words > 1 ? (fr_expr_id)words[1] : 0;
        break;
    }
    return view;
}

static bool is_padding(fr_expr_padding p)
{
    return p.low >= 0 && p.high >= 0 && p.low <= most_extent && p.high <= most_extent;
}

fr_expr_id fr_expr_tensor(fr_expr_pool *pool, const char *name, int rank, const int64_t *shape,
                          const fr_expr_padding *padding)
{
    if (rank < 0 || rank > FR_MAX_RANK)
        return fr_pool_fail(
            pool, fr_fail(FR_ESHAPE, "%s has %d dimensions, not 0 to %d", name, rank, FR_MAX_RANK));
    int64_t words[1 + 4 * FR_MAX_RANK] = {0}, count = 1;
    words[0] = fr_expr_name(pool, name);
    if (words[0] == 0)
        return 0;
    for (int d = 0; d < rank; d++) {
        const fr_expr_padding p = padding != NULL ? padding[d] : (fr_expr_padding){0, 0};
        if (shape[d] < 0 || shape[d] > most_extent || !fr_multiply(count, shape[d], &count) ||
            count > most_points)
            return fr_pool_fail(pool, fr_fail(FR_ESHAPE,
                                              "%s: size %" PRId64 " of dimension %d is "
                                              "below 0 or too large",
                                              name, shape[d], d));
        if (!is_padding(p))
            return fr_pool_fail(pool, fr_fail(FR_ERANGE,
                                              "%s: padding %" PRId64 ":%" PRId64
                                              " of dimension %d is below 0 or too large",
                                              name, p.low, p.high, d));
        words[2 + 2 * d] = shape[d];
        words[1 + 2 * rank + 2 * d] = p.low;
        words[2 + 2 * rank + 2 * d] = p.high;
    }
    return fr_pool_intern(pool, FR_EXPR_TENSOR, words, 1 + 4 * (uint32_t)rank, 0);
}

fr_expr_id fr_expr_number(fr_expr_pool *pool, double number)
{
    if (!isfinite(number))
        return fr_pool_fail(pool, fr_fail(FR_ERANGE, "a number of an expression is not finite"));
    int64_t bits;
    number += 0.0; /* -0 + 0 = 0 */
    memcpy(&bits, &number, sizeof bits);
    return fr_pool_intern(pool, FR_EXPR_NUMBER, &bits, 1, 0);
}

fr_expr_id fr_expr_read(fr_expr_pool *pool, fr_expr_id source, const fr_expr_id *indices, int rank)
{
    const fr_expr_view view = fr_expr_look(pool, source);
    if (source == 0)
        return 0;
    if (view.kind != FR_EXPR_TENSOR && view.kind != FR_EXPR_SCOPE)
        return fr_pool_fail(pool, fr_fail(FR_EINVAL,
                                          "node %" PRIu32 " cannot be read: it is neither "
                                          "a tensor nor a scope",
                                          source));
    if (view.rank != rank)
        return fr_pool_fail(pool,
                            fr_fail(FR_ESHAPE,
                                    "%s has %d dimensions and is read with %d "
                                    "indices",
                                    view.name != NULL ? view.name : "a scope", view.rank, rank));
    int64_t words[1 + FR_EXPR_ITERATORS];
    words[0] = source;
    for (int d = 0; d < rank; d++) {
        if (indices[d] == 0)
            return 0;
        if (fr_pool_kind(pool, indices[d]) != FR_EXPR_INDEX)
            return fr_pool_fail(pool,
                                fr_fail(FR_EINVAL, "node %" PRIu32 " is no index", indices[d]));
        words[1 + d] = indices[d];
    }
    return fr_pool_intern(pool, FR_EXPR_READ, words, 1 + (uint32_t)rank, 0);
}

static bool is_scalar(fr_expr_pool *pool, fr_expr_id id)
{
    if (id == 0)
        return false;
    if (fr_kind_is_scalar(fr_pool_kind(pool, id)))
        return true;
    (void)fr_pool_fail(pool, fr_fail(FR_EINVAL, "node %" PRIu32 " is no scalar", id));
    return false;
}

fr_expr_id fr_expr_unary(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id a)
{
    if (!is_scalar(pool, a))
        return 0;
    if (!fr_kind_is_unary(kind))
        return fr_pool_fail(pool,
                            fr_fail(FR_EINVAL, "%d is no function of one operand", (int)kind));
    if (kind == FR_EXPR_NEGATE && fr_pool_kind(pool, a) == FR_EXPR_NUMBER)
        return fr_expr_number(pool, -fr_expr_look(pool, a).number);
    return fr_pool_intern(pool, kind, (int64_t[]){a}, 1, 0);
}

fr_expr_id fr_expr_binary(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id a, fr_expr_id b)
{
    if (!is_scalar(pool, a) || !is_scalar(pool, b))
        return 0;
    if (!fr_kind_is_binary(kind))
        return fr_pool_fail(pool,
                            fr_fail(FR_EINVAL, "%d is no operator of two operands", (int)kind));
    return fr_pool_intern(pool, kind, (int64_t[]){a, b}, 2, 0);
}

/* ---- scopes ---- */

static fr_status check_parts(const fr_expr_pool *pool, const fr_expr_scope_parts *parts)
{
    const int n = parts->n_traversed + parts->n_reduced;
    if (parts->n_traversed < 0 || parts->n_reduced < 0 || parts->n_traversed > FR_EXPR_ITERATORS ||
        parts->n_reduced > FR_EXPR_ITERATORS || n > FR_EXPR_ITERATORS)
        return fr_fail(FR_ERANGE, "a scope has more than %d iterators", (int)FR_EXPR_ITERATORS);
    int64_t points = 1;
    for (int i = 0; i < n; i++) {
        const fr_expr_range r = parts->ranges[i];
        if (r.low > r.high || r.low < -most_extent || r.high > most_extent)
            return fr_fail(FR_ERANGE, "%" PRId64 "..%" PRId64 " is no range", r.low, r.high);
        if (i >= parts->n_traversed && parts->reduction == FR_MAX && r.low == r.high)
            return fr_fail(FR_ERANGE, "a max over the empty range %" PRId64 "..%" PRId64, r.low,
                           r.high);
        /* An empty range counts as one point: the product of the others must fit, too. */
        if (!fr_multiply(points, r.high > r.low ? r.high - r.low : 1, &points) ||
            points > most_points)
            return fr_fail(FR_ERANGE, "a scope has more than 2^62 points");
    }
    for (int i = 0; parts->padding != NULL && i < parts->n_traversed; i++)
        if (!is_padding(parts->padding[i]))
            return fr_fail(FR_ERANGE, "padding %" PRId64 ":%" PRId64 " is below 0 or too large",
                           parts->padding[i].low, parts->padding[i].high);
    if (!fr_kind_is_scalar(fr_pool_kind(pool, parts->body)))
        return fr_fail(FR_EINVAL, "node %" PRIu32 " is no scalar, so no body of a scope",
                       parts->body);
    const uint64_t own = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    if ((fr_pool_node(pool, parts->body)->iterators & ~own) != 0)
        return fr_fail(FR_EINVAL, "the body of a scope of %d iterators mentions another", n);
    if (n > parts->n_traversed && parts->reduction != FR_SUM && parts->reduction != FR_MAX)
        return fr_fail(FR_EINVAL, "a scope reduces by sum or max only");
    return FR_OK;
}

fr_expr_id fr_expr_scope(fr_expr_pool *pool, const fr_expr_scope_parts *parts)
{
    if (parts->body == 0)
        return 0;
    const fr_status status = check_parts(pool, parts);
    if (status != FR_OK)
        return fr_pool_fail(pool, status);
    enum { PER_ITERATOR = 5 }; /* range, padding, name */
    int64_t words[4 + PER_ITERATOR * FR_EXPR_ITERATORS] = {0};
    const int n = parts->n_traversed + parts->n_reduced;
    words[0] = parts->n_reduced > 0 ? parts->reduction : FR_SUM;
    words[1] = parts->n_traversed;
    words[2] = parts->n_reduced;
    words[3] = parts->body;
    int at = 4;
    for (int i = 0; i < n; i++) {
        words[at++] = parts->ranges[i].low;
        words[at++] = parts->ranges[i].high;
    }
    for (int i = 0; i < parts->n_traversed; i++) {
        words[at++] = parts->padding != NULL ? parts->padding[i].low : 0;
        words[at++] = parts->padding != NULL ? parts->padding[i].high : 0;
    }
    for (int i = 0; i < n; i++) {
        const char *name = parts->names != NULL ? parts->names[i] : NULL;
        if (name != NULL && (words[at + i] = fr_expr_name(pool, name)) == 0)
            return 0;
    }
    return fr_pool_intern(pool, FR_EXPR_SCOPE, words, (uint32_t)at, (uint32_t)n);
}

/* ---- rewriting ---- */

fr_expr_id fr_expr_substitute(fr_expr_pool *pool, fr_expr_id scalar, const fr_expr_id *with, int n)
{
    if (!is_scalar(pool, scalar))
        return 0;
    const fr_expr_view view = fr_expr_look(pool, scalar);
    if (view.iterators == 0)
        return scalar;
    if (view.kind == FR_EXPR_READ) {
        fr_expr_id indices[FR_EXPR_ITERATORS];
        for (int d = 0; d < view.rank; d++)
            indices[d] = fr_expr_index_substitute(pool, (fr_expr_id)view.indices[d], with, n);
        return fr_expr_read(pool, view.source, indices, view.rank);
    }
    const fr_expr_id a = fr_expr_substitute(pool, view.operands[0], with, n);
    if (view.operands[1] == 0)
        return fr_expr_unary(pool, view.kind, a);
    return fr_expr_binary(pool, view.kind, a, fr_expr_substitute(pool, view.operands[1], with, n));
}
