/* SPDX-License-Identifier: Apache-2.0 */
/* The findings from the reports of NCCL's own monitor. */
#include "detect/detector.h"
#include "detect/nccl_hang/ras_priv.h"

#define SHOWN_MAX 3 /* culprits with a reason and evidence of their own */

static bool is_waiting(const struct ras_view *v, const struct ras_member *m)
{
    return m->status == RAS_RUNNING && (!v->counts || m->ops > v->lowest);
}

static int32_t number_of(const struct ras_view *v, const struct ras_member *m)
{
    return v->global ? m->rank : (int32_t)m->comm_rank;
}

static struct tc_slice reason(struct tc_draft *d, const struct ras_view *v,
                              const struct ras_member *m)
{
    return tc__draft_format(
        d, "rank {}{}{}", number_of(v, m),
        v->counts
            ? tc_when(true, ": issued {} collectives, others {}, and nothing moved for {}", m->ops,
                      v->highest, tc_as_duration(v->comm->seen_ns - v->comm->moved_ns))
        : m->status == RAS_DEAD ? TC_ARG(": NCCL considers its process dead")
                                : TC_ARG(": its process does not answer NCCL's monitor"),
        tc_when(m->node.len > 0, " (node {}{})", m->node,
                tc_when(m->pid >= 0, ", pid {}", m->pid)));
}

static struct tc_evidence evidence_of(struct tc_draft *d, const struct ras_view *v,
                                      const struct ras_member *m, bool since)
{
    struct tc_evidence out = {.kind = TC_LIT("nccl_ras"),
                              .time_ns = since ? m->since_ns : m->seen_ns,
                              .raw = since ? m->since_raw : m->raw};
    out.uid = tc__draft_format(d, "nccl_ras:{}:{}:{}", v->comm->hash, m->comm_rank,
                               tc_as_time(out.time_ns));
    out.description = tc__draft_format(d, "rank {} {}", number_of(v, m),
                                       m->status == RAS_RUNNING
                                           ? tc_when(true, "has issued {} collectives", m->ops)
                                       : m->status == RAS_DEAD ? TC_ARG("is considered dead")
                                                               : TC_ARG("does not answer"));
    return out;
}

/* The lists of a verdict, in scratch. */
struct lists {
    int32_t *culprits;
    int32_t *waiting;
    size_t culprit_count;
    size_t waiting_count;
    const struct ras_member *shown[SHOWN_MAX]; /* culprits, lowest rank first */
    size_t shown_count;
    const struct ras_member *waits; /* the one with the lowest rank */
    struct tc_scope *places;        /* of the first culprits, by rank */
    size_t place_count;
};

/* Keeps the ones with the lowest rank, in order. */
static void show(struct lists *l, const struct ras_view *v, const struct ras_member *m)
{
    size_t at = l->shown_count < TC_COUNT(l->shown) ? l->shown_count++ : TC_COUNT(l->shown);
    if (at == TC_COUNT(l->shown)) {
        if (number_of(v, l->shown[--at]) < number_of(v, m)) {
            return;
        }
    }
    for (; at > 0 && number_of(v, l->shown[at - 1]) > number_of(v, m); at--) {
        l->shown[at] = l->shown[at - 1];
    }
    l->shown[at] = m;
}

/* Where a member runs: by NCCL's own report, and by the rest where its rank is the job's. */
static struct tc_scope place_of(const struct nccl_watch *w, const struct ras_view *v,
                                const struct ras_member *m)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.node = m->node;
    s.job = v->comm->job;
    s.rank = v->global ? m->rank : -1;
    s.gpu_index = m->gpu_index;
    tc__nodes_place(w->nodes, &s);
    s.job = TC_EMPTY;
    s.rank = number_of(v, m);
    s.pid = m->pid;
    return s;
}

