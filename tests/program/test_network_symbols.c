/*
 * test_network_symbols.c: network and sparse operators with sizes that are symbols, as a mini-batch
 * has them: one program, bound to several batches in turn, against a program made for each batch's
 * sizes. And the mistakes that only data can make: labels, sources, offsets and ids out of range.
 */
#include <frugal/program.h>

#include "test_main.h"

#include "base/random.h"

enum { WIDTH = 8, HEADS = 2, CLASSES = 5, MOST_EDGES = 400, MOST_NODES = 80 };

/* ---- one batch ---- */

typedef struct batch {
    int64_t rows, sources, edges, graphs;
    int64_t begin[MOST_NODES], end[MOST_NODES], offset[MOST_NODES + 1];
    int32_t source[MOST_EDGES], ids[MOST_NODES], labels[MOST_NODES];
} batch;

static batch random_batch(fr_random *random, int64_t rows, int64_t sources)
{
    batch b = {.rows = rows, .sources = sources, .graphs = rows / 3};
    for (int64_t i = 0; i < rows; i++) {
        b.begin[i] = b.edges;
        b.edges += (int64_t)fr_random_below(random, 5);
        b.end[i] = b.edges;
    }
    for (int64_t e = 0; e < b.edges; e++)
        b.source[e] = (int32_t)fr_random_below(random, (uint64_t)sources);
    for (int64_t i = 0; i < sources; i++)
        b.ids[i] = (int32_t)fr_random_below(random, 20);
    for (int64_t g = 0; g <= b.graphs; g++)
        b.offset[g] = g == b.graphs ? rows : 3 * g;
    for (int64_t g = 0; g < b.graphs; g++)
        b.labels[g] = (int32_t)fr_random_below(random, CLASSES + 1) - 1;
    return b;
}

/* ---- one network: embedding, attention over a block, norms, dropout, readout, loss ---- */

typedef struct network {
    fr_program *p;
    fr_executor *e;
    fr_dim rows, sources, edges, graphs;
    fr_value begin, end, source, ids, offset, labels, loss, table, gradient;
} network;

static fr_value attention(network *n, fr_block block, fr_value x)
{
    fr_program *p = n->p;
    const fr_dim heads = fr_constant(HEADS), width = fr_constant(WIDTH);
    const fr_value to_left = fr_parameter(p, "left", FR_F32, FR_SHAPE(width, heads), fr_glorot());
    const fr_value to_right = fr_parameter(p, "right", FR_F32, FR_SHAPE(width, heads), fr_glorot());
    const fr_value left = fr_matmul(p, fr_slice(p, x, 0, fr_constant(0), n->rows), to_left);
    const fr_value scores = fr_edge_add(p, block, left, fr_matmul(p, x, to_right));
    const fr_value weight = fr_edge_softmax(p, block, fr_leaky_relu(p, scores, 0.2));
    const fr_value mean = fr_spmm(p, block, x, FR_NO_VALUE, FR_MEAN);
    const fr_value most = fr_spmm(p, block, x, FR_NO_VALUE, FR_MAX);
    return fr_add(p, fr_add(p, mean, most), fr_spmm(p, block, x, weight, FR_SUM));
}

static fr_value norms(network *n, fr_value h)
{
    fr_program *p = n->p;
    const fr_shape width = FR_SHAPE(fr_constant(WIDTH));
    const fr_value scale = fr_parameter(p, "scale", FR_F32, width, fr_uniform(0.5, 1.5));
    const fr_value bias = fr_parameter(p, "bias", FR_F32, width, fr_normal(0, 1));
    const fr_value mean = fr_state(p, "mean", FR_F32, width, fr_zeros());
    const fr_value variance = fr_state(p, "variance", FR_F32, width, fr_fill(1));
    h = fr_batch_norm(p, h, scale, bias, mean, variance, 1e-5, 0.1);
    h = fr_layer_norm(p, h, scale, bias, 1e-5);
    return fr_dropout(p, fr_rms_norm(p, h, scale, 1e-5), 0.3);
}

