/*
 * test_gemm.c: matrix products against three nested loops in double.
 */
#include "base/alloc.h"
#include "kernel/gemm.h"
#include "kernel_test.h"

typedef struct product {
    fr_gemm gemm;
    int64_t a_elements, b_elements, c_elements;
    float *a, *b, *c;
    double *reference;
} product;

static double a_at(const product *p, int64_t i, int64_t k)
{
    return (double)p->a[p->gemm.transpose_a ? k * p->gemm.lda + i : i * p->gemm.lda + k];
}

static double b_at(const product *p, int64_t k, int64_t j)
{
    return (double)p->b[p->gemm.transpose_b ? j * p->gemm.ldb + k : k * p->gemm.ldb + j];
}

static product make(fr_gemm shape, int64_t slack)
{
    product p = {.gemm = shape};
    fr_gemm *g = &p.gemm;
    g->lda = (g->transpose_a ? g->m : g->k) + slack;
    g->ldb = (g->transpose_b ? g->k : g->n) + slack;
    g->ldc = g->n + slack;
    p.a_elements = (g->transpose_a ? g->k : g->m) * g->lda;
    p.b_elements = (g->transpose_b ? g->n : g->k) * g->ldb;
    p.c_elements = g->m * g->ldc;
    g->a = p.a = test_floats(p.a_elements);
    g->b = p.b = test_floats(p.b_elements);
    p.c = test_floats(p.c_elements);
    p.reference = test_doubles_of(p.c, p.c_elements);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double total = 0;
            for (int64_t k = 0; k < g->k; k++)
                total += a_at(&p, i, k) * b_at(&p, k, j);
            double *c = &p.reference[i * g->ldc + j];
            *c = g->alpha * total + g->beta * *c;
        }
    return p;
}

static void drop(product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->reference);
}

static void run_f32(product *p, float *c)
{
    const size_t bytes = fr_gemm_workspace(p->gemm.m, p->gemm.n, p->gemm.k, sizeof(float));
    p->gemm.workspace = test_block((int64_t)bytes, 1);
    memcpy(c, p->c, (size_t)p->c_elements * sizeof *c);
    p->gemm.c = c;
    assert_int_equal(fr_gemm_f32(&p->gemm), FR_OK);
    free(p->gemm.workspace);
}

static void check(fr_gemm shape, int64_t slack)
{
    char what[128];
    (void)snprintf(what, sizeof what, "%d%d m=%lld n=%lld k=%lld", shape.transpose_a,
                   shape.transpose_b, (long long)shape.m, (long long)shape.n, (long long)shape.k);
    product p = make(shape, slack);
    float *one = test_block(p.c_elements, sizeof *one),
          *two = test_block(p.c_elements, sizeof *two);
    fr_set_threads(1);
    run_f32(&p, one);
    fr_set_threads(2);
    run_f32(&p, two);
    test_close_f32(one, p.reference, p.c_elements, shape.k, what);
    if (memcmp(one, two, (size_t)p.c_elements * sizeof *one) != 0)
        fail_msg("%s: one and two threads differ", what);
    double *a = test_doubles_of(p.a, p.a_elements), *b = test_doubles_of(p.b, p.b_elements);
    double *c = test_doubles_of(p.c, p.c_elements);
    fr_gemm wide = p.gemm;
    wide.a = a;
    wide.b = b;
    wide.c = c;
    wide.workspace = NULL;
    assert_int_equal(fr_gemm_f64(&wide), FR_OK);
    test_close_f64(c, p.reference, p.c_elements, shape.k, what);
    free(a);
    free(b);
    free(c);
    free(one);
    free(two);
    drop(&p);
}

static void check_all_transposes(int64_t m, int64_t n, int64_t k, double alpha, double beta)
{
    for (int t = 0; t < 4; t++)
        check((fr_gemm){.transpose_a = t & 1,
                        .transpose_b = t >> 1,
                        .m = m,
                        .n = n,
                        .k = k,
                        .alpha = alpha,
                        .beta = beta},
              t % 2 * 3);
}

static void products_of_degenerate_sizes_equal_the_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 27; i++)
        check_all_transposes(i % 3, i / 3 % 3, i / 9, 1.5, (double)(i % 2));
}

