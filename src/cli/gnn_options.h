/*
 * gnn_options.h: options of a GNN run from the command line.
 */
#ifndef FR_CLI_GNN_OPTIONS_H
#define FR_CLI_GNN_OPTIONS_H

#include "cli/command.h"

/** The options of a run as specs, for the commands' tables. */
#define GNN_MODEL_OPTIONS                                                                          \
    {"model", "NAME", "sage, gcn, gat, gin, or mlp (no edges) (default sage)", "sage|gcn|gat|gin|mlp"},  \
    {"aggregate", "HOW", "sage: mean or max of the neighbours (default mean)", "mean|max"},        \
    {"layers", "N", "layers (default 3)", NULL},                                                   \
    {"hidden", "N", "width of hidden layers, all heads together (default 256)", NULL},             \
    {"heads", "N", "gat: attention heads (default 8)", NULL},                                      \
    {"out-heads", "N", "gat: heads of the last layer, averaged (default 1)", NULL},                \
    {"norm", "KIND", "none, batch or layer norm of hidden layers (default none)", "none|batch|layer"}, \
    {"residual", NULL, "add a hidden layer's input to its output", NULL},                          \
    {"dropout", "P", "dropout of hidden activations (default 0.5)", NULL},                         \
    {"input-dropout", "P", "dropout of the raw features (default 0)", NULL},                       \
    {"attention-dropout", "P", "gat: dropout of attention (default 0)", NULL},                     \
    {"fanout", "A,B,C", "neighbours sampled per layer, from the seeds outwards; -1 or `all`: all (default 20,15,10)", NULL}, \
    {"batch", "N", "seed nodes a batch; 0: all training nodes in one (default 1000)", NULL},       \
    {"epochs", "N", "epochs (default 30)", NULL},                                                  \
    {"lr", "R", "learning rate of Adam (default 0.003)", NULL},                                    \
    {"weight-decay", "R", "L2 penalty (default 0)", NULL},                                         \
    {"decay-first-layer", NULL, "weight decay on the first layer only", NULL},                     \
    {"clip", "NORM", "clip the norm of all gradients together", NULL},                             \
    {"patience", "N", "stop after N evaluations without a better one", NULL},                      \
    {"eval-every", "N", "epochs between exact evaluations; 0: only at the end (default 1)", NULL}, \
    {"task", "KIND", "node (link prediction is not built yet) (default node)", "node"},            \
    {"p-grad", "P", "rows whose gradient is below this quantile are stable (default 0.9)", NULL},  \
    {"t-stale", "T", "iterations a cached row stays fresh; 1.5e: epochs (default 200)", NULL},     \
    {"max-error", "E", "error-bounded mode: tolerated relative error of cached rows", NULL},       \
    {"cached-layer", "L", "hidden layer whose output is cached (default: the top one)", NULL},     \
    {"cache-rows", "N", "capacity of the cache in rows (default: all nodes, or what --memory leaves)", NULL}, \
    {"memory", "SIZE", "budget of features and cache together, such as 8G", NULL},                 \
    {"store", "TIER", "where features live: auto or ram (default auto)", "auto|ram|file"},         \
    {"sample-pruned", NULL, "never expand a cached node while sampling (the default)", NULL},      \
    {"sample-full", NULL, "sample every hop, then prune: the same result, more work", NULL},       \
    {"look-ahead", "N", "batches sampled ahead by a worker thread (default 0); no effect on results", NULL}, \
    {"checkpoint-every", "S", "seconds between checkpoints (default 60)", NULL}

/** Reads them over fr_gnn_defaults. false: a usage sentence was printed. */
bool read_gnn_options(const arguments *a, fr_gnn_options *options);
/** Opens the graph of operand i for training, with the store tier and memory asked for. */
fr_status open_graph_operand(const arguments *a, int i, fr_graph **graph);

#endif
