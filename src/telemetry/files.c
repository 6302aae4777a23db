/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A telemetry file is read to its end into a slicer that is as large as the file can need, then its
 * rows are given out: a file that cannot be read gives none.
 */
#include "telemetry/files.h"

#include "base/table/map.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/samples.h"
#include "telemetry/requests.h"
#include "telemetry/slices_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Metrics of Kubernetes events: how often each was seen. */
#define EVENTS_METRIC TC_LIT("kubernetes_events")
#define ARENA_BYTES ((size_t)8 << 20)
/* A sample has a line of its own in a text; elsewhere it has so many bytes at least. */
#define SAMPLE_BYTES_MIN 8
#define SERIES_MAX ((size_t)1 << 20)
/* What the log, and the texts of a series beside its own bytes, take at the most (slices.c). */
#define SAMPLE_COST 448
#define SERIES_COST 2048
#define BYTE_COST 8
#define MEMORY_MIN ((size_t)6 << 20)
/* Samples of a series and window that are kept as they are: a file is in memory anyway. */
#define EXACT_MAX 65536
#define OWN_CELLS 2
#define MEMORY_TRIES 4
#define NOTE_MAX 240
/* Metrics of a file that are defined, and room to work one out. */
#define DEFINED_MAX 16384
#define SCRATCH_BYTES ((size_t)128 << 10)

struct reading {
    const struct tc_telemetry_input *in;
    const struct tc_telemetry_out *out;
    struct tc_slices *slices;
    struct tc_series_scope known;
    struct tc_telemetry_counts counts;
    uint64_t bad_at;
    const char *bad_why;
    struct tc_codec_out *decode; /* while a codec runs */
    /* Names of metrics that were defined: hashes, so that two of one hash would be taken for one.
     */
    struct tc_map defined;
    size_t defined_count;
    uint64_t last_name; /* its hash */
    struct tc_arena scratch;
    struct tc_request_source requests_of;
    struct tc_rows *requests; /* while they are given out */
    uint64_t requests_of_other_run;
    char other_run[TC__TEXT_MAX]; /* of the first of them */
};

/* ---- what a file is ---- */

static const char *form_name(enum tc_samples_form form)
{
    switch (form) {
    case TC_SAMPLES_NONE:
        break;
    case TC_SAMPLES_TEXT:
        return "prometheus";
    case TC_SAMPLES_OTLP_JSON:
        return "otlp-json";
    case TC_SAMPLES_OTLP_PROTOBUF:
        return "otlp-protobuf";
    }
    return NULL;
}

/* The codec of files of events that slices are made of; NULL: none. */
static const struct tc_codec *events_codec(struct tc_slice bytes, struct tc_slice name,
                                           const char **out_form)
{
    const struct tc_codec *codec = tc_codec_recognise(bytes, name);
    if (codec == &tc_codec_k8s) {
        *out_form = "kubernetes";
    } else if (codec == &tc_codec_event_json) {
        *out_form = "events";
    } else if (codec == &tc_codec_otlp) {
        *out_form = "otlp-json";
    } else {
        return NULL;
    }
    return codec;
}

bool tc_telemetry_sniff(struct tc_slice bytes, struct tc_slice name)
{
    const char *form = NULL;
    return tc_samples_sniff(bytes) || tc_requests_sniff(bytes) ||
           events_codec(bytes, name, &form) != NULL;
}

/* ---- samples ---- */

/* The metric of a name that was not seen before. */
static void define(struct reading *r, const struct tc_sample *sample, uint64_t hash)
{
    struct tc_telemetry_definition definition;
    r->last_name = hash;
    struct tc_map_iter it = tc_map_find(&r->defined, hash);
    if (tc_map_next(&r->defined, &it) != 0 || r->defined_count == DEFINED_MAX ||
        !tc_map_add_found(&r->defined, &it, 1, 0)) {
        return;
    }
    r->defined_count++;
    tc_arena_reset(&r->scratch);
    if (tc__define(sample, &r->scratch, &definition) &&
        !tc_slice_eq(definition.field, definition.metric)) {
        r->out->define(r->out->context, &definition);
    }
}

static tc_status take_sample(void *context, const struct tc_sample *sample)
{
    struct reading *r = context;
    if (r->out->define != NULL) {
        uint64_t hash = tc_slice_hash(sample->name, 0);
        if (hash != r->last_name || r->defined_count == 0) {
            define(r, sample, hash);
        }
    }
    if (r->out->sample != NULL) {
        r->out->sample(r->out->context, sample);
    }
    tc_slices_add(r->slices, sample, sample->time_ns, &r->known);
    return TC_OK;
}

