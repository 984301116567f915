/*
 * test_parallel.c: tiles of a range. Oracle: a count per item.
 */
#include "test_main.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/parallel.h"

enum { MOST = 4096 };

typedef struct tally {
    int64_t tile, n;
    _Atomic int counts[MOST];
    _Atomic int n_calls, n_wrong; /* asserting is for the main thread */
} tally;

static void count(void *context, int64_t begin, int64_t end, int thread)
{
    tally *t = context;
    atomic_fetch_add(&t->n_calls, 1);
    const bool right = begin % t->tile == 0 && begin < end && end <= t->n &&
                       (end - begin == t->tile || end == t->n) && thread >= 0 &&
                       thread < fr_threads();
    atomic_fetch_add(&t->n_wrong, !right);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&t->counts[i], 1);
}

static void check(int64_t n, int64_t tile)
{
    static tally t;
    memset(&t, 0, sizeof t);
    t.tile = tile;
    t.n = n;
    fr_parallel_for(n, tile, count, &t);
    assert_int_equal(t.n_wrong, 0);
    assert_int_equal(t.n_calls, (n + tile - 1) / tile);
    for (int64_t i = 0; i < MOST; i++)
        assert_int_equal(t.counts[i], i < n);
}

static void every_item_is_done_once_in_its_tile(void **state)
{
    (void)state;
    static const int64_t tiles[] = {1, 7, 64, 5000};
    for (int threads = 1; threads <= 4; threads++) {
        fr_set_threads(threads);
        assert_int_equal(fr_threads(), threads);
        for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
            check(0, tiles[k]);
            check(1, tiles[k]);
            check(MOST, tiles[k]);
            for (int64_t n = tiles[k] - 1; n <= tiles[k] + 1 && n <= MOST; n++)
                check(n, tiles[k]);
        }
    }
}

static void note_call(void *context, int64_t begin, int64_t end, int thread)
{
    int64_t *seen = context;
    seen[0]++;
    seen[1] = begin;
    seen[2] = end;
    seen[3] = thread;
}

static void a_range_near_the_largest_number_does_not_overflow(void **state)
{
    (void)state;
    int64_t seen[4] = {0};
    fr_parallel_for(INT64_MAX, INT64_MAX, note_call, seen);
    assert_true(seen[0] == 1 && seen[1] == 0 && seen[2] == INT64_MAX && seen[3] == 0);
    fr_set_threads(1);
    seen[0] = 0;
    fr_parallel_for(INT64_MAX, INT64_MAX - 1, note_call, seen);
    assert_true(seen[0] == 2 && seen[1] == INT64_MAX - 1 && seen[2] == INT64_MAX);
    seen[0] = 0;
    fr_parallel_for(-5, 1, note_call, seen);
    assert_int_equal(seen[0], 0);
    fr_parallel_for(3, 0, note_call, seen); /* a tile holds at least one */
    assert_int_equal(seen[0], 3);
}

typedef struct nest {
    _Atomic int64_t sum;
    _Atomic int n_wrong;
} nest;

static void add_inner(void *context, int64_t begin, int64_t end, int thread)
{
    nest *n = context;
    atomic_fetch_add(&n->n_wrong, thread < 0 || thread >= fr_threads());
    atomic_fetch_add(&n->sum, end - begin);
}

static void run_inner(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        fr_parallel_for(10, 1, add_inner, context);
}

static void a_loop_in_a_loop_runs(void **state)
{
    (void)state;
    fr_set_threads(3);
    nest n = {0};
    fr_parallel_for(20, 1, run_inner, &n);
    assert_int_equal(n.sum, 200);
    assert_int_equal(n.n_wrong, 0);
}

static void threads_are_counted_and_come_back(void **state)
{
    (void)state;
    const int all = fr_threads();
    assert_true(all >= 1);
#ifdef _OPENMP
    const char *wanted = getenv("OMP_NUM_THREADS");
    if (wanted != NULL && getenv("OMP_THREAD_LIMIT") == NULL)
        assert_int_equal(all, strtol(wanted, NULL, 10));
#endif
    fr_set_threads(all + 2);
    assert_int_equal(fr_threads(), all + 2);
    fr_set_threads(0);
    assert_int_equal(fr_threads(), all);
    fr_set_threads(-1);
    assert_int_equal(fr_threads(), all);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_are_counted_and_come_back),
    cmocka_unit_test(every_item_is_done_once_in_its_tile),
    cmocka_unit_test(a_range_near_the_largest_number_does_not_overflow),
    cmocka_unit_test(a_loop_in_a_loop_runs),
};
FR_TEST_MAIN(tests)
