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
#include <unistd.h>

#include "base/alloc.h"
#include "format/edge_batch.h"
#include "format/ids.h"
#include "format/node_files.h"

enum { DEFAULT_MEMORY = 1 << 30 };

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
    if (end[strspn(end, " \t")] != '\0')
        return fr_lines_fail(lines, FR_EFORMAT, "\"%.30s\" stands behind the weight", end);
    return FR_OK;
}

typedef struct pass {
    const fr_import_options *options;
    fr_lines *lines;
    const char *stage;
} pass;

static fr_status next_edge(const pass *p, edge_line *edge, bool *more)
{
    char *line;
    do {
        FR_RETURN_IF_ERROR(fr_lines_next(p->lines, &line));
        *more = line != NULL;
        if (line == NULL)
            return FR_OK;
        FR_RETURN_IF_ERROR(fr_report_line(p->options, p->lines, p->stage));
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
    fr_edge_batch batch = {0};
    fr_status status;
    FR_TRY(fr_lines_open(source, &p.lines));
    FR_TRY(fr_edge_batch_start(builder, weighted, &batch));
    for (;;) {
        edge_line edge;
        bool more;
        FR_TRY(next_edge(&p, &edge, &more));
        if (!more)
            break;
        FR_TRY(fr_edge_batch_add(&batch, fr_ids_number(ids, edge.source), fr_ids_number(ids, edge.target), edge.weight));
    }
    FR_TRY(fr_edge_batch_flush(&batch));
done:
    fr_lines_free(p.lines);
    fr_edge_batch_release(&batch);
    return status;
}

/* "PATH.ids.npy", beside the graph. */
static fr_status name_ids(const char *path, char **npy)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return fr_format(npy, "%.*s.ids.npy", (int)n, path);
}

static fr_status write_ids(const char *npy, const fr_ids *ids)
{
    fr_tensor view;
    void *data;
    const uint64_t *sorted = fr_ids_sorted(ids);
    memcpy(&data, &sorted, sizeof data); /* writing only reads */
    FR_RETURN_IF_ERROR(fr_tensor_view(FR_U64, 1, (int64_t[]){fr_ids_count(ids)}, data, &view));
    return fr_npy_write(npy, &view);
}

fr_status fr_import_edges(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    const int64_t memory = options->memory_bytes > 0 ? options->memory_bytes : DEFAULT_MEMORY;
    fr_ids *ids = NULL;
    fr_graph_builder *builder = NULL;
    bool weighted = false;
    char *npy = NULL;
    fr_status status;
    FR_TRY(fr_ids_create(memory, &ids));
    FR_TRY(collect_ids(source, options, ids, &weighted));
    FR_TRY(fr_start_import(path, fr_ids_count(ids), weighted, !options->directed, options, &builder));
    FR_TRY(add_edges(source, options, ids, weighted, builder));
    FR_TRY(fr_add_node_files(builder, fr_ids_count(ids), options));
    FR_TRY(name_ids(path, &npy));
    if (!fr_ids_are_dense(ids))
        FR_TRY(write_ids(npy, ids));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    status = fr_graph_builder_commit(finished, counts);
    if (status != FR_OK || fr_ids_are_dense(ids))
        (void)unlink(npy); /* no graph, or a former graph's ids */
done:
    fr_graph_builder_abort(builder);
    fr_ids_free(ids);
    fr_free(npy);
    return status;
}
