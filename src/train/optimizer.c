/*
 * optimizer.c: SGD, Adam and AdamW over the parameters of an executor.
 *
 * A step reads every gradient twice: once for the sum of squares, once for the update. The sum is
 * taken in double, in an order fixed by sizes alone, and serves three ends: the norm that is
 * reported, the clipping, and the test for numbers that are not finite. Squares of floats cannot
 * overflow a double, so the sum is finite exactly where every gradient is; only then is anything
 * updated.
 *
 * All moments lie in one block, each 64-byte aligned.
 *
 * Sources: Kingma and Ba, "Adam", 2015; Loshchilov and Hutter, "Decoupled weight decay
 * regularization", 2019. Semantics as torch.optim.SGD, Adam and AdamW.
 */
#include "train/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/optimizer.h"

const char *fr_optimizer_kind_name(fr_optimizer_kind kind)
{
    return kind == FR_SGD ? "sgd" : kind == FR_ADAM ? "adam" : kind == FR_ADAMW ? "adamw" : "?";
}

fr_status fr_optimizer_options_complete(fr_optimizer_options *options)
{
    if (options->kind != FR_SGD && options->kind != FR_ADAM && options->kind != FR_ADAMW)
        return fr_fail(FR_EINVAL, "optimizer: %d is no kind", (int)options->kind);
    options->beta1 = options->beta1 == 0 ? 0.9 : options->beta1;
    options->beta2 = options->beta2 == 0 ? 0.999 : options->beta2;
    options->epsilon = options->epsilon == 0 ? 1e-8 : options->epsilon;
    const struct {
        const char *name;
        double value, below;
    } limits[] = {
        {"learning_rate", options->learning_rate, HUGE_VAL},
        {"beta1", options->beta1, 1},
        {"beta2", options->beta2, 1},
        {"epsilon", options->epsilon, HUGE_VAL},
        {"momentum", options->momentum, HUGE_VAL},
        {"weight_decay", options->weight_decay, HUGE_VAL},
        {"clip_norm", options->clip_norm, HUGE_VAL},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= 0 && limits[i].value < limits[i].below))
            return fr_fail(FR_EINVAL, "optimizer: %s is %g, must lie in [0, %g)", limits[i].name,
                           limits[i].value, limits[i].below);
    return FR_OK;
}

double fr_clip_scale(double norm, double clip_norm)
{
    const double scale = clip_norm / (norm + 1e-6);
    return clip_norm > 0 && scale < 1 ? scale : 1;
}

/* ---- making one ---- */

static fr_status constant_shape(const fr_program *p, fr_value value, const char *name,
                                int64_t *count)
{
    const fr_shape shape = fr_value_shape(p, value);
    *count = 1;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i].symbol != -1 || !fr_multiply(*count, shape.dims[i].size, count))
            return fr_fail(FR_ESHAPE, "optimizer: dimension %d of \"%s\" is not constant", i, name);
    return FR_OK;
}

static fr_status fill_slot(const fr_program *p, fr_executor *e, fr_value parameter, fr_value grad,
                           optimizer_slot *slot)
{
    slot->parameter = parameter;
    slot->grad = grad;
    if (parameter < 0 || grad < 0)
        return fr_fail(FR_EINVAL, "optimizer: parameter %d or gradient %d is no value",
                       (int)parameter, (int)grad);
    slot->name = fr_value_name(p, parameter);
    if (fr_value_dtype(p, parameter) != FR_F32 || fr_value_dtype(p, grad) != FR_F32)
        return fr_fail(FR_EDTYPE, "optimizer: \"%s\" is %s and its gradient %s, both must be f32",
                       slot->name, fr_dtype_name(fr_value_dtype(p, parameter)),
                       fr_dtype_name(fr_value_dtype(p, grad)));
    FR_RETURN_IF_ERROR(constant_shape(p, parameter, slot->name, &slot->count));
    const fr_shape shape = fr_value_shape(p, parameter), of_grad = fr_value_shape(p, grad);
    bool same = shape.rank == of_grad.rank;
    for (int i = 0; same && i < shape.rank; i++)
        same = fr_dim_equal(shape.dims[i], of_grad.dims[i]);
    if (!same)
        return fr_fail(FR_ESHAPE, "optimizer: the gradient of \"%s\" has another shape",
                       slot->name);
    if (fr_executor_data(e, parameter) == NULL)
        return fr_fail(FR_EINVAL, "optimizer: \"%s\" is no parameter of the executor", slot->name);
    return FR_OK;
}

