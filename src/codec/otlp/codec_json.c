/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/JSON as the OpenTelemetry Collector's file exporter writes it: a line a
 * request, or one document, or an array of them; logs and metrics are read, traces
 * are recognised and skipped. This file recognises the input and walks it:
 * resources, scopes, then records and metrics one at a time (json_walk.c).
 *
 * A line that was torn (the exporter was killed, the disk was full) ends where the
 * next one begins, so it costs its own rest and nothing else.
 */
#include "base/json/raw.h"
#include "codec/json_walk_priv.h"
#include "codec/last_time_priv.h"
#include "codec/otlp/record_priv.h"

#define S(literal) TC_LIT(literal)

/* The members by which a request is known. */
static const char *const SIGNALS[] = {"resourceLogs", "resourceMetrics", "resourceSpans",
                                      "resourceProfiles"};
#define SIGNAL_COUNT TC_COUNT(SIGNALS)

static struct tc__otlp *otlp_of(struct tc__json_walk *w, size_t at, size_t length)
{
    struct tc__otlp *o = w->context;
    o->decode.raw_offset = at;
    o->decode.raw_length = length;
    return o;
}

static tc_status read_record(struct tc__json_walk *w, struct tc_slice json, size_t at,
                             const void *of)
{
    return tc__otlp_record(otlp_of(w, at, json.len), of, json);
}

static tc_status read_metric(struct tc__json_walk *w, struct tc_slice json, size_t at,
                             const void *of)
{
    return tc__otlp_metric(otlp_of(w, at, json.len), of, json);
}

static tc_status read_odd(struct tc__json_walk *w, struct tc_slice json, size_t at, const void *of)
{
    (void)of;
    return tc__decode_unknown(&otlp_of(w, at, json.len)->decode,
                              "an element of a list that is no object");
}

static tc_status read_skipped(struct tc__json_walk *w, struct tc_slice json, size_t at,
                              const void *of)
{
    (void)of;
    return tc__decode_unknown(&otlp_of(w, at, json.len)->decode, "neither logs nor metrics");
}

static tc_status walk_scope(struct tc__json_walk *w, size_t *io_at, const void *of)
{
    static const struct tc__json_list lists[] = {
        {.key = {"logRecords", sizeof "logRecords" - 1}, .read = read_record},
        {.key = {"metrics", sizeof "metrics" - 1}, .read = read_metric},
    };
    bool found = false;
    return tc__json_walk_object(w, io_at, lists, TC_COUNT(lists), of, &found);
}

static tc_status read_resource(struct tc__otlp *o, struct tc_slice json,
                               struct tc__otlp_resource *out)
{
    struct tc__value resource;
    TC_TRY(tc__decode_json(&o->decode, json, "a resource", &resource));
    return tc__otlp_resource_read(o, resource, out);
}

static tc_status walk_resource(struct tc__json_walk *w, size_t *io_at, const void *of)
{
    static const struct tc__json_list scopes[] = {
        {.key = {"scopeLogs", sizeof "scopeLogs" - 1}, .read = read_odd, .walk = walk_scope},
        {.key = {"scopeMetrics", sizeof "scopeMetrics" - 1}, .read = read_odd, .walk = walk_scope},
    };
    (void)of;
    struct tc__otlp *o = w->context;
    struct tc__otlp_resource resource = {0};
    struct tc_slice json;
    tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
    tc_status status = TC_OK;
    bool found = false;
    /* Looked for ahead: nothing says that the resource comes before its logs. */
    if (tc_json_raw_get(tc_slice_from(w->text, *io_at), S("resource"), &json)) {
        o->decode.raw_offset = (size_t)(json.ptr - w->text.ptr);
        status = read_resource(o, json, &resource);
    }
    if (status == TC_OK) {
        status = tc__json_walk_object(w, io_at, scopes, TC_COUNT(scopes), &resource, &found);
    }
    tc_arena_rewind(o->decode.out->scratch, mark);
    return status;
}

