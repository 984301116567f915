/*
 * dropout.c: Dropout: while training, zeroes each element with probability `ratio` and scales the
 * rest by 1 / (1 - ratio); the identity otherwise.
 *
 * The mask is a function of (executor's seed, step, stream, element), so nothing is stored:
 * DropoutGrad is the same map of dy, told the forward node's stream. Attribute `stream` says which
 * of a program's dropouts this is (fr_dropout counts them), so that other nodes of the program do
 * not change the mask; where left out, a number made from the node's.
 */
#include "kernel/dropout.h"

#include <string.h>

#include "base/random.h"
#include "program/op.h"
#include "program/ops/operands.h"

static const char *const attributes[] = {"ratio", "stream", NULL};

static int64_t stream_of(const fr_node *node)
{
    const int64_t beyond_counted = INT64_C(1) << 32;
    return fr_node_int(node, "stream", beyond_counted + node->index);
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    const double ratio = fr_node_float(node, "ratio", 0.5);
    if (!(ratio >= 0 && ratio < 1))
        return fr_infer_fail(p, node, FR_ERANGE, "ratio %g is outside [0, 1)", ratio);
    out[0] = in[0];
    return FR_OK;
}

static fr_status add_gradient(fr_program *p, const fr_node *node, int64_t stream,
                              const fr_value *grad_out, fr_value *grad_in)
{
    const fr_attribute given[] = {FR_FLOAT("ratio", fr_node_float(node, "ratio", 0.5)),
                                  FR_INT("stream", stream)};
    grad_in[0] = fr_apply_one(p, "DropoutGrad", grad_out, 1, given, 2);
    return fr_program_check(p);
}

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, stream_of(node), grad_out, grad_in);
}

/* The map is linear: its gradient's gradient is itself. */
static fr_status gradient_of_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                      const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, stream_of(node), grad_out, grad_in);
}

static fr_status run_mask(const fr_run *run)
{
    const fr_tensor *x = &run->in[0];
    const int64_t n = fr_tensor_count(x);
    const double ratio = fr_node_float(run->node, "ratio", 0.5);
    if (run->training && ratio > 0) {
        const fr_dropout_mask mask = {
            .seed = run->seed,
            .stream = fr_random_stream(0x64726f70 /* "drop" */, run->step,
                                       (uint64_t)stream_of(run->node), 0),
            .ratio = ratio,
        };
        fr_dropout_run(&mask, x->dtype, n, x->data, run->out[0].data);
    } else if (run->out[0].data != x->data && n > 0) {
        memcpy(run->out[0].data, x->data, (size_t)n * fr_dtype_bytes(x->dtype));
    }
    return FR_OK;
}

const fr_op fr_op_dropout = {
    .name = "Dropout",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .in_place = 1,
    .kernels = {{.name = "own", .run = run_mask}},
};

const fr_op fr_op_dropout_grad = {
    .name = "DropoutGrad",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient_of_gradient,
    .in_place = 1,
    .kernels = {{.name = "own", .run = run_mask}},
};
