/*
 * build_sparse.c: the typed calls of program.h for sparse operators: names and attributes put in
 * place for fr_apply, nothing more.
 */
#include <frugal/program.h>

#include "program/op.h"

static const char *const reduction_names[] = {
    [FR_SUM] = "sum", [FR_MEAN] = "mean", [FR_MAX] = "max"};

/* "?" is refused by the operator with its sentence. */
static const char *name_of(fr_reduction reduction)
{
    return reduction == FR_SUM || reduction == FR_MEAN || reduction == FR_MAX
               ? reduction_names[reduction]
               : "?";
}

fr_value fr_spmm(fr_program *p, fr_block block, fr_value x, fr_value weight, fr_reduction reduction)
{
    const fr_value operands[] = {block.begin, block.end, block.source, x, weight};
    const fr_attribute given = FR_STRING("reduction", name_of(reduction));
    fr_value outputs[2];
    fr_apply(p, "SpMM", operands, weight == FR_NO_VALUE ? 4 : 5, &given, 1, outputs, 2);
    return outputs[0];
}

fr_value fr_segment(fr_program *p, fr_value x, fr_value offset, fr_reduction reduction)
{
    const fr_value operands[] = {x, offset};
    const fr_attribute given = FR_STRING("reduction", name_of(reduction));
    fr_value outputs[2];
    fr_apply(p, "SegmentReduce", operands, 2, &given, 1, outputs, 2);
    return outputs[0];
}

fr_value fr_edge_add(fr_program *p, fr_block block, fr_value left, fr_value right)
{
    const fr_value operands[] = {block.begin, block.end, block.source, left, right};
    return fr_apply_one(p, "EdgeAdd", operands, 5, NULL, 0);
}

fr_value fr_edge_softmax(fr_program *p, fr_block block, fr_value scores)
{
    const fr_value operands[] = {block.begin, block.end, block.source, scores};
    return fr_apply_one(p, "EdgeSoftmax", operands, 4, NULL, 0);
}
