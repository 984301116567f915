/*
 * index.c: canonical indices: affine in iterators and atoms, where an atom is floor(e/d) or e%d.
 *
 * Every index is made by finish(): terms with one `of` joined, zeros dropped, sorted, interned; so
 * two indices that these rules can make equal are one node. The rules hold for all integers:
 *
 *     floor((d q + r) / d)  = q + floor(r / d)         multiples leave a floor
 *     (d q + r) % d         = r % d                    and vanish from a modulo
 *     floor(g e / (g d))    = floor(e / d)             common factors cancel,
 *     (g e + c) % (g d)     = g ((e + c/g) % d) + c%g  or leave a modulo
 *     floor(floor(e/a) / b) = floor(e / (a b))         nested floors join
 *     floor((e % (a d)) / d) = floor(e / d) % a        a modulo goes outside
 *     (e % (a m)) % m       = e % m                    the inner modulo goes
 *     d floor(e/d) + e % d  = e                        a split joined again
 *
 * Coefficients keep their sign when multiples leave a floor (so (3-h)/4 stays as it is and its
 * bounds stay exact); in a modulo they become the residue of least size. All arithmetic is checked:
 * what does not fit 64 bits is an error, never a wrong index.
 */
#include "expr/pool.h"

#include <inttypes.h>

enum { MOST_DEPTH = 64 };

/* A sum being collected. */
typedef struct sum {
    int64_t constant;
    fr_expr_term terms[FR_INDEX_TERMS];
    int n;
    bool failed; /* overflow, or too many terms */
} sum;

typedef struct index_view {
    int64_t constant;
    const fr_expr_term *terms;
    int n;
} index_view;

static index_view look(const fr_expr_pool *pool, fr_expr_id id)
{
    const pool_node *node = fr_pool_node(pool, id);
    return (index_view){node->words[0], (const fr_expr_term *)(const void *)(node->words + 1),
                        (int)(node->n_words / 2)};
}

static bool is_atom(const fr_expr_pool *pool, int64_t of, fr_expr_kind kind, fr_expr_id *index,
                    int64_t *divisor)
{
    if (of < FIRST_ID || fr_pool_kind(pool, (fr_expr_id)of) != kind)
        return false;
    const int64_t *words = fr_pool_node(pool, (fr_expr_id)of)->words;
    *index = (fr_expr_id)words[0];
    *divisor = words[1];
    return true;
}

/* ---- sums ---- */

static void add_constant(sum *s, int64_t constant)
{
    s->failed |= __builtin_add_overflow(s->constant, constant, &s->constant);
}

static void remove_term(sum *s, int i) { s->terms[i] = s->terms[--s->n]; }

static void add_term(sum *s, int64_t coefficient, int64_t of)
{
    if (coefficient == 0)
        return;
    for (int i = 0; i < s->n; i++) {
        if (s->terms[i].of != of)
            continue;
        int64_t *const own = &s->terms[i].coefficient;
        s->failed |= __builtin_add_overflow(*own, coefficient, own);
        if (*own == 0)
            remove_term(s, i);
        return;
    }
    if (s->n == FR_INDEX_TERMS)
        s->failed = true;
    else
        s->terms[s->n++] = (fr_expr_term){coefficient, of};
}

static void add_scaled(sum *s, const fr_expr_pool *pool, fr_expr_id index, int64_t factor)
{
    const index_view v = look(pool, index);
    int64_t product = 0;
    s->failed |= __builtin_mul_overflow(v.constant, factor, &product);
    add_constant(s, product);
    for (int i = 0; i < v.n; i++) {
        s->failed |= __builtin_mul_overflow(v.terms[i].coefficient, factor, &product);
        add_term(s, product, v.terms[i].of);
    }
}

/* d * floor(e/d) + e % d = e, times any factor; one pair a call. */
static bool join_split(sum *s, const fr_expr_pool *pool)
{
    fr_expr_id e, other;
    int64_t d, other_d, wanted;
    for (int i = 0; i < s->n; i++) {
        if (!is_atom(pool, s->terms[i].of, FR_EXPR_MODULO, &e, &d))
            continue;
        const int64_t factor = s->terms[i].coefficient;
        for (int k = 0; k < s->n; k++) {
            if (!is_atom(pool, s->terms[k].of, FR_EXPR_FLOOR, &other, &other_d) || other != e ||
                other_d != d || __builtin_mul_overflow(factor, d, &wanted) ||
                s->terms[k].coefficient != wanted)
                continue;
            remove_term(s, i > k ? i : k);
            remove_term(s, i > k ? k : i);
            add_scaled(s, pool, e, factor);
            return true;
        }
    }
    return false;
}

static int compare_index(const fr_expr_pool *pool, fr_expr_id a, fr_expr_id b);

/* Iterators by number, then atoms by kind, divisor and what they divide: the same in any pool. */
static int compare_of(const fr_expr_pool *pool, int64_t a, int64_t b)
{
    if (a == b)
        return 0;
    if (a < FIRST_ID || b < FIRST_ID)
        return a < b ? -1 : 1;
    const pool_node *x = fr_pool_node(pool, (fr_expr_id)a), *y = fr_pool_node(pool, (fr_expr_id)b);
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->words[1] != y->words[1])
        return x->words[1] < y->words[1] ? -1 : 1;
    return compare_index(pool, (fr_expr_id)x->words[0], (fr_expr_id)y->words[0]);
}

