/*
 * gemm.c: matrix products cut into tiles by shape alone.
 *
 * Two ways to cut, chosen from m, n, k and nothing else, so the bits never depend on the threads:
 *
 *   tiles    C is cut into m_tile x n_tile pieces, each one single-threaded sgemm over all of k.
 *            sgemm packs its operands per call, yet 64 rows already reach 94% of what 8192 reach
 *            (bench/kernels/gemm.c), so tiles may be small enough to balance well.
 *   chunks   a small C with a long k (weight gradients: X^T dY over all nodes) has too few tiles.
 *            k is cut into n_chunks pieces; each sums into its own buffer of the workspace, and
 *            the buffers are added in order of the chunk. Within a chunk sgemm runs over K_BLOCK
 *            rows at a time: 0.88 of peak where one call over 50000 rows gets 0.80.
 *
 * f64 exists to check gradients: packed blocks, one order of additions, no library.
 */
#include "kernel/gemm.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "kernel/onednn.h"

enum {
    N_TILE = 512,
    M_TILE_LEAST = 64,
    M_TILE_MOST = 512,
    TILES_WANTED = 32,
    TILE_WORK = 2 << 20,          /* FLOP: 10 us, ten times what handing out a tile costs */
    SERIAL_WORK = 2 << 20,        /* below it, waking a thread costs more than it saves */
    CHUNKED_ELEMENTS = 512 * 512, /* largest C that is cut along k */
    CHUNK_LEAST = 2048,
    CHUNKS_MOST = 16,
    K_BLOCK = 1024,
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

/* How many pieces a k is cut into where C is small enough. Grows with k. */
static int64_t chunks_of(int64_t k)
{
    const int64_t n = least(CHUNKS_MOST, k / CHUNK_LEAST);
    return n < 2 ? 1 : n;
}

static bool is_chunked(int64_t m, int64_t n, int64_t k)
{
    return m <= CHUNKED_ELEMENTS && n <= CHUNKED_ELEMENTS && m * n <= CHUNKED_ELEMENTS &&
           chunks_of(k) > 1;
}

size_t fr_gemm_workspace(int64_t m, int64_t n, int64_t k, size_t element_bytes)
{
    if (m <= 0 || n <= 0 || k <= 0 || element_bytes != sizeof(float) || chunks_of(k) == 1)
        return 0;
    /* A larger C is not chunked, but a smaller one bound to the same plan may be: hence the cap
     * and not 0. */
    const bool large = m > CHUNKED_ELEMENTS || n > CHUNKED_ELEMENTS || m * n > CHUNKED_ELEMENTS;
    const int64_t elements = large ? CHUNKED_ELEMENTS : m * n;
    return (size_t)(elements * chunks_of(k)) * element_bytes;
}

static fr_status check(const fr_gemm *g, size_t element_bytes)
{
    if (g->m < 0 || g->n < 0 || g->k < 0)
        return fr_fail(FR_ESHAPE, "matrix product: sizes m=%" PRId64 " n=%" PRId64 " k=%" PRId64,
                       g->m, g->n, g->k);
    const int64_t a_width = g->transpose_a ? g->m : g->k, b_width = g->transpose_b ? g->k : g->n;
    if (g->lda < a_width || g->ldb < b_width || g->ldc < g->n)
        return fr_fail(FR_ESHAPE,
                       "matrix product: rows of %" PRId64 ", %" PRId64 ", %" PRId64
                       " elements lie %" PRId64 ", %" PRId64 ", %" PRId64 " apart",
                       a_width, b_width, g->n, g->lda, g->ldb, g->ldc);
    if (g->workspace == NULL && !g->whole_k && is_chunked(g->m, g->n, g->k) &&
        fr_gemm_workspace(g->m, g->n, g->k, element_bytes) != 0)
        return fr_fail(FR_EINVAL, "matrix product: %zu bytes of workspace are needed, none given",
                       fr_gemm_workspace(g->m, g->n, g->k, element_bytes));
    return FR_OK;
}

/* ---- f32 ---- */

/* One job of several tiles. Each tile keeps its status; only thread 0 of the caller reports. */
typedef struct gemm_tiles {
    const fr_gemm *gemm;
    int64_t m_tile, n_tile, n_across; /* tiles along n */
    int64_t n_chunks, chunk;          /* pieces of k */
    float *partial;                   /* n_chunks x m x n */
    _Atomic int status;
} gemm_tiles;

static const float *at(const void *matrix, int64_t stride, bool transposed, int64_t row,
                       int64_t column)
{
    const float *values = matrix;
    return transposed ? values + column * stride + row : values + row * stride + column;
}

static void keep_failure(gemm_tiles *tiles, fr_status status)
{
    if (status != FR_OK)
        tiles->status = (int)status;
}

static void run_tiles(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    gemm_tiles *t = context;
    const fr_gemm *g = t->gemm;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i / t->n_across * t->m_tile, column = i % t->n_across * t->n_tile;
        keep_failure(
            t, fr_onednn_sgemm(g->transpose_a, g->transpose_b, least(t->m_tile, g->m - row),
                               least(t->n_tile, g->n - column), g->k, (float)g->alpha,
                               at(g->a, g->lda, g->transpose_a, row, 0), g->lda,
                               at(g->b, g->ldb, g->transpose_b, 0, column), g->ldb, (float)g->beta,
                               (float *)g->c + row * g->ldc + column, g->ldc));
    }
}

