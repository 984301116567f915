/*
 * broadcast.h: what operators with NumPy's broadcasting share: the shape of the result, and the way
 * back of a gradient.
 */
#ifndef FR_PROGRAM_BROADCAST_H
#define FR_PROGRAM_BROADCAST_H

#include "kernel/elementwise.h"
#include "program/op.h"

/** The common shape of operands a and b over their dims before the last `skip` ones, or a sentence.
 */
fr_status fr_infer_broadcast(const fr_program *p, const fr_node *node, const fr_type *in, int a,
                             int b, int skip, fr_shape *out);

/** Adds the node that sums `value` down to `shape`, which broadcasts to the shape of value; nothing
 * where the shapes are equal. */
fr_value fr_sum_to(fr_program *p, fr_value value, const fr_shape *shape);

/** fr_reshape, but nothing where the shape is that already. */
fr_value fr_reshape_to(fr_program *p, fr_value value, fr_shape shape);

/** "I0[i0, 0, i2]" for operand number `operand` read under the result's iterators i0, i1, ...,
 * which are right-aligned; appended to text. FR_ENOTSUP for a scalar or where it does not fit. */
fr_status fr_expression_operand(const char *name, const fr_tensor *tensor, const fr_tensor *out,
                                char *text, size_t bytes);
/** "O[i0:3, i1:4] = " appended to text. */
fr_status fr_expression_result(const fr_tensor *out, char *text, size_t bytes);
/** Appends formatted text; FR_ENOTSUP where it does not fit. */
fr_status fr_expression_put(char *text, size_t bytes, const char *format, ...) FR_PRINTF(3, 4);

#endif
