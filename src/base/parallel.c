/*
 * parallel.c: tiles of a range over OpenMP's threads, or one after the other without it.
 */
#include "base/parallel.h"

#include <stdatomic.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static _Atomic int wanted_threads; /* 0: all cores */

static int all_cores(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

void fr_set_threads(int n)
{
    atomic_store(&wanted_threads, n > 0 ? n : 0);
#ifdef _OPENMP
    omp_set_num_threads(n > 0 ? n : all_cores()); /* libraries that follow the caller's OpenMP settings */
#endif
}

int fr_threads(void)
{
    const int n = atomic_load(&wanted_threads);
    return n > 0 ? n : all_cores();
}

void fr_parallel_for(int64_t n, int64_t tile, fr_range_function function, void *context)
{
    if (n <= 0)
        return;
    if (tile < 1)
        tile = 1;
#ifdef _OPENMP
    const int64_t n_tiles = (n + tile - 1) / tile;
    const int most = fr_threads();
    if (n_tiles > 1 && most > 1 && !omp_in_parallel()) {
        const int threads = n_tiles < most ? (int)n_tiles : most;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t i = 0; i < n_tiles; i++) {
            const int64_t begin = i * tile, end = begin + tile < n ? begin + tile : n;
            function(context, begin, end, omp_get_thread_num());
        }
        return;
    }
#endif
    for (int64_t begin = 0; begin < n; begin += tile)
        function(context, begin, begin + tile < n ? begin + tile : n, 0);
}
