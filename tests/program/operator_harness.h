/*
 * operator_harness.h: turns a case into programs, runs them, and compares what comes out.
 *
 * A trial is one program for one dtype: the case's operands as inputs (or states), the operator,
 * and where the gradient is asked for the loss sum(output * weights) with fixed random weights,
 * differentiated by every differentiable operand. The harness never asserts: it counts what is
 * wrong and says it, so that one run shows all operators that fail.
 */
#ifndef FR_TESTS_OPERATOR_HARNESS_H
#define FR_TESTS_OPERATOR_HARNESS_H

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/parallel.h"
#include "operator_case.h"
#include "program/op.h"

static const char *const size_names[CASE_SIZES] = {"zero", "one", "small", "large"};
static int n_wrong;

static void FR_PRINTF(2, 3) wrong(const op_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    n_wrong++;
    fprintf(stderr, "%s, size %s, round %d: ", c->op, size_names[c->size], c->round);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

/* ---- one program ---- */

typedef struct trial {
    fr_dtype dtype;
    fr_program *p;
    fr_executor *e;
    int n_outputs;
    fr_value inputs[CASE_OPERANDS], outputs[FR_MAX_OUTPUTS], grads[CASE_OPERANDS], loss;
    void *data[CASE_OPERANDS]; /* what inputs point to */
    int64_t counts[FR_MAX_OUTPUTS];
} trial;

static fr_shape constant_shape(int rank, const int64_t *sizes)
{
    fr_shape shape = {.rank = rank};
    for (int d = 0; d < rank; d++)
        shape.dims[d] = fr_constant(sizes[d]);
    return shape;
}

static fr_dtype operand_dtype(const operand *o, fr_dtype dtype)
{
    return o->kind == OPERAND_I32 ? FR_I32 : o->kind == OPERAND_I64 ? FR_I64 : dtype;
}

/* Adds the case's operands and the operator. */
static void build_operator(const op_case *c, trial *t)
{
    for (int i = 0; i < c->n_inputs; i++) {
        const operand *o = &c->inputs[i];
        char name[24];
        snprintf(name, sizeof name, "operand%d", i);
        const fr_shape shape = constant_shape(o->rank, o->shape);
        t->inputs[i] = o->kind == OPERAND_LEFT_OUT ? FR_NO_VALUE
                       : o->kind == OPERAND_STATE
                           ? fr_state(t->p, name, t->dtype, shape, fr_zeros())
                           : fr_input(t->p, name, operand_dtype(o, t->dtype), shape);
    }
    fr_apply(t->p, c->op, t->inputs, c->n_inputs, c->attributes, c->n_attributes, t->outputs,
             t->n_outputs);
}

/* A literal of the value's shape; the same numbers for every dtype. */
static fr_value random_weights(fr_program *p, fr_value value, int64_t *count)
{
    const fr_shape shape = fr_value_shape(p, value);
    int64_t sizes[FR_MAX_RANK] = {0};
    for (int d = 0; d < shape.rank; d++)
        sizes[d] = shape.dims[d].size;
    fr_tensor weights = {0};
    if (fr_tensor_create(fr_value_dtype(p, value), shape.rank, sizes, &weights) != FR_OK)
        return FR_NO_VALUE;
    fr_random random = fr_random_start(1, (uint64_t)value);
    *count = fr_tensor_count(&weights);
    for (int64_t i = 0; i < *count; i++) {
        const float number = (float)(2 * fr_random_uniform(&random) - 1);
        if (weights.dtype == FR_F64)
            ((double *)weights.data)[i] = (double)number;
        else
            ((float *)weights.data)[i] = number;
    }
    const fr_value literal = fr_literal(p, &weights);
    fr_tensor_release(&weights);
    return literal;
}

/* loss = sum over the chosen outputs of sum(output * weights). */
static void build_loss(const op_case *c, trial *t)
{
    const uint32_t chosen = c->loss_outputs ? c->loss_outputs : 1;
    t->loss = FR_NO_VALUE;
    for (int i = 0; i < t->n_outputs; i++) {
        if (!(chosen >> i & 1))
            continue;
        int64_t axes[FR_MAX_RANK], count;
        fr_value term = fr_mul(t->p, t->outputs[i], random_weights(t->p, t->outputs[i], &count));
        const int rank = fr_value_shape(t->p, term).rank;
        for (int d = 0; d < rank; d++)
            axes[d] = d;
        if (rank > 0)
            term = fr_reduce_sum(t->p, term, axes, rank, false);
        t->loss = t->loss == FR_NO_VALUE ? term : fr_add(t->p, t->loss, term);
    }
}

static fr_status build_gradient(const op_case *c, trial *t)
{
    fr_value wanted[CASE_OPERANDS], grads[CASE_OPERANDS];
    int n = 0;
    build_loss(c, t);
    FR_RETURN_IF_ERROR(fr_program_check(t->p));
    for (int i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].differentiable)
            wanted[n++] = t->inputs[i];
    FR_RETURN_IF_ERROR(fr_gradient(t->p, t->loss, wanted, n, grads));
    for (int i = c->n_inputs - 1; i >= 0; i--)
        if (c->inputs[i].differentiable)
            t->grads[i] = grads[--n];
    return FR_OK;
}

