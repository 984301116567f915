/*
 * graph.h: graphs on disk and in memory, building them within a memory bound, sampling them.
 *
 * A graph is a folder X.frgraph: meta.json, indptr.bin (u64), indices.bin (u32, u64 where needed),
 * features.bin (a store file), labels.bin, split.bin, optional weights.bin; each with checksums per
 * chunk in meta.json. Row v lists the nodes whose messages v receives (its in-neighbours).
 * docs/formats.md has the bytes.
 *
 *     fr_graph *g;
 *     fr_graph_open("cora.frgraph", NULL, &g);
 *     fr_sampler *s;
 *     fr_sampler_create(g, &(fr_sampler_options){.seed = 1}, &s);
 *     fr_hop hop = {0};
 *     fr_sampler_expand(s, &(fr_draw){.epoch = 0, .batch = 3, .hop = 0}, 15, seeds, n, NULL, &hop);
 *     ...
 *     fr_hop_release(&hop);
 */
#ifndef FRUGAL_GRAPH_H
#define FRUGAL_GRAPH_H

#include <frugal/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_graph fr_graph;

typedef enum fr_graph_task { FR_TASK_MULTICLASS, FR_TASK_MULTILABEL } fr_graph_task;
typedef enum fr_split { FR_SPLIT_NONE = 0, FR_SPLIT_TRAIN = 1, FR_SPLIT_VALID = 2, FR_SPLIT_TEST = 3 } fr_split;

typedef struct fr_graph_info {
    int64_t n_nodes, n_edges, n_features, n_classes;
    int64_t n_train, n_valid, n_test, n_labelled;
    fr_graph_task task;
    int index_bytes; /* 4 or 8: of one entry of indices.bin */
    bool has_weights;
    fr_dtype feature_dtype; /* FR_NO_DTYPE where there are no features */
} fr_graph_info;

typedef struct fr_graph_options {
    int64_t memory_bytes; /* budget for what is held in RAM (features); 0 = no limit */
    fr_store_tier tier;   /* of the features */
    bool verify;          /* check all checksums now; without it, structure is still checked */
    bool without_features;
} fr_graph_options;

/** Opens a graph folder: checks meta.json against the files' lengths, indptr monotone and ending at n_edges,
 * labels within classes. Topology is memory-mapped. NULL options: all zero.
 * @return FR_ENOENT, FR_EFORMAT, FR_ERANGE (which row, which value), FR_ECORRUPT, FR_EIO, FR_ENOMEM */
FR_API fr_status fr_graph_open(const char *path, const fr_graph_options *options, fr_graph **graph);
FR_API void fr_graph_free(fr_graph *graph); /* NULL-safe */
FR_API const fr_graph_info *fr_graph_get_info(const fr_graph *graph);
FR_API const char *fr_graph_path(const fr_graph *graph);
/** Checks every chunk's checksum and every index against n_nodes. @return FR_ECORRUPT / FR_ERANGE naming file and place */
FR_API fr_status fr_graph_verify(const char *path, void (*progress)(void *context, int64_t done_bytes, int64_t total_bytes), void *context);

/* Read-only views, valid while the graph is open. */
FR_API const uint64_t *fr_graph_indptr(const fr_graph *graph); /* n_nodes + 1 */
FR_API const uint32_t *fr_graph_indices32(const fr_graph *graph); /* NULL where index_bytes is 8 */
FR_API const uint64_t *fr_graph_indices64(const fr_graph *graph); /* NULL where index_bytes is 4 */
FR_API const float *fr_graph_weights(const fr_graph *graph); /* n_edges, NULL where there are none */
FR_API fr_store *fr_graph_features(const fr_graph *graph);   /* NULL where there are none */
FR_API const int32_t *fr_graph_labels(const fr_graph *graph); /* multiclass: n_nodes, -1 none; else NULL */
FR_API const uint8_t *fr_graph_label_bits(const fr_graph *graph); /* multilabel: n_nodes x n_classes of 0/1 (255 none); else NULL */
FR_API const uint8_t *fr_graph_split(const fr_graph *graph); /* n_nodes of fr_split */
static inline int64_t fr_graph_degree(const uint64_t *indptr, int64_t node) { return (int64_t)(indptr[node + 1] - indptr[node]); }
/** Nodes of one part of the split, ascending, in a fresh array: release with fr_nodes_free. */
FR_API fr_status fr_graph_split_nodes(const fr_graph *graph, fr_split part, int64_t **nodes, int64_t *n);
FR_API void fr_nodes_free(int64_t *nodes);

