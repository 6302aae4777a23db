/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of NCCL's own monitor: who answers no more, and who has issued fewer
 * collectives than the others of a communicator while nothing moves. A rank is in
 * many communicators; the largest in which it is to blame tells of it.
 */
#include "base/assert.h"
#include "detect/detector.h"
#include "detect/nccl_hang_watch_priv.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COMM_RING_BYTES ((size_t)1 << 20)
#define RANK_RING_BYTES ((size_t)8 << 20)
#define COMMS_MAX 1024 /* of one job, judged at once */
#define ATTRS_MAX 12
#define EVIDENCE_MAX 8
#define WORDS_BYTES 8192
#define COMM_TEXT_MAX 64
#define STATUS_MAX 16

enum status { RAS_RUNNING, RAS_MISSING, RAS_DEAD, RAS_AWAY, RAS_CHANGING };

struct comm {
    struct tc_window_head head;
    uint64_t next; /* the next communicator of the job */
    struct tc_slice job;
    struct tc_slice hash;
    uint64_t newest; /* its ranks */
    int64_t size;
    int64_t moved_ns; /* when a count last changed, or was first seen */
    int64_t seen_ns;  /* newest report of it */
    int64_t first_ns; /* of the open incident: names it */
    bool told;
};

struct member {
    struct tc_window_head head;
    uint64_t next;
    uint64_t comm;
    struct tc_slice node;
    int64_t comm_rank;
    int32_t rank; /* global, -1 unknown */
    int32_t gpu_index;
    int64_t pid;
    int64_t ops;
    enum status status;
    int64_t seen_ns;
    int64_t since_ns; /* of the first report with this count and status */
    struct tc_raw since_raw;
    struct tc_raw raw;
};

static const size_t COMM_TEXTS[] = {offsetof(struct comm, job), offsetof(struct comm, hash)};
static const size_t MEMBER_TEXTS[] = {offsetof(struct member, node)};

static bool same_comm(const void *record, const void *key)
{
    const struct comm *a = record;
    const struct comm *b = key;
    return tc_slice_eq(a->hash, b->hash) && tc_slice_eq(a->job, b->job);
}

static bool same_member(const void *record, const void *key)
{
    const struct member *a = record;
    const struct member *b = key;
    return a->comm == b->comm && a->comm_rank == b->comm_rank;
}

bool tc__ras_init(struct nccl_watch *w, struct tc_arena *arena)
{
    size_t comms = COMM_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct comm), 0);
    size_t ranks = RANK_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct member), 0);
    return tc__window_init(&w->comms, arena, COMM_RING_BYTES, comms, 1, false) &&
           tc__window_init(&w->ranks, arena, RANK_RING_BYTES, ranks, 1, false);
}

static enum status status_of(struct tc_slice text)
{
    static const struct {
        const char *text;
        enum status status;
    } known[] = {{"running", RAS_RUNNING},     {"error", RAS_RUNNING}, {"aborted", RAS_RUNNING},
                 {"missing", RAS_MISSING},     {"dead", RAS_DEAD},     {"no_comm", RAS_AWAY},
                 {"finalizing", RAS_CHANGING}, {"init", RAS_CHANGING}};
    for (size_t i = 0; i < COUNT(known); i++) {
        if (tc_slice_eq(text, tc_slice_cstr(known[i].text))) {
            return known[i].status;
        }
    }
    return RAS_AWAY; /* not known: it counts for nothing */
}

static struct comm *comm_of(struct nccl_watch *w, struct watch_job *job, const struct tc_event *ev)
{
    struct comm key = {.job = ev->scope.job,
                       .hash = ev->ras.comm,
                       .next = job->newest_comm,
                       .size = ev->ras.comm_size,
                       .moved_ns = TC_TIME_NONE,
                       .seen_ns = TC_TIME_NONE};
    uint64_t hash = tc_hash_mix(tc_slice_hash(key.job, 1), tc_slice_hash(key.hash, 2));
    struct tc_window_place place =
        tc__window_find(&w->comms, &w->comms.index, hash, same_comm, &key);
    struct comm *c = place.record;
    if (c == NULL) {
        c = tc__window_push(&w->comms, w->scratch, &key, sizeof key, COMM_TEXTS, COUNT(COMM_TEXTS),
                            w->now_ns);
        if (c == NULL) {
            return NULL;
        }
        tc__window_put(&w->comms, &w->comms.index, place, c);
        job->newest_comm = c->head.pos;
    }
    c->head.seen_ns = w->now_ns;
    return c;
}

