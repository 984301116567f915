/*
 * arithmetic.h: what the interpreter computes with: float64, or integers modulo 2^61 - 1.
 */
#ifndef FR_EXPR_ARITHMETIC_H
#define FR_EXPR_ARITHMETIC_H

#include <frugal/expr.h>

#include "base/error.h"

typedef union fr_number {
    double real;
    uint64_t residue;
} fr_number;

typedef struct fr_arithmetic {
    bool is_exact;
    uint64_t seed; /* of the random functions of exact arithmetic */
    fr_number zero;
    fr_number (*apply)(const struct fr_arithmetic *a, fr_expr_kind kind, fr_number x, fr_number y);
    bool (*is_greater)(const struct fr_arithmetic *a, fr_number x, fr_number y);
} fr_arithmetic;

fr_arithmetic fr_real_arithmetic(void);
fr_arithmetic fr_exact_arithmetic(uint64_t seed);

/** The residue of a finite double; its value is an integer times a power of 2, and 2 has an
 * inverse. */
uint64_t fr_residue_of_double(double x);
uint64_t fr_residue_of_int(int64_t x);

/** Values of a tensor, in row-major order, into n fresh numbers (fr_free). `name` is for messages.
 */
fr_status fr_numbers_of_tensor(const fr_arithmetic *arithmetic, const char *name,
                               const fr_tensor *tensor, fr_number **numbers) FR_MUST_USE;
/** n random residues that depend on (seed, name, position). */
fr_status fr_random_numbers(const fr_arithmetic *arithmetic, const char *name, int64_t n,
                            fr_number **numbers) FR_MUST_USE;

#endif
