/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes through OpenTelemetry: the log records (found by the otlp codec, or
 * in YAML by k8s_yaml.c) of the Collector's k8seventsreceiver (a flattened Event) and
 * k8sobjectsreceiver (the object as an AnyValue, or as JSON in a string), and reading values in
 * either notation.
 */
#include "codec/k8s/k8s_priv.h"
#include "codec/otlp/tape_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

/* Severity numbers of the OpenTelemetry log data model. */
#define SEVERITY_INFO 9
#define SEVERITY_WARN 13
/* A double of less than this fits int64_t. */
#define INTEGER_DOUBLE_MAX 9.2e18

static struct tc_k8s_val member(struct tc_json v, struct tc_slice key, bool any)
{
    struct tc_k8s_val out = {.any = any};
    out.there = tc_json_get(v, key, &out.v);
    return out;
}

static const struct tc__otlp_node *node_of(struct tc_json v)
{
    return &((const struct tc_otlp_tape *)v.doc)->nodes[v.at];
}

/* A member of a message on a tape: by its name in JSON. Of one that came twice the last counts, as
 * protobuf has it. */
static struct tc_k8s_val tape_member(struct tc_k8s_val v, struct tc_slice key)
{
    const struct tc_otlp_tape *tape = v.v.doc;
    unsigned keep = tc__otlp_keep_by_name(key);
    struct tc_k8s_val out = {0};
    for (size_t at = v.v.at + 1; keep != TC__OTLP_K_NONE && at < node_of(v.v)->next;
         at = tape->nodes[at].next) {
        if (tape->nodes[at].keep == keep) {
            out = (struct tc_k8s_val){.v = {tape, at}, .there = true, .tape = true};
        }
    }
    return out;
}

struct tc_k8s_val tc__k8s_get(struct tc_k8s_val v, struct tc_slice key)
{
    if (!v.there) {
        return v;
    }
    if (v.tape && node_of(v.v)->type == TC__OTLP_N_MESSAGE) {
        return tape_member(v, key);
    }
    if (!v.tape && !v.any) {
        return member(v.v, key, false);
    }
    struct tc_k8s_iter it = tc__k8s_iter(v);
    struct tc_slice name;
    struct tc_k8s_val value;
    while (it.pairs && tc__k8s_next(&it, &name, &value)) {
        if (tc_slice_eq(name, key)) {
            return value;
        }
    }
    return (struct tc_k8s_val){0};
}

struct tc_slice tc__k8s_text(struct tc_k8s_val v)
{
    struct tc_slice s = TC_EMPTY;
    if (!v.there) {
        return s;
    }
    if (v.tape) {
        return node_of(v.v)->type == TC__OTLP_N_STRING ? tc__otlp_node_text(v.v.doc, node_of(v.v))
                                                       : s;
    }
    if (v.any) {
        return tc_json_get_string(v.v, S("stringValue"));
    }
    (void)tc_json_string(v.v, &s);
    return s;
}

struct tc_slice tc__k8s_string(struct tc_k8s_val v, struct tc_slice key)
{
    return tc__k8s_text(tc__k8s_get(v, key));
}

static int64_t tape_number(struct tc_k8s_val v, int64_t fallback)
{
    const struct tc__otlp_node *n = node_of(v.v);
    int64_t number = fallback;
    if (n->type == TC__OTLP_N_INT) {
        return n->integer;
    }
    if (n->type == TC__OTLP_N_DOUBLE && floor(n->number) == n->number &&
        fabs(n->number) < INTEGER_DOUBLE_MAX) {
        return (int64_t)n->number;
    }
    if (n->type == TC__OTLP_N_STRING) {
        (void)tc_slice_is_i64(tc__otlp_node_text(v.v.doc, n), &number);
    }
    return number;
}

