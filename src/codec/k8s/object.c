/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes objects to events: Event (core/v1 and events.k8s.io/v1), Pod,
 * Node. A field of the wrong type counts as absent: an object is given up only
 * when nothing of use is left of it.
 */
#include "codec/k8s/k8s_priv.h"

#include "codec/kmsg/kmsg_priv.h"
#include "codec/metric/map_priv.h"

#define S(literal) TC_LIT(literal)

/* The kubelet cuts the message of a container's end here. */
#define END_MESSAGE_MAX 4096

/* "2026-11-15 03:04:05.123 +0100 CET": the zone without the blank before it is one we know. */
static bool go_time(struct tc_slice text, int64_t *out)
{
    struct tc_slice zone;
    struct tc_slice clock;
    struct tc_slice date = tc_slice_cut(text, ' ', &clock);
    clock = tc_slice_cut(clock, ' ', &zone);
    zone = tc_slice_cut(zone, ' ', &(struct tc_slice){0});
    char bytes[64];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    tc_buf_str(&b, date);
    tc_buf_char(&b, 'T');
    tc_buf_str(&b, clock);
    tc_buf_str(&b, zone);
    return zone.len > 0 && !b.overflowed &&
           tc_time_parse(tc_buf_slice(&b), 0, out) == tc_buf_slice(&b).len;
}

bool tc__k8s_time(struct tc_slice text, int64_t *out)
{
    int64_t ns = 0;
    if (text.len == 0 || (tc_time_parse(text, 0, &ns) != text.len && !go_time(text, &ns))) {
        return false;
    }
    /* Kubernetes writes the zero time for "never". */
    if (ns <= 0) {
        return false;
    }
    *out = ns;
    return true;
}

/* Takes the time of a member unless a better one was found before. */
static void prefer(int64_t *io_ns, struct tc__value v, struct tc_slice key)
{
    if (*io_ns == TC_TIME_NONE) {
        (void)tc__k8s_time(tc__value_string(v, key), io_ns);
    }
}

struct tc_slice tc__k8s_container(struct tc_slice field_path)
{
    size_t brace = tc_slice_find_byte(field_path, '{');
    if (brace == TC_NPOS || !tc_slice_starts(field_path, S("spec.")) ||
        !tc_slice_ends(field_path, S("}")) ||
        !tc_slice_ends(tc_slice_head(field_path, brace), S("ontainers"))) {
        return TC_EMPTY;
    }
    return tc_slice_make(field_path.ptr + brace + 1, field_path.len - brace - 2);
}

void tc__k8s_scope(struct tc_event *ev, struct tc_slice ns, struct tc_slice node)
{
    ev->scope.node = node;
    if (tc_slice_eq(ev->k8s.object_kind, S("Pod"))) {
        ev->scope.ns = ns;
        ev->scope.pod = ev->k8s.object_name;
        ev->scope.pod_uid = ev->k8s.object_uid;
    } else if (tc_slice_eq(ev->k8s.object_kind, S("Node"))) {
        ev->scope.node = tc_slice_or(node, ev->k8s.object_name);
    }
}

/* The time of an Event: the last time it was seen, as far as it says so. */
static int64_t event_time(struct tc__value event, bool modern)
{
    struct tc__value series = tc__value_get(event, S("series"));
    int64_t ns = TC_TIME_NONE;
    if (!modern) {
        prefer(&ns, event, S("lastTimestamp"));
    }
    prefer(&ns, series, S("lastObservedTime"));
    prefer(&ns, event, S("eventTime"));
    prefer(&ns, event, S("deprecatedLastTimestamp"));
    prefer(&ns, event, S("firstTimestamp"));
    prefer(&ns, event, S("deprecatedFirstTimestamp"));
    prefer(&ns, tc__value_get(event, S("metadata")), S("creationTimestamp"));
    return ns;
}

static int64_t event_count(struct tc__value event, bool modern)
{
    int64_t series = tc__value_int(tc__value_get(event, S("series")), S("count"), 0);
    int64_t plain = tc__value_int(event, modern ? S("deprecatedCount") : S("count"), 0);
    int64_t first = modern ? series : plain;
    int64_t second = modern ? plain : series;
    if (first > 0) {
        return first;
    }
    return second > 0 ? second : 1;
}

