/*
 * expr.h: tensor algebra: parse, print, check, evaluate, build and compare expressions.
 *
 * An expression says what each element of a tensor is:
 *
 *     O[n:1, f:64, h:14, w:14] = sum[c:64, r:3, s:3] A[n, c, h+r-1, w+s-1] * K[f, c, r, s]
 *         where A:1x64x14x14 pad 0,0,1,1; K:64x64x3x3
 *
 *     fr_expr e;
 *     fr_tensor o;
 *     fr_expr_parse("O[i:2, j:3] = sum[k:4] A[i,k] * B[k,j]", &e);
 *     fr_expr_evaluate(&e, (const char *[]){"A", "B"}, (const fr_tensor *[]){&a, &b}, 2, &o);
 *     puts(fr_expr_text(&e));
 *     fr_tensor_release(&o);
 *     fr_expr_release(&e);
 *
 * The text form:
 *
 *     iterators   `x:14` is the range [0, 14), `x:-2..5` the range [-2, 5). Those behind the
 * output's name are traversed: the output's index is the iterator less its lower bound. reductions
 * `sum[..]` or `max[..]` in front of the whole body. body        numbers, reads, + - * /, exp log
 * sqrt tanh sigmoid relu abs erf, parentheses. index       affine in the iterators, with `/` and
 * `%` by positive constants; both round down, and a sign binds first: `-i/2` is `(-i)/2`. scope `{
 * [i:4, j:4] sum[k:8] A[i,k] * B[k,j] pad 1,0:2 }[m-1, n]` reads an inner expression as a tensor
 * whose indices are its traversed ranges, with a padding. A scope sees no iterators but its own.
 *     where       `NAME:SIZExSIZE pad P,LOW:HIGH; ...`, `NAME:scalar`. Reads in the padding are 0,
 *                 reads beyond it are errors. A tensor not named gets the smallest shape that holds
 *                 its reads, without padding.
 *
 * Simple tier: everything up to "nodes" below. Advanced tier: nodes, for programs that rewrite
 * expressions; it may change in a minor version.
 *
 * Source: "OLLIE: Derivation-based Tensor Program Optimizer", arXiv 2208.02025, section 3.
 */
#ifndef FRUGAL_EXPR_H
#define FRUGAL_EXPR_H

#include <frugal/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FR_EXPR_ITERATORS = 64,      /* most iterators of a scope */
    FR_EXPR_DEPTH = 1000,        /* most nodes on a path from the root */
    FR_EXPR_TENSORS = 256,       /* most tensors of a parsed expression */
    FR_EXPR_NAME_BYTES = 64,     /* most bytes of a name, the ending 0 included */
    FR_EXPR_TEXT_BYTES = 1 << 20 /* longest text that is parsed or printed */
};

/** Nodes and names, shared by any number of expressions. Not for two threads at once. */
typedef struct fr_expr_pool fr_expr_pool;

/** A node of a pool; 0 is none. */
typedef uint32_t fr_expr_id;

/** An expression: a view of a pool, as fr_tensor is of memory. */
typedef struct fr_expr {
    fr_expr_pool *pool;
    fr_expr_id root;     /* the outermost scope */
    const char *name;    /* of the output; lives in the pool */
    fr_expr_pool *owned; /* what fr_expr_release frees; NULL for a view */
} fr_expr;

/** 128 bits; equal for expressions that differ in names of iterators, order of reduced iterators,
 * order of factors and terms only. */
typedef struct fr_fingerprint {
    uint64_t low, high;
} fr_fingerprint;

/* The prime of exact evaluation, 2^61 - 1. */
#define FR_EXPR_PRIME ((UINT64_C(1) << 61) - 1)

/**
 * Parses an expression into a pool of its own. Also reads a bare scope, `[i:4] A[i]`; its output is
 * called O. Reads are checked as fr_expr_check does.
 *
 * @return FR_OK; FR_EFORMAT, FR_ERANGE, FR_ESHAPE with "column 14: ..." (from line 2 on: "line 2,
 *         column 5: ..."); FR_ENOMEM
 */
FR_API fr_status fr_expr_parse(const char *text, fr_expr *expr);

/** As fr_expr_parse, into a pool that is there already; the expression is a view of it. */
FR_API fr_status fr_expr_parse_into(fr_expr_pool *pool, const char *text, fr_expr *expr);

