/*
 * interrupt.c: one flag, set by a signal handler, polled by long work.
 */
#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool requested; /* lock-free on every target: safe in a signal handler */

void fr_interrupt_request(void) { atomic_store(&requested, true); }
void fr_interrupt_clear(void) { atomic_store(&requested, false); }
bool fr_interrupt_requested(void) { return atomic_load_explicit(&requested, memory_order_relaxed); }
