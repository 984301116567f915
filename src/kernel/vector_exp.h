/*
 * vector_exp.h: an exponential without branches or calls, so that loops over it vectorise.
 *
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln 2 / 2. exp(r) is its Taylor
 * polynomial of degree 7, whose rest is below 6e-9; n is read from the bits of x / ln 2 + 1.5 *
 * 2^23, which needs no conversion and so is defined for NaN too. 2^n is applied as two factors,
 * which reaches the subnormal numbers. Largest error seen over all floats: below 2 units in the
 * last place (test_softmax.c).
 */
#ifndef FR_KERNEL_VECTOR_EXP_H
#define FR_KERNEL_VECTOR_EXP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float fr_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t fr_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/*
 * condition ? a : b, in bits. gcc makes jumps of the latter where an operand is computed (it must
 * not raise a floating-point exception that was not asked for), and then vectorises nothing.
 */
static inline float fr_choose_f32(bool condition, float a, float b)
{
    const uint32_t mask = 0u - (uint32_t)condition;
    return fr_float_of_bits((fr_bits_of_float(a) & mask) | (fr_bits_of_float(b) & ~mask));
}

static inline double fr_choose_f64(bool condition, double a, double b)
{
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    const uint64_t mask = 0u - (uint64_t)condition;
    const uint64_t chosen = (bits[0] & mask) | (bits[1] & ~mask);
    double value;
    memcpy(&value, &chosen, sizeof value);
    return value;
}

#define fr_choose(condition, a, b)                                                                 \
    _Generic((a), float : fr_choose_f32, double : fr_choose_f64)(condition, a, b)

static inline float fr_exp_f32(float x)
{
    const float shifter = 12582912.0f;          /* 1.5 * 2^23: adding it rounds to an integer */
    x = fr_choose_f32(x < -104.0f, -104.0f, x); /* beyond these the result is 0 or infinity; */
    x = fr_choose_f32(x > 89.0f, 89.0f, x);     /* NaN passes both */
    const float shifted = x * 1.44269504f + shifter;
    const float n = shifted - shifter;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1.0f;
    const uint32_t exponent = fr_bits_of_float(shifted) - 0x4B400000u; /* n modulo 2^32 */
    const uint32_t low = (uint32_t)((int32_t)exponent >> 1), high = exponent - low;
    return p * fr_float_of_bits((low + 127u) << 23) * fr_float_of_bits((high + 127u) << 23);
}

/** Of float and of double. */
#define fr_real_abs(x) _Generic((x), float : fabsf, double : fabs)(x)

/** Of float: the above; of double: the library's. */
#define fr_real_exp(x) _Generic((x), float : fr_exp_f32, double : exp)(x)

#endif
