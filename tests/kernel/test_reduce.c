/*
 * test_reduce.c: reductions over any set of dims, and transposes, against index arithmetic in
 * double; the same bits for any number of threads and instruction set.
 */
#include "test_main.h"

#include <math.h>

#include "base/parallel.h"
#include "base/random.h"
#include "kernel/cpu.h"
#include "kernel/reduce.h"
#include "kernel/transpose.h"

typedef struct reduction_case {
    int rank;
    int64_t shape[4];
    bool reduced[4];
} reduction_case;

static fr_tensor tensor_of(fr_dtype dtype, int rank, const int64_t *shape)
{
    fr_tensor made = {0};
    assert_int_equal(fr_tensor_create(dtype, rank, shape, &made), FR_OK);
    return made;
}

static void fill(fr_tensor *x, uint64_t stream)
{
    fr_random random = fr_random_start(fr_test_seed(), stream);
    for (int64_t i = 0; i < fr_tensor_count(x); i++)
        ((float *)x->data)[i] = (float)fr_random_normal(&random);
}

/* Place among the kept dims of element i of x. */
static int64_t kept_place(const reduction_case *c, int64_t i)
{
    int64_t place = 0, step = 1;
    for (int d = c->rank - 1; d >= 0; d--) {
        if (!c->reduced[d]) {
            place += i % c->shape[d] * step;
            step *= c->shape[d];
        }
        i /= c->shape[d];
    }
    return place;
}

static int64_t kept_count(const reduction_case *c)
{
    int64_t n = 1;
    for (int d = 0; d < c->rank; d++)
        n *= c->reduced[d] ? 1 : c->shape[d];
    return n;
}

static void run_case(const reduction_case *c, fr_reduction reduction, const fr_tensor *x,
                     float *out)
{
    const fr_reduce reduce = fr_reduce_of(x, reduction, c->reduced);
    const size_t bytes = fr_reduce_workspace(&reduce);
    char *workspace = malloc(bytes + 1);
    fr_reduce_run(&reduce, x->data, workspace, out);
    free(workspace);
}

static void check_case(const reduction_case *c)
{
    fr_tensor x = tensor_of(FR_F32, c->rank, c->shape);
    fill(&x, 1);
    const int64_t count = fr_tensor_count(&x), kept = kept_count(c);
    double *sum = calloc((size_t)kept + 1, sizeof *sum),
           *size = calloc((size_t)kept + 1, sizeof *size);
    float *largest = malloc(((size_t)kept + 1) * sizeof *largest);
    float *out = malloc(((size_t)kept + 1) * sizeof *out),
          *again = malloc(((size_t)kept + 1) * sizeof *again);
    for (int64_t i = 0; i < kept; i++)
        largest[i] = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        const float value = ((float *)x.data)[i];
        const int64_t at = kept_place(c, i);
        sum[at] += (double)value;
        size[at] += fabs((double)value);
        largest[at] = value > largest[at] ? value : largest[at];
    }
    run_case(c, FR_SUM, &x, out);
    for (int64_t i = 0; i < kept; i++)
        assert_true(fabs((double)out[i] - sum[i]) <= 1e-6 * (1 + size[i]));
    run_case(c, FR_MEAN, &x, out);
    const double per = kept == 0 || count == 0 ? 1 : (double)count / (double)kept;
    for (int64_t i = 0; i < kept; i++)
        assert_true(fabs((double)out[i] - sum[i] / per) <= 1e-6 * (1 + size[i]));
    run_case(c, FR_MAX, &x, out);
    assert_memory_equal(out, largest, (size_t)kept * sizeof *out);

    const int threads = fr_threads();
    const fr_isa isa = fr_cpu_isa();
    fr_set_threads(1);
    (void)fr_cpu_limit_isa(FR_ISA_PORTABLE);
    run_case(c, FR_SUM, &x, out);
    fr_set_threads(3);
    (void)fr_cpu_limit_isa(isa);
    run_case(c, FR_SUM, &x, again);
    fr_set_threads(threads);
    assert_memory_equal(out, again, (size_t)kept * sizeof *out);
    free(sum);
    free(size);
    free(largest);
    free(out);
    free(again);
    fr_tensor_release(&x);
}

