/*
 * parse_index.c: index expressions: iterators, integers, + - * / % and parentheses.
 *
 *     sum     = product (('+' | '-') product)*
 *     product = factor (('*' factor) | (('/' | '%') INTEGER))*
 *     factor  = '-' factor | INTEGER | ITERATOR | '(' sum ')'
 *
 * What is built is canonical at every step (index.c). One side of a '*' must be a constant.
 */
#include <ctype.h>
#include <inttypes.h>

#include "expr/parser.h"

static fr_expr_id parse_sum(parser *p);

/* An iterator of the scope in sight. */
static fr_expr_id parse_iterator(parser *p)
{
    const char *const place = p->at;
    const fr_expr_id name = fr_parser_name(p, "an iterator");
    for (int i = 0; name != 0 && i < p->scope->n; i++)
        if (p->scope->names[i] == name)
            return fr_parser_made(p, place, fr_expr_index_iterator(p->pool, i));
    return name == 0 ? 0
                     : fr_parser_fail(p, place, FR_EFORMAT, "'%s' is no iterator of this scope",
                                      fr_expr_look(p->pool, name).name);
}

static fr_expr_id parse_factor(parser *p)
{
    if (p->status != FR_OK)
        return 0;
    fr_parser_skip(p);
    const char *const place = p->at;
    if (p->at < p->end && isdigit((unsigned char)*p->at)) {
        int64_t number;
        if (!fr_parser_integer(p, false, "an integer", &number))
            return 0;
        return fr_parser_made(p, place, fr_expr_index_constant(p->pool, number));
    }
    if (fr_parser_take(p, "(")) {
        if (!fr_parser_enter(p))
            return 0;
        const fr_expr_id inside = parse_sum(p);
        p->nesting--;
        return fr_parser_need(p, ")", "after an index") ? inside : 0;
    }
    if (fr_parser_take(p, "-")) { /* binds first, as in C: -i/2 is (-i)/2 */
        if (!fr_parser_enter(p))
            return 0;
        const fr_expr_id operand = parse_factor(p);
        p->nesting--;
        return operand == 0 ? 0
                            : fr_parser_made(p, place, fr_expr_index_scale(p->pool, operand, -1));
    }
    char word[FR_EXPR_NAME_BYTES];
    if (!fr_parser_word(p, word))
        return fr_parser_expected(p, "an iterator, an integer or '('");
    return parse_iterator(p);
}

static fr_expr_id multiply(parser *p, const char *place, fr_expr_id a, fr_expr_id b)
{
    if (a == 0 || b == 0)
        return 0;
    const fr_expr_view x = fr_expr_look(p->pool, a), y = fr_expr_look(p->pool, b);
    if (x.n_terms > 0 && y.n_terms > 0)
        return fr_parser_fail(p, place, FR_EFORMAT, "an index multiplies two iterators");
    return fr_parser_made(p, place,
                          x.n_terms == 0 ? fr_expr_index_scale(p->pool, b, x.constant)
                                         : fr_expr_index_scale(p->pool, a, y.constant));
}

static fr_expr_id parse_product(parser *p)
{
    fr_expr_id result = parse_factor(p);
    while (p->status == FR_OK) {
        fr_parser_skip(p);
        const char *const place = p->at;
        int64_t divisor;
        if (fr_parser_take(p, "*")) {
            result = multiply(p, place, result, parse_factor(p));
        } else if (fr_parser_take(p, "/")) {
            if (fr_parser_integer(p, false, "a positive integer after '/'", &divisor))
                result = fr_parser_made(p, place, fr_expr_index_floor(p->pool, result, divisor));
        } else if (fr_parser_take(p, "%")) {
            if (fr_parser_integer(p, false, "a positive integer after '%'", &divisor))
                result = fr_parser_made(p, place, fr_expr_index_modulo(p->pool, result, divisor));
        } else {
            return result;
        }
    }
    return 0;
}

static fr_expr_id parse_sum(parser *p)
{
    fr_expr_id result = parse_product(p);
    while (p->status == FR_OK) {
        fr_parser_skip(p);
        const char *const place = p->at;
        const bool minus = fr_parser_take(p, "-");
        if (!minus && !fr_parser_take(p, "+"))
            return result;
        fr_expr_id term = parse_product(p);
        if (minus && p->status == FR_OK)
            term = fr_parser_made(p, place, fr_expr_index_scale(p->pool, term, -1));
        if (p->status == FR_OK)
            result = fr_parser_made(p, place, fr_expr_index_add(p->pool, result, term));
    }
    return 0;
}

fr_expr_id fr_parser_index(parser *p) { return parse_sum(p); }
