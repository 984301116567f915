/*
 * error.c: the per-thread sentence behind a status, and the words of the status table.
 *
 * Invariant: the buffer always holds a terminated string; nothing here allocates or fails.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[FR_ERROR_BYTES];

const char *fr_error_message(void) { return message; }

void fr_error_set(const char *text) { (void)snprintf(message, sizeof message, "%s", text); }

fr_status fr_fail(fr_status status, const char *format, ...)
{
    /* Arguments may point into the old sentence, so it is replaced only at the end. */
    char text[FR_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fr_error_set(text);
    return status;
}

static fr_status status_of_errno(int error_number)
{
    switch (error_number) {
    case ENOSPC:
    case EDQUOT: return FR_ENOSPC;
    case ENOMEM: return FR_ENOMEM;
    case ENOENT: return FR_ENOENT;
    case EEXIST: return FR_EEXIST;
    default: return FR_EIO;
    }
}

fr_status fr_fail_errno(int error_number, const char *format, ...)
{
    char text[FR_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char words[128] = "";
    /* The XSI strerror_r is not visible under _GNU_SOURCE; the GNU one returns its text. */
    const char *system_words = strerror_r(error_number, words, sizeof words);
    return fr_fail(status_of_errno(error_number), "%s: %s", text, system_words);
}

fr_status fr_wrap(fr_status status, const char *format, ...)
{
    if (status == FR_OK)
        return status;
    char context[FR_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    return fr_fail(status, "%s: %s", context, message);
}

const char *fr_status_name(fr_status status)
{
    switch (status) {
#define NAME(name, number, words)                                                                  \
    case name: return #name;
        FR_STATUS_TABLE(NAME)
#undef NAME
    }
    return "FR_UNKNOWN";
}

const char *fr_status_words(fr_status status)
{
    switch (status) {
#define WORDS(name, number, words)                                                                 \
    case name: return words;
        FR_STATUS_TABLE(WORDS)
#undef WORDS
    }
    return "unknown status";
}

#ifndef FR_VERSION
#define FR_VERSION "0.1.0"
#endif

const char *fr_version(void) { return FR_VERSION; }
