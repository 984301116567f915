/*
 * gnn.h: train graph neural networks on node classification, with fresh embeddings.
 *
 *     fr_graph *graph;
 *     fr_graph_open("products.frgraph", NULL, &graph);
 *     fr_gnn_options options = fr_gnn_defaults();
 *     options.cache = FR_CACHE_FRESH;
 *     fr_gnn_result result;
 *     fr_gnn_train(graph, "run", &options, NULL, &result);
 *     printf("test %.4f\n", result.test);
 *
 * A mini-batch is sampled from its seed nodes outwards. With the fresh cache, a node whose embedding of the cached
 * layer is still fresh is not expanded: its whole sub-tree leaves the batch.
 * Source: FreshGNN (PVLDB 17:6, arXiv 2301.07482). docs/train-a-gnn.md is the guide.
 */
#ifndef FRUGAL_GNN_H
#define FRUGAL_GNN_H

#include <frugal/graph.h>
#include <frugal/train.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FR_GNN_MAX_LAYERS = 8 };

typedef enum fr_gnn_kind { FR_GNN_SAGE, FR_GNN_GCN, FR_GNN_GAT, FR_GNN_GIN, FR_GNN_MLP } fr_gnn_kind;
typedef enum fr_gnn_norm { FR_NORM_NONE, FR_NORM_BATCH, FR_NORM_LAYER } fr_gnn_norm;
/** NONE: plain neighbour sampling. FRESH: entries chosen by gradient and age. ALL: every row, never too old (historical training). */
typedef enum fr_gnn_cache { FR_CACHE_NONE, FR_CACHE_FRESH, FR_CACHE_ALL } fr_gnn_cache;

typedef struct fr_gnn_options {
    /* the model */
    fr_gnn_kind kind;
    int n_layers;
    int64_t hidden;
    int64_t heads, out_heads;    /* GAT: hidden is the width of all heads together; out_heads are averaged in the last layer */
    fr_reduction aggregate;      /* SAGE: FR_MEAN or FR_MAX */
    fr_gnn_norm norm;
    bool residual;
    double dropout;              /* of hidden activations */
    double input_dropout;        /* of the raw features */
    double attention_dropout;    /* GAT */

    /* the batches */
    int n_fanouts;               /* 0: all neighbours in every layer; else n_layers */
    int64_t fanout[FR_GNN_MAX_LAYERS]; /* from the seeds outwards; -1 all */
    int64_t batch;               /* seeds a batch; 0: all training nodes in one */
    int64_t epochs;
    int64_t look_ahead;          /* batches whose cache-independent hops are sampled ahead by a worker; no effect on results */
    bool sample_full;            /* sample every hop, then prune; default: a hit is never expanded. Same results. */

    /* the optimizer */
    double learning_rate, weight_decay;
    bool decay_first_layer_only; /* as the GCN paper does */
    double clip_norm;
    int64_t patience;            /* evaluations without a better one; 0: never stop early */
    int64_t evaluate_every;      /* epochs; 0: only at the end */

    /* the cache: section 3 of the paper */
    fr_gnn_cache cache;
    int cached_layer;            /* 1 .. n_layers-1: whose output is cached; 0: the top hidden layer */
    double p_grad;               /* rows with gradient below this quantile are stable; 0.9 */
    double t_stale;              /* iterations a row stays fresh; 200 */
    bool t_stale_in_epochs;      /* t_stale counts epochs */
    double max_error;            /* > 0: error-bounded mode steers p_grad and t_stale */
    int64_t cache_rows;          /* capacity; 0: what the memory budget allows, at most n_nodes */

    /* the run */
    uint64_t seed;
    int64_t memory_bytes;        /* of features and cache together; 0 = no limit */
    bool resume;
    int64_t checkpoint_seconds;  /* a checkpoint at least this often besides every epoch's end; 0: epochs only */
    int64_t stop_after_batches;  /* > 0: stop (as by an interrupt) after so many batches of this process; for tests */
} fr_gnn_options;

