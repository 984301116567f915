/*
 * executor.c: making an executor, binding sizes, giving and taking memory. How it runs: run.c; how
 * memory is planned: plan.c.
 *
 * Capacity: a symbol is planned for the largest size seen. The first size is taken as it is; a
 * larger one later raises the capacity to at least 1.25 times the old, so that slowly growing sizes
 * do not plan anew every time.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "program/executor_body.h"

static fr_status allocate_tables(fr_executor *e)
{
    const fr_program *p = e->p;
    const size_t n_values = (size_t)p->n_values, n_nodes = (size_t)p->n_nodes;
    const size_t n_dims = (size_t)p->n_dims;
    size_t n_operands = 0, widest = 0;
    for (int k = 0; k < p->n_nodes; k++) {
        const size_t n_inputs = (size_t)p->nodes[k]->n_inputs;
        n_operands += n_inputs + (size_t)p->nodes[k]->n_outputs;
        widest = n_inputs > widest ? n_inputs : widest;
    }
    FR_RETURN_IF_ERROR(fr_alloc(n_dims, sizeof *e->sizes, "executor", &e->sizes));
    FR_RETURN_IF_ERROR(fr_alloc(n_dims, sizeof *e->capacities, "executor", &e->capacities));
    FR_RETURN_IF_ERROR(fr_alloc(n_dims, sizeof *e->bounds, "executor", &e->bounds));
    FR_RETURN_IF_ERROR(fr_alloc(n_dims, sizeof *e->symbol_needed, "executor", &e->symbol_needed));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *e->data, "executor", &e->data));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *e->owned, "executor", &e->owned));
    FR_RETURN_IF_ERROR(fr_alloc(n_values, sizeof *e->tensors, "executor", &e->tensors));
    FR_RETURN_IF_ERROR(fr_alloc(n_nodes, sizeof *e->steps, "executor", &e->steps));
    FR_RETURN_IF_ERROR(fr_alloc(n_operands, sizeof *e->operands, "executor", &e->operands));
    FR_RETURN_IF_ERROR(fr_alloc(widest, sizeof *e->scratch, "executor", &e->scratch));
    fr_tensor *next = e->operands;
    for (int k = 0; k < p->n_nodes; k++) {
        e->steps[k].in = next;
        e->steps[k].out = next + p->nodes[k]->n_inputs;
        next = e->steps[k].out + p->nodes[k]->n_outputs;
    }
    for (int i = 0; i < p->n_dims; i++)
        e->capacities[i] = -1;
    return FR_OK;
}

/* ---- parameters ---- */

static fr_status share_value(fr_executor *e, const fr_executor *from, fr_value v)
{
    const fr_value_record *mine = &e->p->values[v];
    const fr_value found = fr_find(from->p, mine->name);
    const char *what = mine->kind == FR_VALUE_PARAMETER ? "parameter" : "state";
    if (found == FR_NO_VALUE || from->p->values[found].kind != mine->kind)
        return fr_fail(FR_ENOENT, "executor: the one to share with has no %s \"%s\"", what,
                       mine->name);
    const fr_value_record *theirs = &from->p->values[found];
    if (mine->type.dtype != theirs->type.dtype ||
        !fr_shape_equal(&mine->type.shape, &theirs->type.shape)) {
        char a[128], b[128];
        return fr_fail(FR_ESHAPE, "executor: %s \"%s\" is %s %s, in the one to share with %s %s",
                       what, mine->name, fr_dtype_name(mine->type.dtype),
                       fr_shape_text(e->p, &mine->type.shape, a, sizeof a),
                       fr_dtype_name(theirs->type.dtype),
                       fr_shape_text(from->p, &theirs->type.shape, b, sizeof b));
    }
    e->data[v] = from->data[found];
    return FR_OK;
}

static fr_status make_variables(fr_executor *e, const fr_executor *share)
{
    for (fr_value v = 0; v < e->p->n_values; v++) {
        const fr_value_record *record = &e->p->values[v];
        if (record->kind == FR_VALUE_LITERAL)
            e->data[v] = record->literal;
        if (record->kind != FR_VALUE_PARAMETER && record->kind != FR_VALUE_STATE)
            continue;
        if (share != NULL) {
            FR_RETURN_IF_ERROR(share_value(e, share, v));
            continue;
        }
        size_t bytes;
        FR_RETURN_IF_ERROR(fr_type_bytes(e->p, v, e->sizes, &bytes));
        FR_RETURN_IF_ERROR(fr_alloc_aligned(bytes, 1, record->name, &e->data[v]));
        e->owned[v] = true;
        e->parameter_bytes += (int64_t)bytes;
        fr_initialize(record, e->seed, e->data[v]);
    }
    return FR_OK;
}

