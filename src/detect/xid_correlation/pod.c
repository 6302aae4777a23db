/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod event means to xid_correlation. The lists are short on purpose: an
 * event that is in none of them says nothing.
 */
#include "detect/words_priv.h"
#include "detect/xid_correlation/priv.h"

static const char *const EVICTED[] = {"Evicted", "TaintManagerEviction", "DeletionByTaintManager",
                                      NULL};

/* Reasons that end a pod because someone or something wanted so. */
static const char *const PLANNED[] = {
    "Preempted",        "Preempting", "PreemptionByScheduler", "EvictionByEvictionAPI",
    "DeadlineExceeded", "Shutdown",   "NodeShutdown",          "Terminated",
    "Deleted",          NULL};

/*
 * Ends that have a cause of their own, or none we know: success, a pod that was
 * refused before it ran, a pod whose node is gone.
 */
static const char *const UNRELATED[] = {"Completed",       "NodeAffinity",         "NodeLost",
                                        "DeletionByPodGC", "TerminationByKubelet", NULL};

/* Three separators and a time. */
#define KEY_WORDS_BYTES 40

#define SIGNAL_INTERRUPT 2
#define SIGNAL_TERMINATE 15

static bool is_in(struct tc_slice s, const char *const *list)
{
    return tc_slice_which(s, list) >= 0;
}

/* A container that could not be set up for a reason in its own description. */
static bool names_setup_fault(struct tc_slice message)
{
    return tc_slice_find_nocase(message, TC_LIT("image")) != TC_NPOS ||
           tc_slice_find_nocase(message, TC_LIT("configmap")) != TC_NPOS ||
           tc_slice_find_nocase(message, TC_LIT("secret")) != TC_NPOS;
}

static enum xid_pod_meaning read_k8s(const struct tc_ev_k8s *k8s)
{
    struct tc_slice message = tc_slice_head(k8s->message, XID_MESSAGE_MAX);
    if (tc_slice_eq(k8s->reason, TC_LIT("Evicted")) && k8s->component.len > 0 &&
        !tc_slice_contains(k8s->component, TC_LIT("kubelet"))) {
        return XID_POD_PLANNED; /* a controller wanted so, not the node */
    }
    if (is_in(k8s->reason, EVICTED)) {
        /* The taint manager also says when it has changed its mind. */
        return tc_slice_starts(message, TC_LIT("Cancelling")) ? XID_POD_NOTHING : XID_POD_EVICTED;
    }
    if (is_in(k8s->reason, PLANNED)) {
        return XID_POD_PLANNED;
    }
    /* A container killed for a failed probe is no request to stop. The second wording is that of
     * kubelets before 1.14. */
    if (tc_slice_eq(k8s->reason, TC_LIT("Killing")) &&
        (tc_slice_starts(message, TC_LIT("Stopping container")) ||
         tc_slice_contains(message, TC_LIT("Need to kill Pod")))) {
        return XID_POD_PLANNED;
    }
    return tc_slice_eq(k8s->reason, TC_LIT("Failed")) && !names_setup_fault(message)
               ? XID_POD_FAILED
               : XID_POD_NOTHING;
}

static enum xid_pod_meaning read_state(const struct tc_ev_pod *pod)
{
    if (is_in(pod->reason, EVICTED)) {
        return XID_POD_EVICTED;
    }
    if (is_in(pod->reason, PLANNED)) {
        return XID_POD_PLANNED;
    }
    if (tc_slice_eq(pod->reason, TC_LIT("OOMKilled"))) {
        return XID_POD_OOM;
    }
    bool asked = pod->signal == SIGNAL_TERMINATE || pod->signal == SIGNAL_INTERRUPT ||
                 pod->exit_code == 128 + SIGNAL_TERMINATE ||
                 pod->exit_code == 128 + SIGNAL_INTERRUPT;
    if (asked || is_in(pod->reason, UNRELATED) || tc_slice_starts(pod->reason, TC_LIT("OutOf"))) {
        return XID_POD_NOTHING;
    }
    bool failed = tc_slice_eq(pod->phase, TC_LIT("Failed")) || pod->exit_code > 0 ||
                  pod->signal > 0 ||
                  tc_slice_is_any(pod->reason, "Error", "ContainerCannotRun", "StartError");
    return failed ? XID_POD_FAILED : XID_POD_NOTHING;
}

