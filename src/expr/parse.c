/*
 * parse.c: the text form of expressions into nodes.
 *
 *     statement = [NAME '[' iterators ']' '='] ... | scope;  then ['where' declarations]
 *     scope     = '[' iterators ']' [('sum' | 'max') '[' iterators ']'] body ['pad' paddings]
 *     body      = product (('+' | '-') product)*
 *     product   = unary (('*' | '/') unary)*
 *     unary     = '-' unary | NUMBER | FUNCTION '(' body ')' | '(' body ')'
 *               | (NAME | '{' scope '}') '[' indices ']'
 *
 * `where` is read first, since a read needs its tensor's shape. If tensors are left without one,
 * the body is read twice: the first pass gathers the greatest index of each dimension (its reads
 * yield the number 0, so nothing of it stays), the second builds the nodes.
 */
#include <frugal/expr.h>

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "expr/extent.h"
#include "expr/parser.h"

static fr_expr_id parse_body(parser *p);
static fr_expr_id parse_scope(parser *p, bool is_outermost);

/* ---- iterators ---- */

static bool parse_range(parser *p, const char *place, fr_expr_range *range)
{
    *range = (fr_expr_range){0, 0};
    if (!fr_parser_integer(p, true, "a range: a size, or low..high", &range->high))
        return false;
    if (fr_parser_take(p, "..")) {
        range->low = range->high;
        if (!fr_parser_integer(p, true, "the upper end of a range", &range->high))
            return false;
    }
    if (range->high >= range->low)
        return true;
    (void)fr_parser_fail(p, place, FR_ERANGE,
                         "the range %" PRId64 "..%" PRId64 " ends before it starts", range->low,
                         range->high);
    return false;
}

/* `x:14, y:-2..5]` appended to the scope. */
static bool parse_iterators(parser *p, parsed_scope *scope)
{
    if (fr_parser_take(p, "]"))
        return true;
    do {
        fr_parser_skip(p);
        const char *const place = p->at;
        const fr_expr_id name = fr_parser_name(p, "an iterator");
        if (name == 0)
            return false;
        const char *const word = fr_expr_look(p->pool, name).name;
        for (int i = 0; i < scope->n; i++)
            if (scope->names[i] == name) {
                (void)fr_parser_fail(p, place, FR_EFORMAT, "the iterator '%s' is there already",
                                     word);
                return false;
            }
        if (scope->n == FR_EXPR_ITERATORS) {
            (void)fr_parser_fail(p, place, FR_ERANGE, "a scope has more than %d iterators",
                                 (int)FR_EXPR_ITERATORS);
            return false;
        }
        if (!fr_parser_need(p, ":", "and a range after an iterator") ||
            !parse_range(p, place, &scope->ranges[scope->n]))
            return false;
        scope->names[scope->n] = name;
        scope->words[scope->n++] = word;
    } while (fr_parser_take(p, ","));
    return fr_parser_need(p, "]", "or ',' after an iterator");
}

/* ---- reads ---- */

/* `i, j+1]` behind the '[' of a read. */
static int parse_indices(parser *p, fr_expr_id *indices)
{
    int n = 0;
    if (fr_parser_take(p, "]"))
        return 0;
    do {
        if (n == FR_EXPR_ITERATORS) {
            (void)fr_parser_fail(p, p->at, FR_ERANGE, "a read has more than %d indices",
                                 (int)FR_EXPR_ITERATORS);
            return 0;
        }
        indices[n] = fr_parser_index(p);
        if (indices[n] == 0)
            return 0;
        n++;
    } while (fr_parser_take(p, ","));
    (void)fr_parser_need(p, "]", "or ',' after an index");
    return n;
}

