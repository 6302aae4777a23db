/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an xid_correlation verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/xid_correlation/priv.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.xid_correlation." name)
#define ATTRS_MAX 6
#define EVIDENCE_MAX 5
/* The fixed words of all strings together, with numbers, times and addresses. */
#define WORDS_BYTES 1792
#define WITHDRAWN TC_LIT("Nothing to do for this pod; the Xid itself stands.")

static void put_name(struct tc_buf *b, const struct xid_pod *pod)
{
    if (pod->ns.len > 0) {
        tc_buf_str(b, pod->ns);
        tc_buf_char(b, '/');
    }
    tc_buf_str(b, pod->name);
}

static void put_pod(struct tc_buf *b, const struct xid_pod *pod)
{
    tc_buf_lit(b, "Pod ");
    put_name(b, pod);
    tc_buf_lit(b, " on ");
    tc_buf_str(b, pod->node);
}

/* "Xid 79 (GPU has fallen off the bus) on 0000:b3:00.0" */
static void put_xid(struct tc_buf *b, const struct xid_join *join, const struct tc_xid *xid)
{
    tc_buf_lit(b, "Xid ");
    tc_buf_i64(b, join->code);
    tc_buf_lit(b, " (");
    tc_buf_str(b, xid == NULL ? TC_LIT("not in the catalogue") : tc_slice_cstr(xid->name));
    tc_buf_char(b, ')');
    if (join->pci.known) {
        tc_buf_lit(b, " on ");
        tc_buf_bdf(b, join->pci);
    } else if (join->gpu_uuid.len > 0) {
        tc_buf_lit(b, " on ");
        tc_buf_str(b, join->gpu_uuid);
    }
}

static struct tc_slice headline(struct tc_draft *d, const struct xid_pod *pod,
                                const struct tc_xid *xid)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    int64_t gap_ns = pod->anchor.time_ns - pod->join.time_ns;
    /* An Xid of the second that the pod's time was cut to is not before that time. */
    put_pod(b, pod);
    tc_buf_str(b, pod->anchor.evicted ? TC_LIT(" was evicted ") : TC_LIT(" failed "));
    if (gap_ns <= 0) {
        tc_buf_lit(b, "at the time of ");
    } else {
        tc_buf_duration(b, gap_ns);
        tc_buf_lit(b, " after ");
    }
    put_xid(b, &pod->join, xid);
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct xid_pod *pod,
                                   const struct tc_xid *xid)
{
    struct tc_buf *b = &d->text;
    const struct xid_join *join = &pod->join;
    size_t start = b->len;
    tc_buf_lit(b, "On node ");
    tc_buf_str(b, pod->node);
    if (join->pci.known || join->gpu_uuid.len > 0) {
        tc_buf_lit(b, ", GPU ");
    }
    tc_buf_str(b, join->gpu_uuid);
    if (join->pci.known) {
        tc_buf_str(b, join->gpu_uuid.len > 0 ? TC_LIT(" at ") : TC_EMPTY);
        tc_buf_bdf(b, join->pci);
    }
    tc_buf_lit(b, ": ");
    if (xid == NULL) {
        tc_buf_lit(b, "look up Xid ");
        tc_buf_i64(b, join->code);
        tc_buf_lit(b, " in NVIDIA's Xid documentation for the installed driver");
    } else {
        tc_buf_str(b, tc_slice_cstr(xid->action));
    }
    tc_buf_char(b, '.');
    if (!join->tied) {
        tc_buf_lit(b, " Check first that the pod used this GPU: nothing seen ties the two.");
    }
    return tc_buf_since(b, start);
}

