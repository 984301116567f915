/*
 * options.h: names, contradictions and the config.json of a run.
 */
#ifndef FR_GNN_OPTIONS_H
#define FR_GNN_OPTIONS_H

#include <frugal/gnn.h>

/** The layer whose output is cached, 1 .. n_layers-1; 0 where none is. */
int fr_gnn_cached_layer(const fr_gnn_options *options);

/** What decides the result's bits, as JSON in a fresh string (fr_free). */
fr_status fr_gnn_config_text(const fr_gnn_options *options, const fr_graph_info *graph, char **text) FR_MUST_USE;
/** The model's part of a run's config.json, and the sizes of the graph it was trained on. */
fr_status fr_gnn_config_read(const char *path, fr_gnn_options *options, fr_graph_info *graph) FR_MUST_USE;

#endif