static tc_status walk_request(struct tc__json_walk *w, size_t *io_at, const void *of)
{
    static const struct tc__json_list signals[] = {
        {.key = {"resourceLogs", sizeof "resourceLogs" - 1},
         .read = read_odd,
         .walk = walk_resource},
        {.key = {"resourceMetrics", sizeof "resourceMetrics" - 1},
         .read = read_odd,
         .walk = walk_resource},
        {.key = {"resourceSpans", sizeof "resourceSpans" - 1}, .read = read_skipped},
        {.key = {"resourceProfiles", sizeof "resourceProfiles" - 1}, .read = read_skipped},
    };
    (void)of;
    size_t start = *io_at;
    bool found = false;
    TC_TRY(tc__json_walk_object(w, io_at, signals, TC_COUNT(signals), NULL, &found));
    return found ? TC_OK
                 : tc__decode_unknown(&otlp_of(w, start, *io_at - start)->decode,
                                      "an object without logs or metrics");
}

static tc_status walk_document(struct tc__json_walk *w, size_t *io_at)
{
    static const struct tc__json_list bare = {
        .key = {"element", sizeof "element" - 1}, .read = read_odd, .walk = walk_request};
    if (tc__json_byte_is(w->text, *io_at, '[')) {
        return tc__json_walk_array(w, io_at, &bare, NULL);
    }
    if (!tc__json_byte_is(w->text, *io_at, '{')) {
        w->is_broken = true;
        return tc_fail(w->err, TC_E_MALFORMED, *io_at, "expected a JSON object or array");
    }
    return walk_request(w, io_at, NULL);
}

/* Whether a request begins at `at`: {"resourceLogs", with any white space. */
static bool is_request(struct tc_slice bytes, size_t at)
{
    at = tc__json_byte_is(bytes, at, '{') ? tc__json_skip_space(bytes, at + 1) : bytes.len;
    struct tc_slice rest = tc_slice_from(bytes, at);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct tc_slice signal = tc_slice_cstr(SIGNALS[i]);
        if (rest.len > signal.len + 1 && rest.ptr[0] == '"' && rest.ptr[signal.len + 1] == '"' &&
            tc_slice_starts(tc_slice_from(rest, 1), signal)) {
            return true;
        }
    }
    return false;
}

/*
 * Where the document at `at` ends at the latest: at the end of a line behind which a request
 * begins. Without this the next line would be taken for a part of one that was torn.
 */
static size_t document_limit(struct tc_slice bytes, size_t at)
{
    while (at < bytes.len) {
        size_t newline = tc_slice_find_byte(tc_slice_from(bytes, at), '\n');
        if (newline == TC_NPOS) {
            break;
        }
        size_t end = at + newline;
        at = tc__json_skip_space(bytes, end);
        if (is_request(bytes, at)) {
            return end;
        }
    }
    return bytes.len;
}

static void note_bad(struct tc__otlp *o, const struct tc_error *why)
{
    o->decode.bad = o->decode.bad.status == TC_OK ? *why : o->decode.bad;
}

/* One document, or what can be had of it: *io_at is behind it, or where nothing more can be read.
 */
static tc_status read_document(struct tc__otlp *o, struct tc__json_walk *w, size_t *io_at)
{
    size_t start = *io_at;
    tc_status status = walk_document(w, io_at);
    if (status == TC_OK || !w->is_broken) {
        return status;
    }
    if (tc__json_skip_broken(w, &start)) {
        *io_at = start;
    } else if (w->text.len < o->decode.in->bytes.len) {
        w->is_broken = false;
        *io_at = w->text.len;
    } else {
        return status;
    }
    note_bad(o, w->err);
    return TC_OK;
}

/*
 * Documents one after another, with or without line ends between them. A bad one is told at the
 * end, and what is told then cannot be kept over a pause: there is none any more. Nor is there one
 * between lines of the kernel that may belong together.
 */
