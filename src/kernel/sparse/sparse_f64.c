/* sparse_f64.c: the portable sparse loops for double, the reference of gradient checks. */
#define real double
#define real_exp exp
#define NAME fr_sparse_f64_portable
#include "kernel/sparse/sparse_template.h"
