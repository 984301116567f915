/*
 * checkpoint_read.c: maps a checkpoint, checks all of it, and hands out views.
 *
 * Opening checks, in this order: magic and trailer, index checksum, every entry against the one
 * arrangement its predecessors leave it, every data checksum (in parallel over entries), the zeros
 * in between. Only then does a caller see anything. Memory is taken for the table of entries alone:
 * at most one for every 48 bytes of an index that lies in the file.
 *
 * Entries are sorted by name: a look-up is a binary search, and a name that appears twice shows.
 */
#include <frugal/train.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "train/checkpoint_format.h"

typedef struct checkpoint_entry {
    const char *name; /* into the mapping, as the data */
    checkpoint_kind kind;
    fr_tensor view;
    uint64_t offset, bytes, sum;
    bool damaged;
} checkpoint_entry;

struct fr_checkpoint {
    char *path;
    fr_mapping mapping;
    checkpoint_entry *entries; /* by name */
    int64_t n_entries;
};

void fr_checkpoint_free(fr_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    fr_mapping_close(&checkpoint->mapping);
    fr_free(checkpoint->entries);
    fr_free(checkpoint->path);
    fr_free(checkpoint);
}

/* ---- opening ---- */

typedef struct index_place {
    uint64_t offset, bytes, n_entries;
} index_place;

static bool all_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static fr_status read_trailer(const fr_checkpoint *checkpoint, index_place *place)
{
    const char *path = checkpoint->path, *bytes = checkpoint->mapping.bytes;
    const uint64_t length = checkpoint->mapping.length;
    const uint64_t magic_bytes = sizeof fr_checkpoint_magic;
    if (length < magic_bytes || memcmp(bytes, fr_checkpoint_magic, magic_bytes) != 0)
        return fr_fail(FR_EFORMAT, "%s: is no checkpoint (does not begin with FRCKPT1)", path);
    if (length < FR_CHECKPOINT_HEADER_BYTES + FR_CHECKPOINT_TRAILER_BYTES)
        return fr_fail(FR_EFORMAT, "%s: a checkpoint has at least %d bytes, the file %" PRIu64,
                       path, FR_CHECKPOINT_HEADER_BYTES + FR_CHECKPOINT_TRAILER_BYTES, length);
    const uint64_t trailer_at = length - FR_CHECKPOINT_TRAILER_BYTES;
    const char *trailer = bytes + trailer_at;
    if (memcmp(trailer + TRAILER_MAGIC, fr_checkpoint_end, sizeof fr_checkpoint_end) != 0)
        return fr_fail(FR_EFORMAT, "%s: is cut off: its last bytes are not FRCKEND", path);
    if (checkpoint_get(trailer + TRAILER_SUM, 8) != fr_hash(trailer, TRAILER_SUM, 0))
        return fr_fail(FR_ECORRUPT, "%s: the trailer does not match its checksum", path);
    if (!all_zero(bytes + magic_bytes, FR_CHECKPOINT_HEADER_BYTES - magic_bytes) ||
        !all_zero(trailer + TRAILER_SUM_END, TRAILER_MAGIC - TRAILER_SUM_END))
        return fr_fail(FR_EFORMAT, "%s: unused bytes of header or trailer are not 0", path);
    place->offset = checkpoint_get(trailer + TRAILER_OFFSET, 8);
    place->bytes = checkpoint_get(trailer + TRAILER_BYTES, 8);
    place->n_entries = checkpoint_get(trailer + TRAILER_COUNT, 8);
    const uint64_t end = place->offset + place->bytes;
    if (place->offset < FR_CHECKPOINT_HEADER_BYTES || place->offset > trailer_at ||
        place->offset % FR_CHECKPOINT_ALIGNMENT != 0 || place->bytes > trailer_at - place->offset ||
        checkpoint_round_up(end, FR_CHECKPOINT_ALIGNMENT) != trailer_at ||
        !all_zero(bytes + end, (size_t)(trailer_at - end)))
        return fr_fail(FR_EFORMAT,
                       "%s: an index of %" PRIu64 " bytes at %" PRIu64
                       " does not fit a file of %" PRIu64,
                       path, place->bytes, place->offset, length);
    if (place->n_entries > place->bytes / FR_CHECKPOINT_ENTRY_BYTES)
        return fr_fail(FR_EFORMAT, "%s: %" PRIu64 " entries in an index of %" PRIu64 " bytes", path,
                       place->n_entries, place->bytes);
    if (checkpoint_get(trailer + TRAILER_INDEX_SUM, 8) !=
        fr_hash(bytes + place->offset, (size_t)place->bytes, 0))
        return fr_fail(FR_ECORRUPT, "%s: the index does not match its checksum", path);
    return FR_OK;
}

