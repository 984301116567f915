/*
 * print.c: nodes into the text form; parse.c reads it back as an equal expression.
 *
 * Parentheses stand only where the tree differs from what the operators' ranks would give. An index
 * prints its rising terms first, so `3-h` rather than `-h+3`. Iterators print their remembered
 * names; where a name is missing or twice in a scope they are called i0, i1, ...
 */
#include <frugal/expr.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/pool.h"

typedef struct printer {
    const fr_expr_pool *pool;
    char *text;
    size_t used, capacity;
    fr_status status;
    int64_t names[FR_EXPR_ITERATORS]; /* of the scope in sight: NAME ids, 0 for i<number> */
} printer;

/* Ranks of operators, weakest first. */
typedef enum rank { SUM, PRODUCT, UNARY } rank;

static void print_scalar(printer *p, fr_expr_id id, rank least);
static void print_scope(printer *p, const fr_expr_view *scope, const char *between);

static void FR_PRINTF(2, 3) put(printer *p, const char *format, ...)
{
    char piece[512];
    if (p->status != FR_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    const size_t length = n < 0 ? 0 : (size_t)n;
    if (p->used + length + 1 > p->capacity) {
        const size_t capacity = (p->capacity + length) * 2 + 256;
        if (p->used + length > FR_EXPR_TEXT_BYTES)
            p->status = fr_fail(FR_ERANGE, "the text of an expression exceeds %d characters",
                                (int)FR_EXPR_TEXT_BYTES);
        else
            p->status = fr_realloc(&p->text, capacity, 1, "text of an expression");
        if (p->status != FR_OK)
            return;
        p->capacity = capacity;
    }
    memcpy(p->text + p->used, piece, length + 1);
    p->used += length;
}

/* ---- indices ---- */

static void print_name(printer *p, int64_t iterator)
{
    if (p->names[iterator] != 0)
        put(p, "%s", fr_expr_look(p->pool, (fr_expr_id)p->names[iterator]).name);
    else
        put(p, "i%" PRId64, iterator);
}

static void print_index(printer *p, fr_expr_id id);

/* floor and modulo print as e/d and e%d, e in parentheses unless it is one iterator. */
static void print_atom(printer *p, fr_expr_id id)
{
    const fr_expr_view atom = fr_expr_look(p->pool, id), e = fr_expr_look(p->pool, atom.index);
    const char sign = atom.kind == FR_EXPR_FLOOR ? '/' : '%';
    if (e.n_terms == 1 && e.constant == 0 && e.terms[0].coefficient == 1 &&
        e.terms[0].of < FIRST_ID) {
        print_name(p, e.terms[0].of);
    } else {
        put(p, "(");
        print_index(p, atom.index);
        put(p, ")");
    }
    put(p, "%c%" PRId64, sign, atom.divisor);
}

static void print_term(printer *p, fr_expr_term term, bool is_first)
{
    const bool negative = term.coefficient < 0;
    const uint64_t size = negative ? 0 - (uint64_t)term.coefficient : (uint64_t)term.coefficient;
    const bool is_atom = term.of >= FIRST_ID;
    put(p, "%s", negative ? "-" : is_first ? "" : "+");
    if (size != 1)
        put(p, "%" PRIu64 "*", size);
    if (!is_atom) {
        print_name(p, term.of);
        return;
    }
    /* 4*i/4 would be i, and a leading -i/4 would be (-i)/4. */
    const bool is_alone = size != 1 || (is_first && negative);
    put(p, "%s", is_alone ? "(" : "");
    print_atom(p, (fr_expr_id)term.of);
    put(p, "%s", is_alone ? ")" : "");
}

static void print_index(printer *p, fr_expr_id id)
{
    const fr_expr_view index = fr_expr_look(p->pool, id);
    bool is_first = true, constant_is_due = index.constant != 0 || index.n_terms == 0;
    for (int i = 0; i < index.n_terms; i++)
        if (index.terms[i].coefficient > 0) {
            print_term(p, index.terms[i], is_first);
            is_first = false;
        }
    if (is_first && constant_is_due && index.constant >= 0) {
        put(p, "%" PRId64, index.constant);
        is_first = constant_is_due = false;
    }
    for (int i = 0; i < index.n_terms; i++)
        if (index.terms[i].coefficient < 0) {
            print_term(p, index.terms[i], is_first);
            is_first = false;
        }
    if (constant_is_due)
        put(p, is_first ? "%" PRId64 : "%+" PRId64, index.constant);
}

static void print_indices(printer *p, const fr_expr_view *read)
{
    put(p, "[");
    for (int d = 0; d < read->rank; d++) {
        put(p, "%s", d > 0 ? ", " : "");
        print_index(p, (fr_expr_id)read->indices[d]);
    }
    put(p, "]");
}

/* ---- scalars ---- */

/* The fewest digits that read back as the same double, with a '.' whatever the locale says. */
static void print_number(printer *p, double number)
{
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    for (char *c = text; *c != 0; c++)
        if (strchr("0123456789+-e.", *c) == NULL)
            *c = '.';
    put(p, "%s", text);
}

static void print_padding(printer *p, const fr_expr_padding *padding, int n)
{
    bool any = false;
    for (int d = 0; d < n; d++)
        any |= padding[d].low != 0 || padding[d].high != 0;
    for (int d = 0; any && d < n; d++) {
        put(p, "%s%" PRId64, d == 0 ? " pad " : ",", padding[d].low);
        if (padding[d].high != padding[d].low)
            put(p, ":%" PRId64, padding[d].high);
    }
}

static void print_read(printer *p, const fr_expr_view *read)
{
    const fr_expr_view source = fr_expr_look(p->pool, read->source);
    if (source.kind == FR_EXPR_TENSOR) {
        put(p, "%s", source.name);
    } else {
        int64_t outer[FR_EXPR_ITERATORS];
        memcpy(outer, p->names, sizeof outer);
        put(p, "{ ");
        print_scope(p, &source, " ");
        print_padding(p, source.padding, source.rank);
        put(p, " }");
        memcpy(p->names, outer, sizeof outer);
    }
    print_indices(p, read);
}

static void print_binary(printer *p, const fr_expr_view *node, rank least)
{
    static const char *const signs[] = {" + ", " - ", " * ", " / "};
    const rank own = node->kind <= FR_EXPR_SUBTRACT ? SUM : PRODUCT;
    put(p, "%s", own < least ? "(" : "");
    print_scalar(p, node->operands[0], own);
    put(p, "%s", signs[node->kind - FR_EXPR_ADD]);
    print_scalar(p, node->operands[1], own == SUM ? PRODUCT : UNARY);
    put(p, "%s", own < least ? ")" : "");
}

static void print_scalar(printer *p, fr_expr_id id, rank least)
{
    if (p->status != FR_OK)
        return;
    const fr_expr_view node = fr_expr_look(p->pool, id);
    if (node.kind == FR_EXPR_NUMBER) {
        print_number(p, node.number);
    } else if (node.kind == FR_EXPR_READ) {
        print_read(p, &node);
    } else if (fr_kind_is_binary(node.kind)) {
        print_binary(p, &node, least);
    } else if (node.kind == FR_EXPR_NEGATE) {
        put(p, "-");
        print_scalar(p, node.operands[0], UNARY);
    } else {
        put(p, "%s(", fr_kind_word(node.kind));
        print_scalar(p, node.operands[0], SUM);
        put(p, ")");
    }
}

/* ---- scopes ---- */

static bool is_numbered(const char *name)
{
    return name[0] == 'i' && name[1] != 0 && name[1 + strspn(name + 1, "0123456789")] == 0;
}

/* Own names, where there is one and none before is the same. If some iterator is left without, and
 * so will print as i<number>, names of that form are dropped, too: they could be the same. */
static void choose_names(printer *p, const fr_expr_view *scope)
{
    const int n = scope->rank + scope->n_reduced;
    bool all_named = true;
    for (int i = 0; i < n; i++) {
        p->names[i] = scope->names[i];
        for (int k = 0; k < i; k++)
            if (p->names[k] == p->names[i])
                p->names[i] = 0;
        all_named &= p->names[i] != 0;
    }
    for (int i = 0; !all_named && i < n; i++)
        if (p->names[i] != 0 && is_numbered(fr_expr_look(p->pool, (fr_expr_id)p->names[i]).name))
            p->names[i] = 0;
}

static void print_iterators(printer *p, const fr_expr_view *scope, int from, int to)
{
    put(p, "[");
    for (int i = from; i < to; i++) {
        const fr_expr_range r = scope->ranges[i];
        put(p, "%s", i > from ? ", " : "");
        print_name(p, i);
        if (r.low == 0)
            put(p, ":%" PRId64, r.high);
        else
            put(p, ":%" PRId64 "..%" PRId64, r.low, r.high);
    }
    put(p, "]");
}

static void print_scope(printer *p, const fr_expr_view *scope, const char *between)
{
    choose_names(p, scope);
    print_iterators(p, scope, 0, scope->rank);
    put(p, "%s", between);
    if (scope->n_reduced > 0) {
        put(p, "%s", scope->reduction == FR_MAX ? "max" : "sum");
        print_iterators(p, scope, scope->rank, scope->rank + scope->n_reduced);
        put(p, " ");
    }
    print_scalar(p, scope->body, SUM);
}

static void print_where(printer *p, fr_expr_id root)
{
    fr_id_list nodes;
    if (p->status == FR_OK)
        p->status = fr_pool_collect(p->pool, root, false, &nodes);
    if (p->status != FR_OK)
        return;
    const char *between = "\n    where ";
    for (uint32_t i = 0; i < nodes.n; i++) {
        const fr_expr_view tensor = fr_expr_look(p->pool, nodes.ids[i]);
        if (tensor.kind != FR_EXPR_TENSOR)
            continue;
        put(p, "%s%s:%s", between, tensor.name, tensor.rank == 0 ? "scalar" : "");
        for (int d = 0; d < tensor.rank; d++)
            put(p, "%s%" PRId64, d > 0 ? "x" : "", tensor.ranges[d].high);
        print_padding(p, tensor.padding, tensor.rank);
        between = "; ";
    }
    fr_free(nodes.ids);
}

const char *fr_expr_text(const fr_expr *expr)
{
    printer p = {.pool = expr->pool};
    const fr_expr_view root = fr_expr_look(expr->pool, expr->root);
    put(&p, "%s", expr->name != NULL ? expr->name : "O");
    print_scope(&p, &root, " = ");
    print_where(&p, expr->root);
    char *text = NULL;
    if (p.status == FR_OK)
        text = fr_arena_strdup(expr->pool->arena, p.text);
    fr_free(p.text);
    return text;
}
