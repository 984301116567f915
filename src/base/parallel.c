/*
 * parallel.c: tiles of a range over OpenMP's threads, or one after the other without it. See
 * parallel.h.
 *
 * Tiles are counted rather than added up, so that no end overflows near INT64_MAX.
 */
#include "base/parallel.h"

#include <stdatomic.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static _Atomic int wanted_threads; /* 0: all cores */

/* The cores that the process may use, fewer where OMP_NUM_THREADS or OMP_THREAD_LIMIT says so. */
static int all_cores(void)
{
#ifdef _OPENMP
    static _Atomic int
        cores; /* as the environment had it: fr_set_threads changes what OpenMP answers */
    int known = atomic_load(&cores);
    if (known == 0) {
        known = omp_get_max_threads() < omp_get_thread_limit() ? omp_get_max_threads()
                                                               : omp_get_thread_limit();
        atomic_store(&cores, known);
    }
    return known;
#else
    return 1;
#endif
}

void fr_set_threads(int n)
{
    const int cores = all_cores();
    atomic_store(&wanted_threads, n > 0 ? n : 0);
#ifdef _OPENMP
    omp_set_num_threads(n > 0 ? n : cores); /* libraries that follow the caller's OpenMP settings */
#else
    (void)cores;
#endif
}

int fr_threads(void)
{
    const int n = atomic_load(&wanted_threads);
    return n > 0 ? n : all_cores();
}

static int64_t tile_end(int64_t i, int64_t tile, int64_t n)
{
    return n - i * tile < tile ? n : i * tile + tile;
}

void fr_parallel_for(int64_t n, int64_t tile, fr_range_function function, void *context)
{
    if (n <= 0)
        return;
    if (tile < 1)
        tile = 1;
    const int64_t n_tiles = n / tile + (n % tile != 0);
#ifdef _OPENMP
    const int most = fr_threads();
    if (n_tiles > 1 && most > 1 && !omp_in_parallel()) {
        const int threads = n_tiles < most ? (int)n_tiles : most;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t i = 0; i < n_tiles; i++)
            function(context, i * tile, tile_end(i, tile, n), omp_get_thread_num());
        return;
    }
#endif
    for (int64_t i = 0; i < n_tiles; i++)
        function(context, i * tile, tile_end(i, tile, n), 0);
}
