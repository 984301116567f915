/*
 * Sorting row numbers with their places. Oracle: for every row, a walk over all ids.
 */
#include "train_test.h"

#include "train/row_order.h"

static void check_against_a_walk(row_order *order, const int64_t *ids, int64_t n, int64_t limit)
{
    OK(fr_row_order_make(order, ids, n, limit));
    int64_t at = 0;
    for (int64_t i = 0; i < order->n_rows; i++) {
        if (i > 0)
            assert_true(order->rows[i] > order->rows[i - 1]);
        assert_int_equal(order->begin[i], at);
        for (int64_t k = 0; k < n; k++)
            if (ids[k] == order->rows[i])
                assert_int_equal(order->place[at++], k);
        assert_true(at > order->begin[i]);
    }
    assert_int_equal(at, n);
    if (n > 0)
        assert_int_equal(order->begin[order->n_rows], n);
}

static void rows_come_sorted_with_their_places(void **state)
{
    (void)state;
    static const int64_t limits[] = {
        1, 2, 7, 100, 2048, 2049, 1 << 22, (1 << 22) + 1, (int64_t)1 << 40, INT64_MAX};
    fr_random random = fr_random_start(fr_test_seed(), 1);
    row_order order = {0};
    int64_t ids[300];
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (int64_t n = 0; n <= 300; n = n < 4 ? n + 1 : n * 3) {
            for (int64_t k = 0; k < n; k++)
                ids[k] = (int64_t)fr_random_below(&random, (uint64_t)limits[i]);
            if (n > 2)
                ids[0] = ids[n - 1] = limits[i] - 1;
            check_against_a_walk(&order, ids, n, limits[i]);
        }
    fr_row_order_free(&order);
    fr_row_order_free(&order);
}

static void memory_is_taken_once(void **state)
{
    (void)state;
    row_order order = {0};
    int64_t ids[50];
    for (int i = 0; i < 50; i++)
        ids[i] = 50 - i;
    OK(fr_row_order_make(&order, ids, 50, 51));
    const int64_t count = fr_alloc_count();
    for (int64_t n = 0; n <= 50; n++)
        OK(fr_row_order_make(&order, ids, n, 51));
    assert_int_equal(fr_alloc_count(), count);
    fr_row_order_free(&order);
}

static void lack_of_memory_leaves_it_usable(void **state)
{
    (void)state;
    const int64_t ids[3] = {2, 1, 2}, live = fr_live_blocks();
    row_order order = {0};
    int64_t n = 0;
    for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
        fr_alloc_fail_at(n);
        status = fr_row_order_make(&order, ids, 3, 3);
        fr_alloc_fail_at(-1);
        if (status != FR_OK) {
            assert_int_equal(status, FR_ENOMEM);
            assert_int_equal(fr_live_blocks(), live);
        }
    }
    assert_int_equal(n, 5);
    check_against_a_walk(&order, ids, 3, 3);
    fr_row_order_free(&order);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_come_sorted_with_their_places),
    cmocka_unit_test(memory_is_taken_once),
    cmocka_unit_test(lack_of_memory_leaves_it_usable),
};
FR_TEST_MAIN(tests)
