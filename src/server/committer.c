/* SPDX-License-Identifier: Apache-2.0 */
#include "server/committer.h"

#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/loop.h"
#include "observe/metrics.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* How often a full disk is asked whether there is room again. */
#define FULL_POLL_NS (TC_SECOND / 2)
/* A group is at most this much, so that its first sender does not wait for a long queue. */
#define GROUP_BYTES_MAX ((size_t)32 << 20)

/* What nobody waits for is written when there is so much of it, or so late. */
#define GATHER_BYTES ((size_t)4 << 20)
#define GATHER_NS (TC_SECOND / 20)

struct job_list {
    struct tc_commit_job *first;
    struct tc_commit_job **last;
};

/*
 * Invariant: a job is in `queue` (waiting), in the thread's own group, or in `done`. `lock` guards
 * queue, done and stopping; bodies are only read.
 */
struct tc_committer {
    struct tc_store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job_list queue;
    size_t queue_bytes; /* of what is in it */
    bool is_awaited;    /* somebody waits for something in it */
    struct job_list done_ok;
    struct job_list done_failed;
    bool stopping;
    atomic_bool full;
    struct tc_error said; /* the thread's: the failure that was logged last; none after a success */
    int wake_fd;          /* tells the loop that something is done */
    struct event *wake_event;
    uint64_t next_number; /* the rest belongs to the loop's thread */
    size_t waiting_bytes;
    size_t waiting;
    atomic_uint_fast64_t settled;
    void (*grown)(void *context); /* NULL: nobody asks */
    void *grown_context;
};

