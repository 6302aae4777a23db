/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Xids of xid_correlation. Repeats of one Xid inside a step (a sixteenth of the
 * knob) are one record, so a storm costs what its first line costs.
 */
#include "event/xid.h"
#include "detect/finding_priv.h"
#include "detect/xid_correlation_priv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Xids of one node that one event may look at: a node has 8 or 16 GPUs. A pod whose node has more
 * is reported as incomplete. */
#define VISITED_MAX 512

#define RING_BYTES ((size_t)2 << 20)

static const size_t RUN_TEXTS[] = {
    offsetof(struct xid_run, node),
    offsetof(struct xid_run, gpu_uuid),
    offsetof(struct xid_run, process),
};
static bool same_run(const void *record, const void *key)
{
    const struct xid_run *a = record;
    const struct xid_run *b = key;
    return a->step == b->step && a->code == b->code && a->pid == b->pid && a->fatal == b->fatal &&
           tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node) &&
           tc_slice_eq(a->gpu_uuid, b->gpu_uuid) && tc_slice_eq(a->process, b->process);
}

static bool same_node(const void *record, const void *key)
{
    return tc_slice_eq(((const struct xid_run *)record)->node, ((const struct xid_run *)key)->node);
}

bool tc__xid_xids_init(struct xid_state *st, struct tc_arena *arena)
{
    /* An Xid names its node: none is smaller than this. */
    return tc__window_init(&st->xids, arena, RING_BYTES,
                           RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_run), 1), 1, true);
}

/* Application Xids and mere information never stand alone, so they never stand at all. */
int tc__xid_rank(const struct xid_run *run)
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

static bool tied(const struct xid_state *st, const struct xid_run *run, const struct xid_pod *pod,
                 struct tc_slice pod_uuid)
{
    if ((pod->pid > 0 && pod->pid == run->pid) ||
        (pod->pci.known && tc_bdf_eq(pod->pci, run->pci))) {
        return true;
    }
    return pod_uuid.len > 0 &&
           tc_slice_eq(pod_uuid, tc__xid_gpu_uuid(st, run->node, run->gpu_uuid, run->pci));
}

bool tc__xid_best_join(const struct xid_state *st, const struct xid_pod *pod, int64_t time_ns,
                       struct xid_join *out, bool *out_incomplete)
{
    int64_t from_ns = time_ns - st->window_ns;
    int64_t to_ns = tc__xid_latest(time_ns);
    int64_t total = 0;
    struct xid_join best = {0};
    struct xid_run key = {.node = pod->node};
    struct tc_slice pod_uuid = tc__xid_gpu_uuid(st, pod->node, pod->gpu_uuid, pod->pci);
    const struct xid_run *run =
        tc__window_find(&st->xids, &st->xids.chains, tc__xid_node_hash(pod->node), same_node, &key)
            .record;
    /* A run goes on for less than a step after it was kept, and what is behind it in the chain
     * was kept earlier: from here on everything is older than the window. */
    int64_t seen_ns = from_ns - tc__xid_step_ns(st);
    unsigned visited = 0;
    for (; run != NULL && run->head.seen_ns >= seen_ns && visited < VISITED_MAX; visited++) {
        struct xid_join join = {
            .code = run->code,
            .pid = run->pid,
            .pci = run->pci,
            .process = run->process,
        };
        int64_t count = tc__span_inside(&run->span, from_ns, to_ns, &join.time_ns, &join.raw);
        total += count;
        join.rank = count == 0 ? XID_RANK_NEVER : tc__xid_rank(run);
        if (join.rank != XID_RANK_NEVER && join.rank >= best.rank) {
            join.tied = tied(st, run, pod, pod_uuid);
            join.gpu_uuid = tc__xid_gpu_uuid(st, run->node, run->gpu_uuid, run->pci);
            bool apart =
                !join.tied && tc__xid_other_gpu(pod_uuid, pod->pci, join.gpu_uuid, run->pci);
            best = !apart && tc__xid_join_better(&join, &best) ? join : best;
        }
        run = tc__window_at(&st->xids, run->head.older);
    }
    *out_incomplete = visited == VISITED_MAX || st->xids.lost_ns >= from_ns;
    best.xid_count = total;
    *out = best;
    return best.rank != XID_RANK_NEVER;
}

static struct tc_window_place find_run(const struct xid_state *st, const struct xid_run *run)
{
    uint64_t hash = tc_hash_mix(tc__xid_node_hash(run->node), tc__xid_bdf_bits(run->pci));
    hash = tc_hash_mix(hash, (uint64_t)run->code);
    hash = tc_hash_mix(hash, (uint64_t)run->pid);
    hash = tc_hash_mix(hash, (uint64_t)run->step);
    return tc__window_find(&st->xids, &st->xids.index, hash, same_run, run);
}

/*
 * Another source that tells of an Xid within a second tells of the same one: the journal
 * dates a line a little later than the kernel, and syslog cuts to seconds. That second
 * may reach into the steps beside; into several, when the window is short.
 */
static bool told_already(const struct xid_state *st, const struct xid_run *run)
{
    struct xid_run key = *run;
    int64_t last = (run->counted_ns + TC_SECOND - 1) / tc__xid_step_ns(st);
    key.step = (run->counted_ns - TC_SECOND + 1) / tc__xid_step_ns(st);
    for (; key.step <= last; key.step++) {
        const struct xid_run *near = find_run(st, &key).record;
        int64_t apart_ns = near == NULL ? TC_SECOND : run->counted_ns - near->counted_ns;
        if (apart_ns > -TC_SECOND && apart_ns < TC_SECOND &&
            near->counted_source != run->counted_source) {
            return true;
        }
    }
    return false;
}

tc_status tc__xid_note(struct xid_state *st, const struct tc_event *ev, const struct xid_run **out)
{
    struct tc_window *w = &st->xids;
    struct xid_run run = {
        .step = ev->time_ns / tc__xid_step_ns(st),
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
    *out = NULL;
    if (told_already(st, &run)) {
        return TC_OK;
    }
    struct tc_window_place place = find_run(st, &run);
    struct xid_run *kept = place.record;
    if (kept != NULL) {
        tc__span_add(&kept->span, ev->time_ns, ev->raw);
        kept->counted_ns = ev->time_ns;
        kept->counted_source = ev->raw.source;
        *out = kept;
        return TC_OK;
    }
    struct tc_window_place chain =
        tc__window_find(w, &w->chains, tc__xid_node_hash(run.node), same_node, &run);
    kept =
        tc__window_push(w, st->scratch, &run, sizeof run, RUN_TEXTS, COUNT(RUN_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, place, kept);
    tc__window_chain(w, chain, kept);
    *out = kept;
    return TC_OK;
}
