/*
 * pooling.c: pooling in 1 to 3 dimensions, as 3 with sizes of 1 in front.
 *
 * Planes (one image, one channel) are independent in both directions, so they are handed out whole
 * and every sum keeps its order.
 */
#include "kernel/pooling.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"

/* Sizes with missing dimensions in front filled with 1. */
typedef struct pool_plane {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
    int64_t in_cells, out_cells;
    bool count_include_pad;
} pool_plane;

/* Input cells of a window that exist, and what an average divides by. */
typedef struct window {
    int64_t begin[3], end[3], step[3];
    int64_t cells;
} window;

typedef enum pool_kind {
    POOL_MAX,
    POOL_MAX_GRADIENT,
    POOL_AVERAGE,
    POOL_AVERAGE_GRADIENT
} pool_kind;

typedef struct pool_job {
    pool_plane plane;
    pool_kind kind;
    const void *in;
    void *out;
    int64_t in_stride, out_stride; /* elements of a plane of each */
    int64_t *place;
    const int64_t *given_place;
} pool_job;

static int64_t steps_between(int64_t begin, int64_t end, int64_t step)
{
    return end <= begin ? 0 : (end - begin + step - 1) / step;
}

static window window_of(const pool_plane *p, int64_t o)
{
    window w = {.cells = 1};
    for (int d = 2; d >= 0; d--) {
        const int64_t start = o % p->out[d] * p->stride[d] - p->pad_begin[d];
        const int64_t stop = start + (p->kernel[d] - 1) * p->dilation[d] + 1;
        o /= p->out[d];
        w.step[d] = p->dilation[d];
        w.begin[d] = start >= 0 ? start : start + steps_between(start, 0, w.step[d]) * w.step[d];
        w.end[d] = stop < p->in[d] ? stop : p->in[d];
        /* with the padding counted, cells beyond even the padding (ceil_mode) still are not */
        const int64_t padded_end = p->in[d] + p->pad_end[d];
        w.cells *= p->count_include_pad
                       ? steps_between(start, stop < padded_end ? stop : padded_end, w.step[d])
                       : steps_between(w.begin[d], w.end[d], w.step[d]);
    }
    return w;
}

#define real float
#define NAME(x) x##_f32
#include "kernel/pooling_template.h"
#undef real
#undef NAME
#define real double
#define NAME(x) x##_f64
#include "kernel/pooling_template.h"

static fr_status out_size(const fr_pooling *p, int d, int64_t *out)
{
    if (p->in[d] < 0 || p->kernel[d] < 1 || p->stride[d] < 1 || p->dilation[d] < 1 ||
        p->pad_begin[d] < 0 || p->pad_end[d] < 0)
        return fr_fail(FR_ESHAPE,
                       "pooling: spatial dimension %d has size %" PRId64 ", kernel %" PRId64
                       ", stride %" PRId64 ", dilation %" PRId64 ", padding %" PRId64
                       " and %" PRId64,
                       d, p->in[d], p->kernel[d], p->stride[d], p->dilation[d], p->pad_begin[d],
                       p->pad_end[d]);
    const int64_t reach = (p->kernel[d] - 1) * p->dilation[d] + 1;
    const int64_t padded = p->in[d] + p->pad_begin[d] + p->pad_end[d];
    if (padded < reach)
        return fr_fail(FR_ESHAPE,
                       "pooling: a window that reaches over %" PRId64 " cells does not fit %" PRId64
                       " padded cells of dimension %d",
                       reach, padded, d);
    const int64_t left = padded - reach;
    *out = (p->ceil_mode ? (left + p->stride[d] - 1) / p->stride[d] : left / p->stride[d]) + 1;
    /* a window must begin within the input or the padding in front of it */
    if (p->ceil_mode && (*out - 1) * p->stride[d] >= p->in[d] + p->pad_begin[d])
        --*out;
    return FR_OK;
}

fr_status fr_pooling_out(const fr_pooling *p, int64_t *out)
{
    if (p->rank < 1 || p->rank > FR_SPATIAL_MOST || p->n < 0 || p->c < 0)
        return fr_fail(FR_ESHAPE,
                       "pooling: %d spatial dimensions (1 to 3 are supported), %" PRId64
                       " images, %" PRId64 " channels",
                       p->rank, p->n, p->c);
    for (int d = 0; d < p->rank; d++)
        FR_RETURN_IF_ERROR(out_size(p, d, &out[d]));
    return FR_OK;
}

static fr_status run(const fr_pooling *p, fr_dtype dtype, pool_job job)
{
    int64_t out[FR_SPATIAL_MOST] = {0};
    if (dtype != FR_F32 && dtype != FR_F64)
        return fr_fail(FR_EDTYPE, "pooling: f32 or f64 is needed, not %s", fr_dtype_name(dtype));
    FR_RETURN_IF_ERROR(fr_pooling_out(p, out));
    pool_plane *plane = &job.plane;
    *plane = (pool_plane){.in_cells = 1, .out_cells = 1, .count_include_pad = p->count_include_pad};
    const int missing = 3 - p->rank;
    for (int d = 0; d < 3; d++) {
        const bool there = d >= missing;
        plane->in[d] = there ? p->in[d - missing] : 1;
        plane->out[d] = there ? out[d - missing] : 1;
        plane->kernel[d] = there ? p->kernel[d - missing] : 1;
        plane->stride[d] = there ? p->stride[d - missing] : 1;
        plane->dilation[d] = there ? p->dilation[d - missing] : 1;
        plane->pad_begin[d] = there ? p->pad_begin[d - missing] : 0;
        plane->pad_end[d] = there ? p->pad_end[d - missing] : 0;
        plane->in_cells *= plane->in[d];
        plane->out_cells *= plane->out[d];
    }
    const bool forward = job.kind == POOL_MAX || job.kind == POOL_AVERAGE;
    job.in_stride = forward ? plane->in_cells : plane->out_cells;
    job.out_stride = forward ? plane->out_cells : plane->in_cells;
    if (job.out_stride == 0)
        return FR_OK;
    fr_parallel_for(p->n * p->c, 1 + 8192 / job.out_stride,
                    dtype == FR_F32 ? pool_planes_f32 : pool_planes_f64, &job);
    return FR_OK;
}

fr_status fr_max_pool_run(const fr_pooling *p, fr_dtype dtype, const void *x, void *y,
                          int64_t *argmax)
{
    return run(p, dtype, (pool_job){.kind = POOL_MAX, .in = x, .out = y, .place = argmax});
}

fr_status fr_max_pool_gradient_run(const fr_pooling *p, fr_dtype dtype, const void *dy,
                                   const int64_t *argmax, void *dx)
{
    return run(p, dtype,
               (pool_job){.kind = POOL_MAX_GRADIENT, .in = dy, .out = dx, .given_place = argmax});
}

fr_status fr_average_pool_run(const fr_pooling *p, fr_dtype dtype, const void *x, void *y)
{
    return run(p, dtype, (pool_job){.kind = POOL_AVERAGE, .in = x, .out = y});
}

fr_status fr_average_pool_gradient_run(const fr_pooling *p, fr_dtype dtype, const void *dy,
                                       void *dx)
{
    return run(p, dtype, (pool_job){.kind = POOL_AVERAGE_GRADIENT, .in = dy, .out = dx});
}
