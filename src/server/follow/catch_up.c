/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/catch_up.h"

#include "base/clock.h"
#include "observe/log.h"
#include "observe/loop.h"
#include "observe/metrics.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The loop's time for one turn of this. */
#define TURN_NS (5 * TC_SECOND / 1000)
/* What detection takes at once: more is read by the thread and fed in turns. */
#define LEVEL_RECORDS ((uint64_t)8192)
/* How often the log is told of a replay that goes on, and the words for it. */
#define SAY_EACH_NS (10 * TC_SECOND)
#define REPLAYING "what was stored lately is read again; what comes meanwhile is judged after it"
/* What a record is in the hold, beside its strings. */
#define RECORD_BYTES ((uint64_t)256)
/* Senders wait for detection this long; then what they send is read from the store. */
#define WAIT_MAX_NS (TC_SECOND / 2)
/* Of the memory of requests, what waits may have so much: the rest is for those that come. */
#define WAITING_BYTES_MAX(memory_bytes) ((memory_bytes) / 4 * 3)
/* Of it, what may wait without its sender: more, and senders would outrun detection. */
#define ANSWERED_BYTES_MAX(memory_bytes) ((memory_bytes) / 4)

/*
 * Invariants: all batches up to `judged` were fed or never will be. Level: chunk is NULL, wanted <=
 * read and unsettled is 0. While it is replaying nothing is told. What waits came while it was
 * level, and before all that the reader is asked for: no chunk is fed until nothing waits.
 */
struct tc_catch_up {
    struct tc_catch_up_config config;
    struct tc_batch_reader *reader;
    int wake_fd;
    struct event *wake_event;
    struct event *turn_event;
    struct event *idle_event; /* the same when no socket wants the loop */
    uint64_t from;            /* of the replay */
    uint64_t last;
    int64_t begin_ns; /* monotonic: when it began, and when the log was last told of it */
    int64_t said_ns;
    uint64_t unsettled;     /* batches that are on their way to the disk and for the reader */
    uint64_t wanted;        /* the newest batch that the reader was asked for */
    uint64_t read;          /* all before this one are fed */
    struct tc_chunk *chunk; /* being fed; NULL: none */
    size_t at;
    bool is_begun;              /* the clock was set for its batch */
    struct tc_waiting *waiting; /* in memory, the first first */
    struct tc_waiting **waiting_end;
    uint64_t waiting_bytes;
    uint64_t waiting_records;
    uint64_t waiting_senders; /* of them those whose sender waits */
    struct tc_catch_up_progress progress;
};

/* ---- feeding ---- */

static void note_judged(struct tc_catch_up *c, uint64_t number, int64_t arrival_ns)
{
    struct tc_judged judged = {number, arrival_ns};
    const struct tc_recheck *recheck = tc_detection_recheck(c->config.detection);
    if (!c->progress.is_replaying && arrival_ns < tc_recheck_judged_until(recheck)) {
        tc_batch_reader_judged(c->reader, &judged);
    }
}

static void say_replay(struct tc_catch_up *c, const char *what)
{
    const struct tc_catch_up_progress *p = &c->progress;
    c->said_ns = tc_mono_ns();
    tc_log_fields(TC_LOG_INFO, what, TC_LOG_NUMBER("batches", (int64_t)p->batches),
                  TC_LOG_NUMBER("batches_total", (int64_t)p->batches_total),
                  TC_LOG_NUMBER("bytes", (int64_t)p->bytes),
                  TC_LOG_NUMBER("bytes_total", (int64_t)p->bytes_total),
                  TC_LOG_NUMBER("ms", (c->said_ns - c->begin_ns) / 1000000));
}

static tc_status end_replay(struct tc_catch_up *c)
{
    TC_TRY(tc_detection_end_replay(c->config.detection, c->config.started_ns));
    c->progress.is_replaying = false;
    tc_gauge(TC_COUNT_REPLAYING, 0);
    note_judged(c, c->last, c->config.started_ns);
    if (c->progress.batches > 0) {
        say_replay(c, "replayed what was stored lately");
    }
    return TC_OK;
}

