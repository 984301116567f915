/*
 * edge_vector.h: products and softmax on edges in vectors, for one instruction set.
 *
 * Included after spmm_vector.h. Scores of a row's edges with h heads are one contiguous run of
 * edges * h floats. Where h divides the vector's lanes, lane l of every vector in the run belongs
 * to head l mod h: the run is then handled as if it had one head, and only the end of each
 * reduction folds lanes of a head together. Other numbers of heads take the portable loop.
 */

/* score[e, h] = scale * < a[i, h], b[source[e], h] >, in four sums side by side */
INLINE float dot(const float *a, const float *b, int64_t width)
{
    vec total[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    int64_t j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES)
        for (int v = 0; v < 4; v++)
            total[v] = vec_fma(vec_load(a + j + v * LANES), vec_load(b + j + v * LANES), total[v]);
    for (; j + LANES <= width; j += LANES)
        total[0] = vec_fma(vec_load(a + j), vec_load(b + j), total[0]);
    if (j < width) {
        const mask m = mask_of(width - j);
        total[1] = vec_fma(vec_load_some(a + j, m), vec_load_some(b + j, m), total[1]);
    }
    return vec_sum(vec_add(vec_add(total[0], total[1]), vec_add(total[2], total[3])));
}

INLINE void prefetch_dot(const fr_edge_job *job, int64_t edge, int64_t values)
{
    if (edge + AHEAD >= job->rows.n_edges)
        return;
    const float *next = (const float *)job->b + job->rows.source[edge + AHEAD] * values;
    for (int64_t at = 0; at < values && at < BLOCK * LANES; at += LINE_FLOATS)
        __builtin_prefetch(next + at, 0, 3);
}

/* One vector a head: no loop, and the sums of different heads overlap. */
INLINE void dot_narrow(const fr_edge_job *job, const float *a, int64_t edge, float scale)
{
    const int64_t heads = job->heads, width = job->width;
    const float *b = (const float *)job->b + job->rows.source[edge] * heads * width;
    float *score = (float *)job->out + edge * heads;
    const mask m = mask_of(width);
    for (int64_t h = 0; h < heads; h++)
        score[h] = scale * vec_sum(vec_multiply(vec_load_some(a + h * width, m),
                                                vec_load_some(b + h * width, m)));
}

static void dot_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads, width = job->width, values = heads * width;
    float *score = job->out;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = job->rows.begin[row], last = job->rows.end[row];
        const float scale = row_scale(job->reduction, last - first);
        const float *a = (const float *)job->a + row * values;
        for (int64_t e = first; e < last; e++) {
            prefetch_dot(job, e, values);
            if (width <= LANES) {
                dot_narrow(job, a, e, scale);
                continue;
            }
            const float *b = (const float *)job->b + job->rows.source[e] * values;
            for (int64_t h = 0; h < heads; h++)
                score[e * heads + h] = scale * dot(a + h * width, b + h * width, width);
        }
    }
}

/* e^x within 2 ulp: x = n ln 2 + r, e^r by a polynomial of degree 6 (Cephes), times 2^n. 0 for
 * -infinity, no number for no number. */
INLINE vec vec_exp(vec x)
{
    const vec least = vec_all(-104.0F), most = vec_all(88.75F);
    const vec kept = vec_max(least, -vec_max(-most, -x));
    const vec n = vec_round(vec_multiply(kept, vec_all(1.44269504F)));
    vec r = vec_fma(n, vec_all(-0.693359375F), kept);
    r = vec_fma(n, vec_all(2.12194440e-4F), r);
    vec p = vec_all(1.9875691500e-4F);
    p = vec_fma(p, r, vec_all(1.3981999507e-3F));
    p = vec_fma(p, r, vec_all(8.3334519073e-3F));
    p = vec_fma(p, r, vec_all(4.1665795894e-2F));
    p = vec_fma(p, r, vec_all(1.6666665459e-1F));
    p = vec_fma(p, r, vec_all(5.0000001201e-1F));
    p = vec_add(vec_fma(vec_multiply(r, r), p, r), vec_all(1.0F));
    return vec_scale(p, n);
}

