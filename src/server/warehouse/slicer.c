/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/slicer.h"

#include "base/arena.h"
#include "base/digest.h"
#include "base/time.h"
#include "codec/samples.h"
#include "evidence/store.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "stored/batch_name.h"
#include "telemetry/slices.h"

#include <stdlib.h>
#include <string.h>

/* Bodies that one read takes, so that verdicts get their turn. */
#define READ_BYTES_MAX ((uint64_t)64 << 20)
/* Strings that had to be made, for one sample. */
#define STRINGS_BYTES ((size_t)4 << 20)
/* A counter's rise needs the sample before: so much is read before the first window. */
#define BEFORE_WINDOWS 2
/* That room is short is logged no more often. */
#define TELL_EVERY_NS (600 * TC_SECOND)
#define KINDS                                                                              \
    (1U << TC_BATCH_METRICS_PROTOBUF | 1U << TC_BATCH_METRICS_JSON | 1U << TC_BATCH_FILE | \
     1U << TC_BATCH_SOURCE)

struct tc_warehouse_slicer {
    struct tc_warehouse_slicer_config config;
    struct tc_evidence *evidence;  /* NULL: to be opened, and the place found */
    struct tc_slices *slices;      /* NULL: no metrics yet */
    struct tc_otlp_reader *reader; /* NULL: no metrics yet */
    struct tc_slices *file;        /* an uploaded file that waits to be written */
    char file_digest[TC_DIGEST_TEXT];
    struct tc_slices_counts told; /* of `slices`, as the counters know it */
    uint64_t told_lost;           /* for want of room, as the log knows it */
    int64_t short_ns;             /* by the arrival of batches: until then the log is silent */
    void *strings_block;
    struct tc_arena strings;
    uint64_t next;      /* batch */
    uint64_t bytes;     /* of this read */
    int64_t from_ns;    /* what arrived before is not read; INT64_MIN: catch_up_ns says */
    int64_t arrival_ns; /* of the newest batch that was read */
    int64_t until_ns;   /* windows that end here or before are complete */
    int64_t written_ns; /* and those are in the warehouse; INT64_MIN: not known */
};

struct tc_warehouse_slicer *
tc_warehouse_slicer_create(const struct tc_warehouse_slicer_config *config)
{
    struct tc_warehouse_slicer *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->config = *config;
        s->from_ns = INT64_MIN;
        s->written_ns = INT64_MIN;
        s->until_ns = INT64_MIN;
    }
    return s;
}

/* Forgets what is in memory: it is in the evidence, and read again. */
static void start_over(struct tc_warehouse_slicer *s)
{
    tc_evidence_close(s->evidence);
    tc_slices_destroy(s->slices);
    tc_slices_destroy(s->file);
    s->evidence = NULL;
    s->slices = NULL;
    s->file = NULL;
    s->told = (struct tc_slices_counts){0};
    s->told_lost = 0;
    s->until_ns = INT64_MIN;
    if (s->written_ns != INT64_MIN) {
        s->from_ns = s->written_ns - BEFORE_WINDOWS * s->config.window_ns;
        s->written_ns = INT64_MIN;
    }
}

void tc_warehouse_slicer_destroy(struct tc_warehouse_slicer *s)
{
    if (s == NULL) {
        return;
    }
    start_over(s);
    if (s->strings_block != NULL) {
        tc_arena_fini(&s->strings);
    }
    tc_otlp_reader_destroy(s->reader);
    free(s->strings_block);
    free(s);
}

/* ---- reading ---- */

/* Where to begin. What was skipped before that is not known, and not counted. */
static tc_status find_place(struct tc_warehouse_slicer *s, int64_t now_ns, struct tc_error *err)
{
    int64_t since_ns = now_ns - s->config.catch_up_ns;
    since_ns = s->from_ns > since_ns ? s->from_ns : since_ns;
    TC_TRY(tc_evidence_open(s->config.evidence_dir, &s->evidence, err));
    tc_status status = tc_evidence_replay_from(s->evidence, since_ns, 0, &s->next, err);
    if (status != TC_OK) {
        tc_evidence_close(s->evidence);
        s->evidence = NULL;
    }
    return status;
}

