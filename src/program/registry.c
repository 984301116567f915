/*
 * registry.c: the operators by name and number, the attributes of a node, and the checks that
 * every infer function makes. The list itself is ops/list.h.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "program/program_body.h"

#define FR_OP(symbol) extern const fr_op symbol;
#include "program/ops/list.h"
#undef FR_OP

#define FR_OP(symbol) &symbol,
static const fr_op *const operators[] = {
#include "program/ops/list.h"
};
#undef FR_OP

int fr_op_count(void) { return (int)(sizeof operators / sizeof operators[0]); }

const fr_op *fr_op_at(int i) { return i >= 0 && i < fr_op_count() ? operators[i] : NULL; }

const fr_op *fr_op_find(const char *name)
{
    for (int i = 0; i < fr_op_count(); i++)
        if (strcmp(operators[i]->name, name) == 0)
            return operators[i];
    return NULL;
}

int fr_n_operators(void) { return fr_op_count(); }

const char *fr_operator_name(int i)
{
    const fr_op *op = fr_op_at(i);
    return op == NULL ? "" : op->name;
}

/* ---- attributes ---- */

static const fr_attribute *find_attribute(const fr_node *node, const char *name, int kind)
{
    for (int i = 0; i < node->n_attributes; i++)
        if ((int)node->attributes[i].kind == kind && strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

int64_t fr_node_int(const fr_node *node, const char *name, int64_t otherwise)
{
    const fr_attribute *found = find_attribute(node, name, FR_ATTRIBUTE_INT);
    return found == NULL ? otherwise : found->i;
}

double fr_node_float(const fr_node *node, const char *name, double otherwise)
{
    const fr_attribute *found = find_attribute(node, name, FR_ATTRIBUTE_FLOAT);
    return found == NULL ? otherwise : found->f;
}

const char *fr_node_string(const fr_node *node, const char *name, const char *otherwise)
{
    const fr_attribute *found = find_attribute(node, name, FR_ATTRIBUTE_STRING);
    return found == NULL ? otherwise : found->s;
}

const int64_t *fr_node_ints(const fr_node *node, const char *name, int *n)
{
    const fr_attribute *found = find_attribute(node, name, FR_ATTRIBUTE_INTS);
    *n = found == NULL ? 0 : found->n;
    return found == NULL ? NULL : found->ints;
}

const fr_dim *fr_node_dims(const fr_node *node, const char *name, int *n)
{
    const fr_attribute *found = find_attribute(node, name, FR_ATTRIBUTE_DIMS);
    *n = found == NULL ? 0 : found->n;
    return found == NULL ? NULL : found->dims;
}

/* ---- checks ---- */

fr_status fr_infer_fail(const fr_program *p, const fr_node *node, fr_status status,
                        const char *format, ...)
{
    (void)p;
    char text[FR_ERROR_BYTES], at[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fr_fail(status, "%s: %s", fr_node_text(node, at, sizeof at), text);
}

fr_status fr_infer_rank(const fr_program *p, const fr_node *node, const fr_type *in, int operand,
                        int least, int most)
{
    const int rank = in[operand].shape.rank;
    if (rank >= least && rank <= most)
        return FR_OK;
    char shape[128];
    (void)fr_shape_text(p, &in[operand].shape, shape, sizeof shape);
    if (least == most)
        return fr_infer_fail(p, node, FR_ESHAPE, "operand %d (%s) has rank %d and not %d", operand,
                             shape, rank, least);
    return fr_infer_fail(p, node, FR_ESHAPE, "operand %d (%s) has rank %d, outside [%d, %d]",
                         operand, shape, rank, least, most);
}

fr_status fr_infer_float(const fr_program *p, const fr_node *node, const fr_type *in, int operand)
{
    if (in[operand].dtype == FR_F32 || in[operand].dtype == FR_F64)
        return FR_OK;
    return fr_infer_fail(p, node, FR_EDTYPE, "operand %d is %s and neither f32 nor f64", operand,
                         fr_dtype_name(in[operand].dtype));
}

fr_status fr_infer_same_dtype(const fr_program *p, const fr_node *node, const fr_type *in, int a,
                              int b)
{
    if (in[a].dtype == in[b].dtype)
        return FR_OK;
    return fr_infer_fail(p, node, FR_EDTYPE, "operand %d is %s, operand %d is %s", a,
                         fr_dtype_name(in[a].dtype), b, fr_dtype_name(in[b].dtype));
}

fr_status fr_infer_index(const fr_program *p, const fr_node *node, const fr_type *in, int operand)
{
    if (in[operand].dtype == FR_I32 || in[operand].dtype == FR_I64)
        return FR_OK;
    return fr_infer_fail(p, node, FR_EDTYPE, "operand %d is %s and neither i32 nor i64", operand,
                         fr_dtype_name(in[operand].dtype));
}

fr_status fr_infer_dim(const fr_program *p, const fr_node *node, const char *what_a, fr_dim a,
                       const char *what_b, fr_dim b)
{
    if (fr_dim_equal(a, b))
        return FR_OK;
    char text_a[64], text_b[64];
    return fr_infer_fail(p, node, FR_ESHAPE, "%s (%s) and %s (%s) differ", what_a,
                         fr_dim_text(p, a, text_a, sizeof text_a), what_b,
                         fr_dim_text(p, b, text_b, sizeof text_b));
}
