/*
 * meta.c: meta.json, written last when a graph is built and read first when it is opened.
 *
 *     {"format": "frgraph", "version": 1, "n_nodes": .., "n_edges": .., "n_features": .., "n_classes": ..,
 *      "task": "multiclass", "index_bytes": 4, "has_weights": false, "feature_dtype": "f32",
 *      "n_train": .., "n_valid": .., "n_test": .., "n_labelled": ..,
 *      "chunk_bytes": 16777216, "files": {"indptr.bin": {"bytes": .., "sums": ["0123456789abcdef", ..]}, ..}}
 *
 * Sums are hexadecimal strings, since JSON numbers end at 2^53.
 */
#include "graph/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

enum { READ_BYTES = 1 << 20 };

static const char *task_name(fr_graph_task task)
{
    return task == FR_TASK_MULTILABEL ? "multilabel" : "multiclass";
}

void fr_graph_meta_release(fr_graph_meta *meta)
{
    for (int i = 0; i < meta->n_files; i++)
        fr_free(meta->files[i].sums);
    *meta = (fr_graph_meta){0};
}

const fr_graph_file *fr_graph_meta_find(const fr_graph_meta *meta, const char *name)
{
    for (int i = 0; i < meta->n_files; i++)
        if (strcmp(meta->files[i].name, name) == 0)
            return &meta->files[i];
    return NULL;
}

/* ---- writing ---- */

static fr_json *file_json(const fr_graph_file *file)
{
    fr_json *json = fr_json_object();
    fr_json_add_int(json, "bytes", file->n_bytes);
    fr_json *sums = fr_json_array();
    for (int64_t i = 0; i < file->n_sums; i++) {
        char text[17];
        (void)snprintf(text, sizeof text, "%016" PRIx64, file->sums[i]);
        fr_json_push(sums, fr_json_string(text));
    }
    fr_json_add(json, "sums", sums);
    return json;
}

fr_status fr_graph_meta_write(const char *folder, const fr_graph_meta *meta)
{
    const fr_graph_info *info = &meta->info;
    fr_json *json = fr_json_object();
    fr_json_add_string(json, "format", "frgraph");
    fr_json_add_int(json, "version", 1);
    fr_json_add_int(json, "n_nodes", info->n_nodes);
    fr_json_add_int(json, "n_edges", info->n_edges);
    fr_json_add_int(json, "n_features", info->n_features);
    fr_json_add_int(json, "n_classes", info->n_classes);
    fr_json_add_string(json, "task", task_name(info->task));
    fr_json_add_int(json, "index_bytes", info->index_bytes);
    fr_json_add_bool(json, "has_weights", info->has_weights);
    fr_json_add_string(json, "feature_dtype",
                       info->feature_dtype == FR_NO_DTYPE ? "none"
                                                          : fr_dtype_name(info->feature_dtype));
    fr_json_add_int(json, "n_labelled", info->n_labelled);
    fr_json_add_int(json, "n_train", info->n_train);
    fr_json_add_int(json, "n_valid", info->n_valid);
    fr_json_add_int(json, "n_test", info->n_test);
    fr_json_add_int(json, "chunk_bytes", FR_CHECKSUM_CHUNK_BYTES);
    fr_json *files = fr_json_object();
    for (int i = 0; i < meta->n_files; i++)
        fr_json_add(files, meta->files[i].name, file_json(&meta->files[i]));
    fr_json_add(json, "files", files);

    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, "meta.json", &path));
    FR_TRY(fr_json_write(path, json));
done:
    fr_free(path);
    fr_json_free(json);
    return status;
}

/* Reads a file from front to back; a mapping of all of it would count as memory held. */
static fr_status sum_file(const char *path, fr_chunk_sums *sums)
{
    char *block = NULL;
    int64_t length;
    fr_status status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fr_fail_errno(errno, "%s", path);
    FR_TRY(fr_file_length(path, &length));
    FR_TRY(fr_alloc(READ_BYTES, 1, "file to sum", &block));
    FR_TRY(fr_chunk_sums_start(sums));
    for (int64_t at = 0; at < length; at += READ_BYTES) {
        const size_t n = length - at < READ_BYTES ? (size_t)(length - at) : READ_BYTES;
        FR_TRY(fr_read_at(fd, path, block, n, at));
        FR_TRY(fr_chunk_sums_feed(sums, block, n));
    }
    FR_TRY(fr_chunk_sums_finish(sums));
done:
    fr_free(block);
    (void)close(fd); /* only read */
    return status;
}

fr_status fr_graph_meta_add_file(const char *folder, const char *name, fr_graph_meta *meta)
{
    fr_graph_file *file = &meta->files[meta->n_files];
    fr_chunk_sums sums = {0};
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, name, &path));
    FR_TRY(sum_file(path, &sums));
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    file->n_bytes = sums.n_bytes;
    file->n_sums = sums.n_sums;
    file->sums = sums.sums;
    sums.sums = NULL;
    meta->n_files++;
done:
    fr_chunk_sums_free(&sums);
    fr_free(path);
    return status;
}

/* ---- reading ---- */

