/*
 * arena.c: a list of chunks and a pointer that moves. See arena.h.
 *
 * Reset keeps the chunks; an allocation larger than a chunk gets one of its own size.
 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { ALIGNMENT = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t bytes, used;
    char *memory;
} chunk;

struct fr_arena {
    size_t chunk_bytes;
    chunk *first, *current;
};

fr_status fr_arena_create(size_t chunk_bytes, fr_arena **arena)
{
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof **arena, "arena", arena));
    (*arena)->chunk_bytes = chunk_bytes;
    return FR_OK;
}

static chunk *add_chunk(fr_arena *arena, size_t bytes)
{
    chunk *made = NULL;
    if (fr_alloc(1, sizeof *made, "arena", &made) != FR_OK)
        return NULL;
    made->bytes = bytes > arena->chunk_bytes ? bytes : arena->chunk_bytes;
    if (fr_alloc(made->bytes, 1, "arena", &made->memory) != FR_OK) {
        fr_free(made);
        return NULL;
    }
    if (arena->current == NULL) {
        arena->first = made;
    } else {
        made->next = arena->current->next;
        arena->current->next = made;
    }
    arena->current = made;
    return made;
}

void *fr_arena_alloc(fr_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (fr_checked_bytes(count, size, "arena", &bytes) != FR_OK)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    chunk *c = arena->current;
    while (c != NULL && c->bytes - c->used < bytes && c->next != NULL) {
        c = c->next;
        arena->current = c;
    }
    if (c == NULL || c->bytes - c->used < bytes)
        c = add_chunk(arena, bytes);
    if (c == NULL)
        return NULL;
    char *block = c->memory + c->used;
    c->used += bytes;
    return memset(block, 0, bytes); /* after a reset the chunk holds old bytes */
}

char *fr_arena_strdup(fr_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = fr_arena_alloc(arena, bytes, 1);
    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

void fr_arena_reset(fr_arena *arena)
{
    for (chunk *c = arena->first; c != NULL; c = c->next)
        c->used = 0;
    arena->current = arena->first;
}

void fr_arena_free(fr_arena *arena)
{
    if (arena == NULL)
        return;
    for (chunk *c = arena->first, *next; c != NULL; c = next) {
        next = c->next;
        fr_free(c->memory);
        fr_free(c);
    }
    fr_free(arena);
}
