/*
 * ogb_binary.c: OGB's .npz files, streamed.
 *
 *     raw/data.npz        edge_index [2, E], num_nodes_list [1], num_edges_list [1], node_feat [N, F]
 *     raw/node-label.npz  node_label [N, C]
 *
 * Row 0 of edge_index (sources) lies before row 1 (targets), so two streams read the member at once: one from the start, one
 * after passing over row 0. The second sees every byte and checks the member's checksum.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "format/csr.h"
#include "format/edge_batch.h"
#include "format/npy_stream.h"
#include "format/ogb.h"

enum { REPORT_BATCHES = 16, ROWS_BYTES = 1 << 21 };

static fr_status open_archive(const fr_ogb *ogb, const char *name, char **path, fr_zip **zip)
{
    FR_RETURN_IF_ERROR(fr_path_join(ogb->source, name, path));
    return fr_zip_open(*path, zip);
}

static fr_status read_size(const fr_zip *zip, const char *path, const char *name, int64_t *size)
{
    fr_npy_stream s;
    fr_status status;
    FR_TRY(fr_npy_stream_open(zip, path, name, &s));
    if (fr_dtype_is_float(s.dtype) || s.n_left != 1)
        FR_TRY(fr_fail(FR_ENOTSUP, "%s: holds %" PRId64 " %s; data sets of one graph, with one integer here, are read", s.name, s.n_left,
                       fr_dtype_name(s.dtype)));
    FR_TRY(fr_npy_stream_read(&s, FR_I64, size, 1));
    FR_TRY(fr_npy_stream_finish(&s));
done:
    fr_npy_stream_close(&s);
    return status;
}

fr_status fr_ogb_binary_sizes(fr_ogb *ogb)
{
    char *path = NULL;
    fr_zip *zip = NULL;
    fr_status status;
    FR_TRY(open_archive(ogb, "raw/data.npz", &path, &zip));
    FR_TRY(read_size(zip, path, "num_nodes_list", &ogb->n_nodes));
    FR_TRY(read_size(zip, path, "num_edges_list", &ogb->n_edges));
done:
    fr_zip_free(zip);
    fr_free(path);
    return status;
}

static fr_status copy_edges(const fr_ogb *ogb, fr_npy_stream *sources, fr_npy_stream *targets)
{
    int64_t *source = NULL, *target = NULL;
    fr_status status;
    FR_TRY(fr_alloc(FR_EDGE_BATCH, sizeof *source, "edges", &source));
    FR_TRY(fr_alloc(FR_EDGE_BATCH, sizeof *target, "edges", &target));
    for (int64_t e = 0; e < ogb->n_edges; e += FR_EDGE_BATCH) {
        const int64_t n = ogb->n_edges - e < FR_EDGE_BATCH ? ogb->n_edges - e : FR_EDGE_BATCH;
        FR_TRY(fr_npy_stream_read(sources, FR_I64, source, n));
        FR_TRY(fr_npy_stream_read(targets, FR_I64, target, n));
        FR_TRY(fr_wrap(fr_graph_builder_add_edges(ogb->builder, source, target, NULL, n), "%s", targets->name));
        if (e / FR_EDGE_BATCH % REPORT_BATCHES == 0)
            FR_TRY(fr_report_reading(ogb->options, ogb->source, "reading edges", e, ogb->n_edges));
    }
    status = FR_OK;
done:
    fr_free(source);
    fr_free(target);
    return status;
}

fr_status fr_ogb_binary_edges(fr_ogb *ogb)
{
    char *path = NULL;
    fr_zip *zip = NULL;
    fr_npy_stream sources = {0}, targets = {0};
    fr_status status;
    FR_TRY(open_archive(ogb, "raw/data.npz", &path, &zip));
    FR_TRY(fr_npy_stream_open(zip, path, "edge_index", &sources));
    FR_TRY(fr_npy_stream_open(zip, path, "edge_index", &targets));
    if (sources.rank != 2 || sources.shape[0] != 2 || fr_dtype_is_float(sources.dtype))
        FR_TRY(fr_fail(FR_ESHAPE, "%s: is no matrix of integers of 2 rows", sources.name));
    if (sources.shape[1] != ogb->n_edges)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " edges, num_edges_list says %" PRId64, sources.name, sources.shape[1], ogb->n_edges));
    FR_TRY(fr_npy_stream_skip(&targets, ogb->n_edges));
    FR_TRY(copy_edges(ogb, &sources, &targets));
    FR_TRY(fr_npy_stream_finish(&targets));
done:
    fr_npy_stream_close(&sources);
    fr_npy_stream_close(&targets);
    fr_zip_free(zip);
    fr_free(path);
    return status;
}

/* Rows of at most 8 bytes an element that are read together. */
static int64_t rows_at_once(int64_t width)
{
    const int64_t fitting = width > 0 ? ROWS_BYTES / 8 / width : 1;
    return fitting > 1 ? fitting : 1;
}

