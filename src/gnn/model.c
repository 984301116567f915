/*
 * model.c: building the training program. See model.h.
 */
#include "gnn/model.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/options.h"

bool fr_gnn_reads_in_place(const fr_gnn_options *options)
{
    const bool aggregates_raw = options->kind == FR_GNN_SAGE || options->kind == FR_GNN_GIN;
    return aggregates_raw && options->input_dropout == 0 && !options->sample_full;
}

static fr_dim numbered_symbol(fr_program *p, const char *name, int index)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%d", name, index);
    return fr_symbol(p, text);
}

static fr_value numbered_input(fr_program *p, const char *name, int index, fr_dtype dtype, fr_shape shape)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%d", name, index);
    return fr_input(p, text, dtype, shape);
}

static void declare_layer(fr_gnn_model *model, const fr_gnn_options *options, const fr_graph_info *graph,
                          int index)
{
    fr_program *p = model->program;
    fr_gnn_model_layer *l = &model->layers[index];
    const bool cached = fr_gnn_cached_layer(options) == index;
    l->layer = fr_gnn_layer_of(options, graph, index, false);
    l->rows = numbered_symbol(p, "rows", index);
    l->edges = numbered_symbol(p, "edges", index);
    l->edge_weight = l->position = l->ring = l->merged = l->score = FR_NO_VALUE;
    /* Layer l reads what layer l-1 gives; only a cached layer gives more rows than it computes. */
    const fr_gnn_model_layer *below = &model->layers[index - 1];
    if (options->kind == FR_GNN_MLP)
        l->sources = l->rows = numbered_symbol(p, "rows", options->n_layers);
    else if (index == 1)
        l->sources = model->direct ? fr_constant(graph->n_nodes) : numbered_symbol(p, "sources", 1);
    else
        l->sources = below->ring != FR_NO_VALUE ? numbered_symbol(p, "sources", index) : below->rows;
    if (options->kind != FR_GNN_MLP) {
        l->block = (fr_block){numbered_input(p, "begin", index, FR_I64, FR_SHAPE(l->rows)),
                              numbered_input(p, "end", index, FR_I64, FR_SHAPE(l->rows)),
                              numbered_input(p, "source", index, FR_I32, FR_SHAPE(l->edges))};
        if (fr_gnn_needs_edge_weights(options->kind))
            l->edge_weight = numbered_input(p, "edge_weight", index, FR_F32, FR_SHAPE(l->edges, fr_constant(1)));
    }
    if (cached) {
        l->ring_rows = fr_symbol(p, "ring_rows");
        l->ring = fr_input(p, "ring", FR_F32, FR_SHAPE(l->ring_rows, fr_constant(l->layer.out_width)));
        l->position = numbered_input(p, "position", index, FR_I32,
                                     FR_SHAPE(numbered_symbol(p, "sources", index + 1)));
    }
}

/* The rows that the layer itself owns come first among its sources. */
static fr_value own_rows(fr_program *p, const fr_gnn_model_layer *l, fr_value x)
{
    return fr_slice(p, x, 0, fr_constant(0), l->rows);
}

static fr_value build_layer(fr_gnn_model *model, const fr_gnn_options *options, int index, fr_value x)
{
    fr_program *p = model->program;
    fr_gnn_model_layer *l = &model->layers[index];
    const double ratio = index == 1 ? options->input_dropout : options->dropout;
    if (ratio > 0)
        x = fr_dropout(p, x, ratio);
    fr_gnn_neighbourhood around = {.block = l->block, .edge_weight = l->edge_weight, .own_x = x};
    if (options->kind != FR_GNN_MLP) {
        around.sources = fr_gnn_project(p, &l->layer, x);
        around.own_x = index == 1 && model->direct ? fr_gather(p, x, model->own, 0) : own_rows(p, l, x);
        around.own_z = own_rows(p, l, around.sources.z);
    }
    const fr_value y = fr_gnn_combine(p, &l->layer, &around);
    if (l->ring == FR_NO_VALUE)
        return y;
    l->merged = fr_merge_rows(p, y, l->ring, l->position);
    return l->merged;
}

