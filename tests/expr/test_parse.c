/*
 * test_parse.c: the text form read and printed; mistakes and their columns.
 *
 * Oracle: texts written by hand. Printing what was parsed gives the second text of a pair.
 */
#include "test_main.h"

#include <frugal/expr.h>

#include "base/alloc.h"

static void texts_print_in_canonical_form(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed; /* NULL: prints as it was */
    } cases[] = {
        {"O[n:1, f:64, h:14, w:14] = sum[c:64, r:3, s:3] A[n, c, h+r-1, w+s-1] * K[f, c, r, s]\n"
         "    where A:1x64x14x14 pad 0,0,1,1; K:64x64x3x3",
         NULL},
        {"O[i:4,j:4]=sum[k:8]A[i,k]*B[k,j]",
         "O[i:4, j:4] = sum[k:8] A[i, k] * B[k, j]\n    where A:4x8; B:8x4"},
        {"[i:4] A[i]", "O[i:4] = A[i]\n    where A:4"},
        {"O[i:4] = A[i] where A:9 pad 0:3", "O[i:4] = A[i]\n    where A:9 pad 0:3"},
        {"Y[i:-2..5] = 1", NULL},
        {"Y[i:0..5] = 1", "Y[i:5] = 1"},
        {"Y[] = S[]", "Y[] = S[]\n    where S:scalar"},
        {"Y[i:4, k:4] = { [a:5, b:4] sum[c:8] A[a,c] * B[c,b] pad 0,2:1 }[i+1, k]",
         "Y[i:4, k:4] = { [a:5, b:4] sum[c:8] A[a, c] * B[c, b] pad 0,2:1 }[i+1, k]\n"
         "    where A:5x8; B:8x4"},
        {"Y[i:4] = max[j:2] A[2*i+j]", "Y[i:4] = max[j:2] A[2*i+j]\n    where A:8"},
        {"Y[i:8] = A[i/4, i%4, (i+1)/2, 4*(i/4), 7-i, -i+7, i-i]",
         "Y[i:8] = A[i/4, i%4, (i+1)/2, 4*(i/4), 7-i, 7-i, 0]\n    where A:2x4x5x5x8x8x1"},
        {"Y[] = 1 + 2 - 3 - (4 - 5) * 6 / (7 * 8) - -9", NULL},
        {"Y[] = ((1 + 2)) * (3) / (4 / 5)", "Y[] = (1 + 2) * 3 / (4 / 5)"},
        {"Y[] = -S[] * (-(1 + S[])) + neg(2)", "Y[] = -S[] * -(1 + S[]) + -2\n    where S:scalar"},
        {"Y[] = exp(log(sqrt(tanh(sigmoid(relu(abs(erf(1))))))))", NULL},
        {"Y[] = 0.1 + 1e-3 + 1E5 + 100000000000000000000000 + 0.30000000000000004",
         "Y[] = 0.1 + 0.001 + 1e+05 + 1e+23 + 0.30000000000000004"},
        {"Y[i:4, i1:3] = A.weight[i] * b_2[i1]",
         "Y[i:4, i1:3] = A.weight[i] * b_2[i1]\n    where A.weight:4; b_2:3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_expr e;
        if (fr_expr_parse(cases[i].text, &e) != FR_OK)
            fail_msg("%s: %s", cases[i].text, fr_error_message());
        assert_string_equal(fr_expr_text(&e),
                            cases[i].printed != NULL ? cases[i].printed : cases[i].text);
        fr_expr_release(&e);
    }
}

