/*
 * elementwise.c: element-wise functions and broadcasting. See elementwise.h.
 *
 * The result is cut into pieces of its innermost merged dim, at most TILE elements each; a tile is
 * as many pieces as make TILE elements. Where a piece's operands begin follows from its number.
 */
#include "kernel/elementwise.h"

#include <string.h>

#include "base/parallel.h"
#include "kernel/vector_math.h"

enum { TILE = 16384 };

/* Results do not overlap operands but where they are the same elements: the loop may be
 * vectorised without looking. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call the library stay scalar */
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/* NaN on either side gives NaN. */
#define fr_larger(x, y) fr_choose(((x) >= (y)) | ((x) != (x)), x, y)
#define fr_smaller(x, y) fr_choose(((x) <= (y)) | ((x) != (x)), x, y)

typedef struct broadcast_call {
    const fr_broadcast *shape;
    int n_operands;
    int64_t piece, n_across; /* elements of a piece; pieces of the innermost dim */
    const void *operands[FR_BROADCAST_OPERANDS];
    void *out;
    int kind;
    bool smaller, other;
    size_t element_bytes;
} broadcast_call;

typedef struct map_call {
    int kind;
    double a;
    const void *x, *dy; /* dy NULL: the function itself */
    void *out;
} map_call;

typedef struct piece_place {
    int64_t offset[FR_BROADCAST_OPERANDS], step[FR_BROADCAST_OPERANDS];
    int64_t out, n;
} piece_place;

static inline void place_piece(const broadcast_call *call, int64_t piece, piece_place *at)
{
    const fr_broadcast *shape = call->shape;
    const int last = shape->rank - 1;
    int64_t row = piece / call->n_across;
    const int64_t first = piece % call->n_across * call->piece, left = shape->size[last] - first;
    at->out = row * shape->size[last] + first;
    at->n = left < call->piece ? left : call->piece;
    for (int o = 0; o < call->n_operands; o++) {
        at->step[o] = shape->stride[o][last];
        at->offset[o] = first * at->step[o];
    }
    for (int d = last - 1; d >= 0; d--) {
        const int64_t index = row % shape->size[d];
        row /= shape->size[d];
        for (int o = 0; o < call->n_operands; o++)
            at->offset[o] += index * shape->stride[o][d];
    }
}

#define TEMPLATE "kernel/elementwise_template.h"
#include "kernel/variants.h"

fr_broadcast fr_broadcast_of(const fr_tensor *out, const fr_tensor *const *in, int n_operands)
{
    fr_broadcast shape = {.rank = 0};
    for (int d = 0; d < out->rank; d++) {
        if (out->shape[d] == 1)
            continue;
        int64_t stride[FR_BROADCAST_OPERANDS] = {0};
        for (int o = 0; o < n_operands; o++) {
            const int at = d - (out->rank - in[o]->rank);
            if (at < 0 || in[o]->shape[at] == 1)
                continue;
            stride[o] = 1;
            for (int inner = at + 1; inner < in[o]->rank; inner++)
                stride[o] *= in[o]->shape[inner];
        }
        const int before = shape.rank - 1;
        bool merges = before >= 0;
        for (int o = 0; merges && o < n_operands; o++)
            merges = shape.stride[o][before] == stride[o] * out->shape[d];
        const int to = merges ? before : shape.rank++;
        shape.size[to] = merges ? shape.size[to] * out->shape[d] : out->shape[d];
        for (int o = 0; o < n_operands; o++)
            shape.stride[o][to] = stride[o];
    }
    if (shape.rank == 0) {
        shape.rank = 1;
        shape.size[0] = 1;
    }
    return shape;
}

static void run_pieces(broadcast_call *call, fr_range_function tiles)
{
    const fr_broadcast *shape = call->shape;
    const int64_t inner = shape->size[shape->rank - 1];
    int64_t rows = 1;
    for (int d = 0; d < shape->rank - 1; d++)
        rows *= shape->size[d];
    if (rows == 0 || inner == 0)
        return;
    call->piece = inner < TILE ? inner : TILE;
    call->n_across = (inner + call->piece - 1) / call->piece;
    fr_parallel_for(rows * call->n_across, TILE / call->piece, tiles, call);
}

void fr_binary_run(fr_binary kind, fr_dtype dtype, const fr_broadcast *shape, const void *a,
                   const void *b, void *out)
{
    broadcast_call call = {.shape = shape, .n_operands = 2, .operands = {a, b}, .out = out};
    call.kind = (int)kind;
    run_pieces(&call, FR_PICK(binary_tiles, dtype));
}

void fr_chosen_run(bool smaller, bool other, fr_dtype dtype, const fr_broadcast *shape,
                   const void *a, const void *b, const void *dy, void *out)
{
    broadcast_call call = {.shape = shape, .n_operands = 3, .operands = {a, b, dy}, .out = out};
    call.smaller = smaller;
    call.other = other;
    run_pieces(&call, FR_PICK(chosen_tiles, dtype));
}

void fr_unary_run(fr_unary kind, double a, fr_dtype dtype, int64_t n, const void *x, void *y)
{
    map_call call = {.kind = (int)kind, .a = a, .x = x, .out = y};
    fr_parallel_for(n, TILE, FR_PICK(map_tiles, dtype), &call);
}

void fr_unary_gradient_run(fr_unary kind, double a, fr_dtype dtype, int64_t n, const void *s,
                           const void *dy, void *dx)
{
    map_call call = {.kind = (int)kind, .a = a, .x = s, .dy = dy, .out = dx};
    fr_parallel_for(n, TILE, FR_PICK(map_tiles, dtype), &call);
}

/* ---- copies ---- */

#define COPY_PIECE(type)                                                                           \
    do {                                                                                           \
        const type *x = (const type *)call->operands[0] + at.offset[0];                            \
        type *out = (type *)call->out + at.out;                                                    \
        for (int64_t i = 0; i < at.n; i++)                                                         \
            out[i] = x[i * at.step[0]];                                                            \
    } while (0)

static void expand_tiles(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const broadcast_call *call = context;
    for (int64_t piece = begin; piece < end; piece++) {
        piece_place at;
        place_piece(call, piece, &at);
        const size_t bytes = call->element_bytes;
        if (at.step[0] == 1)
            memcpy((char *)call->out + (size_t)at.out * bytes,
                   (const char *)call->operands[0] + (size_t)at.offset[0] * bytes,
                   (size_t)at.n * bytes);
        else if (bytes == 4)
            COPY_PIECE(uint32_t);
        else if (bytes == 8)
            COPY_PIECE(uint64_t);
        else if (bytes == 2)
            COPY_PIECE(uint16_t);
        else
            COPY_PIECE(uint8_t);
    }
}

void fr_expand_run(size_t element_bytes, const fr_broadcast *shape, const void *x, void *out)
{
    broadcast_call call = {.shape = shape, .n_operands = 1, .operands = {x}, .out = out};
    call.element_bytes = element_bytes;
    run_pieces(&call, expand_tiles);
}

static void zero_tiles(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    memset((char *)context + begin, 0, (size_t)(end - begin));
}

void fr_fill_run(fr_dtype dtype, double value, int64_t n, void *out)
{
    map_call call = {.a = value, .out = out};
    if (value == 0)
        fr_parallel_for(n * (int64_t)fr_dtype_bytes(dtype), TILE * 16, zero_tiles, out);
    else
        fr_parallel_for(n, TILE, FR_PICK(fill_tiles, dtype), &call);
}