static fr_status collect_gradients(fr_gnn_model *model)
{
    fr_program *p = model->program;
    model->n_parameters = fr_n_parameters(p);
    fr_value wanted[FR_GNN_MAX_LAYERS * 8 + 1], grads[FR_GNN_MAX_LAYERS * 8 + 1];
    int n = 0;
    for (; n < model->n_parameters; n++)
        wanted[n] = fr_parameter_at(p, n);
    fr_gnn_model_layer *cached = NULL;
    for (int l = 1; l <= model->n_layers; l++)
        if (model->layers[l].ring != FR_NO_VALUE)
            cached = &model->layers[l];
    if (cached != NULL)
        wanted[n++] = cached->merged;
    FR_RETURN_IF_ERROR(fr_gradient(p, model->loss, wanted, n, grads));
    if (cached != NULL)
        cached->score = grads[model->n_parameters];
    const size_t count = (size_t)model->n_parameters;
    FR_RETURN_IF_ERROR(fr_alloc(count, sizeof(fr_value), "parameters", &model->parameters));
    FR_RETURN_IF_ERROR(fr_alloc(count, sizeof(fr_value), "gradients", &model->grads));
    memcpy(model->parameters, wanted, count * sizeof *wanted);
    memcpy(model->grads, grads, count * sizeof *grads);
    return FR_OK;
}

fr_status fr_gnn_model_build(const fr_gnn_options *options, const fr_graph_info *graph, bool direct,
                             fr_gnn_model *model)
{
    *model = (fr_gnn_model){.n_layers = options->n_layers, .direct = direct};
    model->layers[0].ring = FR_NO_VALUE;
    fr_status status = FR_OK;
    fr_program *p = model->program = fr_program_create();
    if (p == NULL)
        return fr_fail(FR_ENOMEM, "out of memory for a program");
    for (int l = 1; l <= options->n_layers; l++)
        declare_layer(model, options, graph, l);
    const fr_dim width = fr_constant(graph->n_features), classes = fr_constant(graph->n_classes);
    model->features = fr_input(p, "features", FR_F32, FR_SHAPE(model->layers[1].sources, width));
    if (direct)
        model->own = fr_input(p, "own", FR_I32, FR_SHAPE(model->layers[1].rows));
    fr_value h = model->features;
    for (int l = 1; l <= options->n_layers; l++)
        h = build_layer(model, options, l, h);
    model->logits = h;
    const fr_dim seeds = model->layers[options->n_layers].rows;
    if (graph->task == FR_TASK_MULTILABEL) {
        model->labels = fr_input(p, "labels", FR_F32, FR_SHAPE(seeds, classes));
        model->loss = fr_binary_cross_entropy(p, h, model->labels);
    } else {
        model->labels = fr_input(p, "labels", FR_I32, FR_SHAPE(seeds));
        model->loss = fr_cross_entropy(p, h, model->labels, -1);
    }
    fr_output(p, "loss", model->loss);
    FR_TRY(fr_program_check(p));
    FR_TRY(collect_gradients(model));
    for (int i = 0; i < model->n_parameters; i++) {
        char name[96];
        (void)snprintf(name, sizeof name, "grad.%s", fr_value_name(p, model->parameters[i]));
        fr_output(p, name, model->grads[i]);
    }
    for (int l = 1; l <= options->n_layers; l++)
        if (model->layers[l].ring != FR_NO_VALUE) {
            fr_output(p, "cached_rows", model->layers[l].merged);
            fr_output(p, "score", model->layers[l].score);
        }
    FR_TRY(fr_program_check(p));
done:
    if (status != FR_OK)
        fr_gnn_model_release(model);
    return status;
}

void fr_gnn_model_release(fr_gnn_model *model)
{
    fr_program_free(model->program);
    fr_free(model->parameters);
    fr_free(model->grads);
    *model = (fr_gnn_model){0};
}
