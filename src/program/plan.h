/*
 * plan.h: which values share which bytes of one arena, and when (private to the executor).
 *
 *   node        0     1     2     3     4
 *   buffer 0  [=========]                        x W          offset    0
 *   buffer 1        [===============]            relu(x W)    offset 4096
 *   buffer 2              [=========...          loss         offset    0
 *
 * What depends on the program alone is decided once (fr_plan_create): which nodes are needed, where
 * each value lives, until when, which results take the memory of an operand that dies there. What
 * depends on sizes (fr_plan_layout) is done again only when a capacity grows: bytes and offsets.
 *
 * Invariant: two buffers whose lifetimes [first, last] meet have no byte in common. A view has its
 * operand's buffer; a buffer lives as long as any value in it.
 */
#ifndef FR_PROGRAM_PLAN_H
#define FR_PROGRAM_PLAN_H

#include "program/program_body.h"

/** Where a value's bytes are. */
typedef enum fr_place_kind {
    FR_PLACE_NOWHERE, /* of a node that no one needs */
    FR_PLACE_OUTSIDE, /* the bytes of value `root`: an input, parameter, state or literal */
    FR_PLACE_ARENA,   /* buffer number `buffer` */
} fr_place_kind;

typedef struct fr_place {
    fr_place_kind kind;
    fr_value root;
    int32_t buffer;
    bool is_view; /* takes no memory of its own */
} fr_place;

typedef struct fr_plan_buffer {
    size_t bytes;        /* a multiple of 64 */
    int32_t first, last; /* nodes during which it is in use; last INT32_MAX: kept after the run */
    size_t offset;
} fr_plan_buffer;

typedef struct fr_plan {
    const fr_program *p;
    bool *needed;       /* by node */
    bool *kept;         /* by value: readable after the run */
    fr_place *places;   /* by value */
    int32_t *last_use;  /* by value, views included */
    int32_t *workspace; /* by node: number of its buffer, -1 for none */
    fr_plan_buffer *buffers;
    int n_buffers;
    int32_t *order; /* scratch of fr_plan_offsets, two numbers a buffer */
    size_t arena_bytes, sum_bytes;
} fr_plan;

/** Decides what does not depend on sizes. `keep`: values readable after the run besides outputs. */
fr_status fr_plan_create(const fr_program *p, const fr_value *keep, int n_keep, fr_plan *plan);
void fr_plan_release(fr_plan *plan); /* safe on a zeroed struct */

/** Lays buffers out for dims of at most `sizes` (by entry, as fr_dims_bound gives). Allocates
 * nothing; `in` is scratch for the operands of the widest node. */
fr_status fr_plan_layout(fr_plan *plan, const int64_t *sizes, fr_tensor *in);

/**
 * Gives each buffer an offset, largest first, each into the smallest gap that fits among those it
 * meets in time. Returns the bytes of the arena. `order` has room for 2n numbers.
 */
size_t fr_plan_offsets(fr_plan_buffer *buffers, int n, int32_t *order);

/** Bytes of a type with these sizes. FR_ERANGE a negative size, FR_ENOMEM one that no memory holds.
 */
fr_status fr_type_bytes(const fr_program *p, fr_value value, const int64_t *sizes, size_t *bytes);
/** A view without memory, with these sizes. */
fr_tensor fr_type_tensor(const fr_type *type, const int64_t *sizes);

#endif
