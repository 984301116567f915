/*
 * test_workers.c: the pool. Oracles: counts per job, gates that jobs wait at; ThreadSanitizer runs
 * the same tests.
 */
#include "base_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/workers.h"

typedef struct task {
    _Atomic int n_runs;
    int number;
    fr_status status;
    _Atomic int worker;
} task;

static fr_status run_task(void *context, int worker)
{
    task *t = context;
    atomic_fetch_add(&t->n_runs, 1);
    atomic_store(&t->worker, worker);
    return t->status == FR_OK ? FR_OK : fr_fail(t->status, "task %d failed", t->number);
}

static void every_job_runs_once_on_a_numbered_worker(void **state)
{
    (void)state;
    enum { N = 500 };
    const int64_t live = fr_live_blocks();
    for (int n_threads = 1; n_threads <= 4; n_threads++)
        for (int capacity = 1; capacity <= 9; capacity += 4) {
            static task tasks[N];
            memset(tasks, 0, sizeof tasks);
            fr_workers *workers;
            int64_t last;
            assert_int_equal(fr_workers_create(n_threads, capacity, &workers), FR_OK);
            for (int i = 0; i < N; i++)
                assert_int_equal(fr_workers_submit(workers, run_task, &tasks[i], &last), FR_OK);
            assert_int_equal(last, N - 1);
            fr_workers_free(workers); /* lets queued jobs finish */
            for (int i = 0; i < N; i++) {
                assert_int_equal(tasks[i].n_runs, 1);
                assert_in_range(tasks[i].worker, 0, n_threads - 1);
            }
        }
    fr_workers_free(NULL);
    assert_int_equal(fr_live_blocks(), live);
}

static void a_failure_is_handed_over_with_its_sentence(void **state)
{
    (void)state;
    task good = {0}, bad = {.number = 7, .status = FR_ECORRUPT};
    int64_t tickets[3];
    fr_workers *workers;
    assert_int_equal(fr_workers_create(2, 4, &workers), FR_OK);
    assert_int_equal(fr_workers_submit(workers, run_task, &good, &tickets[0]), FR_OK);
    assert_int_equal(fr_workers_submit(workers, run_task, &bad, &tickets[1]), FR_OK);
    assert_int_equal(fr_workers_submit(workers, run_task, &good, &tickets[2]), FR_OK);
    fr_error_set("old");
    assert_int_equal(fr_workers_wait(workers, tickets[2]),
                     FR_OK); /* jobs after a failure still run */
    assert_int_equal(fr_workers_wait(workers, tickets[0]), FR_OK);
    assert_string_equal(fr_error_message(), "old");
    assert_int_equal(fr_workers_wait(workers, tickets[1]), FR_ECORRUPT);
    assert_string_equal(fr_error_message(), "task 7 failed");
    assert_int_equal(fr_workers_wait(workers, tickets[1]), FR_ECORRUPT); /* and stays what it was */
    assert_int_equal(good.n_runs, 2);
    fr_workers_free(workers);
}

static void results_outlive_any_number_of_later_jobs(void **state)
{
    (void)state;
    enum { N = 200 };
    static task tasks[N];
    memset(tasks, 0, sizeof tasks);
    int64_t tickets[N];
    fr_workers *workers;
    assert_int_equal(fr_workers_create(3, 2, &workers), FR_OK);
    for (int i = 0; i < N; i++) {
        tasks[i].number = i;
        tasks[i].status = i % 3 == 0 ? FR_EIO : FR_OK;
        assert_int_equal(fr_workers_submit(workers, run_task, &tasks[i], &tickets[i]), FR_OK);
    }
    for (int i = N - 1; i >= 0; i--) {
        char sentence[40];
        (void)snprintf(sentence, sizeof sentence, "task %d failed", i);
        assert_int_equal(fr_workers_wait(workers, tickets[i]), tasks[i].status);
        if (tasks[i].status != FR_OK)
            assert_string_equal(fr_error_message(), sentence);
    }
    fr_workers_free(workers);
}

static void a_ticket_that_was_never_given_is_refused(void **state)
{
    (void)state;
    task good = {0};
    fr_workers *workers;
    assert_int_equal(fr_workers_create(1, 1, &workers), FR_OK);
    assert_int_equal(fr_workers_wait(workers, 0), FR_EINVAL);
    assert_int_equal(fr_workers_wait(workers, -1), FR_EINVAL);
    assert_int_equal(fr_workers_submit(workers, run_task, &good, NULL), FR_OK);
    assert_int_equal(fr_workers_wait(workers, 0), FR_OK);
    assert_int_equal(fr_workers_wait(workers, 1), FR_EINVAL);
    assert_string_equal(fr_error_message(), "workers: waiting for job 1 of 1");
    fr_workers_free(workers);
}