static void count_batch(struct tc_catch_up *c)
{
    const struct tc_chunk *chunk = c->chunk;
    if (c->progress.is_replaying) {
        c->progress.batches++;
        c->progress.bytes += chunk->body_bytes;
        tc_count(TC_COUNT_REPLAYED_BATCHES, 1);
        tc_count(TC_COUNT_REPLAYED_BYTES, chunk->body_bytes);
        if (tc_mono_ns() - c->said_ns >= SAY_EACH_NS) {
            say_replay(c, REPLAYING);
        }
    }
    c->read = chunk->number + 1;
    note_judged(c, chunk->number, chunk->arrival_ns);
}

static tc_status feed_chunk(struct tc_catch_up *c)
{
    struct tc_detection *d = c->config.detection;
    struct tc_chunk *chunk = c->chunk;
    if (c->progress.is_replaying && chunk->number > c->last) {
        TC_TRY(end_replay(c));
    }
    if (chunk->is_end) { /* its number was looked at above, and may be the end of the replay */
        c->read = chunk->number > c->read ? chunk->number : c->read;
        return TC_OK;
    }
    if (chunk->is_first && !c->is_begun) {
        TC_TRY(tc_detection_begin_batch(d, chunk));
        c->is_begun = true;
    }
    for (size_t next = c->at;; c->at = next) {
        const struct tc_event *ev = tc_chunk_event(chunk, &next);
        if (ev == NULL) {
            break;
        }
        TC_TRY(tc_detection_feed(d, ev, chunk->arrival_ns, chunk->is_file));
    }
    if (chunk->is_last) {
        if (chunk->is_file) {
            TC_TRY(tc_detection_end_file(d, chunk->arrival_ns, chunk->is_found));
        }
        count_batch(c);
        c->is_begun = false;
    }
    return TC_OK;
}

static bool has_room(const struct tc_catch_up *c, uint64_t bytes, uint64_t records)
{
    return tc_live_room(tc_detection_live(c->config.detection)) >= bytes + records * RECORD_BYTES;
}

static void take_first_waiting(struct tc_catch_up *c)
{
    struct tc_waiting *w = c->waiting;
    c->waiting = w->next;
    c->waiting_end = c->waiting == NULL ? &c->waiting : c->waiting_end;
    c->waiting_bytes -= w->bytes;
    c->waiting_records -= w->records;
    c->waiting_senders -= !w->is_answered;
    w->turn(w);
}

/* False: detection has put something off, and its timer goes on with that first. */
static bool make_room(struct tc_catch_up *c)
{
    struct tc_live *live = tc_detection_live(c->config.detection);
    if (tc_live_is_behind(live)) {
        return false;
    }
    tc_detection_budget(c->config.detection, TURN_NS);
    tc_status status = tc_live_cut_short(live);
    tc_detection_budget(c->config.detection, 0);
    return status == TC_OK;
}

/* Until nothing waits, or detection has to go on with something else: TC_OK. When the time is up,
 * which is for one batch at the least: TC_E_AGAIN. A batch with a tape is read whole, so detection
 * has no budget then. */
static tc_status feed_waiting(struct tc_catch_up *c, int64_t for_ns)
{
    int64_t until_ns = tc_mono_ns() + for_ns;
    while (c->waiting != NULL) {
        if (has_room(c, c->waiting->bytes, c->waiting->records)) {
            take_first_waiting(c);
        } else if (!make_room(c)) {
            return TC_OK;
        }
        if (c->waiting != NULL && tc_mono_ns() >= until_ns) {
            return TC_E_AGAIN;
        }
    }
    return TC_OK;
}

