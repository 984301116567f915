/*
 * test_index.c: canonical indices.
 *
 * Oracle: a tree of the operations asked for, evaluated at points with plain floor division; and
 * pairs of texts that are, or are not, the same index.
 */
#include "test_main.h"

#include <frugal/expr.h>

#include "base/random.h"

/* ---- trees ---- */

typedef struct tree {
    char operation; /* 'c' constant, 'i' iterator, '+', '*' by a constant, '/', '%' */
    int64_t value;
    int left, right;
} tree;

enum { MOST_NODES = 64, N_ITERATORS = 4 };

typedef struct forest {
    fr_random random;
    tree nodes[MOST_NODES];
    int n;
} forest;

static int64_t below(forest *f, int64_t bound)
{
    return (int64_t)fr_random_below(&f->random, (uint64_t)bound);
}

static int grow(forest *f, int depth)
{
    const int at = f->n++;
    tree t = {'i', below(f, N_ITERATORS), -1, -1};
    if (f->n + 3 < MOST_NODES && depth > 0) {
        t.operation = "ci+++**//%%%"[below(f, 12)];
        if (t.operation == 'c')
            t.value = below(f, 41) - 20;
        if (t.operation == '*')
            t.value = below(f, 17) - 8;
        if (t.operation == '/' || t.operation == '%')
            t.value = 1 + below(f, 12);
        if (strchr("+*/%", t.operation) != NULL)
            t.left = grow(f, depth - 1);
        if (t.operation == '+')
            t.right = grow(f, depth - 1);
    }
    f->nodes[at] = t;
    return at;
}

static int64_t floor_division(int64_t a, int64_t b)
{
    int64_t q = a / b;
    while (q * b > a)
        q--;
    return q;
}

static int64_t tree_value(const forest *f, int at, const int64_t *point)
{
    const tree t = f->nodes[at];
    const int64_t left = t.left >= 0 ? tree_value(f, t.left, point) : 0;
    switch (t.operation) {
    case 'c': return t.value;
    case 'i': return point[t.value];
    case '+': return left + tree_value(f, t.right, point);
    case '*': return left * t.value;
    case '/': return floor_division(left, t.value);
    default: return left - t.value * floor_division(left, t.value);
    }
}

static fr_expr_id tree_index(const forest *f, int at, fr_expr_pool *pool)
{
    const tree t = f->nodes[at];
    const fr_expr_id left = t.left >= 0 ? tree_index(f, t.left, pool) : 0;
    switch (t.operation) {
    case 'c': return fr_expr_index_constant(pool, t.value);
    case 'i': return fr_expr_index_iterator(pool, (int)t.value);
    case '+': return fr_expr_index_add(pool, left, tree_index(f, t.right, pool));
    case '*': return fr_expr_index_scale(pool, left, t.value);
    case '/': return fr_expr_index_floor(pool, left, t.value);
    default: return fr_expr_index_modulo(pool, left, t.value);
    }
}

static void an_index_has_the_values_of_the_operations_it_was_made_by(void **state)
{
    (void)state;
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    for (uint64_t round = 0; round < 4000; round++) {
        forest f = {.random = fr_random_start(fr_test_seed(), round)};
        const int root = grow(&f, 5);
        const fr_expr_id index = tree_index(&f, root, pool);
        if (index == 0)
            fail_msg("round %" PRIu64 ": %s", round, fr_error_message());
        fr_expr_range ranges[N_ITERATORS];
        for (int i = 0; i < N_ITERATORS; i++) {
            ranges[i].low = below(&f, 30) - 15;
            ranges[i].high = ranges[i].low + 1 + below(&f, i == 0 ? 30 : 6);
        }
        int64_t least, greatest;
        assert_true(fr_expr_index_bounds(pool, index, ranges, N_ITERATORS, &least, &greatest));
        const fr_expr_id simple = fr_expr_index_simplify(pool, index, ranges, N_ITERATORS);
        const fr_expr_id with[2] = {index, fr_expr_index_constant(pool, 3)};
        const fr_expr_id replaced = fr_expr_index_substitute(pool, index, with, 2);
        assert_int_not_equal(simple, 0);
        for (int k = 0; k < 30; k++) {
            int64_t point[FR_EXPR_ITERATORS], other[FR_EXPR_ITERATORS];
            for (int i = 0; i < N_ITERATORS; i++)
                other[i] = point[i] = ranges[i].low + below(&f, ranges[i].high - ranges[i].low);
            const int64_t value = tree_value(&f, root, point);
            assert_int_equal(fr_expr_index_value(pool, index, point), value);
            assert_int_equal(fr_expr_index_value(pool, simple, point), value);
            assert_true(least <= value && value <= greatest);
            other[0] = value;
            other[1] = 3;
            assert_int_equal(fr_expr_index_value(pool, replaced, point),
                             tree_value(&f, root, other));
        }
    }
    assert_int_equal(fr_expr_pool_status(pool), FR_OK);
    fr_expr_pool_free(pool);
}

