/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of NCCL's own monitor: who answers no more, and who has issued fewer
 * collectives than the others of a communicator while nothing moves. A rank is in
 * many communicators; the largest in which it is to blame tells of it.
 */
#include "base/assert.h"
#include "detect/nccl_hang/ras_priv.h"

#include <stddef.h>

#define COMM_RING_BYTES ((size_t)1 << 20)
#define RANK_RING_BYTES ((size_t)8 << 20)
#define COMMS_MAX 1024 /* of one job, judged at once */
#define COMM_TEXT_MAX 64
#define STATUS_MAX 16

static const struct tc_record_type COMM = {
    .size = sizeof(struct ras_comm),
    .texts = {TC_TEXT(struct ras_comm, job), TC_TEXT(struct ras_comm, hash)},
    .keys = {{TC_FIELD(struct ras_comm, job), TC_FIELD(struct ras_comm, hash)}},
    .chain = {TC_FIELD(struct ras_comm, job_at)},
};
static const struct tc_record_type MEMBER = {
    .size = sizeof(struct ras_member),
    .texts = {TC_TEXT(struct ras_member, node)},
    .keys = {{TC_FIELD(struct ras_member, comm), TC_FIELD(struct ras_member, comm_rank)}},
    .chain = {TC_FIELD(struct ras_member, comm)},
};

bool tc__ras_init(struct nccl_watch *w, int64_t retention_ns)
{
    return tc__window_open(&w->comms, w->base, &COMM, COMM_RING_BYTES, retention_ns) &&
           tc__window_open(&w->ranks, w->base, &MEMBER, RANK_RING_BYTES, retention_ns);
}

static enum ras_status status_of(struct tc_slice text)
{
    static const struct {
        const char *text;
        enum ras_status status;
    } known[] = {{"running", RAS_RUNNING},     {"error", RAS_RUNNING}, {"aborted", RAS_RUNNING},
                 {"missing", RAS_MISSING},     {"dead", RAS_DEAD},     {"no_comm", RAS_AWAY},
                 {"finalizing", RAS_CHANGING}, {"init", RAS_CHANGING}};
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        if (tc_slice_eq(text, tc_slice_cstr(known[i].text))) {
            return known[i].status;
        }
    }
    return RAS_AWAY; /* not known: it counts for nothing */
}

static struct ras_comm *comm_of(struct nccl_watch *w, const struct watch_job *job,
                                const struct tc_event *ev)
{
    struct ras_comm key = {.job = ev->scope.job,
                           .hash = ev->ras.comm,
                           .job_at = job->head.pos,
                           .size = ev->ras.comm_size,
                           .moved_ns = TC_TIME_NONE,
                           .seen_ns = TC_TIME_NONE};
    struct ras_comm *c = tc__window_get_or_add(&w->comms, &key, w->base->now_ns);
    if (c != NULL) {
        c->head.seen_ns = w->base->now_ns;
    }
    return c;
}

static struct ras_member *member_of(struct nccl_watch *w, const struct ras_comm *c,
                                    const struct tc_event *ev)
{
    struct ras_member key = {.comm = c->head.pos,
                             .node = ev->scope.node,
                             .comm_rank = ev->ras.comm_rank,
                             .rank = ev->scope.rank,
                             .gpu_index = ev->scope.gpu_index,
                             .pid = ev->scope.pid,
                             .ops = -1,
                             .seen_ns = TC_TIME_NONE};
    struct ras_member *m = tc__window_get_or_add(&w->ranks, &key, w->base->now_ns);
    if (m != NULL) {
        m->head.seen_ns = w->base->now_ns;
    }
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
        w->base->ignored++;
        return TC_OK;
    }
    struct watch_job *job = tc__watch_job(w, ev->scope.job);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    if (job->due && job->ras_ns != TC_TIME_NONE && ev->time_ns > job->ras_ns) {
        TC_TRY(tc__watch_on_tick(w, ev->time_ns, out));
    }
    struct ras_comm *c = comm_of(w, job, ev);
    struct ras_member *m = c == NULL ? NULL : member_of(w, c, ev);
    if (m == NULL) {
        return TC_E_NOMEM;
    }
    if (m->seen_ns != TC_TIME_NONE && ev->time_ns <= m->seen_ns) {
        return TC_OK; /* late, or the same report again */
    }
    enum ras_status status = status_of(ev->ras.status);
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

