/*
 * random_expression.h: seeded random expressions, made through the constructors.
 *
 * Reads come first and sources after them: the bounds of a read's indices decide shape and padding
 * of its tensor, or the ranges of the inner scope, so every expression passes fr_expr_check. Ranges
 * are small; names of iterators are missing, doubled or of the form i<number> now and then.
 */
#ifndef FR_TESTS_RANDOM_EXPRESSION_H
#define FR_TESTS_RANDOM_EXPRESSION_H

#include <frugal/expr.h>

#include "base/random.h"

typedef struct maker {
    fr_expr_pool *pool;
    fr_random random;
    int n_tensors;
    double points; /* of the scopes around: kept small */
} maker;

static inline int64_t draw(maker *m, int64_t low, int64_t high)
{
    return low + (int64_t)fr_random_below(&m->random, (uint64_t)(high - low + 1));
}

static inline fr_expr_id make_index(maker *m, int n, int depth)
{
    fr_expr_id index = fr_expr_index_constant(m->pool, draw(m, -3, 3));
    for (int64_t terms = draw(m, 0, 3); terms > 0 && n > 0; terms--) {
        fr_expr_id part = fr_expr_index_iterator(m->pool, (int)draw(m, 0, n - 1));
        if (depth > 0 && draw(m, 0, 3) == 0) {
            const fr_expr_id inside = make_index(m, n, depth - 1);
            const int64_t divisor = draw(m, 1, 6);
            part = draw(m, 0, 1) ? fr_expr_index_floor(m->pool, inside, divisor)
                                 : fr_expr_index_modulo(m->pool, inside, divisor);
        }
        const int64_t factor = draw(m, 0, 2) ? 1 : draw(m, -4, 4);
        index = fr_expr_index_add(m->pool, index, fr_expr_index_scale(m->pool, part, factor));
    }
    return index;
}

static inline fr_expr_id make_scope(maker *m, const fr_expr_range *ranges,
                                    const fr_expr_padding *padding, int rank, int depth);

static inline fr_expr_id make_read(maker *m, const fr_expr_range *ranges, int n, int depth)
{
    fr_expr_id indices[3];
    fr_expr_range box[3];
    fr_expr_padding padding[3];
    int64_t shape[3];
    const int rank = (int)draw(m, 0, 3);
    for (int d = 0; d < rank; d++) {
        int64_t least = 0, greatest = 0;
        indices[d] = make_index(m, n, 2);
        (void)fr_expr_index_bounds(m->pool, indices[d], ranges, n, &least, &greatest);
        padding[d].low = draw(m, 0, 2);
        padding[d].high = draw(m, 0, 2);
        box[d].low = least + padding[d].low;
        box[d].high = greatest + 1 - padding[d].high;
        if (box[d].high < box[d].low)
            box[d].high = box[d].low;
        /* A tensor starts at 0: what lies below must be padding. */
        shape[d] = box[d].high > 0 ? box[d].high : 0;
    }
    if (depth > 0 && draw(m, 0, 2) == 0) {
        double points = 1;
        for (int d = 0; d < rank; d++)
            points *= (double)(box[d].high - box[d].low);
        if (points < 500)
            return fr_expr_read(m->pool, make_scope(m, box, padding, rank, depth - 1), indices,
                                rank);
    }
    for (int d = 0; d < rank; d++) {
        const int64_t least = box[d].low - padding[d].low;
        padding[d].low = (least < 0 ? -least : 0) + draw(m, 0, 1);
    }
    char name[16];
    (void)snprintf(name, sizeof name, "T%d", m->n_tensors++);
    return fr_expr_read(m->pool, fr_expr_tensor(m->pool, name, rank, shape, padding), indices,
                        rank);
}

static inline fr_expr_id make_scalar(maker *m, const fr_expr_range *ranges, int n, int depth,
                                     int size)
{
    static const double numbers[] = {0, 1, -1, 2, 0.5, 0.1, -3.25e-7, 1e300, 123456789, 1.0 / 3};
    const int64_t choice = size <= 0 ? draw(m, 0, 3) : draw(m, 0, 9);
    if (choice == 0)
        return fr_expr_number(m->pool, numbers[draw(m, 0, 9)]);
    if (choice <= 3)
        return make_read(m, ranges, n, depth);
    if (choice == 4) {
        const fr_expr_kind kind = (fr_expr_kind)draw(m, FR_EXPR_NEGATE, FR_EXPR_ERF);
        return fr_expr_unary(m->pool, kind, make_scalar(m, ranges, n, depth, size - 1));
    }
    const fr_expr_kind kind =
        draw(m, 0, 7) ? (fr_expr_kind)draw(m, FR_EXPR_ADD, FR_EXPR_MULTIPLY) : FR_EXPR_DIVIDE;
    const fr_expr_id left = make_scalar(m, ranges, n, depth, size - 1);
    return fr_expr_binary(m->pool, kind, left, make_scalar(m, ranges, n, depth, size - 2));
}