static void a_pool_of_nothing_is_refused(void **state)
{
    (void)state;
    task dummy;
    fr_workers *workers = (fr_workers *)(void *)&dummy;
    assert_int_equal(fr_workers_create(0, 1, &workers), FR_EINVAL);
    assert_null(workers);
    assert_int_equal(fr_workers_create(1, 0, &workers), FR_EINVAL);
    assert_int_equal(fr_workers_create(-1, 1, &workers), FR_EINVAL);
}

/* A gate that jobs wait at until the test opens it. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_waiting;
    bool open;
} gate;
#define CLOSED_GATE                                                                                \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static fr_status wait_at_gate(void *context, int worker)
{
    (void)worker;
    gate *g = context;
    (void)pthread_mutex_lock(&g->lock);
    g->n_waiting++;
    (void)pthread_cond_broadcast(&g->changed);
    while (!g->open)
        (void)pthread_cond_wait(&g->changed, &g->lock);
    (void)pthread_mutex_unlock(&g->lock);
    return FR_OK;
}

static void await_arrivals(gate *g, int n)
{
    (void)pthread_mutex_lock(&g->lock);
    while (g->n_waiting < n)
        (void)pthread_cond_wait(&g->changed, &g->lock);
    (void)pthread_mutex_unlock(&g->lock);
}

static void open_gate(gate *g)
{
    (void)pthread_mutex_lock(&g->lock);
    g->open = true;
    (void)pthread_cond_broadcast(&g->changed);
    (void)pthread_mutex_unlock(&g->lock);
}

static void all_threads_work_whatever_the_capacity(void **state)
{
    (void)state;
    gate g = CLOSED_GATE;
    fr_workers *workers;
    assert_int_equal(fr_workers_create(3, 1, &workers), FR_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fr_workers_submit(workers, wait_at_gate, &g, NULL), FR_OK);
    await_arrivals(&g, 3); /* a queue of one does not keep two threads idle */
    open_gate(&g);
    fr_workers_free(workers);
}

static void one_slow_job_does_not_hold_up_the_others(void **state)
{
    (void)state;
    gate g = CLOSED_GATE;
    task quick = {0};
    int64_t slow, last;
    fr_workers *workers;
    assert_int_equal(fr_workers_create(2, 2, &workers), FR_OK);
    assert_int_equal(fr_workers_submit(workers, wait_at_gate, &g, &slow), FR_OK);
    await_arrivals(&g, 1);
    for (int i = 0; i < 50; i++)
        assert_int_equal(fr_workers_submit(workers, run_task, &quick, &last), FR_OK);
    assert_int_equal(fr_workers_wait(workers, last), FR_OK);
    assert_int_equal(quick.n_runs, 50);
    open_gate(&g);
    assert_int_equal(fr_workers_wait(workers, slow), FR_OK);
    fr_workers_free(workers);
}

typedef struct submitter {
    fr_workers *workers;
    task *tasks;
    int n;
    _Atomic int n_submitted;
    int n_wrong;
} submitter;

static void *submit_all(void *context)
{
    submitter *s = context;
    for (int i = 0; i < s->n; i++) {
        int64_t ticket;
        s->n_wrong += fr_workers_submit(s->workers, run_task, &s->tasks[i], &ticket) != FR_OK;
        atomic_fetch_add(&s->n_submitted, 1);
        if (i % 5 == 0)
            s->n_wrong += fr_workers_wait(s->workers, ticket) != s->tasks[i].status;
    }
    return NULL;
}

