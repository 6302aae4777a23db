/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a log record is, by its content. Attributes come first, since whoever set
 * them has decided already; then the body: a structured one (an object of
 * Kubernetes, a record of the journal), a line of a training program, a line of
 * the kernel, or JSON text.
 */
#include "base/limits.h"
#include "codec/otlp/record_priv.h"
#include "codec/otlp/tape_priv.h"

#define S(literal) TC_LIT(literal)

/* One record; the Collector's receivers cut lines far below this. */
#define RECORD_MAX ((size_t)16 << 20)
/* Lines of one body that are looked at: a Python traceback has some tens. */
#define BODY_LINES 256
#define SECONDS_MAX 3e9
#define STEP_MAX 1e12

/* Above 100 years, or below 0, a duration is not one. */
static double seconds_of(const struct tc__otlp_value *v)
{
    double number = 0;
    return tc__otlp_number(v, &number) && number > 0 && number <= SECONDS_MAX ? number : 0;
}

/* What every event of training takes from the attributes, unless it is known already. */
static tc_status emit_training(struct tc__otlp *o, const struct tc__otlp_record *r,
                               struct tc_event *ev)
{
    const struct tc__otlp_value *step = tc__otlp_get(r, TC__OTLP_STEP);
    const struct tc__otlp_value *phase = tc__otlp_get(r, TC__OTLP_PHASE);
    double number = 0;
    step = step->claim > 0 ? step : tc__otlp_get(r, TC__OTLP_ANY_STEP);
    phase = phase->claim > 0 ? phase : tc__otlp_get(r, TC__OTLP_ANY_PHASE);
    if (tc__otlp_number(step, &number) && number >= 0 && number <= STEP_MAX) {
        ev->train.step = ev->train.step >= 0 ? ev->train.step : (int64_t)number;
    }
    struct tc_slice phase_text = tc__otlp_text(o, phase);
    if (phase_text.len > 0) {
        ev->train.phase = phase_text;
    }
    if (ev->train.message.len == 0) {
        ev->train.message = tc_slice_head(tc_slice_trim(r->text), TC__TRAIN_MESSAGE_MAX);
    }
    ev->uid = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_UID));
    ev->run_id = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_RUN));
    ev->time_ns = tc__otlp_time(r);
    tc__otlp_scope(o, r, &ev->scope);
    if (ev->scope.node.len == 0) {
        ev->scope.node = o->decode.in->node;
    }
    if (ev->scope.job.len == 0) {
        ev->scope.job = o->decode.in->job;
    }
    TC_TRY(tc__otlp_flush(o));
    TC_TRY(tc__decode_emit(&o->decode, ev));
    return tc__otlp_place(o, ev);
}

/* "begin", "end" or "failed" in the words that producers have for them; "" for another word. */
static struct tc_slice checkpoint_state(struct tc_slice word, bool must_be_named)
{
    static const struct {
        const char *word;
        const char *state;
    } words[] = {
        {"begin", "begin"},       {"start", "begin"},
        {"started", "begin"},     {"save_started", "begin"},
        {"save_start", "begin"},  {"save_begin", "begin"},
        {"end", "end"},           {"complete", "end"},
        {"completed", "end"},     {"finished", "end"},
        {"saved", "end"},         {"save_completed", "end"},
        {"save_complete", "end"}, {"save_end", "end"},
        {"failed", "failed"},     {"failure", "failed"},
        {"error", "failed"},      {"save_failed", "failed"},
        {"save_error", "failed"},
    };
    bool named = tc_slice_starts(word, S("checkpoint.")) || tc_slice_starts(word, S("checkpoint_"));
    if (named) {
        word = tc_slice_from(word, S("checkpoint.").len);
    } else if (must_be_named) {
        return TC_EMPTY;
    }
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        struct tc_slice is = tc_slice_cstr(words[i].word);
        /* "save.started" as well. */
        if (tc_slice_eq_nocase(word, is) ||
            (word.len == is.len && is.len > 5 && tc_slice_starts(word, S("save.")) &&
             tc_slice_starts(is, S("save_")) &&
             tc_slice_eq(tc_slice_from(word, 5), tc_slice_from(is, 5)))) {
            return tc_slice_cstr(words[i].state);
        }
    }
    return TC_EMPTY;
}

/* The record's own attributes, as text. */
static struct tc_slice own_text(struct tc__otlp *o, const struct tc__otlp_record *r,
                                enum tc__otlp_attr attr)
{
    return tc__otlp_text(o, tc__otlp_own(&r->attrs, attr));
}

