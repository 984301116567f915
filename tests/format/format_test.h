/*
 * format_test.h: small files for importers, written by the tests themselves.
 */
#ifndef FR_FORMAT_TEST_H
#define FR_FORMAT_TEST_H

#include "test_main.h"

#include <frugal/format.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

/** "FOLDER/name" in one of a few turning buffers. */
static inline const char *path_in(const char *folder, const char *name)
{
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

static inline void write_gz(const char *path, const char *text)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

/** Bytes of a file, freed by the caller with free(). */
static inline unsigned char *read_bytes(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long n = ftell(file);
    assert_true(n >= 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)n, file), n);
    assert_int_equal(fclose(file), 0);
    *length = (size_t)n;
    return bytes;
}

/** The graph as rows of text, "target: source(weight) ...;", so that a test states it in one line. */
static inline const char *graph_text(const fr_graph *graph)
{
    static char text[1 << 16];
    const fr_graph_info *info = fr_graph_get_info(graph);
    const uint64_t *indptr = fr_graph_indptr(graph);
    const uint32_t *indices = fr_graph_indices32(graph);
    const float *weights = fr_graph_weights(graph);
    size_t n = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < info->n_nodes; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRId64 ":", i > 0 ? "; " : "", i);
        for (uint64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            n += (size_t)snprintf(text + n, sizeof text - n, " %u", indices[e]);
            if (weights != NULL)
                n += (size_t)snprintf(text + n, sizeof text - n, "(%g)", (double)weights[e]);
        }
    }
    return text;
}

typedef fr_status (*import_function)(const char *source, const char *path, const fr_import_options *options, fr_graph_build_counts *counts);

/** Imports into FOLDER/g.frgraph and opens it verified; fails the test where that fails. */
static inline fr_graph *import_graph(import_function import, const char *source, const char *folder, const fr_import_options *options)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/g.frgraph", folder);
    fr_graph *graph = NULL;
    fr_graph_build_counts counts;
    fr_import_options replacing = *options;
    replacing.replace = true;
    if (import(source, path, &replacing, &counts) != FR_OK || fr_graph_open(path, &(fr_graph_options){.verify = true}, &graph) != FR_OK)
        fail_msg("%s", fr_error_message());
    assert_int_equal(counts.edges_kept, fr_graph_get_info(graph)->n_edges);
    return graph;
}


/** A ZIP archive of one stored member, its local header, directory and end built by hand. @return its length */
static inline size_t make_zip(unsigned char *out, const char *name, const void *content, size_t n, int method, uint32_t size)
{
    const size_t k = strlen(name);
    const uint32_t crc = (uint32_t)crc32(0, content, (uInt)n);
    unsigned char local[30] = {'P', 'K', 3, 4, 20}, entry[46] = {'P', 'K', 1, 2, 20, 0, 20}, end[22] = {'P', 'K', 5, 6};
    const uint32_t n_local = (uint32_t)(30 + k + n), n_entry = (uint32_t)(46 + k), stored = (uint32_t)n;
    const uint16_t name_length = (uint16_t)k, method16 = (uint16_t)method;
    memcpy(local + 8, &method16, 2);
    memcpy(local + 26, &name_length, 2);
    memcpy(entry + 10, &method16, 2);
    memcpy(entry + 16, &crc, 4);
    memcpy(entry + 20, &stored, 4);
    memcpy(entry + 24, &size, 4);
    memcpy(entry + 28, &name_length, 2);
    end[8] = end[10] = 1;
    memcpy(end + 12, &n_entry, 4);
    memcpy(end + 16, &n_local, 4);
    unsigned char *at = out;
    memcpy(at, local, 30), at += 30;
    memcpy(at, name, k), at += k;
    memcpy(at, content, n), at += n;
    memcpy(at, entry, 46), at += 46;
    memcpy(at, name, k), at += k;
    memcpy(at, end, 22), at += 22;
    return (size_t)(at - out);
}

#endif
