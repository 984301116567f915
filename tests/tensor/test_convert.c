/*
 * test_convert.c: fr_convert between all pairs of element types.
 *
 * Oracle: the value as a long double, which holds every source exactly; narrow floats are looked up
 * in the sorted table of all their values, each decoded by its definition.
 */
#include "test_main.h"

#include <float.h>
#include <frugal/tensor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static const fr_dtype all_dtypes[] = {FR_F32, FR_F64, FR_BF16, FR_F16, FR_F8E4M3, FR_I8,
                                      FR_U8,  FR_I32, FR_I64,  FR_U32, FR_U64,    FR_BOOL};
enum { N_DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

typedef struct narrow {
    int exponent_bits, mantissa_bits, bias;
    bool has_infinity;
} narrow;

static narrow narrow_of(fr_dtype dtype)
{
    switch (dtype) {
    case FR_BF16: return (narrow){8, 7, 127, true};
    case FR_F16: return (narrow){5, 10, 15, true};
    default: return (narrow){4, 3, 7, false};
    }
}

static bool is_narrow(fr_dtype dtype)
{
    return dtype == FR_BF16 || dtype == FR_F16 || dtype == FR_F8E4M3;
}

/* The definition: (-1)^s * 2^(e - bias) * 1.m, or 2^(1 - bias) * 0.m for e = 0. */
static long double narrow_value(uint32_t bits, narrow n)
{
    const uint32_t m = bits & ((1U << n.mantissa_bits) - 1);
    const uint32_t e = (bits >> n.mantissa_bits) & ((1U << n.exponent_bits) - 1);
    const bool negative = bits >> (n.mantissa_bits + n.exponent_bits) & 1;
    const long double unit = ldexpl(1, -n.mantissa_bits);
    long double value;
    if (e == (1U << n.exponent_bits) - 1 && (n.has_infinity || m == (1U << n.mantissa_bits) - 1))
        value = n.has_infinity && m == 0 ? (long double)INFINITY : (long double)NAN;
    else if (e == 0)
        value = ldexpl(m * unit, 1 - n.bias);
    else
        value = ldexpl(1 + m * unit, (int)e - n.bias);
    return negative ? -value : value;
}

/* The pattern of the finite value nearest to x >= 0, ties to the even pattern, by bisection. */
static uint32_t nearest_narrow(long double x, narrow n)
{
    const uint32_t top = n.has_infinity ? ((1U << n.exponent_bits) - 1) << n.mantissa_bits
                                        : (1U << (n.exponent_bits + n.mantissa_bits)) - 1;
    uint32_t low = 0, high = top - 1; /* value(low) <= x once x <= value(high) */
    const long double largest = narrow_value(high, n);
    const long double gap = largest - narrow_value(high - 1, n);
    if (x >= largest)
        return n.has_infinity && x >= largest + gap / 2 ? top : high;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (narrow_value(middle, n) <= x)
            low = middle;
        else
            high = middle;
    }
    const long double below = x - narrow_value(low, n), above = narrow_value(high, n) - x;
    if (below != above)
        return below < above ? low : high;
    return low % 2 == 0 ? low : high;
}

static uint32_t narrow_bits(const void *element, fr_dtype dtype)
{
    uint16_t wide;
    if (dtype == FR_F8E4M3)
        return *(const uint8_t *)element;
    memcpy(&wide, element, sizeof wide);
    return wide;
}

static long double value_of(const void *element, fr_dtype dtype)
{
    switch (dtype) {
    case FR_F32: return (long double)*(const float *)element;
    case FR_F64: return (long double)*(const double *)element;
    case FR_I8: return *(const int8_t *)element;
    case FR_U8: return *(const uint8_t *)element;
    case FR_BOOL: return *(const uint8_t *)element != 0;
    case FR_I32: return *(const int32_t *)element;
    case FR_U32: return *(const uint32_t *)element;
    case FR_I64: return *(const int64_t *)element;
    case FR_U64: return *(const uint64_t *)element;
    default: return narrow_value(narrow_bits(element, dtype), narrow_of(dtype));
    }
}

