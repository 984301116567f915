/*
 * ogb.h: what the two forms of an OGB node-property folder share: sizes, labels, split.
 */
#ifndef FR_FORMAT_OGB_H
#define FR_FORMAT_OGB_H

#include <frugal/format.h>

typedef struct fr_ogb {
    const char *source; /* the folder */
    const fr_import_options *options;
    fr_graph_builder *builder;
    int64_t n_nodes, n_edges;
    int64_t n_columns; /* of labels; 0 until they are read */
    int64_t n_classes;
    int32_t *labels; /* one column */
    uint8_t *bits;   /* several: n_nodes x n_columns */
} fr_ogb;

/** Fixes the number of label columns and takes memory for them. `origin` names the file. */
fr_status fr_ogb_start_labels(fr_ogb *ogb, const char *origin, int64_t n_columns) FR_MUST_USE;
/** The label row of one node; NaN is none. */
fr_status fr_ogb_take_labels(fr_ogb *ogb, const char *origin, int64_t node, const double *row) FR_MUST_USE;

/* The form of csv.gz files. */
fr_status fr_ogb_text_sizes(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_text_edges(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_text_features(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_text_labels(fr_ogb *ogb) FR_MUST_USE;
/* The form of .npz files. */
fr_status fr_ogb_binary_sizes(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_binary_edges(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_binary_features(fr_ogb *ogb) FR_MUST_USE;
fr_status fr_ogb_binary_labels(fr_ogb *ogb) FR_MUST_USE;

/** split/RULE/{train,valid,test}.csv.gz into a part per node; *found is false where there is no folder split. */
fr_status fr_ogb_read_split(const fr_ogb *ogb, uint8_t *parts, bool *found) FR_MUST_USE;
/** FOLDER/NAME, or the same with .gz where only that is there. */
fr_status fr_ogb_file(const char *folder, const char *name, char **path) FR_MUST_USE;

#endif
