/*
 * train.h: what every training loop needs: optimizers, schedules, clipping, checkpoints, run folders,
 * curves, early stop.
 *
 *     fr_optimizer *adam;
 *     fr_optimizer_create(p, e, params, grads, n, &(fr_optimizer_options){.kind = FR_ADAM, .learning_rate = 0.003}, &adam);
 *     for (int64_t step = 0; step < steps; step++) {
 *         ... bind, set, fr_executor_run(e) ...
 *         fr_optimizer_step(adam, fr_schedule_rate(&schedule, step));
 *     }
 *
 * Everything a loop must keep to go on bit-identically is in named tensors of a checkpoint.
 */
#ifndef FRUGAL_TRAIN_H
#define FRUGAL_TRAIN_H

#include <frugal/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers ---- */

typedef struct fr_optimizer fr_optimizer;
typedef enum fr_optimizer_kind { FR_SGD, FR_ADAM, FR_ADAMW } fr_optimizer_kind;
typedef struct fr_optimizer_options {
    fr_optimizer_kind kind;
    double learning_rate;      /* what a step uses where it is given none */
    double beta1, beta2, epsilon; /* 0: 0.9, 0.999, 1e-8 */
    double momentum;           /* SGD */
    double weight_decay;
    double clip_norm;          /* over all gradients together; 0 = none */
} fr_optimizer_options;

/** Optimizes f32 parameters of an executor by gradients that are outputs or kept values of its program. */
FR_API fr_status fr_optimizer_create(const fr_program *p, fr_executor *e, const fr_value *parameters, const fr_value *grads, int n, const fr_optimizer_options *options, fr_optimizer **optimizer);
/** Weight decay of one parameter (the i-th given), for rules such as "none on biases". */
FR_API void fr_optimizer_set_decay(fr_optimizer *optimizer, int i, double weight_decay);
/** One update from the gradients of the last run; `learning_rate` < 0 takes the option's.
 * @return FR_ERANGE a gradient is not finite (nothing is updated; the parameter is named) */
FR_API fr_status fr_optimizer_step(fr_optimizer *optimizer, double learning_rate);
FR_API double fr_optimizer_grad_norm(const fr_optimizer *optimizer); /* of the last step, before clipping */
FR_API void fr_optimizer_free(fr_optimizer *optimizer);

/** Row-sparse Adam over a table in memory: only rows touched pay. Gradient rows of equal ids are
 * summed in the order of the sorted ids, so any number of threads gives the same bits.
 * Source: Engram, section "Optimiser". */
typedef struct fr_row_optimizer fr_row_optimizer;
FR_API fr_status fr_row_optimizer_create(float *table, int64_t n_rows, int64_t width, bool second_per_row, const fr_optimizer_options *options, fr_row_optimizer **optimizer);
FR_API fr_status fr_row_optimizer_step(fr_row_optimizer *optimizer, const int64_t *ids, int64_t n, const float *row_grads, double learning_rate);
FR_API void fr_row_optimizer_free(fr_row_optimizer *optimizer);

/* ---- schedules ---- */

typedef enum fr_schedule_kind { FR_SCHEDULE_CONSTANT, FR_SCHEDULE_COSINE, FR_SCHEDULE_STEP, FR_SCHEDULE_WSD } fr_schedule_kind;
typedef struct fr_schedule {
    fr_schedule_kind kind;
    double peak, floor;       /* rates */
    int64_t warmup, total;    /* steps; warm-up is linear from 0; total 0: no end is known, the rate stays at the peak */
    int64_t step_every;       /* STEP: multiply by `factor` every so many steps */
    double factor;
    int64_t decay;            /* WSD: linear decay over the last so many steps */
} fr_schedule;
FR_API double fr_schedule_rate(const fr_schedule *schedule, int64_t step);

/* ---- early stop ---- */

typedef struct fr_early_stop {
    int64_t patience; /* evaluations without a better one; 0 = never stop */
    bool larger_is_better;
    double best;
    int64_t best_at, seen;
} fr_early_stop;
FR_API fr_early_stop fr_early_stop_start(int64_t patience, bool larger_is_better);
/** Notes a value at `when`; returns true where it is the best so far. Ties keep the earlier. */
FR_API bool fr_early_stop_note(fr_early_stop *stop, double value, int64_t when);
FR_API bool fr_early_stop_reached(const fr_early_stop *stop);

/* ---- checkpoints ---- */

/*
 * A checkpoint is one file: named tensors and named JSON texts, checksummed, written atomically. Reading maps
 * it and checks all sums and sizes before anything is handed out. Format: docs/formats.md.
 */
