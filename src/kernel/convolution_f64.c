/*
 * convolution_f64.c: convolution and its gradients as loops in double: what gradient checks run.
 *
 * Every operation walks the same pairs of an output cell and a kernel cell. Cells are counted flat
 * and taken apart per pair: slow and plain. Parallel over what is written, so sums keep their
 * order.
 */
#include <stdbool.h>
#include <string.h>

#include "base/parallel.h"
#include "kernel/convolution.h"

typedef struct loop_job {
    const fr_convolution *c;
    int64_t in_plane, out_plane, kernel_cells;
    int64_t out[FR_SPATIAL_MOST];
    const double *a, *b, *bias; /* the two operands in the order of the entry point */
    double *result;
} loop_job;

static fr_status start(const fr_convolution *c, const double *a, const double *b, double *result,
                       loop_job *job)
{
    *job = (loop_job){
        .c = c, .in_plane = 1, .out_plane = 1, .kernel_cells = 1, .a = a, .b = b, .result = result};
    FR_RETURN_IF_ERROR(fr_convolution_out(c, job->out));
    for (int d = 0; d < c->rank; d++) {
        job->in_plane *= c->in[d];
        job->out_plane *= job->out[d];
        job->kernel_cells *= c->kernel[d];
    }
    return FR_OK;
}

/* The input cell that output cell o reads through kernel cell r; -1 in the padding. */
static int64_t input_cell(const loop_job *job, int64_t o, int64_t r)
{
    const fr_convolution *c = job->c;
    int64_t cell = 0, step = 1;
    for (int d = c->rank - 1; d >= 0; d--) {
        const int64_t at =
            o % job->out[d] * c->stride[d] + r % c->kernel[d] * c->dilation[d] - c->pad_begin[d];
        if (at < 0 || at >= c->in[d])
            return -1;
        cell += at * step;
        step *= c->in[d];
        o /= job->out[d];
        r /= c->kernel[d];
    }
    return cell;
}

/* One plane of y: image and filter. */
static void forward_planes(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const loop_job *job = context;
    const int64_t filters = job->c->filters, c_group = job->c->c / job->c->groups;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / filters, f = i % filters, group = f / (filters / job->c->groups);
        for (int64_t o = 0; o < job->out_plane; o++) {
            double total = job->bias == NULL ? 0.0 : job->bias[f];
            for (int64_t r = 0; r < job->kernel_cells; r++) {
                const int64_t cell = input_cell(job, o, r);
                for (int64_t c = 0; cell >= 0 && c < c_group; c++)
                    total += job->a[(n * job->c->c + group * c_group + c) * job->in_plane + cell] *
                             job->b[(f * c_group + c) * job->kernel_cells + r];
            }
            job->result[i * job->out_plane + o] = total;
        }
    }
}

/* One image of dx. */
static void data_images(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const loop_job *job = context;
    const int64_t filters = job->c->filters, c_group = job->c->c / job->c->groups;
    for (int64_t n = begin; n < end; n++) {
        double *dx = job->result + n * job->c->c * job->in_plane;
        memset(dx, 0, (size_t)(job->c->c * job->in_plane) * sizeof *dx);
        for (int64_t f = 0; f < filters; f++)
            for (int64_t o = 0; o < job->out_plane; o++)
                for (int64_t r = 0; r < job->kernel_cells; r++) {
                    const int64_t cell = input_cell(job, o, r);
                    const int64_t first = f / (filters / job->c->groups) * c_group;
                    const double dy = job->a[(n * filters + f) * job->out_plane + o];
                    for (int64_t c = 0; cell >= 0 && c < c_group; c++)
                        dx[(first + c) * job->in_plane + cell] +=
                            dy * job->b[(f * c_group + c) * job->kernel_cells + r];
                }
    }
}

/* One filter of dw. */
static void weight_filters(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const loop_job *job = context;
    const int64_t filters = job->c->filters, c_group = job->c->c / job->c->groups;
    for (int64_t f = begin; f < end; f++) {
        double *dw = job->result + f * c_group * job->kernel_cells;
        memset(dw, 0, (size_t)(c_group * job->kernel_cells) * sizeof *dw);
        for (int64_t n = 0; n < job->c->n; n++)
            for (int64_t o = 0; o < job->out_plane; o++)
                for (int64_t r = 0; r < job->kernel_cells; r++) {
                    const int64_t cell = input_cell(job, o, r);
                    const int64_t first = n * job->c->c + f / (filters / job->c->groups) * c_group;
                    const double dy = job->b[(n * filters + f) * job->out_plane + o];
                    for (int64_t c = 0; cell >= 0 && c < c_group; c++)
                        dw[c * job->kernel_cells + r] +=
                            dy * job->a[(first + c) * job->in_plane + cell];
                }
    }
}

fr_status fr_convolution_forward_f64(const fr_convolution *c, const double *x, const double *w,
                                     const double *bias, double *y)
{
    loop_job job;
    FR_RETURN_IF_ERROR(start(c, x, w, y, &job));
    job.bias = bias;
    fr_parallel_for(c->n * c->filters, 1, forward_planes, &job);
    return FR_OK;
}

fr_status fr_convolution_backward_data_f64(const fr_convolution *c, const double *dy,
                                           const double *w, double *dx)
{
    loop_job job;
    FR_RETURN_IF_ERROR(start(c, dy, w, dx, &job));
    if (c->c * job.in_plane > 0)
        fr_parallel_for(c->n, 1, data_images, &job);
    return FR_OK;
}

fr_status fr_convolution_backward_weights_f64(const fr_convolution *c, const double *x,
                                              const double *dy, double *dw, double *dbias)
{
    loop_job job;
    FR_RETURN_IF_ERROR(start(c, x, dy, dw, &job));
    for (int64_t f = 0; dbias != NULL && f < c->filters; f++) {
        dbias[f] = 0;
        for (int64_t n = 0; n < c->n; n++)
            for (int64_t o = 0; o < job.out_plane; o++)
                dbias[f] += dy[(n * c->filters + f) * job.out_plane + o];
    }
    if (c->c > 0)
        fr_parallel_for(c->filters, 1, weight_filters, &job);
    return FR_OK;
}