static tc_status make_slices(struct tc_warehouse_slicer *s, struct tc_slice source_digest,
                             struct tc_slices **out, struct tc_error *err)
{
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    config.window_ns = s->config.window_ns;
    config.series_max = s->config.series_max;
    config.memory_bytes = s->config.memory_bytes;
    config.source_digest = source_digest;
    if (s->strings_block == NULL) {
        s->strings_block = malloc(STRINGS_BYTES);
        if (s->strings_block == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory to slice metrics");
        }
        tc_arena_init(&s->strings, "samples", s->strings_block, STRINGS_BYTES);
    }
    if (s->reader == NULL) {
        s->reader = tc_otlp_reader_create(&s->config.otlp, s->config.body_max);
        if (s->reader == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory to slice metrics");
        }
    }
    return tc_slices_create(&config, out, err);
}

struct sample_sink {
    struct tc_slices *slices;
    struct tc_hot_page *hot; /* NULL: none, or of a file, which is of any time */
    int64_t arrival_ns;
    int64_t taken_ns; /* the same, of what was forwarded at the daemon that read it */
    struct tc_series_scope known;
};

static tc_status take_sample(void *context, const struct tc_sample *sample)
{
    const struct sample_sink *sink = context;
    int64_t at_ns = sample->time_ns == TC_TIME_NONE ? sink->taken_ns : sample->time_ns;
    tc_slices_add(sink->slices, sample, at_ns, &sink->known);
    if (sink->hot != NULL) {
        tc_hot_page_add(sink->hot, sample, at_ns, sink->arrival_ns);
    }
    return TC_OK;
}

/* A request of metrics; tape: NULL, or what was parsed of it. */
static tc_status read_request(struct tc_warehouse_slicer *s, const struct tc_batch *batch,
                              const struct tc_otlp_tape *tape, const struct tc_samples_out *out,
                              struct tc_error *err)
{
    struct tc_otlp_tape made;
    if (tape == NULL) {
        bool is_json = batch->kind == TC_BATCH_METRICS_JSON;
        tc_count(TC_COUNT_BODIES_PARSED_AGAIN_SLICES, 1);
        TC_TRY(tc_otlp_check(s->reader, TC_OTLP_METRICS, is_json ? TC_OTLP_JSON : TC_OTLP_PROTOBUF,
                             batch->body, &made, err));
        tape = &made;
    }
    return tc_otlp_samples(tape, &s->strings, out, NULL, err);
}

/* What cannot be read is counted: it came in well-formed, so it is nothing that we slice. */
static void read_samples(struct tc_warehouse_slicer *s, struct tc_slices *slices,
                         const struct tc_batch *batch, const struct tc_otlp_tape *tape)
{
    struct tc_error err = {0};
    struct sample_sink sink = {slices, batch->kind == TC_BATCH_FILE ? NULL : s->config.hot,
                               batch->arrival_ns, tc_batch_taken(batch), TC_SERIES_SCOPE_NONE};
    struct tc_samples_input in = {.bytes = batch->body, .taken_ns = tc_batch_taken(batch)};
    struct tc_batch_said said;
    bool is_text = batch->kind == TC_BATCH_FILE || batch->kind == TC_BATCH_SOURCE;
    if (batch->kind == TC_BATCH_SOURCE && tc_batch_name_read(batch->name, &said, &err) == TC_OK) {
        sink.known.node = said.node;
    }
    struct tc_samples_out out = {.take = take_sample, .context = &sink};
    tc_arena_reset(&s->strings);
    tc_status status = is_text ? tc_samples_read(&in, &s->strings, &out, NULL, &err)
                               : read_request(s, batch, tape, &out, &err);
    if (status != TC_OK) {
        tc_count(TC_COUNT_WAREHOUSE_BATCHES_SKIPPED, 1);
        tc_log_fields(TC_LOG_WARN, "a batch of metrics could not be sliced to its end",
                      TC_LOG_NUMBER("batch", (int64_t)batch->number),
                      TC_LOG_CSTR("error", err.message));
    }
}