static void run_chunks(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    gemm_tiles *t = context;
    const fr_gemm *g = t->gemm;
    for (int64_t i = begin; i < end; i++) {
        float *partial = t->partial + i * g->m * g->n;
        const int64_t first = i * t->chunk, last = least(g->k, first + t->chunk);
        for (int64_t k = first; k < last; k += K_BLOCK)
            keep_failure(t, fr_onednn_sgemm(g->transpose_a, g->transpose_b, g->m, g->n,
                                            least(K_BLOCK, last - k), (float)g->alpha,
                                            at(g->a, g->lda, g->transpose_a, 0, k), g->lda,
                                            at(g->b, g->ldb, g->transpose_b, k, 0), g->ldb,
                                            k == first ? 0.0F : 1.0F, partial, g->n));
    }
}

/* C = beta * C + partial[0] + partial[1] + ..., added from left to right; rows [begin, end). */
static void add_chunks(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const gemm_tiles *t = context;
    const fr_gemm *g = t->gemm;
    const float beta = (float)g->beta;
    const int64_t elements = g->m * g->n;
    for (int64_t row = begin; row < end; row++) {
        float *restrict c = (float *)g->c + row * g->ldc;
        const float *restrict partial = t->partial + row * g->n;
        for (int64_t j = 0; j < g->n; j++)
            c[j] = beta == 0.0F ? partial[j] : beta * c[j] + partial[j];
        for (int64_t i = 1; i < t->n_chunks; i++) {
            partial += elements;
            for (int64_t j = 0; j < g->n; j++)
                c[j] += partial[j];
        }
    }
}

/* Rows of a tile: as many as leave TILES_WANTED tiles, as each tile packs B anew, but no tile of
 * less than TILE_WORK. Of peak at 2048^3: 0.82 where 16 tiles are wanted, 0.77 with 32, 0.70 with
 * 64, 0.64 with as many as there are 64 rows; 32 leave 16 threads two tiles each. */
static int64_t tile_rows(int64_t m, int64_t n, int64_t k)
{
    const double columns = (double)least(n, N_TILE), work = 2.0 * columns * (double)k;
    if (work * (double)m < SERIAL_WORK && n <= N_TILE)
        return m;
    const int64_t across = (n + N_TILE - 1) / N_TILE;
    int64_t rows = M_TILE_MOST;
    while (rows > M_TILE_LEAST && (m + rows - 1) / rows * across < TILES_WANTED &&
           work * (double)rows > 2 * TILE_WORK)
        rows /= 2;
    return rows;
}

/* C = beta * C, where nothing is multiplied. A beta of 0 clears even what is not a number. */
static void scale_f32(const fr_gemm *g)
{
    for (int64_t row = 0; row < g->m; row++)
        for (int64_t j = 0; j < g->n; j++) {
            float *c = (float *)g->c + row * g->ldc + j;
            *c = g->beta == 0.0 ? 0.0F : (float)g->beta * *c;
        }
}

