/*
 * layer.h: one GNN layer as a piece of program, in two halves, so that training and whole-graph inference share it.
 *
 *     project(x)  -> z (and per-head scores r for attention): row by row, needs no neighbours
 *     combine(..) -> the layer's output rows from the neighbours' z, the rows' own x and z
 *
 * Training projects the batch's source rows and combines at once. Inference projects all nodes once, in chunks, and
 * combines chunk by chunk reading the neighbours' z straight from the table of all nodes.
 *
 *     model   z                   output before norm and activation
 *     sage    x (or x W_n)        x_v W_s + mean/max over u of z_u (W_n) + b     Hamilton et al. 2017
 *     gcn     x W (or x)          sum over u and v of z_u / sqrt(d_u d_v) (W) + b     Kipf, Welling 2017
 *     gat     x W                 per head: sum over u and v of softmax(leaky(a_l z_v + a_r z_u)) z_u + b     Velickovic et al. 2018
 *     gin     x                   relu(((1 + eps) x_v + sum over u of z_u) W_1 + b_1) W_2 + b_2     Xu et al. 2019
 *     mlp     -                   x_v W + b
 */
#ifndef FR_GNN_LAYER_H
#define FR_GNN_LAYER_H

#include <frugal/gnn.h>
#include <frugal/program.h>

/** Sizes and switches of layer `index` (1 .. n_layers). */
typedef struct fr_gnn_layer {
    const fr_gnn_options *options;
    int index;
    bool last;
    int64_t in_width, out_width;
    int64_t heads, head_width; /* gat */
    bool project_first;        /* sage, gcn: multiply before aggregating */
} fr_gnn_layer;

/** The layer's sizes for a graph of so many features and classes. `inference` chooses project_first by the cost of reading every edge. */
fr_gnn_layer fr_gnn_layer_of(const fr_gnn_options *options, const fr_graph_info *graph, int index, bool inference);

bool fr_gnn_needs_self_edges(fr_gnn_kind kind);
bool fr_gnn_needs_edge_weights(fr_gnn_kind kind);

/** Width of z, and of r (0: none). */
int64_t fr_gnn_projected_width(const fr_gnn_layer *layer);
int64_t fr_gnn_score_width(const fr_gnn_layer *layer);

typedef struct fr_gnn_projected {
    fr_value z, r; /* r: FR_NO_VALUE where the model has none */
} fr_gnn_projected;

/** Adds the first half. Parameters are named "layer1.weight" and so on, the same in every program of a model. */
fr_gnn_projected fr_gnn_project(fr_program *p, const fr_gnn_layer *layer, fr_value x);

typedef struct fr_gnn_neighbourhood {
    fr_block block;           /* not used by mlp */
    fr_value edge_weight;     /* gcn */
    fr_gnn_projected sources; /* of all rows that the block's sources name */
    fr_value own_x, own_z;    /* of the layer's own rows */
} fr_gnn_neighbourhood;

/** Adds the second half, with norm, activation and residual for hidden layers. */
fr_value fr_gnn_combine(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around);

#endif