static void write_number(fr_dtype dtype, void *data, int64_t i, double number, int64_t integer)
{
    switch (dtype) {
    case FR_F32: ((float *)data)[i] = (float)number; break;
    case FR_F64: ((double *)data)[i] = number; break;
    case FR_I32: ((int32_t *)data)[i] = (int32_t)integer; break;
    default: ((int64_t *)data)[i] = integer;
    }
}

static double read_number(fr_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case FR_F32: return (double)((const float *)data)[i];
    case FR_F64: return ((const double *)data)[i];
    case FR_I32: return (double)((const int32_t *)data)[i];
    case FR_I64: return (double)((const int64_t *)data)[i];
    default: return (double)((const uint8_t *)data)[i];
    }
}

/* Writes operand i's values where the executor reads them. */
static fr_status load_operand(const op_case *c, trial *t, int i)
{
    const operand *o = &c->inputs[i];
    if (o->kind == OPERAND_LEFT_OUT)
        return FR_OK;
    const fr_dtype dtype = operand_dtype(o, t->dtype);
    void *data = o->kind == OPERAND_STATE ? fr_executor_data(t->e, t->inputs[i]) : t->data[i];
    for (int64_t k = 0; k < o->count; k++)
        write_number(dtype, data, k, o->floats ? o->floats[k] : 0,
                     o->integers ? o->integers[k] : 0);
    return o->kind == OPERAND_STATE ? FR_OK : fr_executor_set(t->e, t->inputs[i], data);
}

static void trial_close(trial *t)
{
    fr_executor_free(t->e);
    fr_program_free(t->p);
    for (int i = 0; i < CASE_OPERANDS; i++)
        free(t->data[i]);
    memset(t, 0, sizeof *t);
}

static fr_status trial_open(const op_case *c, fr_dtype dtype, bool gradient, trial *t)
{
    fr_value keep[FR_MAX_OUTPUTS + CASE_OPERANDS + 1];
    int n_keep = 0;
    *t = (trial){.dtype = dtype, .p = fr_program_create(), .loss = FR_NO_VALUE};
    t->n_outputs = fr_op_find(c->op)->n_outputs;
    for (int i = 0; i < CASE_OPERANDS; i++)
        t->grads[i] = t->inputs[i] = FR_NO_VALUE;
    build_operator(c, t);
    FR_RETURN_IF_ERROR(fr_program_check(t->p));
    if (gradient)
        FR_RETURN_IF_ERROR(build_gradient(c, t));
    for (int i = 0; i < t->n_outputs; i++)
        keep[n_keep++] = t->outputs[i];
    if (t->loss != FR_NO_VALUE)
        keep[n_keep++] = t->loss;
    for (int i = 0; i < c->n_inputs; i++)
        if (t->grads[i] != FR_NO_VALUE)
            keep[n_keep++] = t->grads[i];
    FR_RETURN_IF_ERROR(fr_executor_create(
        t->p,
        &(fr_executor_options){
            .training = !c->evaluation, .seed = 7, .keep = keep, .n_keep = n_keep},
        &t->e));
    for (int i = 0; i < c->n_inputs; i++) {
        const operand *o = &c->inputs[i];
        if (o->kind != OPERAND_LEFT_OUT && o->kind != OPERAND_STATE)
            t->data[i] = calloc((size_t)o->count + 1, fr_dtype_bytes(operand_dtype(o, dtype)));
    }
    return FR_OK;
}