const struct ras_member *tc__ras_next(const struct nccl_watch *w, const struct ras_comm *c,
                                      const struct ras_member *before)
{
    struct ras_member key = {.comm = c->head.pos};
    const struct ras_member *m =
        before == NULL ? tc__window_newest(&w->ranks, &key) : tc__window_older(&w->ranks, before);
    while (m != NULL && m->seen_ns != c->seen_ns) { /* the last report does not have it */
        m = tc__window_older(&w->ranks, m);
    }
    return m;
}

static struct ras_view view_of(const struct nccl_watch *w, struct ras_comm *c)
{
    struct ras_view v = {.comm = c, .lowest = -1, .highest = -1, .global = true};
    for (const struct ras_member *m = NULL; (m = tc__ras_next(w, c, m)) != NULL;) {
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

bool tc__ras_is_culprit(const struct ras_view *v, const struct ras_member *m)
{
    return v->counts ? m->status == RAS_RUNNING && m->ops == v->lowest
                     : m->status == RAS_MISSING || m->status == RAS_DEAD;
}

static uint64_t identity(const struct ras_member *m)
{
    uint64_t who = tc_slice_hash(m->node, (uint64_t)m->pid);
    return m->node.len > 0 ? tc_hash_mix(who, (uint64_t)m->gpu_index) : (uint64_t)m->rank + 1;
}

/* True when every culprit was named by a larger communicator; notes those that were not. */
static bool is_told(const struct nccl_watch *w, const struct ras_view *v, struct tc_map *blamed)
{
    bool told = true;
    for (const struct ras_member *m = NULL; (m = tc__ras_next(w, v->comm, m)) != NULL;) {
        if (!tc__ras_is_culprit(v, m)) {
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
static int by_size(const struct ras_view *a, const struct ras_view *b)
{
    if (a->comm->size != b->comm->size) {
        return a->comm->size > b->comm->size ? -1 : 1;
    }
    return tc_slice_cmp(a->comm->hash, b->comm->hash);
}

static size_t collect(struct nccl_watch *w, const struct watch_job *job, struct ras_view *views,
                      uint32_t *out_culprits)
{
    size_t count = 0;
    struct ras_comm key = {.job_at = job->head.pos};
    for (struct ras_comm *c = tc__window_newest(&w->comms, &key); c != NULL && count < COMMS_MAX;
         c = tc__window_older(&w->comms, c)) {
        if (c->seen_ns != job->ras_ns) {
            continue; /* the last report does not have it: it was destroyed */
        }
        struct ras_view v = view_of(w, c);
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
    tc_arena_mark mark = tc_arena_snapshot(w->base->scratch);
    uint32_t culprits = 0;
    struct tc_map blamed;
    if (job->ras_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    struct ras_view *views = tc_new(w->base->scratch, struct ras_view, COMMS_MAX);
    size_t count = views == NULL ? 0 : collect(w, job, views, &culprits);
    if (views == NULL || !tc_map_init(&blamed, w->base->scratch, culprits + 1)) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct ras_comm *c = views[i].comm;
        if (!views[i].faulty) {
            c->told = false;
            TC_TRY(tc__ras_tell_end(w, &views[i], out));
            continue;
        }
        if (is_told(w, &views[i], &blamed) && !c->told) {
            continue;
        }
        c->first_ns = c->told ? c->first_ns : views[i].counts ? c->moved_ns : c->seen_ns;
        c->told = true;
        TC_TRY(tc__ras_tell(w, &views[i], out));
    }
    tc_arena_rewind(w->base->scratch, mark);
    return TC_OK;
}
