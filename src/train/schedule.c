/*
 * schedule.c: learning rates as a pure function of the step, so that a resumed run needs no state.
 *
 *     rate |    ____________          WSD: warm-up, stable, decay
 *          |   /            \
 *          |  /              \___ floor
 *          +-----------------------> step
 *          0  warmup        total
 *
 * Steps count from 0: step 0 of a warm-up has rate 0, step `warmup` the peak, step `total` (and all
 * after it) the floor. A total of 0 means that no end is known: the rate stays at the peak.
 */
#include <frugal/train.h>

#include <math.h>

static const double pi = 3.14159265358979323846;

/* From the peak at `begin` to the floor at `end` along half a cosine. */
static double cosine(const fr_schedule *s, int64_t step, int64_t begin, int64_t end)
{
    if (step >= end)
        return s->floor;
    const double part = (double)(step - begin) / (double)(end - begin);
    return s->floor + (s->peak - s->floor) * 0.5 * (1 + cos(pi * part));
}

static double linear(const fr_schedule *s, int64_t step, int64_t begin, int64_t end)
{
    if (step >= end)
        return s->floor;
    if (step <= begin)
        return s->peak;
    const double part = (double)(step - begin) / (double)(end - begin);
    return s->peak + (s->floor - s->peak) * part;
}

double fr_schedule_rate(const fr_schedule *s, int64_t step)
{
    if (step < 0)
        step = 0;
    if (step < s->warmup)
        return s->peak * ((double)step / (double)s->warmup);
    const int64_t warmup = s->warmup > 0 ? s->warmup : 0;
    switch (s->kind) {
    case FR_SCHEDULE_COSINE: return s->total > 0 ? cosine(s, step, warmup, s->total) : s->peak;
    case FR_SCHEDULE_STEP: {
        if (s->step_every <= 0)
            return s->peak;
        const int64_t n_cuts = (step - warmup) / s->step_every;
        const double rate = s->peak * pow(s->factor, (double)n_cuts);
        return rate > s->floor ? rate : s->floor;
    }
    case FR_SCHEDULE_WSD:
        return s->total > 0
                   ? linear(s, step, s->total - s->decay > warmup ? s->total - s->decay : warmup,
                            s->total)
                   : s->peak;
    case FR_SCHEDULE_CONSTANT: break;
    }
    return s->peak;
}
