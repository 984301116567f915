/*
 * vector_portable.h: those operations of vector_avx512.h that plain C shares, one float wide.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 1 };

typedef float vec;
typedef bool mask;

INLINE mask mask_of(int64_t lanes) { return lanes > 0; }
INLINE vec vec_all(float value) { return value; }
INLINE vec vec_load(const float *from) { return *from; }
INLINE vec vec_load_some(const float *from, mask m) { return m ? *from : 0.0F; }
INLINE void vec_store(float *to, vec v) { *to = v; }
INLINE void vec_store_some(float *to, mask m, vec v)
{
    if (m)
        *to = v;
}
INLINE vec vec_add(vec a, vec b) { return a + b; }
INLINE vec vec_subtract(vec a, vec b) { return a - b; }
INLINE vec vec_multiply(vec a, vec b) { return a * b; }
INLINE vec vec_divide(vec a, vec b) { return a / b; }
INLINE vec vec_sqrt(vec a) { return sqrtf(a); }
