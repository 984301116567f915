/*
 * npz.c: graphs as .npz archives of CSR parts, as the "gnn-benchmark" data sets come.
 *
 *     adj_data adj_indices adj_indptr adj_shape     the adjacency matrix
 *     attr_data attr_indices attr_indptr attr_shape sparse features, or attr_matrix, dense
 *     labels                                        one class a node
 *
 * Such files state no split: one is drawn by seed among labelled nodes (60/20/20 where no fractions are given).
 */
#include <frugal/format.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "format/csr.h"
#include "format/node_files.h"
#include "format/zip.h"
#include "tensor/npy.h"

enum { BATCH_EDGES = 1 << 14 };

/* Member NAME.npy; *tensor stays zeroed where it is absent and optional. */
static fr_status read_member(const fr_zip *zip, const char *source, const char *name, bool optional, fr_tensor *tensor)
{
    char file[64], *bytes = NULL, *origin = NULL;
    size_t length;
    fr_status status;
    *tensor = (fr_tensor){0};
    (void)snprintf(file, sizeof file, "%s.npy", name);
    if (optional && !fr_zip_has(zip, file))
        return FR_OK;
    FR_TRY(fr_zip_read(zip, file, &bytes, &length));
    FR_TRY(fr_format(&origin, "%s: %s", source, file));
    FR_TRY(fr_npy_parse(origin, bytes, length, tensor));
done:
    fr_free(origin);
    fr_free(bytes);
    return status;
}

static fr_status read_shape(const fr_zip *zip, const char *source, const char *name, int64_t shape[2])
{
    fr_tensor tensor;
    FR_RETURN_IF_ERROR(read_member(zip, source, name, false, &tensor));
    fr_status status = FR_OK;
    if (fr_tensor_count(&tensor) != 2 || fr_dtype_is_float(tensor.dtype))
        status = fr_fail(FR_EFORMAT, "%s: %s is no pair of integers", source, name);
    else
        status = fr_convert(tensor.dtype, tensor.data, FR_I64, shape, 2);
    fr_tensor_release(&tensor);
    return status;
}

static fr_status read_csr(const fr_zip *zip, const char *source, const char *prefix, fr_csr *csr)
{
    static const char *const parts[] = {"indptr", "indices", "data"};
    fr_tensor tensors[3] = {0};
    char name[64], *what = NULL;
    int64_t shape[2];
    fr_status status;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "%s_%s", prefix, parts[i]);
        FR_TRY(read_member(zip, source, name, i == 2, &tensors[i]));
    }
    (void)snprintf(name, sizeof name, "%s_shape", prefix);
    FR_TRY(read_shape(zip, source, name, shape));
    FR_TRY(fr_format(&what, "%s: %s", source, prefix));
    FR_TRY(fr_csr_make(what, shape[0], shape[1], &tensors[0], &tensors[1], tensors[2].data != NULL ? &tensors[2] : NULL, csr));
done:
    for (int i = 0; i < 3; i++)
        fr_tensor_release(&tensors[i]);
    fr_free(what);
    return status;
}

static fr_status add_edges(fr_graph_builder *builder, const fr_csr *adjacency)
{
    int64_t source[BATCH_EDGES], target[BATCH_EDGES];
    int64_t n = 0;
    for (int64_t i = 0; i < adjacency->n_rows; i++)
        for (int64_t e = adjacency->indptr[i]; e < adjacency->indptr[i + 1]; e++) {
            source[n] = i;
            target[n++] = adjacency->columns[e];
            if (n == BATCH_EDGES) {
                FR_RETURN_IF_ERROR(fr_graph_builder_add_edges(builder, source, target, NULL, n));
                n = 0;
            }
        }
    return fr_graph_builder_add_edges(builder, source, target, NULL, n);
}

static fr_status add_sparse_features(fr_graph_builder *builder, const fr_csr *features, bool normalise)
{
    float *row = NULL;
    fr_status status;
    FR_TRY(fr_graph_builder_features(builder, FR_F32, features->n_columns));
    FR_TRY(fr_alloc((size_t)features->n_columns, sizeof *row, "features", &row));
    for (int64_t i = 0; i < features->n_rows; i++) {
        fr_csr_dense_row(features, i, normalise, row);
        FR_TRY(fr_graph_builder_add_features(builder, row, 1));
    }
    status = FR_OK;
done:
    fr_free(row);
    return status;
}

