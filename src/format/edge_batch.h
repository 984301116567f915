/*
 * edge_batch.h: edges on their way from an importer to the builder, and what importers say while they read.
 *
 * A batch holds 16 Ki edges, so that the builder checks many at a time; whoever fills it flushes it at the end.
 */
#ifndef FR_FORMAT_EDGE_BATCH_H
#define FR_FORMAT_EDGE_BATCH_H

#include <frugal/format.h>

#include "format/lines.h"

enum { FR_EDGE_BATCH = 1 << 14 };

typedef struct fr_edge_batch {
    fr_graph_builder *builder;
    int64_t *source, *target;
    float *weight; /* NULL where edges have none */
    int64_t n;
} fr_edge_batch;

fr_status fr_edge_batch_start(fr_graph_builder *builder, bool weighted, fr_edge_batch *batch) FR_MUST_USE;
fr_status fr_edge_batch_add(fr_edge_batch *batch, int64_t source, int64_t target, float weight) FR_MUST_USE;
fr_status fr_edge_batch_flush(fr_edge_batch *batch) FR_MUST_USE;
void fr_edge_batch_release(fr_edge_batch *batch); /* safe on a zeroed struct */

/** A builder of n_nodes as the options ask, with their progress. `symmetrize` is the importer's word. */
fr_status fr_start_import(const char *path, int64_t n_nodes, bool weighted, bool symmetrize, const fr_import_options *options,
                          fr_graph_builder **builder) FR_MUST_USE;

/** Tells the options' progress of `done` of `total`; FR_EINTERRUPTED where someone asked to stop. `source` is for the sentence. */
fr_status fr_report_reading(const fr_import_options *options, const char *source, const char *stage, int64_t done, int64_t total) FR_MUST_USE;
/** The same of a text file, once in many lines. */
fr_status fr_report_line(const fr_import_options *options, const fr_lines *lines, const char *stage) FR_MUST_USE;

#endif
