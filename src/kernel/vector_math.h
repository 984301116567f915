/*
 * vector_math.h: functions of float without branches or calls, so that loops over them vectorise
 * (for the exponential see vector_exp.h); and under one name the library's for double.
 *
 *     fr_real_log      ln(x), all floats
 *     fr_real_log1p    ln(1 + x), x in [0, 1]
 *     fr_real_expm1    e^x - 1, x <= 0
 *     fr_real_tanh
 *     fr_real_sigmoid  1 / (1 + e^-x)
 *     fr_real_normal   (1 + erf(x / sqrt 2)) / 2, the normal distribution function
 *
 * Polynomials are fits of our own: least squares with weights moved until the relative error is
 * level (Lawson's iteration), in 40 digits, then rounded. Their error stays below 0.3 units in
 * the last place; with rounding the functions stay within 4 (test_elementwise.c measures).
 */
#ifndef FR_KERNEL_VECTOR_MATH_H
#define FR_KERNEL_VECTOR_MATH_H

#include <math.h>

#include "kernel/vector_exp.h"

/* x = 2^e * m, m in [sqrt(1/2), sqrt 2), ln x = e ln 2 + ln m, ln(1+f) = f - f^2/2 + f^3 P(f). */
static inline float fr_log_f32(float x)
{
    const bool tiny = x < 1.17549435e-38f;
    const float scaled = fr_choose_f32(tiny, x * 8388608.0f, x);
    const uint32_t bits = fr_bits_of_float(scaled);
    const int32_t e = (int32_t)(bits - 0x3F3504F3u) >> 23;
    const float f = fr_float_of_bits(bits - ((uint32_t)e << 23)) - 1.0f;
    const float exponent = (float)e - fr_choose_f32(tiny, 23.0f, 0.0f);
    float p = 0.0674640983f;
    p = p * f + -0.116755798f;
    p = p * f + 0.118882276f;
    p = p * f + -0.124056041f;
    p = p * f + 0.142195448f;
    p = p * f + -0.166679949f;
    p = p * f + 0.200021192f;
    p = p * f + -0.250000089f;
    p = p * f + 0.333333135f;
    const float square = f * f;
    float y = p * f * square + exponent * -2.12194440e-4f;
    y = f + (y - 0.5f * square) + exponent * 0.693359375f;
    y = fr_choose_f32(x < INFINITY, y, x); /* infinity and NaN as they are */
    y = fr_choose_f32(x < 0.0f, NAN, y);
    return fr_choose_f32(x == 0.0f, -INFINITY, y);
}

/* What 1 + x rounds off is given back: ln(1+x) = ln w + (x - (w-1)) / w. */
static inline float fr_log1p_f32(float x)
{
    const float w = 1.0f + x;
    return fr_log_f32(w) + (x - (w - 1.0f)) / w;
}

static inline float fr_expm1_f32(float x)
{
    float p = 0.000159956515f;
    p = p * x + 0.00136370654f;
    p = p * x + 0.00832504407f;
    p = p * x + 0.0416652709f;
    p = p * x + 0.166666552f;
    p = p * x + 0.5f;
    const float near = p * (x * x) + x, far = fr_exp_f32(x) - 1.0f;
    return fr_choose_f32(x > -0.5f, near, far);
}

static inline float fr_tanh_f32(float x)
{
    const float size = fabsf(x), s = x * x;
    float p = -0.00570494309f;
    p = p * s + 0.0206390433f;
    p = p * s + -0.0537397005f;
    p = p * s + 0.133314416f;
    p = p * s + -0.333332807f;
    const float near = p * s * x + x;
    const float far = copysignf(1.0f - 2.0f / (fr_exp_f32(2.0f * size) + 1.0f), x);
    return fr_choose_f32(size < 0.625f, near, far);
}

static inline float fr_sigmoid_f32(float x)
{
    const float e = fr_exp_f32(-fabsf(x));
    return fr_choose_f32(x >= 0.0f, 1.0f, e) / (1.0f + e);
}

static inline double fr_sigmoid_f64(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* erfc(t) exp(t^2) = u P(u), u = 1 / (1 + 0.35 t), t >= 0: the tail keeps its relative accuracy. */
static inline float fr_normal_f32(float x)
{
    const float t = fabsf(x) * 0.707106781f, u = 1.0f / (1.0f + 0.35f * t);
    float p = 0.0406109206f;
    p = p * u + -0.171183705f;
    p = p * u + 0.210943937f;
    p = p * u + -0.0680109486f;
    p = p * u + 0.121457942f;
    p = p * u + 0.127006829f;
    p = p * u + 0.157978669f;
    p = p * u + 0.186396271f;
    p = p * u + 0.197326362f;
    p = p * u + 0.19747372f;
    const float tail = 0.5f * p * u * fr_exp_f32(-0.5f * (x * x));
    return fr_choose_f32(x < 0.0f, tail, 1.0f - tail);
}

static inline double fr_normal_f64(double x) { return 0.5 * erfc(x * -0.70710678118654752440); }

#define fr_real_log(x) _Generic((x), float : fr_log_f32, double : log)(x)
#define fr_real_log1p(x) _Generic((x), float : fr_log1p_f32, double : log1p)(x)
#define fr_real_expm1(x) _Generic((x), float : fr_expm1_f32, double : expm1)(x)
#define fr_real_tanh(x) _Generic((x), float : fr_tanh_f32, double : tanh)(x)
#define fr_real_sigmoid(x) _Generic((x), float : fr_sigmoid_f32, double : fr_sigmoid_f64)(x)
#define fr_real_normal(x) _Generic((x), float : fr_normal_f32, double : fr_normal_f64)(x)
#define fr_real_sqrt(x) _Generic((x), float : sqrtf, double : sqrt)(x)

#endif
