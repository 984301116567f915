/* reduce_template.h: the loops of reduce.c, once per number type (variants.h). */

/* NaN is looked for beside the maximum: the chain from step to step is then one instruction. */
static inline VARIANT_TARGET real VARIANT(row_larger)(const real *x, int64_t n)
{
    real lane[ROW_LANES];
    int32_t unordered[ROW_LANES] = {0};
    for (int l = 0; l < ROW_LANES; l++)
        lane[l] = -(real)INFINITY;
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++) {
            lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
            unordered[l] |= x[j + l] != x[j + l];
        }
    for (int l = 0; j < n; j++, l++) {
        lane[l] = x[j] > lane[l] ? x[j] : lane[l];
        unordered[l] |= x[j] != x[j];
    }
    for (int l = 1; l < ROW_LANES; l++) {
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
        unordered[0] |= unordered[l];
    }
    return unordered[0] ? (real)NAN : lane[0];
}

/* Task: one piece of one row. */
static VARIANT_TARGET void VARIANT(reduce_rows)(void *context, int64_t begin, int64_t end,
                                                int thread)
{
    (void)thread;
    const pass *at = context;
    for (int64_t task = begin; task < end; task++) {
        const int64_t row = task / at->n_cuts, first = task % at->n_cuts * at->cut;
        const int64_t n = at->n - first < at->cut ? at->n - first : at->cut;
        const real *x = (const real *)at->x + row * at->n + first;
        ((real *)at->to)[task] = at->is_max ? VARIANT(row_larger)(x, n) : VARIANT(row_sum)(x, n);
    }
}

static inline VARIANT_TARGET void VARIANT(add_columns)(const real *restrict x, int64_t n_rows,
                                                       int64_t stride, int64_t width,
                                                       real *restrict sum)
{
    int64_t row = 0;
    for (; row + 4 <= n_rows; row += 4, x += 4 * stride) /* fewer passes over the sums */
        for (int64_t j = 0; j < width; j++)
            sum[j] = (((sum[j] + x[j]) + x[stride + j]) + x[2 * stride + j]) + x[3 * stride + j];
    for (; row < n_rows; row++, x += stride)
        for (int64_t j = 0; j < width; j++)
            sum[j] += x[j];
}

static inline VARIANT_TARGET void VARIANT(max_columns)(const real *restrict x, int64_t n_rows,
                                                       int64_t stride, int64_t width,
                                                       real *restrict largest)
{
    for (int64_t row = 0; row < n_rows; row++, x += stride)
        for (int64_t j = 0; j < width; j++)
            largest[j] = fr_larger(x[j], largest[j]);
}

/* Task: up to COLUMNS columns of one piece of the rows of one outer index. */
static VARIANT_TARGET void VARIANT(reduce_columns)(void *context, int64_t begin, int64_t end,
                                                   int thread)
{
    (void)thread;
    const pass *at = context;
    for (int64_t task = begin; task < end; task++) {
        const int64_t column = task % at->n_across * COLUMNS, piece = task / at->n_across;
        const int64_t outer = piece / at->n_cuts, first = piece % at->n_cuts * at->cut;
        const int64_t n = at->n - first < at->cut ? at->n - first : at->cut;
        const int64_t left = at->inner - column, width = left < COLUMNS ? left : COLUMNS;
        const real *x = (const real *)at->x + (outer * at->n + first) * at->inner + column;
        real *to = (real *)at->to + piece * at->inner + column;
        for (int64_t j = 0; j < width; j++)
            to[j] = at->is_max ? -(real)INFINITY : 0;
        if (at->is_max)
            VARIANT(max_columns)(x, n, at->inner, width, to);
        else
            VARIANT(add_columns)(x, n, at->inner, width, to);
    }
}

static VARIANT_TARGET void VARIANT(divide_tiles)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    const pass *at = context;
    real *to = at->to;
    const real divisor = (real)at->n;
    for (int64_t i = begin; i < end; i++)
        to[i] /= divisor;
}

/* Task: one index of the first group where that is kept, everything otherwise. Group by group the
 * place in y follows from the place in x. */
static VARIANT_TARGET void VARIANT(max_gradient)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    const max_gradient_call *call = context;
    const real *x = call->x, *y = call->y, *dy = call->dy;
    real *dx = call->dx;
    for (int64_t i = begin * call->chunk; i < end * call->chunk; i++) {
        int64_t place = i, at = 0;
        for (int g = call->reduce->n_groups - 1; g >= 0; g--) {
            at += place % call->reduce->size[g] * call->stride[g];
            place /= call->reduce->size[g];
        }
        const bool wins = !call->taken[at] && (x[i] == y[at] || x[i] != x[i]);
        dx[i] = wins ? dy[at] : 0;
        call->taken[at] |= wins;
    }
}