static fr_status trial_run(const op_case *c, trial *t)
{
    for (int i = 0; i < c->n_inputs; i++)
        FR_RETURN_IF_ERROR(load_operand(c, t, i));
    fr_executor_set_step(t->e, 5);
    return fr_executor_run(t->e);
}

/* ---- comparing ---- */

/* Number of elements and the memory of a result; NULL where it cannot be read. */
static const void *result_of(const trial *t, fr_value value, int64_t *count)
{
    fr_tensor view;
    *count = 0;
    if (fr_executor_shape(t->e, value, &view) != FR_OK)
        return NULL;
    *count = fr_tensor_count(&view);
    return fr_executor_data(t->e, value);
}

static void compare_values(const op_case *c, const trial *a, fr_value value_a, const trial *b,
                           fr_value value_b, const char *what, int number)
{
    int64_t count_a, count_b;
    const void *data_a = result_of(a, value_a, &count_a), *data_b = result_of(b, value_b, &count_b);
    const double tolerance = c->tolerance > 0 ? c->tolerance : 2e-5;
    if (count_a != count_b || (count_a > 0 && (data_a == NULL || data_b == NULL))) {
        wrong(c, "%s %d has %" PRId64 " and %" PRId64 " values", what, number, count_a, count_b);
        return;
    }
    for (int64_t i = 0; i < count_a; i++) {
        const double x = read_number(fr_value_dtype(a->p, value_a), data_a, i);
        const double y = read_number(fr_value_dtype(b->p, value_b), data_b, i);
        if (!(fabs(x - y) <= tolerance * (1 + fabs(y))) && !(isinf(y) && x == y) &&
            !(isnan(x) && isnan(y))) {
            wrong(c, "%s %d at %" PRId64 " of %" PRId64 " is %.9g in f32 and %.9g in f64", what,
                  number, i, count_a, x, y);
            return;
        }
    }
}

static void compare_f32_with_f64(const op_case *c, const trial *f32, const trial *f64)
{
    for (int i = 0; i < f32->n_outputs; i++)
        compare_values(c, f32, f32->outputs[i], f64, f64->outputs[i], "output", i);
    for (int i = 0; i < c->n_inputs; i++)
        if (f32->grads[i] != FR_NO_VALUE)
            compare_values(c, f32, f32->grads[i], f64, f64->grads[i], "gradient of operand", i);
}

/* All results one behind the other, for comparison bit by bit. */
static unsigned char *snapshot(const op_case *c, const trial *t, size_t *bytes)
{
    unsigned char *all = NULL;
    *bytes = 0;
    for (int i = 0; i < t->n_outputs + c->n_inputs; i++) {
        const fr_value value = i < t->n_outputs ? t->outputs[i] : t->grads[i - t->n_outputs];
        if (value == FR_NO_VALUE)
            continue;
        int64_t count;
        const void *data = result_of(t, value, &count);
        const size_t size =
            data == NULL ? 0 : (size_t)count * fr_dtype_bytes(fr_value_dtype(t->p, value));
        all = realloc(all, *bytes + size + 1);
        if (size > 0)
            memcpy(all + *bytes, data, size);
        *bytes += size;
    }
    return all;
}