/* ---- symbols that must be bound ---- */

static void need_dim(const fr_executor *e, fr_dim dim)
{
    if (dim.symbol >= 0)
        e->symbol_needed[dim.symbol] = true;
}

static void find_needed_symbols(fr_executor *e)
{
    const fr_program *p = e->p;
    for (int v = 0; v < p->n_values; v++) {
        const fr_value_record *record = &p->values[v];
        if (record->kind == FR_VALUE_INPUT ? fr_executor_reads(e, v)
                                           : e->plan.places[v].kind != FR_PLACE_NOWHERE)
            for (int d = 0; d < record->type.shape.rank; d++)
                need_dim(e, record->type.shape.dims[d]);
    }
    for (int k = 0; k < p->n_nodes; k++) /* bounds of a slice are no dim of a shape */
        for (int i = 0; e->plan.needed[k] && i < p->nodes[k]->n_attributes; i++) {
            const fr_attribute *a = &p->nodes[k]->attributes[i];
            for (int d = 0; a->kind == FR_ATTRIBUTE_DIMS && d < a->n; d++)
                need_dim(e, a->dims[d]);
        }
    for (int i = p->n_dims - 1; i >= 0; i--) { /* entries refer to older ones */
        const fr_dim_entry *entry = &p->dims[i];
        if (!e->symbol_needed[i])
            continue;
        if (entry->kind == FR_DIM_QUOTIENT)
            need_dim(e, entry->of);
        for (int t = 0; entry->kind == FR_DIM_SUM && t < entry->n_terms; t++)
            for (int a = 0; a < entry->terms[t].n_atoms; a++)
                e->symbol_needed[entry->terms[t].atoms[a]] = true;
    }
}

bool fr_executor_reads(const fr_executor *e, fr_value input)
{
    return e->plan.last_use[input] >= 0;
}

/* ---- life ---- */

static bool has_symbols(const fr_executor *e)
{
    for (int i = 0; i < e->p->n_dims; i++)
        if (e->symbol_needed[i])
            return true;
    return false;
}

fr_status fr_executor_create(const fr_program *p, const fr_executor_options *options,
                             fr_executor **executor)
{
    static const fr_executor_options defaults = {0};
    const fr_executor_options *o = options == NULL ? &defaults : options;
    *executor = NULL;
    FR_RETURN_IF_ERROR(fr_program_check(p));
    fr_executor *e = NULL;
    fr_status status = FR_OK;
    FR_TRY(fr_alloc(1, sizeof *e, "executor", &e));
    e->p = p;
    e->training = o->training;
    e->profile = o->profile;
    e->seed = o->seed;
    FR_TRY(allocate_tables(e));
    FR_TRY(fr_plan_create(p, o->keep, o->n_keep, &e->plan));
    find_needed_symbols(e);
    FR_TRY(make_variables(e, o->share));
    e->must_plan = e->must_size = e->must_point = true;
    FR_TRY(fr_dims_evaluate(p, e->sizes));
    if (!has_symbols(e)) /* nothing to wait for */
        FR_TRY(fr_executor_prepare(e, false));
    *executor = e;
done:
    if (status != FR_OK)
        fr_executor_free(e);
    return status;
}

void fr_executor_free(fr_executor *e)
{
    if (e == NULL)
        return;
    for (int k = 0; e->steps != NULL && k < e->p->n_nodes; k++)
        for (int i = 0; i < FR_MAX_KERNELS; i++)
            if (e->steps[k].prepared[i] != NULL && e->p->nodes[k]->op->kernels[i].release != NULL)
                e->p->nodes[k]->op->kernels[i].release(e->steps[k].prepared[i]);
    for (int v = 0; e->owned != NULL && v < e->p->n_values; v++)
        if (e->owned[v])
            fr_free(e->data[v]);
    fr_plan_release(&e->plan);
    fr_free(e->sizes);
    fr_free(e->capacities);
    fr_free(e->bounds);
    fr_free(e->symbol_needed);
    fr_free(e->data);
    fr_free(e->owned);
    fr_free(e->tensors);
    fr_free(e->steps);
    fr_free(e->operands);
    fr_free(e->scratch);
    fr_free(e->arena);
    fr_free(e);
}

