/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of tables, by their shape:
 *
 *   [NS] AGE [(xN over AGE)] Normal|Warning REASON kind/name MESSAGE          get events, events
 *   ... [SUBOBJECT] SOURCE MESSAGE FIRST COUNT name.hash                      -o wide
 *   LAST FIRST COUNT name.hash Kind [SUBOBJECT] Normal|Warning REASON ...     up to kubectl 1.13
 *   Normal|Warning REASON AGE [(xN over AGE)] FROM MESSAGE                    describe
 *   [NS] NAME 0/1 STATUS RESTARTS [(AGE ago)] AGE [IP NODE ...]               get pods
 *   NAME Ready|NotReady[,...] ROLES AGE v1.30.2                               get nodes
 *   TYPE True|False|Unknown DATE DATE REASON MESSAGE                          describe node
 *   NAME <tab> Evicted <tab> MESSAGE                                          jsonpath
 *
 * Rows of no such shape are read by the titles above them.
 */
#include "base/time.h"
#include "codec/k8s/k8s_priv.h"
#include "codec/kubectl/priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

struct words {
    struct tc_slice at[TC__KUBECTL_WORDS];
    size_t count;
};

static struct tc_slice word(const struct words *w, size_t i)
{
    return i < w->count ? w->at[i] : TC_EMPTY;
}

/* From a word to the end of the line. */
static struct tc_slice from_word(struct tc_slice text, const struct words *w, size_t i)
{
    return i < w->count ? tc_slice_from(text, (size_t)(w->at[i].ptr - text.ptr)) : TC_EMPTY;
}

static bool is_type(struct tc_slice s)
{
    return tc_slice_eq(s, S("Normal")) || tc_slice_eq(s, S("Warning"));
}

/* "Evicted", "FailedMount": how reasons and phases are written. */
bool tc__kubectl_is_reason(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == ':' || c == '/' || c == '-' ||
                                    c == '_' || c == '.'))) {
            return false;
        }
    }
    return s.len > 0 && s.ptr[0] >= 'A' && s.ptr[0] <= 'Z';
}

/* Unknown, invalid or made unreadable. */
bool tc__kubectl_is_placeholder(struct tc_slice s)
{
    return s.len > 2 && s.ptr[0] == '<' && s.ptr[s.len - 1] == '>';
}

static bool is_age(struct tc_slice s)
{
    int64_t ns = 0;
    return tc__kubectl_age(s, &ns) || tc__kubectl_is_placeholder(s);
}

int64_t tc__kubectl_ago(const struct tc__kubectl_line *line, struct tc_slice age)
{
    int64_t ns = 0;
    bool known = tc_time_is_date(line->now_ns) && tc__kubectl_age(age, &ns) && ns <= line->now_ns;
    return known ? line->now_ns - ns : line->time_ns;
}

/* "1/2" */
static bool is_ratio(struct tc_slice s)
{
    struct tc_slice rest;
    uint64_t number = 0;
    struct tc_slice head = tc_slice_cut(s, '/', &rest);
    return tc_slice_is_u64(head, &number) && tc_slice_is_u64(rest, &number);
}

/* When and how often: "31m", "31m (x40 over 5h)", at an age. Returns the words used. */
static size_t read_seen(const struct tc__kubectl_line *line, const struct words *w, size_t at,
                        struct tc_event *ev)
{
    struct tc_slice times = word(w, at + 1);
    struct tc_slice since = word(w, at + 3);
    uint64_t count = 0;
    ev->time_ns = tc__kubectl_ago(line, word(w, at));
    if (!tc_slice_starts(times, S("(x")) || !tc_slice_eq(word(w, at + 2), S("over")) ||
        !tc_slice_ends(since, S(")")) || !tc_slice_is_u64(tc_slice_from(times, 2), &count) ||
        count > INT64_MAX) {
        return 1;
    }
    ev->k8s.count = (int64_t)count;
    ev->k8s.first_ns = tc__kubectl_ago(line, tc_slice_head(since, since.len - 1));
    return 4;
}

