/*
 * inference.h: exact, layer-wise results for all nodes of a graph.
 *
 * Layer by layer: project all nodes in chunks of rows into a table z, then combine chunk by chunk, reading neighbours' z
 * in place: the graph's own indices are the block's sources, so no neighbourhood is expanded and every row is computed
 * once a layer, whatever the number of layers. Two tables of n_nodes rows are held; above the memory budget they are files
 * mapped from the run's or output's folder, which the system may page out.
 */
#ifndef FR_GNN_INFERENCE_H
#define FR_GNN_INFERENCE_H

#include <frugal/gnn.h>
#include <frugal/program.h>

typedef struct fr_gnn_inference fr_gnn_inference;

/** Takes parameters by name from `executor`, which must outlive it. */
fr_status fr_gnn_inference_create(fr_graph *graph, const fr_gnn_options *options, fr_executor *executor, const char *work_folder, int64_t memory_bytes, fr_gnn_inference **inference) FR_MUST_USE;
void fr_gnn_inference_free(fr_gnn_inference *inference); /* NULL-safe */

/** Runs layers 1 .. n_layers (or n_layers - 1 for embeddings). *table is n_nodes x *width, owned by inference, valid until the next run.
 * @return FR_EINTERRUPTED on request */
fr_status fr_gnn_inference_run(fr_gnn_inference *inference, bool embeddings, const fr_gnn_observer *observer, const float **table, int64_t *width) FR_MUST_USE;

/** Accuracy (multi-label: micro-averaged F1) of logits on one part of the split; NAN where the part is empty. */
double fr_gnn_score(const fr_graph *graph, fr_split part, const float *logits);

#endif
