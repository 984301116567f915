/*
 * checkpoint_state.c: an executor's and an optimizer's state as named entries of a checkpoint.
 *
 *     parameter/NAME, state/NAME                                            executor
 *     optimizer/kind, optimizer/step, optimizer/first/NAME, .../second/NAME optimizer
 *     NAME/kind, NAME/step, NAME/first, NAME/second                         row optimizer NAME
 *
 * Reading is all or nothing: everything that is needed is looked up and compared before anything is
 * written. Entries that nobody asks for are fine (an evaluation needs less than training saved).
 * The table of a row optimizer is the caller's, who saves it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/optimizer.h"

/* One piece of state in memory, and its name in the checkpoint. */
typedef struct state_piece {
    char name[512];
    fr_tensor view;
} state_piece;

static fr_status name_piece(state_piece *piece, const char *prefix, const char *name)
{
    const size_t bytes = strlen(prefix) + strlen(name) + 1;
    if (bytes > sizeof piece->name)
        return fr_fail(FR_EINVAL, "checkpoint: the name \"%.80s...\" is longer than %zu bytes",
                       name, sizeof piece->name - strlen(prefix) - 1);
    memcpy(piece->name, prefix, strlen(prefix));
    memcpy(piece->name + strlen(prefix), name, strlen(name) + 1);
    return FR_OK;
}

static bool same_shape(const fr_tensor *a, const fr_tensor *b)
{
    bool same = a->rank == b->rank && a->dtype == b->dtype;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* Looks a piece up and, where `copy`, copies it; dtype and shape must be equal. */
static fr_status read_piece(const fr_checkpoint *checkpoint, const state_piece *piece, bool copy)
{
    fr_tensor stored = {0};
    char here[96], there[96];
    FR_RETURN_IF_ERROR(fr_checkpoint_tensor(checkpoint, piece->name, &stored));
    if (!same_shape(&stored, &piece->view))
        return fr_fail(FR_ESHAPE, "checkpoint entry \"%s\" is %s, wanted is %s", piece->name,
                       fr_tensor_text(&stored, there, sizeof there),
                       fr_tensor_text(&piece->view, here, sizeof here));
    if (!copy)
        return FR_OK;
    return fr_checkpoint_read(checkpoint, piece->name, stored.dtype, fr_tensor_count(&stored),
                              piece->view.data);
}

/* ---- executor ---- */

/* The i-th parameter or, after them, state. */
static fr_status executor_piece(const fr_program *p, fr_executor *e, int i, state_piece *piece)
{
    const int n_parameters = fr_n_parameters(p);
    const bool parameter = i < n_parameters;
    const fr_value value = parameter ? fr_parameter_at(p, i) : fr_state_at(p, i - n_parameters);
    const fr_shape shape = fr_value_shape(p, value);
    int64_t sizes[FR_MAX_RANK] = {0};
    FR_RETURN_IF_ERROR(
        name_piece(piece, parameter ? "parameter/" : "state/", fr_value_name(p, value)));
    for (int k = 0; k < shape.rank; k++)
        sizes[k] = fr_executor_size(e, shape.dims[k]);
    void *data = fr_executor_data(e, value);
    if (data == NULL)
        return fr_fail(FR_EINVAL, "checkpoint: the executor holds no \"%s\"", piece->name);
    return fr_tensor_view(fr_value_dtype(p, value), shape.rank, sizes, data, &piece->view);
}

fr_status fr_checkpoint_add_executor(fr_checkpoint_writer *writer, const fr_program *p,
                                     fr_executor *e)
{
    state_piece piece;
    for (int i = 0; i < fr_n_parameters(p) + fr_n_states(p); i++) {
        FR_RETURN_IF_ERROR(executor_piece(p, e, i, &piece));
        FR_RETURN_IF_ERROR(fr_checkpoint_add(writer, piece.name, &piece.view));
    }
    return FR_OK;
}

fr_status fr_checkpoint_read_executor(const fr_checkpoint *checkpoint, const fr_program *p,
                                      fr_executor *e)
{
    state_piece piece;
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; i < fr_n_parameters(p) + fr_n_states(p); i++) {
            FR_RETURN_IF_ERROR(executor_piece(p, e, i, &piece));
            FR_RETURN_IF_ERROR(read_piece(checkpoint, &piece, copy == 1));
        }
    return FR_OK;
}

/* ---- kind and step, which both optimizers have ---- */

static fr_status add_kind_and_step(fr_checkpoint_writer *writer, const char *prefix,
                                   fr_optimizer_kind kind, int64_t step)
{
    state_piece piece;
    FR_RETURN_IF_ERROR(name_piece(&piece, prefix, "/kind"));
    FR_RETURN_IF_ERROR(fr_checkpoint_add_text(writer, piece.name, fr_optimizer_kind_name(kind)));
    FR_RETURN_IF_ERROR(name_piece(&piece, prefix, "/step"));
    FR_RETURN_IF_ERROR(fr_tensor_view(FR_I64, 0, NULL, &step, &piece.view));
    return fr_checkpoint_add(writer, piece.name, &piece.view);
}

