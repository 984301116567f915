/*
 * train.c: the training loop of a GNN.
 *
 *     expire -> sample, look up, prune, fetch -> forward, backward -> optimizer -> cache update
 *
 * An iteration is numbered t over all epochs; dropout, the cache's ages and nothing else depend on t. A stop on request
 * happens between iterations or during an evaluation, leaves a checkpoint, and resumes at the same place.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "gnn/options.h"
#include "gnn/trainer.h"

static const double PROBE_SHARE = 0.02; /* of hits recomputed in error-bounded mode */

static const char *const metric_columns[] = {
    "epoch",      "loss",     "valid",   "seconds",  "rows_wanted",          "rows_fetched", "bytes_read",
    "hit_rate",   "max_age",  "admitted", "evicted_by_gradient", "evicted_by_age", "evicted_by_room",
    "error",      "p_grad",   "t_stale"};
enum { N_METRICS = sizeof metric_columns / sizeof *metric_columns, METRIC_EPOCH = 0, METRIC_LOSS = 1, METRIC_VALID = 2 };

/* ---- starting ---- */

static int64_t choose_capacity(const fr_gnn_trainer *trainer)
{
    const fr_gnn_options *o = trainer->options;
    const fr_graph_info *info = fr_graph_get_info(trainer->graph);
    int64_t rows = o->cache_rows > 0 ? o->cache_rows : info->n_nodes;
    if (o->memory_bytes > 0 && o->cache_rows == 0) {
        /* what the features leave, 8 bytes a row for the maps */
        const int64_t features = info->n_nodes * info->n_features * (int64_t)sizeof(float);
        const int64_t left = (o->memory_bytes - features) / (o->hidden * (int64_t)sizeof(float) + 8);
        rows = left < rows ? left : rows;
    }
    return rows < 1 ? 1 : rows;
}

static fr_fresh_policy starting_policy(const fr_gnn_options *o, int64_t batches_per_epoch)
{
    if (o->cache == FR_CACHE_ALL)
        return (fr_fresh_policy){.p_grad = 1, .t_stale = (double)INFINITY};
    const double t_stale = o->t_stale_in_epochs ? o->t_stale * (double)batches_per_epoch : o->t_stale;
    return (fr_fresh_policy){.p_grad = o->p_grad, .t_stale = t_stale};
}

static fr_status make_optimizer(fr_gnn_trainer *trainer)
{
    const fr_gnn_options *o = trainer->options;
    const fr_gnn_model *m = &trainer->model;
    FR_RETURN_IF_ERROR(fr_optimizer_create(m->program, trainer->executor, m->parameters, m->grads, m->n_parameters,
                                           &(fr_optimizer_options){.kind = FR_ADAM,
                                                                   .learning_rate = o->learning_rate,
                                                                   .weight_decay = o->weight_decay,
                                                                   .clip_norm = o->clip_norm},
                                           &trainer->optimizer));
    for (int i = 0; i < m->n_parameters && o->decay_first_layer_only; i++)
        if (strncmp(fr_value_name(m->program, m->parameters[i]), "layer1.", 7) != 0)
            fr_optimizer_set_decay(trainer->optimizer, i, 0);
    return FR_OK;
}

static fr_status open_run(fr_gnn_trainer *trainer, const char *run)
{
    char *config = NULL;
    fr_status status;
    FR_TRY(fr_gnn_config_text(trainer->options, fr_graph_get_info(trainer->graph), &config));
    FR_TRY(fr_run_folder_open(run,
                              &(fr_run_folder_options){.resume = trainer->options->resume,
                                                       .config_json = config,
                                                       .columns = metric_columns,
                                                       .n_columns = N_METRICS},
                              &trainer->run));
done:
    fr_free(config);
    return status;
}