/* ---- building, in bounded memory ---- */

typedef struct fr_graph_builder fr_graph_builder;
typedef struct fr_graph_builder_options {
    int64_t n_nodes;      /* >= 0 */
    int64_t memory_bytes; /* bound on what building holds; 0 = 1 GiB */
    bool symmetrize;      /* every edge also the other way; doubles are dropped */
    bool keep_duplicates; /* default: equal (source, target) pairs are kept once */
    bool keep_self_loops; /* default: dropped */
    bool weighted;        /* edges come with weights; a double keeps the first */
    bool replace;         /* an existing folder is replaced */
} fr_graph_builder_options;
typedef struct fr_graph_build_counts {
    int64_t edges_given, duplicates_dropped, self_loops_dropped, edges_kept;
} fr_graph_build_counts;

/** Starts a graph at `path`; work files live in "PATH.tmp-PID" until commit. Edges are bucketed by target range on
 * disk, each bucket sorted in memory: never more than memory_bytes. */
FR_API fr_status fr_graph_builder_create(const char *path, const fr_graph_builder_options *options, fr_graph_builder **builder);
/** Adds edges: messages go from source[i] to target[i]. @return FR_ERANGE an id outside [0, n_nodes) (position and id named; none of this call is added) */
FR_API fr_status fr_graph_builder_add_edges(fr_graph_builder *builder, const int64_t *source, const int64_t *target, const float *weight, int64_t n);
/** Appends feature rows in node order; dtype and width are fixed by the first call to _features. */
FR_API fr_status fr_graph_builder_features(fr_graph_builder *builder, fr_dtype dtype, int64_t width);
FR_API fr_status fr_graph_builder_add_features(fr_graph_builder *builder, const void *rows, int64_t n); /* FR_ERANGE a value is NaN or infinite: row and column named */
/** Labels of all nodes, -1 none. @return FR_ERANGE a label outside [-1, n_classes) */
FR_API fr_status fr_graph_builder_labels(fr_graph_builder *builder, const int32_t *labels, int64_t n_classes);
FR_API fr_status fr_graph_builder_label_bits(fr_graph_builder *builder, const uint8_t *bits, int64_t n_classes);
/** Split of all nodes; nodes in a part must be labelled (FR_EINVAL names the node). */
FR_API fr_status fr_graph_builder_split(fr_graph_builder *builder, const uint8_t *split);
/** Random split by fractions among labelled nodes, seeded. */
FR_API fr_status fr_graph_builder_random_split(fr_graph_builder *builder, double train, double valid, double test, uint64_t seed);
/** Finishes the folder under its name, durably, and frees the builder, also on failure. `counts` may be NULL. */
FR_API fr_status fr_graph_builder_commit(fr_graph_builder *builder, fr_graph_build_counts *counts);
FR_API void fr_graph_builder_abort(fr_graph_builder *builder); /* NULL-safe; removes the work files */
/** Called now and then while edges are sorted: progress for people. */
FR_API void fr_graph_builder_on_progress(fr_graph_builder *builder, void (*progress)(void *context, const char *stage, int64_t done, int64_t total), void *context);

/* ---- synthetic graphs ---- */

/**
 * A graph whose classes show through two hops only.
 *
 * Degrees follow a power law; a node's class is that of its community; features are a weak class signal under
 * noise, so that a node alone tells little and its neighbourhood tells much; `homophily` is the share of edges
 * within a community. Streamed: memory does not grow with the number of edges. A function of the options alone.
 */
