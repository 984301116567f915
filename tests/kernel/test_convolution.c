/*
 * test_convolution.c: f64 forward against nested loops, f64 gradients by the adjoint identity
 * <dy, conv(x, w)> = <dx, x> = <dw, w>, f32 against f64; one and two threads bit for bit; failing
 * allocations.
 */
#include "base/alloc.h"
#include "kernel/convolution.h"
#include "kernel_test.h"

typedef struct data {
    fr_convolution c;
    int64_t out[FR_SPATIAL_MOST], n_x, n_w, n_y;
    float *x, *w, *bias, *dy;
    double *x64, *w64, *bias64, *dy64, *y, *dx, *dw, *dbias; /* inputs in double, results */
} data;

static data make(fr_convolution c)
{
    data d = {
        .c = c, .n_x = c.n * c.c, .n_w = c.filters * (c.c / c.groups), .n_y = c.n * c.filters};
    assert_int_equal(fr_convolution_out(&c, d.out), FR_OK);
    for (int i = 0; i < c.rank; i++) {
        d.n_x *= c.in[i];
        d.n_w *= c.kernel[i];
        d.n_y *= d.out[i];
    }
    d.x = test_floats(d.n_x);
    d.w = test_floats(d.n_w);
    d.bias = test_floats(c.filters);
    d.dy = test_floats(d.n_y);
    d.x64 = test_doubles_of(d.x, d.n_x);
    d.w64 = test_doubles_of(d.w, d.n_w);
    d.bias64 = test_doubles_of(d.bias, c.filters);
    d.dy64 = test_doubles_of(d.dy, d.n_y);
    d.y = test_block(d.n_y, sizeof *d.y);
    d.dx = test_block(d.n_x, sizeof *d.dx);
    d.dw = test_block(d.n_w, sizeof *d.dw);
    d.dbias = test_block(c.filters, sizeof *d.dbias);
    assert_int_equal(fr_convolution_forward_f64(&c, d.x64, d.w64, d.bias64, d.y), FR_OK);
    assert_int_equal(fr_convolution_backward_data_f64(&c, d.dy64, d.w64, d.dx), FR_OK);
    assert_int_equal(fr_convolution_backward_weights_f64(&c, d.x64, d.dy64, d.dw, d.dbias), FR_OK);
    return d;
}

static void drop(data *d)
{
    float *floats[] = {d->x, d->w, d->bias, d->dy};
    double *doubles[] = {d->x64, d->w64, d->bias64, d->dy64, d->y, d->dx, d->dw, d->dbias};
    for (int i = 0; i < 4; i++)
        free(floats[i]);
    for (int i = 0; i < 8; i++)
        free(doubles[i]);
}

static fr_convolution image(int64_t n, int64_t c, int64_t filters, int64_t groups, int64_t size,
                            int64_t kernel, int64_t stride, int64_t dilation, int64_t pad)
{
    return (fr_convolution){.rank = 2,
                            .n = n,
                            .c = c,
                            .filters = filters,
                            .groups = groups,
                            .in = {size, size + 1},
                            .kernel = {kernel, kernel},
                            .stride = {stride, stride},
                            .dilation = {dilation, dilation},
                            .pad_begin = {pad, pad},
                            .pad_end = {pad, pad}};
}

/* A shape of 1 to 3 dimensions that fits. */
static fr_convolution random_shape(void)
{
    fr_convolution c = {.rank = 1 + (int)test_below(3), .n = 1 + test_below(3)};
    c.groups = test_below(3) == 0 ? 1 + test_below(4) : 1;
    c.c = c.groups * (1 + test_below(9));
    c.filters = c.groups * (1 + test_below(20));
    for (int d = 0; d < c.rank; d++) {
        c.kernel[d] = 1 + test_below(3);
        c.stride[d] = 1 + test_below(2);
        c.dilation[d] = 1 + test_below(2);
        c.pad_begin[d] = test_below(3);
        c.pad_end[d] = test_below(3);
        c.in[d] = (c.kernel[d] - 1) * c.dilation[d] + 1 + test_below(7);
    }
    return c;
}

/* ---- f64 ---- */

