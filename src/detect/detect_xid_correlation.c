/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xid_correlation: an Xid on a node, then a pod of that node evicted or failed.
 * docs/patterns/xid_correlation.md says what it claims and what it never does.
 *
 * Three windows: Xids, affected pods, and which GPU sits where. Repeats of one
 * Xid inside a step (a sixteenth of the knob) are one record, so a storm costs
 * what its first line costs. A pod event looks at the Xids of its node; an Xid
 * that comes late looks at the pods of its node.
 */
#include "base/assert.h"
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/window_pod_priv.h"
#include "detect/xid_correlation_priv.h"
#include "event/xid.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A step is shorter than the window, so no run begins before a window and ends after it. */
#define STEPS 16
/* Xids and pods of one node that one event may look at: a node has 8 or 16 GPUs and at most a
 * few hundred pods. A pod whose node has more is reported as incomplete. */
#define XIDS_VISITED_MAX 512
#define PODS_VISITED_MAX 512
/* Boards at one address after which pods are not looked at again for the next one: nobody swaps
 * so many, and an inventory that flaps must not cost a walk each time. */
#define GPU_CHANGES_MAX 16

#define XID_RING_BYTES ((size_t)2 << 20)
#define POD_RING_BYTES ((size_t)2 << 20)
#define GPU_RING_BYTES ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)16 << 20)

/* The occurrences of one Xid of one GPU and process inside one step. */
struct run {
    struct tc_window_head head;
    int64_t step;
    int64_t code;
    int64_t pid;
    struct tc_bdf pci;
    bool fatal; /* the line itself says so */
    struct tc_slice node;
    struct tc_slice gpu_uuid;
    struct tc_slice process;
    struct tc_span span;
    int64_t counted_ns; /* the one that was counted last, and who told of it */
    uint32_t counted_source;
};

/* Which GPU sits where. Does not expire: it is said once, at boot. */
struct gpu {
    struct tc_window_head head;
    struct tc_bdf pci;
    unsigned changes; /* of the board, up to GPU_CHANGES_MAX */
    struct tc_slice node;
    struct tc_slice uuid;
};

struct state {
    int64_t window_ns; /* knob */
    struct tc_arena *scratch;
    struct tc_window xids;
    struct tc_window pods;
    struct tc_window gpus;
    int64_t now_ns;
    int64_t newest_pod_ns;
    uint64_t late;
    uint64_t ignored;
};

static const size_t RUN_TEXTS[] = {
    offsetof(struct run, node),
    offsetof(struct run, gpu_uuid),
    offsetof(struct run, process),
};
static const size_t POD_TEXTS[] = {
    offsetof(struct xid_pod, node),          offsetof(struct xid_pod, ns),
    offsetof(struct xid_pod, name),          offsetof(struct xid_pod, uid),
    offsetof(struct xid_pod, container),     offsetof(struct xid_pod, gpu_uuid),
    offsetof(struct xid_pod, key),           offsetof(struct xid_pod, anchor.uid),
    offsetof(struct xid_pod, anchor.reason), offsetof(struct xid_pod, anchor.message),
    offsetof(struct xid_pod, last.uid),      offsetof(struct xid_pod, last.reason),
    offsetof(struct xid_pod, last.message),  offsetof(struct xid_pod, join.gpu_uuid),
    offsetof(struct xid_pod, join.process),
};
static const size_t GPU_TEXTS[] = {offsetof(struct gpu, node), offsetof(struct gpu, uuid)};

static bool same_run(const void *record, const void *key)
{
    const struct run *a = record;
    const struct run *b = key;
    return a->step == b->step && a->code == b->code && a->pid == b->pid && a->fatal == b->fatal &&
           tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node) &&
           tc_slice_eq(a->gpu_uuid, b->gpu_uuid) && tc_slice_eq(a->process, b->process);
}

static bool same_run_node(const void *record, const void *key)
{
    return tc_slice_eq(((const struct run *)record)->node, ((const struct run *)key)->node);
}

static bool same_pod_node(const void *record, const void *key)
{
    return tc_slice_eq(((const struct xid_pod *)record)->node, ((const struct xid_pod *)key)->node);
}

static bool same_gpu(const void *record, const void *key)
{
    const struct gpu *a = record;
    const struct gpu *b = key;
    return tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node);
}

static uint64_t node_hash(struct tc_slice node)
{
    return tc_slice_hash(node, 0);
}

