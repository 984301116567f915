/*
 * Trains a GNN twice, without and with the cache of fresh embeddings, and prints what that saved.
 *
 *     cc train_gnn.c $(pkg-config --cflags --libs frugal) -o train_gnn && ./train_gnn /tmp/train_gnn
 *
 * The graph is synthetic; fr_graph_open takes any .frgraph that `frugal data import` made.
 */
#include <frugal/frugal.h>
#include <stdio.h>

static void on_epoch(void *context, const fr_gnn_epoch *epoch)
{
    printf("  %s: epoch %lld, loss %.4f, validation %.4f\n", (const char *)context, (long long)epoch->epoch + 1, epoch->loss, epoch->valid);
}

static fr_status train(fr_graph *graph, const char *folder, fr_gnn_cache cache, fr_gnn_result *result)
{
    char run[512], name[16];
    snprintf(name, sizeof name, "%s", fr_gnn_cache_name(cache));
    snprintf(run, sizeof run, "%s/%s", folder, name);
    fr_gnn_options options = fr_gnn_defaults();
    options.hidden = 64;
    options.epochs = 10;
    options.batch = 250;
    options.cache = cache;
    options.t_stale = 0.5;
    options.t_stale_in_epochs = true;
    const fr_gnn_observer observer = {.context = name, .epoch = on_epoch};
    return fr_gnn_train(graph, run, &options, &observer, result);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "train_gnn";
    char path[512];
    snprintf(path, sizeof path, "%s.frgraph", folder);
    const fr_synth_options synth = {.n_nodes = 50000, .n_edges = 500000, .n_features = 32, .n_classes = 8, .signal = 0.2, .seed = 1, .replace = true};
    fr_graph *graph = NULL;
    fr_gnn_result plain, fresh;
    fr_status status = fr_graph_synth(path, &synth, NULL, NULL, NULL);
    if (status == FR_OK)
        status = fr_graph_open(path, NULL, &graph);
    if (status == FR_OK)
        status = train(graph, folder, FR_CACHE_NONE, &plain);
    if (status == FR_OK)
        status = train(graph, folder, FR_CACHE_FRESH, &fresh);
    if (status != FR_OK)
        fprintf(stderr, "train_gnn: %s\n", fr_error_message());
    else
        printf("test accuracy %.4f and %.4f, feature rows %lld and %lld\n", plain.test, fresh.test, (long long)plain.rows_fetched,
               (long long)fresh.rows_fetched);
    fr_graph_free(graph);
    return status == FR_OK ? 0 : 1;
}