/* What did not fail of its own has nothing to say about GPUs, only when it ended. */
static void set_excuse(const struct tc_event *ev, enum xid_pod_meaning meaning, struct xid_pod *out)
{
    out->container = TC_EMPTY;
    out->gpu_uuid = meaning == XID_POD_OOM ? TC_EMPTY : out->gpu_uuid;
    out->pid = -1;
    out->anchor.time_ns = TC_TIME_NONE;
    if (meaning == XID_POD_OOM) {
        out->oom_ns = ev->time_ns;
        return;
    }
    out->planned_ns = ev->time_ns;
    /* A request that was repeated was made when it was first seen. */
    if (ev->kind == TC_EVENT_K8S_EVENT && ev->k8s.first_ns >= 0 && ev->k8s.first_ns < ev->time_ns) {
        out->planned_ns = ev->k8s.first_ns;
    }
}

enum xid_pod_meaning tc__xid_pod_read(const struct tc_event *ev, struct xid_pod *out)
{
    enum xid_pod_meaning meaning = XID_POD_NOTHING;
    *out = (struct xid_pod){
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .name = ev->scope.pod,
        .uid = ev->scope.pod_uid,
        .container = ev->scope.container,
        .gpu_uuid = ev->scope.gpu_uuid,
        .pci = ev->scope.pci,
        .pid = ev->scope.pid,
        .planned_ns = TC_TIME_NONE,
        .oom_ns = TC_TIME_NONE,
    };
    struct xid_pod_event *e = &out->anchor;
    *e = (struct xid_pod_event){
        .time_ns = ev->time_ns,
        .count = 1,
        .exit_code = -1,
        .uid = tc_slice_head(ev->uid, TC_SCOPE_TEXT_MAX),
        .raw = ev->raw,
        .kind = ev->kind,
    };
    if (ev->kind == TC_EVENT_K8S_EVENT) {
        bool about_pod = tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"));
        if (!about_pod && (ev->k8s.object_kind.len > 0 || out->name.len == 0)) {
            return XID_POD_NOTHING;
        }
        (void)tc__text_fill(&out->name, ev->k8s.object_name);
        (void)tc__text_fill(&out->uid, ev->k8s.object_uid);
        e->count = ev->k8s.count;
        e->reason = ev->k8s.reason;
        e->message = ev->k8s.message;
        meaning = read_k8s(&ev->k8s);
    } else if (ev->kind == TC_EVENT_OOM_KILL) {
        /* The kernel knows a pod by its cgroup, which holds the uid. */
        e->message = ev->oom.message;
        meaning = out->uid.len > 0 ? XID_POD_OOM : XID_POD_NOTHING;
    } else {
        e->exit_code = ev->pod.exit_code;
        out->without_gpu = ev->pod.gpus == 0 && out->gpu_uuid.len == 0;
        e->message = ev->pod.message;
        e->terminal = tc_slice_eq(ev->pod.phase, TC_LIT("Failed"));
        e->reason = tc__text_or(ev->pod.reason, e->terminal ? ev->pod.phase : TC_EMPTY);
        meaning = read_state(&ev->pod);
    }
    e->evicted = meaning == XID_POD_EVICTED;
    e->reason = tc__text_clip(e->reason, XID_REASON_MAX);
    e->message = tc__text_clip(tc_slice_trim(e->message), XID_MESSAGE_MAX);
    if (meaning == XID_POD_PLANNED || meaning == XID_POD_OOM) {
        set_excuse(ev, meaning, out);
    }
    out->last = *e;
    return meaning;
}

/*
 * The same thing told again: a Kubernetes event that a collector replays, or the
 * state of a pod that has ended for good, read once more.
 */
static bool told_again(const struct xid_pod_event *a, const struct xid_pod_event *b)
{
    return a->kind == b->kind && a->uid.len > 0 && tc_slice_eq(a->uid, b->uid) &&
           (a->kind == TC_EVENT_K8S_EVENT ? a->count == b->count : a->terminal && b->terminal);
}

/* Which of two events of the same time is told, whatever order they came in. */
static bool told_first(const struct xid_pod_event *a, const struct xid_pod_event *b)
{
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    int order = tc_slice_cmp(a->reason, b->reason);
    return order == 0 ? tc_slice_cmp(a->uid, b->uid) < 0 : order < 0;
}

static bool merge_event(struct xid_pod *pod, const struct xid_pod_event *e)
{
    if (e->time_ns == TC_TIME_NONE || told_again(e, &pod->anchor) || told_again(e, &pod->last)) {
        return false;
    }
    bool first = pod->anchor.time_ns == TC_TIME_NONE;
    bool alone = pod->last.time_ns == pod->anchor.time_ns;
    if (first || (e->time_ns == pod->anchor.time_ns && told_first(e, &pod->anchor))) {
        pod->anchor = *e;
        pod->last = alone ? *e : pod->last;
        return true;
    }
    if (e->time_ns > pod->last.time_ns) {
        pod->last = *e;
        return true;
    }
    /* One that comes late may still be the one to join, as long as none is. */
    if (pod->join.rank == XID_RANK_NEVER && e->time_ns < pod->anchor.time_ns) {
        pod->anchor = *e;
        return true;
    }
    return false;
}

