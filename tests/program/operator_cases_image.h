/*
 * operator_cases_image.h: cases of convolution and pooling: 1 to 3 spatial dims, strides,
 * dilations, uneven padding, groups.
 */
#ifndef FR_TESTS_OPERATOR_CASES_IMAGE_H
#define FR_TESTS_OPERATOR_CASES_IMAGE_H

#include "operator_case.h"

enum { IMAGE_RANK_MOST = 3 };

typedef struct image_window {
    int rank;
    int64_t kernel[IMAGE_RANK_MOST], in[IMAGE_RANK_MOST];
} image_window;

/* A window and an input that it fits; adds its attributes. Padding is less than the window. */
static image_window case_window(op_case *c, bool padded)
{
    image_window at = {.rank = 1 + (c->round + 1) % IMAGE_RANK_MOST};
    int64_t strides[IMAGE_RANK_MOST], dilations[IMAGE_RANK_MOST], pads[2 * IMAGE_RANK_MOST];
    for (int d = 0; d < at.rank; d++) {
        at.kernel[d] = c->size == CASE_ONE ? 1 : 1 + case_below(c, 3);
        strides[d] = 1 + case_below(c, 2);
        dilations[d] = c->size == CASE_LARGE ? 1 : 1 + case_below(c, 2);
        pads[d] = padded ? case_below(c, at.kernel[d]) : 0;
        pads[at.rank + d] = padded ? case_below(c, at.kernel[d]) : 0;
        const int64_t span = dilations[d] * (at.kernel[d] - 1) + 1;
        at.in[d] = c->size == CASE_ONE ? 1 : span + case_below(c, c->size == CASE_LARGE ? 14 : 4);
    }
    case_ints(c, "kernel_shape", at.kernel, at.rank);
    case_ints(c, "strides", strides, at.rank);
    case_ints(c, "dilations", dilations, at.rank);
    case_ints(c, "pads", pads, 2 * at.rank);
    return at;
}

static void case_image(op_case *c, const image_window *at, int64_t n, int64_t channels)
{
    int64_t shape[2 + IMAGE_RANK_MOST] = {n, channels};
    for (int d = 0; d < at->rank; d++)
        shape[2 + d] = at->in[d];
    case_floats(c, 1, 2 + at->rank, shape);
}

static void make_convolution(op_case *c)
{
    const image_window at = case_window(c, true);
    const int64_t n = c->size == CASE_ZERO ? 0 : case_extent(c, 2, 9);
    const int64_t groups = c->round % 3 == 2 ? 2 : 1;
    const int64_t channels = groups * (c->size == CASE_LARGE ? 12 : 1 + case_below(c, 2));
    const int64_t filters = groups * (c->size == CASE_LARGE ? 20 : 1 + case_below(c, 3));
    int64_t weight[2 + IMAGE_RANK_MOST] = {filters, channels / groups};
    for (int d = 0; d < at.rank; d++)
        weight[2 + d] = at.kernel[d];
    case_image(c, &at, n, channels);
    case_floats(c, 1, 2 + at.rank, weight);
    if (c->round % 2 == 0)
        case_floats(c, 1, SHAPE(filters));
    case_attribute(c, FR_INT("group", groups));
    c->tolerance = 5e-4;
}

static void make_max_pool(op_case *c)
{
    const image_window at = case_window(c, c->round % 2 == 0);
    case_image(c, &at, c->size == CASE_ZERO ? 0 : case_extent(c, 2, 12),
               case_extent_least_1(c, 3, 16));
}

static void make_average_pool(op_case *c)
{
    const image_window at = case_window(c, c->round % 3 != 0);
    case_image(c, &at, c->size == CASE_ZERO ? 0 : case_extent(c, 2, 12),
               case_extent_least_1(c, 3, 16));
    case_attribute(c, FR_INT("count_include_pad", c->round % 2));
}

static const op_row image_rows[] = {
    {.op = "Conv",
     .make = make_convolution,
     .rounds = 6,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 0, 1, NULL, 0},
                {SPOIL_SIZE, 1, 1, NULL, 0},
                {SPOIL_SIZE, 2, 0, "bias", 0}}},
    {.op = "ConvGradInput", .covered_by = "Conv"},
    {.op = "ConvGradWeight", .covered_by = "Conv"},
    {.op = "MaxPool",
     .make = make_max_pool,
     .rounds = 6,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}, {SPOIL_RANK, 0, 0, NULL, 0}}},
    {.op = "MaxPoolGrad", .covered_by = "MaxPool"},
    {.op = "AveragePool",
     .make = make_average_pool,
     .rounds = 6,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}, {SPOIL_RANK, 0, 0, NULL, 0}}},
    {.op = "AveragePoolGrad", .covered_by = "AveragePool"},
};

#endif