static long double clamp(long double x, long double low, long double high)
{
    return isnan(x) ? 0 : fminl(fmaxl(rintl(x), low), high);
}

/* What x must become in dtype; narrow floats are compared by pattern instead. */
static long double expected_value(long double x, fr_dtype dtype)
{
    switch (dtype) {
    case FR_F32: return (long double)(float)x;
    case FR_F64: return (long double)(double)x;
    case FR_I8: return clamp(x, INT8_MIN, INT8_MAX);
    case FR_U8: return clamp(x, 0, UINT8_MAX);
    case FR_I32: return clamp(x, INT32_MIN, INT32_MAX);
    case FR_U32: return clamp(x, 0, UINT32_MAX);
    case FR_I64: return clamp(x, (long double)INT64_MIN, (long double)INT64_MAX);
    case FR_U64: return clamp(x, 0, (long double)UINT64_MAX);
    default: return x != 0;
    }
}

static void check_element(const void *from, fr_dtype from_dtype, const void *to, fr_dtype to_dtype)
{
    const long double x = value_of(from, from_dtype);
    if (is_narrow(to_dtype)) {
        const narrow n = narrow_of(to_dtype);
        const uint32_t sign = 1U << (n.mantissa_bits + n.exponent_bits);
        const uint32_t bits = narrow_bits(to, to_dtype);
        if (isnan(x)) {
            assert_true(isnan(narrow_value(bits, n)));
            return;
        }
        const uint32_t wanted = nearest_narrow(fabsl(x), n) | (signbit(x) ? sign : 0);
        if (bits != wanted)
            fail_msg("%s %.20Lg became %s pattern %x, not %x", fr_dtype_name(from_dtype), x,
                     fr_dtype_name(to_dtype), bits, wanted);
        return;
    }
    const long double wanted = expected_value(x, to_dtype), got = value_of(to, to_dtype);
    const bool same_sign = !fr_dtype_is_float(to_dtype) || !signbit(got) == !signbit(wanted);
    if (isnan(wanted) ? !isnan(got) : got != wanted || !same_sign)
        fail_msg("%s %.20Lg became %s %.20Lg, not %.20Lg", fr_dtype_name(from_dtype), x,
                 fr_dtype_name(to_dtype), got, wanted);
}

/* Converts n elements to every dtype and checks each. */
static void check_all_targets(const void *from, fr_dtype from_dtype, int64_t n)
{
    const size_t bytes = fr_dtype_bytes(from_dtype);
    for (int t = 0; t < N_DTYPES; t++) {
        const size_t to_bytes = fr_dtype_bytes(all_dtypes[t]);
        char *to = malloc((size_t)n * to_bytes);
        assert_non_null(to);
        assert_int_equal(fr_convert(from_dtype, from, all_dtypes[t], to, n), FR_OK);
        for (int64_t i = 0; i < n; i++)
            check_element((const char *)from + (size_t)i * bytes, from_dtype,
                          to + (size_t)i * to_bytes, all_dtypes[t]);
        free(to);
    }
}

static void every_16_bit_and_8_bit_pattern_converts_exactly(void **state)
{
    (void)state;
    static uint16_t patterns[65536];
    static uint8_t small[256];
    for (uint32_t i = 0; i < 65536; i++)
        patterns[i] = (uint16_t)i;
    for (uint32_t i = 0; i < 256; i++)
        small[i] = (uint8_t)i;
    check_all_targets(patterns, FR_BF16, 65536);
    check_all_targets(patterns, FR_F16, 65536);
    check_all_targets(small, FR_F8E4M3, 256);
    check_all_targets(small, FR_I8, 256);
    check_all_targets(small, FR_U8, 256);
    check_all_targets(small, FR_BOOL, 256);
}

