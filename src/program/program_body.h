/*
 * program_body.h: what a program is made of (private).
 *
 * Values are numbered in the order they were made, nodes too, and a node reads only values older
 * than its own: so the order of the list is an order of execution. Everything but the growing
 * tables lies in the program's arena and never moves: a gradient function may hold a node while
 * it adds others.
 *
 * The first mistake is kept in (status, message); from then on nothing is added.
 */
#ifndef FR_PROGRAM_BODY_H
#define FR_PROGRAM_BODY_H

#include <frugal/program.h>

#include "base/arena.h"
#include "base/error.h"
#include "program/op.h"

typedef enum fr_value_kind {
    FR_VALUE_INPUT,
    FR_VALUE_PARAMETER,
    FR_VALUE_STATE,
    FR_VALUE_LITERAL,
    FR_VALUE_RESULT,
} fr_value_kind;

typedef struct fr_value_record {
    fr_value_kind kind;
    fr_type type;
    const char *name;           /* of inputs, parameters, states; NULL for others */
    fr_initializer initializer; /* of parameters and states */
    void *literal;              /* bytes of a literal, 64-byte aligned, owned */
    int32_t node;               /* that makes it; -1 for others than results */
} fr_value_record;

/* ---- dimensions: see dim.c ---- */

enum { FR_TERM_ATOMS = 8 };

/** coefficient * product of atoms; an atom is the number of a symbol or quotient entry. */
typedef struct fr_dim_term {
    int64_t coefficient;
    int32_t n_atoms;              /* 0: a constant */
    int32_t atoms[FR_TERM_ATOMS]; /* ascending, repeated for powers */
} fr_dim_term;

typedef enum fr_dim_kind { FR_DIM_SYMBOL, FR_DIM_QUOTIENT, FR_DIM_SUM } fr_dim_kind;

typedef struct fr_dim_entry {
    fr_dim_kind kind;
    const char *name; /* of a symbol */
    fr_dim of;        /* quotient: floor(of / divisor), divisor >= 2 */
    int64_t divisor;
    int n_terms; /* sum: in the order of compare_terms, coefficients not 0 */
    fr_dim_term *terms;
} fr_dim_entry;

typedef struct fr_named_value {
    const char *name;
    fr_value value;
} fr_named_value;

struct fr_program {
    fr_arena *arena;
    fr_status status;
    char message[FR_ERROR_BYTES];
    fr_value_record *values;
    int n_values, values_capacity;
    fr_node **nodes;
    int n_nodes, nodes_capacity;
    fr_dim_entry *dims;
    int n_dims, dims_capacity;
    fr_named_value *outputs;
    int n_outputs, outputs_capacity;
};

/** Keeps the thread's sentence as the program's first mistake; returns `status`. */
fr_status fr_program_fail(fr_program *p, fr_status status);
/** Whether building goes on: the program exists and has no mistake. */
bool fr_program_ok(const fr_program *p);
/** Makes room for one more element of a table that doubles. */
fr_status fr_program_grow(void *table, int n, int *capacity, size_t size);
/** A value's record; the value must exist. */
const fr_value_record *fr_value_at(const fr_program *p, fr_value value);
bool fr_value_exists(const fr_program *p, fr_value value);

/** a - b; may be negative for some sizes: the executor then refuses them. */
fr_dim fr_dim_subtract(fr_program *p, fr_dim a, fr_dim b);
/** Product of the dims [begin, end) of a shape. */
fr_dim fr_shape_product(fr_program *p, const fr_shape *shape, int begin, int end);
bool fr_shape_equal(const fr_shape *a, const fr_shape *b);
/** Whether dim numbers of this program are meant (a dim of another program is a mistake). */
bool fr_dim_exists(const fr_program *p, fr_dim dim);
/** "n0x64"; "scalar" for rank 0; returns buffer. */
const char *fr_shape_text(const fr_program *p, const fr_shape *shape, char *buffer, size_t bytes);

/** Numbers of all dim entries where symbols have the sizes given (in `sizes`, by entry number;
 * filled for the others). FR_ERANGE where one overflows. */
fr_status fr_dims_evaluate(const fr_program *p, int64_t *sizes);
/** As fr_dims_evaluate, but upper bounds: what no sizes up to these exceed (terms that subtract are
 * left out). */
fr_status fr_dims_bound(const fr_program *p, int64_t *sizes);
static inline int64_t fr_dim_size(fr_dim dim, const int64_t *sizes)
{
    return dim.symbol < 0 ? dim.size : sizes[dim.symbol];
}

/** Fills count elements of a parameter's first value, from (seed, name) alone. */
void fr_initialize(const fr_value_record *record, uint64_t seed, void *data);

/** "matmul %7" and the like, for a node: its operator and first result. */
const char *fr_node_text(const fr_node *node, char *buffer, size_t bytes);

#endif
