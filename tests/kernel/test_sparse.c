/*
 * test_sparse.c: every sparse operation against loops over (row, edge, head, column) in double, for
 * each instruction set, dtype, reduction, and one and two threads.
 *
 * Rows of the random blocks lie in any order with gaps between them; some are empty, one is long.
 */
#include "kernel/sparse.h"
#include "kernel_test.h"

typedef struct block {
    fr_sparse_rows rows;
    int64_t n_sources;
    int64_t *begin, *end;
    int32_t *source;
} block;

static block make_block(int64_t n_rows, int64_t n_sources, int64_t longest)
{
    block b = {.n_sources = n_sources};
    b.begin = test_block(n_rows, sizeof *b.begin);
    b.end = test_block(n_rows, sizeof *b.end);
    int64_t n = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        n += test_below(3) == 0;
        b.begin[i] = n;
        n += n_sources == 0 || test_below(4) == 0 ? 0 : test_below(i == n_rows / 2 ? longest : 12);
        b.end[i] = n;
    }
    for (int64_t i = n_rows - 1; i > 0; i--) {
        const int64_t j = test_below(i + 1), begin = b.begin[i], end = b.end[i];
        b.begin[i] = b.begin[j];
        b.end[i] = b.end[j];
        b.begin[j] = begin;
        b.end[j] = end;
    }
    b.source = test_block(n, sizeof *b.source);
    for (int64_t e = 0; e < n; e++)
        b.source[e] = (int32_t)test_below(n_sources + (n_sources == 0));
    b.rows = (fr_sparse_rows){n_rows, b.begin, b.end, b.source, n};
    return b;
}

static void drop_block(block *b)
{
    free(b->begin);
    free(b->end);
    free(b->source);
}

static bool edge_in_a_row(const block *b, int64_t edge)
{
    for (int64_t i = 0; i < b->rows.n_rows; i++)
        if (edge >= b->begin[i] && edge < b->end[i])
            return true;
    return false;
}

static double scale_of(fr_reduction reduction, int64_t n)
{
    return reduction == FR_MEAN && n > 0 ? 1.0 / (double)n : 1.0;
}

/* ---- products ---- */

static double message(const fr_spmm *s, const float *x, const float *weight, int64_t e, int64_t h,
                      int64_t j)
{
    const double w = weight == NULL ? 1.0 : (double)weight[e * s->heads + h];
    return w * (double)x[s->rows.source[e] * s->x_stride + h * s->width + j];
}

static void slow_spmm(const fr_spmm *s, const float *x, const float *weight, double *out,
                      int32_t *winner)
{
    const int64_t values = s->heads * s->width;
    for (int64_t i = 0; i < s->rows.n_rows; i++)
        for (int64_t v = 0; v < values; v++) {
            const int64_t begin = s->rows.begin[i], end = s->rows.end[i];
            double total = 0;
            int32_t best = -1;
            for (int64_t e = begin; e < end; e++) {
                const double m = message(s, x, weight, e, v / s->width, v % s->width);
                if (s->reduction != FR_MAX)
                    total += m;
                else if (best < 0 || (float)m > (float)total) {
                    total = m;
                    best = (int32_t)e;
                }
            }
            out[i * values + v] = total * scale_of(s->reduction, end - begin);
            winner[i * values + v] = best;
        }
}

static void slow_transpose(const fr_spmm *s, const float *x, const float *weight,
                           const int32_t *winner, int64_t n_sources, double *out)
{
    const int64_t values = s->heads * s->width;
    memset(out, 0, (size_t)(n_sources * values) * sizeof *out);
    for (int64_t i = 0; i < s->rows.n_rows; i++)
        for (int64_t e = s->rows.begin[i]; e < s->rows.end[i]; e++)
            for (int64_t v = 0; v < values; v++) {
                const double w = weight == NULL ? 1.0 : (double)weight[e * s->heads + v / s->width];
                if (s->reduction != FR_MAX || winner[i * values + v] == e)
                    out[s->rows.source[e] * values + v] +=
                        w * (double)x[i * s->x_stride + v] *
                        scale_of(s->reduction, s->rows.end[i] - s->rows.begin[i]);
            }
}