static void forward_in_double_equals_nested_loops(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        fr_convolution c = image(2, 4, 6, 1 + round % 2, 6 + test_below(3), 1 + test_below(3),
                                 1 + test_below(2), 1 + test_below(2), test_below(3));
        data d = make(c);
        for (int64_t n = 0; n < c.n; n++)
            for (int64_t f = 0; f < c.filters; f++)
                for (int64_t h = 0; h < d.out[0]; h++)
                    for (int64_t v = 0; v < d.out[1]; v++) {
                        const int64_t per = c.c / c.groups,
                                      first = f / (c.filters / c.groups) * per;
                        double total = d.bias64[f];
                        for (int64_t k = 0; k < per; k++)
                            for (int64_t r = 0; r < c.kernel[0]; r++)
                                for (int64_t s = 0; s < c.kernel[1]; s++) {
                                    const int64_t i =
                                        h * c.stride[0] + r * c.dilation[0] - c.pad_begin[0];
                                    const int64_t j =
                                        v * c.stride[1] + s * c.dilation[1] - c.pad_begin[1];
                                    if (i >= 0 && i < c.in[0] && j >= 0 && j < c.in[1])
                                        total +=
                                            d.x64[((n * c.c + first + k) * c.in[0] + i) * c.in[1] +
                                                  j] *
                                            d.w64[((f * per + k) * c.kernel[0] + r) * c.kernel[1] +
                                                  s];
                                }
                        const double y = d.y[((n * c.filters + f) * d.out[0] + h) * d.out[1] + v];
                        assert_true(fabs(y - total) < 1e-13);
                    }
        drop(&d);
    }
}

static double inner(const double *a, const double *b, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += a[i] * b[i];
    return total;
}

static void gradients_in_double_are_adjoint_to_forward(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        data d = make(random_shape());
        double *zero = calloc((size_t)d.c.filters + 1, sizeof *zero);
        assert_int_equal(fr_convolution_forward_f64(&d.c, d.x64, d.w64, zero, d.y), FR_OK);
        const double value = inner(d.dy64, d.y, d.n_y), bound = 1e-12 * (double)(d.n_y + 100);
        assert_true(fabs(inner(d.dx, d.x64, d.n_x) - value) < bound);
        assert_true(fabs(inner(d.dw, d.w64, d.n_w) - value) < bound);
        free(zero);
        drop(&d);
    }
}

/* ---- f32 ---- */

typedef struct results {
    float *y, *dx, *dw, *dbias;
} results;

static results run_f32(const data *d, void **slots)
{
    results r = {test_floats(d->n_y), test_floats(d->n_x), test_floats(d->n_w),
                 test_floats(d->c.filters)};
    assert_int_equal(fr_convolution_forward_f32(&d->c, d->x, d->w, d->bias, r.y, &slots[0]), FR_OK);
    assert_int_equal(fr_convolution_backward_data_f32(&d->c, d->dy, d->w, r.dx, &slots[1]), FR_OK);
    assert_int_equal(
        fr_convolution_backward_weights_f32(&d->c, d->x, d->dy, r.dw, r.dbias, &slots[2]), FR_OK);
    return r;
}

static void drop_results(results *r)
{
    free(r->y);
    free(r->dx);
    free(r->dw);
    free(r->dbias);
}

static void release(void **slots)
{
    for (int i = 0; i < 3; i++) {
        fr_convolution_release(slots[i]);
        slots[i] = NULL;
    }
}

static bool same(const results *a, const results *b, const data *d)
{
    return memcmp(a->y, b->y, (size_t)d->n_y * sizeof(float)) == 0 &&
           memcmp(a->dx, b->dx, (size_t)d->n_x * sizeof(float)) == 0 &&
           memcmp(a->dw, b->dw, (size_t)d->n_w * sizeof(float)) == 0 &&
           memcmp(a->dbias, b->dbias, (size_t)d->c.filters * sizeof(float)) == 0;
}

static void check_f32(fr_convolution c)
{
    char what[200];
    (void)snprintf(
        what, sizeof what,
        "rank %d n=%d c=%d f=%d g=%d in=%d,%d kernel=%d,%d stride=%d dilation=%d pad=%d,%d", c.rank,
        (int)c.n, (int)c.c, (int)c.filters, (int)c.groups, (int)c.in[0], (int)c.in[1],
        (int)c.kernel[0], (int)c.kernel[1], (int)c.stride[0], (int)c.dilation[0],
        (int)c.pad_begin[0], (int)c.pad_end[0]);
    data d = make(c);
    void *slots[3] = {NULL, NULL, NULL};
    fr_set_threads(1);
    results one = run_f32(&d, slots);
    test_close_f32(one.y, d.y, d.n_y, d.n_w / c.filters, what);
    test_close_f32(one.dx, d.dx, d.n_x, d.n_w / (d.n_x / c.n) + d.n_w, what);
    test_close_f32(one.dw, d.dw, d.n_w, d.n_y / c.filters, what);
    test_close_f32(one.dbias, d.dbias, c.filters, d.n_y / c.filters, what);
    results again = run_f32(&d, slots);
    assert_true(same(&one, &again, &d));
    for (int threads = 2; threads <= 3; threads++) {
        fr_set_threads(threads);
        results more = run_f32(&d, slots);
        if (!same(&one, &more, &d))
            fail_msg("%s: %d threads give other bits", what, threads);
        drop_results(&more);
    }
    release(slots);
    drop_results(&one);
    drop_results(&again);
    drop(&d);
}

static void random_shapes_in_float_equal_double(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++)
        check_f32(random_shape());
}

