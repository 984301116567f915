/*
 * workers.c: long-lived threads over one bounded ring of jobs. See workers.h.
 *
 * One mutex guards everything. A job's slot is ticket % capacity and is reused only after the job was waited for or is
 * done and `capacity` tickets old; results of jobs nobody waited for are overwritten then.
 *
 *     submitted >= started >= ...      jobs [started, submitted) are queued
 */
#include "base/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"

typedef struct job {
    fr_job_function function;
    void *context;
    int64_t ticket;
    bool done;
    fr_status status;
    char message[FR_ERROR_BYTES];
} job;

struct fr_workers {
    pthread_mutex_t lock;
    pthread_cond_t job_queued, job_done; /* both broadcast: several may wait for different tickets */
    job *jobs;
    int64_t capacity, submitted, started;
    bool closing;
    pthread_t *threads;
    int n_threads, n_numbered;
};

static void run_job(fr_workers *workers, job *j, int number)
{
    /* The lock is not held while a job runs; its slot cannot be reused before done is set. */
    (void)pthread_mutex_unlock(&workers->lock);
    const fr_status status = j->function(j->context, number);
    (void)pthread_mutex_lock(&workers->lock);
    j->status = status;
    (void)snprintf(j->message, sizeof j->message, "%s", status == FR_OK ? "" : fr_error_message());
    j->done = true;
    (void)pthread_cond_broadcast(&workers->job_done);
}

static void *work(void *context)
{
    fr_workers *workers = context;
    (void)pthread_mutex_lock(&workers->lock);
    const int number = workers->n_numbered++;
    for (;;) {
        while (workers->started == workers->submitted && !workers->closing)
            (void)pthread_cond_wait(&workers->job_queued, &workers->lock);
        if (workers->started == workers->submitted)
            break; /* closing, and nothing is left */
        job *j = &workers->jobs[workers->started++ % workers->capacity];
        run_job(workers, j, number);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return NULL;
}

fr_status fr_workers_create(int n, int capacity, fr_workers **out)
{
    *out = NULL;
    if (n < 1 || capacity < 1)
        return fr_fail(FR_EINVAL, "workers: %d threads and a queue of %d", n, capacity);
    fr_workers *workers;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *workers, "workers", &workers));
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->job_queued, NULL);
    (void)pthread_cond_init(&workers->job_done, NULL);
    workers->capacity = capacity;
    fr_status status;
    FR_TRY(fr_alloc((size_t)capacity, sizeof(job), "job queue", &workers->jobs));
    for (int i = 0; i < capacity; i++)
        workers->jobs[i] = (job){.ticket = -1, .done = true};
    FR_TRY(fr_alloc((size_t)n, sizeof(pthread_t), "workers", &workers->threads));
    for (; workers->n_threads < n; workers->n_threads++) {
        const int error = pthread_create(&workers->threads[workers->n_threads], NULL, work, workers);
        if (error != 0)
            FR_TRY(fr_fail_errno(error, "starting worker %d", workers->n_threads));
    }
    *out = workers;
    workers = NULL;
done:
    fr_workers_free(workers);
    return status;
}

fr_status fr_workers_submit(fr_workers *workers, fr_job_function function, void *context, int64_t *ticket)
{
    (void)pthread_mutex_lock(&workers->lock);
    job *j = &workers->jobs[workers->submitted % workers->capacity];
    while (!j->done)
        (void)pthread_cond_wait(&workers->job_done, &workers->lock);
    *j = (job){.function = function, .context = context, .ticket = workers->submitted};
    if (ticket != NULL)
        *ticket = workers->submitted;
    workers->submitted++;
    (void)pthread_cond_broadcast(&workers->job_queued);
    (void)pthread_mutex_unlock(&workers->lock);
    return FR_OK;
}

fr_status fr_workers_wait(fr_workers *workers, int64_t ticket)
{
    char message[FR_ERROR_BYTES];
    (void)pthread_mutex_lock(&workers->lock);
    job *j = &workers->jobs[ticket % workers->capacity];
    while (j->ticket == ticket && !j->done)
        (void)pthread_cond_wait(&workers->job_done, &workers->lock);
    const bool known = j->ticket == ticket;
    const fr_status status = known ? j->status : FR_EINVAL;
    (void)snprintf(message, sizeof message, "%s", known ? j->message : "");
    (void)pthread_mutex_unlock(&workers->lock);
    if (!known)
        return fr_fail(FR_EINVAL, "workers: job %lld is not known any more", (long long)ticket);
    if (status != FR_OK)
        fr_error_set(message);
    return status;
}

void fr_workers_free(fr_workers *workers)
{
    if (workers == NULL)
        return;
    (void)pthread_mutex_lock(&workers->lock);
    workers->closing = true;
    (void)pthread_cond_broadcast(&workers->job_queued);
    (void)pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < workers->n_threads; i++)
        (void)pthread_join(workers->threads[i], NULL);
    (void)pthread_cond_destroy(&workers->job_done);
    (void)pthread_cond_destroy(&workers->job_queued);
    (void)pthread_mutex_destroy(&workers->lock);
    fr_free(workers->threads);
    fr_free(workers->jobs);
    fr_free(workers);
}
