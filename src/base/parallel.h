/*
 * parallel.h: how loops are shared between threads, with or without OpenMP.
 *
 * A kernel must give the same bits with any number of threads: split by fixed tiles, never by
 * thread, wherever a sum crosses the split. Chunks come as [begin, end).
 */
#ifndef FR_BASE_PARALLEL_H
#define FR_BASE_PARALLEL_H

#include <stdint.h>

/** Sets how many threads loops use from now on (>= 1); 0 = all cores the process may use
 * (OMP_NUM_THREADS where it is set). */
void fr_set_threads(int n);
int fr_threads(void);

/** Work on items [begin, end); `thread` in [0, fr_threads()). */
typedef void (*fr_range_function)(void *context, int64_t begin, int64_t end, int thread);

/** Runs `function` over [0, n) in tiles of `tile` items, handed out dynamically; each tile is one
 * call. One call on the caller's thread where n <= tile. Never nests: inside a parallel region it
 * runs serially. */
void fr_parallel_for(int64_t n, int64_t tile, fr_range_function function, void *context);

#endif