static fr_status make_trainer(fr_gnn_trainer *trainer, const char *run)
{
    const fr_gnn_options *o = trainer->options;
    const fr_graph_info *info = fr_graph_get_info(trainer->graph);
    const bool in_memory = fr_store_in_memory(fr_graph_features(trainer->graph)) != NULL;
    const bool direct = in_memory && fr_gnn_reads_in_place(o);
    FR_RETURN_IF_ERROR(fr_gnn_model_build(o, info, direct, &trainer->model));
    FR_RETURN_IF_ERROR(fr_executor_create(trainer->model.program,
                                          &(fr_executor_options){.training = true, .seed = o->seed},
                                          &trainer->executor));
    FR_RETURN_IF_ERROR(make_optimizer(trainer));
    if (o->cache != FR_CACHE_NONE)
        FR_RETURN_IF_ERROR(fr_fresh_cache_create(info->n_nodes, choose_capacity(trainer), o->hidden, &trainer->cache));
    FR_RETURN_IF_ERROR(fr_gnn_loader_create(trainer->graph, o, direct, trainer->cache, &trainer->loader));
    FR_RETURN_IF_ERROR(open_run(trainer, run));
    FR_RETURN_IF_ERROR(fr_gnn_inference_create(trainer->graph, o, trainer->executor, run, o->memory_bytes, &trainer->inference));
    const int64_t batch = o->batch > 0 && o->batch < info->n_train ? o->batch : info->n_train;
    trainer->policy.policy = starting_policy(o, (info->n_train + batch - 1) / batch);
    trainer->policy.error = -1;
    trainer->stop = fr_early_stop_start(o->patience, true);
    trainer->totals.best_epoch = -1;
    return o->resume ? fr_gnn_trainer_resume(trainer) : FR_OK;
}

static void release_trainer(fr_gnn_trainer *trainer)
{
    fr_gnn_loader_free(trainer->loader);
    fr_gnn_inference_free(trainer->inference);
    fr_fresh_cache_free(trainer->cache);
    fr_optimizer_free(trainer->optimizer);
    const int n = trainer->best != NULL ? fr_gnn_trainer_n_kept(trainer) : 0;
    for (int i = 0; i < n; i++)
        fr_free(trainer->best[i]);
    fr_free(trainer->best);
    fr_executor_free(trainer->executor);
    fr_gnn_model_release(&trainer->model);
    fr_run_folder_free(trainer->run);
}

/* ---- one iteration ---- */

static fr_status bind_layer(fr_gnn_trainer *trainer, const fr_gnn_batch *batch, int index)
{
    fr_executor *e = trainer->executor;
    const fr_gnn_model_layer *l = &trainer->model.layers[index];
    const int h = trainer->model.n_layers - index;
    const fr_hop *hop = batch->hops[h];
    FR_RETURN_IF_ERROR(fr_executor_bind(e, l->rows, hop->n_rows));
    if (l->sources.symbol >= 0)
        FR_RETURN_IF_ERROR(fr_executor_bind(e, l->sources, hop->n_sources));
    FR_RETURN_IF_ERROR(fr_executor_bind(e, l->edges, hop->n_edges));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->block.begin, hop->begin));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->block.end, hop->end));
    FR_RETURN_IF_ERROR(fr_executor_set(e, l->block.source, hop->source));
    if (l->edge_weight != FR_NO_VALUE)
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->edge_weight, batch->edge_weight[h]));
    if (l->ring != FR_NO_VALUE) {
        FR_RETURN_IF_ERROR(fr_executor_bind(e, l->ring_rows, fr_fresh_cache_capacity(trainer->cache)));
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->ring, fr_fresh_cache_rows(trainer->cache)));
        FR_RETURN_IF_ERROR(fr_executor_set(e, l->position, batch->position));
    }
    return FR_OK;
}

static fr_status bind_batch(fr_gnn_trainer *trainer, const fr_gnn_batch *batch)
{
    fr_executor *e = trainer->executor;
    const fr_gnn_model *m = &trainer->model;
    const bool mlp = trainer->options->kind == FR_GNN_MLP;
    for (int l = m->n_layers; l >= 1 && !mlp; l--)
        FR_RETURN_IF_ERROR(bind_layer(trainer, batch, l));
    if (mlp)
        FR_RETURN_IF_ERROR(fr_executor_bind(e, m->layers[m->n_layers].rows, batch->n_seeds));
    const void *features = m->direct ? fr_store_in_memory(fr_graph_features(trainer->graph)) : batch->features;
    FR_RETURN_IF_ERROR(fr_executor_set(e, m->features, features));
    if (m->direct)
        FR_RETURN_IF_ERROR(fr_executor_set(e, m->own, batch->own));
    const bool bits = fr_graph_get_info(trainer->graph)->task == FR_TASK_MULTILABEL;
    const void *labels = bits ? (const void *)batch->targets : (const void *)batch->labels;
    return fr_executor_set(e, m->labels, labels);
}

