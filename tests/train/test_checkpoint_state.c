/*
 * Saving and restoring a training: going on from a checkpoint gives the bits that no stop would
 * have given; reading is all or nothing.
 */
#include "optimizer_case.h"

static const fr_optimizer_options adam = {.kind = FR_ADAM, .learning_rate = 0.05};

static fr_optimizer *optimizer_of(const optimizer_case *c, const fr_optimizer_options *options)
{
    fr_optimizer *optimizer;
    OK(fr_optimizer_create(c->program, c->executor, c->parameters, c->grads, CASE_PARAMETERS,
                           options, &optimizer));
    return optimizer;
}

static void train(optimizer_case *c, fr_optimizer *optimizer, fr_random *random, int steps)
{
    for (int i = 0; i < steps; i++) {
        run_case(c, random);
        OK(fr_optimizer_step(optimizer, -1));
    }
}

static fr_status save(const char *path, const optimizer_case *c, const fr_optimizer *optimizer)
{
    fr_checkpoint_writer *writer;
    FR_RETURN_IF_ERROR(fr_checkpoint_create(path, &writer));
    (void)fr_checkpoint_add_executor(writer, c->program, c->executor);
    (void)fr_checkpoint_add_optimizer(writer, optimizer);
    return fr_checkpoint_commit(writer);
}

static void check_same_parameters(const optimizer_case *a, const optimizer_case *b)
{
    for (int i = 0; i < CASE_PARAMETERS; i++)
        assert_memory_equal(fr_executor_data(a->executor, a->parameters[i]),
                            fr_executor_data(b->executor, b->parameters[i]),
                            sizeof(float) * (size_t)case_counts[i]);
}

static void a_resumed_training_gives_the_same_bits(void **state)
{
    (void)state;
    static const fr_optimizer_options kinds[] = {
        {.kind = FR_ADAM, .learning_rate = 0.05},
        {.kind = FR_ADAMW, .learning_rate = 0.05, .weight_decay = 0.1},
        {.kind = FR_SGD, .learning_rate = 0.05},
        {.kind = FR_SGD, .learning_rate = 0.05, .momentum = 0.9},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const char *path = fresh_path("last.frc");
        fr_random random = fr_random_start(fr_test_seed(), k), kept;
        optimizer_case *straight = make_case(1), *resumed = make_case(99); /* another start */
        fr_optimizer *first = optimizer_of(straight, &kinds[k]),
                     *second = optimizer_of(resumed, &kinds[k]);
        fr_checkpoint *checkpoint;
        train(straight, first, &random, 5);
        const fr_value statistic = fr_find(straight->program, "statistic");
        ((float *)fr_executor_data(straight->executor, statistic))[2] = 7;
        OK(save(path, straight, first));
        kept = random;
        train(straight, first, &random, 5);
        OK(fr_checkpoint_open(path, &checkpoint));
        OK(fr_checkpoint_read_executor(checkpoint, resumed->program, resumed->executor));
        OK(fr_checkpoint_read_optimizer(checkpoint, second));
        fr_checkpoint_free(checkpoint);
        train(resumed, second, &kept, 5);
        check_same_parameters(straight, resumed);
        assert_true(((float *)fr_executor_data(resumed->executor,
                                               fr_find(resumed->program, "statistic")))[2] == 7.0F);
        fr_optimizer_free(first);
        fr_optimizer_free(second);
        free_case(straight);
        free_case(resumed);
        remove_folder_of(path);
    }
}

/* A checkpoint that lacks one entry, or has one of another shape, changes nothing. */
static void reading_is_all_or_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("last.frc");
    fr_random random = fr_random_start(fr_test_seed(), 7);
    optimizer_case *saved = make_case(1), *c = make_case(2), *untouched = make_case(2);
    fr_optimizer *optimizer = optimizer_of(saved, &adam), *mine = optimizer_of(c, &adam),
                 *theirs = optimizer_of(untouched, &adam);
    fr_checkpoint_writer *writer;
    fr_checkpoint *checkpoint;
    fr_tensor view;
    const float few[2] = {0, 0};
    train(saved, optimizer, &random, 3);
    for (int wrong = 0; wrong < 2; wrong++) {
        OK(fr_checkpoint_create(path, &writer));
        for (int i = 0; i < 2; i++) { /* all but the last */
            const int64_t count = case_counts[i];
            static const char *const names[] = {"parameter/bias", "parameter/scale"};
            OK(fr_tensor_view(FR_F32, 1, &count, saved->values[i], &view));
            OK(fr_checkpoint_add(writer, names[i], &view));
        }
        if (wrong == 1) {
            OK(fr_tensor_view(FR_F32, 1, (const int64_t[]){2}, NULL, &view));
            memcpy(&view.data, &(const float *){few}, sizeof view.data);
            OK(fr_checkpoint_add(writer, "parameter/weight", &view));
        }
        OK(fr_checkpoint_add_text(writer, "optimizer/kind", "adam"));
        OK(fr_checkpoint_commit(writer));
        OK(fr_checkpoint_open(path, &checkpoint));
        assert_int_equal(fr_checkpoint_read_executor(checkpoint, c->program, c->executor),
                         wrong ? FR_ESHAPE : FR_ENOENT);
        SENTENCE("parameter/weight");
        assert_int_equal(fr_checkpoint_read_optimizer(checkpoint, mine), FR_ENOENT);
        fr_checkpoint_free(checkpoint);
        check_same_parameters(c, untouched);
    }
    fr_random again = random;
    train(c, mine, &random, 2);
    train(untouched, theirs, &again, 2);
    check_same_parameters(c, untouched);
    fr_optimizer_free(optimizer);
    fr_optimizer_free(mine);
    fr_optimizer_free(theirs);
    free_case(saved);
    free_case(c);
    free_case(untouched);
    remove_folder_of(path);
}

