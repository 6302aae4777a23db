/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/events.h"

#include "base/clock.h"
#include "base/table/grow.h"
#include "observe/loop.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/api/events_priv.h"
#include "server/api/priv.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

/* Waits for one reader, and is kept for all of them. */
#define PENDING_MAX ((size_t)64 << 10)
#define RECENT_BYTES_MAX ((size_t)4 << 20)
/* Of the log, for one reader that comes back. */
#define BACKLOG_BYTES_MAX ((size_t)256 << 10)
/* Before it is looked again whether a verdict is durable, or a reader has read. */
#define PUMP_US 20000
/* So that whatever is between us and the reader keeps the connection. */
#define BEAT_S 15
#define RETRY_STREAM_S 5

/* ---- what was told lately ---- */

static void drop_oldest(struct tc_api_events *e)
{
    struct tc__told *t = &e->recent[e->recent_from % TC__RECENT_MAX];
    e->recent_bytes -= t->len;
    free(t->json);
    *t = (struct tc__told){0};
    e->recent_from++;
}

static void drop_all(struct tc_api_events *e, uint64_t next)
{
    while (e->recent_from < e->recent_to) {
        drop_oldest(e);
    }
    e->recent_from = next;
    e->recent_to = next;
}

static void arm(struct tc_api_events *e)
{
    struct timeval wait = {.tv_usec = PUMP_US};
    if (e->on_pump != NULL && !e->is_armed) {
        e->is_armed = true;
        (void)event_add(e->on_pump, &wait);
    }
}

static void told(void *context, uint64_t number, struct tc_slice json)
{
    struct tc_api_events *e = context;
    if (e->streams == NULL) {
        return; /* whoever comes later reads the log */
    }
    char *copy = malloc(json.len + 1);
    if (copy == NULL || number != e->recent_to) {
        free(copy);
        drop_all(e, number + 1); /* it is in the log */
        return;
    }
    memcpy(copy, json.ptr, json.len);
    while (e->recent_from < e->recent_to && (e->recent_to - e->recent_from == TC__RECENT_MAX ||
                                             e->recent_bytes + json.len > RECENT_BYTES_MAX)) {
        drop_oldest(e);
    }
    e->recent[number % TC__RECENT_MAX] = (struct tc__told){.json = copy, .len = json.len};
    e->recent_bytes += json.len;
    e->recent_to = number + 1;
    arm(e);
}

/* ---- one reader ---- */

static void free_stream(struct tc__stream *s)
{
    free(s->backlog.buf.data);
    free(s);
}

static void unlink_stream(struct tc__stream *s)
{
    struct tc_api_events *e = s->of;
    struct tc__stream **at = &e->streams;
    while (*at != s) {
        at = &(*at)->next_stream;
    }
    *at = s->next_stream;
    e->stream_count--;
    tc_gauge(TC_COUNT_API_STREAMS, (int64_t)e->stream_count);
    s->request = NULL;
    if (!s->is_reading) {
        free_stream(s);
    }
}

static void gone(void *context)
{
    unlink_stream(context);
}

static void end_stream(struct tc__stream *s)
{
    struct tc_request *r = s->request;
    unlink_stream(s);
    tc_stream_end(r);
}

/* What was read from the log, as far as the reader takes it; false: some is left. */
static bool send_backlog(struct tc__stream *s)
{
    struct tc_slice rest =
        tc_slice_from(tc_slice_make(s->backlog.buf.data, s->backlog.buf.len), s->backlog_at);
    while (rest.len > 0) {
        size_t pending = tc_stream_pending(s->request);
        size_t room = pending < PENDING_MAX / 2 ? PENDING_MAX / 2 - pending : 0;
        if (room == 0) {
            return false;
        }
        struct tc_slice piece = tc_slice_head(rest, room);
        if (tc_stream_write(s->request, piece) != TC_OK) {
            return false;
        }
        s->backlog_at += piece.len;
        rest = tc_slice_from(rest, piece.len);
    }
    tc_grow_fini(&s->backlog);
    s->backlog_at = 0;
    return true;
}

/* One event; false: the reader has to read first. */
static bool send_event(struct tc__stream *s, struct tc_slice json)
{
    struct tc_grow *text = &s->of->text;
    tc_buf_reset(&text->buf);
    tc__sse_put(text, s->next, json);
    if (text->failed) {
        tc_grow_fini(text);
        return false; /* there may be memory for it later */
    }
    struct tc_slice bytes = tc_slice_make(text->buf.data, text->buf.len);
    if (bytes.len > PENDING_MAX / 2) {
        tc_grow_str(&s->backlog, bytes);
        bool took = !s->backlog.failed;
        if (!took) {
            tc_grow_fini(&s->backlog);
        }
        return took;
    }
    return tc_stream_write(s->request, bytes) == TC_OK;
}

