/*
 * operator_cases_network.h: cases of softmax, losses, norms, dropout and embedding.
 */
#ifndef FR_TESTS_OPERATOR_CASES_NETWORK_H
#define FR_TESTS_OPERATOR_CASES_NETWORK_H

#include "operator_case.h"

static void make_softmax(op_case *c)
{
    const int64_t n = case_extent(c, 4, 3000),
                  m = case_extent_least_1(c, 5, c->round == 1 ? 3 : 61);
    if (c->round == 0) {
        case_floats(c, 2, SHAPE(m));
        case_attribute(c, FR_INT("axis", 0));
    } else if (c->round == 1) {
        case_floats(c, 2, SHAPE(3, m, n));
        case_attribute(c, FR_INT("axis", 1));
    } else {
        case_floats(c, 2, SHAPE(n, m));
        case_attribute(c, FR_INT("axis", -1));
    }
}

/* Labels in [0, classes), one in four ignored; round 0 ignores all. */
static void make_cross_entropy(op_case *c)
{
    const int64_t n = case_extent(c, 6, 4000), classes = case_extent_least_1(c, 7, 47);
    const int64_t ignore = c->round == 1 ? 1000 : -1;
    case_floats(c, 2, SHAPE(n, classes));
    operand *labels = case_indices(c, c->round % 2 ? OPERAND_I64 : OPERAND_I32, classes, SHAPE(n));
    for (int64_t i = 0; i < n; i++)
        if (c->round == 0 || case_below(c, 4) == 0)
            labels->integers[i] = ignore;
    case_attribute(c, FR_INT("ignore_index", ignore));
}

static void make_binary_cross_entropy(op_case *c)
{
    const int64_t n = case_extent(c, 6, 4000), m = case_extent(c, 4, 13);
    case_floats(c, 3, SHAPE(n, m));
    operand *targets = case_uniform(c, 0, 1, SHAPE(n, m));
    targets->differentiable = false;
    for (int64_t i = 0; i < targets->count; i++) {
        const int64_t kind = c->round == 0 ? 0 : case_below(c, 4);
        if (kind < 3)
            targets->floats[i] = (double)(kind - 1); /* unknown, no, yes */
    }
}

static void make_layer_norm(op_case *c)
{
    const int64_t n = case_extent(c, 5, 2000), d = case_extent(c, 7, 67);
    if (c->round == 0)
        case_floats(c, 2, SHAPE(d));
    else
        case_floats(c, 2, SHAPE(n, 2, d));
    case_uniform(c, 0.5, 2, SHAPE(d));
    if (c->round != 1)
        case_floats(c, 1, SHAPE(d));
    case_attribute(c, FR_FLOAT("epsilon", 1e-3));
    c->tolerance = 2e-4; /* sums over all rows */
}

static void make_rms_norm(op_case *c)
{
    const int64_t n = case_extent(c, 5, 2000), d = case_extent(c, 7, 67);
    if (c->round == 0)
        case_floats(c, 2, SHAPE(d));
    else
        case_floats(c, 2, SHAPE(n, 2, d));
    case_uniform(c, 0.5, 2, SHAPE(d));
    case_attribute(c, FR_FLOAT("epsilon", 1e-3));
    c->tolerance = 2e-4;
}

static void make_batch_norm(op_case *c)
{
    const int64_t n = case_extent(c, 7, 3000), channels = case_extent(c, 4, 19);
    if (c->round % 2)
        case_floats(c, 2, SHAPE(n, channels));
    else
        case_floats(c, 2, SHAPE(n, channels, 3, 2));
    case_uniform(c, 0.5, 2, SHAPE(channels));
    case_floats(c, 1, SHAPE(channels));
    operand *mean = case_operand(c, OPERAND_STATE, SHAPE(channels));
    operand *variance = case_operand(c, OPERAND_STATE, SHAPE(channels));
    for (int64_t i = 0; i < channels; i++) {
        mean->floats[i] = (double)(float)fr_random_normal(&c->random);
        variance->floats[i] = (double)(float)(0.5 + fr_random_uniform(&c->random));
    }
    case_attribute(c, FR_FLOAT("epsilon", 1e-2));
    case_attribute(c, FR_FLOAT("momentum", 0.8));
    c->evaluation = c->round >= 2;
    c->tolerance = 5e-4;
}

