/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xid_correlation: an Xid on a node, then a pod of that node evicted or failed.
 * docs/patterns/xid_correlation.md says what it claims and what it never does.
 *
 * Windows of Xids, of affected pods, and of what is known about GPUs: which sits where,
 * and who uses it. A pod event looks at the Xids of its node; what comes late, an Xid or
 * news about a GPU, looks at the pods it may be about.
 */
#include "detect/detector.h"
#include "base/assert.h"
#include "detect/finding_priv.h"
#include "detect/window_pod_priv.h"
#include "detect/xid_correlation/priv.h"
#include "event/metric.h"

/* Pods of one node that one event may look at: a node has at most a few hundred. */
#define PODS_VISITED_MAX 512

#define POD_RING_BYTES ((size_t)2 << 20)
#define RECOUNTS_MAX 1024
#define ARENA_BYTES ((size_t)52 << 20)

/* Found by what tc__window_pod_put makes lead to it. */
static const struct tc_record_type POD = {
    .size = sizeof(struct xid_pod),
    .text_min = 1, /* a pod names itself */
    .texts = {TC_TEXT(struct xid_pod, node), TC_TEXT(struct xid_pod, ns),
              TC_TEXT(struct xid_pod, name), TC_TEXT(struct xid_pod, uid),
              TC_TEXT(struct xid_pod, container), TC_TEXT(struct xid_pod, gpu_uuid),
              TC_TEXT(struct xid_pod, key), TC_TEXT(struct xid_pod, anchor.uid),
              TC_TEXT(struct xid_pod, anchor.reason), TC_TEXT(struct xid_pod, anchor.message),
              TC_TEXT(struct xid_pod, last.uid), TC_TEXT(struct xid_pod, last.reason),
              TC_TEXT(struct xid_pod, last.message), TC_TEXT(struct xid_pod, join.gpu_uuid),
              TC_TEXT(struct xid_pod, join.process)},
    .keys = {{TC_FIELD(struct xid_pod, uid)},
             {TC_FIELD(struct xid_pod, node), TC_FIELD(struct xid_pod, ns),
              TC_FIELD(struct xid_pod, name)},
             {TC_FIELD(struct xid_pod, ns), TC_FIELD(struct xid_pod, name)}},
    .chain = {TC_FIELD(struct xid_pod, node)},
};

/* Puts the pod's end down to a better Xid than before, if there is one now. */
static bool improve_join(const struct xid_state *st, struct xid_pod *pod)
{
    struct xid_join join;
    bool improved = false;
    bool incomplete = false;
    if (tc__xid_pod_joinable(pod, &pod->anchor) &&
        tc__xid_best_join(st, pod, pod->anchor.time_ns, &join, &incomplete) &&
        tc__xid_join_improves(pod, &join)) {
        pod->revisions += pod->revisions < XID_REVISIONS_MAX;
        pod->join = join;
        pod->incomplete = incomplete;
        improved = true;
    }
    if (pod->last.time_ns > pod->anchor.time_ns && tc__xid_pod_joinable(pod, &pod->last) &&
        tc__xid_best_join(st, pod, pod->last.time_ns, &join, &incomplete) &&
        join.rank > pod->join.rank) {
        pod->anchor = pod->last;
        pod->join = join;
        pod->incomplete = incomplete;
        improved = true;
    }
    return improved;
}

