/*
 * conv.c: Conv, convolution of images with 1 to 3 spatial dims, as ONNX, and its two gradients.
 *
 *     y[n, f, o] = bias[f] + sum over c, r of x[n, c, stride o + dilation r - pad] w[f, c, r]
 *
 * Inputs x [n, c, in...], w [filters, c / group, kernel...], bias [filters] (optional). Attributes
 * of window.h and `group`. What a node prepares for its library kernel (blocked weights,
 * primitives) lives with the executor.
 *
 * ConvGradInput(dy, w) -> dx, its shape as attribute `shape`; ConvGradWeight(x, dy) -> dw, dbias,
 * w's shape as attribute `shape`, dbias empty where attribute `bias` is 0.
 */
#include "program/ops/window.h"

static const char *const attributes[] = {"kernel_shape", "strides", "dilations",
                                         "pads",         "group",   NULL};
static const char *const input_attributes[] = {"kernel_shape", "strides", "dilations", "pads",
                                               "group",        "shape",   NULL};
static const char *const weight_attributes[] = {"kernel_shape", "strides", "dilations", "pads",
                                                "group",        "shape",   "bias",      NULL};

/* ---- types ---- */

/* Kernel sizes from a weight's constant dims. */
static fr_status kernel_of_weight(fr_program *p, const fr_node *node, const fr_shape *weight,
                                  int64_t *kernel)
{
    for (int d = 2; d < weight->rank; d++) {
        if (weight->dims[d].symbol >= 0)
            return fr_infer_fail(p, node, FR_ESHAPE, "dim %d of the weight is not a constant", d);
        kernel[d - 2] = weight->dims[d].size;
    }
    return FR_OK;
}

/* The sizes of x [n, c, in...] and w fit together; *out is the type of y. */
static fr_status check_sizes(fr_program *p, const fr_node *node, const fr_type *x,
                             const fr_shape *w, fr_type *y)
{
    int64_t kernel[FR_MAX_RANK];
    fr_window_sizes window;
    const int64_t groups = fr_node_int(node, "group", 1);
    if (w->rank != x->shape.rank)
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "operand 0 has rank %d, the weight (operand 1) has rank %d",
                             x->shape.rank, w->rank);
    FR_RETURN_IF_ERROR(kernel_of_weight(p, node, w, kernel));
    FR_RETURN_IF_ERROR(fr_window_read(p, node, w->rank - 2, kernel, &window));
    for (int d = 0; d < window.rank; d++)
        if (window.kernel[d] != kernel[d] || kernel[d] < 1)
            return fr_infer_fail(p, node, FR_ESHAPE,
                                 "kernel_shape has %" PRId64 " along spatial dim %d, the weight "
                                 "(operand 1) %" PRId64,
                                 window.kernel[d], d, kernel[d]);
    const fr_dim c = x->shape.dims[1], filters = w->dims[0], per_group = w->dims[1];
    if (c.symbol >= 0 || filters.symbol >= 0 || per_group.symbol >= 0)
        return fr_infer_fail(p, node, FR_ESHAPE, "channels and filters must be constants");
    if (groups < 1 || c.size != per_group.size * groups || filters.size % groups != 0)
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "%" PRId64 " channels of operand 0 and %" PRId64 " filters in %" PRId64
                             " groups do not go with %" PRId64
                             " channels a group of the weight (operand 1)",
                             c.size, filters.size, groups, per_group.size);
    *y = *x;
    y->shape.dims[1] = filters;
    for (int d = 0; d < window.rank; d++)
        FR_RETURN_IF_ERROR(
            fr_window_out(p, node, &window, d, x->shape.dims[2 + d], &y->shape.dims[2 + d]));
    return FR_OK;
}

static fr_status infer(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 3, 2 + FR_SPATIAL_MOST));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    FR_RETURN_IF_ERROR(check_sizes(p, node, &in[0], &in[1].shape, &out[0]));
    if (!fr_is_given(node, 2))
        return FR_OK;
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 2, 1, 1));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 2));
    return fr_infer_dim(p, node, "bias (operand 2)", in[2].shape.dims[0], "filters",
                        in[1].shape.dims[0]);
}

/* The attribute `shape` as a type of operand 0's dtype. */
static fr_status shape_attribute(fr_program *p, const fr_node *node, const fr_type *in,
                                 fr_type *type)
{
    int n;
    const fr_dim *dims = fr_node_dims(node, "shape", &n);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_same_dtype(p, node, in, 0, 1));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 3, 2 + FR_SPATIAL_MOST));
    if (n != in[0].shape.rank)
        return fr_infer_fail(p, node, FR_EINVAL,
                             "attribute shape has %d dims, operand 0 has rank %d", n,
                             in[0].shape.rank);
    *type = (fr_type){.dtype = in[0].dtype, .shape = {.rank = n}};
    for (int d = 0; d < n; d++)
        type->shape.dims[d] = dims[d];
    return FR_OK;
}