/* The shape of an entry as a view of its data; its bytes must be those of the shape. */
static fr_status read_shape(const fr_checkpoint *checkpoint, const char *at, uint64_t rank,
                            checkpoint_entry *entry)
{
    int64_t shape[FR_MAX_RANK], bytes = 0;
    const uint64_t dtype = checkpoint_get(at + ENTRY_DTYPE, 4);
    for (uint64_t i = 0; i < rank; i++)
        shape[i] = (int64_t)checkpoint_get(at + FR_CHECKPOINT_ENTRY_BYTES + 8 * i, 8);
    const fr_dtype known = dtype <= INT32_MAX ? (fr_dtype)dtype : FR_NO_DTYPE;
    if (fr_dtype_bytes(known) == 0)
        return fr_fail(FR_EFORMAT, "%s: \"%s\" has dtype number %" PRIu64, checkpoint->path,
                       entry->name, dtype);
    /* The view is read-only by contract; fr_tensor knows no const. */
    union {
        const char *read_only;
        void *data;
    } data = {.read_only = checkpoint->mapping.bytes + entry->offset};
    if (fr_tensor_view(known, (int)rank, shape, data.data, &entry->view) != FR_OK)
        return fr_wrap(FR_EFORMAT, "%s: \"%s\"", checkpoint->path, entry->name);
    if (!fr_multiply(fr_tensor_count(&entry->view), (int64_t)fr_dtype_bytes(known), &bytes) ||
        (uint64_t)bytes != entry->bytes)
        return fr_fail(FR_EFORMAT, "%s: \"%s\" has %" PRIu64 " bytes, its shape makes %" PRId64,
                       checkpoint->path, entry->name, entry->bytes, bytes);
    return FR_OK;
}

static fr_status check_text(const fr_checkpoint *checkpoint, const checkpoint_entry *entry)
{
    if (entry->kind != CHECKPOINT_TEXT)
        return FR_OK;
    const char *text = checkpoint->mapping.bytes + entry->offset;
    if (entry->view.dtype != FR_U8 || entry->view.rank != 1 || entry->bytes == 0 ||
        memchr(text, 0, (size_t)entry->bytes) != text + entry->bytes - 1)
        return fr_fail(FR_EFORMAT, "%s: \"%s\" is no text that ends in its only 0",
                       checkpoint->path, entry->name);
    return FR_OK;
}

/* Reads the entry at `at`, of which `left` bytes of index remain; *used gets its bytes. Its data
 * must begin at the first aligned byte from *data_end, which moves to their end. */