/* Delivers an Event or a condition, and the line of the kernel that it quotes. */
static tc_status emit_with_quoted(struct tc__decode *d, struct tc_event *ev)
{
    struct tc_event quoted;
    TC_TRY(tc__decode_emit(d, ev));
    return tc__kmsg_quoted(ev, d->out->arena, &quoted) ? tc__decode_emit(d, &quoted) : TC_OK;
}

static tc_status read_event(struct tc__decode *d, struct tc__value event)
{
    struct tc__value meta = tc__value_get(event, S("metadata"));
    struct tc__value about = tc__value_get(event, S("involvedObject"));
    struct tc__value source = tc__value_get(event, S("source"));
    bool modern = !about.there &&
                  (tc__value_get(event, S("regarding")).there ||
                   tc_slice_starts(tc__value_string(event, S("apiVersion")), S("events.k8s.io/")));
    if (modern) {
        about = tc__value_get(event, S("regarding"));
        source = tc__value_get(event, S("deprecatedSource"));
    }
    struct tc_slice reporter = tc_slice_or(tc__value_string(event, S("reportingController")),
                                           tc__value_string(event, S("reportingComponent")));
    struct tc_slice emitter = tc__value_string(source, S("component"));

    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = event_time(event, modern);
    ev.uid = tc__value_string(meta, S("uid"));
    ev.k8s.reason = tc__value_string(event, S("reason"));
    ev.k8s.type = tc__value_string(event, S("type"));
    ev.k8s.message = tc__value_string(event, modern ? S("note") : S("message"));
    ev.k8s.object_kind = tc__value_string(about, S("kind"));
    ev.k8s.object_name = tc__value_string(about, S("name"));
    ev.k8s.object_uid = tc__value_string(about, S("uid"));
    ev.k8s.component = modern ? tc_slice_or(reporter, emitter) : tc_slice_or(emitter, reporter);
    ev.k8s.count = event_count(event, modern);
    prefer(&ev.k8s.first_ns, event, modern ? S("deprecatedFirstTimestamp") : S("firstTimestamp"));
    if (ev.k8s.count > 1) {
        prefer(&ev.k8s.first_ns, event, S("eventTime")); /* when a series began */
    }
    if (ev.k8s.reason.len == 0 && ev.k8s.message.len == 0 && ev.k8s.object_name.len == 0) {
        return tc__decode_unknown(d, "an Event without reason, message and object");
    }

    struct tc_slice node = tc__value_string(source, S("host"));
    /* Only a kubelet reports under the name of its node; others give their pod's. */
    if (node.len == 0 && tc_slice_eq(ev.k8s.component, S("kubelet"))) {
        node = tc__value_string(event, S("reportingInstance"));
    }
    tc__k8s_scope(&ev,
                  tc_slice_or(tc__value_string(about, S("namespace")),
                              tc__value_string(meta, S("namespace"))),
                  node);
    ev.scope.container = tc__k8s_container(tc__value_string(about, S("fieldPath")));
    return emit_with_quoted(d, &ev);
}

/* The ends of containers, oldest first: the run before, then this one; init containers first. */
struct ends {
    struct tc__value status;
    struct tc__value_iter it;
    struct tc__value container;
    unsigned list;
    bool open; /* `it` walks list number `list` */
    bool last; /* lastState was given, state comes next */
};

static bool next_end(struct ends *e, struct tc_slice *out_name, struct tc__value *out)
{
    static const struct tc_slice lists[] = {
        {"initContainerStatuses", sizeof "initContainerStatuses" - 1},
        {"containerStatuses", sizeof "containerStatuses" - 1},
        {"ephemeralContainerStatuses", sizeof "ephemeralContainerStatuses" - 1},
    };
    while (e->list < TC_COUNT(lists)) {
        if (!e->open) {
            e->it = tc__value_iter(tc__value_get(e->status, lists[e->list]));
            e->open = true;
        }
        if (!e->last && !tc__value_next(&e->it, NULL, &e->container)) {
            e->list++;
            e->open = false;
            continue;
        }
        e->last = !e->last;
        struct tc__value state = tc__value_get(e->container, e->last ? S("lastState") : S("state"));
        *out = tc__value_get(state, S("terminated"));
        *out_name = tc__value_string(e->container, S("name"));
        if (out->there) {
            return true;
        }
    }
    return false;
}

bool tc__k8s_ended_badly(struct tc_slice reason, int64_t exit_code)
{
    return exit_code > 0 || tc_slice_eq(reason, S("OOMKilled")) ||
           tc_slice_eq(reason, S("Error")) || tc_slice_eq(reason, S("ContainerCannotRun"));
}

