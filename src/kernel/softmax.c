/*
 * softmax.c: softmax along an axis; see softmax.h for the formulae and softmax_template.h for the
 * loops. The maximum is taken off first, so nothing overflows; a row with a NaN is NaN throughout,
 * as is a row of nothing but -infinity.
 */
#include "kernel/softmax.h"

#include "base/parallel.h"

enum { SOFTMAX_COLUMNS = 64 };

typedef struct softmax_call {
    fr_softmax_shape shape;
    const void *x; /* y where the gradient is asked for */
    const void *dy;
    void *out;
} softmax_call;

/* Columns [.., first .. first + columns) of one outer index; offset is its first element. */
typedef struct column_group {
    int64_t offset, columns;
} column_group;

static inline int64_t groups_per_outer(const softmax_call *call)
{
    return (call->shape.inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
}

static inline column_group column_group_of(const softmax_call *call, int64_t group)
{
    const int64_t per_outer = groups_per_outer(call);
    const int64_t first = group % per_outer * SOFTMAX_COLUMNS, left = call->shape.inner - first;
    return (column_group){
        .offset = group / per_outer * call->shape.n * call->shape.inner + first,
        .columns = left < SOFTMAX_COLUMNS ? left : SOFTMAX_COLUMNS,
    };
}

#define TEMPLATE "kernel/softmax_template.h"
#include "kernel/variants.h"

static void run(softmax_call *call, fr_range_function rows, fr_range_function columns)
{
    const fr_softmax_shape *shape = &call->shape;
    if (shape->outer == 0 || shape->n == 0 || shape->inner == 0)
        return;
    if (shape->inner == 1)
        fr_parallel_for(shape->outer, fr_rows_per_tile(shape->n), rows, call);
    else
        fr_parallel_for(shape->outer * groups_per_outer(call),
                        fr_rows_per_tile(shape->n * SOFTMAX_COLUMNS), columns, call);
}

void fr_softmax_run(const fr_softmax_shape *shape, const void *x, void *y)
{
    softmax_call call = {.shape = *shape, .x = x, .out = y};
    run(&call, FR_PICK(softmax_rows, shape->dtype), FR_PICK(softmax_columns, shape->dtype));
}

void fr_softmax_gradient_run(const fr_softmax_shape *shape, const void *y, const void *dy, void *dx)
{
    softmax_call call = {.shape = *shape, .x = y, .dy = dy, .out = dx};
    run(&call, FR_PICK(softmax_gradient_rows, shape->dtype),
        FR_PICK(softmax_gradient_columns, shape->dtype));
}
