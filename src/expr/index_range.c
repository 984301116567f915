/*
 * index_range.c: what an index is worth on given values or ranges of its iterators, and rewriting
 * it.
 *
 * Bounds are intervals: exact for affine indices, and else never too narrow, because an iterator
 * that occurs twice is taken for two. Simplifying uses them to drop divisions that do nothing on
 * the ranges. Everything that changes an index goes through the constructors of index.c, so results
 * are canonical.
 */
#include "expr/pool.h"

/* ---- values and bounds ---- */

int64_t fr_expr_index_value(const fr_expr_pool *pool, fr_expr_id a, const int64_t *iterators)
{
    const fr_expr_view v = fr_expr_look(pool, a);
    int64_t value = v.constant;
    for (int i = 0; i < v.n_terms; i++) {
        const int64_t of = v.terms[i].of;
        int64_t factor;
        if (of < FIRST_ID) {
            factor = iterators[of];
        } else {
            const pool_node *atom = fr_pool_node(pool, (fr_expr_id)of);
            factor = fr_expr_index_value(pool, (fr_expr_id)atom->words[0], iterators);
            factor = atom->kind == FR_EXPR_FLOOR ? fr_floor_div(factor, atom->words[1])
                                                 : fr_floor_mod(factor, atom->words[1]);
        }
        value += v.terms[i].coefficient * factor;
    }
    return value;
}

static bool atom_bounds(const fr_expr_pool *pool, fr_expr_id atom, const fr_expr_range *ranges,
                        int n, int64_t *least, int64_t *greatest)
{
    const pool_node *node = fr_pool_node(pool, atom);
    const int64_t d = node->words[1];
    if (!fr_expr_index_bounds(pool, (fr_expr_id)node->words[0], ranges, n, least, greatest))
        return false;
    const int64_t low = fr_floor_div(*least, d), high = fr_floor_div(*greatest, d);
    if (node->kind == FR_EXPR_FLOOR) {
        *least = low;
        *greatest = high;
    } else if (low == high) {
        *least -= low * d;
        *greatest -= low * d;
    } else {
        *least = 0;
        *greatest = d - 1;
    }
    return true;
}

bool fr_expr_index_bounds(const fr_expr_pool *pool, fr_expr_id a, const fr_expr_range *ranges,
                          int n, int64_t *least, int64_t *greatest)
{
    const fr_expr_view v = fr_expr_look(pool, a);
    int64_t low = v.constant, high = v.constant;
    bool fits = true;
    for (int i = 0; i < v.n_terms; i++) {
        const int64_t of = v.terms[i].of, c = v.terms[i].coefficient;
        int64_t from, to, at_from, at_to;
        if (of < FIRST_ID) {
            if (of >= n || ranges[of].low >= ranges[of].high)
                return false;
            from = ranges[of].low;
            to = ranges[of].high - 1;
        } else if (!atom_bounds(pool, (fr_expr_id)of, ranges, n, &from, &to)) {
            return false;
        }
        fits &=
            !__builtin_mul_overflow(c, from, &at_from) && !__builtin_mul_overflow(c, to, &at_to);
        if (!fits)
            return false;
        fits &= !__builtin_add_overflow(low, c > 0 ? at_from : at_to, &low);
        fits &= !__builtin_add_overflow(high, c > 0 ? at_to : at_from, &high);
    }
    *least = low;
    *greatest = high;
    return fits && low >= -FR_INDEX_LIMIT && high <= FR_INDEX_LIMIT;
}

/* ---- rewriting ---- */

static fr_expr_id substitute_in_atom(fr_expr_pool *pool, fr_expr_id atom, const fr_expr_id *with,
                                     int n)
{
    const fr_expr_view view = fr_expr_look(pool, atom);
    const fr_expr_id inside = fr_expr_index_substitute(pool, view.index, with, n);
    return view.kind == FR_EXPR_FLOOR ? fr_expr_index_floor(pool, inside, view.divisor)
                                      : fr_expr_index_modulo(pool, inside, view.divisor);
}

fr_expr_id fr_expr_index_substitute(fr_expr_pool *pool, fr_expr_id a, const fr_expr_id *with, int n)
{
    if (!fr_pool_is_index(pool, a))
        return 0;
    for (int i = 0; i < n; i++)
        if (!fr_pool_is_index(pool, with[i]))
            return 0;
    const fr_expr_view v = fr_expr_look(pool, a);
    fr_expr_id result = fr_expr_index_constant(pool, v.constant);
    for (int i = 0; i < v.n_terms; i++) {
        const int64_t of = v.terms[i].of;
        fr_expr_id part;
        if (of < n)
            part = with[of];
        else if (of < FIRST_ID)
            part = fr_expr_index_iterator(pool, (int)of);
        else
            part = substitute_in_atom(pool, (fr_expr_id)of, with, n);
        result = fr_expr_index_add(pool, result,
                                   fr_expr_index_scale(pool, part, v.terms[i].coefficient));
    }
    return result;
}

