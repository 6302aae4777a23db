/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of the kubelet and of what else of Kubernetes writes with klog: lines of text up to 1.18,
 * "message" key="value" since, or JSON. The table below has one row per wording, with the function
 * that reads it. Device plugins are read too: they tell which GPU the driver gave up.
 */
#include "codec/codec.h"

#include "base/format.h"
#include "base/json/raw.h"
#include "base/limits.h"
#include "codec/k8s/k8s_priv.h"
#include "codec/kubectl/priv.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"
#include "codec/otlp/json_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* Lines that decide what an input is, and where in them klog's head is looked for. */
#define SNIFF_LINES 600
#define HEAD_WITHIN 200
/* How far above an eviction what ran short is looked for. */
#define LOOK_BACK ((size_t)32 << 10)
#define WORDING_MAX 96
/* Of the cursor's own: the offset of the last line that says what ran short, plus 1. */
#define RECLAIM 0

/* A value without quotes and escapes; as it is written where there is no room. */
static struct tc_slice plain(struct tc__lines *w, struct tc_slice quoted)
{
    struct tc_slice inside = tc_slice_make(quoted.ptr + 1, quoted.len - 2);
    size_t len = 0;
    char *to = memchr(inside.ptr, '\\', inside.len) == NULL || w->out->arena == NULL
                   ? NULL
                   : tc_new(w->out->arena, char, inside.len + 1);
    return to != NULL && tc__json_unescape(inside, to, &len) ? tc_slice_make(to, len) : inside;
}

/* The value behind key= or "key":, of the message or of the JSON around it; "" when there is none.
 */
static struct tc_slice value_in(struct tc__lines *w, struct tc_slice text, struct tc_slice key)
{
    struct tc_slice rest = text;
    for (size_t hit = 0; (hit = tc_slice_find(rest, key)) != TC_NPOS;) {
        bool starts = hit == 0 || rest.ptr[hit - 1] == ' ' || rest.ptr[hit - 1] == '"';
        rest = tc_slice_from(rest, hit + key.len);
        size_t at = tc_slice_starts(rest, S("=")) ? 1 : tc_slice_starts(rest, S("\":")) ? 2 : 0;
        struct tc_slice value;
        if (!starts || at == 0) {
            continue;
        }
        struct tc_slice from = tc_slice_from(rest, at);
        at = 0;
        bool structured = from.len > 0 && strchr("\"{[", from.ptr[0]) != NULL;
        if (!structured) {
            return tc_slice_cut(from, ' ', &rest);
        }
        if (!tc_json_raw_value(from, &at, &value)) {
            return TC_EMPTY;
        }
        return value.ptr[0] == '"' ? plain(w, value) : value;
    }
    return TC_EMPTY;
}

static struct tc_slice value_of(struct tc__lines *w, const struct tc__line *line,
                                struct tc_slice key)
{
    struct tc_slice value = value_in(w, line->text, key);
    return value.len > 0 || line->text.ptr == line->raw.ptr ? value : value_in(w, line->raw, key);
}

static struct tc_slice json_string(struct tc__lines *w, struct tc_slice object, struct tc_slice key)
{
    struct tc_slice value;
    return tc_json_raw_get(object, key, &value) && value.len >= 2 && value.ptr[0] == '"'
               ? plain(w, value)
               : TC_EMPTY;
}

/* "ns/name", {"name":...,"namespace":...} or name_ns(uid) */
static bool read_pod_name(struct tc__lines *w, struct tc_slice text, struct tc_scope *out)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice rest;
    if (tc_slice_starts(text, S("{"))) {
        out->pod = json_string(w, text, S("name"));
        out->ns = json_string(w, text, S("namespace"));
    } else if (tc_slice_find_byte(text, '/') != TC_NPOS) {
        out->ns = tc_slice_cut(text, '/', &rest);
        out->pod = rest;
    } else if (tc__text_match(text, "{0*}_{1*}({2*})", got)) {
        out->pod = got[0];
        out->ns = got[1];
        out->pod_uid = got[2];
    }
    return tc__kubectl_is_name(out->pod) && out->pod_uid.len <= TC_SCOPE_TEXT_MAX;
}

