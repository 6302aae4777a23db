/* SPDX-License-Identifier: Apache-2.0 */
/* What an event means to pod_evicted: the pressure of a node, an eviction, or nothing. */
#include "detect/finding_priv.h"
#include "detect/pod_evicted/priv.h"

/* What the node events of the kubelet say. */
static const struct {
    const char *reason;
    enum evict_condition condition;
    bool pressure;
} NODE_EVENTS[] = {
    {"NodeHasInsufficientMemory", EVICT_MEMORY_PRESSURE, true},
    {"NodeHasDiskPressure", EVICT_DISK_PRESSURE, true},
    {"NodeHasInsufficientPID", EVICT_PID_PRESSURE, true},
    {"NodeHasSufficientMemory", EVICT_MEMORY_PRESSURE, false},
    {"NodeHasNoDiskPressure", EVICT_DISK_PRESSURE, false},
    {"NodeHasSufficientPID", EVICT_PID_PRESSURE, false},
};

const char *const tc__evict_conditions[EVICT_NONE + 1] = {
    [EVICT_MEMORY_PRESSURE] = "MemoryPressure",
    [EVICT_DISK_PRESSURE] = "DiskPressure",
    [EVICT_PID_PRESSURE] = "PIDPressure",
};

static bool read_condition(const struct tc_event *ev, struct evict_news *out)
{
    int which = tc_slice_which(ev->k8s.type, tc__evict_conditions);
    out->condition = which < 0 ? EVICT_NONE : (enum evict_condition)which;
    out->pressure = tc_slice_eq(ev->k8s.status, TC_LIT("True"));
    out->sign.source = EVICT_BY_CONDITION;
    return out->condition != EVICT_NONE &&
           (out->pressure || tc_slice_eq(ev->k8s.status, TC_LIT("False")));
}

static bool read_node_event(const struct tc_event *ev, struct evict_news *out)
{
    out->node = out->node.len > 0 ? out->node : ev->k8s.object_name;
    if (tc_slice_eq(ev->k8s.reason, TC_LIT("EvictionThresholdMet"))) {
        struct tc_slice what = tc_slice_head(ev->k8s.message, EVICT_QUOTE_MAX);
        out->condition = tc__evict_condition(tc__evict_resource(what));
        out->pressure = true;
        out->sign.source = EVICT_BY_THRESHOLD;
        return out->condition != EVICT_NONE;
    }
    for (size_t i = 0; i < TC_COUNT(NODE_EVENTS); i++) {
        if (tc_slice_eq(ev->k8s.reason, tc_slice_cstr(NODE_EVENTS[i].reason))) {
            out->condition = NODE_EVENTS[i].condition;
            out->pressure = NODE_EVENTS[i].pressure;
            out->sign.source = EVICT_BY_NODE_EVENT;
            return true;
        }
    }
    return false;
}

bool tc__evict_read_news(const struct tc_event *ev, struct evict_news *out)
{
    *out = (struct evict_news){
        .node = ev->scope.node,
        .condition = EVICT_NONE,
        .since_ns = ev->time_ns,
        .sign = {.known = true, .time_ns = ev->time_ns, .raw = ev->raw},
    };
    if (ev->kind == TC_EVENT_POD_STATE) {
        return false;
    }
    out->sign.reason = tc__text_clip(ev->k8s.reason, EVICT_WORD_MAX);
    if (ev->kind == TC_EVENT_NODE_CONDITION) {
        return read_condition(ev, out);
    }
    /* An event that repeats stands for all the time since it was first seen. */
    if (ev->k8s.first_ns >= 0 && ev->k8s.first_ns < ev->time_ns) {
        out->since_ns = ev->k8s.first_ns;
    }
    return tc_slice_eq(ev->k8s.object_kind, TC_LIT("Node")) && read_node_event(ev, out);
}

bool tc__evict_is_worker(const struct tc_event *ev)
{
    return ev->scope.rank >= 0 || ev->scope.job.len > 0 || ev->scope.gpu_uuid.len > 0 ||
           (ev->kind == TC_EVENT_POD_STATE && ev->pod.gpus > 0);
}

bool tc__evict_read(const struct tc_event *ev, struct eviction *out)
{
    bool state = ev->kind == TC_EVENT_POD_STATE;
    struct tc_slice reason = state ? ev->pod.reason : ev->k8s.reason;
    if (ev->kind == TC_EVENT_NODE_CONDITION || !tc_slice_eq(reason, TC_LIT("Evicted"))) {
        return false;
    }
    *out = (struct eviction){
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .name = ev->scope.pod,
        .uid = ev->scope.pod_uid,
        .container = ev->scope.container,
        .event_uid = tc_slice_head(ev->uid, TC_SCOPE_TEXT_MAX),
        .message = state ? ev->pod.message : ev->k8s.message,
        .time_ns = ev->time_ns,
        .kind = ev->kind,
        .raw = ev->raw,
        .works = tc__evict_is_worker(ev),
    };
    if (!state) {
        bool about_pod = tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"));
        if (!about_pod && (ev->k8s.object_kind.len > 0 || out->name.len == 0)) {
            return false;
        }
        /* Only the kubelet evicts for want of something; all others because they were told to. */
        if (ev->k8s.component.len > 0 && !tc_slice_contains(ev->k8s.component, TC_LIT("kubelet"))) {
            return false;
        }
        out->name = out->name.len > 0 ? out->name : ev->k8s.object_name;
        out->uid = out->uid.len > 0 ? out->uid : ev->k8s.object_uid;
    }
    out->note = tc__evict_note(out->message);
    out->message = tc__text_clip(tc_slice_trim(out->message), EVICT_QUOTE_MAX);
    if (out->note.container.len > 0) {
        out->container = out->note.container;
    }
    return !out->note.planned;
}
