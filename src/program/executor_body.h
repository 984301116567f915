/*
 * executor_body.h: what an executor is made of (private).
 *
 * Three levels of being out of date, each with its own flag, from the dearest to the cheapest:
 *
 *     must_plan    a size exceeds its capacity: buffers are laid out anew, the arena grows
 *     must_size    a size changed: shapes are evaluated, kernels chosen
 *     must_point   memory moved or was given: pointers are filled in
 *
 * A run settles them in this order; when none is set it only calls kernels. All tables have their
 * final size from the start: within capacity a run allocates nothing.
 */
#ifndef FR_PROGRAM_EXECUTOR_BODY_H
#define FR_PROGRAM_EXECUTOR_BODY_H

#include "program/plan.h"

/** A node as it runs. in and out lie in the executor's table of operands. */
typedef struct fr_step {
    fr_tensor *in, *out;
    void *workspace;
    void *prepared[FR_MAX_KERNELS]; /* what each kernel keeps of its own */
    int kernel;                     /* which one runs at the bound sizes */
    double flop, bytes;             /* of one run at the bound sizes */
    int64_t n_runs;                 /* with options.profile, over all runs: */
    double all_seconds, all_flop, all_bytes;
} fr_step;

struct fr_executor {
    const fr_program *p;
    bool training, profile;
    uint64_t seed, step;
    fr_plan plan;

    int64_t *sizes;      /* by dim entry: as bound */
    int64_t *capacities; /* of symbols: what is planned for, -1 never bound */
    int64_t *bounds;     /* by dim entry: scratch of planning */
    bool *symbol_needed; /* by dim entry: a needed value's shape depends on it */

    void **data;        /* by value: memory of what lies outside the arena; NULL not set yet */
    bool *owned;        /* by value: freed with the executor */
    fr_tensor *tensors; /* by value: bound shape and memory */
    fr_step *steps;     /* by node */
    fr_tensor *operands, *scratch;

    char *arena;
    size_t arena_bytes; /* allocated */
    bool must_plan, must_size, must_point;
    int64_t parameter_bytes, n_plans, n_runs;
};

/** Settles everything that is out of date; with `to_run`, inputs must be there as well. */
fr_status fr_executor_prepare(fr_executor *e, bool to_run);
/** Whether a needed node reads an input, or it is kept. */
bool fr_executor_reads(const fr_executor *e, fr_value input);

#endif