/* The line is ours when it says something. */
static tc_status deliver(struct tc__lines *w, const struct tc__line *line, struct tc_event *ev,
                         bool *out_ours)
{
    *out_ours = true;
    return tc__lines_deliver(w, line, ev);
}

/* "must evict pod(s) to reclaim" is about the evictions below it: where it stands is remembered. */
static tc_status read_reclaim(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    if (tc_slice_contains(line->text, S("viction manager"))) {
        *out_ours = true;
        w->cursor->own[RECLAIM] = (uint64_t)(line->raw.ptr - w->in->bytes.ptr) + 1;
    }
    return TC_OK;
}

/* What the kubelet wanted back, by the nearest line above that says so. */
static struct tc_slice reclaimed(struct tc__lines *w, const struct tc__line *line)
{
    static const char *const resources[] = {
        "ephemeral-storage", "memory", "inodes", "pids", "nodefs", "imagefs", "containerfs"};
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    size_t from = (size_t)w->cursor->own[RECLAIM];
    struct tc_slice above;
    size_t next = 0;
    char *text = w->out->arena == NULL ? NULL : tc_new(w->out->arena, char, WORDING_MAX);
    if (from == 0 || from > at || at - from > LOOK_BACK || text == NULL ||
        !tc__line_cut(w->in->bytes, from - 1, &above, &next)) {
        return TC_EMPTY;
    }
    above = tc_slice_head(above, TC_LINE_MAX);
    size_t hit = tc_slice_find(above, S("to reclaim"));
    above = hit == TC_NPOS ? TC_EMPTY : tc_slice_from(above, hit);
    for (size_t i = 0; i < TC_COUNT(resources); i++) {
        if (tc_slice_contains(above, tc_slice_cstr(resources[i]))) {
            struct tc_buf b = tc_buf_make(text, WORDING_MAX);
            return tc_format(&b, "eviction manager: must evict pods to reclaim {}",
                             tc_slice_cstr(resources[i]));
        }
    }
    return TC_EMPTY;
}

static tc_status read_evicted(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("eviction manager: pod "));
    struct tc_slice pod = value_of(w, line, S("pod"));
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    if (at != TC_NPOS &&
        tc__text_match(tc_slice_from(line->text, at), "eviction manager: pod {0%p} ", got)) {
        pod = got[0];
    }
    if (!read_pod_name(w, pod, &ev.scope)) {
        return TC_OK;
    }
    ev.pod.phase = S("Failed");
    ev.pod.reason = S("Evicted");
    ev.pod.message = reclaimed(w, line);
    return deliver(w, line, &ev, out_ours);
}

/* condition={JSON}, and up to 1.18 {Type:Ready Status:False ... Reason:x Message:y}. */
static tc_status read_not_ready(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice condition = value_of(w, line, S("condition"));
    size_t at = tc_slice_find(line->text, S("{Type:"));
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.scope.node = value_of(w, line, S("node"));
    if (tc_slice_starts(condition, S("{"))) {
        ev.k8s.type = json_string(w, condition, S("type"));
        ev.k8s.status = json_string(w, condition, S("status"));
        ev.k8s.reason = json_string(w, condition, S("reason"));
        ev.k8s.message = json_string(w, condition, S("message"));
        (void)tc__k8s_time(json_string(w, condition, S("lastTransitionTime")), &ev.time_ns);
    } else if (at != TC_NPOS &&
               tc__text_match(tc_slice_from(line->text, at),
                              "%{Type:{0%w} Status:{1%w} *Reason:{2%w} Message:{3*}", got)) {
        ev.k8s.type = got[0];
        ev.k8s.status = got[1];
        ev.k8s.reason = got[2];
        ev.k8s.message =
            tc_slice_ends(got[3], S("}")) ? tc_slice_head(got[3], got[3].len - 1) : got[3];
    }
    return ev.k8s.type.len > 0 ? deliver(w, line, &ev, out_ours) : TC_OK;
}