/* "kubelet, gpu-07" of a cell, and {kubelet gpu-07} of very old ones. */
struct tc_slice tc__kubectl_source(struct tc_slice source, struct tc_slice *out_host)
{
    struct tc_slice host;
    if (tc_slice_starts(source, S("{")) && tc_slice_ends(source, S("}"))) {
        source = tc_slice_make(source.ptr + 1, source.len - 2);
    }
    size_t comma = tc_slice_find_byte(source, ',');
    struct tc_slice component = tc_slice_cut(source, comma == TC_NPOS ? ' ' : ',', &host);
    *out_host = tc_slice_trim(host);
    return component;
}

/* "pod/name", "Pod/name" or "node/name": kind and name of the object. */
bool tc__kubectl_object(struct tc_slice text, struct tc_event *ev)
{
    static const struct {
        const char *said;
        const char *kind;
    } kinds[] = {{"pod", "Pod"}, {"po", "Pod"}, {"node", "Node"}};
    struct tc_slice name;
    struct tc_slice kind = tc_slice_cut(text, '/', &name);
    if (kind.len == 0 || name.len == 0 || name.len > TC_SCOPE_TEXT_MAX ||
        !tc__kubectl_is_name(tc_slice_from(kind, 1))) {
        return false;
    }
    size_t i = tc_slice_row_nocase(kind, kinds, said);
    ev->k8s.object_kind = i < TC_COUNT(kinds) ? tc_slice_cstr(kinds[i].kind) : kind;
    ev->k8s.object_name = name;
    return true;
}

/* The name of an Event is that of its object and a number: "gpu-07.15468ab6ad9c1f0d". */
static struct tc_slice named_after(struct tc_slice event)
{
    size_t dot = tc_slice_find_last(event, S("."));
    uint64_t number = 0;
    bool ours = dot != TC_NPOS && event.len - dot > 8 &&
                tc_slice_hex(tc_slice_from(event, dot + 1), &number) == event.len - dot - 1;
    return ours ? tc_slice_head(event, dot) : TC_EMPTY;
}

/* Behind the object of a row of -o wide: SUBOBJECT, SOURCE, MESSAGE, FIRST, COUNT, NAME. */
static void read_wide(const struct tc__kubectl_line *line, const struct words *w,
                      struct tc_slice rest, struct tc_event *ev, struct tc_slice *out_host)
{
    int64_t age = 0;
    uint64_t count = 0;
    size_t n = w->count;
    ev->k8s.message = rest;
    if (n < 8 || n == TC__KUBECTL_WORDS || named_after(w->at[n - 1]).len == 0 ||
        !tc_slice_is_u64(w->at[n - 2], &count) || count > INT64_MAX ||
        !tc__kubectl_age(w->at[n - 3], &age) || w->at[n - 3].ptr < rest.ptr) {
        return;
    }
    rest = tc_slice_trim(tc_slice_head(rest, (size_t)(w->at[n - 3].ptr - rest.ptr)));
    struct tc_slice cell = tc__kubectl_cell(rest, &rest);
    if (tc_slice_starts(cell, S("spec."))) {
        ev->scope.container = tc__k8s_container(cell);
        cell = tc__kubectl_cell(rest, &rest);
    }
    ev->k8s.component = tc__kubectl_source(cell, out_host);
    ev->k8s.message = rest;
    ev->k8s.count = (int64_t)count;
    ev->k8s.first_ns = tc__kubectl_ago(line, w->at[n - 3]);
    ev->uid = w->at[n - 1];
}

tc_status tc__kubectl_tell_event(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                 struct tc_event *ev, struct tc_slice ns, struct tc_slice host)
{
    k->sure++;
    ev->k8s.count = ev->k8s.count > 0 ? ev->k8s.count : 1;
    ev->k8s.message = tc_slice_trim(ev->k8s.message);
    struct tc_slice container = ev->scope.container;
    tc__k8s_scope(ev, ns, host);
    ev->scope.container = container;
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, ev);
}

