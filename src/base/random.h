/*
 * random.h: counter-based random numbers (Philox 4x32-10).
 *
 * A number is a pure function of (seed, stream, counter): never of the thread that asks, nor of
 * what was asked before. A stream is what the number is for ("dropout of node 7 at step 30");
 * fr_random_stream mixes the parts of that description into 64 bits.
 *
 * Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 */
#ifndef FR_BASE_RANDOM_H
#define FR_BASE_RANDOM_H

#include <stdint.h>

/** Four independent 32-bit numbers of (seed, stream, counter). Inline: the sampler's inner loop. */
static inline void fr_philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53U * c0, p1 = (uint64_t)0xCD9E8D57U * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/** Mixes up to four parts (use 0 for those not needed) into a stream number (SplitMix64 finaliser).
 */
uint64_t fr_random_stream(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/** Uniform in [0, 1) from 24 bits of a 32-bit draw. */
static inline float fr_uniform_f32(uint32_t draw) { return (float)(draw >> 8) * 0x1p-24f; }

/** Uniform integer in [0, bound) from a 32-bit draw by multiplication (bias below bound / 2^32). */
static inline uint32_t fr_uniform_below(uint32_t draw, uint32_t bound)
{
    return (uint32_t)(((uint64_t)draw * bound) >> 32);
}

/** Sequential convenience over one stream: each call takes the next counter. */
typedef struct fr_random {
    uint64_t seed, stream, counter;
    uint32_t draws[4];
    int left;
} fr_random;

fr_random fr_random_start(uint64_t seed, uint64_t stream);
uint32_t fr_random_u32(fr_random *random);
uint64_t fr_random_u64(fr_random *random);
double fr_random_uniform(fr_random *random); /* [0, 1), 53 bits */
double fr_random_normal(fr_random *random);  /* Box-Muller, mean 0, deviation 1 */
/** Unbiased integer in [0, bound), bound > 0. */
uint64_t fr_random_below(fr_random *random, uint64_t bound);
/** Fisher-Yates over n 64-bit numbers. */
void fr_random_shuffle(fr_random *random, int64_t *values, int64_t n);

#endif
