/*
 * alloc.h: the only door to the heap, so that every allocation is checked, counted and can be
 * made to fail by tests.
 *
 * All sizes are products of two numbers checked for overflow. `fr_live_blocks()` is what leak
 * tests compare; `fr_alloc_count()` is what the executor's "no allocation after warm-up" compares.
 * Injection: `fr_alloc_fail_at(n)` makes the n-th allocation from now (0 = the next) and only that
 * one fail.
 */
#ifndef FR_BASE_ALLOC_H
#define FR_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { FR_ALIGNMENT = 64 };

/** Zeroed memory for `count` things of `size` bytes; `what` names it in the sentence.
 * A count of 0 gives a valid block. Free with fr_free. Returns FR_ENOMEM, *out = NULL. */
fr_status fr_alloc(size_t count, size_t size, const char *what, void *out) FR_MUST_USE;

/** As fr_alloc, 64-byte aligned and not zeroed; blocks of 2 MiB and more ask for huge pages. */
fr_status fr_alloc_aligned(size_t count, size_t size, const char *what, void *out) FR_MUST_USE;

/** Grows or shrinks a block of fr_alloc kept in *inout (may be NULL); new bytes are not zeroed.
 * On failure the old block is untouched. */
fr_status fr_realloc(void *inout, size_t count, size_t size, const char *what) FR_MUST_USE;

/** Grows an array of fr_alloc kept in *inout to at least `needed` elements, with a fourth to spare, where *capacity is
 * less; contents are kept. For arrays that are filled again and again: after a while nothing is allocated. */
fr_status fr_reserve(void *inout, int64_t *capacity, int64_t needed, size_t size, const char *what) FR_MUST_USE;

/** Frees a block of any function here; NULL is fine. */
void fr_free(void *block);

/** A copy of a string, freed with fr_free. */
fr_status fr_strdup(const char *text, char **out) FR_MUST_USE;

/** A formatted string, freed with fr_free. */
fr_status fr_format(char **out, const char *format, ...) FR_PRINTF(2, 3) FR_MUST_USE;

/** count * size with overflow reported as FR_ENOMEM naming `what`. */
fr_status fr_checked_bytes(size_t count, size_t size, const char *what, size_t *out) FR_MUST_USE;

/** a * b for sizes of tensors and graphs; false (and *out = 0) on overflow or a negative factor. */
bool fr_multiply(int64_t a, int64_t b, int64_t *out) FR_MUST_USE;

int64_t fr_live_blocks(void);
int64_t fr_live_bytes(void);
int64_t fr_alloc_count(void);

/** Makes the n-th coming allocation fail (0 = the next); -1 switches injection off. */
void fr_alloc_fail_at(int64_t n);

#endif
