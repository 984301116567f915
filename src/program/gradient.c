/*
 * gradient.c: reverse-mode differentiation: adds the nodes that compute d(loss)/d(wrt).
 *
 * Forwards: which values depend on a wanted one (`depends`); only they get a gradient, so what no
 * one asks for is not computed. Backwards from the loss, newest node first: the node's gradient
 * function turns the gradients of its results into those of its operands, and a value's
 * contributions are added in the order in which they arrive: users from the newest to the oldest,
 * their operands in order. The order is a property of the program, so the bits are too.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "program/program_body.h"

typedef struct backward {
    fr_program *p;
    int n_values, n_nodes; /* of the program before anything was added */
    bool *depends;         /* a value on a wanted one */
    fr_value *grad;        /* so far; FR_NO_VALUE: nothing arrived */
    bool *wanted;          /* of the operands of one node */
    fr_value *grad_in;
} backward;

static fr_status open_backward(fr_program *p, backward *b)
{
    int most = 1;
    for (int i = 0; i < p->n_nodes; i++)
        most = p->nodes[i]->n_inputs > most ? p->nodes[i]->n_inputs : most;
    *b = (backward){.p = p, .n_values = p->n_values, .n_nodes = p->n_nodes};
    fr_status status = FR_OK;
    FR_TRY(fr_alloc((size_t)p->n_values, sizeof *b->depends, "gradient", &b->depends));
    FR_TRY(fr_alloc((size_t)p->n_values, sizeof *b->grad, "gradient", &b->grad));
    FR_TRY(fr_alloc((size_t)most, sizeof *b->wanted, "gradient", &b->wanted));
    FR_TRY(fr_alloc((size_t)most, sizeof *b->grad_in, "gradient", &b->grad_in));
    for (int i = 0; i < p->n_values; i++)
        b->grad[i] = FR_NO_VALUE;
done:
    return status;
}

static void close_backward(backward *b)
{
    fr_free(b->depends);
    fr_free(b->grad);
    fr_free(b->wanted);
    fr_free(b->grad_in);
}

static bool is_real(const fr_program *p, fr_value value)
{
    return fr_dtype_is_float(fr_value_dtype(p, value));
}

/* Values that a wanted one reaches, through floating-point operands only. */
static void mark_dependent(backward *b, const fr_value *wrt, int n)
{
    for (int i = 0; i < n; i++)
        b->depends[wrt[i]] = true;
    for (int i = 0; i < b->n_nodes; i++) {
        const fr_node *node = b->p->nodes[i];
        bool depends = false;
        for (int k = 0; k < node->n_inputs; k++)
            depends = depends || (node->inputs[k] != FR_NO_VALUE && b->depends[node->inputs[k]]);
        for (int k = 0; depends && k < node->n_outputs; k++)
            b->depends[node->outputs[k]] |= is_real(b->p, node->outputs[k]);
    }
}

/* Whether a gradient is a slice's alone: dy between zeros. */
static const fr_node *slice_gradient(const fr_program *p, fr_value grad)
{
    const int32_t maker = p->values[grad].node;
    const fr_node *node = maker < 0 ? NULL : p->nodes[maker];
    return node != NULL && node->n_inputs == 1 && strcmp(node->op->name, "SliceGrad") == 0 ? node
                                                                                           : NULL;
}

/* a + b. A slice's gradient is added into the other one's memory: its zeros are never made. */
static fr_value add_gradients(fr_program *p, fr_value a, fr_value b)
{
    const fr_node *slice = slice_gradient(p, b);
    if (slice == NULL) {
        slice = slice_gradient(p, a);
        a = slice == NULL ? a : b;
    }
    if (slice == NULL)
        return fr_add(p, a, b);
    const fr_value operands[] = {slice->inputs[0], a};
    return fr_apply_one(p, "SliceGrad", operands, 2, slice->attributes, slice->n_attributes);
}

static fr_status add_contribution(backward *b, const fr_node *node, int operand, fr_value grad)
{
    const fr_value to = node->inputs[operand];
    const fr_type type = fr_value_type(b->p, to), got = fr_value_type(b->p, grad);
    if (type.dtype != got.dtype || !fr_shape_equal(&type.shape, &got.shape)) {
        char at[64], needed[128], shape[128];
        return fr_fail(FR_EINTERNAL, "gradient of %s: operand %d is %s %s, its gradient %s %s",
                       fr_node_text(node, at, sizeof at), operand, fr_dtype_name(type.dtype),
                       fr_shape_text(b->p, &type.shape, needed, sizeof needed),
                       fr_dtype_name(got.dtype),
                       fr_shape_text(b->p, &got.shape, shape, sizeof shape));
    }
    b->grad[to] = b->grad[to] == FR_NO_VALUE ? grad : add_gradients(b->p, b->grad[to], grad);
    return fr_program_check(b->p);
}

