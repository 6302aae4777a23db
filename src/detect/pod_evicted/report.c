/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a pod_evicted verdict. */
#include "detect/detector.h"
#include "detect/pod_evicted/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.pod_evicted." name)
/* Names are no longer than TC_SCOPE_TEXT_MAX; the rest is separators and a time. */
#define KEY_MAX (3 * TC_SCOPE_TEXT_MAX + 40)

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
    [EVICT_UNKNOWN] = {"unknown_pressure", "unknown", "the kubelet does not say what ran short",
                       "look at the node's conditions and the kubelet's log at that time"},
};

static const char *condition_name(const struct eviction *e)
{
    enum evict_condition condition = tc__evict_condition(e->note.pressure);
    return condition == EVICT_NONE ? "no pressure" : tc__evict_conditions[condition];
}

static void write_node(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct eviction *e = arg->object;
    tc_format(b, "{}{}", e->node.len > 0 ? "node " : "its node", e->node);
}

static struct tc_arg node_name(const struct eviction *e)
{
    return tc_as_written(write_node, e);
}

static void write_pod(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct eviction *e = arg->object;
    tc_format(b, "{}",
              e->name.len > 0 ? tc_when(true, "Pod {}", tc_as_pod(e->ns, e->name))
                              : TC_ARG("A pod"));
}

static struct tc_arg pod_name(const struct eviction *e)
{
    return tc_as_written(write_pod, e);
}

static struct tc_slice headline(struct tc_draft *d, const struct eviction *e)
{
    bool threshold = e->sign.source == EVICT_BY_THRESHOLD;
    int64_t after_ns = e->time_ns - e->sign.time_ns;
    struct tc_arg since = after_ns == 0 ? TC_ARG(threshold ? "as " : "at the time of ")
                                        : tc_when(true, "{} after ", tc_as_duration(after_ns));
    /* A threshold that was met does not prove that the condition was reported. */
    const char *what = threshold ? "its eviction threshold was met" : condition_name(e);
    return tc__draft_format(d, "{} was evicted from {}{} {}{}: {}", pod_name(e), node_name(e),
                            tc_time_is_date(e->time_ns) ? "" : ",", tc_as_moment(e->time_ns),
                            tc_when(e->sign.known, ", {}{}", since, what),
                            PRESSURES[e->note.pressure].cause);
}

static struct tc_slice remediation(struct tc_draft *d, const struct eviction *e)
{
    const struct evict_note *n = &e->note;
    return tc__draft_format(
        d, "On {}: {}.{}", node_name(e), PRESSURES[n->pressure].action,
        tc_when(n->container.len > 0, " Start with container {}{}{}.", n->container,
                tc_when(n->usage.len > 0, ", which used {}", n->usage),
                tc_when(n->request.len > 0, " with a request of {}", n->request)));
}

static void put_sign(struct tc_draft *d, const struct eviction *e, const struct evict_sign *sign,
                     bool relief)
{
    const char *verb = relief                               ? "left"
                       : sign->source == EVICT_BY_THRESHOLD ? "met the eviction threshold of"
                                                            : "was under";
    tc__draft_piece(d, TC_LIT("node_condition"), sign->time_ns, sign->raw,
                    tc__draft_format(d, "node_condition:{}:{}:{}", e->node, condition_name(e),
                                     tc_as_time(sign->time_ns)),
                    tc__draft_format(d, "Node {} {} {}{}", e->node, verb, condition_name(e),
                                     tc_when(sign->reason.len > 0, ", reason {}", sign->reason)));
}

static void put_pod(struct tc_draft *d, const struct eviction *e)
{
    tc__draft_piece(d, TC_LIT("pod_event"), e->time_ns, e->raw,
                    tc__text_or(e->event_uid, tc__draft_format(d, "pod:{}/{}:{}", e->ns, e->name,
                                                               tc_as_time(e->time_ns))),
                    tc__draft_format(d, "{} was evicted from {}{}", pod_name(e), node_name(e),
                                     tc_when(e->message.len > 0, ": {}", e->message)));
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
    char *text = tc_new(arena, char, KEY_MAX);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, KEY_MAX);
    /* Without a uid, place and time tell two pods of one name apart. */
    e->key = tc_format(&b, "{}/{}{}{}", e->ns, e->name, tc_when(e->uid.len > 0, "/{}", e->uid),
                       tc_when(e->uid.len == 0, "@{}@{}", e->node, tc_as_time(e->time_ns)));
    return true;
}

tc_status tc__evict_report(const struct eviction *e, const struct evict_sign *relief,
                           struct tc_arena *scratch, const struct tc_sink *out)
{
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_pod_evicted, scratch);
    struct tc_finding *f = &d.finding;
    f->key = e->key;
    f->resolved = relief != NULL;
    f->incomplete = e->incomplete;
    f->severity = e->works ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING;
    f->confidence = e->sign.known ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(PRESSURES[e->note.pressure].discriminator);
    f->headline = headline(&d, e);
    f->remediation = remediation(&d, e);
    f->first_ns = e->sign.known ? e->sign.time_ns : e->time_ns;
    f->redated = e->redated;
    f->last_ns = relief == NULL ? e->time_ns : relief->time_ns;
    f->scope.node = e->node;
    f->scope.ns = e->ns;
    f->scope.pod = e->name;
    f->scope.pod_uid = e->uid;
    f->scope.container = e->container;
    put_attrs(&d, e);
    if (e->sign.known) {
        put_sign(&d, e, &e->sign, false);
    }
    put_pod(&d, e);
    if (relief != NULL) {
        put_sign(&d, e, relief, true);
    }
    return tc__draft_emit(&d, out);
}
