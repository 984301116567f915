/*
 * arithmetic.c: float64, and the field of integers modulo the Mersenne prime p = 2^61 - 1.
 *
 * In the field, functions that are no polynomials become random functions of their argument, chosen
 * by the seed; those that are 0 at 0 stay so, exp(0) = 1 and sigmoid(0) = 1/2, since rules about
 * padding lean on these. The order of max is the order of random keys: a total order, so max is
 * associative, commutative and idempotent, but 0 is nowhere special.
 */
#include "expr/arithmetic.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"

#define P FR_EXPR_PRIME

/* ---- float64 ---- */

static fr_number apply_real(const fr_arithmetic *a, fr_expr_kind kind, fr_number x, fr_number y)
{
    (void)a;
    fr_number out = {.real = 0};
    switch (kind) {
    case FR_EXPR_ADD: out.real = x.real + y.real; break;
    case FR_EXPR_SUBTRACT: out.real = x.real - y.real; break;
    case FR_EXPR_MULTIPLY: out.real = x.real * y.real; break;
    case FR_EXPR_DIVIDE: out.real = x.real / y.real; break;
    case FR_EXPR_NEGATE: out.real = -x.real; break;
    case FR_EXPR_EXP: out.real = exp(x.real); break;
    case FR_EXPR_LOG: out.real = log(x.real); break;
    case FR_EXPR_SQRT: out.real = sqrt(x.real); break;
    case FR_EXPR_TANH: out.real = tanh(x.real); break;
    case FR_EXPR_SIGMOID: /* 1 / (1 + e^-x), the large power never taken */
        out.real = x.real >= 0 ? 1 / (1 + exp(-x.real)) : exp(x.real) / (1 + exp(x.real));
        break;
    case FR_EXPR_RELU: out.real = x.real > 0 || isnan(x.real) ? x.real : 0; break;
    case FR_EXPR_ABS: out.real = fabs(x.real); break;
    case FR_EXPR_ERF: out.real = erf(x.real); break;
    default: break;
    }
    return out;
}

/* What is not a number wins, and stays. */
static bool is_greater_real(const fr_arithmetic *a, fr_number x, fr_number y)
{
    (void)a;
    return x.real > y.real || isnan(x.real);
}

fr_arithmetic fr_real_arithmetic(void)
{
    return (fr_arithmetic){.zero = {.real = 0}, .apply = apply_real, .is_greater = is_greater_real};
}

/* ---- the field ---- */

static uint64_t add(uint64_t x, uint64_t y)
{
    const uint64_t sum = x + y; /* below 2^62 */
    return sum >= P ? sum - P : sum;
}

static uint64_t negate(uint64_t x) { return x == 0 ? 0 : P - x; }

/* x y for x, y < 2^61, in 32-bit halves of y: 2^61 = 1 folds the high bits onto the low ones. */
static uint64_t multiply(uint64_t x, uint64_t y)
{
    const uint64_t x0 = x & UINT32_MAX, x1 = x >> 32, y0 = y & UINT32_MAX, y1 = y >> 32;
    const uint64_t middle = x1 * y0 + ((x0 * y0) >> 32); /* below 2^62 */
    const uint64_t cross = x0 * y1 + (middle & UINT32_MAX);
    const uint64_t high = x1 * y1 + (middle >> 32) + (cross >> 32);
    const uint64_t low = cross << 32 | ((x0 * y0) & UINT32_MAX);
    const uint64_t sum = (low & P) + (high << 3 | low >> 61); /* x y = high 2^64 + low */
    return sum >= P ? sum - P : sum;
}

static uint64_t power(uint64_t x, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1, x = multiply(x, x))
        if ((exponent & 1) != 0)
            result = multiply(result, x);
    return result;
}

uint64_t fr_residue_of_int(int64_t x)
{
    return x >= 0 ? (uint64_t)x % P : negate((0 - (uint64_t)x) % P);
}

uint64_t fr_residue_of_double(double x)
{
    int exponent;
    const double fraction =
        frexp(x, &exponent); /* x = fraction 2^exponent, |fraction| in [1/2, 1) */
    const uint64_t mantissa = fr_residue_of_int((int64_t)ldexp(fraction, 53));
    exponent -= 53;
    /* 2 has order 61: 2^61 = 1 */
    return multiply(mantissa, UINT64_C(1) << ((exponent % 61 + 61) % 61));
}

