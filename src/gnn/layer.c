/*
 * layer.c: the five models' layers. See layer.h for the formulas.
 */
#include "gnn/layer.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"

static const double LEAKY_SLOPE = 0.2; /* of GAT's scores */

bool fr_gnn_needs_self_edges(fr_gnn_kind kind) { return kind == FR_GNN_GCN || kind == FR_GNN_GAT; }
bool fr_gnn_needs_edge_weights(fr_gnn_kind kind) { return kind == FR_GNN_GCN; }

fr_gnn_layer fr_gnn_layer_of(const fr_gnn_options *options, const fr_graph_info *graph, int index,
                             bool inference)
{
    fr_gnn_layer layer = {.options = options, .index = index, .last = index == options->n_layers};
    layer.in_width = index == 1 ? graph->n_features : options->hidden;
    layer.out_width = layer.last ? graph->n_classes : options->hidden;
    layer.heads = layer.last ? options->out_heads : options->heads;
    layer.head_width = layer.last ? graph->n_classes : options->hidden / options->heads;
    const bool shrinks = layer.out_width < layer.in_width;
    /* GCN multiplies first where that narrows what is aggregated. SAGE does so only where all rows are
     * sources anyway: in a batch sources outnumber rows, and the product would cost more than it saves. */
    layer.project_first = (options->kind == FR_GNN_GCN && shrinks) ||
                          (options->kind == FR_GNN_SAGE && options->aggregate != FR_MAX && shrinks && inference);
    return layer;
}

int64_t fr_gnn_projected_width(const fr_gnn_layer *layer)
{
    if (layer->options->kind == FR_GNN_GAT)
        return layer->heads * layer->head_width;
    return layer->project_first ? layer->out_width : layer->in_width;
}

int64_t fr_gnn_score_width(const fr_gnn_layer *layer)
{
    return layer->options->kind == FR_GNN_GAT ? layer->heads : 0;
}

static fr_value parameter(fr_program *p, const fr_gnn_layer *layer, const char *name, fr_shape shape,
                          fr_initializer initializer)
{
    char full[64];
    (void)snprintf(full, sizeof full, "layer%d.%s", layer->index, name);
    const fr_value known = fr_find(p, full);
    return known != FR_NO_VALUE ? known : fr_parameter(p, full, FR_F32, shape, initializer);
}

static fr_value weight(fr_program *p, const fr_gnn_layer *layer, const char *name, int64_t rows, int64_t columns)
{
    return parameter(p, layer, name, FR_SHAPE(fr_constant(rows), fr_constant(columns)), fr_glorot());
}

static fr_value bias(fr_program *p, const fr_gnn_layer *layer, const char *name, int64_t width)
{
    return parameter(p, layer, name, FR_SHAPE(fr_constant(width)), fr_zeros());
}

/* ---- attention ---- */

/* scores[i, h] = < z[i, h, :], a[h, :] >, as a product with a block-diagonal view: reshape, multiply, reduce. */
static fr_value head_scores(fr_program *p, const fr_gnn_layer *layer, fr_value z, const char *name)
{
    const fr_dim heads = fr_constant(layer->heads), width = fr_constant(layer->head_width);
    const fr_value a = parameter(p, layer, name, FR_SHAPE(heads, width), fr_glorot());
    const fr_dim rows = fr_value_shape(p, z).dims[0];
    const fr_value by_head = fr_reshape(p, z, FR_SHAPE(rows, heads, width));
    return fr_reduce_sum(p, fr_mul(p, by_head, a), (int64_t[]){2}, 1, false);
}

static fr_value combine_gat(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around)
{
    const fr_value left = head_scores(p, layer, around->own_z, "attention_own");
    const fr_value raw = fr_edge_add(p, around->block, left, around->sources.r);
    fr_value share = fr_edge_softmax(p, around->block, fr_leaky_relu(p, raw, LEAKY_SLOPE));
    if (layer->options->attention_dropout > 0)
        share = fr_dropout(p, share, layer->options->attention_dropout);
    fr_value y = fr_spmm(p, around->block, around->sources.z, share, FR_SUM);
    if (layer->last && layer->heads > 1) { /* the last layer's heads are averaged */
        const fr_dim rows = fr_value_shape(p, y).dims[0];
        y = fr_reshape(p, y, FR_SHAPE(rows, fr_constant(layer->heads), fr_constant(layer->head_width)));
        y = fr_reduce_mean(p, y, (int64_t[]){1}, 1, false);
    }
    return fr_add(p, y, bias(p, layer, "bias", layer->out_width));
}

/* ---- the others ---- */

/* Relu joins the product before it where nothing stands between them. */
static bool fuses_relu(const fr_gnn_layer *layer)
{
    return !layer->last && layer->options->norm == FR_NORM_NONE && layer->options->kind != FR_GNN_GAT && !layer->project_first;
}

