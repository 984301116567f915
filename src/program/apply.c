/*
 * apply.c: adding a node to a program.
 *
 * A node is checked against its registry entry (number of operands, names and kinds of attributes),
 * its operator tells the types of the results, and node and values are added together. What fails
 * leaves no trace but the sentence.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "program/program_body.h"

const char *fr_node_text(const fr_node *node, char *buffer, size_t bytes)
{
    (void)snprintf(buffer, bytes, "%s %%%d", node->op->name, (int)node->outputs[0]);
    return buffer;
}

static fr_status find_op(const char *name, const fr_op **op)
{
    *op = name == NULL ? NULL : fr_op_find(name);
    if (*op != NULL)
        return FR_OK;
    const char *nearest = NULL;
    int best = 4;
    for (int i = 0; name != NULL && i < fr_op_count(); i++) {
        const int distance = fr_edit_distance(name, fr_op_at(i)->name);
        if (distance < best) {
            best = distance;
            nearest = fr_op_at(i)->name;
        }
    }
    if (nearest != NULL)
        return fr_fail(FR_ENOENT, "no operator is called \"%s\"; did you mean \"%s\"?", name,
                       nearest);
    return fr_fail(FR_ENOENT, "no operator is called \"%s\"", name == NULL ? "" : name);
}

static fr_status check_operands(const fr_program *p, const fr_node *node)
{
    const fr_op *op = node->op;
    const int n = node->n_inputs;
    if (n < op->min_inputs || (op->max_inputs >= 0 && n > op->max_inputs))
        return fr_infer_fail(p, node, FR_EINVAL,
                             "%d operands given, at least %d and at most %d needed", n,
                             op->min_inputs, op->max_inputs < 0 ? INT32_MAX : op->max_inputs);
    for (int i = 0; i < n; i++) {
        if (node->inputs[i] == FR_NO_VALUE && (i < op->min_inputs || op->max_inputs < 0))
            return fr_infer_fail(p, node, FR_EINVAL, "operand %d is missing", i);
        if (node->inputs[i] != FR_NO_VALUE && !fr_value_exists(p, node->inputs[i]))
            return fr_infer_fail(p, node, FR_EINVAL,
                                 "operand %d is value %d, the program has %d values", i,
                                 (int)node->inputs[i], p->n_values);
    }
    return FR_OK;
}

static fr_status check_attributes(const fr_program *p, const fr_node *node)
{
    for (int i = 0; i < node->n_attributes; i++) {
        const fr_attribute *a = &node->attributes[i];
        const char *const *known = node->op->attributes;
        int n_known = 0;
        bool found = false;
        for (; known != NULL && known[n_known] != NULL; n_known++)
            found = found || strcmp(known[n_known], a->name) == 0;
        if (!found) {
            const char *nearest = known == NULL ? NULL : fr_nearest_word(a->name, known, n_known);
            if (nearest != NULL)
                return fr_infer_fail(p, node, FR_EINVAL,
                                     "it has no attribute \"%s\"; did you mean \"%s\"?", a->name,
                                     nearest);
            return fr_infer_fail(p, node, FR_EINVAL, "it has no attribute \"%s\"", a->name);
        }
        for (int d = 0; a->kind == FR_ATTRIBUTE_DIMS && d < a->n; d++)
            if (!fr_dim_exists(p, a->dims[d]))
                return fr_infer_fail(p, node, FR_EINVAL,
                                     "attribute %s: dim %d is symbol %d, which this program lacks",
                                     a->name, d, (int)a->dims[d].symbol);
    }
    return FR_OK;
}

static void *copy_bytes(fr_program *p, const void *from, size_t count, size_t size)
{
    void *copy = fr_arena_alloc(p->arena, count == 0 ? 1 : count, size);
    if (copy != NULL && count > 0)
        memcpy(copy, from, count * size);
    return copy;
}

/* A copy of an attribute and all it points to. */
static fr_status copy_attribute(fr_program *p, const fr_attribute *from, fr_attribute *to)
{
    *to = *from;
    to->name = fr_arena_strdup(p->arena, from->name);
    bool copied = to->name != NULL;
    if (from->kind == FR_ATTRIBUTE_INTS) {
        to->ints = copy_bytes(p, from->ints, (size_t)from->n, sizeof *from->ints);
        copied = copied && to->ints != NULL;
    } else if (from->kind == FR_ATTRIBUTE_DIMS) {
        to->dims = copy_bytes(p, from->dims, (size_t)from->n, sizeof *from->dims);
        copied = copied && to->dims != NULL;
    } else if (from->kind == FR_ATTRIBUTE_STRING) {
        to->s = fr_arena_strdup(p->arena, from->s);
        copied = copied && to->s != NULL;
    }
    return copied ? FR_OK : FR_ENOMEM;
}

