/* optimizer_avx512.c: the optimizers' inner loops, compiled for avx512. */
#define NAME fr_optimizer_avx512
#include "kernel/vector_avx512.h"

#include "kernel/optimizer_template.h"
