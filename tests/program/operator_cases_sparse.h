/*
 * operator_cases_sparse.h: cases of the operators over blocks and segments. Blocks have rows
 * without edges, rows that were pruned (end = begin, their edges left behind) and sources read by
 * many.
 */
#ifndef FR_TESTS_OPERATOR_CASES_SPARSE_H
#define FR_TESTS_OPERATOR_CASES_SPARSE_H

#include "operator_case.h"

typedef struct block_sizes {
    int64_t rows, edges, sources;
} block_sizes;

/* Adds operands begin, end and source. */
static block_sizes case_block(op_case *c)
{
    block_sizes at = {.rows = case_extent(c, 5, 1500), .sources = case_extent(c, 6, 900)};
    operand *begin = case_operand(c, OPERAND_I64, SHAPE(at.rows));
    operand *end = case_operand(c, OPERAND_I64, SHAPE(at.rows));
    for (int64_t i = 0; i < at.rows; i++) {
        begin->integers[i] = end->integers[i] = at.edges;
        at.edges += c->size == CASE_ONE ? 1
                    : at.sources == 0   ? 0
                                        : case_below(c, c->size == CASE_LARGE ? 30 : 6);
        if (c->size == CASE_ONE || case_below(c, 8) != 0)
            end->integers[i] = at.edges;
    }
    case_indices(c, OPERAND_I32, at.sources, SHAPE(at.edges));
    return at;
}

static void case_reduction(op_case *c, int which)
{
    static const char *const names[] = {"sum", "mean", "max"};
    case_attribute(c, FR_STRING("reduction", names[which % 3]));
}

/* The last operand becomes powers of two of either sign: products are exact, so that f32 and f64
 * agree on which is the largest. */
static void make_exact_weights(op_case *c)
{
    operand *weight = &c->inputs[c->n_inputs - 1];
    for (int64_t i = 0; i < weight->count; i++)
        weight->floats[i] = ldexp(case_below(c, 2) ? 1 : -1, (int)case_below(c, 4) - 2);
}

/* Rounds go through 3 reductions x (no weight, one a edge, heads). */
static void make_spmm(op_case *c)
{
    const block_sizes at = case_block(c);
    const int weighted = c->round / 3 % 3;
    const int64_t heads = weighted == 2 ? 1 + case_below(c, 3) : 1;
    const int64_t width = case_extent_least_1(c, 4, 21);
    case_floats(c, 1, SHAPE(at.sources, heads * width));
    if (weighted == 1)
        case_floats(c, 1, SHAPE(at.edges));
    else if (weighted == 2)
        case_floats(c, 1, SHAPE(at.edges, heads));
    case_reduction(c, c->round);
    if (c->round % 3 == 2 && weighted && c->size == CASE_LARGE)
        make_exact_weights(c);
    c->tolerance = 1e-4;
}

static void make_spmm_transposed(op_case *c)
{
    const block_sizes at = case_block(c);
    const int weighted = c->round / 2 % 3;
    const int64_t heads = weighted == 2 ? 1 + case_below(c, 3) : 1;
    const int64_t width = case_extent_least_1(c, 4, 21);
    case_floats(c, 1, SHAPE(at.rows, heads * width));
    if (weighted == 1)
        case_floats(c, 1, SHAPE(at.edges));
    else if (weighted == 2)
        case_floats(c, 1, SHAPE(at.edges, heads));
    case_reduction(c, c->round % 2);
    case_dims(c, "rows", &at.sources, 1);
    c->tolerance = 1e-4;
}

static void make_edge_dot(op_case *c)
{
    const block_sizes at = case_block(c);
    const int64_t heads = c->round % 3, width = case_extent_least_1(c, 4, 21);
    case_floats(c, 1, SHAPE(at.rows, (heads ? heads : 1) * width));
    case_floats(c, 1, SHAPE(at.sources, (heads ? heads : 1) * width));
    if (heads > 0)
        case_attribute(c, FR_INT("heads", heads));
    case_reduction(c, c->round % 2);
    c->tolerance = 1e-4;
}

