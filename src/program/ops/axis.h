/*
 * axis.h: operators along one axis: the attribute `axis` (negative: from the end) and the sizes
 * before and behind it.
 */
#ifndef FR_PROGRAM_AXIS_H
#define FR_PROGRAM_AXIS_H

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/operands.h"

/** The axis of operand `operand`, from 0, checked against its rank. */
static inline fr_status fr_infer_axis(const fr_program *p, const fr_node *node, const fr_type *in,
                                      int operand, int *axis)
{
    const int rank = in[operand].shape.rank;
    const int64_t given = fr_node_int(node, "axis", 0);
    *axis = 0;
    if (given < -rank || given >= rank)
        return fr_infer_fail(p, node, FR_ERANGE,
                             "axis %" PRId64 " of operand %d, which has rank %d", given, operand,
                             rank);
    *axis = (int)(given < 0 ? given + rank : given);
    return FR_OK;
}

/** Of a node that infer has accepted. */
static inline int fr_node_axis(const fr_node *node, int rank)
{
    const int64_t given = fr_node_int(node, "axis", 0);
    return (int)(given < 0 ? given + rank : given);
}

/** Bytes of the elements behind the axis. */
static inline int64_t fr_inner_bytes(const fr_tensor *tensor, int axis)
{
    return fr_sizes_product(tensor, axis + 1, tensor->rank) *
           (int64_t)fr_dtype_bytes(tensor->dtype);
}

#endif
