/*
 * dropout.c: see dropout.h. An element is kept where its 16-bit draw is at least ratio * 2^16,
 * which is an integer comparison and the same for both number types; one call of the generator
 * serves eight elements (the ratio is met to 1 in 65,536).
 *
 * Nearly all the time goes into the draws, so AVX2 and AVX-512 have their own: four or eight counters
 * a register, in 64-bit lanes whose upper halves are left as they fall (the widening multiplication
 * reads the lower ones only). Measured an element: 3.5 ns by fr_philox, 0.65 with AVX2.
 */
#include "kernel/dropout.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/parallel.h"
#include "base/random.h"

enum { DROPOUT_COUNTERS = 16, DROPOUT_WORDS = 4 * DROPOUT_COUNTERS, DROPOUT_BLOCK = 2 * DROPOUT_WORDS };

typedef union dropout_draws {
    uint32_t words[DROPOUT_WORDS];
    uint16_t halves[DROPOUT_BLOCK];
} dropout_draws;

typedef void (*draw_function)(const fr_dropout_mask *mask, int64_t block, uint32_t *draw);

typedef struct dropout_call {
    fr_dropout_mask mask;
    uint32_t threshold;
    draw_function draw;
    int64_t n;
    const void *x;
    void *out;
} dropout_call;

#define TEMPLATE "kernel/dropout_template.h"
#include "kernel/variants.h"

/* draw[16 * k + c] is number k of counter 16 * block + c. */
static void draw_portable(const fr_dropout_mask *mask, int64_t block, uint32_t *draw)
{
    for (int c = 0; c < DROPOUT_COUNTERS; c++) {
        uint32_t numbers[4];
        fr_philox(mask->seed, mask->stream, (uint64_t)block * DROPOUT_COUNTERS + (uint64_t)c,
                  numbers);
        for (int k = 0; k < 4; k++)
            draw[k * DROPOUT_COUNTERS + c] = numbers[k];
    }
}

#if defined(__x86_64__)
/* The lower halves of four 64-bit lanes. */
__attribute__((target("avx2"))) static inline void store_lower(uint32_t *to, __m256i lanes)
{
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    _mm_storeu_si128((__m128i *)(void *)to,
                     _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(lanes, even)));
}

__attribute__((target("avx2"))) static void draw_avx2(const fr_dropout_mask *mask, int64_t block,
                                                      uint32_t *draw)
{
    enum { GROUPS = DROPOUT_COUNTERS / 4 };
    const uint64_t counter = (uint64_t)block * DROPOUT_COUNTERS;
    const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
    __m256i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        c0[g] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)counter + 4 * g),
                                 _mm256_setr_epi64x(0, 1, 2, 3));
        c1[g] = _mm256_srli_epi64(c0[g], 32);
        c2[g] = _mm256_set1_epi64x((int64_t)mask->stream);
        c3[g] = _mm256_srli_epi64(c2[g], 32);
    }
    uint32_t k0 = (uint32_t)mask->seed, k1 = (uint32_t)(mask->seed >> 32);
    for (int round = 0; round < 10; round++) {
        const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
        for (int g = 0; g < GROUPS; g++) {
            const __m256i p0 = _mm256_mul_epu32(m0, c0[g]), p1 = _mm256_mul_epu32(m1, c2[g]);
            c0[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[g]), key0);
            c2[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[g]), key1);
            c1[g] = p1;
            c3[g] = p0;
        }
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    for (int g = 0; g < GROUPS; g++) {
        store_lower(draw + 4 * g, c0[g]);
        store_lower(draw + DROPOUT_COUNTERS + 4 * g, c1[g]);
        store_lower(draw + 2 * DROPOUT_COUNTERS + 4 * g, c2[g]);
        store_lower(draw + 3 * DROPOUT_COUNTERS + 4 * g, c3[g]);
    }
}
#endif

#if defined(__x86_64__)
/* As draw_avx2 with eight counters a register: the same numbers. */
__attribute__((target("avx512f"))) static void draw_avx512(const fr_dropout_mask *mask, int64_t block,
                                                           uint32_t *draw)
{
    enum { GROUPS = DROPOUT_COUNTERS / 8 };
    const uint64_t counter = (uint64_t)block * DROPOUT_COUNTERS;
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
    __m512i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        c0[g] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)counter + 8 * g),
                                 _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        c1[g] = _mm512_srli_epi64(c0[g], 32);
        c2[g] = _mm512_set1_epi64((int64_t)mask->stream);
        c3[g] = _mm512_srli_epi64(c2[g], 32);
    }
    uint32_t k0 = (uint32_t)mask->seed, k1 = (uint32_t)(mask->seed >> 32);
    for (int round = 0; round < 10; round++) {
        const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
        for (int g = 0; g < GROUPS; g++) {
            const __m512i p0 = _mm512_mul_epu32(m0, c0[g]), p1 = _mm512_mul_epu32(m1, c2[g]);
            c0[g] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p1, 32), c1[g]), key0);
            c2[g] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p0, 32), c3[g]), key1);
            c1[g] = p1;
            c3[g] = p0;
        }
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    for (int g = 0; g < GROUPS; g++) {
        const __m512i numbers[4] = {c0[g], c1[g], c2[g], c3[g]};
        for (int k = 0; k < 4; k++)
            _mm256_storeu_si256((__m256i *)(void *)(draw + k * DROPOUT_COUNTERS + 8 * g),
                                _mm512_cvtepi64_epi32(numbers[k]));
    }
}
#endif

static draw_function pick_draw(void)
{
#if defined(__x86_64__)
    if (fr_cpu_isa() >= FR_ISA_AVX512)
        return draw_avx512;
    if (fr_cpu_isa() >= FR_ISA_AVX2)
        return draw_avx2;
#endif
    return draw_portable;
}

void fr_dropout_run(const fr_dropout_mask *mask, fr_dtype dtype, int64_t n, const void *x,
                    void *out)
{
    const double threshold = mask->ratio * 65536.0;
    dropout_call call = {
        .mask = *mask,
        .threshold = (uint32_t)threshold,
        .draw = pick_draw(),
        .n = n,
        .x = x,
        .out = out,
    };
    const int64_t n_blocks = (n + DROPOUT_BLOCK - 1) / DROPOUT_BLOCK;
    fr_parallel_for(n_blocks, 128, FR_PICK(dropout_blocks, dtype), &call);
}
