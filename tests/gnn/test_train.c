/*
 * Exactness of training: what must not change the bits, does not. Oracle: the weights (and the ring) of a plain run.
 */
#include "test_main.h"

#include <frugal/gnn.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/parallel.h"

static char folder[1024];

static int make_graph(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fr_test_folder());
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/g.frgraph", folder);
    const fr_synth_options options = {.n_nodes = 1500, .n_edges = 12000, .n_features = 12, .n_classes = 5, .signal = 0.5, .seed = 3};
    return fr_graph_synth(path, &options, NULL, NULL, NULL) == FR_OK ? 0 : -1;
}

static int remove_graph(void **state)
{
    (void)state;
    return fr_folder_remove(folder) == FR_OK ? 0 : -1;
}

static fr_gnn_options small_run(void)
{
    fr_gnn_options o = fr_gnn_defaults();
    o.hidden = 16;
    o.heads = 4;
    o.fanout[0] = 6;
    o.fanout[1] = 5;
    o.fanout[2] = 4;
    o.batch = 30;
    o.epochs = 3;
    o.t_stale = 7;
    o.p_grad = 0.8;
    o.evaluate_every = 0;
    o.checkpoint_seconds = 0;
    o.seed = 11;
    return o;
}

static fr_status train(const char *name, const fr_gnn_options *options, fr_gnn_result *result)
{
    char graph_path[2048], run[2048];
    (void)snprintf(graph_path, sizeof graph_path, "%s/g.frgraph", folder);
    (void)snprintf(run, sizeof run, "%s/%s", folder, name);
    fr_graph *graph;
    fr_status status = fr_graph_open(graph_path, NULL, &graph);
    if (status != FR_OK)
        return status;
    status = fr_gnn_train(graph, run, options, NULL, result);
    fr_graph_free(graph);
    return status;
}

static void must_train(const char *name, const fr_gnn_options *options, fr_gnn_result *result)
{
    if (train(name, options, result) != FR_OK)
        fail_msg("%s: %s", name, fr_error_message());
}

static fr_checkpoint *open_last(const char *name)
{
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/%s/last.frc", folder, name);
    fr_checkpoint *checkpoint;
    if (fr_checkpoint_open(path, &checkpoint) != FR_OK)
        fail_msg("%s", fr_error_message());
    return checkpoint;
}

static void assert_same_tensor(const fr_checkpoint *a, const fr_checkpoint *b, const char *name)
{
    fr_tensor x, y;
    assert_int_equal(fr_checkpoint_tensor(a, name, &x), FR_OK);
    assert_int_equal(fr_checkpoint_tensor(b, name, &y), FR_OK);
    assert_int_equal(fr_tensor_count(&x), fr_tensor_count(&y));
    if (memcmp(x.data, y.data, (size_t)fr_tensor_count(&x) * fr_dtype_bytes(x.dtype)) != 0)
        fail_msg("%s differs", name);
}

static void assert_same_weights(const char *a, const char *b, bool ring_too)
{
    static const char *const weights[] = {"parameter/layer1.weight_own", "parameter/layer1.weight_neighbours", "parameter/layer1.bias",
                                          "parameter/layer2.weight_own", "parameter/layer2.weight_neighbours", "parameter/layer3.weight_own",
                                          "parameter/layer3.bias"};
    static const char *const ring[] = {"cache/state", "cache/slot_of", "cache/node_of", "cache/born", "cache/ring"};
    fr_checkpoint *x = open_last(a), *y = open_last(b);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        assert_same_tensor(x, y, weights[i]);
    for (size_t i = 0; ring_too && i < sizeof ring / sizeof *ring; i++)
        assert_same_tensor(x, y, ring[i]);
    fr_checkpoint_free(x);
    fr_checkpoint_free(y);
}

static void p_grad_0_is_plain_sampling_bit_for_bit(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    fr_gnn_result plain, fresh;
    must_train("plain", &o, &plain);
    o.cache = FR_CACHE_FRESH;
    o.p_grad = 0;
    must_train("p0", &o, &fresh);
    assert_int_equal(fresh.hits, 0);
    assert_int_equal(fresh.rows_fetched, plain.rows_fetched);
    assert_same_weights("plain", "p0", false);
}

static void t_stale_0_is_plain_sampling_bit_for_bit(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    fr_gnn_result plain, fresh;
    must_train("plain", &o, &plain);
    o.cache = FR_CACHE_FRESH;
    o.t_stale = 0;
    must_train("t0", &o, &fresh);
    assert_same_weights("plain", "t0", false);
}

static void one_and_two_threads_give_the_same_bits(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    o.cache = FR_CACHE_FRESH;
    fr_gnn_result one, two;
    fr_set_threads(1);
    must_train("one", &o, &one);
    fr_set_threads(2);
    must_train("two", &o, &two);
    assert_true(one.hits > 0);
    assert_same_weights("one", "two", true);
    assert_true(one.test == two.test);
}

static void any_look_ahead_gives_the_same_bits(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    o.cache = FR_CACHE_FRESH;
    fr_gnn_result result;
    must_train("ahead0", &o, &result);
    static const int64_t ahead[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "ahead%d", (int)ahead[i]);
        o.look_ahead = ahead[i];
        must_train(name, &o, &result);
        assert_same_weights("ahead0", name, true);
    }
}

