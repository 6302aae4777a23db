/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that ended well: every rank of it ran in a pod that succeeded, or its log
 * says that training is done, which is told after a barrier. What such a job had
 * pending before has gone with it. One pod alone proves nothing: a rank that exits
 * before its peers leaves them waiting.
 */
#include "base/time.h"
#include "detect/nccl_hang/exit_priv.h"

#define PLACES_MAX NCCL_RANKS_MAX
#define PODS_MAX 32768

/* Names are kept as hashes: a table of all ranks of a large job has megabytes of them. */
struct place {
    uint64_t job; /* 0: any */
    uint64_t pod;
    int32_t rank;
};

/* A pod, or a job by its name. */
struct ended {
    uint64_t name;
    int64_t pod_ns; /* it succeeded */
    int64_t job_ns; /* its job's training was done */
};

struct nccl_exits {
    size_t places_most;
    size_t pods_most;
    struct place *places;
    uint32_t place_count;
    struct tc_map place_index;
    struct ended *pods;
    uint32_t pod_count;
    struct tc_map pod_index;
    uint64_t job; /* of the places, when they are of one */
    bool many_jobs;
    bool news;
    uint64_t *ignored; /* places and pods for which there was no room count there */
};

struct nccl_exits *tc__exits_create(struct tc_detector_base *base)
{
    struct tc_arena *arena = base->arena;
    struct nccl_exits *x = tc_new(arena, struct nccl_exits, 1);
    if (x == NULL) {
        return NULL;
    }
    x->ignored = &base->ignored;
    x->places_most = tc_detector_room(base, PLACES_MAX);
    x->pods_most = tc_detector_room(base, PODS_MAX);
    x->places = tc_new(arena, struct place, x->places_most);
    x->pods = tc_new(arena, struct ended, x->pods_most);
    bool ok = x->pods != NULL && tc_map_init(&x->place_index, arena, x->places_most) &&
              tc_map_init(&x->pod_index, arena, x->pods_most);
    return ok ? x : NULL;
}

static uint64_t job_hash(struct tc_slice job)
{
    return job.len == 0 ? 0 : tc_slice_hash(job, 1) | 1;
}

static uint64_t pod_hash(struct tc_slice ns, struct tc_slice pod)
{
    return tc_slice_hash(pod, tc_slice_hash(ns, 2));
}

static struct place *find_place(const struct nccl_exits *x, uint64_t job, int32_t rank)
{
    struct tc_map_iter it = tc_map_find(&x->place_index, tc_hash_mix(job, (uint64_t)rank));
    for (uint64_t v; (v = tc_map_next(&x->place_index, &it)) != 0;) {
        struct place *p = &x->places[v - 1];
        if (p->job == job && p->rank == rank) {
            return p;
        }
    }
    return NULL;
}

static struct ended *find_end(const struct nccl_exits *x, uint64_t name)
{
    struct tc_map_iter it = tc_map_find(&x->pod_index, name);
    uint64_t v = tc_map_next(&x->pod_index, &it);
    return v == 0 ? NULL : &x->pods[v - 1];
}

static void on_place(struct nccl_exits *x, const struct tc_scope *s)
{
    uint64_t job = job_hash(s->job);
    if (s->rank < 0 || s->pod.len == 0) {
        return;
    }
    struct place *p = find_place(x, job, s->rank);
    if (p == NULL) {
        if (x->place_count == x->places_most ||
            !tc_map_add(&x->place_index, tc_hash_mix(job, (uint64_t)s->rank), x->place_count + 1,
                        0)) {
            (*x->ignored)++;
            return;
        }
        x->many_jobs |= x->place_count > 0 && job != x->job;
        x->job = job;
        p = &x->places[x->place_count++];
    }
    *p = (struct place){.job = job, .pod = pod_hash(s->ns, s->pod), .rank = s->rank};
}

