/*
 * kernel_test.h: what the tests of kernels share: seeded numbers, exact-size buffers, comparison
 * with a reference in double, and loops over instruction sets and thread counts.
 *
 * Buffers come from malloc with no slack, so that the address sanitizer sees a read one element
 * beyond a row.
 */
#ifndef FR_TESTS_KERNEL_TEST_H
#define FR_TESTS_KERNEL_TEST_H

#include <math.h>

#include "test_main.h"

#include "base/parallel.h"
#include "base/random.h"
#include "kernel/cpu.h"

static inline uint64_t test_draw(void)
{
    static uint64_t counter;
    uint32_t draws[4];
    fr_philox(fr_test_seed(), 0, counter++, draws);
    return (uint64_t)draws[0] << 32 | draws[1];
}

/* A whole number in [0, bound). */
static inline int64_t test_below(int64_t bound) { return (int64_t)(test_draw() % (uint64_t)bound); }
/* A number in [-1, 1). */
static inline double test_number(void) { return (double)(test_draw() >> 11) * 0x1p-52 - 1.0; }

static inline void *test_block(int64_t count, size_t size)
{
    void *block = malloc((size_t)count * size + (count == 0));
    assert_non_null(block);
    return block;
}

static inline float *test_floats(int64_t n)
{
    float *values = test_block(n, sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)test_number();
    return values;
}

/* The same numbers as doubles. */
static inline double *test_doubles_of(const float *values, int64_t n)
{
    double *copy = test_block(n, sizeof *copy);
    for (int64_t i = 0; i < n; i++)
        copy[i] = (double)values[i];
    return copy;
}

/* |value - reference| <= eps * (1 + terms * |size|): a sum of `terms` products, each below 1. */
static inline void test_close_f32(const float *value, const double *reference, int64_t n,
                                  int64_t terms, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        const double bound = 1.2e-7 * (4.0 + (double)terms + 4.0 * fabs(reference[i]));
        if (!(fabs((double)value[i] - reference[i]) <= bound))
            fail_msg("%s: element %lld is %.9g, the reference %.9g, bound %.2g", what, (long long)i,
                     (double)value[i], reference[i], bound);
    }
}

static inline void test_close_f64(const double *value, const double *reference, int64_t n,
                                  int64_t terms, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        const double bound = 2.3e-16 * (8.0 + (double)terms + 4.0 * fabs(reference[i]));
        if (!(fabs(value[i] - reference[i]) <= bound))
            fail_msg("%s: element %lld is %.17g, the reference %.17g", what, (long long)i, value[i],
                     reference[i]);
    }
}

/* Runs the body once per instruction set of this machine: for (TEST_EACH_ISA(isa)) ... */
#define TEST_EACH_ISA(isa)                                                                         \
    int isa = FR_ISA_PORTABLE;                                                                     \
    isa <= FR_ISA_AVX512 && (int)fr_cpu_limit_isa((fr_isa)isa) == isa;                             \
    isa++

static inline const char *test_isa(void) { return fr_isa_name(fr_cpu_isa()); }

#endif