typedef struct fr_checkpoint_writer fr_checkpoint_writer;
FR_API fr_status fr_checkpoint_create(const char *path, fr_checkpoint_writer **writer);
FR_API fr_status fr_checkpoint_add(fr_checkpoint_writer *writer, const char *name, const fr_tensor *tensor);
FR_API fr_status fr_checkpoint_add_text(fr_checkpoint_writer *writer, const char *name, const char *text);
FR_API fr_status fr_checkpoint_commit(fr_checkpoint_writer *writer); /* frees, also on failure */
FR_API void fr_checkpoint_abort(fr_checkpoint_writer *writer);

typedef struct fr_checkpoint fr_checkpoint;
FR_API fr_status fr_checkpoint_open(const char *path, fr_checkpoint **checkpoint);
FR_API void fr_checkpoint_free(fr_checkpoint *checkpoint);
/** A view into the file's mapping, read-only. @return FR_ENOENT no such name (named, with the file) */
FR_API fr_status fr_checkpoint_tensor(const fr_checkpoint *checkpoint, const char *name, fr_tensor *view);
FR_API fr_status fr_checkpoint_text(const fr_checkpoint *checkpoint, const char *name, const char **text);
/** Copies a tensor into memory of exactly this dtype and number of elements. @return FR_ESHAPE, FR_ENOENT */
FR_API fr_status fr_checkpoint_read(const fr_checkpoint *checkpoint, const char *name, fr_dtype dtype, int64_t count, void *out);

/** All parameters and states of an executor under "parameter/NAME", "state/NAME". */
FR_API fr_status fr_checkpoint_add_executor(fr_checkpoint_writer *writer, const fr_program *p, fr_executor *e);
FR_API fr_status fr_checkpoint_read_executor(const fr_checkpoint *checkpoint, const fr_program *p, fr_executor *e);
/** An optimizer's moments and step under "optimizer/...". */
FR_API fr_status fr_checkpoint_add_optimizer(fr_checkpoint_writer *writer, const fr_optimizer *optimizer);
FR_API fr_status fr_checkpoint_read_optimizer(const fr_checkpoint *checkpoint, fr_optimizer *optimizer);
/** A row optimizer's moments and step under "NAME/..."; its table is the caller's, who saves it. */
FR_API fr_status fr_checkpoint_add_row_optimizer(fr_checkpoint_writer *writer, const char *name, const fr_row_optimizer *optimizer);
FR_API fr_status fr_checkpoint_read_row_optimizer(const fr_checkpoint *checkpoint, const char *name, fr_row_optimizer *optimizer);

/* ---- run folders ---- */

/*
 * RUN/config.json    what was asked (written once; a resume compares)
 * RUN/metrics.csv    a row per record; a resume cuts it back to the checkpoint's record
 * RUN/last.frc       latest checkpoint        RUN/best.frc  best by validation
 * RUN/curves.png     picture of chosen columns (gnuplot; left out with a note where it is missing)
 * RUN/lock           held while a process trains here
 */
typedef struct fr_run_folder fr_run_folder;
typedef struct fr_run_folder_options {
    bool resume;             /* the folder must hold a run of the same config */
    const char *config_json; /* compared on resume: the first field that differs is named */
    const char *const *columns; /* of metrics.csv */
    int n_columns;
} fr_run_folder_options;
/** @return FR_EEXIST a run is there and resume was not asked, or another process holds it; FR_ENOENT nothing to resume; FR_EINVAL config differs */
FR_API fr_status fr_run_folder_open(const char *path, const fr_run_folder_options *options, fr_run_folder **run);
FR_API const char *fr_run_folder_path(const fr_run_folder *run);
/** Path of a file in the folder, in a fresh string: release with fr_text_free. */
FR_API fr_status fr_run_folder_file(const fr_run_folder *run, const char *name, char **path);
FR_API void fr_text_free(char *text);
/** Appends one row of metrics (NAN leaves a cell empty) and flushes. @return FR_ECORRUPT someone else changed the file */
FR_API fr_status fr_run_folder_record(fr_run_folder *run, const double *values, int n);
FR_API int64_t fr_run_folder_n_records(const fr_run_folder *run);
/** Drops records past the first n (on resume). */
FR_API fr_status fr_run_folder_truncate(fr_run_folder *run, int64_t n);
FR_API void fr_run_folder_free(fr_run_folder *run); /* releases the lock */

/** One line of a picture: a column of a CSV file. */
typedef struct fr_curve {
    const char *csv;   /* path */
    int x_column, y_column; /* from 0 */
    const char *title;
    bool right_axis;
} fr_curve;
/** Draws curves with gnuplot into a PNG (or SVG by the ending). @return FR_ENOTSUP gnuplot is not installed */
FR_API fr_status fr_curves_draw(const char *path, const char *title, const char *x_label, const char *y_label, const char *right_label, const fr_curve *curves, int n);

#ifdef __cplusplus
}
#endif
#endif