/* From what is kept; false: the reader has to read first. */
static bool send_recent(struct tc__stream *s, uint64_t stored)
{
    struct tc_api_events *e = s->of;
    while (s->next < stored && s->next < e->recent_to) {
        const struct tc__told *t = &e->recent[s->next % TC__RECENT_MAX];
        struct tc_slice json = tc_slice_make(t->json, t->len);
        if (tc__sse_matches(&e->reading, &s->filter, json) && !send_event(s, json)) {
            return false;
        }
        s->next++;
        if (s->backlog.buf.len > 0) {
            return false; /* a long one goes out in pieces */
        }
    }
    return s->next >= e->recent_to;
}

static void read_log(struct tc__stream *s);

/* Sends what can be sent; true when there is nothing more for now. */
static bool pump(struct tc__stream *s, uint64_t stored)
{
    struct tc_api_events *e = s->of;
    if (s->is_reading) {
        return true; /* its end pumps again */
    }
    if (!send_backlog(s)) {
        return false;
    }
    /* An id that the log never had is for the log to tell. */
    if (s->next >= e->recent_from && s->next <= tc_outbox_next(e->parts.outbox)) {
        s->is_level = true;
        return send_recent(s, stored);
    }
    if (s->is_level) { /* it was there, and did not keep up */
        tc_count(TC_COUNT_API_STREAMS_SLOW, 1);
        end_stream(s);
    } else {
        read_log(s);
    }
    return true;
}

static void pump_all(struct tc_api_events *e)
{
    uint64_t stored = tc_outbox_stored(e->parts.outbox);
    bool is_done = true;
    for (struct tc__stream *s = e->streams, *next = NULL; s != NULL; s = next) {
        next = s->next_stream;
        is_done = pump(s, stored) && is_done;
    }
    if (e->streams == NULL) {
        drop_all(e, tc_outbox_next(e->parts.outbox));
    } else if (!is_done) {
        arm(e);
    }
}

static void on_pump(evutil_socket_t fd, short what, void *context)
{
    struct tc_api_events *e = context;
    (void)fd;
    (void)what;
    tc_loop_enter();
    e->is_armed = false;
    pump_all(e);
    tc_loop_leave();
}

static void on_beat(evutil_socket_t fd, short what, void *context)
{
    struct tc_api_events *e = context;
    (void)fd;
    (void)what;
    tc_loop_enter();
    for (struct tc__stream *s = e->streams, *next = NULL; s != NULL; s = next) {
        next = s->next_stream;
        if (tc_stream_pending(s->request) == 0) {
            (void)!tc_stream_write(s->request, TC_LIT(":\n\n"));
        }
    }
    tc_loop_leave();
}

/* ---- the log ---- */

static void run_read(struct tc_api_job *job, struct tc_api_worker *w)
{
    struct tc__stream *s = tc__stream_of_job(job);
    (void)w;
    tc__sse_read_log(s, BACKLOG_BYTES_MAX);
}

static void done_read(struct tc_api_job *job, bool was_run)
{
    struct tc__stream *s = tc__stream_of_job(job);
    s->is_reading = false;
    if (s->request == NULL) {
        free_stream(s);
        return;
    }
    if (!was_run || s->is_failed) {
        end_stream(s);
        return;
    }
    arm(s->of);
}

static void read_log(struct tc__stream *s)
{
    struct tc_api_events *e = s->of;
    s->is_reading = true;
    s->job.run = run_read;
    s->job.done = done_read;
    if (!tc_api_workers_put(e->parts.workers, &s->job, (size_t)e->parts.config->api_queue)) {
        s->is_reading = false;
        end_stream(s); /* it comes back with the id that it has */
    }
}

/* ---- opening ---- */

static size_t streams_max(const struct tc_config *c)
{
    uint64_t half = (uint64_t)c->limits_api_connections / 2;
    return (size_t)((uint64_t)c->api_streams < half ? (uint64_t)c->api_streams : half);
}

/* The parameters, and where to begin. */
static tc_status read_request(struct tc__stream *s, const struct tc_request *r,
                              const struct tc_question *question, struct tc_error *err)
{
    struct tc_asked *asked = &s->asked;
    struct tc_api_events *e = s->of;
    uint64_t last = 0;
    tc_asked_init(asked, question, tc_wall_ns());
    TC_TRY(tc__api_read_query(asked, r->query, s->text, err));
    TC_TRY(tc_asked_complete(asked, err));
    tc_live_filter_of(asked, &s->filter);
    s->next = tc_outbox_next(e->parts.outbox);
    if (r->last_event_id.len > 0) {
        if (!tc_slice_is_u64(r->last_event_id, &last) || last == UINT64_MAX) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "Last-Event-ID is none of this stream: its ids are numbers");
        }
        s->next = last + 1;
    }
    return TC_OK;
}