static fr_status back_through(backward *b, const fr_node *node)
{
    fr_value grad_out[FR_MAX_OUTPUTS];
    bool arrives = false, needed = false;
    for (int k = 0; k < FR_MAX_OUTPUTS; k++) {
        grad_out[k] = k < node->n_outputs ? b->grad[node->outputs[k]] : FR_NO_VALUE;
        arrives = arrives || grad_out[k] != FR_NO_VALUE;
    }
    for (int k = 0; k < node->n_inputs; k++) {
        b->wanted[k] = node->inputs[k] != FR_NO_VALUE && b->depends[node->inputs[k]];
        b->grad_in[k] = FR_NO_VALUE;
        needed = needed || b->wanted[k];
    }
    if (!arrives || !needed)
        return FR_OK;
    char at[64];
    if (node->op->gradient == NULL)
        return fr_fail(FR_ENOTSUP, "%s has no gradient", fr_node_text(node, at, sizeof at));
    fr_status status = node->op->gradient(b->p, node, grad_out, b->wanted, b->grad_in);
    if (status == FR_OK)
        status = fr_program_check(b->p);
    if (status != FR_OK)
        return fr_wrap(status, "gradient of %s", fr_node_text(node, at, sizeof at));
    for (int k = 0; k < node->n_inputs; k++)
        if (b->wanted[k] && b->grad_in[k] != FR_NO_VALUE)
            FR_RETURN_IF_ERROR(add_contribution(b, node, k, b->grad_in[k]));
    return FR_OK;
}

static fr_value constant_like(fr_program *p, fr_value value, double number)
{
    const fr_type type = fr_value_type(p, value);
    const fr_attribute given[] = {FR_DIMS("shape", type.shape.dims, type.shape.rank),
                                  FR_FLOAT("value", number),
                                  FR_STRING("dtype", fr_dtype_name(type.dtype))};
    return fr_apply_one(p, "Fill", NULL, 0, given, 3);
}

static fr_status check_request(const fr_program *p, fr_value loss, const fr_value *wrt, int n)
{
    if (!fr_value_exists(p, loss))
        return fr_fail(FR_EINVAL, "gradient: the program has no value %d, the loss", (int)loss);
    const fr_shape shape = fr_value_shape(p, loss);
    for (int d = 0; d < shape.rank; d++)
        if (!fr_dim_equal(shape.dims[d], fr_constant(1))) {
            char text[128];
            return fr_fail(FR_ESHAPE, "gradient: the loss, value %%%d, is %s and not a scalar",
                           (int)loss, fr_shape_text(p, &shape, text, sizeof text));
        }
    if (!is_real(p, loss))
        return fr_fail(FR_EDTYPE, "gradient: the loss, value %%%d, is %s", (int)loss,
                       fr_dtype_name(fr_value_dtype(p, loss)));
    for (int i = 0; i < n; i++) {
        if (!fr_value_exists(p, wrt[i]))
            return fr_fail(FR_EINVAL, "gradient: the program has no value %d (number %d asked for)",
                           (int)wrt[i], i);
        if (!is_real(p, wrt[i]))
            return fr_fail(FR_EDTYPE, "gradient: value %%%d \"%s\" is %s, which has no gradient",
                           (int)wrt[i], fr_value_name(p, wrt[i]),
                           fr_dtype_name(fr_value_dtype(p, wrt[i])));
    }
    return FR_OK;
}

static fr_status differentiate(fr_program *p, fr_value loss, const fr_value *wrt, int n,
                               fr_value *grads)
{
    backward b = {0};
    fr_status status = FR_OK;
    FR_TRY(check_request(p, loss, wrt, n));
    FR_TRY(open_backward(p, &b));
    mark_dependent(&b, wrt, n);
    if (b.depends[loss])
        b.grad[loss] = constant_like(p, loss, 1);
    for (int i = b.n_nodes - 1; i >= 0; i--)
        FR_TRY(back_through(&b, p->nodes[i]));
    for (int i = 0; i < n; i++)
        grads[i] = b.grad[wrt[i]] != FR_NO_VALUE ? b.grad[wrt[i]] : constant_like(p, wrt[i], 0);
    FR_TRY(fr_program_check(p));
done:
    close_backward(&b);
    return status;
}

fr_status fr_gradient(fr_program *p, fr_value loss, const fr_value *wrt, int n, fr_value *grads)
{
    for (int i = 0; i < n; i++)
        grads[i] = FR_NO_VALUE;
    FR_RETURN_IF_ERROR(fr_program_check(p));
    const fr_status status = differentiate(p, loss, wrt, n, grads);
    if (status != FR_OK)
        for (int i = 0; i < n; i++)
            grads[i] = FR_NO_VALUE;
    return fr_program_fail(p, status);
}

fr_status fr_gradient_rows(fr_program *p, fr_value loss, fr_value table, fr_value *row_grads)
{
    *row_grads = FR_NO_VALUE;
    FR_RETURN_IF_ERROR(fr_program_check(p));
    fr_value rows = FR_NO_VALUE;
    int uses = 0;
    for (int i = 0; i < p->n_nodes; i++)
        for (int k = 0; k < p->nodes[i]->n_inputs; k++)
            if (p->nodes[i]->inputs[k] == table) {
                uses++;
                if (k == 0 && strcmp(p->nodes[i]->op->name, "Embedding") == 0)
                    rows = p->nodes[i]->outputs[0];
            }
    if (uses != 1 || rows == FR_NO_VALUE)
        return fr_program_fail(p, fr_fail(FR_EINVAL,
                                          "gradient of rows: value %%%d \"%s\" has %d uses and not "
                                          "one, in an Embedding",
                                          (int)table, fr_value_name(p, table), uses));
    return fr_gradient(p, loss, &rows, 1, row_grads);
}