static tc_status read_get_event(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice host = TC_EMPTY;
    for (size_t ns = 0; ns < 2; ns++) {
        if (!is_age(word(w, ns))) {
            continue;
        }
        tc_event_init(&ev, TC_EVENT_K8S_EVENT);
        size_t used = read_seen(line, w, ns, &ev);
        size_t at = ns + used;
        if (!is_type(word(w, at)) || !tc__kubectl_is_reason(word(w, at + 1)) ||
            !tc__kubectl_object(word(w, at + 2), &ev)) {
            continue;
        }
        *out_ours = true;
        ev.k8s.type = word(w, at);
        ev.k8s.reason = word(w, at + 1);
        read_wide(line, w, from_word(line->text, w, at + 3), &ev, &host);
        return tc__kubectl_tell_event(k, line, &ev, ns == 1 ? word(w, 0) : TC_EMPTY, host);
    }
    return TC_OK;
}

/* Up to 1.13: when last and first, how often, and only then what. */
static tc_status read_old_event(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice host = TC_EMPTY;
    struct tc_slice rest;
    uint64_t count = 0;
    size_t at = 3;
    if (!is_age(word(w, 0)) || !is_age(word(w, 1)) || !tc_slice_is_u64(word(w, 2), &count) ||
        count > INT64_MAX) {
        return TC_OK;
    }
    while (at < w->count && at < 10 && !is_type(w->at[at])) {
        at++;
    }
    if (!is_type(word(w, at)) || !tc__kubectl_is_reason(word(w, at + 1))) {
        return TC_OK;
    }
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.k8s.type = word(w, at);
    ev.k8s.reason = word(w, at + 1);
    ev.k8s.count = (int64_t)count;
    rest = from_word(line->text, w, at + 2);
    struct tc_slice name = named_after(word(w, 3));
    bool get = name.len > 0 && tc__kubectl_is_reason(word(w, 4));
    /* describe has what was first in front, and the source before the type. */
    ev.time_ns = tc__kubectl_ago(line, word(w, get ? 0 : 1));
    ev.k8s.first_ns = tc__kubectl_ago(line, word(w, get ? 1 : 0));
    if (get) {
        ev.k8s.object_name = name;
        ev.k8s.object_kind = word(w, 4);
        ev.scope.container = tc__k8s_container(word(w, 5));
        ev.k8s.component = tc__kubectl_source(tc__kubectl_cell(rest, &rest), &host);
        ev.k8s.message = rest;
        return tc__kubectl_tell_event(k, line, &ev, TC_EMPTY, host);
    }
    ev.k8s.message = rest;
    rest = from_word(line->text, w, 3);
    ev.k8s.component = tc__kubectl_source(tc__kubectl_cell(rest, &rest), &host);
    tc__kubectl_about(k, &ev, host);
    k->sure++;
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, &ev);
}

static tc_status read_described_event(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                      const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    struct tc_slice host = TC_EMPTY;
    struct tc_slice rest;
    if (!is_type(word(w, 0)) || !tc__kubectl_is_reason(word(w, 1)) || !is_age(word(w, 2))) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.k8s.count = 1;
    size_t used = read_seen(line, w, 2, &ev);
    *out_ours = true;
    k->sure++;
    rest = from_word(line->text, w, 2 + used);
    struct tc_slice source = tc__kubectl_cell(rest, &rest);
    if (rest.len == 0) { /* blanks were lost: one word, or two with a comma */
        size_t comma = tc_slice_ends(word(w, 2 + used), S(",")) ? 2 : 1;
        rest = from_word(line->text, w, 2 + used + comma);
        source = tc_slice_trim(tc_slice_head(source, source.len - rest.len));
    }
    ev.k8s.type = word(w, 0);
    ev.k8s.reason = word(w, 1);
    ev.k8s.component = tc__kubectl_source(source, &host);
    ev.k8s.message = tc_slice_trim(rest);
    tc__kubectl_about(k, &ev, host);
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, &ev);
}

