/*
 * Oracle: the graph's own rows; a chi-square test for uniformity; restrict against expand.
 */
#include "graph_test.h"

#include "base/parallel.h"

enum { N = 3000, N_EDGES = 30000, N_ROWS = 2200 };

static const char *folder;
static fr_graph *graph;

static int start(void **state)
{
    (void)state;
    folder = fr_test_folder();
    graph = random_graph(folder, 5, N, N_EDGES);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fr_graph_free(graph);
    return fr_folder_remove(folder) != FR_OK;
}

static fr_sampler *make_sampler(bool self_edges)
{
    fr_sampler *sampler;
    MUST(fr_sampler_create(graph, &(fr_sampler_options){.seed = 9, .self_edges = self_edges}, &sampler));
    return sampler;
}

static void fill_rows(int64_t *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        rows[i] = i * 1237 % N; /* coprime to N: distinct */
}

static bool is_neighbour(int64_t row, int64_t source)
{
    const uint64_t *indptr = fr_graph_indptr(graph);
    for (uint64_t e = indptr[row]; e < indptr[row + 1]; e++)
        if (fr_graph_indices32(graph)[e] == source)
            return true;
    return false;
}

static void assert_same_hop(const fr_hop *a, const fr_hop *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_edges, b->n_edges);
    assert_int_equal(a->n_sources, b->n_sources);
    for (int64_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(a->begin[i], b->begin[i]);
        assert_int_equal(a->end[i], b->end[i]);
    }
    assert_memory_equal(a->source, b->source, (size_t)a->n_edges * sizeof *a->source);
    assert_memory_equal(a->nodes, b->nodes, (size_t)a->n_sources * sizeof *a->nodes);
}

static void rows_draw_distinct_neighbours_up_to_the_fanout(void **state)
{
    (void)state;
    const int64_t fanouts[] = {0, 1, 5, 20, 100, -1};
    int64_t rows[N_ROWS];
    const uint64_t *indptr = fr_graph_indptr(graph);
    fill_rows(rows, N_ROWS);
    for (int self = 0; self < 2; self++) {
        fr_sampler *sampler = make_sampler(self != 0);
        fr_hop hop = {0};
        for (size_t f = 0; f < sizeof fanouts / sizeof *fanouts; f++) {
            MUST(fr_sampler_expand(sampler, &(fr_draw){.epoch = 1}, fanouts[f], rows, N_ROWS, NULL, &hop));
            for (int64_t i = 0; i < N_ROWS; i++) {
                const int64_t degree = fr_graph_degree(indptr, rows[i]), n = hop.end[i] - hop.begin[i];
                assert_int_equal(n, self + (fanouts[f] < 0 || degree < fanouts[f] ? degree : fanouts[f]));
                assert_int_equal(hop.nodes[i], rows[i]);
                if (self)
                    assert_int_equal(hop.source[hop.begin[i]], i);
                for (int64_t e = hop.begin[i] + self; e < hop.end[i]; e++) {
                    assert_in_range(hop.source[e], 0, hop.n_sources - 1);
                    assert_true(is_neighbour(rows[i], hop.nodes[hop.source[e]]));
                    for (int64_t k = hop.begin[i] + self; k < e; k++)
                        assert_int_not_equal(hop.source[k], hop.source[e]);
                }
            }
        }
        fr_hop_release(&hop);
        fr_sampler_free(sampler);
    }
}

static void threads_do_not_change_a_hop(void **state)
{
    (void)state;
    int64_t rows[N_ROWS];
    fill_rows(rows, N_ROWS);
    fr_sampler *sampler = make_sampler(false);
    fr_hop one = {0}, two = {0};
    fr_set_threads(1);
    MUST(fr_sampler_expand(sampler, &(fr_draw){.batch = 4}, 7, rows, N_ROWS, NULL, &one));
    fr_set_threads(2);
    MUST(fr_sampler_expand(sampler, &(fr_draw){.batch = 4}, 7, rows, N_ROWS, NULL, &two));
    fr_set_threads(0);
    assert_same_hop(&one, &two);
    MUST(fr_sampler_expand(sampler, &(fr_draw){.batch = 5}, 7, rows, N_ROWS, NULL, &two));
    assert_true(one.n_sources != two.n_sources || memcmp(one.nodes, two.nodes, (size_t)one.n_sources * sizeof *one.nodes) != 0);
    fr_hop_release(&one);
    fr_hop_release(&two);
    fr_sampler_free(sampler);
}

