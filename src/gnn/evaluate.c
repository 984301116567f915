/*
 * evaluate.c: a trained run on a whole graph: exact accuracy, and embeddings or predictions of all nodes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/inference.h"
#include "gnn/model.h"
#include "gnn/options.h"

enum { DEFAULT_MEMORY = 1 << 30 };

/* A trained model opened from its run folder. */
typedef struct trained {
    fr_gnn_options options;
    fr_gnn_model model;
    fr_executor *executor; /* holds the weights; never runs */
    fr_gnn_inference *inference;
} trained;

static void close_trained(trained *t)
{
    fr_gnn_inference_free(t->inference);
    fr_executor_free(t->executor);
    fr_gnn_model_release(&t->model);
}

static fr_status check_graph(const char *run, const fr_graph *graph, const fr_graph_info *trained_on)
{
    const fr_graph_info *info = fr_graph_get_info(graph);
    if (info->n_features != trained_on->n_features || info->feature_dtype != FR_F32)
        return fr_fail(FR_ESHAPE, "%s was trained on %" PRId64 " f32 features, %s has %" PRId64 " %s", run, trained_on->n_features,
                       fr_graph_path(graph), info->n_features, info->feature_dtype == FR_NO_DTYPE ? "" : fr_dtype_name(info->feature_dtype));
    if (info->n_classes != trained_on->n_classes)
        return fr_fail(FR_ESHAPE, "%s was trained on %" PRId64 " classes, %s has %" PRId64, run, trained_on->n_classes,
                       fr_graph_path(graph), info->n_classes);
    return FR_OK;
}

static fr_status open_trained(const char *run, fr_graph *graph, const char *work_folder, int64_t memory_bytes, trained *t)
{
    *t = (trained){0};
    char *config = NULL, *best = NULL;
    fr_checkpoint *checkpoint = NULL;
    fr_graph_info trained_on;
    fr_status status;
    FR_TRY(fr_path_join(run, "config.json", &config));
    FR_TRY(fr_path_join(run, "best.frc", &best));
    FR_TRY(fr_gnn_config_read(config, &t->options, &trained_on));
    FR_TRY(check_graph(run, graph, &trained_on));
    FR_TRY(fr_gnn_model_build(&t->options, fr_graph_get_info(graph), false, &t->model));
    FR_TRY(fr_executor_create(t->model.program, NULL, &t->executor));
    FR_TRY(fr_checkpoint_open(best, &checkpoint));
    FR_TRY(fr_checkpoint_read_executor(checkpoint, t->model.program, t->executor));
    FR_TRY(fr_gnn_inference_create(graph, &t->options, t->executor, work_folder, memory_bytes, &t->inference));
done:
    if (status != FR_OK)
        close_trained(t);
    fr_checkpoint_free(checkpoint);
    fr_free(config);
    fr_free(best);
    return status;
}

fr_status fr_gnn_evaluate(const char *run, fr_graph *graph, fr_gnn_result *result)
{
    *result = (fr_gnn_result){0};
    trained t;
    const float *logits;
    int64_t width;
    fr_status status;
    FR_RETURN_IF_ERROR(open_trained(run, graph, run, 0, &t));
    FR_TRY(fr_gnn_inference_run(t.inference, false, NULL, &logits, &width));
    result->train = fr_gnn_score(graph, FR_SPLIT_TRAIN, logits);
    result->valid = fr_gnn_score(graph, FR_SPLIT_VALID, logits);
    result->test = fr_gnn_score(graph, FR_SPLIT_TEST, logits);
done:
    close_trained(&t);
    return status;
}

static fr_status write_classes(const char *npy, const float *logits, int64_t n, int64_t n_classes)
{
    fr_tensor classes = {0};
    fr_status status;
    FR_TRY(fr_tensor_create(FR_I32, 1, &n, &classes));
    for (int64_t i = 0; i < n; i++) {
        const float *row = logits + i * n_classes;
        int32_t best = 0;
        for (int32_t c = 1; c < n_classes; c++)
            if (row[c] > row[best])
                best = c;
        ((int32_t *)classes.data)[i] = best;
    }
    FR_TRY(fr_npy_write(npy, &classes));
done:
    fr_tensor_release(&classes);
    return status;
}

static fr_status write_rows(const char *npy, const float *rows, int64_t n, int64_t width)
{
    fr_tensor view;
    void *data;
    memcpy(&data, &rows, sizeof data); /* a view takes non-const memory; writing only reads it */
    FR_RETURN_IF_ERROR(fr_tensor_view(FR_F32, 2, (int64_t[]){n, width}, data, &view));
    return fr_npy_write(npy, &view);
}

/* Work files go beside the output, where room was meant to be. */
static fr_status folder_of(const char *path, char **folder)
{
    FR_RETURN_IF_ERROR(fr_strdup(path, folder));
    char *slash = strrchr(*folder, '/');
    if (slash == NULL)
        memcpy(*folder, ".", 2);
    else
        slash[slash == *folder] = '\0';
    return FR_OK;
}

fr_status fr_gnn_infer(const char *run, fr_graph *graph, const char *npy, const fr_gnn_infer_options *options,
                       const fr_gnn_observer *observer)
{
    static const fr_gnn_infer_options none = {0};
    options = options != NULL ? options : &none;
    if (options->embeddings && options->classes)
        return fr_fail(FR_EINVAL, "embeddings and classes exclude each other");
    if (npy[0] == '\0')
        return fr_fail(FR_EINVAL, "the output has no name");
    trained t = {0};
    char *folder = NULL;
    const float *table;
    int64_t width;
    fr_status status;
    FR_TRY(folder_of(npy, &folder));
    FR_TRY(open_trained(run, graph, folder, options->memory_bytes > 0 ? options->memory_bytes : DEFAULT_MEMORY, &t));
    FR_TRY(fr_gnn_inference_run(t.inference, options->embeddings, observer, &table, &width));
    const int64_t n = fr_graph_get_info(graph)->n_nodes;
    FR_TRY(options->classes ? write_classes(npy, table, n, width) : write_rows(npy, table, n, width));
done:
    close_trained(&t);
    fr_free(folder);
    return status;
}
