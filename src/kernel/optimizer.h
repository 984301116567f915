/*
 * optimizer.h: one update step of dense and row-sparse optimizers, f32, in place, element by
 * element (so thread count cannot matter).
 */
#ifndef FR_KERNEL_OPTIMIZER_H
#define FR_KERNEL_OPTIMIZER_H

#include <frugal/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct fr_adam_step {
    float learning_rate, beta1, beta2, epsilon;
    float weight_decay; /* decoupled (AdamW) where `decoupled`, else added to the gradient (as
                           torch.optim.Adam) */
    bool decoupled;
    int64_t step;     /* 1 for the first: bias correction as in the paper and torch */
    float grad_scale; /* of clipping; 1 = none */
} fr_adam_step;

/** Kingma and Ba 2015; Loshchilov and Hutter 2019. */
void fr_adam_run(const fr_adam_step *adam, int64_t n, float *parameter, const float *grad,
                 float *first, float *second);
/** Only the rows named are touched: rows are unique, grad holds them densely. `second` is [n_rows,
 * width] or, where `per_row`, [n_rows] (mean square of the row). */
void fr_adam_rows_run(const fr_adam_step *adam, const int64_t *rows, int64_t n, int64_t width,
                      float *table, const float *grad, float *first, float *second, bool per_row);
/** v = momentum * v + (grad + weight_decay * parameter); parameter -= learning_rate * v. velocity
 * may be NULL where momentum is 0. */
void fr_sgd_run(float learning_rate, float momentum, float weight_decay, float grad_scale,
                int64_t n, float *parameter, const float *grad, float *velocity);
/** Sum of squares in double, fixed tiles: the same for any thread count. */
double fr_sum_of_squares(const float *values, int64_t n);

#endif