int64_t tc__k8s_number(struct tc_k8s_val v, int64_t fallback)
{
    int64_t number = fallback;
    if (!v.there) {
        return fallback;
    }
    if (v.tape) {
        return tape_number(v, fallback);
    }
    if (!v.any) {
        (void)tc_json_int(v.v, &number);
        return number;
    }
    /* A pulled object passed through JSON on its way: its integers may be doubles. */
    static const struct tc_slice types[] = {
        {"intValue", sizeof "intValue" - 1},
        {"doubleValue", sizeof "doubleValue" - 1},
        {"stringValue", sizeof "stringValue" - 1},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct tc_k8s_val typed = member(v.v, types[i], false);
        if (typed.there && tc_json_int(typed.v, &number)) {
            break;
        }
    }
    return number;
}

int64_t tc__k8s_int(struct tc_k8s_val v, struct tc_slice key, int64_t fallback)
{
    return tc__k8s_number(tc__k8s_get(v, key), fallback);
}

struct tc_k8s_iter tc__k8s_iter(struct tc_k8s_val v)
{
    struct tc_k8s_iter out = {.it = {v.v, v.v, false}, .any = v.any};
    if (!v.there) {
        return out;
    }
    if (v.tape) {
        unsigned type = node_of(v.v)->type;
        out.tape = true;
        out.pairs = type == TC__OTLP_N_PAIRS;
        if (out.pairs || type == TC__OTLP_N_ARRAY) {
            out.it.now.at = v.v.at + 1;
            out.it.end.at = node_of(v.v)->next;
        }
        return out;
    }
    if (!v.any) {
        out.it = tc_json_iter_make(v.v);
        return out;
    }
    struct tc_k8s_val list = member(v.v, S("kvlistValue"), false);
    out.pairs = list.there;
    if (!list.there) {
        list = member(v.v, S("arrayValue"), false);
    }
    struct tc_k8s_val values = tc__k8s_get(list, S("values"));
    if (values.there) {
        out.it = tc_json_iter_make(values.v);
    }
    return out;
}

/* Of pairs only those of an attribute's or a list's count: a message has other members too. */
static bool tape_next(struct tc_k8s_iter *it, struct tc_slice *out_key, struct tc_k8s_val *out)
{
    const struct tc_otlp_tape *tape = it->it.now.doc;
    struct tc_slice key = TC_EMPTY;
    size_t at = it->it.now.at;
    while (at < it->it.end.at && it->pairs && tape->nodes[at].type != TC__OTLP_N_PAIR) {
        at = tape->nodes[at].next;
    }
    if (at >= it->it.end.at) {
        return false;
    }
    const struct tc__otlp_node *n = &tape->nodes[at];
    it->it.now.at = n->next;
    bool there = true;
    if (it->pairs) {
        key = tc__otlp_node_text(tape, n);
        there = n->next > at + 1;
        at++;
    }
    if (out_key != NULL) {
        *out_key = key;
    }
    *out = (struct tc_k8s_val){.v = {tape, at}, .there = there, .tape = true};
    return true;
}

bool tc__k8s_next(struct tc_k8s_iter *it, struct tc_slice *out_key, struct tc_k8s_val *out)
{
    if (it->tape) {
        return tape_next(it, out_key, out);
    }
    struct tc_slice key = TC_EMPTY;
    struct tc_k8s_val value = {.there = true, .any = it->any};
    if (!tc_json_iter_next(&it->it, &key, &value.v)) {
        return false;
    }
    if (it->pairs) {
        key = tc_json_get_string(value.v, S("key"));
        value = member(value.v, S("value"), true);
    }
    if (out_key != NULL) {
        *out_key = key;
    }
    *out = value;
    return true;
}

/* A list of {key, value}, as resources and records carry it, to be read as an object. */
struct tc_k8s_iter tc__k8s_attributes(struct tc_k8s_val owner)
{
    if (owner.tape && owner.there) {
        struct tc_json end = {owner.v.doc, node_of(owner.v)->next};
        struct tc_json now = {owner.v.doc, owner.v.at + 1};
        return (struct tc_k8s_iter){.it = {now, end, false}, .pairs = true, .tape = true};
    }
    struct tc_k8s_iter it = tc__k8s_iter(tc__k8s_get(owner, S("attributes")));
    it.pairs = !it.it.is_object;
    return it;
}

