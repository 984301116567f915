/*
 * test_operators.c: walks the whole registry; an operator without a row here fails the test, so
 * none can exist untested. Oracles: central finite differences in f64 (gradients), the f64 kernels
 * (f32), the same run with one thread (bits), the interpreter of expr (results of tensor algebra),
 * and for infer a good case spoilt in one place.
 *
 * Rows are in operator_cases_*.h. A pure gradient operator names the operator whose cases cover it;
 * that it really appears in their programs is checked.
 */
#include <frugal/expr.h>

#include "test_main.h"

#include "operator_cases_dense.h"
#include "operator_cases_image.h"
#include "operator_cases_layout.h"
#include "operator_cases_network.h"
#include "operator_cases_sparse.h"
#include "operator_harness.h"

typedef struct row_group {
    const op_row *rows;
    size_t n;
} row_group;

#define GROUP(rows)                                                                                \
    {                                                                                              \
        rows, sizeof(rows) / sizeof(rows)[0]                                                       \
    }
static const row_group groups[] = {GROUP(dense_rows), GROUP(layout_rows), GROUP(network_rows),
                                   GROUP(sparse_rows), GROUP(image_rows)};
enum { N_GROUPS = sizeof groups / sizeof groups[0] };

static const op_row *row_of(const char *op)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        for (size_t i = 0; i < groups[g].n; i++)
            if (strcmp(groups[g].rows[i].op, op) == 0)
                return &groups[g].rows[i];
    return NULL;
}

/* Calls `check` for every case of every row, in sizes [first, last]. */
static void for_each_case(case_size first, case_size last, fr_status (*check)(op_case *c))
{
    n_wrong = 0;
    for (int i = 0; i < fr_n_operators(); i++) {
        const op_row *row = row_of(fr_operator_name(i));
        if (row == NULL || row->make == NULL)
            continue;
        for (int size = (int)first; size <= (int)last; size++)
            for (int round = 0; round < (row->rounds ? row->rounds : 3); round++) {
                if (size == CASE_ZERO && row->no_zero)
                    continue;
                op_case c;
                open_case(row, (case_size)size, round, fr_test_seed(), &c);
                if (check(&c) != FR_OK)
                    wrong(&c, "%s", fr_error_message());
                case_release(&c);
            }
    }
    assert_int_equal(n_wrong, 0);
}

static void every_operator_has_a_row(void **state)
{
    (void)state;
    int missing = 0;
    for (int i = 0; i < fr_n_operators(); i++) {
        const char *name = fr_operator_name(i);
        const op_row *row = row_of(name);
        if (row == NULL ||
            (row->make == NULL && (row->covered_by == NULL || row_of(row->covered_by) == NULL))) {
            fprintf(stderr,
                    "operator %s has no case: add one to tests/program/operator_cases_*.h\n", name);
            missing++;
        }
    }
    for (size_t g = 0; g < N_GROUPS; g++)
        for (size_t i = 0; i < groups[g].n; i++)
            if (fr_op_find(groups[g].rows[i].op) == NULL) {
                fprintf(stderr, "a row tests %s, which is no operator\n", groups[g].rows[i].op);
                missing++;
            }
    assert_int_equal(missing, 0);
}

/* ---- gradients ---- */

static fr_status check_gradient(op_case *c)
{
    trial t;
    if (!is_differentiable(c))
        return FR_OK;
    fr_status status = trial_open(c, FR_F64, true, &t);
    if (status == FR_OK)
        status = trial_run(c, &t);
    if (status == FR_OK)
        status = check_differences(c, &t);
    trial_close(&t);
    return status;
}

static void gradients_are_finite_differences(void **state)
{
    (void)state;
    for_each_case(CASE_ZERO, CASE_SMALL, check_gradient);
}

/* ---- f32, threads ---- */

static fr_status check_f32(op_case *c)
{
    trial f32, f64 = {0};
    const bool gradient = is_differentiable(c);
    fr_status status = trial_open(c, FR_F32, gradient, &f32);
    if (status == FR_OK)
        status = trial_open(c, FR_F64, gradient, &f64);
    if (status == FR_OK)
        status = trial_run(c, &f32);
    if (status == FR_OK)
        status = trial_run(c, &f64);
    if (status == FR_OK)
        compare_f32_with_f64(c, &f32, &f64);
    trial_close(&f32);
    trial_close(&f64);
    return status;
}

static void f32_agrees_with_f64(void **state)
{
    (void)state;
    for_each_case(CASE_ZERO, CASE_LARGE, check_f32);
}

