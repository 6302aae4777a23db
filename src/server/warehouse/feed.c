/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/feed.h"

#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/warehouse/run_names.h"
#include "server/warehouse/verdict_writer.h"
#include "warehouse/verdicts.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* How often it looks whether there is something. */
#define STEP_NS TC_SECOND
/* How often it looks for new metrics: finding them costs a look at the headers of a segment. */
#define READ_EVERY_NS (5 * TC_SECOND)
#define READ_LEAST_NS (TC_SECOND / 4)
/* How often it looks for names of runs that are not written yet. */
#define NAMES_EVERY_NS (10 * TC_SECOND)
#define RETRY_FIRST TC_SECOND
#define RETRY_MAX (60 * TC_SECOND)
/* A command that has the database open is waited for so long, then later again. */
#define OPEN_WAIT TC_SECOND
/* How long after a write it rests, if there is no other: they come together. */
#define REST_NS (2 * TC_SECOND)
/* Behind ingestion and detection when the processors are busy. */
#define NICE 10

struct tc_warehouse_feed {
    struct tc_warehouse_feed_parts parts;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    bool read_now;      /* so many metrics wait that they are read before their time */
    int64_t stop_by_ns; /* monotonic */
    struct tc_warehouse_trouble trouble;

    /* The thread's own. */
    struct tc_warehouse *warehouse; /* NULL: not open */
    struct tc_warehouse_slicer *slicer;
    struct tc_warehouse_requests *requests;
    struct tc_verdict_writer *verdicts;
    struct tc_rows *names; /* of runs */
    int64_t names_ns;      /* monotonic: when those are looked for again */
    int64_t read_ns;       /* monotonic: when metrics and traces are looked for again */
    int64_t retry_ns;
    int64_t backoff_ns;
    int64_t rest_ns; /* monotonic: when the warehouse gives memory back; 0: it has */
    bool is_writing; /* what fails now is the warehouse */
    bool is_ending;  /* all that can be written is */
};

/* ---- the warehouse ---- */

static void let_go(struct tc_warehouse_feed *f)
{
    tc_warehouse_hub_give(f->parts.hub, f->warehouse);
    f->warehouse = NULL;
}

static tc_status need_warehouse(struct tc_warehouse_feed *f, struct tc_error *err)
{
    if (f->warehouse != NULL && tc_warehouse_hub_is_suspect(f->parts.hub)) {
        let_go(f);
    }
    return f->warehouse != NULL
               ? TC_OK
               : tc_warehouse_hub_share(f->parts.hub, OPEN_WAIT, &f->warehouse, err);
}

/* What follows does not write, until it says so. */
static void end_writing(struct tc_warehouse_feed *f)
{
    if (f->is_writing) {
        tc_warehouse_hub_wrote(f->parts.hub, TC_WAREHOUSE_BY_FEED);
        f->rest_ns = tc_clock_ns(CLOCK_MONOTONIC) + REST_NS;
    }
    f->is_writing = false;
}

/* NULL: it works again. */
static void set_trouble(struct tc_warehouse_feed *f, const struct tc_error *err)
{
    (void)pthread_mutex_lock(&f->lock);
    struct tc_warehouse_trouble *t = &f->trouble;
    if (err == NULL) {
        t->since_ns = 0;
    } else {
        t->since_ns = t->since_ns == 0 ? tc_clock_ns(CLOCK_REALTIME) : t->since_ns;
        memcpy(t->error, err->message, sizeof t->error);
    }
    (void)pthread_mutex_unlock(&f->lock);
}

void tc_warehouse_feed_trouble(struct tc_warehouse_feed *f, struct tc_warehouse_trouble *out)
{
    (void)pthread_mutex_lock(&f->lock);
    *out = f->trouble;
    (void)pthread_mutex_unlock(&f->lock);
}

static void failed(struct tc_warehouse_feed *f, const char *what, const struct tc_error *err)
{
    set_trouble(f, err);
    int64_t first_ns = f->parts.retry_ns == 0 ? RETRY_FIRST : f->parts.retry_ns;
    f->backoff_ns = f->backoff_ns == 0 ? first_ns : f->backoff_ns * 2;
    f->backoff_ns = f->backoff_ns > RETRY_MAX ? RETRY_MAX : f->backoff_ns;
    f->retry_ns = tc_clock_ns(CLOCK_MONOTONIC) + f->backoff_ns;
    tc_count(TC_COUNT_WAREHOUSE_FAILURES, 1);
    tc_log_fields(TC_LOG_WARN, what, TC_LOG_CSTR("error", err->message),
                  TC_LOG_NUMBER("again_in_ms", f->backoff_ns / 1000000));
    if (f->is_writing) {
        tc_warehouse_hub_suspect(f->parts.hub);
        let_go(f);
    }
}

static void succeeded(struct tc_warehouse_feed *f)
{
    if (f->backoff_ns > 0) {
        set_trouble(f, NULL);
    }
    f->backoff_ns = 0;
    f->retry_ns = 0;
}

/* ---- verdicts ---- */