static void every_pattern_survives_the_way_through_f32_and_f64(void **state)
{
    (void)state;
    const fr_dtype narrows[] = {FR_BF16, FR_F16, FR_F8E4M3}, wides[] = {FR_F32, FR_F64};
    static double wide[65536];
    for (int d = 0; d < 3; d++)
        for (int w = 0; w < 2; w++) {
            const uint32_t n = narrows[d] == FR_F8E4M3 ? 256 : 65536;
            for (uint32_t i = 0; i < n; i++) {
                const uint16_t bits = (uint16_t)i;
                const uint8_t byte = (uint8_t)i;
                const void *from = n == 256 ? (const void *)&byte : (const void *)&bits;
                uint16_t back16 = 0;
                uint8_t back8 = 0;
                void *back = n == 256 ? (void *)&back8 : (void *)&back16;
                assert_int_equal(fr_convert(narrows[d], from, wides[w], wide, 1), FR_OK);
                assert_int_equal(fr_convert(wides[w], wide, narrows[d], back, 1), FR_OK);
                if (isnan(narrow_value(i, narrow_of(narrows[d]))))
                    assert_true(
                        isnan(narrow_value(narrow_bits(back, narrows[d]), narrow_of(narrows[d]))));
                else
                    assert_int_equal(narrow_bits(back, narrows[d]), i);
            }
        }
}

/* Around every boundary of every narrow float: each value, each tie, and one step to each side. */
static void ties_round_to_even_and_their_neighbours_do_not(void **state)
{
    (void)state;
    const fr_dtype narrows[] = {FR_BF16, FR_F16, FR_F8E4M3};
    double around[6];
    for (int d = 0; d < 3; d++) {
        const narrow n = narrow_of(narrows[d]);
        const uint32_t n_positive = 1U << (n.exponent_bits + n.mantissa_bits);
        for (uint32_t i = 0; i + 1 < n_positive; i++) {
            const double low = (double)narrow_value(i, n), high = (double)narrow_value(i + 1, n);
            if (isnan(low) || isnan(high) || isinf(low))
                continue;
            const double half_gap =
                isinf(high) ? (low - (double)narrow_value(i - 1, n)) / 2 : (high - low) / 2;
            const double tie = low + half_gap;
            around[0] = tie;
            around[1] = -tie;
            around[2] = nextafter(tie, 0);
            around[3] = nextafter(tie, (double)INFINITY);
            around[4] = nextafter(-tie, 0);
            around[5] = low;
            uint16_t to[6];
            assert_int_equal(fr_convert(FR_F64, around, narrows[d], to, 6), FR_OK);
            for (size_t k = 0; k < 6; k++)
                check_element(&around[k], FR_F64, (const char *)to + k * fr_dtype_bytes(narrows[d]),
                              narrows[d]);
        }
    }
}

