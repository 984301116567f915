/*
 * build_network.c: the typed calls of program.h for what layers of networks are made of: softmax,
 * losses, norms, dropout, convolution and pooling. Names and attributes put in place for fr_apply,
 * nothing more.
 */
#include <frugal/program.h>

#include "program/op.h"

fr_value fr_softmax(fr_program *p, fr_value x, int axis)
{
    return fr_apply_one(p, "Softmax", &x, 1, &FR_INT("axis", axis), 1);
}

fr_value fr_log_softmax(fr_program *p, fr_value x, int axis)
{
    return fr_apply_one(p, "LogSoftmax", &x, 1, &FR_INT("axis", axis), 1);
}

fr_value fr_cross_entropy(fr_program *p, fr_value logits, fr_value labels, int64_t ignore)
{
    const fr_value operands[] = {logits, labels};
    fr_value outputs[2];
    fr_apply(p, "SoftmaxCrossEntropyLoss", operands, 2, &FR_INT("ignore_index", ignore), 1, outputs,
             2);
    return outputs[0];
}

fr_value fr_binary_cross_entropy(fr_program *p, fr_value logits, fr_value targets)
{
    const fr_value operands[] = {logits, targets};
    fr_value outputs[2];
    fr_apply(p, "SigmoidBinaryCrossEntropy", operands, 2, NULL, 0, outputs, 2);
    return outputs[0];
}

fr_value fr_layer_norm(fr_program *p, fr_value x, fr_value scale, fr_value bias, double epsilon)
{
    const fr_value operands[] = {x, scale, bias};
    fr_value outputs[3];
    fr_apply(p, "LayerNormalization", operands, bias == FR_NO_VALUE ? 2 : 3,
             &FR_FLOAT("epsilon", epsilon), 1, outputs, 3);
    return outputs[0];
}

fr_value fr_rms_norm(fr_program *p, fr_value x, fr_value scale, double epsilon)
{
    const fr_value operands[] = {x, scale};
    fr_value outputs[2];
    fr_apply(p, "RMSNormalization", operands, 2, &FR_FLOAT("epsilon", epsilon), 1, outputs, 2);
    return outputs[0];
}

fr_value fr_batch_norm(fr_program *p, fr_value x, fr_value scale, fr_value bias, fr_value mean,
                       fr_value variance, double epsilon, double momentum)
{
    const fr_value operands[] = {x, scale, bias, mean, variance};
    /* The operator's momentum is ONNX's: the share of the old state. */
    const fr_attribute given[] = {FR_FLOAT("epsilon", epsilon), FR_FLOAT("momentum", 1 - momentum)};
    fr_value outputs[3];
    fr_apply(p, "BatchNormalization", operands, 5, given, 2, outputs, 3);
    return outputs[0];
}

fr_value fr_dropout(fr_program *p, fr_value x, double ratio)
{
    const fr_attribute given[] = {FR_FLOAT("ratio", ratio),
                                  FR_INT("stream", fr_count_nodes(p, "Dropout"))};
    return fr_apply_one(p, "Dropout", &x, 1, given, 2);
}

/* ---- windows ---- */

enum { MAX_WINDOW_RANK = 3, N_WINDOW_ATTRIBUTES = 6 };

/* A window's attributes under ONNX's names; the numbers live in here. */
typedef struct window_attributes {
    int64_t kernel[MAX_WINDOW_RANK], strides[MAX_WINDOW_RANK], dilations[MAX_WINDOW_RANK],
        pads[2 * MAX_WINDOW_RANK];
    fr_attribute given[N_WINDOW_ATTRIBUTES];
    int n;
} window_attributes;

static void fill_window(window_attributes *w, const fr_window *window)
{
    /* A rank that no window has is refused by the operator: it sees no kernel_shape of such a
     * length. */
    const int rank = window->rank < 0 || window->rank > MAX_WINDOW_RANK ? 0 : window->rank;
    for (int d = 0; d < rank; d++) {
        w->kernel[d] = window->kernel[d];
        w->strides[d] = window->stride[d] == 0 ? 1 : window->stride[d];
        w->dilations[d] = window->dilation[d] == 0 ? 1 : window->dilation[d];
        w->pads[d] = window->pad_begin[d];
        w->pads[rank + d] = window->pad_end[d];
    }
    w->n = 0;
    w->given[w->n++] = FR_INTS("kernel_shape", w->kernel, rank);
    w->given[w->n++] = FR_INTS("strides", w->strides, rank);
    w->given[w->n++] = FR_INTS("dilations", w->dilations, rank);
    w->given[w->n++] = FR_INTS("pads", w->pads, 2 * rank);
}

fr_value fr_convolution(fr_program *p, fr_value x, fr_value weight, fr_value bias, fr_window window)
{
    const fr_value operands[] = {x, weight, bias};
    window_attributes w;
    fill_window(&w, &window);
    w.given[w.n++] = FR_INT("group", window.groups == 0 ? 1 : window.groups);
    return fr_apply_one(p, "Conv", operands, bias == FR_NO_VALUE ? 2 : 3, w.given, w.n);
}

fr_value fr_max_pool(fr_program *p, fr_value x, fr_window window)
{
    window_attributes w;
    fr_value outputs[2];
    fill_window(&w, &window);
    fr_apply(p, "MaxPool", &x, 1, w.given, w.n, outputs, 2);
    return outputs[0];
}

fr_value fr_average_pool(fr_program *p, fr_value x, fr_window window)
{
    window_attributes w;
    fill_window(&w, &window);
    w.given[w.n++] = FR_INT("count_include_pad", window.count_padding);
    return fr_apply_one(p, "AveragePool", &x, 1, w.given, w.n);
}