/* An uploaded file has windows of its own, of any time: they are written before anything else. */
static tc_status take_file(struct tc_warehouse_slicer *s, const struct tc_batch *batch)
{
    struct tc_error err = {0};
    struct tc_digest digest;
    if (!tc_samples_sniff(batch->body)) {
        return TC_OK;
    }
    TC_TRY(tc_digest_sha256(batch->body, &digest));
    tc_digest_text(&digest, s->file_digest);
    TC_TRY(make_slices(s, tc_slice_cstr(s->file_digest), &s->file, &err));
    read_samples(s, s->file, batch, NULL);
    return TC_OK;
}

static tc_status take_metrics(struct tc_warehouse_slicer *s, const struct tc_batch *batch,
                              const struct tc_otlp_tape *tape, struct tc_error *err)
{
    s->bytes += batch->body.len;
    s->arrival_ns = batch->arrival_ns > s->arrival_ns ? batch->arrival_ns : s->arrival_ns;
    if (s->slices == NULL) {
        TC_TRY(make_slices(s, TC_EMPTY, &s->slices, err));
    }
    tc_slices_now(s->slices, batch->arrival_ns);
    read_samples(s, s->slices, batch, tape);
    return TC_OK;
}

static tc_status take_batch(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct tc_warehouse_slicer *s = context;
    struct tc_error err = {0};
    (void)info;
    if (s->file != NULL || s->bytes >= READ_BYTES_MAX) {
        return TC_E_LIMIT; /* it comes again */
    }
    if (batch->kind != TC_BATCH_FILE) {
        return take_metrics(s, batch, NULL, &err);
    }
    s->bytes += batch->body.len;
    s->arrival_ns = batch->arrival_ns > s->arrival_ns ? batch->arrival_ns : s->arrival_ns;
    return take_file(s, batch);
}

/* A file that is long and begins as no metrics do (a kernel log) is not read into memory. What has
 * zero bytes may be a message of protobuf, which can be told when it is whole. */
static bool wants(void *context, const struct tc_batch *batch)
{
    (void)context;
    return batch->kind != TC_BATCH_FILE || tc_samples_sniff(batch->body) ||
           tc_slice_find_byte(batch->body, '\0') != TC_NPOS;
}

/* Of what the daemon's own sources read, scrapes are metrics. */
static bool wants_named(void *context, const struct tc_batch *batch)
{
    (void)context;
    return batch->kind != TC_BATCH_SOURCE || tc_batch_is_scrape(batch->name);
}

static void bad_batch(void *context, const char *line)
{
    (void)context;
    (void)line; /* the store tells of it when it is opened, and `evidence verify` does */
    tc_count(TC_COUNT_WAREHOUSE_BATCHES_SKIPPED, 1);
}

/* Once in a while: what is left out for want of room, and which key says how much there is. */
static void tell_short(struct tc_warehouse_slicer *s, const struct tc_slices_counts *now)
{
    uint64_t lost = now->series_full + now->samples_full + now->unranked;
    if (lost == s->told_lost || s->arrival_ns < s->short_ns) {
        return;
    }
    tc_log_fields(TC_LOG_WARN,
                  "metrics need more room than warehouse.slice_series and slice_memory give",
                  TC_LOG_NUMBER("series", (int64_t)now->series),
                  TC_LOG_NUMBER("series_max", (int64_t)s->config.series_max),
                  TC_LOG_NUMBER("memory_bytes", (int64_t)s->config.memory_bytes),
                  TC_LOG_NUMBER("samples_series_full", (int64_t)now->series_full),
                  TC_LOG_NUMBER("samples_windows_full", (int64_t)now->samples_full),
                  TC_LOG_NUMBER("slices_without_percentiles", (int64_t)now->unranked));
    s->told_lost = lost;
    s->short_ns = s->arrival_ns + TELL_EVERY_NS;
}

