/*
 * ids.h: numbering sparse node ids anew, in ascending order.
 */
#ifndef FR_FORMAT_IDS_H
#define FR_FORMAT_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_ids fr_ids;

/** Collects ids in a buffer of about memory_bytes / 4; distinct ids are kept besides. */
fr_status fr_ids_create(int64_t memory_bytes, fr_ids **ids) FR_MUST_USE;
void fr_ids_free(fr_ids *ids); /* NULL-safe */
fr_status fr_ids_add(fr_ids *ids, int64_t id) FR_MUST_USE; /* 0 or more */
/** Ends collecting: from here on the distinct ids, ascending, are numbered 0, 1, .. */
fr_status fr_ids_finish(fr_ids *ids) FR_MUST_USE;
int64_t fr_ids_count(const fr_ids *ids);
const uint64_t *fr_ids_sorted(const fr_ids *ids);
/** The number of an id that was added. */
int64_t fr_ids_number(const fr_ids *ids, int64_t id);
/** Whether ids are 0 .. count-1 already. */
bool fr_ids_are_dense(const fr_ids *ids);

#endif