/* Until there is no chunk, or detection's budget is spent: TC_E_AGAIN. */
static tc_status feed_chunks(struct tc_catch_up *c)
{
    for (;;) {
        if (c->chunk == NULL) {
            c->chunk = tc_batch_reader_take(c->reader);
            c->at = 0;
        }
        if (c->chunk == NULL) {
            return c->progress.is_replaying && c->read > c->last ? end_replay(c) : TC_OK;
        }
        tc_status status = feed_chunk(c);
        if (status == TC_E_AGAIN) {
            return status;
        }
        if (status != TC_OK) { /* the rest of it is left out */
            tc_count(TC_COUNT_DETECTION_FAILED, 1);
            tc_log_fields(TC_LOG_ERROR, "detection failed",
                          TC_LOG_CSTR("error", tc_status_text(status)));
            c->is_begun = c->is_begun && !c->chunk->is_last;
        }
        tc_batch_reader_give(c->reader, c->chunk);
        c->chunk = NULL;
        if (tc_detection_is_spent(c->config.detection)) {
            return TC_E_AGAIN;
        }
    }
}

/* Until there is nothing, or the time is up: TC_E_AGAIN. */
static tc_status feed_some(struct tc_catch_up *c)
{
    TC_TRY(feed_waiting(c, TURN_NS));
    if (c->waiting != NULL) {
        return TC_OK;
    }
    tc_detection_budget(c->config.detection, TURN_NS);
    tc_status status = feed_chunks(c);
    tc_detection_budget(c->config.detection, 0);
    return status;
}

static bool is_reading(const struct tc_catch_up *c)
{
    return c->progress.is_replaying || c->chunk != NULL || c->wanted >= c->read;
}

/* Something waits, and no sender for it: it is for when no socket wants the loop. */
static bool is_idle_work(const struct tc_catch_up *c)
{
    return c->waiting != NULL && c->waiting_senders == 0;
}

/* Goes on in the loop's next turn, or when it is idle: a timer that is due is looked at after the
 * sockets, an event that is active may come before them. */
static void go_on(struct tc_catch_up *c)
{
    if (is_idle_work(c)) {
        (void)event_add(c->idle_event, &(struct timeval){0});
    } else {
        event_active(c->turn_event, 0, 0);
    }
}

static void turn(struct tc_catch_up *c)
{
    tc_loop_enter();
    if (is_idle_work(c) || feed_some(c) == TC_E_AGAIN) {
        go_on(c);
    }
    c->config.fed(c->config.context);
    tc_loop_leave();
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    turn(context);
}

/* One batch, then the sockets again. */
static void on_idle(evutil_socket_t fd, short what, void *context)
{
    struct tc_catch_up *c = context;
    (void)fd;
    (void)what;
    tc_loop_enter();
    if (feed_waiting(c, 0) == TC_E_AGAIN || (c->waiting == NULL && is_reading(c))) {
        go_on(c);
    }
    c->config.fed(c->config.context);
    tc_loop_leave();
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    uint64_t count = 0;
    (void)what;
    (void)!read(fd, &count, sizeof count);
    turn(context);
}

/* From the reader's thread. */
static void wake(void *context)
{
    const struct tc_catch_up *c = context;
    uint64_t one = 1;
    (void)!write(c->wake_fd, &one, sizeof one);
}

/* ---- life ---- */

/* What an earlier process says; without it everything before the window counts as judged. */
static tc_status read_judged(struct tc_catch_up *c, struct tc_judged *out, struct tc_error *err)
{
    tc_status status = tc_judged_read(c->config.reader.data_dir, out, err);
    if (status == TC_E_MALFORMED) {
        tc_log_fields(TC_LOG_WARN, "how far detection was is not known; the replay window decides",
                      TC_LOG_CSTR("error", err->message));
        return TC_OK;
    }
    return status;
}

/*
 * The replay begins where its window does; and as early as it would have for the first batch that
 * was never judged, because a daemon that ran before this one did not get there. A mark that is
 * missing, or beyond what is stored (the last batches never were, and others will have their
 * numbers), is written now, so that this replay can be cut off too.
 */
