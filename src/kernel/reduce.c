/*
 * reduce.c: sums, means and maxima over dims. See reduce.h.
 */
#include "kernel/reduce.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/vector_exp.h"

enum {
    TILE = 16384,  /* elements that a task should have at least */
    COLUMNS = 512, /* whose sums stay in the first cache */
    CUTS = 32,     /* pieces of a long reduction at most */
};

#define fr_larger(x, y) fr_choose(((x) > (y)) | ((x) != (x)), x, y)

/* [outer, n, inner] -> [outer, n_cuts, inner]; then the same again over the cuts. */
typedef struct pass {
    bool is_max;
    int64_t outer, n, inner;
    int64_t cut, n_cuts, n_across; /* rows of a piece; pieces; tiles of columns */
    const void *x;
    void *to;
} pass;

typedef struct max_gradient_call {
    const fr_reduce *reduce;
    int64_t chunk;               /* elements of x of a task */
    int64_t stride[FR_MAX_RANK]; /* in y, of each group; 0 of reduced ones */
    const void *x, *y, *dy;
    uint8_t *taken;
    void *dx;
} max_gradient_call;

#define TEMPLATE "kernel/reduce_template.h"
#include "kernel/variants.h"

fr_reduce fr_reduce_of(const fr_tensor *x, fr_reduction reduction, const bool *reduced)
{
    fr_reduce reduce = {.dtype = x->dtype, .reduction = reduction};
    for (int d = 0; d < x->rank; d++) {
        if (x->shape[d] == 1)
            continue;
        if (reduce.n_groups == 0 || reduce.reduced[reduce.n_groups - 1] != reduced[d]) {
            reduce.reduced[reduce.n_groups] = reduced[d];
            reduce.size[reduce.n_groups++] = x->shape[d];
        } else {
            reduce.size[reduce.n_groups - 1] *= x->shape[d];
        }
    }
    return reduce;
}

static int64_t product(const int64_t *sizes, int n)
{
    int64_t all = 1;
    for (int i = 0; i < n; i++)
        all *= sizes[i];
    return all;
}

/* How a pass is cut follows from its sizes alone. */
static void cut_pass(pass *at)
{
    at->n_across = (at->inner + COLUMNS - 1) / COLUMNS;
    at->cut = at->n;
    at->n_cuts = 1;
    const int64_t width = at->inner < COLUMNS ? at->inner : COLUMNS;
    if (width == 0 || at->outer * at->n_across >= CUTS)
        return;
    int64_t least = TILE / width;
    least = least < 16 ? 16 : least;
    int64_t rows = (at->n + CUTS - 1) / CUTS;
    rows = rows < least ? least : rows;
    if (at->n > rows) {
        at->cut = rows;
        at->n_cuts = (at->n + rows - 1) / rows;
    }
}

/* The last reduced group; its place, or -1. */
static int last_reduced(const fr_reduce *reduce)
{
    for (int g = reduce->n_groups - 1; g >= 0; g--)
        if (reduce->reduced[g])
            return g;
    return -1;
}

static fr_reduce without_group(const fr_reduce *reduce, int gone)
{
    fr_reduce rest = *reduce;
    rest.n_groups = 0;
    for (int g = 0; g < reduce->n_groups; g++)
        if (g != gone) {
            rest.size[rest.n_groups] = reduce->size[g];
            rest.reduced[rest.n_groups++] = reduce->reduced[g];
        }
    return rest;
}

/* Partial results of a cut pass, and the results of all passes but the last. Bounded without
 * looking at where cuts begin, so that larger sizes never need less. */
size_t fr_reduce_workspace(const fr_reduce *reduce)
{
    size_t elements = 0;
    fr_reduce at = *reduce;
    for (int g = last_reduced(&at); g >= 0; g = last_reduced(&at)) {
        const int64_t outer = product(at.size, g),
                      inner = product(at.size + g + 1, at.n_groups - g - 1);
        /* cut only where outer * tiles of columns < CUTS */
        const int64_t columns = outer * inner < CUTS * COLUMNS ? outer * inner : CUTS * COLUMNS;
        elements += (size_t)(columns * CUTS);
        at = without_group(&at, g);
        if (last_reduced(&at) >= 0)
            elements += (size_t)(outer * inner);
    }
    return elements * fr_dtype_bytes(reduce->dtype);
}