static void random_reductions_are_what_index_arithmetic_gives(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    for (int round = 0; round < 400; round++) {
        reduction_case c = {.rank = (int)fr_random_below(&random, 5)};
        for (int d = 0; d < c.rank; d++) {
            c.shape[d] = (int64_t)fr_random_below(&random, 12);
            c.reduced[d] = fr_random_below(&random, 2) == 0;
        }
        check_case(&c);
    }
}

static void long_reductions_are_cut_and_joined(void **state)
{
    (void)state;
    static const reduction_case cases[] = {
        {1, {300001}, {true}},
        {2, {3, 100003}, {false, true}},
        {2, {50001, 7}, {true, false}},
        {2, {1021, 1030}, {true, false}},
        {3, {2, 20011, 5}, {false, true, false}},
        {3, {701, 3, 503}, {true, false, true}},
        {4, {40, 3, 50, 33}, {true, false, true, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
}

static void a_maximum_shows_nan(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 40};
    fr_tensor x = tensor_of(FR_F32, 2, shape);
    ((float *)x.data)[57] = NAN;
    float out[40];
    run_case(&(reduction_case){2, {2, 40}, {false, true}}, FR_MAX, &x, out);
    assert_true(out[0] == 0 && isnan(out[1]));
    run_case(&(reduction_case){2, {2, 40}, {true, false}}, FR_MAX, &x, out);
    for (int i = 0; i < 40; i++)
        assert_true(i == 17 ? isnan(out[i]) : out[i] == 0);
    fr_tensor_release(&x);
}

/* ---- transposes ---- */

static void check_transpose(fr_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *permutation)
{
    fr_tensor x = tensor_of(dtype, rank, shape);
    const size_t bytes = fr_dtype_bytes(dtype);
    const int64_t count = fr_tensor_count(&x);
    for (size_t i = 0; i < (size_t)count * bytes; i++)
        ((unsigned char *)x.data)[i] = (unsigned char)(i * 31 + i / 255);
    unsigned char *out = malloc((size_t)count * bytes + 1);
    fr_transpose_run(&x, permutation, out);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, from = 0;
        for (int d = rank - 1; d >= 0; d--) {
            from += rest % shape[permutation[d]] * x.stride[permutation[d]];
            rest /= shape[permutation[d]];
        }
        assert_memory_equal(out + (size_t)i * bytes, (unsigned char *)x.data + (size_t)from * bytes,
                            bytes);
    }
    free(out);
    fr_tensor_release(&x);
}

static void transposes_are_what_index_arithmetic_gives(void **state)
{
    (void)state;
    static const fr_dtype dtypes[] = {FR_F32, FR_F64, FR_BF16, FR_U8};
    fr_random random = fr_random_start(fr_test_seed(), 3);
    for (int round = 0; round < 400; round++) {
        int64_t shape[5], permutation[5];
        const int rank = (int)fr_random_below(&random, 6);
        for (int d = 0; d < rank; d++) {
            shape[d] = (int64_t)fr_random_below(&random, round % 10 == 0 ? 3 : 9);
            permutation[d] = d;
        }
        fr_random_shuffle(&random, permutation, rank);
        check_transpose(dtypes[round % 4], rank, shape, permutation);
    }
    check_transpose(FR_F32, 2, (int64_t[]){1025, 333}, (int64_t[]){1, 0});
    check_transpose(FR_F32, 4, (int64_t[]){3, 65, 4, 33}, (int64_t[]){0, 2, 1, 3});
    check_transpose(FR_F64, 3, (int64_t[]){33, 64, 31}, (int64_t[]){2, 0, 1});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_reductions_are_what_index_arithmetic_gives),
    cmocka_unit_test(long_reductions_are_cut_and_joined),
    cmocka_unit_test(a_maximum_shows_nan),
    cmocka_unit_test(transposes_are_what_index_arithmetic_gives),
};

FR_TEST_MAIN(tests)
