/*
 * window.h: the windows of convolution and pooling: ONNX's attributes read into numbers, the
 * result's sizes, and the pieces of their tensor algebra.
 *
 * Attributes `kernel_shape`, `strides`, `dilations` (default 1), `pads` (all begins, then all ends;
 * default 0), for images [n, c, in...] with 1 to 3 spatial dims.
 */
#ifndef FR_PROGRAM_WINDOW_H
#define FR_PROGRAM_WINDOW_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The kernel's struct has the name of the builder's call: here it goes by another. */
#define fr_convolution fr_convolution_sizes
#include "kernel/convolution.h"
#include "kernel/pooling.h"
#undef fr_convolution

#include "program/op.h"
#include "program/ops/operands.h"

/** Numbers of a window; rank is that of the image less 2. */
typedef struct fr_window_sizes {
    int rank;
    int64_t kernel[FR_SPATIAL_MOST], stride[FR_SPATIAL_MOST], dilation[FR_SPATIAL_MOST];
    int64_t pad_begin[FR_SPATIAL_MOST], pad_end[FR_SPATIAL_MOST];
} fr_window_sizes;

enum { FR_MAX_WINDOW_ATTRIBUTES = 8 };

/** Reads the attributes of a node. `kernel` stands in where kernel_shape was left out (a
 * convolution's weight knows it); NULL where it may not be. */
fr_status fr_window_read(const fr_program *p, const fr_node *node, int rank, const int64_t *kernel,
                         fr_window_sizes *window);
/** As fr_window_read, of a node that infer has accepted. */
fr_window_sizes fr_window_of(const fr_node *node, int rank, const int64_t *kernel);

/** floor((in + pads - dilation (kernel - 1) - 1) / stride) + 1 along spatial dim d; fails where a
 * constant input is smaller than the window. */
fr_status fr_window_out(fr_program *p, const fr_node *node, const fr_window_sizes *window, int d,
                        fr_dim in, fr_dim *out);

/** Copies the node's attributes to `given` (room for FR_MAX_WINDOW_ATTRIBUTES); returns how many.
 */
int fr_window_attributes(const fr_node *node, fr_attribute *given);

/* ---- expressions ---- */

/** Text of limited length, built piece by piece; fr_text_end reports one that did not fit. */
typedef struct fr_text_buffer {
    char *text;
    size_t bytes, used;
} fr_text_buffer;

void fr_text_add(fr_text_buffer *buffer, const char *format, ...) FR_PRINTF(2, 3);
fr_status fr_text_end(const fr_text_buffer *buffer, const fr_node *node);

/** Names of the iterators over the result's and the kernel's spatial dims: h, w and r, s of images.
 */
const char *fr_window_out_name(const fr_window_sizes *window, int d);
const char *fr_window_kernel_name(const fr_window_sizes *window, int d);
/** "n:1, f:64, h:14, w:14" of a result [n, f, out...]. */
void fr_window_add_traversal(fr_text_buffer *buffer, const fr_window_sizes *window,
                             const fr_tensor *out);
/** ", 2*h+r-1, 2*w+s-1": where the window reads. */
void fr_window_add_reads(fr_text_buffer *buffer, const fr_window_sizes *window);
/** "I0:1x64x14x14 pad 0,0,1,1". */
void fr_window_add_padded(fr_text_buffer *buffer, const fr_window_sizes *window,
                          const fr_tensor *image);

#endif
