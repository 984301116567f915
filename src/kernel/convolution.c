/*
 * convolution.c: sizes, checks and the bias gradient of convolutions; f32 goes to oneDNN.
 */
#include "kernel/convolution.h"

#include <inttypes.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/onednn.h"

static fr_status out_size(const fr_convolution *c, int d, int64_t *out)
{
    *out = 0;
    if (c->in[d] < 0 || c->kernel[d] < 1 || c->stride[d] < 1 || c->dilation[d] < 1 ||
        c->pad_begin[d] < 0 || c->pad_end[d] < 0)
        return fr_fail(FR_ESHAPE,
                       "convolution: spatial dimension %d has size %" PRId64 ", kernel %" PRId64
                       ", stride %" PRId64 ", dilation %" PRId64 ", padding %" PRId64
                       " and %" PRId64,
                       d, c->in[d], c->kernel[d], c->stride[d], c->dilation[d], c->pad_begin[d],
                       c->pad_end[d]);
    int64_t reach, padded;
    if (__builtin_mul_overflow(c->kernel[d] - 1, c->dilation[d], &reach) ||
        __builtin_add_overflow(c->in[d], c->pad_begin[d], &padded) ||
        __builtin_add_overflow(padded, c->pad_end[d], &padded))
        return fr_fail(FR_ESHAPE, "convolution: spatial dimension %d is too large", d);
    if (padded <= reach)
        return fr_fail(FR_ESHAPE,
                       "convolution: a kernel that reaches over %" PRId64
                       " cells does not fit %" PRId64 " padded cells of dimension %d",
                       reach + 1, padded, d);
    *out = (padded - reach - 1) / c->stride[d] + 1;
    return FR_OK;
}

fr_status fr_convolution_out(const fr_convolution *c, int64_t *out)
{
    if (c->rank < 1 || c->rank > FR_SPATIAL_MOST)
        return fr_fail(FR_ESHAPE, "convolution: %d spatial dimensions, 1 to 3 are supported",
                       c->rank);
    if (c->n < 0 || c->c < 0 || c->filters < 0 || c->groups < 1 || c->c % c->groups != 0 ||
        c->filters % c->groups != 0)
        return fr_fail(FR_ESHAPE,
                       "convolution: %" PRId64 " images, %" PRId64 " channels, %" PRId64
                       " filters in %" PRId64 " groups",
                       c->n, c->c, c->filters, c->groups);
    for (int d = 0; d < c->rank; d++)
        FR_RETURN_IF_ERROR(out_size(c, d, &out[d]));
    return FR_OK;
}

static int64_t product(const int64_t *sizes, int n)
{
    int64_t total = 1;
    for (int d = 0; d < n; d++)
        total *= sizes[d];
    return total;
}

static bool is_empty(const fr_convolution *c, const int64_t *out)
{
    return c->n == 0 || c->c == 0 || c->filters == 0 || product(out, c->rank) == 0 ||
           product(c->in, c->rank) == 0;
}

fr_status fr_convolution_forward_f32(const fr_convolution *c, const float *x, const float *w,
                                     const float *bias, float *y, void **prepared)
{
    int64_t out[FR_SPATIAL_MOST];
    FR_RETURN_IF_ERROR(fr_convolution_out(c, out));
    if (!is_empty(c, out))
        return fr_onednn_convolution(FR_CONVOLUTION_FORWARD, c, x, w, bias, y, prepared);
    /* Nothing but padding is read: the bias is what is left. */
    const int64_t plane = product(out, c->rank);
    for (int64_t i = 0; i < c->n * c->filters; i++)
        for (int64_t j = 0; j < plane; j++)
            y[i * plane + j] = bias == NULL ? 0.0F : bias[i % c->filters];
    return FR_OK;
}

fr_status fr_convolution_backward_data_f32(const fr_convolution *c, const float *dy, const float *w,
                                           float *dx, void **prepared)
{
    int64_t out[FR_SPATIAL_MOST];
    FR_RETURN_IF_ERROR(fr_convolution_out(c, out));
    if (!is_empty(c, out))
        return fr_onednn_convolution(FR_CONVOLUTION_BACKWARD_DATA, c, dy, w, NULL, dx, prepared);
    const int64_t elements = c->n * c->c * product(c->in, c->rank);
    if (elements > 0)
        memset(dx, 0, (size_t)elements * sizeof *dx);
    return FR_OK;
}

typedef struct bias_job {
    const float *dy;
    float *dbias;
    int64_t n, filters, plane;
} bias_job;

/* dbias[f] = sum over images and places of dy, in double, one filter a tile. */
static void run_bias(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const bias_job *job = context;
    for (int64_t f = begin; f < end; f++) {
        double total = 0;
        for (int64_t n = 0; n < job->n; n++) {
            const float *dy = job->dy + (n * job->filters + f) * job->plane;
            double sum[8] = {0}, rest = 0;
            int64_t i = 0;
            for (; i + 8 <= job->plane; i += 8)
                for (int lane = 0; lane < 8; lane++)
                    sum[lane] += (double)dy[i + lane];
            for (; i < job->plane; i++)
                rest += (double)dy[i];
            for (int lane = 0; lane < 8; lane++)
                rest += sum[lane];
            total += rest;
        }
        job->dbias[f] = (float)total;
    }
}

fr_status fr_convolution_backward_weights_f32(const fr_convolution *c, const float *x,
                                              const float *dy, float *dw, float *dbias,
                                              void **prepared)
{
    int64_t out[FR_SPATIAL_MOST];
    FR_RETURN_IF_ERROR(fr_convolution_out(c, out));
    if (dbias != NULL) {
        bias_job job = {dy, dbias, c->n, c->filters, product(out, c->rank)};
        fr_parallel_for(c->filters, 1 + 65536 / (1 + job.n * job.plane), run_bias, &job);
    }
    if (!is_empty(c, out))
        return fr_onednn_convolution(FR_CONVOLUTION_BACKWARD_WEIGHTS, c, x, dy, NULL, dw, prepared);
    const int64_t elements = c->filters * (c->c / c->groups) * product(c->kernel, c->rank);
    if (elements > 0)
        memset(dw, 0, (size_t)elements * sizeof *dw);
    return FR_OK;
}

void fr_convolution_release(void *prepared) { fr_onednn_convolution_release(prepared); }
