/*
 * pool.c: hash-consed storage of expression nodes. See pool.h for the layouts and invariants.
 *
 * Every node enters through fr_pool_intern, which computes what is known of a node from its
 * operands: structural hash, iterators that occur, depth. A node on a longer path than
 * FR_EXPR_DEPTH is refused, so recursion over nodes is bounded everywhere else.
 */
#include "expr/pool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { CHUNK_BYTES = 1 << 16, FIRST_TABLE = 256, MOST_NODES = INT32_MAX };

fr_status fr_expr_pool_create(fr_expr_pool **pool)
{
    *pool = NULL;
    fr_expr_pool *made = NULL;
    fr_status status;
    FR_TRY(fr_alloc(1, sizeof *made, "expression pool", &made));
    FR_TRY(fr_arena_create(CHUNK_BYTES, &made->arena));
    FR_TRY(fr_alloc(FIRST_TABLE, sizeof *made->table, "expression table", &made->table));
    made->table_size = FIRST_TABLE;
    *pool = made;
    made = NULL;
done:
    fr_expr_pool_free(made);
    return status;
}

void fr_expr_pool_free(fr_expr_pool *pool)
{
    if (pool == NULL)
        return;
    fr_arena_free(pool->arena);
    fr_free(pool->nodes);
    fr_free(pool->table);
    fr_free(pool);
}

fr_status fr_expr_pool_status(const fr_expr_pool *pool) { return pool->status; }
void fr_expr_pool_clear(fr_expr_pool *pool) { pool->status = FR_OK; }
uint32_t fr_expr_pool_count(const fr_expr_pool *pool) { return pool->n_nodes; }

fr_expr_id fr_pool_fail(fr_expr_pool *pool, fr_status status)
{
    if (pool->status == FR_OK)
        pool->status = status;
    return 0;
}

/* ---- words of the text form ---- */

static const char *const function_words[FR_EXPR_KINDS] = {
    [FR_EXPR_EXP] = "exp",         [FR_EXPR_LOG] = "log",   [FR_EXPR_SQRT] = "sqrt",
    [FR_EXPR_TANH] = "tanh",       [FR_EXPR_RELU] = "relu", [FR_EXPR_ABS] = "abs",
    [FR_EXPR_SIGMOID] = "sigmoid", [FR_EXPR_ERF] = "erf",
};

const char *fr_kind_word(fr_expr_kind kind)
{
    return kind < FR_EXPR_KINDS ? function_words[kind] : NULL;
}

bool fr_word_is_reserved(const char *word)
{
    static const char *const others[] = {"sum", "max", "where", "pad", "neg"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i]) == 0)
            return true;
    for (int kind = 0; kind < FR_EXPR_KINDS; kind++)
        if (function_words[kind] != NULL && strcmp(word, function_words[kind]) == 0)
            return true;
    return false;
}

fr_expr_id fr_expr_name(fr_expr_pool *pool, const char *name)
{
    int64_t words[FR_EXPR_NAME_BYTES / 8] = {0};
    const size_t length = strlen(name);
    bool good = length > 0 && length < sizeof words && !isdigit((unsigned char)name[0]) &&
                name[0] != '.' && !fr_word_is_reserved(name);
    for (size_t i = 0; good && i < length; i++)
        good = (isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '.') &&
               (unsigned char)name[i] < 128;
    if (!good)
        return fr_pool_fail(pool, fr_fail(FR_EINVAL, "\"%.64s\" cannot be a name", name));
    memcpy(words, name, length);
    return fr_pool_intern(pool, FR_EXPR_NAME, words, (uint32_t)(length / 8 + 1), 0);
}

/* ---- operands ---- */

