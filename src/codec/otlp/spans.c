/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of the tape that the check of a request leaves, as requests to language models: which are
 * such requests, and what they say. Numbers that cannot be are left out: negative ones, and
 * durations longer than the span itself, which are in another unit than seconds.
 */
#include "base/time.h"
#include "codec/match_priv.h"
#include "codec/otlp/record_priv.h"
#include "codec/otlp/tape_priv.h"
#include "codec/requests.h"

#include <math.h>

#define MS_PER_SECOND 1000.0
/* How much longer than its span a duration may be: clocks are not read at the same moment. */
#define SLACK_MS 1000.0
/* Longer ones are no durations of a request: ten days. */
#define DURATION_MS_MAX 864e6
#define TOKENS_MAX 1e12
#define TRACE_ID_BYTES 16
#define TRACE_ID_DIGITS ((size_t)2 * TRACE_ID_BYTES)

/* Of SpanKind and StatusCode. */
#define KIND_SERVER 2
#define STATUS_ERROR 2

static const char TOOL_TGI[] = "otlp:tgi";

enum span_attr {
#define ATTRIBUTE(id, column, meaning) ATTR_##id,
#define NAME(id, name, claim)
#include "codec/otlp/spans.def"
#undef ATTRIBUTE
#undef NAME
    ATTR_COUNT
};

static const struct {
    struct tc_slice name;
    enum span_attr attr;
    uint8_t claim;
} NAMES[] = {
#define ATTRIBUTE(id, column, meaning)
#define NAME(id, text, strength) {{text, sizeof(text) - 1}, ATTR_##id, (strength)},
#include "codec/otlp/spans.def"
#undef ATTRIBUTE
#undef NAME
};

/* One span while it is being read. */
struct span {
    struct tc_slice name;
    struct tc_slice trace_id; /* as it is on the tape */
    int64_t kind;
    int64_t started_ns;
    int64_t ended_ns;
    int64_t status_code;
    struct tc_slice status_message;
    struct tc__otlp_value of[ATTR_COUNT];
    struct tc__otlp_record record; /* the attributes of attrs.def */
};

struct reading {
    struct tc__otlp *o;
    const struct tc_otlp_tape *tape;
    struct tc_arena *arena;
    const struct tc_requests_out *out;
    struct tc_requests_counts *counts;
    struct tc__otlp_resource resource;
    struct tc__otlp_value of_resource[ATTR_COUNT];
    struct span span;
};

/* ---- what is on the tape ---- */

static struct tc__otlp_value value_at(const struct tc_otlp_tape *tape, size_t at)
{
    struct tc__value v = {.v = {tape, at}, .there = true, .tape = true};
    return tc__otlp_value_read(v);
}

/* The first text of a list, which is how reasons to finish come; else the value itself. */
static struct tc__otlp_value first_value(const struct tc_otlp_tape *tape, size_t at)
{
    const struct tc__otlp_node *n = &tape->nodes[at];
    if (n->type == TC__OTLP_N_ARRAY) {
        return n->next > at + 1 ? value_at(tape, at + 1) : tc__otlp_nothing;
    }
    return value_at(tape, at);
}

/* The pair at node `at`: what attrs.def and spans.def read of it. */
static void read_attribute(struct reading *r, size_t at, struct tc__otlp_attrs *attrs,
                           struct tc__otlp_value *of)
{
    const struct tc__otlp_node *pair = &r->tape->nodes[at];
    struct tc_slice key = tc__otlp_node_text(r->tape, pair);
    if (pair->type != TC__OTLP_N_PAIR || pair->next <= at + 1) {
        return;
    }
    tc__otlp_attrs_add_pair(r->o, r->tape, at, attrs);
    for (size_t i = 0; i < TC_COUNT(NAMES); i++) {
        if (!tc_slice_eq(NAMES[i].name, key)) {
            continue;
        }
        struct tc__otlp_value value = first_value(r->tape, at + 1);
        bool says =
            value.kind != TC__OTLP_NOTHING && (value.kind != TC__OTLP_TEXT || value.text.len > 0);
        if (says && NAMES[i].claim > of[NAMES[i].attr].claim) {
            value.claim = NAMES[i].claim;
            of[NAMES[i].attr] = value;
        }
        return;
    }
}

static int64_t integer_of(const struct tc__otlp_node *n)
{
    return n->type == TC__OTLP_N_INT ? n->integer : 0;
}

static int64_t time_of(const struct tc__otlp_node *n)
{
    int64_t ns = integer_of(n);
    return ns > 0 && ns <= TC_TIME_MAX ? ns : TC_TIME_NONE;
}

