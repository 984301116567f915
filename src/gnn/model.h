/*
 * model.h: the training program of a GNN: all layers of a mini-batch, loss, gradients, score of the cached layer.
 *
 * Layer l reads sources_l rows of width w_(l-1) and gives rows_l; hop L-l of the batch is its block. Where layer l is
 * cached, rows_l are its misses and the rows that layer l+1 reads are merge(misses, ring, position):
 *
 *     features --layer 1--> misses --merge--> h_1 --layer 2--> ... logits -> loss
 *                             ring ----^       |
 *                                              +--> gradient of the loss at every row of h_1: the score
 *
 * The ring is an input, so no gradient reaches below a hit.
 */
#ifndef FR_GNN_MODEL_H
#define FR_GNN_MODEL_H

#include <frugal/gnn.h>
#include <frugal/program.h>

#include "gnn/layer.h"

typedef struct fr_gnn_model_layer {
    fr_gnn_layer layer;
    fr_dim rows, sources, edges;
    fr_block block;
    fr_value edge_weight;
    fr_value position, ring, merged, score; /* of the cached layer; FR_NO_VALUE elsewhere */
    fr_dim ring_rows;
} fr_gnn_model_layer;

typedef struct fr_gnn_model {
    fr_program *program;
    int n_layers;
    bool direct; /* layer 1 reads features in place: sources are node ids, `own` names its rows */
    fr_gnn_model_layer layers[FR_GNN_MAX_LAYERS + 1]; /* 1 .. n_layers */
    fr_value features, own;
    fr_value labels;  /* i32 [rows] or f32 [rows, classes] */
    fr_value logits, loss;
    fr_value *parameters, *grads;
    int n_parameters;
} fr_gnn_model;

/** Whether layer 1 can aggregate straight from the table of features in memory: nothing is gathered, the last hop
 * needs no numbering. */
bool fr_gnn_reads_in_place(const fr_gnn_options *options);

/** Builds the program. @return FR_ESHAPE and others as the program's builder found them */
fr_status fr_gnn_model_build(const fr_gnn_options *options, const fr_graph_info *graph, bool direct, fr_gnn_model *model) FR_MUST_USE;
void fr_gnn_model_release(fr_gnn_model *model); /* safe on a zeroed struct */

#endif