static tc_status find_beginning(struct tc_catch_up *c, struct tc_error *err)
{
    const struct tc_catch_up_config *config = &c->config;
    struct tc_evidence *evidence = NULL;
    struct tc_judged judged;
    TC_TRY(read_judged(c, &judged, err));
    bool is_known = judged.arrival_ns > 0 && judged.number <= c->last;
    int64_t since_ns = config->started_ns;
    uint64_t rest = UINT64_MAX;
    if (is_known && judged.number < c->last) {
        rest = judged.number + 1;
        since_ns = judged.arrival_ns < since_ns ? judged.arrival_ns : since_ns;
    }
    since_ns -= config->window_ns < since_ns ? config->window_ns : since_ns - 1;
    struct tc_replay_span span = {0};
    TC_TRY(tc_evidence_open(config->reader.evidence_dir, &evidence, err));
    tc_status status =
        tc_evidence_replay_span(evidence, since_ns, config->bytes_max, rest, &span, err);
    tc_evidence_close(evidence);
    TC_TRY(status);
    if (config->is_off) { /* what is stored counts as judged, whoever did that */
        span = (struct tc_replay_span){.from = c->last + 1};
        is_known = false;
        since_ns = config->started_ns;
    }
    c->from = span.from;
    c->progress =
        (struct tc_catch_up_progress){.batches_total = span.batches, .bytes_total = span.bytes};
    if (!is_known) {
        judged = (struct tc_judged){span.from - 1, since_ns};
        TC_TRY(tc_judged_write(config->reader.data_dir, &judged, err));
    }
    return TC_OK;
}

static tc_status set_up(struct tc_catch_up *c, struct tc_error *err)
{
    struct tc_batch_reader_config reader = c->config.reader;
    reader.wake = wake;
    reader.context = c;
    c->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    c->wake_event = c->wake_fd < 0
                        ? NULL
                        : event_new(c->config.base, c->wake_fd, EV_READ | EV_PERSIST, on_wake, c);
    c->turn_event = event_new(c->config.base, -1, 0, on_turn, c);
    c->idle_event = event_new(c->config.base, -1, 0, on_idle, c);
    int least = event_base_get_npriorities(c->config.base) - 1;
    if (c->wake_event == NULL || c->turn_event == NULL || c->idle_event == NULL ||
        event_priority_set(c->idle_event, least) != 0 || event_add(c->wake_event, NULL) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "detection cannot be set up");
    }
    TC_TRY(find_beginning(c, err));
    return tc_batch_reader_create(&reader, &c->reader, err);
}

tc_status tc_catch_up_create(const struct tc_catch_up_config *config, uint64_t last,
                             struct tc_catch_up **out_catch_up, struct tc_error *err)
{
    struct tc_catch_up *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for detection");
    }
    c->config = *config;
    c->wake_fd = -1;
    c->waiting_end = &c->waiting;
    c->last = c->wanted = last;
    tc_status status = set_up(c, err);
    if (status != TC_OK) {
        tc_catch_up_destroy(c);
        return status;
    }
    *out_catch_up = c;
    return TC_OK;
}

void tc_catch_up_start(struct tc_catch_up *c)
{
    c->progress.is_replaying = true;
    c->begin_ns = tc_mono_ns();
    tc_gauge(TC_COUNT_REPLAYING, 1);
    tc_detection_begin_replay(c->config.detection);
    tc_batch_reader_begin(c->reader, c->from, c->last);
    if (c->from > c->last) { /* nothing: it is over in the loop's first turn */
        c->read = c->last + 1;
        c->progress.batches_total = 0;
        event_active(c->turn_event, 0, 0);
    } else {
        say_replay(c, REPLAYING);
    }
}

void tc_catch_up_destroy(struct tc_catch_up *c)
{
    if (c == NULL) {
        return;
    }
    if (c->chunk != NULL) {
        tc_batch_reader_give(c->reader, c->chunk);
    }
    tc_batch_reader_destroy(c->reader);
    if (c->wake_event != NULL) {
        event_free(c->wake_event);
    }
    if (c->turn_event != NULL) {
        event_free(c->turn_event);
    }
    if (c->idle_event != NULL) {
        event_free(c->idle_event);
    }
    if (c->wake_fd >= 0) {
        (void)close(c->wake_fd);
    }
    free(c);
}

