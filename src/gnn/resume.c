/*
 * resume.c: a trainer's state in and out of a checkpoint.
 *
 *     train/integers, train/numbers   counters and sums, in the order of the lists below
 *     parameter/.., state/.., optimizer/..   as train.h writes them
 *     best/NAME                       weights of the best evaluation
 *     cache/..                        the ring
 *
 * Seconds are carried over too, so that totals of a resumed run are those of the work done; they are the only part
 * of a resumed run that differs from one never stopped.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/trainer.h"

enum { MOST_COUNTERS = 48 };

/* The trainer's integers and floating-point numbers, as pointers, so that saving and loading cannot disagree. */
static int list_integers(fr_gnn_trainer *t, int64_t *list[MOST_COUNTERS])
{
    int64_t *const all[] = {
        &t->epoch, &t->batch, &t->iteration, &t->n_records,
        &t->now.n_batches, &t->now.rows_wanted, &t->now.rows_fetched, &t->now.bytes_read, &t->now.lookups, &t->now.hits,
        &t->now.max_age, &t->now.admitted, &t->now.evicted_by_gradient, &t->now.evicted_by_age, &t->now.evicted_by_room,
        &t->totals.best_epoch, &t->totals.epochs, &t->totals.rows_wanted, &t->totals.rows_fetched, &t->totals.bytes_read,
        &t->totals.lookups, &t->totals.hits, &t->totals.max_age,
        &t->stop.best_at, &t->stop.seen};
    memcpy(list, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

static int list_numbers(fr_gnn_trainer *t, double *list[MOST_COUNTERS])
{
    double *const all[] = {&t->now.loss, &t->now.seconds, &t->now.seconds_sample, &t->now.seconds_fetch,
                           &t->now.seconds_compute, &t->now.seconds_cache, &t->totals.seconds,
                           &t->policy.policy.p_grad, &t->policy.policy.t_stale, &t->policy.error, &t->stop.best};
    memcpy(list, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

int fr_gnn_trainer_n_kept(const fr_gnn_trainer *trainer)
{
    return fr_n_parameters(trainer->model.program) + fr_n_states(trainer->model.program);
}

fr_value fr_gnn_trainer_kept(const fr_gnn_trainer *trainer, int i, int64_t *count)
{
    const fr_program *p = trainer->model.program;
    const int n = fr_n_parameters(p);
    const fr_value value = i < n ? fr_parameter_at(p, i) : fr_state_at(p, i - n);
    const fr_shape shape = fr_value_shape(p, value);
    *count = 1;
    for (int d = 0; d < shape.rank; d++)
        *count *= shape.dims[d].size; /* constant and allocated already: no overflow */
    return value;
}

static fr_status make_best(fr_gnn_trainer *trainer)
{
    if (trainer->best != NULL)
        return FR_OK;
    const int n = fr_gnn_trainer_n_kept(trainer);
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n, sizeof *trainer->best, "best weights", &trainer->best));
    for (int i = 0; i < n; i++) {
        int64_t count;
        (void)fr_gnn_trainer_kept(trainer, i, &count);
        FR_RETURN_IF_ERROR(fr_alloc((size_t)count, sizeof(float), "best weights", &trainer->best[i]));
    }
    return FR_OK;
}

fr_status fr_gnn_trainer_keep_best(fr_gnn_trainer *trainer)
{
    FR_RETURN_IF_ERROR(make_best(trainer));
    for (int i = 0; i < fr_gnn_trainer_n_kept(trainer); i++) {
        int64_t count;
        const fr_value value = fr_gnn_trainer_kept(trainer, i, &count);
        memcpy(trainer->best[i], fr_executor_data(trainer->executor, value), (size_t)count * sizeof(float));
    }
    return FR_OK;
}

void fr_gnn_trainer_restore_best(fr_gnn_trainer *trainer)
{
    for (int i = 0; trainer->best != NULL && i < fr_gnn_trainer_n_kept(trainer); i++) {
        int64_t count;
        const fr_value value = fr_gnn_trainer_kept(trainer, i, &count);
        memcpy(fr_executor_data(trainer->executor, value), trainer->best[i], (size_t)count * sizeof(float));
    }
}

/* Names a value of the best weights, under `prefix`: "best/layer1.weight", or as fr_checkpoint_read_executor reads them. */
static void best_name(const fr_gnn_trainer *trainer, bool as_executor, int i, char *text, size_t bytes)
{
    int64_t count;
    const fr_value value = fr_gnn_trainer_kept(trainer, i, &count);
    const bool is_parameter = i < fr_n_parameters(trainer->model.program);
    (void)snprintf(text, bytes, "%s/%s", !as_executor ? "best" : is_parameter ? "parameter" : "state",
                   fr_value_name(trainer->model.program, value));
}

static fr_status add_best(const fr_gnn_trainer *trainer, fr_checkpoint_writer *writer, bool as_executor)
{
    for (int i = 0; i < fr_gnn_trainer_n_kept(trainer); i++) {
        int64_t count;
        fr_tensor view;
        FR_RETURN_IF_ERROR(fr_executor_shape(trainer->executor, fr_gnn_trainer_kept(trainer, i, &count), &view));
        view.data = trainer->best[i];
        char name[128];
        best_name(trainer, as_executor, i, name, sizeof name);
        FR_RETURN_IF_ERROR(fr_checkpoint_add(writer, name, &view));
    }
    return FR_OK;
}

static fr_status add_counters(fr_gnn_trainer *trainer, fr_checkpoint_writer *writer)
{
    int64_t *integers[MOST_COUNTERS], integer_values[MOST_COUNTERS];
    double *numbers[MOST_COUNTERS], number_values[MOST_COUNTERS];
    const int64_t n_integers = list_integers(trainer, integers), n_numbers = list_numbers(trainer, numbers);
    for (int i = 0; i < n_integers; i++)
        integer_values[i] = *integers[i];
    for (int i = 0; i < n_numbers; i++)
        number_values[i] = *numbers[i];
    fr_tensor view;
    FR_RETURN_IF_ERROR(fr_tensor_view(FR_I64, 1, &n_integers, integer_values, &view));
    FR_RETURN_IF_ERROR(fr_checkpoint_add(writer, "train/integers", &view));
    FR_RETURN_IF_ERROR(fr_tensor_view(FR_F64, 1, &n_numbers, number_values, &view));
    return fr_checkpoint_add(writer, "train/numbers", &view);
}

static fr_status save_last(fr_gnn_trainer *trainer)
{
    fr_checkpoint_writer *writer = NULL;
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_run_folder_file(trainer->run, "last.frc", &path));
    FR_TRY(fr_checkpoint_create(path, &writer));
    FR_TRY(add_counters(trainer, writer));
    FR_TRY(fr_checkpoint_add_executor(writer, trainer->model.program, trainer->executor));
    FR_TRY(fr_checkpoint_add_optimizer(writer, trainer->optimizer));
    if (trainer->cache != NULL)
        FR_TRY(fr_fresh_cache_save(trainer->cache, writer));
    if (trainer->best != NULL)
        FR_TRY(add_best(trainer, writer, false));
    fr_checkpoint_writer *const finished = writer;
    writer = NULL;
    FR_TRY(fr_checkpoint_commit(finished));
done:
    fr_checkpoint_abort(writer);
    fr_text_free(path);
    return fr_wrap(status, "saving a checkpoint");
}

static fr_status save_best(fr_gnn_trainer *trainer)
{
    fr_checkpoint_writer *writer = NULL;
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_run_folder_file(trainer->run, "best.frc", &path));
    FR_TRY(fr_checkpoint_create(path, &writer));
    FR_TRY(add_best(trainer, writer, true));
    fr_checkpoint_writer *const finished = writer;
    writer = NULL;
    FR_TRY(fr_checkpoint_commit(finished));
done:
    fr_checkpoint_abort(writer);
    fr_text_free(path);
    return fr_wrap(status, "saving the best weights");
}