static void run_tasks(pass *at, fr_dtype dtype)
{
    const int64_t task = at->cut * (at->inner < COLUMNS ? at->inner : COLUMNS);
    const int64_t tile = task >= TILE ? 1 : TILE / (task < 1 ? 1 : task);
    if (at->inner == 1)
        fr_parallel_for(at->outer * at->n_cuts, tile, FR_PICK(reduce_rows, dtype), at);
    else
        fr_parallel_for(at->outer * at->n_cuts * at->n_across, tile, FR_PICK(reduce_columns, dtype),
                        at);
}

/* Reduces one group into `to`; partial results lie in `scratch`, of which the rest is returned. */
static char *run_pass(pass at, fr_dtype dtype, char *scratch, void *to)
{
    cut_pass(&at);
    if (at.n_cuts == 1) {
        at.to = to;
        run_tasks(&at, dtype);
        return scratch;
    }
    at.to = scratch;
    run_tasks(&at, dtype);
    pass join = {.is_max = at.is_max, .outer = at.outer, .n = at.n_cuts, .inner = at.inner};
    join.x = scratch;
    join.to = to;
    join.cut = join.n;
    join.n_cuts = 1;
    join.n_across = at.n_across;
    run_tasks(&join, dtype);
    return scratch + (size_t)(at.outer * at.n_cuts * at.inner) * fr_dtype_bytes(dtype);
}

void fr_reduce_run(const fr_reduce *reduce, const void *x, void *workspace, void *out)
{
    char *scratch = workspace;
    fr_reduce at = *reduce;
    int64_t n_reduced = 1;
    int g = last_reduced(&at);
    if (g < 0)
        memcpy(out, x, (size_t)product(at.size, at.n_groups) * fr_dtype_bytes(at.dtype));
    while (g >= 0) {
        pass group = {.is_max = reduce->reduction == FR_MAX, .n = at.size[g], .x = x};
        group.outer = product(at.size, g);
        group.inner = product(at.size + g + 1, at.n_groups - g - 1);
        n_reduced *= group.n;
        at = without_group(&at, g);
        g = last_reduced(&at);
        char *to = out;
        if (g >= 0) {
            to = scratch;
            scratch += (size_t)(group.outer * group.inner) * fr_dtype_bytes(at.dtype);
        }
        scratch = run_pass(group, at.dtype, scratch, to);
        x = to;
    }
    if (reduce->reduction == FR_MEAN && n_reduced > 0) {
        pass mean = {.n = n_reduced, .to = out};
        fr_parallel_for(product(at.size, at.n_groups), TILE, FR_PICK(divide_tiles, at.dtype),
                        &mean);
    }
}

void fr_reduce_max_gradient_run(const fr_reduce *reduce, const void *x, const void *y,
                                const void *dy, void *workspace, void *dx)
{
    max_gradient_call call = {.reduce = reduce, .x = x, .y = y, .dy = dy, .dx = dx};
    int64_t kept = 1;
    for (int g = reduce->n_groups - 1; g >= 0; g--)
        if (!reduce->reduced[g]) {
            call.stride[g] = kept;
            kept *= reduce->size[g];
        }
    const int64_t count = product(reduce->size, reduce->n_groups);
    if (count == 0)
        return;
    call.taken = workspace;
    memset(call.taken, 0, (size_t)kept);
    const bool apart = reduce->n_groups > 0 && !reduce->reduced[0]; /* tasks share no y */
    const int64_t n_tasks = apart ? reduce->size[0] : 1;
    call.chunk = count / n_tasks;
    fr_parallel_for(n_tasks, call.chunk >= TILE ? 1 : TILE / call.chunk,
                    FR_PICK(max_gradient, reduce->dtype), &call);
}