static struct member *member_of(struct nccl_watch *w, struct comm *c, const struct tc_event *ev)
{
    struct member key = {.comm = c->head.pos,
                         .next = c->newest,
                         .node = ev->scope.node,
                         .comm_rank = ev->ras.comm_rank,
                         .rank = ev->scope.rank,
                         .gpu_index = ev->scope.gpu_index,
                         .pid = ev->scope.pid,
                         .ops = -1,
                         .seen_ns = TC_TIME_NONE};
    uint64_t hash = tc_hash_mix(key.comm, (uint64_t)key.comm_rank);
    struct tc_window_place place =
        tc__window_find(&w->ranks, &w->ranks.index, hash, same_member, &key);
    struct member *m = place.record;
    if (m == NULL) {
        m = tc__window_push(&w->ranks, w->scratch, &key, sizeof key, MEMBER_TEXTS,
                            COUNT(MEMBER_TEXTS), w->now_ns);
        if (m == NULL) {
            return NULL;
        }
        tc__window_put(&w->ranks, &w->ranks.index, place, m);
        c->newest = m->head.pos;
    }
    m->head.seen_ns = w->now_ns;
    return m;
}

static bool is_usable(const struct tc_event *ev)
{
    return ev->time_ns != TC_TIME_NONE && ev->ras.comm.len > 0 &&
           ev->ras.comm.len <= COMM_TEXT_MAX && ev->ras.comm_rank >= 0 &&
           ev->ras.comm_rank <= TC_FR_RANK_MAX && ev->ras.comm_size >= 2 &&
           ev->ras.comm_size <= TC_FR_RANK_MAX + 1 && ev->ras.status.len <= STATUS_MAX &&
           tc__scope_fits(&ev->scope) && ev->scope.job.len <= TC_SCOPE_TEXT_MAX;
}

tc_status tc__ras_on_event(struct nccl_watch *w, const struct tc_event *ev,
                           const struct tc_sink *out)
{
    if (!is_usable(ev)) {
        w->ignored++;
        return TC_OK;
    }
    struct watch_job *job = tc__watch_job(w, ev->scope.job);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    if (job->due && job->ras_ns != TC_TIME_NONE && ev->time_ns > job->ras_ns) {
        TC_TRY(tc__watch_on_tick(w, ev->time_ns, out));
    }
    struct comm *c = comm_of(w, job, ev);
    struct member *m = c == NULL ? NULL : member_of(w, c, ev);
    if (m == NULL) {
        return TC_E_NOMEM;
    }
    if (m->seen_ns != TC_TIME_NONE && ev->time_ns <= m->seen_ns) {
        return TC_OK; /* late, or the same report again */
    }
    enum status status = status_of(ev->ras.status);
    /* A rank that does not answer has the count it had. */
    int64_t ops = ev->ras.ops < 0 ? m->ops : ev->ras.ops;
    bool fresh = m->seen_ns == TC_TIME_NONE;
    if (fresh || ops != m->ops) {
        c->moved_ns = ev->time_ns > c->moved_ns ? ev->time_ns : c->moved_ns;
    }
    if (fresh || ops != m->ops || status != m->status) {
        m->since_ns = ev->time_ns;
        m->since_raw = ev->raw;
    }
    m->ops = ops;
    m->status = status;
    m->seen_ns = ev->time_ns;
    m->raw = ev->raw;
    m->rank = ev->scope.rank >= 0 ? ev->scope.rank : m->rank;
    c->seen_ns = ev->time_ns > c->seen_ns ? ev->time_ns : c->seen_ns;
    c->size = ev->ras.comm_size;
    job->ras_ns = ev->time_ns > job->ras_ns ? ev->time_ns : job->ras_ns;
    return tc__watch_due(w, job, out);
}