/* y's type, made from x and w, is what arrived as dy (operand `operand`). */
static fr_status check_arrived(fr_program *p, const fr_node *node, const fr_type *in, int operand,
                               const fr_type *y)
{
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, operand, y->shape.rank, y->shape.rank));
    for (int d = 0; d < y->shape.rank; d++)
        FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "dim of the gradient", in[operand].shape.dims[d],
                                        "dim of the result", y->shape.dims[d]));
    return FR_OK;
}

static fr_status infer_input(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_type y;
    FR_RETURN_IF_ERROR(shape_attribute(p, node, in, &out[0]));
    FR_RETURN_IF_ERROR(check_sizes(p, node, &out[0], &in[1].shape, &y));
    return check_arrived(p, node, in, 0, &y);
}

static fr_status infer_weight(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    fr_type y;
    FR_RETURN_IF_ERROR(shape_attribute(p, node, in, &out[0]));
    FR_RETURN_IF_ERROR(check_sizes(p, node, &in[0], &out[0].shape, &y));
    FR_RETURN_IF_ERROR(check_arrived(p, node, in, 1, &y));
    const fr_dim filters = out[0].shape.dims[0];
    out[1] = (fr_type){
        .dtype = in[0].dtype,
        .shape = FR_SHAPE(fr_node_int(node, "bias", 0) ? filters : fr_constant(0)),
    };
    return FR_OK;
}

/* ---- gradient ---- */

static fr_status gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                          const bool *wanted, fr_value *grad_in)
{
    fr_attribute given[FR_MAX_WINDOW_ATTRIBUTES + 2];
    const int n = fr_window_attributes(node, given);
    const fr_value x = node->inputs[0], w = node->inputs[1];
    const bool has_bias = fr_is_given(node, 2);
    if (wanted[0]) {
        const fr_shape shape = fr_value_shape(p, x);
        const fr_value operands[] = {grad_out[0], w};
        given[n] = FR_DIMS("shape", shape.dims, shape.rank);
        grad_in[0] = fr_apply_one(p, "ConvGradInput", operands, 2, given, n + 1);
    }
    if (wanted[1] || (has_bias && wanted[2])) {
        const fr_shape shape = fr_value_shape(p, w);
        const fr_value operands[] = {x, grad_out[0]};
        fr_value outputs[2];
        given[n] = FR_DIMS("shape", shape.dims, shape.rank);
        given[n + 1] = FR_INT("bias", has_bias && wanted[2]);
        fr_apply(p, "ConvGradWeight", operands, 2, given, n + 2, outputs, 2);
        if (wanted[1])
            grad_in[1] = outputs[0];
        if (has_bias && wanted[2])
            grad_in[2] = outputs[1];
    }
    return fr_program_check(p);
}

/* ---- kernels ---- */

static fr_convolution_sizes sizes_of(const fr_node *node, const fr_tensor *x, const fr_tensor *w)
{
    const fr_window_sizes window = fr_window_of(node, x->rank - 2, w->shape + 2);
    fr_convolution_sizes sizes = {
        .rank = window.rank,
        .n = x->shape[0],
        .c = x->shape[1],
        .filters = w->shape[0],
        .groups = fr_node_int(node, "group", 1),
    };
    for (int d = 0; d < window.rank; d++) {
        sizes.in[d] = x->shape[2 + d];
        sizes.kernel[d] = window.kernel[d];
        sizes.stride[d] = window.stride[d];
        sizes.dilation[d] = window.dilation[d];
        sizes.pad_begin[d] = window.pad_begin[d];
        sizes.pad_end[d] = window.pad_end[d];
    }
    return sizes;
}

static bool is_f32(const fr_node *node, const fr_tensor *in, const fr_tensor *out)
{
    (void)node, (void)out;
    return in[0].dtype == FR_F32;
}

static fr_status run_f32(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->in[0], &run->in[1]);
    return fr_convolution_forward_f32(&sizes, run->in[0].data, run->in[1].data,
                                      fr_is_given(run->node, 2) ? run->in[2].data : NULL,
                                      run->out[0].data, run->prepared);
}

static fr_status run_f64(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->in[0], &run->in[1]);
    return fr_convolution_forward_f64(&sizes, run->in[0].data, run->in[1].data,
                                      fr_is_given(run->node, 2) ? run->in[2].data : NULL,
                                      run->out[0].data);
}

static fr_status run_input_f32(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->out[0], &run->in[1]);
    return fr_convolution_backward_data_f32(&sizes, run->in[0].data, run->in[1].data,
                                            run->out[0].data, run->prepared);
}

static fr_status run_input_f64(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->out[0], &run->in[1]);
    return fr_convolution_backward_data_f64(&sizes, run->in[0].data, run->in[1].data,
                                            run->out[0].data);
}

static void *bias_gradient(const fr_run *run)
{
    return fr_node_int(run->node, "bias", 0) ? run->out[1].data : NULL;
}

static fr_status run_weight_f32(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->in[0], &run->out[0]);
    return fr_convolution_backward_weights_f32(&sizes, run->in[0].data, run->in[1].data,
                                               run->out[0].data, bias_gradient(run), run->prepared);
}

