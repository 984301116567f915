/*
 * bench.h: runs side by side, shared by `gnn bench` and `demo`.
 */
#ifndef FR_CLI_BENCH_H
#define FR_CLI_BENCH_H

#include "cli/command.h"

struct fr_table;
fr_status bench_table_create(struct fr_table **table);
void bench_table_row(struct fr_table *table, const char *graph, const char *cache, const fr_gnn_result *result);
/** Trains into FOLDER/CACHE, replacing a run that is there; shows progress. */
fr_status bench_train(const arguments *a, fr_graph *graph, const char *folder, fr_gnn_options *options, fr_gnn_result *result);

#endif
