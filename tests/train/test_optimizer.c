/*
 * SGD, Adam and AdamW over an executor. Oracle: the published update rules of torch.optim.SGD, Adam
 * and AdamW and of clip_grad_norm_, in double, element by element.
 */
#include "optimizer_case.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"

enum { STEPS = 15 };

typedef struct reference {
    double parameter[CASE_PARAMETERS][CASE_MOST], first[CASE_PARAMETERS][CASE_MOST],
        second[CASE_PARAMETERS][CASE_MOST];
    double norm;
} reference;

static void start_reference(const optimizer_case *c, reference *r)
{
    *r = (reference){.norm = 0};
    for (int i = 0; i < CASE_PARAMETERS; i++) {
        const float *values = fr_executor_data(c->executor, c->parameters[i]);
        for (int64_t k = 0; k < case_counts[i]; k++)
            r->parameter[i][k] = (double)values[k];
    }
}

static void reference_step(const optimizer_case *c, reference *r, const fr_optimizer_options *o,
                           const double *decay, int step, double rate)
{
    double squares = 0;
    for (int i = 0; i < CASE_PARAMETERS; i++)
        for (int64_t k = 0; k < case_counts[i]; k++)
            squares += (double)c->values[i][k] * (double)c->values[i][k];
    r->norm = sqrt(squares);
    double scale = o->clip_norm > 0 ? o->clip_norm / (r->norm + 1e-6) : 1;
    scale = scale < 1 ? scale : 1;
    const double b1 = o->beta1 > 0 ? o->beta1 : 0.9, b2 = o->beta2 > 0 ? o->beta2 : 0.999;
    const double epsilon = o->epsilon > 0 ? o->epsilon : 1e-8;
    for (int i = 0; i < CASE_PARAMETERS; i++)
        for (int64_t k = 0; k < case_counts[i]; k++) {
            double *p = &r->parameter[i][k], *m = &r->first[i][k], *v = &r->second[i][k];
            double g = (double)c->values[i][k] * scale;
            if (o->kind == FR_ADAMW)
                *p *= 1 - rate * decay[i];
            else
                g += decay[i] * *p;
            if (o->kind == FR_SGD) {
                *m = o->momentum * *m + g; /* the first step's buffer is g itself: the same */
                *p -= rate * *m;
                continue;
            }
            *m = b1 * *m + (1 - b1) * g;
            *v = b2 * *v + (1 - b2) * g * g;
            *p -= rate * (*m / (1 - pow(b1, step))) / (sqrt(*v / (1 - pow(b2, step))) + epsilon);
        }
}

static double worst_difference(const optimizer_case *c, const reference *r)
{
    double worst = 0;
    for (int i = 0; i < CASE_PARAMETERS; i++) {
        const float *values = fr_executor_data(c->executor, c->parameters[i]);
        for (int64_t k = 0; k < case_counts[i]; k++) {
            const double difference = fabs((double)values[k] - r->parameter[i][k]);
            worst = difference > worst ? difference : worst;
        }
    }
    return worst;
}

