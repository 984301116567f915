/*
 * bench.h: what the kernel benches share: the machine's limits, measured, and one line per case.
 *
 * Limits, all with the threads of fr_threads():
 *   flops       fused multiply-adds on registers, 16 independent sums
 *   triad       a[i] = b[i] + s * c[i] over arrays far larger than the caches; bytes counted
 * without the read that a plain store causes random rows reading whole rows in random order,
 * prefetched at the best of several distances: the ceiling of sparse products and gathers
 *
 * Machines are shared: every case runs 5 to 9 times; the table has the median and the fastest.
 */
#ifndef FR_BENCH_KERNELS_BENCH_H
#define FR_BENCH_KERNELS_BENCH_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if FR_X86
#include <immintrin.h>
#endif

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernel/cpu.h"

enum { BENCH_REPEATS_MOST = 9, BENCH_REPEATS_LEAST = 5 };

#define BENCH_INLINE static inline __attribute__((unused))

/* Seconds of the wall clock or, with FR_BENCH_CLOCK=cpu, of the processor per thread: what a kernel
 * would take on a machine of its own, as far as caches and memory are not shared. */
BENCH_INLINE double bench_now(void)
{
    static int on_cpu = -1;
    if (on_cpu < 0)
        on_cpu = getenv("FR_BENCH_CLOCK") != NULL && strcmp(getenv("FR_BENCH_CLOCK"), "cpu") == 0;
    struct timespec t;
    clock_gettime(on_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return ((double)t.tv_sec + (double)t.tv_nsec * 1e-9) / (on_cpu ? fr_threads() : 1);
}

BENCH_INLINE void bench_check(fr_status status)
{
    if (status == FR_OK)
        return;
    (void)fprintf(stderr, "%s\n", fr_error_message());
    exit(1);
}

/* Aligned memory, touched. */
BENCH_INLINE void *bench_block(int64_t bytes)
{
    void *block;
    bench_check(fr_alloc_aligned((size_t)bytes, 1, "bench", &block));
    memset(block, 0, (size_t)bytes);
    return block;
}

BENCH_INLINE uint64_t bench_draw(uint64_t *state)
{
    /* xorshift64*: setup of large arrays must not take longer than the bench */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

/* Small whole numbers: sums of them are exact in any order, so results compare exactly. */
BENCH_INLINE float *bench_floats(int64_t n)
{
    float *values = bench_block(n * (int64_t)sizeof *values);
    uint64_t state = 88172645463325252ULL;
    for (int64_t i = 0; i < n; i += 8) {
        const uint64_t draw = bench_draw(&state);
        for (int64_t j = i; j < n && j < i + 8; j++)
            values[j] = (float)(draw >> (8 * (j - i)) & 7) - 3.0F;
    }
    return values;
}

/* ---- one case ---- */

typedef void (*bench_function)(void *context);

typedef struct bench_time {
    double median, fastest, slowest;
} bench_time;

BENCH_INLINE int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One warm-up, then 5 (long ones) or 9 timings of as many calls as fill a few milliseconds. */
BENCH_INLINE bench_time bench_measure(bench_function function, void *context)
{
    double seconds[BENCH_REPEATS_MOST];
    double start = bench_now();
    function(context);
    const double once = bench_now() - start;
    const int calls = once > 0.005 ? 1 : (int)(0.005 / (once + 1e-8)) + 1;
    const int repeats = once > 0.2 ? BENCH_REPEATS_LEAST : BENCH_REPEATS_MOST;
    for (int i = 0; i < repeats; i++) {
        start = bench_now();
        for (int j = 0; j < calls; j++)
            function(context);
        seconds[i] = (bench_now() - start) / calls;
    }
    qsort(seconds, (size_t)repeats, sizeof *seconds, bench_compare);
    return (bench_time){seconds[repeats / 2], seconds[0], seconds[repeats - 1]};
}

BENCH_INLINE void bench_head(const char *unit, const char *limit)
{
    printf("%-52s %10s %10s %7s %9s %7s %7s  %s\n", "case", "median ms", "fastest", "spread", unit,
           limit, "best", "kernel");
}

/* `work` per call in the unit's base (FLOP or bytes), `limit` per second. */
BENCH_INLINE void bench_line(const char *text, bench_time t, double work, double limit,
                             const char *kernel)
{
    printf("%-52s %10.4f %10.4f %6.0f%% %9.1f %6.0f%% %6.0f%%  %s\n", text, t.median * 1e3,
           t.fastest * 1e3, 100 * (t.slowest - t.fastest) / t.fastest, work / t.median * 1e-9,
           100 * work / t.median / limit, 100 * work / t.fastest / limit, kernel);
    (void)fflush(stdout);
}

/* ---- limits ---- */

typedef struct bench_limit_job {
    float *a;
    const float *b, *c;
    const int32_t *rows;
    int64_t width, ahead, n;
    float sink[64];
} bench_limit_job;

#if FR_X86
__attribute__((target("avx512f"))) static void bench_fma_512(void *context, int64_t begin,
                                                             int64_t end, int thread)
{
    bench_limit_job *job = context;
    __m512 sum[16];
    const __m512 x = _mm512_set1_ps(0.999F);
    for (int j = 0; j < 16; j++)
        sum[j] = _mm512_set1_ps((float)j);
    for (int64_t i = begin; i < end; i++)
        for (int r = 0; r < 1000; r++)
            for (int j = 0; j < 16; j++)
                sum[j] = _mm512_fmadd_ps(sum[j], x, x);
    for (int j = 1; j < 16; j++)
        sum[0] = _mm512_add_ps(sum[0], sum[j]);
    job->sink[thread % 64] = _mm512_reduce_add_ps(sum[0]);
}

__attribute__((target("avx2,fma"))) static void bench_fma_256(void *context, int64_t begin,
                                                              int64_t end, int thread)
{
    bench_limit_job *job = context;
    __m256 sum[12];
    const __m256 x = _mm256_set1_ps(0.999F);
    for (int j = 0; j < 12; j++)
        sum[j] = _mm256_set1_ps((float)j);
    for (int64_t i = begin; i < end; i++)
        for (int r = 0; r < 1000; r++)
            for (int j = 0; j < 12; j++)
                sum[j] = _mm256_fmadd_ps(sum[j], x, x);
    for (int j = 1; j < 12; j++)
        sum[0] = _mm256_add_ps(sum[0], sum[j]);
    job->sink[thread % 64] = _mm256_cvtss_f32(sum[0]);
}
#endif

enum { BENCH_FMA_TILES = 4096 };

static void bench_run_fma(void *context)
{
#if FR_X86
    if (fr_cpu_isa() == FR_ISA_AVX512)
        fr_parallel_for(BENCH_FMA_TILES, 16, bench_fma_512, context);
    else if (fr_cpu_isa() == FR_ISA_AVX2)
        fr_parallel_for(BENCH_FMA_TILES, 16, bench_fma_256, context);
#else
    (void)context;
#endif
}

/* FLOP per second of all threads; infinite where it cannot be measured. */
BENCH_INLINE double bench_peak_flops(void)
{
    static bench_limit_job job;
    const int lanes = fr_cpu_isa() == FR_ISA_AVX512 ? 16 * 16 : 12 * 8;
    if (fr_cpu_isa() == FR_ISA_PORTABLE)
        return 1e300;
    const bench_time t = bench_measure(bench_run_fma, &job);
    return 2.0 * lanes * 1000 * BENCH_FMA_TILES / t.fastest;
}

static void bench_triad_range(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const bench_limit_job *job = context;
    for (int64_t i = begin; i < end; i++)
        job->a[i] = job->b[i] + 3.0F * job->c[i];
}

static void bench_run_triad(void *context)
{
    bench_limit_job *job = context;
    fr_parallel_for(job->n, 1 << 20, bench_triad_range, job);
}

/* Bytes per second of the triad over three arrays of 512 MiB. */
BENCH_INLINE double bench_triad(void)
{
    const int64_t n = 1 << 27;
    bench_limit_job job = {.n = n};
    job.a = bench_block(n * 4);
    float *b = bench_block(n * 4), *c = bench_block(n * 4);
    job.b = b;
    job.c = c;
    const bench_time t = bench_measure(bench_run_triad, &job);
    fr_free(job.a);
    fr_free(b);
    fr_free(c);
    return 12.0 * (double)n / t.fastest;
}

static void bench_rows_range(void *context, int64_t begin, int64_t end, int thread)
{
    bench_limit_job *job = context;
    float sum = 0;
    for (int64_t i = begin; i < end; i++) {
        const int64_t later = i + job->ahead < job->n ? i + job->ahead : i;
        const float *next = job->b + job->rows[later] * job->width;
        const float *row = job->b + job->rows[i] * job->width;
        for (int64_t j = 0; j < job->width; j += 16) {
            __builtin_prefetch(next + j, 0, 3);
            sum += row[j]; /* one load per cache line: what is measured is memory, not adding */
        }
    }
    job->sink[thread % 64] += sum;
}

#if FR_X86
/* Few instructions per line, so that the processor itself looks many rows ahead. */
__attribute__((target("avx512f"))) static void bench_rows_range_512(void *context, int64_t begin,
                                                                    int64_t end, int thread)
{
    bench_limit_job *job = context;
    __m512 sum[4];
    for (int v = 0; v < 4; v++)
        sum[v] = _mm512_setzero_ps();
    for (int64_t i = begin; i < end; i++) {
        const int64_t later = i + job->ahead < job->n ? i + job->ahead : i;
        const float *next = job->b + job->rows[later] * job->width;
        const float *row = job->b + job->rows[i] * job->width;
        int64_t j = 0;
        for (; j + 64 <= job->width; j += 64)
            for (int v = 0; v < 4; v++) {
                __builtin_prefetch(next + j + 16 * v, 0, 3);
                sum[v] = _mm512_add_ps(sum[v], _mm512_loadu_ps(row + j + 16 * v));
            }
        for (; j < job->width; j += 16) {
            __builtin_prefetch(next + j, 0, 3);
            const int64_t left = job->width - j;
            const __mmask16 m = (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1);
            sum[0] = _mm512_add_ps(sum[0], _mm512_maskz_loadu_ps(m, row + j));
        }
    }
    sum[0] = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
    job->sink[thread % 64] += _mm512_reduce_add_ps(sum[0]);
}
#endif

static void bench_run_rows(void *context)
{
    bench_limit_job *job = context;
#if FR_X86
    if (fr_cpu_isa() == FR_ISA_AVX512) {
        fr_parallel_for(job->n, 4096, bench_rows_range_512, job);
        return;
    }
#endif
    fr_parallel_for(job->n, 4096, bench_rows_range, job);
}

/* Bytes per second of reading n rows of x in the order `rows`, at the best prefetch distance. */
BENCH_INLINE double bench_random_rows(const float *x, int64_t width, const int32_t *rows, int64_t n)
{
    double best = 0;
    n = n < 2000000 ? n : 2000000;
    for (int64_t ahead = 4; ahead <= 64; ahead *= 2) {
        bench_limit_job job = {.b = x, .rows = rows, .width = width, .n = n, .ahead = ahead};
        const bench_time t = bench_measure(bench_run_rows, &job);
        const double rate = (double)(n * width * 4) / t.fastest;
        best = rate > best ? rate : best;
    }
    return best;
}

/* The number behind `name=` in a case string, or `otherwise`. */
BENCH_INLINE double bench_number(const char *text, const char *name, double otherwise)
{
    char key[32];
    (void)snprintf(key, sizeof key, " %s=", name);
    const char *at = strstr(text, key);
    return at == NULL ? otherwise : strtod(at + strlen(key), NULL);
}

#endif