tc_status tc__k8s_resource(struct tc_k8s *k, struct tc_k8s_val resource,
                           struct tc_k8s_resource *out)
{
    struct tc_k8s_resource found = {0};
    const struct {
        struct tc_slice key;
        struct tc_slice *to;
    } wanted[] = {
        {S("k8s.node.name"), &found.node},          {S("k8s.namespace.name"), &found.ns},
        {S("k8s.object.kind"), &found.object_kind}, {S("k8s.object.name"), &found.object_name},
        {S("k8s.object.uid"), &found.object_uid},   {S("k8s.object.fieldpath"), &found.object_path},
    };
    struct tc_k8s_val value;
    struct tc_slice key;
    struct tc_k8s_iter it = tc__k8s_attributes(resource);
    while (tc__k8s_next(&it, &key, &value)) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            /* The first of a name counts, so that repeating one cannot fill the arena. */
            if (wanted[i].to->len == 0 && tc_slice_eq(key, wanted[i].key)) {
                *wanted[i].to = tc_arena_copy(k->out->scratch, tc__k8s_text(value));
            }
        }
    }
    if (!tc_arena_ok(k->out->scratch)) {
        return tc_fail(k->err, TC_E_LIMIT, k->raw_offset, "a resource's attributes are too long");
    }
    *out = found;
    return TC_OK;
}

/* What k8seventsreceiver puts beside the message. */
struct flat_event {
    bool found;
    struct tc_slice reason;
    struct tc_slice uid;
    struct tc_slice start_time;
    struct tc_slice controller;
    struct tc_slice instance;
    struct tc_slice ns;
    struct tc_k8s_val count;
};

static struct flat_event flat_event_read(struct tc_k8s_val record)
{
    struct flat_event e = {0};
    const struct {
        struct tc_slice key;
        struct tc_slice *to;
    } wanted[] = {
        {S("k8s.event.reason"), &e.reason},
        {S("k8s.event.uid"), &e.uid},
        {S("k8s.event.start_time"), &e.start_time},
        {S("k8s.event.reporting_controller"), &e.controller},
        {S("k8s.event.reporting_instance"), &e.instance},
        {S("k8s.namespace.name"), &e.ns},
    };
    struct tc_k8s_iter it = tc__k8s_attributes(record);
    struct tc_slice key;
    struct tc_k8s_val value;
    while (tc__k8s_next(&it, &key, &value)) {
        e.found = e.found || tc_slice_starts(key, S("k8s.event."));
        if (tc_slice_eq(key, S("k8s.event.count"))) {
            e.count = value;
        }
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            if (tc_slice_eq(key, wanted[i].key)) {
                *wanted[i].to = tc__k8s_text(value);
            }
        }
    }
    return e;
}

int64_t tc__k8s_unix_nano(struct tc_k8s_val v, struct tc_slice key)
{
    int64_t ns = tc__k8s_int(v, key, 0);
    return ns > 0 && ns <= TC_TIME_MAX ? ns : TC_TIME_NONE;
}

int64_t tc__k8s_record_time(struct tc_k8s_val record)
{
    int64_t ns = tc__k8s_unix_nano(record, S("timeUnixNano"));
    return ns != TC_TIME_NONE ? ns : tc__k8s_unix_nano(record, S("observedTimeUnixNano"));
}

static struct tc_slice severity(struct tc_k8s_val record)
{
    struct tc_slice text = tc__k8s_string(record, S("severityText"));
    if (text.len > 0) {
        return text;
    }
    int64_t number = tc__k8s_int(record, S("severityNumber"), 0);
    return number == SEVERITY_INFO   ? S("Normal")
           : number == SEVERITY_WARN ? S("Warning")
                                     : TC_EMPTY;
}