static void steps_follow_the_published_rules(void **state)
{
    (void)state;
    static const fr_optimizer_options cases[] = {
        {.kind = FR_SGD, .learning_rate = 0.1},
        {.kind = FR_SGD, .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01},
        {.kind = FR_SGD, .learning_rate = 0.1, .momentum = 0.5, .clip_norm = 3},
        {.kind = FR_ADAM, .learning_rate = 0.01},
        {.kind = FR_ADAM, .learning_rate = 0.01, .weight_decay = 0.1, .clip_norm = 1},
        {.kind = FR_ADAM, .learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
        {.kind = FR_ADAMW, .learning_rate = 0.01, .weight_decay = 0.1},
        {.kind = FR_ADAMW,
         .learning_rate = 0.01,
         .weight_decay = 0.1,
         .clip_norm = 1000}, /* never exceeded */
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        fr_random random = fr_random_start(fr_test_seed(), n);
        optimizer_case *c = make_case(n);
        fr_optimizer *optimizer;
        static reference r;
        double decay[CASE_PARAMETERS], worst = 0;
        start_reference(c, &r);
        OK(fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
                               &cases[n], &optimizer));
        for (int i = 0; i < CASE_PARAMETERS; i++)
            decay[i] = cases[n].weight_decay;
        fr_optimizer_set_decay(optimizer, 0, decay[0] = 0); /* none on biases */
        fr_optimizer_set_decay(optimizer, -1, 5);
        fr_optimizer_set_decay(optimizer, CASE_PARAMETERS, 5);
        for (int step = 1; step <= STEPS; step++) {
            const double rate = step % 3 == 0 ? cases[n].learning_rate / 2 : -1;
            run_case(c, &random);
            OK(fr_optimizer_step(optimizer, rate));
            reference_step(c, &r, &cases[n], decay, step, rate < 0 ? cases[n].learning_rate : rate);
            assert_true(fabs(fr_optimizer_grad_norm(optimizer) - r.norm) < 1e-9 * r.norm);
            const double difference = worst_difference(c, &r);
            worst = difference > worst ? difference : worst;
        }
        printf("%zu: worst difference %.3g\n", n, worst);
        /* Parameters stay below 16: a step rounds to half an ulp of that, its change to a few ulp.
         */
        assert_true(worst < STEPS * 16 * (double)FLT_EPSILON);
        fr_optimizer_free(optimizer);
        free_case(c);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    float results[3][CASE_MOST];
    for (int threads = 1; threads <= 3; threads++) {
        fr_random random = fr_random_start(fr_test_seed(), 1);
        optimizer_case *c = make_case(1);
        fr_optimizer *optimizer;
        fr_set_threads(threads);
        OK(fr_optimizer_create(
            c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
            &(fr_optimizer_options){.kind = FR_ADAM, .learning_rate = 0.1, .clip_norm = 1},
            &optimizer));
        for (int step = 0; step < STEPS; step++) {
            run_case(c, &random);
            OK(fr_optimizer_step(optimizer, -1));
        }
        memcpy(results[threads - 1], fr_executor_data(c->executor, c->parameters[2]),
               sizeof(float) * (size_t)case_counts[2]);
        fr_optimizer_free(optimizer);
        free_case(c);
    }
    assert_memory_equal(results[0], results[1], sizeof(float) * (size_t)case_counts[2]);
    assert_memory_equal(results[0], results[2], sizeof(float) * (size_t)case_counts[2]);
}

static void what_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const float bad[] = {NAN, HUGE_VALF, -HUGE_VALF};
    fr_random random = fr_random_start(fr_test_seed(), 2), again;
    optimizer_case *c = make_case(2), *twin = make_case(2);
    fr_optimizer *optimizer, *of_twin;
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.1};
    OK(fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS, &o,
                           &optimizer));
    OK(fr_optimizer_create(twin->program, twin->executor, twin->parameters, twin->grads,
                           CASE_PARAMETERS, &o, &of_twin));
    for (int b = 0; b < 3; b++) {
        run_case(c, &random);
        c->values[1][20] = bad[b];
        OK(fr_executor_run(c->executor));
        assert_int_equal(fr_optimizer_step(optimizer, -1), FR_ERANGE);
        SENTENCE("\"scale\"");
        SENTENCE("step 1");
    }
    assert_int_equal(fr_optimizer_step(optimizer, (double)NAN), FR_EINVAL);
    /* Large but finite gradients pass: the sum of squares is taken in double. */
    again = random;
    for (int which = 0; which < 2; which++) {
        optimizer_case *one = which == 0 ? c : twin;
        fr_random from = again;
        run_case(one, &from);
        one->values[0][0] = FLT_MAX;
        OK(fr_executor_run(one->executor));
        OK(fr_optimizer_step(which == 0 ? optimizer : of_twin, -1));
    }
    /* The refused steps left no trace: both are the same now. */
    for (int i = 0; i < CASE_PARAMETERS; i++)
        assert_memory_equal(fr_executor_data(c->executor, c->parameters[i]),
                            fr_executor_data(twin->executor, twin->parameters[i]),
                            sizeof(float) * (size_t)case_counts[i]);
    fr_optimizer_free(optimizer);
    fr_optimizer_free(of_twin);
    free_case(c);
    free_case(twin);
}

