/*
 * operator_case.h: one case of one operator: its operands with values, its attributes, and how
 * exact its results are. Case makers (operator_cases_*.h) fill it; the harness (operator_harness.h)
 * builds programs from it.
 *
 * Values are kept as double and int64 and turned into the dtype under test. Everything random comes
 * from the case's own generator, so a case is a function of (FR_TEST_SEED, operator, size, round).
 */
#ifndef FR_TESTS_OPERATOR_CASE_H
#define FR_TESTS_OPERATOR_CASE_H

#include <frugal/program.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { CASE_OPERANDS = 8, CASE_ATTRIBUTES = 10, CASE_NUMBERS = 64 };

/* How large a case is to be. Only SMALL and ONE have their gradients checked by differences. */
typedef enum case_size { CASE_ZERO, CASE_ONE, CASE_SMALL, CASE_LARGE, CASE_SIZES } case_size;

typedef enum operand_kind {
    OPERAND_LEFT_OUT,
    OPERAND_FLOAT, /* of the dtype under test */
    OPERAND_STATE, /* likewise, but a state that the run may change */
    OPERAND_I32,
    OPERAND_I64,
} operand_kind;

typedef struct operand {
    operand_kind kind;
    int rank;
    int64_t shape[FR_MAX_RANK];
    int64_t count;
    bool differentiable;
    double *floats;
    int64_t *integers;
} operand;

typedef struct op_case {
    const char *op;
    case_size size;
    int round; /* 0, 1, ...: lets a maker go through its variants */
    fr_random random;

    int n_inputs;
    operand inputs[CASE_OPERANDS];
    int n_attributes;
    fr_attribute attributes[CASE_ATTRIBUTES];
    int n_numbers;
    int64_t numbers[CASE_NUMBERS]; /* of FR_INTS attributes */
    fr_dim dims[CASE_NUMBERS];     /* of FR_DIMS attributes */

    bool evaluation;       /* the executor does not train */
    uint32_t loss_outputs; /* bit i: output i is part of the differentiated loss; 0 is read as 1 */
    bool no_gradient;      /* skip differentiation (integer results) */
    double tolerance;      /* of f32 against f64, relative to 1 + |value|; 0 is read as 2e-5 */
} op_case;

/* ---- random choices ---- */

static inline int64_t case_below(op_case *c, int64_t bound)
{
    return (int64_t)fr_random_below(&c->random, (uint64_t)bound);
}

/* A size along which the operator works: 0, 1, up to `small`, or about `large`. */
static inline int64_t case_extent(op_case *c, int64_t small, int64_t large)
{
    switch (c->size) {
    case CASE_ZERO: return 0;
    case CASE_ONE: return 1;
    case CASE_SMALL: return 1 + case_below(c, small);
    default: return large - case_below(c, 1 + large / 8);
    }
}

/* As case_extent, but never 0: for what may not be empty. */
static inline int64_t case_extent_least_1(op_case *c, int64_t small, int64_t large)
{
    return c->size == CASE_ZERO ? 1 + case_below(c, small) : case_extent(c, small, large);
}

/* ---- operands ---- */

static inline operand *case_operand(op_case *c, operand_kind kind, int rank, const int64_t *shape)
{
    operand *o = &c->inputs[c->n_inputs++];
    *o = (operand){.kind = kind, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        o->shape[d] = shape[d];
        o->count *= shape[d];
    }
    if (kind == OPERAND_FLOAT || kind == OPERAND_STATE)
        o->floats = calloc((size_t)o->count + 1, sizeof(double));
    else if (kind != OPERAND_LEFT_OUT)
        o->integers = calloc((size_t)o->count + 1, sizeof(int64_t));
    return o;
}

/* Differentiable floats, normal with the deviation given. Rounded to float, so that both dtypes see
 * the same numbers. */
static inline operand *case_floats(op_case *c, double deviation, int rank, const int64_t *shape)
{
    operand *o = case_operand(c, OPERAND_FLOAT, rank, shape);
    o->differentiable = true;
    for (int64_t i = 0; i < o->count; i++)
        o->floats[i] = (double)(float)(deviation * fr_random_normal(&c->random));
    return o;
}

/* Differentiable floats in [low, high). */
static inline operand *case_uniform(op_case *c, double low, double high, int rank,
                                    const int64_t *shape)
{
    operand *o = case_operand(c, OPERAND_FLOAT, rank, shape);
    o->differentiable = true;
    for (int64_t i = 0; i < o->count; i++)
        o->floats[i] = (double)(float)(low + (high - low) * fr_random_uniform(&c->random));
    return o;
}

/* Integers in [0, bound). */
static inline operand *case_indices(op_case *c, operand_kind kind, int64_t bound, int rank,
                                    const int64_t *shape)
{
    operand *o = case_operand(c, kind, rank, shape);
    for (int64_t i = 0; i < o->count && bound > 0; i++)
        o->integers[i] = case_below(c, bound);
    return o;
}

static inline void case_left_out(op_case *c)
{
    c->inputs[c->n_inputs++] = (operand){.kind = OPERAND_LEFT_OUT};
}

#define SHAPE(...)                                                                                 \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

/* ---- attributes ---- */

static inline void case_attribute(op_case *c, fr_attribute attribute)
{
    c->attributes[c->n_attributes++] = attribute;
}

static inline void case_ints(op_case *c, const char *name, const int64_t *values, int n)
{
    int64_t *kept = c->numbers + c->n_numbers;
    for (int i = 0; i < n; i++)
        kept[i] = values[i];
    c->n_numbers += n;
    case_attribute(c, FR_INTS(name, kept, n));
}

static inline void case_dims(op_case *c, const char *name, const int64_t *values, int n)
{
    fr_dim *kept = c->dims + c->n_numbers;
    for (int i = 0; i < n; i++)
        kept[i] = fr_constant(values[i]);
    c->n_numbers += n;
    case_attribute(c, FR_DIMS(name, kept, n));
}

static inline void case_release(op_case *c)
{
    for (int i = 0; i < c->n_inputs; i++) {
        free(c->inputs[i].floats);
        free(c->inputs[i].integers);
    }
    memset(c, 0, sizeof *c);
}

/* ---- rows: what the harness knows of an operator ---- */

/* One thing infer must refuse: operand `operand` of a good case gets a dimension more (or another
 * element type, or another size of dim `dim`), and the sentence must hold `says`. */
typedef enum spoil_kind { SPOIL_END, SPOIL_RANK, SPOIL_DTYPE, SPOIL_SIZE } spoil_kind;
typedef struct spoil {
    spoil_kind kind;
    int operand, dim;
    const char *says; /* NULL: "operand N" */
    int only;         /* 0: in every round; else round only - 1 */
} spoil;

typedef struct op_row {
    const char *op;
    void (*make)(op_case *c); /* NULL: a gradient operator whose work `covered_by` tests */
    const char *covered_by;
    int rounds;   /* cases of each size; 0 is read as 3 */
    bool no_zero; /* has no legal empty case */
    spoil spoils[8];
} op_row;

#endif
