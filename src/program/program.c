/*
 * program.c: values, nodes and the sticky first mistake.
 *
 * fr_apply is the one door by which nodes come in: it looks the operator up, checks operands and
 * attributes against the registry entry, asks it for the types of the results, and only then adds
 * node and values. A mistake anywhere leaves the program as it was, with the sentence kept.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "program/program_body.h"

enum { ARENA_CHUNK_BYTES = 32 << 10 };

fr_program *fr_program_create(void)
{
    fr_program *p = NULL;
    if (fr_alloc(1, sizeof *p, "program", &p) != FR_OK)
        return NULL;
    if (fr_arena_create(ARENA_CHUNK_BYTES, &p->arena) != FR_OK) {
        fr_free(p);
        return NULL;
    }
    return p;
}

void fr_program_free(fr_program *p)
{
    if (p == NULL)
        return;
    for (int i = 0; i < p->n_values; i++)
        fr_free(p->values[i].literal);
    fr_free(p->values);
    fr_free(p->nodes);
    fr_free(p->dims);
    fr_free(p->outputs);
    fr_arena_free(p->arena);
    fr_free(p);
}

/* ---- the sticky mistake ---- */

fr_status fr_program_fail(fr_program *p, fr_status status)
{
    if (p != NULL && p->status == FR_OK && status != FR_OK) {
        p->status = status;
        memcpy(p->message, fr_error_message(), sizeof p->message - 1);
        p->message[sizeof p->message - 1] = '\0';
    }
    return status;
}

bool fr_program_ok(const fr_program *p) { return p != NULL && p->status == FR_OK; }

fr_status fr_program_check(const fr_program *p)
{
    if (p == NULL)
        return fr_fail(FR_ENOMEM, "the program is NULL: memory ran out when it was made");
    if (p->status != FR_OK)
        fr_error_set(p->message);
    return p->status;
}

fr_status fr_program_grow(void *table, int n, int *capacity, size_t size)
{
    if (n < *capacity)
        return FR_OK;
    const int larger = *capacity < 16 ? 16 : 2 * *capacity;
    FR_RETURN_IF_ERROR(fr_realloc(table, (size_t)larger, size, "program table"));
    *capacity = larger;
    return FR_OK;
}

/* ---- values ---- */

bool fr_value_exists(const fr_program *p, fr_value value)
{
    return p != NULL && value >= 0 && value < p->n_values;
}

const fr_value_record *fr_value_at(const fr_program *p, fr_value value)
{
    return &p->values[value];
}

static fr_status check_shape(const fr_program *p, const char *what, const char *name,
                             fr_dtype dtype, const fr_shape *shape)
{
    if (fr_dtype_bytes(dtype) == 0)
        return fr_fail(FR_EDTYPE, "%s \"%s\": %d is no element type", what, name, (int)dtype);
    if (shape->rank < 0 || shape->rank > FR_MAX_RANK)
        return fr_fail(FR_ESHAPE, "%s \"%s\": rank %d is outside [0, %d]", what, name, shape->rank,
                       (int)FR_MAX_RANK);
    for (int d = 0; d < shape->rank; d++) {
        if (!fr_dim_exists(p, shape->dims[d]))
            return fr_fail(FR_ESHAPE, "%s \"%s\": dim %d is symbol %d, which this program lacks",
                           what, name, d, (int)shape->dims[d].symbol);
        if (shape->dims[d].symbol < 0 && shape->dims[d].size < 0)
            return fr_fail(FR_ESHAPE, "%s \"%s\": dim %d is %" PRId64, what, name, d,
                           shape->dims[d].size);
    }
    return FR_OK;
}

/* Dims beyond the rank are set to 0, so that types compare and print alike. */
static void tidy_shape(fr_shape *shape)
{
    for (int d = shape->rank; d < FR_MAX_RANK; d++)
        shape->dims[d] = fr_constant(0);
}

static fr_value add_value(fr_program *p, const fr_value_record *record)
{
    if (fr_program_grow(&p->values, p->n_values, &p->values_capacity, sizeof *p->values) != FR_OK) {
        fr_program_fail(p, FR_ENOMEM);
        return FR_NO_VALUE;
    }
    p->values[p->n_values] = *record;
    tidy_shape(&p->values[p->n_values].type.shape);
    return p->n_values++;
}