static void count_samples(struct tc_warehouse_slicer *s)
{
    struct tc_slices_counts now;
    if (s->slices == NULL) {
        return;
    }
    tc_slices_counts(s->slices, &now);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES, now.samples - s->told.samples);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_LATE, now.late - s->told.late);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_FULL, now.series_full - s->told.series_full);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_WINDOWS_FULL, now.samples_full - s->told.samples_full);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_AHEAD, now.ahead - s->told.ahead);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_REQUEST, now.counters_left - s->told.counters_left);
    tc_count(TC_COUNT_WAREHOUSE_SAMPLES_NOT_FINITE, now.not_finite - s->told.not_finite);
    tc_count(TC_COUNT_WAREHOUSE_SLICES_SKETCHED,
             now.folded - now.unranked - (s->told.folded - s->told.unranked));
    tc_count(TC_COUNT_WAREHOUSE_SLICES_UNRANKED, now.unranked - s->told.unranked);
    tc_gauge(TC_COUNT_WAREHOUSE_SERIES, (int64_t)now.series);
    tc_gauge(TC_COUNT_WAREHOUSE_SERIES_MAX, (int64_t)s->config.series_max);
    tell_short(s, &now);
    s->told = now;
}

/* What the loop handed over. TC_E_LIMIT: there is more; *out_behind: in the evidence. */
static tc_status read_handed(struct tc_warehouse_slicer *s, bool *out_behind, struct tc_error *err)
{
    *out_behind = true;
    while (s->config.handoff != NULL) {
        struct tc_handed item;
        enum tc_handoff_state state = tc_handoff_take(s->config.handoff, s->next, &item);
        *out_behind = state == TC_HANDOFF_BEHIND;
        if (state != TC_HANDOFF_TAKEN) {
            break;
        }
        struct tc_batch batch = {.number = item.number,
                                 .arrival_ns = item.arrival_ns,
                                 .kind = item.tape.form == TC_OTLP_JSON ? TC_BATCH_METRICS_JSON
                                                                        : TC_BATCH_METRICS_PROTOBUF,
                                 .body = item.tape.body};
        tc_status status = take_metrics(s, &batch, &item.tape, err);
        tc_handoff_done(s->config.handoff, &item);
        TC_TRY(status);
        s->next = item.number + 1;
        if (s->bytes >= READ_BYTES_MAX) {
            return TC_E_LIMIT;
        }
    }
    return TC_OK;
}

static tc_status read_evidence(struct tc_warehouse_slicer *s, struct tc_error *err)
{
    struct tc_evidence_choice choice = {.kinds = KINDS,
                                        .wants_named = wants_named,
                                        .wants = wants,
                                        .take = take_batch,
                                        .bad = bad_batch,
                                        .context = s};
    tc_status status = tc_evidence_walk_some(s->evidence, &s->next, &choice, err);
    if (status == TC_OK && s->config.handoff != NULL) {
        tc_handoff_open(s->config.handoff);
    }
    return status;
}

tc_status tc_warehouse_slicer_read(struct tc_warehouse_slicer *s, int64_t now_ns, bool *out_more,
                                   struct tc_error *err)
{
    *out_more = false;
    if (s->file != NULL) {
        return TC_OK; /* first this is written */
    }
    if (s->evidence == NULL) {
        TC_TRY(find_place(s, now_ns, err));
    }
    bool behind = false;
    s->bytes = 0;
    tc_status status = read_handed(s, &behind, err);
    if (status == TC_OK && behind) {
        status = read_evidence(s, err);
    }
    count_samples(s);
    if (status != TC_OK && status != TC_E_LIMIT) {
        return status;
    }
    *out_more = status == TC_E_LIMIT;
    /* While it lags, time is that of what it reads. */
    int64_t time_ns = *out_more ? s->arrival_ns : now_ns;
    tc_gauge(TC_COUNT_WAREHOUSE_LAG, *out_more ? (now_ns - s->arrival_ns) / TC_SECOND : 0);
    s->until_ns = time_ns - s->config.lateness_ns;
    if (s->config.hot != NULL) {
        tc_hot_page_tick(s->config.hot, time_ns);
    }
    return TC_OK;
}