static struct tc_evidence xid_evidence(struct tc_draft *d, const struct xid_pod *pod,
                                       const struct tc_xid *xid)
{
    struct tc_buf *b = &d->text;
    const struct xid_join *join = &pod->join;
    struct tc_evidence e = {.kind = TC_LIT("xid"), .time_ns = join->time_ns, .raw = join->raw};
    size_t start = b->len;
    tc_buf_lit(b, "xid:");
    tc_buf_str(b, pod->node);
    tc_buf_char(b, ':');
    if (join->pci.known) {
        tc_buf_bdf(b, join->pci);
    } else {
        tc_buf_str(b, join->gpu_uuid);
    }
    tc_buf_char(b, ':');
    tc_buf_i64(b, join->code);
    tc_buf_char(b, ':');
    tc_buf_time(b, join->time_ns);
    e.uid = tc_buf_since(b, start);
    start = b->len;
    put_xid(b, join, xid);
    tc_buf_lit(b, " of node ");
    tc_buf_str(b, pod->node);
    if (join->pid > 0) {
        tc_buf_lit(b, ", pid ");
        tc_buf_i64(b, join->pid);
    }
    if (join->process.len > 0) {
        tc_buf_lit(b, ", process ");
        tc_buf_str(b, join->process);
    }
    if (join->gauged) {
        tc_buf_lit(b, ", the last Xid of the exporter since this sample");
    }
    e.description = tc_buf_since(b, start);
    return e;
}

/* The exporter's sample that shows whose the GPU is. */
static struct tc_evidence use_evidence(struct tc_draft *d, const struct xid_pod *pod)
{
    struct tc_buf *b = &d->text;
    const struct xid_join *join = &pod->join;
    struct tc_evidence e = {
        .kind = TC_LIT("gpu_use"),
        .time_ns = join->used_ns,
        .raw = join->used_raw,
    };
    size_t start = b->len;
    tc_buf_lit(b, "gpu_use:");
    tc_buf_str(b, join->gpu_uuid);
    tc_buf_char(b, ':');
    put_name(b, pod);
    e.uid = tc_buf_since(b, start); /* without the time, which depends on where the input begins */
    start = b->len;
    tc_buf_lit(b, "GPU ");
    tc_buf_str(b, join->gpu_uuid);
    tc_buf_lit(b, " is used by pod ");
    put_name(b, pod);
    tc_buf_lit(b, ", as its exporter says");
    e.description = tc_buf_since(b, start);
    return e;
}

/* What all evidence about a pod has in common: everything but the description. */
static struct tc_evidence any_pod_evidence(struct tc_draft *d, const struct xid_pod *pod,
                                           const struct xid_pod_event *event)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = {
        .kind = TC_LIT("pod_event"),
        .uid = event->uid,
        .time_ns = event->time_ns,
        .raw = event->raw,
    };
    if (e.uid.len == 0) {
        size_t start = b->len;
        tc_buf_lit(b, "pod:");
        tc_buf_str(b, pod->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, pod->name);
        tc_buf_char(b, ':');
        tc_buf_time(b, event->time_ns);
        e.uid = tc_buf_since(b, start);
    }
    return e;
}

static struct tc_evidence pod_evidence(struct tc_draft *d, const struct xid_pod *pod,
                                       const struct xid_pod_event *event)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = any_pod_evidence(d, pod, event);
    size_t start = b->len;
    put_pod(b, pod);
    tc_buf_str(b, event->evicted ? TC_LIT(" was evicted") : TC_LIT(" failed"));
    if (event->reason.len > 0) {
        tc_buf_lit(b, ", reason ");
        tc_buf_str(b, event->reason);
    }
    if (event->exit_code >= 0) {
        tc_buf_lit(b, ", exit code ");
        tc_buf_i64(b, event->exit_code);
    }
    if (event->message.len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, event->message);
    }
    e.description = tc_buf_since(b, start);
    return e;
}