/* What a communicator's last report shows. */
struct view {
    struct comm *comm;
    int64_t lowest; /* counts of those that run, -1 none */
    int64_t highest;
    uint32_t running;
    uint32_t behind; /* with the lowest count */
    uint32_t gone;   /* missing or dead */
    bool changing;   /* somebody joins or leaves */
    bool global;     /* every rank's global number is known */
    bool faulty;
    bool counts; /* by counts, not by who is gone */
};

static const struct member *next_member(const struct nccl_watch *w, const struct comm *c,
                                        const struct member *before)
{
    for (const struct member *m =
             tc__window_at(&w->ranks, before == NULL ? c->newest : before->next);
         m != NULL; m = tc__window_at(&w->ranks, m->next)) {
        if (m->comm == c->head.pos && m->seen_ns == c->seen_ns) { /* the last report has it */
            return m;
        }
    }
    return NULL;
}

static struct view view_of(const struct nccl_watch *w, struct comm *c)
{
    struct view v = {.comm = c, .lowest = -1, .highest = -1, .global = true};
    for (const struct member *m = NULL; (m = next_member(w, c, m)) != NULL;) {
        v.global = v.global && m->rank >= 0;
        v.changing = v.changing || m->status == RAS_CHANGING;
        v.gone += m->status == RAS_MISSING || m->status == RAS_DEAD;
        if (m->status != RAS_RUNNING || m->ops < 0) {
            continue;
        }
        v.running++;
        v.highest = m->ops > v.highest ? m->ops : v.highest;
        v.behind = m->ops == v.lowest ? v.behind + 1 : v.behind;
        if (v.lowest < 0 || m->ops < v.lowest) {
            v.lowest = m->ops;
            v.behind = 1;
        }
    }
    bool stuck = c->seen_ns - c->moved_ns >= *w->threshold_ns && v.lowest < v.highest;
    /* Where most are behind, one went ahead: that blames nobody. */
    v.counts = v.gone == 0 && stuck && v.behind * 2 <= v.running;
    v.faulty = !v.changing && (v.gone > 0 || v.counts);
    return v;
}

static bool is_culprit(const struct view *v, const struct member *m)
{
    return v->counts ? m->status == RAS_RUNNING && m->ops == v->lowest
                     : m->status == RAS_MISSING || m->status == RAS_DEAD;
}

static bool is_waiting(const struct view *v, const struct member *m)
{
    return m->status == RAS_RUNNING && (!v->counts || m->ops > v->lowest);
}

static int32_t number_of(const struct view *v, const struct member *m)
{
    return v->global ? m->rank : (int32_t)m->comm_rank;
}

static void put_reason(struct tc_buf *b, const struct view *v, const struct member *m)
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

static struct tc_evidence evidence_of(struct tc_draft *d, const struct view *v,
                                      const struct member *m, bool since)
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
    const struct member *shown[EVIDENCE_MAX / 2 - 1]; /* culprits, lowest rank first */
    size_t shown_count;
    const struct member *waits; /* the one with the lowest rank */
};

/* Keeps the ones with the lowest rank, in order. */
static void show(struct lists *l, const struct view *v, const struct member *m)
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