/* Gives every slot its part of one zeroed block. */
static fr_status make_moments(fr_optimizer *optimizer)
{
    const bool adam = optimizer->options.kind != FR_SGD;
    const int per_slot = adam ? 2 : optimizer->options.momentum > 0 ? 1 : 0;
    const int64_t lanes = FR_ALIGNMENT / (int64_t)sizeof(float);
    size_t total = 0;
    for (int i = 0; i < optimizer->n_slots; i++) {
        const int64_t padded = (optimizer->slots[i].count + lanes - 1) / lanes * lanes;
        if (__builtin_add_overflow(total, (size_t)(padded * per_slot), &total))
            return fr_fail(FR_ENOMEM, "optimizer: the moments overflow the address space");
    }
    FR_RETURN_IF_ERROR(
        fr_alloc_aligned(total, sizeof(float), "moments of the optimizer", &optimizer->moments));
    memset(optimizer->moments, 0, total * sizeof(float));
    float *next = optimizer->moments;
    for (int i = 0; i < optimizer->n_slots; i++) {
        optimizer_slot *slot = &optimizer->slots[i];
        const int64_t padded = (slot->count + lanes - 1) / lanes * lanes;
        slot->first = per_slot > 0 ? next : NULL;
        slot->second = per_slot > 1 ? next + padded : NULL;
        next += padded * per_slot;
    }
    return FR_OK;
}

fr_status fr_optimizer_create(const fr_program *p, fr_executor *e, const fr_value *parameters,
                              const fr_value *grads, int n, const fr_optimizer_options *options,
                              fr_optimizer **optimizer)
{
    fr_optimizer *made = NULL;
    fr_status status;
    *optimizer = NULL;
    if (n < 0)
        return fr_fail(FR_EINVAL, "optimizer: %d parameters", n);
    FR_TRY(fr_alloc(1, sizeof *made, "optimizer", &made));
    made->program = p;
    made->executor = e;
    made->options = *options;
    FR_TRY(fr_optimizer_options_complete(&made->options));
    FR_TRY(fr_alloc((size_t)n, sizeof *made->slots, "optimizer", &made->slots));
    made->n_slots = n;
    for (int i = 0; i < n; i++) {
        FR_TRY(fill_slot(p, e, parameters[i], grads[i], &made->slots[i]));
        made->slots[i].weight_decay = made->options.weight_decay;
    }
    FR_TRY(make_moments(made));
    *optimizer = made;
    made = NULL;
done:
    fr_optimizer_free(made);
    return status;
}

void fr_optimizer_free(fr_optimizer *optimizer)
{
    if (optimizer == NULL)
        return;
    fr_free(optimizer->moments);
    fr_free(optimizer->slots);
    fr_free(optimizer);
}

void fr_optimizer_set_decay(fr_optimizer *optimizer, int i, double weight_decay)
{
    if (i >= 0 && i < optimizer->n_slots && weight_decay >= 0)
        optimizer->slots[i].weight_decay = weight_decay;
}

double fr_optimizer_grad_norm(const fr_optimizer *optimizer) { return optimizer->grad_norm; }

/* ---- a step ---- */

/* The norm over all gradients together, or an error that names the first that is not finite. */
static fr_status measure_gradients(fr_optimizer *optimizer, double *norm)
{
    double total = 0;
    for (int i = 0; i < optimizer->n_slots; i++) {
        const optimizer_slot *slot = &optimizer->slots[i];
        const float *grad = fr_executor_data(optimizer->executor, slot->grad);
        if (grad == NULL)
            return fr_fail(FR_EINVAL,
                           "optimizer: the gradient of \"%s\" is not kept: make it an output",
                           slot->name);
        const double squares = fr_sum_of_squares(grad, slot->count);
        if (!isfinite(squares))
            return fr_fail(FR_ERANGE,
                           "optimizer: the gradient of \"%s\" is not finite at step %" PRId64,
                           slot->name, optimizer->step + 1);
        total += squares;
    }
    *norm = sqrt(total);
    return FR_OK;
}

static void update_slot(const fr_optimizer *optimizer, const optimizer_slot *slot, double rate,
                        double scale)
{
    const fr_optimizer_options *options = &optimizer->options;
    float *parameter = fr_executor_data(optimizer->executor, slot->parameter);
    const float *grad = fr_executor_data(optimizer->executor, slot->grad);
    if (options->kind == FR_SGD) {
        fr_sgd_run((float)rate, (float)options->momentum, (float)slot->weight_decay, (float)scale,
                   slot->count, parameter, grad, slot->first);
        return;
    }
    const fr_adam_step adam = {
        .learning_rate = (float)rate,
        .beta1 = (float)options->beta1,
        .beta2 = (float)options->beta2,
        .epsilon = (float)options->epsilon,
        .weight_decay = (float)slot->weight_decay,
        .decoupled = options->kind == FR_ADAMW,
        .step = optimizer->step,
        .grad_scale = (float)scale,
    };
    fr_adam_run(&adam, slot->count, parameter, grad, slot->first, slot->second);
}

fr_status fr_optimizer_step(fr_optimizer *optimizer, double learning_rate)
{
    const double rate = learning_rate < 0 ? optimizer->options.learning_rate : learning_rate;
    double norm = 0;
    if (!isfinite(rate))
        return fr_fail(FR_EINVAL, "optimizer: the learning rate is %g", rate);
    FR_RETURN_IF_ERROR(measure_gradients(optimizer, &norm));
    optimizer->grad_norm = norm;
    optimizer->step++;
    const double scale = fr_clip_scale(norm, optimizer->options.clip_norm);
    for (int i = 0; i < optimizer->n_slots; i++)
        update_slot(optimizer, &optimizer->slots[i], rate, scale);
    return FR_OK;
}
