/*
 * vector_avx512.h: the few vector operations the sparse and optimizer loops are written in, 16
 * floats wide.
 *
 * A mask says which lanes of the last, partly filled vector count; lanes outside it are neither
 * read nor written, so rows may end at the last byte of a page.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#define VECTOR_BLOCK_16
enum { LANES = 16, BLOCK = 16 }; /* BLOCK: vectors of a row summed at once; half the registers */

typedef __m512 vec;
typedef __m512i ivec;
typedef __mmask16 mask;

INLINE mask mask_of(int64_t lanes) { return (mask)((1U << lanes) - 1U); }
INLINE vec vec_zero(void) { return _mm512_setzero_ps(); }
INLINE vec vec_all(float value) { return _mm512_set1_ps(value); }
INLINE vec vec_load(const float *from) { return _mm512_loadu_ps(from); }
INLINE vec vec_load_some(const float *from, mask m) { return _mm512_maskz_loadu_ps(m, from); }
INLINE void vec_store(float *to, vec v) { _mm512_storeu_ps(to, v); }
INLINE void vec_store_some(float *to, mask m, vec v) { _mm512_mask_storeu_ps(to, m, v); }
INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec vec_subtract(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec vec_multiply(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec vec_divide(vec a, vec b) { return _mm512_div_ps(a, b); }
INLINE vec vec_sqrt(vec a) { return _mm512_sqrt_ps(a); }
INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); } /* b where either is no number */
/* a * b + c, rounded once */
INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE float vec_sum(vec v) { return _mm512_reduce_add_ps(v); }
INLINE vec vec_round(vec v) { return _mm512_roundscale_ps(v, 8); }
/* a * 2^n for whole n; 0 far below */
INLINE vec vec_scale(vec a, vec n) { return _mm512_scalef_ps(a, n); }
/* a where m, else `other` */
INLINE vec vec_keep(vec a, mask m, vec other) { return _mm512_mask_blend_ps(m, other, a); }

INLINE ivec ivec_all(int32_t value) { return _mm512_set1_epi32(value); }
INLINE void ivec_store(int32_t *to, ivec v) { _mm512_storeu_si512(to, v); }
INLINE void ivec_store_some(int32_t *to, mask m, ivec v) { _mm512_mask_storeu_epi32(to, m, v); }
INLINE ivec ivec_load_some(const int32_t *from, mask m)
{
    return _mm512_maskz_loadu_epi32(m, from);
}
/* v where the number is `value`, else 0 */
INLINE vec vec_where_equal(vec v, ivec number, ivec value)
{
    return _mm512_maskz_mov_ps(_mm512_cmpeq_epi32_mask(number, value), v);
}

INLINE ivec ivec_load(const int32_t *from) { return _mm512_loadu_si512(from); }
/* lane l is table[index[l]] */
INLINE vec vec_pick(vec table, ivec index) { return _mm512_permutexvar_ps(index, table); }

/* Takes `value` and `number` where value > best, or is the first that is no number. */
INLINE void vec_take_larger(vec *best, ivec *winner, vec value, ivec number)
{
    const mask larger = _mm512_cmp_ps_mask(value, *best, _CMP_NLE_UQ) &
                        _mm512_cmp_ps_mask(*best, *best, _CMP_ORD_Q);
    *best = _mm512_mask_mov_ps(*best, larger, value);
    *winner = _mm512_mask_mov_epi32(*winner, larger, number);
}
