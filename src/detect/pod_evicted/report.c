/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a pod_evicted verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/pod_evicted/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.pod_evicted." name)
#define ATTRS_MAX 8
#define EVIDENCE_MAX 3
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 1536
/* Two separators and a time. */
#define KEY_WORDS_BYTES 40
#define UNKNOWN_NODE TC_LIT("(name unknown)")

static const struct {
    const char *discriminator;
    const char *name;
    const char *cause;
    const char *action;
} PRESSURES[] = {
    [EVICT_MEMORY] = {"memory_pressure", "memory", "the node was low on memory",
                      "find what uses the memory, give those pods requests that match their use, "
                      "and move what does not fit"},
    [EVICT_DISK] = {"disk_pressure", "disk", "the node was low on disk",
                    "find what fills the kubelet's and the images' file systems, remove unused "
                    "images and old logs, then grow the disk or move what does not fit"},
    [EVICT_PID] = {"pid_pressure", "pid", "the node was low on process ids",
                   "find which pod starts processes without end and set podPidsLimit"},
    [EVICT_EPHEMERAL] = {"ephemeral_storage", "ephemeral_storage",
                         "the node was low on ephemeral storage",
                         "find what writes to container layers, logs and emptyDir volumes, set "
                         "ephemeral-storage requests and limits, and put bulk data on a volume"},
    [EVICT_LIMIT] = {"pod_limit", "ephemeral_storage",
                     "it exceeded its own limit of ephemeral storage",
                     "leave the node as it is; raise the limit of the pod or put its data on a "
                     "volume"},
    [EVICT_UNKNOWN] = {"unknown_pressure", "unknown", "the note names no resource",
                       "look at the node's conditions and the kubelet's log at that time"},
};

static const char *const CONDITIONS[] = {
    [EVICT_MEMORY_PRESSURE] = "MemoryPressure",
    [EVICT_DISK_PRESSURE] = "DiskPressure",
    [EVICT_PID_PRESSURE] = "PIDPressure",
    [EVICT_NONE] = "no pressure",
};

static struct tc_slice condition_name(const struct eviction *e)
{
    return tc_slice_cstr(CONDITIONS[tc__evict_condition(e->note.pressure)]);
}

static struct tc_slice node_name(const struct eviction *e)
{
    return e->node.len > 0 ? e->node : UNKNOWN_NODE;
}

static void put_pod(struct tc_buf *b, const struct eviction *e)
{
    tc_buf_lit(b, "Pod ");
    if (e->ns.len > 0) {
        tc_buf_str(b, e->ns);
        tc_buf_char(b, '/');
    }
    tc_buf_str(b, e->name);
}

static struct tc_slice headline(struct tc_draft *d, const struct eviction *e)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    put_pod(b, e);
    tc_buf_lit(b, " was evicted from node ");
    tc_buf_str(b, node_name(e));
    tc_buf_lit(b, " at ");
    tc_buf_time(b, e->time_ns);
    bool threshold = e->sign.source == EVICT_BY_THRESHOLD;
    if (e->sign.known) {
        tc_buf_lit(b, ", ");
        if (e->time_ns == e->sign.time_ns) {
            tc_buf_str(b, threshold ? TC_LIT("as ") : TC_LIT("at the time of "));
        } else {
            tc_buf_duration(b, e->time_ns - e->sign.time_ns);
            tc_buf_lit(b, " after ");
        }
        /* A threshold that was met does not prove that the condition was reported. */
        tc_buf_str(b, threshold ? TC_LIT("its eviction threshold was met") : condition_name(e));
    }
    tc_buf_lit(b, ": ");
    tc_buf_str(b, tc_slice_cstr(PRESSURES[e->note.pressure].cause));
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct eviction *e)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_lit(b, "On node ");
    tc_buf_str(b, node_name(e));
    tc_buf_lit(b, ": ");
    tc_buf_str(b, tc_slice_cstr(PRESSURES[e->note.pressure].action));
    tc_buf_char(b, '.');
    if (e->note.container.len > 0) {
        tc_buf_lit(b, " Start with container ");
        tc_buf_str(b, e->note.container);
        if (e->note.usage.len > 0) {
            tc_buf_lit(b, ", which used ");
            tc_buf_str(b, e->note.usage);
        }
        if (e->note.request.len > 0) {
            tc_buf_lit(b, " with a request of ");
            tc_buf_str(b, e->note.request);
        }
        tc_buf_char(b, '.');
    }
    return tc_buf_since(b, start);
}

