/*
 * graph.h: the inside of an open graph: mapped files and what meta.json said.
 */
#ifndef FR_GRAPH_GRAPH_H
#define FR_GRAPH_GRAPH_H

#include <frugal/graph.h>

#include "base/file.h"

struct fr_graph {
    fr_graph_info info;
    char *path;
    fr_mapping indptr, indices, weights, labels, split;
    fr_store *features;
};

#endif
