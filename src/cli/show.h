/*
 * show.h: what several commands show: progress of building a graph, events of a training run.
 */
#ifndef FR_CLI_SHOW_H
#define FR_CLI_SHOW_H

#include "base/progress.h"
#include "cli/command.h"

/** A progress bar that changes its label with the stage: give show_stage the address as context. */
typedef struct stage_bar {
    fr_progress progress;
    const char *stage;
    bool quiet;
} stage_bar;
void show_stage(void *context, const char *stage, int64_t done, int64_t total);

/** What a training run tells people and programs: fill in, then give &observer to fr_gnn_train. */
typedef struct run_view {
    const arguments *arguments;
    fr_progress progress;
    int64_t epoch;
    fr_gnn_observer observer;
} run_view;
void run_view_start(run_view *view, const arguments *a);

/** The fields of a `done` event of gnn train. */
struct cJSON *result_fields(const fr_gnn_result *result);

#endif
