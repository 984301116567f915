/*
 * vector_avx2.h: the operations of vector_avx512.h, 8 floats wide.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8, BLOCK = 8 };

typedef __m256 vec;
typedef __m256i ivec;
typedef __m256i mask; /* top bit of a lane set: it counts */

INLINE mask mask_of(int64_t lanes)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)lanes),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vec vec_zero(void) { return _mm256_setzero_ps(); }
INLINE vec vec_all(float value) { return _mm256_set1_ps(value); }
INLINE vec vec_load(const float *from) { return _mm256_loadu_ps(from); }
INLINE vec vec_load_some(const float *from, mask m) { return _mm256_maskload_ps(from, m); }
INLINE void vec_store(float *to, vec v) { _mm256_storeu_ps(to, v); }
INLINE void vec_store_some(float *to, mask m, vec v) { _mm256_maskstore_ps(to, m, v); }
INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
INLINE vec vec_subtract(vec a, vec b) { return _mm256_sub_ps(a, b); }
INLINE vec vec_multiply(vec a, vec b) { return _mm256_mul_ps(a, b); }
INLINE vec vec_divide(vec a, vec b) { return _mm256_div_ps(a, b); }
INLINE vec vec_sqrt(vec a) { return _mm256_sqrt_ps(a); }
INLINE vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
INLINE vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE float vec_sum(vec v)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
INLINE vec vec_round(vec v) { return _mm256_round_ps(v, 8); }
/* As two factors, so that 2^n itself need not be a normal number. */
INLINE vec vec_scale(vec a, vec n)
{
    const vec lowest = vec_all(-250.0F), n_kept = _mm256_max_ps(lowest, n);
    const __m256i whole = _mm256_cvtps_epi32(n_kept), half = _mm256_srai_epi32(whole, 1);
    const __m256i rest = _mm256_sub_epi32(whole, half), bias = _mm256_set1_epi32(127);
    const vec f = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const vec g = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(a, f), g);
}
INLINE vec vec_keep(vec a, mask m, vec other)
{
    return _mm256_blendv_ps(other, a, _mm256_castsi256_ps(m));
}

INLINE ivec ivec_all(int32_t value) { return _mm256_set1_epi32(value); }
INLINE void ivec_store(int32_t *to, ivec v) { _mm256_storeu_si256((ivec *)(void *)to, v); }
INLINE void ivec_store_some(int32_t *to, mask m, ivec v) { _mm256_maskstore_epi32(to, m, v); }
INLINE ivec ivec_load_some(const int32_t *from, mask m) { return _mm256_maskload_epi32(from, m); }
INLINE vec vec_where_equal(vec v, ivec number, ivec value)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_cmpeq_epi32(number, value)));
}

INLINE ivec ivec_load(const int32_t *from)
{
    return _mm256_loadu_si256((const ivec *)(const void *)from);
}
/* lane l is table[index[l]] */
INLINE vec vec_pick(vec table, ivec index) { return _mm256_permutevar8x32_ps(table, index); }

INLINE void vec_take_larger(vec *best, ivec *winner, vec value, ivec number)
{
    const vec larger = _mm256_and_ps(_mm256_cmp_ps(value, *best, _CMP_NLE_UQ),
                                     _mm256_cmp_ps(*best, *best, _CMP_ORD_Q));
    *best = _mm256_blendv_ps(*best, value, larger);
    *winner = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(*winner), _mm256_castsi256_ps(number), larger));
}
