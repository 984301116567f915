/*
 * convert.c: conversion between all pairs of element types, with one rounding each.
 *
 * A block of elements goes through one of two carriers, chosen by the source: float types through
 * double, integer types through int64 (u64 as the same 64 bits, marked unsigned). Rules:
 *
 *     to a float   nearest, ties to even. Narrow floats are rounded from the double's bits in one
 *                  step, never by way of f32. Too large becomes infinity; f8e4m3 has none, there
 *                  it becomes the largest value, 448 (OCP 8-bit format, saturating mode).
 *     to an integer nearest, ties to even, saturating; NaN becomes 0.
 *     to a bool    1 for everything but 0 (NaN is 1).
 *     NaN          stays NaN, with its sign; the payload is not kept.
 *
 * An integer beyond 2^53 is made a double by rounding to odd (truncate, then set the last bit if
 * anything was lost), which makes the second rounding to at most 24 bits exact.
 */
#include <frugal/tensor.h>

#include <math.h>
#include <string.h>

#include "base/error.h"

/* How a narrow float lays out its bits. */
typedef struct layout {
    int mantissa_bits;
    int least_exponent; /* of a normal number */
    uint32_t overflow;  /* the bits of what is too large */
    uint32_t nan;
    uint32_t sign;
} layout;

static const layout bf16_layout = {7, -126, 0x7F80, 0x7FC0, 0x8000};
static const layout f16_layout = {10, -14, 0x7C00, 0x7E00, 0x8000};
static const layout f8e4m3_layout = {3, -6, 0x7E, 0x7F, 0x80};

/* The bits of the narrow float nearest to x. */
static uint32_t encode(double x, const layout *l)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 63 ? l->sign : 0;
    bits &= ~(UINT64_C(1) << 63);
    if (bits > UINT64_C(0x7FF) << 52)
        return sign | l->nan;
    int exponent = (int)(bits >> 52) - 1023;
    if (exponent < -1022) /* a subnormal double is far below half of every narrow float */
        return sign;
    if (exponent == 1024)
        return sign | l->overflow;
    const uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int shift = 52 - l->mantissa_bits;
    if (exponent < l->least_exponent) { /* becomes subnormal: fewer bits stay */
        shift += l->least_exponent - exponent;
        exponent = l->least_exponent;
    }
    if (shift > 53)
        return sign; /* below half of the least subnormal */
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t rounded = (mantissa + half - 1 + ((mantissa >> shift) & 1)) >> shift;
    /* A carry out of the mantissa runs into the exponent, as it should. */
    const uint64_t result =
        ((uint64_t)(exponent - l->least_exponent) << l->mantissa_bits) + rounded;
    return sign | (result > l->overflow ? l->overflow : (uint32_t)result);
}

static double decode(uint32_t bits, const layout *l)
{
    const double sign = bits & l->sign ? -1.0 : 1.0;
    bits &= l->sign - 1;
    if (bits > l->overflow)
        return copysign((double)NAN, sign);
    if (bits == l->overflow) /* f8e4m3 has no infinity: its "overflow" is its largest number */
        return sign * (l == &f8e4m3_layout ? 448.0 : (double)INFINITY);
    const uint32_t field = bits >> l->mantissa_bits;
    const uint32_t mantissa = bits & ((1U << l->mantissa_bits) - 1);
    const int exponent = l->least_exponent - l->mantissa_bits;
    if (field == 0)
        return sign * ldexp((double)mantissa, exponent);
    return sign * ldexp((double)(mantissa | 1U << l->mantissa_bits), exponent + (int)field - 1);
}

/* ---- carriers ---- */

enum { BLOCK = 256 };

typedef enum carrier { BY_DOUBLE, BY_SIGNED, BY_UNSIGNED } carrier;

static carrier carrier_of(fr_dtype dtype)
{
    if (fr_dtype_is_float(dtype))
        return BY_DOUBLE;
    return dtype == FR_U64 ? BY_UNSIGNED : BY_SIGNED;
}

static void load_doubles(fr_dtype dtype, const void *from, double *to, int64_t n)
{
    switch (dtype) {
    case FR_F32:
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)((const float *)from)[i];
        break;
    case FR_BF16:
        for (int64_t i = 0; i < n; i++) {
            const uint32_t bits = (uint32_t)((const uint16_t *)from)[i] << 16;
            float value;
            memcpy(&value, &bits, sizeof value);
            to[i] = (double)value;
        }
        break;
    case FR_F16:
        for (int64_t i = 0; i < n; i++)
            to[i] = decode(((const uint16_t *)from)[i], &f16_layout);
        break;
    case FR_F8E4M3:
        for (int64_t i = 0; i < n; i++)
            to[i] = decode(((const uint8_t *)from)[i], &f8e4m3_layout);
        break;
    default: memcpy(to, from, (size_t)n * sizeof *to); break;
    }
}

static void load_integers(fr_dtype dtype, const void *from, int64_t *to, int64_t n)
{
    switch (dtype) {
    case FR_I8:
        for (int64_t i = 0; i < n; i++)
            to[i] = (int64_t)((const int8_t *)from)[i];
        break;
    case FR_U8:
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)from)[i];
        break;
    case FR_BOOL:
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)from)[i] != 0;
        break;
    case FR_I32:
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const int32_t *)from)[i];
        break;
    case FR_U32:
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const uint32_t *)from)[i];
        break;
    default: memcpy(to, from, (size_t)n * sizeof *to); break;
    }
}

static double double_rounded_to_odd(uint64_t magnitude)
{
    if (magnitude >> 53 == 0)
        return (double)magnitude;
    return (double)((magnitude >> 11) | ((magnitude & 2047) != 0)) * 2048.0;
}

