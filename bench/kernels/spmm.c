/*
 * spmm.c: sparse products and their transposes on a random graph that fits no cache.
 *
 *     spmm                              the default list
 *     spmm "sum s=2000000 n=200000 d=14 w=256"   one case
 *
 * A case: an operation (sum, mean, max, weighted, heads, transposed, dot, softmax), rows n, sources
 * s, average degree d (each row between 0 and 2 d edges), width w, heads h. Sources are uniform: no
 * locality; x has 2 GB where the case does not say otherwise.
 * "random" is the share of the ceiling of reading the same rows in the same order; bytes count x
 * once per edge, indices, weights and the output once.
 */
#include "bench.h"
#include "kernel/sparse.h"

typedef struct graph {
    int64_t n, n_sources, n_edges;
    int64_t *begin;
    int32_t *source;
} graph;

static graph make_graph(int64_t n, int64_t n_sources, double degree)
{
    graph g = {.n = n, .n_sources = n_sources};
    uint64_t state = 1;
    g.begin = bench_block((n + 1) * 8);
    for (int64_t i = 0; i < n; i++)
        g.begin[i + 1] = g.begin[i] + (int64_t)(bench_draw(&state) % (uint64_t)(2 * degree + 1));
    g.n_edges = g.begin[n];
    g.source = bench_block(g.n_edges * 4);
    for (int64_t e = 0; e < g.n_edges; e++)
        g.source[e] = (int32_t)((bench_draw(&state) >> 32) % (uint64_t)n_sources);
    return g;
}

typedef struct spmm_case {
    graph g;
    fr_spmm s;
    bool transposed, dot, softmax;
    float *x, *weight, *out, *scores;
    int32_t *argmax;
} spmm_case;

static void run_case(void *context)
{
    spmm_case *c = context;
    const fr_spmm *s = &c->s;
    if (c->transposed)
        bench_check(fr_spmm_transposed_run(s, c->g.n_sources));
    else if (c->dot)
        bench_check(
            fr_edge_dot_run(&s->rows, FR_F32, FR_SUM, c->x, c->x, s->heads, s->width, c->scores));
    else if (c->softmax)
        bench_check(fr_edge_softmax_run(&s->rows, FR_F32, c->weight, s->heads, c->scores));
    else
        bench_check(fr_spmm_run(s));
}

/* The portable loops on the same input: exact, as all numbers are small and whole. */
static void check_case(spmm_case *c)
{
    if (c->softmax || c->s.reduction == FR_MEAN)
        return;
    const int64_t out_rows = c->transposed ? c->g.n_sources : c->g.n;
    const int64_t bytes = 4 * c->s.heads * (c->dot ? c->g.n_edges : out_rows * c->s.width);
    float *result = c->dot ? c->scores : c->out, *copy = bench_block(bytes);
    const fr_isa isa = fr_cpu_isa();
    run_case(c);
    memcpy(copy, result, (size_t)bytes);
    fr_cpu_limit_isa(FR_ISA_PORTABLE);
    run_case(c);
    fr_cpu_limit_isa(isa);
    if (memcmp(copy, result, (size_t)bytes) != 0) {
        (void)fprintf(stderr, "spmm: %s and portable disagree\n", fr_isa_name(isa));
        exit(1);
    }
    fr_free(copy);
}

static void bench_case(const char *text, double triad)
{
    const int64_t n = (int64_t)bench_number(text, "n", 1e5);
    const int64_t width = (int64_t)bench_number(text, "w", 1);
    const int64_t heads = (int64_t)bench_number(text, "h", 1), values = width * heads;
    const int64_t n_sources =
        (int64_t)bench_number(text, "s", (double)(((int64_t)1 << 29) / values));
    const bool max = strncmp(text, "max", 3) == 0;
    const bool softmax = strncmp(text, "softmax", 7) == 0;
    spmm_case c = {.g = make_graph(n, n_sources, bench_number(text, "d", 14)),
                   .transposed = strncmp(text, "transposed", 10) == 0,
                   .dot = strncmp(text, "dot", 3) == 0,
                   .softmax = softmax};
    const bool weighted = heads > 1 || strncmp(text, "weighted", 8) == 0 || softmax;
    const int64_t edges = c.g.n_edges;
    c.x = bench_floats((n > n_sources ? n : n_sources) * values);
    c.weight = weighted ? bench_floats(edges * heads) : NULL;
    c.out = bench_block((c.transposed ? n_sources : n) * values * 4);
    c.scores = c.dot || softmax ? bench_block(edges * heads * 4) : NULL;
    c.argmax = max ? bench_block(n * values * 4) : NULL;
    c.s = (fr_spmm){.rows = {n, c.g.begin, c.g.begin + 1, c.g.source, edges},
                    .dtype = FR_F32,
                    .x = c.x,
                    .x_stride = values,
                    .weight = c.weight,
                    .heads = heads,
                    .width = width,
                    .reduction = max                             ? FR_MAX
                                 : strncmp(text, "mean", 4) == 0 ? FR_MEAN
                                                                 : FR_SUM,
                    .out = c.out,
                    .out_stride = values,
                    .argmax = c.argmax};
    check_case(&c);
    const double ceiling = softmax ? triad : bench_random_rows(c.x, values, c.g.source, edges);
    const bench_time t = bench_measure(run_case, &c);
    const double row_bytes = 4.0 * (double)values;
    double bytes = (double)edges * row_bytes + 4.0 * (double)edges +
                   (weighted ? 4.0 * (double)(edges * heads) : 0) +
                   (double)n * row_bytes * (max ? 2 : 1);
    bytes = c.transposed ? (double)edges * (2 * row_bytes + 4) + (double)(n + n_sources) * row_bytes
                         : bytes;
    bytes = softmax ? 8.0 * (double)(edges * heads) : bytes;
    bench_line(text, t, bytes, ceiling, fr_isa_name(fr_cpu_isa()));
    printf("    random rows %.1f GB/s, triad %.1f GB/s\n", ceiling * 1e-9, triad * 1e-9);
    fr_free(c.g.begin);
    fr_free(c.g.source);
    fr_free(c.x);
    fr_free(c.weight);
    fr_free(c.out);
    fr_free(c.scores);
    fr_free(c.argmax);
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {
        "sum n=600000 d=14 w=64",         "sum n=300000 d=14 w=128",
        "sum n=150000 d=14 w=256",        "sum n=40000 d=50 w=256",
        "sum n=75000 d=14 w=512",         "sum n=400000 d=14 w=100",
        "sum n=1000000 d=14 w=16",        "mean n=150000 d=14 w=256",
        "weighted n=150000 d=14 w=256",   "max n=150000 d=14 w=256",
        "heads n=300000 d=14 w=16 h=8",   "heads n=600000 d=14 w=8 h=8",
        "transposed n=150000 d=14 w=256", "transposed n=1000000 d=14 w=16",
        "dot n=150000 d=14 w=256",        "dot n=300000 d=14 w=16 h=8",
        "softmax n=1000000 d=14 h=8 s=1", "sum s=169343 n=169343 d=7 w=256",
    };
    printf("%s, %s, %d threads\n", fr_cpu_name(), fr_isa_name(fr_cpu_isa()), fr_threads());
    const double triad = bench_triad();
    bench_head("GB/s", "random");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            bench_case(argv[i], triad);
    else
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            bench_case(cases[i], triad);
    return 0;
}