static void sampling_everything_and_pruning_gives_the_same_bits(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    o.cache = FR_CACHE_FRESH;
    fr_gnn_result pruned, full;
    must_train("pruned", &o, &pruned);
    o.sample_full = true;
    must_train("full", &o, &full);
    assert_int_equal(pruned.rows_fetched, full.rows_fetched);
    assert_same_weights("pruned", "full", true);
    o.look_ahead = 3;
    must_train("full_ahead", &o, &full);
    assert_same_weights("pruned", "full_ahead", true);
}

static void no_hit_is_as_old_as_t_stale(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    o.cache = FR_CACHE_FRESH;
    fr_gnn_result result;
    for (int t = 1; t < 9; t += 3) {
        char name[32];
        (void)snprintf(name, sizeof name, "age%d", t);
        o.t_stale = t;
        must_train(name, &o, &result);
        assert_true(result.max_age < t);
    }
}

static void a_stopped_run_resumes_to_the_same_bits(void **state)
{
    (void)state;
    static const fr_gnn_cache caches[] = {FR_CACHE_NONE, FR_CACHE_FRESH, FR_CACHE_ALL};
    for (int c = 0; c < 3; c++) {
        fr_gnn_options o = small_run();
        o.cache = caches[c];
        fr_gnn_result through, result;
        char whole[32], parts[32];
        (void)snprintf(whole, sizeof whole, "whole%d", c);
        (void)snprintf(parts, sizeof parts, "parts%d", c);
        must_train(whole, &o, &through);
        o.stop_after_batches = 2;
        fr_status status = train(parts, &o, &result);
        o.resume = true;
        int n_stops = 0;
        for (; status == FR_EINTERRUPTED; n_stops++)
            status = train(parts, &o, &result);
        if (status != FR_OK)
            fail_msg("%s", fr_error_message());
        assert_true(n_stops > 3);
        assert_same_weights(whole, parts, caches[c] != FR_CACHE_NONE);
        assert_true(through.test == result.test);
        assert_int_equal(through.rows_fetched, result.rows_fetched);
        assert_int_equal(through.epochs, result.epochs);
    }
}

static void every_model_trains_and_evaluates_alike(void **state)
{
    (void)state;
    static const fr_gnn_kind kinds[] = {FR_GNN_SAGE, FR_GNN_GCN, FR_GNN_GAT, FR_GNN_GIN, FR_GNN_MLP};
    for (int k = 0; k < 5; k++) {
        for (int cached = 0; cached < (kinds[k] == FR_GNN_MLP ? 1 : 2); cached++) {
            fr_gnn_options o = small_run();
            o.kind = kinds[k];
            o.cache = cached ? FR_CACHE_FRESH : FR_CACHE_NONE;
            o.norm = k % 2 == 0 ? FR_NORM_LAYER : FR_NORM_BATCH;
            o.residual = true;
            o.attention_dropout = 0.1;
            char name[64], run[2048], path[2048];
            (void)snprintf(name, sizeof name, "model%d-%d", k, cached);
            (void)snprintf(run, sizeof run, "%s/%s", folder, name);
            (void)snprintf(path, sizeof path, "%s/g.frgraph", folder);
            fr_gnn_result trained, evaluated;
            must_train(name, &o, &trained);
            fr_graph *graph;
            assert_int_equal(fr_graph_open(path, NULL, &graph), FR_OK);
            if (fr_gnn_evaluate(run, graph, &evaluated) != FR_OK)
                fail_msg("%s: %s", name, fr_error_message());
            assert_true(evaluated.test == trained.test && evaluated.valid == trained.valid);
            fr_graph_free(graph);
        }
    }
}

static void a_run_without_errors_leaks_nothing(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    fr_gnn_options o = small_run();
    o.epochs = 1;
    o.cache = FR_CACHE_FRESH;
    o.look_ahead = 2;
    fr_gnn_result result;
    must_train("leak", &o, &result);
    assert_int_equal(fr_live_blocks(), live);
}

static void error_bounded_mode_moves_the_policy(void **state)
{
    (void)state;
    fr_gnn_options o = small_run();
    o.cache = FR_CACHE_FRESH;
    o.epochs = 6;
    o.max_error = 1e-6; /* nothing reused is that near: reuse must shrink */
    fr_gnn_result strict, loose;
    must_train("strict", &o, &strict);
    o.max_error = 100;
    must_train("loose", &o, &loose);
    assert_true((double)strict.hits / (double)strict.lookups < 0.7 * (double)loose.hits / (double)loose.lookups);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(p_grad_0_is_plain_sampling_bit_for_bit, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(t_stale_0_is_plain_sampling_bit_for_bit, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(one_and_two_threads_give_the_same_bits, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(any_look_ahead_gives_the_same_bits, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(sampling_everything_and_pruning_gives_the_same_bits, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(no_hit_is_as_old_as_t_stale, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(a_stopped_run_resumes_to_the_same_bits, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(every_model_trains_and_evaluates_alike, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(a_run_without_errors_leaks_nothing, make_graph, remove_graph),
    cmocka_unit_test_setup_teardown(error_bounded_mode_moves_the_policy, make_graph, remove_graph),
};

FR_TEST_MAIN(tests)