static fr_status compare_threads(const op_case *c, trial *t)
{
    size_t bytes[2];
    unsigned char *all[2] = {NULL, NULL};
    fr_status status = FR_OK;
    for (int threads = 1; threads <= 2; threads++) {
        fr_set_threads(threads);
        FR_TRY(trial_run(c, t));
        all[threads - 1] = snapshot(c, t, &bytes[threads - 1]);
    }
    if (bytes[0] != bytes[1] || (bytes[0] > 0 && memcmp(all[0], all[1], bytes[0]) != 0))
        wrong(c, "other bits with 2 threads than with 1");
done:
    fr_set_threads(0);
    free(all[0]);
    free(all[1]);
    return status;
}

/* ---- finite differences ---- */

static fr_status loss_at(op_case *c, trial *t, double *place, double value, double *loss)
{
    const double kept = *place;
    int64_t count;
    *place = value;
    const fr_status status = trial_run(c, t);
    *place = kept;
    if (status != FR_OK)
        return status;
    const double *result = result_of(t, t->loss, &count);
    if (result == NULL || count != 1)
        return fr_fail(FR_EINTERNAL, "the loss cannot be read");
    *loss = *result;
    return FR_OK;
}

/* (loss(x + h) - loss(x - h)) / 2h at element `at` of an operand. */
static fr_status difference_at(op_case *c, trial *t, operand *o, int64_t at, double h,
                               double *slope)
{
    double above, below;
    FR_RETURN_IF_ERROR(loss_at(c, t, &o->floats[at], o->floats[at] + h, &above));
    FR_RETURN_IF_ERROR(loss_at(c, t, &o->floats[at], o->floats[at] - h, &below));
    *slope = (above - below) / (2 * h);
    return FR_OK;
}

/*
 * One element's gradient against its difference. Where they disagree a step a hundred times smaller
 * is tried: a kink (relu at 0, two nearly equal candidates of a maximum) may lie within the first.
 */
static fr_status check_element(op_case *c, trial *t, int i, int64_t at, double grad)
{
    operand *o = &c->inputs[i];
    double slope, finer;
    FR_RETURN_IF_ERROR(difference_at(c, t, o, at, 1e-5, &slope));
    if (fabs(grad - slope) <= 1e-6 * (1 + fabs(slope)))
        return FR_OK;
    FR_RETURN_IF_ERROR(difference_at(c, t, o, at, 1e-7, &finer));
    if (!(fabs(grad - finer) <= 1e-5 * (1 + fabs(finer))))
        wrong(c, "gradient of operand %d at %" PRId64 " is %.12g, by differences %.12g", i, at,
              grad, slope);
    return FR_OK;
}

/* Up to 16 elements of each differentiable operand. */
static fr_status check_differences(op_case *c, trial *t)
{
    for (int i = 0; i < c->n_inputs; i++) {
        operand *o = &c->inputs[i];
        if (!o->differentiable || o->count == 0)
            continue;
        const int64_t n = o->count < 16 ? o->count : 16;
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = o->count <= 16 ? k : case_below(c, o->count);
            int64_t count;
            FR_RETURN_IF_ERROR(trial_run(c, t));
            const double *grads = result_of(t, t->grads[i], &count);
            if (grads == NULL || count != o->count) {
                wrong(c, "gradient of operand %d has %" PRId64 " values, the operand %" PRId64, i,
                      count, o->count);
                return FR_OK;
            }
            FR_RETURN_IF_ERROR(check_element(c, t, i, at, grads[at]));
        }
    }
    return FR_OK;
}

/* ---- cases of a row ---- */

static void open_case(const op_row *row, case_size size, int round, uint64_t seed, op_case *c)
{
    uint64_t name = 0;
    for (const char *s = row->op; *s; s++)
        name = name * 131 + (unsigned char)*s;
    memset(c, 0, sizeof *c);
    c->op = row->op;
    c->size = size;
    c->round = round;
    c->random = fr_random_start(seed, fr_random_stream(name, (uint64_t)size, (uint64_t)round, 0));
    row->make(c);
}

static bool is_differentiable(const op_case *c)
{
    const fr_op *op = fr_op_find(c->op);
    if (op->gradient == NULL || c->no_gradient)
        return false;
    for (int i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].differentiable)
            return true;
    return false;
}

#endif
