/*
 * elementwise.h: one number from one, two or three numbers at the same place, with NumPy's
 * broadcasting, and copies into a larger shape.
 *
 * Work is cut into tiles of about 16 Ki elements by shape alone; elements do not meet, so any
 * number of threads gives the same bits. `out` may be the memory of an operand of the same shape.
 */
#ifndef FR_KERNEL_ELEMENTWISE_H
#define FR_KERNEL_ELEMENTWISE_H

#include <frugal/tensor.h>
#include <stdint.h>

/** How operands are read for one shape of the result: dims merged as far as they go, of 1 left out;
 * the stride is 0 where an operand is repeated. Innermost last; rank at least 1. */
enum { FR_BROADCAST_OPERANDS = 3 };
typedef struct fr_broadcast {
    int rank;
    int64_t size[FR_MAX_RANK];
    int64_t stride[FR_BROADCAST_OPERANDS][FR_MAX_RANK];
} fr_broadcast;

/** Contiguous operands, each dim 1 or that of out, aligned at the last dim. */
fr_broadcast fr_broadcast_of(const fr_tensor *out, const fr_tensor *const *in, int n_operands);

/* The functions of two numbers: name, formula over x and y. */
#define FR_BINARY_LIST(X)                                                                          \
    X(add, x + y)                                                                                  \
    X(sub, x - y)                                                                                  \
    X(mul, x *y)                                                                                   \
    X(div, x / y)                                                                                  \
    X(max, fr_larger(x, y))                                                                        \
    X(min, fr_smaller(x, y))

typedef enum fr_binary {
#define FR_BINARY_ENUM(name, formula) FR_BINARY_##name,
    FR_BINARY_LIST(FR_BINARY_ENUM)
#undef FR_BINARY_ENUM
} fr_binary;

/** out = f(a, b); dtype FR_F32 or FR_F64. */
void fr_binary_run(fr_binary kind, fr_dtype dtype, const fr_broadcast *shape, const void *a,
                   const void *b, void *out);

/** out = dy where a is the larger (`smaller`: the smaller) of a and b, else 0; equal ones count as
 * a being it; with `other` the opposite choice: the gradients of max and min. */
void fr_chosen_run(bool smaller, bool other, fr_dtype dtype, const fr_broadcast *shape,
                   const void *a, const void *b, const void *dy, void *out);

/*
 * The functions of one number x with one attribute a: name, formula, and the formula of dx from dy
 * and s, which is x or the result y as `fr_op_unary` says. s is y where that is as good, so that x
 * need not be kept.
 */
#define FR_UNARY_LIST(X)                                                                           \
    X(neg, -x, -dy)                                                                                \
    X(scale, x *a, dy *a)                                                                          \
    X(abs, fr_real_abs(x), fr_choose(s > 0, dy, fr_choose(s < 0, -dy, (real)0)))                   \
    X(exp, fr_real_exp(x), dy *s)                                                                  \
    X(log, fr_real_log(x), dy / s)                                                                 \
    X(sqrt, fr_real_sqrt(x), dy *(real)0.5 / s)                                                    \
    X(sigmoid, fr_real_sigmoid(x), dy *s *(1 - s))                                                 \
    X(tanh, fr_real_tanh(x), dy *(1 - s * s))                                                      \
    X(relu, fr_choose(x <= 0, (real)0, x), fr_choose(s > 0, dy, (real)0))                          \
    X(leaky_relu, fr_choose(x < 0, x * a, x), fr_choose(s < 0, dy * a, dy))                        \
    X(elu, fr_choose(x < 0, a * fr_real_expm1(fr_choose(x < 0, x, (real)0)), x),                   \
      fr_choose(s < 0, dy * a * fr_real_exp(s), dy))                                               \
    X(gelu, x *fr_real_normal(x),                                                                  \
      dy *(fr_real_normal(s) +                                                                     \
           s * ((real)0.39894228040143267794 * fr_real_exp(s * s * (real)-0.5))))                  \
    X(silu, x *fr_real_sigmoid(x), dy *fr_real_sigmoid(s) * (1 + s * (1 - fr_real_sigmoid(s))))    \
    X(softplus, fr_choose(x > 0, x, (real)0) + fr_real_log1p(fr_real_exp(-fr_real_abs(x))),        \
      dy * fr_real_sigmoid(s))

typedef enum fr_unary {
#define FR_UNARY_ENUM(name, formula, gradient) FR_UNARY_##name,
    FR_UNARY_LIST(FR_UNARY_ENUM)
#undef FR_UNARY_ENUM
} fr_unary;

/** y = f(x) of n elements. */
void fr_unary_run(fr_unary kind, double a, fr_dtype dtype, int64_t n, const void *x, void *y);
/** dx of n elements, from s (x or y) and dy. */
void fr_unary_gradient_run(fr_unary kind, double a, fr_dtype dtype, int64_t n, const void *s,
                           const void *dy, void *dx);

/** out = x repeated; any element size of 1, 2, 4 or 8 bytes. */
void fr_expand_run(size_t element_bytes, const fr_broadcast *shape, const void *x, void *out);
/** out = value everywhere; dtype FR_F32 or FR_F64, or any dtype where value is 0. */
void fr_fill_run(fr_dtype dtype, double value, int64_t n, void *out);

#endif
