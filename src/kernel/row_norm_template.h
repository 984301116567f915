/* row_norm_template.h: the loops of row_norm.c, once per number type (variants.h). */

static VARIANT_TARGET void VARIANT(norm_rows)(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const row_norm_call *call = context;
    const int64_t n = call->norm.width;
    const real *scale = call->scale, *bias = call->bias;
    for (int64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->x + row * n;
        real *y = (real *)call->y + row * n;
        real mean = 0;
        if (call->norm.center) {
            mean = n ? VARIANT(row_sum)(x, n) / (real)n : 0;
            ((real *)call->mean)[row] = mean;
        }
        const real variance = n ? VARIANT(row_squares)(x, mean, n) / (real)n : 0;
        const real inverse = (real)(1 / sqrt((double)variance + call->norm.epsilon));
        ((real *)call->inverse)[row] = inverse;
        if (bias != NULL)
            for (int64_t j = 0; j < n; j++)
                y[j] = (x[j] - mean) * inverse * scale[j] + bias[j];
        else
            for (int64_t j = 0; j < n; j++)
                y[j] = (x[j] - mean) * inverse * scale[j];
    }
}

/* Means of g = dy scale and of g h along one row, in lanes as in variant_rows.h. */
static inline VARIANT_TARGET void VARIANT(gradient_means)(const real *x, const real *dy,
                                                          const real *scale, real mean,
                                                          real inverse, int64_t n, real *mean_g,
                                                          real *mean_gh)
{
    real g_lane[ROW_LANES] = {0}, gh_lane[ROW_LANES] = {0};
    for (int64_t j = 0; j < n; j += ROW_LANES) {
        const int64_t left = n - j, lanes = left < ROW_LANES ? left : ROW_LANES;
        for (int64_t l = 0; l < lanes; l++) {
            const real g = dy[j + l] * scale[j + l];
            g_lane[l] += g;
            gh_lane[l] += g * ((x[j + l] - mean) * inverse);
        }
    }
    *mean_g = VARIANT(join_lanes)(g_lane) / (real)n;
    *mean_gh = VARIANT(join_lanes)(gh_lane) / (real)n;
}

/* One cut of the rows: dx, and this cut's part of dscale and dbias (2 * width numbers). */
static VARIANT_TARGET void VARIANT(norm_gradient_cuts)(void *context, int64_t begin, int64_t end,
                                                       int thread)
{
    (void)thread;
    const row_norm_call *call = context;
    const fr_row_norm_gradient *at = call->gradient;
    const int64_t n = call->norm.width, rows_per_cut = fr_rows_per_cut(call->norm.n_rows);
    const real *scale = at->scale;
    for (int64_t cut = begin; cut < end; cut++) {
        real *dscale = (real *)at->scratch + cut * 2 * n, *dbias = dscale + n;
        for (int64_t j = 0; j < 2 * n; j++)
            dscale[j] = 0;
        const int64_t first = cut * rows_per_cut, past = first + rows_per_cut;
        const int64_t last = past < call->norm.n_rows ? past : call->norm.n_rows;
        for (int64_t row = first; row < last; row++) {
            const real *x = (const real *)at->x + row * n, *dy = (const real *)at->dy + row * n;
            real *dx = (real *)at->dx + row * n;
            const real mean = call->norm.center ? ((const real *)at->mean)[row] : 0;
            const real inverse = ((const real *)at->inverse)[row];
            real mean_g, mean_gh;
            VARIANT(gradient_means)(x, dy, scale, mean, inverse, n, &mean_g, &mean_gh);
            if (!call->norm.center)
                mean_g = 0;
            for (int64_t j = 0; j < n; j++) {
                const real h = (x[j] - mean) * inverse;
                dx[j] = inverse * (dy[j] * scale[j] - mean_g - h * mean_gh);
            }
            for (int64_t j = 0; j < n; j++) {
                dscale[j] += dy[j] * ((x[j] - mean) * inverse);
                dbias[j] += dy[j];
            }
        }
    }
}

/* dscale and dbias from the cuts, in their order. */
static VARIANT_TARGET void VARIANT(norm_gradient_join)(const row_norm_call *call, int64_t n_cuts)
{
    const fr_row_norm_gradient *at = call->gradient;
    const int64_t n = call->norm.width;
    real *dscale = at->dscale, *dbias = at->dbias;
    for (int64_t j = 0; j < n; j++)
        dscale[j] = 0;
    for (int64_t j = 0; dbias != NULL && j < n; j++)
        dbias[j] = 0;
    for (int64_t cut = 0; cut < n_cuts; cut++) {
        const real *part = (const real *)at->scratch + cut * 2 * n;
        for (int64_t j = 0; j < n; j++)
            dscale[j] += part[j];
        for (int64_t j = 0; dbias != NULL && j < n; j++)
            dbias[j] += part[n + j];
    }
}
