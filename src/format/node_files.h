/*
 * node_files.h: features, labels and split of nodes from .npy or .csv files, for importers whose source has none.
 */
#ifndef FR_FORMAT_NODE_FILES_H
#define FR_FORMAT_NODE_FILES_H

#include <frugal/format.h>

/** Adds what options->features, ->labels and ->split name; n_nodes rows each. Without a split file but with labels, a random
 * split. Rows follow the graph's node numbers. */
fr_status fr_add_node_files(fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options) FR_MUST_USE;

/** Random split by the options' fractions, 60/20/20 where none is given. */
fr_status fr_add_random_split(fr_graph_builder *builder, const fr_import_options *options) FR_MUST_USE;

/** A table of numbers from .npy (rank 1 or 2) or .csv (a line a row; a header line of text is skipped): f32 or i64, rank 2. */
fr_status fr_read_table(const char *path, fr_dtype dtype, fr_tensor *table) FR_MUST_USE;

#endif
