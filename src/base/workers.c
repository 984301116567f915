/*
 * workers.c: long-lived threads over one bounded queue of jobs. See workers.h.
 *
 * One mutex guards everything but a job's run. A job moves through lists, and its ticket alone
 * tells where it can be:
 *
 *     unused -> queue -> running[worker] -> unused   it went well: nothing to remember
 *                                        -> failed   kept until the end
 *
 * The queue holds at most `capacity`, the oldest first. A ticket below `submitted` that is in none
 * of queue, running and failed has succeeded. Jobs are taken from the unused ones: once
 * there are enough, submitting allocates nothing.
 */
#include "base/workers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"

typedef struct job {
    struct job *next;
    fr_job_function function;
    void *context;
    int64_t ticket;
    fr_status status;
    char message[FR_ERROR_BYTES];
} job;

struct fr_workers {
    pthread_mutex_t lock;
    /* job_queued: one job came, or closing. job_taken: the queue has room. job_done: broadcast, as
     * several may wait for different tickets. */
    pthread_cond_t job_queued, job_taken, job_done;
    job *queue_first, *queue_last, *failed, *unused;
    int64_t submitted; /* the next ticket */
    int n_queued, capacity;
    bool closing;
    int n_threads, n_numbered;
    pthread_t *threads;
    job **running; /* per worker; NULL while it is idle */
};

static void push(job **list, job *j)
{
    j->next = *list;
    *list = j;
}

static job *take_oldest(fr_workers *workers)
{
    job *j = workers->queue_first;
    workers->queue_first = j->next;
    if (j->next == NULL)
        workers->queue_last = NULL;
    workers->n_queued--;
    (void)pthread_cond_signal(&workers->job_taken);
    return j;
}

static void run_oldest(fr_workers *workers, int number)
{
    job *j = take_oldest(workers);
    workers->running[number] = j;
    (void)pthread_mutex_unlock(&workers->lock);
    const fr_status status = j->function(j->context, number);
    (void)pthread_mutex_lock(&workers->lock);
    workers->running[number] = NULL;
    j->status = status;
    if (status != FR_OK)
        (void)snprintf(j->message, sizeof j->message, "%s", fr_error_message());
    push(status == FR_OK ? &workers->unused : &workers->failed, j);
    (void)pthread_cond_broadcast(&workers->job_done);
}

static void *work(void *context)
{
    fr_workers *workers = context;
    (void)pthread_mutex_lock(&workers->lock);
    const int number = workers->n_numbered++;
    for (;;) {
        while (workers->n_queued == 0 && !workers->closing)
            (void)pthread_cond_wait(&workers->job_queued, &workers->lock);
        if (workers->n_queued == 0)
            break; /* closing, and nothing is left */
        run_oldest(workers, number);
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
    (void)pthread_cond_init(&workers->job_taken, NULL);
    (void)pthread_cond_init(&workers->job_done, NULL);
    workers->capacity = capacity;
    fr_status status;
    FR_TRY(fr_alloc((size_t)n, sizeof(pthread_t), "workers", &workers->threads));
    FR_TRY(fr_alloc((size_t)n, sizeof(job *), "workers", &workers->running));
    for (; workers->n_threads < n; workers->n_threads++) {
        const int error =
            pthread_create(&workers->threads[workers->n_threads], NULL, work, workers);
        if (error != 0)
            FR_TRY(fr_fail_errno(error, "starting worker %d of %d", workers->n_threads + 1, n));
    }
    *out = workers;
    workers = NULL;
done:
    fr_workers_free(workers);
    return status;
}

/* A job with the lock held. Nothing is queued where memory ran out. */
static fr_status take_unused(fr_workers *workers, job **j)
{
    *j = workers->unused;
    if (*j == NULL)
        return fr_alloc(1, sizeof **j, "job", j);
    workers->unused = (*j)->next;
    return FR_OK;
}

fr_status fr_workers_submit(fr_workers *workers, fr_job_function function, void *context,
                            int64_t *ticket)
{
    job *j;
    (void)pthread_mutex_lock(&workers->lock);
    while (workers->n_queued == workers->capacity)
        (void)pthread_cond_wait(&workers->job_taken, &workers->lock);
    const fr_status status = take_unused(workers, &j);
    if (status == FR_OK) {
        j->function = function;
        j->context = context;
        j->ticket = workers->submitted++;
        j->next = NULL;
        *(workers->queue_last != NULL ? &workers->queue_last->next : &workers->queue_first) = j;
        workers->queue_last = j;
        workers->n_queued++;
        if (ticket != NULL)
            *ticket = j->ticket;
        (void)pthread_cond_signal(&workers->job_queued);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return status;
}

/* Queued tickets are consecutive: the queue begins with its smallest. */
static bool is_pending(const fr_workers *workers, int64_t ticket)
{
    if (workers->queue_first != NULL && ticket >= workers->queue_first->ticket)
        return true;
    for (int i = 0; i < workers->n_threads; i++)
        if (workers->running[i] != NULL && workers->running[i]->ticket == ticket)
            return true;
    return false;
}

static const job *find_failed(const fr_workers *workers, int64_t ticket)
{
    const job *j = workers->failed;
    while (j != NULL && j->ticket != ticket)
        j = j->next;
    return j;
}

fr_status fr_workers_wait(fr_workers *workers, int64_t ticket)
{
    fr_status status = FR_OK;
    (void)pthread_mutex_lock(&workers->lock);
    if (ticket < 0 || ticket >= workers->submitted) {
        status = fr_fail(FR_EINVAL, "workers: waiting for job %" PRId64 " of %" PRId64, ticket,
                         workers->submitted);
    } else {
        while (is_pending(workers, ticket))
            (void)pthread_cond_wait(&workers->job_done, &workers->lock);
        const job *j = find_failed(workers, ticket);
        if (j != NULL) {
            status = j->status;
            fr_error_set(j->message);
        }
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return status;
}

static void free_list(job *list)
{
    for (job *next; list != NULL; list = next) {
        next = list->next;
        fr_free(list);
    }
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
    (void)pthread_cond_destroy(&workers->job_taken);
    (void)pthread_cond_destroy(&workers->job_queued);
    (void)pthread_mutex_destroy(&workers->lock);
    free_list(workers->unused);
    free_list(workers->failed);
    fr_free(workers->running);
    fr_free(workers->threads);
    fr_free(workers);
}
