/*
 * interrupt.h: a request to stop, raised by a signal handler or another thread, polled by long
 * work.
 */
#ifndef FR_BASE_INTERRUPT_H
#define FR_BASE_INTERRUPT_H

#include <stdbool.h>

/** Async-signal-safe. */
void fr_interrupt_request(void);
void fr_interrupt_clear(void);
bool fr_interrupt_requested(void);

#endif
