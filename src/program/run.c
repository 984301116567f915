/*
 * run.c: one execution: settle what is out of date, then call the kernels in order.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "program/executor_body.h"
#include "program/ops/operands.h"

/* ---- planning ---- */

static fr_status check_bound(const fr_executor *e)
{
    for (int i = 0; i < e->p->n_dims; i++)
        if (e->p->dims[i].kind == FR_DIM_SYMBOL && e->symbol_needed[i] && e->capacities[i] < 0)
            return fr_fail(FR_EINVAL, "run: symbol %s is not bound", e->p->dims[i].name);
    return FR_OK;
}

/* Lays buffers out for the capacities and sees that the arena has room. On failure nothing is
 * planned: the next run tries again. */
static fr_status plan(fr_executor *e)
{
    for (int i = 0; i < e->p->n_dims; i++)
        e->bounds[i] = e->capacities[i] < 0 ? 0 : e->capacities[i];
    FR_RETURN_IF_ERROR(fr_dims_bound(e->p, e->bounds));
    FR_RETURN_IF_ERROR(fr_plan_layout(&e->plan, e->bounds, e->scratch));
    e->must_point = true;
    const size_t needed = e->plan.arena_bytes == 0 ? FR_ALIGNMENT : e->plan.arena_bytes;
    if (needed > e->arena_bytes) { /* the old one goes first: both may not fit */
        fr_free(e->arena);
        e->arena = NULL;
        e->arena_bytes = 0;
        FR_RETURN_IF_ERROR(fr_alloc_aligned(needed, 1, "values of the program", &e->arena));
        e->arena_bytes = needed;
    }
    e->must_plan = false;
    e->n_plans++;
    return FR_OK;
}

/* ---- sizes ---- */

static fr_status settle_sizes(fr_executor *e)
{
    const fr_program *p = e->p;
    for (fr_value v = 0; v < p->n_values; v++) {
        size_t bytes;
        if (e->plan.places[v].kind == FR_PLACE_NOWHERE)
            continue;
        FR_RETURN_IF_ERROR(fr_type_bytes(p, v, e->sizes, &bytes));
        const fr_place *place = &e->plan.places[v];
        if (place->kind == FR_PLACE_ARENA && bytes > e->plan.buffers[place->buffer].bytes)
            return fr_fail(FR_ESHAPE, /* a product of sizes that are negative */
                           "value %%%d takes %zu bytes, more than sizes up to the largest ones do",
                           (int)v, bytes);
        void *data = e->tensors[v].data;
        e->tensors[v] = fr_type_tensor(&p->values[v].type, e->sizes);
        e->tensors[v].data = data;
    }
    for (int k = 0; k < p->n_nodes; k++) { /* counts that could not be compared while building */
        const fr_node *node = p->nodes[k];
        if (!e->plan.needed[k] || !node->op->is_view)
            continue;
        const fr_tensor *from = &e->tensors[node->inputs[0]], *to = &e->tensors[node->outputs[0]];
        if (fr_tensor_count(from) != fr_tensor_count(to)) {
            char at[64], a[128], b[128];
            return fr_fail(FR_ESHAPE, "%s: operand 0 is %s, the result %s",
                           fr_node_text(node, at, sizeof at), fr_tensor_text(from, a, sizeof a),
                           fr_tensor_text(to, b, sizeof b));
        }
    }
    return FR_OK;
}

/* ---- pointers ---- */

static fr_status place_value(fr_executor *e, fr_value v, void *nothing)
{
    const fr_place *place = &e->plan.places[v];
    if (place->kind == FR_PLACE_ARENA) {
        e->tensors[v].data = e->arena + e->plan.buffers[place->buffer].offset;
        return FR_OK;
    }
    void *data = e->data[place->root];
    const bool is_input = e->p->values[v].kind == FR_VALUE_INPUT;
    if (data == NULL && fr_tensor_count(&e->tensors[v]) == 0)
        data = nothing; /* no kernel need ask whether a pointer is there */
    else if (data == NULL && is_input && fr_executor_reads(e, v))
        return fr_fail(FR_EINVAL, "run: input \"%s\" is not set", e->p->values[v].name);
    e->tensors[v].data = data;
    return FR_OK;
}

