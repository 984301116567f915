/*
 * optimizer.c: update steps cut into tiles of elements or rows.
 *
 * Every element is updated from its own state only, so tiles may run in any order. The one sum
 * (fr_sum_of_squares) is cut into at most SUM_TILES pieces by length alone, added in order.
 */
#include "kernel/optimizer.h"

#include <math.h>
#include <stddef.h>

#include "base/parallel.h"
#include "kernel/cpu.h"
#include "kernel/optimizer_loops.h"

enum { TILE = 1 << 14, SUM_TILES = 256 };

static const fr_optimizer_loops *loops(void)
{
#if FR_X86
    switch (fr_cpu_isa()) {
    case FR_ISA_AVX512: return &fr_optimizer_avx512;
    case FR_ISA_AVX2: return &fr_optimizer_avx2;
    case FR_ISA_PORTABLE: break;
    }
#endif
    return &fr_optimizer_portable;
}

/* Corrections are worked out in double: 1 - beta^t loses half of float's digits at t = 1. */
static fr_adam_factors factors_of(const fr_adam_step *step)
{
    const double beta1 = (double)step->beta1, beta2 = (double)step->beta2;
    const double correction1 = 1.0 - pow(beta1, (double)step->step);
    const double correction2 = 1.0 - pow(beta2, (double)step->step);
    const double rate = (double)step->learning_rate, decay = (double)step->weight_decay;
    return (fr_adam_factors){
        .beta1 = step->beta1,
        .rest1 = (float)(1.0 - beta1),
        .beta2 = step->beta2,
        .rest2 = (float)(1.0 - beta2),
        .epsilon = step->epsilon,
        .rate = (float)(rate / correction1),
        .root_correction = (float)(1.0 / sqrt(correction2)),
        .shrink = step->decoupled ? (float)(1.0 - rate * decay) : 1.0F,
        .coupled_decay = step->decoupled ? 0.0F : step->weight_decay,
        .grad_scale = step->grad_scale,
    };
}

typedef struct dense_job {
    const fr_optimizer_loops *loops;
    fr_adam_factors adam;
    fr_sgd_factors sgd;
    float *parameter, *first, *second; /* sgd: first is the velocity */
    const float *grad;
} dense_job;

static void run_adam(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const dense_job *job = context;
    job->loops->adam(&job->adam, end - begin, job->parameter + begin, job->grad + begin,
                     job->first + begin, job->second + begin);
}

void fr_adam_run(const fr_adam_step *adam, int64_t n, float *parameter, const float *grad,
                 float *first, float *second)
{
    dense_job job = {.loops = loops(),
                     .adam = factors_of(adam),
                     .parameter = parameter,
                     .first = first,
                     .second = second,
                     .grad = grad};
    fr_parallel_for(n, TILE, run_adam, &job);
}

static void run_sgd(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const dense_job *job = context;
    job->loops->sgd(&job->sgd, end - begin, job->parameter + begin, job->grad + begin,
                    job->first == NULL ? NULL : job->first + begin);
}

void fr_sgd_run(float learning_rate, float momentum, float weight_decay, float grad_scale,
                int64_t n, float *parameter, const float *grad, float *velocity)
{
    dense_job job = {.loops = loops(),
                     .sgd = {learning_rate, momentum, weight_decay, grad_scale},
                     .parameter = parameter,
                     .first = velocity,
                     .grad = grad};
    fr_parallel_for(n, TILE, run_sgd, &job);
}

/* ---- rows ---- */

typedef struct rows_job {
    const fr_optimizer_loops *loops;
    fr_adam_factors adam;
    const int64_t *rows;
    int64_t width;
    float *table, *first, *second;
    const float *grad;
    bool per_row;
} rows_job;

static void run_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const rows_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = job->rows[i], at = row * job->width;
        const float *grad = job->grad + i * job->width;
        if (job->per_row)
            job->loops->adam_row(&job->adam, job->width, job->table + at, grad, job->first + at,
                                 job->second + row);
        else
            job->loops->adam(&job->adam, job->width, job->table + at, grad, job->first + at,
                             job->second + at);
    }
}

void fr_adam_rows_run(const fr_adam_step *adam, const int64_t *rows, int64_t n, int64_t width,
                      float *table, const float *grad, float *first, float *second, bool per_row)
{
    rows_job job = {loops(), factors_of(adam), rows, width, table, first, second, grad, per_row};
    fr_parallel_for(n, 1 + TILE / (width + 1), run_rows, &job);
}

/* ---- norm ---- */

typedef struct sum_job {
    const fr_optimizer_loops *loops;
    const float *values;
    int64_t n, tile;
    double partial[SUM_TILES];
} sum_job;

static void run_sum(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    sum_job *job = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * job->tile, left = job->n - first;
        job->partial[i] =
            job->loops->squares(job->values + first, left < job->tile ? left : job->tile);
    }
}

double fr_sum_of_squares(const float *values, int64_t n)
{
    if (n <= 0)
        return 0;
    const int64_t tile = n <= (int64_t)SUM_TILES * TILE ? TILE : (n + SUM_TILES - 1) / SUM_TILES;
    const int64_t n_tiles = (n + tile - 1) / tile;
    sum_job job = {.loops = loops(), .values = values, .n = n, .tile = tile};
    fr_parallel_for(n_tiles, 1, run_sum, &job);
    double total = 0;
    for (int64_t i = 0; i < n_tiles; i++)
        total += job.partial[i];
    return total;
}
