/*
 * rows.c: gather, scatter and add of rows by number, on tables that fit no cache.
 *
 *     rows                                  the default list
 *     rows "gather t=4000000 n=500000 w=128"   one case: table rows, rows moved, floats a row
 *
 * "random" is the share of the ceiling of reading the same rows in the same order. Bytes: the row
 * read and the row written (add and scatter: the table's row too).
 */
#include "kernel/rows.h"
#include "bench.h"

typedef struct rows_case {
    float *table, *rows;
    int64_t *ids;
    int64_t n_rows, n, width;
    char kind; /* g, s, a */
} rows_case;

static void run_case(void *context)
{
    const rows_case *c = context;
    const int64_t bytes = c->width * 4;
    if (c->kind == 'g')
        bench_check(fr_rows_gather_i64(c->table, c->n_rows, bytes, bytes, c->ids, c->n, c->rows));
    else if (c->kind == 's')
        bench_check(fr_rows_scatter_i64(c->table, c->n_rows, bytes, bytes, c->ids, c->n, c->rows));
    else
        bench_check(fr_rows_add_i64(c->table, c->n_rows, FR_F32, c->width, c->ids, c->n, c->rows));
}

/* After a gather, and after scattering what was gathered, rows and table agree. */
static void check_case(const rows_case *c)
{
    rows_case gather = *c;
    gather.kind = 'g';
    run_case(&gather);
    if (c->kind == 's')
        run_case((void *)(uintptr_t)c);
    for (int64_t i = 0; i < c->n; i++)
        if (memcmp(c->rows + i * c->width, c->table + c->ids[i] * c->width, (size_t)c->width * 4) !=
            0) {
            (void)fprintf(stderr, "rows: row %" PRId64 " is wrong\n", i);
            exit(1);
        }
}

static void bench_case(const char *text)
{
    rows_case c = {.n_rows = (int64_t)bench_number(text, "t", 4e6),
                   .n = (int64_t)bench_number(text, "n", 5e5),
                   .width = (int64_t)bench_number(text, "w", 128),
                   .kind = text[0]};
    uint64_t state = 3;
    c.table = bench_floats(c.n_rows * c.width);
    c.rows = bench_block(c.n * c.width * 4);
    c.ids = bench_block(c.n * 8);
    int32_t *narrow = bench_block(c.n * 4);
    for (int64_t i = 0; i < c.n; i++)
        narrow[i] =
            (int32_t)(c.ids[i] = (int64_t)((bench_draw(&state) >> 32) % (uint64_t)c.n_rows));
    check_case(&c);
    const double ceiling = bench_random_rows(c.table, c.width, narrow, c.n);
    const bench_time t = bench_measure(run_case, &c);
    bench_line(text, t, (double)(c.n * c.width) * 4 * (c.kind == 'a' ? 3 : 2), ceiling,
               c.kind == 'a' ? "own" : "memcpy");
    printf("    random rows %.1f GB/s\n", ceiling * 1e-9);
    fr_free(c.table);
    fr_free(c.rows);
    fr_free(c.ids);
    fr_free(narrow);
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {
        "gather t=4000000 n=1000000 w=128", "gather t=2000000 n=500000 w=256",
        "gather t=5000000 n=1000000 w=100", "gather t=64000000 n=4000000 w=4",
        "scatter t=4000000 n=500000 w=128", "add t=4000000 n=500000 w=128",
        "add t=16000000 n=2000000 w=16",
    };
    printf("%s, %d threads\n", fr_cpu_name(), fr_threads());
    bench_head("GB/s", "random");
    if (argc > 1)
        for (int i = 1; i < argc; i++)
            bench_case(argv[i]);
    else
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            bench_case(cases[i]);
    return 0;
}