static inline fr_expr_id make_scope(maker *m, const fr_expr_range *ranges,
                                    const fr_expr_padding *padding, int rank, int depth)
{
    static const char *const words[] = {"n",  "h",  "w",  "r",         "s",
                                        "i0", "i1", "i7", "channel_2", "i"};
    fr_expr_range all[8];
    const char *names[8];
    fr_expr_scope_parts parts = {.n_traversed = rank,
                                 .n_reduced = (int)draw(m, 0, 2),
                                 .ranges = all,
                                 .padding = padding,
                                 .names = names,
                                 .reduction = draw(m, 0, 3) ? FR_SUM : FR_MAX};
    const int n = rank + parts.n_reduced;
    const bool odd_names = draw(m, 0, 3) == 0;
    const int64_t first = draw(m, 0, 9);
    for (int i = 0; i < n; i++) {
        if (i < rank)
            all[i] = ranges[i];
        else
            all[i].low = draw(m, -2, 2), all[i].high = all[i].low + draw(m, 1, 3);
        names[i] =
            odd_names ? (draw(m, 0, 2) ? words[draw(m, 0, 9)] : NULL) : words[(first + i) % 10];
    }
    /* An empty traversed range has no bounds to make indices from: the body then reads nothing. */
    bool is_empty = false;
    for (int i = 0; i < n; i++)
        is_empty |= all[i].low >= all[i].high;
    parts.body = is_empty ? fr_expr_number(m->pool, 1) : make_scalar(m, all, n, depth, 3);
    return fr_expr_scope(m->pool, &parts);
}

/* An expression of its own pool. */
static inline fr_expr make_expression(uint64_t seed, uint64_t number)
{
    maker m = {.random = fr_random_start(seed, number)};
    assert_int_equal(fr_expr_pool_create(&m.pool), FR_OK);
    fr_expr_range ranges[3];
    const int rank = (int)draw(&m, 0, 3);
    for (int i = 0; i < rank; i++) {
        ranges[i].low = draw(&m, 0, 2) ? 0 : draw(&m, -3, 3);
        ranges[i].high = ranges[i].low + draw(&m, 0, 5);
    }
    fr_expr e = {.pool = m.pool, .owned = m.pool, .name = "O"};
    e.root = make_scope(&m, ranges, NULL, rank, 2);
    if (e.root == 0)
        fail_msg("number %" PRIu64 ": %s", number, fr_error_message());
    return e;
}

/* ---- an equal expression, told differently ---- */

static inline fr_expr_id retell_scope(maker *m, const fr_expr_pool *from, fr_expr_id id);

static inline fr_expr_id retell_index(maker *m, const fr_expr_pool *from, fr_expr_id id,
                                      const int *renumbered)
{
    const fr_expr_view v = fr_expr_look(from, id);
    fr_expr_id out = fr_expr_index_constant(m->pool, v.constant);
    for (int i = v.n_terms - 1; i >= 0; i--) {
        fr_expr_id part;
        if (v.terms[i].of < FR_EXPR_ITERATORS) {
            part = fr_expr_index_iterator(m->pool, renumbered[v.terms[i].of]);
        } else {
            const fr_expr_view atom = fr_expr_look(from, (fr_expr_id)v.terms[i].of);
            const fr_expr_id inside = retell_index(m, from, atom.index, renumbered);
            part = atom.kind == FR_EXPR_FLOOR ? fr_expr_index_floor(m->pool, inside, atom.divisor)
                                              : fr_expr_index_modulo(m->pool, inside, atom.divisor);
        }
        out = fr_expr_index_add(m->pool, fr_expr_index_scale(m->pool, part, v.terms[i].coefficient),
                                out);
    }
    return out;
}

static inline fr_expr_id retell_scalar(maker *m, const fr_expr_pool *from, fr_expr_id id,
                                       const int *renumbered)
{
    const fr_expr_view v = fr_expr_look(from, id);
    if (v.kind == FR_EXPR_NUMBER)
        return fr_expr_number(m->pool, v.number);
    if (v.kind == FR_EXPR_READ) {
        fr_expr_id indices[FR_EXPR_ITERATORS];
        for (int d = 0; d < v.rank; d++)
            indices[d] = retell_index(m, from, (fr_expr_id)v.indices[d], renumbered);
        const fr_expr_view source = fr_expr_look(from, v.source);
        if (source.kind == FR_EXPR_SCOPE)
            return fr_expr_read(m->pool, retell_scope(m, from, v.source), indices, v.rank);
        int64_t shape[FR_MAX_RANK];
        for (int d = 0; d < v.rank; d++)
            shape[d] = source.ranges[d].high;
        return fr_expr_read(m->pool,
                            fr_expr_tensor(m->pool, source.name, v.rank, shape, source.padding),
                            indices, v.rank);
    }
    const fr_expr_id a = retell_scalar(m, from, v.operands[0], renumbered);
    if (v.operands[1] == 0)
        return fr_expr_unary(m->pool, v.kind, a);
    const fr_expr_id b = retell_scalar(m, from, v.operands[1], renumbered);
    if (v.kind == FR_EXPR_SUBTRACT && draw(m, 0, 1))
        return fr_expr_binary(m->pool, FR_EXPR_ADD, fr_expr_unary(m->pool, FR_EXPR_NEGATE, b), a);
    const bool swaps = (v.kind == FR_EXPR_ADD || v.kind == FR_EXPR_MULTIPLY) && draw(m, 0, 1);
    return fr_expr_binary(m->pool, v.kind, swaps ? b : a, swaps ? a : b);
}