static int compare_index(const fr_expr_pool *pool, fr_expr_id a, fr_expr_id b)
{
    const index_view x = look(pool, a), y = look(pool, b);
    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    for (int i = 0; i < x.n; i++) {
        const int order = compare_of(pool, x.terms[i].of, y.terms[i].of);
        if (order != 0)
            return order;
        if (x.terms[i].coefficient != y.terms[i].coefficient)
            return x.terms[i].coefficient < y.terms[i].coefficient ? -1 : 1;
    }
    return (x.constant > y.constant) - (x.constant < y.constant);
}

/* The one way an index comes to be. */
static fr_expr_id finish(fr_expr_pool *pool, sum *s)
{
    while (!s->failed && join_split(s, pool))
        continue;
    if (s->failed)
        return fr_pool_fail(pool, fr_fail(FR_ERANGE,
                                          "an index has more than %d terms or numbers "
                                          "beyond 64 bits",
                                          (int)FR_INDEX_TERMS));
    for (int i = 1; i < s->n; i++) { /* insertion: a handful of terms */
        const fr_expr_term term = s->terms[i];
        int k = i;
        for (; k > 0 && compare_of(pool, s->terms[k - 1].of, term.of) > 0; k--)
            s->terms[k] = s->terms[k - 1];
        s->terms[k] = term;
    }
    int64_t words[1 + 2 * FR_INDEX_TERMS];
    words[0] = s->constant;
    for (int i = 0; i < s->n; i++) {
        words[1 + 2 * i] = s->terms[i].coefficient;
        words[2 + 2 * i] = s->terms[i].of;
    }
    return fr_pool_intern(pool, FR_EXPR_INDEX, words, 1 + 2 * (uint32_t)s->n, 0);
}

bool fr_pool_is_index(fr_expr_pool *pool, fr_expr_id id)
{
    if (id == 0)
        return false;
    if (fr_pool_kind(pool, id) == FR_EXPR_INDEX)
        return true;
    (void)fr_pool_fail(pool, fr_fail(FR_EINVAL, "node %" PRIu32 " is no index", id));
    return false;
}

fr_expr_id fr_expr_index(fr_expr_pool *pool, int64_t constant, const fr_expr_term *terms, int n)
{
    sum s = {.constant = constant};
    fr_expr_id e;
    int64_t d;
    for (int i = 0; i < n; i++) {
        const int64_t of = terms[i].of;
        if (of < 0 || of > UINT32_MAX ||
            (of >= FIRST_ID && !is_atom(pool, of, FR_EXPR_FLOOR, &e, &d) &&
             !is_atom(pool, of, FR_EXPR_MODULO, &e, &d)))
            return fr_pool_fail(
                pool, fr_fail(FR_EINVAL, "%" PRId64 " is neither an iterator nor a division", of));
        add_term(&s, terms[i].coefficient, of);
    }
    return finish(pool, &s);
}

fr_expr_id fr_expr_index_constant(fr_expr_pool *pool, int64_t constant)
{
    return fr_expr_index(pool, constant, NULL, 0);
}

fr_expr_id fr_expr_index_iterator(fr_expr_pool *pool, int iterator)
{
    if (iterator < 0 || iterator >= FR_EXPR_ITERATORS)
        return fr_pool_fail(pool, fr_fail(FR_EINVAL, "%d is no number of an iterator", iterator));
    return fr_expr_index(pool, 0, &(fr_expr_term){1, iterator}, 1);
}

fr_expr_id fr_expr_index_add(fr_expr_pool *pool, fr_expr_id a, fr_expr_id b)
{
    if (!fr_pool_is_index(pool, a) || !fr_pool_is_index(pool, b))
        return 0;
    sum s = {0};
    add_scaled(&s, pool, a, 1);
    add_scaled(&s, pool, b, 1);
    return finish(pool, &s);
}

fr_expr_id fr_expr_index_scale(fr_expr_pool *pool, fr_expr_id a, int64_t factor)
{
    if (!fr_pool_is_index(pool, a))
        return 0;
    sum s = {0};
    add_scaled(&s, pool, a, factor);
    return finish(pool, &s);
}

/* ---- division ---- */

/* The greatest common divisor of d > 0 and all coefficients. */
static int64_t common_factor(const sum *s, int64_t d)
{
    for (int i = 0; i < s->n; i++)
        d = fr_gcd(d, s->terms[i].coefficient % d);
    return d;
}

static bool is_divisor(fr_expr_pool *pool, int64_t d)
{
    if (d > 0 && d <= FR_INDEX_LIMIT)
        return true;
    (void)fr_pool_fail(
        pool,
        fr_fail(FR_ERANGE, "an index is divided by %" PRId64 ", which is not within 1..2^61", d));
    return false;
}