/* First pass: lets the tensor's shape hold this read. */
static fr_expr_id gather_read(parser *p, const char *place, parsed_tensor *tensor,
                              const fr_expr_id *indices, int n)
{
    const char *const name = fr_expr_look(p->pool, tensor->name).name;
    if (tensor->rank < 0)
        tensor->rank = n;
    if (n > FR_MAX_RANK)
        return fr_parser_fail(p, place, FR_ESHAPE, "%s is read with %d indices, %d is the most",
                              name, n, FR_MAX_RANK);
    if (tensor->rank != n)
        return fr_parser_fail(p, place, FR_ESHAPE,
                              "%s is read with %d indices here, with %d before", name, n,
                              tensor->rank);
    for (int d = 0; d < n; d++) {
        fr_extent extent;
        const fr_status status = fr_index_extent(p->pool, indices[d], p->scope->ranges, p->scope->n,
                                                 &p->budget, &extent);
        if (status != FR_OK)
            return fr_parser_fail(p, place, status, "%s: an index leaves +-2^61", name);
        if (extent.is_empty)
            continue;
        if (extent.least < 0) {
            char point[256];
            return fr_parser_fail(
                p, place, FR_ERANGE, "%s is read at %" PRId64 " in dimension %d (%s): %s", name,
                extent.least, d,
                extent.is_exact ? fr_point_text(p->pool, indices[d], p->scope->names,
                                                extent.at_least, point, sizeof point)
                                : "perhaps",
                "give its shape and padding after 'where'");
        }
        if (extent.greatest >= tensor->shape[d])
            tensor->shape[d] = extent.greatest + 1;
    }
    return fr_expr_number(p->pool, 0);
}

static fr_expr_id parse_tensor_read(parser *p)
{
    const char *const place = p->at;
    const fr_expr_id name = fr_parser_name(p, "a tensor");
    if (name == 0)
        return 0;
    if (!fr_parser_sees(p, "["))
        for (int i = 0; i < p->scope->n; i++)
            if (p->scope->names[i] == name)
                return fr_parser_fail(p, place, FR_EFORMAT,
                                      "the iterator '%s' can stand in an index only",
                                      p->scope->words[i]);
    if (!fr_parser_need(p, "[", "after the name of a tensor"))
        return 0;
    fr_expr_id indices[FR_EXPR_ITERATORS];
    const int n = parse_indices(p, indices);
    if (p->status != FR_OK)
        return 0;
    parsed_tensor *tensor = fr_parser_tensor(p, name, place);
    if (tensor == NULL)
        return 0;
    tensor->is_read = true;
    if (tensor->node == 0)
        return fr_parser_made(p, place, gather_read(p, place, tensor, indices, n));
    return fr_parser_made(p, place, fr_expr_read(p->pool, tensor->node, indices, n));
}

static fr_expr_id parse_scope_read(parser *p)
{
    const char *const place = p->at;
    (void)fr_parser_take(p, "{");
    if (!fr_parser_enter(p))
        return 0;
    const fr_expr_id scope = parse_scope(p, false);
    p->nesting--;
    if (!fr_parser_need(p, "}", "at the end of a scope") ||
        !fr_parser_need(p, "[", "and indices after a scope"))
        return 0;
    fr_expr_id indices[FR_EXPR_ITERATORS];
    const int n = parse_indices(p, indices);
    if (p->status != FR_OK)
        return 0;
    return fr_parser_made(p, place, fr_expr_read(p->pool, scope, indices, n));
}

/* ---- scalars ---- */

/* Digits, a fraction, an exponent. */
static fr_expr_id parse_number(parser *p)
{
    const char *const place = p->at;
    const char *at = p->at;
    while (at < p->end && isdigit((unsigned char)*at))
        at++;
    if (at + 1 < p->end && *at == '.' && isdigit((unsigned char)at[1]))
        for (at++; at < p->end && isdigit((unsigned char)*at);)
            at++;
    if (at < p->end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;
        if (exponent < p->end && (*exponent == '+' || *exponent == '-'))
            exponent++;
        if (exponent < p->end && isdigit((unsigned char)*exponent))
            for (at = exponent; at < p->end && isdigit((unsigned char)*at);)
                at++;
    }
    char digits[512];
    double number;
    const size_t length = (size_t)(at - place);
    if (length >= sizeof digits)
        return fr_parser_fail(p, place, FR_EFORMAT, "a number of %zu characters", length);
    memcpy(digits, place, length);
    digits[length] = 0;
    if (!fr_parse_double(digits, &number))
        return fr_parser_fail(p, place, FR_ERANGE, "the number '%.40s' does not fit a double",
                              digits);
    p->at = at;
    return fr_parser_made(p, place, fr_expr_number(p->pool, number));
}

static fr_expr_id parse_parentheses(parser *p)
{
    if (!fr_parser_need(p, "(", "after the name of a function") || !fr_parser_enter(p))
        return 0;
    const fr_expr_id inside = parse_body(p);
    p->nesting--;
    return fr_parser_need(p, ")", "or an operator") ? inside : 0;
}