typedef struct products {
    float *x, *y, *weight, *out, *back;
    double *reference, *back_reference;
    int32_t *winner, *argmax;
    int64_t n, n_back;
} products;

static void check_with_threads(fr_spmm s, const block *b, const products *p, int threads,
                               const char *what)
{
    fr_set_threads(threads);
    float *out = test_floats(p->n), *back = test_floats(p->n_back);
    s.out = out;
    assert_int_equal(fr_spmm_run(&s), FR_OK);
    test_close_f32(out, p->reference, p->n, b->rows.n_edges, what);
    if (s.argmax != NULL)
        assert_memory_equal(p->argmax, p->winner, (size_t)p->n * sizeof *p->winner);
    s.x = p->y;
    s.out = back;
    assert_int_equal(fr_spmm_transposed_run(&s, b->n_sources), FR_OK);
    test_close_f32(back, p->back_reference, p->n_back, b->rows.n_edges, what);
    if (threads == 1) {
        memcpy(p->out, out, (size_t)p->n * sizeof *out);
        memcpy(p->back, back, (size_t)p->n_back * sizeof *back);
    } else if (memcmp(p->out, out, (size_t)p->n * sizeof *out) != 0 ||
               memcmp(p->back, back, (size_t)p->n_back * sizeof *back) != 0) {
        fail_msg("%s: %d threads give other bits than one", what, threads);
    }
    free(out);
    free(back);
}

static void check_f64(fr_spmm s, const block *b, const products *p, const char *what)
{
    double *x = test_doubles_of(p->x, p->n_back), *y = test_doubles_of(p->y, p->n);
    double *w = p->weight == NULL ? NULL : test_doubles_of(p->weight, b->rows.n_edges * s.heads);
    double *out = test_block(p->n, sizeof *out), *back = test_block(p->n_back, sizeof *back);
    s.dtype = FR_F64;
    s.x = x;
    s.weight = w;
    s.out = out;
    assert_int_equal(fr_spmm_run(&s), FR_OK);
    test_close_f64(out, p->reference, p->n, b->rows.n_edges, what);
    s.x = y;
    s.out = back;
    assert_int_equal(fr_spmm_transposed_run(&s, b->n_sources), FR_OK);
    test_close_f64(back, p->back_reference, p->n_back, b->rows.n_edges, what);
    free(x);
    free(y);
    free(w);
    free(out);
    free(back);
}

static void check_products(const block *b, int64_t heads, int64_t width, bool weighted,
                           fr_reduction reduction)
{
    const int64_t values = heads * width;
    products p = {.n = b->rows.n_rows * values, .n_back = b->n_sources * values};
    p.x = test_floats(p.n_back);
    p.y = test_floats(p.n);
    p.weight = weighted ? test_floats(b->rows.n_edges * heads) : NULL;
    p.out = test_floats(p.n);
    p.back = test_floats(p.n_back);
    p.reference = test_block(p.n, sizeof *p.reference);
    p.back_reference = test_block(p.n_back, sizeof *p.back_reference);
    p.winner = test_block(p.n, sizeof *p.winner);
    p.argmax = test_block(p.n, sizeof *p.argmax);
    fr_spmm s = {.rows = b->rows,
                 .dtype = FR_F32,
                 .x = p.x,
                 .x_stride = values,
                 .weight = p.weight,
                 .heads = heads,
                 .width = width,
                 .reduction = reduction,
                 .out_stride = values,
                 .argmax = reduction == FR_MAX ? p.argmax : NULL};
    slow_spmm(&s, p.x, p.weight, p.reference, p.winner);
    slow_transpose(&s, p.y, p.weight, p.winner, b->n_sources, p.back_reference);
    for (TEST_EACH_ISA(isa)) {
        char what[160];
        (void)snprintf(what, sizeof what, "%s heads=%lld width=%lld reduction=%d weighted=%d",
                       test_isa(), (long long)heads, (long long)width, (int)reduction, weighted);
        check_with_threads(s, b, &p, 1, what);
        check_with_threads(s, b, &p, 2, what);
    }
    check_f64(s, b, &p, "f64");
    free(p.x);
    free(p.y);
    free(p.weight);
    free(p.out);
    free(p.back);
    free(p.reference);
    free(p.back_reference);
    free(p.winner);
    free(p.argmax);
}