static fr_status read_kind_and_step(const fr_checkpoint *checkpoint, const char *prefix,
                                    fr_optimizer_kind kind, int64_t *step)
{
    state_piece piece;
    const char *stored;
    FR_RETURN_IF_ERROR(name_piece(&piece, prefix, "/kind"));
    FR_RETURN_IF_ERROR(fr_checkpoint_text(checkpoint, piece.name, &stored));
    if (strcmp(stored, fr_optimizer_kind_name(kind)) != 0)
        return fr_fail(FR_EINVAL, "checkpoint: \"%s\" is of %s, this optimizer is %s", prefix,
                       stored, fr_optimizer_kind_name(kind));
    FR_RETURN_IF_ERROR(name_piece(&piece, prefix, "/step"));
    FR_RETURN_IF_ERROR(fr_checkpoint_read(checkpoint, piece.name, FR_I64, 1, step));
    if (*step < 0)
        return fr_fail(FR_EFORMAT, "checkpoint: \"%s\" is %" PRId64, piece.name, *step);
    return FR_OK;
}

/* ---- dense optimizer ---- */

/* Moment `which` (0 first, 1 second) of slot i; piece->view.data is NULL where it has none. */
static fr_status optimizer_piece(const fr_optimizer *optimizer, int i, int which,
                                 state_piece *piece)
{
    const optimizer_slot *slot = &optimizer->slots[i];
    FR_RETURN_IF_ERROR(
        name_piece(piece, which == 0 ? "optimizer/first/" : "optimizer/second/", slot->name));
    return fr_tensor_view(FR_F32, 1, &slot->count, which == 0 ? slot->first : slot->second,
                          &piece->view);
}

fr_status fr_checkpoint_add_optimizer(fr_checkpoint_writer *writer, const fr_optimizer *optimizer)
{
    state_piece piece;
    FR_RETURN_IF_ERROR(
        add_kind_and_step(writer, "optimizer", optimizer->options.kind, optimizer->step));
    for (int i = 0; i < 2 * optimizer->n_slots; i++) {
        FR_RETURN_IF_ERROR(optimizer_piece(optimizer, i / 2, i % 2, &piece));
        if (piece.view.data != NULL)
            FR_RETURN_IF_ERROR(fr_checkpoint_add(writer, piece.name, &piece.view));
    }
    return FR_OK;
}

fr_status fr_checkpoint_read_optimizer(const fr_checkpoint *checkpoint, fr_optimizer *optimizer)
{
    state_piece piece;
    int64_t step = 0;
    FR_RETURN_IF_ERROR(read_kind_and_step(checkpoint, "optimizer", optimizer->options.kind, &step));
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; i < 2 * optimizer->n_slots; i++) {
            FR_RETURN_IF_ERROR(optimizer_piece(optimizer, i / 2, i % 2, &piece));
            if (piece.view.data != NULL)
                FR_RETURN_IF_ERROR(read_piece(checkpoint, &piece, copy == 1));
        }
    optimizer->step = step;
    return FR_OK;
}

/* ---- row optimizer ---- */

static fr_status row_optimizer_piece(const fr_row_optimizer *optimizer, const char *name, int which,
                                     state_piece *piece)
{
    const bool per_row = which == 1 && optimizer->second_per_row;
    const int64_t shape[2] = {optimizer->n_rows, optimizer->width};
    FR_RETURN_IF_ERROR(name_piece(piece, name, which == 0 ? "/first" : "/second"));
    return fr_tensor_view(FR_F32, per_row ? 1 : 2, shape,
                          which == 0 ? optimizer->first : optimizer->second, &piece->view);
}

fr_status fr_checkpoint_add_row_optimizer(fr_checkpoint_writer *writer, const char *name,
                                          const fr_row_optimizer *optimizer)
{
    state_piece piece;
    FR_RETURN_IF_ERROR(add_kind_and_step(writer, name, optimizer->options.kind, optimizer->step));
    for (int which = 0; which < 2; which++) {
        FR_RETURN_IF_ERROR(row_optimizer_piece(optimizer, name, which, &piece));
        FR_RETURN_IF_ERROR(fr_checkpoint_add(writer, piece.name, &piece.view));
    }
    return FR_OK;
}

fr_status fr_checkpoint_read_row_optimizer(const fr_checkpoint *checkpoint, const char *name,
                                           fr_row_optimizer *optimizer)
{
    state_piece piece;
    int64_t step = 0;
    FR_RETURN_IF_ERROR(read_kind_and_step(checkpoint, name, optimizer->options.kind, &step));
    for (int copy = 0; copy < 2; copy++)
        for (int which = 0; which < 2; which++) {
            FR_RETURN_IF_ERROR(row_optimizer_piece(optimizer, name, which, &piece));
            FR_RETURN_IF_ERROR(read_piece(checkpoint, &piece, copy == 1));
        }
    optimizer->step = step;
    return FR_OK;
}