static fr_expr_id make_atom(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id index,
                            int64_t divisor)
{
    if (fr_pool_node(pool, index)->depth > MOST_DEPTH)
        return fr_pool_fail(pool,
                            fr_fail(FR_ERANGE, "the divisions of an index nest deeper than %d",
                                    (int)MOST_DEPTH / 2));
    const fr_expr_id atom = fr_pool_intern(pool, kind, (int64_t[]){index, divisor}, 2, 0);
    return atom == 0 ? 0 : fr_expr_index(pool, 0, &(fr_expr_term){1, atom}, 1);
}

/* floor(a/d) where no multiple of d is left in a: joins what a single atom inside allows. */
static fr_expr_id floor_of_rest(fr_expr_pool *pool, fr_expr_id a, int64_t d)
{
    const index_view v = look(pool, a);
    fr_expr_id inner;
    int64_t inner_d, product, shift;
    if (v.n == 1 && v.terms[0].coefficient == 1) {
        const int64_t constant = v.constant;
        if (is_atom(pool, v.terms[0].of, FR_EXPR_FLOOR, &inner, &inner_d) &&
            !__builtin_mul_overflow(inner_d, d, &product) &&
            !__builtin_mul_overflow(inner_d, constant, &shift)) {
            /* floor((floor(e/a) + c) / d) = floor((e + a c) / (a d)) */
            const fr_expr_id shifted =
                fr_expr_index_add(pool, inner, fr_expr_index_constant(pool, shift));
            return fr_expr_index_floor(pool, shifted, product);
        }
        if (constant == 0 && is_atom(pool, v.terms[0].of, FR_EXPR_MODULO, &inner, &inner_d) &&
            inner_d % d == 0)
            return fr_expr_index_modulo(pool, fr_expr_index_floor(pool, inner, d), inner_d / d);
    }
    return make_atom(pool, FR_EXPR_FLOOR, a, d);
}

fr_expr_id fr_expr_index_floor(fr_expr_pool *pool, fr_expr_id a, int64_t divisor)
{
    if (!fr_pool_is_index(pool, a) || !is_divisor(pool, divisor) || divisor == 1)
        return divisor == 1 ? a : 0;
    const index_view v = look(pool, a);
    sum quotient = {.constant = fr_floor_div(v.constant, divisor)};
    sum rest = {.constant = fr_floor_mod(v.constant, divisor)};
    for (int i = 0; i < v.n; i++) {
        add_term(&quotient, v.terms[i].coefficient / divisor, v.terms[i].of);
        add_term(&rest, v.terms[i].coefficient % divisor, v.terms[i].of);
    }
    if (rest.n == 0)
        return finish(pool, &quotient);
    const int64_t factor = common_factor(&rest, divisor);
    for (int i = 0; i < rest.n; i++)
        rest.terms[i].coefficient /= factor;
    rest.constant /= factor;
    const fr_expr_id reduced = finish(pool, &rest);
    if (reduced == 0)
        return 0;
    if (reduced == a && factor == 1)
        return floor_of_rest(pool, a, divisor);
    return fr_expr_index_add(pool, finish(pool, &quotient),
                             fr_expr_index_floor(pool, reduced, divisor / factor));
}

/* The residue of least size. */
static int64_t least_residue(int64_t c, int64_t m)
{
    const int64_t residue = fr_floor_mod(c, m);
    return residue > m - residue ? residue - m : residue;
}

fr_expr_id fr_expr_index_modulo(fr_expr_pool *pool, fr_expr_id a, int64_t divisor)
{
    if (!fr_pool_is_index(pool, a) || !is_divisor(pool, divisor))
        return 0;
    const index_view v = look(pool, a);
    sum rest = {.constant = fr_floor_mod(v.constant, divisor)};
    for (int i = 0; i < v.n; i++) {
        const int64_t c = least_residue(v.terms[i].coefficient, divisor);
        fr_expr_id inner;
        int64_t inner_m, product;
        if (is_atom(pool, v.terms[i].of, FR_EXPR_MODULO, &inner, &inner_m) &&
            !__builtin_mul_overflow(c, inner_m, &product) && product % divisor == 0)
            add_scaled(&rest, pool, inner, c); /* c (e % m) = c e, up to multiples of the divisor */
        else
            add_term(&rest, c, v.terms[i].of);
    }
    if (rest.n == 0) {
        rest.constant = fr_floor_mod(rest.constant, divisor);
        return finish(pool, &rest);
    }
    const int64_t factor = common_factor(&rest, divisor);
    if (factor > 1) {
        const int64_t left = fr_floor_mod(rest.constant, factor);
        rest.constant = fr_floor_div(rest.constant, factor);
        for (int i = 0; i < rest.n; i++)
            rest.terms[i].coefficient /= factor;
        const fr_expr_id inside = fr_expr_index_modulo(pool, finish(pool, &rest), divisor / factor);
        return fr_expr_index_add(pool, fr_expr_index_scale(pool, inside, factor),
                                 fr_expr_index_constant(pool, left));
    }
    const fr_expr_id reduced = finish(pool, &rest);
    if (reduced == 0 || reduced != a)
        return fr_expr_index_modulo(pool, reduced, divisor);
    return make_atom(pool, FR_EXPR_MODULO, a, divisor);
}
