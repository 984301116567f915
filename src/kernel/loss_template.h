/* loss_template.h: the loops of loss.c, once per number type (variants.h). */

static VARIANT_TARGET void VARIANT(cross_entropy_rows)(void *context, int64_t begin, int64_t end,
                                                       int thread)
{
    (void)thread;
    const cross_entropy_call *call = context;
    const int64_t n = call->shape.n_classes;
    for (int64_t row = begin; row < end; row++) {
        real *kept = (real *)call->rows + 2 * row;
        const int64_t label = label_of(&call->shape, row);
        if (label == call->shape.ignore) {
            kept[0] = kept[1] = 0;
            call->row_losses[row] = 0;
            continue;
        }
        const real *x = (const real *)call->logits + row * n;
        kept[0] = VARIANT(row_max)(x, n);
        kept[1] = (real)log((double)VARIANT(row_exp_sum)(x, kept[0], n));
        call->row_losses[row] = (double)kept[1] - ((double)x[label] - (double)kept[0]);
    }
}

static VARIANT_TARGET void VARIANT(cross_entropy_gradient_rows)(void *context, int64_t begin,
                                                                int64_t end, int thread)
{
    (void)thread;
    const cross_entropy_call *call = context;
    const int64_t n = call->shape.n_classes;
    const real scale = (real)call->scale;
    for (int64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->logits + row * n;
        const real *kept = (const real *)call->rows + 2 * row;
        real *dx = (real *)call->out + row * n;
        const int64_t label = label_of(&call->shape, row);
        if (label == call->shape.ignore) {
            memset(dx, 0, (size_t)n * sizeof *dx);
            continue;
        }
        for (int64_t j = 0; j < n; j++)
            dx[j] = fr_real_exp((x[j] - kept[0]) - kept[1]) * scale;
        dx[label] -= scale;
    }
}

/*
 * Losses of elements [first, last), at most BINARY_RUN: max(x, 0) - x t + log(1 + exp(-|x|)), where
 * no term overflows. The logarithms of one lane are the logarithm of a product of numbers in [1,
 * 2]: one call of log for BINARY_RUN / ROW_LANES elements (28 ns an element by log1p, below 4 so).
 */
static inline VARIANT_TARGET double VARIANT(binary_run)(const real *x, const real *t, int64_t n,
                                                        double *counted)
{
    double linear[ROW_LANES] = {0}, product[ROW_LANES], count[ROW_LANES] = {0};
    for (int l = 0; l < ROW_LANES; l++)
        product[l] = 1;
    for (int64_t j = 0; j < n; j += ROW_LANES) {
        const int64_t lanes = n - j < ROW_LANES ? n - j : ROW_LANES;
        for (int64_t l = 0; l < lanes; l++) {
            const real logit = x[j + l], target = t[j + l];
            const double positive = (double)fr_choose(logit < 0, (real)0, logit);
            const double term = positive - (double)logit * (double)target;
            const double factor = 1 + (double)fr_real_exp(-fr_real_abs(logit));
            linear[l] += fr_choose(target < 0, 0.0, term);
            product[l] *= fr_choose(target < 0, 1.0, factor);
            count[l] += fr_choose(target < 0, 0.0, 1.0);
        }
    }
    double sum = 0;
    for (int l = 0; l < ROW_LANES; l++) {
        sum += linear[l] + log(product[l]);
        *counted += count[l];
    }
    return sum;
}

static VARIANT_TARGET void VARIANT(binary_cross_entropy_tile)(void *context, int64_t begin,
                                                              int64_t end, int thread)
{
    (void)thread;
    const binary_call *call = context;
    const real *x = call->logits, *t = call->targets;
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t first = tile * BINARY_TILE;
        const int64_t last = first + BINARY_TILE < call->n ? first + BINARY_TILE : call->n;
        double sum = 0, count = 0;
        for (int64_t i = first; i < last; i += BINARY_RUN)
            sum += VARIANT(binary_run)(x + i, t + i, last - i < BINARY_RUN ? last - i : BINARY_RUN,
                                       &count);
        call->partial[2 * tile] = sum;
        call->partial[2 * tile + 1] = count;
    }
}

static VARIANT_TARGET void VARIANT(binary_cross_entropy_gradient)(void *context, int64_t begin,
                                                                  int64_t end, int thread)
{
    (void)thread;
    const binary_call *call = context;
    const real *x = call->logits, *t = call->targets;
    real *dx = call->out;
    const real scale = (real)call->scale;
    for (int64_t i = begin; i < end; i++) {
        const real e = fr_real_exp(-fr_real_abs(x[i])), upper = (real)1 / ((real)1 + e);
        const real sigmoid = fr_choose(x[i] < 0, e * upper, upper);
        dx[i] = fr_choose(t[i] < 0, (real)0, (sigmoid - t[i]) * scale);
    }
}
