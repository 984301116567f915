/*
 * test_program.c: building: values, attributes, the sticky first mistake and its sentences.
 */
#include "test_main.h"

#include <frugal/program.h>

#include "base/alloc.h"
#include "program/op.h"
#include "two_layer.h"

/* A program that holds what the mistakes below need. */
typedef struct scene {
    fr_program *p;
    fr_dim n;
    fr_value x, w, ids, scalar;
} scene;

static scene make_scene(void)
{
    scene s = {.p = fr_program_create()};
    s.n = fr_symbol(s.p, "n");
    s.x = fr_input(s.p, "x", FR_F32, FR_SHAPE(s.n, fr_constant(4)));
    s.w = fr_parameter(s.p, "w", FR_F32, FR_SHAPE(fr_constant(3), fr_constant(2)), fr_zeros());
    s.ids = fr_input(s.p, "ids", FR_I32, FR_SHAPE(s.n));
    s.scalar = fr_literal_scalar(s.p, FR_F64, 2);
    return s;
}

/* ---- mistakes, one a function ---- */

static void inner_sizes(scene *s) { (void)fr_matmul(s->p, s->x, s->w); }
static void no_broadcast(scene *s) { (void)fr_add(s->p, s->x, s->w); }
static void dtypes_differ(scene *s) { (void)fr_mul(s->p, s->x, s->scalar); }
static void integers(scene *s) { (void)fr_relu(s->p, s->ids); }
static void unknown_operator(scene *s) { (void)fr_apply_one(s->p, "MatMull", &s->x, 1, NULL, 0); }
static void unknown_attribute(scene *s)
{
    (void)fr_apply_one(s->p, "Elu", &s->x, 1, &FR_FLOAT("alfa", 1), 1);
}
static void too_few(scene *s) { (void)fr_apply_one(s->p, "Add", &s->x, 1, NULL, 0); }
static void missing(scene *s) { (void)fr_add(s->p, s->x, FR_NO_VALUE); }
static void no_such_value(scene *s) { (void)fr_add(s->p, s->x, 99); }
static void name_twice(scene *s) { (void)fr_input(s->p, "w", FR_F32, FR_SCALAR); }
static void no_name(scene *s) { (void)fr_input(s->p, "", FR_F32, FR_SCALAR); }
static void negative_dim(scene *s) { (void)fr_input(s->p, "y", FR_F32, FR_SHAPE(fr_constant(-2))); }
static void symbolic_parameter(scene *s)
{
    (void)fr_parameter(s->p, "v", FR_F32, FR_SHAPE(s->n), fr_zeros());
}
static void random_integers(scene *s)
{
    (void)fr_parameter(s->p, "v", FR_I32, FR_SCALAR, fr_glorot());
}
static void foreign_symbol(scene *s)
{
    (void)fr_input(s->p, "y", FR_F32, FR_SHAPE(((fr_dim){0, 77})));
}
static void bad_axis(scene *s) { (void)fr_reduce_sum(s->p, s->x, (int64_t[]){2}, 1, false); }
static void axis_twice(scene *s) { (void)fr_reduce_sum(s->p, s->x, (int64_t[]){0, -2}, 2, false); }
static void wrong_count(scene *s) { (void)fr_reshape(s->p, s->w, FR_SHAPE(fr_constant(5))); }
static void bad_permutation(scene *s) { (void)fr_transpose(s->p, s->x, (int64_t[]){0, 0}, 2); }
static void concat_columns(scene *s) { (void)fr_concat(s->p, (fr_value[]){s->x, s->w}, 2, 0); }
static void slice_beyond(scene *s)
{
    (void)fr_slice(s->p, s->x, 1, fr_constant(1), fr_constant(5));
}
static void slice_backwards(scene *s)
{
    (void)fr_slice(s->p, s->x, 0, fr_constant(3), fr_constant(2));
}
static void gather_by_floats(scene *s) { (void)fr_gather(s->p, s->x, s->x, 0); }
static void merge_by_i64(scene *s)
{
    const fr_value position = fr_input(s->p, "position", FR_I64, FR_SHAPE(s->n));
    (void)fr_merge_rows(s->p, s->x, s->x, position);
}
static void loss_is_a_matrix(scene *s)
{
    fr_value g;
    (void)fr_gradient(s->p, s->x, &s->w, 1, &g);
}
static void gradient_of_integers(scene *s)
{
    fr_value g;
    const fr_value loss = fr_reduce_sum(s->p, s->x, NULL, 0, false);
    (void)fr_gradient(s->p, loss, &s->ids, 1, &g);
}
static void output_twice(scene *s)
{
    fr_output(s->p, "out", s->x);
    fr_output(s->p, "out", s->w);
}

typedef struct mistake {
    void (*make)(scene *s);
    fr_status status;
    const char *says[3];
} mistake;