static void note_bad(void *context, uint64_t offset, const char *why)
{
    struct reading *r = context;
    if (r->bad_why == NULL) {
        r->bad_at = offset;
        r->bad_why = why;
    }
}

static tc_status read_samples(struct reading *r, struct tc_arena *arena, struct tc_error *err)
{
    struct tc_samples_input in = {
        .bytes = r->in->bytes, .taken_ns = r->in->taken_ns, .interval_ns = r->in->interval_ns};
    struct tc_samples_out out = {.take = take_sample, .bad = note_bad, .context = r};
    struct tc_samples_counts counts = {0};
    void *block = tc_arena_alloc_raw(arena, SCRATCH_BYTES, 16);
    if (block == NULL || !tc_map_init(&r->defined, arena, DEFINED_MAX)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of metrics");
    }
    tc_arena_init(&r->scratch, "definition of a metric", block, SCRATCH_BYTES);
    tc_status status = tc_samples_read(&in, arena, &out, &counts, err);
    tc_arena_fini(&r->scratch);
    TC_TRY(status);
    r->counts.samples = counts.samples;
    r->counts.undated = counts.undated;
    r->counts.bad = counts.bad;
    return TC_OK;
}

/* ---- events ---- */

/* What Kubernetes saw, and how often: one series for each reason and object. */
static void take_k8s(struct reading *r, const struct tc_event *ev)
{
    bool is_node = tc_slice_eq(ev->k8s.object_kind, TC_LIT("Node"));
    const struct tc_sample_label labels[] = {
        {TC_LIT("k8s_node_name"), is_node ? ev->k8s.object_name : ev->scope.node},
        {TC_LIT("k8s_pod_uid"), ev->scope.pod_uid},
        {TC_LIT("component"), ev->k8s.component},
        {TC_LIT("container"), ev->scope.container},
        {TC_LIT("kind"), ev->k8s.object_kind},
        {TC_LIT("name"), is_node ? TC_EMPTY : ev->k8s.object_name},
        {TC_LIT("namespace"), ev->scope.ns},
        {TC_LIT("reason"), ev->k8s.reason},
        {TC_LIT("type"), ev->k8s.type},
    };
    struct tc_sample sample = {.name = EVENTS_METRIC,
                               .unit = TC_LIT("events"),
                               .type = TC_SAMPLE_GAUGE,
                               .time_ns = ev->time_ns,
                               .start_ns = TC_TIME_NONE,
                               .value = ev->k8s.count > 1 ? (double)ev->k8s.count : 1,
                               .labels = labels,
                               .label_count = TC_COUNT(labels)};
    tc_slices_add(r->slices, &sample, ev->time_ns, &r->known);
    r->counts.samples++;
}

/* How long a step took is a metric of its rank. */
static void take_step(struct reading *r, const struct tc_event *ev)
{
    struct tc_event metric;
    if (ev->train.seconds <= 0) {
        return;
    }
    tc_event_init(&metric, TC_EVENT_METRIC);
    metric.time_ns = ev->time_ns;
    metric.scope = ev->scope;
    metric.metric.metric = TC_METRIC_STEP_SECONDS;
    metric.metric.value = ev->train.seconds;
    tc_slices_add_event(r->slices, &metric, &r->known);
    r->counts.samples++;
}

static tc_status take_event(void *context, const struct tc_event *ev)
{
    struct reading *r = context;
    if (ev->kind == TC_EVENT_METRIC) {
        tc_slices_add_event(r->slices, ev, &r->known);
        r->counts.samples++;
    } else if (ev->kind == TC_EVENT_K8S_EVENT) {
        take_k8s(r, ev);
    } else if (ev->kind == TC_EVENT_TRAIN_STEP) {
        take_step(r, ev);
    }
    /* The strings of events are in the arena: it is emptied when the codec stops. */
    r->decode->pause = r->decode->arena->used > ARENA_BYTES / 2;
    return TC_OK;
}

