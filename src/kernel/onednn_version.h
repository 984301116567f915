/*
 * onednn_version.h: where the C API of oneDNN 2 and 3 differ, for onednn.c alone.
 *
 * A layout (memory descriptor) is a struct in version 2 and a handle that must be destroyed in
 * version 3. `layout` owns one; `layout_view` is what functions take. Primitive descriptors of a
 * convolution are made in two steps in version 2 and in one in version 3.
 */
#ifndef FR_KERNEL_ONEDNN_VERSION_H
#define FR_KERNEL_ONEDNN_VERSION_H

#include <oneapi/dnnl/dnnl.h>

#include "kernel/onednn.h"

typedef dnnl_memory_desc_t layout;

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t layout_view;
static inline layout_view view_of(const layout *l) { return *l; }
static inline void layout_release(layout *l)
{
    if (*l != NULL)
        (void)dnnl_memory_desc_destroy(*l);
    *l = NULL;
}
static inline dnnl_status_t layout_plain(layout *l, int rank, const dnnl_dims_t sizes,
                                         const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(l, rank, sizes, dnnl_f32, strides);
}
static inline dnnl_status_t layout_any(layout *l, int rank, const dnnl_dims_t sizes)
{
    return dnnl_memory_desc_create_with_tag(l, rank, sizes, dnnl_f32, dnnl_format_tag_any);
}
#else
typedef const dnnl_memory_desc_t *layout_view;
static inline layout_view view_of(const layout *l) { return l; }
static inline void layout_release(layout *l) { (void)l; }
static inline dnnl_status_t layout_plain(layout *l, int rank, const dnnl_dims_t sizes,
                                         const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(l, rank, sizes, dnnl_f32, strides);
}
static inline dnnl_status_t layout_any(layout *l, int rank, const dnnl_dims_t sizes)
{
    return dnnl_memory_desc_init_by_tag(l, rank, sizes, dnnl_f32, dnnl_format_tag_any);
}
#endif

/* The three operands of the forward convolution, in any layout, and its geometry. */
typedef struct convolution_parts {
    layout x, w, bias, y;
    bool with_bias;
    dnnl_dims_t stride, dilation, pad_begin, pad_end; /* dilation: 0 is none */
} convolution_parts;

#if DNNL_VERSION_MAJOR >= 3
static inline dnnl_status_t describe_forward(const convolution_parts *p, dnnl_engine_t engine,
                                             dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    return dnnl_convolution_forward_primitive_desc_create(
        out, engine, dnnl_forward_training, dnnl_convolution_direct, p->x, p->w,
        p->with_bias ? p->bias : NULL, p->y, p->stride, p->dilation, p->pad_begin, p->pad_end,
        attr);
}
static inline dnnl_status_t describe_backward(const convolution_parts *p, fr_convolution_kind kind,
                                              dnnl_primitive_desc_t forward, dnnl_engine_t engine,
                                              dnnl_primitive_attr_t attr,
                                              dnnl_primitive_desc_t *out)
{
    if (kind == FR_CONVOLUTION_BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, engine, dnnl_convolution_direct, p->x, p->w, p->y, p->stride, p->dilation,
            p->pad_begin, p->pad_end, forward, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, engine, dnnl_convolution_direct, p->x, p->w, NULL, p->y, p->stride, p->dilation,
        p->pad_begin, p->pad_end, forward, attr);
}
#else
static inline dnnl_status_t describe_forward(const convolution_parts *p, dnnl_engine_t engine,
                                             dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t op;
    const dnnl_status_t code = dnnl_dilated_convolution_forward_desc_init(
        &op, dnnl_forward_training, dnnl_convolution_direct, &p->x, &p->w,
        p->with_bias ? &p->bias : NULL, &p->y, p->stride, p->dilation, p->pad_begin, p->pad_end);
    return code != dnnl_success ? code : dnnl_primitive_desc_create(out, &op, attr, engine, NULL);
}
static inline dnnl_status_t describe_backward(const convolution_parts *p, fr_convolution_kind kind,
                                              dnnl_primitive_desc_t forward, dnnl_engine_t engine,
                                              dnnl_primitive_attr_t attr,
                                              dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t op;
    const dnnl_status_t code = kind == FR_CONVOLUTION_BACKWARD_DATA
                                   ? dnnl_dilated_convolution_backward_data_desc_init(
                                         &op, dnnl_convolution_direct, &p->x, &p->w, &p->y,
                                         p->stride, p->dilation, p->pad_begin, p->pad_end)
                                   : dnnl_dilated_convolution_backward_weights_desc_init(
                                         &op, dnnl_convolution_direct, &p->x, &p->w, NULL, &p->y,
                                         p->stride, p->dilation, p->pad_begin, p->pad_end);
    return code != dnnl_success ? code
                                : dnnl_primitive_desc_create(out, &op, attr, engine, forward);
}
#endif

#endif
