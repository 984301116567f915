/*
 * fingerprint.c: 128 bits that tell expressions apart, whatever their iterators are called and in
 * which order terms, factors and reduced iterators stand.
 *
 * Every iterator of a scope gets a colour, a hash. A traversed one is its position, range and
 * padding. A reduced one starts as its range; then, as long as that tells more of them apart, its
 * colour takes in the hash of the body with this iterator marked and the others in their colours:
 * all its occurrences, seen from it. Where some still look alike (r and s in A[r] * A[s]), one of
 * them is singled out and colouring goes on; each of the alike is tried, and the least hash stands.
 * Trials are limited; beyond that the first is taken, which may miss an equality but never makes
 * unequal expressions equal.
 *
 * Hashing the body: operands of + and * are collected through nested ones and summed up, so that
 * their order and grouping do not count; signs move outwards. Scopes are closed and hashed once
 * each.
 */
#include <frugal/expr.h>

#include <string.h>

#include "base/alloc.h"
#include "expr/pool.h"

enum { MOST_TRIALS = 64 };

/* A scalar is plus or minus what is hashed: so -a * b, a * -b and -(a * b) are one, as are a - b
 * and
 * -(b - a). Other nodes are never negative. */
typedef struct signed_hash {
    fr_fingerprint hash;
    bool is_negative;
} signed_hash;

/* Hashes of a body's nodes under the present colours. */
typedef struct colouring {
    fr_expr_pool *pool;
    const fr_expr_view *scope;
    const fr_id_list *nodes; /* of the body, ascending */
    signed_hash *hashes;     /* one a node */
    int trials_left;
} colouring;

typedef fr_fingerprint colours[FR_EXPR_ITERATORS];

enum {
    SALT_TRAVERSED = 101,
    SALT_REDUCED,
    SALT_MARKED,
    SALT_SINGLED,
    SALT_SUM,
    SALT_PRODUCT,
    SALT_NEGATIVE,
    SALT_SCOPE
};

static fr_fingerprint start(uint64_t salt)
{
    return fr_stir((fr_fingerprint){UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707344)},
                   salt);
}

/* The sum does not depend on the order of what is added. */
static fr_fingerprint plus(fr_fingerprint a, fr_fingerprint b)
{
    return (fr_fingerprint){a.low + b.low, a.high + b.high};
}

