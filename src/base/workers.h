/*
 * workers.h: a small pool of long-lived threads with a bounded queue, for what runs beside the
 * computation: samplers, loaders, prefetchers. Loops inside kernels use parallel.h instead.
 *
 * A job's first failure is kept with its sentence and handed over by fr_workers_wait on the
 * caller's thread; jobs queued after it still run.
 */
#ifndef FR_BASE_WORKERS_H
#define FR_BASE_WORKERS_H

#include <stdint.h>

#include "base/error.h"

typedef struct fr_workers fr_workers;
typedef fr_status (*fr_job_function)(void *context, int worker);

/** Starts n threads (>= 1) and a queue of `capacity` jobs. */
fr_status fr_workers_create(int n, int capacity, fr_workers **workers) FR_MUST_USE;
/** Queues a job; waits while `capacity` jobs are queued that no thread has taken (so a job that
 * submits can wait for ever). `ticket` (may be NULL) names it for the wait. FR_ENOMEM: the job was
 * not queued. Any thread may call. */
fr_status fr_workers_submit(fr_workers *workers, fr_job_function job, void *context,
                            int64_t *ticket) FR_MUST_USE;
/** Waits until the job of `ticket` is done and returns its status (sentence included), however many
 * jobs came after it. Waiting again for the same ticket gives the same. FR_EINVAL: no such ticket.
 */
fr_status fr_workers_wait(fr_workers *workers, int64_t ticket) FR_MUST_USE;
/** Lets queued jobs finish, joins the threads; NULL-safe. */
void fr_workers_free(fr_workers *workers);

#endif