/* The culprits are in order. */
static void place_culprits(const struct nccl_watch *w, const struct ras_view *v, struct lists *l)
{
    l->place_count = l->culprit_count < NCCL_PLACES_MAX ? l->culprit_count : NCCL_PLACES_MAX;
    for (const struct ras_member *m = NULL; (m = tc__ras_next(w, v->comm, m)) != NULL;) {
        for (size_t i = 0; i < l->place_count && tc__ras_is_culprit(v, m); i++) {
            if (l->culprits[i] == number_of(v, m)) {
                l->places[i] = place_of(w, v, m);
                break;
            }
        }
    }
}

static bool make_lists(const struct nccl_watch *w, const struct ras_view *v, struct lists *l)
{
    *l = (struct lists){.culprits = tc_new(w->base->scratch, int32_t, TC_VERDICT_RANKS_MAX),
                        .waiting = tc_new(w->base->scratch, int32_t, TC_VERDICT_RANKS_MAX),
                        .places = tc_new(w->base->scratch, struct tc_scope, NCCL_PLACES_MAX)};
    for (const struct ras_member *m = NULL;
         l->places != NULL && (m = tc__ras_next(w, v->comm, m)) != NULL;) {
        if (tc__ras_is_culprit(v, m) && l->culprit_count < TC_VERDICT_RANKS_MAX) {
            l->culprits[l->culprit_count++] = number_of(v, m);
            show(l, v, m);
        } else if (is_waiting(v, m) && l->waiting_count < TC_VERDICT_RANKS_MAX) {
            l->waiting[l->waiting_count++] = number_of(v, m);
            bool first = l->waits == NULL || number_of(v, m) < number_of(v, l->waits);
            l->waits = first ? m : l->waits;
        }
    }
    if (l->places == NULL) {
        return false;
    }
    l->culprit_count = tc__watch_sort(l->culprits, l->culprit_count, w->base->scratch);
    l->waiting_count = tc__watch_sort(l->waiting, l->waiting_count, w->base->scratch);
    place_culprits(w, v, l);
    return tc_arena_ok(w->base->scratch);
}

static struct tc_slice headline(struct tc_draft *d, const struct ras_view *v, const struct lists *l)
{
    return tc__draft_format(
        d, "Communicator {} ({} ranks) {} {}{}{}", v->comm->hash, v->comm->size,
        v->counts ? "waits for" : "has lost", tc__watch_as_ranks(l->culprits, l->culprit_count),
        tc__nodes_as_nodes(l->places, l->place_count),
        tc_when(v->counts, ": {} collectives issued, others {}, for {}", v->lowest, v->highest,
                tc_as_duration(v->comm->seen_ns - v->comm->moved_ns)));
}

static struct tc_slice remediation(const struct nccl_watch *w, struct tc_draft *d,
                                   const struct ras_view *v, const struct lists *l)
{
    const struct tc_scope *first = &l->places[0];
    const struct nccl_check check = {w->nodes, first, d->finding.first_ns};
    if (v->counts) {
        return tc__draft_format(
            d,
            "Look first at {}: take the stack of its process (py-spy dump --pid {}); it has not "
            "reached the collective that the others wait in. Data loading, a held lock or an "
            "exception are usual.",
            tc__nodes_as_place(first), first->pid >= 0 ? TC_ARG(first->pid) : TC_ARG("PID"));
    }
    return tc__draft_format(
        d,
        "Look first at {}: {}. See how its pod or process ended, and check the network to it. The "
        "others wait until their timeout.",
        tc__nodes_as_place(first), tc__nodes_as_check(&check));
}

static void put_scope(struct tc_finding *f, const struct ras_view *v, const struct lists *l)
{
    if (l->culprit_count == 1) {
        f->scope = l->places[0];
        f->scope.rank = l->shown[0]->rank;
    }
    f->scope.job = v->comm->job;
}

static struct tc_slice key_of(struct tc_draft *d, const struct ras_comm *c)
{
    return tc__draft_format(d, "ras|{}|{}@{}", c->job, c->hash, tc_as_time(c->first_ns));
}

