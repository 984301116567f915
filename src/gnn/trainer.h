/*
 * trainer.h: the state of a training run: what goes on from batch to batch, and how it is saved.
 */
#ifndef FR_GNN_TRAINER_H
#define FR_GNN_TRAINER_H

#include <frugal/gnn.h>
#include <frugal/train.h>

#include "gnn/batch.h"
#include "gnn/cache.h"
#include "gnn/inference.h"
#include "gnn/model.h"

/** Error-bounded mode: the policy in force, moved by the measured error. */
typedef struct fr_gnn_policy_state {
    fr_fresh_policy policy;
    double error; /* moving mean of the relative error of probed hits; -1 before the first */
} fr_gnn_policy_state;

typedef struct fr_gnn_trainer {
    fr_graph *graph;
    const fr_gnn_options *options;
    const fr_gnn_observer *observer;
    fr_gnn_model model;
    fr_executor *executor;
    fr_optimizer *optimizer;
    fr_fresh_cache *cache;
    fr_gnn_loader *loader;
    fr_gnn_inference *inference;
    fr_run_folder *run;

    /* progress: all of it is in a checkpoint */
    int64_t epoch, batch, iteration, n_records;
    fr_gnn_epoch now;      /* sums of the epoch so far */
    fr_gnn_result totals;
    fr_gnn_policy_state policy;
    fr_early_stop stop;
    float **best; /* parameters, then states, of the best evaluation; all NULL before the first */
} fr_gnn_trainer;

/** Writes RUN/last.frc; and RUN/best.frc where there is a best. */
fr_status fr_gnn_trainer_save(fr_gnn_trainer *trainer) FR_MUST_USE;
/** Takes the state from RUN/last.frc; leaves a fresh trainer as it is where there is none yet. */
fr_status fr_gnn_trainer_resume(fr_gnn_trainer *trainer) FR_MUST_USE;

/* Best weights: copied aside when an evaluation beats all before, put back for the test. */
fr_status fr_gnn_trainer_keep_best(fr_gnn_trainer *trainer) FR_MUST_USE;
void fr_gnn_trainer_restore_best(fr_gnn_trainer *trainer);
/** Number of parameters and states; value i of them and its element count. */
int fr_gnn_trainer_n_kept(const fr_gnn_trainer *trainer);
fr_value fr_gnn_trainer_kept(const fr_gnn_trainer *trainer, int i, int64_t *count);

#endif
