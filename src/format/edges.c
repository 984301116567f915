/*
 * edges.c: SNAP edge lists, plain or gzip: "source target [weight]" a line, # and % comments.
 *
 * Two passes: the first collects the ids, which may be sparse; the second adds edges under new numbers 0, 1, .. in ascending
 * order of id. Where ids are not 0 .. n-1 already, the old ones are kept beside the graph, in PATH.ids.npy.
 */
#include <frugal/format.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "format/ids.h"
#include "format/lines.h"
#include "format/node_files.h"

enum { BATCH_EDGES = 1 << 14, REPORT_LINES = 1 << 20, DEFAULT_MEMORY = 1 << 30 };

typedef struct edge_line {
    int64_t source, target;
    float weight;
    bool is_edge, has_weight;
} edge_line;

static fr_status parse_line(const fr_lines *lines, const char *line, edge_line *edge)
{
    *edge = (edge_line){.weight = 1};
    const char *at = line;
    while (*at == ' ' || *at == '\t')
        at++;
    if (*at == '\0' || *at == '#' || *at == '%')
        return FR_OK;
    bool good = fr_scan_int(&at, &edge->source);
    if (good) {
        fr_scan_separator(&at);
        good = fr_scan_int(&at, &edge->target);
    }
    if (!good)
        return fr_lines_fail(lines, FR_EFORMAT, "\"%.40s\" is not two node ids", line);
    if (edge->source < 0 || edge->target < 0)
        return fr_lines_fail(lines, FR_ERANGE, "node id %" PRId64 " is below 0", edge->source < 0 ? edge->source : edge->target);
    fr_scan_separator(&at);
    edge->is_edge = true;
    if (*at == '\0')
        return FR_OK;
    char *end;
    edge->weight = strtof(at, &end);
    edge->has_weight = true;
    if (end == at || !isfinite(edge->weight))
        return fr_lines_fail(lines, FR_EFORMAT, "the weight \"%.30s\" is not a finite number", at);
    return FR_OK;
}

typedef struct pass {
    const fr_import_options *options;
    fr_lines *lines;
    const char *stage;
} pass;

static fr_status report(const pass *p)
{
    if (fr_lines_number(p->lines) % REPORT_LINES != 0)
        return FR_OK;
    if (p->options->progress != NULL)
        p->options->progress(p->options->progress_context, p->stage, fr_lines_position(p->lines), fr_lines_length(p->lines));
    return fr_interrupt_requested() ? fr_fail(FR_EINTERRUPTED, "%s: stopped, nothing was written", fr_lines_path(p->lines)) : FR_OK;
}

static fr_status next_edge(const pass *p, edge_line *edge, bool *more)
{
    char *line;
    do {
        FR_RETURN_IF_ERROR(fr_lines_next(p->lines, &line));
        *more = line != NULL;
        if (line == NULL)
            return FR_OK;
        FR_RETURN_IF_ERROR(report(p));
        FR_RETURN_IF_ERROR(parse_line(p->lines, line, edge));
    } while (!edge->is_edge);
    return FR_OK;
}

static fr_status collect_ids(const char *source, const fr_import_options *options, fr_ids *ids, bool *weighted)
{
    pass p = {.options = options, .stage = "reading ids"};
    fr_status status;
    FR_TRY(fr_lines_open(source, &p.lines));
    int64_t n = 0;
    for (;;) {
        edge_line edge;
        bool more;
        FR_TRY(next_edge(&p, &edge, &more));
        if (!more)
            break;
        if (n++ == 0)
            *weighted = edge.has_weight;
        if (edge.has_weight != *weighted)
            FR_TRY(fr_lines_fail(p.lines, FR_EFORMAT, "%s a weight, unlike the edges before", edge.has_weight ? "has" : "lacks"));
        FR_TRY(fr_ids_add(ids, edge.source));
        FR_TRY(fr_ids_add(ids, edge.target));
    }
    FR_TRY(fr_ids_finish(ids));
done:
    fr_lines_free(p.lines);
    return status;
}

static fr_status add_edges(const char *source, const fr_import_options *options, const fr_ids *ids, bool weighted, fr_graph_builder *builder)
{
    pass p = {.options = options, .stage = "reading edges"};
    int64_t *from = NULL, *to = NULL, n = 0;
    float *weights = NULL;
    fr_status status;
    FR_TRY(fr_lines_open(source, &p.lines));
    FR_TRY(fr_alloc(BATCH_EDGES, sizeof *from, "edges", &from));
    FR_TRY(fr_alloc(BATCH_EDGES, sizeof *to, "edges", &to));
    FR_TRY(fr_alloc(BATCH_EDGES, sizeof *weights, "edges", &weights));
    for (;;) {
        edge_line edge;
        bool more;
        FR_TRY(next_edge(&p, &edge, &more));
        if (n == BATCH_EDGES || (!more && n > 0)) {
            FR_TRY(fr_graph_builder_add_edges(builder, from, to, weighted ? weights : NULL, n));
            n = 0;
        }
        if (!more)
            break;
        from[n] = fr_ids_number(ids, edge.source);
        to[n] = fr_ids_number(ids, edge.target);
        weights[n++] = edge.weight;
    }
    status = FR_OK;
done:
    fr_lines_free(p.lines);
    fr_free(from);
    fr_free(to);
    fr_free(weights);
    return status;
}

static fr_status write_ids(const char *path, const fr_ids *ids)
{
    char *npy = NULL;
    fr_status status;
    FR_TRY(fr_format(&npy, "%s.ids.npy", path));
    fr_tensor view;
    void *data;
    const uint64_t *sorted = fr_ids_sorted(ids);
    memcpy(&data, &sorted, sizeof data); /* writing only reads */
    FR_TRY(fr_tensor_view(FR_U64, 1, (int64_t[]){fr_ids_count(ids)}, data, &view));
    FR_TRY(fr_npy_write(npy, &view));
done:
    fr_free(npy);
    return status;
}

fr_status fr_import_edges(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    const int64_t memory = options->memory_bytes > 0 ? options->memory_bytes : DEFAULT_MEMORY;
    fr_ids *ids = NULL;
    fr_graph_builder *builder = NULL;
    bool weighted = false;
    fr_status status;
    FR_TRY(fr_ids_create(memory, &ids));
    FR_TRY(collect_ids(source, options, ids, &weighted));
    FR_TRY(fr_graph_builder_create(path,
                                   &(fr_graph_builder_options){.n_nodes = fr_ids_count(ids),
                                                               .memory_bytes = memory,
                                                               .symmetrize = !options->directed,
                                                               .keep_duplicates = options->keep_duplicates,
                                                               .keep_self_loops = options->keep_self_loops,
                                                               .weighted = weighted,
                                                               .replace = options->replace},
                                   &builder));
    fr_graph_builder_on_progress(builder, options->progress, options->progress_context);
    FR_TRY(add_edges(source, options, ids, weighted, builder));
    FR_TRY(fr_add_node_files(builder, fr_ids_count(ids), options));
    if (!fr_ids_are_dense(ids))
        FR_TRY(write_ids(path, ids));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(builder);
    fr_ids_free(ids);
    return status;
}
