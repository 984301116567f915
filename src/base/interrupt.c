/*
 * interrupt.c: one flag, set by a signal handler, polled by long work.
 */
#include "base/interrupt.h"

#include <stdatomic.h>

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may touch only lock-free atomics");

static atomic_bool requested;

void fr_interrupt_request(void) { atomic_store(&requested, true); }
void fr_interrupt_clear(void) { atomic_store(&requested, false); }
bool fr_interrupt_requested(void) { return atomic_load_explicit(&requested, memory_order_relaxed); }