static void check_all_reductions(const block *b, int64_t heads, int64_t width)
{
    for (int i = 0; i < 6; i++)
        check_products(b, heads, width, i % 2, (fr_reduction)(i / 2));
}

static void products_of_every_width_equal_the_loops(void **state)
{
    (void)state;
    const int64_t widths[] = {1,   2,   7,   8,   9,   15,  16,  17,  33,  63,  64, 65,
                              100, 127, 128, 129, 176, 200, 255, 256, 257, 300, 513};
    block b = make_block(60, 50, 90);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        check_all_reductions(&b, 1, widths[i]);
    drop_block(&b);
}

static void products_with_several_heads_equal_the_loops(void **state)
{
    (void)state;
    const int64_t shapes[][2] = {{2, 1},  {8, 8},  {4, 16}, {3, 5},  {8, 32},
                                 {5, 40}, {16, 4}, {17, 3}, {4, 200}};
    block b = make_block(40, 70, 50);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_all_reductions(&b, shapes[i][0], shapes[i][1]);
    drop_block(&b);
}

static void products_of_degenerate_blocks_equal_the_loops(void **state)
{
    (void)state;
    const int64_t shapes[][2] = {{0, 0}, {0, 5}, {1, 1}, {5, 0}, {1, 3}, {2, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        block b = make_block(shapes[i][0], shapes[i][1], 5);
        check_all_reductions(&b, 1, 0);
        check_all_reductions(&b, 1, 1);
        check_all_reductions(&b, 2, 17);
        drop_block(&b);
    }
}

static void products_over_many_tiles_equal_the_loops(void **state)
{
    (void)state;
    block b = make_block(9000, 3000, 4000);
    check_all_reductions(&b, 1, 20);
    drop_block(&b);
}

static void a_value_that_is_no_number_stays_visible_in_a_max(void **state)
{
    (void)state;
    const int64_t begin[2] = {0, 3}, end[2] = {3, 6};
    const int32_t source[6] = {0, 1, 2, 1, 0, 2};
    float x[3 * 20], out[2 * 20];
    int32_t argmax[2 * 20];
    for (int i = 0; i < 60; i++)
        x[i] = i / 20 == 1 ? NAN : (float)i;
    for (TEST_EACH_ISA(isa)) {
        const fr_spmm s = {.rows = {2, begin, end, source, 6},
                           .dtype = FR_F32,
                           .x = x,
                           .x_stride = 20,
                           .heads = 1,
                           .width = 20,
                           .reduction = FR_MAX,
                           .out = out,
                           .out_stride = 20,
                           .argmax = argmax};
        assert_int_equal(fr_spmm_run(&s), FR_OK);
        for (int j = 0; j < 40; j++) {
            assert_true(isnan(out[j]));
            assert_int_equal(argmax[j], j < 20 ? 1 : 3);
        }
    }
}

static void ties_of_a_max_go_to_the_first_edge(void **state)
{
    (void)state;
    const int64_t begin[1] = {1}, end[1] = {5};
    const int32_t source[5] = {0, 1, 0, 1, 0};
    float x[2 * 19], out[19];
    int32_t argmax[19];
    for (int i = 0; i < 38; i++)
        x[i] = 2;
    for (TEST_EACH_ISA(isa)) {
        const fr_spmm s = {.rows = {1, begin, end, source, 5},
                           .dtype = FR_F32,
                           .x = x,
                           .x_stride = 19,
                           .heads = 1,
                           .width = 19,
                           .reduction = FR_MAX,
                           .out = out,
                           .out_stride = 19,
                           .argmax = argmax};
        assert_int_equal(fr_spmm_run(&s), FR_OK);
        for (int j = 0; j < 19; j++)
            assert_int_equal(argmax[j], 1);
    }
}

/* ---- edges ---- */

static void check_dot(const block *b, int64_t heads, int64_t width, fr_reduction reduction)
{
    const int64_t n = b->rows.n_edges * heads, values = heads * width;
    float *a = test_floats(b->rows.n_rows * values), *x = test_floats(b->n_sources * values);
    float *score = test_floats(n), *first = test_floats(n);
    double *reference = calloc((size_t)n + 1, sizeof *reference);
    for (int64_t i = 0; i < b->rows.n_rows; i++)
        for (int64_t e = b->begin[i]; e < b->end[i]; e++)
            for (int64_t v = 0; v < values; v++)
                reference[e * heads + v / width] += (double)a[i * values + v] *
                                                    (double)x[b->source[e] * values + v] *
                                                    scale_of(reduction, b->end[i] - b->begin[i]);
    for (TEST_EACH_ISA(isa))
        for (int threads = 1; threads <= 2; threads++) {
            fr_set_threads(threads);
            assert_int_equal(
                fr_edge_dot_run(&b->rows, FR_F32, reduction, a, x, heads, width, score), FR_OK);
            test_close_f32(score, reference, n, width, test_isa());
            if (threads == 2)
                assert_memory_equal(score, first, (size_t)n * sizeof *score);
            memcpy(first, score, (size_t)n * sizeof *score);
        }
    double *a2 = test_doubles_of(a, b->rows.n_rows * values);
    double *x2 = test_doubles_of(x, b->n_sources * values), *score2 = test_block(n, sizeof *score2);
    assert_int_equal(fr_edge_dot_run(&b->rows, FR_F64, reduction, a2, x2, heads, width, score2),
                     FR_OK);
    test_close_f64(score2, reference, n, width, "f64");
    free(a);
    free(x);
    free(score);
    free(first);
    free(reference);
    free(a2);
    free(x2);
    free(score2);
}

static void products_on_edges_equal_the_loops(void **state)
{
    (void)state;
    const int64_t shapes[][2] = {{1, 1},   {1, 16},  {1, 17}, {1, 100},
                                 {1, 256}, {1, 300}, {8, 8},  {3, 33}};
    block b = make_block(50, 60, 70);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_dot(&b, shapes[i][0], shapes[i][1], i % 2 == 0 ? FR_SUM : FR_MEAN);
    drop_block(&b);
}

static void check_add(const block *b, int64_t heads)
{
    const int64_t n = b->rows.n_edges * heads, n_left = b->rows.n_rows * heads;
    const int64_t n_right = b->n_sources * heads;
    float *left = test_floats(n_left), *right = test_floats(n_right), *out = test_floats(n);
    float *grad = test_floats(n);
    double *reference = calloc((size_t)n + 1, sizeof *reference);
    double *left_reference = calloc((size_t)n_left + 1, sizeof *left_reference);
    double *right_reference = calloc((size_t)n_right + 1, sizeof *right_reference);
    for (int64_t i = 0; i < b->rows.n_rows; i++)
        for (int64_t e = b->begin[i]; e < b->end[i]; e++)
            for (int64_t h = 0; h < heads; h++) {
                reference[e * heads + h] =
                    (double)left[i * heads + h] + (double)right[b->source[e] * heads + h];
                left_reference[i * heads + h] += (double)grad[e * heads + h];
                right_reference[b->source[e] * heads + h] += (double)grad[e * heads + h];
            }
    for (TEST_EACH_ISA(isa))
        for (int threads = 1; threads <= 2; threads++) {
            fr_set_threads(threads);
            assert_int_equal(fr_edge_add_run(&b->rows, FR_F32, left, right, heads, out), FR_OK);
            test_close_f32(out, reference, n, 2, "edge add");
            float *dl = test_floats(n_left), *dr = test_floats(n_right);
            assert_int_equal(
                fr_edge_add_gradient_run(&b->rows, FR_F32, grad, heads, b->n_sources, dl, dr),
                FR_OK);
            test_close_f32(dl, left_reference, n_left, b->rows.n_edges, "left");
            test_close_f32(dr, right_reference, n_right, b->rows.n_edges, "right");
            free(dl);
            free(dr);
        }
    free(left);
    free(right);
    free(out);
    free(grad);
    free(reference);
    free(left_reference);
    free(right_reference);
}

static void sums_on_edges_and_their_gradients_equal_the_loops(void **state)
{
    (void)state;
    block small = make_block(50, 60, 70), large = make_block(6000, 400, 5000);
    const int64_t heads[] = {1, 3, 8};
    for (int i = 0; i < 3; i++) {
        check_add(&small, heads[i]);
        check_add(&large, heads[i]);
    }
    drop_block(&small);
    drop_block(&large);
}

static void slow_softmax(const block *b, int64_t heads, const float *score, double *y)
{
    for (int64_t i = 0; i < b->rows.n_rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            double most = -HUGE_VAL, total = 0;
            for (int64_t e = b->begin[i]; e < b->end[i]; e++)
                most = fmax(most, (double)score[e * heads + h]);
            for (int64_t e = b->begin[i]; e < b->end[i]; e++)
                total += y[e * heads + h] = exp((double)score[e * heads + h] - most);
            for (int64_t e = b->begin[i]; e < b->end[i]; e++)
                y[e * heads + h] /= total;
        }
}

static void check_softmax(const block *b, int64_t heads, float spread)
{
    const int64_t n = b->rows.n_edges * heads;
    float *score = test_floats(n), *y = test_floats(n), *dy = test_floats(n), *dx = test_floats(n);
    for (int64_t i = 0; i < n; i++)
        score[i] *= spread;
    double *reference = calloc((size_t)n + 1, sizeof *reference);
    double *gradient = calloc((size_t)n + 1, sizeof *gradient);
    slow_softmax(b, heads, score, reference);
    for (int64_t i = 0; i < b->rows.n_rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            double total = 0;
            for (int64_t e = b->begin[i]; e < b->end[i]; e++)
                total += reference[e * heads + h] * (double)dy[e * heads + h];
            for (int64_t e = b->begin[i]; e < b->end[i]; e++)
                gradient[e * heads + h] =
                    reference[e * heads + h] * ((double)dy[e * heads + h] - total);
        }
    const int64_t terms = b->rows.n_edges + (int64_t)spread;
    for (TEST_EACH_ISA(isa))
        for (int threads = 1; threads <= 2; threads++) {
            fr_set_threads(threads);
            assert_int_equal(fr_edge_softmax_run(&b->rows, FR_F32, score, heads, y), FR_OK);
            test_close_f32(y, reference, n, terms, test_isa());
            assert_int_equal(fr_edge_softmax_gradient_run(&b->rows, FR_F32, y, dy, heads, dx),
                             FR_OK);
            test_close_f32(dx, gradient, n, terms, test_isa());
        }
    free(score);
    free(y);
    free(dy);
    free(dx);
    free(reference);
    free(gradient);
}

static void softmax_over_edges_equals_the_loops(void **state)
{
    (void)state;
    const int64_t heads[] = {1, 2, 3, 4, 8, 16, 17};
    block b = make_block(50, 60, 200);
    for (int i = 0; i < 7; i++) {
        check_softmax(&b, heads[i], 1);
        check_softmax(&b, heads[i], 80);
        check_softmax(&b, heads[i], 1e4F);
    }
    drop_block(&b);
}

static void edges_outside_every_row_are_zero(void **state)
{
    (void)state;
    block b = make_block(30, 20, 30);
    const int64_t n = b.rows.n_edges;
    float *left = test_floats(30), *right = test_floats(20), *out = test_floats(n);
    assert_int_equal(fr_edge_add_run(&b.rows, FR_F32, left, right, 1, out), FR_OK);
    for (int64_t e = 0; e < n; e++)
        assert_true(edge_in_a_row(&b, e) || out[e] == 0.0F);
    free(left);
    free(right);
    free(out);
    drop_block(&b);
}

/* ---- segments ---- */

static void check_segments(int64_t n_segments, int64_t width, fr_reduction reduction)
{
    int64_t *offset = test_block(n_segments + 1, sizeof *offset);
    offset[0] = test_below(3);
    for (int64_t i = 0; i < n_segments; i++)
        offset[i + 1] = offset[i] + test_below(9);
    const int64_t used = offset[n_segments], n_rows = used + test_below(3), n = n_segments * width;
    float *x = test_floats(n_rows * width), *out = test_floats(n), *dy = test_floats(n);
    float *dx = test_floats(n_rows * width);
    int32_t *argmax = test_block(n, sizeof *argmax);
    double *reference = calloc((size_t)n + 1, sizeof *reference);
    double *gradient = calloc((size_t)(n_rows * width) + 1, sizeof *gradient);
    for (int64_t i = 0; i < n_segments; i++)
        for (int64_t j = 0; j < width; j++) {
            int64_t best = -1;
            const double scale = scale_of(reduction, offset[i + 1] - offset[i]);
            for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
                reference[i * width + j] += scale * (double)x[e * width + j];
                best = best < 0 || x[e * width + j] > x[best * width + j] ? e : best;
                gradient[e * width + j] =
                    reduction == FR_MAX ? 0 : scale * (double)dy[i * width + j];
            }
            if (reduction == FR_MAX && best >= 0) {
                reference[i * width + j] = (double)x[best * width + j];
                gradient[best * width + j] = (double)dy[i * width + j];
            }
        }
    for (TEST_EACH_ISA(isa)) {
        assert_int_equal(fr_segment_run(n_segments, offset, FR_F32, reduction, x, width, out,
                                        reduction == FR_MAX ? argmax : NULL),
                         FR_OK);
        test_close_f32(out, reference, n, 9, test_isa());
        assert_int_equal(fr_segment_gradient_run(n_segments, offset, FR_F32, reduction, dy, width,
                                                 argmax, n_rows, dx),
                         FR_OK);
        test_close_f32(dx, gradient, n_rows * width, 9, test_isa());
    }
    free(offset);
    free(x);
    free(out);
    free(dy);
    free(dx);
    free(argmax);
    free(reference);
    free(gradient);
}