static bool begin_stream(struct tc__stream *s, struct tc_request *r)
{
    static const struct tc_header headers[] = {
        {{"Cache-Control", 13}, {"no-store", 8}},
        {{"X-Content-Type-Options", 22}, {"nosniff", 7}},
        {{"X-Accel-Buffering", 17}, {"no", 2}},
    };
    const struct tc_response head = {
        .answer = TC_ANSWER_OK,
        .content_type = TC_LIT("text/event-stream"),
        .headers = headers,
        .header_count = TC_COUNT(headers),
    };
    const struct tc_stream_owner owner = {.gone = gone, .context = s, .pending_max = PENDING_MAX};
    tc_answer_count(r, TC_ANSWER_OK);
    if (r->method == TC_METHOD_HEAD) {
        tc_request_respond(r, &head);
        return false;
    }
    if (!tc_request_stream(r, &head, &owner)) {
        tc_problem_respond(r, TC_ANSWER_BUSY, RETRY_STREAM_S, TC_LIT("no stream can be begun"));
        return false;
    }
    return true;
}

/* The id is said at once: who loses the connection before the first event goes on from here. */
static void greet(struct tc__stream *s)
{
    struct tc_api_events *e = s->of;
    tc_buf_reset(&e->text.buf);
    tc_grow_str(&e->text, TC_LIT("retry: 2000\nid: "));
    tc_grow_i64(&e->text, (int64_t)(s->next - 1));
    tc_grow_str(&e->text, TC_LIT("\n\n"));
    if (!e->text.failed) {
        (void)!tc_stream_write(s->request, tc_slice_make(e->text.buf.data, e->text.buf.len));
    }
}

void tc_api_events_open(struct tc_api_events *e, struct tc_request *r,
                        const struct tc_question *question)
{
    struct tc_error err = {0};
    if (e->stream_count >= streams_max(e->parts.config) || e->on_pump == NULL) {
        tc_count(TC_COUNT_API_STREAMS_REFUSED, 1);
        tc_problem_respond(r, TC_ANSWER_BUSY, RETRY_STREAM_S,
                           TC_LIT("as many readers are here as api.streams allows; try again"));
        return;
    }
    struct tc__stream *s = calloc(1, sizeof *s + r->query.len);
    if (s == NULL) {
        tc_problem_respond(r, TC_ANSWER_BUSY, RETRY_STREAM_S, TC_LIT("no memory now"));
        return;
    }
    s->of = e;
    if (read_request(s, r, question, &err) != TC_OK) {
        tc_problem_respond_about(r, TC_ANSWER_BAD, 0, tc_slice_cstr(err.message), s->asked.wrong);
        free(s);
        return;
    }
    if (!begin_stream(s, r)) {
        free(s);
        return;
    }
    if (e->streams == NULL) {
        drop_all(e, tc_outbox_next(e->parts.outbox));
    }
    s->request = r;
    s->next_stream = e->streams;
    e->streams = s;
    e->stream_count++;
    tc_gauge(TC_COUNT_API_STREAMS, (int64_t)e->stream_count);
    greet(s);
    arm(e);
}

/* ---- life ---- */

tc_status tc_api_events_create(const struct tc_api_events_parts *parts, struct tc_api_events **out,
                               struct tc_error *err)
{
    struct timeval beat = {.tv_sec = BEAT_S};
    struct tc_api_events *e = calloc(1, sizeof *e);
    if (e != NULL) {
        e->parts = *parts;
        e->on_pump = evtimer_new(parts->base, on_pump, e);
        e->on_beat = event_new(parts->base, -1, EV_PERSIST, on_beat, e);
    }
    if (e == NULL || e->on_pump == NULL || e->on_beat == NULL ||
        event_add(e->on_beat, &beat) != 0) {
        tc_api_events_destroy(e);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the stream of verdicts");
    }
    tc_detection_listen(parts->detection, told, e);
    *out = e;
    return TC_OK;
}

void tc_api_events_stop(struct tc_api_events *e)
{
    if (e == NULL) {
        return;
    }
    if (e->on_pump != NULL) {
        event_free(e->on_pump);
    }
    if (e->on_beat != NULL) {
        event_free(e->on_beat);
    }
    e->on_pump = NULL;
    e->on_beat = NULL;
}

void tc_api_events_destroy(struct tc_api_events *e)
{
    if (e == NULL) {
        return;
    }
    tc_api_events_stop(e);
    drop_all(e, 0);
    tc_grow_fini(&e->text);
    tc__sse_reading_fini(&e->reading);
    free(e);
}
