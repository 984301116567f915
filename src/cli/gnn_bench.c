/*
 * gnn_bench.c: frugal gnn bench: the same training with and without the cache, one table.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/gnn_options.h"
#include "cli/show.h"

static const char *const titles[] = {"graph", "cache", ">test", ">seconds", ">rows fetched", ">bytes", ">hit rate", ">oldest hit"};

fr_status bench_table_create(struct fr_table **table)
{
    return fr_table_create(titles, (int)(sizeof titles / sizeof *titles), table);
}

void bench_table_row(struct fr_table *table, const char *graph, const char *cache, const fr_gnn_result *r)
{
    char rows[32], bytes[32];
    fr_table_cell(table, "%s", graph);
    fr_table_cell(table, "%s", cache);
    fr_table_cell(table, "%.4f", r->test);
    fr_table_cell(table, "%.2f", r->seconds);
    fr_table_cell(table, "%s", fr_count_text(r->rows_fetched, rows, sizeof rows));
    fr_table_cell(table, "%s", fr_bytes_text(r->bytes_read, bytes, sizeof bytes));
    if (r->lookups > 0) {
        fr_table_cell(table, "%.1f%%", 100 * (double)r->hits / (double)r->lookups);
        fr_table_cell(table, "%" PRId64, r->max_age);
    } else {
        fr_table_cell(table, "-");
        fr_table_cell(table, "-");
    }
}

fr_status bench_train(const arguments *a, fr_graph *graph, const char *folder, fr_gnn_options *options, fr_gnn_result *result)
{
    char *run = NULL;
    run_view view;
    fr_status status;
    run_view_start(&view, a);
    if (!a->quiet && !a->json)
        (void)fprintf(stderr, "%s, cache %s\n", fr_path_name(fr_graph_path(graph)), fr_gnn_cache_name(options->cache));
    FR_TRY(fr_path_join(folder, fr_gnn_cache_name(options->cache), &run));
    FR_TRY(fr_folder_remove(run));
    FR_TRY(fr_gnn_train(graph, run, options, &view.observer, result));
    if (a->json) {
        fr_json *json = result_fields(result);
        fr_json_add_string(json, "cache", fr_gnn_cache_name(options->cache));
        print_event("run", json);
    }
done:
    fr_progress_clear(&view.progress);
    fr_free(run);
    return status;
}

static int run_bench(const arguments *a)
{
    const char *folder = text_of(a, "o", "gnn-bench");
    fr_gnn_options options;
    if (!read_gnn_options(a, &options))
        return EXIT_USAGE;
    static const fr_gnn_cache caches[] = {FR_CACHE_NONE, FR_CACHE_FRESH, FR_CACHE_ALL};
    const int n_caches = is_given(a, "with-all") ? 3 : 2;
    fr_graph *graph = NULL;
    struct fr_table *table = NULL;
    fr_status status;
    FR_TRY(open_graph_operand(a, 0, &graph));
    FR_TRY(bench_table_create(&table));
    for (int i = 0; i < n_caches; i++) {
        fr_gnn_result result;
        options.cache = caches[i];
        FR_TRY(bench_train(a, graph, folder, &options, &result));
        bench_table_row(table, fr_path_name(a->operands[0]), fr_gnn_cache_name(caches[i]), &result);
    }
    if (a->json)
        print_event("done", NULL);
    else
        FR_TRY(fr_table_print(table, stdout));
done:
    fr_table_free(table);
    fr_graph_free(graph);
    return report(status);
}

static const option_spec bench_options[] = {
    {"o", "DIR", "folder of the runs (default gnn-bench); runs there are replaced", NULL},
    {"with-all", NULL, "also historical training (--cache all)", NULL},
    GNN_MODEL_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

const command command_gnn_bench = {
    .name = "gnn bench",
    .operands = "G.frgraph",
    .least = 1,
    .most = 1,
    .summary = "train with and without the cache and print one table",
    .description = "",
    .example = "frugal gnn bench g.frgraph --epochs 5",
    .options = bench_options,
    .run = run_bench,
};
