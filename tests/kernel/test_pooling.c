/*
 * test_pooling.c: pooling against loops over all cells of all windows, gradients against moving
 * each output's share back; f32 and f64.
 */
#include "kernel/pooling.h"
#include "kernel_test.h"

static fr_pooling random_shape(void)
{
    fr_pooling p = {.rank = 1 + (int)test_below(3),
                    .n = 1 + test_below(2),
                    .c = 1 + test_below(4),
                    .ceil_mode = test_below(2),
                    .count_include_pad = test_below(2)};
    for (int d = 0; d < p.rank; d++) {
        p.kernel[d] = 1 + test_below(3);
        p.stride[d] = 1 + test_below(3);
        p.dilation[d] = 1 + test_below(2);
        p.pad_begin[d] = test_below(2);
        p.pad_end[d] = test_below(2);
        p.in[d] = (p.kernel[d] - 1) * p.dilation[d] + 1 + test_below(6);
    }
    return p;
}

typedef struct cells {
    int64_t n_in, n_out, out[FR_SPATIAL_MOST];
} cells;

static cells cells_of(const fr_pooling *p)
{
    cells c = {1, 1, {0}};
    assert_int_equal(fr_pooling_out(p, c.out), FR_OK);
    for (int d = 0; d < p->rank; d++) {
        c.n_in *= p->in[d];
        c.n_out *= c.out[d];
    }
    return c;
}

/* Whether window o covers input cell i: every coordinate, taken apart, fits. */
static bool covers(const fr_pooling *p, const cells *c, int64_t o, int64_t i)
{
    for (int d = p->rank - 1; d >= 0; d--) {
        const int64_t from = o % c->out[d] * p->stride[d] - p->pad_begin[d],
                      at = i % p->in[d] - from;
        if (at < 0 || at % p->dilation[d] != 0 || at / p->dilation[d] >= p->kernel[d])
            return false;
        o /= c->out[d];
        i /= p->in[d];
    }
    return true;
}

/* Cells of window o in the padded input, or in the input. */
static int64_t divisor(const fr_pooling *p, const cells *c, int64_t o)
{
    int64_t total = 1;
    for (int d = p->rank - 1; d >= 0; d--) {
        int64_t here = 0;
        for (int64_t r = 0; r < p->kernel[d]; r++) {
            const int64_t at = o % c->out[d] * p->stride[d] - p->pad_begin[d] + r * p->dilation[d];
            here += p->count_include_pad ? at < p->in[d] + p->pad_end[d] : at >= 0 && at < p->in[d];
        }
        total *= here;
        o /= c->out[d];
    }
    return total;
}

