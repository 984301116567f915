/*
 * demo.c: frugal demo: the products on embedded inputs, one table, one picture.
 *
 * Inputs: Zachary's karate club (34 people, 78 friendships; who stayed with whom when the club split), written out below, and a
 * synthetic graph of 200,000 nodes. Each is trained with and without the fresh cache.
 * Source of the club: Zachary, "An information flow model for conflict and fission in small groups", 1977.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/show.h"

enum { CLUB_MEMBERS = 34, CLUB_TIES = 78, SYNTH_NODES = 200000 };

/* Pairs of members, numbered from 1 as in the paper. */
static const uint8_t club_ties[CLUB_TIES][2] = {
    {1, 2},   {1, 3},   {1, 4},   {1, 5},   {1, 6},   {1, 7},   {1, 8},   {1, 9},   {1, 11},  {1, 12},  {1, 13},  {1, 14},  {1, 18},
    {1, 20},  {1, 22},  {1, 32},  {2, 3},   {2, 4},   {2, 8},   {2, 14},  {2, 18},  {2, 20},  {2, 22},  {2, 31},  {3, 4},   {3, 8},
    {3, 9},   {3, 10},  {3, 14},  {3, 28},  {3, 29},  {3, 33},  {4, 8},   {4, 13},  {4, 14},  {5, 7},   {5, 11},  {6, 7},   {6, 11},
    {6, 17},  {7, 17},  {9, 31},  {9, 33},  {9, 34},  {10, 34}, {14, 34}, {15, 33}, {15, 34}, {16, 33}, {16, 34}, {19, 33}, {19, 34},
    {20, 34}, {21, 33}, {21, 34}, {23, 33}, {23, 34}, {24, 26}, {24, 28}, {24, 30}, {24, 33}, {24, 34}, {25, 26}, {25, 28}, {25, 32},
    {26, 32}, {27, 30}, {27, 34}, {28, 34}, {29, 32}, {29, 34}, {30, 33}, {30, 34}, {31, 33}, {31, 34}, {32, 33}, {32, 34}, {33, 34}};

/* Those who stayed with the instructor (1); the others went with the officer (34). */
static const uint8_t stayed[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 17, 18, 20, 22};

static fr_status write_club(const char *path)
{
    int64_t source[CLUB_TIES], target[CLUB_TIES];
    int32_t side[CLUB_MEMBERS];
    uint8_t split[CLUB_MEMBERS];
    float identity[CLUB_MEMBERS * CLUB_MEMBERS] = {0};
    for (int i = 0; i < CLUB_TIES; i++) {
        source[i] = club_ties[i][0] - 1;
        target[i] = club_ties[i][1] - 1;
    }
    for (int i = 0; i < CLUB_MEMBERS; i++) {
        side[i] = 1;
        split[i] = i % 3 == 1 ? FR_SPLIT_VALID : FR_SPLIT_TEST;
        identity[i * CLUB_MEMBERS + i] = 1;
    }
    for (size_t i = 0; i < sizeof stayed; i++)
        side[stayed[i] - 1] = 0;
    split[0] = split[CLUB_MEMBERS - 1] = FR_SPLIT_TRAIN; /* only the two leaders' sides are known */
    fr_graph_builder *builder = NULL;
    fr_status status;
    FR_TRY(fr_graph_builder_create(path, &(fr_graph_builder_options){.n_nodes = CLUB_MEMBERS, .symmetrize = true, .replace = true}, &builder));
    FR_TRY(fr_graph_builder_add_edges(builder, source, target, NULL, CLUB_TIES));
    FR_TRY(fr_graph_builder_features(builder, FR_F32, CLUB_MEMBERS));
    FR_TRY(fr_graph_builder_add_features(builder, identity, CLUB_MEMBERS));
    FR_TRY(fr_graph_builder_labels(builder, side, 2));
    FR_TRY(fr_graph_builder_split(builder, split));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, NULL));
done:
    fr_graph_builder_abort(builder);
    return status;
}

static fr_gnn_options club_options(void)
{
    fr_gnn_options o = fr_gnn_defaults();
    o.kind = FR_GNN_GCN;
    o.n_layers = 2;
    o.hidden = 16;
    o.n_fanouts = 0;
    o.batch = 0;
    o.epochs = 100;
    o.learning_rate = 0.01;
    o.dropout = 0;
    o.t_stale = 10;
    o.evaluate_every = 10;
    return o;
}

static fr_gnn_options synth_options(void)
{
    fr_gnn_options o = fr_gnn_defaults();
    o.hidden = 128;
    o.batch = 250;
    o.epochs = 6;
    o.t_stale_in_epochs = true; /* 80 iterations an epoch: a row stays fresh for 40 */
    o.t_stale = 0.5;
    o.evaluate_every = 2;
    return o;
}

