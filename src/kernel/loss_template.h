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
        for (int64_t i = first; i < last; i++) {
            if (t[i] < 0)
                continue;
            /* max(x, 0) - x t + log(1 + exp(-|x|)): no term overflows. */
            const double logit = (double)x[i], target = (double)t[i];
            sum += (logit > 0 ? logit : 0) - logit * target +
                   log1p((double)fr_real_exp(-fr_real_abs(x[i])));
            count += 1;
        }
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