/* Whether attributes make it an event of training, and of which kind. */
static bool read_training(struct tc__otlp *o, const struct tc__otlp_record *r, struct tc_event *ev)
{
    static const uint64_t wanted =
        UINT64_C(1) << TC__OTLP_STALL | UINT64_C(1) << TC__OTLP_LOADER_ERROR |
        UINT64_C(1) << TC__OTLP_CHECKPOINT | UINT64_C(1) << TC__OTLP_EVENT_NAME;
    double number = 0;
    if ((r->attrs.came & wanted) == 0 && r->event_name.len == 0) {
        return false;
    }
    if (tc__otlp_number(tc__otlp_own(&r->attrs, TC__OTLP_STALL), &number)) {
        tc_event_init(ev, TC_EVENT_TRAIN_STALL);
        ev->train.seconds = seconds_of(tc__otlp_own(&r->attrs, TC__OTLP_STALL));
        return true;
    }
    struct tc_slice loader = own_text(o, r, TC__OTLP_LOADER_ERROR);
    if (loader.len > 0) {
        tc_event_init(ev, TC_EVENT_LOADER_ERROR);
        ev->train.error_class = loader;
        return true;
    }
    struct tc_slice state = checkpoint_state(own_text(o, r, TC__OTLP_CHECKPOINT), false);
    if (state.len == 0) {
        /* The name of an event, an attribute once and a member of the record by now. */
        state = checkpoint_state(
            r->event_name.len > 0 ? r->event_name : own_text(o, r, TC__OTLP_EVENT_NAME), true);
    }
    if (state.len == 0) {
        return false;
    }
    tc_event_init(ev, TC_EVENT_CHECKPOINT);
    ev->train.state = state;
    ev->train.path = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_CHECKPOINT_PATH));
    ev->train.seconds = seconds_of(tc__otlp_get(r, TC__OTLP_CHECKPOINT_SECONDS));
    return true;
}

/*
 * A record that says at which step it was made. "step" alone may be anybody's (a pipeline's, a
 * wizard's): it counts with a rank, a phase or a duration of a step beside it.
 */
static bool read_step(const struct tc__otlp_record *r, struct tc_event *ev)
{
    static const uint64_t others = UINT64_C(1) << TC__OTLP_PHASE |
                                   UINT64_C(1) << TC__OTLP_ANY_PHASE |
                                   UINT64_C(1) << TC__OTLP_STEP_SECONDS;
    double number = 0;
    bool company = (r->attrs.came & others) != 0 || tc__otlp_get(r, TC__OTLP_RANK)->claim > 0;
    if (!tc__otlp_number(tc__otlp_own(&r->attrs, TC__OTLP_STEP), &number) &&
        !(tc__otlp_number(tc__otlp_own(&r->attrs, TC__OTLP_ANY_STEP), &number) && company)) {
        return false;
    }
    tc_event_init(ev, TC_EVENT_TRAIN_STEP);
    ev->train.seconds = seconds_of(tc__otlp_own(&r->attrs, TC__OTLP_STEP_SECONDS));
    return true;
}

static bool read_text(const struct tc__otlp *o, struct tc_slice text, struct tc_event *ev)
{
    for (size_t i = 0; i < BODY_LINES && text.len > 0; i++) {
        struct tc_slice line = tc_slice_cut(text, '\n', &text);
        /* The driver's line is no program's, whatever name of a process it quotes. */
        if (!tc_slice_starts(line, TC__KMSG_XID) && tc__train_text_read(&o->train.scan, line, ev)) {
            return true;
        }
    }
    return false;
}

enum origin {
    ORIGIN_KERNEL,  /* the attributes say that the kernel wrote it */
    ORIGIN_OOMD,    /* ... or systemd-oomd */
    ORIGIN_OTHER,   /* ... or that somebody else did */
    ORIGIN_UNKNOWN, /* they say nothing: the text decides */
};

/* "kern.log", "kern.log.1" */
static bool is_file(struct tc_slice name, struct tc_slice base)
{
    struct tc_slice rest = tc_slice_from(name, base.len);
    return tc_slice_starts(name, base) &&
           (rest.len == 0 || rest.ptr[0] == '.' || rest.ptr[0] == '-');
}

