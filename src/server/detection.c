/* SPDX-License-Identifier: Apache-2.0 */
#include "server/detection.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/table/grow.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/cited.h"
#include "server/recheck/recheck.h"
#include "stored/batch_events.h"
#include "verdict/render.h"

#include <stdlib.h>
#include <string.h>

/* A verdict is made to fit TC_VERDICT_JSON_MAX; escapes in hostile input may need more. */
#define RENDER_MAX (TC_VERDICT_JSON_MAX * 64)
/* A verdict this long after the last batch came because of silence, not because of the batch. */
#define LATENCY_MAX_NS TC_SECOND
/* Events and verdicts from one look at the clock to the next, while the loop waits. */
#define ASKED_EACH 8

struct tc_detection {
    struct tc_live *live;
    struct tc_outbox *outbox;
    void (*told)(void *context, uint64_t number, struct tc_slice json); /* NULL: nobody asks */
    void *told_context;
    struct tc_otlp_reader *reader;
    struct tc_run_book *runs;
    struct tc_cited *cited;
    struct tc_recheck *recheck;
    struct tc_batch_arenas arenas;
    char *json;
    size_t json_cap;
    int64_t batch_ns; /* when the last batch came */
    int64_t now_ns;   /* our clock, as last told */
    uint64_t undated; /* events that were dated by their arrival */
    struct tc_detector_memory memory;
    int64_t spent_ns; /* when the loop wants its thread back; INT64_MAX: it does not */
    unsigned asked;   /* how often it was asked whether that moment has come */
    bool is_replaying;
};

static bool is_spent(void *context);

/* ---- verdicts ---- */

/* The verdict's line, in d->json; empty when it is too long or there is no memory for it. */
static struct tc_slice render(struct tc_detection *d, const struct tc_verdict *v)
{
    struct tc_sources sources = tc_cited_sources(d->cited);
    for (;;) {
        struct tc_buf b = tc_buf_make(d->json, d->json_cap);
        if (d->json_cap > 0) {
            tc_verdict_render_json(&b, v, &sources);
            if (!b.overflowed) {
                return tc_buf_slice(&b);
            }
        }
        size_t cap = d->json_cap == 0 ? TC_VERDICT_JSON_MAX : d->json_cap * 2;
        if (tc_grow_items(d->json, d->json_cap, cap, RENDER_MAX) != TC_OK) {
            return TC_EMPTY;
        }
    }
}

static tc_status tell(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct tc_detection *d = context;
    struct tc_slice line = render(d, v);
    if (line.len == 0) {
        tc_count(TC_COUNT_VERDICTS_LOST, 1);
        tc_log_fields(TC_LOG_ERROR, "a verdict is left out: it is too long, or no memory is left",
                      TC_LOG_TEXT("incident", v->incident_id));
        return TC_OK;
    }
    int64_t since_ns = d->now_ns - d->batch_ns;
    bool by_batch = !d->is_replaying && since_ns >= 0 && since_ns < LATENCY_MAX_NS;
    tc_status status = tc_outbox_put(d->outbox, mark, line, by_batch ? d->batch_ns : 0);
    if (status != TC_OK) {
        tc_count(TC_COUNT_VERDICTS_LOST, 1);
        tc_log_fields(TC_LOG_ERROR, "a verdict is lost: too many wait to be written",
                      TC_LOG_TEXT("incident", v->incident_id));
        return TC_OK;
    }
    if (d->told != NULL) {
        d->told(d->told_context, tc_outbox_next(d->outbox) - 1, line);
    }
    tc_verdict_count(tc_pattern_index(v->finding->pattern_name), v->finding->severity, v->status);
    tc_log_fields(TC_LOG_INFO, "verdict", TC_LOG_TEXT("pattern", v->finding->pattern_name),
                  TC_LOG_CSTR("status", tc_verdict_status_name(v->status)),
                  TC_LOG_TEXT("incident", v->incident_id),
                  TC_LOG_TEXT("headline", v->finding->headline));
    return TC_OK;
}

/* ---- life ---- */