fr_status fr_gemm_f32(const fr_gemm *g)
{
    FR_RETURN_IF_ERROR(check(g, sizeof(float)));
    if (g->m == 0 || g->n == 0)
        return FR_OK;
    if (g->k == 0 || g->alpha == 0.0) {
        scale_f32(g);
        return FR_OK;
    }
    gemm_tiles tiles = {.gemm = g, .partial = g->workspace, .status = FR_OK};
    if (!g->whole_k && is_chunked(g->m, g->n, g->k)) {
        const int64_t n = chunks_of(g->k);
        tiles.chunk = round_up((g->k + n - 1) / n, K_BLOCK);
        tiles.n_chunks = (g->k + tiles.chunk - 1) / tiles.chunk;
        fr_parallel_for(tiles.n_chunks, 1, run_chunks, &tiles);
        fr_parallel_for(g->m, 1 + 65536 / (g->n * tiles.n_chunks), add_chunks, &tiles);
    } else {
        tiles.m_tile = tile_rows(g->m, g->n, g->k);
        tiles.n_tile = least(g->n, N_TILE);
        tiles.n_across = (g->n + tiles.n_tile - 1) / tiles.n_tile;
        const int64_t down = (g->m + tiles.m_tile - 1) / tiles.m_tile;
        fr_parallel_for(down * tiles.n_across, 1, run_tiles, &tiles);
    }
    /* The sentence lies with the worker that failed: say it again here. */
    if (tiles.status != FR_OK)
        return fr_fail((fr_status)tiles.status,
                       "matrix product m=%" PRId64 " n=%" PRId64 " k=%" PRId64 ": oneDNN failed",
                       g->m, g->n, g->k);
    return FR_OK;
}

/* ---- f64 ---- */

enum { BLOCK = 64 };

/* block[k][j] = alpha * op(B)[k0 + k, j0 + j]. */
static void pack_f64(const fr_gemm *g, int64_t k0, int64_t ks, int64_t j0, int64_t js,
                     double block[BLOCK][BLOCK])
{
    const double *b = g->b;
    for (int64_t k = 0; k < ks; k++)
        for (int64_t j = 0; j < js; j++)
            block[k][j] = g->alpha * (g->transpose_b ? b[(j0 + j) * g->ldb + k0 + k]
                                                     : b[(k0 + k) * g->ldb + j0 + j]);
}

static void add_block_f64(const fr_gemm *g, int64_t begin, int64_t end, int64_t k0, int64_t ks,
                          int64_t j0, int64_t js, const double block[BLOCK][BLOCK])
{
    const double *a = g->a;
    for (int64_t i = begin; i < end; i++) {
        double *restrict c = (double *)g->c + i * g->ldc + j0;
        for (int64_t k = 0; k < ks; k++) {
            const double x = g->transpose_a ? a[(k0 + k) * g->lda + i] : a[i * g->lda + k0 + k];
            for (int64_t j = 0; j < js; j++)
                c[j] += x * block[k][j];
        }
    }
}

static void run_rows_f64(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const fr_gemm *g = context;
    double block[BLOCK][BLOCK];
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double *c = (double *)g->c + i * g->ldc + j;
            *c = g->beta == 0.0 ? 0.0 : g->beta * *c;
        }
    for (int64_t j = 0; j < g->n; j += BLOCK)
        for (int64_t k = 0; k < g->k; k += BLOCK) {
            const int64_t ks = least(BLOCK, g->k - k), js = least(BLOCK, g->n - j);
            pack_f64(g, k, ks, j, js, block);
            add_block_f64(g, begin, end, k, ks, j, js, (const double(*)[BLOCK])block);
        }
}

fr_status fr_gemm_f64(const fr_gemm *g)
{
    FR_RETURN_IF_ERROR(check(g, sizeof(double)));
    fr_gemm copy = *g;
    copy.k = g->alpha == 0.0 ? 0 : g->k;
    fr_parallel_for(g->m, BLOCK, run_rows_f64, &copy);
    return FR_OK;
}