static enum origin origin_of(struct tc__otlp *o, const struct tc__otlp_record *r)
{
    static const uint64_t wanted = UINT64_C(1) << TC__OTLP_TRANSPORT |
                                   UINT64_C(1) << TC__OTLP_IDENTIFIER |
                                   UINT64_C(1) << TC__OTLP_FILE;
    if (((r->attrs.came | r->resource->attrs.came) & wanted) == 0) {
        return ORIGIN_UNKNOWN;
    }
    struct tc_slice said = own_text(o, r, TC__OTLP_TRANSPORT);
    struct tc_slice identifier = own_text(o, r, TC__OTLP_IDENTIFIER);
    said = said.len > 0 ? said : identifier;
    if (tc_slice_eq(identifier, S("systemd-oomd"))) {
        return ORIGIN_OOMD;
    }
    if (said.len > 0) {
        return tc_slice_eq(said, S("kernel")) ? ORIGIN_KERNEL : ORIGIN_OTHER;
    }
    struct tc_slice name = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_FILE));
    const char *slash = name.len == 0 ? NULL : memrchr(name.ptr, '/', name.len);
    if (slash != NULL) {
        name = tc_slice_from(name, (size_t)(slash - name.ptr) + 1);
    }
    bool kernels =
        is_file(name, S("kern.log")) || is_file(name, S("dmesg")) || tc_slice_eq(name, S("kmsg"));
    return kernels ? ORIGIN_KERNEL : ORIGIN_UNKNOWN;
}

static tc_status read_kubernetes(struct tc__otlp *o, const struct tc__otlp_record *r)
{
    TC_TRY(tc__otlp_flush(o));
    return tc__k8s_record(&o->decode, &r->resource->k8s, r->v);
}

/* JSON in a string: one of our events, an object of Kubernetes, or somebody's own. */
static tc_status read_json_text(struct tc__otlp *o, const struct tc__otlp_record *r)
{
    struct tc_slice text = tc_slice_trim(r->text);
    if (tc_codec_sniff(&tc_codec_event_json, text, true, TC_EMPTY) == TC_SNIFF_SURE &&
        tc_slice_find_byte(text, '\n') == TC_NPOS) {
        return tc__otlp_event_line(o, r, text);
    }
    return read_kubernetes(o, r);
}

static tc_status read_body(struct tc__otlp *o, const struct tc__otlp_record *r)
{
    struct tc_event ev;
    enum origin origin = origin_of(o, r);
    bool taken = false;
    if (origin == ORIGIN_KERNEL || origin == ORIGIN_OOMD) {
        TC_TRY(tc__otlp_kernel_record(
            o, r, origin == ORIGIN_KERNEL ? TC__OTLP_BY_KERNEL : TC__OTLP_BY_OOMD, &taken));
        return taken ? TC_OK : tc__decode_unknown(&o->decode, "no kernel message in this record");
    }
    if (read_training(o, r, &ev) || read_text(o, r->text, &ev) || read_step(r, &ev)) {
        return emit_training(o, r, &ev);
    }
    if (origin == ORIGIN_UNKNOWN) {
        TC_TRY(tc__otlp_kernel_record(o, r, TC__OTLP_BY_ANYBODY, &taken));
    }
    if (!taken && tc_slice_starts(tc_slice_trim(r->text), S("{"))) {
        return read_json_text(o, r);
    }
    return taken ? TC_OK : tc__decode_unknown(&o->decode, "a log record that no pattern reads");
}

/* A message of the journal that is not text: its bytes as numbers. */
static struct tc_slice message_of_bytes(struct tc__otlp *o, struct tc__value message)
{
    struct tc__value_iter it = tc__value_iter(message);
    struct tc__value byte;
    size_t len = 0;
    if (!message.there || it.pairs) {
        return TC_EMPTY;
    }
    while (len < TC_LINE_MAX && tc__value_next(&it, NULL, &byte)) {
        len++;
    }
    char *bytes = len == 0 ? NULL : tc_new(o->decode.out->scratch, char, len);
    it = tc__value_iter(message);
    for (size_t i = 0; i < len && bytes != NULL && tc__value_next(&it, NULL, &byte); i++) {
        int64_t value = tc__value_number(byte, -1);
        if (value < 0 || value > UINT8_MAX) {
            return TC_EMPTY;
        }
        bytes[i] = (char)(unsigned char)value;
    }
    return tc_slice_make(bytes, bytes == NULL ? 0 : len);
}

/* An object that k8sobjectsreceiver pulled. Of these an Event has a `message` as well. */
static bool is_object(struct tc__value body)
{
    return tc__value_string(body, S("apiVersion")).len > 0 &&
           tc__value_string(body, S("kind")).len > 0;
}

