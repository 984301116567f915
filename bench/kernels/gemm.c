/*
 * gemm.c: matrix products of the shapes that training has, against the machine's FMA peak.
 *
 *     gemm                                 the default list
 *     gemm "NN m=200000 n=256 k=512"       one case; N plain, T transposed, for A and B
 *
 * Results are compared with a product of few random places in double before anything is timed.
 */
#include <math.h>

#include "bench.h"
#include "kernel/gemm.h"

static void run_case(void *context) { bench_check(fr_gemm_f32(context)); }

/* Numbers are small and whole: sums below 2^24 are exact in any order. */
static void check_case(const fr_gemm *g)
{
    uint64_t state = 7;
    run_case((void *)(uintptr_t)g);
    for (int i = 0; i < 50; i++) {
        const int64_t row = (int64_t)(bench_draw(&state) % (uint64_t)g->m);
        const int64_t column = (int64_t)(bench_draw(&state) % (uint64_t)g->n);
        double total = 0;
        for (int64_t k = 0; k < g->k; k++) {
            const float *a = g->a, *b = g->b;
            total += (double)(g->transpose_a ? a[k * g->lda + row] : a[row * g->lda + k]) *
                     (double)(g->transpose_b ? b[column * g->ldb + k] : b[k * g->ldb + column]);
        }
        if (total != (double)((const float *)g->c)[row * g->ldc + column]) {
            (void)fprintf(stderr, "gemm: wrong at %" PRId64 ", %" PRId64 "\n", row, column);
            exit(1);
        }
    }
}

static void bench_case(const char *text, double peak)
{
    fr_gemm g = {.transpose_a = text[0] == 'T',
                 .transpose_b = text[1] == 'T',
                 .m = (int64_t)bench_number(text, "m", 256),
                 .n = (int64_t)bench_number(text, "n", 256),
                 .k = (int64_t)bench_number(text, "k", 256),
                 .alpha = 1};
    g.lda = g.transpose_a ? g.m : g.k;
    g.ldb = g.transpose_b ? g.k : g.n;
    g.ldc = g.n;
    float *a = bench_floats(g.m * g.k), *b = bench_floats(g.k * g.n);
    g.a = a;
    g.b = b;
    g.c = bench_block(g.m * g.n * 4);
    const size_t bytes = fr_gemm_workspace(g.m, g.n, g.k, sizeof(float));
    g.workspace = bench_block((int64_t)bytes);
    check_case(&g);
    const bench_time t = bench_measure(run_case, &g);
    bench_line(text, t, 2.0 * (double)g.m * (double)g.n * (double)g.k, peak,
               bytes > 0 ? "onednn sgemm, k cut" : "onednn sgemm, tiles");
    fr_free(a);
    fr_free(b);
    fr_free(g.c);
    fr_free(g.workspace);
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {
        "NN m=200000 n=256 k=100", "NN m=200000 n=256 k=256", "NN m=200000 n=256 k=512",
        "NN m=200000 n=47 k=256",  "NN m=20000 n=256 k=512",  "NT m=200000 n=256 k=256",
        "NT m=200000 n=100 k=256", "TN m=256 n=256 k=200000", "TN m=512 n=256 k=200000",
        "TN m=100 n=256 k=200000", "TN m=256 n=47 k=200000",  "NN m=2708 n=16 k=1433",
        "TN m=1433 n=16 k=2708",   "NN m=2708 n=7 k=16",      "TN m=16 n=7 k=2708",
        "NN m=1 n=1024 k=1024",    "NN m=64 n=64 k=64",       "NN m=16 n=16 k=16",
        "NN m=2048 n=2048 k=2048", "NT m=512 n=32000 k=512",
    };
    printf("%s, %d threads\n", fr_cpu_name(), fr_threads());
    const double peak = bench_peak_flops();
    printf("FMA peak %.1f GFLOP/s\n", peak * 1e-9);
    bench_head("GFLOP/s", "peak");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            bench_case(argv[i], peak);
    else
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            bench_case(cases[i], peak);
    return 0;
}