/* Every lane gets the largest (or the sum) over the lanes of its head. */
INLINE vec fold_heads(vec v, int64_t heads, const bool largest)
{
    float lane[LANES];
    vec_store(lane, v);
    for (int64_t h = 0; h < heads; h++) {
        float total = lane[h];
        for (int64_t l = h + heads; l < LANES; l += heads)
            total = largest ? (lane[l] > total ? lane[l] : total) : total + lane[l];
        for (int64_t l = h; l < LANES; l += heads)
            lane[l] = total;
    }
    return vec_load(lane);
}

INLINE void softmax_run(const float *score, int64_t n, int64_t heads, float *y)
{
    const mask tail = mask_of(n % LANES);
    const int64_t full = n - n % LANES;
    const vec lowest = vec_all(-__builtin_inff());
    vec most = lowest, total = vec_zero();
    for (int64_t j = 0; j < full; j += LANES)
        most = vec_max(vec_load(score + j), most);
    if (full < n)
        most = vec_max(vec_keep(vec_load_some(score + full, tail), tail, lowest), most);
    most = fold_heads(most, heads, true);
    for (int64_t j = 0; j < full; j += LANES) {
        const vec e = vec_exp(vec_subtract(vec_load(score + j), most));
        vec_store(y + j, e);
        total = vec_add(total, e);
    }
    if (full < n) {
        const vec e = vec_exp(vec_subtract(vec_load_some(score + full, tail), most));
        vec_store_some(y + full, tail, e);
        total = vec_add(total, vec_keep(e, tail, vec_zero()));
    }
    total = fold_heads(total, heads, false);
    for (int64_t j = 0; j < full; j += LANES)
        vec_store(y + j, vec_divide(vec_load(y + j), total));
    if (full < n)
        vec_store_some(y + full, tail, vec_divide(vec_load_some(y + full, tail), total));
}

static void softmax_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads;
    if (heads > LANES || LANES % heads != 0) {
        fr_sparse_f32_portable.softmax(job, begin, end);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = job->rows.begin[row] * heads, last = job->rows.end[row] * heads;
        if (first < last)
            softmax_run((const float *)job->a + first, last - first, heads,
                        (float *)job->out + first);
    }
}

INLINE void softmax_gradient_run(const float *y, const float *dy, int64_t n, int64_t heads,
                                 float *dx)
{
    const mask tail = mask_of(n % LANES);
    const int64_t full = n - n % LANES;
    vec total = vec_zero();
    for (int64_t j = 0; j < full; j += LANES)
        total = vec_fma(vec_load(y + j), vec_load(dy + j), total);
    if (full < n)
        total = vec_fma(vec_load_some(y + full, tail), vec_load_some(dy + full, tail), total);
    total = fold_heads(total, heads, false);
    for (int64_t j = 0; j < full; j += LANES)
        vec_store(dx + j, vec_multiply(vec_load(y + j), vec_subtract(vec_load(dy + j), total)));
    if (full < n)
        vec_store_some(dx + full, tail,
                       vec_multiply(vec_load_some(y + full, tail),
                                    vec_subtract(vec_load_some(dy + full, tail), total)));
}

static void softmax_gradient_rows(const fr_edge_job *job, int64_t begin, int64_t end)
{
    const int64_t heads = job->heads;
    if (heads > LANES || LANES % heads != 0) {
        fr_sparse_f32_portable.softmax_gradient(job, begin, end);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = job->rows.begin[row] * heads, last = job->rows.end[row] * heads;
        softmax_gradient_run((const float *)job->a + first, (const float *)job->b + first,
                             last - first, heads, (float *)job->out + first);
    }
}
