/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/format.h"
#include "observe/log.h"
#include "observe/loop.h"
#include "observe/metrics.h"
#include "server/sources/priv.h"
#include "server/warehouse/handoff.h"
#include "stored/batch_name.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Jobs that one turn of the loop hands to the committer. */
#define TURN_JOBS 256
/* While the store has no room, it is asked again so often. */
#define RETRY_US 50000
/* How often the health of sources is looked at. */
#define WATCH_S 5
/* Positions are saved so often. */
#define SAVE_NS (10 * TC_SECOND)
/* What could not be stored is tried again after this. */
#define AGAIN_NS TC_SECOND

/* ---- from the disk to detection: the loop ---- */

static void finish(struct tc__source_job *j, tc_status status)
{
    struct tc_source_set *s = j->of;
    (void)pthread_mutex_lock(&s->lock);
    j->status = status;
    if (--j->put->pending == 0) {
        (void)pthread_cond_signal(&j->put->done);
    }
    (void)pthread_mutex_unlock(&s->lock); /* the job may be gone from here on */
}

/* It has waited for detection. */
static void take_turn(struct tc_waiting *waiting)
{
    struct tc__source_job *j =
        (struct tc__source_job *)(void *)((char *)waiting -
                                          offsetof(struct tc__source_job, waiting));
    const struct tc_ingest_parts *p = &j->of->parts;
    tc_detection_take(p->detection, &j->commit.batch, NULL);
    tc_catch_up_took(p->catch_up, &j->commit.batch);
    p->fed(p->context);
    finish(j, TC_OK);
}

/* A whole file is read from the store, as an upload is; the others in turns of the loop. */
static void pass_on(struct tc__source_job *j)
{
    const struct tc_ingest_parts *p = &j->of->parts;
    const struct tc_batch *batch = &j->commit.batch;
    if (batch->kind == TC_BATCH_FILE ||
        tc_catch_up_when(p->catch_up, batch->body.len, j->chunk->records) == TC_CATCH_UP_LATER) {
        tc_catch_up_later(p->catch_up);
        tc_catch_up_settled(p->catch_up, batch, true, NULL);
        finish(j, TC_OK);
        return;
    }
    j->waiting = (struct tc_waiting){
        .bytes = batch->body.len, .records = j->chunk->records, .turn = take_turn};
    tc_catch_up_wait(p->catch_up, &j->waiting);
}

static void settled(struct tc_commit_job *commit, tc_status status)
{
    struct tc__source_job *j = (struct tc__source_job *)(void *)commit;
    struct tc_source_set *s = j->of;
    if (status == TC_OK && j->chunk->stream.len > 0 &&
        !tc_positions_set(s->positions, j->source, j->chunk->stream, j->chunk->position)) {
        tc_log_fields(TC_LOG_ERROR, "no room for the position of a source: it is read again",
                      TC_LOG_TEXT("source", j->source));
    }
    tc_positions_note(s->positions, tc_committer_settled(s->parts.committer));
    if (status == TC_OK && s->parts.handoff != NULL && tc_batch_is_scrape(j->commit.batch.name)) {
        tc_handoff_skip(s->parts.handoff, j->commit.batch.number);
    }
    if (status == TC_OK) {
        pass_on(j);
    } else {
        finish(j, status);
    }
}

/* ---- from the sources to the disk: the loop ---- */

static bool has_room(const struct tc_source_set *s)
{
    const struct tc_ingest_parts *p = &s->parts;
    return !tc_committer_is_full(p->committer) &&
           tc_committer_waiting_bytes(p->committer) <= p->config->ingest_queue_bytes &&
           tc_committer_waiting(p->committer) <= (size_t)p->config->ingest_queue_batches;
}

