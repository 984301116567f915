/*
 * reshape.c: Reshape: the same elements in order under another shape. It never runs: the planner
 * lets the result be the operand's bytes.
 *
 * Attribute `shape` gives the dims. Where both counts are known or equal as expressions it is
 * checked while building, otherwise (n against 4 floor(n/4)) when sizes are bound.
 */
#include "program/op.h"

#include <inttypes.h>

#include "program/ops/operands.h"
#include "program/program_body.h"

static const char *const attributes[] = {"shape", NULL};

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    const fr_dim *dims = fr_node_dims(node, "shape", &out[0].shape.rank);
    if (out[0].shape.rank > FR_MAX_RANK)
        return fr_infer_fail(p, node, FR_ESHAPE, "attribute shape has %d dims, more than %d",
                             out[0].shape.rank, (int)FR_MAX_RANK);
    out[0].dtype = in[0].dtype;
    for (int d = 0; d < out[0].shape.rank; d++) {
        out[0].shape.dims[d] = dims[d];
        if (dims[d].symbol < 0 && dims[d].size < 0)
            return fr_infer_fail(p, node, FR_ESHAPE, "dim %d of attribute shape is %" PRId64, d,
                                 dims[d].size);
    }
    const fr_dim before = fr_shape_product(p, &in[0].shape, 0, in[0].shape.rank);
    const fr_dim after = fr_shape_product(p, &out[0].shape, 0, out[0].shape.rank);
    if (before.symbol >= 0 || after.symbol >= 0 || fr_dim_equal(before, after))
        return FR_OK;
    char from[128], to[128];
    return fr_infer_fail(p, node, FR_ESHAPE,
                         "operand 0 is %s, %" PRId64 " elements, attribute shape %s has %" PRId64,
                         fr_shape_text(p, &in[0].shape, from, sizeof from), before.size,
                         fr_shape_text(p, &out[0].shape, to, sizeof to), after.size);
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    grad_in[0] = fr_reshape(p, grad_out[0], fr_value_shape(p, node->inputs[0]));
    return fr_program_check(p);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    (void)node, (void)in, (void)out;
    *flop = *bytes = 0;
}

const fr_op fr_op_reshape = {
    .name = "Reshape",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .work = work,
    .is_view = true,
};