static uint64_t random_function(const fr_arithmetic *a, uint64_t which, uint64_t x)
{
    uint32_t draws[4];
    fr_philox(a->seed, which, x, draws);
    return ((uint64_t)draws[0] << 32 | draws[1]) % P;
}

static uint64_t function_at_zero(const fr_arithmetic *a, fr_expr_kind kind)
{
    if (kind == FR_EXPR_EXP)
        return 1;
    if (kind == FR_EXPR_SIGMOID)
        return (P + 1) / 2; /* 1/2 */
    return kind == FR_EXPR_LOG ? random_function(a, kind, 0) : 0;
}

static fr_number apply_exact(const fr_arithmetic *a, fr_expr_kind kind, fr_number x, fr_number y)
{
    uint64_t out;
    switch (kind) {
    case FR_EXPR_ADD: out = add(x.residue, y.residue); break;
    case FR_EXPR_SUBTRACT: out = add(x.residue, negate(y.residue)); break;
    case FR_EXPR_MULTIPLY: out = multiply(x.residue, y.residue); break;
    case FR_EXPR_DIVIDE: /* y is not 0: the interpreter looks first; 1/y = y^(p-2) */
        out = multiply(x.residue, power(y.residue, P - 2));
        break;
    case FR_EXPR_NEGATE: out = negate(x.residue); break;
    default:
        out = x.residue == 0 ? function_at_zero(a, kind) : random_function(a, kind, x.residue);
        break;
    }
    return (fr_number){.residue = out};
}

static bool is_greater_exact(const fr_arithmetic *a, fr_number x, fr_number y)
{
    const uint64_t key_x = random_function(a, FR_EXPR_KINDS, x.residue);
    const uint64_t key_y = random_function(a, FR_EXPR_KINDS, y.residue);
    return key_x != key_y ? key_x > key_y : x.residue > y.residue;
}

fr_arithmetic fr_exact_arithmetic(uint64_t seed)
{
    return (fr_arithmetic){.is_exact = true,
                           .seed = seed,
                           .zero = {.residue = 0},
                           .apply = apply_exact,
                           .is_greater = is_greater_exact};
}

/* ---- tensors ---- */

static fr_status residues_of_doubles(const char *name, fr_number *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i].real))
            return fr_fail(FR_ERANGE, "%s holds a value that is not finite", name);
        numbers[i].residue = fr_residue_of_double(numbers[i].real);
    }
    return FR_OK;
}

static void residues_of_integers(bool is_unsigned, fr_number *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value;
        memcpy(&value, &numbers[i], sizeof value);
        numbers[i].residue = is_unsigned ? (uint64_t)value % P : fr_residue_of_int(value);
    }
}

fr_status fr_numbers_of_tensor(const fr_arithmetic *arithmetic, const char *name,
                               const fr_tensor *tensor, fr_number **numbers)
{
    const int64_t n = fr_tensor_count(tensor);
    const bool is_unsigned = tensor->dtype == FR_U64;
    fr_dtype carrier = FR_F64;
    if (arithmetic->is_exact && !fr_dtype_is_float(tensor->dtype))
        carrier = is_unsigned ? FR_U64 : FR_I64;
    fr_tensor view;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof **numbers, "values of an expression", numbers));
    FR_TRY(fr_tensor_view(carrier, tensor->rank, tensor->shape, *numbers, &view));
    FR_TRY(fr_wrap(fr_tensor_copy(tensor, &view), "%s", name));
    if (arithmetic->is_exact && carrier == FR_F64)
        FR_TRY(residues_of_doubles(name, *numbers, n));
    else if (arithmetic->is_exact)
        residues_of_integers(is_unsigned, *numbers, n);
done:
    if (status != FR_OK) {
        fr_free(*numbers);
        *numbers = NULL;
    }
    return status;
}

fr_status fr_random_numbers(const fr_arithmetic *arithmetic, const char *name, int64_t n,
                            fr_number **numbers)
{
    uint64_t stream = UINT64_C(0xCBF29CE484222325); /* FNV-1a of the name */
    for (const char *c = name; *c != 0; c++)
        stream = (stream ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof **numbers, "values of an expression", numbers));
    for (int64_t i = 0; i < n; i++)
        (*numbers)[i].residue = random_function(arithmetic, stream, (uint64_t)i);
    return FR_OK;
}