static tc_status read_record(struct tc__otlp *o, struct tc__otlp_record *r)
{
    enum tc_event_kind kind;
    if (r->attrs.has_k8s_event) {
        return read_kubernetes(o, r);
    }
    struct tc_slice named = own_text(o, r, TC__OTLP_KIND);
    if (named.len > 0 && tc_event_kind_parse(named, &kind)) {
        return tc__otlp_event(o, r, kind);
    }
    struct tc__value_iter fields = tc__value_iter(r->body);
    tc__otlp_attrs_add(o, fields, TC__OTLP_BOOST_BODY, &r->attrs);
    struct tc_slice message = own_text(o, r, TC__OTLP_MESSAGE);
    if (message.len == 0 && fields.pairs) {
        message = message_of_bytes(o, tc__value_get(r->body, S("MESSAGE")));
    }
    r->text = tc__value_text(r->body);
    struct tc_event ev;
    /* A structured body is the journal's, of training, or an object. Syslog's parser leaves the
     * line in the body and its message in an attribute. */
    bool parsed = message.len > 0 && tc__otlp_own(&r->attrs, TC__OTLP_IDENTIFIER)->claim > 0;
    if (!parsed && fields.pairs && message.len > 0 && is_object(r->body)) {
        return read_kubernetes(o, r);
    }
    if (parsed || (fields.pairs && message.len > 0)) {
        r->text = message;
    } else if (fields.pairs && !read_training(o, r, &ev) && !read_step(r, &ev)) {
        return read_kubernetes(o, r);
    }
    return read_body(o, r);
}

tc_status tc__otlp_record(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                          struct tc_slice json)
{
    if (json.len > RECORD_MAX) {
        if (o->decode.bad.status == TC_OK) {
            (void)tc_fail(&o->decode.bad, TC_E_LIMIT, o->decode.raw_offset,
                          "a log record of %zu bytes; the limit is %zu", json.len, RECORD_MAX);
        }
        return TC_OK;
    }
    struct tc__value record;
    TC_TRY(tc__decode_json(&o->decode, json, "a log record", &record));
    return record.there ? tc__otlp_record_read(o, resource, record) : TC_OK;
}

/* The members of a record in JSON. */
static void find_members(struct tc__otlp *o, struct tc__otlp_record *r)
{
    r->body = tc__value_get(r->v, S("body"));
    r->body.any = true;
    r->time_ns = tc__value_unix_nano(r->v, S("timeUnixNano"));
    r->observed_ns = tc__value_unix_nano(r->v, S("observedTimeUnixNano"));
    r->event_name = tc__value_string(r->v, S("eventName"));
    tc__otlp_attrs_add(o, tc__value_attributes(r->v), TC__OTLP_BOOST_ATTRIBUTE, &r->attrs);
}

static int64_t unix_nano(const struct tc__otlp_node *n)
{
    return n->integer > 0 && n->integer <= TC_TIME_MAX ? n->integer : TC_TIME_NONE;
}

/* The same on a tape, in one pass. */
static void find_nodes(struct tc__otlp *o, struct tc__otlp_record *r)
{
    const struct tc_otlp_tape *tape = r->v.v.doc;
    size_t end = tape->nodes[r->v.v.at].next;
    for (size_t at = r->v.v.at + 1; at < end; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        switch (n->keep) {
        case TC__OTLP_K_TIME:
            r->time_ns = unix_nano(n);
            break;
        case TC__OTLP_K_OBSERVED:
            r->observed_ns = unix_nano(n);
            break;
        case TC__OTLP_K_EVENT_NAME:
            r->event_name = tc__otlp_node_text(tape, n);
            break;
        case TC__OTLP_K_BODY:
            r->body = (struct tc__value){.v = {tape, at}, .there = true, .tape = true};
            break;
        case TC__OTLP_K_ATTRIBUTE:
            if (n->name == TC__OTLP_NAME_OTHER) {
                break;
            }
            tc__otlp_attrs_add_pair(o, tape, at, &r->attrs);
            break;
        default: /* kept for k8s/otlp.c */
            break;
        }
    }
}

tc_status tc__otlp_record_read(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                               struct tc__value record)
{
    struct tc__otlp_record r;
    r.resource = resource;
    r.v = record;
    r.body = (struct tc__value){0};
    r.time_ns = TC_TIME_NONE;
    r.observed_ns = TC_TIME_NONE;
    r.event_name = TC_EMPTY;
    r.attrs.came = 0;
    r.attrs.has_k8s_event = false;
    (record.tape ? find_nodes : find_members)(o, &r);
    tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
    tc_status status = read_record(o, &r);
    tc_arena_rewind(o->decode.out->scratch, mark);
    return status;
}