/* What the kubelet's events about its node say of its conditions. */
static const struct {
    const char *reason;
    const char *type;
    const char *status;
} NODE_EVENTS[] = {
    {"NodeHasInsufficientMemory", "MemoryPressure", "True"},
    {"NodeHasSufficientMemory", "MemoryPressure", "False"},
    {"NodeHasDiskPressure", "DiskPressure", "True"},
    {"NodeHasNoDiskPressure", "DiskPressure", "False"},
    {"NodeHasInsufficientPID", "PIDPressure", "True"},
    {"NodeHasSufficientPID", "PIDPressure", "False"},
    {"NodeReady", "Ready", "True"},
    {"NodeNotReady", "Ready", "False"},
};

static tc_status read_recorded(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("Recording "));
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.scope.node = value_of(w, line, S("node"));
    ev.k8s.reason = value_of(w, line, S("event"));
    if (ev.k8s.reason.len == 0 && at != TC_NPOS &&
        tc__text_match(tc_slice_from(line->text, at),
                       "Recording {0%n} event message for node {1%w}", got)) {
        ev.k8s.reason = got[0];
        ev.scope.node = got[1];
    }
    size_t i = tc_slice_row(ev.k8s.reason, NODE_EVENTS, reason);
    if (i == TC_COUNT(NODE_EVENTS)) {
        return TC_OK;
    }
    ev.k8s.type = tc_slice_cstr(NODE_EVENTS[i].type);
    ev.k8s.status = tc_slice_cstr(NODE_EVENTS[i].status);
    return deliver(w, line, &ev, out_ours);
}

static tc_status deliver_k8s_event(struct tc__lines *w, const struct tc__line *line,
                                   struct tc_event *ev, struct tc_slice ns, bool *out_ours)
{
    ev->k8s.count = 1;
    tc__k8s_scope(ev, ns, TC_EMPTY);
    return ev->k8s.reason.len > 0 ? deliver(w, line, ev, out_ours) : TC_OK;
}

/* event.go of the controllers: "Event occurred" object="ns/name" kind= type= reason= message= */
static tc_status read_occurred(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice object = value_of(w, line, S("object"));
    size_t slash = tc_slice_find_byte(object, '/');
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.k8s.object_kind = value_of(w, line, S("kind"));
    ev.k8s.object_name = slash == TC_NPOS ? object : tc_slice_from(object, slash + 1);
    ev.k8s.type = value_of(w, line, S("type"));
    ev.k8s.reason = value_of(w, line, S("reason"));
    ev.k8s.message = value_of(w, line, S("message"));
    return deliver_k8s_event(w, line, &ev,
                             slash == TC_NPOS ? TC_EMPTY : tc_slice_head(object, slash), out_ours);
}

/* The same up to 1.18. */
static tc_status read_old_event(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice about[TC__TEXT_SLOTS];
    struct tc_slice said[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("ObjectReference{"));
    size_t type = tc_slice_find(line->text, S("): type: '"));
    if (at == TC_NPOS || type == TC_NPOS ||
        !tc__text_match(tc_slice_from(line->text, at),
                        "ObjectReference%{Kind:\"{0*}\", Namespace:\"{1*}\", Name:\"{2*}\", "
                        "UID:\"{3*}\"",
                        about) ||
        !tc__text_match(tc_slice_from(line->text, type), "): type: '{0*}' reason: '{1*}' {2*}",
                        said)) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.k8s.object_kind = about[0];
    ev.k8s.object_name = about[2];
    ev.k8s.object_uid = about[3];
    ev.k8s.type = said[0];
    ev.k8s.reason = said[1];
    ev.k8s.message = said[2];
    return deliver_k8s_event(w, line, &ev, about[1], out_ours);
}