static void read_status(struct reading *r, size_t at)
{
    size_t end = r->tape->nodes[at].next;
    r->span.status_code = 0;
    r->span.status_message = TC_EMPTY;
    for (at++; at < end; at = r->tape->nodes[at].next) {
        const struct tc__otlp_node *n = &r->tape->nodes[at];
        if (n->keep == TC__OTLP_K_STATUS_CODE) {
            r->span.status_code = integer_of(n);
        } else if (n->keep == TC__OTLP_K_STATUS_MESSAGE && n->type == TC__OTLP_N_STRING) {
            r->span.status_message = tc__otlp_node_text(r->tape, n);
        }
    }
}

static void read_member(struct reading *r, size_t at)
{
    const struct tc__otlp_node *n = &r->tape->nodes[at];
    struct span *s = &r->span;
    switch (n->keep) {
    case TC__OTLP_K_TRACE_ID:
        s->trace_id = tc__otlp_node_text(r->tape, n);
        break;
    case TC__OTLP_K_NAME:
        s->name = n->type == TC__OTLP_N_STRING ? tc__otlp_node_text(r->tape, n) : TC_EMPTY;
        break;
    case TC__OTLP_K_SPAN_KIND:
        s->kind = integer_of(n);
        break;
    case TC__OTLP_K_START:
        s->started_ns = time_of(n);
        break;
    case TC__OTLP_K_END:
        s->ended_ns = time_of(n);
        break;
    case TC__OTLP_K_STATUS:
        read_status(r, at);
        break;
    case TC__OTLP_K_ATTRIBUTE:
        read_attribute(r, at, &s->record.attrs, s->of);
        break;
    default: /* what else a record may have, none of it a span's */
        break;
    }
}

static void forget(struct tc__otlp_value *of)
{
    for (size_t i = 0; i < ATTR_COUNT; i++) {
        of[i] = tc__otlp_nothing;
    }
}

static void read_members(struct reading *r, size_t at)
{
    size_t end = r->tape->nodes[at].next;
    struct span *s = &r->span;
    s->name = TC_EMPTY;
    s->trace_id = TC_EMPTY;
    s->kind = 0;
    s->started_ns = TC_TIME_NONE;
    s->ended_ns = TC_TIME_NONE;
    s->status_code = 0;
    s->status_message = TC_EMPTY;
    forget(s->of);
    s->record.resource = &r->resource;
    s->record.attrs.came = 0;
    for (at++; at < end; at = r->tape->nodes[at].next) {
        read_member(r, at);
    }
}

/* ---- which spans are requests ---- */

static bool has(const struct span *s, enum span_attr attr)
{
    return s->of[attr].claim > 0;
}

static struct tc_slice text(struct reading *r, enum span_attr attr)
{
    return tc__otlp_text(r->o, &r->span.of[attr]);
}

static bool has_measure(const struct span *s)
{
    return has(s, ATTR_INPUT_TOKENS) || has(s, ATTR_OUTPUT_TOKENS) || has(s, ATTR_QUEUE) ||
           has(s, ATTR_TTFT) || has(s, ATTR_E2E);
}

/* Who wrote it; NULL when it tells of no request. */
static const char *tool_of(struct reading *r)
{
    const struct span *s = &r->span;
    if (tc_slice_eq(s->name, TC_LIT("llm_request")) &&
        (has(s, ATTR_REQUEST_ID) || has_measure(s))) {
        return "otlp:vllm";
    }
    if (has(s, ATTR_RID) && has_measure(s)) {
        return "otlp:sglang";
    }
    if (has(s, ATTR_TGI_TOTAL) && has(s, ATTR_TGI_QUEUE) && has(s, ATTR_TGI_INFERENCE)) {
        return TOOL_TGI;
    }
    bool is_server = s->kind == KIND_SERVER;
    /* Tools, agents and embeddings are operations too; those within an agent are its requests. */
    bool generates = tc_slice_is_any(text(r, ATTR_OPERATION), "chat", "text_completion",
                                     "completion", "generate_content");
    bool measures = is_server && !has(s, ATTR_OPERATION) &&
                    (has(s, ATTR_QUEUE) || has(s, ATTR_TTFT) || has(s, ATTR_E2E));
    if (!generates && !measures) {
        return NULL;
    }
    return is_server ? "otlp:gen_ai_server" : "otlp:gen_ai_client";
}

/* ---- what they say ---- */

/* Milliseconds; NaN when it is none, or longer than the span by more than can be. */
static double duration_of(const struct tc__otlp_value *v, double span_ms)
{
    double seconds = 0;
    if (!tc__otlp_number(v, &seconds) || !(seconds >= 0)) {
        return (double)NAN;
    }
    double ms = seconds * MS_PER_SECOND;
    double most_ms = isnan(span_ms) ? DURATION_MS_MAX : span_ms + SLACK_MS;
    return ms <= most_ms && ms <= DURATION_MS_MAX ? ms : (double)NAN;
}

