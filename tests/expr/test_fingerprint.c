/*
 * test_fingerprint.c: what fingerprints tell apart and what they do not.
 *
 * Oracle: pairs written by hand; for random pairs, exact evaluation: equal fingerprints must mean
 * equal residues (random renamings, which must keep the fingerprint, are in
 * test_random_expressions.c).
 */
#include "test_main.h"

#include "random_expression.h"

#include "base/alloc.h"

static fr_fingerprint fingerprint_of(const char *text)
{
    fr_expr e;
    fr_fingerprint f = {0, 0};
    if (fr_expr_parse(text, &e) != FR_OK || fr_expr_fingerprint(&e, &f) != FR_OK)
        fail_msg("%s: %s", text, fr_error_message());
    fr_expr_release(&e);
    return f;
}

static bool alike(const char *a, const char *b)
{
    const fr_fingerprint x = fingerprint_of(a), y = fingerprint_of(b);
    return x.low == y.low && x.high == y.high;
}

static void other_ways_to_write_an_expression_have_its_fingerprint(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"O[i:4] = A[i]", "P[x:4] = A[x]"},
        {"O[i:4] = sum[r:3, s:5] A[i,r,s] * K[r,s]", "O[i:4] = sum[s:5, r:3] K[r,s] * A[i,r,s]"},
        {"O[i:4] = sum[r:3, s:3] A[i,r,s] * K[r,s]", "O[i:4] = sum[s:3, r:3] A[i,r,s] * K[r,s]"},
        /* r and s alike, then alike in pairs, then in a cycle */
        {"O[] = sum[r:3, s:3] A[r] * A[s]", "O[] = sum[s:3, r:3] A[s] * A[r]"},
        {"O[] = sum[a:2, b:2, c:2, d:2] A[a,b] * A[c,d]",
         "O[] = sum[a:2, b:2, c:2, d:2] A[b,d] * A[a,c]"},
        {"O[] = sum[a:2, b:2, c:2, d:2] A[a,b] * A[b,c] * A[c,d] * A[d,a]",
         "O[] = sum[a:2, b:2, c:2, d:2] A[c,a] * A[b,d] * A[a,b] * A[d,c]"},
        /* cycles of two and of three look alike from each iterator: only trying tells */
        {"O[] = sum[a:2, b:2, c:2, d:2, e:2] A[a,b] * A[b,a] * A[c,d] * A[d,e] * A[e,c]",
         "O[] = sum[a:2, b:2, c:2, d:2, e:2] A[d,e] * A[e,d] * A[a,b] * A[b,c] * A[c,a]"},
        {"O[i:4] = A[i] + B[i] + C[i]", "O[i:4] = C[i] + (B[i] + A[i])"},
        {"O[i:4] = A[i] - B[i]", "O[i:4] = -B[i] + A[i]"},
        {"O[i:4] = A[i] - B[i]", "O[i:4] = -(B[i] - A[i])"},
        {"O[i:4] = -A[i] * B[i]", "O[i:4] = -(B[i] * A[i])"},
        {"O[i:4] = A[i] * -2", "O[i:4] = -(2 * A[i])"},
        {"O[i:4] = A[i] + 0", "O[i:4] = A[i]"},
        {"O[i:4] = { [j:4] sum[k:2] A[j,k] }[i]", "O[i:4] = { [p:4] sum[q:2] A[p,q] }[i]"},
        {"O[i:9] = A[(i+7)/4] where A:9", "O[i:9] = A[(i+3)/4+1] where A:9"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!alike(pairs[i][0], pairs[i][1]))
            fail_msg("%s\n%s", pairs[i][0], pairs[i][1]);
}

static void other_expressions_have_other_fingerprints(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"O[i:4] = A[i]", "O[i:4] = B[i]"},
        {"O[i:4] = A[i] where A:4", "O[i:4] = A[i] where A:5"},
        {"O[i:4] = A[i] where A:4", "O[i:4] = A[i] where A:4 pad 1"},
        {"O[i:4] = A[i] where A:4 pad 1:0", "O[i:4] = A[i] where A:4 pad 0:1"},
        {"O[i:4] = A[i] where A:5", "O[i:5] = A[i]"},
        {"O[i:4] = A[i] where A:5", "O[i:1..5] = A[i]"},
        {"O[i:4] = A[i] where A:5", "O[i:4] = A[i+1]"},
        {"O[i:4] = A[i/4] where A:4", "O[i:4] = A[i%4]"},
        {"O[i:4] = A[i/2] where A:2", "O[i:4] = A[i%2]"},
        {"O[i:4] = A[i/2] where A:4", "O[i:4] = A[i/3] where A:4"},
        {"O[i:4] = A[i%2] where A:4", "O[i:4] = A[i%3] where A:4"},
        {"O[i:4, j:4] = A[i,j]", "O[i:4, j:4] = A[j,i]"},
        {"O[i:3] = sum[r:3] A[i,r] * K[r,i]", "O[i:3] = sum[r:3] A[i,r] * K[i,r]"},
        {"O[] = sum[r:3, s:3] A[r,s] * K[r,s]", "O[] = sum[r:3, s:3] A[r,s] * K[s,r]"},
        {"O[] = sum[r:3, s:3] A[r] * A[s]", "O[] = sum[r:3, s:3] A[r] * A[r]"},
        {"O[] = sum[a:2, b:2, c:2, d:2] A[a,b] * A[b,c] * A[c,d] * A[d,a]",
         "O[] = sum[a:2, b:2, c:2, d:2] A[a,b] * A[b,a] * A[c,d] * A[d,c]"},
        {"O[] = sum[r:3] A[r]", "O[] = max[r:3] A[r]"},
        {"O[] = sum[r:3] 1", "O[] = sum[r:4] 1"},
        {"O[] = sum[r:3, s:2] A[r]", "O[] = sum[r:3] A[r]"},
        {"O[i:4] = A[i] - B[i]", "O[i:4] = B[i] - A[i]"},
        {"O[i:4] = A[i] / B[i]", "O[i:4] = B[i] / A[i]"},
        {"O[i:4] = A[i] * 2", "O[i:4] = A[i] * -2"},
        {"O[i:4] = A[i] + A[i]", "O[i:4] = A[i] * A[i]"},
        {"O[i:4] = (A[i] + B[i]) * C[i]", "O[i:4] = A[i] + B[i] * C[i]"},
        {"O[i:4] = exp(A[i])", "O[i:4] = relu(A[i])"},
        {"O[i:4] = exp(A[i])", "O[i:4] = exp(-A[i])"},
        {"O[i:4] = { [j:4] A[j] }[i]", "O[i:4] = A[i]"},
        {"O[i:4] = { [j:5] A[j] }[i] where A:9", "O[i:4] = { [j:4] A[j] }[i] where A:9"},
        {"O[i:4] = { [j:4] A[j] pad 1 }[i]", "O[i:4] = { [j:4] A[j] }[i]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (alike(pairs[i][0], pairs[i][1]))
            fail_msg("%s\n%s", pairs[i][0], pairs[i][1]);
}