static tc_status write_verdicts(struct tc_warehouse_feed *f, struct tc_error *err)
{
    TC_TRY(tc_verdict_writer_pull(f->verdicts, err));
    if (tc_verdict_writer_count(f->verdicts) > 0) {
        TC_TRY(need_warehouse(f, err));
        f->is_writing = true;
        TC_TRY(tc_verdict_writer_write(f->verdicts, f->warehouse, err));
    }
    tc_verdict_writer_done(f->verdicts);
    return TC_OK;
}

/* ---- names of runs ---- */

/* What telemetry said of runs, before what it is needed for. */
static tc_status write_names(struct tc_warehouse_feed *f, enum tc_run_book_want want,
                             struct tc_error *err)
{
    int64_t now_ns = tc_clock_ns(CLOCK_REALTIME);
    tc_rows_reset(f->names);
    tc_run_book_take(f->parts.runs, now_ns, want, f->names);
    if (f->names->count == 0) {
        return TC_OK;
    }
    tc_status status = need_warehouse(f, err);
    if (status == TC_OK) {
        f->is_writing = true;
        status = tc_run_names_write(f->warehouse, f->parts.data_dir, f->names, err);
    }
    if (status != TC_OK) {
        tc_run_book_retake(f->parts.runs);
    }
    return status;
}

/* ---- slices ---- */

static int64_t read_every(const struct tc_warehouse_feed *f)
{
    int64_t every = f->parts.slicer.window_ns / 4;
    every = every > READ_EVERY_NS ? READ_EVERY_NS : every;
    return every < READ_LEAST_NS ? READ_LEAST_NS : every;
}

static tc_status do_slices(struct tc_warehouse_feed *f, bool *out_more, struct tc_error *err)
{
    /* What is due is written before more is read: the rest can wait on the disk. */
    if (!tc_warehouse_slicer_is_due(f->slicer)) {
        TC_TRY(tc_warehouse_slicer_read(f->slicer, tc_clock_ns(CLOCK_REALTIME), out_more, err));
    }
    while (tc_warehouse_slicer_is_due(f->slicer)) {
        TC_TRY(need_warehouse(f, err));
        f->is_writing = true;
        TC_TRY(tc_warehouse_slicer_write(f->slicer, f->warehouse, err));
        *out_more = true;
    }
    return TC_OK;
}

/* ---- requests ---- */

static tc_status open_for_requests(void *context, struct tc_warehouse **out_warehouse,
                                   struct tc_error *err)
{
    struct tc_warehouse_feed *f = context;
    TC_TRY(need_warehouse(f, err));
    f->is_writing = true;
    *out_warehouse = f->warehouse;
    return TC_OK;
}

/* ---- the thread ---- */

/* Metrics and traces. False: it failed, and is tried again at f->retry_ns. */
static bool read_evidence(struct tc_warehouse_feed *f, int64_t now_ns)
{
    struct tc_error err = {0};
    bool more_slices = false;
    bool more_requests = false;
    if (f->slicer != NULL && do_slices(f, &more_slices, &err) != TC_OK) {
        failed(f, "metrics wait for the warehouse", &err);
        return false;
    }
    end_writing(f);
    if (f->requests != NULL && tc_warehouse_requests_step(f->requests, tc_clock_ns(CLOCK_REALTIME),
                                                          &more_requests, &err) != TC_OK) {
        failed(f, "traces wait for the warehouse", &err);
        return false;
    }
    end_writing(f);
    succeeded(f);
    f->read_ns = more_slices || more_requests ? now_ns : now_ns + read_every(f);
    return true;
}

/* What there is to do now; the time (monotonic) of the next look. */
static int64_t step(struct tc_warehouse_feed *f)
{
    struct tc_outbox_stats stats;
    struct tc_error err = {0};
    int64_t now_ns = tc_clock_ns(CLOCK_MONOTONIC);
    f->is_writing = false;
    tc_outbox_stats(f->parts.outbox, &stats);
    tc_gauge(TC_COUNT_WAREHOUSE_PENDING, (int64_t)stats.pending_pull);
    tc_gauge(TC_COUNT_WAREHOUSE_OPEN, tc_warehouse_hub_is_open(f->parts.hub));
    if (f->warehouse != NULL && tc_warehouse_hub_is_suspect(f->parts.hub)) {
        let_go(f);
    }
    if (f->warehouse != NULL && f->rest_ns > 0 && f->rest_ns <= now_ns) {
        f->rest_ns = 0;
        tc_warehouse_rest(f->warehouse);
    }
    if (f->retry_ns > now_ns) {
        return f->retry_ns;
    }
    bool has_verdicts = stats.pending_pull > 0;
    if (f->parts.runs != NULL && (has_verdicts || now_ns >= f->names_ns)) {
        enum tc_run_book_want want = f->is_ending   ? TC_RUN_BOOK_ALL
                                     : has_verdicts ? TC_RUN_BOOK_NOW
                                                    : TC_RUN_BOOK_DUE;
        if (write_names(f, want, &err) != TC_OK) {
            failed(f, "names of runs wait for the warehouse", &err);
            return f->retry_ns;
        }
        f->names_ns = now_ns + NAMES_EVERY_NS;
        end_writing(f);
    }
    if (has_verdicts) {
        if (write_verdicts(f, &err) != TC_OK) {
            failed(f, "verdicts wait for the warehouse", &err);
            return f->retry_ns;
        }
        succeeded(f);
        end_writing(f);
    }
    bool reads = f->slicer != NULL || f->requests != NULL;
    if (reads && now_ns >= f->read_ns && !read_evidence(f, now_ns)) {
        return f->retry_ns;
    }
    if (stats.pending_pull > TC_WAREHOUSE_VERDICTS_MAX) {
        return now_ns;
    }
    int64_t next_ns = now_ns + STEP_NS;
    return reads && f->read_ns < next_ns ? f->read_ns : next_ns;
}