/* What shows that a verdict does not hold. */
static struct tc_evidence proof_evidence(struct tc_draft *d, const struct xid_pod *pod,
                                         const struct xid_pod_event *event)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = any_pod_evidence(d, pod, event);
    size_t start = b->len;
    put_pod(b, pod);
    if (event->reason.len > 0) {
        tc_buf_lit(b, ", reason ");
        tc_buf_str(b, event->reason);
    }
    if (event->message.len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, event->message);
    }
    e.description = tc_buf_since(b, start);
    return e;
}

/* "Pod ml/a on gpu-07: not put down to Xid 79 (...) on 0000:b3:00.0 any more, it ..." */
static struct tc_slice withdrawal(struct tc_draft *d, const struct xid_pod *pod,
                                  const struct tc_xid *xid, struct tc_slice why)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    put_pod(b, pod);
    tc_buf_lit(b, ": not put down to ");
    put_xid(b, &pod->join, xid);
    tc_buf_lit(b, " any more, ");
    tc_buf_str(b, why);
    return tc_buf_since(b, start);
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

/* In order of time: of a second that was cut, the pod event may come
 * before its Xid. */
static void put_trail(struct tc_draft *d, const struct xid_pod *pod, const struct tc_xid *xid,
                      const struct xid_pod_event *proof)
{
    struct tc_evidence trail[EVIDENCE_MAX];
    size_t count = 0;
    trail[count++] = xid_evidence(d, pod, xid);
    trail[count++] = pod_evidence(d, pod, &pod->anchor);
    if (pod->last.time_ns > pod->anchor.time_ns) {
        trail[count++] = pod_evidence(d, pod, &pod->last);
    }
    if (proof != NULL) {
        trail[count++] = proof_evidence(d, pod, proof);
    }
    if (pod->join.by_use) {
        trail[count++] = use_evidence(d, pod);
    }
    for (size_t i = 1; i < count; i++) {
        struct tc_evidence e = trail[i];
        size_t at = i;
        for (; at > 0 && trail[at - 1].time_ns > e.time_ns; at--) {
            trail[at] = trail[at - 1];
        }
        trail[at] = e;
    }
    for (size_t i = 0; i < count; i++) {
        tc__draft_evidence(d, trail[i]);
    }
}

static tc_status report(const struct xid_pod *pod, struct tc_slice why,
                        const struct xid_pod_event *proof, struct tc_arena *scratch,
                        const struct tc_sink *out)
{
    const struct xid_join *join = &pod->join;
    const struct tc_xid *xid = tc_xid_find(join->code);
    /* How often each name is written, at most. */
    size_t text_bytes = WORDS_BYTES + 7 * pod->node.len + 9 * (pod->ns.len + pod->name.len) +
                        6 * join->gpu_uuid.len + join->process.len + pod->anchor.reason.len +
                        pod->anchor.message.len + pod->last.reason.len + pod->last.message.len +
                        why.len + (proof == NULL ? 0 : proof->reason.len + proof->message.len) +
                        (xid == NULL ? 0 : 2 * strlen(xid->name) + strlen(xid->action));
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_xid_correlation, scratch, text_bytes, ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    bool withdrawn = why.len > 0;
    bool fatal = join->rank == XID_RANK_KNOWN + TC_XID_FATAL && !withdrawn;
    f->key = pod->key;
    f->resolved = withdrawn;
    f->incomplete = pod->incomplete;
    f->severity = fatal ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING;
    f->confidence =
        join->tied && xid != NULL && !withdrawn ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = discriminator(xid);
    f->headline = withdrawn ? withdrawal(&d, pod, xid, why) : headline(&d, pod, xid);
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
    put_trail(&d, pod, xid, proof);
    return tc__draft_emit(&d, out);
}

tc_status tc__xid_report(const struct xid_pod *pod, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    return report(pod, TC_EMPTY, NULL, scratch, out);
}

tc_status tc__xid_withdraw(const struct xid_pod *pod, struct tc_slice why,
                           const struct xid_pod_event *proof, struct tc_arena *scratch,
                           const struct tc_sink *out)
{
    return report(pod, why, proof, scratch, out);
}