/** Frees the pool where the expression owns it, and zeroes the expression; NULL-safe. */
FR_API void fr_expr_release(fr_expr *expr);

/** The text form, which parses to an equal expression. It lives in the pool. NULL on failure:
 * memory, or a text above FR_EXPR_TEXT_BYTES (a sentence is left). */
FR_API const char *fr_expr_text(const fr_expr *expr);

/**
 * Proves that every read lies within its tensor's shape and padding.
 *
 * Exact for affine indices. With `/` and `%` it enumerates where intervals cannot decide, up to a
 * million points.
 * @return FR_OK; FR_ERANGE naming tensor, dimension and iterator values; FR_ESHAPE one name with
 * two shapes; FR_ENOTSUP too many points to decide; FR_ENOMEM
 */
FR_API fr_status fr_expr_check(const fr_expr *expr);

/** Rank of the output; its sizes into shape (room for FR_EXPR_ITERATORS). */
FR_API int fr_expr_shape(const fr_expr *expr, int64_t *shape);

/** A tensor that an expression reads. Pointers live in the pool. */
typedef struct fr_expr_input {
    const char *name;
    int rank;
    int64_t shape[FR_MAX_RANK];
    int64_t pad_low[FR_MAX_RANK], pad_high[FR_MAX_RANK];
} fr_expr_input;

/** Tensors that are read, in the order in which they entered the pool (that of `where`, else of the
 * text): fills up to `most`, *n gets how many there are. */
FR_API fr_status fr_expr_inputs(const fr_expr *expr, fr_expr_input *inputs, int most, int *n);

/** Scalar operations and reads of one evaluation. */
FR_API fr_status fr_expr_work(const fr_expr *expr, double *operations);

/**
 * Evaluates in float64, one operation after the other: the oracle of tests.
 *
 * Sums run over reduced iterators in the order written, the last one fastest. Inputs are found by
 * name and may have any dtype and strides; those the expression does not read are ignored.
 *
 * @param names    n names
 * @param inputs   n tensors, of the shapes of fr_expr_inputs
 * @param out      a new f64 tensor, to be released by the caller; zeroed on failure
 * @return FR_OK; FR_ENOENT a tensor has no input; FR_ESHAPE shapes differ; what fr_expr_check
 * returns; FR_ENOTSUP the output has more than FR_MAX_RANK dimensions; FR_ENOMEM
 */
FR_API fr_status fr_expr_evaluate(const fr_expr *expr, const char *const names[],
                                  const fr_tensor *const inputs[], int n, fr_tensor *out);

/**
 * Evaluates over the integers modulo FR_EXPR_PRIME: no rounding, so equal polynomials give equal
 * values, and unequal ones at random inputs almost never do (Schwartz and Zippel).
 *
 * What is no polynomial is replaced by a random function chosen by `seed`: exp, log, sqrt, tanh,
 * sigmoid, relu, abs and erf keep their value at 0 only, max is taken by a random order. So equal
 * arguments give equal values, and an identity that needs more than that is not confirmed.
 *
 * @param inputs   as fr_expr_evaluate, values taken exactly; a tensor that is not given gets random
 *                 residues that depend on (seed, name, position)
 * @param out      a new u64 tensor of residues, to be released by the caller; zeroed on failure
 * @return as fr_expr_evaluate; FR_ERANGE a division by 0, or an input that is not finite
 */
FR_API fr_status fr_expr_evaluate_exact(const fr_expr *expr, const char *const names[],
                                        const fr_tensor *const inputs[], int n, uint64_t seed,
                                        fr_tensor *out);

/** The canonical fingerprint. FR_ENOMEM. */
FR_API fr_status fr_expr_fingerprint(const fr_expr *expr, fr_fingerprint *fingerprint);

/** Whether two expressions, of one pool or two, are the same but for names of iterators and output.
 */
FR_API bool fr_expr_equal(const fr_expr *a, const fr_expr *b);