static fr_status check_threads(op_case *c)
{
    trial t;
    fr_status status = trial_open(c, FR_F32, is_differentiable(c), &t);
    if (status == FR_OK)
        status = compare_threads(c, &t);
    trial_close(&t);
    return status;
}

static void threads_do_not_change_bits(void **state)
{
    (void)state;
    for_each_case(CASE_SMALL, CASE_LARGE, check_threads);
}

/* ---- coverage of gradient operators ---- */

static bool program_uses(const fr_program *p, const char *op)
{
    char *text = NULL, call[64];
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    fr_program_print(p, stream);
    fclose(stream);
    snprintf(call, sizeof call, "= %s(", op);
    const bool found = strstr(text, call) != NULL;
    free(text);
    return found;
}

static void gradient_operators_appear_where_rows_say(void **state)
{
    (void)state;
    int missing = 0;
    for (int i = 0; i < fr_n_operators(); i++) {
        const op_row *row = row_of(fr_operator_name(i));
        if (row == NULL || row->make != NULL || row->covered_by == NULL)
            continue;
        const op_row *cover = row_of(row->covered_by);
        bool found = false;
        for (int round = 0; !found && round < (cover->rounds ? cover->rounds : 3); round++) {
            op_case c;
            trial t;
            open_case(cover, CASE_SMALL, round, fr_test_seed(), &c);
            found = trial_open(&c, FR_F64, true, &t) == FR_OK && program_uses(t.p, row->op);
            trial_close(&t);
            case_release(&c);
        }
        if (!found) {
            fprintf(stderr, "%s does not appear in any gradient of %s\n", row->op, row->covered_by);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* ---- refusals ---- */

/* A good case with one operand's type changed. */
static void apply_spoilt(const op_case *c, const spoil *s, trial *t)
{
    op_case spoilt = *c;
    operand *o = &spoilt.inputs[s->operand];
    if (s->kind == SPOIL_RANK)
        o->shape[o->rank++] = 1;
    else if (s->kind == SPOIL_SIZE)
        o->shape[s->dim]++;
    else
        o->kind =
            o->kind == OPERAND_FLOAT || o->kind == OPERAND_STATE ? OPERAND_I32 : OPERAND_FLOAT;
    *t = (trial){.dtype = FR_F32, .p = fr_program_create()};
    t->n_outputs = fr_op_find(c->op)->n_outputs;
    build_operator(&spoilt, t);
}

static void check_spoil(const op_row *row, const op_case *c, const spoil *s)
{
    trial t;
    char operand_name[32];
    snprintf(operand_name, sizeof operand_name, "operand %d", s->operand);
    const char *says = s->says != NULL ? s->says : operand_name;
    apply_spoilt(c, s, &t);
    if (fr_program_check(t.p) == FR_OK)
        wrong(c, "operand %d spoilt (kind %d, dim %d) was accepted", s->operand, (int)s->kind,
              s->dim);
    else if (strstr(fr_error_message(), row->op) == NULL ||
             strstr(fr_error_message(), says) == NULL)
        wrong(c, "operand %d spoilt (kind %d): \"%s\" names not both %s and \"%s\"", s->operand,
              (int)s->kind, fr_error_message(), row->op, says);
    trial_close(&t);
}

static void infer_refuses_spoilt_operands_and_names_them(void **state)
{
    (void)state;
    n_wrong = 0;
    for (int i = 0; i < fr_n_operators(); i++) {
        const op_row *row = row_of(fr_operator_name(i));
        if (row == NULL || row->make == NULL)
            continue;
        for (int k = 0; k < 8 && row->spoils[k].kind != SPOIL_END; k++) {
            bool tried = false;
            for (int round = 0; round < (row->rounds ? row->rounds : 3); round++) {
                op_case c;
                const spoil *s = &row->spoils[k];
                open_case(row, CASE_SMALL, round, fr_test_seed(), &c);
                const bool fits = (s->only == 0 || s->only - 1 == round) &&
                                  s->operand < c.n_inputs &&
                                  c.inputs[s->operand].kind != OPERAND_LEFT_OUT &&
                                  (s->kind != SPOIL_SIZE || s->dim < c.inputs[s->operand].rank);
                if (fits)
                    check_spoil(row, &c, s);
                tried = tried || fits;
                case_release(&c);
            }
            if (!tried) {
                fprintf(stderr, "%s: no case has operand %d of spoil %d\n", row->op,
                        row->spoils[k].operand, k);
                n_wrong++;
            }
        }
    }
    assert_int_equal(n_wrong, 0);
}

/* ---- tensor algebra ---- */

/* The case's operands as f64 tensors I0, I1, ...; released by the caller. */
static fr_status case_tensors(const op_case *c, fr_tensor *tensors)
{
    for (int i = 0; i < c->n_inputs; i++) {
        const operand *o = &c->inputs[i];
        if (o->kind == OPERAND_LEFT_OUT)
            continue;
        FR_RETURN_IF_ERROR(fr_tensor_create(FR_F64, o->rank, o->shape, &tensors[i]));
        for (int64_t k = 0; k < o->count; k++)
            ((double *)tensors[i].data)[k] = o->floats ? o->floats[k] : (double)o->integers[k];
    }
    return FR_OK;
}

static int n_expressions; /* of the row at hand */

/* The text of the case's expression, evaluated, against output 0 of the f64 run. */
static fr_status compare_expression(const op_case *c, const trial *t, const fr_tensor *tensors)
{
    static const char *const names[CASE_OPERANDS] = {"I0", "I1", "I2", "I3",
                                                     "I4", "I5", "I6", "I7"};
    const fr_op *op = fr_op_find(c->op);
    const fr_tensor *pointers[CASE_OPERANDS];
    char text[4096];
    fr_value inputs[CASE_OPERANDS];
    fr_tensor out, value = {0};
    fr_expr expr = {0};
    fr_attribute attributes[CASE_ATTRIBUTES];
    memcpy(attributes, c->attributes, sizeof attributes);
    for (int i = 0; i < c->n_inputs; i++) {
        pointers[i] = &tensors[i];
        inputs[i] = c->inputs[i].kind == OPERAND_LEFT_OUT ? FR_NO_VALUE : i;
    }
    const fr_node node = {.op = op,
                          .n_inputs = c->n_inputs,
                          .inputs = inputs,
                          .n_outputs = op->n_outputs,
                          .n_attributes = c->n_attributes,
                          .attributes = attributes};
    FR_RETURN_IF_ERROR(fr_executor_shape(t->e, t->outputs[0], &out));
    fr_status status = op->expression(&node, tensors, &out, text, sizeof text);
    if (status == FR_ENOTSUP)
        return FR_OK;
    FR_TRY(status);
    FR_TRY(fr_wrap(fr_expr_parse(text, &expr), "%s", text));
    FR_TRY(fr_wrap(fr_expr_evaluate(&expr, names, pointers, c->n_inputs, &value), "%s", text));
    n_expressions++;
    const double *result = fr_executor_data(t->e, t->outputs[0]);
    if (fr_tensor_count(&value) != fr_tensor_count(&out))
        wrong(c, "%s: %" PRId64 " values and not %" PRId64, text, fr_tensor_count(&value),
              fr_tensor_count(&out));
    for (int64_t i = 0; i < fr_tensor_count(&out) && n_wrong == 0; i++)
        if (!(fabs(((double *)value.data)[i] - result[i]) <= 1e-9 * (1 + fabs(result[i]))))
            wrong(c, "%s: value %" PRId64 " is %.12g, the kernel's %.12g", text, i,
                  ((double *)value.data)[i], result[i]);
done:
    fr_tensor_release(&value);
    fr_expr_release(&expr);
    return status;
}

static fr_status check_expression(op_case *c)
{
    trial t = {0};
    fr_tensor tensors[CASE_OPERANDS] = {0};
    if (fr_op_find(c->op)->expression == NULL)
        return FR_OK;
    fr_status status = trial_open(c, FR_F64, false, &t);
    if (status == FR_OK)
        status = trial_run(c, &t);
    if (status == FR_OK)
        status = case_tensors(c, tensors);
    if (status == FR_OK)
        status = compare_expression(c, &t, tensors);
    for (int i = 0; i < CASE_OPERANDS; i++)
        fr_tensor_release(&tensors[i]);
    trial_close(&t);
    return status;
}

static void expressions_say_what_kernels_compute(void **state)
{
    (void)state;
    n_expressions = 0;
    for_each_case(CASE_ONE, CASE_SMALL, check_expression);
    printf("%d cases of tensor algebra\n", n_expressions);
    assert_true(n_expressions > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operator_has_a_row),
    cmocka_unit_test(gradients_are_finite_differences),
    cmocka_unit_test(f32_agrees_with_f64),
    cmocka_unit_test(threads_do_not_change_bits),
    cmocka_unit_test(gradient_operators_appear_where_rows_say),
    cmocka_unit_test(infer_refuses_spoilt_operands_and_names_them),
    cmocka_unit_test(expressions_say_what_kernels_compute),
};

FR_TEST_MAIN(tests)