static struct tc__source_job *take_job(struct tc_source_set *s)
{
    (void)pthread_mutex_lock(&s->lock);
    struct tc__source_job *j = s->queue;
    if (j != NULL) {
        s->queue = j->next;
        s->queue_end = s->queue == NULL ? &s->queue : s->queue_end;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return j;
}

static void take_jobs(struct tc_source_set *s)
{
    for (size_t i = 0; has_room(s); i++) {
        struct tc__source_job *j = i < TURN_JOBS ? take_job(s) : NULL;
        if (j == NULL) {
            if (i == TURN_JOBS) {
                event_active(s->wake_event, 0, 0);
            }
            return;
        }
        tc_committer_put(s->parts.committer, &j->commit);
    }
    struct timeval retry = {.tv_usec = RETRY_US};
    (void)event_add(s->retry_timer, &retry);
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    struct tc_source_set *s = context;
    uint64_t count = 0;
    (void)fd;
    (void)what;
    tc_loop_enter();
    (void)!read(s->wake_fd, &count, sizeof count);
    take_jobs(s);
    tc_loop_leave();
}

static void on_retry(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    take_jobs(context);
    tc_loop_leave();
}

static void on_watch(evutil_socket_t fd, short what, void *context)
{
    struct tc_source_set *s = context;
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc_positions_note(s->positions, tc_committer_settled(s->parts.committer));
    tc__source_set_watch(s);
    tc_loop_leave();
}

/* ---- what a port asks for: the source's thread ---- */

/* Labels come from outside: a line end in one would begin a hint. */
static void put_label(struct tc_grow *g, struct tc_slice label)
{
    for (size_t i = 0; i < label.len && i < TC_SOURCE_LABEL_MAX && tc_grow_room(g, 1); i++) {
        unsigned char c = (unsigned char)label.ptr[i];
        tc_buf_char(&g->buf, c < ' ' || c == 0x7f ? '?' : (char)c);
    }
}

static void put_hint(struct tc_grow *g, const char *key, struct tc_slice value)
{
    if (value.len > 0) {
        tc_grow_format(g, "\n{}=", key);
        put_label(g, value);
    }
}

/* Positions are not cut: the source reads them again. */
static void write_name(struct tc_grow *g, struct tc_slice source, const struct tc_source_chunk *c)
{
    put_label(g, c->name);
    put_hint(g, "format", c->format);
    put_hint(g, "node", c->node);
    put_hint(g, "job", c->job);
    put_hint(g, "tz", c->tz);
    if (c->boot_ns > 0) {
        tc_grow_format(g, "\nboot_time={}", tc_as_time(c->boot_ns));
    }
    tc_grow_format(g, "\nsource={}", source);
    if (c->stream.len > 0) {
        tc_grow_format(g, "\nstream={}\nposition={}", c->stream, c->position);
    }
    tc_grow_format(g, "{}source:{}", TC_BATCH_SENDER, source);
}

static tc_status prepare(struct tc_source_set *s, const struct tc_source_port *port,
                         const struct tc_source_chunk *chunks, size_t count,
                         struct tc__source_job *jobs, struct tc_grow *names)
{
    size_t ends[TC_SOURCE_PUT_MAX];
    struct tc_slice source = tc_slice_cstr(tc_port_name(port));
    int64_t now_ns = tc_wall_ns();
    for (size_t i = 0; i < count; i++) {
        write_name(names, source, &chunks[i]);
        ends[i] = names->buf.len;
    }
    if (names->failed) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        jobs[i] = (struct tc__source_job){
            .commit = {.batch = {.arrival_ns = now_ns,
                                 .kind = chunks[i].is_file ? TC_BATCH_FILE : TC_BATCH_SOURCE,
                                 .name = tc_slice_make(names->buf.data + from, ends[i] - from),
                                 .body = chunks[i].body},
                       .is_awaited = true,
                       .settled = settled},
            .of = s,
            .chunk = &chunks[i],
            .source = source,
            .status = TC_E_IO};
    }
    return TC_OK;
}

