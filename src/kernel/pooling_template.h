/*
 * pooling_template.h: pooling of one plane, for one element type.
 *
 * Included by pooling.c, which defines `real` and NAME(x). A plane is walked by output cells; the
 * window of a cell is clipped to the plane once per dimension, so the inner loop tests nothing.
 */

static void NAME(max_plane)(const pool_plane *p, const real *x, real *y, int64_t *place,
                            int64_t first_place)
{
    for (int64_t o = 0; o < p->out_cells; o++) {
        const window w = window_of(p, o);
        real best = -(real)INFINITY;
        int64_t where = -1;
        for (int64_t i = w.begin[0]; i < w.end[0]; i += w.step[0])
            for (int64_t j = w.begin[1]; j < w.end[1]; j += w.step[1])
                for (int64_t k = w.begin[2]; k < w.end[2]; k += w.step[2]) {
                    const int64_t cell = (i * p->in[1] + j) * p->in[2] + k;
                    if (where < 0 || (!(x[cell] <= best) && best == best)) {
                        best = x[cell];
                        where = cell;
                    }
                }
        y[o] = best;
        if (place != NULL)
            place[o] = where < 0 ? -1 : first_place + where;
    }
}

static void NAME(average_plane)(const pool_plane *p, const real *x, real *y)
{
    for (int64_t o = 0; o < p->out_cells; o++) {
        const window w = window_of(p, o);
        real total = 0;
        for (int64_t i = w.begin[0]; i < w.end[0]; i += w.step[0])
            for (int64_t j = w.begin[1]; j < w.end[1]; j += w.step[1])
                for (int64_t k = w.begin[2]; k < w.end[2]; k += w.step[2])
                    total += x[(i * p->in[1] + j) * p->in[2] + k];
        y[o] = w.cells == 0 ? (real)0 : total / (real)w.cells;
    }
}

static void NAME(average_gradient_plane)(const pool_plane *p, const real *dy, real *dx)
{
    memset(dx, 0, (size_t)p->in_cells * sizeof *dx);
    for (int64_t o = 0; o < p->out_cells; o++) {
        const window w = window_of(p, o);
        const real share = w.cells == 0 ? (real)0 : dy[o] / (real)w.cells;
        for (int64_t i = w.begin[0]; i < w.end[0]; i += w.step[0])
            for (int64_t j = w.begin[1]; j < w.end[1]; j += w.step[1])
                for (int64_t k = w.begin[2]; k < w.end[2]; k += w.step[2])
                    dx[(i * p->in[1] + j) * p->in[2] + k] += share;
    }
}

static void NAME(max_gradient_plane)(const pool_plane *p, const real *dy, const int64_t *place,
                                     int64_t first_place, real *dx)
{
    memset(dx, 0, (size_t)p->in_cells * sizeof *dx);
    for (int64_t o = 0; o < p->out_cells; o++) {
        const int64_t cell = place[o] - first_place;
        if (place[o] >= 0 && cell >= 0 && cell < p->in_cells)
            dx[cell] += dy[o];
    }
}

static void NAME(pool_planes)(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const pool_job *job = context;
    const pool_plane *p = &job->plane;
    for (int64_t i = begin; i < end; i++) {
        const real *in = (const real *)job->in + i * job->in_stride;
        real *out = (real *)job->out + i * job->out_stride;
        const int64_t first = i * p->in_cells;
        int64_t *place = job->place == NULL ? NULL : job->place + i * p->out_cells;
        switch (job->kind) {
        case POOL_MAX: NAME(max_plane)(p, in, out, place, first); break;
        case POOL_AVERAGE: NAME(average_plane)(p, in, out); break;
        case POOL_AVERAGE_GRADIENT: NAME(average_gradient_plane)(p, in, out); break;
        case POOL_MAX_GRADIENT:
            NAME(max_gradient_plane)(p, in, job->given_place + i * p->out_cells, first, out);
            break;
        }
    }
}