/* Trains with cache none and fresh; rows of the table, runs in FOLDER/none and FOLDER/fresh. */
static fr_status compare(const arguments *a, const char *graph_path, const char *folder, fr_gnn_options options, struct fr_table *table)
{
    static const fr_gnn_cache caches[] = {FR_CACHE_NONE, FR_CACHE_FRESH};
    fr_graph *graph = NULL;
    fr_status status;
    FR_TRY(fr_graph_open(graph_path, NULL, &graph));
    for (int i = 0; i < 2; i++) {
        fr_gnn_result result;
        options.cache = caches[i];
        FR_TRY(bench_train(a, graph, folder, &options, &result));
        bench_table_row(table, fr_path_name(graph_path), fr_gnn_cache_name(caches[i]), &result);
    }
done:
    fr_graph_free(graph);
    return status;
}

static fr_status draw_loss(const char *folder, const char *picture)
{
    char *csv[2] = {NULL, NULL};
    fr_status status;
    FR_TRY(fr_format(&csv[0], "%s/none/metrics.csv", folder));
    FR_TRY(fr_format(&csv[1], "%s/fresh/metrics.csv", folder));
    const fr_curve curves[] = {{.csv = csv[0], .x_column = 0, .y_column = 1, .title = "cache none"},
                               {.csv = csv[1], .x_column = 0, .y_column = 1, .title = "cache fresh"}};
    status = fr_curves_draw(picture, "Synthetic graph of 200,000 nodes", "epoch", "loss", NULL, curves, 2);
    if (status == FR_ENOTSUP) {
        (void)fprintf(stderr, "frugal: note: %s\n", fr_error_message());
        status = FR_OK;
    }
done:
    fr_free(csv[0]);
    fr_free(csv[1]);
    return status;
}

static fr_status run_products(const arguments *a, const char *folder, struct fr_table *table)
{
    char *club = NULL, *club_runs = NULL, *synth = NULL, *synth_runs = NULL, *picture = NULL;
    stage_bar bar = {.quiet = a->quiet};
    fr_status status;
    FR_TRY(fr_folder_create(folder));
    FR_TRY(fr_path_join(folder, "karate.frgraph", &club));
    FR_TRY(fr_path_join(folder, "karate", &club_runs));
    FR_TRY(fr_path_join(folder, "synthetic.frgraph", &synth));
    FR_TRY(fr_path_join(folder, "synthetic", &synth_runs));
    FR_TRY(fr_path_join(folder, "loss.png", &picture));
    FR_TRY(write_club(club));
    FR_TRY(compare(a, club, club_runs, club_options(), table));
    FR_TRY(fr_graph_synth(synth,
                          &(fr_synth_options){.n_nodes = SYNTH_NODES, .n_edges = 3000000, .n_features = 64, .n_classes = 16, .seed = 1, .replace = true},
                          show_stage, &bar, NULL));
    fr_progress_clear(&bar.progress);
    FR_TRY(compare(a, synth, synth_runs, synth_options(), table));
    FR_TRY(draw_loss(synth_runs, picture));
done:
    fr_progress_clear(&bar.progress);
    fr_free(club);
    fr_free(club_runs);
    fr_free(synth);
    fr_free(synth_runs);
    fr_free(picture);
    return status;
}

static int run_demo(const arguments *a)
{
    const char *folder = text_of(a, "o", "demo-out");
    struct fr_table *table = NULL;
    fr_status status;
    FR_TRY(bench_table_create(&table));
    FR_TRY(run_products(a, folder, table));
    if (a->json) {
        fr_json *json = fr_json_object();
        fr_json_add_string(json, "folder", folder);
        print_event("done", json);
    } else {
        (void)printf("Train a GNN, with and without reusing fresh embeddings:\n\n");
        FR_TRY(fr_table_print(table, stdout));
        (void)printf("\nBoth loss curves: %s/loss.png\n", folder);
    }
done:
    fr_table_free(table);
    return report(status);
}

static const option_spec demo_options[] = {
    {"o", "DIR", "folder for graphs, runs and the picture (default demo-out)", NULL},
    {NULL, NULL, NULL, NULL},
};

const command command_demo = {
    .name = "demo",
    .operands = "",
    .least = 0,
    .most = 0,
    .summary = "what is built so far, on embedded inputs, in minutes",
    .description = "",
    .example = "frugal demo -o demo-out",
    .options = demo_options,
    .run = run_demo,
};