/* The same as Rust prints it: 1.5s, 20.25ms, 7µs, 12ns. */
static double printed_duration_of(const struct tc__otlp_value *v)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"s", MS_PER_SECOND}, {"ms", 1}, {"\u00b5s", 1e-3}, {"us", 1e-3}, {"ns", 1e-6}};
    double number = 0;
    size_t used = v->kind == TC__OTLP_TEXT ? tc__text_number(v->text, &number) : 0;
    struct tc_slice unit = tc_slice_from(v->text, used);
    for (size_t i = 0; used > 0 && i < TC_COUNT(units); i++) {
        double ms = number * units[i].ms;
        if (tc_slice_eq(unit, tc_slice_cstr(units[i].unit)) && ms >= 0 && ms <= DURATION_MS_MAX) {
            return ms;
        }
    }
    return (double)NAN;
}

static int64_t tokens_of(const struct tc__otlp_value *v)
{
    double number = 0;
    bool fits = tc__otlp_number(v, &number) && number >= 0 && number <= TOKENS_MAX &&
                number == floor(number);
    return fits ? (int64_t)number : -1;
}

static void read_times(const struct span *s, struct tc_request_span *out)
{
    bool is_timed = s->started_ns != TC_TIME_NONE && s->ended_ns != TC_TIME_NONE;
    bool is_reversed = is_timed && s->ended_ns < s->started_ns;
    double span_ms =
        is_timed && !is_reversed ? (double)(s->ended_ns - s->started_ns) / 1e6 : (double)NAN;
    bool is_tgi = out->tool == TOOL_TGI;
    out->started_ns = s->started_ns;
    out->ended_ns = is_reversed ? TC_TIME_NONE : s->ended_ns;
    out->queue_ms = is_tgi ? printed_duration_of(&s->of[ATTR_TGI_QUEUE])
                           : duration_of(&s->of[ATTR_QUEUE], span_ms);
    out->e2e_ms = is_tgi ? printed_duration_of(&s->of[ATTR_TGI_TOTAL])
                         : duration_of(&s->of[ATTR_E2E], span_ms);
    if (isnan(out->e2e_ms) && span_ms <= DURATION_MS_MAX) {
        out->e2e_ms = span_ms;
    }
    out->ttft_ms = duration_of(&s->of[ATTR_TTFT], span_ms);
    out->tpot_ms = duration_of(&s->of[ATTR_TPOT], span_ms);
    if (isnan(out->tpot_ms) && out->output_tokens > 1 && out->e2e_ms >= out->ttft_ms) {
        out->tpot_ms = (out->e2e_ms - out->ttft_ms) / (double)(out->output_tokens - 1);
    }
    out->first_token_ns = TC_TIME_NONE;
    if (s->started_ns != TC_TIME_NONE && !isnan(out->ttft_ms)) {
        int64_t at_ns = s->started_ns + (int64_t)(out->ttft_ms * 1e6);
        out->first_token_ns = at_ns <= TC_TIME_MAX ? at_ns : TC_TIME_NONE;
    }
}

/* Whoever asked went away, or took it back. */
static bool is_cancelled(struct tc_slice word)
{
    return tc_slice_find_nocase(word, TC_LIT("cancel")) != TC_NPOS ||
           tc_slice_find_nocase(word, TC_LIT("abort")) != TC_NPOS ||
           tc_slice_eq(word, TC_LIT("499"));
}

static void read_outcome(struct reading *r, struct tc_request_span *out)
{
    struct tc_slice type = text(r, ATTR_ERROR);
    struct tc_slice finish = text(r, ATTR_FINISH);
    bool failed = r->span.status_code == STATUS_ERROR || type.len > 0 ||
                  tc_slice_find(finish, TC_LIT("error")) != TC_NPOS;
    bool cancelled = is_cancelled(type) || is_cancelled(finish);
    out->status = cancelled ? "cancelled" : failed ? "error" : "ok";
    if (failed || cancelled) {
        out->error = tc_slice_or(tc_slice_or(r->span.status_message, type), finish);
    }
}

