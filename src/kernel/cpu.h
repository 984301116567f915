/*
 * cpu.h: what the processor can do, asked once. FR_ISA=portable|avx2|avx512 in the environment
 * lowers it (tests run all).
 */
#ifndef FR_KERNEL_CPU_H
#define FR_KERNEL_CPU_H

#include <stdbool.h>

typedef enum fr_isa { FR_ISA_PORTABLE, FR_ISA_AVX2, FR_ISA_AVX512 } fr_isa;

fr_isa fr_cpu_isa(void);
/** For tests: lowers the level (never above what is there); returns what is now in force. */
fr_isa fr_cpu_limit_isa(fr_isa isa);
const char *fr_isa_name(fr_isa isa);
bool fr_cpu_has_bf16(void);
const char *fr_cpu_name(void); /* "Intel(R) Xeon(R) ..." */

#endif
