/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that calls the library. A call may never return (a driver that hangs in the kernel),
 * so nothing waits for this thread without a limit: it is detached, and what it works on is freed
 * by whoever lets go of it last.
 *
 * It waits for Xids in nvmlEventSetWait, up to WAIT_NS at a time, and reads the GPUs between two
 * such waits when it is their turn. So an Xid is known at once, one thread is in the library at a
 * time, and a daemon that ends waits for no longer than that.
 */
#include "base/clock.h"
#include "base/os/library.h"
#include "source/nvml/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WAIT_NS (TC_SECOND / 2)
/* A library that returns at once is not asked again at once. */
#define PAUSE_NS (TC_SECOND / 20)
#define RETRY_NS (10 * TC_SECOND)
/* GPUs and their links are written again after this, and those that are lost are looked for anew.
 */
#define REPEAT_NS (600 * TC_SECOND)
/* Xids that are taken in a row, the largest number that is one, and bytes of events that wait. */
#define XIDS_MAX 64
#define XID_MAX 99999ULL
#define EVENTS_BYTES ((size_t)64 << 10)
#define EVENT_XID 8ULL
#define STACK_BYTES ((size_t)1 << 20)

static void tell(struct tc__nvml *n)
{
    uint64_t one = 1;
    (void)!write(n->told_fd, &one, sizeof one);
}

static void free_all(struct tc__nvml *n)
{
    tc_grow_fini(&n->metrics);
    tc_grow_fini(&n->events);
    (void)pthread_cond_destroy(&n->wake);
    (void)pthread_mutex_destroy(&n->lock);
    if (n->told_fd >= 0) {
        (void)close(n->told_fd);
    }
    free(n->library_name);
    free(n->node);
    free(n);
}

void tc__nvml_release(struct tc__nvml *n)
{
    (void)pthread_mutex_lock(&n->lock);
    bool is_last = --n->holders == 0;
    (void)pthread_mutex_unlock(&n->lock);
    if (is_last) {
        free_all(n);
    }
}

/* Until the time, or until somebody wakes it. False: it has to end. */
static bool pause_for(struct tc__nvml *n, int64_t ns)
{
    struct timespec until = tc_timespec(tc_mono_ns() + ns);
    (void)pthread_mutex_lock(&n->lock);
    if (!n->is_stopping) {
        (void)pthread_cond_timedwait(&n->wake, &n->lock, &until);
    }
    bool go_on = !n->is_stopping;
    (void)pthread_mutex_unlock(&n->lock);
    return go_on;
}

static void take_xid(struct tc__nvml *n, const struct tc__nvml_event *event)
{
    if (event->type != EVENT_XID || event->data > XID_MAX) {
        return;
    }
    for (size_t i = 0; i < n->count; i++) {
        if (n->gpus[i].handle == event->gpu) {
            n->gpus[i].readings[TC__NVML_XID].value = event->data;
        }
    }
    (void)pthread_mutex_lock(&n->lock);
    n->xids++;
    if (n->config.xids && n->events.buf.len < EVENTS_BYTES) {
        tc__nvml_write_xid(n, event, tc_wall_ns(), &n->events);
        n->event_count++;
    } else {
        n->lost += n->config.xids;
    }
    (void)pthread_mutex_unlock(&n->lock);
    tell(n);
}

/* Until the time, for Xids. False: it has to end. */
static bool wait_for_xids(struct tc__nvml *n, int64_t ns)
{
    int64_t begin_ns = tc_mono_ns();
    int code = TC__NVML_FUNCTION_NOT_FOUND;
    for (size_t i = 0; i < XIDS_MAX && n->event_set != NULL; i++) {
        struct tc__nvml_event event = {.gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
        unsigned ms = i > 0 ? 1 : (unsigned)((ns + 999999) / 1000000);
        code = TC__NVML_CALL(n, nvmlEventSetWait_v2, (n->event_set, &event, ms));
        if (code != TC__NVML_OK) {
            break;
        }
        take_xid(n, &event);
    }
    int64_t left_ns = code == TC__NVML_OK ? PAUSE_NS : ns - (tc_mono_ns() - begin_ns);
    return pause_for(n, left_ns > 0 ? left_ns : 0);
}

/* Reads the GPUs and writes down what they say. False: the library has to be opened again. */
static bool take_readings(struct tc__nvml *n)
{
    bool all = n->listed_ns == 0 || tc_mono_ns() - n->listed_ns >= REPEAT_NS;
    if (!tc__nvml_read(n)) {
        return false;
    }
    n->listed_ns = all ? tc_mono_ns() : n->listed_ns;
    size_t lost = 0;
    for (size_t i = 0; i < n->count; i++) {
        lost += n->gpus[i].code != TC__NVML_OK;
    }
    (void)pthread_mutex_lock(&n->lock);
    if (n->config.metrics) {
        tc__nvml_write_metrics(n, &n->metrics);
    }
    n->event_count += tc__nvml_write_news(n, all, tc_wall_ns(), &n->events);
    n->is_waiting = true;
    n->has_answered = true;
    n->error[0] = '\0';
    n->gpus_seen = n->count;
    n->gpus_lost = lost;
    (void)pthread_mutex_unlock(&n->lock);
    tell(n);
    return lost == 0 || tc_mono_ns() - n->opened_ns < REPEAT_NS;
}

static bool is_taken(struct tc__nvml *n)
{
    (void)pthread_mutex_lock(&n->lock);
    bool is = !n->is_waiting;
    (void)pthread_mutex_unlock(&n->lock);
    return is;
}

/* From one opening to the next. False: it has to end. */
static bool follow(struct tc__nvml *n)
{
    int64_t next_ns = tc_mono_ns();
    for (;;) {
        int64_t now_ns = tc_mono_ns();
        if (now_ns >= next_ns && is_taken(n)) {
            if (!take_readings(n)) {
                return pause_for(n, PAUSE_NS);
            }
            next_ns = now_ns + n->config.interval_ns;
        }
        int64_t left_ns = next_ns - tc_mono_ns();
        left_ns = left_ns < PAUSE_NS ? PAUSE_NS : left_ns;
        if (!wait_for_xids(n, left_ns > WAIT_NS ? WAIT_NS : left_ns)) {
            return false;
        }
    }
}

static void *run(void *context)
{
    struct tc__nvml *n = context;
    bool go_on = true;
    while (go_on) {
        if (tc__nvml_open(n)) {
            go_on = follow(n);
            tc__nvml_close(n);
        } else {
            tell(n);
            go_on = pause_for(n, RETRY_NS);
        }
    }
    tc_library_close(n->library);
    (void)pthread_mutex_lock(&n->lock);
    n->has_ended = true;
    (void)pthread_cond_broadcast(&n->wake);
    (void)pthread_mutex_unlock(&n->lock);
    tc__nvml_release(n);
    return NULL;
}

bool tc__nvml_start(struct tc__nvml *n)
{
    pthread_t thread;
    pthread_attr_t attr;
    n->holders++;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    bool is_started = pthread_create(&thread, &attr, run, n) == 0;
    (void)pthread_attr_destroy(&attr);
    n->holders -= is_started ? 0 : 1;
    return is_started;
}