static void list_init(struct job_list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void list_add(struct job_list *l, struct tc_commit_job *job)
{
    job->next = NULL;
    *l->last = job;
    l->last = &job->next;
}

/* Moves everything of `from` to the end of `to`. */
static void list_move(struct job_list *to, struct job_list *from)
{
    if (from->first != NULL) {
        *to->last = from->first;
        to->last = from->last;
        list_init(from);
    }
}

/* Senders try again at once: a failure that lasts is logged when it begins. */
static void say_failure(struct tc_committer *c, const struct tc_error *err, size_t jobs)
{
    tc_count(TC_COUNT_STORE_FAILED_GROUPS, 1);
    if (strcmp(c->said.message, err->message) == 0) {
        return;
    }
    c->said = *err;
    tc_log_fields(TC_LOG_ERROR, "evidence could not be stored; senders are told to try again",
                  TC_LOG_CSTR("error", err->message), TC_LOG_NUMBER("batches", (int64_t)jobs));
}

/* Appends and commits one group. */
static tc_status store_group(struct tc_committer *c, struct job_list *group)
{
    struct tc_error err = {0};
    tc_status status = TC_OK;
    size_t jobs = 0;
    int64_t begin_ns = tc_mono_ns();
    for (struct tc_commit_job *j = group->first; j != NULL && status == TC_OK; j = j->next) {
        status = tc_store_append(c->store, &j->batch, &err);
        j->has_digest = j->wants_digest && tc_digest_sha256(j->batch.body, &j->digest) == TC_OK;
        jobs++;
    }
    if (status == TC_OK) {
        status = tc_store_commit(c->store, &err);
    } else {
        /* The group is lost; what it left behind is cut off. */
        struct tc_error ignored;
        (void)!tc_store_commit(c->store, &ignored);
    }
    if (status != TC_OK) {
        say_failure(c, &err, jobs);
        struct tc_store_stats stats;
        tc_store_stats(c->store, &stats);
        atomic_store(&c->full, stats.full);
    } else {
        c->said.message[0] = '\0';
    }
    tc_observe(TC_HIST_COMMIT, tc_mono_ns() - begin_ns);
    return status;
}

/* Moves the beginning of the queue, up to a bound, to `group`. */
static void take_group(struct tc_committer *c, struct job_list *group)
{
    size_t bytes = 0;
    list_init(group);
    while (c->queue.first != NULL && bytes < GROUP_BYTES_MAX) {
        struct tc_commit_job *j = c->queue.first;
        c->queue.first = j->next;
        if (c->queue.first == NULL) {
            list_init(&c->queue);
        }
        bytes += j->batch.body.len;
        c->queue_bytes -= j->batch.body.len;
        list_add(group, j);
    }
    c->is_awaited = c->is_awaited && c->queue.first != NULL;
}

/* The moment that is so far from now. */
static struct timespec from_now(int64_t ns)
{
    return tc_timespec(tc_mono_ns() + ns);
}

/* Lets a group become larger while nobody waits for it. Called and returns with the lock. */
static void gather(struct tc_committer *c)
{
    struct timespec until = from_now(GATHER_NS);
    int rc = 0;
    while (rc == 0 && !c->is_awaited && !c->stopping && c->queue_bytes < GATHER_BYTES) {
        rc = pthread_cond_timedwait(&c->wake, &c->lock, &until);
    }
}

/* Waits until there is something to do; false at the end. Called and returns with the lock. */
static bool wait_for_work(struct tc_committer *c)
{
    while (c->queue.first == NULL && !c->stopping) {
        if (!atomic_load(&c->full)) {
            (void)pthread_cond_wait(&c->wake, &c->lock);
            continue;
        }
        struct timespec until = from_now(FULL_POLL_NS);
        (void)pthread_cond_timedwait(&c->wake, &c->lock, &until);
        (void)pthread_mutex_unlock(&c->lock);
        if (tc_store_has_room(c->store)) {
            atomic_store(&c->full, false);
            tc_log(TC_LOG_INFO, "there is room on the disk again", NULL, 0);
        }
        (void)pthread_mutex_lock(&c->lock);
    }
    return c->queue.first != NULL;
}

static void *run(void *context)
{
    struct tc_committer *c = context;
    (void)pthread_mutex_lock(&c->lock);
    while (wait_for_work(c)) {
        struct job_list group;
        gather(c);
        take_group(c, &group);
        (void)pthread_mutex_unlock(&c->lock);
        tc_status status = store_group(c, &group);
        (void)pthread_mutex_lock(&c->lock);
        list_move(status == TC_OK ? &c->done_ok : &c->done_failed, &group);
        uint64_t one = 1;
        (void)!write(c->wake_fd, &one, sizeof one);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* What a job holds in memory: a file's bytes are on disk already. */
static size_t held_bytes(const struct tc_commit_job *job)
{
    return job->batch.kind == TC_BATCH_FILE ? 0 : job->batch.body.len;
}

/* *io_newest: the newest number in it, or what it was. */
static void settle(struct tc_committer *c, struct job_list *list, tc_status status,
                   uint64_t *io_newest)
{
    for (struct tc_commit_job *j = list->first, *next = NULL; j != NULL; j = next) {
        next = j->next;
        c->waiting--;
        c->waiting_bytes -= held_bytes(j);
        *io_newest = j->batch.number > *io_newest ? j->batch.number : *io_newest;
        j->settled(j, status);
    }
}

static void settle_done(struct tc_committer *c)
{
    struct job_list ok;
    struct job_list failed;
    list_init(&ok);
    list_init(&failed);
    (void)pthread_mutex_lock(&c->lock);
    list_move(&ok, &c->done_ok);
    list_move(&failed, &c->done_failed);
    (void)pthread_mutex_unlock(&c->lock);
    /* Groups are done in their order, so all before the newest of these are settled with them. */
    uint64_t before = atomic_load(&c->settled);
    uint64_t newest = before;
    settle(c, &ok, TC_OK, &newest);
    settle(c, &failed, TC_E_IO, &newest);
    atomic_store(&c->settled, newest);
    if (newest > before && c->grown != NULL) {
        c->grown(c->grown_context);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    uint64_t count = 0;
    (void)what;
    tc_loop_enter();
    (void)!read(fd, &count, sizeof count);
    settle_done(context);
    tc_loop_leave();
}

static tc_status start(struct tc_committer *c, struct event_base *base, struct tc_error *err)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    c->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    c->wake_event =
        c->wake_fd < 0 ? NULL : event_new(base, c->wake_fd, EV_READ | EV_PERSIST, on_wake, c);
    if (c->wake_event == NULL || event_add(c->wake_event, NULL) != 0 ||
        pthread_create(&c->thread, NULL, run, c) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "the thread that stores evidence cannot be started");
    }
    return TC_OK;
}

static void release(struct tc_committer *c)
{
    if (c->wake_event != NULL) {
        event_free(c->wake_event);
    }
    if (c->wake_fd >= 0) {
        (void)close(c->wake_fd);
    }
    (void)pthread_cond_destroy(&c->wake);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

tc_status tc_committer_create(struct tc_store *store, struct event_base *base,
                              struct tc_committer **out_committer, struct tc_error *err)
{
    struct tc_committer *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that stores evidence");
    }
    c->store = store;
    c->next_number = tc_store_next_number(store);
    atomic_store(&c->settled, c->next_number - 1);
    list_init(&c->queue);
    list_init(&c->done_ok);
    list_init(&c->done_failed);
    tc_status status = start(c, base, err);
    if (status != TC_OK) {
        release(c);
        return status;
    }
    *out_committer = c;
    return TC_OK;
}

void tc_committer_destroy(struct tc_committer *c)
{
    if (c == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&c->lock);
    c->stopping = true;
    (void)pthread_cond_signal(&c->wake);
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_join(c->thread, NULL);
    settle_done(c);
    release(c);
}

void tc_committer_put(struct tc_committer *c, struct tc_commit_job *job)
{
    job->batch.number = c->next_number++;
    c->waiting++;
    c->waiting_bytes += held_bytes(job);
    (void)pthread_mutex_lock(&c->lock);
    bool wanted = c->queue.first == NULL || (job->is_awaited && !c->is_awaited);
    list_add(&c->queue, job);
    c->queue_bytes += job->batch.body.len;
    c->is_awaited = c->is_awaited || job->is_awaited;
    if (wanted || c->queue_bytes >= GATHER_BYTES) {
        (void)pthread_cond_signal(&c->wake);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

bool tc_committer_is_full(const struct tc_committer *c)
{
    return atomic_load(&c->full);
}

size_t tc_committer_waiting_bytes(const struct tc_committer *c)
{
    return c->waiting_bytes;
}

size_t tc_committer_waiting(const struct tc_committer *c)
{
    return c->waiting;
}

uint64_t tc_committer_last_number(const struct tc_committer *c)
{
    return c->next_number - 1;
}

uint64_t tc_committer_settled(const struct tc_committer *c)
{
    return atomic_load(&c->settled);
}

void tc_committer_listen(struct tc_committer *c, void (*grown)(void *context), void *context)
{
    c->grown = grown;
    c->grown_context = context;
}