static void live_config(const struct tc_config *c, struct tc_live_config *out)
{
    *out = (struct tc_live_config){
        .hold_ns = c->detection_hold,
        .lateness_ns = c->detection_lateness,
        .ahead_ns = c->detection_ahead,
        .silence_ns = c->detection_silence,
        .margin_ns = c->detection_recheck_margin,
        .window_ns = c->detection_recheck_window,
        .hold_bytes = (size_t)c->detection_hold_bytes,
        .gpus = c->detection_gpus,
        .incidents_max = (size_t)c->detection_incidents,
        .offenders = {.count = c->detection_offenders_enabled ? c->detection_offenders_count : 0,
                      .window_ns = c->detection_offenders_window,
                      .incidents_max = TC_OFFENDERS_LIVE_MAX},
        .told_max = (size_t)c->detection_remembered,
    };
}

tc_status tc_detection_create(const struct tc_detection_parts *parts,
                              struct tc_detection **out_detection, struct tc_error *err)
{
    struct tc_detection *d = calloc(1, sizeof *d);
    struct tc_live_config config;
    tc_status status = tc_fail(err, TC_E_NOMEM, 0, "no memory for detection");
    if (d == NULL) {
        return status;
    }
    d->reader = parts->reader;
    d->spent_ns = INT64_MAX;
    d->runs = parts->runs;
    d->cited = tc_cited_create(parts->store, parts->evidence_dir);
    if (d->cited != NULL) {
        status = tc_batch_arenas_init(&d->arenas, err);
    }
    if (status == TC_OK) {
        live_config(parts->config, &config);
        struct tc_live_out out = {tell, d};
        status = tc_live_create(&config, &out, &d->live, err);
    }
    if (status == TC_OK) {
        tc_live_slice(d->live, is_spent, d);
        status = tc_config_tune(parts->config, tc_live_engine(d->live), err);
    }
    if (status == TC_OK) {
        d->recheck = tc_recheck_create(parts->config, d->live, d->cited, parts->evidence_dir);
        status =
            d->recheck != NULL ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no memory for detection");
    }
    if (status != TC_OK) {
        tc_detection_destroy(d);
        return status;
    }
    *out_detection = d;
    return TC_OK;
}

void tc_detection_destroy(struct tc_detection *d)
{
    if (d == NULL) {
        return;
    }
    tc_recheck_destroy(d->recheck);
    tc_live_destroy(d->live);
    tc_cited_destroy(d->cited);
    tc_batch_arenas_fini(&d->arenas);
    free(d->json);
    free(d);
}

void tc_detection_configure(struct tc_detection *d, const struct tc_config *c)
{
    struct tc_live_config config;
    struct tc_error err = {0};
    live_config(c, &config);
    tc_live_configure(d->live, &config);
    /* Checked when it was read. */
    tc_status status =
        tc_engine_set_xids(tc_live_engine(d->live), tc_slice_cstr(c->detection_xids), &err);
    TC_ASSERT(status == TC_OK);
    tc_recheck_configure(d->recheck, c);
}

struct tc_live *tc_detection_live(struct tc_detection *d)
{
    return d->live;
}

struct tc_recheck *tc_detection_recheck(struct tc_detection *d)
{
    return d->recheck;
}

struct tc_cited *tc_detection_cited(struct tc_detection *d)
{
    return d->cited;
}

const struct tc_detector_memory *tc_detection_memory(const struct tc_detection *d)
{
    return &d->memory;
}

uint64_t tc_detection_undated(const struct tc_detection *d)
{
    return d->undated;
}

void tc_detection_connect(struct tc_detection *d, struct tc_outbox *outbox)
{
    d->outbox = outbox;
}

void tc_detection_listen(struct tc_detection *d,
                         void (*told)(void *context, uint64_t number, struct tc_slice json),
                         void *context)
{
    d->told = told;
    d->told_context = context;
}

/* ---- batches ---- */

tc_status tc_detection_feed(struct tc_detection *d, const struct tc_event *ev, int64_t arrival_ns,
                            bool past)
{
    bool has_time = ev->time_ns != TC_TIME_NONE;
    /* A batch that waited came before the moment that detection knows already. */
    int64_t clock_ns = arrival_ns > d->now_ns ? arrival_ns : d->now_ns;
    tc_status status = past || has_time ? tc_live_feed(d->live, ev, clock_ns, past)
                                        : tc_live_feed_undated(d->live, ev, arrival_ns, clock_ns);
    if (status == TC_E_AGAIN) {
        return status;
    }
    d->undated += !past && !has_time;
    if (ev->run_id.len > 0 && has_time && d->runs != NULL) {
        tc_run_book_note(d->runs, ev);
    }
    return status;
}