/*
 * The receiver stamps a record with the event's own time (eventTime, else
 * lastTimestamp, else firstTimestamp) and puts the creation of the Event object
 * into start_time: for a repeated event that is its first time, not its last.
 */
static tc_status flat_event_emit(struct tc_k8s *k, const struct tc_k8s_resource *resource,
                                 struct tc_k8s_val record, const struct flat_event *e)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    (void)tc__k8s_time(e->start_time, &ev.k8s.first_ns);
    ev.time_ns = tc__k8s_unix_nano(record, S("timeUnixNano"));
    if (ev.time_ns == TC_TIME_NONE) {
        ev.time_ns = ev.k8s.first_ns;
    }
    struct tc_k8s_val body = tc__k8s_get(record, S("body"));
    body.any = true;
    ev.uid = e->uid;
    ev.k8s.reason = e->reason;
    ev.k8s.type = severity(record);
    ev.k8s.message = tc__k8s_text(body);
    ev.k8s.object_kind = resource->object_kind;
    ev.k8s.object_name = resource->object_name;
    ev.k8s.object_uid = resource->object_uid;
    ev.k8s.component = e->controller;
    int64_t count = tc__k8s_number(e->count, 1);
    ev.k8s.count = count > 0 ? count : 1;
    if (ev.k8s.reason.len == 0 && ev.k8s.message.len == 0 && ev.k8s.object_name.len == 0) {
        return tc__k8s_unknown(k, "an Event without reason, message and object");
    }
    struct tc_slice node = resource->node;
    if (node.len == 0 && tc_slice_eq(e->controller, S("kubelet"))) {
        node = e->instance;
    }
    tc__k8s_scope(&ev, e->ns.len > 0 ? e->ns : resource->ns, node);
    ev.scope.container = tc__k8s_container(resource->object_path);
    return tc__k8s_emit(k, &ev);
}

/* The body as JSON text in a string. Its parse ends the record's: nothing of that is used after. */
static tc_status text_body(struct tc_k8s *k, struct tc_slice text)
{
    static const char why[] = "a log record that is not about a Kubernetes object";
    struct tc_slice json = tc_slice_trim(text);
    if (!tc_slice_starts(json, S("{"))) {
        return tc__k8s_unknown(k, why);
    }
    struct tc_slice copy = tc_arena_copy(k->out->scratch, json);
    if (!tc_arena_ok(k->out->scratch)) {
        return tc_fail(k->err, TC_E_LIMIT, k->raw_offset, "a log body of %zu bytes is too long",
                       json.len);
    }
    /* Text that only looks like JSON is somebody else's log line, not a broken file. */
    struct tc_k8s_val body = {.there = true};
    if (tc_json_parse(k->parser, copy, &body.v, NULL) != TC_OK) {
        return tc__k8s_unknown(k, why);
    }
    return tc__k8s_object(k, body);
}

static tc_status read_record(struct tc_k8s *k, const struct tc_k8s_resource *resource,
                             struct tc_k8s_val record)
{
    struct flat_event event = flat_event_read(record);
    if (event.found) {
        return flat_event_emit(k, resource, record, &event);
    }
    struct tc_k8s_val body = tc__k8s_get(record, S("body"));
    body.any = true;
    if (!body.there || !tc__k8s_iter(body).pairs) {
        return text_body(k, tc__k8s_text(body));
    }
    return tc__k8s_object(k, body);
}

tc_status tc__k8s_record(struct tc_k8s *k, const struct tc_k8s_resource *resource,
                         struct tc_k8s_val record)
{
    k->seen_ns = tc__k8s_record_time(record);
    tc_arena_mark mark = tc_arena_snapshot(k->out->scratch);
    tc_status status = read_record(k, resource, record);
    tc_arena_rewind(k->out->scratch, mark);
    k->seen_ns = TC_TIME_NONE;
    return status;
}
