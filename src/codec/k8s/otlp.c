/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes through OpenTelemetry: the log records (found by the otlp codec, or
 * in YAML by yaml.c) of the Collector's k8seventsreceiver (a flattened Event) and
 * k8sobjectsreceiver (the object as an AnyValue, or as JSON in a string).
 */
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)

/* Severity numbers of the OpenTelemetry log data model. */
#define SEVERITY_INFO 9
#define SEVERITY_WARN 13

tc_status tc__k8s_resource(struct tc__decode *d, struct tc__value resource,
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
    struct tc__value value;
    struct tc_slice key;
    struct tc__value_iter it = tc__value_attributes(resource);
    while (tc__value_next(&it, &key, &value)) {
        for (size_t i = 0; i < TC_COUNT(wanted); i++) {
            /* The first of a name counts, so that repeating one cannot fill the arena. */
            if (wanted[i].to->len == 0 && tc_slice_eq(key, wanted[i].key)) {
                *wanted[i].to = tc_arena_copy(d->out->scratch, tc__value_text(value));
            }
        }
    }
    if (!tc_arena_ok(d->out->scratch)) {
        return tc_fail(d->err, TC_E_LIMIT, d->raw_offset, "a resource's attributes are too long");
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
    struct tc__value count;
};

static struct flat_event flat_event_read(struct tc__value record)
{
    struct flat_event e = {0};
    const struct {
        const char *key;
        struct tc_slice *to;
    } wanted[] = {
        {"k8s.event.reason", &e.reason},
        {"k8s.event.uid", &e.uid},
        {"k8s.event.start_time", &e.start_time},
        {"k8s.event.reporting_controller", &e.controller},
        {"k8s.event.reporting_instance", &e.instance},
        {"k8s.namespace.name", &e.ns},
    };
    struct tc__value_iter it = tc__value_attributes(record);
    struct tc_slice key;
    struct tc__value value;
    while (tc__value_next(&it, &key, &value)) {
        e.found = e.found || tc_slice_starts(key, S("k8s.event."));
        if (tc_slice_eq(key, S("k8s.event.count"))) {
            e.count = value;
        }
        size_t i = tc_slice_row(key, wanted, key);
        if (i < TC_COUNT(wanted)) {
            *wanted[i].to = tc__value_text(value);
        }
    }
    return e;
}

static int64_t k8s_record_time(struct tc__value record)
{
    int64_t ns = tc__value_unix_nano(record, S("timeUnixNano"));
    return ns != TC_TIME_NONE ? ns : tc__value_unix_nano(record, S("observedTimeUnixNano"));
}

static struct tc_slice severity(struct tc__value record)
{
    struct tc_slice text = tc__value_string(record, S("severityText"));
    if (text.len > 0) {
        return text;
    }
    int64_t number = tc__value_int(record, S("severityNumber"), 0);
    return number == SEVERITY_INFO   ? S("Normal")
           : number == SEVERITY_WARN ? S("Warning")
                                     : TC_EMPTY;
}

/*
 * The receiver stamps a record with the event's own time (eventTime, else
 * lastTimestamp, else firstTimestamp) and puts the creation of the Event object
 * into start_time: for a repeated event that is its first time, not its last.
 */
static tc_status flat_event_emit(struct tc__decode *d, const struct tc_k8s_resource *resource,
                                 struct tc__value record, const struct flat_event *e)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    (void)tc__k8s_time(e->start_time, &ev.k8s.first_ns);
    ev.time_ns = tc__value_unix_nano(record, S("timeUnixNano"));
    if (ev.time_ns == TC_TIME_NONE) {
        ev.time_ns = ev.k8s.first_ns;
    }
    struct tc__value body = tc__value_get(record, S("body"));
    body.any = true;
    ev.uid = e->uid;
    ev.k8s.reason = e->reason;
    ev.k8s.type = severity(record);
    ev.k8s.message = tc__value_text(body);
    ev.k8s.object_kind = resource->object_kind;
    ev.k8s.object_name = resource->object_name;
    ev.k8s.object_uid = resource->object_uid;
    ev.k8s.component = e->controller;
    int64_t count = tc__value_number(e->count, 1);
    ev.k8s.count = count > 0 ? count : 1;
    if (ev.k8s.reason.len == 0 && ev.k8s.message.len == 0 && ev.k8s.object_name.len == 0) {
        return tc__decode_unknown(d, "an Event without reason, message and object");
    }
    struct tc_slice node = resource->node;
    if (node.len == 0 && tc_slice_eq(e->controller, S("kubelet"))) {
        node = e->instance;
    }
    tc__k8s_scope(&ev, e->ns.len > 0 ? e->ns : resource->ns, node);
    ev.scope.container = tc__k8s_container(resource->object_path);
    return tc__decode_emit(d, &ev);
}

/* The body as JSON text in a string. Its parse ends the record's: nothing of that is used after. */
static tc_status text_body(struct tc__decode *d, struct tc_slice text)
{
    static const char why[] = "a log record that is not about a Kubernetes object";
    struct tc_slice json = tc_slice_trim(text);
    if (!tc_slice_starts(json, S("{"))) {
        return tc__decode_unknown(d, why);
    }
    struct tc_slice copy = tc_arena_copy(d->out->scratch, json);
    if (!tc_arena_ok(d->out->scratch)) {
        return tc_fail(d->err, TC_E_LIMIT, d->raw_offset, "a log body of %zu bytes is too long",
                       json.len);
    }
    /* Text that only looks like JSON is somebody else's log line, not a broken file. */
    struct tc__value body = {.there = true};
    if (tc_json_parse(d->parser, copy, &body.v, NULL) != TC_OK) {
        return tc__decode_unknown(d, why);
    }
    return tc__k8s_object(d, body);
}

static tc_status read_record(struct tc__decode *d, const struct tc_k8s_resource *resource,
                             struct tc__value record)
{
    struct flat_event event = flat_event_read(record);
    if (event.found) {
        return flat_event_emit(d, resource, record, &event);
    }
    struct tc__value body = tc__value_get(record, S("body"));
    body.any = true;
    if (!body.there || !tc__value_iter(body).pairs) {
        return text_body(d, tc__value_text(body));
    }
    return tc__k8s_object(d, body);
}

tc_status tc__k8s_record(struct tc__decode *d, const struct tc_k8s_resource *resource,
                         struct tc__value record)
{
    d->seen_ns = k8s_record_time(record);
    tc_arena_mark mark = tc_arena_snapshot(d->out->scratch);
    tc_status status = read_record(d, resource, record);
    tc_arena_rewind(d->out->scratch, mark);
    d->seen_ns = TC_TIME_NONE;
    return status;
}