static fr_status settle_pointers(fr_executor *e, bool check_inputs)
{
    const fr_program *p = e->p;
    for (fr_value v = 0; v < p->n_values; v++)
        if (e->plan.places[v].kind != FR_PLACE_NOWHERE) {
            const fr_status status = place_value(e, v, e->arena);
            if (status != FR_OK && check_inputs)
                return status;
        }
    for (int k = 0; k < p->n_nodes; k++) {
        const fr_node *node = p->nodes[k];
        fr_step *step = &e->steps[k];
        if (!e->plan.needed[k])
            continue;
        for (int i = 0; i < node->n_inputs; i++)
            step->in[i] = node->inputs[i] == FR_NO_VALUE ? (fr_tensor){.dtype = FR_NO_DTYPE}
                                                         : e->tensors[node->inputs[i]];
        for (int i = 0; i < node->n_outputs; i++)
            step->out[i] = e->tensors[node->outputs[i]];
        if (e->plan.workspace[k] >= 0)
            step->workspace = e->arena + e->plan.buffers[e->plan.workspace[k]].offset;
    }
    return FR_OK;
}

static fr_status choose_kernels(fr_executor *e)
{
    for (int k = 0; k < e->p->n_nodes; k++) {
        const fr_node *node = e->p->nodes[k];
        fr_step *step = &e->steps[k];
        if (!e->plan.needed[k] || node->op->is_view)
            continue;
        const fr_op_kernel *kernels = node->op->kernels;
        int i = 0;
        while (i < FR_MAX_KERNELS && kernels[i].run != NULL && kernels[i].supports != NULL &&
               !kernels[i].supports(node, step->in, step->out))
            i++;
        if (i == FR_MAX_KERNELS || kernels[i].run == NULL) {
            char at[64], text[128];
            return fr_fail(FR_ENOTSUP, "%s: no kernel makes %s of it",
                           fr_node_text(node, at, sizeof at),
                           fr_tensor_text(&step->out[0], text, sizeof text));
        }
        step->kernel = i;
        step->flop = 0;
        step->bytes = fr_operand_bytes(node, step->in, step->out);
        if (node->op->work != NULL)
            node->op->work(node, step->in, step->out, &step->flop, &step->bytes);
    }
    return FR_OK;
}

fr_status fr_executor_prepare(fr_executor *e, bool to_run)
{
    FR_RETURN_IF_ERROR(check_bound(e));
    if (e->must_plan)
        FR_RETURN_IF_ERROR(plan(e));
    if (e->must_size)
        FR_RETURN_IF_ERROR(settle_sizes(e));
    if (e->must_point)
        FR_RETURN_IF_ERROR(settle_pointers(e, to_run));
    if (e->must_size)
        FR_RETURN_IF_ERROR(choose_kernels(e));
    e->must_size = false;
    e->must_point = e->must_point && !to_run;
    return FR_OK;
}

/* ---- running ---- */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static fr_status run_step(fr_executor *e, const fr_node *node, fr_step *step)
{
    const fr_op_kernel *kernel = &node->op->kernels[step->kernel];
    const fr_run run = {
        .node = node,
        .in = step->in,
        .out = step->out,
        .workspace = step->workspace,
        .prepared = &step->prepared[step->kernel],
        .training = e->training,
        .seed = e->seed,
        .step = e->step,
        .sizes = e->sizes,
    };
    const double start = e->profile ? now() : 0;
    const fr_status status = kernel->run(&run);
    if (e->profile) {
        step->all_seconds += now() - start;
        step->all_flop += step->flop;
        step->all_bytes += step->bytes;
        step->n_runs++;
    }
    if (status == FR_OK)
        return FR_OK;
    const size_t length = strlen(node->op->name);
    char at[64];
    return strncmp(fr_error_message(), node->op->name, length) == 0
               ? status
               : fr_wrap(status, "%s", fr_node_text(node, at, sizeof at));
}

fr_status fr_executor_run(fr_executor *e)
{
    FR_RETURN_IF_ERROR(fr_executor_prepare(e, true));
    for (int k = 0; k < e->p->n_nodes; k++)
        if (e->plan.needed[k] && !e->p->nodes[k]->op->is_view)
            FR_RETURN_IF_ERROR(run_step(e, e->p->nodes[k], &e->steps[k]));
    e->n_runs++;
    return FR_OK;
}
