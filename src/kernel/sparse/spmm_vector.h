/*
 * spmm_vector.h: sparse products in vectors, for one instruction set.
 *
 * Included after vector_avx512.h or vector_avx2.h. A row of the output is summed in registers, up
 * to BLOCK vectors at once, over all its edges, and written once. How many vectors a block has is a
 * compile-time constant: the switch in `for_blocks` picks one of BLOCK copies of the loop. Wider
 * rows take several passes over a tile's edges, each over its own columns.
 *
 * The rows of x lie anywhere in memory, so their cache lines are asked for AHEAD edges early,
 * across the borders of rows (the average row has few edges). Distances from 4 to 32 are alike.
 */
#include "kernel/sparse/sparse_kernels.h"

enum { LINE_FLOATS = 16, AHEAD = 8 };

/* Columns [column, column + count) of one head. */
typedef struct column_block {
    int64_t head, offset; /* offset: of the first column within a row */
    mask last;            /* lanes of the last vector */
} column_block;

INLINE int64_t source_of(const fr_sparse_rows *rows, int64_t edge)
{
    return rows->source == NULL ? edge : rows->source[edge];
}

INLINE float row_scale(fr_reduction reduction, int64_t n_edges)
{
    return reduction == FR_MEAN && n_edges > 0 ? 1.0F / (float)n_edges : 1.0F;
}

INLINE float edge_weight(const fr_spmm *s, int64_t edge, int64_t head, const bool weighted)
{
    return weighted ? ((const float *)s->weight)[edge * s->heads + head] : 1.0F;
}

INLINE vec load_nth(const float *row, int v, const int vectors, mask last)
{
    return v + 1 < vectors ? vec_load(row + v * LANES) : vec_load_some(row + v * LANES, last);
}

INLINE void store_nth(float *row, int v, const int vectors, mask last, vec value)
{
    if (v + 1 < vectors)
        vec_store(row + v * LANES, value);
    else
        vec_store_some(row + v * LANES, last, value);
}

INLINE void prefetch_block(const float *row, const int vectors)
{
    for (int at = 0; at < vectors * LANES; at += LINE_FLOATS)
        __builtin_prefetch(row + at, 0, 3);
}

/* The row of x that the edge AHEAD of `edge` will read. */
INLINE void prefetch_ahead(const fr_spmm *s, const float *x, int64_t edge, const int vectors)
{
    if (s->rows.source != NULL && edge + AHEAD < s->rows.n_edges)
        prefetch_block(x + s->rows.source[edge + AHEAD] * s->x_stride, vectors);
}

/* out[i] = scale * sum over e of w[e] * x[source[e]] */
INLINE void sum_block(const fr_spmm *s, int64_t begin, int64_t end, column_block block,
                      const int vectors, const bool weighted)
{
    const float *x = (const float *)s->x + block.offset;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = s->rows.begin[row], last = s->rows.end[row];
        vec total[BLOCK];
        for (int v = 0; v < vectors; v++)
            total[v] = vec_zero();
        for (int64_t e = first; e < last; e++) {
            const float *from = x + source_of(&s->rows, e) * s->x_stride;
            const vec w = vec_all(edge_weight(s, e, block.head, weighted));
            prefetch_ahead(s, x, e, vectors);
            for (int v = 0; v < vectors; v++) {
                const vec value = load_nth(from, v, vectors, block.last);
                total[v] = weighted ? vec_fma(w, value, total[v]) : vec_add(total[v], value);
            }
        }
        const vec scale = vec_all(row_scale(s->reduction, last - first));
        float *out = (float *)s->out + row * s->out_stride + block.offset;
        for (int v = 0; v < vectors; v++)
            store_nth(out, v, vectors, block.last, vec_multiply(scale, total[v]));
    }
}

INLINE void store_winners(const fr_spmm *s, int64_t row, column_block block, const int vectors,
                          const ivec *winner)
{
    int32_t *to = s->argmax + row * s->heads * s->width + block.offset;
    for (int v = 0; v + 1 < vectors; v++)
        ivec_store(to + v * LANES, winner[v]);
    ivec_store_some(to + (vectors - 1) * LANES, block.last, winner[vectors - 1]);
}

/* The largest w[e] * x[source[e]] and the first edge that has it. */
INLINE void max_block(const fr_spmm *s, int64_t begin, int64_t end, column_block block,
                      const int vectors, const bool weighted)
{
    const float *x = (const float *)s->x + block.offset;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = s->rows.begin[row], last = s->rows.end[row];
        vec best[BLOCK];
        ivec winner[BLOCK];
        for (int v = 0; v < vectors; v++) {
            best[v] = vec_zero();
            winner[v] = ivec_all(-1);
        }
        for (int64_t e = first; e < last; e++) {
            const float *from = x + source_of(&s->rows, e) * s->x_stride;
            const vec w = vec_all(edge_weight(s, e, block.head, weighted));
            const ivec number = ivec_all((int32_t)e);
            prefetch_ahead(s, x, e, vectors);
            for (int v = 0; v < vectors; v++) {
                const vec read = load_nth(from, v, vectors, block.last);
                const vec value = weighted ? vec_multiply(w, read) : read;
                if (e == first) {
                    best[v] = value;
                    winner[v] = number;
                } else {
                    vec_take_larger(&best[v], &winner[v], value, number);
                }
            }
        }
        float *out = (float *)s->out + row * s->out_stride + block.offset;
        for (int v = 0; v < vectors; v++)
            store_nth(out, v, vectors, block.last, best[v]);
        if (s->argmax != NULL)
            store_winners(s, row, block, vectors, winner);
    }
}

