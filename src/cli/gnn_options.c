/*
 * gnn_options.c: see gnn_options.h.
 */
#include "cli/gnn_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static bool read_fanouts(const arguments *a, fr_gnn_options *o)
{
    const char *text = text_of(a, "fanout", NULL);
    if (text == NULL) {
        /* the reference fan-outs, cut or stretched to the number of layers */
        for (int i = 3; i < o->n_layers && i < FR_GNN_MAX_LAYERS; i++)
            o->fanout[i] = 10;
        o->n_fanouts = o->n_layers;
        return true;
    }
    if (strcmp(text, "all") == 0) {
        o->n_fanouts = 0;
        return true;
    }
    if (!fr_parse_int_list(text, o->fanout, FR_GNN_MAX_LAYERS, &o->n_fanouts)) {
        (void)usage_error(a, "--fanout is \"%s\", not a list of numbers such as 20,15,10", text);
        return false;
    }
    return true;
}

/* "200", or "1.5e" for epochs. */
static bool read_t_stale(const arguments *a, fr_gnn_options *o)
{
    const char *text = text_of(a, "t-stale", NULL);
    if (text == NULL)
        return true;
    char number[32];
    (void)snprintf(number, sizeof number, "%s", text);
    const size_t n = strlen(number);
    o->t_stale_in_epochs = n > 1 && number[n - 1] == 'e';
    if (o->t_stale_in_epochs)
        number[n - 1] = '\0';
    if (fr_parse_double(number, &o->t_stale) && o->t_stale >= 0)
        return true;
    (void)usage_error(a, "--t-stale is \"%s\", not a number of iterations (200) or epochs (1.5e)", text);
    return false;
}

static bool read_cache(const arguments *a, fr_gnn_options *o)
{
    if (!fr_gnn_cache_parse(text_of(a, "cache", "none"), &o->cache))
        return false; /* the parser of arguments has checked the word */
    static const char *const needs_cache[] = {"p-grad", "t-stale", "max-error", "cached-layer", "cache-rows", "sample-full"};
    for (size_t i = 0; i < sizeof needs_cache / sizeof *needs_cache; i++)
        if (is_given(a, needs_cache[i]) && is_given(a, "cache") && o->cache == FR_CACHE_NONE) {
            (void)usage_error(a, "--%s has no meaning with --cache none", needs_cache[i]);
            return false;
        }
    if (is_given(a, "sample-full") && is_given(a, "sample-pruned")) {
        (void)usage_error(a, "--sample-full and --sample-pruned exclude each other");
        return false;
    }
    o->sample_full = is_given(a, "sample-full");
    int64_t layer = 0;
    const bool good = read_double(a, "p-grad", 0, 1, &o->p_grad) && read_t_stale(a, o) && read_double(a, "max-error", 0, 1e6, &o->max_error) &&
                      read_int(a, "cached-layer", 1, FR_GNN_MAX_LAYERS, &layer) && read_int(a, "cache-rows", 1, INT32_MAX - 1, &o->cache_rows);
    o->cached_layer = (int)layer;
    return good;
}

bool read_gnn_options(const arguments *a, fr_gnn_options *o)
{
    *o = fr_gnn_defaults();
    int64_t layers = o->n_layers, seed = 0;
    const int64_t most = 1 << 30;
    if (!fr_gnn_kind_parse(text_of(a, "model", "sage"), &o->kind) || !fr_gnn_norm_parse(text_of(a, "norm", "none"), &o->norm))
        return false;
    o->aggregate = strcmp(text_of(a, "aggregate", "mean"), "max") == 0 ? FR_MAX : FR_MEAN;
    o->residual = is_given(a, "residual");
    o->decay_first_layer_only = is_given(a, "decay-first-layer");
    o->resume = is_given(a, "resume");
    const bool good = read_int(a, "layers", 1, FR_GNN_MAX_LAYERS, &layers) && read_int(a, "hidden", 1, 1 << 20, &o->hidden) &&
                      read_int(a, "heads", 1, 1024, &o->heads) && read_int(a, "out-heads", 1, 1024, &o->out_heads) &&
                      read_double(a, "dropout", 0, 0.999, &o->dropout) && read_double(a, "input-dropout", 0, 0.999, &o->input_dropout) &&
                      read_double(a, "attention-dropout", 0, 0.999, &o->attention_dropout) && read_int(a, "batch", 0, most, &o->batch) &&
                      read_int(a, "epochs", 1, most, &o->epochs) && read_double(a, "lr", 1e-12, 1e6, &o->learning_rate) &&
                      read_double(a, "weight-decay", 0, 1e6, &o->weight_decay) && read_double(a, "clip", 0, 1e12, &o->clip_norm) &&
                      read_int(a, "patience", 0, most, &o->patience) && read_int(a, "eval-every", 0, most, &o->evaluate_every) &&
                      read_size(a, "memory", &o->memory_bytes) && read_int(a, "look-ahead", 0, 1024, &o->look_ahead) &&
                      read_int(a, "checkpoint-every", 0, most, &o->checkpoint_seconds) && read_int(a, "seed", 0, INT64_MAX, &seed);
    o->n_layers = (int)layers;
    o->seed = (uint64_t)seed;
    return good && read_fanouts(a, o) && read_cache(a, o);
}

fr_status open_graph_operand(const arguments *a, int i, fr_graph **graph)
{
    const char *tier = text_of(a, "store", "auto");
    fr_graph_options options = {.tier = strcmp(tier, "ram") == 0 ? FR_TIER_RAM : strcmp(tier, "file") == 0 ? FR_TIER_FILE : FR_TIER_AUTO};
    if (!read_size(a, "memory", &options.memory_bytes))
        return FR_EINVAL;
    return fr_graph_open(a->operands[i], &options, graph);
}
