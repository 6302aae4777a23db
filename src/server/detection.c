/* SPDX-License-Identifier: Apache-2.0 */
#include "server/detection.h"

#include "base/arena.h"
#include "base/grow.h"
#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/cited.h"
#include "server/upload_file.h"
#include "verdict/render.h"

#include <stdlib.h>
#include <string.h>

/* Strings that had to be made, and the codec's own memory, for one batch. */
#define STRINGS_BYTES ((size_t)8 << 20)
#define SCRATCH_BYTES ((size_t)16 << 20)
/* A verdict is made to fit TC_VERDICT_JSON_MAX; escapes in hostile input may need more. */
#define RENDER_MAX (TC_VERDICT_JSON_MAX * 64)
/* A verdict this long after the last batch came because of silence, not because of the batch. */
#define LATENCY_MAX_NS TC_SECOND

struct tc_detection {
    struct tc_live *live;
    struct tc_outbox *outbox;
    struct tc_otlp_reader *reader;
    struct tc_run_book *runs;
    struct tc_cited *cited;
    void *strings_block;
    void *scratch_block;
    struct tc_arena strings;
    struct tc_arena scratch;
    char *json;
    size_t json_cap;
    int64_t batch_ns;   /* when the last batch came */
    int64_t now_ns;     /* our clock, as last told */
    uint64_t undated;   /* events that were dated by their arrival */
    int64_t looked_ns;  /* when it was last looked for full detectors, our clock */
    uint64_t saturated; /* bits of the detectors of which it was said */
    bool replaying;
};

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
    bool by_batch = !d->replaying && since_ns >= 0 && since_ns < LATENCY_MAX_NS;
    tc_status status = tc_outbox_put(d->outbox, mark, line, by_batch ? d->batch_ns : 0);
    if (status != TC_OK) {
        tc_count(TC_COUNT_VERDICTS_LOST, 1);
        tc_log_fields(TC_LOG_ERROR, "a verdict is lost: too many wait to be written",
                      TC_LOG_TEXT("incident", v->incident_id));
        return TC_OK;
    }
    tc_pattern_count(tc_pattern_index(v->finding->pattern_name), TC_PATTERN_VERDICTS, 1);
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
        .hold_bytes = (size_t)c->detection_hold_bytes,
        .incidents_max = (size_t)c->detection_incidents,
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
    d->runs = parts->runs;
    d->strings_block = calloc(1, STRINGS_BYTES);
    d->scratch_block = calloc(1, SCRATCH_BYTES);
    d->cited = tc_cited_create(parts->store, parts->evidence_dir);
    if (d->strings_block != NULL && d->scratch_block != NULL && d->cited != NULL) {
        tc_arena_init_zeroed(&d->strings, "strings", d->strings_block, STRINGS_BYTES);
        tc_arena_init_zeroed(&d->scratch, "scratch", d->scratch_block, SCRATCH_BYTES);
        live_config(parts->config, &config);
        struct tc_live_out out = {tell, d};
        status = tc_live_create(&config, &out, &d->live, err);
    }
    if (status == TC_OK) {
        status = tc_config_tune(parts->config, tc_live_engine(d->live), err);
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
    tc_live_destroy(d->live);
    tc_cited_destroy(d->cited);
    tc_arena_fini(&d->strings);
    tc_arena_fini(&d->scratch);
    free(d->strings_block);
    free(d->scratch_block);
    free(d->json);
    free(d);
}

void tc_detection_configure(struct tc_detection *d, const struct tc_config *c)
{
    struct tc_live_config config;
    live_config(c, &config);
    tc_live_configure(d->live, &config);
}

struct tc_live *tc_detection_live(struct tc_detection *d)
{
    return d->live;
}

struct tc_cited *tc_detection_cited(struct tc_detection *d)
{
    return d->cited;
}

uint64_t tc_detection_undated(const struct tc_detection *d)
{
    return d->undated;
}

void tc_detection_connect(struct tc_detection *d, struct tc_outbox *outbox)
{
    d->outbox = outbox;
}

/* ---- batches ---- */

/* One batch while its events are made. */
struct feed {
    struct tc_detection *d;
    const struct tc_batch *batch;
};

