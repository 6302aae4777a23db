/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/workers.h"

#include "base/clock.h"
#include "observe/loop.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A view is given back when nobody has asked for so long: an idle one is in the way of whoever
 * wants to open the warehouse anew. */
#define VIEW_IDLE_NS (TC_SECOND / 10)
/* A command that has the database open is waited for. */
#define OPEN_WAIT (2 * TC_SECOND)
/* Before a query that did not end is interrupted again: one that has not begun does not hear it. */
#define INTERRUPT_US 50000
#define INTERRUPT_NS (50 * TC_SECOND / 1000)

struct tc_api_worker {
    struct tc_api_workers *of;
    pthread_t thread;
    bool is_started;
    bool is_over;              /* under the lock, as the rest */
    struct tc_api_job *job;    /* that runs */
    struct tc_warehouse *view; /* written by its thread alone */
};

/* Invariant: a job is in the queue, with a worker, or among those that are done. `lock` guards all
 * from `first` up to `stopping`, and the state of the workers. */
struct tc_api_workers {
    struct tc_api_workers_config config;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t ended;
    struct tc_api_job *first;
    struct tc_api_job **last;
    size_t waiting;
    struct tc_api_job *done;
    bool stopping;
    int wake_fd;
    struct event *on_wake;
    struct event *on_interrupt; /* while what was cancelled runs */
    struct tc_api_worker workers[TC_API_WORKERS_MAX];
};

/* ---- on a worker's thread ---- */

static void give_view(struct tc_api_worker *w)
{
    struct tc_api_workers *s = w->of;
    (void)pthread_mutex_lock(&s->lock);
    struct tc_warehouse *view = w->view;
    w->view = NULL;
    (void)pthread_mutex_unlock(&s->lock);
    if (view != NULL) {
        tc_warehouse_hub_give(*s->config.hub, view);
    }
}

tc_status tc_api_worker_warehouse(struct tc_api_worker *w, struct tc_warehouse **out,
                                  struct tc_error *err)
{
    struct tc_api_workers *s = w->of;
    if (*s->config.hub == NULL) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "this daemon has no warehouse: warehouse.enabled is false");
    }
    if (w->view == NULL) {
        struct tc_warehouse *view = NULL;
        if (tc_warehouse_hub_share(*s->config.hub, OPEN_WAIT, &view, err) != TC_OK) {
            err->status = TC_E_AGAIN;
            return TC_E_AGAIN;
        }
        (void)pthread_mutex_lock(&s->lock);
        w->view = view;
        (void)pthread_mutex_unlock(&s->lock);
    }
    *out = w->view;
    return TC_OK;
}

void tc_api_worker_wrote(struct tc_api_worker *w)
{
    tc_warehouse_hub_wrote(*w->of->config.hub, TC_WAREHOUSE_BY_COMMAND);
}

/* Holds the lock. Waits for a job; NULL: the end. */
static struct tc_api_job *next_job(struct tc_api_worker *w)
{
    struct tc_api_workers *s = w->of;
    while (s->first == NULL && !s->stopping) {
        if (w->view == NULL) {
            (void)pthread_cond_wait(&s->work, &s->lock);
            continue;
        }
        struct timespec until = tc_timespec(tc_mono_ns() + VIEW_IDLE_NS);
        if (pthread_cond_timedwait(&s->work, &s->lock, &until) != 0 && s->first == NULL) {
            (void)pthread_mutex_unlock(&s->lock);
            give_view(w);
            (void)pthread_mutex_lock(&s->lock);
        }
    }
    struct tc_api_job *job = s->stopping ? NULL : s->first;
    if (job != NULL) {
        s->first = job->next;
        s->last = s->first == NULL ? &s->first : s->last;
        s->waiting--;
        job->on = w;
        w->job = job;
    }
    return job;
}

/* Holds the lock. */
static void finish(struct tc_api_worker *w, struct tc_api_job *job)
{
    struct tc_api_workers *s = w->of;
    uint64_t one = 1;
    w->job = NULL;
    job->next = s->done;
    s->done = job;
    (void)!write(s->wake_fd, &one, sizeof one);
}

static void *run(void *context)
{
    struct tc_api_worker *w = context;
    struct tc_api_workers *s = w->of;
    struct tc_api_job *job = NULL;
    (void)pthread_mutex_lock(&s->lock);
    while ((job = next_job(w)) != NULL) {
        bool is_wanted = !job->is_cancelled;
        (void)pthread_mutex_unlock(&s->lock);
        if (is_wanted) {
            job->run(job, w);
        }
        if (w->view != NULL && tc_warehouse_hub_is_suspect(*s->config.hub)) {
            give_view(w);
        }
        (void)pthread_mutex_lock(&s->lock);
        finish(w, job);
    }
    (void)pthread_mutex_unlock(&s->lock);
    give_view(w);
    (void)pthread_mutex_lock(&s->lock);
    w->is_over = true;
    (void)pthread_cond_signal(&s->ended);
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- on the loop ---- */

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    struct tc_api_workers *s = context;
    uint64_t count = 0;
    (void)what;
    tc_loop_enter();
    (void)!read(fd, &count, sizeof count);
    (void)pthread_mutex_lock(&s->lock);
    struct tc_api_job *job = s->done;
    s->done = NULL;
    (void)pthread_mutex_unlock(&s->lock);
    while (job != NULL) {
        struct tc_api_job *next = job->next;
        job->done(job, true);
        job = next;
    }
    tc_loop_leave();
}

