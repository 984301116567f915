/* sparse_avx512.c: the sparse loops worth vectors, for avx512. */
#include "kernel/vector_avx512.h"

#include "kernel/sparse/spmm_vector.h"

#include "kernel/sparse/heads_vector.h"

#include "kernel/sparse/edge_vector.h"

const fr_sparse_kernels fr_sparse_f32_avx512 = {
    .sum = sum_rows,
    .max = max_rows,
    .scatter = scatter_rows,
    .dot = dot_rows,
    .softmax = softmax_rows,
    .softmax_gradient = softmax_gradient_rows,
};
