/*
 * broadcast.c: see broadcast.h.
 */
#include "program/ops/broadcast.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program/program_body.h"

static bool is_one(fr_dim dim) { return dim.symbol < 0 && dim.size == 1; }

fr_status fr_infer_broadcast(const fr_program *p, const fr_node *node, const fr_type *in, int a,
                             int b, int skip, fr_shape *out)
{
    const int rank_a = in[a].shape.rank - skip, rank_b = in[b].shape.rank - skip;
    out->rank = rank_a > rank_b ? rank_a : rank_b;
    for (int d = 0; d < out->rank; d++) {
        const int at_a = d - (out->rank - rank_a), at_b = d - (out->rank - rank_b);
        const fr_dim one = fr_constant(1);
        const fr_dim dim_a = at_a < 0 ? one : in[a].shape.dims[at_a];
        const fr_dim dim_b = at_b < 0 ? one : in[b].shape.dims[at_b];
        if (!is_one(dim_a) && !is_one(dim_b) && !fr_dim_equal(dim_a, dim_b)) {
            char text_a[64], text_b[64], shape_a[128], shape_b[128];
            return fr_infer_fail(p, node, FR_ESHAPE,
                                 "dim %d of operand %d is %s and dim %d of operand %d is %s "
                                 "(shapes %s and %s do not broadcast)",
                                 at_a, a, fr_dim_text(p, dim_a, text_a, sizeof text_a), at_b, b,
                                 fr_dim_text(p, dim_b, text_b, sizeof text_b),
                                 fr_shape_text(p, &in[a].shape, shape_a, sizeof shape_a),
                                 fr_shape_text(p, &in[b].shape, shape_b, sizeof shape_b));
        }
        out->dims[d] = is_one(dim_a) ? dim_b : dim_a;
    }
    return FR_OK;
}

fr_value fr_sum_to(fr_program *p, fr_value value, const fr_shape *shape)
{
    const fr_shape from = fr_value_shape(p, value);
    if (value == FR_NO_VALUE || fr_shape_equal(&from, shape))
        return value;
    return fr_apply_one(p, "ReduceSumTo", &value, 1, &FR_DIMS("shape", shape->dims, shape->rank),
                        1);
}

fr_value fr_reshape_to(fr_program *p, fr_value value, fr_shape shape)
{
    const fr_shape from = fr_value_shape(p, value);
    return value == FR_NO_VALUE || fr_shape_equal(&from, &shape) ? value
                                                                 : fr_reshape(p, value, shape);
}

/* ---- expression text ---- */

fr_status fr_expression_put(char *text, size_t bytes, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text + length, bytes - length, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= bytes - length)
        return fr_fail(FR_ENOTSUP, "the expression does not fit into %zu bytes", bytes);
    return FR_OK;
}

fr_status fr_expression_result(const fr_tensor *out, char *text, size_t bytes)
{
    if (out->rank == 0)
        return fr_fail(FR_ENOTSUP, "a scalar result has no expression");
    for (int d = 0; d < out->rank; d++)
        FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%si%d:%" PRId64, d == 0 ? "O[" : ", ", d,
                                             out->shape[d]));
    return fr_expression_put(text, bytes, "] = ");
}

fr_status fr_expression_operand(const char *name, const fr_tensor *tensor, const fr_tensor *out,
                                char *text, size_t bytes)
{
    if (tensor->rank == 0)
        return fr_fail(FR_ENOTSUP, "a scalar operand has no expression");
    FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%s[", name));
    for (int d = 0; d < tensor->rank; d++) {
        const char *between = d == 0 ? "" : ", ";
        const int iterator = d + out->rank - tensor->rank;
        if (tensor->shape[d] == 1 && out->shape[iterator] != 1)
            FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%s0", between));
        else
            FR_RETURN_IF_ERROR(fr_expression_put(text, bytes, "%si%d", between, iterator));
    }
    return fr_expression_put(text, bytes, "]");
}
