/*
 * plan.c: lifetimes, views, results in place. See plan.h.
 *
 * A result may take the memory of operand i where the operator allows it (op.in_place), the
 * operand's buffer is in use for the last time by this node (views of it included), both have the
 * same dims and element size, and no other operand reads that buffer differently.
 */
#include "program/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

enum { ALIGNMENT = 64 };

static fr_status allocate(const fr_program *p, fr_plan *plan)
{
    const size_t n_values = (size_t)p->n_values, n_nodes = (size_t)p->n_nodes;
    const size_t most = n_values + n_nodes; /* buffers: one a value, one workspace a node */
    FR_RETURN_IF_ERROR(fr_alloc(n_nodes, sizeof *plan->needed, "plan", &plan->needed));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *plan->kept, "plan", &plan->kept));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *plan->places, "plan", &plan->places));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *plan->last_use, "plan", &plan->last_use));
    FR_RETURN_IF_ERROR(fr_alloc(n_nodes, sizeof *plan->workspace, "plan", &plan->workspace));
    FR_RETURN_IF_ERROR(fr_alloc(most, sizeof *plan->buffers, "plan", &plan->buffers));
    return fr_alloc(most * 2, sizeof *plan->order, "plan", &plan->order);
}

static fr_status mark_kept(const fr_program *p, const fr_value *keep, int n_keep, fr_plan *plan)
{
    for (int i = 0; i < p->n_outputs; i++)
        plan->kept[p->outputs[i].value] = true;
    for (int i = 0; i < n_keep; i++) {
        if (!fr_value_exists(p, keep[i]))
            return fr_fail(FR_EINVAL, "executor: the program has no value %d (number %d to keep)",
                           (int)keep[i], i);
        plan->kept[keep[i]] = true;
    }
    return FR_OK;
}

/* From the last node to the first: is a result kept or read by a needed node? Until when is it? */
static void find_lifetimes(const fr_program *p, fr_plan *plan)
{
    for (int v = 0; v < p->n_values; v++)
        plan->last_use[v] = plan->kept[v] ? INT32_MAX : -1;
    for (int k = p->n_nodes - 1; k >= 0; k--) {
        const fr_node *node = p->nodes[k];
        for (int i = 0; i < node->n_outputs; i++)
            plan->needed[k] = plan->needed[k] || plan->last_use[node->outputs[i]] >= 0;
        if (!plan->needed[k])
            continue;
        for (int i = 0; i < node->n_outputs; i++) /* a result that no one reads dies at once */
            if (plan->last_use[node->outputs[i]] < k)
                plan->last_use[node->outputs[i]] = k;
        for (int i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] != FR_NO_VALUE && plan->last_use[node->inputs[i]] < k)
                plan->last_use[node->inputs[i]] = k;
        if (node->op->is_view && plan->last_use[node->inputs[0]] < plan->last_use[node->outputs[0]])
            plan->last_use[node->inputs[0]] = plan->last_use[node->outputs[0]];
    }
}

static int32_t new_buffer(fr_plan *plan, int32_t first, int32_t last)
{
    plan->buffers[plan->n_buffers] = (fr_plan_buffer){.first = first, .last = last};
    return plan->n_buffers++;
}

static bool same_layout(const fr_type *a, const fr_type *b)
{
    return fr_dtype_bytes(a->dtype) == fr_dtype_bytes(b->dtype) &&
           fr_shape_equal(&a->shape, &b->shape);
}

/* The operand whose memory result 0 takes; -1 for none. */
static int operand_to_replace(const fr_plan *plan, const fr_node *node)
{
    const fr_program *p = plan->p;
    for (int i = 0; i < node->n_inputs && i < 32; i++) {
        const fr_value v = node->inputs[i];
        if ((node->op->in_place >> i & 1) == 0 || v == FR_NO_VALUE)
            continue;
        const fr_place *place = &plan->places[v];
        bool free = place->kind == FR_PLACE_ARENA &&
                    plan->buffers[place->buffer].last == node->index &&
                    same_layout(&p->values[v].type, &p->values[node->outputs[0]].type);
        for (int j = 0; free && j < node->n_inputs; j++) {
            const fr_value other = node->inputs[j];
            if (other == FR_NO_VALUE || other == v || plan->places[other].kind != FR_PLACE_ARENA)
                continue;
            free = plan->places[other].buffer != place->buffer;
        }
        if (free)
            return i;
    }
    return -1;
}

static void place_result(fr_plan *plan, const fr_node *node, int i)
{
    const fr_value v = node->outputs[i];
    const int32_t last = plan->last_use[v];
    const int operand = i == 0 ? operand_to_replace(plan, node) : -1;
    plan->places[v] = (fr_place){.kind = FR_PLACE_ARENA, .root = v};
    if (operand < 0) {
        plan->places[v].buffer = new_buffer(plan, node->index, last);
        return;
    }
    const int32_t buffer = plan->places[node->inputs[operand]].buffer;
    plan->places[v].buffer = buffer;
    plan->buffers[buffer].last = last;
}