static const char *copy_name(fr_program *p, const char *name)
{
    const char *copy = fr_arena_strdup(p->arena, name);
    if (copy == NULL)
        fr_program_fail(p, FR_ENOMEM);
    return copy;
}

static fr_value add_named(fr_program *p, const char *what, const char *name, fr_value_record record)
{
    if (!fr_program_ok(p))
        return FR_NO_VALUE;
    fr_status status = FR_OK;
    if (name == NULL || name[0] == '\0')
        status = fr_fail(FR_EINVAL, "%s: it needs a name", what);
    else if (fr_find(p, name) != FR_NO_VALUE)
        status = fr_fail(FR_EEXIST, "%s \"%s\": the program has a value of that name", what, name);
    else
        status = check_shape(p, what, name, record.type.dtype, &record.type.shape);
    if (status == FR_OK && record.kind != FR_VALUE_INPUT)
        for (int d = 0; d < record.type.shape.rank && status == FR_OK; d++)
            if (record.type.shape.dims[d].symbol >= 0) {
                char text[64];
                status =
                    fr_fail(FR_ESHAPE, "%s \"%s\": dim %d is %s and not a constant", what, name, d,
                            fr_dim_text(p, record.type.shape.dims[d], text, sizeof text));
            }
    if (status != FR_OK) {
        fr_program_fail(p, status);
        return FR_NO_VALUE;
    }
    record.name = copy_name(p, name);
    record.node = -1;
    return record.name == NULL ? FR_NO_VALUE : add_value(p, &record);
}

fr_value fr_input(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape)
{
    return add_named(p, "input", name,
                     (fr_value_record){.kind = FR_VALUE_INPUT, .type = {dtype, shape}});
}

static fr_value add_variable(fr_program *p, fr_value_kind kind, const char *name, fr_type type,
                             fr_initializer initializer)
{
    const char *what = kind == FR_VALUE_PARAMETER ? "parameter" : "state";
    if (fr_program_ok(p) && !fr_dtype_is_float(type.dtype) && initializer.kind != FR_INIT_ZERO &&
        initializer.kind != FR_INIT_CONSTANT) {
        fr_program_fail(p, fr_fail(FR_EDTYPE, "%s \"%s\": a random start needs f32 or f64, not %s",
                                   what, name == NULL ? "" : name, fr_dtype_name(type.dtype)));
        return FR_NO_VALUE;
    }
    return add_named(p, what, name,
                     (fr_value_record){.kind = kind, .type = type, .initializer = initializer});
}

fr_value fr_parameter(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape,
                      fr_initializer initializer)
{
    return add_variable(p, FR_VALUE_PARAMETER, name, (fr_type){dtype, shape}, initializer);
}

fr_value fr_state(fr_program *p, const char *name, fr_dtype dtype, fr_shape shape,
                  fr_initializer initializer)
{
    return add_variable(p, FR_VALUE_STATE, name, (fr_type){dtype, shape}, initializer);
}

fr_value fr_literal(fr_program *p, const fr_tensor *tensor)
{
    if (!fr_program_ok(p))
        return FR_NO_VALUE;
    fr_value_record record = {.kind = FR_VALUE_LITERAL, .node = -1};
    record.type = (fr_type){.dtype = tensor->dtype, .shape = {.rank = tensor->rank}};
    for (int d = 0; d < tensor->rank && d < FR_MAX_RANK; d++)
        record.type.shape.dims[d] = fr_constant(tensor->shape[d]);
    fr_status status = check_shape(p, "literal", "", tensor->dtype, &record.type.shape);
    fr_tensor copy = {0};
    if (status == FR_OK)
        status = fr_alloc_aligned((size_t)fr_tensor_count(tensor), fr_dtype_bytes(tensor->dtype),
                                  "literal", &record.literal);
    if (status == FR_OK)
        status = fr_tensor_view(tensor->dtype, tensor->rank, tensor->shape, record.literal, &copy);
    if (status == FR_OK)
        status = fr_tensor_copy(tensor, &copy);
    const fr_value value = status == FR_OK ? add_value(p, &record) : FR_NO_VALUE;
    if (value == FR_NO_VALUE) {
        fr_free(record.literal);
        fr_program_fail(p, status);
    }
    return value;
}

