/*
 * names.h: distinct texts numbered 0, 1, .. in the order they were added.
 *
 *     slots: [ . 2 . . 0 . 1 . ]   open addressing, linear probing, at most two thirds full
 *     ends:  [ 3 8 12 ]            text i is bytes[ends[i-1] .. ends[i])
 *
 * Costs the texts' bytes and about 20 bytes each.
 */
#ifndef FR_FORMAT_NAMES_H
#define FR_FORMAT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_names fr_names;

fr_status fr_names_create(fr_names **names) FR_MUST_USE;
void fr_names_free(fr_names *names); /* NULL-safe */
/** Adds a text; *is_new is false, and nothing changes, where it is there already. */
fr_status fr_names_add(fr_names *names, const char *text, bool *is_new) FR_MUST_USE;
int64_t fr_names_count(const fr_names *names);
/** The number of a text, -1 where it was not added. */
int64_t fr_names_find(const fr_names *names, const char *text);

#endif
