/*
 * transpose.c: Transpose: dim d of the result is dim perm[d] of the operand, as ONNX; without
 * attribute `perm` the dims are reversed. Its gradient is the inverse permutation.
 */
#include "kernel/transpose.h"

#include <inttypes.h>

#include "program/op.h"
#include "program/ops/broadcast.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"perm", NULL};

static void permutation_of(const fr_node *node, int rank, int64_t *permutation)
{
    int n;
    const int64_t *given = fr_node_ints(node, "perm", &n);
    for (int d = 0; d < rank; d++)
        permutation[d] = n == 0 ? rank - 1 - d : given[d];
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    const int rank = in[0].shape.rank;
    int n;
    uint32_t seen = 0;
    int64_t permutation[FR_MAX_RANK];
    (void)fr_node_ints(node, "perm", &n);
    if (n != 0 && n != rank)
        return fr_infer_fail(p, node, FR_ESHAPE, "attribute perm has %d numbers, operand 0 %d dims",
                             n, rank);
    permutation_of(node, rank, permutation);
    out[0] = in[0];
    for (int d = 0; d < rank; d++) {
        if (permutation[d] < 0 || permutation[d] >= rank)
            return fr_infer_fail(p, node, FR_ERANGE,
                                 "attribute perm has %" PRId64 ", operand 0 %d dims",
                                 permutation[d], rank);
        if (seen >> permutation[d] & 1)
            return fr_infer_fail(p, node, FR_EINVAL, "attribute perm has %" PRId64 " twice",
                                 permutation[d]);
        seen |= 1U << permutation[d];
        out[0].shape.dims[d] = in[0].shape.dims[permutation[d]];
    }
    return FR_OK;
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    int64_t permutation[FR_MAX_RANK], inverse[FR_MAX_RANK];
    const int rank = fr_value_shape(p, node->inputs[0]).rank;
    permutation_of(node, rank, permutation);
    for (int d = 0; d < rank; d++)
        inverse[permutation[d]] = d;
    grad_in[0] = fr_transpose(p, grad_out[0], inverse, rank);
    return fr_program_check(p);
}

static fr_status run_transpose(const fr_run *run)
{
    int64_t permutation[FR_MAX_RANK];
    permutation_of(run->node, run->in[0].rank, permutation);
    fr_transpose_run(&run->in[0], permutation, run->out[0].data);
    return FR_OK;
}

static fr_status expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                            char *text, size_t bytes)
{
    int64_t permutation[FR_MAX_RANK], inverse[FR_MAX_RANK];
    permutation_of(node, in[0].rank, permutation);
    for (int d = 0; d < in[0].rank; d++)
        inverse[permutation[d]] = d;
    text[0] = '\0';
    FR_RETURN_IF_ERROR(fr_expression_result(out, text, bytes));
    for (int d = 0; d < in[0].rank; d++)
        FR_RETURN_IF_ERROR(
            fr_expression_put(text, bytes, "%si%" PRId64, d == 0 ? "I0[" : ", ", inverse[d]));
    return fr_expression_put(text, bytes, "]");
}

const fr_op fr_op_transpose = {
    .name = "Transpose",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .expression = expression,
    .kernels = {{.name = "own", .run = run_transpose}},
};