int64_t tc__k8s_exit_signal(int64_t exit_code)
{
    return exit_code > 128 && exit_code < 160 ? exit_code - 128 : 0;
}

static bool ended_badly(struct tc__value end)
{
    return tc__value_int(end, S("exitCode"), 0) != 0 ||
           tc__k8s_ended_badly(tc__value_string(end, S("reason")), 0);
}

/* What the conditions of a pod say about its end. */
struct pod_conditions {
    struct tc_slice reason; /* of DisruptionTarget, when that is True */
    struct tc_slice message;
    bool disrupted;
    int64_t disrupted_ns;
    int64_t not_ready_ns; /* the latest loss of readiness */
};

static void pod_conditions_read(struct tc__value status, struct pod_conditions *out)
{
    *out = (struct pod_conditions){.disrupted_ns = TC_TIME_NONE, .not_ready_ns = TC_TIME_NONE};
    struct tc__value_iter it = tc__value_iter(tc__value_get(status, S("conditions")));
    struct tc__value condition;
    while (tc__value_next(&it, NULL, &condition)) {
        struct tc_slice type = tc__value_string(condition, S("type"));
        struct tc_slice value = tc__value_string(condition, S("status"));
        int64_t ns = TC_TIME_NONE;
        prefer(&ns, condition, S("lastTransitionTime"));
        if (tc_slice_eq(type, S("DisruptionTarget")) && tc_slice_eq(value, S("True"))) {
            out->disrupted = true;
            out->disrupted_ns = ns;
            out->reason = tc__value_string(condition, S("reason"));
            out->message = tc__value_string(condition, S("message"));
        } else if ((tc_slice_eq(type, S("Ready")) || tc_slice_eq(type, S("ContainersReady"))) &&
                   tc_slice_eq(value, S("False")) && ns > out->not_ready_ns) {
            out->not_ready_ns = ns;
        }
    }
}

/*
 * Why the pod was disrupted. The kubelet ends pods for want of something, for its own shutdown and
 * to make room for critical ones under one reason; of a pod that failed without saying why (it
 * happens: kubernetes#105467), the note tells which it was.
 */
static struct tc_slice disruption_reason(const struct pod_conditions *c, struct tc_slice phase)
{
    bool failed =
        tc_slice_eq(c->reason, S("TerminationByKubelet")) && tc_slice_eq(phase, S("Failed"));
    return failed && tc_slice_contains_any(
                         c->message, "The node was low on resource:", "The node had condition:",
                         "ephemeral local storage usage exceeds", "Usage of EmptyDir volume",
                         "exceeded its local ephemeral storage limit")
               ? S("Evicted")
               : c->reason;
}

/*
 * When the deletion of the pod was asked for: what ended from then on ended because of that. The
 * API server writes down when it will be over, the grace period included. TC_TIME_NONE for a pod
 * that nobody deleted.
 */
static int64_t deletion_request(struct tc__value meta)
{
    int64_t ns = TC_TIME_NONE;
    prefer(&ns, meta, S("deletionTimestamp"));
    int64_t grace_s = tc__value_int(meta, S("deletionGracePeriodSeconds"), 0);
    if (ns == TC_TIME_NONE || grace_s <= 0) {
        return ns;
    }
    return grace_s < ns / TC_SECOND ? ns - grace_s * TC_SECOND : 0;
}

/* The pod's start is the last resort: when the record was made is closer to its end. */
static int64_t pod_time(const struct tc__decode *d, struct tc__value pod,
                        const struct pod_conditions *conditions, int64_t finished_ns)
{
    int64_t ns = conditions->disrupted_ns;
    if (ns == TC_TIME_NONE) {
        /* TC_TIME_NONE is less than any time. */
        ns = finished_ns > conditions->not_ready_ns ? finished_ns : conditions->not_ready_ns;
    }
    ns = ns == TC_TIME_NONE ? d->seen_ns : ns;
    prefer(&ns, tc__value_get(pod, S("status")), S("startTime"));
    prefer(&ns, tc__value_get(pod, S("metadata")), S("creationTimestamp"));
    return ns;
}