/* ---- texts ---- */

/* The id of an index of iterators i, j, k within a pool. */
static fr_expr_id index_of(fr_expr_pool *pool, const char *text)
{
    char whole[256];
    fr_expr e;
    (void)snprintf(whole, sizeof whole, "O[i:8, j:8, k:8] = A[%s] where A:99999 pad 99999", text);
    if (fr_expr_parse_into(pool, whole, &e) != FR_OK)
        fail_msg("%s: %s", text, fr_error_message());
    const fr_expr_view scope = fr_expr_look(pool, e.root);
    return (fr_expr_id)fr_expr_look(pool, scope.body).indices[0];
}

static void equal_indices_are_one_node(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"i+j", "j+i"},
        {"i-i", "0"},
        {"2*(i+3)-6", "i*2"},
        {"(8*i+4*j+3)/4", "2*i+j"},
        {"(8*i+j)%4", "j%4"},
        {"(i+7)/4", "(i+3)/4+1"},
        {"i/2/3", "i/6"},
        {"(i/2+1)/3", "(i+2)/6"},
        {"(2*i)/4", "i/2"},
        {"(2*i+1)/4", "i/2"},
        {"(2*i)%4", "2*(i%2)"},
        {"(2*i+1)%4", "2*(i%2)+1"},
        {"i%6%3", "i%3"},
        {"i%6/3", "i/3%2"},
        {"(i%6+j)%3", "(i+j)%3"},
        {"(2*(i%6)+j)%4", "(2*i+j)%4"},
        {"4*(i/4)+i%4", "i"},
        {"-(i%4)-4*(i/4)+j", "j-i"},
        {"i%1", "0"},
        {"i/1", "i"},
        {"7/2", "3"},
        {"-7/2", "-4"}, /* a sign binds first, as in C; the quotient rounds down */
        {"0-7/2", "-3"},
        {"-i/4", "(-i)/4"},
        {"2*-i", "-2*i"},
        {"(-7)%2", "1"},
        {"(3*i)%4", "(-i)%4"},
        {"(4*i+2*j)/6", "(2*i+j)/3"},
        {"i*0", "0"},
        {"3*2*i", "6*i"},
        {"(i+j)/2*2", "2*((i+j)/2)"},
    };
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (index_of(pool, pairs[i][0]) != index_of(pool, pairs[i][1]))
            fail_msg("%s is not %s", pairs[i][0], pairs[i][1]);
    fr_expr_pool_free(pool);
}

static void unequal_indices_are_two_nodes(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"i/4", "i%4"},         {"i", "j"},           {"(i+1)/2", "i/2"},
        {"i/2", "i/3"},         {"i+1", "i"},         {"2*i", "i"},
        {"(i+1)/4*4+i%4", "i"}, {"4*(i/4)+j%4", "i"}, {"-i/4", "-(i/4)"},
    };
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (index_of(pool, pairs[i][0]) == index_of(pool, pairs[i][1]))
            fail_msg("%s is taken for %s", pairs[i][0], pairs[i][1]);
    fr_expr_pool_free(pool);
}