/* Keeps the pod in the place of an older record of it, if there is one. */
static tc_status keep_pod(struct xid_state *st, struct xid_pod *pod, uint64_t old_pos,
                          struct xid_pod **out)
{
    struct tc_window *w = &st->pods;
    struct xid_pod *old = tc__window_at(w, old_pos);
    if (old != NULL && tc__window_update(w, old, pod, st->base.now_ns)) {
        st->rewritten_ns = st->base.now_ns;
        *out = old;
        return TC_OK;
    }
    struct xid_pod *kept = tc__window_add(w, pod, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_pod_put(w, kept);
    struct xid_pod *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    *out = kept;
    return TC_OK;
}

/* Why a join does not hold; "" when it does. */
static struct tc_slice objection(const struct xid_state *st, const struct xid_pod *pod)
{
    const struct xid_join *join = &pod->join;
    if (!tc__xid_pod_joinable(pod, &pod->anchor)) {
        bool asked = pod->planned_ns != TC_TIME_NONE && pod->anchor.time_ns >= pod->planned_ns;
        return asked              ? TC_LIT("it had been asked to stop")
               : pod->without_gpu ? TC_LIT("it asks for no GPU")
                                  : TC_LIT("it ran out of host memory");
    }
    struct xid_join now = *join;
    return tc__xid_tie(st, pod, &now) ? TC_EMPTY : TC_LIT("its own GPU is another");
}

/* It was tied by a use that has turned out to have ended before. */
static bool came_loose(const struct xid_state *st, const struct xid_pod *pod)
{
    struct xid_join now = pod->join;
    (void)tc__xid_tie(st, pod, &now);
    return pod->join.tied && !now.tied;
}

/*
 * Looks at a pod again and says what there is to say about it. `changed` when
 * something new is known about it, by `news` if that was a pod event.
 */
static tc_status revise(struct xid_state *st, struct xid_pod *pod, uint64_t old_pos, bool changed,
                        const struct xid_pod_event *news, const struct tc_sink *out)
{
    struct xid_pod told = *pod;
    bool was_joined = told.join.rank != XID_RANK_NEVER;
    struct tc_slice why = was_joined ? objection(st, pod) : TC_EMPTY;
    if (why.len > 0 || (was_joined && came_loose(st, pod))) {
        pod->join = (struct xid_join){0};
    }
    bool improved = improve_join(st, pod);
    bool joined = pod->join.rank != XID_RANK_NEVER;
    if (!changed && !improved && why.len == 0) {
        return TC_OK;
    }
    if (was_joined && !joined) {
        TC_TRY(tc__xid_report(&told, why, news, st->base.scratch, out));
    }
    if (joined && pod->key.len == 0 && !tc__xid_pod_key(pod, st->base.scratch)) {
        return TC_E_NOMEM;
    }
    struct xid_pod *kept = NULL;
    TC_TRY(keep_pod(st, pod, old_pos, &kept));
    return joined ? tc__xid_report(kept, TC_EMPTY, NULL, st->base.scratch, out) : TC_OK;
}

static bool knows_gpu(const struct xid_pod *pod)
{
    return pod->gpu_uuid.len > 0 || pod->pci.known || pod->pid > 0;
}

static bool in_window(const struct xid_state *st, const struct xid_pod *pod, int64_t time_ns)
{
    return tc__xid_latest(st, pod->anchor.time_ns) >= time_ns &&
           tc__xid_earliest(st, pod->anchor.time_ns) <= time_ns;
}

/* One more Xid of the moment of the pod's end, not a late one: told when time goes on, once for all
 * that come; in a storm with the next tick. */
static void recount_soon(struct xid_state *st, struct xid_pod *pod)
{
    int64_t wait_ns = pod->recounts < XID_REVISIONS_MAX ? 1 : TC_SECOND;
    pod->recount = pod->recount || tc__waiting_add(&st->recounts, pod, st->base.now_ns + wait_ns);
}

static tc_status recount(struct xid_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct xid_pod *pod = NULL;
    while ((pod = tc__waiting_take(&st->recounts, now_ns, NULL)) != NULL) {
        pod = pod->gone ? tc__window_pod_find(&st->pods, pod) : pod;
        struct xid_join join;
        if (pod == NULL) {
            continue;
        }
        pod->recount = false;
        if (pod->join.rank != XID_RANK_NEVER &&
            tc__xid_best_join(st, pod, pod->anchor.time_ns, &join, &pod->incomplete) &&
            join.xid_count != pod->join.xid_count) {
            pod->join.xid_count = join.xid_count;
            pod->recounts += pod->recounts < XID_REVISIONS_MAX;
            TC_TRY(tc__xid_report(pod, TC_EMPTY, NULL, st->base.scratch, out));
        }
    }
    return TC_OK;
}

/* Whether a late Xid can change what is said about a pod. */
static bool matters(const struct xid_state *st, const struct xid_pod *pod,
                    const struct xid_run *run, int64_t time_ns)
{
    bool in_anchor = in_window(st, pod, time_ns);
    bool in_last = tc__xid_latest(st, pod->last.time_ns) >= time_ns &&
                   tc__xid_earliest(st, pod->last.time_ns) <= time_ns;
    int rank = tc__xid_rank(st, run);
    if ((!in_anchor && !in_last) || rank == XID_RANK_NEVER || rank < pod->join.rank) {
        return false;
    }
    return rank > pod->join.rank || pod->revisions < XID_REVISIONS_MAX ||
           (knows_gpu(pod) && !pod->join.tied);
}

/* Whether it can change what is said about a pod that a GPU sits there. */
static bool matters_where(const struct xid_pod *pod, struct tc_bdf pci)
{
    return knows_gpu(pod) || (pod->join.rank != XID_RANK_NEVER &&
                              pod->revisions < XID_REVISIONS_MAX && tc_bdf_eq(pod->join.pci, pci));
}

/* Looks again at the pods of a node after an Xid came late, or (run is NULL) after it became known
 * which GPU sits at an address. */
static tc_status look_again(struct xid_state *st, const struct tc_event *ev,
                            const struct xid_run *run, const struct tc_sink *out)
{
    struct tc_window *w = &st->pods;
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct xid_pod *pod = tc__window_pod_of_node(w, ev->scope.node);
    /* What was kept before the time of the Xid ended before it, and so did all behind it that was
     * not written anew since; but for the second that the time of a pod event may have been cut
     * by, and for what the clocks may differ. */
    int64_t seen_ns = ev->time_ns - TC_SECOND - st->slack_ns;
    seen_ns = run == NULL || st->rewritten_ns >= seen_ns ? INT64_MIN : seen_ns;
    for (unsigned i = 0; pod != NULL && i < PODS_VISITED_MAX && pod->head.seen_ns >= seen_ns; i++) {
        uint64_t older = pod->head.older;
        if (!pod->gone || link == NULL) {
            link = &pod->head.older;
        } else {
            *link = older; /* walked once, then out of the way */
        }
        if (!pod->gone && run != NULL && ev->time_ns == st->base.now_ns &&
            in_window(st, pod, ev->time_ns)) {
            recount_soon(st, pod);
        }
        bool again = !pod->gone && (run == NULL ? matters_where(pod, ev->scope.pci)
                                                : matters(st, pod, run, ev->time_ns));
        if (again) {
            struct xid_pod next = *pod;
            TC_TRY(revise(st, &next, pod->head.pos, false, NULL, out));
        }
        pod = tc__window_at(w, older);
    }
    return TC_OK;
}

/* An event may be two windows late; what it could be joined with is kept for that long. */
static bool too_late(struct xid_state *st, int64_t time_ns)
{
    if (time_ns >= st->base.now_ns - 2 * st->window_ns) {
        return false;
    }
    st->base.late++;
    return true;
}

/* What an event says of one Xid, as a run of one. */
static struct xid_run run_of(const struct tc_event *ev)
{
    return (struct xid_run){
        .since_ns = TC_TIME_NONE,
        .pid = ev->scope.pid,
        .pci = ev->scope.pci,
        .node = ev->scope.node,
        .gpu_uuid = ev->scope.gpu_uuid,
        .span = tc__span_make(ev->time_ns, ev->raw),
        .counted_ns = ev->time_ns,
        .counted_source = ev->raw.source,
    };
}

static tc_status keep_xid(struct xid_state *st, const struct tc_event *ev, struct xid_run *one,
                          const struct tc_sink *out)
{
    const struct xid_run *run = NULL;
    TC_TRY(tc__xid_note(st, one, &run));
    if (run == NULL || ev->time_ns > st->newest_pod_ns) {
        return TC_OK;
    }
    return look_again(st, ev, run, out);
}

/* Looks again at a pod after it became known that it uses a GPU, or does no longer. */
static tc_status look_at_user(struct xid_state *st, const struct xid_use *use,
                              const struct tc_sink *out)
{
    struct xid_pod key = {.ns = use->ns, .name = use->name};
    const struct xid_pod *pod = tc__window_pod_find(&st->pods, &key);
    if (pod == NULL || pod->gone) {
        return TC_OK;
    }
    struct xid_pod next = *pod;
    return revise(st, &next, pod->head.pos, false, NULL, out);
}

/* Who uses the GPU of an event. */
static tc_status on_use(struct xid_state *st, const struct tc_event *ev, const struct tc_sink *out)
{
    const struct xid_use *use = NULL;
    const struct xid_use *before = NULL;
    if (ev->scope.gpu_uuid.len == 0 || ev->scope.pod.len == 0) {
        return TC_OK;
    }
    TC_TRY(tc__xid_learn_use(st, ev, &use, &before));
    if (use == NULL || ev->time_ns > st->newest_pod_ns) {
        return TC_OK;
    }
    TC_TRY(look_at_user(st, use, out));
    return before == NULL ? TC_OK : look_at_user(st, before, out);
}

static tc_status on_xid(struct xid_state *st, const struct tc_event *ev, const struct tc_sink *out)
{
    struct xid_run one = run_of(ev);
    one.code = ev->xid.code;
    one.fatal = tc_slice_eq(ev->xid.severity, TC_LIT("fatal"));
    one.process = tc__text_clip(ev->xid.process, TC_SCOPE_TEXT_MAX);
    TC_TRY(on_use(st, ev, out));
    return keep_xid(st, ev, &one, out);
}

static tc_status on_inventory(struct xid_state *st, const struct tc_event *ev,
                              const struct tc_sink *out)
{
    bool again = false;
    if (!ev->scope.pci.known || ev->scope.gpu_uuid.len == 0) {
        st->base.ignored++;
        return TC_OK;
    }
    TC_TRY(tc__xid_learn_place(st, &ev->scope, &again));
    return again ? look_again(st, ev, NULL, out) : TC_OK;
}

/* An exporter's sample: whose GPU it is, where that sits, and the last Xid it saw. */
static tc_status on_metric(struct xid_state *st, const struct tc_event *ev,
                           const struct tc_sink *out)
{
    bool fresh = false;
    struct xid_run one = run_of(ev);
    if (ev->scope.pci.known && tc_slice_starts(ev->scope.gpu_uuid, TC_LIT("GPU-"))) {
        TC_TRY(on_inventory(st, ev, out));
    }
    TC_TRY(on_use(st, ev, out));
    if (ev->metric.metric == TC_METRIC_GPU_XID_LAST) {
        TC_TRY(tc__xid_learn_gauge(st, ev, &fresh, &one.since_ns));
    }
    if (!fresh || ev->metric.value > INT32_MAX) {
        return TC_OK;
    }
    one.code = (int64_t)ev->metric.value;
    return keep_xid(st, ev, &one, out);
}

static tc_status keep_news(struct xid_state *st, const struct tc_event *ev, struct xid_pod *pod,
                           const struct tc_sink *out)
{
    struct xid_pod_event news = pod->anchor;
    uint64_t old_pos = TC_RING_NONE;
    const struct xid_pod *old = tc__window_pod_find(&st->pods, pod);
    news.time_ns = ev->time_ns;
    if (old != NULL) {
        struct xid_pod known = *old;
        if (!tc__xid_pod_merge(&known, pod)) {
            return TC_OK;
        }
        old_pos = old->head.pos;
        *pod = known;
    }
    int64_t latest_ns = tc__xid_latest(st, ev->time_ns);
    st->newest_pod_ns = latest_ns > st->newest_pod_ns ? latest_ns : st->newest_pod_ns;
    /* Without a node there is nothing to join, until another event of the pod names it. */
    st->base.ignored += pod->node.len == 0 && pod->anchor.time_ns != TC_TIME_NONE;
    return revise(st, pod, old_pos, true, &news, out);
}

/* What the pattern cannot do without, besides what is particular to a kind. */
static bool usable(const struct tc_event *ev, bool is_pod)
{
    /* TC_TIME_NONE is below zero, and so is a code that is not known. An inventory holds
     * whenever it was taken. What the control plane says about a pod names no node. */
    return (ev->scope.node.len > 0 || is_pod) && tc__scope_fits(&ev->scope) &&
           (ev->time_ns >= 0 || ev->kind == TC_EVENT_GPU_INVENTORY) &&
           (ev->kind != TC_EVENT_XID || ev->xid.code >= 0);
}

static bool is_pod_kind(enum tc_event_kind kind)
{
    return kind == TC_EVENT_K8S_EVENT || kind == TC_EVENT_POD_STATE || kind == TC_EVENT_OOM_KILL;
}

static tc_status on_pod(struct xid_state *st, const struct tc_event *ev, const struct tc_sink *out)
{
    struct xid_pod pod;
    if (tc__xid_pod_read(ev, &pod) == XID_POD_NOTHING) {
        return TC_OK;
    }
    bool named = (pod.name.len > 0 || ev->kind == TC_EVENT_OOM_KILL) &&
                 pod.name.len <= TC_SCOPE_TEXT_MAX && pod.uid.len <= TC_SCOPE_TEXT_MAX;
    if (!usable(ev, true) || !named) {
        st->base.ignored++;
        return TC_OK;
    }
    return too_late(st, ev->time_ns) ? TC_OK : keep_news(st, ev, &pod, out);
}

/* Metrics of other things than GPUs say nothing here. */
static bool is_gpu_metric(const struct tc_event *ev)
{
    return ev->scope.gpu_uuid.len > 0 ||
           (ev->metric.metric == TC_METRIC_GPU_XID_LAST && ev->scope.gpu_index >= 0);
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct xid_state *st = state;
    if (is_pod_kind(ev->kind)) {
        return on_pod(st, ev, out);
    }
    if (ev->kind == TC_EVENT_METRIC && !is_gpu_metric(ev)) {
        return TC_OK;
    }
    if (!usable(ev, false)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_GPU_INVENTORY) {
        return on_inventory(st, ev, out);
    }
    if (too_late(st, ev->time_ns)) {
        return TC_OK;
    }
    return ev->kind == TC_EVENT_METRIC ? on_metric(st, ev, out) : on_xid(st, ev, out);
}

static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return recount(state, now_ns, out);
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    return recount(state, INT64_MAX, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct xid_state *st = state;
    st->newest_pod_ns = INT64_MIN;
    st->rewritten_ns = INT64_MIN;
    bool ok = tc__xid_xids_init(st) &&
              tc__window_open(&st->pods, &st->base, &POD, POD_RING_BYTES, 2 * st->window_ns) &&
              tc__waiting_init(&st->recounts, env->arena, &st->pods, RECOUNTS_MAX, NULL) &&
              tc__xid_gpus_init(st);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("window", struct xid_state, window_ns, 300, 1, 86400,
                    "longest time from an Xid to the pod event that is put down to it"),
    TC_KNOB_SECONDS("slack", struct xid_state, slack_ns, 0, 0, 3600,
                    "how far the clocks of nodes and of Kubernetes may be apart"),
};

const struct tc_detector tc_detector_xid_correlation = {
    .id = "2",
    .name = "xid_correlation",
    .summary = "A pod failed or was evicted soon after an Xid of the NVIDIA driver on its node.",
    .kinds = TC_EVENT_BIT(TC_EVENT_XID) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |
             TC_EVENT_BIT(TC_EVENT_K8S_EVENT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_OOM_KILL) | TC_EVENT_BIT(TC_EVENT_METRIC),
    .state_bytes = sizeof(struct xid_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_tick = on_tick,
};