/* What the column STATUS says. False: nothing that anybody waits for. */
bool tc__kubectl_pod_status(struct tc_slice status, struct tc_ev_pod *out)
{
    if (tc_slice_starts(status, S("Init:"))) {
        status = tc_slice_from(status, S("Init:").len);
    }
    bool on_the_way = tc_slice_is_any(status, "Pending", "ContainerCreating", "PodInitializing",
                                      "Terminating", "SchedulingGated", "ContainersNotReady");
    if (on_the_way || !tc__kubectl_is_reason(status)) {
        return false;
    }
    if (tc_slice_is_any(status, "Running", "Failed", "Unknown", "Succeeded")) {
        out->phase = status;
    } else if (tc_slice_eq(status, S("Completed"))) {
        out->phase = S("Succeeded");
    } else {
        out->reason = status;
        bool failed = tc_slice_is_any(status, "Evicted", "NodeShutdown", "UnexpectedAdmissionError",
                                      "ContainerStatusUnknown", "NodeAffinity", "DeadlineExceeded",
                                      "NodeLost", "Shutdown", "Preempting", "OutOfcpu",
                                      "OutOfmemory", "OutOfnvidia.com/gpu");
        out->phase = failed ? S("Failed") : TC_EMPTY;
    }
    return true;
}

/* The state of a pod has no time of its own: its age is that of the pod. */
tc_status tc__kubectl_tell_pod(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                               struct tc_event *ev)
{
    ev->time_ns = line->time_ns;
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, ev);
}

static tc_status read_pod(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                          const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    uint64_t restarts = 0;
    size_t at = 1;
    while (at < 3 && !is_ratio(word(w, at))) {
        at++;
    }
    struct tc_slice name = word(w, at - 1);
    if (!is_ratio(word(w, at)) || !tc__kubectl_is_reason(word(w, at + 1)) ||
        !tc_slice_is_u64(word(w, at + 2), &restarts) || !tc__kubectl_is_name(name) ||
        (at == 2 && !tc__kubectl_is_name(word(w, 0)))) {
        return TC_OK;
    }
    size_t age = at + 3;
    if (tc_slice_starts(word(w, age), S("(")) && tc_slice_eq(word(w, age + 1), S("ago)"))) {
        age += 2;
    }
    *out_ours = true;
    k->sure++;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.scope.ns = at == 2 ? word(w, 0) : TC_EMPTY;
    ev.scope.pod = name;
    struct tc_slice ip = word(w, age + 1);
    bool wide = tc__kubectl_is_placeholder(ip) || tc_slice_find_byte(ip, '.') != TC_NPOS ||
                tc_slice_find_byte(ip, ':') != TC_NPOS;
    if (is_age(word(w, age)) && wide && tc__kubectl_is_name(word(w, age + 2))) {
        ev.scope.node = word(w, age + 2);
    }
    return tc__kubectl_pod_status(word(w, at + 1), &ev.pod) ? tc__kubectl_tell_pod(k, line, &ev)
                                                            : TC_OK;
}

tc_status tc__kubectl_tell_condition(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                     struct tc_slice node, const char *type, struct tc_slice status)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.time_ns = line->time_ns;
    ev.scope.node = node;
    ev.k8s.type = tc_slice_cstr(type);
    ev.k8s.status = status;
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, &ev);
}

static tc_status read_node(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                           const struct words *w, bool *out_ours)
{
    struct tc_slice rest;
    struct tc_slice said = tc_slice_cut(word(w, 1), ',', &rest);
    bool ready = tc_slice_eq(said, S("Ready"));
    bool version = false;
    uint64_t number = 0;
    for (size_t i = 3; i < 6; i++) {
        struct tc_slice v = word(w, i);
        version = version ||
                  (v.len > 3 && v.ptr[0] == 'v' && tc_slice_u64(tc_slice_from(v, 1), &number) > 0);
    }
    if (!version || !tc__kubectl_is_name(word(w, 0)) ||
        (!ready && !tc_slice_eq(said, S("NotReady")) && !tc_slice_eq(said, S("Unknown")))) {
        return TC_OK;
    }
    *out_ours = true;
    k->sure++;
    return tc__kubectl_tell_condition(k, line, word(w, 0), "Ready",
                                      ready                             ? S("True")
                                      : tc_slice_eq(said, S("Unknown")) ? S("Unknown")
                                                                        : S("False"));
}

