/*
 * names.c: see names.h.
 */
#include "format/names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { LEAST_SLOTS = 1 << 10 };

struct fr_names {
    char *bytes;
    int64_t *ends, *slots; /* a slot holds number + 1, 0 where it is free */
    int64_t count, ends_capacity, bytes_capacity, n_slots;
};

static int64_t begin_of(const fr_names *names, int64_t i) { return i > 0 ? names->ends[i - 1] : 0; }

/* The slot of a text, or the free one where it would go. */
static int64_t slot_of(const fr_names *names, const char *text, size_t length)
{
    int64_t slot = (int64_t)(fr_hash(text, length, 0) & (uint64_t)(names->n_slots - 1));
    for (; names->slots[slot] != 0; slot = (slot + 1) & (names->n_slots - 1)) {
        const int64_t i = names->slots[slot] - 1, begin = begin_of(names, i);
        if (names->ends[i] - begin == (int64_t)length && memcmp(names->bytes + begin, text, length) == 0)
            return slot;
    }
    return slot;
}

static fr_status make_slots(fr_names *names, int64_t n_slots)
{
    int64_t *slots;
    FR_RETURN_IF_ERROR(fr_alloc((size_t)n_slots, sizeof *slots, "table of names", &slots));
    fr_free(names->slots);
    names->slots = slots;
    names->n_slots = n_slots;
    for (int64_t i = 0; i < names->count; i++) {
        const int64_t begin = begin_of(names, i);
        names->slots[slot_of(names, names->bytes + begin, (size_t)(names->ends[i] - begin))] = i + 1;
    }
    return FR_OK;
}

fr_status fr_names_create(fr_names **out)
{
    *out = NULL;
    fr_names *names;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *names, "table of names", &names));
    FR_TRY(make_slots(names, LEAST_SLOTS));
    *out = names;
    names = NULL;
done:
    fr_names_free(names);
    return status;
}

void fr_names_free(fr_names *names)
{
    if (names == NULL)
        return;
    fr_free(names->bytes);
    fr_free(names->ends);
    fr_free(names->slots);
    fr_free(names);
}

static fr_status make_room(fr_names *names, size_t length)
{
    const int64_t used = begin_of(names, names->count), wanted = used + (int64_t)length;
    if (wanted >= names->bytes_capacity) {
        FR_RETURN_IF_ERROR(fr_realloc(&names->bytes, (size_t)(wanted + wanted / 2 + 1024), 1, "names"));
        names->bytes_capacity = wanted + wanted / 2 + 1024;
    }
    if (names->count == names->ends_capacity) {
        const int64_t capacity = names->count + names->count / 2 + 128;
        FR_RETURN_IF_ERROR(fr_realloc(&names->ends, (size_t)capacity, sizeof *names->ends, "names"));
        names->ends_capacity = capacity;
    }
    return 3 * (names->count + 1) > 2 * names->n_slots ? make_slots(names, 2 * names->n_slots) : FR_OK;
}

fr_status fr_names_add(fr_names *names, const char *text, bool *is_new)
{
    const size_t length = strlen(text);
    *is_new = names->slots[slot_of(names, text, length)] == 0;
    if (!*is_new)
        return FR_OK;
    FR_RETURN_IF_ERROR(make_room(names, length));
    const int64_t begin = begin_of(names, names->count);
    if (length > 0)
        memcpy(names->bytes + begin, text, length);
    names->ends[names->count] = begin + (int64_t)length;
    names->slots[slot_of(names, text, length)] = ++names->count;
    return FR_OK;
}

int64_t fr_names_count(const fr_names *names) { return names->count; }

int64_t fr_names_find(const fr_names *names, const char *text) { return names->slots[slot_of(names, text, strlen(text))] - 1; }