static void shapes_of_real_networks_in_float_equal_double(void **state)
{
    (void)state;
    check_f32(image(2, 3, 16, 1, 20, 7, 2, 1, 3));
    check_f32(image(1, 64, 64, 1, 9, 3, 1, 1, 1));
    check_f32(image(3, 32, 128, 1, 7, 1, 1, 1, 0));
    check_f32(image(2, 32, 32, 32, 11, 3, 1, 1, 1));
    check_f32(image(2, 64, 32, 4, 8, 3, 2, 1, 1));
    check_f32(image(5, 17, 48, 1, 8, 3, 1, 2, 2));
}

static void one_slot_follows_changes_of_shape(void **state)
{
    (void)state;
    void *slots[3] = {NULL, NULL, NULL};
    fr_set_threads(2);
    for (int round = 0; round < 20; round++) {
        data d = make(random_shape());
        results r = run_f32(&d, slots);
        test_close_f32(r.y, d.y, d.n_y, d.n_w, "changing shapes");
        drop_results(&r);
        drop(&d);
    }
    release(slots);
}

static void empty_inputs_give_bias_and_zero(void **state)
{
    (void)state;
    fr_convolution c = image(2, 0, 3, 1, 4, 1, 1, 1, 0);
    float bias[3] = {1, 2, 3}, y[2 * 3 * 20], dw[1] = {7}, dbias[3], dx[1];
    void *slot = NULL;
    assert_int_equal(fr_convolution_forward_f32(&c, NULL, NULL, bias, y, &slot), FR_OK);
    for (int i = 0; i < 120; i++)
        assert_true(y[i] == bias[i / 20 % 3]);
    assert_int_equal(fr_convolution_backward_weights_f32(&c, NULL, y, dw, dbias, &slot), FR_OK);
    assert_true(dbias[1] == 80.0F);
    c.n = 0;
    c.c = 1;
    assert_int_equal(fr_convolution_backward_data_f32(&c, NULL, NULL, dx, &slot), FR_OK);
    float weights[3] = {7, 7, 7};
    assert_int_equal(fr_convolution_backward_weights_f32(&c, NULL, NULL, weights, dbias, &slot),
                     FR_OK);
    assert_true(weights[0] == 0.0F && dbias[0] == 0.0F);
    assert_null(slot);
}

static void shapes_without_meaning_are_refused(void **state)
{
    (void)state;
    int64_t out[FR_SPATIAL_MOST];
    fr_convolution c = image(1, 1, 1, 1, 4, 6, 1, 1, 0);
    assert_int_equal(fr_convolution_out(&c, out), FR_ESHAPE);
    assert_non_null(strstr(fr_error_message(), "6 cells does not fit 4"));
    c = image(1, 3, 4, 2, 4, 1, 1, 1, 0);
    assert_int_equal(fr_convolution_out(&c, out), FR_ESHAPE);
    c = image(1, 1, 1, 1, 4, 1, 0, 1, 0);
    assert_int_equal(fr_convolution_out(&c, out), FR_ESHAPE);
    c.rank = 4;
    assert_int_equal(fr_convolution_out(&c, out), FR_ESHAPE);
    c = image(1, 1, 1, 1, 4, 1, 1, 1, INT64_MAX);
    assert_int_equal(fr_convolution_out(&c, out), FR_ESHAPE);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    data d = make(image(2, 32, 32, 1, 8, 3, 1, 1, 1));
    float *dw = test_floats(d.n_w), *y = test_floats(d.n_y);
    const int64_t before = fr_live_blocks();
    for (int which = 0; which < 2; which++) {
        fr_status status = FR_ENOMEM;
        for (int64_t n = 0; status != FR_OK; n++) {
            void *slot = NULL;
            fr_alloc_fail_at(n);
            status = which == 0
                         ? fr_convolution_forward_f32(&d.c, d.x, d.w, NULL, y, &slot)
                         : fr_convolution_backward_weights_f32(&d.c, d.x, d.dy, dw, NULL, &slot);
            fr_alloc_fail_at(-1);
            assert_true(status == FR_OK || (status == FR_ENOMEM && slot == NULL));
            assert_true(n < 200);
            fr_convolution_release(slot);
            assert_int_equal(fr_live_blocks(), before);
        }
    }
    free(dw);
    free(y);
    drop(&d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forward_in_double_equals_nested_loops),
    cmocka_unit_test(gradients_in_double_are_adjoint_to_forward),
    cmocka_unit_test(random_shapes_in_float_equal_double),
    cmocka_unit_test(shapes_of_real_networks_in_float_equal_double),
    cmocka_unit_test(one_slot_follows_changes_of_shape),
    cmocka_unit_test(empty_inputs_give_bias_and_zero),
    cmocka_unit_test(shapes_without_meaning_are_refused),
    cmocka_unit_test(failing_allocations_leave_nothing_behind),
};
FR_TEST_MAIN(tests)