static fr_status update_cache(fr_gnn_trainer *trainer, const fr_gnn_batch *batch, fr_fresh_counts *counts)
{
    const int cached = fr_gnn_cached_layer(trainer->options);
    if (cached == 0)
        return FR_OK;
    const fr_gnn_model_layer *l = &trainer->model.layers[cached];
    const fr_hop *hop = batch->hops[trainer->model.n_layers - cached - 1];
    return fr_fresh_cache_update(trainer->cache, hop->nodes, batch->position, hop->n_sources,
                                 fr_executor_data(trainer->executor, l->merged),
                                 fr_executor_data(trainer->executor, l->score), trainer->iteration,
                                 &trainer->policy.policy, counts);
}

/* Error-bounded mode: above the tolerated error reuse less, below it reuse more, a few percent an iteration. */
static void steer_policy(fr_gnn_trainer *trainer, const fr_fresh_counts *counts)
{
    fr_gnn_policy_state *s = &trainer->policy;
    if (!(trainer->options->max_error > 0) || counts->probes == 0)
        return;
    const double measured = counts->error_sum / (double)counts->probes;
    s->error = s->error < 0 ? measured : 0.9 * s->error + 0.1 * measured;
    const bool too_large = s->error > trainer->options->max_error;
    s->policy.t_stale *= too_large ? 0.95 : 1.01;
    s->policy.p_grad += too_large ? -0.01 : 0.002;
    s->policy.t_stale = fmin(fmax(s->policy.t_stale, 1), 1e6);
    s->policy.p_grad = fmin(fmax(s->policy.p_grad, 0.05), 0.99);
}

static void add_counts(fr_gnn_epoch *now, const fr_gnn_batch *batch, const fr_fresh_counts *counts, int64_t row_bytes)
{
    now->n_batches++;
    now->rows_wanted += batch->rows_wanted;
    now->rows_fetched += batch->rows_fetched;
    now->bytes_read += batch->rows_fetched * row_bytes;
    now->lookups += counts->lookups;
    now->hits += counts->hits;
    now->max_age = counts->max_age > now->max_age ? counts->max_age : now->max_age;
    now->admitted += counts->admitted;
    now->evicted_by_gradient += counts->evicted_by_gradient;
    now->evicted_by_age += counts->evicted_by_age;
    now->evicted_by_room += counts->evicted_by_room;
    now->seconds_sample += batch->seconds_sample;
    now->seconds_fetch += batch->seconds_fetch;
}

static fr_status iterate(fr_gnn_trainer *trainer)
{
    const double started = fr_seconds();
    fr_fresh_counts counts = {0};
    fr_gnn_batch batch;
    if (trainer->cache != NULL)
        fr_fresh_cache_expire(trainer->cache, trainer->iteration, &trainer->policy.policy, &counts);
    const double probe = trainer->options->max_error > 0 ? PROBE_SHARE : 0;
    FR_RETURN_IF_ERROR(fr_gnn_loader_next(trainer->loader, trainer->iteration, &trainer->policy.policy, probe, &counts, &batch));
    FR_RETURN_IF_ERROR(bind_batch(trainer, &batch));
    fr_executor_set_step(trainer->executor, (uint64_t)trainer->iteration);
    const double computing = fr_seconds();
    FR_RETURN_IF_ERROR(fr_executor_run(trainer->executor));
    const float loss = *(const float *)fr_executor_data(trainer->executor, trainer->model.loss);
    if (!isfinite(loss))
        return fr_fail(FR_ERANGE, "epoch %" PRId64 ", batch %" PRId64 ": the loss is not finite; a lower learning rate than %g may help",
                       trainer->epoch, trainer->batch, trainer->options->learning_rate);
    FR_RETURN_IF_ERROR(fr_wrap(fr_optimizer_step(trainer->optimizer, -1), "epoch %" PRId64 ", batch %" PRId64, trainer->epoch, trainer->batch));
    const double updating = fr_seconds();
    FR_RETURN_IF_ERROR(update_cache(trainer, &batch, &counts));
    steer_policy(trainer, &counts);
    trainer->now.loss += (double)loss;
    trainer->now.seconds_compute += updating - computing;
    trainer->now.seconds_cache += fr_seconds() - updating;
    trainer->now.seconds += fr_seconds() - started;
    add_counts(&trainer->now, &batch, &counts, fr_graph_get_info(trainer->graph)->n_features * (int64_t)sizeof(float));
    trainer->batch++;
    trainer->iteration++;
    return FR_OK;
}