static const mistake mistakes[] = {
    {inner_sizes, FR_ESHAPE, {"MatMul %4", "columns of operand 0 (4)", "rows of operand 1 (3)"}},
    {no_broadcast, FR_ESHAPE, {"Add %4", "nx4", "3x2"}},
    {dtypes_differ, FR_EDTYPE, {"Mul %4", "operand 0 is f32", "operand 1 is f64"}},
    {integers, FR_EDTYPE, {"Relu %4", "operand 0 is i32", "f32"}},
    {unknown_operator, FR_ENOENT, {"\"MatMull\"", "did you mean \"MatMul\"?"}},
    {unknown_attribute, FR_EINVAL, {"Elu %4", "\"alfa\"", "did you mean \"alpha\"?"}},
    {too_few, FR_EINVAL, {"Add %4", "1 operands", "2"}},
    {missing, FR_EINVAL, {"Add %4", "operand 1 is missing"}},
    {no_such_value, FR_EINVAL, {"Add %4", "operand 1 is value 99", "4 values"}},
    {name_twice, FR_EEXIST, {"input \"w\""}},
    {no_name, FR_EINVAL, {"input"}},
    {negative_dim, FR_ESHAPE, {"input \"y\"", "dim 0 is -2"}},
    {symbolic_parameter, FR_ESHAPE, {"parameter \"v\"", "dim 0 is n"}},
    {random_integers, FR_EDTYPE, {"parameter \"v\"", "i32"}},
    {foreign_symbol, FR_ESHAPE, {"input \"y\"", "symbol 77"}},
    {bad_axis, FR_ERANGE, {"ReduceSum %4", "axis 2", "rank 2"}},
    {axis_twice, FR_EINVAL, {"ReduceSum %4", "axis 0 is given twice"}},
    {wrong_count, FR_ESHAPE, {"Reshape %4", "3x2, 6 elements", "5"}},
    {bad_permutation, FR_EINVAL, {"Transpose %4", "0 twice"}},
    {concat_columns, FR_ESHAPE, {"Concat %4", "dim 1 of operand 0 is 4", "operand 1 2"}},
    {slice_beyond, FR_ERANGE, {"Slice %4", "[1, 5)", "axis of 4"}},
    {slice_backwards, FR_ERANGE, {"Slice %4", "[3, 2)"}},
    {gather_by_floats, FR_EDTYPE, {"Gather %4", "operand 1 is f32"}},
    {merge_by_i64, FR_EDTYPE, {"MergeRows %5", "position", "i64"}},
    {loss_is_a_matrix, FR_ESHAPE, {"gradient", "nx4", "not a scalar"}},
    {gradient_of_integers, FR_EDTYPE, {"gradient", "\"ids\"", "i32"}},
    {output_twice, FR_EEXIST, {"output \"out\""}},
};

static void a_mistake_is_told_in_one_sentence_with_both_facts(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        scene s = make_scene();
        mistakes[i].make(&s);
        const fr_status status = fr_program_check(s.p);
        bool right = status == mistakes[i].status;
        for (int k = 0; k < 3 && mistakes[i].says[k] != NULL; k++)
            right = right && strstr(fr_error_message(), mistakes[i].says[k]) != NULL;
        if (!right)
            printf("mistake %zu: %s: %s\n", i, fr_status_name(status), fr_error_message());
        n_wrong += !right;
        fr_program_free(s.p);
    }
    assert_int_equal(n_wrong, 0);
}

static void the_first_mistake_is_kept_and_later_calls_do_nothing(void **state)
{
    (void)state;
    scene s = make_scene();
    inner_sizes(&s);
    char first[256];
    assert_int_equal(fr_program_check(s.p), FR_ESHAPE);
    (void)snprintf(first, sizeof first, "%s", fr_error_message());
    assert_int_equal(fr_relu(s.p, s.x), FR_NO_VALUE);
    assert_int_equal(fr_input(s.p, "z", FR_F32, FR_SCALAR), FR_NO_VALUE);
    assert_int_equal(fr_find(s.p, "z"), FR_NO_VALUE);
    no_broadcast(&s);
    fr_executor *e = (fr_executor *)&s;
    assert_int_equal(fr_executor_create(s.p, NULL, &e), FR_ESHAPE);
    assert_null(e);
    assert_string_equal(fr_error_message(), first);
    fr_program_free(s.p);
}

static void a_program_that_is_not_there_is_a_mistake_too(void **state)
{
    (void)state;
    fr_value grad;
    assert_int_equal(fr_program_check(NULL), FR_ENOMEM);
    assert_int_equal(fr_relu(NULL, 0), FR_NO_VALUE);
    assert_int_equal(fr_input(NULL, "x", FR_F32, FR_SCALAR), FR_NO_VALUE);
    assert_int_equal(fr_find(NULL, "x"), FR_NO_VALUE);
    assert_int_equal(fr_gradient(NULL, 0, NULL, 0, &grad), FR_ENOMEM);
    assert_int_equal(fr_n_parameters(NULL), 0);
    fr_output(NULL, "x", 0);
    fr_program_free(NULL);
}