static void place_values(const fr_program *p, fr_plan *plan)
{
    for (int v = 0; v < p->n_values; v++)
        if (p->values[v].kind != FR_VALUE_RESULT)
            plan->places[v] = (fr_place){.kind = FR_PLACE_OUTSIDE, .root = v};
    for (int k = 0; k < p->n_nodes; k++) {
        const fr_node *node = p->nodes[k];
        plan->workspace[k] = -1;
        if (!plan->needed[k])
            continue;
        for (int i = node->op->is_view ? 1 : 0; i < node->n_outputs; i++)
            place_result(plan, node, i);
        if (node->op->is_view) {
            plan->places[node->outputs[0]] = plan->places[node->inputs[0]];
            plan->places[node->outputs[0]].is_view = true;
        }
        for (int i = 0; i < FR_MAX_KERNELS && node->op->kernels[i].run != NULL; i++)
            if (node->op->kernels[i].workspace != NULL && plan->workspace[k] < 0)
                plan->workspace[k] = new_buffer(plan, k, k);
    }
}

fr_status fr_plan_create(const fr_program *p, const fr_value *keep, int n_keep, fr_plan *plan)
{
    *plan = (fr_plan){.p = p};
    fr_status status = FR_OK;
    FR_TRY(allocate(p, plan));
    FR_TRY(mark_kept(p, keep, n_keep, plan));
    find_lifetimes(p, plan);
    place_values(p, plan);
done:
    if (status != FR_OK)
        fr_plan_release(plan);
    return status;
}

void fr_plan_release(fr_plan *plan)
{
    fr_free(plan->needed);
    fr_free(plan->kept);
    fr_free(plan->places);
    fr_free(plan->last_use);
    fr_free(plan->workspace);
    fr_free(plan->buffers);
    fr_free(plan->order);
    *plan = (fr_plan){0};
}

/* ---- sizes ---- */

fr_tensor fr_type_tensor(const fr_type *type, const int64_t *sizes)
{
    fr_tensor tensor = {.dtype = type->dtype, .rank = type->shape.rank};
    int64_t stride = 1;
    for (int d = tensor.rank - 1; d >= 0; d--) {
        tensor.shape[d] = fr_dim_size(type->shape.dims[d], sizes);
        tensor.stride[d] = stride;
        stride *= tensor.shape[d];
    }
    return tensor;
}

fr_status fr_type_bytes(const fr_program *p, fr_value value, const int64_t *sizes, size_t *bytes)
{
    const fr_type *type = &p->values[value].type;
    int64_t total = (int64_t)fr_dtype_bytes(type->dtype);
    bool empty = false, fits = true;
    char text[64];
    for (int d = 0; d < type->shape.rank; d++) {
        const int64_t size = fr_dim_size(type->shape.dims[d], sizes);
        if (size < 0)
            return fr_fail(FR_ESHAPE, "value %%%d: dim %d, %s, is %" PRId64, (int)value, d,
                           fr_dim_text(p, type->shape.dims[d], text, sizeof text), size);
        empty = empty || size == 0;
        fits = fits && fr_multiply(total, size, &total);
    }
    if (!empty && (!fits || total > INT64_MAX / 4))
        return fr_fail(FR_ENOMEM, "value %%%d would take more bytes than any memory has",
                       (int)value);
    *bytes = empty ? 0 : (size_t)total;
    return FR_OK;
}

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Most that any kernel of the node wants: which of them runs is decided when sizes are bound. */
static size_t workspace_bytes(const fr_program *p, const fr_node *node, const int64_t *sizes,
                              fr_tensor *in)
{
    fr_tensor out[FR_MAX_OUTPUTS];
    size_t most = 0;
    for (int i = 0; i < node->n_inputs; i++)
        in[i] = node->inputs[i] == FR_NO_VALUE
                    ? (fr_tensor){.dtype = FR_NO_DTYPE}
                    : fr_type_tensor(&p->values[node->inputs[i]].type, sizes);
    for (int i = 0; i < node->n_outputs; i++)
        out[i] = fr_type_tensor(&p->values[node->outputs[i]].type, sizes);
    for (int k = 0; k < FR_MAX_KERNELS && node->op->kernels[k].run != NULL; k++) {
        const fr_op_kernel *kernel = &node->op->kernels[k];
        const size_t bytes = kernel->workspace == NULL ? 0 : kernel->workspace(node, in, out);
        most = bytes > most ? bytes : most;
    }
    return most;
}

fr_status fr_plan_layout(fr_plan *plan, const int64_t *sizes, fr_tensor *in)
{
    const fr_program *p = plan->p;
    plan->sum_bytes = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        plan->buffers[i].bytes = 0;
    for (int v = 0; v < p->n_values; v++) {
        size_t bytes;
        if (plan->places[v].kind != FR_PLACE_ARENA)
            continue;
        FR_RETURN_IF_ERROR(fr_type_bytes(p, v, sizes, &bytes));
        fr_plan_buffer *buffer = &plan->buffers[plan->places[v].buffer];
        bytes = round_up(bytes);
        buffer->bytes = bytes > buffer->bytes ? bytes : buffer->bytes;
        plan->sum_bytes += plan->places[v].is_view ? 0 : bytes;
    }
    for (int k = 0; k < p->n_nodes; k++)
        if (plan->workspace[k] >= 0) {
            const size_t bytes = round_up(workspace_bytes(p, p->nodes[k], sizes, in));
            plan->buffers[plan->workspace[k]].bytes = bytes;
            plan->sum_bytes += bytes;
        }
    plan->arena_bytes = fr_plan_offsets(plan->buffers, plan->n_buffers, plan->order);
    return FR_OK;
}
