/*
 * format.h: other people's files into Frugal's.
 *
 *     fr_import_options o = {.memory_bytes = 1 << 30};
 *     fr_graph_build_counts counts;
 *     fr_import_planetoid("data/ind.cora", "cora.frgraph", &o, &counts);
 *
 * Every importer checks what it reads (ids against counts, labels against classes, splits disjoint and labelled,
 * no NaN), names file and line or element in its sentence, writes nothing half, and holds at most
 * memory_bytes beside fixed tables of the nodes.
 */
#ifndef FRUGAL_FORMAT_H
#define FRUGAL_FORMAT_H

#include <frugal/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_import_options {
    int64_t memory_bytes;  /* 0 = 1 GiB */
    bool replace;          /* an existing output folder is replaced */
    bool directed;         /* keep edges one way; default: symmetrise (ogb: as the data set's add_inverse_edge says) */
    bool keep_self_loops, keep_duplicates;
    bool normalize_features; /* each row divided by its sum (as the Planetoid papers do) */
    double train, valid, test; /* random split where the source has none; all 0: 0.6, 0.2, 0.2 */
    uint64_t seed;         /* of that split */
    const char *features;  /* edges, mtx: .npy, .csv or .npz with the features; NULL none */
    const char *labels;    /* edges, mtx: .npy or .csv */
    const char *split;     /* edges, mtx: .npy or .csv of train/valid/test per node, or numbers 0..3 */
    void (*progress)(void *context, const char *stage, int64_t done, int64_t total);
    void *progress_context;
} fr_import_options;

/** Planetoid pickles; `source` is the common prefix ".../ind.cora". The standard split. Gaps in CiteSeer's test index become
 * isolated nodes without features, as everyone does. Source: Yang et al., "Revisiting semi-supervised learning", ICML 2016. */
FR_API fr_status fr_import_planetoid(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);
/** A .npz of CSR parts: adj_data, adj_indices, adj_indptr, adj_shape; attr_* CSR or attr_matrix dense; labels; optional train/val/test masks or index arrays. */
FR_API fr_status fr_import_npz(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);
/** An OGB node-property folder, as csv.gz (raw/edge.csv.gz, num-node-list.csv.gz, node-feat.csv.gz, node-label.csv.gz, split/<rule>/{train,valid,test}.csv.gz)
 * or binary (raw/data.npz, raw/node-label.npz). */
FR_API fr_status fr_import_ogb(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);
/** A SNAP edge list: two columns (spaces, tabs or commas), # comments, optional third column of weights; gz by its magic. Sparse ids are numbered anew in
 * ascending order, kept in ids.npy beside. */
FR_API fr_status fr_import_edges(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);
/** Matrix Market coordinate files: general, symmetric, skew; pattern, real, integer; 1-based. */
FR_API fr_status fr_import_mtx(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);
/** A folder of CSV files with header lines: edges.csv (source,target[,weight]), nodes.csv (id,label,split,feature columns...). Ids may be any text. */
FR_API fr_status fr_import_csv(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
