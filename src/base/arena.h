/*
 * arena.h: scratch memory freed all at once: chunks in a list, a pointer that moves.
 */
#ifndef FR_BASE_ARENA_H
#define FR_BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"

typedef struct fr_arena fr_arena;

fr_status fr_arena_create(size_t chunk_bytes, fr_arena **arena) FR_MUST_USE;
/** Zeroed, aligned to 16 bytes, valid until reset or free. NULL where memory ran out (sentence
 * left). */
void *fr_arena_alloc(fr_arena *arena, size_t count, size_t size);
/** A copy of a string in the arena. */
char *fr_arena_strdup(fr_arena *arena, const char *text);
/** Forgets all blocks but keeps the chunks. */
void fr_arena_reset(fr_arena *arena);
void fr_arena_free(fr_arena *arena);

#endif