/* The controller has not heard of the node for a while. */
static tc_status read_unheard(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("ode "));
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.scope.node = value_of(w, line, S("node"));
    if (ev.scope.node.len == 0 && at != TC_NPOS &&
        tc__text_match(tc_slice_from(line->text, at), "ode {0%n} hasn't been updated", got)) {
        ev.scope.node = got[0];
    }
    ev.k8s.type = S("Ready");
    ev.k8s.status = S("Unknown");
    ev.k8s.reason = S("NodeStatusUnknown");
    return ev.scope.node.len > 0 ? deliver(w, line, &ev, out_ours) : TC_OK;
}

/* event=&{Pid:2288413 ProcessName:python3 TimeOfDeath:... VictimContainerName:/kubepods... } */
static tc_status read_oom(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("{Pid:"));
    size_t victim = tc_slice_find(line->text, S("VictimContainerName:"));
    size_t constraint = tc_slice_find(line->text, S("Constraint:"));
    if (at == TC_NPOS || !tc__text_match(tc_slice_from(line->text, at),
                                         "%{Pid:{0%d} ProcessName:{1*} TimeOfDeath:", got)) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_OOM_KILL);
    (void)tc_slice_is_i64(got[0], &ev.scope.pid);
    ev.oom.process = got[1];
    ev.oom.message = line->text;
    if (tc__text_match(tc_slice_from(line->text, victim), "VictimContainerName:{0%w}", got)) {
        ev.oom.cgroup = got[0];
    }
    if (tc__text_match(tc_slice_from(line->text, constraint), "Constraint:{0CONSTRAINT_%n}", got)) {
        ev.oom.constraint =
            tc_slice_ends(got[0], S("}")) ? tc_slice_head(got[0], got[0].len - 1) : got[0];
    }
    return deliver(w, line, &ev, out_ours);
}

/* A pod that the node did not take says that the node is short of something. */
static tc_status read_refused(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    static const char *const types[] = {"MemoryPressure", "DiskPressure", "PIDPressure"};
    for (size_t i = 0; i < TC_COUNT(types); i++) {
        struct tc_event ev;
        if (!tc_slice_contains(line->text, tc_slice_cstr(types[i]))) {
            continue;
        }
        tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
        ev.k8s.type = tc_slice_cstr(types[i]);
        ev.k8s.status = S("True");
        ev.k8s.reason = S("FailedToAdmitPod");
        ev.k8s.message = line->text;
        TC_TRY(deliver(w, line, &ev, out_ours));
    }
    return TC_OK;
}

/* NVIDIA's device plugin: "XidCriticalError: Xid=79 on Device=GPU-..., the device will ..." */
static tc_status read_xid(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("XidCriticalError: Xid="));
    if (at == TC_NPOS ||
        !tc__text_match(tc_slice_from(line->text, at),
                        "XidCriticalError: Xid={0%d} on <Device|GPU>={1%w}", got)) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_XID);
    while (got[1].len > 0 &&
           (got[1].ptr[got[1].len - 1] == ';' || got[1].ptr[got[1].len - 1] == ':')) {
        got[1].len--;
    }
    ev.scope.gpu_uuid = got[1].len <= TC_SCOPE_TEXT_MAX ? got[1] : TC_EMPTY;
    ev.xid.message = tc_slice_from(line->text, at);
    return tc_slice_is_i64(got[0], &ev.xid.code) ? deliver(w, line, &ev, out_ours) : TC_OK;
}

