/* optimizer_avx2.c: the optimizers' inner loops, compiled for avx2. */
#define NAME fr_optimizer_avx2
#include "kernel/vector_avx2.h"

#include "kernel/optimizer_template.h"
