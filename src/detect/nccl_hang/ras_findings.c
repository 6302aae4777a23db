/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a verdict from NCCL's own monitor. */
#include "base/assert.h"
#include "detect/detector.h"
#include "detect/nccl_hang/ras_priv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ATTRS_MAX 12
#define EVIDENCE_MAX 8
#define WORDS_BYTES 8192

static bool is_waiting(const struct ras_view *v, const struct ras_member *m)
{
    return m->status == RAS_RUNNING && (!v->counts || m->ops > v->lowest);
}

static int32_t number_of(const struct ras_view *v, const struct ras_member *m)
{
    return v->global ? m->rank : (int32_t)m->comm_rank;
}

static void put_reason(struct tc_buf *b, const struct ras_view *v, const struct ras_member *m)
{
    tc_buf_lit(b, "rank ");
    tc_buf_i64(b, number_of(v, m));
    if (v->counts) {
        tc_buf_lit(b, ": issued ");
        tc_buf_i64(b, m->ops);
        tc_buf_lit(b, " collectives, others ");
        tc_buf_i64(b, v->highest);
        tc_buf_lit(b, ", and nothing moved for ");
        tc_buf_duration(b, v->comm->seen_ns - v->comm->moved_ns);
    } else {
        tc_buf_str(b, m->status == RAS_DEAD
                          ? TC_LIT(": NCCL considers its process dead")
                          : TC_LIT(": its process does not answer NCCL's monitor"));
    }
    if (m->node.len > 0) {
        tc_buf_lit(b, " (node ");
        tc_buf_str(b, m->node);
        if (m->pid >= 0) {
            tc_buf_lit(b, ", pid ");
            tc_buf_i64(b, m->pid);
        }
        tc_buf_char(b, ')');
    }
}

static struct tc_evidence evidence_of(struct tc_draft *d, const struct ras_view *v,
                                      const struct ras_member *m, bool since)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {.kind = TC_LIT("nccl_ras"),
                              .time_ns = since ? m->since_ns : m->seen_ns,
                              .raw = since ? m->since_raw : m->raw};
    size_t start = b->len;
    tc_buf_lit(b, "nccl_ras:");
    tc_buf_str(b, v->comm->hash);
    tc_buf_char(b, ':');
    tc_buf_i64(b, m->comm_rank);
    tc_buf_char(b, ':');
    tc_buf_time(b, out.time_ns);
    out.uid = tc_buf_since(b, start);
    start = b->len;
    tc_buf_lit(b, "rank ");
    tc_buf_i64(b, number_of(v, m));
    if (m->status == RAS_RUNNING) {
        tc_buf_lit(b, " has issued ");
        tc_buf_i64(b, m->ops);
        tc_buf_lit(b, " collectives");
    } else {
        tc_buf_str(b, m->status == RAS_DEAD ? TC_LIT(" is considered dead")
                                            : TC_LIT(" does not answer"));
    }
    out.description = tc_buf_since(b, start);
    return out;
}

/* The lists of a verdict, in scratch. */
struct lists {
    int32_t *culprits;
    int32_t *waiting;
    size_t culprit_count;
    size_t waiting_count;
    const struct ras_member *shown[EVIDENCE_MAX / 2 - 1]; /* culprits, lowest rank first */
    size_t shown_count;
    const struct ras_member *waits; /* the one with the lowest rank */
};

/* Keeps the ones with the lowest rank, in order. */
static void show(struct lists *l, const struct ras_view *v, const struct ras_member *m)
{
    size_t at = l->shown_count < COUNT(l->shown) ? l->shown_count++ : COUNT(l->shown);
    if (at == COUNT(l->shown)) {
        if (number_of(v, l->shown[--at]) < number_of(v, m)) {
            return;
        }
    }
    for (; at > 0 && number_of(v, l->shown[at - 1]) > number_of(v, m); at--) {
        l->shown[at] = l->shown[at - 1];
    }
    l->shown[at] = m;
}

static bool make_lists(const struct nccl_watch *w, const struct ras_view *v, struct lists *l)
{
    *l = (struct lists){.culprits = tc_new(w->scratch, int32_t, TC_VERDICT_RANKS_MAX),
                        .waiting = tc_new(w->scratch, int32_t, TC_VERDICT_RANKS_MAX)};
    for (const struct ras_member *m = NULL;
         l->waiting != NULL && (m = tc__ras_next(w, v->comm, m)) != NULL;) {
        if (tc__ras_is_culprit(v, m) && l->culprit_count < TC_VERDICT_RANKS_MAX) {
            l->culprits[l->culprit_count++] = number_of(v, m);
            show(l, v, m);
        } else if (is_waiting(v, m) && l->waiting_count < TC_VERDICT_RANKS_MAX) {
            l->waiting[l->waiting_count++] = number_of(v, m);
            bool first = l->waits == NULL || number_of(v, m) < number_of(v, l->waits);
            l->waits = first ? m : l->waits;
        }
    }
    if (l->waiting == NULL) {
        return false;
    }
    l->culprit_count = tc__watch_sort(l->culprits, l->culprit_count, w->scratch);
    l->waiting_count = tc__watch_sort(l->waiting, l->waiting_count, w->scratch);
    return tc_arena_ok(w->scratch);
}