static fr_status read_entry(const fr_checkpoint *checkpoint, const char *at, uint64_t left,
                            uint64_t index_at, uint64_t *data_end, uint64_t *used,
                            checkpoint_entry *entry)
{
    const char *path = checkpoint->path, *bytes = checkpoint->mapping.bytes;
    if (left < FR_CHECKPOINT_ENTRY_BYTES)
        return fr_fail(FR_EFORMAT, "%s: the index ends within an entry", path);
    const uint64_t kind = checkpoint_get(at + ENTRY_KIND, 4),
                   rank = checkpoint_get(at + ENTRY_RANK, 4);
    const uint64_t name_bytes = checkpoint_get(at + ENTRY_NAME_BYTES, 4);
    if (kind > CHECKPOINT_TEXT || rank > FR_MAX_RANK || name_bytes < 2 ||
        name_bytes > FR_CHECKPOINT_MOST_NAME_BYTES)
        return fr_fail(FR_EFORMAT,
                       "%s: an entry of kind %" PRIu64 ", rank %" PRIu64 ", name of %" PRIu64
                       " bytes",
                       path, kind, rank, name_bytes);
    const uint64_t before_name = FR_CHECKPOINT_ENTRY_BYTES + 8 * rank;
    *used = before_name + checkpoint_round_up(name_bytes, 8);
    if (*used > left)
        return fr_fail(FR_EFORMAT, "%s: the index ends within an entry", path);
    entry->kind = (checkpoint_kind)kind;
    entry->name = at + before_name;
    if (memchr(entry->name, 0, (size_t)name_bytes) != entry->name + name_bytes - 1 ||
        !all_zero(entry->name + name_bytes, (size_t)(*used - before_name - name_bytes)))
        return fr_fail(FR_EFORMAT, "%s: a name in the index does not end in its only 0", path);
    entry->offset = checkpoint_get(at + ENTRY_OFFSET, 8);
    entry->bytes = checkpoint_get(at + ENTRY_BYTES, 8);
    entry->sum = checkpoint_get(at + ENTRY_SUM, 8);
    const uint64_t begin = checkpoint_round_up(*data_end, FR_CHECKPOINT_ALIGNMENT);
    if (entry->offset != begin || begin > index_at || entry->bytes > index_at - begin)
        return fr_fail(FR_EFORMAT,
                       "%s: \"%s\" has %" PRIu64 " bytes at %" PRIu64 ", expected at %" PRIu64
                       ", the index begins at %" PRIu64,
                       path, entry->name, entry->bytes, entry->offset, begin, index_at);
    if (!all_zero(bytes + *data_end, (size_t)(begin - *data_end)))
        return fr_fail(FR_EFORMAT, "%s: bytes before \"%s\" are not 0", path, entry->name);
    *data_end = begin + entry->bytes;
    return read_shape(checkpoint, at, rank, entry);
}

static fr_status read_index(fr_checkpoint *checkpoint, const index_place *place)
{
    const char *at = checkpoint->mapping.bytes + place->offset;
    uint64_t left = place->bytes, data_end = FR_CHECKPOINT_HEADER_BYTES;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)place->n_entries, sizeof *checkpoint->entries,
                                "entries of a checkpoint", &checkpoint->entries));
    checkpoint->n_entries = (int64_t)place->n_entries;
    for (int64_t i = 0; i < checkpoint->n_entries; i++) {
        uint64_t used = 0;
        FR_RETURN_IF_ERROR(read_entry(checkpoint, at, left, place->offset, &data_end, &used,
                                      &checkpoint->entries[i]));
        at += used;
        left -= used;
    }
    const uint64_t end = checkpoint_round_up(data_end, FR_CHECKPOINT_ALIGNMENT);
    if (left != 0 || end != place->offset ||
        !all_zero(checkpoint->mapping.bytes + data_end, (size_t)(end - data_end)))
        return fr_fail(FR_EFORMAT,
                       "%s: bytes lie between the last entry and the index, or after it",
                       checkpoint->path);
    return FR_OK;
}

static void check_sums(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    fr_checkpoint *checkpoint = context;
    for (int64_t i = begin; i < end; i++) {
        checkpoint_entry *entry = &checkpoint->entries[i];
        entry->damaged = fr_hash(checkpoint->mapping.bytes + entry->offset, (size_t)entry->bytes,
                                 0) != entry->sum;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const checkpoint_entry *)a)->name, ((const checkpoint_entry *)b)->name);
}