/* Those that are not durable yet, and waits for them. False: the daemon ends. */
static bool send_jobs(struct tc_source_set *s, struct tc__source_job *jobs, size_t count)
{
    struct tc__source_put put = {0};
    (void)pthread_cond_init(&put.done, NULL);
    (void)pthread_mutex_lock(&s->lock);
    bool is_open = !s->is_closed;
    for (size_t i = 0; is_open && i < count; i++) {
        if (jobs[i].status != TC_OK) {
            jobs[i].put = &put;
            jobs[i].next = NULL;
            *s->queue_end = &jobs[i];
            s->queue_end = &jobs[i].next;
            put.pending++;
        }
    }
    uint64_t one = 1;
    (void)!write(s->wake_fd, &one, sizeof one);
    while (put.pending > 0) {
        (void)pthread_cond_wait(&put.done, &s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_cond_destroy(&put.done);
    return is_open;
}

static bool are_durable(const struct tc__source_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].status != TC_OK) {
            return false;
        }
    }
    return true;
}

static tc_status put(void *context, struct tc_source_port *port,
                     const struct tc_source_chunk *chunks, size_t count)
{
    struct tc_source_set *s = context;
    TC_ASSERT(count <= TC_SOURCE_PUT_MAX);
    struct tc__source_job *jobs = NULL;
    struct tc_grow names = {0};
    bool is_ready = false;
    bool has_failed = false;
    for (;;) {
        if (!is_ready) {
            jobs = jobs == NULL ? calloc(count, sizeof *jobs) : jobs;
            tc_grow_fini(&names);
            is_ready = jobs != NULL && prepare(s, port, chunks, count, jobs, &names) == TC_OK;
        }
        bool is_open = !is_ready || send_jobs(s, jobs, count);
        if (is_ready && is_open && are_durable(jobs, count)) {
            break;
        }
        if (!is_open || tc_port_is_stopping(port)) {
            break;
        }
        has_failed = true;
        tc_port_fail(port, "%s", is_ready ? "the evidence could not be stored" : "no memory");
        (void)tc_port_wait(port, -1, AGAIN_NS);
    }
    tc_status status = is_ready && are_durable(jobs, count) ? TC_OK : TC_E_AGAIN;
    if (status == TC_OK && has_failed) {
        tc_port_ok(port);
    }
    tc_grow_fini(&names);
    free(jobs);
    return status;
}

static void read_positions(void *context, const struct tc_source_port *port,
                           void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                           void *of)
{
    const struct tc_source_set *s = context;
    tc_positions_each(s->positions, tc_slice_cstr(tc_port_name(port)), take, of);
}

static void keep(void *context, const struct tc_source_port *port, struct tc_slice stream,
                 struct tc_slice position)
{
    const struct tc_source_set *s = context;
    (void)tc_positions_set(s->positions, tc_slice_cstr(tc_port_name(port)), stream, position);
}

static void save(void *context, bool now)
{
    struct tc_source_set *s = context;
    struct tc_error err = {0};
    int64_t now_ns = tc_mono_ns();
    int64_t last_ns = atomic_load(&s->saved_ns);
    if (!now && now_ns - last_ns < SAVE_NS) {
        return;
    }
    atomic_store(&s->saved_ns, now_ns);
    if (tc_positions_save(s->positions, &err) != TC_OK) {
        tc_log_fields(TC_LOG_WARN,
                      "where sources go on could not be summed up; a start takes longer",
                      TC_LOG_CSTR("error", err.message));
    }
}

/* ---- life ---- */

static void say_damage(void *context, const char *line)
{
    (void)context;
    tc_log_fields(TC_LOG_WARN, "where sources go on is read from all that is stored",
                  TC_LOG_CSTR("error", line));
}

static tc_status set_up(struct tc_source_set *s, struct tc_error *err)
{
    s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    s->wake_event =
        s->wake_fd < 0 ? NULL : event_new(s->base, s->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
    s->retry_timer = evtimer_new(s->base, on_retry, s);
    s->watch_timer = event_new(s->base, -1, EV_PERSIST, on_watch, s);
    struct timeval watch = {.tv_sec = WATCH_S};
    if (s->positions == NULL || s->wake_event == NULL || s->retry_timer == NULL ||
        s->watch_timer == NULL || event_add(s->wake_event, NULL) != 0 ||
        event_add(s->watch_timer, &watch) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "sources cannot be set up");
    }
    return TC_OK;
}