bool tc__xid_pod_merge(struct xid_pod *pod, const struct xid_pod *news)
{
    bool learned = tc__text_fill(&pod->node, news->node);
    learned |= tc__text_fill(&pod->ns, news->ns);
    learned |= tc__text_fill(&pod->name, news->name);
    learned |= tc__text_fill(&pod->uid, news->uid);
    learned |= tc__text_fill(&pod->container, news->container);
    learned |= tc__text_fill(&pod->gpu_uuid, news->gpu_uuid);
    if (!pod->pci.known && news->pci.known) {
        pod->pci = news->pci;
        learned = true;
    }
    if (pod->pid <= 0 && news->pid > 0) {
        pod->pid = news->pid;
        learned = true;
    }
    if (news->without_gpu && !pod->without_gpu) {
        pod->without_gpu = true;
        learned = true;
    }
    /* What was asked, or ran out of memory, after what the verdict is about is no news for it. */
    int64_t until_ns = pod->join.rank == XID_RANK_NEVER ? INT64_MAX : pod->anchor.time_ns;
    if (news->planned_ns != TC_TIME_NONE && news->planned_ns <= until_ns &&
        (pod->planned_ns == TC_TIME_NONE || news->planned_ns < pod->planned_ns)) {
        pod->planned_ns = news->planned_ns;
        learned = true;
    }
    if (news->oom_ns != TC_TIME_NONE && news->oom_ns <= until_ns && news->oom_ns > pod->oom_ns) {
        pod->oom_ns = news->oom_ns;
        learned = true;
    }
    return merge_event(pod, &news->anchor) || learned;
}

bool tc__xid_pod_joinable(const struct xid_pod *pod, const struct xid_pod_event *e)
{
    if (pod->node.len == 0 || e->time_ns == TC_TIME_NONE) {
        return false;
    }
    /* That the node threw the pod out is no request of anyone. */
    if (e->evicted) {
        return true;
    }
    bool asked = pod->planned_ns != TC_TIME_NONE && e->time_ns >= pod->planned_ns;
    bool memory = pod->oom_ns != TC_TIME_NONE && e->time_ns >= pod->oom_ns &&
                  e->time_ns - pod->oom_ns <= XID_OOM_REACH_NS;
    return !asked && !memory && !pod->without_gpu;
}

bool tc__xid_join_better(const struct xid_join *a, const struct xid_join *b)
{
    if (a->rank != b->rank) {
        return a->rank > b->rank;
    }
    if (a->tied != b->tied) {
        return a->tied;
    }
    if (a->gauged != b->gauged && b->rank != XID_RANK_NEVER) {
        return b->gauged;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns > b->time_ns;
    }
    /* Anything fixed will do from here: what counts is that order of arrival does not. */
    if (!tc_bdf_eq(a->pci, b->pci)) {
        return tc__xid_bdf_bits(a->pci) < tc__xid_bdf_bits(b->pci);
    }
    if (a->code != b->code) {
        return a->code < b->code;
    }
    if (a->pid != b->pid) {
        return a->pid > b->pid;
    }
    int order = tc_slice_cmp(a->gpu_uuid, b->gpu_uuid);
    return order == 0 ? tc_slice_cmp(a->process, b->process) > 0 : order > 0;
}

bool tc__xid_join_improves(const struct xid_pod *pod, const struct xid_join *join)
{
    if (pod->join.rank == XID_RANK_NEVER || join->rank > pod->join.rank) {
        return true;
    }
    return tc__xid_join_better(join, &pod->join) &&
           (pod->revisions < XID_REVISIONS_MAX || join->tied != pod->join.tied);
}

bool tc__xid_pod_key(struct xid_pod *pod, struct tc_arena *arena)
{
    size_t len = pod->node.len + pod->ns.len + pod->name.len + pod->uid.len + KEY_WORDS_BYTES;
    char *text = tc_new(arena, char, len);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, len);
    bool named = pod->uid.len > 0;
    pod->key = tc_format(&b, "{}/{}/{}{}{}", pod->node, pod->ns, pod->name, named ? "/" : "@",
                         named ? TC_ARG(pod->uid) : tc_as_time(pod->anchor.time_ns));
    return true;
}
