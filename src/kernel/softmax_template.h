/*
 * softmax_template.h: the loops of softmax.c, once per number type (variants.h).
 *
 * Rows that lie contiguous (inner = 1) go one by one; otherwise a group of up to SOFTMAX_COLUMNS
 * neighbouring columns walks the axis together, so that loops still run over contiguous elements.
 */

static VARIANT_TARGET void VARIANT(softmax_rows)(void *context, int64_t begin, int64_t end,
                                                 int thread)
{
    (void)thread;
    const softmax_call *call = context;
    const int64_t n = call->shape.n;
    for (int64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->x + row * n;
        real *y = (real *)call->out + row * n;
        const real largest = VARIANT(row_max)(x, n);
        if (call->shape.log) {
            const real log_sum = (real)log((double)VARIANT(row_exp_sum)(x, largest, n));
            for (int64_t j = 0; j < n; j++)
                y[j] = (x[j] - largest) - log_sum;
        } else {
            for (int64_t j = 0; j < n; j++)
                y[j] = fr_real_exp(x[j] - largest);
            const real sum = VARIANT(row_sum)(y, n);
            for (int64_t j = 0; j < n; j++)
                y[j] /= sum;
        }
    }
}

static VARIANT_TARGET void VARIANT(softmax_gradient_rows)(void *context, int64_t begin, int64_t end,
                                                          int thread)
{
    (void)thread;
    const softmax_call *call = context;
    const int64_t n = call->shape.n;
    for (int64_t row = begin; row < end; row++) {
        const real *y = (const real *)call->x + row * n;
        const real *dy = (const real *)call->dy + row * n;
        real *dx = (real *)call->out + row * n;
        if (call->shape.log) {
            const real sum = VARIANT(row_sum)(dy, n);
            for (int64_t j = 0; j < n; j++)
                dx[j] = dy[j] - fr_real_exp(y[j]) * sum;
        } else {
            const real dot = VARIANT(row_dot)(dy, y, n);
            for (int64_t j = 0; j < n; j++)
                dx[j] = y[j] * (dy[j] - dot);
        }
    }
}

static VARIANT_TARGET void VARIANT(softmax_columns)(void *context, int64_t begin, int64_t end,
                                                    int thread)
{
    (void)thread;
    const softmax_call *call = context;
    const int64_t n = call->shape.n, inner = call->shape.inner;
    real largest[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
    for (int64_t group = begin; group < end; group++) {
        const column_group at = column_group_of(call, group);
        const real *x = (const real *)call->x + at.offset;
        real *y = (real *)call->out + at.offset;
        for (int64_t c = 0; c < at.columns; c++) {
            largest[c] = -(real)INFINITY;
            sum[c] = 0;
        }
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < at.columns; c++)
                largest[c] = x[j * inner + c] > largest[c] ? x[j * inner + c] : largest[c];
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < at.columns; c++) {
                const real e = fr_real_exp(x[j * inner + c] - largest[c]);
                y[j * inner + c] = e;
                sum[c] += e;
            }
        if (call->shape.log)
            for (int64_t c = 0; c < at.columns; c++)
                sum[c] = (real)log((double)sum[c]);
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < at.columns; c++)
                y[j * inner + c] = call->shape.log ? (x[j * inner + c] - largest[c]) - sum[c]
                                                   : y[j * inner + c] / sum[c];
    }
}

static VARIANT_TARGET void VARIANT(softmax_gradient_columns)(void *context, int64_t begin,
                                                             int64_t end, int thread)
{
    (void)thread;
    const softmax_call *call = context;
    const int64_t n = call->shape.n, inner = call->shape.inner;
    real sum[SOFTMAX_COLUMNS];
    for (int64_t group = begin; group < end; group++) {
        const column_group at = column_group_of(call, group);
        const real *y = (const real *)call->x + at.offset;
        const real *dy = (const real *)call->dy + at.offset;
        real *dx = (real *)call->out + at.offset;
        for (int64_t c = 0; c < at.columns; c++)
            sum[c] = 0;
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < at.columns; c++)
                sum[c] +=
                    call->shape.log ? dy[j * inner + c] : dy[j * inner + c] * y[j * inner + c];
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < at.columns; c++)
                dx[j * inner + c] = call->shape.log
                                        ? dy[j * inner + c] - fr_real_exp(y[j * inner + c]) * sum[c]
                                        : y[j * inner + c] * (dy[j * inner + c] - sum[c]);
    }
}