static fr_expr_id parse_unary(parser *p)
{
    if (p->status != FR_OK)
        return 0;
    fr_parser_skip(p);
    const char *const place = p->at;
    char word[FR_EXPR_NAME_BYTES];
    if (fr_parser_take(p, "-")) {
        if (!fr_parser_enter(p))
            return 0;
        const fr_expr_id operand = parse_unary(p);
        p->nesting--;
        return p->status != FR_OK
                   ? 0
                   : fr_parser_made(p, place, fr_expr_unary(p->pool, FR_EXPR_NEGATE, operand));
    }
    if (p->at < p->end && isdigit((unsigned char)*p->at))
        return parse_number(p);
    if (fr_parser_sees(p, "("))
        return parse_parentheses(p);
    if (fr_parser_sees(p, "{"))
        return parse_scope_read(p);
    if (!fr_parser_word(p, word))
        return fr_parser_expected(p, "a number, a read, a function, '(' or '{'");
    if (strcmp(word, "sum") == 0 || strcmp(word, "max") == 0)
        return fr_parser_fail(p, place, FR_EFORMAT,
                              "'%s' stands in front of the whole body only; put it into a scope "
                              "{ [..] %s[..] .. }[..]",
                              word, word);
    for (fr_expr_kind kind = FR_EXPR_NEGATE; kind <= FR_EXPR_ERF; kind++) {
        const char *const function = kind == FR_EXPR_NEGATE ? "neg" : fr_kind_word(kind);
        if (fr_parser_take_word(p, function)) {
            const fr_expr_id operand = parse_parentheses(p);
            return p->status != FR_OK
                       ? 0
                       : fr_parser_made(p, place, fr_expr_unary(p->pool, kind, operand));
        }
    }
    return parse_tensor_read(p);
}

static fr_expr_id parse_product(parser *p)
{
    fr_expr_id result = parse_unary(p);
    while (p->status == FR_OK) {
        fr_parser_skip(p);
        const char *const place = p->at;
        const bool divides = fr_parser_take(p, "/");
        if (!divides && !fr_parser_take(p, "*"))
            return result;
        const fr_expr_id right = parse_unary(p);
        if (p->status == FR_OK)
            result =
                fr_parser_made(p, place,
                               fr_expr_binary(p->pool, divides ? FR_EXPR_DIVIDE : FR_EXPR_MULTIPLY,
                                              result, right));
    }
    return 0;
}

static fr_expr_id parse_body(parser *p)
{
    fr_expr_id result = parse_product(p);
    while (p->status == FR_OK) {
        fr_parser_skip(p);
        const char *const place = p->at;
        const bool subtracts = fr_parser_take(p, "-");
        if (!subtracts && !fr_parser_take(p, "+"))
            return result;
        const fr_expr_id right = parse_product(p);
        if (p->status == FR_OK)
            result = fr_parser_made(
                p, place,
                fr_expr_binary(p->pool, subtracts ? FR_EXPR_SUBTRACT : FR_EXPR_ADD, result, right));
    }
    return 0;
}

/* ---- scopes ---- */

/* From the '[' of the traversed iterators on; an outermost one has had '=' in between. */
static fr_expr_id parse_scope(parser *p, bool is_outermost)
{
    parsed_scope scope = {0};
    parsed_scope *const outer = p->scope;
    fr_expr_padding padding[FR_EXPR_ITERATORS] = {{0, 0}};
    fr_expr_scope_parts parts = {
        .ranges = scope.ranges, .padding = padding, .names = scope.words, .reduction = FR_SUM};
    fr_parser_skip(p);
    const char *const place = p->at;
    if (!fr_parser_need(p, "[", "and iterators at the start of a scope") ||
        !parse_iterators(p, &scope))
        return 0;
    parts.n_traversed = scope.n;
    if (is_outermost && !fr_parser_need(p, "=", "after the output"))
        return 0;
    const bool sums = fr_parser_take_word(p, "sum"),
               takes_max = !sums && fr_parser_take_word(p, "max");
    if (sums || takes_max) {
        parts.reduction = sums ? FR_SUM : FR_MAX;
        if (!fr_parser_need(p, "[", "and iterators after a reduction"))
            return 0;
        if (!parse_iterators(p, &scope))
            return 0;
        if (scope.n == parts.n_traversed)
            return fr_parser_fail(p, place, FR_EFORMAT, "a reduction without iterators");
    }
    parts.n_reduced = scope.n - parts.n_traversed;
    p->scope = &scope;
    parts.body = parse_body(p);
    p->scope = outer;
    if (p->status != FR_OK)
        return 0;
    if (!is_outermost && p->nesting > 0 && fr_parser_take_word(p, "pad") &&
        !fr_parser_padding(p, parts.n_traversed, "the scope", padding))
        return 0;
    return fr_parser_made(p, place, fr_expr_scope(p->pool, &parts));
}

