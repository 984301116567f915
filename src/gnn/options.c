/*
 * options.c: defaults of a run, what contradicts, and its config.json.
 *
 * config.json holds everything that decides the bits of the result, and nothing else (threads, look-ahead, checkpoint
 * times do not): a resume compares it, evaluation and inference read the model from it.
 */
#include "gnn/options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static const char *const kind_names[] = {"sage", "gcn", "gat", "gin", "mlp"};
static const char *const norm_names[] = {"none", "batch", "layer"};
static const char *const cache_names[] = {"none", "fresh", "all"};
static const char *const reduction_names[] = {"sum", "mean", "max"};

const char *fr_gnn_kind_name(fr_gnn_kind kind) { return kind_names[kind]; }
const char *fr_gnn_cache_name(fr_gnn_cache cache) { return cache_names[cache]; }

static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

bool fr_gnn_kind_parse(const char *name, fr_gnn_kind *kind)
{
    const int found = find_name(kind_names, 5, name);
    if (found >= 0)
        *kind = (fr_gnn_kind)found;
    return found >= 0;
}

bool fr_gnn_norm_parse(const char *name, fr_gnn_norm *norm)
{
    const int found = find_name(norm_names, 3, name);
    if (found >= 0)
        *norm = (fr_gnn_norm)found;
    return found >= 0;
}

bool fr_gnn_cache_parse(const char *name, fr_gnn_cache *cache)
{
    const int found = find_name(cache_names, 3, name);
    if (found >= 0)
        *cache = (fr_gnn_cache)found;
    return found >= 0;
}

fr_gnn_options fr_gnn_defaults(void)
{
    return (fr_gnn_options){.kind = FR_GNN_SAGE,
                            .n_layers = 3,
                            .hidden = 256,
                            .heads = 8,
                            .out_heads = 1,
                            .aggregate = FR_MEAN,
                            .dropout = 0.5,
                            .n_fanouts = 3,
                            .fanout = {20, 15, 10},
                            .batch = 1000,
                            .epochs = 30,
                            .learning_rate = 0.003,
                            .evaluate_every = 1,
                            .p_grad = 0.9,
                            .t_stale = 200,
                            .checkpoint_seconds = 60};
}

int fr_gnn_cached_layer(const fr_gnn_options *options)
{
    if (options->cache == FR_CACHE_NONE)
        return 0;
    return options->cached_layer > 0 ? options->cached_layer : options->n_layers - 1;
}

/* ---- contradictions ---- */

static fr_status check_ratio(const char *name, double value)
{
    if (!(value >= 0 && value < 1))
        return fr_fail(FR_EINVAL, "%s is %g, it must be at least 0 and below 1", name, value);
    return FR_OK;
}

static fr_status check_model(const fr_gnn_options *o)
{
    if (o->n_layers < 1 || o->n_layers > FR_GNN_MAX_LAYERS)
        return fr_fail(FR_EINVAL, "layers is %d, it must be 1 to %d", o->n_layers, FR_GNN_MAX_LAYERS);
    if (o->hidden < 1)
        return fr_fail(FR_EINVAL, "hidden is %" PRId64 ", it must be at least 1", o->hidden);
    if (o->kind == FR_GNN_GAT && (o->heads < 1 || o->out_heads < 1 || o->hidden % o->heads != 0))
        return fr_fail(FR_EINVAL, "hidden %" PRId64 " is no multiple of %" PRId64 " heads", o->hidden, o->heads);
    FR_RETURN_IF_ERROR(check_ratio("dropout", o->dropout));
    FR_RETURN_IF_ERROR(check_ratio("input dropout", o->input_dropout));
    return check_ratio("attention dropout", o->attention_dropout);
}

static fr_status check_batches(const fr_gnn_options *o)
{
    if (o->n_fanouts != 0 && o->n_fanouts != o->n_layers)
        return fr_fail(FR_EINVAL, "%d fan-outs for %d layers: give one a layer", o->n_fanouts, o->n_layers);
    for (int i = 0; i < o->n_fanouts; i++)
        if (o->fanout[i] < -1 || o->fanout[i] == 0 || o->fanout[i] > 1 << 20)
            return fr_fail(FR_EINVAL, "fan-out %d is %" PRId64 ", it must be -1 (all) or 1 to 2^20", i + 1, o->fanout[i]);
    if (o->batch < 0 || o->epochs < 1)
        return fr_fail(FR_EINVAL, "batch %" PRId64 " and epochs %" PRId64 " must be positive", o->batch, o->epochs);
    if (o->look_ahead < 0 || o->look_ahead > 1024)
        return fr_fail(FR_EINVAL, "look-ahead is %" PRId64 ", it must be 0 to 1024", o->look_ahead);
    if (!(o->learning_rate > 0) || !(o->weight_decay >= 0) || !(o->clip_norm >= 0))
        return fr_fail(FR_EINVAL, "learning rate %g must be above 0, weight decay %g and clipping %g not below",
                       o->learning_rate, o->weight_decay, o->clip_norm);
    return FR_OK;
}

