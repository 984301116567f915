/*
 * pool.c: MaxPool and AveragePool over windows of images with 1 to 3 spatial dims, as ONNX.
 *
 * Input x [n, c, in...]. Attributes of window.h (kernel_shape is needed), `ceil_mode` (constant
 * sizes only), and for averages `count_include_pad`. MaxPool's outputs are the values and their
 * places in x (i64, flat), which the gradient needs; AveragePool's is the average over the cells of
 * the window that lie in the input, or in the padded input with count_include_pad.
 *
 * Gradients MaxPoolGrad(dy, places) and AveragePoolGrad(dy) are told x's shape by attribute
 * `shape`.
 */
#include "program/ops/window.h"

static const char *const attributes[] = {"kernel_shape", "strides",           "dilations", "pads",
                                         "ceil_mode",    "count_include_pad", NULL};
static const char *const gradient_attributes[] = {"kernel_shape", "strides",   "dilations",
                                                  "pads",         "ceil_mode", "count_include_pad",
                                                  "shape",        NULL};

static fr_pooling pooling_of(const fr_node *node, const fr_window_sizes *window)
{
    fr_pooling pooling = {
        .rank = window->rank,
        .n = 1,
        .c = 1,
        .ceil_mode = fr_node_int(node, "ceil_mode", 0) != 0,
        .count_include_pad = fr_node_int(node, "count_include_pad", 0) != 0,
    };
    for (int d = 0; d < window->rank; d++) {
        pooling.kernel[d] = window->kernel[d];
        pooling.stride[d] = window->stride[d];
        pooling.dilation[d] = window->dilation[d];
        pooling.pad_begin[d] = window->pad_begin[d];
        pooling.pad_end[d] = window->pad_end[d];
    }
    return pooling;
}

/* With sizes of an image [n, c, in...]. */
static fr_pooling pooling_at(const fr_node *node, const fr_tensor *image)
{
    const fr_window_sizes window = fr_window_of(node, image->rank - 2, NULL);
    fr_pooling pooling = pooling_of(node, &window);
    pooling.n = image->shape[0];
    pooling.c = image->shape[1];
    for (int d = 0; d < window.rank; d++)
        pooling.in[d] = image->shape[2 + d];
    return pooling;
}

/* ---- types ---- */

/* x [n, c, in...] -> y. */
static fr_status infer_result(fr_program *p, const fr_node *node, const fr_type *x, fr_type *y)
{
    fr_window_sizes window;
    FR_RETURN_IF_ERROR(fr_window_read(p, node, x->shape.rank - 2, NULL, &window));
    fr_pooling pooling = pooling_of(node, &window);
    bool constant = true;
    *y = *x;
    for (int d = 0; d < window.rank; d++) {
        constant = constant && x->shape.dims[2 + d].symbol < 0;
        pooling.in[d] = x->shape.dims[2 + d].size;
        FR_RETURN_IF_ERROR(
            fr_window_out(p, node, &window, d, x->shape.dims[2 + d], &y->shape.dims[2 + d]));
    }
    if (!pooling.ceil_mode)
        return FR_OK;
    if (!constant)
        return fr_infer_fail(p, node, FR_ENOTSUP,
                             "ceil_mode needs constant spatial dims of operand 0");
    int64_t out[FR_SPATIAL_MOST];
    FR_RETURN_IF_ERROR(fr_pooling_out(&pooling, out));
    for (int d = 0; d < window.rank; d++)
        y->shape.dims[2 + d] = fr_constant(out[d]);
    return FR_OK;
}

static fr_status infer_average(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 3, 2 + FR_SPATIAL_MOST));
    return infer_result(p, node, &in[0], &out[0]);
}

static fr_status infer_max(fr_program *p, const fr_node *node, const fr_type *in, fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_average(p, node, in, out));
    out[1] = (fr_type){.dtype = FR_I64, .shape = out[0].shape};
    return FR_OK;
}