typedef struct sample {
    fr_fingerprint fingerprint;
    uint64_t values; /* a hash of the residues and the shape */
} sample;

static int by_fingerprint(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->fingerprint.low != y->fingerprint.low)
        return x->fingerprint.low < y->fingerprint.low ? -1 : 1;
    return (x->fingerprint.high > y->fingerprint.high) -
           (x->fingerprint.high < y->fingerprint.high);
}

static void equal_fingerprints_mean_equal_values(void **state)
{
    (void)state;
    enum { N = 4000 };
    sample *samples;
    int n = 0, n_pairs = 0;
    assert_int_equal(fr_alloc(N, sizeof *samples, "samples", &samples), FR_OK);
    for (uint64_t i = 0; i < N; i++) {
        /* Tiny expressions over few tensors, so that many are equal. */
        maker m = {.random = fr_random_start(fr_test_seed(), 1000000 + i)};
        assert_int_equal(fr_expr_pool_create(&m.pool), FR_OK);
        const fr_expr_range ranges[] = {{0, 2}, {0, 2}, {0, 2}};
        fr_expr_id scalar = fr_expr_number(m.pool, (double)draw(&m, -1, 1));
        for (int64_t reads = draw(&m, 1, 3); reads > 0; reads--) {
            const int64_t shape[] = {2, 2};
            const fr_expr_id indices[] = {fr_expr_index_iterator(m.pool, (int)draw(&m, 0, 2)),
                                          fr_expr_index_iterator(m.pool, (int)draw(&m, 0, 2))};
            const fr_expr_id tensor =
                fr_expr_tensor(m.pool, draw(&m, 0, 1) ? "A" : "B", 2, shape, NULL);
            const fr_expr_kind kind = (fr_expr_kind)draw(&m, FR_EXPR_ADD, FR_EXPR_MULTIPLY);
            scalar = fr_expr_binary(m.pool, kind, scalar, fr_expr_read(m.pool, tensor, indices, 2));
        }
        const fr_expr e = {.pool = m.pool,
                           .root = fr_expr_scope(m.pool, &(fr_expr_scope_parts){.n_traversed = 1,
                                                                                .n_reduced = 2,
                                                                                .ranges = ranges,
                                                                                .reduction = FR_SUM,
                                                                                .body = scalar})};
        fr_tensor out;
        assert_true(exact_values(&e, 7, &out));
        const uint64_t *values = out.data;
        assert_int_equal(fr_expr_fingerprint(&e, &samples[n].fingerprint), FR_OK);
        samples[n++].values = values[0] * 31 + values[1];
        fr_tensor_release(&out);
        fr_expr_pool_free(m.pool);
    }
    qsort(samples, (size_t)n, sizeof *samples, by_fingerprint);
    for (int i = 1; i < n; i++) {
        if (by_fingerprint(&samples[i - 1], &samples[i]) != 0)
            continue;
        n_pairs++;
        assert_true(samples[i - 1].values == samples[i].values);
    }
    assert_true(n_pairs > N / 20); /* else nothing was tested */
    fr_free(samples);
}

/* 64 iterators that nothing tells apart: trials are limited. */
static void many_alike_iterators_take_no_time(void **state)
{
    (void)state;
    char text[4096] = "O[] = sum[", *at = text + strlen(text);
    for (int i = 0; i < FR_EXPR_ITERATORS; i++)
        at += snprintf(at, 16, "%sx%d:1", i > 0 ? ", " : "", i);
    at = stpcpy(at, "] ");
    for (int i = 0; i < FR_EXPR_ITERATORS; i++)
        at += snprintf(at, 16, "%sA[x%d]", i > 0 ? " * " : "", i);
    (void)fingerprint_of(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(other_ways_to_write_an_expression_have_its_fingerprint),
    cmocka_unit_test(other_expressions_have_other_fingerprints),
    cmocka_unit_test(equal_fingerprints_mean_equal_values),
    cmocka_unit_test(many_alike_iterators_take_no_time),
};
FR_TEST_MAIN(tests)
