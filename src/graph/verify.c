/*
 * verify.c: every byte of a graph folder against its checksum, every index against the number of nodes.
 *
 * A corrupted feature file that nobody noticed is what users of public data sets met (ogb#176): here the chunk is
 * named.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "graph/graph.h"
#include "graph/meta.h"

typedef struct verify_progress {
    void (*report)(void *context, int64_t done_bytes, int64_t total_bytes);
    void *context;
    int64_t done, total;
} verify_progress;

static fr_status check_sums(const char *path, const fr_graph_file *file, const fr_mapping *mapping,
                            verify_progress *progress)
{
    if ((int64_t)mapping->length != file->n_bytes)
        return fr_fail(FR_EFORMAT, "%s: %zu bytes in the file, %" PRId64 " in meta.json", path,
                       mapping->length, file->n_bytes);
    for (int64_t i = 0; i < file->n_sums; i++) {
        const int64_t first = i * FR_CHECKSUM_CHUNK_BYTES;
        const int64_t left = file->n_bytes - first;
        const size_t length = (size_t)(left < FR_CHECKSUM_CHUNK_BYTES ? left : FR_CHECKSUM_CHUNK_BYTES);
        const uint64_t sum = fr_hash(mapping->bytes + first, length, 0);
        if (sum != file->sums[i])
            return fr_fail(FR_ECORRUPT, "%s: bytes %" PRId64 " to %" PRId64
                           " have checksum %016" PRIx64 ", meta.json says %016" PRIx64,
                           path, first, first + (int64_t)length - 1, sum, file->sums[i]);
        progress->done += (int64_t)length;
        if (progress->report != NULL)
            progress->report(progress->context, progress->done, progress->total);
        if (fr_interrupt_requested())
            return fr_fail(FR_EINTERRUPTED, "%s: stopped", path);
    }
    return FR_OK;
}

static fr_status check_indices(const char *path, const fr_mapping *mapping, const fr_graph_info *info)
{
    const uint64_t n_nodes = (uint64_t)info->n_nodes;
    const int64_t n = (int64_t)mapping->length / info->index_bytes;
    for (int64_t e = 0; e < n; e++) {
        const uint64_t source =
            info->index_bytes == 4 ? ((const uint32_t *)(const void *)mapping->bytes)[e]
                                   : ((const uint64_t *)(const void *)mapping->bytes)[e];
        if (source >= n_nodes)
            return fr_fail(FR_ERANGE, "%s: edge %" PRId64 " comes from node %" PRIu64
                           ", the graph has %" PRIu64,
                           path, e, source, n_nodes);
    }
    return FR_OK;
}

static fr_status verify_file(const char *folder, const fr_graph_file *file,
                             const fr_graph_info *info, verify_progress *progress)
{
    char *path = NULL;
    fr_mapping mapping = {0};
    fr_status status;
    FR_TRY(fr_path_join(folder, file->name, &path));
    FR_TRY(fr_mapping_open(path, &mapping));
    FR_TRY(check_sums(path, file, &mapping, progress));
    if (strcmp(file->name, "indices.bin") == 0)
        FR_TRY(check_indices(path, &mapping, info));
done:
    fr_mapping_close(&mapping);
    fr_free(path);
    return status;
}

fr_status fr_graph_verify(const char *path,
                          void (*report)(void *context, int64_t done_bytes, int64_t total_bytes),
                          void *context)
{
    fr_graph_meta meta = {0};
    fr_graph *graph = NULL;
    fr_status status;
    FR_TRY(fr_graph_meta_read(path, &meta));
    verify_progress progress = {.report = report, .context = context};
    for (int i = 0; i < meta.n_files; i++)
        progress.total += meta.files[i].n_bytes;
    for (int i = 0; i < meta.n_files; i++)
        FR_TRY(verify_file(path, &meta.files[i], &meta.info, &progress));
    /* Opening checks what holds between the files. */
    FR_TRY(fr_graph_open(path, &(fr_graph_options){.without_features = true}, &graph));
done:
    fr_graph_free(graph);
    fr_graph_meta_release(&meta);
    return status;
}