/* dy -> x's shape, which the attribute gives; dy must be what pooling it makes. */
static fr_status infer_average_gradient(fr_program *p, const fr_node *node, const fr_type *in,
                                        fr_type *out)
{
    int n;
    fr_type y;
    const fr_dim *dims = fr_node_dims(node, "shape", &n);
    FR_RETURN_IF_ERROR(fr_infer_float(p, node, in, 0));
    FR_RETURN_IF_ERROR(fr_infer_rank(p, node, in, 0, 3, 2 + FR_SPATIAL_MOST));
    if (n != in[0].shape.rank)
        return fr_infer_fail(p, node, FR_EINVAL,
                             "attribute shape has %d dims, operand 0 has rank %d", n,
                             in[0].shape.rank);
    out[0] = in[0];
    for (int d = 0; d < n; d++)
        out[0].shape.dims[d] = dims[d];
    FR_RETURN_IF_ERROR(infer_result(p, node, &out[0], &y));
    for (int d = 0; d < n; d++)
        FR_RETURN_IF_ERROR(fr_infer_dim(p, node, "dim of the gradient (operand 0)",
                                        in[0].shape.dims[d], "dim of the result", y.shape.dims[d]));
    return FR_OK;
}

static fr_status infer_max_gradient(fr_program *p, const fr_node *node, const fr_type *in,
                                    fr_type *out)
{
    FR_RETURN_IF_ERROR(infer_average_gradient(p, node, in, out));
    if (in[1].dtype != FR_I64)
        return fr_infer_fail(p, node, FR_EDTYPE, "operand 1, the places, is %s and not i64",
                             fr_dtype_name(in[1].dtype));
    return fr_infer_same_shape(p, node, in, 0, 1);
}

/* ---- gradient ---- */

static fr_status add_gradient(fr_program *p, const fr_node *node, const char *op,
                              const fr_value *operands, int n_operands, fr_value *grad_in)
{
    fr_attribute given[FR_MAX_WINDOW_ATTRIBUTES + 1];
    const int n = fr_window_attributes(node, given);
    const fr_shape shape = fr_value_shape(p, node->inputs[0]);
    given[n] = FR_DIMS("shape", shape.dims, shape.rank);
    grad_in[0] = fr_apply_one(p, op, operands, n_operands, given, n + 1);
    return fr_program_check(p);
}

static fr_status max_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                              const bool *wanted, fr_value *grad_in)
{
    if (!wanted[0] || grad_out[0] == FR_NO_VALUE)
        return FR_OK;
    const fr_value operands[] = {grad_out[0], node->outputs[1]};
    return add_gradient(p, node, "MaxPoolGrad", operands, 2, grad_in);
}

static fr_status average_gradient(fr_program *p, const fr_node *node, const fr_value *grad_out,
                                  const bool *wanted, fr_value *grad_in)
{
    (void)wanted;
    return add_gradient(p, node, "AveragePoolGrad", grad_out, 1, grad_in);
}

/* ---- kernels ---- */

static fr_status run_max(const fr_run *run)
{
    const fr_pooling pooling = pooling_at(run->node, &run->in[0]);
    return fr_max_pool_run(&pooling, run->in[0].dtype, run->in[0].data, run->out[0].data,
                           run->out[1].data);
}

static fr_status run_max_gradient(const fr_run *run)
{
    const fr_pooling pooling = pooling_at(run->node, &run->out[0]);
    return fr_max_pool_gradient_run(&pooling, run->in[0].dtype, run->in[0].data, run->in[1].data,
                                    run->out[0].data);
}

static fr_status run_average(const fr_run *run)
{
    const fr_pooling pooling = pooling_at(run->node, &run->in[0]);
    return fr_average_pool_run(&pooling, run->in[0].dtype, run->in[0].data, run->out[0].data);
}

static fr_status run_average_gradient(const fr_run *run)
{
    const fr_pooling pooling = pooling_at(run->node, &run->out[0]);
    return fr_average_pool_gradient_run(&pooling, run->in[0].dtype, run->in[0].data,
                                        run->out[0].data);
}