static tc_status read_events(struct reading *r, const struct tc_codec *codec,
                             struct tc_arena *arena, struct tc_error *err)
{
    void *block = malloc(ARENA_BYTES);
    if (block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read events");
    }
    struct tc_arena scratch;
    tc_arena_init(&scratch, "events of a file", block, ARENA_BYTES);
    struct tc_codec_input in = {.bytes = r->in->bytes,
                                .name = r->in->name,
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE,
                                .taken_ns = r->in->taken_ns};
    struct tc_codec_out out = {
        .event = take_event, .context = r, .arena = arena, .scratch = &scratch};
    struct tc_codec_cursor cursor = {0};
    struct tc_error why = {0};
    tc_status status = TC_OK;
    r->decode = &out;
    while (status == TC_OK && !cursor.done) {
        size_t offset = cursor.offset;
        uint64_t events = cursor.events;
        tc_arena_reset(arena);
        tc_arena_reset(&scratch);
        status = tc_codec_decode(codec, &in, &cursor, &out, &why);
        if (status == TC_OK && !cursor.done && cursor.offset == offset && cursor.events == events) {
            break;
        }
    }
    tc_arena_fini(&scratch);
    free(block);
    r->counts.bad = cursor.unknown;
    if (status == TC_E_MALFORMED && cursor.events > 0) { /* what came before it was read */
        r->counts.bad++;
        r->bad_at = why.offset;
        r->bad_why = "the rest cannot be read";
        return TC_OK;
    }
    return status == TC_OK ? TC_OK : tc_fail(err, status, why.offset, "%s", why.message);
}

/* ---- requests ---- */

static tc_status give_requests(struct reading *r)
{
    r->counts.rows += r->requests->count;
    TC_TRY(r->out->take_requests(r->out->context, r->requests));
    tc_rows_reset(r->requests);
    return TC_OK;
}

/* The first time they are counted, the second time given out. */
static tc_status take_request(void *context, const struct tc_request_span *span)
{
    struct reading *r = context;
    bool is_other = tc_request_is_of_other_run(span, &r->requests_of);
    if (r->requests == NULL) {
        if (is_other && r->requests_of_other_run++ == 0) {
            (void)snprintf(r->other_run, sizeof r->other_run, "%.*s", TC_FMT(span->run_id));
        }
        r->counts.requests += !is_other;
        return TC_OK;
    }
    if (is_other) {
        return TC_OK;
    }
    tc_status status = tc_request_row(r->requests, span, &r->requests_of);
    if (status == TC_E_LIMIT) {
        TC_TRY(give_requests(r));
        status = tc_request_row(r->requests, span, &r->requests_of);
    }
    return status;
}

static tc_status read_requests(struct reading *r, struct tc_arena *arena,
                               struct tc_requests_counts *counts, struct tc_error *err)
{
    const struct tc_requests_out out = {.take = take_request, .context = r};
    r->requests_of = (struct tc_request_source){.run_id = r->in->run_id,
                                                .job_uid = r->in->job_uid,
                                                .digest = r->in->source_digest,
                                                .batch = -1};
    tc_arena_reset(arena);
    return tc_requests_read(r->in->bytes, NULL, arena, &out, counts, err);
}

/* After all that can be wrong with the file was found. */
static tc_status write_requests(struct reading *r, struct tc_arena *arena, struct tc_error *err)
{
    struct tc_requests_counts counts = {0};
    if (r->counts.requests == 0) {
        return TC_OK;
    }
    r->requests = tc_rows_create(TC_TABLE_REQUEST);
    if (r->requests == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the rows of requests");
    }
    tc_status status = read_requests(r, arena, &counts, err);
    if (status == TC_OK && r->requests->count > 0) {
        status = give_requests(r);
    }
    tc_rows_destroy(r->requests);
    r->requests = NULL;
    return status;
}

/* ---- all of it ---- */

/* No file has more samples than this. */
static size_t samples_max(struct tc_slice bytes, enum tc_samples_form form)
{
    if (form != TC_SAMPLES_TEXT) {
        return bytes.len / SAMPLE_BYTES_MIN + 1;
    }
    size_t lines = 1;
    for (size_t at = 0; (at = tc_slice_find_byte(bytes, '\n')) != TC_NPOS; lines++) {
        bytes = tc_slice_from(bytes, at + 1);
    }
    return lines;
}

/* As large as the file can need: what is not used is never touched. Where the machine does not
 * promise so much, less may do; what finds no room is told. */
