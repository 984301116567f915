/*
 * optimizer_template.h: the inner loops of the optimizers, compiled once per instruction set.
 *
 * Included after one of vector_*.h by a file that defines NAME, the table. Only + - * / and square
 * root, each rounded correctly, in one order and never contracted: every instruction set gives the
 * same bits (tested). A loop body is written once, for a whole vector or its last lanes.
 */
#include <math.h>
#include <stddef.h>

#include "kernel/optimizer_loops.h"

/* Runs `body(at, partial, m)` over n elements: vectors, then the rest under a mask. */
#define FOR_VECTORS(n, body)                                                                       \
    do {                                                                                           \
        int64_t at_ = 0;                                                                           \
        for (; at_ + LANES <= (n); at_ += LANES)                                                   \
            body(at_, false, mask_of(LANES));                                                      \
        if (at_ < (n))                                                                             \
            body(at_, true, mask_of((n)-at_));                                                     \
    } while (0)

INLINE vec get(const float *from, int64_t at, bool partial, mask m)
{
    return partial ? vec_load_some(from + at, m) : vec_load(from + at);
}

INLINE void put(float *to, int64_t at, bool partial, mask m, vec v)
{
    if (partial)
        vec_store_some(to + at, m, v);
    else
        vec_store(to + at, v);
}

/* The gradient as used: scaled by clipping, with decay that is not decoupled. */
INLINE vec used_gradient(vec grad, vec parameter, float grad_scale, float decay)
{
    return vec_add(vec_multiply(grad, vec_all(grad_scale)),
                   vec_multiply(vec_all(decay), parameter));
}

/* beta * old + rest * value */
INLINE vec moving_mean(float beta, vec old, float rest, vec value)
{
    return vec_add(vec_multiply(vec_all(beta), old), vec_multiply(vec_all(rest), value));
}

static void adam(const fr_adam_factors *f, int64_t n, float *parameter, const float *grad,
                 float *first, float *second)
{
    const fr_adam_factors a = *f;
#define STEP(at, partial, some)                                                                    \
    do {                                                                                           \
        const vec p = get(parameter, at, partial, some);                                           \
        const vec g =                                                                              \
            used_gradient(get(grad, at, partial, some), p, a.grad_scale, a.coupled_decay);         \
        /* m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2 */                                       \
        const vec m = moving_mean(a.beta1, get(first, at, partial, some), a.rest1, g);             \
        const vec v =                                                                              \
            moving_mean(a.beta2, get(second, at, partial, some), a.rest2, vec_multiply(g, g));     \
        /* p = (1 - lr wd) p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps) */           \
        const vec root =                                                                           \
            vec_add(vec_multiply(vec_sqrt(v), vec_all(a.root_correction)), vec_all(a.epsilon));    \
        const vec change = vec_divide(vec_multiply(vec_all(a.rate), m), root);                     \
        put(first, at, partial, some, m);                                                          \
        put(second, at, partial, some, v);                                                         \
        put(parameter, at, partial, some,                                                          \
            vec_subtract(vec_multiply(vec_all(a.shrink), p), change));                             \
    } while (0)
    FOR_VECTORS(n, STEP);
#undef STEP
}

/* As adam, but one v for the whole row: the mean square of its gradient. */
static void adam_row(const fr_adam_factors *f, int64_t n, float *parameter, const float *grad,
                     float *first, float *second)
{
    const fr_adam_factors a = *f;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        const float g = grad[i] * a.grad_scale + a.coupled_decay * parameter[i];
        squares += (double)g * (double)g;
    }
    const float mean = (float)(squares / (double)(n > 0 ? n : 1));
    *second = a.beta2 * *second + a.rest2 * mean;
    const vec rate = vec_all(a.rate / (sqrtf(*second) * a.root_correction + a.epsilon));
#define STEP(at, partial, some)                                                                    \
    do {                                                                                           \
        const vec p = get(parameter, at, partial, some);                                           \
        const vec g =                                                                              \
            used_gradient(get(grad, at, partial, some), p, a.grad_scale, a.coupled_decay);         \
        const vec m = moving_mean(a.beta1, get(first, at, partial, some), a.rest1, g);             \
        put(first, at, partial, some, m);                                                          \
        put(parameter, at, partial, some,                                                          \
            vec_subtract(vec_multiply(vec_all(a.shrink), p), vec_multiply(rate, m)));              \
    } while (0)
    FOR_VECTORS(n, STEP);
#undef STEP
}

static void sgd(const fr_sgd_factors *f, int64_t n, float *parameter, const float *grad,
                float *velocity)
{
    const fr_sgd_factors s = *f;
#define STEP(at, partial, some)                                                                    \
    do {                                                                                           \
        const vec p = get(parameter, at, partial, some);                                           \
        vec v = used_gradient(get(grad, at, partial, some), p, s.grad_scale, s.weight_decay);      \
        if (velocity != NULL) {                                                                    \
            /* v = momentum v + g */                                                               \
            v = vec_add(vec_multiply(vec_all(s.momentum), get(velocity, at, partial, some)), v);   \
            put(velocity, at, partial, some, v);                                                   \
        }                                                                                          \
        put(parameter, at, partial, some,                                                          \
            vec_subtract(p, vec_multiply(vec_all(s.learning_rate), v)));                           \
    } while (0)
    FOR_VECTORS(n, STEP);
#undef STEP
}

/* SUMS sums side by side, then added in order. */
static double squares(const float *values, int64_t n)
{
    enum { SUMS = 16 };
    double sum[SUMS] = {0}, total = 0;
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int j = 0; j < SUMS; j++)
            sum[j] += (double)values[i + j] * (double)values[i + j];
    for (; i < n; i++)
        total += (double)values[i] * (double)values[i];
    for (int j = 0; j < SUMS; j++)
        total += sum[j];
    return total;
}

const fr_optimizer_loops NAME = {adam, adam_row, sgd, squares};