static void edge_values_convert_as_the_long_double_says(void **state)
{
    (void)state;
    const double doubles[] = {0.0,
                              -0.0,
                              0.5,
                              -0.5,
                              1.5,
                              2.5,
                              -2.5,
                              126.5,
                              127.5,
                              128.5,
                              -128.5,
                              -129,
                              255.5,
                              256,
                              448,
                              464,
                              464.0000001,
                              480,
                              65504,
                              65519.99,
                              65520,
                              65536,
                              0x1p-24,
                              0x1p-25,
                              0x1.8p-25,
                              0x1p-149,
                              0x1p-150,
                              0x1.8p-150,
                              0x1p-133,
                              0x1p-134,
                              0x1.8p-134,
                              DBL_MIN,
                              0x1p-1074,
                              2147483647.5,
                              2147483648.0,
                              -2147483649.0,
                              4294967295.5,
                              4294967296.0,
                              0x1p63,
                              -0x1p63,
                              0x1p64,
                              -0x1p64,
                              0x1.fffffep127,
                              0x1.ffffffp127,
                              DBL_MAX,
                              -DBL_MAX,
                              (double)INFINITY,
                              -(double)INFINITY,
                              (double)NAN,
                              0x1.ffp127,
                              0x1.fe8p127,
                              9223372036854774784.0};
    check_all_targets(doubles, FR_F64, sizeof doubles / sizeof *doubles);
    float floats[sizeof doubles / sizeof *doubles];
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        floats[i] =
            fabs(doubles[i]) > (double)FLT_MAX && !isinf(doubles[i]) ? FLT_MAX : (float)doubles[i];
    check_all_targets(floats, FR_F32, sizeof floats / sizeof *floats);

    /* Integers where rounding to a double first would land on a tie of the narrow float. */
    const int64_t integers[] = {0,
                                1,
                                -1,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MIN + 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 54),
                                (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 54) - 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1,
                                (INT64_C(1) << 53) + 1,
                                (INT64_C(1) << 53) + 3,
                                16777217,
                                16777219,
                                -16777217};
    check_all_targets(integers, FR_I64, sizeof integers / sizeof *integers);
    const uint64_t naturals[] = {0,
                                 UINT64_MAX,
                                 UINT64_MAX - 1,
                                 UINT64_C(1) << 63,
                                 (UINT64_C(1) << 63) - 1,
                                 (UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1,
                                 (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1,
                                 (UINT64_C(1) << 63) + 1024,
                                 (UINT64_C(1) << 63) + 1025};
    check_all_targets(naturals, FR_U64, sizeof naturals / sizeof *naturals);
}

/* Patterns of all exponents: random bits, and random bits of a random small width. */
static void random_patterns_convert_as_the_long_double_says(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 1);
    enum { N = 2000 };
    static uint64_t bits[N];
    for (int d = 0; d < N_DTYPES; d++) {
        const size_t bytes = fr_dtype_bytes(all_dtypes[d]);
        for (size_t i = 0; i < N; i++) {
            const uint64_t draw = fr_random_u64(&random);
            const uint64_t value = i % 2 == 0 ? draw : draw >> (draw % 64);
            memcpy((char *)bits + i * bytes, &value, bytes);
        }
        check_all_targets(bits, all_dtypes[d], N);
    }
}

static void lengths_around_a_block_leave_the_next_element_alone(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 255, 256, 257, 511, 512, 513};
    static int32_t from[600];
    static double to[600];
    for (int i = 0; i < 600; i++)
        from[i] = i - 300;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const int64_t n = lengths[k];
        for (int i = 0; i < 600; i++)
            to[i] = -1e9;
        assert_int_equal(fr_convert(FR_I32, from, FR_F64, to, n), FR_OK);
        for (int64_t i = 0; i < 600; i++)
            assert_true(to[i] == (i < n ? (double)from[i] : -1e9));
    }
}

static void a_number_that_is_no_dtype_is_refused(void **state)
{
    (void)state;
    float x = 1, y = 2;
    assert_int_equal(fr_convert((fr_dtype)99, &x, FR_F32, &y, 1), FR_EDTYPE);
    assert_string_equal(fr_error_message(), "convert: 99 is no dtype");
    assert_int_equal(fr_convert(FR_F32, &x, FR_NO_DTYPE, &y, 1), FR_EDTYPE);
    assert_true(y == 2.0F);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_16_bit_and_8_bit_pattern_converts_exactly),
    cmocka_unit_test(every_pattern_survives_the_way_through_f32_and_f64),
    cmocka_unit_test(ties_round_to_even_and_their_neighbours_do_not),
    cmocka_unit_test(edge_values_convert_as_the_long_double_says),
    cmocka_unit_test(random_patterns_convert_as_the_long_double_says),
    cmocka_unit_test(lengths_around_a_block_leave_the_next_element_alone),
    cmocka_unit_test(a_number_that_is_no_dtype_is_refused),
};
FR_TEST_MAIN(tests)