static void work(const fr_node *node, const fr_tensor *in, const fr_tensor *out, double *flop,
                 double *bytes)
{
    const fr_window_sizes window = fr_window_of(node, in[0].rank - 2, NULL);
    *flop = (double)fr_tensor_count(&out[0]);
    for (int d = 0; d < window.rank; d++)
        *flop *= (double)window.kernel[d];
    *bytes = fr_operand_bytes(node, in, out);
}

/* ---- tensor algebra ---- */

/* <reduction>[r, s] I0[n, f, h+r-1, w+s-1]<factor>. */
static fr_status write_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                  const char *reduction, double factor, char *text, size_t bytes)
{
    fr_text_buffer buffer = {.text = text, .bytes = bytes};
    const fr_window_sizes window = fr_window_of(node, in[0].rank - 2, NULL);
    fr_text_add(&buffer, "O[");
    fr_window_add_traversal(&buffer, &window, &out[0]);
    fr_text_add(&buffer, "] = %s[", reduction);
    for (int d = 0; d < window.rank; d++)
        fr_text_add(&buffer, "%s%s:%" PRId64, d ? ", " : "", fr_window_kernel_name(&window, d),
                    window.kernel[d]);
    fr_text_add(&buffer, "] I0[n, f");
    fr_window_add_reads(&buffer, &window);
    fr_text_add(&buffer, "]");
    if (factor != 1)
        fr_text_add(&buffer, " * %.17g", factor);
    fr_text_add(&buffer, "\nwhere ");
    fr_window_add_padded(&buffer, &window, &in[0]);
    return fr_text_end(&buffer, node);
}

static bool has_padding(const fr_window_sizes *window)
{
    for (int d = 0; d < window->rank; d++)
        if (window->pad_begin[d] != 0 || window->pad_end[d] != 0)
            return true;
    return false;
}

/* Padding reads as 0, which is no neutral element of max: only without it. */
static fr_status max_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                char *text, size_t bytes)
{
    const fr_window_sizes window = fr_window_of(node, in[0].rank - 2, NULL);
    if (has_padding(&window) || fr_node_int(node, "ceil_mode", 0) != 0)
        return fr_fail(FR_ENOTSUP, "MaxPool: no expression with padding or ceil_mode");
    return write_expression(node, in, out, "max", 1, text, bytes);
}

/* One divisor for all windows: without padding, or where padding counts. */
static fr_status average_expression(const fr_node *node, const fr_tensor *in, const fr_tensor *out,
                                    char *text, size_t bytes)
{
    const fr_window_sizes window = fr_window_of(node, in[0].rank - 2, NULL);
    const bool counts = fr_node_int(node, "count_include_pad", 0) != 0;
    if ((has_padding(&window) && !counts) || fr_node_int(node, "ceil_mode", 0) != 0)
        return fr_fail(FR_ENOTSUP,
                       "AveragePool: no expression where windows have different divisors");
    double factor = 1;
    for (int d = 0; d < window.rank; d++)
        factor /= (double)window.kernel[d];
    return write_expression(node, in, out, "sum", factor, text, bytes);
}

const fr_op fr_op_max_pool = {
    .name = "MaxPool",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 2,
    .attributes = attributes,
    .infer = infer_max,
    .gradient = max_gradient,
    .expression = max_expression,
    .work = work,
    .kernels = {{.name = "own", .run = run_max}},
};

const fr_op fr_op_max_pool_grad = {
    .name = "MaxPoolGrad",
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_max_gradient,
    .kernels = {{.name = "own", .run = run_max_gradient}},
};

const fr_op fr_op_average_pool = {
    .name = "AveragePool",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = attributes,
    .infer = infer_average,
    .gradient = average_gradient,
    .expression = average_expression,
    .work = work,
    .kernels = {{.name = "own", .run = run_average}},
};

const fr_op fr_op_average_pool_grad = {
    .name = "AveragePoolGrad",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .attributes = gradient_attributes,
    .infer = infer_average_gradient,
    .kernels = {{.name = "own", .run = run_average_gradient}},
};