typedef struct fr_synth_options {
    int64_t n_nodes, n_edges; /* undirected edges asked for, before doubles are dropped */
    int64_t n_features, n_classes;
    double homophily;         /* 0: default 0.6 */
    double power;             /* exponent of the degree law; 0: default 2.5 */
    double signal;            /* size of the class signal against unit noise; 0: default */
    double train, valid, test; /* fractions; all 0: 0.1, 0.05, 0.2 */
    uint64_t seed;
    int64_t memory_bytes;
    bool replace;
} fr_synth_options;
FR_API fr_status fr_graph_synth(const char *path, const fr_synth_options *options, void (*progress)(void *context, const char *stage, int64_t done, int64_t total), void *context, fr_graph_build_counts *counts);

/* ---- sampling ---- */

/** One hop of a batch, in local numbers. Row i receives from source[begin[i] .. end[i]), each below n_sources;
 * nodes[j] is the global id of local source j; rows come first: nodes[i], i < n_rows, is row i itself. */
typedef struct fr_hop {
    int64_t n_rows, n_sources, n_edges;
    int64_t *begin, *end;
    int32_t *source;
    int64_t *nodes;
    int64_t row_capacity, source_capacity, edge_capacity; /* arrays are kept and grown */
} fr_hop;

typedef struct fr_sampler fr_sampler;
typedef struct fr_sampler_options {
    uint64_t seed;
    bool self_edges;   /* each row's first edge comes from itself (GCN, GAT) */
    bool serial;       /* never use more than the caller's thread (for workers) */
} fr_sampler_options;

/** What a draw depends on, beside the sampler's seed and the node: never a thread or the clock. */
typedef struct fr_draw {
    int64_t epoch, batch;
    int hop; /* from the seeds outwards, 0 first */
} fr_draw;

/** A sampler holds scratch of 4 bytes a node: one per thread that samples at the same time. */
FR_API fr_status fr_sampler_create(const fr_graph *graph, const fr_sampler_options *options, fr_sampler **sampler);
FR_API void fr_sampler_free(fr_sampler *sampler);

/**
 * Draws neighbours without replacement for rows of a batch.
 *
 * A row with at most `fanout` neighbours takes all, in the order of the graph; fanout -1 takes all of any row.
 * Rows with stop[i] != 0 get no edges. Sources are numbered by first occurrence after the rows.
 * The same rows give the same hop with any number of threads, and stopping some rows does not change what others draw.
 *
 * @param rows  n distinct node ids
 * @param stop  n flags, or NULL
 * @param hop   zeroed or used before; its arrays are reused
 * @return FR_OK; FR_ERANGE a row that is no node; FR_EINVAL a row twice; FR_ENOMEM
 */
FR_API fr_status fr_sampler_expand(fr_sampler *sampler, const fr_draw *draw, int64_t fanout, const int64_t *rows, int64_t n, const uint8_t *stop, fr_hop *hop);

/** As fr_sampler_expand with sources left as global ids (n_sources = number of graph nodes, nodes = the rows only),
 * for aggregating straight from a table of all nodes. *n_distinct (may be NULL) counts different nodes among rows and sources. */
FR_API fr_status fr_sampler_expand_global(fr_sampler *sampler, const fr_draw *draw, int64_t fanout, const int64_t *rows, int64_t n, const uint8_t *stop, fr_hop *hop, int64_t *n_distinct);

/** The part of `full` for the given rows (ids of some of full's rows, in any order), numbered as fr_sampler_expand would
 * have for those rows: what pruning leaves of a hop sampled ahead. @return FR_EINVAL a node that is no row of full, or twice */
FR_API fr_status fr_sampler_restrict(fr_sampler *sampler, const fr_hop *full, const int64_t *rows, int64_t n, fr_hop *hop);
FR_API void fr_hop_release(fr_hop *hop);

/** Seeds of an epoch: `nodes` in an order that is a function of (seed, epoch). */
FR_API fr_status fr_shuffle_epoch(uint64_t seed, int64_t epoch, const int64_t *nodes, int64_t n, int64_t *shuffled);

#ifdef __cplusplus
}
#endif
#endif