fr_value fr_literal_scalar(fr_program *p, fr_dtype dtype, double number)
{
    fr_tensor from, to;
    char element[16];
    if (!fr_program_ok(p))
        return FR_NO_VALUE;
    fr_status status = fr_tensor_view(FR_F64, 0, NULL, &number, &from);
    if (status == FR_OK)
        status = fr_tensor_view(dtype, 0, NULL, element, &to);
    if (status == FR_OK)
        status = fr_tensor_copy(&from, &to);
    if (status != FR_OK) {
        fr_program_fail(p, status);
        return FR_NO_VALUE;
    }
    return fr_literal(p, &to);
}

void fr_output(fr_program *p, const char *name, fr_value value)
{
    if (!fr_program_ok(p))
        return;
    fr_status status = FR_OK;
    if (name == NULL || name[0] == '\0')
        status = fr_fail(FR_EINVAL, "output: it needs a name");
    else if (!fr_value_exists(p, value))
        status = fr_fail(FR_EINVAL, "output \"%s\": the program has no value %d", name, (int)value);
    for (int i = 0; i < p->n_outputs && status == FR_OK; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            status =
                fr_fail(FR_EEXIST, "output \"%s\": the program has an output of that name", name);
    if (status == FR_OK)
        status =
            fr_program_grow(&p->outputs, p->n_outputs, &p->outputs_capacity, sizeof *p->outputs);
    if (status != FR_OK) {
        fr_program_fail(p, status);
        return;
    }
    const char *copy = copy_name(p, name);
    if (copy != NULL)
        p->outputs[p->n_outputs++] = (fr_named_value){copy, value};
}

/* ---- asking ---- */

fr_value fr_find(const fr_program *p, const char *name)
{
    if (p == NULL || name == NULL)
        return FR_NO_VALUE;
    for (int i = 0; i < p->n_values; i++)
        if (p->values[i].name != NULL && strcmp(p->values[i].name, name) == 0)
            return i;
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            return p->outputs[i].value;
    return FR_NO_VALUE;
}

fr_type fr_value_type(const fr_program *p, fr_value value)
{
    return fr_value_exists(p, value) ? p->values[value].type : (fr_type){.dtype = FR_NO_DTYPE};
}

fr_shape fr_value_shape(const fr_program *p, fr_value value)
{
    return fr_value_type(p, value).shape;
}

fr_dtype fr_value_dtype(const fr_program *p, fr_value value)
{
    return fr_value_type(p, value).dtype;
}

const char *fr_value_name(const fr_program *p, fr_value value)
{
    if (!fr_value_exists(p, value))
        return "";
    if (p->values[value].name != NULL)
        return p->values[value].name;
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].value == value)
            return p->outputs[i].name;
    return "";
}

static int count_kind(const fr_program *p, fr_value_kind kind)
{
    int n = 0;
    for (int i = 0; p != NULL && i < p->n_values; i++)
        n += p->values[i].kind == kind;
    return n;
}

static fr_value kind_at(const fr_program *p, fr_value_kind kind, int at)
{
    for (int i = 0; p != NULL && i < p->n_values; i++)
        if (p->values[i].kind == kind && at-- == 0)
            return i;
    return FR_NO_VALUE;
}

int fr_n_parameters(const fr_program *p) { return count_kind(p, FR_VALUE_PARAMETER); }

fr_value fr_parameter_at(const fr_program *p, int i) { return kind_at(p, FR_VALUE_PARAMETER, i); }

int fr_n_states(const fr_program *p) { return count_kind(p, FR_VALUE_STATE); }

fr_value fr_state_at(const fr_program *p, int i) { return kind_at(p, FR_VALUE_STATE, i); }

int fr_count_nodes(const fr_program *p, const char *op)
{
    int count = 0;
    for (int i = 0; p != NULL && i < p->n_nodes; i++)
        count += strcmp(p->nodes[i]->op->name, op) == 0;
    return count;
}
