/*
 * optimizer_case.h: a program whose gradients the test chooses: loss = sum over parameters of
 * sum(parameter * given), so d(loss)/d(parameter) is `given`, an input.
 */
#ifndef FR_OPTIMIZER_CASE_H
#define FR_OPTIMIZER_CASE_H

#include "train_test.h"

enum { CASE_PARAMETERS = 3, CASE_MOST = 200 };
static const int64_t case_counts[CASE_PARAMETERS] = {1, 33, 192}; /* shapes [1], [33], [12, 16] */

typedef struct optimizer_case {
    fr_program *program;
    fr_executor *executor;
    fr_value parameters[CASE_PARAMETERS], grads[CASE_PARAMETERS], given[CASE_PARAMETERS];
    float values[CASE_PARAMETERS][CASE_MOST]; /* of the gradients */
} optimizer_case;

static inline fr_shape case_shape(int i)
{
    return i < 2 ? FR_SHAPE(fr_constant(case_counts[i]))
                 : FR_SHAPE(fr_constant(12), fr_constant(16));
}

static inline optimizer_case *make_case(uint64_t seed)
{
    static const char *const names[] = {"bias", "scale", "weight"};
    static const char *const inputs[] = {"g0", "g1", "g2"};
    optimizer_case *made;
    OK(fr_alloc(1, sizeof *made, "case", &made));
    fr_program *p = made->program = fr_program_create();
    fr_value loss = FR_NO_VALUE;
    for (int i = 0; i < CASE_PARAMETERS; i++) {
        made->parameters[i] = fr_parameter(p, names[i], FR_F32, case_shape(i), fr_normal(0, 1));
        made->given[i] = fr_input(p, inputs[i], FR_F32, case_shape(i));
        const fr_value product = fr_mul(p, made->parameters[i], made->given[i]);
        const fr_value sum =
            fr_reduce_sum(p, product, (const int64_t[]){0, 1}, i < 2 ? 1 : 2, false);
        loss = i == 0 ? sum : fr_add(p, loss, sum);
    }
    const fr_value statistic =
        fr_state(p, "statistic", FR_F32, FR_SHAPE(fr_constant(4)), fr_fill(2));
    (void)statistic;
    OK(fr_gradient(p, loss, made->parameters, CASE_PARAMETERS, made->grads));
    for (int i = 0; i < CASE_PARAMETERS; i++)
        fr_output(p, names[i], made->grads[i]);
    OK(fr_program_check(p));
    OK(fr_executor_create(p, &(fr_executor_options){.training = true, .seed = seed},
                          &made->executor));
    for (int i = 0; i < CASE_PARAMETERS; i++)
        OK(fr_executor_set(made->executor, made->given[i], made->values[i]));
    return made;
}

static inline void free_case(optimizer_case *made)
{
    fr_executor_free(made->executor);
    fr_program_free(made->program);
    fr_free(made);
}

/** Draws new gradients and runs, so that they are the executor's. */
static inline void run_case(optimizer_case *made, fr_random *random)
{
    for (int i = 0; i < CASE_PARAMETERS; i++)
        fill_normal(random, made->values[i], case_counts[i]);
    OK(fr_executor_run(made->executor));
}

#endif
