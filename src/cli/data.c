/*
 * data.c: frugal data synth | import | info | verify.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/show.h"

static int64_t seed_of(const arguments *a, bool *good)
{
    int64_t seed = 0;
    *good = read_int(a, "seed", 0, INT64_MAX, &seed);
    return seed;
}

/* The graph that was just written, for people or programs. */
static int show_built(const arguments *a, const char *path, const fr_graph_build_counts *counts)
{
    fr_graph *graph = NULL;
    const fr_status status = fr_graph_open(path, &(fr_graph_options){.without_features = true}, &graph);
    if (status != FR_OK)
        return report(status);
    const fr_graph_info *info = fr_graph_get_info(graph);
    if (a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_string(json, "graph", path);
        fr_json_add_int(json, "nodes", info->n_nodes);
        fr_json_add_int(json, "edges", info->n_edges);
        fr_json_add_int(json, "features", info->n_features);
        fr_json_add_int(json, "classes", info->n_classes);
        fr_json_add_int(json, "edges_given", counts->edges_given);
        fr_json_add_int(json, "duplicates_dropped", counts->duplicates_dropped);
        fr_json_add_int(json, "self_loops_dropped", counts->self_loops_dropped);
        print_event("done", json);
    } else {
        char nodes[32], edges[32], given[32], doubles[32], loops[32];
        (void)printf("%s: %s nodes, %s edges, %" PRId64 " features, %" PRId64 " classes\n", path,
                     fr_count_text(info->n_nodes, nodes, sizeof nodes), fr_count_text(info->n_edges, edges, sizeof edges), info->n_features,
                     info->n_classes);
        (void)printf("%s edges given, %s doubles and %s self-loops dropped\n", fr_count_text(counts->edges_given, given, sizeof given),
                     fr_count_text(counts->duplicates_dropped, doubles, sizeof doubles),
                     fr_count_text(counts->self_loops_dropped, loops, sizeof loops));
    }
    fr_graph_free(graph);
    return EXIT_DONE;
}

/* ---- synth ---- */

static int run_synth(const arguments *a)
{
    const char *path = text_of(a, "o", NULL);
    if (path == NULL)
        return usage_error(a, "data synth needs -o G.frgraph");
    fr_synth_options o = {.n_nodes = 100000, .n_features = 100, .n_classes = 10, .replace = is_given(a, "force")};
    double degree = 20;
    bool good;
    o.seed = (uint64_t)seed_of(a, &good);
    const int64_t most = 1LL << 40;
    if (!good || !read_int(a, "nodes", 1, INT32_MAX - 1, &o.n_nodes) || !read_double(a, "degree", 0, 1e6, &degree) ||
        !read_int(a, "features", 1, 1 << 20, &o.n_features) || !read_int(a, "classes", 1, 1 << 20, &o.n_classes) ||
        !read_double(a, "homophily", 0, 1, &o.homophily) || !read_double(a, "power", 2.01, 99, &o.power) ||
        !read_double(a, "signal", 0, 1e3, &o.signal) || !read_double(a, "train", 0, 1, &o.train) ||
        !read_double(a, "valid", 0, 1, &o.valid) || !read_double(a, "test", 0, 1, &o.test) || !read_size(a, "memory", &o.memory_bytes))
        return EXIT_USAGE;
    o.n_edges = (int64_t)(degree * (double)o.n_nodes / 2); /* both ends of an edge count for a degree */
    if (!read_int(a, "edges", 0, most, &o.n_edges))
        return EXIT_USAGE;
    fr_graph_build_counts counts = {0};
    stage_bar bar = {.quiet = a->quiet};
    const fr_status status = fr_graph_synth(path, &o, show_stage, &bar, &counts);
    fr_progress_clear(&bar.progress);
    return status == FR_OK ? show_built(a, path, &counts) : report(status);
}