static void stopped_rows_change_nothing_for_others(void **state)
{
    (void)state;
    int64_t rows[N_ROWS];
    uint8_t stops[N_ROWS];
    fill_rows(rows, N_ROWS);
    for (int64_t i = 0; i < N_ROWS; i++)
        stops[i] = i % 3 == 0;
    fr_sampler *sampler = make_sampler(true);
    fr_hop all = {0}, some = {0};
    MUST(fr_sampler_expand(sampler, &(fr_draw){.hop = 1}, 6, rows, N_ROWS, NULL, &all));
    MUST(fr_sampler_expand(sampler, &(fr_draw){.hop = 1}, 6, rows, N_ROWS, stops, &some));
    for (int64_t i = 0; i < N_ROWS; i++) {
        if (stops[i]) {
            assert_int_equal(some.begin[i], some.end[i]);
            continue;
        }
        assert_int_equal(some.end[i] - some.begin[i], all.end[i] - all.begin[i]);
        for (int64_t k = 0; k < some.end[i] - some.begin[i]; k++)
            assert_int_equal(some.nodes[some.source[some.begin[i] + k]], all.nodes[all.source[all.begin[i] + k]]);
    }
    fr_hop_release(&all);
    fr_hop_release(&some);
    fr_sampler_free(sampler);
}

static void restrict_gives_what_expand_gives_for_those_rows(void **state)
{
    (void)state;
    int64_t rows[N_ROWS], some[N_ROWS / 2];
    fill_rows(rows, N_ROWS);
    for (int64_t i = 0; i < N_ROWS / 2; i++)
        some[i] = rows[N_ROWS - 1 - 2 * i];
    fr_sampler *sampler = make_sampler(false);
    fr_hop full = {0}, part = {0}, expected = {0};
    MUST(fr_sampler_expand(sampler, &(fr_draw){.epoch = 2}, 8, rows, N_ROWS, NULL, &full));
    MUST(fr_sampler_restrict(sampler, &full, some, N_ROWS / 2, &part));
    MUST(fr_sampler_expand(sampler, &(fr_draw){.epoch = 2}, 8, some, N_ROWS / 2, NULL, &expected));
    assert_same_hop(&part, &expected);
    some[0] = 2999 * 1237 % N; /* no row of full */
    assert_int_equal(fr_sampler_restrict(sampler, &full, some, 1, &part), FR_EINVAL);
    some[0] = some[1] = rows[0];
    assert_int_equal(fr_sampler_restrict(sampler, &full, some, 2, &part), FR_EINVAL);
    fr_hop_release(&full);
    fr_hop_release(&part);
    fr_hop_release(&expected);
    fr_sampler_free(sampler);
}

static void bad_rows_are_refused_and_forgotten(void **state)
{
    (void)state;
    fr_sampler *sampler = make_sampler(false);
    fr_hop hop = {0}, again = {0};
    assert_int_equal(fr_sampler_expand(sampler, &(fr_draw){0}, 3, (int64_t[]){4, 9, 4}, 3, NULL, &hop), FR_EINVAL);
    assert_non_null(strstr(fr_error_message(), "node 4"));
    assert_int_equal(fr_sampler_expand(sampler, &(fr_draw){0}, 3, (int64_t[]){4, N}, 2, NULL, &hop), FR_ERANGE);
    assert_int_equal(fr_sampler_expand(sampler, &(fr_draw){0}, 3, (int64_t[]){-1}, 1, NULL, &hop), FR_ERANGE);
    assert_int_equal(fr_sampler_expand(sampler, &(fr_draw){0}, -2, (int64_t[]){1}, 1, NULL, &hop), FR_EINVAL);
    MUST(fr_sampler_expand(sampler, &(fr_draw){0}, 3, (int64_t[]){4, 9}, 2, NULL, &hop));
    fr_sampler *fresh = make_sampler(false);
    MUST(fr_sampler_expand(fresh, &(fr_draw){0}, 3, (int64_t[]){4, 9}, 2, NULL, &again));
    assert_same_hop(&hop, &again);
    MUST(fr_sampler_expand(fresh, &(fr_draw){0}, 3, NULL, 0, NULL, &again));
    assert_int_equal(again.n_sources, 0);
    fr_hop_release(&hop);
    fr_hop_release(&again);
    fr_sampler_free(sampler);
    fr_sampler_free(fresh);
}