/* One batch while its events are made. */
struct feed {
    struct tc_detection *d;
    int64_t arrival_ns;
};

static tc_status feed_event(void *context, const struct tc_event *ev)
{
    const struct feed *f = context;
    return tc_detection_feed(f->d, ev, f->arrival_ns, false);
}

static void count_unread(void *context, uint64_t count)
{
    (void)context;
    tc_count(TC_COUNT_EVENTS_UNKNOWN, count);
}

/* What comes now is of this sender. */
static void begin_batch(struct tc_detection *d, int64_t arrival_ns, struct tc_slice sender)
{
    uint32_t number = tc_sender_number(sender);
    d->batch_ns = arrival_ns;
    tc_detector_memory_note(&d->memory, sender, number);
    tc_live_sender(d->live, number);
}

/* The body is the caller's: once this has returned it may be anything, so it is let go of. */
void tc_detection_take(struct tc_detection *d, const struct tc_batch *batch,
                       const struct tc_otlp_tape *tape)
{
    struct tc_error err = {0};
    struct feed feed = {d, batch->arrival_ns};
    struct tc_batch_taker taker = {.event = feed_event, .unread = count_unread, .context = &feed};
    begin_batch(d, batch->arrival_ns, tc_batch_sender(batch->name, NULL));
    tc_cited_current(d->cited, batch->number, batch->body);
    if (tc_batch_events(d->reader, batch, tape, &d->arenas, &taker, &err) != TC_OK) {
        tc_batch_say_unread(batch, &err);
    }
    tc_cited_current(d->cited, 0, TC_EMPTY);
}

tc_status tc_detection_advance(struct tc_detection *d, int64_t now_ns)
{
    d->now_ns = now_ns;
    tc_detector_memory_look(&d->memory, tc_live_engine(d->live), now_ns);
    if (!d->is_replaying) {
        TC_TRY(tc_recheck_advance(d->recheck, now_ns));
    }
    return tc_live_advance(d->live, now_ns);
}

tc_status tc_detection_drain(struct tc_detection *d, int64_t now_ns)
{
    d->now_ns = now_ns;
    return tc_live_drain(d->live, now_ns);
}

/* ---- in turns ---- */

void tc_detection_budget(struct tc_detection *d, int64_t ns)
{
    d->spent_ns = ns == 0 ? INT64_MAX : tc_mono_ns() + ns;
}

bool tc_detection_is_spent(const struct tc_detection *d)
{
    return d->spent_ns != INT64_MAX && tc_mono_ns() >= d->spent_ns;
}

/* Asked after every event and verdict: looking at the clock each time would cost more than some of
 * them do. */
static bool is_spent(void *context)
{
    struct tc_detection *d = context;
    return ++d->asked % ASKED_EACH == 0 && tc_detection_is_spent(d);
}

tc_status tc_detection_begin_batch(struct tc_detection *d, const struct tc_chunk *first)
{
    /* As the daemon's timer does when it is level: a look at the clock between files that come
     * together would make detectors report before all of them are there. */
    if (d->is_replaying || tc_live_due(d->live) <= first->arrival_ns) {
        TC_TRY(tc_detection_advance(d, first->arrival_ns));
    }
    begin_batch(d, first->arrival_ns, tc_slice_cstr(first->sender));
    tc_cited_know(d->cited, first->number, first->has_digest ? &first->digest : NULL);
    return TC_OK;
}

tc_status tc_detection_end_file(struct tc_detection *d, int64_t arrival_ns, bool found)
{
    return tc_live_end_of_file(d->live, arrival_ns, found);
}

void tc_detection_begin_replay(struct tc_detection *d)
{
    d->is_replaying = true;
    (void)!tc_live_replaying(d->live, true); /* cannot fail */
}

tc_status tc_detection_end_replay(struct tc_detection *d, int64_t now_ns)
{
    if (d->is_replaying) {
        TC_TRY(tc_detection_advance(d, now_ns));
    }
    d->is_replaying = false;
    return tc_live_replaying(d->live, false);
}