static void wait_until(struct tc_warehouse_feed *f, int64_t until_ns)
{
    struct timespec until = tc_timespec(until_ns);
    (void)pthread_mutex_lock(&f->lock);
    if (!f->stopping && !f->read_now) {
        (void)pthread_cond_timedwait(&f->wake, &f->lock, &until);
    }
    f->read_ns = f->read_now ? 0 : f->read_ns;
    f->read_now = false;
    (void)pthread_mutex_unlock(&f->lock);
}

/* In the loop's thread. */
static void wake_up(void *context)
{
    struct tc_warehouse_feed *f = context;
    (void)pthread_mutex_lock(&f->lock);
    f->read_now = true;
    (void)pthread_cond_signal(&f->wake);
    (void)pthread_mutex_unlock(&f->lock);
}

static bool is_stopping(struct tc_warehouse_feed *f)
{
    (void)pthread_mutex_lock(&f->lock);
    bool stopping = f->stopping;
    (void)pthread_mutex_unlock(&f->lock);
    return stopping;
}

/* What was told last becomes durable within moments: then it is written too, if that is possible
 * at all. What is not stays in the outbox for the next start. */
static void finish(struct tc_warehouse_feed *f)
{
    struct tc_outbox_stats stats;
    f->is_ending = true;
    do {
        f->names_ns = 0;
        f->retry_ns = 0;
        f->read_ns = INT64_MAX;
        (void)step(f);
        tc_outbox_stats(f->parts.outbox, &stats);
        if (f->backoff_ns > 0 || (stats.pending_pull == 0 && stats.waiting == 0)) {
            return;
        }
        (void)usleep(5000);
    } while (tc_clock_ns(CLOCK_MONOTONIC) < f->stop_by_ns);
}

static void *feed_main(void *context)
{
    struct tc_warehouse_feed *f = context;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (!is_stopping(f)) {
        wait_until(f, step(f));
    }
    finish(f);
    let_go(f);
    return NULL;
}

static void destroy(struct tc_warehouse_feed *f)
{
    tc_warehouse_slicer_destroy(f->slicer);
    tc_warehouse_requests_destroy(f->requests);
    tc_verdict_writer_destroy(f->verdicts);
    tc_rows_destroy(f->names);
    (void)pthread_cond_destroy(&f->wake);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}

tc_status tc_warehouse_feed_start(const struct tc_warehouse_feed_parts *parts,
                                  struct tc_warehouse_feed **out_feed, struct tc_error *err)
{
    struct tc_warehouse_feed *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the warehouse");
    }
    f->parts = *parts;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&f->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&f->lock, NULL);
    f->verdicts = tc_verdict_writer_create(parts->outbox, parts->data_dir);
    f->names = tc_rows_create(TC_TABLE_RUN_SCOPE);
    f->slicer = parts->wants_slices ? tc_warehouse_slicer_create(&parts->slicer) : NULL;
    if (parts->wants_requests) {
        f->parts.requests.open = open_for_requests;
        f->parts.requests.context = f;
        f->requests = tc_warehouse_requests_create(&f->parts.requests);
    }
    bool ok = f->verdicts != NULL && f->names != NULL &&
              (!parts->wants_slices || f->slicer != NULL) &&
              (!parts->wants_requests || f->requests != NULL);
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the loop's thread */
    int code = ok ? pthread_create(&f->thread, NULL, feed_main, f) : 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!ok || code != 0) {
        destroy(f);
        return tc_fail(err, ok ? TC_E_IO : TC_E_NOMEM, 0, "no memory or thread for the warehouse");
    }
    if (f->slicer != NULL && parts->slicer.handoff != NULL) {
        tc_handoff_on_wake(parts->slicer.handoff, parts->wake_bytes, wake_up, f);
    }
    *out_feed = f;
    return TC_OK;
}

void tc_warehouse_feed_stop(struct tc_warehouse_feed *f, int64_t wait_ns)
{
    if (f == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&f->lock);
    f->stopping = true;
    f->stop_by_ns = tc_clock_ns(CLOCK_MONOTONIC) + wait_ns;
    (void)pthread_cond_signal(&f->wake);
    (void)pthread_mutex_unlock(&f->lock);
    (void)pthread_join(f->thread, NULL);
    if (f->parts.slicer.handoff != NULL) {
        tc_handoff_on_wake(f->parts.slicer.handoff, 0, NULL, NULL);
    }
    destroy(f);
}