static void global_numbers_are_the_same_draw(void **state)
{
    (void)state;
    int64_t rows[N_ROWS], n_distinct = 0;
    fill_rows(rows, N_ROWS);
    fr_sampler *sampler = make_sampler(true);
    fr_hop local = {0}, global = {0};
    MUST(fr_sampler_expand(sampler, &(fr_draw){0}, 2, rows, 300, NULL, &local));
    MUST(fr_sampler_expand_global(sampler, &(fr_draw){0}, 2, rows, 300, NULL, &global, &n_distinct));
    assert_int_equal(global.n_sources, N);
    assert_int_equal(n_distinct, local.n_sources);
    for (int64_t e = 0; e < local.n_edges; e++)
        assert_int_equal(global.source[e], local.nodes[local.source[e]]);
    fr_hop_release(&local);
    fr_hop_release(&global);
    fr_sampler_free(sampler);
}

/* chi^2 over the neighbours of one node: mean d - 1 and variance below 2 (d - 1) without replacement; 6 deviations. */
static void draws_are_uniform(void **state)
{
    (void)state;
    const uint64_t *indptr = fr_graph_indptr(graph);
    int64_t row = 0, draws = 4000;
    for (int64_t i = 0; i < N; i++)
        if (fr_graph_degree(indptr, i) > fr_graph_degree(indptr, row))
            row = i;
    const int64_t degree = fr_graph_degree(indptr, row);
    fr_sampler *sampler = make_sampler(false);
    fr_hop hop = {0};
    for (int64_t fanout = 1; fanout <= 9; fanout += 4) {
        int64_t counts[N] = {0};
        for (int64_t b = 0; b < draws; b++) {
            MUST(fr_sampler_expand(sampler, &(fr_draw){.epoch = fanout, .batch = b}, fanout, &row, 1, NULL, &hop));
            for (int64_t e = 0; e < hop.n_edges; e++)
                counts[hop.nodes[hop.source[e]]]++;
        }
        const double expected = (double)(draws * fanout) / (double)degree;
        double chi = 0;
        for (uint64_t e = indptr[row]; e < indptr[row + 1]; e++) {
            const double off = (double)counts[fr_graph_indices32(graph)[e]] - expected;
            chi += off * off / expected;
        }
        printf("fan-out %" PRId64 " of %" PRId64 ": chi^2 %.1f\n", fanout, degree, chi);
        assert_true(chi < (double)(degree - 1) + 6 * 1.5 * (double)degree / 5);
    }
    fr_hop_release(&hop);
    fr_sampler_free(sampler);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(rows_draw_distinct_neighbours_up_to_the_fanout, start, stop),
    cmocka_unit_test_setup_teardown(threads_do_not_change_a_hop, start, stop),
    cmocka_unit_test_setup_teardown(stopped_rows_change_nothing_for_others, start, stop),
    cmocka_unit_test_setup_teardown(restrict_gives_what_expand_gives_for_those_rows, start, stop),
    cmocka_unit_test_setup_teardown(bad_rows_are_refused_and_forgotten, start, stop),
    cmocka_unit_test_setup_teardown(global_numbers_are_the_same_draw, start, stop),
    cmocka_unit_test_setup_teardown(draws_are_uniform, start, stop),
};

FR_TEST_MAIN(tests)