static fr_status check_cache(const fr_gnn_options *o)
{
    if (o->cache == FR_CACHE_NONE) {
        if (o->max_error > 0)
            return fr_fail(FR_EINVAL, "max-error %g asks for the fresh cache, but the cache is none", o->max_error);
        return FR_OK;
    }
    if (o->n_layers < 2)
        return fr_fail(FR_EINVAL, "the cache keeps outputs of hidden layers, but the model has %d layer", o->n_layers);
    if (o->kind == FR_GNN_MLP)
        return fr_fail(FR_EINVAL, "an mlp has no neighbours, so nothing to cache");
    if (o->cached_layer < 0 || o->cached_layer >= o->n_layers)
        return fr_fail(FR_EINVAL, "cached layer %d is no hidden layer of %d layers", o->cached_layer, o->n_layers);
    if (!(o->p_grad >= 0 && o->p_grad <= 1))
        return fr_fail(FR_EINVAL, "p-grad is %g, it must lie in [0, 1]", o->p_grad);
    if (!(o->t_stale >= 0))
        return fr_fail(FR_EINVAL, "t-stale is %g, it must not be below 0", o->t_stale);
    if (!(o->max_error >= 0) || (o->max_error > 0 && o->cache == FR_CACHE_ALL))
        return fr_fail(FR_EINVAL, "max-error %g: error-bounded mode works with the fresh cache", o->max_error);
    return FR_OK;
}

fr_status fr_gnn_check(const fr_gnn_options *options, const fr_graph_info *graph)
{
    FR_RETURN_IF_ERROR(check_model(options));
    FR_RETURN_IF_ERROR(check_batches(options));
    FR_RETURN_IF_ERROR(check_cache(options));
    if (graph == NULL)
        return FR_OK;
    if (graph->n_features == 0 || graph->feature_dtype == FR_NO_DTYPE)
        return fr_fail(FR_EINVAL, "the graph has no features to train on");
    if (graph->feature_dtype != FR_F32)
        return fr_fail(FR_ENOTSUP, "features are %s; training reads f32", fr_dtype_name(graph->feature_dtype));
    if (graph->n_train == 0)
        return fr_fail(FR_EINVAL, "the graph has no training nodes (%" PRId64 " nodes, %" PRId64 " labelled)",
                       graph->n_nodes, graph->n_labelled);
    if (graph->n_classes < 1)
        return fr_fail(FR_EINVAL, "the graph has %" PRId64 " classes", graph->n_classes);
    return FR_OK;
}

/* ---- config.json ---- */

static fr_json *fanout_json(const fr_gnn_options *o)
{
    fr_json *array = fr_json_array();
    for (int i = 0; i < o->n_fanouts; i++)
        fr_json_push(array, fr_json_int(o->fanout[i]));
    return array;
}