/* Volumes whose server does not answer as before; files of containers have such words too. */
static tc_status read_volume(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    static const struct {
        const char *words;
        const char *fault;
    } faults[] = {
        {"tale file handle", "stale_handle"},
        {"tale NFS file handle", "stale_handle"},
        {"ransport endpoint is not connected", "not_connected"},
    };
    struct tc_event ev;
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find(line->text, S("for volume "));
    if (!tc_slice_contains(line->text, S("ountVolume")) &&
        !tc_slice_contains(line->text, S("volumes/kubernetes.io"))) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_STORAGE_ERROR);
    ev.fault.count = 1;
    ev.fault.message = line->text;
    if (at != TC_NPOS &&
        tc__text_match(tc_slice_from(line->text, at), "for volume <\\\"|\">{0%p}", got)) {
        ev.fault.device = tc_slice_head(got[0], tc_slice_find_byte(got[0], '"'));
        ev.fault.device = tc_slice_head(ev.fault.device, tc_slice_find_byte(ev.fault.device, '\\'));
    }
    for (size_t i = 0; i < TC_COUNT(faults); i++) {
        if (tc_slice_contains(line->text, tc_slice_cstr(faults[i].words))) {
            ev.fault.fault = tc_slice_cstr(faults[i].fault);
        }
    }
    return deliver(w, line, &ev, out_ours);
}

static const struct tc_slice LITERALS[] = {
    TC__LITERAL("evicted successfully"),
    TC__LITERAL("to reclaim"),
    TC__LITERAL("Node became not ready"),
    TC__LITERAL("event message for node"),
    TC__LITERAL("Event occurred"),
    TC__LITERAL("Event(v1.ObjectReference{"),
    TC__LITERAL("hasn't been updated for"),
    TC__LITERAL("Got sys oom event"),
    TC__LITERAL("Failed to admit pod"),
    TC__LITERAL("XidCriticalError: Xid="),
    TC__LITERAL("tale file handle"),
    TC__LITERAL("tale NFS file handle"),
    TC__LITERAL("ransport endpoint is not connected"),
};

/* In the order of LITERALS. */
static const tc__line_fn READERS[] = {
    read_evicted,   read_reclaim, read_not_ready, read_recorded, read_occurred,
    read_old_event, read_unheard, read_oom,       read_refused,  read_xid,
    read_volume,    read_volume,  read_volume,
};

_Static_assert(TC_COUNT(READERS) == TC_COUNT(LITERALS), "one reader per literal");

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    unsigned which = 0;
    if (tc_scan_next(&w->scan, line->text, 0, &which) == TC_NPOS) {
        return TC_OK;
    }
    return READERS[which](w, line, out_ours);
}

static const struct tc__line_reader READER = {
    .literals = LITERALS, .literal_count = TC_COUNT(LITERALS), .read = read_line};

/* "eviction_manager.go:376] ": klog, whatever is in front of it; JSON has "caller":"...go:376". */
static bool is_klog(struct tc_slice line)
{
    struct tc_slice head = tc_slice_head(line, HEAD_WITHIN);
    size_t at = tc_slice_find(head, S(".go:"));
    struct tc_slice got[TC__TEXT_SLOTS];
    return (at != TC_NPOS && tc__text_match(tc_slice_from(head, at), ".go:%d<] |\",>", got)) ||
           tc_slice_contains(head, S("/device-plugins/")) ||
           tc_slice_contains(head, S("device plugin for 'nvidia.com/"));
}

static int sniff(struct tc_codec_head head)
{
    struct tc_slice rest = head.bytes;
    if (tc__lines_count(&READER, head.bytes, 1) > 0) {
        return TC_SNIFF_LIKELY;
    }
    for (size_t lines = 0; lines < SNIFF_LINES && rest.len > 0; lines++) {
        if (is_klog(tc_slice_cut(rest, '\n', &rest))) {
            return TC_SNIFF_MAYBE;
        }
    }
    return TC_SNIFF_NO;
}

const struct tc_codec tc_codec_kubelet = {
    .name = "kubelet",
    .summary = "logs of the kubelet, of Kubernetes' controllers and of device plugins",
    .known_by = "klog's \"file.go:12]\", or a wording of the kubelet",
    .gives = "pod_state, node_condition, k8s_event, oom_kill, xid, storage_error",
    .example = "I0528 16:05:54.8 2269 eviction_manager.go:627] \"Eviction manager: pod is evicted "
               "successfully\" pod=\"train/worker-1\"",
    .ordered = true,
    .picks_lines = true,
    .sniff = sniff,
    .lines = &READER,
    .last_time = tc__lines_last_time,
};