static const option_spec synth_options[] = {
    {"o", "G.frgraph", "the graph to write", NULL},
    {"nodes", "N", "nodes (default 100000)", NULL},
    {"degree", "D", "mean degree, both directions together (default 20)", NULL},
    {"edges", "N", "undirected edges instead of a mean degree", NULL},
    {"features", "F", "features a node (default 100)", NULL},
    {"classes", "C", "classes (default 10)", NULL},
    {"homophily", "H", "share of edges within a class (default 0.6)", NULL},
    {"power", "A", "exponent of the degree law (default 2.5)", NULL},
    {"signal", "S", "class signal in the features against unit noise (default 0.12)", NULL},
    {"train", "P", "fraction of training nodes (default 0.1, valid 0.05, test 0.2)", NULL},
    {"valid", "P", "fraction of validation nodes", NULL},
    {"test", "P", "fraction of test nodes", NULL},
    {"memory", "SIZE", "bound on what building holds (default 1G)", NULL},
    {"force", NULL, "replace an existing graph", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_data_synth = {
    .name = "data synth",
    .operands = "",
    .least = 0,
    .most = 0,
    .summary = "make a synthetic graph of any size",
    .description = "Degrees follow a power law; a node's features say little of its class, its neighbourhood much. A function of the\n"
                   "options and the seed alone, streamed to disk.",
    .example = "frugal data synth -o g.frgraph --nodes 200000 --degree 30 --features 64 --classes 16 --seed 1",
    .options = synth_options,
    .run = run_synth,
};

/* ---- import ---- */

typedef fr_status (*importer)(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);

static const struct {
    const char *kind;
    importer import;
} importers[] = {{"planetoid", fr_import_planetoid}, {"npz", fr_import_npz}, {"ogb", fr_import_ogb},
                 {"edges", fr_import_edges},         {"mtx", fr_import_mtx}, {"csv", fr_import_csv}};

static importer find_importer(const char *kind)
{
    for (size_t i = 0; i < sizeof importers / sizeof *importers; i++)
        if (strcmp(importers[i].kind, kind) == 0)
            return importers[i].import;
    return NULL;
}

static int run_import(const arguments *a)
{
    const char *path = text_of(a, "o", NULL);
    const importer import = find_importer(a->operands[0]);
    if (import == NULL)
        return usage_error(a, "data import: kind is \"%s\", it must be one of planetoid, npz, ogb, edges, mtx, csv", a->operands[0]);
    if (path == NULL)
        return usage_error(a, "data import needs -o G.frgraph");
    stage_bar bar = {.quiet = a->quiet};
    fr_import_options o = {.replace = is_given(a, "force"),
                           .directed = is_given(a, "directed"),
                           .keep_self_loops = is_given(a, "keep-self-loops"),
                           .keep_duplicates = is_given(a, "keep-duplicates"),
                           .normalize_features = is_given(a, "normalize-features"),
                           .features = text_of(a, "features", NULL),
                           .labels = text_of(a, "labels", NULL),
                           .split = text_of(a, "split", NULL),
                           .progress = show_stage,
                           .progress_context = &bar};
    bool good;
    o.seed = (uint64_t)seed_of(a, &good);
    if (!good || !read_size(a, "memory", &o.memory_bytes) || !read_double(a, "train", 0, 1, &o.train) ||
        !read_double(a, "valid", 0, 1, &o.valid) || !read_double(a, "test", 0, 1, &o.test))
        return EXIT_USAGE;
    fr_graph_build_counts counts = {0};
    const fr_status status = import(a->operands[1], path, &o, &counts);
    fr_progress_clear(&bar.progress);
    return status == FR_OK ? show_built(a, path, &counts) : report(status);
}

static const option_spec import_options[] = {
    {"o", "G.frgraph", "the graph to write", NULL},
    {"memory", "SIZE", "bound on what importing holds (default 1G)", NULL},
    {"directed", NULL, "keep edges one way (default: both)", NULL},
    {"keep-self-loops", NULL, "keep edges from a node to itself", NULL},
    {"keep-duplicates", NULL, "keep equal edges", NULL},
    {"normalize-features", NULL, "divide each row of features by its sum", NULL},
    {"features", "FILE", "edges, mtx: features as .npy or .csv", NULL},
    {"labels", "FILE", "edges, mtx: labels as .npy or .csv", NULL},
    {"split", "FILE", "edges, mtx: part of each node as .npy or .csv; ogb: name of the split", NULL},
    {"train", "P", "fractions of a random split where the source has none (default 0.6)", NULL},
    {"valid", "P", "(default 0.2)", NULL},
    {"test", "P", "(default 0.2)", NULL},
    {"force", NULL, "replace an existing graph", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_data_import = {
    .name = "data import",
    .operands = "KIND SRC",
    .least = 2,
    .most = 2,
    .summary = "turn other people's files into a graph",
    .description = "KIND is planetoid (SRC = .../ind.cora), npz, ogb (a folder), edges (SNAP), mtx (Matrix Market) or csv (a folder).",
    .example = "frugal data import planetoid data/ind.cora -o cora.frgraph --normalize-features",
    .options = import_options,
    .run = run_import,
};

/* ---- info, verify ---- */

static int run_info(const arguments *a)
{
    fr_graph *graph = NULL;
    const fr_status status = fr_graph_open(a->operands[0], &(fr_graph_options){.without_features = true}, &graph);
    if (status != FR_OK)
        return report(status);
    const fr_graph_info *info = fr_graph_get_info(graph);
    const uint64_t *indptr = fr_graph_indptr(graph);
    int64_t most = 0, isolated = 0;
    for (int64_t i = 0; i < info->n_nodes; i++) {
        const int64_t degree = fr_graph_degree(indptr, i);
        most = degree > most ? degree : most;
        isolated += degree == 0;
    }
    const char *task = info->task == FR_TASK_MULTILABEL ? "multilabel" : "multiclass";
    if (a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_int(json, "nodes", info->n_nodes);
        fr_json_add_int(json, "edges", info->n_edges);
        fr_json_add_int(json, "features", info->n_features);
        fr_json_add_int(json, "classes", info->n_classes);
        fr_json_add_string(json, "task", task);
        fr_json_add_int(json, "train", info->n_train);
        fr_json_add_int(json, "valid", info->n_valid);
        fr_json_add_int(json, "test", info->n_test);
        fr_json_add_int(json, "labelled", info->n_labelled);
        fr_json_add_int(json, "most_neighbours", most);
        fr_json_add_int(json, "isolated", isolated);
        print_event("done", json);
    } else {
        (void)printf("nodes     %" PRId64 " (%" PRId64 " isolated)\nedges     %" PRId64 " (mean %.2f, most %" PRId64 " a node)\n", info->n_nodes,
                     isolated, info->n_edges, info->n_nodes > 0 ? (double)info->n_edges / (double)info->n_nodes : 0, most);
        (void)printf("features  %" PRId64 " %s\nlabels    %" PRId64 " classes, %s, %" PRId64 " nodes labelled\n", info->n_features,
                     info->feature_dtype == FR_NO_DTYPE ? "" : fr_dtype_name(info->feature_dtype), info->n_classes, task, info->n_labelled);
        (void)printf("split     %" PRId64 " train, %" PRId64 " valid, %" PRId64 " test\n", info->n_train, info->n_valid, info->n_test);
    }
    fr_graph_free(graph);
    return EXIT_DONE;
}

const command command_data_info = {
    .name = "data info",
    .operands = "G.frgraph",
    .least = 1,
    .most = 1,
    .summary = "sizes, degrees and split of a graph",
    .description = "",
    .example = "frugal data info cora.frgraph",
    .options = NULL,
    .run = run_info,
};

static void show_bytes(void *context, int64_t done, int64_t total)
{
    stage_bar *bar = context;
    fr_progress_update(&bar->progress, "checking", done, total);
}

static int run_verify(const arguments *a)
{
    stage_bar bar = {.progress = fr_progress_start(stderr, a->quiet, "bytes", 0)};
    const fr_status status = fr_graph_verify(a->operands[0], show_bytes, &bar);
    fr_progress_clear(&bar.progress);
    if (status != FR_OK)
        return report(status);
    if (a->json)
        print_event("done", NULL);
    else
        (void)printf("%s: all checksums and indices are right\n", a->operands[0]);
    return EXIT_DONE;
}

const command command_data_verify = {
    .name = "data verify",
    .operands = "G.frgraph",
    .least = 1,
    .most = 1,
    .summary = "check every byte of a graph against its checksums",
    .description = "",
    .example = "frugal data verify cora.frgraph",
    .options = NULL,
    .run = run_verify,
};