static void put_headline(struct tc_buf *b, const struct ras_view *v, const struct lists *l)
{
    tc_buf_lit(b, "Communicator ");
    tc_buf_str(b, v->comm->hash);
    tc_buf_lit(b, " (");
    tc_buf_i64(b, v->comm->size);
    tc_buf_str(b, v->counts ? TC_LIT(" ranks) waits for ") : TC_LIT(" ranks) has lost "));
    tc__watch_put_ranks(b, l->culprits, l->culprit_count);
    if (v->counts) {
        tc_buf_lit(b, ": ");
        tc_buf_i64(b, v->lowest);
        tc_buf_lit(b, " collectives issued, others ");
        tc_buf_i64(b, v->highest);
        tc_buf_lit(b, ", for ");
        tc_buf_duration(b, v->comm->seen_ns - v->comm->moved_ns);
    }
}

static void put_scope(struct tc_finding *f, const struct ras_view *v, const struct lists *l)
{
    f->scope.job = v->comm->job;
    if (l->culprit_count == 1) {
        const struct ras_member *m = l->shown[0];
        TC_ASSERT(m != NULL);
        f->scope.rank = m->rank;
        f->scope.node = m->node;
        f->scope.pid = m->pid;
        f->scope.gpu_index = m->gpu_index;
    }
}

static struct tc_slice put_key(struct tc_buf *b, const struct ras_comm *c)
{
    size_t start = b->len;
    tc_buf_lit(b, "ras|");
    tc_buf_str(b, c->job);
    tc_buf_char(b, '|');
    tc_buf_str(b, c->hash);
    tc_buf_char(b, '@');
    tc_buf_time(b, c->first_ns);
    return tc_buf_since(b, start);
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
    tc_arena_mark mark = tc_arena_snapshot(w->scratch);
    struct lists l;
    struct tc_draft d;
    struct tc_slice reasons[EVIDENCE_MAX];
    if (!make_lists(w, v, &l)) {
        return TC_E_NOMEM;
    }
    size_t text_bytes = WORDS_BYTES + EVIDENCE_MAX * (TC_SCOPE_TEXT_MAX + v->comm->job.len);
    tc__draft_begin(&d, &tc_detector_nccl_hang, w->scratch, text_bytes, ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    f->key = put_key(&d.text, v->comm);
    f->incomplete = w->ranks.ring.dropped_count > 0;
    f->severity = TC_SEVERITY_CRITICAL;
    /* NCCL's word that a process is gone is proof; who issued less is who is waited for. */
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = TC_LIT("missing_rank");
    size_t start = d.text.len;
    put_headline(&d.text, v, &l);
    f->headline = tc_buf_since(&d.text, start);
    f->remediation =
        v->counts ? TC_LIT("Look at what the host of the culprit does (py-spy dump --pid): it has "
                           "not reached the collective that the others wait in. Data loading, a "
                           "held lock or an exception are usual.")
                  : TC_LIT("Look at the node of the lost rank: kernel log, Xids, its pod's exit "
                           "code and the network to it. The others wait until their timeout.");
    f->first_ns = v->comm->first_ns;
    f->last_ns = v->comm->seen_ns;
    put_scope(f, v, &l);
    for (size_t i = 0; i < l.shown_count; i++) {
        start = d.text.len;
        put_reason(&d.text, v, l.shown[i]);
        reasons[i] = tc_buf_since(&d.text, start);
    }
    tc__watch_attrs(&d, &(struct watch_facts){
                            .group = v->comm->hash,
                            .seq = v->highest > 0 ? v->highest : 0,
                            .members = v->comm->size,
                            .stall_ns = v->counts ? v->comm->seen_ns - v->comm->moved_ns : 0,
                            .culprits = l.culprits,
                            .culprit_count = l.culprit_count,
                            .waiting = l.waiting,
                            .waiting_count = l.waiting_count,
                            .reasons = reasons,
                            .reason_count = l.shown_count,
                        });
    put_trail(&d, v, &l);
    tc_status status = tc__draft_emit(&d, out);
    tc_arena_rewind(w->scratch, mark);
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
    tc__draft_begin(&d, &tc_detector_nccl_hang, w->scratch, WORDS_BYTES, ATTRS_MAX, 1);
    struct tc_finding *f = &d.finding;
    f->key = put_key(&d.text, v->comm);
    f->resolved = true;
    f->severity = TC_SEVERITY_INFO;
    f->discriminator = TC_LIT("missing_rank");
    size_t start = d.text.len;
    tc_buf_lit(&d.text, "Communicator ");
    tc_buf_str(&d.text, v->comm->hash);
    tc_buf_lit(&d.text, " goes on after ");
    tc_buf_duration(&d.text, v->comm->seen_ns - v->comm->first_ns);
    f->headline = tc_buf_since(&d.text, start);
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