static void a_mistake_is_told_with_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fr_status status;
        const char *sentence; /* its start */
    } cases[] = {
        {"", FR_EFORMAT, "column 1: expected the name of the output or '[', found the end"},
        {"O", FR_EFORMAT,
         "column 2: expected '[' and iterators at the start of a scope, found the end"},
        {"O[i:4]", FR_EFORMAT, "column 7: expected '=' after the output, found the end"},
        {"O[i:4] A[i]", FR_EFORMAT, "column 8: expected '=' after the output, found 'A'"},
        {"O[i] = A[i]", FR_EFORMAT,
         "column 4: expected ':' and a range after an iterator, found ']'"},
        {"O[i:] = A[i]", FR_EFORMAT, "column 5: expected a range: a size, or low..high, found ']'"},
        {"O[i:4..] = 1", FR_EFORMAT, "column 8: expected the upper end of a range, found ']'"},
        {"O[i:5..4] = 1", FR_ERANGE, "column 3: the range 5..4 ends before it starts"},
        {"O[i:-4] = 1", FR_ERANGE, "column 3: the range 0..-4 ends before it starts"},
        {"O[i:4 j:4] = 1", FR_EFORMAT,
         "column 7: expected ']' or ',' after an iterator, found 'j'"},
        {"O[i:4, i:4] = 1", FR_EFORMAT, "column 8: the iterator 'i' is there already"},
        {"O[i:4] = sum[i:3] 1", FR_EFORMAT, "column 14: the iterator 'i' is there already"},
        {"O[sum:4] = 1", FR_EFORMAT, "column 3: expected an iterator, found 'sum', a word of the "},
        {"exp[i:4] = 1", FR_EFORMAT,
         "column 1: expected the name of the output or '[', found 'exp'"},
        {"O[i:99999999999999999999] = 1", FR_ERANGE, "column 5: a number does not fit 64 bits"},
        {"O[i:2000000000000] = 1", FR_ERANGE, "column 2: 0..2000000000000 is no range"},
        {"O[i:1000000000000, j:1000000000000] = 1", FR_ERANGE,
         "column 2: a scope has more than 2^62 "},
        {"O[i:4] = sum A[i]", FR_EFORMAT,
         "column 14: expected '[' and iterators after a reduction"},
        {"O[i:4] = sum[] 1", FR_EFORMAT, "column 2: a reduction without iterators"},
        {"O[i:4] = max[j:0] 1", FR_ERANGE, "column 2: a max over the empty range 0..0"},
        {"O[i:4] = 1 + sum[j:2] 1", FR_EFORMAT,
         "column 14: 'sum' stands in front of the whole body"},
        {"O[i:4] = ", FR_EFORMAT,
         "column 10: expected a number, a read, a function, '(' or '{', found "},
        {"O[i:4] = *", FR_EFORMAT,
         "column 10: expected a number, a read, a function, '(' or '{', found '*'"},
        {"O[i:4] = A[i] A[i]", FR_EFORMAT,
         "column 15: expected an operator, 'where' or the end, found 'A'"},
        {"O[i:4] = A", FR_EFORMAT,
         "column 11: expected '[' after the name of a tensor, found the end"},
        {"O[i:4] = i", FR_EFORMAT, "column 10: the iterator 'i' can stand in an index only"},
        {"O[i:4] = A[j]", FR_EFORMAT, "column 12: 'j' is no iterator of this scope"},
        {"O[i:4] = { [j:4] A[i] }[i]", FR_EFORMAT, "column 20: 'i' is no iterator of this scope"},
        {"O[i:4] = A[i", FR_EFORMAT,
         "column 13: expected ']' or ',' after an index, found the end"},
        {"O[i:4] = A[i+]", FR_EFORMAT,
         "column 14: expected an iterator, an integer or '(', found ']'"},
        {"O[i:4] = A[(i+1]", FR_EFORMAT, "column 16: expected ')' after an index, found ']'"},
        {"O[i:4] = A[i*i]", FR_EFORMAT, "column 13: an index multiplies two iterators"},
        {"O[i:4] = A[i/0]", FR_ERANGE, "column 13: an index is divided by 0"},
        {"O[i:4] = A[i/i]", FR_EFORMAT,
         "column 14: expected a positive integer after '/', found 'i'"},
        {"O[i:4] = A[i%-3]", FR_EFORMAT,
         "column 14: expected a positive integer after '%', found '-'"},
        {"O[i:4] = A[i*9223372036854775807*2]", FR_ERANGE,
         "column 33: an index has more than 64 terms "},
        {"O[i:4] = A[i-1]", FR_ERANGE,
         "column 10: A is read at -1 in dimension 0 (i=0): give its shape and padding after "
         "'where'"},
        {"O[i:4] = A[i] + A[i,i]", FR_ESHAPE,
         "column 17: A is read with 2 indices here, with 1 before"},
        {"O[i:4] = A[i] where A:4x4", FR_ESHAPE,
         "column 10: A has 2 dimensions and is read with 1 indices"},
        {"O[i:4] = { [j:4] 1 }[i, i]", FR_ESHAPE,
         "column 10: a scope has 1 dimensions and is read with 2 indices"},
        {"O[i:4] = A[i,i,i,i,i,i,i,i,i]", FR_ESHAPE,
         "column 10: A is read with 9 indices, 8 is the most"},
        {"O[i:4] = (A[i]", FR_EFORMAT, "column 15: expected ')' or an operator, found the end"},
        {"O[i:4] = exp A[i]", FR_EFORMAT,
         "column 14: expected '(' after the name of a function, found 'A'"},
        {"O[i:4] = { [j:4] 1 [i]", FR_EFORMAT,
         "column 20: expected '}' at the end of a scope, found '['"},
        {"O[i:4] = { [j:4] 1 }", FR_EFORMAT, "column 21: expected '[' and indices after a scope"},
        {"O[i:4] = { [j:4] 1 pad 1,2 }[i]", FR_ESHAPE,
         "column 24: 2 paddings for the 1 dimensions of "},
        {"O[i:4] = { [j:4] 1 pad }[i]", FR_EFORMAT,
         "column 24: expected a padding: one number, or "},
        {"O[i:4] = 1 pad 1", FR_EFORMAT,
         "column 12: expected an operator, 'where' or the end, found 'pad'"},
        {"O[i:4] = 1.5.2", FR_EFORMAT,
         "column 13: expected an operator, 'where' or the end, found '.'"},
        {"O[i:4] = 1e999", FR_ERANGE, "column 10: the number '1e999' does not fit a double"},
        {"O[i:4] = A[i] $", FR_EFORMAT,
         "column 15: expected an operator, 'where' or the end, found '$'"},
        {"O[i:4] = A[i] \x01", FR_EFORMAT,
         "column 15: expected an operator, 'where' or the end, found byte 1"},
        {"O[i:4] = A[i]\n  + \n  B[i", FR_EFORMAT,
         "line 3, column 6: expected ']' or ',' after an index"},
        {"O[i:4] = A[i] where", FR_EFORMAT,
         "column 20: expected the name of a tensor, found the end"},
        {"O[i:4] = A[i] where A", FR_EFORMAT, "column 22: expected ':' and a shape after the name"},
        {"O[i:4] = A[i] where A:", FR_EFORMAT, "column 23: expected a size, found the end"},
        {"O[i:4] = A[i] where A:4x", FR_EFORMAT, "column 25: expected a size, found the end"},
        {"O[i:4] = A[i] where A:4 pad 1,1", FR_ESHAPE,
         "column 29: 2 paddings for the 1 dimensions of A"},
        {"O[i:4] = A[i] where A:4 pad -1", FR_EFORMAT, "column 29: expected a padding: one number"},
        {"O[i:4] = A[i] where A:4; A:4", FR_EFORMAT, "column 26: A has a shape already"},
        {"O[i:4] = A[i] where A:4; B:4", FR_EFORMAT, "column 26: B is never read"},
        {"O[i:4] = A[i] where A:4 B:4", FR_EFORMAT,
         "column 25: expected ';' or the end, found 'B'"},
        {"O[i:4] = A[i] where A:1x1x1x1x1x1x1x1x4", FR_ESHAPE,
         "column 39: a tensor of more than 8 "},
        {"O[i:4] = A[i] where A:4000000000000", FR_ESHAPE, "column 21: A: size 4000000000000 of"},
        {"O[] = A[0,0] where A:1099511627776x4194305", FR_ESHAPE,
         "column 20: A: size 4194305 of dimension 1 is below 0 or too large"},
        {"O[i:4] = A[1-i] where A:4", FR_ERANGE,
         "A is read at -2 in dimension 0, outside 0..4 (i=3)"},
        {"O[i:4] = A[6-i] where A:4", FR_ERANGE,
         "A is read at 6 in dimension 0, outside 0..4 (i=0)"},
        {"O[i:5] = A[i] where A:4", FR_ERANGE, "A is read at 4 in dimension 0, outside 0..4 (i=4)"},
        {"O[i:5] = sum[r:3] A[2*i+r-1] where A:9 pad 0", FR_ERANGE,
         "A is read at -1 in dimension 0, outside 0..9 (i=0, r=0)"},
        {"O[i:5] = { [j:3] 1 pad 1 }[i]", FR_ERANGE,
         "a scope is read at 4 in dimension 0, outside -1..4 (i=4)"},
        {"O[i:6] = A[3*(i/3)+(i+1)%3] where A:5", FR_ERANGE,
         "A is read at 5 in dimension 0, outside 0..5 (i=4)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_expr e = {.name = "before"};
        const int64_t blocks = fr_live_blocks();
        const fr_status status = fr_expr_parse(cases[i].text, &e);
        if (status != cases[i].status ||
            strncmp(fr_error_message(), cases[i].sentence, strlen(cases[i].sentence)) != 0)
            fail_msg("%s\n  %s: %s", cases[i].text, fr_status_name(status), fr_error_message());
        assert_null(e.pool);
        assert_int_equal(fr_live_blocks(), blocks);
    }
}