static fr_status make_node(fr_program *p, const fr_op *op, const fr_value *inputs, int n_inputs,
                           const fr_attribute *attributes, int n_attributes, fr_node **made)
{
    fr_node *node = fr_arena_alloc(p->arena, 1, sizeof *node);
    if (node == NULL)
        return FR_ENOMEM;
    *node = (fr_node){.op = op, .index = p->n_nodes, .n_inputs = n_inputs};
    node->n_outputs = op->n_outputs;
    for (int i = 0; i < FR_MAX_OUTPUTS; i++)
        node->outputs[i] = i < op->n_outputs ? p->n_values + i : FR_NO_VALUE;
    node->inputs = copy_bytes(p, inputs, (size_t)n_inputs, sizeof *inputs);
    node->attributes = fr_arena_alloc(p->arena, (size_t)n_attributes + 1, sizeof *node->attributes);
    if (node->inputs == NULL || node->attributes == NULL)
        return FR_ENOMEM;
    for (int i = 0; i < n_attributes; i++, node->n_attributes++)
        FR_RETURN_IF_ERROR(copy_attribute(p, &attributes[i], &node->attributes[i]));
    *made = node;
    return FR_OK;
}

static fr_status infer_types(fr_program *p, const fr_node *node, fr_type *out)
{
    fr_type *in = fr_arena_alloc(p->arena, (size_t)node->n_inputs + 1, sizeof *in);
    if (in == NULL)
        return FR_ENOMEM;
    for (int i = 0; i < node->n_inputs; i++)
        in[i] = fr_value_type(p, node->inputs[i]);
    const int n_values = p->n_values, n_nodes = p->n_nodes;
    FR_RETURN_IF_ERROR(node->op->infer(p, node, in, out));
    FR_RETURN_IF_ERROR(fr_program_check(p)); /* dims made by infer */
    if (p->n_values != n_values || p->n_nodes != n_nodes)
        return fr_infer_fail(p, node, FR_EINTERNAL, "its infer added to the program");
    return FR_OK;
}

static fr_status add_node(fr_program *p, fr_node *node, const fr_type *types)
{
    FR_RETURN_IF_ERROR(
        fr_program_grow(&p->nodes, p->n_nodes, &p->nodes_capacity, sizeof *p->nodes));
    for (int i = 0; i < node->n_outputs; i++) /* room first, so that nothing is half done */
        FR_RETURN_IF_ERROR(
            fr_program_grow(&p->values, p->n_values + i, &p->values_capacity, sizeof *p->values));
    for (int i = 0; i < node->n_outputs; i++) {
        fr_value_record *record = &p->values[p->n_values++];
        *record = (fr_value_record){.kind = FR_VALUE_RESULT, .type = types[i], .node = node->index};
        for (int d = types[i].shape.rank; d < FR_MAX_RANK; d++)
            record->type.shape.dims[d] = fr_constant(0);
    }
    p->nodes[p->n_nodes++] = node;
    return FR_OK;
}

static fr_status apply(fr_program *p, const char *name, const fr_value *inputs, int n_inputs,
                       const fr_attribute *attributes, int n_attributes, const fr_node **added)
{
    const fr_op *op;
    fr_node *node = NULL;
    fr_type types[FR_MAX_OUTPUTS] = {0};
    FR_RETURN_IF_ERROR(find_op(name, &op));
    FR_RETURN_IF_ERROR(make_node(p, op, inputs, n_inputs, attributes, n_attributes, &node));
    FR_RETURN_IF_ERROR(check_operands(p, node));
    FR_RETURN_IF_ERROR(check_attributes(p, node));
    FR_RETURN_IF_ERROR(infer_types(p, node, types));
    FR_RETURN_IF_ERROR(add_node(p, node, types));
    *added = node;
    return FR_OK;
}

void fr_apply(fr_program *p, const char *op, const fr_value *inputs, int n_inputs,
              const fr_attribute *attributes, int n_attributes, fr_value *outputs, int n_outputs)
{
    const fr_node *node = NULL;
    for (int i = 0; i < n_outputs; i++)
        outputs[i] = FR_NO_VALUE;
    if (!fr_program_ok(p))
        return;
    const fr_status status = apply(p, op, inputs, n_inputs, attributes, n_attributes, &node);
    if (status != FR_OK) {
        fr_program_fail(p, status);
        return;
    }
    for (int i = 0; i < n_outputs && i < node->n_outputs; i++)
        outputs[i] = node->outputs[i];
}

fr_value fr_apply_one(fr_program *p, const char *op, const fr_value *inputs, int n_inputs,
                      const fr_attribute *attributes, int n_attributes)
{
    fr_value output;
    fr_apply(p, op, inputs, n_inputs, attributes, n_attributes, &output, 1);
    return output;
}
