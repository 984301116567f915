/*
 * meta.h: meta.json of a graph folder: what the graph is, and each file's length and chunk checksums.
 */
#ifndef FR_GRAPH_META_H
#define FR_GRAPH_META_H

#include <frugal/graph.h>

enum { FR_GRAPH_MAX_FILES = 8 };

typedef struct fr_graph_file {
    char name[32]; /* "indptr.bin" */
    int64_t n_bytes;
    int64_t n_sums;
    uint64_t *sums; /* owned; one per FR_CHECKSUM_CHUNK_BYTES */
} fr_graph_file;

typedef struct fr_graph_meta {
    fr_graph_info info;
    fr_graph_file files[FR_GRAPH_MAX_FILES];
    int n_files;
} fr_graph_meta;

/** Reads and checks FOLDER/meta.json (fields, ranges, one sum per chunk; not yet the files). */
fr_status fr_graph_meta_read(const char *folder, fr_graph_meta *meta) FR_MUST_USE;
fr_status fr_graph_meta_write(const char *folder, const fr_graph_meta *meta) FR_MUST_USE;
/** Adds FOLDER/name with its length and sums, read from the disk. */
fr_status fr_graph_meta_add_file(const char *folder, const char *name, fr_graph_meta *meta) FR_MUST_USE;
/** The entry of a file, NULL where meta.json has none. */
const fr_graph_file *fr_graph_meta_find(const fr_graph_meta *meta, const char *name);
void fr_graph_meta_release(fr_graph_meta *meta); /* safe on a zeroed struct */

#endif
