/*
 * error.h: leaving the sentence behind a status (private side of <frugal/status.h>).
 *
 * `return fr_fail(FR_ESHAPE, "matmul: inner sizes %" PRId64 " and %" PRId64 " differ", a, b);`
 * The sentence lies in a fixed buffer of the thread, so reporting a lack of memory allocates
 * nothing. A caller that knows more puts it in front: `return fr_wrap(status, "layer %d", i);`.
 */
#ifndef FR_BASE_ERROR_H
#define FR_BASE_ERROR_H

#include <frugal/status.h>

enum { FR_ERROR_BYTES = 1024 };

/** Leaves the sentence and returns `status`, so that it can stand behind `return`. */
fr_status fr_fail(fr_status status, const char *format, ...) FR_PRINTF(2, 3);

/** As fr_fail, with ": " and the words for the operating system's `error_number` appended;
 * ENOSPC and EDQUOT become FR_ENOSPC, ENOMEM becomes FR_ENOMEM, ENOENT becomes FR_ENOENT. */
fr_status fr_fail_errno(int error_number, const char *format, ...) FR_PRINTF(2, 3);

/** Puts "context: " in front of the thread's sentence; returns `status`; does nothing for FR_OK. */
fr_status fr_wrap(fr_status status, const char *format, ...) FR_PRINTF(2, 3);

/** Replaces the thread's sentence (a worker's first error handed over at the join). */
void fr_error_set(const char *message);

/** Jumps to the label `done` where `call` fails; needs a variable `fr_status status`. */
#define FR_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != FR_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/** Returns at once where `call` fails. */
#define FR_RETURN_IF_ERROR(call)                                                                   \
    do {                                                                                           \
        const fr_status fr_call_status = (call);                                                   \
        if (fr_call_status != FR_OK)                                                               \
            return fr_call_status;                                                                 \
    } while (0)

#endif
