/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an xid_correlation verdict. */
#include "detect/detector.h"
#include "detect/words_priv.h"
#include "detect/xid_correlation/priv.h"
#include "event/format.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.xid_correlation." name)
#define WITHDRAWN TC_LIT("Nothing to do for this pod; the Xid itself stands.")

/* "Pod ml/a on gpu-07" */
static void write_pod(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct xid_pod *pod = arg->object;
    tc_format(b, "Pod {} on {}", tc_as_pod(pod->ns, pod->name), pod->node);
}

static struct tc_arg pod_on_node(const struct xid_pod *pod)
{
    return tc_as_written(write_pod, pod);
}

/* "Xid 79 (GPU has fallen off the bus) on 0000:b3:00.0" */
static void write_xid(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct xid_join *join = arg->object;
    const struct tc_xid *xid = join->xid;
    tc_format(b, "Xid {} ({}){}", join->code, xid == NULL ? "not in the catalogue" : xid->name,
              tc_when(join->pci.known || join->gpu_uuid.len > 0, " on {}",
                      join->pci.known ? tc_as_pci(join->pci) : TC_ARG(join->gpu_uuid)));
}

static struct tc_arg xid_of(const struct xid_pod *pod)
{
    return tc_as_written(write_xid, &pod->join);
}

static struct tc_slice headline(struct tc_draft *d, const struct xid_pod *pod)
{
    int64_t gap_ns = pod->anchor.time_ns - pod->join.time_ns;
    /* An Xid of the second that the pod's time was cut to is not before that time. */
    return tc__draft_format(
        d, "{} {} {} {}", pod_on_node(pod), pod->anchor.evicted ? "was evicted" : "failed",
        gap_ns <= 0 ? TC_ARG("at the time of") : tc_when(true, "{} after", tc_as_duration(gap_ns)),
        xid_of(pod));
}

static struct tc_slice remediation(struct tc_draft *d, const struct xid_pod *pod,
                                   const struct tc_xid *xid)
{
    const struct xid_join *join = &pod->join;
    bool uuid = join->gpu_uuid.len > 0;
    return tc__draft_format(
        d, "On node {}{}{}: {}.{}", pod->node, tc_when(uuid, ", GPU {}", join->gpu_uuid),
        tc_when(join->pci.known, uuid ? " at {}" : ", GPU {}", tc_as_pci(join->pci)),
        xid != NULL
            ? TC_ARG(xid->action)
            : tc_when(true, "look up Xid {} in NVIDIA's Xid documentation for the installed driver",
                      join->code),
        join->tied ? "" : " Check first that the pod used this GPU: nothing seen ties the two.");
}

static void put_xid(struct tc_draft *d, const struct xid_pod *pod)
{
    const struct xid_join *join = &pod->join;
    tc__draft_piece(
        d, TC_LIT("xid"), join->time_ns, join->raw,
        tc__draft_format(d, "xid:{}:{}:{}:{}", pod->node,
                         join->pci.known ? tc_as_pci(join->pci) : TC_ARG(join->gpu_uuid),
                         join->code, tc_as_time(join->time_ns)),
        tc__draft_format(d, "{} of node {}{}{}{}", xid_of(pod), pod->node,
                         tc_when(join->pid > 0, ", pid {}", join->pid),
                         tc_when(join->process.len > 0, ", process {}", join->process),
                         join->gauged ? ", the last Xid of the exporter since this sample" : ""));
}

/* The exporter's sample that shows whose the GPU is. Its uid is without the time, which depends on
 * where the input begins. */
static void put_use(struct tc_draft *d, const struct xid_pod *pod)
{
    const struct xid_join *join = &pod->join;
    struct tc_arg name = tc_as_pod(pod->ns, pod->name);
    tc__draft_piece(d, TC_LIT("gpu_use"), join->used_ns, join->used_raw,
                    tc__draft_format(d, "gpu_use:{}:{}", join->gpu_uuid, name),
                    tc__draft_format(d, "GPU {} is used by pod {}, as its exporter says",
                                     join->gpu_uuid, name));
}