/* ---- nodes (advanced) ----
 *
 * Nodes are immutable and hash-consed: within a pool equal nodes have equal ids, and an operand's
 * id is below that of its user. Iterators are numbers within their scope: traversed ones first, in
 * the order of the output's dimensions, then reduced ones. Their names are remembered for printing
 * only and are no part of a node.
 *
 * A constructor returns 0 on failure and keeps the first failure's status in the pool; it returns 0
 * quietly where an operand is 0. So a whole expression is built first and asked about once:
 *
 *     fr_expr_id sum = fr_expr_binary(pool, FR_EXPR_ADD, a, b);
 *     if (sum == 0) return fr_expr_pool_status(pool);
 */

typedef enum fr_expr_kind {
    FR_EXPR_NONE,
    FR_EXPR_NAME,   /* text */
    FR_EXPR_INDEX,  /* constant + sum of coefficient * (iterator or atom) */
    FR_EXPR_FLOOR,  /* atom: floor(index / divisor) */
    FR_EXPR_MODULO, /* atom: index - divisor * floor(index / divisor) */
    FR_EXPR_TENSOR,
    FR_EXPR_SCOPE,
    FR_EXPR_NUMBER, /* from here on scalars, which stand in the body of a scope */
    FR_EXPR_READ,
    FR_EXPR_ADD,
    FR_EXPR_SUBTRACT,
    FR_EXPR_MULTIPLY,
    FR_EXPR_DIVIDE,
    FR_EXPR_NEGATE,
    FR_EXPR_EXP,
    FR_EXPR_LOG,
    FR_EXPR_SQRT,
    FR_EXPR_TANH,
    FR_EXPR_SIGMOID,
    FR_EXPR_RELU,
    FR_EXPR_ABS,
    FR_EXPR_ERF,
    FR_EXPR_KINDS
} fr_expr_kind;

typedef struct fr_expr_range {
    int64_t low, high; /* [low, high), both within +-2^40 */
} fr_expr_range;

typedef struct fr_expr_padding {
    int64_t low, high; /* how many indices below and above the shape read as 0 */
} fr_expr_padding;

/** coefficient * of; `of` below FR_EXPR_ITERATORS is an iterator, else an atom's id. */
typedef struct fr_expr_term {
    int64_t coefficient, of;
} fr_expr_term;

/** What an id stands for. Fields that do not belong to its kind are 0; pointers live in the pool.
 */
typedef struct fr_expr_view {
    fr_expr_kind kind;
    uint64_t iterators; /* bit i: iterator i of the surrounding scope occurs */

    const char *name;               /* NAME, TENSOR */
    int64_t constant;               /* INDEX */
    int n_terms;                    /* INDEX */
    const fr_expr_term *terms;      /* INDEX, sorted: iterators, then atoms */
    fr_expr_id index;               /* FLOOR, MODULO */
    int64_t divisor;                /* FLOOR, MODULO */
    double number;                  /* NUMBER */
    fr_expr_id operands[2];         /* scalar operators; [1] is 0 for unary ones */
    fr_expr_id source;              /* READ: a TENSOR or SCOPE */
    int rank;                       /* READ, TENSOR; SCOPE: traversed iterators */
    const int64_t *indices;         /* READ: rank ids of INDEX nodes */
    const fr_expr_range *ranges;    /* TENSOR: rank; SCOPE: rank + n_reduced */
    const fr_expr_padding *padding; /* TENSOR, SCOPE: rank */
    int n_reduced;                  /* SCOPE */
    fr_reduction reduction;         /* SCOPE: FR_SUM or FR_MAX */
    fr_expr_id body;                /* SCOPE */
    const int64_t *names;           /* SCOPE: rank + n_reduced ids of NAME nodes, 0 for none */
} fr_expr_view;

FR_API fr_status fr_expr_pool_create(fr_expr_pool **pool);
FR_API void fr_expr_pool_free(fr_expr_pool *pool); /* NULL-safe */
/** The first failure of a constructor since the last clear, or FR_OK. */
FR_API fr_status fr_expr_pool_status(const fr_expr_pool *pool);
FR_API void fr_expr_pool_clear(fr_expr_pool *pool);
/** Nodes made so far. */
FR_API uint32_t fr_expr_pool_count(const fr_expr_pool *pool);

FR_API fr_expr_view fr_expr_look(const fr_expr_pool *pool, fr_expr_id id);

/** A letter or '_', then letters, digits, '_' and '.'; no word of the text form. */
FR_API fr_expr_id fr_expr_name(fr_expr_pool *pool, const char *name);

