/*
 * cursor.c: blanks, signs, words, numbers, and mistakes with their column.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expr/parser.h"

/* "column 7", or "line 2, column 7" from the second line on. */
static void describe_place(const parser *p, const char *place, char *buffer, size_t bytes)
{
    int line = 1;
    const char *start = p->text;
    for (const char *at = p->text; at < place; at++)
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    if (line == 1)
        (void)snprintf(buffer, bytes, "column %td", place - start + 1);
    else
        (void)snprintf(buffer, bytes, "line %d, column %td", line, place - start + 1);
}

fr_expr_id fr_parser_fail(parser *p, const char *place, fr_status status, const char *format, ...)
{
    if (p->status != FR_OK)
        return 0;
    char where[64], sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    describe_place(p, place, where, sizeof where);
    p->status = fr_fail(status, "%s: %s", where, sentence);
    return 0;
}

fr_expr_id fr_parser_expected(parser *p, const char *what)
{
    fr_parser_skip(p);
    char word[FR_EXPR_NAME_BYTES];
    if (p->at == p->end)
        return fr_parser_fail(p, p->at, FR_EFORMAT, "expected %s, found the end", what);
    if (fr_parser_word(p, word))
        return fr_parser_fail(p, p->at, FR_EFORMAT, "expected %s, found '%s'", what, word);
    if (isprint((unsigned char)*p->at))
        return fr_parser_fail(p, p->at, FR_EFORMAT, "expected %s, found '%c'", what, *p->at);
    return fr_parser_fail(p, p->at, FR_EFORMAT, "expected %s, found byte %u", what,
                          (unsigned)(unsigned char)*p->at);
}

fr_expr_id fr_parser_made(parser *p, const char *place, fr_expr_id id)
{
    if (id == 0 && p->status == FR_OK) {
        char where[64];
        describe_place(p, place, where, sizeof where);
        p->status = fr_wrap(p->pool->status != FR_OK ? p->pool->status : FR_EINTERNAL, "%s", where);
    }
    return id;
}

void fr_parser_skip(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

bool fr_parser_sees(parser *p, const char *sign)
{
    fr_parser_skip(p);
    const size_t length = strlen(sign);
    return (size_t)(p->end - p->at) >= length && memcmp(p->at, sign, length) == 0;
}

bool fr_parser_take(parser *p, const char *sign)
{
    if (p->status != FR_OK || !fr_parser_sees(p, sign))
        return false;
    p->at += strlen(sign);
    return true;
}

bool fr_parser_need(parser *p, const char *sign, const char *what)
{
    if (fr_parser_take(p, sign))
        return true;
    char text[160];
    (void)snprintf(text, sizeof text, "'%s' %s", sign, what);
    (void)fr_parser_expected(p, text);
    return false;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* A word ends in front of "..", so that a range may follow it. */
static size_t word_length(const parser *p)
{
    const char *at = p->at;
    if (at == p->end || !in_word(*at) || isdigit((unsigned char)*at) || *at == '.')
        return 0;
    while (at < p->end && in_word(*at) && !(*at == '.' && at + 1 < p->end && at[1] == '.'))
        at++;
    return (size_t)(at - p->at);
}

bool fr_parser_word(parser *p, char word[FR_EXPR_NAME_BYTES])
{
    fr_parser_skip(p);
    const size_t length = word_length(p);
    const size_t kept = length < FR_EXPR_NAME_BYTES ? length : FR_EXPR_NAME_BYTES - 1;
    memcpy(word, p->at, kept);
    word[kept] = 0;
    return length > 0;
}

void fr_parser_skip_word(parser *p)
{
    fr_parser_skip(p);
    p->at += word_length(p);
}

bool fr_parser_take_word(parser *p, const char *word)
{
    fr_parser_skip(p);
    const size_t length = word_length(p);
    if (p->status != FR_OK || length != strlen(word) || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

fr_expr_id fr_parser_name(parser *p, const char *what)
{
    char word[FR_EXPR_NAME_BYTES];
    if (p->status != FR_OK)
        return 0;
    if (!fr_parser_word(p, word))
        return fr_parser_expected(p, what);
    const size_t length = word_length(p);
    if (length >= FR_EXPR_NAME_BYTES)
        return fr_parser_fail(p, p->at, FR_EFORMAT, "a name of %zu characters, %d is the most",
                              length, FR_EXPR_NAME_BYTES - 1);
    if (fr_word_is_reserved(word))
        return fr_parser_fail(p, p->at, FR_EFORMAT,
                              "expected %s, found '%s', a word of the language", what, word);
    const fr_expr_id id = fr_parser_made(p, p->at, fr_expr_name(p->pool, word));
    p->at += length;
    return id;
}

bool fr_parser_integer(parser *p, bool is_signed, const char *what, int64_t *value)
{
    if (p->status != FR_OK)
        return false;
    fr_parser_skip(p);
    const char *const place = p->at;
    const bool negative = is_signed && fr_parser_take(p, "-");
    if (p->at == p->end || !isdigit((unsigned char)*p->at)) {
        (void)fr_parser_expected(p, what);
        return false;
    }
    int64_t number = 0;
    for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *p->at - '0', &number)) {
            (void)fr_parser_fail(p, place, FR_ERANGE, "a number does not fit 64 bits");
            return false;
        }
    *value = negative ? -number : number;
    return true;
}

bool fr_parser_enter(parser *p)
{
    if (p->status != FR_OK)
        return false;
    if (++p->nesting <= MOST_NESTING)
        return true;
    (void)fr_parser_fail(p, p->at, FR_ERANGE, "parentheses and braces nest deeper than %d",
                         (int)MOST_NESTING);
    return false;
}
