/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Xids of xid_correlation. Repeats of one Xid inside a step (a sixteenth of the
 * knob) are one record, so a storm costs what its first line costs. What a gauge told
 * is a record of its own; whether the kernel's line told it too is asked when it counts,
 * as it may become known only then which GPU the line was about.
 */
#include "event/xid.h"
#include "detect/finding_priv.h"
#include "detect/xid_correlation/priv.h"

/* Xids of one node that one event may look at: a node has 8 or 16 GPUs. A pod whose node has more
 * is reported as incomplete. */
#define VISITED_MAX 512

/* Changes of gauges on one node in one window: each of its GPUs has one gauge. */
#define GAUGES_MAX 32
/* How old what an exporter hands out may be: dcgm-exporter collects every 30 s by default. */
#define GAUGE_AGE_NS (60 * TC_SECOND)

#define RING_BYTES ((size_t)2 << 20)

static const struct tc_record_type RUN = {
    .size = sizeof(struct xid_run),
    .text_min = 1, /* an Xid names its node */
    .texts = {TC_TEXT(struct xid_run, node), TC_TEXT(struct xid_run, gpu_uuid),
              TC_TEXT(struct xid_run, process)},
    .keys = {{TC_FIELDS(struct xid_run, step, pci), TC_FIELD(struct xid_run, fatal),
              TC_FIELD(struct xid_run, node), TC_FIELD(struct xid_run, gpu_uuid),
              TC_FIELD(struct xid_run, process)}},
    .chain = {TC_FIELD(struct xid_run, node)},
};

bool tc__xid_xids_init(struct xid_state *st)
{
    /* An event may be two windows late, and looks one further back. */
    return tc__window_open(&st->xids, &st->base, &RUN, RING_BYTES,
                           3 * st->window_ns + tc__xid_step_ns(st));
}