/** The reference settings of the paper: GraphSAGE mean, 3 layers of 256, fan-outs 20,15,10, batch 1000, Adam 0.003, dropout 0.5. */
FR_API fr_gnn_options fr_gnn_defaults(void);
/* Names as the command line has them: "sage", "batch", "fresh". The parsers return false for a name that is none. */
FR_API const char *fr_gnn_kind_name(fr_gnn_kind kind);
FR_API const char *fr_gnn_cache_name(fr_gnn_cache cache);
FR_API bool fr_gnn_kind_parse(const char *name, fr_gnn_kind *kind);
FR_API bool fr_gnn_norm_parse(const char *name, fr_gnn_norm *norm);
FR_API bool fr_gnn_cache_parse(const char *name, fr_gnn_cache *cache);
/** Checks options against each other and the graph (NULL: only against each other). @return FR_EINVAL with the two facts that disagree */
FR_API fr_status fr_gnn_check(const fr_gnn_options *options, const fr_graph_info *graph);

typedef struct fr_gnn_epoch {
    int64_t epoch; /* from 0 */
    double loss, valid; /* valid: NAN where not evaluated */
    double seconds;     /* of training alone */
    double evaluate_seconds;
    int64_t n_batches;
    int64_t rows_wanted;  /* references to feature rows before dropping doubles */
    int64_t rows_fetched; /* different rows read, summed over batches */
    int64_t bytes_read;
    int64_t lookups, hits; /* of the cache */
    int64_t max_age;       /* greatest age of a hit, iterations */
    int64_t admitted, evicted_by_gradient, evicted_by_age, evicted_by_room;
    double error_estimate; /* error-bounded mode: measured relative error of hits; NAN else */
    double p_grad, t_stale; /* in force at the end of the epoch */
    double seconds_sample, seconds_fetch, seconds_compute, seconds_cache;
} fr_gnn_epoch;

typedef struct fr_gnn_result {
    double test, valid, train; /* accuracy (multi-label: micro F1) of the best epoch's weights, exact */
    int64_t best_epoch, epochs;
    double seconds;            /* of training over all epochs, evaluation left out */
    int64_t rows_wanted, rows_fetched, bytes_read, lookups, hits, max_age;
    int64_t peak_memory_bytes; /* resident, of the process */
    int64_t planned_peak_bytes, planned_sum_bytes; /* memory planner: with and without reuse */
} fr_gnn_result;

/** What a run tells while it goes on; any function may be NULL. */
typedef struct fr_gnn_observer {
    void *context;
    void (*batch)(void *context, int64_t epoch, int64_t done, int64_t total);
    void (*epoch)(void *context, const fr_gnn_epoch *epoch);
    void (*note)(void *context, const char *sentence); /* e.g. "gnuplot is not installed: no picture" */
} fr_gnn_observer;

/**
 * Trains a model and leaves a run folder.
 *
 * The folder holds config.json, metrics.csv, last.frc, best.frc, curves.png. The same options give the same bits with
 * any number of threads and any look_ahead, also when stopped at any moment and resumed (ring included).
 *
 * @return FR_OK; FR_EINTERRUPTED stopped on request with a checkpoint; FR_EINVAL options; FR_EEXIST, FR_ENOENT about the
 *         run folder; FR_ERANGE a loss that is not finite (epoch and batch named)
 */
FR_API fr_status fr_gnn_train(fr_graph *graph, const char *run, const fr_gnn_options *options, const fr_gnn_observer *observer, fr_gnn_result *result);

/** Exact accuracy of a run's best weights on the three parts, by layer-wise full-graph inference. */
FR_API fr_status fr_gnn_evaluate(const char *run, fr_graph *graph, fr_gnn_result *result);

typedef struct fr_gnn_infer_options {
    bool embeddings;      /* output of the last hidden layer; default: logits */
    bool classes;         /* i32 class numbers [n] instead of logits */
    int64_t memory_bytes; /* 0 = 1 GiB for the chunks in flight */
} fr_gnn_infer_options;
/** Logits, classes or embeddings of all nodes into a .npy, layer by layer in bounded memory. */
FR_API fr_status fr_gnn_infer(const char *run, fr_graph *graph, const char *npy, const fr_gnn_infer_options *options, const fr_gnn_observer *observer);

#ifdef __cplusplus
}
#endif
#endif