static tc_status make_slicer(struct reading *r, enum tc_samples_form form, struct tc_error *err)
{
    size_t samples = samples_max(r->in->bytes, form);
    size_t series = samples < SERIES_MAX ? samples : SERIES_MAX;
    struct tc_slices_config config = {
        .window_ns = r->in->window_ns > 0 ? r->in->window_ns : TC_SLICES_CONFIG_DEFAULT.window_ns,
        .series_max = series,
        .memory_bytes = MEMORY_MIN + samples * SAMPLE_COST + series * SERIES_COST +
                        r->in->bytes.len * BYTE_COST,
        .cells_max = samples + OWN_CELLS * series,
        .exact_max = EXACT_MAX,
        .source_digest = r->in->source_digest};
    tc_status status = tc_slices_create(&config, &r->slices, err);
    for (int i = 0; i < MEMORY_TRIES && status == TC_E_NOMEM; i++) {
        config.memory_bytes /= 2;
        config.series_max = config.series_max / 2 + 1;
        config.cells_max = config.cells_max / 2 + OWN_CELLS;
        status = tc_slices_create(&config, &r->slices, err);
    }
    return status;
}

static void note(const struct reading *r, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note(const struct reading *r, const char *field, const char *format, ...)
{
    char text[NOTE_MAX];
    if (r->out->note == NULL) {
        return;
    }
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    r->out->note(r->out->context, TC_EMPTY, tc_slice_cstr(field), tc_slice_make(text, used));
}

static size_t line_at(struct tc_slice bytes, uint64_t offset)
{
    size_t line = 1;
    struct tc_slice above = tc_slice_head(bytes, (size_t)offset);
    for (size_t at = 0; (at = tc_slice_find_byte(above, '\n')) != TC_NPOS; line++) {
        above = tc_slice_from(above, at + 1);
    }
    return line;
}

/* What the import must record. */
static void tell(const struct reading *r, const struct tc_slices_counts *c)
{
    if (r->counts.undated > 0) {
        note(r, "time",
             "%llu samples have no time; the last scrape is taken to be of the time that was given "
             "with the file",
             (unsigned long long)r->counts.undated);
    }
    if (c->other_run > 0) {
        struct tc_slice run = tc_slices_other_run(r->slices);
        note(r, "run_id", "%llu samples belong to run %.*s by their labels and are left out",
             (unsigned long long)c->other_run, (int)run.len, run.ptr);
    }
    if (r->bad_why != NULL) {
        note(r, "line", "%llu lines or records are left out, the first at line %zu: %s",
             (unsigned long long)r->counts.bad, line_at(r->in->bytes, r->bad_at), r->bad_why);
    }
    if (c->series_full + c->samples_full > 0) {
        note(r, "series",
             "%llu samples found no room: at most %zu series are kept of a file, and "
             "fewer where memory is short",
             (unsigned long long)c->series_full + c->samples_full, SERIES_MAX);
    }
    if (c->counters_left > 0) {
        note(r, "labels", "%llu samples of counters of single requests are left out",
             (unsigned long long)c->counters_left);
    }
}

static void tell_requests(const struct reading *r, const struct tc_requests_counts *c)
{
    if (r->requests_of_other_run > 0) {
        note(r, "run_id", "%llu requests belong to run %s by their attributes and are left out",
             (unsigned long long)r->requests_of_other_run, r->other_run);
    }
    if (c->rejected > 0) {
        note(r, "spans", "%llu spans are left out: they have too many attributes, or too long ones",
             (unsigned long long)c->rejected);
    }
    if (c->bad > 0 && r->bad_why == NULL) {
        note(r, "spans", "%llu requests of OTLP traces could not be read",
             (unsigned long long)c->bad);
    }
}

static tc_status give_rows(void *context, const struct tc_rows *rows)
{
    struct reading *r = context;
    r->counts.rows += rows->count;
    return r->out->take(r->out->context, rows);
}

/* With the place, where it is most likely Prometheus text that was cut off or damaged. */
static tc_status tell_unknown(struct tc_slice bytes, struct tc_error *err)
{
    const char *why = NULL;
    char place[160] = "";
    size_t line = tc_samples_bad_line(bytes, &why);
    if (line > 0) {
        (void)snprintf(place, sizeof place, "; as Prometheus text, line %zu: %.100s", line, why);
    }
    return tc_fail(err, TC_E_UNSUPPORTED, 0,
                   "not telemetry: expected Prometheus text, OpenMetrics, OTLP metrics or traces "
                   "(JSON or protobuf), Kubernetes events or tracecore's event lines%s",
                   place);
}

/* What makes slices of the file; *out_codec: NULL when those are samples. False: nothing does. */
static bool find_slices(struct reading *r, enum tc_samples_form form, bool has_spans,
                        const struct tc_codec **out_codec)
{
    const char *name = form_name(form);
    *out_codec = NULL;
    if (name == NULL) {
        *out_codec = events_codec(r->in->bytes, r->in->name, &name);
    }
    /* Spans alone, which that codec only counts. */
    if (has_spans && *out_codec == &tc_codec_otlp &&
        !tc_slice_contains(r->in->bytes, TC_LIT("\"resourceLogs\""))) {
        *out_codec = NULL;
        r->counts.form = name;
        return false;
    }
    r->counts.form = name == NULL && has_spans ? form_name(TC_SAMPLES_OTLP_PROTOBUF) : name;
    return name != NULL;
}

/* Nothing is given out of a file of which nothing is the run's. */
static tc_status check_found(const struct reading *r, const struct tc_slices_counts *c,
                             bool has_codec, const struct tc_requests_counts *spans,
                             struct tc_error *err)
{
    if (r->counts.requests > 0) {
        return TC_OK;
    }
    if (r->requests_of_other_run > 0 && c->other_run == r->counts.samples) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "all of its requests belong to run %s by their attributes", r->other_run);
    }
    if (r->counts.samples == 0 && spans->others + spans->rejected > 0) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "none of its %llu spans is a request to a language model; docs/otlp.md says "
                       "which are",
                       (unsigned long long)spans->others + spans->rejected);
    }
    if (r->counts.samples == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no samples in it");
    }
    if (c->undated == r->counts.samples) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s",
                       has_codec
                           ? "none of its events has a time"
                           : "no sample has a time, and when the file was taken is not known");
    }
    if (c->other_run == r->counts.samples) {
        struct tc_slice run = tc_slices_other_run(r->slices);
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "all of its samples belong to run %.*s by their labels", TC_FMT(run));
    }
    return TC_OK;
}