/* ---- one epoch ---- */

static fr_status run_batches(fr_gnn_trainer *trainer, int64_t *left_to_stop, double *last_saved)
{
    int64_t n_batches;
    FR_RETURN_IF_ERROR(fr_gnn_loader_start_epoch(trainer->loader, trainer->epoch, trainer->batch, &n_batches));
    while (trainer->batch < n_batches) {
        FR_RETURN_IF_ERROR(iterate(trainer));
        if (trainer->observer != NULL && trainer->observer->batch != NULL)
            trainer->observer->batch(trainer->observer->context, trainer->epoch, trainer->batch, n_batches);
        if (trainer->options->checkpoint_seconds > 0 && fr_seconds() - *last_saved > (double)trainer->options->checkpoint_seconds) {
            FR_RETURN_IF_ERROR(fr_gnn_trainer_save(trainer));
            *last_saved = fr_seconds();
        }
        if (fr_interrupt_requested() || (*left_to_stop > 0 && --*left_to_stop == 0))
            return fr_fail(FR_EINTERRUPTED, "stopped in epoch %" PRId64 " after batch %" PRId64 " of %" PRId64,
                           trainer->epoch, trainer->batch, n_batches);
    }
    return FR_OK;
}

static fr_status evaluate(fr_gnn_trainer *trainer)
{
    const double started = fr_seconds();
    const float *logits;
    int64_t width;
    FR_RETURN_IF_ERROR(fr_gnn_inference_run(trainer->inference, false, NULL, &logits, &width));
    trainer->now.valid = fr_gnn_score(trainer->graph, FR_SPLIT_VALID, logits);
    trainer->now.evaluate_seconds = fr_seconds() - started;
    const bool judged = !isnan(trainer->now.valid);
    if (fr_early_stop_note(&trainer->stop, judged ? trainer->now.valid : (double)trainer->epoch, trainer->epoch))
        return fr_gnn_trainer_keep_best(trainer);
    return FR_OK;
}

static fr_status record_epoch(fr_gnn_trainer *trainer)
{
    const fr_gnn_epoch *e = &trainer->now;
    const double values[N_METRICS] = {(double)e->epoch,
                                      e->loss,
                                      e->valid,
                                      e->seconds,
                                      (double)e->rows_wanted,
                                      (double)e->rows_fetched,
                                      (double)e->bytes_read,
                                      e->lookups > 0 ? (double)e->hits / (double)e->lookups : 0,
                                      (double)e->max_age,
                                      (double)e->admitted,
                                      (double)e->evicted_by_gradient,
                                      (double)e->evicted_by_age,
                                      (double)e->evicted_by_room,
                                      e->error_estimate,
                                      e->p_grad,
                                      e->t_stale};
    FR_RETURN_IF_ERROR(fr_run_folder_record(trainer->run, values, N_METRICS));
    trainer->n_records++;
    return FR_OK;
}

static void add_to_totals(fr_gnn_trainer *trainer)
{
    const fr_gnn_epoch *e = &trainer->now;
    fr_gnn_result *r = &trainer->totals;
    r->epochs++;
    r->seconds += e->seconds;
    r->rows_wanted += e->rows_wanted;
    r->rows_fetched += e->rows_fetched;
    r->bytes_read += e->bytes_read;
    r->lookups += e->lookups;
    r->hits += e->hits;
    r->max_age = e->max_age > r->max_age ? e->max_age : r->max_age;
    r->best_epoch = trainer->stop.best_at;
}

static bool is_evaluation_due(const fr_gnn_trainer *trainer)
{
    const fr_gnn_options *o = trainer->options;
    if (trainer->epoch + 1 == o->epochs)
        return true;
    return o->evaluate_every > 0 && (trainer->epoch + 1) % o->evaluate_every == 0;
}