static fr_status copy_features(const fr_ogb *ogb, fr_npy_stream *s)
{
    const int64_t width = s->shape[1], step = rows_at_once(width);
    float *rows = NULL;
    fr_status status;
    FR_TRY(fr_graph_builder_features(ogb->builder, FR_F32, width));
    FR_TRY(fr_alloc((size_t)step, (size_t)width * sizeof *rows, "features", &rows));
    for (int64_t i = 0; i < ogb->n_nodes; i += step) {
        const int64_t n = ogb->n_nodes - i < step ? ogb->n_nodes - i : step;
        FR_TRY(fr_npy_stream_read(s, FR_F32, rows, n * width));
        if (ogb->options->normalize_features)
            fr_normalise_rows(rows, n, width);
        FR_TRY(fr_wrap(fr_graph_builder_add_features(ogb->builder, rows, n), "%s", s->name));
        FR_TRY(fr_report_reading(ogb->options, ogb->source, "reading features", i, ogb->n_nodes));
    }
    FR_TRY(fr_npy_stream_finish(s));
done:
    fr_free(rows);
    return status;
}

fr_status fr_ogb_binary_features(fr_ogb *ogb)
{
    char *path = NULL;
    fr_zip *zip = NULL;
    fr_npy_stream s = {0};
    fr_status status;
    FR_TRY(open_archive(ogb, "raw/data.npz", &path, &zip));
    if (!fr_zip_has(zip, "node_feat.npy"))
        goto done;
    FR_TRY(fr_npy_stream_open(zip, path, "node_feat", &s));
    if (s.rank != 2 || s.shape[0] != ogb->n_nodes)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " rows in %d dimensions, a matrix of %" PRId64 " rows is asked for", s.name,
                       s.rank > 0 ? s.shape[0] : 0, s.rank, ogb->n_nodes));
    FR_TRY(copy_features(ogb, &s));
done:
    fr_npy_stream_close(&s);
    fr_zip_free(zip);
    fr_free(path);
    return status;
}

static fr_status copy_labels(fr_ogb *ogb, fr_npy_stream *s)
{
    const int64_t width = ogb->n_columns, step = rows_at_once(width);
    double *rows = NULL;
    fr_status status;
    FR_TRY(fr_alloc((size_t)step, (size_t)width * sizeof *rows, "labels", &rows));
    for (int64_t i = 0; i < ogb->n_nodes; i += step) {
        const int64_t n = ogb->n_nodes - i < step ? ogb->n_nodes - i : step;
        FR_TRY(fr_npy_stream_read(s, FR_F64, rows, n * width));
        for (int64_t k = 0; k < n; k++)
            FR_TRY(fr_ogb_take_labels(ogb, s->name, i + k, rows + k * width));
        FR_TRY(fr_report_reading(ogb->options, ogb->source, "reading labels", i, ogb->n_nodes));
    }
    FR_TRY(fr_npy_stream_finish(s));
done:
    fr_free(rows);
    return status;
}

fr_status fr_ogb_binary_labels(fr_ogb *ogb)
{
    char *path = NULL;
    fr_zip *zip = NULL;
    fr_npy_stream s = {0};
    fr_status status;
    FR_TRY(fr_path_join(ogb->source, "raw/node-label.npz", &path));
    if (!fr_file_exists(path))
        goto done;
    FR_TRY(fr_zip_open(path, &zip));
    FR_TRY(fr_npy_stream_open(zip, path, "node_label", &s));
    if (s.rank < 1 || s.rank > 2 || s.shape[0] != ogb->n_nodes)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: %" PRId64 " rows in %d dimensions for %" PRId64 " nodes", s.name, s.rank > 0 ? s.shape[0] : 0, s.rank,
                       ogb->n_nodes));
    FR_TRY(fr_ogb_start_labels(ogb, s.name, s.rank == 2 ? s.shape[1] : 1));
    FR_TRY(copy_labels(ogb, &s));
done:
    fr_npy_stream_close(&s);
    fr_zip_free(zip);
    fr_free(path);
    return status;
}