/* Holds the lock. Interrupts what nobody waits for; whether there is such a thing. */
static bool interrupt_all(struct tc_api_workers *s)
{
    bool runs = false;
    for (size_t i = 0; i < s->config.count; i++) {
        struct tc_api_worker *w = &s->workers[i];
        if (w->job != NULL && (w->job->is_cancelled || s->stopping)) {
            runs = true;
            if (w->view != NULL) {
                tc_warehouse_interrupt(w->view);
            }
        }
    }
    return runs;
}

static void interrupt_until_done(struct tc_api_workers *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool again = interrupt_all(s);
    (void)pthread_mutex_unlock(&s->lock);
    if (again) {
        struct timeval wait = {.tv_usec = INTERRUPT_US};
        (void)event_add(s->on_interrupt, &wait);
    }
}

static void on_interrupt(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    interrupt_until_done(context);
    tc_loop_leave();
}

static void destroy(struct tc_api_workers *s)
{
    if (s->on_wake != NULL) {
        event_free(s->on_wake);
    }
    if (s->on_interrupt != NULL) {
        event_free(s->on_interrupt);
    }
    if (s->wake_fd >= 0) {
        (void)close(s->wake_fd);
    }
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->work);
    (void)pthread_cond_destroy(&s->ended);
    free(s);
}

static bool start_threads(struct tc_api_workers *s)
{
    /* Signals are for the loop's thread. */
    sigset_t all;
    sigset_t old;
    bool ok = true;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    for (size_t i = 0; i < s->config.count && ok; i++) {
        struct tc_api_worker *w = &s->workers[i];
        w->of = s;
        ok = pthread_create(&w->thread, NULL, run, w) == 0;
        w->is_started = ok;
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

tc_status tc_api_workers_create(const struct tc_api_workers_config *config,
                                struct tc_api_workers **out, struct tc_error *err)
{
    struct tc_api_workers *s = calloc(1, sizeof *s);
    pthread_condattr_t attr;
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the threads of the API");
    }
    s->config = *config;
    s->config.count = config->count < TC_API_WORKERS_MAX ? config->count : TC_API_WORKERS_MAX;
    s->last = &s->first;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->work, &attr);
    (void)pthread_cond_init(&s->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->on_wake = s->wake_fd < 0
                     ? NULL
                     : event_new(config->base, s->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
    s->on_interrupt = evtimer_new(config->base, on_interrupt, s);
    if (s->on_wake == NULL || s->on_interrupt == NULL || event_add(s->on_wake, NULL) != 0 ||
        !start_threads(s)) {
        (void)!tc_api_workers_stop(s, TC_SECOND); /* they wait, and so they end */
        return tc_fail(err, TC_E_NOMEM, 0, "the threads of the API cannot be started");
    }
    *out = s;
    return TC_OK;
}

bool tc_api_workers_put(struct tc_api_workers *s, struct tc_api_job *job, size_t queue_max)
{
    (void)pthread_mutex_lock(&s->lock);
    bool fits = s->waiting < queue_max && !s->stopping;
    if (fits) {
        job->next = NULL;
        job->on = NULL;
        job->is_cancelled = false;
        *s->last = job;
        s->last = &job->next;
        s->waiting++;
        (void)pthread_cond_signal(&s->work);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return fits;
}

void tc_api_workers_cancel(struct tc_api_workers *s, struct tc_api_job *job)
{
    (void)pthread_mutex_lock(&s->lock);
    job->is_cancelled = true;
    (void)pthread_mutex_unlock(&s->lock);
    interrupt_until_done(s);
}

bool tc_api_workers_has_not_begun(struct tc_api_workers *s, const struct tc_api_job *job)
{
    (void)pthread_mutex_lock(&s->lock);
    bool waits = job->on == NULL && !job->is_cancelled && !s->stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return waits;
}

/* Holds the lock. Whether all threads have ended by then. */
static bool wait_for_all(struct tc_api_workers *s, int64_t by_ns)
{
    for (;;) {
        bool all = true;
        for (size_t i = 0; i < s->config.count; i++) {
            all = all && (!s->workers[i].is_started || s->workers[i].is_over);
        }
        int64_t now_ns = tc_mono_ns();
        if (all || now_ns >= by_ns) {
            return all;
        }
        (void)interrupt_all(s);
        int64_t step_ns = by_ns - now_ns < INTERRUPT_NS ? by_ns - now_ns : INTERRUPT_NS;
        struct timespec until = tc_timespec(now_ns + step_ns);
        (void)pthread_cond_timedwait(&s->ended, &s->lock, &until);
    }
}

bool tc_api_workers_stop(struct tc_api_workers *s, int64_t wait_ns)
{
    if (s == NULL) {
        return true;
    }
    (void)pthread_mutex_lock(&s->lock);
    s->stopping = true;
    (void)pthread_cond_broadcast(&s->work);
    bool ended = wait_for_all(s, tc_mono_ns() + wait_ns);
    struct tc_api_job *done = s->done;
    struct tc_api_job *first = s->first;
    s->done = NULL;
    s->first = NULL;
    (void)pthread_mutex_unlock(&s->lock);
    for (struct tc_api_job *job = done, *next = NULL; job != NULL; job = next) {
        next = job->next;
        job->done(job, true);
    }
    for (struct tc_api_job *job = first, *next = NULL; job != NULL; job = next) {
        next = job->next;
        job->done(job, false);
    }
    if (!ended) {
        return false;
    }
    for (size_t i = 0; i < s->config.count; i++) {
        if (s->workers[i].is_started) {
            (void)pthread_join(s->workers[i].thread, NULL);
        }
    }
    destroy(s);
    return true;
}