static fr_status run_epoch(fr_gnn_trainer *trainer, int64_t *left_to_stop, double *last_saved)
{
    FR_RETURN_IF_ERROR(run_batches(trainer, left_to_stop, last_saved));
    fr_gnn_epoch *now = &trainer->now;
    now->valid = (double)NAN;
    if (is_evaluation_due(trainer))
        FR_RETURN_IF_ERROR(evaluate(trainer));
    const double loss_sum = now->loss;
    now->epoch = trainer->epoch;
    now->loss = loss_sum / (double)now->n_batches;
    now->error_estimate = trainer->policy.error >= 0 ? trainer->policy.error : (double)NAN;
    now->p_grad = trainer->policy.policy.p_grad;
    now->t_stale = trainer->policy.policy.t_stale;
    FR_RETURN_IF_ERROR(record_epoch(trainer));
    add_to_totals(trainer);
    if (trainer->observer != NULL && trainer->observer->epoch != NULL)
        trainer->observer->epoch(trainer->observer->context, now);
    trainer->epoch++;
    trainer->batch = 0;
    *now = (fr_gnn_epoch){0};
    return FR_OK;
}

/* ---- the whole ---- */

static void note(const fr_gnn_trainer *trainer, const char *sentence)
{
    if (trainer->observer != NULL && trainer->observer->note != NULL)
        trainer->observer->note(trainer->observer->context, sentence);
}

static fr_status draw_curves(fr_gnn_trainer *trainer)
{
    char *csv = NULL, *png = NULL;
    fr_status status;
    FR_TRY(fr_run_folder_file(trainer->run, "metrics.csv", &csv));
    FR_TRY(fr_run_folder_file(trainer->run, "curves.png", &png));
    const fr_curve curves[] = {{.csv = csv, .x_column = METRIC_EPOCH, .y_column = METRIC_LOSS, .title = "loss"},
                               {.csv = csv, .x_column = METRIC_EPOCH, .y_column = METRIC_VALID, .title = "validation", .right_axis = true}};
    status = fr_curves_draw(png, "Training", "epoch", "loss", "validation", curves, 2);
    if (status != FR_OK) { /* a picture is a comfort, not the result */
        note(trainer, fr_error_message());
        status = FR_OK;
    }
done:
    fr_text_free(csv);
    fr_text_free(png);
    return status;
}

static fr_status finish(fr_gnn_trainer *trainer, fr_gnn_result *result)
{
    FR_RETURN_IF_ERROR(fr_gnn_trainer_save(trainer));
    fr_gnn_trainer_restore_best(trainer);
    const float *logits;
    int64_t width;
    FR_RETURN_IF_ERROR(fr_gnn_inference_run(trainer->inference, false, NULL, &logits, &width));
    *result = trainer->totals;
    result->train = fr_gnn_score(trainer->graph, FR_SPLIT_TRAIN, logits);
    result->valid = fr_gnn_score(trainer->graph, FR_SPLIT_VALID, logits);
    result->test = fr_gnn_score(trainer->graph, FR_SPLIT_TEST, logits);
    const fr_executor_stats stats = fr_executor_get_stats(trainer->executor);
    result->planned_peak_bytes = stats.planned_peak_bytes;
    result->planned_sum_bytes = stats.sum_bytes;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        result->peak_memory_bytes = (int64_t)usage.ru_maxrss * 1024;
    return draw_curves(trainer);
}

fr_status fr_gnn_train(fr_graph *graph, const char *run, const fr_gnn_options *options,
                       const fr_gnn_observer *observer, fr_gnn_result *result)
{
    *result = (fr_gnn_result){0};
    FR_RETURN_IF_ERROR(fr_gnn_check(options, fr_graph_get_info(graph)));
    fr_gnn_trainer trainer = {.graph = graph, .options = options, .observer = observer};
    int64_t left_to_stop = options->stop_after_batches;
    double last_saved = fr_seconds();
    fr_status status;
    FR_TRY(make_trainer(&trainer, run));
    while (trainer.epoch < options->epochs && !fr_early_stop_reached(&trainer.stop)) {
        status = run_epoch(&trainer, &left_to_stop, &last_saved);
        if (status == FR_EINTERRUPTED) {
            char sentence[FR_ERROR_BYTES]; /* saving may succeed without touching it, or fail and say why */
            (void)snprintf(sentence, sizeof sentence, "%s", fr_error_message());
            FR_TRY(fr_gnn_trainer_save(&trainer));
            FR_TRY(fr_fail(FR_EINTERRUPTED, "%s; go on with --resume", sentence));
        }
        FR_TRY(status);
        if (options->checkpoint_seconds > 0 && fr_seconds() - last_saved > (double)options->checkpoint_seconds) {
            FR_TRY(fr_gnn_trainer_save(&trainer));
            last_saved = fr_seconds();
        }
    }
    FR_TRY(finish(&trainer, result));
done:
    release_trainer(&trainer);
    return status;
}
