/*
 * alloc.c: checked, counted heap blocks with failure injection.
 *
 * Each block carries a header in front of it: its size, for the counts, and the address the C
 * library gave, for the release of aligned blocks:
 *
 *     [raw ... | header (64 bytes) | block of the caller ...]
 *
 * so that one fr_free serves plain and aligned blocks. Counters are relaxed atomics: they are
 * totals, nothing is ordered by them.
 */
#include "base/alloc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct block_header {
    size_t bytes;
    void *raw;
} block_header;

enum { HEADER_BYTES = FR_ALIGNMENT, HUGE_BYTES = 2 << 20 };

static _Atomic int64_t live_blocks, live_bytes, alloc_count;
static _Atomic int64_t fail_at = -1;

int64_t fr_live_blocks(void) { return atomic_load(&live_blocks); }
int64_t fr_live_bytes(void) { return atomic_load(&live_bytes); }
int64_t fr_alloc_count(void) { return atomic_load(&alloc_count); }
void fr_alloc_fail_at(int64_t n) { atomic_store(&fail_at, n); }

/* `out` is the address of a pointer of any type; memcpy keeps that within the aliasing rules. */
static void set_pointer(void *out, void *block) { memcpy(out, &block, sizeof block); }

static bool injected_failure(void)
{
    if (atomic_load_explicit(&fail_at, memory_order_relaxed) < 0)
        return false;
    return atomic_fetch_sub(&fail_at, 1) == 0;
}

fr_status fr_checked_bytes(size_t count, size_t size, const char *what, size_t *out)
{
    *out = 0;
    if (__builtin_mul_overflow(count, size, out) ||
        *out > (size_t)PTRDIFF_MAX - (size_t)2 * HUGE_BYTES)
        return fr_fail(FR_ENOMEM, "%s: %zu elements of %zu bytes overflow the address space", what,
                       count, size);
    return FR_OK;
}

bool fr_multiply(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, out)) {
        *out = 0;
        return false;
    }
    return true;
}

static block_header *header_of(void *block)
{
    return (block_header *)(void *)((char *)block - HEADER_BYTES);
}

static void *adopt(void *raw, void *block, size_t bytes)
{
    block_header *header = header_of(block);
    header->bytes = bytes;
    header->raw = raw;
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&live_bytes, (int64_t)bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
    return block;
}

static fr_status out_of_memory(const char *what, size_t bytes)
{
    return fr_fail(FR_ENOMEM, "%s: out of memory for %zu bytes", what, bytes);
}

fr_status fr_alloc(size_t count, size_t size, const char *what, void *out)
{
    set_pointer(out, NULL);
    size_t bytes;
    FR_RETURN_IF_ERROR(fr_checked_bytes(count, size, what, &bytes));
    void *raw = injected_failure() ? NULL : calloc(1, bytes + HEADER_BYTES);
    if (raw == NULL)
        return out_of_memory(what, bytes);
    set_pointer(out, adopt(raw, (char *)raw + HEADER_BYTES, bytes));
    return FR_OK;
}

fr_status fr_alloc_aligned(size_t count, size_t size, const char *what, void *out)
{
    set_pointer(out, NULL);
    size_t bytes;
    FR_RETURN_IF_ERROR(fr_checked_bytes(count, size, what, &bytes));
    const bool huge = bytes >= HUGE_BYTES;
    const size_t alignment = huge ? HUGE_BYTES : FR_ALIGNMENT;
    void *raw = NULL;
    /* The header needs room in front of the aligned block: one alignment unit, of which a huge
     * block touches only the last page. */
    if (injected_failure() || posix_memalign(&raw, alignment, bytes + alignment) != 0)
        return out_of_memory(what, bytes);
    char *block = (char *)raw + alignment;
    if (huge)
        (void)madvise(block, bytes, MADV_HUGEPAGE); /* a wish: slower without, never wrong */
    set_pointer(out, adopt(raw, block, bytes));
    return FR_OK;
}

fr_status fr_realloc(void *inout, size_t count, size_t size, const char *what)
{
    void *block;
    memcpy(&block, inout, sizeof block);
    if (block == NULL)
        return fr_alloc(count, size, what, inout);
    size_t bytes;
    FR_RETURN_IF_ERROR(fr_checked_bytes(count, size, what, &bytes));
    block_header *const old = header_of(block);
    assert((char *)old ==
           (char *)old->raw); /* an aligned block does not start where realloc needs it to */
    const size_t old_bytes = old->bytes;
    void *raw = injected_failure() ? NULL : realloc(old->raw, bytes + HEADER_BYTES);
    if (raw == NULL)
        return out_of_memory(what, bytes);
    block = (char *)raw + HEADER_BYTES;
    *header_of(block) = (block_header){.bytes = bytes, .raw = raw};
    set_pointer(inout, block);
    atomic_fetch_add_explicit(&live_bytes, (int64_t)bytes - (int64_t)old_bytes,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
    return FR_OK;
}

fr_status fr_reserve(void *inout, int64_t *capacity, int64_t needed, size_t size, const char *what)
{
    if (needed <= *capacity)
        return FR_OK;
    const int64_t wanted = needed + needed / 4 + 64;
    FR_RETURN_IF_ERROR(fr_realloc(inout, (size_t)wanted, size, what));
    *capacity = wanted;
    return FR_OK;
}

void fr_free(void *block)
{
    if (block == NULL)
        return;
    const block_header header = *header_of(block);
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&live_bytes, (int64_t)header.bytes, memory_order_relaxed);
    free(header.raw);
}

fr_status fr_strdup(const char *text, char **out)
{
    const size_t bytes = strlen(text) + 1;
    FR_RETURN_IF_ERROR(fr_alloc(bytes, 1, "string", out));
    memcpy(*out, text, bytes);
    return FR_OK;
}

fr_status fr_format(char **out, const char *format, ...)
{
    *out = NULL;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    fr_status status = length < 0 ? fr_fail(FR_EINTERNAL, "a format string is wrong: %s", format)
                                  : fr_alloc((size_t)length + 1, 1, "string", out);
    if (status == FR_OK)
        (void)vsnprintf(*out, (size_t)length + 1, format, again);
    va_end(again);
    return status;
}