static fr_value dense(fr_program *p, const fr_gnn_layer *layer, fr_value x, const char *weight_name, const char *bias_name)
{
    const fr_value w = weight(p, layer, weight_name, layer->in_width, layer->out_width);
    return fr_linear_sum(p, &x, &w, 1, bias(p, layer, bias_name, layer->out_width), fuses_relu(layer));
}

static fr_value combine_sage(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around)
{
    const fr_value mean = fr_spmm(p, around->block, around->sources.z, FR_NO_VALUE, layer->options->aggregate);
    const fr_value own_weight = weight(p, layer, "weight_own", layer->in_width, layer->out_width);
    const fr_value b = bias(p, layer, "bias", layer->out_width);
    if (layer->project_first)
        return fr_add(p, fr_linear(p, around->own_x, own_weight, b), mean);
    const fr_value other = weight(p, layer, "weight_neighbours", layer->in_width, layer->out_width);
    const fr_value x[] = {around->own_x, mean}, w[] = {own_weight, other};
    return fr_linear_sum(p, x, w, 2, b, fuses_relu(layer));
}

static fr_value combine_gcn(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around)
{
    const fr_value sum = fr_spmm(p, around->block, around->sources.z, around->edge_weight, FR_SUM);
    if (layer->project_first)
        return fr_add(p, sum, bias(p, layer, "bias", layer->out_width));
    return dense(p, layer, sum, "weight", "bias");
}

static fr_value combine_gin(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around)
{
    const fr_value sum = fr_spmm(p, around->block, around->sources.z, FR_NO_VALUE, FR_SUM);
    const fr_value epsilon = parameter(p, layer, "epsilon", FR_SHAPE(fr_constant(1)), fr_zeros());
    const fr_value own = fr_add(p, around->own_x, fr_mul(p, around->own_x, epsilon));
    const fr_value total = fr_add(p, own, sum), first = weight(p, layer, "weight1", layer->in_width, layer->out_width);
    const fr_value inner = fr_linear_sum(p, &total, &first, 1, bias(p, layer, "bias1", layer->out_width), true);
    const fr_value second = weight(p, layer, "weight2", layer->out_width, layer->out_width);
    return fr_linear_sum(p, &inner, &second, 1, bias(p, layer, "bias2", layer->out_width), fuses_relu(layer));
}

fr_gnn_projected fr_gnn_project(fr_program *p, const fr_gnn_layer *layer, fr_value x)
{
    fr_gnn_projected projected = {.z = x, .r = FR_NO_VALUE};
    if (layer->options->kind == FR_GNN_GAT) {
        projected.z = fr_matmul(p, x, weight(p, layer, "weight", layer->in_width, layer->heads * layer->head_width));
        projected.r = head_scores(p, layer, projected.z, "attention_neighbours");
    } else if (layer->project_first) {
        const char *name = layer->options->kind == FR_GNN_SAGE ? "weight_neighbours" : "weight";
        projected.z = fr_matmul(p, x, weight(p, layer, name, layer->in_width, layer->out_width));
    }
    return projected;
}

/* ---- what hidden layers share ---- */

static fr_value normalise(fr_program *p, const fr_gnn_layer *layer, fr_value y)
{
    const fr_shape shape = FR_SHAPE(fr_constant(layer->out_width));
    if (layer->options->norm == FR_NORM_NONE)
        return y;
    const fr_value scale = parameter(p, layer, "norm_scale", shape, fr_fill(1));
    const fr_value shift = parameter(p, layer, "norm_bias", shape, fr_zeros());
    if (layer->options->norm == FR_NORM_LAYER)
        return fr_layer_norm(p, y, scale, shift, 1e-5);
    char mean[64], variance[64];
    (void)snprintf(mean, sizeof mean, "layer%d.running_mean", layer->index);
    (void)snprintf(variance, sizeof variance, "layer%d.running_variance", layer->index);
    return fr_batch_norm(p, y, scale, shift, fr_state(p, mean, FR_F32, shape, fr_zeros()),
                         fr_state(p, variance, FR_F32, shape, fr_fill(1)), 1e-5, 0.1);
}

fr_value fr_gnn_combine(fr_program *p, const fr_gnn_layer *layer, const fr_gnn_neighbourhood *around)
{
    fr_value y = FR_NO_VALUE;
    switch (layer->options->kind) {
    case FR_GNN_SAGE:
        y = combine_sage(p, layer, around);
        break;
    case FR_GNN_GCN:
        y = combine_gcn(p, layer, around);
        break;
    case FR_GNN_GAT:
        y = combine_gat(p, layer, around);
        break;
    case FR_GNN_GIN:
        y = combine_gin(p, layer, around);
        break;
    case FR_GNN_MLP:
        y = dense(p, layer, around->own_x, "weight", "bias");
        break;
    }
    if (layer->last)
        return y;
    y = normalise(p, layer, y);
    if (layer->options->kind == FR_GNN_GAT)
        y = fr_elu(p, y, 1.0);
    else if (!fuses_relu(layer))
        y = fr_relu(p, y);
    if (layer->options->residual && layer->in_width == layer->out_width)
        y = fr_add(p, y, around->own_x);
    return y;
}