static void note_run(const struct tc_detection *d, const struct tc_event *ev)
{
    if (ev->run_id.len > 0 && ev->time_ns != TC_TIME_NONE && d->runs != NULL) {
        tc_run_book_note(d->runs, ev);
    }
}

static tc_status feed_event(void *context, const struct tc_event *ev)
{
    struct feed *f = context;
    note_run(f->d, ev);
    if (ev->time_ns != TC_TIME_NONE) {
        return tc_live_feed(f->d->live, ev, f->batch->arrival_ns, false);
    }
    /* A record without a time that can be happened, as far as anybody knows, when it came. */
    f->d->undated++;
    struct tc_event dated = *ev;
    dated.time_ns = f->batch->arrival_ns;
    return tc_live_feed(f->d->live, &dated, f->batch->arrival_ns, false);
}

static tc_status feed_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    (void)offset;
    (void)length;
    (void)why;
    tc_count(TC_COUNT_EVENTS_UNKNOWN, 1);
    return TC_OK;
}

/* Tape: NULL, or that of the body. */
static tc_status read_otlp(struct tc_detection *d, const struct tc_batch *batch,
                           const struct tc_otlp_tape *tape, enum tc_otlp_signal signal,
                           enum tc_otlp_form form, struct tc_error *err)
{
    struct tc_otlp_tape made;
    if (tape == NULL) {
        TC_TRY(tc_otlp_check(d->reader, signal, form, batch->body, &made, err));
        tape = &made;
    }
    struct feed feed = {d, batch};
    struct tc_codec_input in = {
        .bytes = batch->body,
        .source = (uint32_t)batch->number,
        .boot_ns = TC_TIME_NONE,
        .now_ns = batch->arrival_ns,
        .taken_ns = batch->arrival_ns,
        .want_unknown = true,
    };
    struct tc_codec_out out = {
        .event = feed_event,
        .unknown = feed_unknown,
        .context = &feed,
        .arena = &d->strings,
        .scratch = &d->scratch,
    };
    tc_arena_reset(&d->strings);
    tc_arena_reset(&d->scratch);
    return tc_otlp_events(d->reader, tape, &in, &out, err);
}

static tc_status take_otlp(struct tc_detection *d, const struct tc_batch *batch,
                           const struct tc_otlp_tape *tape, enum tc_otlp_signal signal,
                           enum tc_otlp_form form)
{
    struct tc_error err = {0};
    if (read_otlp(d, batch, tape, signal, form, &err) != TC_OK) {
        tc_count(TC_COUNT_BATCHES_UNREAD, 1);
        tc_log_fields(TC_LOG_WARN, "a batch was stored but could not be read to its end",
                      TC_LOG_NUMBER("batch", (int64_t)batch->number),
                      TC_LOG_CSTR("error", err.message));
    }
    return TC_OK;
}

static tc_status feed_past(void *context, const struct tc_event *ev)
{
    const struct feed *f = context;
    note_run(f->d, ev);
    return tc_live_feed(f->d->live, ev, f->batch->arrival_ns, true);
}

static tc_status take_file(struct tc_detection *d, const struct tc_batch *batch)
{
    struct tc_error err = {0};
    struct feed feed = {d, batch};
    tc_status status = tc_upload_file_read(batch, feed_past, &feed, &err);
    if (status != TC_OK) {
        tc_count(TC_COUNT_BATCHES_UNREAD, 1);
        tc_log_fields(TC_LOG_WARN, "an uploaded file was stored but could not be read to its end",
                      TC_LOG_NUMBER("batch", (int64_t)batch->number),
                      TC_LOG_CSTR("error", err.message));
    }
    return tc_live_end_of_file(d->live, batch->arrival_ns);
}

