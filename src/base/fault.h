/*
 * fault.h: injected failures of system calls, shared by the file modules.
 */
#ifndef FR_BASE_FAULT_H
#define FR_BASE_FAULT_H

#include <stdbool.h>

/** Counts one system call; true (and errno set) where it is the one to fail. See fr_file_fail_at.
 */
bool fr_fault_due(void);

#endif
