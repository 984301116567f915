/* sparse_f32.c: the portable sparse loops for float. */
#define real float
#define real_exp expf
#define NAME fr_sparse_f32_portable
#include "kernel/sparse/sparse_template.h"
