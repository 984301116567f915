/*
 * operator_cases_layout.h: cases of the operators that move elements: reshape, transpose, concat,
 * slice, gather and the merge of computed and cached rows.
 */
#ifndef FR_TESTS_OPERATOR_CASES_LAYOUT_H
#define FR_TESTS_OPERATOR_CASES_LAYOUT_H

#include "operator_case.h"

static void make_reshape(op_case *c)
{
    const int64_t n = case_extent(c, 5, 3000);
    case_floats(c, 1, SHAPE(n, 6));
    if (c->round == 0)
        case_dims(c, "shape", (int64_t[]){n, 2, 3}, 3);
    else if (c->round == 1)
        case_dims(c, "shape", (int64_t[]){6 * n}, 1);
    else
        case_dims(c, "shape", (int64_t[]){3, n, 1, 2}, 4);
}

static void make_transpose(op_case *c)
{
    const int64_t n = case_extent(c, 5, 700), m = case_extent(c, 4, 90);
    if (c->round == 0) {
        case_floats(c, 1, SHAPE(n, m));
    } else if (c->round == 1) {
        case_floats(c, 1, SHAPE(n, 3, m));
        case_ints(c, "perm", (int64_t[]){1, 0, 2}, 3);
    } else {
        case_floats(c, 1, SHAPE(2, n, 3, m));
        case_ints(c, "perm", (int64_t[]){0, 3, 1, 2}, 4);
    }
}

static void make_concat(op_case *c)
{
    const int64_t n = case_extent(c, 4, 2000), m = case_extent(c, 3, 21);
    if (c->round == 0) {
        case_floats(c, 1, SHAPE(n, m));
    } else if (c->round == 1) {
        case_floats(c, 1, SHAPE(n, m));
        case_floats(c, 1, SHAPE(2, m));
        case_floats(c, 1, SHAPE(n + 1, m));
    } else {
        case_floats(c, 1, SHAPE(n, 2, m));
        case_floats(c, 1, SHAPE(n, 2, 5));
    }
    case_attribute(c, FR_INT("axis", c->round == 2 ? -1 : 0));
}

/* An axis of `size` and a part of it; empty parts too. */
static void case_bounds(op_case *c, int64_t size)
{
    const int64_t begin = case_below(c, size + 1), end = begin + case_below(c, size - begin + 1);
    case_dims(c, "bounds", (int64_t[]){begin, end}, 2);
}

static void make_slice(op_case *c)
{
    const int64_t n = case_extent(c, 5, 2000), m = case_extent(c, 4, 23);
    if (c->round == 0) {
        case_floats(c, 1, SHAPE(n, m));
        case_bounds(c, n);
    } else {
        case_floats(c, 1, SHAPE(3, n, m));
        case_bounds(c, c->round == 1 ? n : m);
    }
    case_attribute(c, FR_INT("axis", c->round == 2 ? -1 : c->round));
}

/* dy between zeros, in round 1 on top of a base. */
static void make_slice_grad(op_case *c)
{
    const int64_t n = case_extent(c, 5, 2000), m = case_extent(c, 4, 23);
    const int64_t begin = case_below(c, 3), size = begin + n + case_below(c, 3);
    case_floats(c, 1, SHAPE(n, m));
    if (c->round == 1)
        case_floats(c, 1, SHAPE(size, m));
    case_dims(c, "bounds", (int64_t[]){begin, begin + n}, 2);
    case_dims(c, "size", &size, 1);
    case_attribute(c, FR_INT("axis", 0));
}

static void make_gather(op_case *c)
{
    const int64_t rows = case_extent_least_1(c, 5, 200), n = case_extent(c, 6, 3000),
                  m = case_extent(c, 3, 19);
    if (c->round == 0) {
        case_floats(c, 1, SHAPE(rows, m));
        case_indices(c, OPERAND_I32, rows, SHAPE(n));
    } else if (c->round == 1) {
        case_floats(c, 1, SHAPE(2, rows, m));
        case_indices(c, OPERAND_I64, rows, SHAPE(n, 2));
    } else {
        case_floats(c, 1, SHAPE(m, rows));
        case_indices(c, OPERAND_I64, rows, 0, NULL);
    }
    case_attribute(c, FR_INT("axis", c->round == 2 ? -1 : c->round));
    c->tolerance = 1e-4;
}

static void make_gather_grad(op_case *c)
{
    const int64_t rows = case_extent_least_1(c, 5, 200), n = case_extent(c, 6, 3000),
                  m = case_extent(c, 3, 19);
    if (c->round == 1)
        case_floats(c, 1, SHAPE(2, n, m));
    else
        case_floats(c, 1, SHAPE(n, m));
    case_indices(c, c->round ? OPERAND_I64 : OPERAND_I32, rows, SHAPE(n));
    case_attribute(c, FR_INT("axis", c->round == 1));
    case_dims(c, "rows", &rows, 1);
    c->tolerance = 1e-4;
}

/* Positions in [-cached, computed); some rows are named twice and some never. */
static void case_positions(op_case *c, int64_t n, int64_t computed, int64_t cached)
{
    operand *position = case_indices(c, OPERAND_I32, computed + cached, SHAPE(n));
    for (int64_t i = 0; i < n; i++)
        position->integers[i] -= cached;
}

static void make_merge_rows(op_case *c)
{
    const int64_t computed = case_extent_least_1(c, 5, 900), cached = case_extent(c, 4, 500);
    const int64_t n = case_extent(c, 6, 2000), d = case_extent(c, 3, 23);
    case_floats(c, 1, SHAPE(computed, d));
    case_floats(c, 1, SHAPE(cached, d));
    case_positions(c, n, computed, cached);
    c->tolerance = 1e-4;
}

static void make_merge_rows_grad(op_case *c)
{
    const int64_t computed = case_extent_least_1(c, 5, 900), cached = case_extent(c, 4, 500);
    const int64_t n = case_extent(c, 6, 2000), d = case_extent(c, 3, 23);
    case_floats(c, 1, SHAPE(n, d));
    case_positions(c, n, computed, cached);
    case_dims(c, "rows", c->round % 2 ? &cached : &computed, 1);
    case_attribute(c, FR_INT("cached", c->round % 2));
    c->tolerance = 1e-4;
}

static const op_row layout_rows[] = {
    {.op = "Reshape", .make = make_reshape, .spoils = {{SPOIL_SIZE, 0, 1, NULL, 0}}},
    {.op = "Transpose",
     .make = make_transpose,
     .spoils = {{SPOIL_RANK, 0, 0, NULL, 2}, {SPOIL_RANK, 0, 0, NULL, 3}}},
    {.op = "Concat",
     .make = make_concat,
     .spoils = {{SPOIL_DTYPE, 1, 0, NULL, 2},
                {SPOIL_RANK, 1, 0, NULL, 2},
                {SPOIL_SIZE, 2, 1, NULL, 2}}},
    {.op = "Slice", .make = make_slice, .rounds = 3},
    {.op = "SliceGrad",
     .make = make_slice_grad,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_SIZE, 0, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, NULL, 0}}},
    {.op = "Gather", .make = make_gather, .spoils = {{SPOIL_DTYPE, 1, 0, NULL, 0}}},
    {.op = "GatherGrad",
     .make = make_gather_grad,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, NULL, 0}}},
    {.op = "MergeRows",
     .make = make_merge_rows,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 1, NULL, 0},
                {SPOIL_DTYPE, 2, 0, NULL, 0},
                {SPOIL_RANK, 2, 0, NULL, 0}}},
    {.op = "MergeRowsGrad",
     .make = make_merge_rows_grad,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, NULL, 0}}},
};

#endif
