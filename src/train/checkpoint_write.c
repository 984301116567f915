/*
 * checkpoint_write.c: streams named tensors and texts into one file, and commits it atomically.
 *
 * Memory: the index, and a copy of a tensor only where it is not contiguous. The first failure is
 * kept: later calls give it again, and the commit then removes what was written. So a caller may
 * add everything and look at the commit's status alone.
 */
#include <frugal/train.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "train/checkpoint_format.h"

struct fr_checkpoint_writer {
    fr_file_writer *file;
    char *path;
    char *index;
    size_t index_bytes, index_room;
    uint64_t n_entries;
    fr_status failed;
    char message[FR_ERROR_BYTES];
};

void fr_checkpoint_abort(fr_checkpoint_writer *writer)
{
    if (writer == NULL)
        return;
    fr_file_writer_abort(writer->file);
    fr_free(writer->index);
    fr_free(writer->path);
    fr_free(writer);
}

fr_status fr_checkpoint_create(const char *path, fr_checkpoint_writer **writer)
{
    fr_checkpoint_writer *made = NULL;
    fr_status status;
    char header[FR_CHECKPOINT_HEADER_BYTES] = {0};
    *writer = NULL;
    FR_TRY(fr_alloc(1, sizeof *made, "checkpoint writer", &made));
    FR_TRY(fr_strdup(path, &made->path));
    FR_TRY(fr_file_writer_open(path, &made->file));
    memcpy(header, fr_checkpoint_magic, sizeof fr_checkpoint_magic);
    FR_TRY(fr_file_writer_write(made->file, header, sizeof header));
    *writer = made;
    made = NULL;
done:
    fr_checkpoint_abort(made);
    return status;
}

/* Keeps the first failure, with its sentence. */
static fr_status note(fr_checkpoint_writer *writer, fr_status status)
{
    if (status != FR_OK && writer->failed == FR_OK) {
        writer->failed = status;
        (void)snprintf(writer->message, sizeof writer->message, "%s", fr_error_message());
    }
    return status;
}

static fr_status earlier_failure(const fr_checkpoint_writer *writer)
{
    if (writer->failed != FR_OK)
        fr_error_set(writer->message);
    return writer->failed;
}

static fr_status pad_to_alignment(fr_checkpoint_writer *writer)
{
    static const char zeros[FR_CHECKPOINT_ALIGNMENT];
    const uint64_t at = (uint64_t)fr_file_writer_position(writer->file);
    const uint64_t end = checkpoint_round_up(at, FR_CHECKPOINT_ALIGNMENT);
    return fr_file_writer_write(writer->file, zeros, (size_t)(end - at));
}

/* ---- the index ---- */

static fr_status check_name(const fr_checkpoint_writer *writer, const char *name, size_t name_bytes)
{
    if (name_bytes == 1 || name_bytes > FR_CHECKPOINT_MOST_NAME_BYTES)
        return fr_fail(FR_EINVAL, "%s: a name of %zu bytes, must be 1 to %d", writer->path,
                       name_bytes - 1, FR_CHECKPOINT_MOST_NAME_BYTES - 1);
    const char *at = writer->index;
    for (uint64_t i = 0; i < writer->n_entries; i++) {
        const uint64_t rank = checkpoint_get(at + ENTRY_RANK, 4);
        const uint64_t other_bytes = checkpoint_get(at + ENTRY_NAME_BYTES, 4);
        const char *other = at + FR_CHECKPOINT_ENTRY_BYTES + 8 * rank;
        if (strcmp(other, name) == 0)
            return fr_fail(FR_EEXIST, "%s: \"%s\" is in the checkpoint already", writer->path,
                           name);
        at = other + checkpoint_round_up(other_bytes, 8);
    }
    return FR_OK;
}

static fr_status grow_index(fr_checkpoint_writer *writer, size_t more)
{
    if (writer->index_bytes + more <= writer->index_room)
        return FR_OK;
    const size_t room = 2 * writer->index_room + more + 1024;
    FR_RETURN_IF_ERROR(fr_realloc(&writer->index, room, 1, "index of a checkpoint"));
    writer->index_room = room;
    return FR_OK;
}

