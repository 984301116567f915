/*
 * status.h: how every Frugal function reports what went wrong.
 *
 * A function that can fail returns fr_status; FR_OK is 0. On failure it has also left one
 * sentence with the facts in a buffer of the calling thread:
 *
 *     fr_graph *graph = NULL;
 *     if (fr_graph_open("cora.frgraph", NULL, &graph) != FR_OK)
 *         fprintf(stderr, "%s\n", fr_error_message());
 *
 * The sentence stays until the next failure on that thread. Outputs of a failed call are NULL
 * or unchanged. Stable.
 */
#ifndef FRUGAL_STATUS_H
#define FRUGAL_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FR_API __attribute__((visibility("default")))
#define FR_PRINTF(format_at, arguments_at) __attribute__((format(printf, format_at, arguments_at)))
#define FR_MUST_USE __attribute__((warn_unused_result))
#else
#define FR_API
#define FR_PRINTF(format_at, arguments_at)
#define FR_MUST_USE
#endif

/*
 * The one table of statuses: name, number, words. docs/errors.md and other languages' exceptions
 * come from it. A number is never reused.
 */
#define FR_STATUS_TABLE(X)                                                                         \
    X(FR_OK, 0, "done")                                                                            \
    X(FR_EINVAL, 1, "an argument or option has a value that makes no sense")                       \
    X(FR_ENOMEM, 2, "memory ran out, or a stated budget would be exceeded")                        \
    X(FR_EIO, 3, "the operating system failed to read or write")                                   \
    X(FR_EFORMAT, 4, "a file does not follow its format")                                          \
    X(FR_ESHAPE, 5, "shapes or sizes disagree")                                                    \
    X(FR_EDTYPE, 6, "an element type does not fit the operation")                                  \
    X(FR_ERANGE, 7, "a number lies outside what is allowed")                                       \
    X(FR_EEXIST, 8, "something is already there")                                                  \
    X(FR_ENOENT, 9, "something is not there")                                                      \
    X(FR_ENOSPC, 10, "the disk is full")                                                           \
    X(FR_ENOTSUP, 11, "this is not supported")                                                     \
    X(FR_EINTERRUPTED, 12, "stopped on request, state saved")                                      \
    X(FR_ECORRUPT, 13, "stored data does not match its checksum")                                  \
    X(FR_EINTERNAL, 14, "a defect in Frugal")

typedef enum fr_status {
#define FR_STATUS_ENUM(name, number, words) name = number,
    FR_STATUS_TABLE(FR_STATUS_ENUM)
#undef FR_STATUS_ENUM
} fr_status;

/** Returns the sentence of the calling thread's last failure; "" where there was none. */
FR_API const char *fr_error_message(void);

/** Returns the name of a status, such as "FR_EIO"; "FR_UNKNOWN" for a number that is none. */
FR_API const char *fr_status_name(fr_status status);

/** Returns a status in words, as in the table above. */
FR_API const char *fr_status_words(fr_status status);

/** Library version as "major.minor.patch". */
FR_API const char *fr_version(void);

#ifdef __cplusplus
}
#endif
#endif