static bool make_lists(const struct nccl_watch *w, const struct view *v, struct lists *l)
{
    *l = (struct lists){.culprits = tc_new(w->scratch, int32_t, TC_VERDICT_RANKS_MAX),
                        .waiting = tc_new(w->scratch, int32_t, TC_VERDICT_RANKS_MAX)};
    for (const struct member *m = NULL;
         l->waiting != NULL && (m = next_member(w, v->comm, m)) != NULL;) {
        if (is_culprit(v, m) && l->culprit_count < TC_VERDICT_RANKS_MAX) {
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

static void put_headline(struct tc_buf *b, const struct view *v, const struct lists *l)
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

static void put_scope(struct tc_finding *f, const struct view *v, const struct lists *l)
{
    f->scope.job = v->comm->job;
    if (l->culprit_count == 1) {
        const struct member *m = l->shown[0];
        TC_ASSERT(m != NULL);
        f->scope.rank = m->rank;
        f->scope.node = m->node;
        f->scope.pid = m->pid;
        f->scope.gpu_index = m->gpu_index;
    }
}

static struct tc_slice put_key(struct tc_buf *b, const struct comm *c)
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

static void put_trail(struct tc_draft *d, const struct view *v, const struct lists *l)
{
    for (size_t i = 0; i < l->shown_count; i++) {
        const struct member *m = l->shown[i];
        if (m->since_ns != m->seen_ns) {
            tc__draft_evidence(d, evidence_of(d, v, m, true));
        }
        tc__draft_evidence(d, evidence_of(d, v, m, false));
    }
    if (l->waits != NULL) {
        tc__draft_evidence(d, evidence_of(d, v, l->waits, false));
    }
}

static tc_status tell(struct nccl_watch *w, const struct view *v, const struct tc_sink *out)
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

static tc_status tell_end(struct nccl_watch *w, const struct view *v, const struct tc_sink *out)
{
    struct tc_draft d;
    const struct member *last = NULL;
    for (const struct member *m = NULL; (m = next_member(w, v->comm, m)) != NULL;) {
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

static uint64_t identity(const struct member *m)
{
    uint64_t who = tc_slice_hash(m->node, (uint64_t)m->pid);
    return m->node.len > 0 ? tc_hash_mix(who, (uint64_t)m->gpu_index) : (uint64_t)m->rank + 1;
}

/* True when every culprit was named by a larger communicator; notes those that were not. */
static bool is_told(const struct nccl_watch *w, const struct view *v, struct tc_map *blamed)
{
    bool told = true;
    for (const struct member *m = NULL; (m = next_member(w, v->comm, m)) != NULL;) {
        if (!is_culprit(v, m)) {
            continue;
        }
        struct tc_map_iter it = tc_map_find(blamed, identity(m));
        if (tc_map_next(blamed, &it) == 0) {
            told = false;
            (void)tc_map_add(blamed, identity(m), 1, 0);
        }
    }
    return told;
}

/* The largest first; of equals in the order of their hashes. */
static int by_size(const struct view *a, const struct view *b)
{
    if (a->comm->size != b->comm->size) {
        return a->comm->size > b->comm->size ? -1 : 1;
    }
    return tc_slice_cmp(a->comm->hash, b->comm->hash);
}

static size_t collect(struct nccl_watch *w, const struct watch_job *job, struct view *views,
                      uint32_t *out_culprits)
{
    size_t count = 0;
    for (struct comm *c = tc__window_at(&w->comms, job->newest_comm);
         c != NULL && count < COMMS_MAX; c = tc__window_at(&w->comms, c->next)) {
        if (c->seen_ns != job->ras_ns || !tc_slice_eq(c->job, job->name)) {
            continue; /* the last report does not have it: it was destroyed */
        }
        struct view v = view_of(w, c);
        if (!v.faulty && !c->told) {
            continue;
        }
        *out_culprits += v.gone + v.behind;
        size_t at = count++;
        for (; at > 0 && by_size(&v, &views[at - 1]) < 0; at--) {
            views[at] = views[at - 1];
        }
        views[at] = v;
    }
    return count;
}

tc_status tc__ras_judge(struct nccl_watch *w, struct watch_job *job, const struct tc_sink *out)
{
    tc_arena_mark mark = tc_arena_snapshot(w->scratch);
    uint32_t culprits = 0;
    struct tc_map blamed;
    if (job->ras_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    struct view *views = tc_new(w->scratch, struct view, COMMS_MAX);
    size_t count = views == NULL ? 0 : collect(w, job, views, &culprits);
    if (views == NULL || !tc_map_init(&blamed, w->scratch, culprits + 1)) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct comm *c = views[i].comm;
        if (!views[i].faulty) {
            c->told = false;
            TC_TRY(tell_end(w, &views[i], out));
            continue;
        }
        if (is_told(w, &views[i], &blamed) && !c->told) {
            continue;
        }
        c->first_ns = c->told ? c->first_ns : views[i].counts ? c->moved_ns : c->seen_ns;
        c->told = true;
        TC_TRY(tell(w, &views[i], out));
    }
    tc_arena_rewind(w->scratch, mark);
    return TC_OK;
}