static fr_status add_dense_features(fr_graph_builder *builder, const char *source, const fr_tensor *matrix, int64_t n_nodes, bool normalise)
{
    if (matrix->rank != 2 || matrix->shape[0] != n_nodes)
        return fr_fail(FR_ESHAPE, "%s: attr_matrix is no matrix of %" PRId64 " rows", source, n_nodes);
    float *rows = NULL;
    fr_status status;
    FR_TRY(fr_graph_builder_features(builder, FR_F32, matrix->shape[1]));
    FR_TRY(fr_alloc((size_t)fr_tensor_count(matrix), sizeof *rows, "features", &rows));
    FR_TRY(fr_convert(matrix->dtype, matrix->data, FR_F32, rows, fr_tensor_count(matrix)));
    if (normalise)
        fr_normalise_rows(rows, n_nodes, matrix->shape[1]);
    FR_TRY(fr_graph_builder_add_features(builder, rows, n_nodes));
done:
    fr_free(rows);
    return status;
}

static fr_status read_features(const fr_zip *zip, const char *source, fr_graph_builder *builder, int64_t n_nodes, bool normalise)
{
    fr_csr sparse = {0};
    fr_tensor dense = {0};
    fr_status status = FR_OK;
    if (fr_zip_has(zip, "attr_indptr.npy")) {
        FR_TRY(read_csr(zip, source, "attr", &sparse));
        if (sparse.n_rows != n_nodes)
            FR_TRY(fr_fail(FR_ESHAPE, "%s: attr has %" PRId64 " rows, adj %" PRId64, source, sparse.n_rows, n_nodes));
        FR_TRY(add_sparse_features(builder, &sparse, normalise));
    } else {
        FR_TRY(read_member(zip, source, "attr_matrix", true, &dense));
        if (dense.data != NULL)
            FR_TRY(add_dense_features(builder, source, &dense, n_nodes, normalise));
    }
done:
    fr_csr_release(&sparse);
    fr_tensor_release(&dense);
    return fr_wrap(status, "%s", source);
}

static fr_status read_labels(const fr_zip *zip, const char *source, fr_graph_builder *builder, int64_t n_nodes, const fr_import_options *options)
{
    fr_tensor labels = {0};
    int32_t *classes = NULL;
    fr_status status;
    FR_TRY(read_member(zip, source, "labels", true, &labels));
    if (labels.data == NULL)
        goto done;
    if (labels.rank != 1 || labels.shape[0] != n_nodes || fr_dtype_is_float(labels.dtype))
        FR_TRY(fr_fail(FR_ESHAPE, "%s: labels are no vector of %" PRId64 " integers", source, n_nodes));
    FR_TRY(fr_alloc((size_t)n_nodes, sizeof *classes, "labels", &classes));
    FR_TRY(fr_convert(labels.dtype, labels.data, FR_I32, classes, n_nodes));
    int64_t n_classes = 0;
    for (int64_t i = 0; i < n_nodes; i++)
        n_classes = classes[i] + 1 > n_classes ? classes[i] + 1 : n_classes;
    FR_TRY(fr_wrap(fr_graph_builder_labels(builder, classes, n_classes), "%s", source));
    FR_TRY(fr_add_random_split(builder, options));
done:
    fr_free(classes);
    fr_tensor_release(&labels);
    return status;
}

fr_status fr_import_npz(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts)
{
    fr_zip *zip = NULL;
    fr_csr adjacency = {0};
    fr_graph_builder *builder = NULL;
    fr_status status;
    FR_TRY(fr_zip_open(source, &zip));
    FR_TRY(read_csr(zip, source, "adj", &adjacency));
    if (adjacency.n_rows != adjacency.n_columns)
        FR_TRY(fr_fail(FR_ESHAPE, "%s: adj is %" PRId64 " x %" PRId64 ", not square", source, adjacency.n_rows, adjacency.n_columns));
    FR_TRY(fr_graph_builder_create(path,
                                   &(fr_graph_builder_options){.n_nodes = adjacency.n_rows,
                                                               .memory_bytes = options->memory_bytes,
                                                               .symmetrize = !options->directed,
                                                               .keep_duplicates = options->keep_duplicates,
                                                               .keep_self_loops = options->keep_self_loops,
                                                               .replace = options->replace},
                                   &builder));
    fr_graph_builder_on_progress(builder, options->progress, options->progress_context);
    FR_TRY(fr_wrap(add_edges(builder, &adjacency), "%s", source));
    FR_TRY(read_features(zip, source, builder, adjacency.n_rows, options->normalize_features));
    FR_TRY(read_labels(zip, source, builder, adjacency.n_rows, options));
    fr_graph_builder *const finished = builder;
    builder = NULL;
    FR_TRY(fr_graph_builder_commit(finished, counts));
done:
    fr_graph_builder_abort(builder);
    fr_csr_release(&adjacency);
    fr_zip_free(zip);
    return status;
}