/* What happened to the pod; `how` is "" for what merely shows that a verdict does not hold. */
static void put_pod(struct tc_draft *d, const struct xid_pod *pod,
                    const struct xid_pod_event *event, const char *how)
{
    tc__draft_piece(d, TC_LIT("pod_event"), event->time_ns, event->raw,
                    tc__text_or(event->uid, tc__draft_format(d, "pod:{}/{}:{}", pod->ns, pod->name,
                                                             tc_as_time(event->time_ns))),
                    tc__draft_format(d, "{}{}{}{}{}", pod_on_node(pod), how,
                                     tc_when(event->reason.len > 0, ", reason {}", event->reason),
                                     tc_when(how[0] != '\0' && event->exit_code >= 0,
                                             ", exit code {}", event->exit_code),
                                     tc_when(event->message.len > 0, ": {}", event->message)));
}

static void put_end(struct tc_draft *d, const struct xid_pod *pod,
                    const struct xid_pod_event *event)
{
    put_pod(d, pod, event, event->evicted ? " was evicted" : " failed");
}

static struct tc_slice discriminator(const struct tc_xid *xid)
{
    if (xid == NULL) {
        return TC_LIT("unknown_xid");
    }
    return xid->class == TC_XID_HARDWARE ? TC_LIT("hardware_xid") : TC_LIT("driver_xid");
}

static void put_scope(struct tc_scope *scope, const struct xid_pod *pod)
{
    scope->node = pod->node;
    scope->ns = pod->ns;
    scope->pod = pod->name;
    scope->pod_uid = pod->uid;
    scope->container = pod->container;
    scope->gpu_uuid = pod->join.gpu_uuid;
    scope->pci = pod->join.pci;
    scope->pid = pod->join.pid > 0 ? pod->join.pid : -1;
}

tc_status tc__xid_report(const struct xid_pod *pod, struct tc_slice why,
                         const struct xid_pod_event *proof, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    const struct xid_join *join = &pod->join;
    const struct tc_xid *xid = join->xid;
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_xid_correlation, scratch);
    struct tc_finding *f = &d.finding;
    bool withdrawn = why.len > 0;
    f->key = pod->key;
    f->resolved = withdrawn;
    f->incomplete = pod->incomplete;
    f->severity = TC_SEVERITY_CRITICAL; /* the pod has ended */
    f->confidence =
        join->tied && xid != NULL && !withdrawn ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = discriminator(xid);
    f->headline = withdrawn ? tc__draft_format(&d, "{}: not put down to {} any more, {}",
                                               pod_on_node(pod), xid_of(pod), why)
                            : headline(&d, pod);
    f->remediation = withdrawn ? WITHDRAWN : remediation(&d, pod, xid);
    int64_t gap_ns = pod->anchor.time_ns - join->time_ns;
    f->first_ns = gap_ns < 0 ? pod->anchor.time_ns : join->time_ns;
    f->last_ns = pod->last.time_ns;
    put_scope(&f->scope, pod);
    tc__draft_attr_int(&d, KEY("xid"), join->code);
    if (xid != NULL) {
        tc__draft_attr_text(&d, KEY("xid_name"), tc_slice_cstr(xid->name));
    }
    tc__draft_attr_text(&d, KEY("xid_class"),
                        xid == NULL ? TC_LIT("unknown")
                                    : tc_slice_cstr(tc_xid_class_name(xid->class)));
    tc__draft_attr_text(&d, KEY("pod_reason"), pod->anchor.reason);
    tc__draft_attr_int(&d, KEY("seconds_before"), gap_ns / TC_SECOND);
    tc__draft_attr_int(&d, KEY("xid_count"), join->xid_count);
    put_xid(&d, pod);
    put_end(&d, pod, &pod->anchor);
    if (pod->last.time_ns > pod->anchor.time_ns) {
        put_end(&d, pod, &pod->last);
    }
    if (proof != NULL) {
        put_pod(&d, pod, proof, "");
    }
    if (join->by_use) {
        put_use(&d, pod);
    }
    /* Of a second that was cut, the pod event may come before its Xid. */
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
