/*
 * pool.h: how nodes of expressions are kept (private side of expr.h).
 *
 * A node is a kind and a tuple of 64-bit words, interned: one tuple, one id. The layouts:
 *
 *     NAME     the bytes, 0-terminated, padded with 0
 *     INDEX    constant, (coefficient, iterator or atom)*
 *     FLOOR, MODULO  index, divisor
 *     TENSOR   name, (0, size)* rank, (pad low, pad high)* rank
 *     SCOPE    reduction, rank, n_reduced, body, (low, high)* (rank + n_reduced),
 *              (pad low, pad high)* rank | names* (rank + n_reduced)
 *     NUMBER   the bits of the double
 *     READ     source, index*
 *     others   operands
 *
 * Words behind the bar are remembered but are no part of the tuple: the first to intern it wins.
 * Words lie in an arena and never move, so views stay valid for the pool's life. Ids below
 * FIRST_ID are iterators within an INDEX, and 0 is no node.
 *
 * `hash` is structural: made of the operands' hashes, not of ids, so it compares nodes of different
 * pools.
 */
#ifndef FR_EXPR_POOL_H
#define FR_EXPR_POOL_H

#include <frugal/expr.h>

#include "base/arena.h"
#include "base/error.h"

enum { FIRST_ID = FR_EXPR_ITERATORS };

typedef struct pool_node {
    fr_fingerprint hash;
    const int64_t *words;
    uint64_t iterators;
    uint32_t n_words;
    uint16_t depth;
    uint8_t kind;
    uint8_t has_fingerprint;
    fr_fingerprint fingerprint; /* of a SCOPE, once computed */
} pool_node;

struct fr_expr_pool {
    fr_arena *arena;
    pool_node *nodes; /* nodes[id - FIRST_ID] */
    uint32_t n_nodes, capacity;
    uint32_t *table; /* ids by hash, open addressing, at most half full; 0 is free */
    uint32_t table_size;
    fr_status status;
};

static inline pool_node *fr_pool_node(const fr_expr_pool *pool, fr_expr_id id)
{
    return &pool->nodes[id - FIRST_ID];
}

static inline fr_expr_kind fr_pool_kind(const fr_expr_pool *pool, fr_expr_id id)
{
    return id < FIRST_ID || id - FIRST_ID >= pool->n_nodes
               ? FR_EXPR_NONE
               : (fr_expr_kind)fr_pool_node(pool, id)->kind;
}

static inline bool fr_kind_is_scalar(fr_expr_kind kind)
{
    return kind >= FR_EXPR_NUMBER && kind < FR_EXPR_KINDS;
}
static inline bool fr_kind_is_binary(fr_expr_kind kind)
{
    return kind >= FR_EXPR_ADD && kind <= FR_EXPR_DIVIDE;
}
static inline bool fr_kind_is_unary(fr_expr_kind kind)
{
    return kind >= FR_EXPR_NEGATE && kind <= FR_EXPR_ERF;
}
/** The word of the text form for a unary function; NULL for NEGATE and other kinds. */
const char *fr_kind_word(fr_expr_kind kind);
/** Whether a word has a meaning in the text form, so that it cannot be a name. */
bool fr_word_is_reserved(const char *word);

/** Stirs a word into a running hash of two lanes. */
static inline fr_fingerprint fr_stir(fr_fingerprint hash, uint64_t word)
{
    hash.low = (hash.low ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    hash.low = (hash.low ^ hash.low >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    hash.low ^= hash.low >> 29;
    hash.high = (hash.high + word) * UINT64_C(0xC2B2AE3D27D4EB4F);
    hash.high = (hash.high ^ hash.high >> 31) * UINT64_C(0xBF58476D1CE4E5B9);
    hash.high ^= hash.high >> 32;
    return hash;
}
static inline fr_fingerprint fr_stir_hash(fr_fingerprint hash, fr_fingerprint other)
{
    return fr_stir(fr_stir(hash, other.low), other.high);
}

/** The id of a tuple. The first n_words identify it; n_extra more are kept along. 0 on failure. */
fr_expr_id fr_pool_intern(fr_expr_pool *pool, fr_expr_kind kind, const int64_t *words,
                          uint32_t n_words, uint32_t n_extra);

/** Keeps the first failure in the pool and returns 0, to stand behind `return`. */
fr_expr_id fr_pool_fail(fr_expr_pool *pool, fr_status status);

/** Calls visit(context, operand id) for each operand of a node. READ gives its source and indices,
 * SCOPE its body, INDEX its atoms. */
typedef void fr_visit(void *context, fr_expr_id operand);
void fr_pool_operands(const fr_expr_pool *pool, fr_expr_id id, fr_visit *visit, void *context);

/** A list of ids. */
typedef struct fr_id_list {
    fr_expr_id *ids; /* fr_free */
    uint32_t n;
} fr_id_list;

/** All nodes that `root` depends on, itself included, in ascending order (operands first). With
 * `within_scope`, sources of reads are listed but not entered. */
fr_status fr_pool_collect(const fr_expr_pool *pool, fr_expr_id root, bool within_scope,
                          fr_id_list *list) FR_MUST_USE;

/* Bounds of indices and divisors stay within +-2^61, so that a multiple of a divisor next to a
 * value fits 64 bits. */
#define FR_INDEX_LIMIT (INT64_C(1) << 61)
enum { FR_INDEX_TERMS = 64 }; /* most terms of an index */

/** Whether an operand is an index; 0 stays quiet, another kind is a failure of the pool. */
bool fr_pool_is_index(fr_expr_pool *pool, fr_expr_id id);

static inline int64_t fr_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/** Floor division, b > 0. */
static inline int64_t fr_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t fr_floor_mod(int64_t a, int64_t b)
{
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

#endif