bool tc__kubectl_is_condition(struct tc_slice s)
{
    return tc_slice_eq(s, S("True")) || tc_slice_eq(s, S("False")) || tc_slice_eq(s, S("Unknown"));
}

static tc_status read_condition(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    int64_t heartbeat = 0;
    int64_t changed = 0;
    if (!tc__kubectl_is_reason(word(w, 0)) || !tc__kubectl_is_condition(word(w, 1))) {
        return TC_OK;
    }
    struct tc_slice rest = from_word(line->text, w, 2);
    size_t used = tc__kubectl_date(rest, &heartbeat);
    rest = tc_slice_trim(tc_slice_from(rest, used));
    size_t second = used == 0 ? 0 : tc__kubectl_date(rest, &changed);
    if (second == 0) {
        return TC_OK;
    }
    *out_ours = true;
    k->sure++;
    k->block.is_node = true;
    rest = tc_slice_trim(tc_slice_from(rest, second));
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.time_ns = changed;
    ev.scope.node = k->block.name;
    ev.k8s.type = word(w, 0);
    ev.k8s.status = word(w, 1);
    ev.k8s.reason = tc_slice_cut(rest, ' ', &rest);
    ev.k8s.message = tc_slice_trim(rest);
    ev.k8s.rack = k->block.rack;
    return tc__kubectl_deliver(k, line->at, line->at + line->raw.len, &ev);
}

/* "ns name Evicted message" with tabs or many blanks: what people make with jsonpath. */
static tc_status read_evicted(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                              const struct words *w, bool *out_ours)
{
    struct tc_event ev;
    size_t at = tc_slice_eq(word(w, 1), S("Evicted"))   ? 1
                : tc_slice_eq(word(w, 2), S("Evicted")) ? 2
                                                        : 0;
    struct tc_slice rest = from_word(line->text, w, at);
    (void)tc__kubectl_cell(rest, &rest);
    if (at == 0 || !tc__kubectl_is_name(word(w, 0)) || !tc__kubectl_is_name(word(w, at - 1)) ||
        !(tc_slice_starts(rest, S("The node ")) || tc_slice_starts(rest, S("Pod ")) ||
          tc_slice_starts(rest, S("Container ")) || tc_slice_starts(rest, S("Usage of ")))) {
        return TC_OK;
    }
    *out_ours = true;
    k->sure++;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.scope.pod = word(w, at - 1);
    ev.scope.ns = at == 2 ? word(w, 0) : TC_EMPTY;
    ev.pod.phase = S("Failed");
    ev.pod.reason = S("Evicted");
    ev.pod.message = tc_slice_trim(rest);
    return tc__kubectl_tell_pod(k, line, &ev);
}

tc_status tc__kubectl_row(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                          bool *out_ours)
{
    typedef tc_status (*row_fn)(struct tc__kubectl *, const struct tc__kubectl_line *,
                                const struct words *, bool *);
    static const row_fn shapes[] = {
        read_described_event, read_get_event, read_old_event, read_pod, read_node,
        read_condition,       read_evicted};
    struct words w;
    w.count = tc__kubectl_words(line->text, w.at);
    if (w.count == 0) {
        k->title_count = 0;
        return TC_OK;
    }
    for (size_t i = 0; w.count >= 3 && i < TC_COUNT(shapes); i++) {
        TC_TRY(shapes[i](k, line, &w, out_ours));
        if (*out_ours) {
            return TC_OK;
        }
    }
    if (tc_slice_starts(line->text, S("No resources found"))) {
        k->maybe++;
        *out_ours = true;
        return TC_OK;
    }
    if (w.count >= 3 && tc__kubectl_titles(k, line->text)) {
        *out_ours = true;
        return TC_OK;
    }
    return k->title_count > 0 && w.count >= 3 ? tc__kubectl_by_titles(k, line, out_ours) : TC_OK;
}