static fr_status run_weight_f64(const fr_run *run)
{
    const fr_convolution_sizes sizes = sizes_of(run->node, &run->in[0], &run->out[0]);
    return fr_convolution_backward_weights_f64(&sizes, run->in[0].data, run->in[1].data,
                                               run->out[0].data, bias_gradient(run));
}

/* Every result is a product and a sum per channel of the group and cell of the kernel. */
static void work_of(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                    const fr_tensor *y, const fr_tensor *w, double *flop, double *bytes)
{
    *flop = 2 * (double)fr_tensor_count(y) * (double)fr_sizes_product(w, 1, w->rank);
    *bytes = fr_operand_bytes(node, in, out);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    work_of(node, in, out, &out[0], &in[1], flop, bytes);
}

static void work_input(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                       double *bytes)
{
    work_of(node, in, out, &in[0], &in[1], flop, bytes);
}

static void work_weight(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                        double *flop, double *bytes)
{
    work_of(node, in, out, &in[1], &out[0], flop, bytes);
}

/* ---- tensor algebra ---- */

/* sum[c, r, s] I0[n, c, h+r-1, w+s-1] * I1[f, c, r, s]; with groups I0's channel is that of f's
 * group. */
static void add_product(fr_text_buffer *text, const fr_window_sizes *window, int64_t groups,
                        const fr_tensor *w)
{
    const int64_t per_group = w->shape[1], filters_per_group = w->shape[0] / groups;
    fr_text_add(text, "sum[c:%" PRId64, per_group);
    for (int d = 0; d < window->rank; d++)
        fr_text_add(text, ", %s:%" PRId64, fr_window_kernel_name(window, d), window->kernel[d]);
    fr_text_add(text, "] I0[n, ");
    if (groups > 1 && per_group > 1)
        fr_text_add(text, "%" PRId64 "*", per_group);
    if (groups > 1 && filters_per_group > 1)
        fr_text_add(text, "(f/%" PRId64 ")+", filters_per_group);
    else if (groups > 1)
        fr_text_add(text, "f+");
    fr_text_add(text, "c");
    fr_window_add_reads(text, window);
    fr_text_add(text, "] * I1[f, c");
    for (int d = 0; d < window->rank; d++)
        fr_text_add(text, ", %s", fr_window_kernel_name(window, d));
    fr_text_add(text, "]");
}

/* A bias stands outside the sum: O[..] = { [..] sum[..] .. }[n, f, h, w] + I2[f]. */
static fr_status expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                            char *text, size_t bytes)
{
    fr_text_buffer buffer = {.text = text, .bytes = bytes};
    const fr_tensor *w = &in[1];
    const fr_window_sizes window = fr_window_of(node, in[0].rank - 2, w->shape + 2);
    const int64_t groups = fr_node_int(node, "group", 1);
    const bool has_bias = fr_is_given(node, 2);
    fr_text_add(&buffer, "O[");
    fr_window_add_traversal(&buffer, &window, &out[0]);
    fr_text_add(&buffer, "] = ");
    if (has_bias) {
        fr_text_add(&buffer, "{ [");
        fr_window_add_traversal(&buffer, &window, &out[0]);
        fr_text_add(&buffer, "] ");
    }
    add_product(&buffer, &window, groups, w);
    if (has_bias) {
        fr_text_add(&buffer, " }[n, f");
        for (int d = 0; d < window.rank; d++)
            fr_text_add(&buffer, ", %s", fr_window_out_name(&window, d));
        fr_text_add(&buffer, "] + I2[f]");
    }
    fr_text_add(&buffer, "\nwhere ");
    fr_window_add_padded(&buffer, &window, &in[0]);
    fr_text_add(&buffer, "; I1:%" PRId64, w->shape[0]);
    for (int d = 1; d < w->rank; d++)
        fr_text_add(&buffer, "x%" PRId64, w->shape[d]);
    if (has_bias)
        fr_text_add(&buffer, "; I2:%" PRId64, w->shape[0]);
    return fr_text_end(&buffer, node);
}

const fr_op fr_op_conv = {
    .name = "Conv",
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer,
    .gradient = gradient,
    .expression = expression,
    .work = work,
    .kernels =
        {{.name = "onednn", .supports = is_f32, .run = run_f32, .release = fr_convolution_release},
         {.name = "reference", .run = run_f64}},
};

const fr_op fr_op_conv_grad_input = {
    .name = "ConvGradInput",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = input_attributes,
    .infer = infer_input,
    .work = work_input,
    .kernels = {{.name = "onednn",
                 .supports = is_f32,
                 .run = run_input_f32,
                 .release = fr_convolution_release},
                {.name = "reference", .run = run_input_f64}},
};

const fr_op fr_op_conv_grad_weight = {
    .name = "ConvGradWeight",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 2,
    .attributes = weight_attributes,
    .infer = infer_weight,
    .work = work_weight,
    .kernels = {{.name = "onednn",
                 .supports = is_f32,
                 .run = run_weight_f32,
                 .release = fr_convolution_release},
                {.name = "reference", .run = run_weight_f64}},
};
