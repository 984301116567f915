/*
 * batch_norm_template.h: the loops of batch_norm.c, once per number type (variants.h).
 *
 * x is [n_rows, channels, inner]. inner = 1 (rows of features) runs along the channels, else
 * along each channel's contiguous values. Partial sums are in `real` within a cut of the rows and
 * joined in double.
 */

/* Adds one row of features [channels] to a cut's sums. */
static inline VARIANT_TARGET void VARIANT(add_features)(const batch_call *call, const real *x,
                                                        const real *dy, real *restrict first_sum,
                                                        real *restrict second_sum)
{
    const int64_t channels = call->norm.channels;
    const real *mean = call->mean, *inverse = call->inverse;
    if (call->kind == BATCH_MEAN)
        for (int64_t c = 0; c < channels; c++)
            first_sum[c] += x[c];
    else if (call->kind == BATCH_VARIANCE)
        for (int64_t c = 0; c < channels; c++)
            first_sum[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
    else
        for (int64_t c = 0; c < channels; c++) {
            first_sum[c] += dy[c];
            second_sum[c] += dy[c] * ((x[c] - mean[c]) * inverse[c]);
        }
}

/* Adds one image [channels, inner] to a cut's sums. */
static inline VARIANT_TARGET void VARIANT(add_image)(const batch_call *call, const real *x,
                                                     const real *dy, real *first_sum,
                                                     real *second_sum)
{
    const int64_t channels = call->norm.channels, inner = call->norm.inner;
    const real *mean = call->mean, *inverse = call->inverse;
    for (int64_t c = 0; c < channels;
         c++, x += inner, dy += call->kind == BATCH_GRADIENT ? inner : 0)
        if (call->kind == BATCH_MEAN) {
            first_sum[c] += VARIANT(row_sum)(x, inner);
        } else if (call->kind == BATCH_VARIANCE) {
            first_sum[c] += VARIANT(row_squares)(x, mean[c], inner);
        } else {
            first_sum[c] += VARIANT(row_sum)(dy, inner);
            second_sum[c] += inverse[c] * VARIANT(row_dot_shifted)(dy, x, mean[c], inner);
        }
}

/* One cut's sums per channel: of x, of (x - mean)^2, or of dy and dy h. */
static VARIANT_TARGET void VARIANT(batch_cuts)(void *context, int64_t begin, int64_t end,
                                               int thread)
{
    (void)thread;
    const batch_call *call = context;
    const int64_t channels = call->norm.channels, row_values = channels * call->norm.inner;
    const int64_t rows_per_cut = fr_rows_per_cut(call->norm.n_rows);
    for (int64_t cut = begin; cut < end; cut++) {
        real *first_sum = (real *)call->scratch + cut * 2 * channels;
        for (int64_t c = 0; c < 2 * channels; c++)
            first_sum[c] = 0;
        const int64_t first = cut * rows_per_cut, past = first + rows_per_cut;
        const int64_t last = past < call->norm.n_rows ? past : call->norm.n_rows;
        for (int64_t row = first; row < last; row++) {
            const real *x = (const real *)call->x + row * row_values;
            const real *dy =
                call->kind == BATCH_GRADIENT ? (const real *)call->dy + row * row_values : x;
            if (call->norm.inner == 1)
                VARIANT(add_features)(call, x, dy, first_sum, first_sum + channels);
            else
                VARIANT(add_image)(call, x, dy, first_sum, first_sum + channels);
        }
    }
}

/* Sum number `which` of channel c over all cuts. */
static double VARIANT(batch_join)(const batch_call *call, int64_t n_cuts, int which, int64_t c)
{
    const int64_t channels = call->norm.channels;
    double sum = 0;
    for (int64_t cut = 0; cut < n_cuts; cut++)
        sum += (double)((const real *)call->scratch)[(cut * 2 + which) * channels + c];
    return sum;
}

/* Mean of every channel from the sums of x. */
static void VARIANT(batch_mean)(const batch_call *call, int64_t n_cuts, double n)
{
    real *mean = call->mean;
    for (int64_t c = 0; c < call->norm.channels; c++)
        mean[c] = (real)(n > 0 ? VARIANT(batch_join)(call, n_cuts, 0, c) / n : 0);
}

/* Inverse deviation from the sums of squares; moves the running statistics. */
static void VARIANT(batch_inverse)(const batch_call *call, int64_t n_cuts, double n)
{
    const real *mean = call->mean;
    real *inverse = call->inverse;
    real *running_mean = call->running_mean, *running_variance = call->running_variance;
    const double momentum = call->norm.momentum;
    for (int64_t c = 0; c < call->norm.channels; c++) {
        const double squares = VARIANT(batch_join)(call, n_cuts, 0, c);
        inverse[c] = (real)(1 / sqrt((n > 0 ? squares / n : 0) + call->norm.epsilon));
        if (n > 0) {
            const double unbiased = n > 1 ? squares / (n - 1) : 0;
            running_mean[c] =
                (real)((1 - momentum) * (double)running_mean[c] + momentum * (double)mean[c]);
            running_variance[c] =
                (real)((1 - momentum) * (double)running_variance[c] + momentum * unbiased);
        }
    }
}

static void VARIANT(batch_from_states)(const batch_call *call)
{
    const real *running_mean = call->running_mean, *running_variance = call->running_variance;
    real *mean = call->mean, *inverse = call->inverse;
    for (int64_t c = 0; c < call->norm.channels; c++) {
        mean[c] = running_mean[c];
        inverse[c] = (real)(1 / sqrt((double)running_variance[c] + call->norm.epsilon));
    }
}

static VARIANT_TARGET void VARIANT(batch_apply)(void *context, int64_t begin, int64_t end,
                                                int thread)
{
    (void)thread;
    const batch_call *call = context;
    const int64_t channels = call->norm.channels, inner = call->norm.inner;
    const real *mean = call->mean, *inverse = call->inverse, *scale = call->scale,
               *bias = call->bias;
    for (int64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->x + row * channels * inner;
        real *y = (real *)call->out + row * channels * inner;
        if (inner == 1)
            for (int64_t c = 0; c < channels; c++)
                y[c] = (x[c] - mean[c]) * inverse[c] * scale[c] + bias[c];
        else
            for (int64_t c = 0; c < channels; c++)
                for (int64_t s = c * inner; s < (c + 1) * inner; s++)
                    y[s] = (x[s] - mean[c]) * inverse[c] * scale[c] + bias[c];
    }
}

/* dscale and dbias of every channel; the parts of dx they make, divided by n, into the scratch. */
static void VARIANT(batch_gradient_sums)(const batch_call *call, int64_t n_cuts, double n)
{
    const int64_t channels = call->norm.channels;
    real *dbias = call->dbias, *dscale = call->dscale, *part = call->scratch;
    for (int64_t c = 0; c < channels; c++) {
        const double sum = VARIANT(batch_join)(call, n_cuts, 0, c),
                     sum_h = VARIANT(batch_join)(call, n_cuts, 1, c);
        dbias[c] = (real)sum;
        dscale[c] = (real)sum_h;
        /* Cut 0's place: channel c's sums have just been read, no other channel's are. */
        part[c] = (real)(call->norm.training && n > 0 ? sum / n : 0);
        part[channels + c] = (real)(call->norm.training && n > 0 ? sum_h / n : 0);
    }
}

static VARIANT_TARGET void VARIANT(batch_gradient_apply)(void *context, int64_t begin, int64_t end,
                                                         int thread)
{
    (void)thread;
    const batch_call *call = context;
    const int64_t channels = call->norm.channels, inner = call->norm.inner;
    const real *mean = call->mean, *inverse = call->inverse, *scale = call->scale;
    const real *mean_dy = call->scratch, *mean_dyh = mean_dy + channels;
    for (int64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->x + row * channels * inner;
        const real *dy = (const real *)call->dy + row * channels * inner;
        real *dx = (real *)call->out + row * channels * inner;
        for (int64_t c = 0; inner == 1 && c < channels; c++) {
            const real h = (x[c] - mean[c]) * inverse[c];
            dx[c] = scale[c] * inverse[c] * (dy[c] - mean_dy[c] - h * mean_dyh[c]);
        }
        for (int64_t c = 0; inner != 1 && c < channels; c++)
            for (int64_t s = c * inner; s < (c + 1) * inner; s++) {
                const real h = (x[s] - mean[c]) * inverse[c];
                dx[s] = scale[c] * inverse[c] * (dy[s] - mean_dy[c] - h * mean_dyh[c]);
            }
    }
}
