/*
 * build_layout.c: the typed calls of program.h that move elements: reshape, transpose, concat,
 * slice, gather, embedding and the merge of computed and cached rows. Names and attributes put in
 * place for fr_apply, nothing more.
 */
#include <frugal/program.h>

#include "program/op.h"

fr_value fr_gather(fr_program *p, fr_value x, fr_value indices, int axis)
{
    const fr_value operands[] = {x, indices};
    return fr_apply_one(p, "Gather", operands, 2, &FR_INT("axis", axis), 1);
}

fr_value fr_concat(fr_program *p, const fr_value *values, int n, int axis)
{
    return fr_apply_one(p, "Concat", values, n, &FR_INT("axis", axis), 1);
}

fr_value fr_slice(fr_program *p, fr_value x, int axis, fr_dim begin, fr_dim end)
{
    const fr_dim bounds[] = {begin, end};
    const fr_attribute given[] = {FR_INT("axis", axis), FR_DIMS("bounds", bounds, 2)};
    return fr_apply_one(p, "Slice", &x, 1, given, 2);
}

fr_value fr_reshape(fr_program *p, fr_value x, fr_shape shape)
{
    return fr_apply_one(p, "Reshape", &x, 1, &FR_DIMS("shape", shape.dims, shape.rank), 1);
}

fr_value fr_transpose(fr_program *p, fr_value x, const int64_t *permutation, int rank)
{
    return fr_apply_one(p, "Transpose", &x, 1, &FR_INTS("perm", permutation, rank), 1);
}

fr_value fr_embedding(fr_program *p, fr_value table, fr_value ids)
{
    const fr_value operands[] = {table, ids};
    return fr_apply_one(p, "Embedding", operands, 2, NULL, 0);
}

fr_value fr_merge_rows(fr_program *p, fr_value computed, fr_value cached, fr_value position)
{
    const fr_value operands[] = {computed, cached, position};
    return fr_apply_one(p, "MergeRows", operands, 3, NULL, 0);
}
