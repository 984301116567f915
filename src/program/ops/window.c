/*
 * window.c: see window.h.
 */
#include "program/ops/window.h"

#include <string.h>

static fr_status read_ints(const fr_program *p, const fr_node *node, const char *name, int expected,
                           int64_t least, const int64_t *otherwise, int64_t *values)
{
    int n;
    const int64_t *given = fr_node_ints(node, name, &n);
    if (given == NULL || n == 0) {
        if (otherwise == NULL)
            return fr_infer_fail(p, node, FR_EINVAL, "attribute %s is needed: %d numbers", name,
                                 expected);
        for (int i = 0; i < expected; i++)
            values[i] = otherwise[i];
        return FR_OK;
    }
    if (n != expected)
        return fr_infer_fail(p, node, FR_EINVAL,
                             "attribute %s has %d numbers, operand 0's spatial dims need %d", name,
                             n, expected);
    for (int i = 0; i < n; i++) {
        if (given[i] < least || given[i] > INT32_MAX)
            return fr_infer_fail(p, node, FR_ERANGE,
                                 "attribute %s has %" PRId64 " at place %d; the least is %" PRId64,
                                 name, given[i], i, least);
        values[i] = given[i];
    }
    return FR_OK;
}

fr_status fr_window_read(const fr_program *p, const fr_node *node, int rank, const int64_t *kernel,
                         fr_window_sizes *window)
{
    static const int64_t ones[FR_SPATIAL_MOST] = {1, 1, 1}, zeros[2 * FR_SPATIAL_MOST] = {0};
    int64_t pads[2 * FR_SPATIAL_MOST];
    *window = (fr_window_sizes){.rank = rank};
    if (rank < 1 || rank > FR_SPATIAL_MOST)
        return fr_infer_fail(p, node, FR_ESHAPE, "operand 0 has %d spatial dims; 1 to %d are known",
                             rank, FR_SPATIAL_MOST);
    FR_RETURN_IF_ERROR(read_ints(p, node, "kernel_shape", rank, 1, kernel, window->kernel));
    FR_RETURN_IF_ERROR(read_ints(p, node, "strides", rank, 1, ones, window->stride));
    FR_RETURN_IF_ERROR(read_ints(p, node, "dilations", rank, 1, ones, window->dilation));
    FR_RETURN_IF_ERROR(read_ints(p, node, "pads", 2 * rank, 0, zeros, pads));
    for (int d = 0; d < rank; d++) {
        window->pad_begin[d] = pads[d];
        window->pad_end[d] = pads[rank + d];
    }
    return FR_OK;
}

fr_window_sizes fr_window_of(const fr_node *node, int rank, const int64_t *kernel)
{
    fr_window_sizes window;
    /* Cannot fail: infer has read the same numbers. */
    (void)fr_window_read(NULL, node, rank, kernel, &window);
    return window;
}

/* Cells that a window covers, first to last. */
static int64_t span(const fr_window_sizes *window, int d)
{
    return window->dilation[d] * (window->kernel[d] - 1) + 1;
}

fr_status fr_window_out(fr_program *p, const fr_node *node, const fr_window_sizes *window, int d,
                        fr_dim in, fr_dim *out)
{
    const int64_t slack = window->pad_begin[d] + window->pad_end[d] - span(window, d);
    if (in.symbol < 0 && in.size + slack < 0)
        return fr_infer_fail(p, node, FR_ESHAPE,
                             "spatial dim %d of operand 0 has %" PRId64 " cells and %" PRId64
                             " of padding, the window spans %" PRId64,
                             d, in.size, window->pad_begin[d] + window->pad_end[d],
                             span(window, d));
    const fr_dim steps = fr_dim_divide(p, fr_dim_add(p, in, fr_constant(slack)), window->stride[d]);
    *out = fr_dim_add(p, steps, fr_constant(1));
    return FR_OK;
}

int fr_window_attributes(const fr_node *node, fr_attribute *given)
{
    int n = 0;
    for (int i = 0; i < node->n_attributes && n < FR_MAX_WINDOW_ATTRIBUTES; i++)
        given[n++] = node->attributes[i];
    return n;
}

/* ---- expressions ---- */

void fr_text_add(fr_text_buffer *buffer, const char *format, ...)
{
    if (buffer->used >= buffer->bytes)
        return;
    va_list arguments;
    va_start(arguments, format);
    const int n =
        vsnprintf(buffer->text + buffer->used, buffer->bytes - buffer->used, format, arguments);
    va_end(arguments);
    buffer->used += n < 0 ? buffer->bytes : (size_t)n;
}

fr_status fr_text_end(const fr_text_buffer *buffer, const fr_node *node)
{
    if (buffer->used >= buffer->bytes)
        return fr_fail(FR_ERANGE, "%s: the expression does not fit %zu bytes", node->op->name,
                       buffer->bytes);
    return FR_OK;
}

const char *fr_window_out_name(const fr_window_sizes *window, int d)
{
    static const char *const names[] = {"d", "h", "w"};
    return names[FR_SPATIAL_MOST - window->rank + d];
}

const char *fr_window_kernel_name(const fr_window_sizes *window, int d)
{
    static const char *const names[] = {"q", "r", "s"};
    return names[FR_SPATIAL_MOST - window->rank + d];
}

void fr_window_add_traversal(fr_text_buffer *buffer, const fr_window_sizes *window,
                             const fr_tensor *out)
{
    fr_text_add(buffer, "n:%" PRId64 ", f:%" PRId64, out->shape[0], out->shape[1]);
    for (int d = 0; d < window->rank; d++)
        fr_text_add(buffer, ", %s:%" PRId64, fr_window_out_name(window, d), out->shape[2 + d]);
}

void fr_window_add_reads(fr_text_buffer *buffer, const fr_window_sizes *window)
{
    for (int d = 0; d < window->rank; d++) {
        fr_text_add(buffer, ", ");
        if (window->stride[d] != 1)
            fr_text_add(buffer, "%" PRId64 "*", window->stride[d]);
        fr_text_add(buffer, "%s+", fr_window_out_name(window, d));
        if (window->dilation[d] != 1)
            fr_text_add(buffer, "%" PRId64 "*", window->dilation[d]);
        fr_text_add(buffer, "%s", fr_window_kernel_name(window, d));
        if (window->pad_begin[d] != 0)
            fr_text_add(buffer, "-%" PRId64, window->pad_begin[d]);
    }
}

void fr_window_add_padded(fr_text_buffer *buffer, const fr_window_sizes *window,
                          const fr_tensor *image)
{
    fr_text_add(buffer, "I0:%" PRId64 "x%" PRId64, image->shape[0], image->shape[1]);
    for (int d = 0; d < window->rank; d++)
        fr_text_add(buffer, "x%" PRId64, image->shape[2 + d]);
    bool padded = false;
    for (int d = 0; d < window->rank; d++)
        padded = padded || window->pad_begin[d] != 0 || window->pad_end[d] != 0;
    if (!padded)
        return;
    fr_text_add(buffer, " pad 0,0");
    for (int d = 0; d < window->rank; d++)
        if (window->pad_begin[d] == window->pad_end[d])
            fr_text_add(buffer, ",%" PRId64, window->pad_begin[d]);
        else
            fr_text_add(buffer, ",%" PRId64 ":%" PRId64, window->pad_begin[d], window->pad_end[d]);
}