static void submitting_waits_while_the_queue_is_full(void **state)
{
    (void)state;
    gate g = CLOSED_GATE;
    static task tasks[6];
    memset(tasks, 0, sizeof tasks);
    for (int i = 0; i < 6; i++)
        tasks[i].status = FR_EIO;
    fr_workers *workers;
    assert_int_equal(fr_workers_create(1, 2, &workers), FR_OK);
    assert_int_equal(fr_workers_submit(workers, wait_at_gate, &g, NULL), FR_OK);
    await_arrivals(&g, 1); /* the only thread is busy: two more fit into the queue */
    for (int i = 0; i < 2; i++)
        assert_int_equal(fr_workers_submit(workers, run_task, &tasks[i], NULL), FR_OK);
    submitter s = {.workers = workers, .tasks = tasks + 2, .n = 4};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_all, &s), 0);
    (void)usleep(50000);
    assert_int_equal(s.n_submitted, 0);
    open_gate(&g);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(s.n_submitted, 4);
    assert_int_equal(s.n_wrong, 0);
    fr_workers_free(workers);
}

static void many_threads_submit_at_once(void **state)
{
    (void)state;
    enum { THREADS = 4, N = 300 };
    static task tasks[THREADS][N];
    memset(tasks, 0, sizeof tasks);
    submitter s[THREADS];
    pthread_t threads[THREADS];
    fr_workers *workers;
    assert_int_equal(fr_workers_create(3, 2, &workers), FR_OK);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < N; i++)
            tasks[t][i].status = i % 7 == 0 ? FR_ERANGE : FR_OK;
        s[t] = (submitter){.workers = workers, .tasks = tasks[t], .n = N};
        assert_int_equal(pthread_create(&threads[t], NULL, submit_all, &s[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(s[t].n_wrong, 0);
    }
    fr_workers_free(workers);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < N; i++)
            assert_int_equal(tasks[t][i].n_runs, 1);
}

static void jobs_run_in_order_on_one_thread(void **state)
{
    (void)state;
    gate g = CLOSED_GATE;
    static task tasks[20];
    memset(tasks, 0, sizeof tasks);
    fr_workers *workers;
    int64_t tickets[20], before = -1;
    assert_int_equal(fr_workers_create(1, 20, &workers), FR_OK);
    assert_int_equal(fr_workers_submit(workers, wait_at_gate, &g, &before), FR_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fr_workers_submit(workers, run_task, &tasks[i], &tickets[i]), FR_OK);
        assert_true(tickets[i] > before);
        before = tickets[i];
    }
    open_gate(&g);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fr_workers_wait(workers, tickets[i]), FR_OK);
        for (int k = 0; k <= i; k++)
            assert_int_equal(tasks[k].n_runs, 1);
    }
    fr_workers_free(workers);
}

static void submitting_allocates_nothing_once_warm(void **state)
{
    (void)state;
    task good = {0};
    int64_t ticket;
    fr_workers *workers;
    assert_int_equal(fr_workers_create(1, 4, &workers), FR_OK);
    int64_t count = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fr_workers_submit(workers, run_task, &good, &ticket), FR_OK);
        assert_int_equal(fr_workers_wait(workers, ticket), FR_OK);
        if (i == 0)
            count = fr_alloc_count();
    }
    assert_int_equal(fr_alloc_count(), count);
    fr_workers_free(workers);
}

static fr_status use_pool(void *context)
{
    (void)context;
    static task good;
    fr_workers *workers;
    int64_t ticket = -1;
    fr_status status = fr_workers_create(2, 2, &workers);
    if (status != FR_OK) {
        assert_null(workers);
        return status;
    }
    status = fr_workers_submit(workers, run_task, &good, &ticket);
    if (status != FR_OK)
        assert_int_equal(ticket, -1);
    else
        status = fr_workers_wait(workers, ticket);
    fr_workers_free(workers);
    return status;
}

static void a_pool_survives_every_failure(void **state)
{
    (void)state;
    assert_int_equal(fr_fail_each_allocation(use_pool, NULL), 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_job_runs_once_on_a_numbered_worker),
    cmocka_unit_test(a_failure_is_handed_over_with_its_sentence),
    cmocka_unit_test(results_outlive_any_number_of_later_jobs),
    cmocka_unit_test(a_ticket_that_was_never_given_is_refused),
    cmocka_unit_test(a_pool_of_nothing_is_refused),
    cmocka_unit_test(all_threads_work_whatever_the_capacity),
    cmocka_unit_test(one_slow_job_does_not_hold_up_the_others),
    cmocka_unit_test(submitting_waits_while_the_queue_is_full),
    cmocka_unit_test(many_threads_submit_at_once),
    cmocka_unit_test(jobs_run_in_order_on_one_thread),
    cmocka_unit_test(submitting_allocates_nothing_once_warm),
    cmocka_unit_test(a_pool_survives_every_failure),
};
FR_TEST_MAIN(tests)