static void build(network *n)
{
    fr_program *p = n->p;
    n->begin = fr_input(p, "begin", FR_I64, FR_SHAPE(n->rows));
    n->end = fr_input(p, "end", FR_I64, FR_SHAPE(n->rows));
    n->source = fr_input(p, "source", FR_I32, FR_SHAPE(n->edges));
    n->ids = fr_input(p, "ids", FR_I32, FR_SHAPE(n->sources));
    n->offset = fr_input(p, "offset", FR_I64, FR_SHAPE(fr_dim_add(p, n->graphs, fr_constant(1))));
    n->labels = fr_input(p, "labels", FR_I32, FR_SHAPE(n->graphs));
    n->table = fr_parameter(p, "table", FR_F32, FR_SHAPE(fr_constant(20), fr_constant(WIDTH)),
                            fr_normal(0, 1));
    const fr_block block = {n->begin, n->end, n->source};
    fr_value h = norms(n, attention(n, block, fr_embedding(p, n->table, n->ids)));
    h = fr_segment(p, h, n->offset, FR_MEAN);
    const fr_value to_classes = fr_parameter(
        p, "classes", FR_F32, FR_SHAPE(fr_constant(WIDTH), fr_constant(CLASSES)), fr_glorot());
    n->loss = fr_cross_entropy(p, fr_matmul(p, h, to_classes), n->labels, -1);
    assert_int_equal(fr_gradient(p, n->loss, &n->table, 1, &n->gradient), FR_OK);
    fr_output(p, "loss", n->loss);
    fr_output(p, "gradient", n->gradient);
    if (fr_executor_create(p, &(fr_executor_options){.training = true, .seed = 3}, &n->e) != FR_OK)
        fail_msg("%s", fr_error_message());
}

static network symbolic_network(void)
{
    network n = {.p = fr_program_create()};
    n.rows = fr_symbol(n.p, "rows");
    n.sources = fr_symbol(n.p, "sources");
    n.edges = fr_symbol(n.p, "edges");
    n.graphs = fr_symbol(n.p, "graphs");
    build(&n);
    return n;
}

static network constant_network(const batch *b)
{
    network n = {.p = fr_program_create(),
                 .rows = fr_constant(b->rows),
                 .sources = fr_constant(b->sources),
                 .edges = fr_constant(b->edges),
                 .graphs = fr_constant(b->graphs)};
    build(&n);
    return n;
}

static void bind(network *n, const batch *b)
{
    assert_int_equal(fr_executor_bind(n->e, n->rows, b->rows), FR_OK);
    assert_int_equal(fr_executor_bind(n->e, n->sources, b->sources), FR_OK);
    assert_int_equal(fr_executor_bind(n->e, n->edges, b->edges), FR_OK);
    assert_int_equal(fr_executor_bind(n->e, n->graphs, b->graphs), FR_OK);
}

static fr_status run(network *n, const batch *b)
{
    assert_int_equal(fr_executor_set(n->e, n->begin, b->begin), FR_OK);
    assert_int_equal(fr_executor_set(n->e, n->end, b->end), FR_OK);
    assert_int_equal(fr_executor_set(n->e, n->source, b->source), FR_OK);
    assert_int_equal(fr_executor_set(n->e, n->ids, b->ids), FR_OK);
    assert_int_equal(fr_executor_set(n->e, n->offset, b->offset), FR_OK);
    assert_int_equal(fr_executor_set(n->e, n->labels, b->labels), FR_OK);
    fr_executor_set_step(n->e, 9);
    return fr_executor_run(n->e);
}

static void release(network *n)
{
    fr_executor_free(n->e);
    fr_program_free(n->p);
}

static void one_program_serves_batches_of_any_size(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    network symbolic = symbolic_network();
    static const int64_t sizes[][2] = {{9, 20}, {60, 70}, {3, 3}, {60, 70}, {0, 1}, {12, 40}};
    for (int i = 0; i < 6; i++) {
        const batch b = random_batch(&random, sizes[i][0], sizes[i][1]);
        network constant = constant_network(&b);
        bind(&symbolic, &b);
        if (run(&symbolic, &b) != FR_OK || run(&constant, &b) != FR_OK)
            fail_msg("batch %d: %s", i, fr_error_message());
        assert_memory_equal(fr_executor_data(symbolic.e, symbolic.loss),
                            fr_executor_data(constant.e, constant.loss), sizeof(float));
        assert_memory_equal(fr_executor_data(symbolic.e, symbolic.gradient),
                            fr_executor_data(constant.e, constant.gradient),
                            20 * WIDTH * sizeof(float));
        release(&constant);
    }
    release(&symbolic);
}

