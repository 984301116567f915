/*
 * edge_batch.c: see edge_batch.h.
 */
#include "format/edge_batch.h"

#include "base/alloc.h"
#include "base/interrupt.h"

enum { REPORT_LINES = 1 << 16 };

fr_status fr_edge_batch_start(fr_graph_builder *builder, bool weighted, fr_edge_batch *batch)
{
    *batch = (fr_edge_batch){.builder = builder};
    fr_status status;
    FR_TRY(fr_alloc(FR_EDGE_BATCH, sizeof *batch->source, "edges", &batch->source));
    FR_TRY(fr_alloc(FR_EDGE_BATCH, sizeof *batch->target, "edges", &batch->target));
    if (weighted)
        FR_TRY(fr_alloc(FR_EDGE_BATCH, sizeof *batch->weight, "edges", &batch->weight));
done:
    if (status != FR_OK)
        fr_edge_batch_release(batch);
    return status;
}

fr_status fr_edge_batch_flush(fr_edge_batch *batch)
{
    const int64_t n = batch->n;
    batch->n = 0;
    return fr_graph_builder_add_edges(batch->builder, batch->source, batch->target, batch->weight, n);
}

fr_status fr_edge_batch_add(fr_edge_batch *batch, int64_t source, int64_t target, float weight)
{
    batch->source[batch->n] = source;
    batch->target[batch->n] = target;
    if (batch->weight != NULL)
        batch->weight[batch->n] = weight;
    return ++batch->n == FR_EDGE_BATCH ? fr_edge_batch_flush(batch) : FR_OK;
}

void fr_edge_batch_release(fr_edge_batch *batch)
{
    fr_free(batch->source);
    fr_free(batch->target);
    fr_free(batch->weight);
    *batch = (fr_edge_batch){0};
}

fr_status fr_start_import(const char *path, int64_t n_nodes, bool weighted, bool symmetrize, const fr_import_options *options,
                          fr_graph_builder **builder)
{
    FR_RETURN_IF_ERROR(fr_graph_builder_create(path,
                                               &(fr_graph_builder_options){.n_nodes = n_nodes,
                                                                           .memory_bytes = options->memory_bytes,
                                                                           .symmetrize = symmetrize,
                                                                           .keep_duplicates = options->keep_duplicates,
                                                                           .keep_self_loops = options->keep_self_loops,
                                                                           .weighted = weighted,
                                                                           .replace = options->replace},
                                               builder));
    fr_graph_builder_on_progress(*builder, options->progress, options->progress_context);
    return FR_OK;
}

fr_status fr_report_reading(const fr_import_options *options, const char *source, const char *stage, int64_t done, int64_t total)
{
    if (options->progress != NULL)
        options->progress(options->progress_context, stage, done, total);
    return fr_interrupt_requested() ? fr_fail(FR_EINTERRUPTED, "%s: stopped, nothing was written", source) : FR_OK;
}

fr_status fr_report_line(const fr_import_options *options, const fr_lines *lines, const char *stage)
{
    if (fr_lines_number(lines) % REPORT_LINES != 0)
        return FR_OK;
    return fr_report_reading(options, fr_lines_path(lines), stage, fr_lines_position(lines), fr_lines_length(lines));
}
