/*
 * two_layer.h: a perceptron of two layers with its loss and gradients, which several tests of
 * programs run.
 *
 *     h = relu(x W1 + b1), loss = mean((h W2 - t)^2)
 */
#ifndef FR_TESTS_TWO_LAYER_H
#define FR_TESTS_TWO_LAYER_H

#include <frugal/program.h>

#include "base/random.h"

enum { IN_WIDTH = 5, HIDDEN = 7, OUT_WIDTH = 3 };

typedef struct two_layer {
    fr_program *p;
    fr_dim rows;
    fr_value x, t, w[3], hidden, loss, dw[3], dx;
} two_layer;

static inline two_layer make_two_layer(fr_dtype dtype)
{
    two_layer m = {.p = fr_program_create()};
    fr_program *p = m.p;
    const fr_dim k = fr_constant(IN_WIDTH), h = fr_constant(HIDDEN), c = fr_constant(OUT_WIDTH);
    m.rows = fr_symbol(p, "n");
    m.x = fr_input(p, "x", dtype, FR_SHAPE(m.rows, k));
    m.t = fr_input(p, "t", dtype, FR_SHAPE(m.rows, c));
    m.w[0] = fr_parameter(p, "w1", dtype, FR_SHAPE(k, h), fr_glorot());
    m.w[1] = fr_parameter(p, "b1", dtype, FR_SHAPE(h), fr_uniform(-0.5, 0.5));
    m.w[2] = fr_parameter(p, "w2", dtype, FR_SHAPE(h, c), fr_glorot());
    m.hidden = fr_relu(p, fr_linear(p, m.x, m.w[0], m.w[1]));
    const fr_value error = fr_sub(p, fr_matmul(p, m.hidden, m.w[2]), m.t);
    m.loss = fr_reduce_mean(p, fr_mul(p, error, error), NULL, 0, false);
    const fr_value wrt[] = {m.w[0], m.w[1], m.w[2], m.x};
    fr_value grads[4] = {FR_NO_VALUE, FR_NO_VALUE, FR_NO_VALUE, FR_NO_VALUE};
    (void)fr_gradient(p, m.loss, wrt, 4, grads);
    for (int i = 0; i < 3; i++)
        m.dw[i] = grads[i];
    m.dx = grads[3];
    fr_output(p, "loss", m.loss);
    fr_output(p, "dw1", m.dw[0]);
    fr_output(p, "db1", m.dw[1]);
    fr_output(p, "dw2", m.dw[2]);
    fr_output(p, "dx", m.dx);
    return m;
}

static inline void fill_random(double *values, int64_t n, uint64_t seed)
{
    fr_random random = fr_random_start(seed, 1);
    for (int64_t i = 0; i < n; i++)
        values[i] = fr_random_normal(&random);
}

#endif
