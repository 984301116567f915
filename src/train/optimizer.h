/*
 * optimizer.h: what the two optimizers keep, for checkpoints (private).
 */
#ifndef FR_TRAIN_OPTIMIZER_H
#define FR_TRAIN_OPTIMIZER_H

#include <frugal/train.h>

/* One parameter of a dense optimizer. */
typedef struct optimizer_slot {
    fr_value parameter, grad;
    const char *name; /* the program's */
    int64_t count;
    float *first;  /* Adam: first moment; SGD with momentum: velocity; else NULL */
    float *second; /* Adam only */
    double weight_decay;
} optimizer_slot;

struct fr_optimizer {
    const fr_program *program;
    fr_executor *executor;
    fr_optimizer_options options; /* zeros replaced by the defaults */
    optimizer_slot *slots;
    int n_slots;
    float *moments; /* the block that all slots' moments lie in */
    int64_t step;   /* updates made */
    double grad_norm;
};

struct fr_row_optimizer {
    float *table; /* the caller's */
    int64_t n_rows, width;
    bool second_per_row;
    fr_optimizer_options options;
    float *first, *second; /* [n_rows, width]; second [n_rows] where second_per_row */
    int64_t step;
    struct row_order *order; /* scratch of a step */
    float *sums;             /* scratch: gradients of the touched rows, in sorted order */
    int64_t room_sums;
};

/** Replaces zeros by the defaults and refuses what makes no sense. */
fr_status fr_optimizer_options_complete(fr_optimizer_options *options) FR_MUST_USE;

/** "sgd", "adam", "adamw". */
const char *fr_optimizer_kind_name(fr_optimizer_kind kind);

/** How much gradients of this norm are scaled by: 1 where clip_norm is 0 or not exceeded.
 * As torch.nn.utils.clip_grad_norm_: clip / (norm + 1e-6), at most 1. */
double fr_clip_scale(double norm, double clip_norm);

#endif