static void make_dropout(op_case *c)
{
    const int64_t n = case_extent(c, 9, 3000);
    case_floats(c, 1, SHAPE(n, 7));
    case_attribute(c, FR_FLOAT("ratio", c->round == 0 ? 0 : 0.4));
    c->evaluation = c->round == 2;
}

static void make_dropout_grad(op_case *c)
{
    make_dropout(c);
    case_attribute(c, FR_INT("stream", 11));
}

static void make_embedding(op_case *c)
{
    const int64_t rows = case_extent_least_1(c, 5, 300), d = case_extent(c, 4, 33),
                  n = case_extent(c, 6, 4000);
    case_floats(c, 1, SHAPE(rows, d));
    if (c->round == 0)
        case_indices(c, OPERAND_I32, rows, 0, NULL);
    else if (c->round == 1)
        case_indices(c, OPERAND_I64, rows, SHAPE(n, 2));
    else
        case_indices(c, OPERAND_I32, rows, SHAPE(n));
    c->tolerance = 1e-4;
}

static void make_embedding_grad(op_case *c)
{
    const int64_t rows = case_extent_least_1(c, 5, 300), d = case_extent(c, 4, 33),
                  n = case_extent(c, 6, 4000);
    case_floats(c, 1, SHAPE(n, d));
    case_indices(c, c->round == 0 ? OPERAND_I32 : OPERAND_I64, rows, SHAPE(n));
    case_dims(c, "rows", &rows, 1);
    c->tolerance = 1e-4;
}

static const op_row network_rows[] = {
    {.op = "Softmax", .make = make_softmax, .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "SoftmaxGrad", .covered_by = "Softmax"},
    {.op = "LogSoftmax", .make = make_softmax, .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "LogSoftmaxGrad", .covered_by = "LogSoftmax"},
    {.op = "SoftmaxCrossEntropyLoss",
     .make = make_cross_entropy,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "labels", 0}}},
    {.op = "SoftmaxCrossEntropyLossGrad", .covered_by = "SoftmaxCrossEntropyLoss"},
    {.op = "SigmoidBinaryCrossEntropy",
     .make = make_binary_cross_entropy,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, NULL, 0}}},
    {.op = "SigmoidBinaryCrossEntropyGrad", .covered_by = "SigmoidBinaryCrossEntropy"},
    {.op = "LayerNormalization",
     .make = make_layer_norm,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "scale", 0},
                {SPOIL_SIZE, 2, 0, "bias", 0}}},
    {.op = "LayerNormalizationGrad", .covered_by = "LayerNormalization"},
    {.op = "RMSNormalization",
     .make = make_rms_norm,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "scale", 0}}},
    {.op = "RMSNormalizationGrad", .covered_by = "RMSNormalization"},
    {.op = "BatchNormalization",
     .make = make_batch_norm,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_RANK, 1, 0, NULL, 0},
                {SPOIL_SIZE, 1, 0, "scale", 0},
                {SPOIL_SIZE, 2, 0, "bias", 0},
                {SPOIL_SIZE, 3, 0, "mean", 0},
                {SPOIL_SIZE, 4, 0, "variance", 0}}},
    {.op = "BatchNormalizationGrad", .covered_by = "BatchNormalization"},
    {.op = "Dropout", .make = make_dropout, .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "DropoutGrad", .make = make_dropout_grad, .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0}}},
    {.op = "Embedding",
     .make = make_embedding,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0}}},
    {.op = "EmbeddingGrad",
     .make = make_embedding_grad,
     .spoils = {{SPOIL_DTYPE, 0, 0, NULL, 0},
                {SPOIL_DTYPE, 1, 0, NULL, 0},
                {SPOIL_RANK, 0, 0, NULL, 0},
                {SPOIL_SIZE, 0, 0, "ids", 0}}},
};

#endif
