/*
 * gnn_train.c: frugal gnn train | eval | infer.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/gnn_options.h"
#include "cli/show.h"

static void print_result(const fr_gnn_result *r)
{
    char seconds[32], rows[32], bytes[32], memory[32];
    (void)printf("test %.4f  valid %.4f  train %.4f  best epoch %" PRId64 "\n", r->test, r->valid, r->train, r->best_epoch + 1);
    (void)printf("%s of training, %s rows fetched (%s)", fr_duration_text(r->seconds, seconds, sizeof seconds),
                 fr_count_text(r->rows_fetched, rows, sizeof rows), fr_bytes_text(r->bytes_read, bytes, sizeof bytes));
    if (r->lookups > 0)
        (void)printf(", hit rate %.1f%%, oldest hit %" PRId64 " iterations", 100 * (double)r->hits / (double)r->lookups, r->max_age);
    (void)printf(", peak memory %s\n", fr_bytes_text(r->peak_memory_bytes, memory, sizeof memory));
}

static int run_train(const arguments *a)
{
    const char *run = text_of(a, "o", NULL);
    fr_gnn_options options;
    if (run == NULL || run[0] == '\0')
        return usage_error(a, "gnn train needs -o RUN, the folder of the run");
    if (!read_gnn_options(a, &options))
        return EXIT_USAGE;
    if (fr_gnn_check(&options, NULL) != FR_OK)
        return usage_error(a, "%s", fr_error_message());
    fr_graph *graph = NULL;
    fr_status status = open_graph_operand(a, 0, &graph);
    run_view view;
    fr_gnn_result result;
    run_view_start(&view, a);
    if (status == FR_OK)
        status = fr_gnn_train(graph, run, &options, &view.observer, &result);
    fr_progress_clear(&view.progress);
    if (status == FR_OK && a->json)
        print_event("done", result_fields(&result));
    else if (status == FR_OK)
        print_result(&result);
    fr_graph_free(graph);
    return report(status);
}

static const option_spec train_options[] = {
    {"o", "RUN", "folder of the run: config.json, metrics.csv, curves.png, checkpoints", NULL},
    {"cache", "KIND", "none, fresh (stable rows only) or all (historical training) (default none)", "none|fresh|all"},
    GNN_MODEL_OPTIONS,
    {"resume", NULL, "go on with the run in RUN", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_gnn_train = {
    .name = "gnn train",
    .operands = "G.frgraph",
    .least = 1,
    .most = 1,
    .summary = "train a graph neural network on node classification",
    .description = "Mini-batches are sampled from seed nodes outwards. With --cache fresh, embeddings that are still fresh are\n"
                   "reused, and what lies below them is neither sampled, fetched nor computed. The same options give the same\n"
                   "bits with any number of threads, also when stopped (Ctrl-C, kill -9) and resumed.",
    .example = "frugal gnn train cora.frgraph -o run --model gcn --layers 2 --hidden 16 --fanout all --batch 0 --epochs 200 --lr 0.01",
    .options = train_options,
    .run = run_train,
};

/* ---- eval ---- */

static int run_eval(const arguments *a)
{
    fr_graph *graph = NULL;
    fr_gnn_result r;
    fr_status status = open_graph_operand(a, 1, &graph);
    if (status == FR_OK)
        status = fr_gnn_evaluate(a->operands[0], graph, &r);
    if (status == FR_OK && a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_double(json, "test", r.test);
        fr_json_add_double(json, "valid", r.valid);
        fr_json_add_double(json, "train", r.train);
        print_event("done", json);
    } else if (status == FR_OK) {
        (void)printf("test %.4f  valid %.4f  train %.4f\n", r.test, r.valid, r.train);
    }
    fr_graph_free(graph);
    return report(status);
}

const command command_gnn_eval = {
    .name = "gnn eval",
    .operands = "RUN G.frgraph",
    .least = 2,
    .most = 2,
    .summary = "exact accuracy of a run's best weights on a whole graph",
    .description = "",
    .example = "frugal gnn eval run cora.frgraph",
    .options = NULL,
    .run = run_eval,
};

/* ---- infer ---- */

static int run_infer(const arguments *a)
{
    const char *npy = text_of(a, "o", NULL);
    if (npy == NULL)
        return usage_error(a, "gnn infer needs -o OUT.npy");
    fr_gnn_infer_options options = {.embeddings = is_given(a, "embeddings"), .classes = is_given(a, "classes")};
    if (options.embeddings && options.classes)
        return usage_error(a, "--embeddings and --classes exclude each other");
    if (!read_size(a, "memory", &options.memory_bytes))
        return EXIT_USAGE;
    fr_graph *graph = NULL;
    run_view view;
    run_view_start(&view, a);
    view.observer.epoch = NULL;
    fr_status status = fr_graph_open(a->operands[1], NULL, &graph);
    if (status == FR_OK)
        status = fr_gnn_infer(a->operands[0], graph, npy, &options, &view.observer);
    fr_progress_clear(&view.progress);
    if (status == FR_OK && a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_string(json, "file", npy);
        fr_json_add_int(json, "rows", fr_graph_get_info(graph)->n_nodes);
        print_event("done", json);
    }
    fr_graph_free(graph);
    return report(status);
}

static const option_spec infer_options[] = {
    {"o", "OUT.npy", "the file to write", NULL},
    {"embeddings", NULL, "write the last hidden layer instead of logits", NULL},
    {"classes", NULL, "write class numbers instead of logits", NULL},
    {"memory", "SIZE", "budget of the tables of all nodes; beyond it they are work files beside OUT.npy (default 1G)", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_gnn_infer = {
    .name = "gnn infer",
    .operands = "RUN G.frgraph",
    .least = 2,
    .most = 2,
    .summary = "embeddings or predictions of all nodes, layer by layer",
    .description = "",
    .example = "frugal gnn infer run cora.frgraph -o classes.npy --classes",
    .options = infer_options,
    .run = run_infer,
};