static void products_around_a_tile_equal_the_loops(void **state)
{
    (void)state;
    const int64_t sizes[][3] = {{63, 65, 64},   {64, 64, 64},   {513, 17, 130}, {512, 16, 200},
                                {130, 513, 33}, {1, 1100, 300}, {1100, 1, 300}, {700, 90, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_all_transposes(sizes[i][0], sizes[i][1], sizes[i][2], 1, i % 2 == 0 ? 0.0 : -0.5);
}

static void products_cut_along_k_equal_the_loops(void **state)
{
    (void)state;
    const int64_t lengths[] = {4095, 4096, 4097, 6143, 6145, 40001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_all_transposes(1 + test_below(20), 1 + test_below(40), lengths[i], 0.5,
                             i % 2 == 0 ? 0.0 : 1.0);
}

static void products_of_random_sizes_equal_the_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++)
        check_all_transposes(test_below(200), test_below(200), test_below(200), test_number(),
                             test_number());
}

static void a_beta_of_zero_clears_what_is_not_a_number(void **state)
{
    (void)state;
    float a[2] = {1, 2}, b[2] = {3, 4}, c[1] = {NAN};
    fr_gemm g = {
        .m = 1, .n = 1, .k = 2, .alpha = 1, .a = a, .lda = 2, .b = b, .ldb = 1, .c = c, .ldc = 1};
    assert_int_equal(fr_gemm_f32(&g), FR_OK);
    assert_true(c[0] == 11.0F);
    c[0] = NAN;
    g.k = 0;
    assert_int_equal(fr_gemm_f32(&g), FR_OK);
    assert_true(c[0] == 0.0F);
}

static void workspace_never_shrinks_as_a_size_grows(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        const int64_t m = test_below(100000), n = test_below(5000), k = test_below(500000);
        const size_t bytes = fr_gemm_workspace(m, n, k, 4);
        assert_true(fr_gemm_workspace(m + test_below(1000), n, k, 4) >= bytes);
        assert_true(fr_gemm_workspace(m, n + test_below(1000), k, 4) >= bytes);
        assert_true(fr_gemm_workspace(m, n, k + test_below(10000), 4) >= bytes);
    }
}

static void wrong_strides_and_missing_workspace_are_refused(void **state)
{
    (void)state;
    float x[64] = {0};
    fr_gemm g = {
        .m = 4, .n = 4, .k = 4, .alpha = 1, .a = x, .lda = 3, .b = x, .ldb = 4, .c = x, .ldc = 4};
    assert_int_equal(fr_gemm_f32(&g), FR_ESHAPE);
    assert_int_equal(fr_gemm_f64(&g), FR_ESHAPE);
    g.lda = 4;
    g.m = -1;
    assert_int_equal(fr_gemm_f32(&g), FR_ESHAPE);
    float *long_rows = test_floats(100000);
    fr_gemm chunked = {.m = 1,
                       .n = 1,
                       .k = 100000,
                       .alpha = 1,
                       .a = long_rows,
                       .lda = 100000,
                       .b = long_rows,
                       .ldb = 1,
                       .c = x,
                       .ldc = 1};
    assert_int_equal(fr_gemm_f32(&chunked), FR_EINVAL);
    free(long_rows);
}

static void products_leave_no_block_behind(void **state)
{
    (void)state;
    const int64_t before = fr_live_blocks(), count = fr_alloc_count();
    check_all_transposes(100, 100, 100, 1, 0);
    assert_int_equal(fr_live_blocks(), before);
    assert_int_equal(fr_alloc_count(), count);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(products_of_degenerate_sizes_equal_the_loops),
    cmocka_unit_test(products_around_a_tile_equal_the_loops),
    cmocka_unit_test(products_cut_along_k_equal_the_loops),
    cmocka_unit_test(products_of_random_sizes_equal_the_loops),
    cmocka_unit_test(a_beta_of_zero_clears_what_is_not_a_number),
    cmocka_unit_test(workspace_never_shrinks_as_a_size_grows),
    cmocka_unit_test(wrong_strides_and_missing_workspace_are_refused),
    cmocka_unit_test(products_leave_no_block_behind),
};
FR_TEST_MAIN(tests)