static void reductions_of_segments_equal_the_loops(void **state)
{
    (void)state;
    const int64_t widths[] = {0, 1, 5, 16, 17, 64, 257};
    for (int r = FR_SUM; r <= FR_MAX; r++)
        for (int i = 0; i < 7; i++) {
            check_segments(0, widths[i], (fr_reduction)r);
            check_segments(1, widths[i], (fr_reduction)r);
            check_segments(700, widths[i], (fr_reduction)r);
        }
}

/* ---- refusals ---- */

static void blocks_that_point_outside_are_refused(void **state)
{
    (void)state;
    int64_t begin[2] = {0, 1}, end[2] = {1, 4};
    int32_t source[3] = {0, 1, 2};
    float x[3] = {1, 2, 3}, out[3];
    fr_spmm s = {.rows = {2, begin, end, source, 3},
                 .dtype = FR_F32,
                 .x = x,
                 .x_stride = 1,
                 .heads = 1,
                 .width = 1,
                 .reduction = FR_SUM,
                 .out = out,
                 .out_stride = 1};
    assert_int_equal(fr_spmm_run(&s), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "row 1 has the edges [1, 4) of 3"));
    end[1] = 3;
    assert_int_equal(fr_spmm_run(&s), FR_OK);
    assert_int_equal(fr_spmm_transposed_run(&s, 2), FR_ERANGE);
    assert_non_null(strstr(fr_error_message(), "source 2 of 2"));
    source[0] = -1;
    assert_int_equal(fr_spmm_transposed_run(&s, 3), FR_ERANGE);
    source[0] = 0;
    s.dtype = FR_I32;
    assert_int_equal(fr_spmm_run(&s), FR_EDTYPE);
    s.dtype = FR_F32;
    s.x_stride = 0;
    assert_int_equal(fr_spmm_run(&s), FR_ESHAPE);
    s.x_stride = 1;
    s.reduction = FR_MAX;
    assert_int_equal(fr_spmm_transposed_run(&s, 3), FR_EINVAL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(products_of_every_width_equal_the_loops),
    cmocka_unit_test(products_with_several_heads_equal_the_loops),
    cmocka_unit_test(products_of_degenerate_blocks_equal_the_loops),
    cmocka_unit_test(products_over_many_tiles_equal_the_loops),
    cmocka_unit_test(a_value_that_is_no_number_stays_visible_in_a_max),
    cmocka_unit_test(ties_of_a_max_go_to_the_first_edge),
    cmocka_unit_test(products_on_edges_equal_the_loops),
    cmocka_unit_test(sums_on_edges_and_their_gradients_equal_the_loops),
    cmocka_unit_test(softmax_over_edges_equals_the_loops),
    cmocka_unit_test(edges_outside_every_row_are_zero),
    cmocka_unit_test(reductions_of_segments_equal_the_loops),
    cmocka_unit_test(blocks_that_point_outside_are_refused),
};
FR_TEST_MAIN(tests)