static tc_status walk_documents(struct tc__otlp *o, size_t at)
{
    struct tc_slice bytes = o->decode.in->bytes;
    struct tc__json_walk w = {.err = o->decode.err, .context = o};
    tc_status status = TC_OK;
    size_t limit = 0;
    o->decode.out->pause = false;
    while (status == TC_OK &&
           (!o->decode.out->pause || o->decode.bad.status != TC_OK || o->kernel.count > 0)) {
        at = tc__json_skip_space(bytes, at);
        if (at >= bytes.len) {
            o->decode.cursor->done = true;
            break;
        }
        if (at >= limit) {
            limit = document_limit(bytes, at);
        }
        /* An array has its requests on lines of their own, perhaps. */
        w.text = tc__json_byte_is(bytes, at, '[') ? bytes : tc_slice_head(bytes, limit);
        status = read_document(o, &w, &at);
    }
    o->decode.is_broken = w.is_broken;
    o->decode.cursor->offset = at;
    /* What was gathered before the walk broke is still delivered. */
    if (status == TC_OK || w.is_broken) {
        struct tc_error walk_error = *w.err;
        tc_status flushed = tc__otlp_flush(o);
        if (flushed != TC_OK) {
            o->decode.is_broken = false;
            return flushed;
        }
        *w.err = walk_error;
    }
    return status;
}

/* The same with the number of its line in front. */
static tc_status fail_at_line(struct tc_error *err, struct tc_slice bytes,
                              const struct tc_error *why)
{
    size_t line = 1;
    struct tc_slice above = tc_slice_head(bytes, why->offset);
    for (size_t at = 0; (at = tc_slice_find_byte(above, '\n')) != TC_NPOS; line++) {
        above = tc_slice_from(above, at + 1);
    }
    return tc_fail(err, why->status, why->offset, "line %zu: %s", line, why->message);
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    size_t start = tc__json_start(in->bytes);
    if (cursor->done || start >= in->bytes.len) {
        cursor->done = true;
        return TC_OK;
    }
    struct tc_error why = {0};
    struct tc__otlp o = {.decode = {.in = in,
                                    .cursor = cursor,
                                    .out = out,
                                    .err = &why,
                                    .parser = tc_json_parser_create(),
                                    .seen_ns = TC_TIME_NONE}};
    if (o.decode.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, cursor->offset, "no memory for a JSON parser");
    }
    tc_arena_mark mark = tc_arena_snapshot(out->scratch);
    tc__otlp_init(&o);
    /* A part of what is left: records need some too. */
    tc__otlp_kernel_init(&o.kernel, out->scratch, (out->scratch->size - out->scratch->used) / 8);
    tc_status status = walk_documents(&o, cursor->offset > start ? cursor->offset : start);
    tc_arena_rewind(out->scratch, mark);
    tc_json_parser_destroy(o.line_parser);
    tc_json_parser_destroy(o.decode.parser);
    /* Of two things that are wrong with the input the first is told; other failures come first. */
    if (o.decode.bad.status != TC_OK && (status == TC_OK || o.decode.is_broken)) {
        return fail_at_line(err, in->bytes, &o.decode.bad);
    }
    if (status != TC_OK && o.decode.is_broken) {
        return fail_at_line(err, in->bytes, &why);
    }
    if (status != TC_OK && err != NULL) {
        *err = why;
    }
    return status;
}

static int sniff(struct tc_codec_head head)
{
    size_t at = 0;
    if (!tc__json_has_member(head.bytes, tc__json_start(head.bytes), SIGNALS, SIGNAL_COUNT, &at)) {
        return TC_SNIFF_NO;
    }
    return tc__json_byte_is(head.bytes, at, '[') ? TC_SNIFF_SURE : TC_SNIFF_MAYBE;
}

/* The file exporter writes a request per line as they come; a document may hold anything. */
static bool in_order(struct tc_slice head)
{
    size_t newline = tc_slice_find_byte(head, '\n');
    return newline != TC_NPOS && is_request(head, tc__json_skip_space(head, newline));
}

static int64_t last_time(const struct tc_codec_input *in)
{
    int64_t ns = tc__last_time_by_key(in->bytes, TC_LIT("\"timeUnixNano"), 1);
    int64_t seen_ns = tc__last_time_by_key(in->bytes, TC_LIT("\"observedTimeUnixNano"), 1);
    return ns != TC_TIME_NONE ? ns : seen_ns;
}

const struct tc_codec tc_codec_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry logs and metrics as JSON: the Collector's file exporter",
    .known_by = "an object with `resourceLogs` or `resourceMetrics`",
    .gives = "every kind: docs/otlp.md",
    .example = "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[...",
    .ordered = true,
    .in_order = in_order,
    .sniff = sniff,
    .decode = decode,
    .last_time = last_time,
};