static tc_status write_slices(struct reading *r, struct tc_slices_counts *c, struct tc_error *err)
{
    r->counts.series = c->series;
    r->counts.not_finite = c->not_finite;
    r->counts.labels_left = c->labels_left;
    tell(r, c);
    TC_TRY(tc_slices_flush(r->slices, INT64_MAX, give_rows, r, err));
    tc_slices_counts(r->slices, c);
    r->counts.duplicates = c->duplicates;
    return TC_OK;
}

static tc_status read_and_give(struct reading *r, struct tc_arena *arena, struct tc_error *err)
{
    enum tc_samples_form form = tc_samples_form(r->in->bytes);
    bool has_spans = r->out->take_requests != NULL && tc_requests_sniff(r->in->bytes);
    const struct tc_codec *codec = NULL;
    struct tc_slices_counts c = {0};
    struct tc_requests_counts spans = {0};
    bool has_slices = find_slices(r, form, has_spans, &codec);
    if (r->counts.form == NULL) {
        return tell_unknown(r->in->bytes, err);
    }
    if (has_slices) {
        TC_TRY(make_slicer(r, form, err));
        TC_TRY(codec == NULL ? read_samples(r, arena, err) : read_events(r, codec, arena, err));
        tc_slices_counts(r->slices, &c);
    }
    if (has_spans) {
        TC_TRY(read_requests(r, arena, &spans, err));
    }
    TC_TRY(check_found(r, &c, codec != NULL, &spans, err));
    r->counts.other_run = c.other_run + r->requests_of_other_run;
    tell_requests(r, &spans);
    TC_TRY(write_requests(r, arena, err));
    return r->counts.samples > 0 ? write_slices(r, &c, err) : TC_OK;
}

tc_status tc_telemetry_read(const struct tc_telemetry_input *in, const struct tc_telemetry_out *out,
                            struct tc_telemetry_counts *out_counts, struct tc_error *err)
{
    struct reading r = {.in = in, .out = out, .known = TC_SERIES_SCOPE_NONE};
    if (in->bytes.len == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "the file is empty");
    }
    if (in->bytes.len > TC_TELEMETRY_BYTES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "a file of %zu bytes; at most %zu are read",
                       in->bytes.len, TC_TELEMETRY_BYTES_MAX);
    }
    void *block = malloc(ARENA_BYTES);
    if (block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read telemetry");
    }
    struct tc_arena arena;
    tc_arena_init(&arena, "telemetry file", block, ARENA_BYTES);
    r.known.run_id = in->run_id;
    r.known.run_join = in->run_id.len > 0 ? TC_LIT("given") : TC_EMPTY;
    r.known.scheduler_run_id = in->scheduler_run_id;
    r.known.job_uid = in->job_uid;
    tc_status status = read_and_give(&r, &arena, err);
    tc_slices_destroy(r.slices);
    tc_arena_fini(&arena);
    free(block);
    if (status == TC_OK && out_counts != NULL) {
        *out_counts = r.counts;
    }
    return status;
}
