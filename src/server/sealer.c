/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sealer.h"

#include "base/clock.h"
#include "base/time.h"
#include "evidence/store.h"
#include "observe/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often it looks whether a segment waits; a segment takes seconds to fill at the least. */
#define LOOK_NS TC_SECOND
/* After a failure. */
#define RETRY_NS (10 * TC_SECOND)
/* A step that took so much longer than its work, and twice as long, had to wait for the core. */
#define WAITED_NS (TC_SECOND / 1000)
/* Sleeps while somebody else wants the core. */
#define SLEEP_MIN_NS (TC_SECOND / 100)
#define SLEEP_MAX_NS (TC_SECOND / 10)

struct tc_sealer {
    struct tc_store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    /* The thread's own from here on. */
    int64_t step_wall_ns;
    int64_t step_cpu_ns;
    int64_t sleep_ns;
    struct tc_error said; /* the failure that was logged last; none after a success */
};

int64_t tc_sealer_sleep_ns(int64_t cpu_ns, int64_t wall_ns, int64_t last_ns)
{
    int64_t waited_ns = wall_ns - cpu_ns;
    if (waited_ns <= cpu_ns || waited_ns <= WAITED_NS) {
        return cpu_ns;
    }
    int64_t longer_ns = last_ns < SLEEP_MIN_NS ? SLEEP_MIN_NS : 2 * last_ns;
    return longer_ns > SLEEP_MAX_NS ? SLEEP_MAX_NS : longer_ns;
}

/* False at the end. */
static bool sleep_for(struct tc_sealer *s, int64_t ns)
{
    struct timespec until = tc_timespec(tc_mono_ns() + ns);
    (void)pthread_mutex_lock(&s->lock);
    int rc = 0;
    while (rc == 0 && !s->stopping) {
        rc = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    }
    bool go_on = !s->stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return go_on;
}

static void begin_step(struct tc_sealer *s)
{
    s->step_wall_ns = tc_mono_ns();
    s->step_cpu_ns = tc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Between two steps of the store. */
static bool rest(void *context)
{
    struct tc_sealer *s = context;
    int64_t cpu_ns = tc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->step_cpu_ns;
    s->sleep_ns = tc_sealer_sleep_ns(cpu_ns, tc_mono_ns() - s->step_wall_ns, s->sleep_ns);
    bool go_on = sleep_for(s, s->sleep_ns);
    begin_step(s);
    return go_on;
}

/* It is tried again and again: a failure that lasts is logged when it begins. */
static void say_failure(struct tc_sealer *s, const struct tc_error *err)
{
    if (strcmp(s->said.message, err->message) != 0) {
        s->said = *err;
        tc_log_fields(TC_LOG_ERROR, "a segment of evidence could not be sealed; it is tried again",
                      TC_LOG_CSTR("error", err->message));
    }
}

static void *run(void *context)
{
    struct tc_sealer *s = context;
    struct tc_store_pause pause = {.go_on = rest, .context = s};
    int64_t wait_ns = 0; /* what the last process has left waits already */
    (void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
    while (sleep_for(s, wait_ns)) {
        struct tc_error err = {0};
        bool sealed = false;
        begin_step(s);
        tc_status status = tc_store_seal(s->store, &pause, &sealed, &err);
        wait_ns = sealed ? 0 : LOOK_NS;
        if (status == TC_OK) {
            s->said.message[0] = '\0';
        } else if (status != TC_E_AGAIN) {
            say_failure(s, &err);
            wait_ns = RETRY_NS;
        }
    }
    return NULL;
}

tc_status tc_sealer_create(struct tc_store *store, struct tc_sealer **out_sealer,
                           struct tc_error *err)
{
    struct tc_sealer *s = calloc(1, sizeof *s);
    pthread_condattr_t attr;
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that seals evidence");
    }
    s->store = store;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&s->thread, NULL, run, s) != 0) {
        (void)pthread_cond_destroy(&s->wake);
        (void)pthread_mutex_destroy(&s->lock);
        free(s);
        return tc_fail(err, TC_E_NOMEM, 0, "the thread that seals evidence cannot be started");
    }
    *out_sealer = s;
    return TC_OK;
}

void tc_sealer_destroy(struct tc_sealer *s)
{
    if (s == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&s->lock);
    s->stopping = true;
    (void)pthread_cond_signal(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->thread, NULL);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}
