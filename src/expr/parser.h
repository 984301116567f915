/*
 * parser.h: what the parts of the parser share: a place in the text, the iterators in sight, the
 * tensors met.
 *
 * Parsing has no separate tokens: each part skips blanks and looks at the next characters. The
 * first mistake is kept in `status` (its sentence begins with the column), and everything returns
 * at once.
 */
#ifndef FR_EXPR_PARSER_H
#define FR_EXPR_PARSER_H

#include "expr/pool.h"

enum { MOST_NESTING = 150 }; /* of parentheses and braces: bounds the stack */

/* A tensor: declared behind `where`, or gathered from its reads. */
typedef struct parsed_tensor {
    fr_expr_id name;
    fr_expr_id node; /* 0 while its reads are gathered */
    int rank;
    bool is_declared, is_read;
    const char *place; /* of its declaration or first read */
    int64_t shape[FR_MAX_RANK];
    fr_expr_padding padding[FR_MAX_RANK];
} parsed_tensor;

/* The iterators of the scope that is being read. */
typedef struct parsed_scope {
    int n;
    int64_t names[FR_EXPR_ITERATORS];
    const char *words[FR_EXPR_ITERATORS];
    fr_expr_range ranges[FR_EXPR_ITERATORS];
} parsed_scope;

typedef struct parser {
    const char *text, *at, *end;
    fr_expr_pool *pool;
    fr_status status;
    int nesting;
    int64_t budget; /* of points for finding the shapes of undeclared tensors */
    parsed_scope *scope;
    int n_tensors;
    parsed_tensor tensors[FR_EXPR_TENSORS];
} parser;

/** Keeps a mistake found at `place` unless there is one already; returns 0. */
fr_expr_id fr_parser_fail(parser *p, const char *place, fr_status status, const char *format, ...)
    FR_PRINTF(4, 5);
/** "expected ..., found ..." at the next character. */
fr_expr_id fr_parser_expected(parser *p, const char *what);
/** Passes an id through; where it is 0, the pool's failure becomes a mistake at `place`. */
fr_expr_id fr_parser_made(parser *p, const char *place, fr_expr_id id);

void fr_parser_skip(parser *p);
/** Takes a sign that stands next. */
bool fr_parser_take(parser *p, const char *sign);
bool fr_parser_sees(parser *p, const char *sign);
/** Takes a whole word that stands next. */
bool fr_parser_take_word(parser *p, const char *word);
/** As fr_parser_take, a mistake where it does not stand next; `what` says what for. */
bool fr_parser_need(parser *p, const char *sign, const char *what);
/** Whether a word stands next: its characters, 0-terminated, into `word`; not taken. */
bool fr_parser_word(parser *p, char word[FR_EXPR_NAME_BYTES]);
/** Skips the word that stands next, however long. */
void fr_parser_skip_word(parser *p);
/** A name that is no word of the text form; its NAME node, 0 for a mistake. */
fr_expr_id fr_parser_name(parser *p, const char *what);
/** Digits, with a '-' in front where `is_signed`. */
bool fr_parser_integer(parser *p, bool is_signed, const char *what, int64_t *value);
/** Counts one level of nesting; false, with the mistake kept, where it is one too many. */
bool fr_parser_enter(parser *p);

/** An index expression over p->scope. */
fr_expr_id fr_parser_index(parser *p);

/** `A:1x3x4 pad 0,1:2; B:scalar` up to the end of the text. */
bool fr_parser_where(parser *p);
/** `P,LOW:HIGH,...`, n of them. */
bool fr_parser_padding(parser *p, int n, const char *of, fr_expr_padding *padding);
/** The tensor of a name, entered where it is new; NULL where there are too many. */
parsed_tensor *fr_parser_tensor(parser *p, fr_expr_id name, const char *place);

#endif