/* ---- what comes ---- */

bool tc_catch_up_is_off(const struct tc_catch_up *c)
{
    return c->config.is_off;
}

bool tc_catch_up_is_behind(const struct tc_catch_up *c)
{
    return c->waiting == NULL && is_reading(c);
}

static bool waits_too_long(const struct tc_catch_up *c)
{
    return c->waiting != NULL && tc_mono_ns() - c->waiting->since_ns > WAIT_MAX_NS;
}

/* One body at the least, however long. */
static uint64_t answered_max(const struct tc_catch_up *c)
{
    return c->waiting == NULL ? UINT64_MAX : ANSWERED_BYTES_MAX(c->config.memory_bytes);
}

enum tc_catch_up_when tc_catch_up_when(const struct tc_catch_up *c, uint64_t bytes,
                                       uint64_t records)
{
    if (c->config.is_off || is_reading(c) || c->unsettled > 0 || bytes > TC_LEVEL_BODY_BYTES ||
        records > LEVEL_RECORDS) {
        return TC_CATCH_UP_LATER;
    }
    if (c->waiting_senders == 0 && !waits_too_long(c) &&
        c->waiting_bytes + bytes <= answered_max(c) &&
        has_room(c, c->waiting_bytes + bytes, c->waiting_records + records)) {
        return TC_CATCH_UP_PROMPTLY;
    }
    bool fits =
        bytes + records * RECORD_BYTES <= tc_live_room_max(tc_detection_live(c->config.detection));
    uint64_t waiting_max = WAITING_BYTES_MAX(c->config.memory_bytes);
    bool may_wait = fits && c->waiting_bytes + bytes <= waiting_max && !waits_too_long(c);
    return may_wait ? TC_CATCH_UP_SOON : TC_CATCH_UP_LATER;
}

void tc_catch_up_wait(struct tc_catch_up *c, struct tc_waiting *w)
{
    w->next = NULL;
    w->since_ns = tc_mono_ns();
    *c->waiting_end = w;
    c->waiting_end = &w->next;
    c->waiting_bytes += w->bytes;
    c->waiting_records += w->records;
    c->waiting_senders += !w->is_answered;
    go_on(c);
}

void tc_catch_up_resume(struct tc_catch_up *c)
{
    if (c->waiting == NULL) {
        return;
    }
    if (is_idle_work(c) || feed_waiting(c, TURN_NS) == TC_E_AGAIN ||
        c->waiting == NULL) { /* chunks come after it */
        go_on(c);
    }
}

void tc_catch_up_take_waiting(struct tc_catch_up *c)
{
    while (c->waiting != NULL) {
        take_first_waiting(c);
    }
}

void tc_catch_up_took(struct tc_catch_up *c, const struct tc_batch *batch)
{
    c->read = batch->number >= c->read ? batch->number + 1 : c->read;
    note_judged(c, batch->number, batch->arrival_ns);
}

void tc_catch_up_later(struct tc_catch_up *c)
{
    c->unsettled++;
}

void tc_catch_up_settled(struct tc_catch_up *c, const struct tc_batch *batch, bool is_stored,
                         struct tc_spool *spool)
{
    c->unsettled--;
    if (!is_stored || c->config.is_off) {
        tc_spool_close(spool);
        if (is_stored) {
            tc_catch_up_took(c, batch);
        }
        return;
    }
    c->wanted = batch->number;
    tc_batch_reader_want(c->reader, batch->number, spool, batch->body);
}

void tc_catch_up_progress(const struct tc_catch_up *c, struct tc_catch_up_progress *out)
{
    uint64_t newest_read = c->read > c->last ? c->read : c->last + 1;
    *out = c->progress;
    out->behind = c->wanted >= newest_read ? c->wanted - newest_read + 1 : 0;
}