static int compare(fr_fingerprint a, fr_fingerprint b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

static signed_hash signed_hash_of(const colouring *c, fr_expr_id id)
{
    uint32_t low = 0, high = c->nodes->n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->nodes->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return c->hashes[low];
}

static fr_fingerprint with_sign(fr_fingerprint hash, bool is_negative)
{
    return is_negative ? fr_stir_hash(start(SALT_NEGATIVE), hash) : hash;
}

static fr_fingerprint hash_of(const colouring *c, fr_expr_id id)
{
    const signed_hash s = signed_hash_of(c, id);
    return with_sign(s.hash, s.is_negative);
}

/* The terms of a sum, and of the sum with all signs turned. Zeros are left out. */
typedef struct terms {
    fr_fingerprint total, turned;
    uint64_t n;
    signed_hash last;
} terms;

static signed_hash hash_number(double number)
{
    signed_hash out = {start(FR_EXPR_NUMBER), number < 0};
    const double size = out.is_negative ? -number : number;
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    out.hash = fr_stir(out.hash, bits);
    return out;
}

static void collect_terms(const colouring *c, fr_expr_id id, bool negative, terms *t)
{
    const fr_expr_view node = fr_expr_look(c->pool, id);
    if (node.kind == FR_EXPR_ADD || node.kind == FR_EXPR_SUBTRACT) {
        collect_terms(c, node.operands[0], negative, t);
        collect_terms(c, node.operands[1], negative != (node.kind == FR_EXPR_SUBTRACT), t);
    } else if (node.kind == FR_EXPR_NEGATE) {
        collect_terms(c, node.operands[0], !negative, t);
    } else if (node.kind != FR_EXPR_NUMBER || node.number != 0) {
        const signed_hash s = signed_hash_of(c, id);
        const bool sign = s.is_negative != negative;
        t->total = plus(t->total, fr_stir_hash(start(SALT_SUM), with_sign(s.hash, sign)));
        t->turned = plus(t->turned, fr_stir_hash(start(SALT_SUM), with_sign(s.hash, !sign)));
        t->last = (signed_hash){s.hash, sign};
        t->n++;
    }
}

static signed_hash hash_sum(const colouring *c, fr_expr_id id)
{
    terms t = {.n = 0};
    collect_terms(c, id, false, &t);
    if (t.n <= 1)
        return t.n == 0 ? hash_number(0) : t.last;
    const bool is_negative = compare(t.turned, t.total) < 0;
    return (signed_hash){
        fr_stir_hash(fr_stir(start(SALT_SUM), t.n), is_negative ? t.turned : t.total), is_negative};
}

static void collect_factors(const colouring *c, fr_expr_id id, signed_hash *product)
{
    const fr_expr_view node = fr_expr_look(c->pool, id);
    if (node.kind == FR_EXPR_MULTIPLY) {
        collect_factors(c, node.operands[0], product);
        collect_factors(c, node.operands[1], product);
    } else if (node.kind == FR_EXPR_NEGATE) {
        product->is_negative = !product->is_negative;
        collect_factors(c, node.operands[0], product);
    } else {
        const signed_hash s = signed_hash_of(c, id);
        product->hash = plus(product->hash, fr_stir_hash(start(SALT_PRODUCT), s.hash));
        product->is_negative = product->is_negative != s.is_negative;
    }
}

static fr_fingerprint hash_index(const colouring *c, const fr_expr_view *index, const colours own)
{
    fr_fingerprint total = {0, 0};
    for (int i = 0; i < index->n_terms; i++) {
        const int64_t of = index->terms[i].of;
        const fr_fingerprint part = of < FIRST_ID ? own[of] : hash_of(c, (fr_expr_id)of);
        total = plus(
            total, fr_stir_hash(
                       fr_stir(start(FR_EXPR_INDEX), (uint64_t)index->terms[i].coefficient), part));
    }
    return fr_stir_hash(fr_stir(start(FR_EXPR_INDEX), (uint64_t)index->constant), total);
}

static signed_hash hash_scalar(const colouring *c, fr_expr_id id, const fr_expr_view *node)
{
    signed_hash out = {start((uint64_t)node->kind), false};
    switch (node->kind) {
    case FR_EXPR_NUMBER: return hash_number(node->number);
    case FR_EXPR_READ:
        out.hash = fr_stir_hash(out.hash, hash_of(c, node->source));
        for (int d = 0; d < node->rank; d++)
            out.hash = fr_stir_hash(out.hash, hash_of(c, (fr_expr_id)node->indices[d]));
        break;
    case FR_EXPR_ADD:
    case FR_EXPR_SUBTRACT: return hash_sum(c, id);
    case FR_EXPR_NEGATE:
        out = signed_hash_of(c, node->operands[0]);
        out.is_negative = !out.is_negative;
        break;
    case FR_EXPR_MULTIPLY: collect_factors(c, id, &out); break;
    case FR_EXPR_DIVIDE: {
        const signed_hash a = signed_hash_of(c, node->operands[0]);
        const signed_hash b = signed_hash_of(c, node->operands[1]);
        out.hash = fr_stir_hash(fr_stir_hash(out.hash, a.hash), b.hash);
        out.is_negative = a.is_negative != b.is_negative;
        break;
    }
    default: /* functions */
        out.hash = fr_stir_hash(out.hash, hash_of(c, node->operands[0]));
        break;
    }
    return out;
}

static signed_hash hash_node(const colouring *c, fr_expr_id id, const colours own)
{
    const fr_expr_view node = fr_expr_look(c->pool, id);
    const fr_fingerprint hash = start((uint64_t)node.kind);
    switch (node.kind) {
    case FR_EXPR_INDEX: return (signed_hash){hash_index(c, &node, own), false};
    case FR_EXPR_FLOOR:
    case FR_EXPR_MODULO:
        return (signed_hash){
            fr_stir(fr_stir_hash(hash, hash_of(c, node.index)), (uint64_t)node.divisor), false};
    case FR_EXPR_SCOPE: return (signed_hash){fr_pool_node(c->pool, id)->fingerprint, false};
    case FR_EXPR_TENSOR: return (signed_hash){fr_pool_node(c->pool, id)->hash, false};
    default: return hash_scalar(c, id, &node);
    }
}

static fr_fingerprint hash_body(const colouring *c, const colours own)
{
    for (uint32_t i = 0; i < c->nodes->n; i++)
        c->hashes[i] = hash_node(c, c->nodes->ids[i], own);
    return hash_of(c, c->scope->body);
}

/* How many different colours the reduced iterators have. */
static int count_colours(const colouring *c, const colours own)
{
    int n = 0;
    for (int i = c->scope->rank; i < c->scope->rank + c->scope->n_reduced; i++) {
        bool is_new = true;
        for (int k = c->scope->rank; k < i; k++)
            is_new &= compare(own[k], own[i]) != 0;
        n += is_new;
    }
    return n;
}

/* Refines the colours until that tells no more iterators apart. */
static void refine(const colouring *c, colours own)
{
    int n_colours = count_colours(c, own);
    for (;;) {
        colours next;
        memcpy(next, own, sizeof next);
        for (int i = c->scope->rank; i < c->scope->rank + c->scope->n_reduced; i++) {
            const fr_fingerprint unmarked = own[i];
            own[i] = start(SALT_MARKED);
            next[i] = fr_stir_hash(fr_stir_hash(start(SALT_MARKED), unmarked), hash_body(c, own));
            own[i] = unmarked;
        }
        const int n_next = count_colours(c, next);
        memcpy(own, next, sizeof next);
        if (n_next <= n_colours)
            return;
        n_colours = n_next;
    }
}

/* The least colour that several reduced iterators share; false where all differ. */
static bool find_alike(const colouring *c, const colours own, fr_fingerprint *shared)
{
    const int from = c->scope->rank, to = from + c->scope->n_reduced;
    bool found = false;
    for (int i = from; i < to; i++)
        for (int k = i + 1; k < to; k++)
            if (compare(own[i], own[k]) == 0 && (!found || compare(own[i], *shared) < 0)) {
                *shared = own[i];
                found = true;
            }
    return found;
}

static fr_fingerprint hash_with(colouring *c, const colours given)
{
    colours own;
    memcpy(own, given, sizeof own);
    refine(c, own);
    fr_fingerprint shared, best = {0, 0};
    if (!find_alike(c, own, &shared))
        return hash_body(c, own);
    bool is_first = true;
    for (int i = c->scope->rank; i < c->scope->rank + c->scope->n_reduced; i++) {
        if (compare(own[i], shared) != 0 || (!is_first && c->trials_left <= 0))
            continue;
        c->trials_left--;
        own[i] = fr_stir_hash(start(SALT_SINGLED), shared);
        const fr_fingerprint hash = hash_with(c, own);
        own[i] = shared;
        if (is_first || compare(hash, best) < 0)
            best = hash;
        is_first = false;
    }
    return best;
}

static void first_colours(const fr_expr_view *scope, colours own)
{
    for (int i = 0; i < scope->rank + scope->n_reduced; i++) {
        fr_fingerprint colour = start(i < scope->rank ? SALT_TRAVERSED : SALT_REDUCED);
        colour = fr_stir(fr_stir(colour, (uint64_t)scope->ranges[i].low),
                         (uint64_t)scope->ranges[i].high);
        if (i < scope->rank) {
            colour = fr_stir(colour, (uint64_t)i);
            colour = fr_stir(fr_stir(colour, (uint64_t)scope->padding[i].low),
                             (uint64_t)scope->padding[i].high);
        }
        own[i] = colour;
    }
}

/* Inner scopes have theirs already. */
static fr_status hash_scope(fr_expr_pool *pool, fr_expr_id id)
{
    const fr_expr_view scope = fr_expr_look(pool, id);
    fr_id_list nodes;
    colouring c = {.pool = pool, .scope = &scope, .nodes = &nodes, .trials_left = MOST_TRIALS};
    colours own = {{0, 0}};
    fr_status status;
    FR_RETURN_IF_ERROR(fr_pool_collect(pool, scope.body, true, &nodes));
    FR_TRY(fr_alloc(nodes.n, sizeof *c.hashes, "fingerprint", &c.hashes));
    first_colours(&scope, own);
    fr_fingerprint hash = start(SALT_SCOPE);
    hash = fr_stir(fr_stir(hash, (uint64_t)scope.reduction), (uint64_t)scope.rank);
    hash = fr_stir(hash, (uint64_t)scope.n_reduced);
    /* Iterators that do not occur in the body count, too: the output repeats, a sum is scaled. */
    fr_fingerprint reduced = {0, 0};
    for (int i = 0; i < scope.rank + scope.n_reduced; i++) {
        if (i < scope.rank)
            hash = fr_stir_hash(hash, own[i]);
        else
            reduced = plus(reduced, fr_stir_hash(start(SALT_REDUCED), own[i]));
    }
    hash = fr_stir_hash(hash, reduced);
    pool_node *node = fr_pool_node(pool, id);
    node->fingerprint = fr_stir_hash(hash, hash_with(&c, own));
    node->has_fingerprint = 1;
done:
    fr_free(c.hashes);
    fr_free(nodes.ids);
    return status;
}

fr_status fr_expr_fingerprint(const fr_expr *expr, fr_fingerprint *fingerprint)
{
    *fingerprint = (fr_fingerprint){0, 0};
    fr_id_list nodes = {0};
    fr_status status = FR_OK;
    if (fr_pool_node(expr->pool, expr->root)->has_fingerprint == 0) {
        FR_TRY(fr_pool_collect(expr->pool, expr->root, false, &nodes));
        for (uint32_t i = 0; i < nodes.n; i++)
            if (fr_pool_kind(expr->pool, nodes.ids[i]) == FR_EXPR_SCOPE &&
                fr_pool_node(expr->pool, nodes.ids[i])->has_fingerprint == 0)
                FR_TRY(hash_scope(expr->pool, nodes.ids[i]));
    }
    *fingerprint = fr_pool_node(expr->pool, expr->root)->fingerprint;
done:
    fr_free(nodes.ids);
    return status;
}

bool fr_expr_equal(const fr_expr *a, const fr_expr *b)
{
    if (a->pool == b->pool)
        return a->root == b->root;
    const fr_fingerprint x = fr_pool_node(a->pool, a->root)->hash;
    const fr_fingerprint y = fr_pool_node(b->pool, b->root)->hash;
    return compare(x, y) == 0;
}