static struct tc_window_place find_gpu(const struct state *st, struct tc_slice node,
                                       struct tc_bdf pci)
{
    struct gpu key = {.node = node, .pci = pci};
    return tc__window_find(&st->gpus, &st->gpus.index,
                           tc_hash_mix(node_hash(node), tc__xid_bdf_bits(pci)), same_gpu, &key);
}

/* The UUID as given, or the one of the GPU known to sit there; "" when neither is known. */
static struct tc_slice gpu_uuid(const struct state *st, struct tc_slice node, struct tc_slice given,
                                struct tc_bdf pci)
{
    if (given.len > 0 || !pci.known) {
        return given;
    }
    const struct gpu *gpu = find_gpu(st, node, pci).record;
    return gpu == NULL ? TC_EMPTY : gpu->uuid;
}

/* Application Xids and mere information never stand alone, so they never stand at all. */
static int rank_of(const struct run *run)
{
    const struct tc_xid *xid = tc_xid_find(run->code);
    if (xid == NULL) {
        return XID_RANK_UNKNOWN;
    }
    switch (xid->class) {
    case TC_XID_APPLICATION:
    case TC_XID_INFO:
        return XID_RANK_NEVER;
    case TC_XID_HARDWARE:
    case TC_XID_DRIVER:
        break;
    }
    return XID_RANK_KNOWN + (run->fatal ? (int)TC_XID_FATAL : (int)xid->severity);
}

static bool tied(const struct state *st, const struct run *run, const struct xid_pod *pod,
                 struct tc_slice pod_uuid)
{
    if ((pod->pid > 0 && pod->pid == run->pid) ||
        (pod->pci.known && tc_bdf_eq(pod->pci, run->pci))) {
        return true;
    }
    return pod_uuid.len > 0 &&
           tc_slice_eq(pod_uuid, gpu_uuid(st, run->node, run->gpu_uuid, run->pci));
}

/* Both are known, and they are not the same. The UUID of a MIG slice is not that of its GPU. */
static bool other_gpu(struct tc_slice a_uuid, struct tc_bdf a_pci, struct tc_slice b_uuid,
                      struct tc_bdf b_pci)
{
    if (tc_slice_starts(a_uuid, TC_LIT("GPU-")) && tc_slice_starts(b_uuid, TC_LIT("GPU-"))) {
        return !tc_slice_eq(a_uuid, b_uuid);
    }
    return a_pci.known && b_pci.known && !tc_bdf_eq(a_pci, b_pci);
}

/* The Xid that explains an event of the pod best. False when there is none. */
static bool best_join(const struct state *st, const struct xid_pod *pod, int64_t time_ns,
                      struct xid_join *out, bool *out_incomplete)
{
    int64_t from_ns = time_ns - st->window_ns;
    int64_t to_ns = tc__xid_latest(time_ns);
    int64_t total = 0;
    struct xid_join best = {0};
    struct run key = {.node = pod->node};
    struct tc_slice pod_uuid = gpu_uuid(st, pod->node, pod->gpu_uuid, pod->pci);
    const struct run *run =
        tc__window_find(&st->xids, &st->xids.chains, node_hash(pod->node), same_run_node, &key)
            .record;
    /* A run goes on for less than a step after it was kept, and what is behind it in the chain
     * was kept earlier: from here on everything is older than the window. */
    int64_t seen_ns = from_ns - st->window_ns / STEPS;
    unsigned visited = 0;
    for (; run != NULL && run->head.seen_ns >= seen_ns && visited < XIDS_VISITED_MAX; visited++) {
        struct xid_join join = {
            .code = run->code,
            .pid = run->pid,
            .pci = run->pci,
            .process = run->process,
        };
        int64_t count = tc__span_inside(&run->span, from_ns, to_ns, &join.time_ns, &join.raw);
        total += count;
        join.rank = count == 0 ? XID_RANK_NEVER : rank_of(run);
        if (join.rank != XID_RANK_NEVER && join.rank >= best.rank) {
            join.tied = tied(st, run, pod, pod_uuid);
            join.gpu_uuid = gpu_uuid(st, run->node, run->gpu_uuid, run->pci);
            bool apart = !join.tied && other_gpu(pod_uuid, pod->pci, join.gpu_uuid, run->pci);
            best = !apart && tc__xid_join_better(&join, &best) ? join : best;
        }
        run = tc__window_at(&st->xids, run->head.older);
    }
    *out_incomplete = visited == XIDS_VISITED_MAX || st->xids.lost_ns >= from_ns;
    best.xid_count = total;
    *out = best;
    return best.rank != XID_RANK_NEVER;
}