static struct tc_evidence sign_evidence(struct tc_draft *d, const struct eviction *e,
                                        const struct evict_sign *sign, bool relief)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = TC_LIT("node_condition"), .time_ns = sign->time_ns, .raw = sign->raw};
    size_t start = b->len;
    tc_buf_lit(b, "node_condition:");
    tc_buf_str(b, e->node);
    tc_buf_char(b, ':');
    tc_buf_str(b, condition_name(e));
    tc_buf_char(b, ':');
    tc_buf_time(b, sign->time_ns);
    out.uid = tc_buf_since(b, start);
    start = b->len;
    tc_buf_lit(b, "Node ");
    tc_buf_str(b, e->node);
    if (relief) {
        tc_buf_lit(b, " left ");
    } else if (sign->source == EVICT_BY_THRESHOLD) {
        tc_buf_lit(b, " met the eviction threshold of ");
    } else {
        tc_buf_lit(b, " was under ");
    }
    tc_buf_str(b, condition_name(e));
    if (sign->reason.len > 0) {
        tc_buf_lit(b, ", reason ");
        tc_buf_str(b, sign->reason);
    }
    out.description = tc_buf_since(b, start);
    return out;
}

static struct tc_evidence pod_evidence(struct tc_draft *d, const struct eviction *e)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = TC_LIT("pod_event"),
        .uid = e->event_uid,
        .time_ns = e->time_ns,
        .raw = e->raw,
    };
    size_t start = b->len;
    if (out.uid.len == 0) {
        tc_buf_lit(b, "pod:");
        tc_buf_str(b, e->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, e->name);
        tc_buf_char(b, ':');
        tc_buf_time(b, e->time_ns);
        out.uid = tc_buf_since(b, start);
        start = b->len;
    }
    put_pod(b, e);
    tc_buf_lit(b, " was evicted from node ");
    tc_buf_str(b, node_name(e));
    if (e->message.len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, e->message);
    }
    out.description = tc_buf_since(b, start);
    return out;
}

static void put_attrs(struct tc_draft *d, const struct eviction *e)
{
    tc__draft_attr_text(d, KEY("pressure"), tc_slice_cstr(PRESSURES[e->note.pressure].name));
    tc__draft_attr_text(d, KEY("container"), e->note.container);
    tc__draft_attr_text(d, KEY("usage"), e->note.usage);
    tc__draft_attr_text(d, KEY("request"), e->note.request);
    tc__draft_attr_text(d, KEY("limit"), e->note.limit);
    tc__draft_attr_text(d, KEY("threshold"), e->note.threshold);
    tc__draft_attr_text(d, KEY("available"), e->note.available);
    if (e->sign.known) {
        tc__draft_attr_int(d, KEY("seconds_after_condition"),
                           (e->time_ns - e->sign.time_ns) / TC_SECOND);
    }
}

bool tc__evict_key(struct eviction *e, struct tc_arena *arena)
{
    size_t len = e->node.len + e->ns.len + e->name.len + e->uid.len + KEY_WORDS_BYTES;
    char *text = tc_new(arena, char, len);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, len);
    tc_buf_str(&b, e->ns);
    tc_buf_char(&b, '/');
    tc_buf_str(&b, e->name);
    if (e->uid.len > 0) {
        tc_buf_char(&b, '/');
        tc_buf_str(&b, e->uid);
    } else {
        /* Without a uid, place and time tell two pods of one name apart. */
        tc_buf_char(&b, '@');
        tc_buf_str(&b, e->node);
        tc_buf_char(&b, '@');
        tc_buf_time(&b, e->time_ns);
    }
    e->key = tc_buf_slice(&b);
    return true;
}

tc_status tc__evict_report(const struct eviction *e, const struct evict_sign *relief,
                           struct tc_arena *scratch, const struct tc_sink *out)
{
    /* How often each name is written, at most. */
    size_t text_bytes = WORDS_BYTES + 7 * e->node.len + 3 * (e->ns.len + e->name.len) +
                        e->message.len + e->note.container.len + e->note.usage.len +
                        e->note.request.len + e->sign.reason.len +
                        (relief == NULL ? 0 : relief->reason.len);
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_pod_evicted, scratch, text_bytes, ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    f->key = e->key;
    f->resolved = relief != NULL;
    f->incomplete = e->incomplete;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = e->sign.known ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(PRESSURES[e->note.pressure].discriminator);
    f->headline = headline(&d, e);
    f->remediation = remediation(&d, e);
    f->first_ns = e->sign.known ? e->sign.time_ns : e->time_ns;
    f->last_ns = relief == NULL ? e->time_ns : relief->time_ns;
    f->scope.node = e->node;
    f->scope.ns = e->ns;
    f->scope.pod = e->name;
    f->scope.pod_uid = e->uid;
    f->scope.container = e->container;
    put_attrs(&d, e);
    if (e->sign.known) {
        tc__draft_evidence(&d, sign_evidence(&d, e, &e->sign, false));
    }
    tc__draft_evidence(&d, pod_evidence(&d, e));
    if (relief != NULL) {
        tc__draft_evidence(&d, sign_evidence(&d, e, relief, true));
    }
    return tc__draft_emit(&d, out);
}