static void note_end(struct nccl_exits *x, uint64_t name, bool is_job, int64_t time_ns)
{
    struct ended *e = find_end(x, name);
    if (e == NULL) {
        if (x->pod_count == x->pods_most || !tc_map_add(&x->pod_index, name, x->pod_count + 1, 0)) {
            (*x->ignored)++;
            return;
        }
        e = &x->pods[x->pod_count++];
        *e = (struct ended){.name = name, .pod_ns = TC_TIME_NONE, .job_ns = TC_TIME_NONE};
    }
    int64_t *end_ns = is_job ? &e->job_ns : &e->pod_ns;
    x->news |= time_ns > *end_ns;
    *end_ns = time_ns > *end_ns ? time_ns : *end_ns;
}

bool tc__exits_wants(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_RANK_PLACE || ev->kind == TC_EVENT_POD_STATE ||
           ev->kind == TC_EVENT_TRAIN_STEP;
}

TC_SELDOM void tc__exits_on_event(struct nccl_exits *x, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    if (ev->kind == TC_EVENT_RANK_PLACE) {
        on_place(x, s);
        return;
    }
    bool is_job = ev->kind == TC_EVENT_TRAIN_STEP;
    bool ended = is_job ? tc_slice_eq(ev->train.phase, TC_LIT("done"))
                        : tc_slice_eq(ev->pod.phase, TC_LIT("Succeeded"));
    if (!ended || ev->time_ns == TC_TIME_NONE) {
        return;
    }
    if (s->pod.len > 0) {
        note_end(x, pod_hash(s->ns, s->pod), is_job, ev->time_ns);
    }
    if (s->pod.len > 0 && s->ns.len > 0) { /* tables may leave the namespace out */
        note_end(x, pod_hash(TC_EMPTY, s->pod), is_job, ev->time_ns);
    }
    if (is_job && s->job.len > 0) {
        note_end(x, job_hash(s->job), true, ev->time_ns);
    }
}

bool tc__exits_take_news(struct nccl_exits *x)
{
    bool news = x->news;
    x->news = false;
    return news;
}

/* The end of the pod of a rank, NULL when that is not known. */
static const struct ended *end_of(const struct nccl_exits *x, uint64_t job, int32_t rank)
{
    const struct place *p = find_place(x, job, rank);
    p = p == NULL ? find_place(x, 0, rank) : p;
    p = p == NULL && !x->many_jobs ? find_place(x, x->job, rank) : p;
    return p == NULL ? NULL : find_end(x, p->pod);
}

/* Until when all that the job issued is over, TC_TIME_NONE when it is not. */
static int64_t over_ns(const struct nccl_hang *st, uint32_t job, uint64_t name)
{
    const struct nccl_exits *x = st->exits;
    const struct ended *own = name == 0 ? NULL : find_end(x, name);
    int64_t done_ns = own == NULL ? TC_TIME_NONE : own->job_ns;
    int64_t last_ns = TC_TIME_NONE; /* of its pods */
    bool all = true;
    for (uint32_t r = 0; r < st->rank_count; r++) {
        if (st->ranks[r].job == job) {
            const struct ended *e = end_of(x, name, st->ranks[r].rank);
            int64_t pod_ns = e == NULL ? TC_TIME_NONE : e->pod_ns;
            all = all && pod_ns != TC_TIME_NONE;
            last_ns = pod_ns > last_ns ? pod_ns : last_ns;
            done_ns = e != NULL && e->job_ns > done_ns ? e->job_ns : done_ns;
        }
    }
    return all && last_ns > done_ns ? last_ns : done_ns;
}

bool tc__exits_is_over(const struct nccl_hang *st, const struct nccl_eval *e, int64_t *out_ns)
{
    if (st->exits->pod_count == 0 || e->pending_count == 0) {
        return false;
    }
    uint32_t job = (uint32_t)(e->pending[0].key >> NCCL_JOB_SHIFT);
    *out_ns = over_ns(st, job, job_hash(st->jobs[job]));
    for (uint32_t i = 0; i < e->pending_count; i++) {
        if (tc__nccl_pending(e, i)->created_ns > *out_ns) {
            return false; /* issued after that: in an evaluation, or the pod was made anew */
        }
    }
    return true;
}