/* In e = g E + R with g dividing d, and R within [g k, g (k + 1)) on the ranges:
 *     floor(e / d) = floor((E + k) / (d / g))
 *     e % d        = g ((E + k) % (d / g)) + R - g k
 * Tries each g that a coefficient offers; 0 where none serves. */
static fr_expr_id divide_small_rest(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id e, int64_t d,
                                    const fr_expr_range *ranges, int n)
{
    const fr_expr_view v = fr_expr_look(pool, e);
    for (int i = 0; i < v.n_terms; i++) {
        const int64_t g = fr_gcd(d, v.terms[i].coefficient % d);
        if (g == 1)
            continue;
        fr_expr_term multiples[FR_INDEX_TERMS], rest[FR_INDEX_TERMS];
        int n_multiples = 0, n_rest = 0;
        for (int k = 0; k < v.n_terms; k++) {
            const fr_expr_term term = v.terms[k];
            if (term.coefficient % g == 0)
                multiples[n_multiples++] = (fr_expr_term){term.coefficient / g, term.of};
            else
                rest[n_rest++] = term;
        }
        const fr_expr_id small = fr_expr_index(pool, v.constant, rest, n_rest);
        int64_t least, greatest;
        if (small == 0 || !fr_expr_index_bounds(pool, small, ranges, n, &least, &greatest) ||
            fr_floor_div(least, g) != fr_floor_div(greatest, g))
            continue;
        const int64_t k = fr_floor_div(least, g);
        const fr_expr_id large = fr_expr_index(pool, k, multiples, n_multiples);
        if (kind == FR_EXPR_FLOOR)
            return fr_expr_index_floor(pool, large, d / g);
        const fr_expr_id inside =
            fr_expr_index_scale(pool, fr_expr_index_modulo(pool, large, d / g), g);
        return fr_expr_index_add(pool, fr_expr_index_add(pool, inside, small),
                                 fr_expr_index_constant(pool, -g * k));
    }
    return 0;
}

static fr_expr_id simplify_atom(fr_expr_pool *pool, fr_expr_id atom, const fr_expr_range *ranges,
                                int n)
{
    const fr_status before = pool->status;
    const fr_expr_kind kind = fr_pool_kind(pool, atom);
    const int64_t d = fr_pool_node(pool, atom)->words[1];
    const fr_expr_id e =
        fr_expr_index_simplify(pool, (fr_expr_id)fr_pool_node(pool, atom)->words[0], ranges, n);
    int64_t least, greatest;
    if (e == 0)
        return 0;
    if (fr_expr_index_bounds(pool, e, ranges, n, &least, &greatest)) {
        const int64_t q = fr_floor_div(least, d);
        if (q == fr_floor_div(greatest, d))
            return kind == FR_EXPR_FLOOR
                       ? fr_expr_index_constant(pool, q)
                       : fr_expr_index_add(pool, e, fr_expr_index_constant(pool, -q * d));
        const fr_expr_id divided = divide_small_rest(pool, kind, e, d, ranges, n);
        if (divided != 0)
            return divided;
        pool->status = before; /* an attempt that did not fit 64 bits is no failure */
    }
    return kind == FR_EXPR_FLOOR ? fr_expr_index_floor(pool, e, d)
                                 : fr_expr_index_modulo(pool, e, d);
}

fr_expr_id fr_expr_index_simplify(fr_expr_pool *pool, fr_expr_id a, const fr_expr_range *ranges,
                                  int n)
{
    if (!fr_pool_is_index(pool, a))
        return 0;
    /* One pass may open the way for another; each takes a division away, so few happen. */
    for (int pass = 0; pass < FR_INDEX_TERMS; pass++) {
        const fr_expr_view v = fr_expr_look(pool, a);
        fr_expr_id result = fr_expr_index_constant(pool, v.constant);
        for (int i = 0; i < v.n_terms; i++) {
            const int64_t of = v.terms[i].of;
            const fr_expr_id part = of < FIRST_ID ? fr_expr_index_iterator(pool, (int)of)
                                                  : simplify_atom(pool, (fr_expr_id)of, ranges, n);
            result = fr_expr_index_add(pool, result,
                                       fr_expr_index_scale(pool, part, v.terms[i].coefficient));
        }
        if (result == a || result == 0)
            return result;
        a = result;
    }
    return a;
}