void fr_pool_operands(const fr_expr_pool *pool, fr_expr_id id, fr_visit *visit, void *context)
{
    const pool_node *node = fr_pool_node(pool, id);
    switch ((fr_expr_kind)node->kind) {
    case FR_EXPR_NONE:
    case FR_EXPR_NAME:
    case FR_EXPR_TENSOR:
    case FR_EXPR_NUMBER:
    case FR_EXPR_KINDS: break;
    case FR_EXPR_INDEX:
        for (uint32_t i = 2; i < node->n_words; i += 2)
            if (node->words[i] >= FIRST_ID)
                visit(context, (fr_expr_id)node->words[i]);
        break;
    case FR_EXPR_FLOOR:
    case FR_EXPR_MODULO: visit(context, (fr_expr_id)node->words[0]); break;
    case FR_EXPR_SCOPE: visit(context, (fr_expr_id)node->words[3]); break;
    default: /* READ and operators: nothing but ids */
        for (uint32_t i = 0; i < node->n_words; i++)
            visit(context, (fr_expr_id)node->words[i]);
        break;
    }
}

/* Whether word i of a tuple is an id; its hash stands for it then. */
static bool is_id(fr_expr_kind kind, const int64_t *words, uint32_t i)
{
    switch (kind) {
    case FR_EXPR_NAME:
    case FR_EXPR_NUMBER: return false;
    case FR_EXPR_INDEX: return i >= 2 && i % 2 == 0 && words[i] >= FIRST_ID;
    case FR_EXPR_TENSOR:
    case FR_EXPR_FLOOR:
    case FR_EXPR_MODULO: return i == 0;
    case FR_EXPR_SCOPE: return i == 3;
    default: return true;
    }
}

/* What a node takes over from its operands. */
static pool_node describe(const fr_expr_pool *pool, fr_expr_kind kind, const int64_t *words,
                          uint32_t n)
{
    pool_node node = {.kind = (uint8_t)kind, .n_words = n, .depth = 1};
    fr_fingerprint hash = fr_stir((fr_fingerprint){1, 2}, (uint64_t)kind);
    hash = fr_stir(hash, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_id(kind, words, i)) {
            hash = fr_stir(hash, (uint64_t)words[i]);
            if (kind == FR_EXPR_INDEX && i >= 2 && i % 2 == 0)
                node.iterators |= UINT64_C(1) << words[i];
            continue;
        }
        const pool_node *operand = fr_pool_node(pool, (fr_expr_id)words[i]);
        hash = fr_stir_hash(hash, operand->hash);
        if (operand->depth + 1 > node.depth)
            node.depth = (uint16_t)(operand->depth + 1);
        if (kind != FR_EXPR_SCOPE) /* a scope is closed */
            node.iterators |= operand->iterators;
    }
    node.hash = hash;
    return node;
}

/* ---- interning ---- */

static void insert(fr_expr_pool *pool, fr_expr_id id)
{
    const uint32_t mask = pool->table_size - 1;
    uint32_t at = (uint32_t)fr_pool_node(pool, id)->hash.low & mask;
    while (pool->table[at] != 0)
        at = (at + 1) & mask;
    pool->table[at] = id;
}

static fr_status make_room(fr_expr_pool *pool)
{
    if (pool->n_nodes >= MOST_NODES)
        return fr_fail(FR_ERANGE, "an expression pool holds %d nodes and no more", (int)MOST_NODES);
    if (pool->n_nodes == pool->capacity) {
        const uint32_t capacity = pool->capacity == 0 ? 64 : pool->capacity * 2;
        FR_RETURN_IF_ERROR(
            fr_realloc(&pool->nodes, capacity, sizeof *pool->nodes, "expression nodes"));
        pool->capacity = capacity;
    }
    if (pool->n_nodes * 2 < pool->table_size)
        return FR_OK;
    uint32_t *bigger;
    FR_RETURN_IF_ERROR(
        fr_alloc((size_t)pool->table_size * 2, sizeof *bigger, "expression table", &bigger));
    fr_free(pool->table);
    pool->table = bigger;
    pool->table_size *= 2;
    for (uint32_t i = 0; i < pool->n_nodes; i++)
        insert(pool, FIRST_ID + i);
    return FR_OK;
}

