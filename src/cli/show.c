/*
 * show.c: see show.h.
 */
#include "cli/show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"

void show_stage(void *context, const char *stage, int64_t done, int64_t total)
{
    stage_bar *bar = context;
    if (bar->stage == NULL || strcmp(bar->stage, stage) != 0) {
        fr_progress_clear(&bar->progress);
        bar->progress = fr_progress_start(stderr, bar->quiet, "", done);
        bar->stage = stage;
    }
    fr_progress_update(&bar->progress, stage, done, total);
}

static void on_batch(void *context, int64_t epoch, int64_t done, int64_t total)
{
    run_view *view = context;
    if (view->epoch != epoch) {
        view->progress = fr_progress_start(stderr, view->arguments->quiet, "batches", done - 1);
        view->epoch = epoch;
    }
    char label[32];
    (void)snprintf(label, sizeof label, "epoch %" PRId64, epoch + 1);
    fr_progress_update(&view->progress, label, done, total);
}

static double hit_rate(int64_t hits, int64_t lookups) { return lookups > 0 ? (double)hits / (double)lookups : 0; }

static void print_epoch_event(const fr_gnn_epoch *e)
{
    fr_json *json = fr_json_object();
    fr_json_add_int(json, "epoch", e->epoch);
    fr_json_add_double(json, "loss", e->loss);
    fr_json_add_double(json, "valid", e->valid);
    fr_json_add_double(json, "seconds", e->seconds);
    fr_json_add_int(json, "rows_wanted", e->rows_wanted);
    fr_json_add_int(json, "rows_fetched", e->rows_fetched);
    fr_json_add_int(json, "bytes_read", e->bytes_read);
    fr_json_add_double(json, "hit_rate", hit_rate(e->hits, e->lookups));
    fr_json_add_int(json, "max_age", e->max_age);
    fr_json_add_int(json, "admitted", e->admitted);
    fr_json_add_int(json, "evicted_by_gradient", e->evicted_by_gradient);
    fr_json_add_int(json, "evicted_by_age", e->evicted_by_age);
    fr_json_add_int(json, "evicted_by_room", e->evicted_by_room);
    fr_json_add_double(json, "error_estimate", e->error_estimate);
    fr_json_add_double(json, "p_grad", e->p_grad);
    fr_json_add_double(json, "t_stale", e->t_stale);
    fr_json_add_double(json, "evaluate_seconds", e->evaluate_seconds);
    fr_json *stall = fr_json_object();
    fr_json_add_double(stall, "sample", e->seconds_sample);
    fr_json_add_double(stall, "fetch", e->seconds_fetch);
    fr_json_add_double(stall, "compute", e->seconds_compute);
    fr_json_add_double(stall, "cache", e->seconds_cache);
    fr_json_add(json, "stall", stall);
    print_event("epoch", json);
}

static void on_epoch(void *context, const fr_gnn_epoch *e)
{
    run_view *view = context;
    fr_progress_clear(&view->progress);
    if (view->arguments->json) {
        print_epoch_event(e);
        return;
    }
    if (view->arguments->quiet)
        return;
    char seconds[32], rows[32];
    (void)fprintf(stderr, "epoch %3" PRId64 "  loss %.4f", e->epoch + 1, e->loss);
    if (!isnan(e->valid))
        (void)fprintf(stderr, "  valid %.4f", e->valid);
    (void)fprintf(stderr, "  %s  %s rows", fr_duration_text(e->seconds, seconds, sizeof seconds), fr_count_text(e->rows_fetched, rows, sizeof rows));
    if (e->lookups > 0)
        (void)fprintf(stderr, "  hits %.1f%%", 100 * hit_rate(e->hits, e->lookups));
    (void)fputc('\n', stderr);
}

static void on_note(void *context, const char *sentence)
{
    const run_view *view = context;
    if (!view->arguments->quiet)
        (void)fprintf(stderr, "frugal: note: %s\n", sentence);
}

void run_view_start(run_view *view, const arguments *a)
{
    *view = (run_view){.arguments = a, .epoch = -1};
    view->observer = (fr_gnn_observer){.context = view, .batch = on_batch, .epoch = on_epoch, .note = on_note};
}

struct cJSON *result_fields(const fr_gnn_result *r)
{
    fr_json *json = fr_json_object();
    fr_json_add_double(json, "test", r->test);
    fr_json_add_double(json, "valid", r->valid);
    fr_json_add_double(json, "train", r->train);
    fr_json_add_int(json, "best_epoch", r->best_epoch);
    fr_json_add_int(json, "epochs", r->epochs);
    fr_json_add_double(json, "seconds", r->seconds);
    fr_json_add_int(json, "rows_wanted", r->rows_wanted);
    fr_json_add_int(json, "rows_fetched", r->rows_fetched);
    fr_json_add_int(json, "bytes_read", r->bytes_read);
    fr_json_add_double(json, "hit_rate", hit_rate(r->hits, r->lookups));
    fr_json_add_int(json, "max_age", r->max_age);
    fr_json_add_int(json, "peak_memory", r->peak_memory_bytes);
    fr_json_add_int(json, "planned_peak", r->planned_peak_bytes);
    fr_json_add_int(json, "planned_sum", r->planned_sum_bytes);
    return json;
}