/* A container that ended as it was told to: why it ended goes into the message. */
static void mark_deleted(struct tc__decode *d, struct tc_ev_pod *pod)
{
    /* A longer one is not the kubelet's, and must not fill the scratch arena. */
    bool both = pod->reason.len > 0 && pod->message.len > 0 && pod->message.len <= END_MESSAGE_MAX;
    pod->message = both ? tc__join(d->out->scratch, pod->reason, S(": "), pod->message)
                        : tc_slice_or(pod->reason, pod->message);
    pod->reason = S("Deleted");
}

/* One event for each container that ended badly; `base` has what they share. */
static tc_status emit_ends(struct tc__decode *d, struct tc__value status,
                           const struct tc_event *base, int64_t deletion_ns)
{
    struct ends ends = {.status = status};
    struct tc__value end;
    struct tc_slice name;
    while (next_end(&ends, &name, &end)) {
        if (!ended_badly(end)) {
            continue;
        }
        struct tc_event ev = *base;
        int64_t ns = TC_TIME_NONE;
        prefer(&ns, end, S("finishedAt"));
        ev.time_ns = ns == TC_TIME_NONE ? base->time_ns : ns;
        ev.scope.container = name;
        ev.uid = base->uid.len == 0 ? TC_EMPTY : tc__join(d->out->scratch, base->uid, S("/"), name);
        ev.pod.reason = tc__value_string(end, S("reason"));
        ev.pod.message = tc__value_string(end, S("message"));
        ev.pod.exit_code = tc__value_int(end, S("exitCode"), -1);
        ev.pod.signal = tc__value_int(end, S("signal"), 0);
        if (ev.pod.signal == 0) {
            ev.pod.signal = tc__k8s_exit_signal(ev.pod.exit_code);
        }
        if (deletion_ns != TC_TIME_NONE && ns != TC_TIME_NONE && ns >= deletion_ns) {
            mark_deleted(d, &ev.pod);
        }
        TC_TRY(tc__decode_emit(d, &ev));
    }
    return TC_OK;
}

static tc_status read_pod(struct tc__decode *d, struct tc__value pod)
{
    struct tc__value meta = tc__value_get(pod, S("metadata"));
    struct tc__value status = tc__value_get(pod, S("status"));
    if (!status.there) {
        return tc__decode_unknown(d, "a Pod without a status");
    }
    TC_TRY(tc__k8s_pod_ranks(d, pod, tc__k8s_pod_gpu(pod)));
    TC_TRY(tc__k8s_pod_addresses(d, pod));
    struct pod_conditions conditions;
    pod_conditions_read(status, &conditions);
    int64_t finished_ns = TC_TIME_NONE;
    size_t bad = 0;
    struct ends ends = {.status = status};
    struct tc__value end;
    for (struct tc_slice name; next_end(&ends, &name, &end);) {
        int64_t ns = TC_TIME_NONE;
        /* The end of a run before this one says nothing about the end of the pod. */
        if (!ends.last) {
            prefer(&ns, end, S("finishedAt"));
        }
        finished_ns = ns > finished_ns ? ns : finished_ns;
        bad += ended_badly(end);
    }
    struct tc_slice phase = tc__value_string(status, S("phase"));
    struct tc_slice reason = tc__value_string(status, S("reason"));
    /* A pod that failed without saying why failed with its containers: they are the news. */
    int64_t deletion_ns = deletion_request(meta);
    bool failed = bad == 0 && deletion_ns == TC_TIME_NONE && tc_slice_eq(phase, S("Failed"));
    /* That it did its work is news to whoever waits for it; that it runs tells its name to those
     * who know its uid. */
    bool runs = bad == 0 && deletion_ns == TC_TIME_NONE && tc_slice_eq(phase, S("Running"));
    bool own = reason.len > 0 || conditions.disrupted || failed || runs ||
               tc_slice_eq(phase, S("Succeeded"));
    if (!own && bad == 0) {
        return TC_OK;
    }

    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = pod_time(d, pod, &conditions, finished_ns);
    ev.uid = tc__value_string(meta, S("uid"));
    ev.scope.node = tc__value_string(tc__value_get(pod, S("spec")), S("nodeName"));
    ev.scope.ns = tc__value_string(meta, S("namespace"));
    ev.scope.pod = tc__value_string(meta, S("name"));
    ev.scope.pod_uid = ev.uid;
    ev.scope.gpu_uuid = tc__k8s_pod_gpu(pod);
    ev.pod.phase = phase;
    ev.pod.gpus = tc__k8s_pod_gpus(pod);
    TC_TRY(emit_ends(d, status, &ev, deletion_ns));
    if (!own) {
        return TC_OK;
    }
    ev.pod.reason = tc_slice_or(reason, disruption_reason(&conditions, phase));
    ev.pod.message = tc_slice_or(tc__value_string(status, S("message")), conditions.message);
    return tc__decode_emit(d, &ev);
}