/* Application Xids and mere information never stand alone, so they never stand at all. */
int tc__xid_rank(const struct xid_state *st, const struct xid_run *run)
{
    const struct tc_xid *xid = tc_xid_list_find(st->base.xids, run->code);
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

static const struct xid_run *newest_of(const struct xid_state *st, struct tc_slice node)
{
    struct xid_run key = {.node = node};
    return tc__window_newest(&st->xids, &key);
}

static bool tied(const struct xid_join *join, const struct xid_pod *pod, struct tc_slice pod_uuid)
{
    return (pod->pid > 0 && pod->pid == join->pid) ||
           (pod->pci.known && tc_bdf_eq(pod->pci, join->pci)) ||
           (pod_uuid.len > 0 && tc_slice_eq(pod_uuid, join->gpu_uuid));
}

bool tc__xid_tie(const struct xid_state *st, const struct xid_pod *pod, struct xid_join *join)
{
    const struct xid_use *use = NULL;
    struct tc_slice pod_uuid = tc__xid_gpu_uuid(st, pod->node, pod->gpu_uuid, pod->pci);
    struct tc_slice uuid = tc__xid_gpu_uuid(st, pod->node, join->gpu_uuid, join->pci);
    enum xid_usage usage = tc__xid_usage(st, pod, uuid, join->time_ns, &use);
    join->gpu_uuid = uuid;
    join->tied = tied(join, pod, pod_uuid);
    join->by_use = !join->tied && usage == XID_USAGE_OWN;
    join->tied = join->tied || join->by_use;
    join->used_ns = join->by_use ? use->first_ns : TC_TIME_NONE;
    join->used_raw = join->by_use ? use->raw : (struct tc_raw){0};
    return join->tied ||
           (usage != XID_USAGE_OTHER && !tc__xid_other_gpu(pod_uuid, pod->pci, uuid, join->pci));
}

struct gauge {
    const struct xid_run *run;
    bool told;  /* by a line, of the same GPU */
    bool maybe; /* by a line, of a GPU that is not known to be another */
};

/* What is asked about the Xids of a node, and the answer so far. */
struct search {
    const struct xid_state *st;
    const struct xid_pod *pod;
    int64_t from_ns;
    int64_t to_ns;
    struct xid_join best;
    struct gauge *gauges; /* up to GAUGES_MAX */
    unsigned gauge_count;
    bool left_out;
};

static void look_at(struct search *s, const struct xid_run *run, bool counts)
{
    struct xid_join join = {
        .code = run->code,
        .xid = tc_xid_list_find(s->st->base.xids, run->code),
        .pid = run->pid,
        .pci = run->pci,
        .process = run->process,
        .gpu_uuid = run->gpu_uuid,
        .gauged = run->since_ns != TC_TIME_NONE,
    };
    int64_t count = tc__span_inside(&run->span, s->from_ns, s->to_ns, &join.time_ns, &join.raw);
    int64_t total = s->best.xid_count + (counts ? count : 0);
    join.rank = count == 0 ? XID_RANK_NEVER : tc__xid_rank(s->st, run);
    if (join.rank != XID_RANK_NEVER && join.rank >= s->best.rank &&
        tc__xid_tie(s->st, s->pod, &join) && tc__xid_join_better(&join, &s->best)) {
        s->best = join;
    }
    s->best.xid_count = total;
}

/* Whether a line tells of what a gauge told: of the same code, at a time that the gauge allows. */
static void compare(const struct xid_state *st, struct gauge *g, const struct xid_run *line)
{
    const struct xid_run *run = g->run;
    if (line->code != run->code || line->span.last_ns < run->since_ns - GAUGE_AGE_NS ||
        line->span.first_ns > run->span.last_ns + TC_SECOND) {
        return;
    }
    struct tc_slice a = tc__xid_gpu_uuid(st, run->node, run->gpu_uuid, run->pci);
    struct tc_slice b = tc__xid_gpu_uuid(st, line->node, line->gpu_uuid, line->pci);
    bool same =
        (a.len > 0 && tc_slice_eq(a, b)) || (run->pci.known && tc_bdf_eq(run->pci, line->pci));
    g->told = g->told || same;
    g->maybe = g->maybe || !tc__xid_other_gpu(a, run->pci, b, line->pci);
}

/* The gauges last: what the kernel told as well is one Xid, and its line says more. */
static void look_at_gauges(struct search *s)
{
    int64_t since_ns = INT64_MAX;
    for (unsigned i = 0; i < s->gauge_count; i++) {
        int64_t begin_ns = s->gauges[i].run->since_ns - GAUGE_AGE_NS;
        since_ns = begin_ns < since_ns ? begin_ns : since_ns;
    }
    const struct xid_run *run = s->gauge_count == 0 ? NULL : newest_of(s->st, s->pod->node);
    int64_t seen_ns = since_ns - tc__xid_step_ns(s->st);
    for (unsigned i = 0; run != NULL && run->head.seen_ns >= seen_ns && i < VISITED_MAX; i++) {
        for (unsigned k = 0; run->since_ns == TC_TIME_NONE && k < s->gauge_count; k++) {
            compare(s->st, &s->gauges[k], run);
        }
        run = tc__window_older(&s->st->xids, run);
    }
    for (unsigned i = 0; i < s->gauge_count; i++) {
        if (!s->gauges[i].told) {
            look_at(s, s->gauges[i].run, !s->gauges[i].maybe);
        }
    }
}

bool tc__xid_best_join(const struct xid_state *st, const struct xid_pod *pod, int64_t time_ns,
                       struct xid_join *out, bool *out_incomplete)
{
    struct gauge gauges[GAUGES_MAX];
    struct search s = {
        .st = st,
        .pod = pod,
        .gauges = gauges,
        .from_ns = tc__xid_earliest(st, time_ns),
        .to_ns = tc__xid_latest(st, time_ns),
    };
    const struct xid_run *run = newest_of(st, pod->node);
    /* A run goes on for less than a step after it was kept, and what is behind it in the chain
     * was kept earlier: from here on everything is older than the window. */
    int64_t seen_ns = s.from_ns - tc__xid_step_ns(st);
    unsigned visited = 0;
    for (; run != NULL && run->head.seen_ns >= seen_ns && visited < VISITED_MAX; visited++) {
        if (run->since_ns == TC_TIME_NONE) {
            look_at(&s, run, true);
        } else if (s.gauge_count < GAUGES_MAX) {
            s.gauges[s.gauge_count++] = (struct gauge){.run = run};
        } else {
            s.left_out = true;
        }
        run = tc__window_older(&st->xids, run);
    }
    look_at_gauges(&s);
    *out_incomplete = s.left_out || visited == VISITED_MAX || st->xids.lost_ns >= s.from_ns;
    *out = s.best;
    /* All that were counted may be what a line outside of the window told. */
    out->xid_count = out->xid_count > 0 ? out->xid_count : 1;
    return out->rank != XID_RANK_NEVER;
}

/* What is kept of an Xid in another step. */
static struct tc_window_place place_at(const struct xid_state *st, struct xid_run *run,
                                       int64_t step)
{
    int64_t own = run->step;
    run->step = step;
    struct tc_window_place place = tc__window_find(&st->xids, run);
    run->step = own;
    return place;
}

/*
 * Another source that tells of an Xid within a second tells of the same one: the journal
 * dates a line a little later than the kernel, and syslog cuts to seconds. That second
 * may reach into the steps beside; into several, when the window is short. Of several
 * that begin to tell at one moment the first source is the one that counts.
 * *out_own is the place of the run's own step.
 */
static bool told_already(const struct xid_state *st, struct xid_run *run,
                         struct tc_window_place *out_own)
{
    int64_t last = (run->counted_ns + TC_SECOND - 1) / tc__xid_step_ns(st);
    int64_t step = (run->counted_ns - TC_SECOND + 1) / tc__xid_step_ns(st);
    for (; step <= last; step++) {
        struct tc_window_place place = place_at(st, run, step);
        const struct xid_run *near = place.record;
        *out_own = step == run->step ? place : *out_own;
        int64_t apart_ns = near == NULL ? TC_SECOND : run->counted_ns - near->counted_ns;
        bool first = apart_ns == 0 && !near->bound && run->counted_source < near->counted_source;
        if (apart_ns > -TC_SECOND && apart_ns < TC_SECOND &&
            near->counted_source != run->counted_source && !first) {
            return true;
        }
    }
    return false;
}

/* One more of a run. Where another source told of that moment, it counts instead of that. */
static void count_again(struct xid_run *kept, const struct xid_run *one)
{
    int64_t apart_ns = one->counted_ns - kept->counted_ns;
    if (apart_ns != 0) {
        kept->bound = apart_ns > -TC_SECOND && apart_ns < TC_SECOND;
        kept->at_once = 0;
    } else if (kept->counted_source != one->counted_source) {
        kept->span.count -= kept->at_once;
        kept->at_once = 0;
    }
    tc__span_add(&kept->span, one->counted_ns, one->span.first_raw);
    kept->counted_ns = one->counted_ns;
    kept->counted_source = one->counted_source;
    kept->at_once++;
}

tc_status tc__xid_note(struct xid_state *st, struct xid_run *run, const struct xid_run **out)
{
    run->step = run->counted_ns / tc__xid_step_ns(st);
    *out = NULL;
    struct tc_window_place own = {0};
    if (told_already(st, run, &own)) {
        return TC_OK;
    }
    struct xid_run *kept = own.record;
    if (kept != NULL) {
        count_again(kept, run);
        *out = kept;
        return TC_OK;
    }
    run->at_once = 1;
    kept = tc__window_add_at(&st->xids, &own, run, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    *out = kept;
    return TC_OK;
}
