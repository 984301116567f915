/*
 * variant_rows.h: sums and maxima along one contiguous row, in a written-down order: element j goes
 * to lane j % ROW_LANES, lanes are joined as a tree. Included by variants.h once per version.
 */

static inline VARIANT_TARGET real VARIANT(join_lanes)(real lane[ROW_LANES])
{
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/** Largest of a row; -infinity of an empty one. NaN is passed over (its exponential is not). */
static inline VARIANT_TARGET real VARIANT(row_max)(const real *x, int64_t n)
{
    real lane[ROW_LANES];
    for (int l = 0; l < ROW_LANES; l++)
        lane[l] = -(real)INFINITY;
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
    for (int l = 0; j < n; j++, l++)
        lane[l] = x[j] > lane[l] ? x[j] : lane[l];
    for (int half = ROW_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];
    return lane[0];
}

static inline VARIANT_TARGET real VARIANT(row_sum)(const real *x, int64_t n)
{
    real lane[ROW_LANES] = {0};
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] += x[j + l];
    for (int l = 0; j < n; j++, l++)
        lane[l] += x[j];
    return VARIANT(join_lanes)(lane);
}

/** Sum of x[j] * y[j]. */
static inline VARIANT_TARGET real VARIANT(row_dot)(const real *x, const real *y, int64_t n)
{
    real lane[ROW_LANES] = {0};
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] += x[j + l] * y[j + l];
    for (int l = 0; j < n; j++, l++)
        lane[l] += x[j] * y[j];
    return VARIANT(join_lanes)(lane);
}

/** Sum of x[j] * (y[j] - shift). */
static inline VARIANT_TARGET real VARIANT(row_dot_shifted)(const real *x, const real *y, real shift,
                                                           int64_t n)
{
    real lane[ROW_LANES] = {0};
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] += x[j + l] * (y[j + l] - shift);
    for (int l = 0; j < n; j++, l++)
        lane[l] += x[j] * (y[j] - shift);
    return VARIANT(join_lanes)(lane);
}

/** Sum of (x[j] - shift)^2. */
static inline VARIANT_TARGET real VARIANT(row_squares)(const real *x, real shift, int64_t n)
{
    real lane[ROW_LANES] = {0};
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] += (x[j + l] - shift) * (x[j + l] - shift);
    for (int l = 0; j < n; j++, l++)
        lane[l] += (x[j] - shift) * (x[j] - shift);
    return VARIANT(join_lanes)(lane);
}

/** Sum of exp(x[j] - shift), keeping nothing. */
static inline VARIANT_TARGET real VARIANT(row_exp_sum)(const real *x, real shift, int64_t n)
{
    real lane[ROW_LANES] = {0};
    int64_t j = 0;
    for (; j + ROW_LANES <= n; j += ROW_LANES)
        for (int l = 0; l < ROW_LANES; l++)
            lane[l] += fr_real_exp(x[j + l] - shift);
    for (int l = 0; j < n; j++, l++)
        lane[l] += fr_real_exp(x[j] - shift);
    return VARIANT(join_lanes)(lane);
}
