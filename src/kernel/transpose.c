/*
 * transpose.c: see transpose.h.
 *
 * Dims of 1 are dropped and dims that stay neighbours are merged first; most permutations then are
 * a copy of rows (the last dim stays) or of blocks in which the last dims of x and of out change
 * places. Blocks go in squares of SQUARE elements, which the first cache holds: both sides are
 * touched a cache line at a time.
 */
#include "kernel/transpose.h"

#include <string.h>

#include "base/parallel.h"

enum { SQUARE = 32, TILE_BYTES = 65536 };

/* By dim of out: size, and elements between neighbours in x and in out. */
typedef struct permuted {
    int rank;
    int64_t size[FR_MAX_RANK], in_stride[FR_MAX_RANK], out_stride[FR_MAX_RANK];
    size_t element_bytes;
    int inner;        /* the dim of out whose in_stride is 1; rank - 1: rows are copied */
    int64_t n_across; /* squares along out's last dim */
    const char *x;
    char *out;
} permuted;

static void find_layout(const fr_tensor *x, const int64_t *permutation, permuted *at)
{
    int64_t stride[FR_MAX_RANK], step = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= x->shape[d];
    }
    for (int d = 0; d < x->rank; d++) {
        const int64_t size = x->shape[permutation[d]], in_stride = stride[permutation[d]];
        if (size == 1)
            continue;
        const int last = at->rank - 1;
        if (last >= 0 && at->in_stride[last] == in_stride * size) {
            at->size[last] *= size;
            at->in_stride[last] = in_stride;
        } else {
            at->size[at->rank] = size;
            at->in_stride[at->rank++] = in_stride;
        }
    }
    if (at->rank == 0) { /* one element */
        at->rank = 1;
        at->size[0] = at->in_stride[0] = 1;
    }
    step = 1;
    for (int d = at->rank - 1; d >= 0; d--) {
        at->out_stride[d] = step;
        step *= at->size[d];
        if (at->in_stride[d] == 1)
            at->inner = d;
    }
}

/* Task: one row of the last dim. */
static void copy_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const permuted *at = context;
    const int last = at->rank - 1;
    const size_t row_bytes = (size_t)at->size[last] * at->element_bytes;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, from = 0;
        for (int d = last - 1; d >= 0; d--) {
            from += rest % at->size[d] * at->in_stride[d];
            rest /= at->size[d];
        }
        memcpy(at->out + (size_t)row * row_bytes, at->x + (size_t)from * at->element_bytes,
               row_bytes);
    }
}

/* out[j * out_stride + i] = x[i * in_stride + j], i < n_i, j < n_j */
#define DEFINE_SQUARE(type)                                                                        \
    static void square_##type(const type *restrict x, int64_t in_stride, type *restrict out,       \
                              int64_t out_stride, int64_t n_i, int64_t n_j)                        \
    {                                                                                              \
        for (int64_t j = 0; j < n_j; j++)                                                          \
            for (int64_t i = 0; i < n_i; i++)                                                      \
                out[j * out_stride + i] = x[i * in_stride + j];                                    \
    }
DEFINE_SQUARE(uint8_t)
DEFINE_SQUARE(uint16_t)
DEFINE_SQUARE(uint32_t)
DEFINE_SQUARE(uint64_t)
#undef DEFINE_SQUARE

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A strip of squares: SQUARE places of out's last dim by all of x's last dim. */
static void move_strip(const permuted *at, int64_t from, int64_t to, int64_t n_i)
{
    const int last = at->rank - 1;
    const int64_t in_stride = at->in_stride[last], out_stride = at->out_stride[at->inner];
    for (int64_t j = 0; j < at->size[at->inner]; j += SQUARE) {
        const int64_t n_j = least(SQUARE, at->size[at->inner] - j);
        const int64_t x = from + j, out = to + j * out_stride;
        if (at->element_bytes == 4)
            square_uint32_t((const uint32_t *)(const void *)at->x + x, in_stride,
                            (uint32_t *)(void *)at->out + out, out_stride, n_i, n_j);
        else if (at->element_bytes == 8)
            square_uint64_t((const uint64_t *)(const void *)at->x + x, in_stride,
                            (uint64_t *)(void *)at->out + out, out_stride, n_i, n_j);
        else if (at->element_bytes == 2)
            square_uint16_t((const uint16_t *)(const void *)at->x + x, in_stride,
                            (uint16_t *)(void *)at->out + out, out_stride, n_i, n_j);
        else
            square_uint8_t((const uint8_t *)at->x + x, in_stride, (uint8_t *)at->out + out,
                           out_stride, n_i, n_j);
    }
}

/* Task: one strip at one index of all dims but the two. */
static void move_strips(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const permuted *at = context;
    const int last = at->rank - 1;
    for (int64_t task = begin; task < end; task++) {
        const int64_t i = task % at->n_across * SQUARE;
        int64_t rest = task / at->n_across, from = i * at->in_stride[last], to = i;
        for (int d = last - 1; d >= 0; d--) {
            if (d == at->inner)
                continue;
            from += rest % at->size[d] * at->in_stride[d];
            to += rest % at->size[d] * at->out_stride[d];
            rest /= at->size[d];
        }
        move_strip(at, from, to, least(SQUARE, at->size[last] - i));
    }
}

static int64_t tile_of(int64_t bytes)
{
    return bytes >= TILE_BYTES ? 1 : TILE_BYTES / (bytes < 1 ? 1 : bytes);
}

void fr_transpose_run(const fr_tensor *x, const int64_t *permutation, void *out)
{
    permuted at = {.element_bytes = fr_dtype_bytes(x->dtype), .x = x->data, .out = out};
    int64_t count = 1;
    for (int d = 0; d < x->rank; d++)
        count *= x->shape[d];
    if (count == 0)
        return;
    find_layout(x, permutation, &at);
    const int last = at.rank - 1;
    const int64_t element = (int64_t)at.element_bytes;
    if (at.rank == 1) {
        fr_copy_blocks(x->data, 0, out, 0, count * element, 1);
    } else if (at.inner == last) {
        fr_parallel_for(count / at.size[last], tile_of(at.size[last] * element), copy_rows, &at);
    } else {
        at.n_across = (at.size[last] + SQUARE - 1) / SQUARE;
        const int64_t outer = count / at.size[last] / at.size[at.inner];
        fr_parallel_for(outer * at.n_across,
                        tile_of(least(SQUARE, at.size[last]) * at.size[at.inner] * element),
                        move_strips, &at);
    }
}

/* ---- blocks ---- */

typedef struct blocks {
    const char *from;
    char *to;
    int64_t from_stride, to_stride, bytes;
    int64_t piece, n_pieces; /* a long block is cut */
} blocks;

static void copy_pieces(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const blocks *at = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i / at->n_pieces, first = i % at->n_pieces * at->piece;
        memcpy(at->to + block * at->to_stride + first, at->from + block * at->from_stride + first,
               (size_t)least(at->piece, at->bytes - first));
    }
}

void fr_copy_blocks(const void *from, int64_t from_stride, void *to, int64_t to_stride,
                    int64_t bytes, int64_t n)
{
    if (bytes == 0 || n == 0)
        return;
    blocks at = {.from = from, .to = to, .from_stride = from_stride, .to_stride = to_stride};
    at.bytes = bytes;
    at.piece = least(bytes, TILE_BYTES);
    at.n_pieces = (bytes + at.piece - 1) / at.piece;
    fr_parallel_for(n * at.n_pieces, tile_of(at.piece), copy_pieces, &at);
}