static void ranges_make_divisions_needless(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        /* i:2..4, j:8, k:1 */
        {"j/8", "0"},
        {"j%8", "j"},
        {"i/2", "1"},
        {"i%2", "i-2"},
        {"(8*i+j)/8", "i"},
        {"(8*i+j)%8", "j"},
        {"(16*i+2*j+k)/16", "i"},
        {"(16*i+2*j+k)%16", "2*j+k"},
        {"((2*i+j)%100)/7", "(2*i+j)/7"},
        {"(3-i)/4", "0"},
        {"(8*(i+1)+j-8)/8", "i"},
        {"(4*j+i-2)/8", "j/2"},
        {"(4*j+i-2)%8", "4*(j%2)+i-2"},
    };
    const fr_expr_range ranges[] = {{2, 4}, {0, 8}, {0, 1}};
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (fr_expr_index_simplify(pool, index_of(pool, pairs[i][0]), ranges, 3) !=
            index_of(pool, pairs[i][1]))
            fail_msg("%s is not simplified to %s", pairs[i][0], pairs[i][1]);
    fr_expr_pool_free(pool);
}

static void numbers_beyond_64_bits_are_refused(void **state)
{
    (void)state;
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    const fr_expr_id i = fr_expr_index_iterator(pool, 0);
    const fr_expr_id large = fr_expr_index_scale(pool, i, INT64_MAX);
    assert_int_not_equal(large, 0);
    assert_int_equal(fr_expr_index_scale(pool, large, 2), 0);
    assert_int_equal(fr_expr_pool_status(pool), FR_ERANGE);
    fr_expr_pool_clear(pool);
    assert_int_equal(fr_expr_index_add(pool, large, i), 0);
    assert_int_equal(fr_expr_index_floor(pool, i, 0), 0);
    assert_int_equal(fr_expr_index_floor(pool, i, -2), 0);
    assert_int_equal(fr_expr_index_modulo(pool, i, INT64_MAX), 0);
    assert_int_equal(fr_expr_index_iterator(pool, FR_EXPR_ITERATORS), 0);
    assert_int_equal(fr_expr_index_iterator(pool, -1), 0);
    assert_int_equal(fr_expr_index(pool, 0, &(fr_expr_term){1, 70}, 1), 0);
    fr_expr_pool_clear(pool);
    assert_int_equal(fr_expr_index_add(pool, 0, i), 0); /* quiet */
    assert_int_equal(fr_expr_pool_status(pool), FR_OK);
    int64_t least, greatest;
    const fr_expr_range wide = {-(INT64_C(1) << 40), INT64_C(1) << 40};
    assert_false(fr_expr_index_bounds(pool, large, &wide, 1, &least, &greatest));
    const fr_expr_range empty = {3, 3};
    assert_false(fr_expr_index_bounds(pool, i, &empty, 1, &least, &greatest));
    fr_expr_pool_free(pool);
}

static void divisions_nest_so_deep_and_no_deeper(void **state)
{
    (void)state;
    fr_expr_pool *pool;
    assert_int_equal(fr_expr_pool_create(&pool), FR_OK);
    fr_expr_id index = fr_expr_index_iterator(pool, 0);
    int n = 0;
    for (; n < 1000 && index != 0; n++) { /* (i + x) / 2 * 3 does not join with the next */
        index = fr_expr_index_add(pool, fr_expr_index_scale(pool, index, 3),
                                  fr_expr_index_iterator(pool, 1));
        index = fr_expr_index_floor(pool, index, 2);
    }
    assert_in_range(n, 20, 100);
    assert_int_equal(fr_expr_pool_status(pool), FR_ERANGE);
    fr_expr_pool_free(pool);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_index_has_the_values_of_the_operations_it_was_made_by),
    cmocka_unit_test(equal_indices_are_one_node),
    cmocka_unit_test(unequal_indices_are_two_nodes),
    cmocka_unit_test(ranges_make_divisions_needless),
    cmocka_unit_test(numbers_beyond_64_bits_are_refused),
    cmocka_unit_test(divisions_nest_so_deep_and_no_deeper),
};
FR_TEST_MAIN(tests)