/* `O[..] = ..`, or a bare scope. */
static fr_expr_id parse_statement(parser *p, fr_expr_id *name)
{
    fr_parser_skip(p);
    const bool is_bare = fr_parser_sees(p, "[");
    *name =
        is_bare ? fr_expr_name(p->pool, "O") : fr_parser_name(p, "the name of the output or '['");
    if (fr_parser_made(p, p->at, *name) == 0)
        return 0;
    const fr_expr_id root = parse_scope(p, !is_bare);
    fr_parser_skip(p);
    if (p->status == FR_OK && p->at != p->end)
        return fr_parser_expected(p, "an operator, 'where' or the end");
    return root;
}

/* Where the word `where` stands, or the end. */
static const char *find_where(parser *p)
{
    char word[FR_EXPR_NAME_BYTES];
    const char *where = p->end;
    for (p->at = p->text; p->at < p->end;) {
        if (!fr_parser_word(p, word)) {
            p->at += p->at < p->end;
        } else if (strcmp(word, "where") == 0) {
            where = p->at;
            break;
        } else {
            fr_parser_skip_word(p);
        }
    }
    p->at = p->text;
    return where;
}

static void make_gathered_tensors(parser *p)
{
    for (int i = 0; i < p->n_tensors && p->status == FR_OK; i++) {
        parsed_tensor *tensor = &p->tensors[i];
        if (tensor->node == 0)
            tensor->node =
                fr_parser_made(p, tensor->place,
                               fr_expr_tensor(p->pool, fr_expr_look(p->pool, tensor->name).name,
                                              tensor->rank, tensor->shape, NULL));
    }
}

static void parse_all(parser *p, fr_expr *expr)
{
    fr_expr_id name = 0;
    const char *const where = find_where(p);
    if (where != p->end) {
        p->at = where + strlen("where");
        if (!fr_parser_where(p))
            return;
    }
    p->end = where;
    for (int pass = 0; pass < 2; pass++) {
        const int n_declared = p->n_tensors;
        p->at = p->text;
        expr->root = parse_statement(p, &name);
        if (p->status != FR_OK)
            return;
        if (p->n_tensors == n_declared)
            break;
        make_gathered_tensors(p);
    }
    for (int i = 0; i < p->n_tensors; i++)
        if (!p->tensors[i].is_read)
            (void)fr_parser_fail(p, p->tensors[i].place, FR_EFORMAT, "%s is never read",
                                 fr_expr_look(p->pool, p->tensors[i].name).name);
    expr->name = name == 0 ? NULL : fr_expr_look(p->pool, name).name;
}

fr_status fr_expr_parse_into(fr_expr_pool *pool, const char *text, fr_expr *expr)
{
    *expr = (fr_expr){0};
    parser *p = NULL;
    fr_expr made = {.pool = pool};
    const size_t length = strlen(text);
    const fr_status pool_status = pool->status;
    fr_status status;
    if (length > FR_EXPR_TEXT_BYTES)
        return fr_fail(FR_ERANGE, "an expression of %zu characters, %d is the most", length,
                       (int)FR_EXPR_TEXT_BYTES);
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *p, "parser", &p));
    p->text = p->at = text;
    p->end = text + length;
    p->pool = pool;
    p->budget = FR_EXTENT_BUDGET;
    pool->status = FR_OK; /* a failure from before is not this text's */
    parse_all(p, &made);
    FR_TRY(p->status);
    FR_TRY(fr_expr_check(&made));
    *expr = made;
done:
    pool->status = pool_status;
    fr_free(p);
    return status;
}

fr_status fr_expr_parse(const char *text, fr_expr *expr)
{
    *expr = (fr_expr){0};
    fr_expr_pool *pool;
    FR_RETURN_IF_ERROR(fr_expr_pool_create(&pool));
    const fr_status status = fr_expr_parse_into(pool, text, expr);
    if (status != FR_OK)
        fr_expr_pool_free(pool);
    else
        expr->owned = pool;
    return status;
}

void fr_expr_release(fr_expr *expr)
{
    if (expr == NULL)
        return;
    fr_expr_pool_free(expr->owned);
    *expr = (fr_expr){0};
}
