/*
 * parse_where.c: shapes and paddings behind `where`, and the list of tensors.
 *
 *     where A:1x64x14x14 pad 0,0,1,1; K:64x64x3x3; S:scalar
 */
#include <ctype.h>
#include <inttypes.h>

#include "expr/parser.h"

parsed_tensor *fr_parser_tensor(parser *p, fr_expr_id name, const char *place)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].name == name)
            return &p->tensors[i];
    if (p->n_tensors == FR_EXPR_TENSORS) {
        (void)fr_parser_fail(p, place, FR_ERANGE, "an expression reads more than %d tensors",
                             (int)FR_EXPR_TENSORS);
        return NULL;
    }
    parsed_tensor *tensor = &p->tensors[p->n_tensors++];
    *tensor = (parsed_tensor){.name = name, .rank = -1, .place = place};
    return tensor;
}

bool fr_parser_padding(parser *p, int n, const char *of, fr_expr_padding *padding)
{
    fr_parser_skip(p);
    const char *const place = p->at;
    int given = 0;
    do {
        fr_expr_padding pad = {0, 0};
        if (!fr_parser_integer(p, false, "a padding: one number, or low:high", &pad.low))
            return false;
        pad.high = pad.low;
        if (fr_parser_take(p, ":") && !fr_parser_integer(p, false, "the padding above", &pad.high))
            return false;
        if (given < n)
            padding[given] = pad;
        given++;
    } while (fr_parser_take(p, ","));
    if (given == n)
        return true;
    (void)fr_parser_fail(p, place, FR_ESHAPE, "%d paddings for the %d dimensions of %s", given, n,
                         of);
    return false;
}

/* SIZExSIZE, without blanks, or `scalar`. */
static bool parse_shape(parser *p, parsed_tensor *tensor)
{
    tensor->rank = 0;
    if (fr_parser_take_word(p, "scalar"))
        return true;
    do {
        if (tensor->rank == FR_MAX_RANK) {
            (void)fr_parser_fail(p, p->at, FR_ESHAPE, "a tensor of more than %d dimensions",
                                 FR_MAX_RANK);
            return false;
        }
        if (!fr_parser_integer(p, false, "a size", &tensor->shape[tensor->rank]))
            return false;
        tensor->rank++;
    } while (p->at < p->end && *p->at == 'x' && ++p->at != NULL);
    return true;
}

static bool parse_declaration(parser *p)
{
    fr_parser_skip(p);
    const char *const place = p->at;
    const fr_expr_id name = fr_parser_name(p, "the name of a tensor");
    if (name == 0)
        return false;
    const char *const word = fr_expr_look(p->pool, name).name;
    parsed_tensor *tensor = fr_parser_tensor(p, name, place);
    if (tensor == NULL || !fr_parser_need(p, ":", "and a shape after the name of a tensor"))
        return false;
    if (tensor->is_declared) {
        (void)fr_parser_fail(p, place, FR_EFORMAT, "%s has a shape already", word);
        return false;
    }
    tensor->is_declared = true;
    if (!parse_shape(p, tensor))
        return false;
    if (fr_parser_take_word(p, "pad") && !fr_parser_padding(p, tensor->rank, word, tensor->padding))
        return false;
    tensor->node = fr_parser_made(
        p, place, fr_expr_tensor(p->pool, word, tensor->rank, tensor->shape, tensor->padding));
    return tensor->node != 0;
}

bool fr_parser_where(parser *p)
{
    do {
        if (!parse_declaration(p))
            return false;
    } while (fr_parser_take(p, ";"));
    fr_parser_skip(p);
    if (p->at == p->end)
        return true;
    (void)fr_parser_expected(p, "';' or the end");
    return false;
}
