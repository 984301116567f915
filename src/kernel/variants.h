/*
 * variants.h: makes a template file into three versions of the same kernels: f32 for any processor,
 * f32 for AVX2, and f64 (the reference that gradients are checked in).
 *
 *     #define TEMPLATE "kernel/softmax_template.h"
 *     #include "kernel/variants.h"
 *     ...
 *     fr_parallel_for(n, tile, FR_PICK(softmax_rows, dtype), &context);
 *
 * A template writes `real` for the number type and VARIANT(name) for each function's name, with
 * VARIANT_TARGET in front of its type. Its loops are plain C over independent elements, which the
 * compiler vectorises; a sum or maximum along a row runs in ROW_LANES lanes that are then joined as
 * a tree (variant_rows.h). The order is written down, no fused multiply-add is contracted, so both
 * f32 versions give the same bits. There is no version for AVX-512: compilers prefer registers of
 * 256 bits there for loops like these.
 */
#include <frugal/tensor.h>
#include <math.h>
#include <stdint.h>

#include "base/parallel.h"
#include "kernel/cpu.h"
#include "kernel/vector_exp.h"

#ifndef FR_KERNEL_VARIANTS_H
#define FR_KERNEL_VARIANTS_H

enum { ROW_LANES = 16 };

#if defined(__x86_64__)
#define FR_PICK(name, dtype)                                                                       \
    ((dtype) == FR_F64 ? name##_f64 : fr_cpu_isa() >= FR_ISA_AVX2 ? name##_f32_avx2 : name##_f32)
#else
#define FR_PICK(name, dtype) ((dtype) == FR_F64 ? name##_f64 : name##_f32)
#endif

/** How many rows of `width` elements make a tile of about 16 Ki elements: by shape alone. */
static inline int64_t fr_rows_per_tile(int64_t width)
{
    return width <= 0 ? 16384 : width >= 16384 ? 1 : 16384 / width;
}

/*
 * Sums over rows (gradients of a scale, batch statistics) are cut into at most FR_ROW_CUTS partial
 * sums by the number of rows alone, and the partial sums are added in order.
 */
enum { FR_ROW_CUTS = 32 };
static inline int64_t fr_rows_per_cut(int64_t n_rows)
{
    const int64_t rows = (n_rows + FR_ROW_CUTS - 1) / FR_ROW_CUTS;
    return rows < 16 ? 16 : rows;
}

#endif

#define real float
#define VARIANT(name) name##_f32
#define VARIANT_TARGET
#include "kernel/variant_rows.h"
#include TEMPLATE
#undef VARIANT
#undef VARIANT_TARGET

#if defined(__x86_64__)
#define VARIANT(name) name##_f32_avx2
#define VARIANT_TARGET __attribute__((target("avx2")))
#include "kernel/variant_rows.h"
#include TEMPLATE
#undef VARIANT
#undef VARIANT_TARGET
#endif

#undef real
#define real double
#define VARIANT(name) name##_f64
#define VARIANT_TARGET
#include "kernel/variant_rows.h"
#include TEMPLATE
#undef VARIANT
#undef VARIANT_TARGET
#undef real
#undef TEMPLATE
