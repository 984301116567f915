/*
 * cpu.c: which vector instructions may be used, from cpuid and from what the operating system
 * saves.
 *
 * An instruction set counts only where the processor has it *and* the system saves its registers at
 * a switch (XCR0): a virtual machine may announce one without the other. The level is worked out
 * once, lowered by FR_ISA, and read by every dispatch as one relaxed load.
 */
#include "kernel/cpu.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FR_X86
#include <cpuid.h>
#endif

enum { UNKNOWN = -1 };

static const char *const isa_names[] = {"portable", "avx2", "avx512"};
static _Atomic int level = UNKNOWN;

#if FR_X86

typedef struct cpuid_registers {
    uint32_t a, b, c, d;
} cpuid_registers;

static cpuid_registers cpuid(uint32_t leaf, uint32_t subleaf)
{
    cpuid_registers r = {0};
    if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d))
        return (cpuid_registers){0};
    return r;
}

/* Register sets the operating system saves: bit 1 xmm, 2 ymm, 5-7 zmm and masks. */
static uint32_t saved_state(void)
{
    enum { OSXSAVE = 1 << 27 };
    if ((cpuid(1, 0).c & OSXSAVE) == 0)
        return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_all(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

static fr_isa detect(void)
{
    const uint32_t ymm = 0x6, zmm = 0xe6;
    const uint32_t fma_f16c = 1U << 12 | 1U << 29;                         /* leaf 1 ecx */
    const uint32_t avx2 = 1U << 5;                                         /* leaf 7 ebx */
    const uint32_t f_dq_bw_vl = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31; /* leaf 7 ebx */
    const uint32_t saved = saved_state(), features = cpuid(7, 0).b;
    if (!has_all(saved, ymm) || !has_all(cpuid(1, 0).c, fma_f16c) || !has_all(features, avx2))
        return FR_ISA_PORTABLE;
    return has_all(saved, zmm) && has_all(features, f_dq_bw_vl) ? FR_ISA_AVX512 : FR_ISA_AVX2;
}

bool fr_cpu_has_bf16(void)
{
    const uint32_t avx512_bf16 = 1U << 5; /* leaf 7.1 eax */
    return fr_cpu_isa() == FR_ISA_AVX512 && has_all(cpuid(7, 1).a, avx512_bf16);
}

const char *fr_cpu_name(void)
{
    /* Filled anew by each call with the same bytes, hence per thread and not once under a lock. */
    static _Thread_local char name[49];
    for (uint32_t i = 0; i < 3; i++) {
        const cpuid_registers r = cpuid(0x80000002U + i, 0);
        memcpy(name + 16 * i, &r, sizeof r);
    }
    const char *start = name + strspn(name, " ");
    return *start == '\0' ? "unknown x86" : start;
}

#else

static fr_isa detect(void) { return FR_ISA_PORTABLE; }
bool fr_cpu_has_bf16(void) { return false; }
const char *fr_cpu_name(void) { return "unknown"; }

#endif

/* What FR_ISA allows; a name it does not know allows everything. */
static fr_isa allowed(void)
{
    const char *wish = getenv("FR_ISA");
    for (int i = FR_ISA_PORTABLE; wish != NULL && i <= FR_ISA_AVX512; i++)
        if (strcmp(wish, isa_names[i]) == 0)
            return (fr_isa)i;
    return FR_ISA_AVX512;
}

fr_isa fr_cpu_isa(void)
{
    int isa = atomic_load_explicit(&level, memory_order_relaxed);
    if (isa == UNKNOWN) {
        const fr_isa found = detect(), most = allowed();
        isa = (int)(found < most ? found : most);
        atomic_store_explicit(&level, isa, memory_order_relaxed);
    }
    return (fr_isa)isa;
}

fr_isa fr_cpu_limit_isa(fr_isa isa)
{
    const fr_isa found = detect(), least = isa < found ? isa : found;
    atomic_store_explicit(&level, (int)least, memory_order_relaxed);
    return least;
}

const char *fr_isa_name(fr_isa isa)
{
    const unsigned number = (unsigned)isa;
    return number < sizeof isa_names / sizeof *isa_names ? isa_names[number] : "?";
}
