/*
 * print.c: a program as text, a line a node, and the list of operators.
 */
#include <frugal/program.h>

#include <inttypes.h>

#include "base/table.h"
#include "program/program_body.h"

static const char *const kinds[] = {"input", "parameter", "state", "literal", "result"};

/* "%w" for what has a name, "%5" for the rest. */
static void print_value(const fr_program *p, fr_value value, FILE *stream)
{
    if (value == FR_NO_VALUE)
        (void)fputs("-", stream);
    else if (p->values[value].name != NULL)
        (void)fprintf(stream, "%%%s", p->values[value].name);
    else
        (void)fprintf(stream, "%%%d", (int)value);
}

static void print_type(const fr_program *p, const fr_type *type, FILE *stream)
{
    char shape[256];
    (void)fprintf(stream, "%s %s", fr_dtype_name(type->dtype),
                  fr_shape_text(p, &type->shape, shape, sizeof shape));
}

static void print_attribute(const fr_program *p, const fr_attribute *attribute, FILE *stream)
{
    char text[128];
    (void)fprintf(stream, " %s=", attribute->name);
    switch (attribute->kind) {
    case FR_ATTRIBUTE_INT: (void)fprintf(stream, "%" PRId64, attribute->i); break;
    case FR_ATTRIBUTE_FLOAT: (void)fprintf(stream, "%g", attribute->f); break;
    case FR_ATTRIBUTE_STRING: (void)fprintf(stream, "%s", attribute->s); break;
    case FR_ATTRIBUTE_INTS:
        for (int i = 0; i < attribute->n; i++)
            (void)fprintf(stream, "%s%" PRId64, i == 0 ? "" : ",", attribute->ints[i]);
        break;
    case FR_ATTRIBUTE_DIMS:
        for (int i = 0; i < attribute->n; i++)
            (void)fprintf(stream, "%s%s", i == 0 ? "" : ",",
                          fr_dim_text(p, attribute->dims[i], text, sizeof text));
        break;
    }
}

static void print_node(const fr_program *p, const fr_node *node, FILE *stream)
{
    for (int i = 0; i < node->n_outputs; i++)
        (void)fprintf(stream, "%s%%%d", i == 0 ? "" : ", ", (int)node->outputs[i]);
    (void)fprintf(stream, " = %s(", node->op->name);
    for (int i = 0; i < node->n_inputs; i++) {
        (void)fputs(i == 0 ? "" : ", ", stream);
        print_value(p, node->inputs[i], stream);
    }
    (void)fputs(")", stream);
    for (int i = 0; i < node->n_attributes; i++)
        print_attribute(p, &node->attributes[i], stream);
    for (int i = 0; i < node->n_outputs; i++) {
        (void)fputs(i == 0 ? " : " : ", ", stream);
        print_type(p, &p->values[node->outputs[i]].type, stream);
    }
    (void)fputs("\n", stream);
}

void fr_program_print(const fr_program *p, FILE *stream)
{
    if (p == NULL)
        return;
    for (int i = 0; i < p->n_values; i++)
        if (p->values[i].kind != FR_VALUE_RESULT) {
            print_value(p, i, stream);
            (void)fprintf(stream, " = %s : ", kinds[p->values[i].kind]);
            print_type(p, &p->values[i].type, stream);
            (void)fputs("\n", stream);
        }
    for (int i = 0; i < p->n_nodes; i++)
        print_node(p, p->nodes[i], stream);
    for (int i = 0; i < p->n_outputs; i++) {
        (void)fprintf(stream, "output %s = ", p->outputs[i].name);
        print_value(p, p->outputs[i].value, stream);
        (void)fputs("\n", stream);
    }
    if (p->status != FR_OK)
        (void)fprintf(stream, "error: %s\n", p->message);
}

/* Kernel names as "onednn, own". */
static void kernel_names(const fr_op *op, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    if (op->is_view)
        (void)snprintf(text, bytes, "(view)");
    for (int k = 0; k < FR_MAX_KERNELS && op->kernels[k].run != NULL && length < bytes; k++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", k == 0 ? "" : ", ",
                                   op->kernels[k].name);
}

static void attribute_names(const fr_op *op, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; op->attributes != NULL && op->attributes[i] != NULL && length < bytes; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", i == 0 ? "" : ", ",
                                   op->attributes[i]);
}

fr_status fr_operators_print(FILE *stream)
{
    static const char *const titles[] = {"operator",   "attributes", "gradient",
                                         "expression", "in place",   "kernels"};
    fr_table *table = NULL;
    FR_RETURN_IF_ERROR(fr_table_create(titles, 6, &table));
    for (int i = 0; i < fr_op_count(); i++) {
        const fr_op *op = fr_op_at(i);
        char names[256];
        fr_table_cell(table, "%s", op->name);
        attribute_names(op, names, sizeof names);
        fr_table_cell(table, "%s", names);
        fr_table_cell(table, "%s", op->gradient != NULL ? "yes" : "no");
        fr_table_cell(table, "%s", op->expression != NULL ? "yes" : "no");
        fr_table_cell(table, "%s", op->in_place != 0 ? "yes" : "no");
        kernel_names(op, names, sizeof names);
        fr_table_cell(table, "%s", names);
    }
    const fr_status status = fr_table_print(table, stream);
    fr_table_free(table);
    return status;
}