static void put_trail(struct tc_draft *d, const struct ras_view *v, const struct lists *l)
{
    for (size_t i = 0; i < l->shown_count; i++) {
        const struct ras_member *m = l->shown[i];
        if (m->since_ns != m->seen_ns) {
            tc__draft_evidence(d, evidence_of(d, v, m, true));
        }
        tc__draft_evidence(d, evidence_of(d, v, m, false));
    }
    if (l->waits != NULL) {
        tc__draft_evidence(d, evidence_of(d, v, l->waits, false));
    }
}

tc_status tc__ras_tell(struct nccl_watch *w, const struct ras_view *v, const struct tc_sink *out)
{
    tc_arena_mark mark = tc_arena_snapshot(w->base->scratch);
    struct lists l;
    struct tc_draft d;
    struct tc_slice reasons[SHOWN_MAX];
    if (!make_lists(w, v, &l)) {
        return TC_E_NOMEM;
    }
    tc__draft_open(&d, &tc_detector_nccl_hang, w->base->scratch);
    struct tc_finding *f = &d.finding;
    f->key = key_of(&d, v->comm);
    f->incomplete = w->ranks.ring.dropped_count > 0;
    f->severity = TC_SEVERITY_CRITICAL;
    /* NCCL's word that a process is gone is proof; who issued less is who is waited for. */
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = TC_LIT("missing_rank");
    f->headline = headline(&d, v, &l);
    f->first_ns = v->comm->first_ns;
    f->remediation = remediation(w, &d, v, &l);
    f->last_ns = v->comm->seen_ns;
    put_scope(f, v, &l);
    for (size_t i = 0; i < l.shown_count; i++) {
        reasons[i] = reason(&d, v, l.shown[i]);
    }
    tc__watch_attrs(&d, &(struct watch_facts){
                            .group = v->comm->hash,
                            .seq = v->highest > 0 ? v->highest : 0,
                            .members = v->comm->size,
                            .stall_ns = v->counts ? v->comm->seen_ns - v->comm->moved_ns : 0,
                            .culprits = l.culprits,
                            .culprit_count = l.culprit_count,
                            .places = l.places,
                            .place_count = l.place_count,
                            .waiting = l.waiting,
                            .waiting_count = l.waiting_count,
                            .reasons = reasons,
                            .reason_count = l.shown_count,
                        });
    put_trail(&d, v, &l);
    tc_status status = tc__draft_emit(&d, out);
    tc_arena_rewind(w->base->scratch, mark);
    return status;
}

tc_status tc__ras_tell_end(struct nccl_watch *w, const struct ras_view *v,
                           const struct tc_sink *out)
{
    struct tc_draft d;
    const struct ras_member *last = NULL;
    for (const struct ras_member *m = NULL; (m = tc__ras_next(w, v->comm, m)) != NULL;) {
        last = last == NULL || m->comm_rank < last->comm_rank ? m : last;
    }
    if (last == NULL) {
        return TC_OK;
    }
    tc__draft_open(&d, &tc_detector_nccl_hang, w->base->scratch);
    struct tc_finding *f = &d.finding;
    f->key = key_of(&d, v->comm);
    f->resolved = true;
    f->discriminator = TC_LIT("missing_rank");
    f->headline = tc__draft_format(&d, "Communicator {} goes on after {}", v->comm->hash,
                                   tc_as_duration(v->comm->seen_ns - v->comm->first_ns));
    f->remediation = TC_LIT("Nothing: it went on by itself. If it comes back, look for a straggler "
                            "or a slow link.");
    f->first_ns = v->comm->first_ns;
    f->last_ns = v->comm->seen_ns;
    f->scope.job = v->comm->job;
    tc__watch_attrs(&d, &(struct watch_facts){.group = v->comm->hash,
                                              .seq = v->highest > 0 ? v->highest : 0,
                                              .members = v->comm->size});
    tc__draft_evidence(&d, evidence_of(&d, v, last, false));
    return tc__draft_emit(&d, out);
}