static void values_are_found_by_name(void **state)
{
    (void)state;
    scene s = make_scene();
    const fr_value sum = fr_reduce_sum(s.p, s.x, NULL, 0, false);
    fr_output(s.p, "total", sum);
    assert_int_equal(fr_find(s.p, "x"), s.x);
    assert_int_equal(fr_find(s.p, "total"), sum);
    assert_int_equal(fr_find(s.p, "nothing"), FR_NO_VALUE);
    assert_string_equal(fr_value_name(s.p, sum), "total");
    assert_string_equal(fr_value_name(s.p, s.scalar), "");
    assert_int_equal(fr_n_parameters(s.p), 1);
    assert_int_equal(fr_parameter_at(s.p, 0), s.w);
    assert_int_equal(fr_parameter_at(s.p, 1), FR_NO_VALUE);
    assert_int_equal(fr_n_states(s.p), 0);
    assert_int_equal(fr_value_dtype(s.p, s.ids), FR_I32);
    assert_int_equal(fr_value_shape(s.p, s.x).rank, 2);
    fr_program_free(s.p);
}

static void attributes_are_copied(void **state)
{
    (void)state;
    scene s = make_scene();
    int64_t axes[] = {1};
    const fr_value sum = fr_reduce_sum(s.p, s.x, axes, 1, false);
    axes[0] = 0;
    fr_value grad;
    assert_int_equal(fr_gradient(s.p, fr_reduce_sum(s.p, sum, NULL, 0, false), &s.x, 1, &grad),
                     FR_OK);
    assert_true(fr_dim_equal(fr_value_shape(s.p, sum).dims[0], s.n));
    fr_program_free(s.p);
}

/* Builds the perceptron while the n-th allocation fails. */
static void a_failed_allocation_is_a_mistake_and_leaks_nothing(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    for (int64_t n = 0;; n++) {
        fr_alloc_fail_at(n);
        const two_layer m = make_two_layer(FR_F32);
        fr_alloc_fail_at(-1);
        const fr_status status = fr_program_check(m.p);
        fr_program_free(m.p);
        assert_int_equal(fr_live_blocks(), live);
        if (status == FR_OK) {
            printf("  %" PRId64 " allocations\n", n);
            break;
        }
        assert_int_equal(status, FR_ENOMEM);
    }
}

/* ---- text ---- */

static void a_program_prints_a_line_a_node(void **state)
{
    (void)state;
    static const char expected[] = "%x = input : f32 nx4\n%w = parameter : f32 3x2\n%ids = input : "
                                   "i32 n\n%3 = literal : f64 scalar\n"
                                   "%4 = Slice(%x) axis=1 bounds=0,3 : f32 nx3\n"
                                   "%5 = MatMul(%4, %w) transA=0 transB=0 : f32 nx2\n"
                                   "%6 = ReduceMean(%5) keepdims=0 axes=1 : f32 n\n"
                                   "%7 = Concat(%6, %6) axis=0 : f32 (2*n)\n"
                                   "%8 = LeakyRelu(%7) alpha=0.2 : f32 (2*n)\n"
                                   "output y = %8\n";
    scene s = make_scene();
    const fr_value part = fr_slice(s.p, s.x, 1, fr_constant(0), fr_constant(3));
    const fr_value mean = fr_reduce_mean(s.p, fr_matmul_transposed(s.p, part, false, s.w, false),
                                         (int64_t[]){1}, 1, false);
    fr_output(s.p, "y", fr_leaky_relu(s.p, fr_concat(s.p, (fr_value[]){mean, mean}, 2, 0), 0.2));
    assert_int_equal(fr_program_check(s.p), FR_OK);
    char text[2048] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");
    fr_program_print(s.p, stream);
    (void)fclose(stream);
    assert_string_equal(text, expected);
    fr_program_free(s.p);
}

static void operators_print_as_a_table(void **state)
{
    (void)state;
    static char text[65536];
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_int_equal(fr_operators_print(stream), FR_OK);
    (void)fclose(stream);
    for (int i = 0; i < fr_n_operators(); i++)
        assert_non_null(strstr(text, fr_operator_name(i)));
    assert_string_equal(fr_operator_name(-1), "");
    assert_string_equal(fr_operator_name(fr_n_operators()), "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_mistake_is_told_in_one_sentence_with_both_facts),
    cmocka_unit_test(the_first_mistake_is_kept_and_later_calls_do_nothing),
    cmocka_unit_test(a_program_that_is_not_there_is_a_mistake_too),
    cmocka_unit_test(values_are_found_by_name),
    cmocka_unit_test(attributes_are_copied),
    cmocka_unit_test(a_failed_allocation_is_a_mistake_and_leaks_nothing),
    cmocka_unit_test(a_program_prints_a_line_a_node),
    cmocka_unit_test(operators_print_as_a_table),
};

FR_TEST_MAIN(tests)