/* ---- mistakes of data ---- */

static void expect(network *n, const batch *b, const char *says)
{
    const fr_status status = run(n, b);
    if (status != FR_ERANGE || strstr(fr_error_message(), says) == NULL)
        fail_msg("expected FR_ERANGE with \"%s\", got %s: %s", says, fr_status_name(status),
                 fr_error_message());
}

static void data_out_of_range_is_named(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 2);
    network n = symbolic_network();
    batch good = random_batch(&random, 30, 40);
    good.begin[7] = 3; /* so that edge 3 lies in some row */
    good.end[7] = 5;
    bind(&n, &good);
    assert_int_equal(run(&n, &good), FR_OK);
    batch bad = good;
    bad.labels[4] = CLASSES;
    expect(&n, &bad, "label 5 of row 4");
    bad = good;
    bad.source[3] = 40;
    expect(&n, &bad, "source 40 of 40");
    bad = good;
    bad.end[7] = MOST_EDGES;
    expect(&n, &bad, "row 7");
    bad = good;
    bad.offset[2] = 31;
    expect(&n, &bad, "offset 2 is 31");
    bad = good;
    bad.ids[0] = 20;
    expect(&n, &bad, "20");
    assert_int_equal(run(&n, &good), FR_OK);
    release(&n);
}

static void evaluation_reads_the_states_and_drops_nothing(void **state)
{
    (void)state;
    fr_program *p = fr_program_create();
    const fr_dim n = fr_symbol(p, "n"), two = fr_constant(2);
    const fr_value x = fr_input(p, "x", FR_F32, FR_SHAPE(n, two));
    const fr_value one = fr_parameter(p, "one", FR_F32, FR_SHAPE(two), fr_fill(1));
    const fr_value zero = fr_parameter(p, "zero", FR_F32, FR_SHAPE(two), fr_zeros());
    const fr_value mean = fr_state(p, "mean", FR_F32, FR_SHAPE(two), fr_fill(1));
    const fr_value variance = fr_state(p, "variance", FR_F32, FR_SHAPE(two), fr_fill(4));
    const fr_value y = fr_dropout(p, fr_batch_norm(p, x, one, zero, mean, variance, 0, 0.5), 0.9);
    fr_output(p, "y", y);
    fr_executor *training, *evaluation;
    assert_int_equal(fr_executor_create(p, &(fr_executor_options){.training = true}, &training),
                     FR_OK);
    assert_int_equal(fr_executor_create(p, &(fr_executor_options){.share = training}, &evaluation),
                     FR_OK);
    const float rows[4] = {1, 3, 5, 7};
    fr_executor *both[] = {evaluation, training, evaluation};
    /* The batch: means 3 and 5, variances over n - 1: 8 and 8. States: 1 -> 2 and 3, 4 -> 6. */
    static const float expected[2][4] = {{0, 1, 2, 3},
                                         {-1 / 2.4494897f, 0, 3 / 2.4494897f, 4 / 2.4494897f}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fr_executor_bind(both[i], n, 2), FR_OK);
        assert_int_equal(fr_executor_set(both[i], x, rows), FR_OK);
        assert_int_equal(fr_executor_run(both[i]), FR_OK);
        const float *result = fr_executor_data(both[i], y);
        for (int k = 0; i != 1 && k < 4; k++)
            assert_true(result[k] - expected[i / 2][k] < 1e-5f &&
                        expected[i / 2][k] - result[k] < 1e-5f);
    }
    fr_executor_free(evaluation);
    fr_executor_free(training);
    fr_program_free(p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_program_serves_batches_of_any_size),
    cmocka_unit_test(data_out_of_range_is_named),
    cmocka_unit_test(evaluation_reads_the_states_and_drops_nothing),
};

FR_TEST_MAIN(tests)