static void another_kind_of_optimizer_is_refused(void **state)
{
    (void)state;
    const char *path = fresh_path("last.frc");
    optimizer_case *c = make_case(1);
    fr_optimizer *saved = optimizer_of(c, &adam);
    fr_optimizer *other = optimizer_of(c, &(fr_optimizer_options){.kind = FR_SGD, .momentum = 0.9});
    fr_checkpoint *checkpoint;
    OK(save(path, c, saved));
    OK(fr_checkpoint_open(path, &checkpoint));
    assert_int_equal(fr_checkpoint_read_optimizer(checkpoint, other), FR_EINVAL);
    SENTENCE("of adam, this optimizer is sgd");
    fr_checkpoint_free(checkpoint);
    fr_optimizer_free(saved);
    fr_optimizer_free(other);
    free_case(c);
    remove_folder_of(path);
}

static void a_resumed_row_optimizer_gives_the_same_bits(void **state)
{
    (void)state;
    enum { ROWS = 20, WIDTH = 5, N = 12 };
    for (int per_row = 0; per_row < 2; per_row++) {
        const char *path = fresh_path("last.frc");
        fr_random random = fr_random_start(fr_test_seed(), 8);
        float straight[ROWS * WIDTH], resumed[ROWS * WIDTH], grads[N * WIDTH];
        int64_t ids[N];
        fr_row_optimizer *first, *second = NULL, *narrower;
        fr_checkpoint_writer *writer;
        fr_checkpoint *checkpoint;
        fill_normal(&random, straight, ROWS * WIDTH);
        OK(fr_row_optimizer_create(straight, ROWS, WIDTH, per_row == 1, &adam, &first));
        for (int step = 0; step < 10; step++) {
            if (step == 5) {
                memcpy(resumed, straight, sizeof straight);
                OK(fr_checkpoint_create(path, &writer));
                OK(fr_checkpoint_add_row_optimizer(writer, "table", first));
                OK(fr_checkpoint_commit(writer));
                OK(fr_checkpoint_open(path, &checkpoint));
                OK(fr_row_optimizer_create(resumed, ROWS, WIDTH, per_row == 1, &adam, &second));
                OK(fr_checkpoint_read_row_optimizer(checkpoint, "table", second));
                assert_int_equal(fr_checkpoint_read_row_optimizer(checkpoint, "other", second),
                                 FR_ENOENT);
                OK(fr_row_optimizer_create(resumed, ROWS, WIDTH - 1, per_row == 1, &adam,
                                           &narrower));
                assert_int_equal(fr_checkpoint_read_row_optimizer(checkpoint, "table", narrower),
                                 FR_ESHAPE);
                fr_row_optimizer_free(narrower);
                OK(fr_row_optimizer_create(resumed, ROWS, WIDTH, per_row == 0, &adam, &narrower));
                assert_int_equal(fr_checkpoint_read_row_optimizer(checkpoint, "table", narrower),
                                 FR_ESHAPE);
                fr_row_optimizer_free(narrower);
                fr_checkpoint_free(checkpoint);
            }
            for (int i = 0; i < N; i++)
                ids[i] = (int64_t)fr_random_below(&random, ROWS);
            fill_normal(&random, grads, N * WIDTH);
            OK(fr_row_optimizer_step(first, ids, N, grads, -1));
            if (second != NULL)
                OK(fr_row_optimizer_step(second, ids, N, grads, -1));
        }
        assert_memory_equal(straight, resumed, sizeof straight);
        fr_row_optimizer_free(first);
        fr_row_optimizer_free(second);
        remove_folder_of(path);
    }
}

static void a_shared_executor_reads_what_it_needs(void **state)
{
    (void)state;
    const char *path = fresh_path("last.frc");
    optimizer_case *c = make_case(1);
    fr_optimizer *optimizer = optimizer_of(c, &adam);
    fr_program *p = fr_program_create();
    fr_executor *e;
    fr_checkpoint *checkpoint;
    OK(save(path, c, optimizer));
    const fr_value weight = fr_parameter(p, "weight", FR_F32, case_shape(2), fr_zeros());
    fr_output(p, "out", fr_neg(p, weight));
    OK(fr_executor_create(p, NULL, &e));
    OK(fr_checkpoint_open(path, &checkpoint));
    OK(fr_checkpoint_read_executor(checkpoint, p, e)); /* entries it does not know are fine */
    assert_memory_equal(fr_executor_data(e, weight),
                        fr_executor_data(c->executor, c->parameters[2]),
                        sizeof(float) * (size_t)case_counts[2]);
    fr_checkpoint_free(checkpoint);
    fr_executor_free(e);
    fr_program_free(p);
    fr_optimizer_free(optimizer);
    free_case(c);
    remove_folder_of(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_resumed_training_gives_the_same_bits),
    cmocka_unit_test(reading_is_all_or_nothing),
    cmocka_unit_test(another_kind_of_optimizer_is_refused),
    cmocka_unit_test(a_resumed_row_optimizer_gives_the_same_bits),
    cmocka_unit_test(a_shared_executor_reads_what_it_needs),
};
FR_TEST_MAIN(tests)