/* Calls `loop` for a block of 1 to BLOCK vectors, the number a constant in each copy. */
#define BLOCK_CASE(n, loop, ...)                                                                   \
    case n:                                                                                        \
        if (s->weight != NULL)                                                                     \
            loop(__VA_ARGS__, n, true);                                                            \
        else                                                                                       \
            loop(__VA_ARGS__, n, false);                                                           \
        break;
#define BLOCK_CASES_8(loop, ...)                                                                   \
    BLOCK_CASE(1, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(2, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(3, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(4, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(5, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(6, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(7, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(8, loop, __VA_ARGS__)
#define BLOCK_CASES_16(loop, ...)                                                                  \
    BLOCK_CASES_8(loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(9, loop, __VA_ARGS__)                                                               \
    BLOCK_CASE(10, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(11, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(12, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(13, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(14, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(15, loop, __VA_ARGS__)                                                              \
    BLOCK_CASE(16, loop, __VA_ARGS__)

#if defined(VECTOR_BLOCK_16)
#define BLOCK_CASES BLOCK_CASES_16
#else
#define BLOCK_CASES BLOCK_CASES_8
#endif

/* The next block of a head from `column` on, of at most `most` vectors; returns its vectors. */
INLINE int next_block(const fr_spmm *s, int64_t head, int64_t column, int64_t end, int most,
                      column_block *block)
{
    const int64_t left = end - column, wide = (int64_t)most * LANES;
    const int64_t count = left < wide ? left : wide, vectors = (count + LANES - 1) / LANES;
    block->head = head;
    block->offset = head * s->width + column;
    block->last = mask_of(count - (vectors - 1) * LANES);
    return (int)vectors;
}

static void max_rows(const fr_spmm *s, int64_t begin, int64_t end)
{
    for (int64_t head = 0; head < s->heads; head++)
        for (int64_t column = 0; column < s->width; column += BLOCK / 2 * LANES) {
            column_block block;
            switch (next_block(s, head, column, s->width, BLOCK / 2, &block)) {
                BLOCK_CASES_8(max_block, s, begin, end, block)
            }
        }
}

/* ---- the transpose ---- */

/* The row of the output that the edge AHEAD of `edge` will add to, where it is in our range. */
INLINE void prefetch_target(const fr_spmm *s, const float *base, int64_t edge, int64_t lowest,
                            uint64_t span, const int vectors)
{
    if (edge + AHEAD >= s->rows.n_edges)
        return;
    const int64_t next = s->rows.source[edge + AHEAD];
    if ((uint64_t)(next - lowest) < span)
        prefetch_block(base + next * s->out_stride, vectors);
}

/* out[source[e]] += w[e] * scale * x[i], for sources in [lowest, highest): of a max only the
 * columns that edge e won. */
INLINE void scatter_block(const fr_spmm *s, int64_t lowest, int64_t highest, column_block block,
                          const int vectors, const bool weighted)
{
    const uint64_t span = (uint64_t)(highest - lowest);
    float *const base = (float *)s->out + block.offset;
    for (int64_t row = 0; row < s->rows.n_rows; row++) {
        const int64_t first = s->rows.begin[row], last = s->rows.end[row];
        const float *x = (const float *)s->x + row * s->x_stride + block.offset;
        const vec scale = vec_all(row_scale(s->reduction, last - first));
        vec value[BLOCK];
        for (int v = 0; v < vectors; v++)
            value[v] = vec_multiply(scale, load_nth(x, v, vectors, block.last));
        for (int64_t e = first; e < last; e++) {
            prefetch_target(s, base, e, lowest, span, vectors);
            const int64_t source = s->rows.source[e];
            if ((uint64_t)(source - lowest) >= span)
                continue;
            float *out = base + source * s->out_stride;
            const vec w = vec_all(edge_weight(s, e, block.head, weighted));
            for (int v = 0; v < vectors; v++) {
                const vec old = load_nth(out, v, vectors, block.last);
                store_nth(out, v, vectors, block.last,
                          weighted ? vec_fma(w, value[v], old) : vec_add(value[v], old));
            }
        }
    }
}

INLINE void scatter_max_block(const fr_spmm *s, int64_t lowest, int64_t highest, column_block block,
                              const int vectors, const bool weighted)
{
    const uint64_t span = (uint64_t)(highest - lowest);
    for (int64_t row = 0; row < s->rows.n_rows; row++) {
        const float *x = (const float *)s->x + row * s->x_stride + block.offset;
        const int32_t *winner = s->argmax + row * s->heads * s->width + block.offset;
        for (int64_t e = s->rows.begin[row]; e < s->rows.end[row]; e++) {
            const int64_t source = s->rows.source[e];
            if ((uint64_t)(source - lowest) >= span)
                continue;
            float *out = (float *)s->out + source * s->out_stride + block.offset;
            const vec w = vec_all(edge_weight(s, e, block.head, weighted));
            for (int v = 0; v < vectors; v++) {
                const mask m = v + 1 < vectors ? mask_of(LANES) : block.last;
                const vec won =
                    vec_where_equal(vec_load_some(x + v * LANES, m),
                                    ivec_load_some(winner + v * LANES, m), ivec_all((int32_t)e));
                const vec old = vec_load_some(out + v * LANES, m);
                vec_store_some(out + v * LANES, m, vec_fma(w, won, old));
            }
        }
    }
}
