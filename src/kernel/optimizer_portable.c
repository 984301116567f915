/* optimizer_portable.c: the optimizers' inner loops, compiled for portable. */
#define NAME fr_optimizer_portable
#include "kernel/vector_portable.h"

#include "kernel/optimizer_template.h"