/* ---- sizes ---- */

static fr_status check_symbol(const fr_executor *e, fr_dim symbol, int64_t size, const char *what)
{
    char text[64];
    if (symbol.symbol < 0 || !fr_dim_exists(e->p, symbol) ||
        e->p->dims[symbol.symbol].kind != FR_DIM_SYMBOL)
        return fr_fail(FR_EINVAL, "%s: %s is no symbol of the program", what,
                       fr_dim_text(e->p, symbol, text, sizeof text));
    if (size < 0)
        return fr_fail(FR_ERANGE, "%s: symbol %s cannot be %" PRId64, what,
                       e->p->dims[symbol.symbol].name, size);
    return FR_OK;
}

static void raise_capacity(fr_executor *e, int32_t symbol, int64_t size)
{
    const int64_t old = e->capacities[symbol];
    if (size <= old)
        return;
    const int64_t grown = old <= 0 || old > INT64_MAX / 2 ? size : old + old / 4;
    e->capacities[symbol] = size > grown ? size : grown;
    e->must_plan = e->must_plan || e->symbol_needed[symbol];
}

fr_status fr_executor_bind(fr_executor *e, fr_dim symbol, int64_t size)
{
    FR_RETURN_IF_ERROR(check_symbol(e, symbol, size, "bind"));
    raise_capacity(e, symbol.symbol, size);
    if (e->sizes[symbol.symbol] == size)
        return FR_OK;
    e->sizes[symbol.symbol] = size;
    e->must_size = e->must_point = true;
    return fr_dims_evaluate(e->p, e->sizes);
}

fr_status fr_executor_reserve(fr_executor *e, fr_dim symbol, int64_t size)
{
    FR_RETURN_IF_ERROR(check_symbol(e, symbol, size, "reserve"));
    if (size > e->capacities[symbol.symbol]) {
        e->must_plan = e->must_plan || e->symbol_needed[symbol.symbol];
        e->capacities[symbol.symbol] = size;
    }
    return FR_OK;
}

int64_t fr_executor_size(const fr_executor *e, fr_dim dim)
{
    return fr_dim_exists(e->p, dim) ? fr_dim_size(dim, e->sizes) : 0;
}

fr_status fr_executor_shape(const fr_executor *e, fr_value value, fr_tensor *view)
{
    size_t bytes;
    if (!fr_value_exists(e->p, value))
        return fr_fail(FR_EINVAL, "shape: the program has no value %d", (int)value);
    FR_RETURN_IF_ERROR(fr_type_bytes(e->p, value, e->sizes, &bytes));
    *view = fr_type_tensor(&e->p->values[value].type, e->sizes);
    const fr_place *place = &e->plan.places[value];
    if (place->kind == FR_PLACE_OUTSIDE)
        view->data = e->data[place->root];
    else if (place->kind == FR_PLACE_ARENA && e->plan.kept[value] && e->arena != NULL)
        view->data = e->arena + e->plan.buffers[place->buffer].offset;
    return FR_OK;
}

/* ---- memory ---- */

fr_status fr_executor_set(fr_executor *e, fr_value input, const void *data)
{
    if (!fr_value_exists(e->p, input) || e->p->values[input].kind != FR_VALUE_INPUT)
        return fr_fail(FR_EINVAL, "set: value %d is no input of the program", (int)input);
    union { /* kernels do not write operands; the pointer's type is shared with results */
        const void *given;
        void *kept;
    } pointer = {.given = data};
    if (e->data[input] != pointer.kept) {
        e->data[input] = pointer.kept;
        e->must_point = true;
    }
    return FR_OK;
}

void fr_executor_set_step(fr_executor *e, uint64_t step) { e->step = step; }

void *fr_executor_data(fr_executor *e, fr_value value)
{
    fr_tensor view = {0};
    if (!fr_value_exists(e->p, value) || fr_executor_shape(e, value, &view) != FR_OK)
        return NULL;
    return view.data;
}

fr_executor_stats fr_executor_get_stats(const fr_executor *e)
{
    return (fr_executor_stats){
        .planned_peak_bytes = (int64_t)e->plan.arena_bytes,
        .sum_bytes = (int64_t)e->plan.sum_bytes,
        .parameter_bytes = e->parameter_bytes,
        .n_plans = e->n_plans,
        .n_runs = e->n_runs,
    };
}