fr_status fr_gnn_config_text(const fr_gnn_options *o, const fr_graph_info *graph, char **text)
{
    fr_json *json = fr_json_object();
    fr_json_add_string(json, "product", "gnn");
    fr_json_add_string(json, "model", kind_names[o->kind]);
    fr_json_add_int(json, "layers", o->n_layers);
    fr_json_add_int(json, "hidden", o->hidden);
    fr_json_add_int(json, "heads", o->heads);
    fr_json_add_int(json, "out_heads", o->out_heads);
    fr_json_add_string(json, "aggregate", reduction_names[o->aggregate]);
    fr_json_add_string(json, "norm", norm_names[o->norm]);
    fr_json_add_bool(json, "residual", o->residual);
    fr_json_add_double(json, "dropout", o->dropout);
    fr_json_add_double(json, "input_dropout", o->input_dropout);
    fr_json_add_double(json, "attention_dropout", o->attention_dropout);
    fr_json_add(json, "fanout", fanout_json(o));
    fr_json_add_int(json, "batch", o->batch);
    fr_json_add_int(json, "epochs", o->epochs);
    fr_json_add_double(json, "lr", o->learning_rate);
    fr_json_add_double(json, "weight_decay", o->weight_decay);
    fr_json_add_bool(json, "decay_first_layer_only", o->decay_first_layer_only);
    fr_json_add_double(json, "clip_norm", o->clip_norm);
    fr_json_add_int(json, "patience", o->patience);
    fr_json_add_int(json, "evaluate_every", o->evaluate_every);
    fr_json_add_string(json, "cache", cache_names[o->cache]);
    fr_json_add_int(json, "cached_layer", fr_gnn_cached_layer(o));
    fr_json_add_double(json, "p_grad", o->p_grad);
    fr_json_add_double(json, "t_stale", o->t_stale);
    fr_json_add_bool(json, "t_stale_in_epochs", o->t_stale_in_epochs);
    fr_json_add_double(json, "max_error", o->max_error);
    fr_json_add_int(json, "cache_rows", o->cache_rows);
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%" PRIu64, o->seed); /* may exceed 2^53 */
    fr_json_add_string(json, "seed", seed);
    fr_json_add_int(json, "graph_nodes", graph->n_nodes);
    fr_json_add_int(json, "graph_edges", graph->n_edges);
    fr_json_add_int(json, "features", graph->n_features);
    fr_json_add_int(json, "classes", graph->n_classes);
    fr_json_add_string(json, "task", graph->task == FR_TASK_MULTILABEL ? "multilabel" : "multiclass");
    const fr_status status = fr_json_text(json, true, text);
    fr_json_free(json);
    return status;
}

static fr_status read_name(const fr_json *json, const char *path, const char *field,
                           const char *const *names, int n, int *found)
{
    const char *name;
    FR_RETURN_IF_ERROR(fr_json_get_string(json, path, field, &name));
    *found = find_name(names, n, name);
    if (*found < 0)
        return fr_fail(FR_EFORMAT, "%s: %s is \"%.40s\", which is not known", path, field, name);
    return FR_OK;
}

static fr_status read_int(const fr_json *json, const char *path, const char *field, int64_t least,
                          int64_t most, int64_t *value)
{
    FR_RETURN_IF_ERROR(fr_json_get_int(json, path, field, value));
    if (*value < least || *value > most)
        return fr_fail(FR_ERANGE, "%s: %s is %" PRId64 ", outside [%" PRId64 ", %" PRId64 "]", path,
                       field, *value, least, most);
    return FR_OK;
}

fr_status fr_gnn_config_read(const char *path, fr_gnn_options *o, fr_graph_info *graph)
{
    *o = fr_gnn_defaults();
    *graph = (fr_graph_info){0};
    fr_json *json = NULL;
    fr_status status;
    FR_TRY(fr_json_read(path, &json));
    int found;
    int64_t number;
    const int64_t most = 1LL << 40;
    FR_TRY(read_name(json, path, "model", kind_names, 5, &found));
    o->kind = (fr_gnn_kind)found;
    FR_TRY(read_name(json, path, "aggregate", reduction_names, 3, &found));
    o->aggregate = (fr_reduction)found;
    FR_TRY(read_name(json, path, "norm", norm_names, 3, &found));
    o->norm = (fr_gnn_norm)found;
    FR_TRY(read_int(json, path, "layers", 1, FR_GNN_MAX_LAYERS, &number));
    o->n_layers = (int)number;
    FR_TRY(read_int(json, path, "hidden", 1, 1 << 24, &o->hidden));
    FR_TRY(read_int(json, path, "heads", 1, 1 << 20, &o->heads));
    FR_TRY(read_int(json, path, "out_heads", 1, 1 << 20, &o->out_heads));
    FR_TRY(fr_json_get_bool(json, path, "residual", &o->residual));
    FR_TRY(read_int(json, path, "graph_nodes", 0, most, &graph->n_nodes));
    FR_TRY(read_int(json, path, "graph_edges", 0, most, &graph->n_edges));
    FR_TRY(read_int(json, path, "features", 0, most, &graph->n_features));
    FR_TRY(read_int(json, path, "classes", 0, 1 << 30, &graph->n_classes));
    o->n_fanouts = 0;
    FR_TRY(check_model(o));
done:
    fr_json_free(json);
    return status;
}
