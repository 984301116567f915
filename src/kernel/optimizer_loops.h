/*
 * optimizer_loops.h: the tables of inner loops behind optimizer.c, one per instruction set.
 */
#ifndef FR_KERNEL_OPTIMIZER_LOOPS_H
#define FR_KERNEL_OPTIMIZER_LOOPS_H

#include <stdint.h>

/* fr_adam_step, with what does not depend on the element worked out. */
typedef struct fr_adam_factors {
    float beta1, rest1, beta2, rest2, epsilon; /* rest = 1 - beta */
    float rate;                                /* learning rate / (1 - beta1^t) */
    float root_correction;                     /* 1 / sqrt(1 - beta2^t) */
    float shrink;                              /* 1 - learning rate * decoupled decay */
    float coupled_decay, grad_scale;
} fr_adam_factors;

typedef struct fr_sgd_factors {
    float learning_rate, momentum, weight_decay, grad_scale;
} fr_sgd_factors;

typedef struct fr_optimizer_loops {
    void (*adam)(const fr_adam_factors *factors, int64_t n, float *parameter, const float *grad,
                 float *first, float *second);
    void (*adam_row)(const fr_adam_factors *factors, int64_t n, float *parameter, const float *grad,
                     float *first, float *second);
    void (*sgd)(const fr_sgd_factors *factors, int64_t n, float *parameter, const float *grad,
                float *velocity);
    double (*squares)(const float *values, int64_t n);
} fr_optimizer_loops;

extern const fr_optimizer_loops fr_optimizer_portable;
#if FR_X86
extern const fr_optimizer_loops fr_optimizer_avx2, fr_optimizer_avx512;
#endif

#endif