/* A text of `n` times a piece between a start and an end. */
static char *repeated(const char *start, const char *piece, int n, const char *end)
{
    char *text = malloc(strlen(start) + strlen(piece) * (size_t)n + strlen(end) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, start);
    for (int i = 0; i < n; i++)
        at = stpcpy(at, piece);
    (void)stpcpy(at, end);
    return text;
}

static void texts_that_nest_or_grow_without_end_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *start, *piece;
        int n;
        const char *end, *words;
    } cases[] = {
        {"O[] = ", "(", 100000, "1", "nest deeper than 150"},
        {"O[] = ", "-", 100000, "1", "nest deeper than 150"},
        {"O[] = ", "exp(", 100000, "1", "nest deeper than 150"},
        {"O[] = ", "{ [] ", 100000, "1", "nest deeper than 150"},
        {"O[i:2] = A[", "(", 100000, "i]", "nest deeper than 150"},
        {"O[i:2] = A[", "-", 100000, "i]", "nest deeper than 150"},
        {"O[] = 1", "+1", 100000, "", "nests deeper than 1000 nodes"},
        {"O[i:2] = A[i", ",i", 100000, "]", "more than 64 indices"},
        {"O[] = ", " ", 1 << 20, "1", "1048576 is the most"},
        {"O[] = A[] where A:1 pad 1", ",1", 100000, "",
         "100001 paddings for the 1 dimensions of A"},
        {"O[] = ", "N", 1000, "[]", "a name of 1000 characters"},
        {"O[] = 1", "0", 600, "", "a number of 601 characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].start, cases[i].piece, cases[i].n, cases[i].end);
        fr_expr e;
        if (fr_expr_parse(text, &e) == FR_OK || strstr(fr_error_message(), cases[i].words) == NULL)
            fail_msg("%s...: %s", cases[i].start, fr_error_message());
        free(text);
    }
}