static inline fr_expr_id retell_scope(maker *m, const fr_expr_pool *from, fr_expr_id id)
{
    const fr_expr_view v = fr_expr_look(from, id);
    int renumbered[FR_EXPR_ITERATORS];
    fr_expr_range ranges[FR_EXPR_ITERATORS];
    const int n = v.rank + v.n_reduced;
    for (int i = 0; i < n; i++) {
        renumbered[i] = i;
        if (i > v.rank) { /* a random order of the reduced ones */
            const int k = (int)draw(m, v.rank, i), kept = renumbered[k];
            renumbered[k] = i;
            renumbered[i] = kept;
        }
    }
    for (int i = 0; i < n; i++)
        ranges[renumbered[i]] = v.ranges[i];
    return fr_expr_scope(
        m->pool, &(fr_expr_scope_parts){.n_traversed = v.rank,
                                        .n_reduced = v.n_reduced,
                                        .ranges = ranges,
                                        .padding = v.padding,
                                        .reduction = v.reduction,
                                        .body = retell_scalar(m, from, v.body, renumbered)});
}

static inline fr_expr retell(const fr_expr *e, uint64_t seed, uint64_t number)
{
    maker m = {.random = fr_random_start(seed, ~number)};
    assert_int_equal(fr_expr_pool_create(&m.pool), FR_OK);
    return (fr_expr){.pool = m.pool,
                     .owned = m.pool,
                     .name = "other",
                     .root = retell_scope(&m, e->pool, e->root)};
}

/* ---- the properties ---- */

/* Residues of the output with random inputs; false where exact arithmetic divides by 0. */
static inline bool exact_values(const fr_expr *e, uint64_t seed, fr_tensor *out)
{
    const fr_status status = fr_expr_evaluate_exact(e, NULL, NULL, 0, seed, out);
    if (status != FR_OK && status != FR_ERANGE)
        fail_msg("%s: %s", fr_expr_text(e), fr_error_message());
    return status == FR_OK;
}

static inline bool same_values(const fr_expr *a, const fr_expr *b, uint64_t seed)
{
    fr_tensor x, y;
    const bool has_x = exact_values(a, seed, &x), has_y = exact_values(b, seed, &y);
    bool same = has_x == has_y;
    if (has_x && has_y)
        same = fr_tensor_count(&x) == fr_tensor_count(&y) &&
               memcmp(x.data, y.data, (size_t)fr_tensor_count(&x) * 8) == 0;
    fr_tensor_release(&x);
    fr_tensor_release(&y);
    return same;
}

static inline void check_round_trip(uint64_t seed, uint64_t number)
{
    fr_expr e = make_expression(seed, number), again;
    const char *text = fr_expr_text(&e);
    assert_non_null(text);
    if (fr_expr_parse(text, &again) != FR_OK)
        fail_msg("number %" PRIu64 ": %s\n%s", number, fr_error_message(), text);
    if (!fr_expr_equal(&e, &again) || strcmp(fr_expr_text(&again), text) != 0)
        fail_msg("number %" PRIu64 ":\n%s\nbecame\n%s", number, text, fr_expr_text(&again));
    double work;
    assert_int_equal(fr_expr_work(&e, &work), FR_OK);
    if (work < 20000 && !same_values(&e, &again, seed))
        fail_msg("number %" PRIu64 ": other values\n%s", number, text);
    fr_expr_release(&again);
    fr_expr_release(&e);
}

static inline void check_fingerprint(uint64_t seed, uint64_t number)
{
    fr_expr e = make_expression(seed, number), other = retell(&e, seed, number);
    fr_fingerprint x, y;
    assert_int_not_equal(other.root, 0);
    assert_int_equal(fr_expr_fingerprint(&e, &x), FR_OK);
    assert_int_equal(fr_expr_fingerprint(&other, &y), FR_OK);
    if (x.low != y.low || x.high != y.high)
        fail_msg("number %" PRIu64 ": fingerprints differ\n%s\n%s", number, fr_expr_text(&e),
                 fr_expr_text(&other));
    double work;
    assert_int_equal(fr_expr_work(&e, &work), FR_OK);
    if (work < 20000 && !same_values(&e, &other, seed))
        fail_msg("number %" PRIu64 ": other values\n%s\n%s", number, fr_expr_text(&e),
                 fr_expr_text(&other));
    fr_expr_release(&other);
    fr_expr_release(&e);
}

#endif