fr_expr_id fr_pool_intern(fr_expr_pool *pool, fr_expr_kind kind, const int64_t *words,
                          uint32_t n_words, uint32_t n_extra)
{
    pool_node node = describe(pool, kind, words, n_words);
    const uint32_t mask = pool->table_size - 1;
    for (uint32_t at = (uint32_t)node.hash.low & mask; pool->table[at] != 0; at = (at + 1) & mask) {
        const pool_node *other = fr_pool_node(pool, pool->table[at]);
        if (other->hash.low == node.hash.low && other->kind == node.kind &&
            other->n_words == n_words && memcmp(other->words, words, n_words * sizeof *words) == 0)
            return pool->table[at];
    }
    if (node.depth > FR_EXPR_DEPTH)
        return fr_pool_fail(pool, fr_fail(FR_ERANGE, "the expression nests deeper than %d nodes",
                                          (int)FR_EXPR_DEPTH));
    const fr_status status = make_room(pool);
    if (status != FR_OK)
        return fr_pool_fail(pool, status);
    int64_t *kept = fr_arena_alloc(pool->arena, n_words + n_extra, sizeof *kept);
    if (kept == NULL)
        return fr_pool_fail(pool, FR_ENOMEM);
    memcpy(kept, words, (n_words + n_extra) * sizeof *words);
    node.words = kept;
    pool->nodes[pool->n_nodes++] = node;
    const fr_expr_id id = FIRST_ID + pool->n_nodes - 1;
    insert(pool, id);
    return id;
}

/* ---- reachable nodes ---- */

/* A list that is also a set: `table` holds positions + 1 in the list. */
typedef struct collector {
    fr_id_list list;
    uint32_t capacity;
    uint32_t *table;
    uint32_t table_size;
    fr_status status;
} collector;

static uint32_t *find_slot(const collector *c, fr_expr_id id)
{
    const uint32_t mask = c->table_size - 1;
    uint32_t at = (id * UINT32_C(0x9E3779B1)) & mask;
    while (c->table[at] != 0 && c->list.ids[c->table[at] - 1] != id)
        at = (at + 1) & mask;
    return &c->table[at];
}

static fr_status grow(collector *c)
{
    const uint32_t capacity = c->capacity == 0 ? 64 : c->capacity * 2;
    uint32_t *table;
    FR_RETURN_IF_ERROR(fr_realloc(&c->list.ids, capacity, sizeof *c->list.ids, "expression list"));
    FR_RETURN_IF_ERROR(fr_alloc((size_t)capacity * 2, sizeof *table, "expression list", &table));
    fr_free(c->table);
    c->table = table;
    c->table_size = capacity * 2;
    c->capacity = capacity;
    for (uint32_t i = 0; i < c->list.n; i++)
        *find_slot(c, c->list.ids[i]) = i + 1;
    return FR_OK;
}

static void add_to_list(void *context, fr_expr_id id)
{
    collector *c = context;
    if (c->status == FR_OK && c->list.n == c->capacity)
        c->status = grow(c);
    if (c->status != FR_OK)
        return;
    uint32_t *slot = find_slot(c, id);
    if (*slot != 0)
        return;
    c->list.ids[c->list.n++] = id;
    *slot = c->list.n;
}

static int compare_ids(const void *a, const void *b)
{
    const fr_expr_id x = *(const fr_expr_id *)a, y = *(const fr_expr_id *)b;
    return (x > y) - (x < y);
}

fr_status fr_pool_collect(const fr_expr_pool *pool, fr_expr_id root, bool within_scope,
                          fr_id_list *list)
{
    *list = (fr_id_list){0};
    collector c = {.status = FR_OK};
    add_to_list(&c, root);
    for (uint32_t i = 0; c.status == FR_OK && i < c.list.n; i++) {
        const fr_expr_id id = c.list.ids[i];
        if (within_scope && id != root && fr_pool_kind(pool, id) == FR_EXPR_SCOPE)
            continue;
        fr_pool_operands(pool, id, add_to_list, &c);
    }
    fr_free(c.table);
    if (c.status != FR_OK) {
        fr_free(c.list.ids);
        return c.status;
    }
    qsort(c.list.ids, c.list.n, sizeof *c.list.ids, compare_ids);
    *list = c.list;
    return FR_OK;
}