static void a_rate_of_zero_still_moves_the_moments(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 3);
    optimizer_case *c = make_case(3);
    fr_optimizer *optimizer;
    float before[CASE_MOST];
    const size_t bytes = sizeof(float) * (size_t)case_counts[2];
    OK(fr_optimizer_create(
        c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
        &(fr_optimizer_options){.kind = FR_ADAMW, .learning_rate = 0.1, .weight_decay = 0.5},
        &optimizer));
    memcpy(before, fr_executor_data(c->executor, c->parameters[2]), bytes);
    run_case(c, &random);
    OK(fr_optimizer_step(optimizer, 0)); /* the first step of a warm-up */
    assert_memory_equal(before, fr_executor_data(c->executor, c->parameters[2]), bytes);
    OK(fr_optimizer_step(optimizer, -1));
    assert_memory_not_equal(before, fr_executor_data(c->executor, c->parameters[2]), bytes);
    fr_optimizer_free(optimizer);
    free_case(c);
}

static void mismatches_are_refused(void **state)
{
    (void)state;
    optimizer_case *c = make_case(4);
    fr_optimizer *optimizer;
    const fr_optimizer_options o = {.kind = FR_ADAM, .learning_rate = 0.1};
    const fr_value swapped[] = {c->grads[1]}, none[] = {FR_NO_VALUE}, inputs[] = {c->given[0]};
    const int64_t live = fr_live_blocks();
    assert_int_equal(
        fr_optimizer_create(c->program, c->executor, c->parameters, swapped, 1, &o, &optimizer),
        FR_ESHAPE);
    SENTENCE("\"bias\"");
    assert_int_equal(
        fr_optimizer_create(c->program, c->executor, none, c->grads, 1, &o, &optimizer), FR_EINVAL);
    assert_int_equal(
        fr_optimizer_create(c->program, c->executor, c->parameters, none, 1, &o, &optimizer),
        FR_EINVAL);
    assert_int_equal(
        fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, -1, &o, &optimizer),
        FR_EINVAL);
    const fr_optimizer_options bad = {.kind = FR_SGD, .momentum = -1};
    assert_int_equal(
        fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, 1, &bad, &optimizer),
        FR_EINVAL);
    assert_null(optimizer);
    (void)inputs;
    assert_int_equal(fr_live_blocks(), live);
    OK(fr_optimizer_create(c->program, c->executor, NULL, NULL, 0, &o, &optimizer));
    OK(fr_optimizer_step(optimizer, -1));
    fr_optimizer_free(optimizer);
    fr_optimizer_free(NULL);
    free_case(c);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    optimizer_case *c = make_case(5);
    const int64_t live = fr_live_blocks();
    int64_t n = 0;
    for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
        fr_optimizer *optimizer;
        fr_alloc_fail_at(n);
        status =
            fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
                                &(fr_optimizer_options){.kind = FR_ADAM}, &optimizer);
        fr_alloc_fail_at(-1);
        if (status != FR_OK) {
            assert_int_equal(status, FR_ENOMEM);
            assert_null(optimizer);
        }
        fr_optimizer_free(optimizer);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_int_equal(n, 4);
    free_case(c);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    fr_random random = fr_random_start(fr_test_seed(), 6);
    optimizer_case *c = make_case(6);
    fr_optimizer *optimizer;
    OK(fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
                           &(fr_optimizer_options){.kind = FR_ADAM}, &optimizer));
    run_case(c, &random);
    const int64_t count = fr_alloc_count();
    OK(fr_optimizer_step(optimizer, -1));
    OK(fr_optimizer_step(optimizer, -1));
    assert_int_equal(fr_alloc_count(), count);
    fr_optimizer_free(optimizer);
    free_case(c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_follow_the_published_rules),
    cmocka_unit_test(threads_change_no_bit),
    cmocka_unit_test(what_is_not_finite_changes_nothing),
    cmocka_unit_test(a_rate_of_zero_still_moves_the_moments),
    cmocka_unit_test(mismatches_are_refused),
    cmocka_unit_test(lack_of_memory_leaks_nothing),
    cmocka_unit_test(a_step_allocates_nothing),
};
FR_TEST_MAIN(tests)
