/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_crash: which rank of a job failed first, and why.
 * docs/patterns/rank_crash.md says what it claims and what it never does.
 *
 * Two windows: jobs, each with its last incident, and the failures that launchers, stacks,
 * containers and Slurm tell of, chained by incident. A job is looked at a moment after its first
 * failure, when the others that saw it have spoken, and again when more is known.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/rank_crash/priv.h"

#include "base/time.h"

#define JOB_RING_BYTES ((size_t)8 << 20)
#define FACT_RING_BYTES ((size_t)16 << 20)
#define PLACE_RING_BYTES ((size_t)8 << 20)
#define ARENA_BYTES ((size_t)64 << 20)
#define WAITING_MAX 4096
/* One step may have been in a buffer when the process ended. */
#define STEPS_CAUGHT 2

static const struct tc_record_type JOB = {
    .size = sizeof(struct crash_job),
    .texts = {TC_TEXT(struct crash_job, name)},
    .keys = {{TC_FIELD(struct crash_job, name), TC_FIELD(struct crash_job, source),
              TC_FIELD(struct crash_job, is_job)}},
};
static const struct tc_record_type FACT = {
    .size = sizeof(struct crash_fact),
    .texts = {TC_TEXT(struct crash_fact, node), TC_TEXT(struct crash_fact, ns),
              TC_TEXT(struct crash_fact, pod), TC_TEXT(struct crash_fact, pod_uid),
              TC_TEXT(struct crash_fact, container), TC_TEXT(struct crash_fact, error),
              TC_TEXT(struct crash_fact, message)},
    .chain = {TC_FIELD(struct crash_fact, incident)},
};

/* Jobs share roles, and process ids of no node: what each says is kept once, and what was said last
 * is found under the first key. */
enum { PLACE_OF_ANY, PLACE_OF_JOB };

static const struct tc_record_type PLACE = {
    .size = sizeof(struct crash_place),
    .texts = {TC_TEXT(struct crash_place, pod), TC_TEXT(struct crash_place, full),
              TC_TEXT(struct crash_place, node), TC_TEXT(struct crash_place, job)},
    .keys = {{TC_FIELD(struct crash_place, pod), TC_FIELD(struct crash_place, node),
              TC_FIELD(struct crash_place, pid)},
             [PLACE_OF_JOB] = {TC_FIELD(struct crash_place, pod),
                               TC_FIELD(struct crash_place, node),
                               TC_FIELD(struct crash_place, pid),
                               TC_FIELD(struct crash_place, job)}},
};

/* What an event without the name of its job is kept under. */
static struct crash_job job_key(const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    struct crash_job key = {.name = s->job.len > 0 ? s->job : tc__crash_workload(s->pod)};
    key.is_job = s->job.len > 0;
    key.source = key.name.len > 0 ? 0 : (uint64_t)ev->raw.source + 1;
    return key;
}

static void look_later(struct crash_state *st, struct crash_job *job, int64_t from_ns)
{
    int64_t now_ns = st->base.now_ns > from_ns ? st->base.now_ns : from_ns;
    if (!job->waits) {
        job->waits = tc__waiting_add(&st->waiting, job, now_ns + st->wait_ns);
        st->base.dropped += !job->waits;
    }
}

/* The incident that a failure of this time belongs to: the job's, or a new one. */
static bool join_incident(struct crash_state *st, struct crash_job *job, int64_t time_ns,
                          bool begins)
{
    if (job->incident != 0 && !job->resolved &&
        (tc__crash_near(time_ns, job->first_ns, st->window_ns) ||
         tc__crash_near(time_ns, job->last_ns, st->window_ns))) {
        job->first_ns = time_ns < job->first_ns ? time_ns : job->first_ns;
        job->last_ns = time_ns > job->last_ns ? time_ns : job->last_ns;
        return true;
    }
    if (job->incident != 0 && time_ns < job->last_ns) {
        st->base.late++;
        return false;
    }
    /* A consequence alone is no new failure of a job that has one already. */
    if (job->told != 0 && !begins) {
        return false;
    }
    *job = (struct crash_job){
        .head = job->head,
        .name = job->name,
        .source = job->source,
        .is_job = job->is_job,
        .incident = ++st->incidents,
        .first_ns = time_ns,
        .last_ns = time_ns,
        .waits = job->waits,
    };
    return true;
}