static void check(const fr_pooling *p)
{
    const cells c = cells_of(p);
    const int64_t planes = p->n * p->c, n_x = planes * c.n_in, n_y = planes * c.n_out;
    float *x = test_floats(n_x), *dy = test_floats(n_y), *y = test_floats(n_y),
          *dx = test_floats(n_x);
    float *average = test_floats(n_y), *average_dx = test_floats(n_x);
    double *x64 = test_doubles_of(x, n_x), *y64 = test_block(n_y, sizeof *y64);
    double *dy64 = test_doubles_of(dy, n_y), *dx64 = test_block(n_x, sizeof *dx64);
    int64_t *place = test_block(n_y, sizeof *place), *place64 = test_block(n_y, sizeof *place64);
    double *most = test_block(n_y, sizeof *most), *mean = test_block(n_y, sizeof *mean);
    double *most_dx = calloc((size_t)n_x, sizeof *most_dx),
           *mean_dx = calloc((size_t)n_x, sizeof *mean_dx);
    int64_t *expected = test_block(n_y, sizeof *expected);
    for (int64_t i = 0; i < n_y; i++) {
        const int64_t first = i / c.n_out * c.n_in, o = i % c.n_out;
        const double count = (double)divisor(p, &c, o);
        most[i] = -HUGE_VAL;
        expected[i] = -1;
        mean[i] = 0;
        for (int64_t j = 0; j < c.n_in; j++) {
            if (!covers(p, &c, o, j))
                continue;
            mean[i] += x64[first + j] / count;
            mean_dx[first + j] += dy64[i] / count;
            if (x64[first + j] > most[i]) {
                most[i] = x64[first + j];
                expected[i] = first + j;
            }
        }
        if (expected[i] >= 0)
            most_dx[expected[i]] += dy64[i];
    }
    for (int threads = 1; threads <= 2; threads++) {
        fr_set_threads(threads);
        assert_int_equal(fr_max_pool_run(p, FR_F32, x, y, place), FR_OK);
        assert_int_equal(fr_max_pool_gradient_run(p, FR_F32, dy, place, dx), FR_OK);
        assert_int_equal(fr_average_pool_run(p, FR_F32, x, average), FR_OK);
        assert_int_equal(fr_average_pool_gradient_run(p, FR_F32, dy, average_dx), FR_OK);
        for (int64_t i = 0; i < n_y; i++) {
            assert_int_equal(place[i], expected[i]);
            assert_true((double)y[i] == most[i]);
        }
        test_close_f32(dx, most_dx, n_x, 27, "gradient of max");
        test_close_f32(average, mean, n_y, 27, "average");
        test_close_f32(average_dx, mean_dx, n_x, 27, "gradient of average");
    }
    assert_int_equal(fr_max_pool_run(p, FR_F64, x64, y64, place64), FR_OK);
    assert_memory_equal(place64, expected, (size_t)n_y * sizeof *place64);
    assert_int_equal(fr_max_pool_gradient_run(p, FR_F64, dy64, place64, dx64), FR_OK);
    test_close_f64(dx64, most_dx, n_x, 27, "gradient of max, f64");
    assert_int_equal(fr_average_pool_run(p, FR_F64, x64, y64), FR_OK);
    test_close_f64(y64, mean, n_y, 27, "average, f64");
    assert_int_equal(fr_average_pool_gradient_run(p, FR_F64, dy64, dx64), FR_OK);
    test_close_f64(dx64, mean_dx, n_x, 27, "gradient of average, f64");
    void *blocks[] = {x,    dy,    y,       dx,   average, average_dx, x64,     y64,     dy64,
                      dx64, place, place64, most, mean,    most_dx,    mean_dx, expected};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void random_windows_equal_loops_over_all_cells(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        const fr_pooling p = random_shape();
        check(&p);
    }
}

static void ceil_mode_adds_a_last_window_that_begins_inside(void **state)
{
    (void)state;
    int64_t out[FR_SPATIAL_MOST];
    fr_pooling p = {
        .rank = 1, .n = 1, .c = 1, .in = {6}, .kernel = {3}, .stride = {2}, .dilation = {1}};
    assert_int_equal(fr_pooling_out(&p, out), FR_OK);
    assert_int_equal(out[0], 2);
    p.ceil_mode = true;
    assert_int_equal(fr_pooling_out(&p, out), FR_OK);
    assert_int_equal(out[0], 3);
    p.in[0] = 3;
    p.kernel[0] = 1;
    p.stride[0] = 4;
    assert_int_equal(fr_pooling_out(&p, out), FR_OK);
    assert_int_equal(out[0], 1);
}

static void windows_without_meaning_are_refused(void **state)
{
    (void)state;
    int64_t out[FR_SPATIAL_MOST];
    fr_pooling p = {
        .rank = 1, .n = 1, .c = 1, .in = {2}, .kernel = {3}, .stride = {1}, .dilation = {1}};
    float x[2] = {0}, y[2];
    assert_int_equal(fr_pooling_out(&p, out), FR_ESHAPE);
    p.kernel[0] = 1;
    assert_int_equal(fr_average_pool_run(&p, FR_I32, x, y), FR_EDTYPE);
    p.stride[0] = 0;
    assert_int_equal(fr_average_pool_run(&p, FR_F32, x, y), FR_ESHAPE);
    p.rank = 0;
    assert_int_equal(fr_max_pool_run(&p, FR_F32, x, y, NULL), FR_ESHAPE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_windows_equal_loops_over_all_cells),
    cmocka_unit_test(ceil_mode_adds_a_last_window_that_begins_inside),
    cmocka_unit_test(windows_without_meaning_are_refused),
};
FR_TEST_MAIN(tests)