tc_status tc_source_set_create(const struct tc_ingest_parts *parts, struct event_base *base,
                               const char *data_dir, const char *evidence_dir,
                               struct tc_source_set **out_sources, struct tc_error *err)
{
    struct tc_source_set *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for sources");
    }
    s->parts = *parts;
    s->base = base;
    s->queue_end = &s->queue;
    s->wake_fd = -1;
    atomic_store(&s->saved_ns, tc_mono_ns());
    (void)pthread_mutex_init(&s->lock, NULL);
    s->positions = tc_positions_create(data_dir);
    tc_status status = set_up(s, err);
    if (status == TC_OK) {
        status =
            tc_positions_load(s->positions, evidence_dir,
                              tc_committer_last_number(parts->committer), say_damage, NULL, err);
    }
    if (status != TC_OK) {
        tc_source_set_destroy(s);
        return status;
    }
    *out_sources = s;
    return TC_OK;
}

struct tc_positions *tc_source_set_positions(struct tc_source_set *s)
{
    return s->positions;
}

tc_status tc_source_set_add(struct tc_source_set *s, const struct tc_source_kind *kind,
                            const char *name, void *state, struct tc_error *err)
{
    struct tc_port_ops ops = {put, read_positions, keep, save, s};
    struct tc_source_port *port = s->count < TC__SOURCES_MAX ? tc_port_create(name, &ops) : NULL;
    if (port == NULL) {
        kind->destroy(state);
        return tc_fail(err, TC_E_LIMIT, 0, "%s: no room for another source; there can be %d", name,
                       TC__SOURCES_MAX);
    }
    s->list[s->count++] =
        (struct tc__source){.kind = kind, .name = name, .state = state, .port = port};
    return TC_OK;
}

static void *run(void *context)
{
    struct tc__source *one = context;
    one->kind->run(one->state, one->port);
    return NULL;
}

tc_status tc_source_set_start(struct tc_source_set *s, struct tc_error *err)
{
    tc_metrics_more(TC_METRICS_SOURCES, tc__source_set_metrics, s);
    for (size_t i = 0; i < s->count; i++) {
        struct tc__source *one = &s->list[i];
        one->is_started = pthread_create(&one->thread, NULL, run, one) == 0;
        if (!one->is_started) {
            return tc_fail(err, TC_E_NOMEM, 0, "%s: its thread cannot be started", one->name);
        }
    }
    return TC_OK;
}

void tc_source_set_stop(struct tc_source_set *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        tc_port_stop(s->list[i].port);
    }
    (void)pthread_mutex_lock(&s->lock);
    s->is_closed = true;
    struct tc__source_job *left = s->queue;
    s->queue = NULL;
    s->queue_end = &s->queue;
    (void)pthread_mutex_unlock(&s->lock);
    for (struct tc__source_job *next = NULL; left != NULL; left = next) {
        next = left->next;
        finish(left, TC_E_AGAIN);
    }
}

void tc_source_set_destroy(struct tc_source_set *s)
{
    if (s == NULL) {
        return;
    }
    tc_metrics_more(TC_METRICS_SOURCES, NULL, NULL);
    tc_source_set_stop(s);
    /* All of them first: one source looks at how the others are, until its thread ends. */
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].is_started) {
            (void)pthread_join(s->list[i].thread, NULL);
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        s->list[i].kind->destroy(s->list[i].state);
        tc_port_destroy(s->list[i].port);
    }
    if (s->count > 0) {
        save(s, true);
    }
    struct event *events[] = {s->wake_event, s->retry_timer, s->watch_timer};
    for (size_t i = 0; i < TC_COUNT(events); i++) {
        if (events[i] != NULL) {
            event_free(events[i]);
        }
    }
    if (s->wake_fd >= 0) {
        (void)close(s->wake_fd);
    }
    tc_positions_destroy(s->positions);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}