/** constant + terms, in any order, put into canonical form: equal terms joined, zeros dropped,
 * `d*(e/d) + e%d` replaced by e, sorted. */
FR_API fr_expr_id fr_expr_index(fr_expr_pool *pool, int64_t constant, const fr_expr_term *terms,
                                int n);
FR_API fr_expr_id fr_expr_index_constant(fr_expr_pool *pool, int64_t constant);
FR_API fr_expr_id fr_expr_index_iterator(fr_expr_pool *pool, int iterator);
FR_API fr_expr_id fr_expr_index_add(fr_expr_pool *pool, fr_expr_id a, fr_expr_id b);
FR_API fr_expr_id fr_expr_index_scale(fr_expr_pool *pool, fr_expr_id a, int64_t factor);
/** floor(a / divisor) and a - divisor * floor(a / divisor), divisor > 0; multiples of the divisor
 * are taken out, common factors cancelled, nested ones joined. */
FR_API fr_expr_id fr_expr_index_floor(fr_expr_pool *pool, fr_expr_id a, int64_t divisor);
FR_API fr_expr_id fr_expr_index_modulo(fr_expr_pool *pool, fr_expr_id a, int64_t divisor);
/** The index with each iterator i below n replaced by the index with[i]; others stay. */
FR_API fr_expr_id fr_expr_index_substitute(fr_expr_pool *pool, fr_expr_id a, const fr_expr_id *with,
                                           int n);
/** An equal index, for iterators within `ranges`, with needless divisions gone. */
FR_API fr_expr_id fr_expr_index_simplify(fr_expr_pool *pool, fr_expr_id a,
                                         const fr_expr_range *ranges, int n);
/** Least and greatest value by interval arithmetic: exact for affine indices, never too narrow.
 * False where a range is empty or 64 bits do not suffice. */
FR_API bool fr_expr_index_bounds(const fr_expr_pool *pool, fr_expr_id a,
                                 const fr_expr_range *ranges, int n, int64_t *least,
                                 int64_t *greatest);
/** Value at given iterator values. */
FR_API int64_t fr_expr_index_value(const fr_expr_pool *pool, fr_expr_id a,
                                   const int64_t *iterators);

/** A tensor of `rank` sizes; padding NULL is none. */
FR_API fr_expr_id fr_expr_tensor(fr_expr_pool *pool, const char *name, int rank,
                                 const int64_t *shape, const fr_expr_padding *padding);
/** A finite number; -0 becomes 0. */
FR_API fr_expr_id fr_expr_number(fr_expr_pool *pool, double number);
/** Reads a tensor or a scope; `indices` are its rank's INDEX nodes. */
FR_API fr_expr_id fr_expr_read(fr_expr_pool *pool, fr_expr_id source, const fr_expr_id *indices,
                               int rank);
/** FR_EXPR_NEGATE to FR_EXPR_ERF; the negative of a number is a number. */
FR_API fr_expr_id fr_expr_unary(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id a);
/** FR_EXPR_ADD to FR_EXPR_DIVIDE. */
FR_API fr_expr_id fr_expr_binary(fr_expr_pool *pool, fr_expr_kind kind, fr_expr_id a, fr_expr_id b);

/** What fr_expr_scope needs; names and padding may be NULL. */
typedef struct fr_expr_scope_parts {
    int n_traversed, n_reduced;
    const fr_expr_range *ranges;    /* n_traversed, then n_reduced */
    const fr_expr_padding *padding; /* n_traversed */
    const char *const *names;       /* n_traversed, then n_reduced; an entry may be NULL */
    fr_reduction reduction;         /* FR_SUM or FR_MAX; of no matter where n_reduced is 0 */
    fr_expr_id body;                /* a scalar */
} fr_expr_scope_parts;
FR_API fr_expr_id fr_expr_scope(fr_expr_pool *pool, const fr_expr_scope_parts *parts);

/** A scalar with each iterator i below n replaced by with[i] in all its indices. */
FR_API fr_expr_id fr_expr_substitute(fr_expr_pool *pool, fr_expr_id scalar, const fr_expr_id *with,
                                     int n);

#ifdef __cplusplus
}
#endif
#endif