/* One entry: its data, which lie at `data`, and its line of the index. */
static fr_status add_entry(fr_checkpoint_writer *writer, checkpoint_kind kind, const char *name,
                           const fr_tensor *shape, const void *data, size_t bytes)
{
    const size_t name_bytes = strlen(name) + 1;
    FR_RETURN_IF_ERROR(check_name(writer, name, name_bytes));
    const size_t rank = (size_t)shape->rank;
    const size_t entry_bytes =
        FR_CHECKPOINT_ENTRY_BYTES + 8 * rank + (size_t)checkpoint_round_up(name_bytes, 8);
    FR_RETURN_IF_ERROR(grow_index(writer, entry_bytes));
    FR_RETURN_IF_ERROR(pad_to_alignment(writer));
    char *entry = writer->index + writer->index_bytes;
    memset(entry, 0, entry_bytes);
    checkpoint_put(entry + ENTRY_KIND, 4, (uint64_t)kind);
    checkpoint_put(entry + ENTRY_DTYPE, 4, (uint64_t)shape->dtype);
    checkpoint_put(entry + ENTRY_RANK, 4, rank);
    checkpoint_put(entry + ENTRY_NAME_BYTES, 4, name_bytes);
    checkpoint_put(entry + ENTRY_OFFSET, 8, (uint64_t)fr_file_writer_position(writer->file));
    checkpoint_put(entry + ENTRY_BYTES, 8, bytes);
    checkpoint_put(entry + ENTRY_SUM, 8, fr_hash(data, bytes, 0));
    for (size_t i = 0; i < rank; i++)
        checkpoint_put(entry + FR_CHECKPOINT_ENTRY_BYTES + 8 * i, 8, (uint64_t)shape->shape[i]);
    memcpy(entry + FR_CHECKPOINT_ENTRY_BYTES + 8 * rank, name, name_bytes);
    FR_RETURN_IF_ERROR(fr_file_writer_write(writer->file, data, bytes));
    writer->index_bytes += entry_bytes;
    writer->n_entries++;
    return FR_OK;
}

/* ---- adding ---- */

static fr_status add_tensor(fr_checkpoint_writer *writer, const char *name, const fr_tensor *tensor)
{
    static const char nothing[1];
    fr_tensor copy = {0}; /* checks dtype, rank and shape too */
    fr_status status;
    int64_t bytes = 0;
    FR_TRY(fr_tensor_view(tensor->dtype, tensor->rank, tensor->shape, tensor->data, &copy));
    const int64_t count = fr_tensor_count(&copy);
    if (!fr_multiply(count, (int64_t)fr_dtype_bytes(tensor->dtype), &bytes))
        FR_TRY(fr_fail(FR_ESHAPE, "its bytes overflow"));
    if (bytes > 0 && !fr_tensor_is_contiguous(tensor)) {
        FR_TRY(fr_tensor_create(tensor->dtype, tensor->rank, tensor->shape, &copy));
        FR_TRY(fr_tensor_copy(tensor, &copy));
    }
    FR_TRY(add_entry(writer, CHECKPOINT_TENSOR, name, &copy, bytes > 0 ? copy.data : nothing,
                     (size_t)bytes));
done:
    fr_tensor_release(&copy);
    return status;
}

fr_status fr_checkpoint_add(fr_checkpoint_writer *writer, const char *name, const fr_tensor *tensor)
{
    FR_RETURN_IF_ERROR(earlier_failure(writer));
    return note(writer, fr_wrap(add_tensor(writer, name, tensor), "checkpoint entry \"%s\"", name));
}

fr_status fr_checkpoint_add_text(fr_checkpoint_writer *writer, const char *name, const char *text)
{
    FR_RETURN_IF_ERROR(earlier_failure(writer));
    const size_t bytes = strlen(text) + 1; /* with the 0, so that a reader hands out the mapping */
    const fr_tensor shape = {.dtype = FR_U8, .rank = 1, .shape = {(int64_t)bytes}};
    return note(writer, fr_wrap(add_entry(writer, CHECKPOINT_TEXT, name, &shape, text, bytes),
                                "checkpoint entry \"%s\"", name));
}

static fr_status write_end(fr_checkpoint_writer *writer)
{
    static const char nothing[1];
    char trailer[FR_CHECKPOINT_TRAILER_BYTES] = {0};
    const char *index = writer->index != NULL ? writer->index : nothing;
    FR_RETURN_IF_ERROR(pad_to_alignment(writer));
    checkpoint_put(trailer + TRAILER_OFFSET, 8, (uint64_t)fr_file_writer_position(writer->file));
    checkpoint_put(trailer + TRAILER_BYTES, 8, writer->index_bytes);
    checkpoint_put(trailer + TRAILER_COUNT, 8, writer->n_entries);
    checkpoint_put(trailer + TRAILER_INDEX_SUM, 8, fr_hash(index, writer->index_bytes, 0));
    checkpoint_put(trailer + TRAILER_SUM, 8, fr_hash(trailer, TRAILER_SUM, 0));
    memcpy(trailer + TRAILER_MAGIC, fr_checkpoint_end, sizeof fr_checkpoint_end);
    FR_RETURN_IF_ERROR(fr_file_writer_write(writer->file, index, writer->index_bytes));
    FR_RETURN_IF_ERROR(pad_to_alignment(writer));
    return fr_file_writer_write(writer->file, trailer, sizeof trailer);
}

fr_status fr_checkpoint_commit(fr_checkpoint_writer *writer)
{
    fr_status status;
    FR_TRY(earlier_failure(writer));
    FR_TRY(write_end(writer));
    fr_file_writer *file = writer->file;
    writer->file = NULL; /* the commit frees it, also where it fails */
    FR_TRY(fr_file_writer_commit(file));
done:
    fr_checkpoint_abort(writer);
    return status;
}
