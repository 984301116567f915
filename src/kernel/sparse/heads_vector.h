/*
 * heads_vector.h: sums and transposes over rows of several heads, in vectors.
 *
 * With up to LANES heads a row of heads * width values is taken as one: an edge's weights are one
 * vector, and the weights of vector v are picked from it by a table of lane -> head, made once per
 * block of columns. So an edge's row is read in one go, whatever the width of a head: 8 heads of
 * width 16 run at 0.40 of the random-row ceiling head by head, at 0.99 so. Where there are
 * more heads than lanes, or none have weights, heads are taken one by one.
 */

enum { HEADS_BLOCK = 8 }; /* vectors of sums, and as many of lane -> head */

/* head_of[v], lane l: the head of value block.offset + v * LANES + l */
INLINE void find_heads(const fr_spmm *s, column_block block, const int vectors, ivec *head_of)
{
    for (int v = 0; v < vectors; v++) {
        int32_t head[LANES];
        for (int l = 0; l < LANES; l++) {
            const int64_t h = (block.offset + v * LANES + l) / s->width;
            head[l] = (int32_t)(h < s->heads ? h : 0);
        }
        head_of[v] = ivec_load(head);
    }
}

INLINE vec edge_weights(const fr_spmm *s, int64_t edge, mask heads)
{
    return vec_load_some((const float *)s->weight + edge * s->heads, heads);
}

INLINE void sum_heads_block(const fr_spmm *s, int64_t begin, int64_t end, column_block block,
                            const int vectors, const bool weighted)
{
    const float *x = (const float *)s->x + block.offset;
    const mask heads = mask_of(s->heads);
    ivec head_of[HEADS_BLOCK];
    (void)weighted;
    find_heads(s, block, vectors, head_of);
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = s->rows.begin[row], last = s->rows.end[row];
        vec total[HEADS_BLOCK];
        for (int v = 0; v < vectors; v++)
            total[v] = vec_zero();
        for (int64_t e = first; e < last; e++) {
            const float *from = x + source_of(&s->rows, e) * s->x_stride;
            const vec w = edge_weights(s, e, heads);
            prefetch_ahead(s, x, e, vectors);
            for (int v = 0; v < vectors; v++)
                total[v] = vec_fma(vec_pick(w, head_of[v]), load_nth(from, v, vectors, block.last),
                                   total[v]);
        }
        const vec scale = vec_all(row_scale(s->reduction, last - first));
        float *out = (float *)s->out + row * s->out_stride + block.offset;
        for (int v = 0; v < vectors; v++)
            store_nth(out, v, vectors, block.last, vec_multiply(scale, total[v]));
    }
}

INLINE void scatter_heads_block(const fr_spmm *s, int64_t lowest, int64_t highest,
                                column_block block, const int vectors, const bool weighted)
{
    const uint64_t span = (uint64_t)(highest - lowest);
    const mask heads = mask_of(s->heads);
    float *const base = (float *)s->out + block.offset;
    ivec head_of[HEADS_BLOCK];
    (void)weighted;
    find_heads(s, block, vectors, head_of);
    for (int64_t row = 0; row < s->rows.n_rows; row++) {
        const int64_t first = s->rows.begin[row], last = s->rows.end[row];
        const float *x = (const float *)s->x + row * s->x_stride + block.offset;
        const vec scale = vec_all(row_scale(s->reduction, last - first));
        vec value[HEADS_BLOCK];
        for (int v = 0; v < vectors; v++)
            value[v] = vec_multiply(scale, load_nth(x, v, vectors, block.last));
        for (int64_t e = first; e < last; e++) {
            prefetch_target(s, base, e, lowest, span, vectors);
            const int64_t source = s->rows.source[e];
            if ((uint64_t)(source - lowest) >= span)
                continue;
            float *out = base + source * s->out_stride;
            const vec w = edge_weights(s, e, heads);
            for (int v = 0; v < vectors; v++) {
                const vec old = load_nth(out, v, vectors, block.last);
                store_nth(out, v, vectors, block.last,
                          vec_fma(vec_pick(w, head_of[v]), value[v], old));
            }
        }
    }
}

INLINE bool heads_fit(const fr_spmm *s)
{
    return s->heads > 1 && s->heads <= LANES && s->weight != NULL;
}

/* Columns [column, end) of a row taken as one head. */
INLINE int next_values(const fr_spmm *s, int64_t column, int64_t end, column_block *block)
{
    const int vectors = next_block(s, 0, column, end, HEADS_BLOCK, block);
    block->offset = column;
    return vectors;
}

static void sum_each_head(const fr_spmm *s, int64_t begin, int64_t end)
{
    for (int64_t head = 0; head < s->heads; head++)
        for (int64_t column = 0; column < s->width; column += BLOCK * LANES) {
            column_block block;
            switch (next_block(s, head, column, s->width, BLOCK, &block)) {
                BLOCK_CASES(sum_block, s, begin, end, block)
            }
        }
}

static void sum_rows(const fr_spmm *s, int64_t begin, int64_t end)
{
    const int64_t values = s->heads * s->width;
    if (!heads_fit(s)) {
        sum_each_head(s, begin, end);
        return;
    }
    for (int64_t column = 0; column < values; column += HEADS_BLOCK * LANES) {
        column_block block;
        switch (next_values(s, column, values, &block)) {
            BLOCK_CASES_8(sum_heads_block, s, begin, end, block)
        }
    }
}

static void scatter_each_head(const fr_spmm *s, int64_t lowest, int64_t highest,
                              int64_t first_column, int64_t end_column)
{
    for (int64_t head = 0; head < s->heads; head++) {
        int64_t column = first_column - head * s->width, end = end_column - head * s->width;
        column = column < 0 ? 0 : column;
        end = end > s->width ? s->width : end;
        for (; column < end; column += BLOCK * LANES) {
            column_block block;
            const int vectors = next_block(s, head, column, end, BLOCK, &block);
            if (s->reduction == FR_MAX)
                scatter_max_block(s, lowest, highest, block, vectors, s->weight != NULL);
            else
                switch (vectors) {
                    BLOCK_CASES(scatter_block, s, lowest, highest, block)
                }
        }
    }
}

static void scatter_rows(const fr_spmm *s, int64_t lowest, int64_t highest, int64_t first_column,
                         int64_t end_column)
{
    if (!heads_fit(s) || s->reduction == FR_MAX) {
        scatter_each_head(s, lowest, highest, first_column, end_column);
        return;
    }
    for (int64_t column = first_column; column < end_column; column += HEADS_BLOCK * LANES) {
        column_block block;
        switch (next_values(s, column, end_column, &block)) {
            BLOCK_CASES_8(scatter_heads_block, s, lowest, highest, block)
        }
    }
}
