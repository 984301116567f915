/*
 * segment.c: reductions of consecutive rows and their gradients, against sequential bandwidth.
 *
 *     segment                             the default list
 *     segment "sum n=300000 d=10 w=128"   one case: segments, rows a segment, floats a row
 */
#include "bench.h"
#include "kernel/sparse.h"

typedef struct segment_case {
    int64_t n, width, n_rows;
    int64_t *offset;
    float *x, *out;
    int32_t *argmax;
    fr_reduction reduction;
    bool gradient;
} segment_case;

static void run_case(void *context)
{
    const segment_case *c = context;
    if (c->gradient)
        bench_check(fr_segment_gradient_run(c->n, c->offset, FR_F32, c->reduction, c->out, c->width,
                                            c->argmax, c->n_rows, c->x));
    else
        bench_check(fr_segment_run(c->n, c->offset, FR_F32, c->reduction, c->x, c->width, c->out,
                                   c->argmax));
}

/* Sums against the portable loops: exact, as the numbers are small and whole. */
static void check_case(segment_case *c)
{
    if (c->gradient || c->reduction == FR_MEAN)
        return;
    const size_t bytes = (size_t)(c->n * c->width) * 4;
    float *copy = bench_block((int64_t)bytes);
    const fr_isa isa = fr_cpu_isa();
    run_case(c);
    memcpy(copy, c->out, bytes);
    fr_cpu_limit_isa(FR_ISA_PORTABLE);
    run_case(c);
    fr_cpu_limit_isa(isa);
    if (memcmp(copy, c->out, bytes) != 0) {
        (void)fprintf(stderr, "segment: %s and portable disagree\n", fr_isa_name(isa));
        exit(1);
    }
    fr_free(copy);
}

static void bench_case(const char *text, double triad)
{
    const int64_t n = (int64_t)bench_number(text, "n", 3e5),
                  d = (int64_t)bench_number(text, "d", 10);
    segment_case c = {.n = n, .width = (int64_t)bench_number(text, "w", 128), .n_rows = n * d};
    c.reduction = strncmp(text, "max", 3) == 0    ? FR_MAX
                  : strncmp(text, "mean", 4) == 0 ? FR_MEAN
                                                  : FR_SUM;
    c.gradient = strncmp(text, "gradient", 8) == 0;
    c.offset = bench_block((n + 1) * 8);
    for (int64_t i = 0; i <= n; i++)
        c.offset[i] = i * d;
    c.x = bench_floats(c.n_rows * c.width);
    c.out = bench_floats(n * c.width);
    c.argmax = c.reduction == FR_MAX ? bench_block(n * c.width * 4) : NULL;
    check_case(&c);
    const bench_time t = bench_measure(run_case, &c);
    const double rows = (double)(c.n_rows + n * (c.argmax != NULL ? 2 : 1));
    bench_line(text, t, rows * (double)c.width * 4, triad, fr_isa_name(fr_cpu_isa()));
    fr_free(c.offset);
    fr_free(c.x);
    fr_free(c.out);
    fr_free(c.argmax);
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {
        "sum n=300000 d=10 w=128", "mean n=300000 d=10 w=128", "max n=300000 d=10 w=128",
        "sum n=150000 d=10 w=256", "sum n=2000000 d=10 w=16",  "gradient n=300000 d=10 w=128",
    };
    printf("%s, %d threads\n", fr_cpu_name(), fr_threads());
    const double triad = bench_triad();
    printf("triad %.1f GB/s\n", triad * 1e-9);
    bench_head("GB/s", "triad");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            bench_case(argv[i], triad);
    else
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            bench_case(cases[i], triad);
    return 0;
}