static tc_status take_batch(struct tc_detection *d, const struct tc_batch *batch,
                            const struct tc_otlp_tape *tape)
{
    switch (batch->kind) {
    case TC_BATCH_LOGS_PROTOBUF:
        return take_otlp(d, batch, tape, TC_OTLP_LOGS, TC_OTLP_PROTOBUF);
    case TC_BATCH_LOGS_JSON:
        return take_otlp(d, batch, tape, TC_OTLP_LOGS, TC_OTLP_JSON);
    case TC_BATCH_METRICS_PROTOBUF:
        return take_otlp(d, batch, tape, TC_OTLP_METRICS, TC_OTLP_PROTOBUF);
    case TC_BATCH_METRICS_JSON:
        return take_otlp(d, batch, tape, TC_OTLP_METRICS, TC_OTLP_JSON);
    case TC_BATCH_TRACES_PROTOBUF:
    case TC_BATCH_TRACES_JSON:
        return TC_OK; /* kept; no pattern reads spans */
    case TC_BATCH_FILE:
        return take_file(d, batch);
    }
    return TC_OK;
}

/* The body is the caller's: once this has returned it may be anything, so it is let go of. */
tc_status tc_detection_take(struct tc_detection *d, const struct tc_batch *batch,
                            const struct tc_otlp_tape *tape)
{
    d->batch_ns = batch->arrival_ns;
    tc_cited_current(d->cited, batch->number, batch->body);
    tc_status status = take_batch(d, batch, tape);
    tc_cited_current(d->cited, 0, TC_EMPTY);
    return status;
}

/* A detector whose memory is full forgets its oldest records: said once of each. */
static void log_saturated(struct tc_detection *d)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count && i < 64; i++) {
        struct tc_detector_stats stats;
        tc_engine_detector_stats(tc_live_engine(d->live), i, &stats);
        if (stats.dropped > 0 && (d->saturated >> i & 1) == 0) {
            d->saturated |= UINT64_C(1) << i;
            tc_log_fields(TC_LOG_WARN, "the memory of a detector is full: its oldest records go",
                          TC_LOG_CSTR("pattern", all[i]->name),
                          TC_LOG_NUMBER("dropped", (int64_t)stats.dropped));
        }
    }
}

tc_status tc_detection_advance(struct tc_detection *d, int64_t now_ns)
{
    d->now_ns = now_ns;
    if (now_ns - d->looked_ns >= TC_SECOND) {
        d->looked_ns = now_ns;
        log_saturated(d);
    }
    return tc_live_advance(d->live, now_ns);
}

tc_status tc_detection_drain(struct tc_detection *d, int64_t now_ns)
{
    d->now_ns = now_ns;
    return tc_live_drain(d->live, now_ns);
}

/* ---- replay ---- */

struct replay {
    struct tc_detection *d;
    uint64_t batches;
};

static tc_status replay_batch(void *context, const struct tc_batch *batch,
                              const struct tc_batch_info *info)
{
    struct replay *r = context;
    (void)info;
    r->batches++;
    tc_count(TC_COUNT_REPLAYED_BATCHES, 1);
    tc_count(TC_COUNT_REPLAYED_BYTES, batch->body.len);
    TC_TRY(tc_detection_advance(r->d, batch->arrival_ns));
    return tc_detection_take(r->d, batch, NULL);
}

static void replay_bad(void *context, const char *line)
{
    (void)context;
    tc_count(TC_COUNT_REPLAY_FAILED, 1);
    tc_log_fields(TC_LOG_WARN, "stored evidence is damaged", TC_LOG_CSTR("what", line));
}

tc_status tc_detection_replay(struct tc_detection *d, const char *dir, int64_t now_ns,
                              int64_t window_ns, uint64_t bytes_max, uint64_t *out_batches,
                              struct tc_error *err)
{
    struct tc_evidence *evidence = NULL;
    struct replay r = {.d = d};
    uint64_t from = 0;
    TC_TRY(tc_evidence_open(dir, &evidence, err));
    d->replaying = true;
    tc_status status = tc_live_replaying(d->live, true);
    if (status == TC_OK) {
        status = tc_evidence_replay_from(evidence, now_ns - window_ns, bytes_max, &from, err);
    }
    if (status == TC_OK) {
        status = tc_evidence_walk(evidence, from, true, replay_batch, replay_bad, &r, err);
    }
    tc_evidence_close(evidence);
    if (status == TC_OK) {
        status = tc_detection_advance(d, now_ns);
    }
    if (status == TC_OK) {
        status = tc_live_replaying(d->live, false);
    }
    d->replaying = false;
    *out_batches = r.batches;
    return status;
}