static void iterators_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    for (int n = FR_EXPR_ITERATORS; n <= FR_EXPR_ITERATORS + 1; n++) {
        char text[1024] = "O[z:1", *at = text + 5;
        for (int i = 1; i < n; i++)
            at += snprintf(at, 16, ", a%d:1", i);
        (void)stpcpy(at, "] = 1");
        fr_expr e;
        assert_int_equal(fr_expr_parse(text, &e), n == FR_EXPR_ITERATORS ? FR_OK : FR_ERANGE);
        fr_expr_release(&e);
    }
}

static void tensors_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    for (int n = FR_EXPR_TENSORS; n <= FR_EXPR_TENSORS + 1; n++) {
        char *text = malloc((size_t)n * 16 + 16), *at = stpcpy(text, "O[] = 0");
        for (int i = 0; i < n; i++)
            at += snprintf(at, 16, " + T%d[]", i);
        fr_expr e;
        const fr_status status = fr_expr_parse(text, &e);
        assert_int_equal(status, n == FR_EXPR_TENSORS ? FR_OK : FR_ERANGE);
        fr_expr_release(&e);
        free(text);
    }
}

static void undeclared_tensors_get_the_smallest_shape(void **state)
{
    (void)state;
    fr_expr e;
    fr_expr_input inputs[3];
    int n;
    assert_int_equal(
        fr_expr_parse(
            "O[i:4, j:3..5] = sum[k:2] A[2*i+k, 7-j] * B[(i+j)%4*2] + A[3,0] + C[] where C:scalar",
            &e),
        FR_OK);
    assert_int_equal(fr_expr_inputs(&e, inputs, 2, &n), FR_OK);
    assert_int_equal(n, 3);
    assert_int_equal(fr_expr_inputs(&e, inputs, 3, &n), FR_OK);
    assert_string_equal(inputs[0].name, "C");
    assert_int_equal(inputs[0].rank, 0);
    assert_string_equal(inputs[1].name, "A");
    assert_int_equal(inputs[1].shape[0], 8);
    assert_int_equal(inputs[1].shape[1], 5);
    assert_string_equal(inputs[2].name, "B");
    assert_int_equal(inputs[2].shape[0], 7);
    int64_t shape[FR_EXPR_ITERATORS];
    assert_int_equal(fr_expr_shape(&e, shape), 2);
    assert_int_equal(shape[0], 4);
    assert_int_equal(shape[1], 2);
    double work;
    assert_int_equal(fr_expr_work(&e, &work), FR_OK);
    assert_true(work == 4 * 2 * 2 * 8);
    fr_expr_release(&e);
}