/* In lower case, which is how they are compared. Zeros are no id. */
static struct tc_slice trace_id_of(struct reading *r)
{
    static const char digits[] = "0123456789abcdef";
    struct tc_slice id = r->span.trace_id;
    bool is_hex = r->tape->form == TC_OTLP_JSON;
    bool any = false;
    if (id.len != (is_hex ? TRACE_ID_DIGITS : TRACE_ID_BYTES)) {
        return TC_EMPTY;
    }
    char *to = tc_new(r->arena, char, TRACE_ID_DIGITS);
    if (to == NULL) {
        return TC_EMPTY;
    }
    for (size_t i = 0; i < TRACE_ID_DIGITS; i++) {
        unsigned byte = (unsigned char)id.ptr[is_hex ? i : i / 2];
        to[i] = is_hex ? (char)(byte >= 'A' && byte <= 'F' ? byte - 'A' + 'a' : byte)
                       : digits[i % 2 == 0 ? byte >> 4 : byte & 15];
        any = any || to[i] != '0';
    }
    return any ? tc_slice_make(to, TRACE_ID_DIGITS) : TC_EMPTY;
}

static void read_place(struct reading *r, struct tc_request_span *out)
{
    const struct tc__otlp_record *record = &r->span.record;
    struct tc_scope scope = TC_SCOPE_NONE;
    tc__otlp_scope(r->o, record, &scope);
    out->run_id = tc__otlp_text(r->o, tc__otlp_get(record, TC__OTLP_RUN));
    const struct tc__otlp_value *job =
        has(&r->span, ATTR_JOB_UID) ? &r->span.of[ATTR_JOB_UID] : &r->of_resource[ATTR_JOB_UID];
    out->job_uid = tc_slice_or(tc__otlp_text(r->o, job), scope.job);
    out->pod_uid = scope.pod_uid;
    out->pod_name = scope.pod;
    /* In a pod, the name of the host is the pod's. */
    out->node_name = tc_slice_eq(scope.node, scope.pod) ? TC_EMPTY : scope.node;
}

static tc_status read_span(struct reading *r, size_t at)
{
    read_members(r, at);
    const char *tool = tool_of(r);
    if (tool == NULL) {
        r->counts->others++;
        return TC_OK;
    }
    struct tc_request_span out = {
        .tool = tool, .offset = r->tape->nodes[at].at, .length = r->tape->nodes[at].length};
    out.request_id = tc_slice_or(text(r, ATTR_REQUEST_ID), text(r, ATTR_RID));
    out.trace_id = trace_id_of(r);
    out.input_tokens = tokens_of(&r->span.of[ATTR_INPUT_TOKENS]);
    out.output_tokens = tokens_of(&r->span.of[ATTR_OUTPUT_TOKENS]);
    read_times(&r->span, &out);
    read_outcome(r, &out);
    read_place(r, &out);
    if (!tc_arena_ok(r->arena)) {
        return tc_fail(r->o->decode.err, TC_E_NOMEM, r->tape->nodes[at].at,
                       "spans: the arena \"%s\" is full", r->arena->name);
    }
    r->counts->requests++;
    return r->out->take(r->out->context, &out);
}

static tc_status read_spans(struct reading *r, size_t at)
{
    size_t end = r->tape->nodes[at].next;
    r->resource.attrs.came = 0;
    forget(r->of_resource);
    for (size_t k = at + 1; k < end; k = r->tape->nodes[k].next) {
        if (r->tape->nodes[k].keep != TC__OTLP_K_RESOURCE) {
            continue;
        }
        for (size_t p = k + 1; p < r->tape->nodes[k].next; p = r->tape->nodes[p].next) {
            read_attribute(r, p, &r->resource.attrs, r->of_resource);
        }
    }
    for (size_t k = at + 1; k < end; k = r->tape->nodes[k].next) {
        if (r->tape->nodes[k].keep == TC__OTLP_K_RECORD) {
            tc_arena_mark mark = tc_arena_snapshot(r->arena);
            tc_status status = read_span(r, k);
            tc_arena_rewind(r->arena, mark);
            TC_TRY(status);
        }
    }
    return TC_OK;
}

tc_status tc_otlp_requests(struct tc_otlp_reader *reader, const struct tc_otlp_tape *tape,
                           struct tc_arena *arena, const struct tc_requests_out *out,
                           struct tc_requests_counts *io_counts, struct tc_error *err)
{
    struct tc_codec_out scratch = {.arena = arena, .scratch = arena};
    struct reading r = {.o = tc__otlp_reader_mapping(reader),
                        .tape = tape,
                        .arena = arena,
                        .out = out,
                        .counts = io_counts};
    r.o->decode.out = &scratch;
    r.o->decode.err = err;
    io_counts->rejected += tape->counts.rejected;
    tc_status status = TC_OK;
    for (size_t at = 0; at < tape->count && status == TC_OK; at = tape->nodes[at].next) {
        if (tape->nodes[at].keep == TC__OTLP_K_RESOURCE_SPANS) {
            status = read_spans(&r, at);
        }
    }
    r.o->decode.out = NULL;
    return status;
}