static fr_status read_sums(const char *origin, const fr_json *array, fr_graph_file *file)
{
    const int64_t chunk = FR_CHECKSUM_CHUNK_BYTES;
    const int64_t needed = file->n_bytes / chunk + (file->n_bytes % chunk != 0);
    file->n_sums = cJSON_GetArraySize(array);
    if (file->n_sums != needed)
        return fr_fail(FR_EFORMAT, "%s: %s has %" PRId64 " bytes but %" PRId64
                       " checksums instead of %" PRId64,
                       origin, file->name, file->n_bytes, file->n_sums, needed);
    FR_RETURN_IF_ERROR(fr_alloc((size_t)file->n_sums, sizeof *file->sums, "checksums", &file->sums));
    int64_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        char *end = NULL;
        const char *text = cJSON_GetStringValue(item);
        if (text != NULL)
            file->sums[i] = strtoull(text, &end, 16);
        if (text == NULL || end != text + 16)
            return fr_fail(FR_EFORMAT, "%s: checksum %" PRId64 " of %s is no 16 hexadecimal digits",
                           origin, i, file->name);
        i++;
    }
    return FR_OK;
}

static fr_status read_files(const char *origin, const fr_json *files, fr_graph_meta *meta)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, files)
    {
        if (meta->n_files == FR_GRAPH_MAX_FILES || strlen(item->string) >= sizeof meta->files[0].name ||
            strchr(item->string, '/') != NULL)
            return fr_fail(FR_EFORMAT, "%s: files: \"%.40s\" is no file of a graph", origin,
                           item->string);
        fr_graph_file *file = &meta->files[meta->n_files++];
        (void)snprintf(file->name, sizeof file->name, "%s", item->string);
        const fr_json *sums;
        FR_RETURN_IF_ERROR(fr_json_get_int(item, origin, "bytes", &file->n_bytes));
        FR_RETURN_IF_ERROR(fr_json_get_array(item, origin, "sums", &sums));
        if (file->n_bytes < 0)
            return fr_fail(FR_ERANGE, "%s: %s has %" PRId64 " bytes", origin, file->name,
                           file->n_bytes);
        FR_RETURN_IF_ERROR(read_sums(origin, sums, file));
    }
    return FR_OK;
}

static fr_status read_info(const char *origin, const fr_json *json, fr_graph_info *info)
{
    const struct {
        const char *name;
        int64_t *value;
    } counts[] = {{"n_nodes", &info->n_nodes},       {"n_edges", &info->n_edges},
                  {"n_features", &info->n_features}, {"n_classes", &info->n_classes},
                  {"n_labelled", &info->n_labelled}, {"n_train", &info->n_train},
                  {"n_valid", &info->n_valid},       {"n_test", &info->n_test}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        FR_RETURN_IF_ERROR(fr_json_get_int(json, origin, counts[i].name, counts[i].value));
        if (*counts[i].value < 0)
            return fr_fail(FR_ERANGE, "%s: %s is %" PRId64 ", below 0", origin, counts[i].name,
                           *counts[i].value);
    }
    const char *task, *dtype;
    int64_t index_bytes;
    FR_RETURN_IF_ERROR(fr_json_get_string(json, origin, "task", &task));
    FR_RETURN_IF_ERROR(fr_json_get_string(json, origin, "feature_dtype", &dtype));
    FR_RETURN_IF_ERROR(fr_json_get_int(json, origin, "index_bytes", &index_bytes));
    FR_RETURN_IF_ERROR(fr_json_get_bool(json, origin, "has_weights", &info->has_weights));
    if (strcmp(task, "multiclass") != 0 && strcmp(task, "multilabel") != 0)
        return fr_fail(FR_EFORMAT, "%s: task is \"%.40s\", not multiclass or multilabel", origin,
                       task);
    info->task = strcmp(task, "multilabel") == 0 ? FR_TASK_MULTILABEL : FR_TASK_MULTICLASS;
    if (index_bytes != 4 && index_bytes != 8)
        return fr_fail(FR_EFORMAT, "%s: index_bytes is %" PRId64 ", not 4 or 8", origin,
                       index_bytes);
    info->index_bytes = (int)index_bytes;
    info->feature_dtype = fr_dtype_from_name(dtype);
    if (info->feature_dtype == FR_NO_DTYPE && strcmp(dtype, "none") != 0)
        return fr_fail(FR_EFORMAT, "%s: feature_dtype \"%.40s\" is not known", origin, dtype);
    return FR_OK;
}

fr_status fr_graph_meta_read(const char *folder, fr_graph_meta *meta)
{
    *meta = (fr_graph_meta){0};
    fr_json *json = NULL;
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(folder, "meta.json", &path));
    FR_TRY(fr_json_read(path, &json));
    const char *format;
    int64_t version, chunk_bytes;
    FR_TRY(fr_json_get_string(json, path, "format", &format));
    FR_TRY(fr_json_get_int(json, path, "version", &version));
    FR_TRY(fr_json_get_int(json, path, "chunk_bytes", &chunk_bytes));
    if (strcmp(format, "frgraph") != 0 || version != 1)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: format \"%.40s\" version %" PRId64 ", this reads frgraph 1",
                       path, format, version));
    if (chunk_bytes != FR_CHECKSUM_CHUNK_BYTES)
        FR_TRY(fr_fail(FR_EFORMAT, "%s: chunk_bytes is %" PRId64 ", not %d", path, chunk_bytes,
                       FR_CHECKSUM_CHUNK_BYTES));
    FR_TRY(read_info(path, json, &meta->info));
    const fr_json *files;
    FR_TRY(fr_json_get_object(json, path, "files", &files));
    FR_TRY(read_files(path, files, meta));
done:
    if (status != FR_OK)
        fr_graph_meta_release(meta);
    fr_json_free(json);
    fr_free(path);
    return status;
}
