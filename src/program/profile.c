/*
 * profile.c: where a program's time went, a line a node.
 *
 * FLOP and bytes are what the operator must do and move at least (op.work), so GFLOP/s and GB/s can
 * be held against the machine's peaks. Views and nodes that no one needs do not appear.
 */
#include <frugal/program.h>

#include <inttypes.h>

#include "base/table.h"
#include "program/executor_body.h"

static void add_row(const fr_executor *e, int k, double total, fr_table *table)
{
    const fr_node *node = e->p->nodes[k];
    const fr_step *step = &e->steps[k];
    char at[64], shape[128];
    const double seconds = step->all_seconds;
    fr_table_cell(table, "%s", fr_node_text(node, at, sizeof at));
    fr_table_cell(
        table, "%s",
        fr_shape_text(e->p, &e->p->values[node->outputs[0]].type.shape, shape, sizeof shape));
    fr_table_cell(table, "%s", node->op->kernels[step->kernel].name);
    fr_table_cell(table, "%" PRId64, step->n_runs);
    fr_table_cell(table, "%.3f", 1e3 * seconds);
    fr_table_cell(table, "%.1f", total > 0 ? 100 * seconds / total : 0);
    fr_table_cell(table, "%.2f", seconds > 0 ? 1e-9 * step->all_flop / seconds : 0);
    fr_table_cell(table, "%.2f", seconds > 0 ? 1e-9 * step->all_bytes / seconds : 0);
}

fr_status fr_executor_print_profile(const fr_executor *e, FILE *stream)
{
    static const char *const titles[] = {"node", "shape", "kernel",   ">runs",
                                         ">ms",  ">%",    ">GFLOP/s", ">GB/s"};
    if (!e->profile)
        return fr_fail(FR_EINVAL, "profile: the executor was made without options.profile");
    double total = 0, flop = 0, bytes = 0;
    for (int k = 0; k < e->p->n_nodes; k++) {
        total += e->steps[k].all_seconds;
        flop += e->steps[k].all_flop;
        bytes += e->steps[k].all_bytes;
    }
    fr_table *table = NULL;
    FR_RETURN_IF_ERROR(fr_table_create(titles, 8, &table));
    for (int k = 0; k < e->p->n_nodes; k++)
        if (e->plan.needed[k] && !e->p->nodes[k]->op->is_view)
            add_row(e, k, total, table);
    fr_table_cell(table, "all");
    fr_table_cell(table, "%s", "");
    fr_table_cell(table, "%s", "");
    fr_table_cell(table, "%" PRId64, e->n_runs);
    fr_table_cell(table, "%.3f", 1e3 * total);
    fr_table_cell(table, "%.1f", total > 0 ? 100.0 : 0.0);
    fr_table_cell(table, "%.2f", total > 0 ? 1e-9 * flop / total : 0);
    fr_table_cell(table, "%.2f", total > 0 ? 1e-9 * bytes / total : 0);
    const fr_status status = fr_table_print(table, stream);
    fr_table_free(table);
    return status;
}