static void expressions_share_a_pool(void **state)
{
    (void)state;
    fr_expr_pool *pool;
    fr_expr a, b, c;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    assert_int_equal(fr_expr_parse_into(pool, "O[i:4] = A[i] * 2", &a), FR_OK);
    const uint32_t count = fr_expr_pool_count(pool);
    assert_int_equal(fr_expr_parse_into(pool, "O[i:4] = A[i] *", &b), FR_EFORMAT);
    assert_int_equal(fr_expr_pool_status(pool), FR_OK); /* the pool is none the worse */
    assert_int_equal(fr_expr_parse_into(pool, "P[k:4] = A[k] * 2 where A:4", &b), FR_OK);
    assert_int_equal(a.root, b.root);
    assert_true(fr_expr_equal(&a, &b));
    assert_in_range(fr_expr_pool_count(pool), count, count + 3); /* names, no nodes */
    assert_string_equal(b.name, "P");
    assert_int_equal(fr_expr_parse("Q[m:4] = A[m] * 2", &c), FR_OK);
    assert_true(fr_expr_equal(&a, &c));
    fr_expr_release(&c);
    assert_int_equal(fr_expr_parse("Q[m:4] = A[m] * 2 where A:5", &c), FR_OK);
    assert_false(fr_expr_equal(&a, &c));
    fr_expr_release(&c);
    fr_expr_release(&a); /* a view: frees nothing */
    fr_expr_release(NULL);
    fr_expr_pool_free(pool);
    fr_expr_pool_free(NULL);
}

static void one_name_with_two_shapes_is_refused(void **state)
{
    (void)state;
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    const fr_expr_id zero = fr_expr_index_constant(pool, 0);
    const fr_expr_id small = fr_expr_tensor(pool, "A", 1, (int64_t[]){3}, NULL);
    const fr_expr_id large = fr_expr_tensor(pool, "A", 1, (int64_t[]){4}, NULL);
    const fr_expr_id body = fr_expr_binary(pool, FR_EXPR_ADD, fr_expr_read(pool, small, &zero, 1),
                                           fr_expr_read(pool, large, &zero, 1));
    const fr_expr e = {.pool = pool,
                       .root = fr_expr_scope(pool, &(fr_expr_scope_parts){.body = body})};
    assert_int_equal(fr_expr_check(&e), FR_ESHAPE);
    assert_string_equal(fr_error_message(), "A is read with two shapes or paddings");
    fr_expr_pool_free(pool);
}

/* Every function that allocates, with each allocation failing in turn. */
static void a_lack_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *const text =
        "O[i:4, j:4] = sum[k:3] { [a:6, b:4] sum[c:8] A[a,c] * B[c,b] pad 1,0 }[i+k, j] "
        "* relu(C[i/2, j%2]) + D[]";
    const int64_t blocks = fr_live_blocks();
    int64_t n = 0;
    for (;; n++) {
        fr_expr e;
        fr_tensor out = {0};
        fr_fingerprint fingerprint;
        double work;
        fr_alloc_fail_at(n);
        fr_status status = fr_expr_parse(text, &e);
        if (status == FR_OK)
            status = fr_expr_text(&e) == NULL ? FR_ENOMEM : FR_OK;
        if (status == FR_OK)
            status = fr_expr_work(&e, &work);
        if (status == FR_OK)
            status = fr_expr_fingerprint(&e, &fingerprint);
        if (status == FR_OK)
            status = fr_expr_evaluate_exact(&e, NULL, NULL, 0, 1, &out);
        fr_alloc_fail_at(-1);
        fr_tensor_release(&out);
        fr_expr_release(&e);
        assert_int_equal(fr_live_blocks(), blocks);
        if (status == FR_OK)
            break;
        assert_int_equal(status, FR_ENOMEM);
    }
    assert_true(n > 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(texts_print_in_canonical_form),
    cmocka_unit_test(a_mistake_is_told_with_its_column),
    cmocka_unit_test(texts_that_nest_or_grow_without_end_are_refused),
    cmocka_unit_test(iterators_beyond_the_limit_are_refused),
    cmocka_unit_test(tensors_beyond_the_limit_are_refused),
    cmocka_unit_test(undeclared_tensors_get_the_smallest_shape),
    cmocka_unit_test(expressions_share_a_pool),
    cmocka_unit_test(one_name_with_two_shapes_is_refused),
    cmocka_unit_test(a_lack_of_memory_leaves_nothing_behind),
};
FR_TEST_MAIN(tests)