/* Makes room for a fact among those that are kept. False when all of them come before it. */
static bool make_room(const struct crash_state *st, struct crash_job *job,
                      const struct crash_fact *news)
{
    struct crash_fact *last = NULL;
    struct crash_fact *f = tc__window_newest(&st->facts, news);
    for (; f != NULL; f = tc__window_older(&st->facts, f)) {
        last = !f->gone && (last == NULL || tc__crash_before(last, f)) ? f : last;
    }
    if (last == NULL || tc__crash_before(last, news)) {
        return false;
    }
    last->gone = true;
    job->facts--;
    return true;
}

static void note_rank(uint64_t *ranks, int32_t rank)
{
    if (rank >= 0 && rank < CRASH_RANKS_MAX) {
        ranks[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
}

/* What the job learns of a fact, whether or not that is kept. */
static void note_fact(struct crash_state *st, struct crash_job *job, const struct crash_fact *f)
{
    if (f->part == CRASH_STOPPED) {
        (void)tc__mark_first(&job->stop, &f->mark);
    } else if (f->part == CRASH_TIMED_OUT) {
        (void)tc__mark_first(&job->watchdog, &f->mark);
        if (job->is_job == 0) {
            (void)tc__mark_last(&st->watchdog, &f->mark);
        }
    } else if (f->part == CRASH_TORN) {
        (void)tc__mark_first(&job->torn, &f->mark);
    }
    if (job->is_job == 0 && f->part == CRASH_OWN && f->words && !f->caught &&
        tc__mark_last(&st->failure, &f->mark)) {
        st->failure_spread = false;
    }
    if (job->is_job == 0 && tc__crash_is_spread(f) && st->failure.known &&
        st->failure.raw.source == f->mark.raw.source) {
        st->failure_spread = true;
    }
    if (f->ends) {
        (void)tc__mark_first(&job->end, &f->mark);
        note_rank(job->ended, f->rank);
    }
    if (f->part == CRASH_FOLLOWED && f->words && !f->caught) {
        job->followed_any = true;
        note_rank(job->followed, f->rank);
        note_rank(job->ended, f->rank);
    }
}

static tc_status on_failure(struct crash_state *st, const struct tc_event *ev,
                            struct crash_fact *fact)
{
    struct crash_job key = job_key(ev);
    struct crash_job *job = tc__window_get_or_add(&st->jobs, &key, st->base.now_ns);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    job->head.seen_ns = st->base.now_ns;
    bool kept = fact->part == CRASH_OWN || fact->first || fact->ends;
    if (!join_incident(st, job, ev->time_ns, kept)) {
        return TC_OK;
    }
    fact->incident = job->incident;
    note_fact(st, job, fact);
    look_later(st, job, ev->time_ns);
    if (!kept || (job->facts == CRASH_FACTS_MAX && !make_room(st, job, fact))) {
        return TC_OK;
    }
    job->facts++;
    return tc__window_add(&st->facts, fact, st->base.now_ns) == NULL ? TC_E_NOMEM : TC_OK;
}

/* What is known of the pod, or else of the process; NULL. */
static const struct crash_place *place_of(const struct crash_state *st, struct tc_slice pod,
                                          struct tc_slice node, int64_t pid)
{
    struct crash_place by_pod = {.pod = pod, .pid = -1};
    struct crash_place by_pid = {.node = node, .pid = pid};
    const struct crash_place *p = pod.len == 0 ? NULL : tc__window_get(&st->places, &by_pod);
    return p != NULL || pid < 0 ? p : tc__window_get(&st->places, &by_pid);
}

/* Which rank a pod runs may be told at the very time of its failure: asked for only now. */
static void place_facts(const struct crash_state *st, struct crash_job *job)
{
    struct crash_fact chain = {.incident = job->incident};
    struct crash_fact *f = tc__window_newest(&st->facts, &chain);
    for (; f != NULL; f = tc__window_older(&st->facts, f)) {
        const struct crash_place *p = f->rank >= 0 ? NULL : place_of(st, f->pod, f->node, f->pid);
        if (p != NULL) {
            f->rank = p->rank;
            note_rank(job->ended, f->ends ? f->rank : -1);
        }
    }
}

/*
 * Whether the logs of one job that nobody names are two: this one has consequences only, or only an
 * exit code of a job of several nodes, and another one says what failed.
 */
static bool is_of_another(const struct crash_state *st, const struct crash_job *job,
                          const struct crash_choice *c)
{
    const struct tc_mark *other = &st->failure;
    bool elsewhere = job->is_job == 0 && job->name.len == 0 && other->known &&
                     other->raw.source != c->culprit->mark.raw.source;
    bool bare = c->words == NULL && c->culprit->signal == 0 &&
                (st->failure_spread || tc__crash_is_spread(c->culprit)) &&
                tc__mark_before(other, &c->culprit->mark);
    int64_t within_ns = c->is_followed ? st->window_ns : bare ? st->wait_ns : -1;
    return elsewhere && within_ns >= 0 &&
           tc__crash_near(other->time_ns, c->culprit->mark.time_ns, within_ns);
}

static tc_status tell(struct crash_state *st, struct crash_job *job, const struct tc_sink *out)
{
    struct crash_choice choice;
    place_facts(st, job);
    if (job->incident == 0 || !tc__crash_choose(st, job, &choice) ||
        is_of_another(st, job, &choice)) {
        return TC_OK;
    }
    struct tc_scope scope = tc__crash_scope(st, job, &choice);
    uint64_t told = tc__crash_told(&choice, &scope) ^ (uint64_t)job->resolved;
    if (told == job->told) {
        return TC_OK;
    }
    if (job->told == 0) {
        job->told_first = (choice.words != NULL ? choice.words : choice.culprit)->mark;
    }
    job->told = told;
    return tc__crash_report(st, job, &choice, &scope, out);
}

/* A step of a rank that was taken for dead: it had caught the exception, or the job runs again. */
static void on_step(struct crash_state *st, const struct tc_event *ev)
{
    struct crash_job key = job_key(ev);
    struct crash_job *job = tc__window_get(&st->jobs, &key);
    if (job == NULL || job->incident == 0 || job->resolved) {
        return;
    }
    struct crash_fact chain = {.incident = job->incident};
    struct crash_fact *f = tc__window_newest(&st->facts, &chain);
    for (; f != NULL; f = tc__window_older(&st->facts, f)) {
        bool same =
            f->rank == ev->scope.rank && (f->rank >= 0 || f->mark.raw.source == ev->raw.source);
        if (same && f->words && !f->ends && !f->caught && f->mark.time_ns < ev->time_ns) {
            f->steps++;
            f->caught = f->steps >= STEPS_CAUGHT;
        }
    }
    bool again =
        job->told != 0 && tc_time_is_date(job->last_ns) && ev->time_ns > job->last_ns + st->wait_ns;
    if (!again) {
        return;
    }
    job->resolved = true;
    job->last_ns = ev->time_ns;
    look_later(st, job, ev->time_ns); /* with what is told at this time, too */
}

static tc_status keep_place(struct crash_state *st, const struct crash_place *key)
{
    const struct crash_place *last = tc__window_get(&st->places, key);
    struct crash_place *p =
        tc__window_get_by(&st->places, key->job.len == 0 ? PLACE_OF_ANY : PLACE_OF_JOB, key);
    if (p == NULL) {
        p = tc__window_add(&st->places, key, st->base.now_ns);
        if (p == NULL) {
            return TC_E_NOMEM;
        }
        tc__window_index(&st->places, PLACE_OF_JOB, p);
        return TC_OK;
    }
    p->rank = p->rank == key->rank && tc_slice_eq(p->full, key->full) ? p->rank : -1;
    if (p != last) {
        tc__window_index(&st->places, PLACE_OF_ANY, p);
    }
    return TC_OK;
}

/* Which rank a pod runs, or a process is. */
static tc_status on_place(struct crash_state *st, const struct tc_scope *s)
{
    struct crash_place key = {.pod = s->pod, .job = s->job, .rank = s->rank, .pid = -1};
    if (s->rank < 0) {
        return TC_OK;
    }
    key.full = s->pod;
    if (s->pod.len > 0) {
        TC_TRY(keep_place(st, &key));
        key.pod = tc__crash_role(s->pod);
    }
    if (key.pod.len > 0) {
        TC_TRY(keep_place(st, &key));
    }
    if (s->pid < 0 || s->node.len == 0) {
        return TC_OK;
    }
    key.pod = TC_EMPTY;
    key.pid = s->pid;
    TC_TRY(keep_place(st, &key));
    key.node = s->node;
    return keep_place(st, &key);
}

/* Adds to what an event says of its pod which rank and job that is. */
static void place_pod(const struct crash_state *st, struct tc_scope *io)
{
    const struct crash_place *p = place_of(st, io->pod, io->node, io->pid);
    if (p != NULL) {
        io->rank = io->rank >= 0 ? io->rank : p->rank;
        io->job = io->job.len > 0 ? io->job : p->job;
        io->pod = p->rank >= 0 && p->full.len > 0 ? p->full : io->pod;
    }
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    (void)out;
    struct crash_state *st = state;
    struct crash_fact fact;
    bool step = ev->kind == TC_EVENT_TRAIN_STEP;
    bool place = ev->kind == TC_EVENT_RANK_PLACE;
    struct tc_event placed;
    if ((step && st->incidents == 0) || (!step && !place && !tc__crash_tells(ev))) {
        return TC_OK;
    }
    if ((ev->time_ns == TC_TIME_NONE && !place) || !tc__scope_fits(&ev->scope)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (place) {
        return on_place(st, &ev->scope);
    }
    placed = *ev;
    place_pod(st, &placed.scope);
    if (tc__crash_is_role(&placed.scope)) {
        placed.scope.pod = TC_EMPTY;
    }
    if (step) {
        on_step(st, &placed);
        return TC_OK;
    }
    return tc__crash_read(&placed, &fact) ? on_failure(st, &placed, &fact) : TC_OK;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct crash_state *st = state;
    for (struct crash_job *job; (job = tc__waiting_take(&st->waiting, now_ns, NULL)) != NULL;) {
        job->waits = false;
        TC_TRY(tell(st, job, out));
    }
    return TC_OK;
}

/* What is due is told with what was known until now. */
static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tc_time_is_order(now_ns) ? TC_OK : on_tick(state, now_ns - 1, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    return on_tick(state, INT64_MAX, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct crash_state *st = state;
    st->directory = env->directory;
    bool ok = tc__window_open(&st->jobs, &st->base, &JOB, JOB_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__window_open(&st->facts, &st->base, &FACT, FACT_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__window_open(&st->places, &st->base, &PLACE, PLACE_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__waiting_init(&st->waiting, env->arena, &st->jobs, WAITING_MAX, NULL);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("wait", struct crash_state, wait_ns, 30, 1, 3600,
                    "time after a failure in which others may tell of an earlier one"),
    TC_KNOB_SECONDS("window", struct crash_state, window_ns, 600, 1, 86400,
                    "failures of one job further apart than this are two incidents"),
};

const struct tc_detector tc_detector_rank_crash = {
    .id = "14",
    .name = "rank_crash",
    .summary = "A rank of a job failed first and brought the others down; says which and why.",
    .kinds = TC_EVENT_BIT(TC_EVENT_RANK_EXIT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_LOADER_ERROR) | TC_EVENT_BIT(TC_EVENT_NCCL_RECORD) |
             TC_EVENT_BIT(TC_EVENT_TRAIN_STEP) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE),
    .undated = true,
    .state_bytes = sizeof(struct crash_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