/* ---- writing ---- */

static int64_t window_of(const struct tc_warehouse_slicer *s, int64_t at_ns)
{
    return at_ns / s->config.window_ns;
}

bool tc_warehouse_slicer_is_due(const struct tc_warehouse_slicer *s)
{
    if (s->file != NULL) {
        return true;
    }
    return s->slices != NULL && s->until_ns != INT64_MIN &&
           (s->written_ns == INT64_MIN || window_of(s, s->until_ns) > window_of(s, s->written_ns));
}

struct writing {
    struct tc_warehouse *w;
    struct tc_error *err;
    uint64_t rows;
};

static tc_status append(void *context, const struct tc_rows *rows)
{
    struct writing *out = context;
    if (rows->count == 0) {
        return TC_OK;
    }
    out->rows += rows->count;
    return tc_warehouse_append(out->w, TC_TABLE_SLICE, rows, out->err);
}

static tc_status discard(void *context, const struct tc_rows *rows)
{
    (void)context;
    (void)rows;
    return TC_OK;
}

/* How far the warehouse is: what a daemon wrote carries no digest of a file. */
static tc_status find_written(struct tc_warehouse_slicer *s, struct tc_warehouse *w,
                              struct tc_error *err)
{
    int64_t max_us = 0;
    TC_TRY(tc_warehouse_int(
        w, "SELECT max(window_end) FROM telemetry_slice_fact WHERE source_digest IS NULL", NULL, 0,
        0, &max_us, err));
    bool is_known = max_us > 0 && max_us < TC_TIME_MAX / 1000;
    s->written_ns = is_known ? max_us * 1000 : 0;
    return tc_slices_flush(s->slices, s->written_ns, discard, NULL, err);
}

static tc_status write_windows(struct tc_warehouse_slicer *s, struct writing *out)
{
    if (s->written_ns == INT64_MIN) {
        TC_TRY(find_written(s, out->w, out->err));
    }
    TC_TRY(tc_warehouse_begin(out->w, out->err));
    TC_TRY(tc_slices_flush(s->slices, s->until_ns, append, out, out->err));
    return tc_warehouse_commit(out->w, out->err);
}

/* A file that is there already is not written again. */
static tc_status write_file(struct tc_warehouse_slicer *s, struct writing *out)
{
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(s->file_digest)};
    int64_t count = 0;
    TC_TRY(tc_warehouse_begin(out->w, out->err));
    TC_TRY(tc_warehouse_int(out->w,
                            "SELECT count(*) FROM telemetry_slice_fact WHERE source_digest = ?",
                            &bind, 1, 0, &count, out->err));
    if (count == 0) {
        TC_TRY(tc_slices_flush(s->file, INT64_MAX, append, out, out->err));
    }
    return tc_warehouse_commit(out->w, out->err);
}

tc_status tc_warehouse_slicer_write(struct tc_warehouse_slicer *s, struct tc_warehouse *w,
                                    struct tc_error *err)
{
    struct writing out = {.w = w, .err = err};
    bool is_file = s->file != NULL;
    tc_status status = is_file ? write_file(s, &out) : write_windows(s, &out);
    if (status != TC_OK) {
        tc_warehouse_rollback(w);
        start_over(s);
        return status;
    }
    if (is_file) {
        tc_slices_destroy(s->file);
        s->file = NULL;
    } else {
        s->written_ns = s->until_ns;
    }
    tc_count(TC_COUNT_WAREHOUSE_SLICES, out.rows);
    count_samples(s);
    return TC_OK;
}
