/*
 * zip.h: ZIP archives, ZIP64 included: members stored or deflated.
 *
 * The central directory is read and checked when opening; a member's bytes are checked against its CRC when read. A member whose
 * stated size deflate could not reach from its stored bytes (1,032 to 1) is refused before memory is taken.
 */
#ifndef FR_FORMAT_ZIP_H
#define FR_FORMAT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct fr_zip fr_zip;

fr_status fr_zip_open(const char *path, fr_zip **zip) FR_MUST_USE;
void fr_zip_free(fr_zip *zip); /* NULL-safe */
bool fr_zip_has(const fr_zip *zip, const char *member);
/** A member's bytes in a fresh block (fr_free). @return FR_ENOENT, FR_EFORMAT, FR_ECORRUPT, FR_ENOTSUP (encrypted, other methods) */
fr_status fr_zip_read(const fr_zip *zip, const char *member, char **bytes, size_t *length) FR_MUST_USE;

/** A member read from front to back, holding two buffers only; several may be open on one archive, which must outlive them.
 * Errors as fr_zip_read. */
typedef struct fr_zip_stream fr_zip_stream;
fr_status fr_zip_stream_open(const fr_zip *zip, const char *member, fr_zip_stream **stream) FR_MUST_USE;
void fr_zip_stream_free(fr_zip_stream *stream); /* NULL-safe */
uint64_t fr_zip_stream_length(const fr_zip_stream *stream); /* of the member, unpacked */
/** The next n bytes. @return FR_EFORMAT the member has fewer left, FR_ECORRUPT damaged data */
fr_status fr_zip_stream_read(fr_zip_stream *stream, void *bytes, size_t n) FR_MUST_USE;
/** Reads what is left and compares the checksum of the whole. */
fr_status fr_zip_stream_finish(fr_zip_stream *stream) FR_MUST_USE;

#endif