static fr_status check_entries(fr_checkpoint *checkpoint)
{
    fr_parallel_for(checkpoint->n_entries, 1, check_sums, checkpoint);
    for (int64_t i = 0; i < checkpoint->n_entries; i++) {
        if (checkpoint->entries[i].damaged)
            return fr_fail(FR_ECORRUPT, "%s: \"%s\" does not match its checksum", checkpoint->path,
                           checkpoint->entries[i].name);
        FR_RETURN_IF_ERROR(check_text(checkpoint, &checkpoint->entries[i]));
    }
    qsort(checkpoint->entries, (size_t)checkpoint->n_entries, sizeof *checkpoint->entries,
          compare_names);
    for (int64_t i = 1; i < checkpoint->n_entries; i++)
        if (compare_names(&checkpoint->entries[i - 1], &checkpoint->entries[i]) == 0)
            return fr_fail(FR_EFORMAT, "%s: \"%s\" appears twice", checkpoint->path,
                           checkpoint->entries[i].name);
    return FR_OK;
}

fr_status fr_checkpoint_open(const char *path, fr_checkpoint **checkpoint)
{
    fr_checkpoint *made = NULL;
    index_place place = {0};
    fr_status status;
    *checkpoint = NULL;
    FR_TRY(fr_alloc(1, sizeof *made, "checkpoint", &made));
    FR_TRY(fr_strdup(path, &made->path));
    FR_TRY(fr_mapping_open(path, &made->mapping));
    FR_TRY(read_trailer(made, &place));
    FR_TRY(read_index(made, &place));
    FR_TRY(check_entries(made));
    *checkpoint = made;
    made = NULL;
done:
    fr_checkpoint_free(made);
    return status;
}

/* ---- looking up ---- */

/* The entry, or NULL with the sentence left. */
static const checkpoint_entry *find(const fr_checkpoint *checkpoint, const char *name,
                                    checkpoint_kind kind)
{
    const checkpoint_entry key = {.name = name}, *entry = NULL;
    if (checkpoint->n_entries > 0)
        entry = bsearch(&key, checkpoint->entries, (size_t)checkpoint->n_entries, sizeof key,
                        compare_names);
    if (entry != NULL && entry->kind == kind)
        return entry;
    (void)fr_fail(FR_ENOENT, "%s: holds no %s \"%s\"", checkpoint->path,
                  kind == CHECKPOINT_TEXT ? "text" : "tensor", name);
    return NULL;
}

fr_status fr_checkpoint_tensor(const fr_checkpoint *checkpoint, const char *name, fr_tensor *view)
{
    const checkpoint_entry *entry = find(checkpoint, name, CHECKPOINT_TENSOR);
    if (entry == NULL)
        return FR_ENOENT;
    *view = entry->view;
    return FR_OK;
}

fr_status fr_checkpoint_text(const fr_checkpoint *checkpoint, const char *name, const char **text)
{
    const checkpoint_entry *entry = find(checkpoint, name, CHECKPOINT_TEXT);
    if (entry == NULL)
        return FR_ENOENT;
    *text = checkpoint->mapping.bytes + entry->offset;
    return FR_OK;
}

fr_status fr_checkpoint_read(const fr_checkpoint *checkpoint, const char *name, fr_dtype dtype,
                             int64_t count, void *out)
{
    const checkpoint_entry *entry = find(checkpoint, name, CHECKPOINT_TENSOR);
    if (entry == NULL)
        return FR_ENOENT;
    const int64_t stored = fr_tensor_count(&entry->view);
    if (entry->view.dtype != dtype || stored != count)
        return fr_fail(FR_ESHAPE, "%s: \"%s\" holds %" PRId64 " %s, wanted are %" PRId64 " %s",
                       checkpoint->path, name, stored, fr_dtype_name(entry->view.dtype), count,
                       fr_dtype_name(dtype));
    if (entry->bytes > 0)
        memcpy(out, entry->view.data, (size_t)entry->bytes);
    return FR_OK;
}
