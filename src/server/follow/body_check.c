/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/body_check.h"

#include "observe/loop.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Beside the content: it grows from one buffer into a larger one. */
#define POOL_FACTOR 2
#define SLACK_BYTES ((size_t)1 << 20)

/*
 * Invariant: a job is in the queue, with the thread, or is `ready`; while one is ready the thread
 * waits, because its content is the thread's. `lock` guards all up to `stopping`.
 */
struct tc_body_checker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct tc_body_check *first;
    struct tc_body_check **last;
    struct tc_body_check *ready;
    struct tc_otlp_limits limits;
    bool stopping;
    bool is_started;
    int wake_fd;
    struct event *wake_event;
    size_t content_max;
    struct tc_inflater *inflater; /* the rest is the thread's */
    struct tc_pool *pool;
    struct tc_otlp_reader *reader;
};

static tc_status check_body(struct tc_body_checker *k, struct tc_body_check *c,
                            struct tc_buffer **out_content)
{
    c->content = c->bytes;
    if (c->encoding != TC_ENCODING_NONE) {
        c->was_inflating = true;
        TC_TRY(tc_inflate(k->inflater, c->encoding, c->bytes, k->pool, k->content_max, out_content,
                          &c->err));
        c->was_inflating = false;
        c->is_inflated = true;
        c->content = tc_slice_make((const char *)(*out_content)->data, (*out_content)->len);
    }
    return tc_otlp_verify(k->reader, c->signal, c->form, c->content, &c->counts, &c->err);
}

static void *run(void *context)
{
    struct tc_body_checker *k = context;
    (void)pthread_mutex_lock(&k->lock);
    for (;;) {
        while (!k->stopping && k->first == NULL) {
            (void)pthread_cond_wait(&k->work, &k->lock);
        }
        if (k->stopping) {
            break;
        }
        struct tc_body_check *c = k->first;
        struct tc_buffer *content = NULL;
        k->first = c->next;
        k->last = k->first == NULL ? &k->first : k->last;
        tc_otlp_reader_limit(k->reader, &k->limits);
        (void)pthread_mutex_unlock(&k->lock);
        c->status = check_body(k, c, &content);
        (void)pthread_mutex_lock(&k->lock);
        k->ready = c;
        uint64_t one = 1;
        (void)!write(k->wake_fd, &one, sizeof one);
        while (k->ready != NULL && !k->stopping) {
            (void)pthread_cond_wait(&k->work, &k->lock);
        }
        tc_buffer_give(content);
    }
    (void)pthread_mutex_unlock(&k->lock);
    return NULL;
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    struct tc_body_checker *k = context;
    uint64_t count = 0;
    (void)what;
    tc_loop_enter();
    (void)!read(fd, &count, sizeof count);
    (void)pthread_mutex_lock(&k->lock);
    struct tc_body_check *c = k->ready;
    (void)pthread_mutex_unlock(&k->lock);
    if (c != NULL) {
        c->done(c, c->status);
        (void)pthread_mutex_lock(&k->lock);
        k->ready = NULL;
        (void)pthread_cond_signal(&k->work);
        (void)pthread_mutex_unlock(&k->lock);
    }
    tc_loop_leave();
}

static tc_status start(struct tc_body_checker *k, struct event_base *base, struct tc_error *err)
{
    (void)pthread_mutex_init(&k->lock, NULL);
    (void)pthread_cond_init(&k->work, NULL);
    k->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    k->wake_event =
        k->wake_fd < 0 ? NULL : event_new(base, k->wake_fd, EV_READ | EV_PERSIST, on_wake, k);
    k->inflater = tc_inflater_create();
    k->pool =
        tc_pool_create(POOL_FACTOR * k->content_max + SLACK_BYTES, k->content_max + SLACK_BYTES);
    k->reader = tc_otlp_reader_create(&k->limits, k->content_max);
    k->is_started = k->wake_event != NULL && event_add(k->wake_event, NULL) == 0 &&
                    k->inflater != NULL && k->pool != NULL && k->reader != NULL &&
                    pthread_create(&k->thread, NULL, run, k) == 0;
    return k->is_started
               ? TC_OK
               : tc_fail(err, TC_E_NOMEM, 0, "the thread that checks requests cannot be started");
}

tc_status tc_body_checker_create(struct event_base *base, const struct tc_otlp_limits *limits,
                                 size_t content_max, struct tc_body_checker **out_checker,
                                 struct tc_error *err)
{
    struct tc_body_checker *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that checks requests");
    }
    k->limits = *limits;
    k->content_max = content_max;
    k->last = &k->first;
    tc_status status = start(k, base, err);
    if (status != TC_OK) {
        tc_body_checker_destroy(k);
        return status;
    }
    *out_checker = k;
    return TC_OK;
}

void tc_body_checker_destroy(struct tc_body_checker *k)
{
    if (k == NULL) {
        return;
    }
    if (k->is_started) {
        (void)pthread_mutex_lock(&k->lock);
        k->stopping = true;
        (void)pthread_cond_signal(&k->work);
        (void)pthread_mutex_unlock(&k->lock);
        (void)pthread_join(k->thread, NULL);
    }
    if (k->ready != NULL) {
        k->ready->done(k->ready, TC_E_IO);
    }
    for (struct tc_body_check *c = k->first, *next = NULL; c != NULL; c = next) {
        next = c->next;
        c->done(c, TC_E_IO);
    }
    if (k->wake_event != NULL) {
        event_free(k->wake_event);
    }
    if (k->wake_fd >= 0) {
        (void)close(k->wake_fd);
    }
    tc_otlp_reader_destroy(k->reader);
    tc_pool_destroy(k->pool);
    tc_inflater_destroy(k->inflater);
    (void)pthread_cond_destroy(&k->work);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

void tc_body_checker_put(struct tc_body_checker *k, struct tc_body_check *check)
{
    (void)pthread_mutex_lock(&k->lock);
    check->next = NULL;
    *k->last = check;
    k->last = &check->next;
    (void)pthread_cond_signal(&k->work);
    (void)pthread_mutex_unlock(&k->lock);
}

void tc_body_checker_limit(struct tc_body_checker *k, const struct tc_otlp_limits *limits)
{
    (void)pthread_mutex_lock(&k->lock);
    k->limits = *limits;
    (void)pthread_mutex_unlock(&k->lock);
}