/* Puts the pod's end down to a better Xid than before, if there is one now. */
static bool improve_join(const struct state *st, struct xid_pod *pod)
{
    struct xid_join join;
    bool improved = false;
    bool incomplete = false;
    if (tc__xid_pod_joinable(pod, &pod->anchor) &&
        best_join(st, pod, pod->anchor.time_ns, &join, &incomplete) &&
        tc__xid_join_improves(pod, &join)) {
        pod->revisions += pod->revisions < XID_REVISIONS_MAX;
        pod->join = join;
        pod->incomplete = incomplete;
        improved = true;
    }
    if (pod->last.time_ns > pod->anchor.time_ns && tc__xid_pod_joinable(pod, &pod->last) &&
        best_join(st, pod, pod->last.time_ns, &join, &incomplete) && join.rank > pod->join.rank) {
        pod->anchor = pod->last;
        pod->join = join;
        pod->incomplete = incomplete;
        improved = true;
    }
    return improved;
}

/* Keeps the pod in the place of an older record of it, if there is one. */
static tc_status keep_pod(struct state *st, const struct xid_pod *pod, uint64_t old_pos,
                          struct xid_pod **out)
{
    struct tc_window *w = &st->pods;
    struct tc_window_place chain = {0};
    if (pod->node.len > 0) {
        chain = tc__window_find(w, &w->chains, node_hash(pod->node), same_pod_node, pod);
    }
    struct xid_pod *kept =
        tc__window_push(w, st->scratch, pod, sizeof *pod, POD_TEXTS, COUNT(POD_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_pod_put(w, kept);
    if (kept->node.len > 0) {
        tc__window_chain(w, chain, kept);
    }
    struct xid_pod *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    *out = kept;
    return TC_OK;
}

/* Why a join does not hold; "" when it does. */
static struct tc_slice objection(const struct state *st, const struct xid_pod *pod)
{
    const struct xid_join *join = &pod->join;
    if (!tc__xid_pod_joinable(pod, &pod->anchor)) {
        bool asked = pod->planned_ns != TC_TIME_NONE && pod->anchor.time_ns >= pod->planned_ns;
        return asked              ? TC_LIT("it had been asked to stop")
               : pod->without_gpu ? TC_LIT("it asks for no GPU")
                                  : TC_LIT("it ran out of host memory");
    }
    struct tc_slice pod_uuid = gpu_uuid(st, pod->node, pod->gpu_uuid, pod->pci);
    struct tc_slice xid_uuid = gpu_uuid(st, pod->node, join->gpu_uuid, join->pci);
    return !join->tied && other_gpu(pod_uuid, pod->pci, xid_uuid, join->pci)
               ? TC_LIT("its own GPU is another")
               : TC_EMPTY;
}

/*
 * Looks at a pod again and says what there is to say about it. `changed` when
 * something new is known about it, by `news` if that was a pod event.
 */
static tc_status revise(struct state *st, struct xid_pod *pod, uint64_t old_pos, bool changed,
                        const struct xid_pod_event *news, const struct tc_sink *out)
{
    struct xid_pod told = *pod;
    bool was_joined = told.join.rank != XID_RANK_NEVER;
    struct tc_slice why = was_joined ? objection(st, pod) : TC_EMPTY;
    if (why.len > 0) {
        pod->join = (struct xid_join){0};
    }
    bool improved = improve_join(st, pod);
    bool joined = pod->join.rank != XID_RANK_NEVER;
    if (!changed && !improved && why.len == 0) {
        return TC_OK;
    }
    if (was_joined && !joined) {
        TC_TRY(tc__xid_withdraw(&told, why, news, st->scratch, out));
    }
    if (joined && pod->key.len == 0 && !tc__xid_pod_key(pod, st->scratch)) {
        return TC_E_NOMEM;
    }
    struct xid_pod *kept = NULL;
    TC_TRY(keep_pod(st, pod, old_pos, &kept));
    return joined ? tc__xid_report(kept, st->scratch, out) : TC_OK;
}

static bool knows_gpu(const struct xid_pod *pod)
{
    return pod->gpu_uuid.len > 0 || pod->pci.known || pod->pid > 0;
}

/* Whether a late Xid can change what is said about a pod. */
static bool matters(const struct state *st, const struct xid_pod *pod, const struct run *run,
                    int64_t time_ns)
{
    bool in_anchor = tc__xid_latest(pod->anchor.time_ns) >= time_ns &&
                     pod->anchor.time_ns - time_ns <= st->window_ns;
    bool in_last = tc__xid_latest(pod->last.time_ns) >= time_ns &&
                   pod->last.time_ns - time_ns <= st->window_ns;
    int rank = rank_of(run);
    if ((!in_anchor && !in_last) || rank < pod->join.rank) {
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
static tc_status look_again(struct state *st, const struct tc_event *ev, const struct run *run,
                            const struct tc_sink *out)
{
    struct tc_window *w = &st->pods;
    struct xid_pod key = {.node = ev->scope.node};
    struct tc_window_place chain =
        tc__window_find(w, &w->chains, node_hash(key.node), same_pod_node, &key);
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct xid_pod *pod = chain.record;
    /* What was kept before the time of the Xid ended before it, and so did all behind it; but
     * for the second that the time of a pod event may have been cut by. */
    int64_t seen_ns = run == NULL ? INT64_MIN : ev->time_ns - TC_SECOND;
    for (unsigned i = 0; pod != NULL && i < PODS_VISITED_MAX && pod->head.seen_ns >= seen_ns; i++) {
        uint64_t older = pod->head.older;
        if (!pod->gone || link == NULL) {
            link = &pod->head.older;
        } else {
            *link = older; /* walked once, then out of the way */
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

/* Moves event time on and lets go of what no event can need any more. */
static void advance(struct state *st, int64_t now_ns)
{
    if (now_ns > st->now_ns) {
        st->now_ns = now_ns;
        tc__window_expire(&st->xids, now_ns - 3 * st->window_ns - st->window_ns / STEPS);
        tc__window_expire(&st->pods, now_ns - 2 * st->window_ns);
    }
}

/* An event may be two windows late; what it could be joined with is kept for that long. */
static bool too_late(struct state *st, int64_t time_ns)
{
    advance(st, time_ns);
    if (time_ns >= st->now_ns - 2 * st->window_ns) {
        return false;
    }
    st->late++;
    return true;
}

/* One more of a run. Another source that tells of it within a second tells of the same one: the
 * journal dates a line a little later than the kernel, and syslog cuts to seconds. */
static void add_to_run(struct run *run, const struct tc_event *ev)
{
    int64_t apart_ns = ev->time_ns - run->counted_ns;
    bool again =
        ev->raw.source != run->counted_source && apart_ns > -TC_SECOND && apart_ns < TC_SECOND;
    if (again) {
        return;
    }
    tc__span_add(&run->span, ev->time_ns, ev->raw);
    run->counted_ns = ev->time_ns;
    run->counted_source = ev->raw.source;
}

static tc_status on_xid(struct state *st, const struct tc_event *ev, const struct tc_sink *out)
{
    struct tc_window *w = &st->xids;
    struct run run = {
        .step = ev->time_ns / (st->window_ns / STEPS),
        .code = ev->xid.code,
        .pid = ev->scope.pid,
        .pci = ev->scope.pci,
        .fatal = tc_slice_eq(ev->xid.severity, TC_LIT("fatal")),
        .node = ev->scope.node,
        .gpu_uuid = ev->scope.gpu_uuid,
        .process = tc__text_clip(ev->xid.process, TC_SCOPE_TEXT_MAX),
        .span = tc__span_make(ev->time_ns, ev->raw),
        .counted_ns = ev->time_ns,
        .counted_source = ev->raw.source,
    };
    uint64_t hash = tc_hash_mix(node_hash(run.node), tc__xid_bdf_bits(run.pci));
    hash = tc_hash_mix(hash, (uint64_t)run.code);
    hash = tc_hash_mix(hash, (uint64_t)run.pid);
    hash = tc_hash_mix(hash, (uint64_t)run.step);
    struct tc_window_place place = tc__window_find(w, &w->index, hash, same_run, &run);
    struct run *kept = place.record;
    if (kept != NULL) {
        add_to_run(kept, ev);
    } else {
        struct tc_window_place chain =
            tc__window_find(w, &w->chains, node_hash(run.node), same_run_node, &run);
        kept = tc__window_push(w, st->scratch, &run, sizeof run, RUN_TEXTS, COUNT(RUN_TEXTS),
                               st->now_ns);
        if (kept == NULL) {
            return TC_E_NOMEM;
        }
        tc__window_put(w, &w->index, place, kept);
        tc__window_chain(w, chain, kept);
    }
    if (ev->time_ns > st->newest_pod_ns || rank_of(kept) == XID_RANK_NEVER) {
        return TC_OK;
    }
    return look_again(st, ev, kept, out);
}

static tc_status on_inventory(struct state *st, const struct tc_event *ev,
                              const struct tc_sink *out)
{
    struct tc_window *w = &st->gpus;
    if (!ev->scope.pci.known || ev->scope.gpu_uuid.len == 0) {
        st->ignored++;
        return TC_OK;
    }
    struct tc_window_place place = find_gpu(st, ev->scope.node, ev->scope.pci);
    const struct gpu *known = place.record;
    if (known != NULL && tc_slice_eq(known->uuid, ev->scope.gpu_uuid)) {
        return TC_OK;
    }
    struct gpu gpu = {
        .pci = ev->scope.pci,
        .changes = known == NULL ? 0 : known->changes + (known->changes < GPU_CHANGES_MAX),
        .node = ev->scope.node,
        .uuid = ev->scope.gpu_uuid,
    };
    const struct gpu *kept =
        tc__window_push(w, st->scratch, &gpu, sizeof gpu, GPU_TEXTS, COUNT(GPU_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, place, kept);
    return gpu.changes < GPU_CHANGES_MAX ? look_again(st, ev, NULL, out) : TC_OK;
}

static tc_status on_pod(struct state *st, const struct tc_event *ev, struct xid_pod *pod,
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
    int64_t latest_ns = tc__xid_latest(ev->time_ns);
    st->newest_pod_ns = latest_ns > st->newest_pod_ns ? latest_ns : st->newest_pod_ns;
    /* Without a node there is nothing to join, until another event of the pod names it. */
    st->ignored += pod->node.len == 0 && pod->anchor.time_ns != TC_TIME_NONE;
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

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct xid_pod pod = {0};
    bool is_pod = ev->kind != TC_EVENT_XID && ev->kind != TC_EVENT_GPU_INVENTORY;
    if (is_pod && tc__xid_pod_read(ev, &pod) == XID_POD_NOTHING) {
        return TC_OK;
    }
    bool named = !is_pod || ((pod.name.len > 0 || ev->kind == TC_EVENT_OOM_KILL) &&
                             pod.name.len <= TC_SCOPE_TEXT_MAX && pod.uid.len <= TC_SCOPE_TEXT_MAX);
    if (!usable(ev, is_pod) || !named) {
        st->ignored++;
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_GPU_INVENTORY) {
        return on_inventory(st, ev, out);
    }
    if (too_late(st, ev->time_ns)) {
        return TC_OK;
    }
    return is_pod ? on_pod(st, ev, &pod, out) : on_xid(st, ev, out);
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)out;
    advance(state, now_ns);
    return TC_OK;
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    st->scratch = env->scratch;
    st->now_ns = INT64_MIN;
    st->newest_pod_ns = INT64_MIN;
    /* Xids and GPUs name their node, a GPU its UUID and a pod itself: none is smaller than this. */
    bool ok =
        tc__window_init(&st->xids, env->arena, XID_RING_BYTES,
                        XID_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct run), 1), 1, true) &&
        tc__window_init(&st->pods, env->arena, POD_RING_BYTES,
                        POD_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_pod), 1),
                        TC_WINDOW_POD_NAMES, true) &&
        tc__window_init(&st->gpus, env->arena, GPU_RING_BYTES,
                        GPU_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct gpu), 2), 1, false);
    return ok ? TC_OK : TC_E_NOMEM;
}

static void stats(const void *state, struct tc_detector_stats *out)
{
    const struct state *st = state;
    *out = (struct tc_detector_stats){
        .dropped =
            st->xids.ring.dropped_count + st->pods.ring.dropped_count + st->gpus.ring.dropped_count,
        .late = st->late,
        .ignored = st->ignored,
    };
}

static const struct tc_param PARAMS[] = {
    {
        .name = "window",
        .type = TC_PARAM_DURATION,
        .value = 300 * TC_SECOND,
        .min = TC_SECOND,
        .max = 86400 * TC_SECOND,
        .offset = offsetof(struct state, window_ns),
        .help = "longest time from an Xid to the pod event that is put down to it",
    },
};

const struct tc_detector tc_detector_xid_correlation = {
    .id = "2",
    .name = "xid_correlation",
    .summary = "A pod failed or was evicted soon after an Xid of the NVIDIA driver on its node.",
    .kinds = TC_EVENT_BIT(TC_EVENT_XID) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |
             TC_EVENT_BIT(TC_EVENT_K8S_EVENT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_OOM_KILL),
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .stats = stats,
};