/* For a store into a float type; f64 takes the nearest double, the narrower ones the odd one. */
static void integers_to_doubles(const int64_t *from, bool is_unsigned, bool to_f64, double *to,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = (uint64_t)from[i];
        const bool negative = !is_unsigned && from[i] < 0;
        const uint64_t magnitude = negative ? 0 - bits : bits;
        const double value = to_f64 ? (double)magnitude : double_rounded_to_odd(magnitude);
        to[i] = negative ? -value : value;
    }
}

static void store_doubles(const double *from, fr_dtype dtype, void *to, int64_t n)
{
    switch (dtype) {
    case FR_F32:
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = (float)from[i];
        break;
    case FR_BF16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = (uint16_t)encode(from[i], &bf16_layout);
        break;
    case FR_F16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = (uint16_t)encode(from[i], &f16_layout);
        break;
    case FR_F8E4M3:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = (uint8_t)encode(from[i], &f8e4m3_layout);
        break;
    default: memcpy(to, from, (size_t)n * sizeof *from); break;
    }
}

/* The nearest integer as int64 or, for is_unsigned, as the bits of a uint64; saturated. */
static void doubles_to_integers(const double *from, bool is_unsigned, int64_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = rint(from[i]);
        if (isnan(x))
            to[i] = 0;
        else if (is_unsigned)
            to[i] = x <= 0 ? 0 : x >= 0x1p64 ? -1 : (int64_t)(uint64_t)x;
        else
            to[i] = x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
    }
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Integers given as int64 (or as the bits of uint64) into an integer type other than bool. */
static void store_integers(const int64_t *from, bool is_unsigned, fr_dtype dtype, void *to,
                           int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        /* For all but u64, a uint64 above INT64_MAX saturates just as INT64_MAX does. */
        const int64_t x = is_unsigned && from[i] < 0 ? INT64_MAX : from[i];
        switch (dtype) {
        case FR_I8: ((int8_t *)to)[i] = (int8_t)clamp(x, INT8_MIN, INT8_MAX); break;
        case FR_U8: ((uint8_t *)to)[i] = (uint8_t)clamp(x, 0, UINT8_MAX); break;
        case FR_I32: ((int32_t *)to)[i] = (int32_t)clamp(x, INT32_MIN, INT32_MAX); break;
        case FR_U32: ((uint32_t *)to)[i] = (uint32_t)clamp(x, 0, UINT32_MAX); break;
        case FR_U64:
            ((uint64_t *)to)[i] = is_unsigned ? (uint64_t)from[i] : (uint64_t)clamp(x, 0, x);
            break;
        default: ((int64_t *)to)[i] = x; break;
        }
    }
}

static void convert_block(fr_dtype from_dtype, const void *from, fr_dtype to_dtype, void *to,
                          int64_t n)
{
    double doubles[BLOCK];
    int64_t integers[BLOCK];
    const carrier source = carrier_of(from_dtype), target = carrier_of(to_dtype);
    if (source == BY_DOUBLE)
        load_doubles(from_dtype, from, doubles, n);
    else
        load_integers(from_dtype, from, integers, n);

    if (to_dtype == FR_BOOL) {
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = source == BY_DOUBLE ? doubles[i] != 0 : integers[i] != 0;
        return;
    }
    if (target == BY_DOUBLE) {
        if (source != BY_DOUBLE)
            integers_to_doubles(integers, source == BY_UNSIGNED, to_dtype == FR_F64, doubles, n);
        store_doubles(doubles, to_dtype, to, n);
        return;
    }
    bool is_unsigned = source == BY_UNSIGNED;
    if (source == BY_DOUBLE) {
        is_unsigned = target == BY_UNSIGNED;
        doubles_to_integers(doubles, is_unsigned, integers, n);
    }
    store_integers(integers, is_unsigned, to_dtype, to, n);
}

/* ---- the pairs that training and stores use all day ---- */

static void bf16_to_f32(const uint16_t *from, uint32_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint32_t)from[i] << 16;
}

static void f32_to_bf16(const uint32_t *from, uint16_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t x = from[i];
        const uint32_t rounded = (x + 0x7FFF + ((x >> 16) & 1)) >> 16;
        const uint32_t quiet = ((x >> 16) & 0x8000) | bf16_layout.nan;
        to[i] = (uint16_t)((x & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
    }
}

fr_status fr_convert(fr_dtype from_dtype, const void *from, fr_dtype to_dtype, void *to, int64_t n)
{
    const size_t from_bytes = fr_dtype_bytes(from_dtype), to_bytes = fr_dtype_bytes(to_dtype);
    if (from_bytes == 0 || to_bytes == 0)
        return fr_fail(FR_EDTYPE, "convert: %d is no dtype",
                       from_bytes == 0 ? (int)from_dtype : (int)to_dtype);
    if (n <= 0)
        return FR_OK;
    if (from_dtype == to_dtype && from_dtype != FR_BOOL)
        memcpy(to, from, (size_t)n * from_bytes);
    else if (from_dtype == FR_BF16 && to_dtype == FR_F32)
        bf16_to_f32(from, to, n);
    else if (from_dtype == FR_F32 && to_dtype == FR_BF16)
        f32_to_bf16(from, to, n);
    else
        for (int64_t done = 0; done < n; done += BLOCK) {
            const int64_t block = n - done < BLOCK ? n - done : BLOCK;
            convert_block(from_dtype, (const char *)from + (size_t)done * from_bytes, to_dtype,
                          (char *)to + (size_t)done * to_bytes, block);
        }
    return FR_OK;
}
