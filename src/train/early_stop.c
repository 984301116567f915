/*
 * early_stop.c: the best value so far, and how many evaluations have passed since.
 *
 * `seen` counts evaluations since the best one. A value that is not a number is never better; so a
 * run whose loss became NaN stops when its patience is over.
 */
#include <frugal/train.h>

#include <math.h>

fr_early_stop fr_early_stop_start(int64_t patience, bool larger_is_better)
{
    return (fr_early_stop){
        .patience = patience,
        .larger_is_better = larger_is_better,
        .best = larger_is_better ? -HUGE_VAL : HUGE_VAL,
        .best_at = -1,
    };
}

bool fr_early_stop_note(fr_early_stop *stop, double value, int64_t when)
{
    /* The first number is the best so far, be it infinite. */
    const bool first = stop->best_at < 0 && !isnan(value);
    const bool better = first || (stop->larger_is_better ? value > stop->best : value < stop->best);
    stop->seen++;
    if (better) {
        stop->best = value;
        stop->best_at = when;
        stop->seen = 0;
    }
    return better;
}

bool fr_early_stop_reached(const fr_early_stop *stop)
{
    return stop->patience > 0 && stop->seen >= stop->patience;
}