fr_status fr_gnn_trainer_save(fr_gnn_trainer *trainer)
{
    FR_RETURN_IF_ERROR(save_last(trainer));
    return trainer->best != NULL ? save_best(trainer) : FR_OK;
}

/* ---- loading ---- */

static fr_status read_counters(fr_gnn_trainer *trainer, const fr_checkpoint *checkpoint)
{
    int64_t *integers[MOST_COUNTERS], integer_values[MOST_COUNTERS];
    double *numbers[MOST_COUNTERS], number_values[MOST_COUNTERS];
    const int n_integers = list_integers(trainer, integers), n_numbers = list_numbers(trainer, numbers);
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "train/integers", FR_I64, n_integers, integer_values));
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, "train/numbers", FR_F64, n_numbers, number_values));
    for (int i = 0; i < n_integers; i++)
        *integers[i] = integer_values[i];
    for (int i = 0; i < n_numbers; i++)
        *numbers[i] = number_values[i];
    return FR_OK;
}

static bool has_best(const fr_gnn_trainer *trainer, const fr_checkpoint *checkpoint)
{
    char name[128];
    best_name(trainer, false, 0, name, sizeof name);
    fr_tensor view;
    return fr_checkpoint_tensor(checkpoint, name, &view) == FR_OK;
}

static fr_status read_best(fr_gnn_trainer *trainer, const fr_checkpoint *checkpoint)
{
    FR_RETURN_IF_ERROR(make_best(trainer));
    for (int i = 0; i < fr_gnn_trainer_n_kept(trainer); i++) {
        int64_t count;
        (void)fr_gnn_trainer_kept(trainer, i, &count);
        char name[128];
        best_name(trainer, false, i, name, sizeof name);
        FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, name, FR_F32, count, trainer->best[i]));
    }
    return FR_OK;
}

fr_status fr_gnn_trainer_resume(fr_gnn_trainer *trainer)
{
    fr_checkpoint *checkpoint = NULL;
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_run_folder_file(trainer->run, "last.frc", &path));
    if (!fr_file_exists(path)) { /* stopped before the first checkpoint: begin again */
        status = fr_run_folder_truncate(trainer->run, 0);
        goto done;
    }
    FR_TRY(fr_checkpoint_open(path, &checkpoint));
    FR_TRY(read_counters(trainer, checkpoint));
    FR_TRY(fr_checkpoint_read_executor(checkpoint, trainer->model.program, trainer->executor));
    FR_TRY(fr_checkpoint_read_optimizer(checkpoint, trainer->optimizer));
    if (trainer->cache != NULL)
        FR_TRY(fr_fresh_cache_load(trainer->cache, checkpoint));
    if (has_best(trainer, checkpoint))
        FR_TRY(read_best(trainer, checkpoint));
    FR_TRY(fr_run_folder_truncate(trainer->run, trainer->n_records));
done:
    fr_checkpoint_free(checkpoint);
    fr_text_free(path);
    return fr_wrap(status, "resuming");
}