static struct tc__node_place place_of(struct tc__value labels)
{
    struct tc__node_place place = {.rack_claim = 0};
    struct tc__value_iter it = tc__value_iter(labels);
    struct tc_slice key;
    struct tc__value value;
    while (tc__value_next(&it, &key, &value)) {
        tc__node_place_label(&place, key, tc__value_text(value));
    }
    return place;
}

static tc_status read_node(struct tc__decode *d, struct tc__value node)
{
    struct tc__value meta = tc__value_get(node, S("metadata"));
    struct tc_slice name = tc__value_string(meta, S("name"));
    struct tc__node_place place = place_of(tc__value_get(meta, S("labels")));
    struct tc__value_iter it =
        tc__value_iter(tc__value_get(tc__value_get(node, S("status")), S("conditions")));
    struct tc__value condition;
    size_t count = 0;
    TC_TRY(tc__k8s_node_addresses(d, node));
    while (name.len > 0 && tc__value_next(&it, NULL, &condition)) {
        struct tc_slice type = tc__value_string(condition, S("type"));
        if (type.len == 0) {
            continue;
        }
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
        prefer(&ev.time_ns, condition, S("lastTransitionTime"));
        ev.uid = tc__join(d->out->scratch, name, S("/"), type);
        ev.scope.node = name;
        ev.k8s.type = type;
        ev.k8s.rack = place.rack;
        ev.k8s.zone = place.zone;
        ev.k8s.status = tc__value_string(condition, S("status"));
        ev.k8s.reason = tc__value_string(condition, S("reason"));
        ev.k8s.message = tc__value_string(condition, S("message"));
        TC_TRY(emit_with_quoted(d, &ev));
        count++;
    }
    return count > 0 ? TC_OK : tc__decode_unknown(d, "a Node without a name or conditions");
}

/*
 * The kind alone does not decide: audit logs have Events and storage systems
 * have Nodes of their own. The items of a typed list (PodList) have neither
 * kind nor version and are known by their shape.
 */
static tc_status read_object(struct tc__decode *d, struct tc__value object)
{
    struct tc_slice kind = tc__value_string(object, S("kind"));
    struct tc_slice version = tc__value_string(object, S("apiVersion"));
    bool core = version.len == 0 || tc_slice_eq(version, S("v1"));
    if (kind.len == 0 && core) {
        if (tc__value_get(object, S("involvedObject")).there ||
            tc__value_get(object, S("regarding")).there) {
            kind = S("Event");
        } else if (tc__value_get(tc__value_get(object, S("spec")), S("containers")).there) {
            kind = S("Pod");
        } else if (tc__value_get(tc__value_get(object, S("status")), S("nodeInfo")).there) {
            kind = S("Node");
        }
    }
    if (tc_slice_eq(kind, S("Event")) && (core || tc_slice_starts(version, S("events.k8s.io/")))) {
        return read_event(d, object);
    }
    if (core && tc_slice_eq(kind, S("Pod"))) {
        return read_pod(d, object);
    }
    if (core && tc_slice_eq(kind, S("Node"))) {
        return read_node(d, object);
    }
    if (tc_slice_eq(kind, S("Namespace"))) {
        return tc__decode_unknown(d, "a Namespace says nothing we use");
    }
    return tc__decode_unknown(d, kind.len == 0 ? "not a Kubernetes object"
                                               : "an object of a kind that says nothing we use");
}

tc_status tc__k8s_object(struct tc__decode *d, struct tc__value item)
{
    struct tc__value object = tc__value_get(item, S("object"));
    bool watch = object.there && tc__value_string(item, S("type")).len > 0 &&
                 !tc__value_get(item, S("kind")).there;
    tc_arena_mark mark = tc_arena_snapshot(d->out->scratch);
    tc_status status = read_object(d, watch ? object : item);
    tc_arena_rewind(d->out->scratch, mark);
    return status;
}

tc_status tc__k8s_item(struct tc__decode *d, struct tc_slice json)
{
    struct tc__value item = {0};
    TC_TRY(tc__decode_json(d, json, "a Kubernetes object", &item));
    return item.there ? tc__k8s_object(d, item) : TC_OK;
}