static void make_edge_add(op_case *c)
{
    const block_sizes at = case_block(c);
    const int64_t heads = 1 + case_below(c, 4);
    case_floats(c, 1, SHAPE(at.rows, heads));
    case_floats(c, 1, SHAPE(at.sources, heads));
    c->tolerance = 1e-4;
}

static void make_edge_softmax(op_case *c)
{
    const block_sizes at = case_block(c);
    case_floats(c, 2, SHAPE(at.edges, 1 + case_below(c, 4)));
}

/* Offsets of n segments over m rows, adding the operand; some rows before and behind belong to
 * none. */
static void case_offsets(op_case *c, int64_t n, int64_t m)
{
    operand *offset = case_operand(c, OPERAND_I64, SHAPE(n + 1));
    int64_t at = m > 3 ? 1 : 0;
    for (int64_t i = 0; i <= n; i++) {
        offset->integers[i] = at;
        const int64_t left = m - at, most = 2 * m / (n + 1) + 2;
        at += left == 0 ? 0 : case_below(c, 1 + (left < most ? left : most));
    }
}

static void make_segment(op_case *c)
{
    const int64_t m = case_extent(c, 9, 6000), n = case_extent(c, 4, 500),
                  d = case_extent_least_1(c, 4, 11);
    if (c->round < 3)
        case_floats(c, 1, SHAPE(m, d));
    else
        case_floats(c, 1, SHAPE(m));
    case_offsets(c, n, m);
    case_reduction(c, c->round);
}

static void make_segment_grad(op_case *c)
{
    const int64_t m = case_extent(c, 9, 6000), n = case_extent(c, 4, 500),
                  d = case_extent_least_1(c, 4, 11);
    case_floats(c, 1, SHAPE(n, d));
    case_offsets(c, n, m);
    case_reduction(c, c->round % 2);
    case_dims(c, "rows", &m, 1);
}

/* clang-format off */
#define BLOCK_SPOILS \
    {SPOIL_DTYPE, 0, 0, NULL, 0}, {SPOIL_DTYPE, 2, 0, NULL, 0}, {SPOIL_SIZE, 1, 0, "end", 0}, \
    {SPOIL_RANK, 2, 0, NULL, 0}
/* clang-format on */

static const op_row sparse_rows[] = {
    {.op = "SpMM",
     .make = make_spmm,
     .rounds = 9,
     .spoils = {BLOCK_SPOILS,
                {SPOIL_RANK, 3, 0, NULL, 0},
                {SPOIL_DTYPE, 3, 0, NULL, 0},
                {SPOIL_SIZE, 4, 0, "weight", 0}}},
    {.op = "SpMMTransposed",
     .make = make_spmm_transposed,
     .rounds = 6,
     .spoils = {BLOCK_SPOILS,
                {SPOIL_RANK, 3, 0, NULL, 0},
                {SPOIL_SIZE, 3, 0, NULL, 0},
                {SPOIL_SIZE, 4, 0, "weight", 0}}},
    {.op = "EdgeDotMax", .covered_by = "SpMM"},
    {.op = "SegmentReduce",
     .make = make_segment,
     .rounds = 6,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0}}},
    {.op = "SegmentReduceGrad",
     .make = make_segment_grad,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_SIZE, 0, 0, NULL, 0}}},
    {.op = "EdgeAdd",
     .make = make_edge_add,
     .spoils = {BLOCK_SPOILS, {SPOIL_SIZE, 3, 0, NULL, 0}, {SPOIL_SIZE, 4, 1, NULL, 0}}},
    {.op = "EdgeAddGrad", .covered_by = "EdgeAdd"},
    {.op = "EdgeSoftmax",
     .make = make_edge_softmax,
     .spoils = {BLOCK_SPOILS, {SPOIL_SIZE, 3, 0, NULL, 0}, {SPOIL_RANK, 3, 0, NULL, 0}}},
    {.op = "EdgeSoftmaxGrad", .covered_by = "EdgeSoftmax"},
    {.op = "EdgeDot",
     .make = make_edge_dot,
     .rounds = 6,
     .spoils = {BLOCK_SPOILS, {SPOIL_SIZE, 3, 0, NULL, 0}, {SPOIL_SIZE, 4, 1, NULL, 0}}},
};

#endif
