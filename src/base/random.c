/*
 * random.c: streams and sequential draws over Philox. See random.h.
 */
#include "base/random.h"

#include <math.h>

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64 bits that mixes well. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
}

uint64_t fr_random_stream(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t golden = 0x9E3779B97F4A7C15U;
    uint64_t x = mix(a + golden);
    x = mix(x + b + golden);
    x = mix(x + c + golden);
    return mix(x + d + golden);
}

fr_random fr_random_start(uint64_t seed, uint64_t stream)
{
    return (fr_random){.seed = seed, .stream = stream};
}

uint32_t fr_random_u32(fr_random *random)
{
    if (random->left == 0) {
        fr_philox(random->seed, random->stream, random->counter++, random->draws);
        random->left = 4;
    }
    return random->draws[4 - random->left--];
}

uint64_t fr_random_u64(fr_random *random)
{
    const uint64_t high = fr_random_u32(random);
    return high << 32 | fr_random_u32(random);
}

double fr_random_uniform(fr_random *random)
{
    return (double)(fr_random_u64(random) >> 11) * 0x1p-53;
}

double fr_random_normal(fr_random *random)
{
    const double pi = 3.14159265358979323846;
    const double radius = sqrt(-2 * log(1 - fr_random_uniform(random))); /* 1 - u is never 0 */
    return radius * cos(2 * pi * fr_random_uniform(random));
}

uint64_t fr_random_below(fr_random *random, uint64_t bound)
{
    /* Numbers below 2^64 mod bound would make small results likelier: drawn again. */
    const uint64_t least = (0 - bound) % bound;
    uint64_t draw;
    do
        draw = fr_random_u64(random);
    while (draw < least);
    return draw % bound;
}

void fr_random_shuffle(fr_random *random, int64_t *values, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)fr_random_below(random, (uint64_t)i + 1);
        const int64_t swap = values[i];
        values[i] = values[j];
        values[j] = swap;
    }
}
