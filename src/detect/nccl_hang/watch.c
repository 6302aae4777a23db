/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other watchdogs' word for a hang: a flag a rank. It says that the rank waits, not
 * for whom, so nobody is blamed.
 */
#include "base/table/sort.h"
#include "detect/detector.h"
#include "detect/nccl_hang/watch_priv.h"

#include <stddef.h>

#define KEY(name) TC_LIT("tracecore.alert.nccl_hang." name)
#define JOB_RING_BYTES ((size_t)512 << 10)
#define FLAG_RING_BYTES ((size_t)4 << 20)
#define RANKS_SHOWN 8

/* The flag of one rank. */
struct flag {
    struct tc_window_head head;
    uint64_t job_at; /* position of its job, which the job's flags have in common */
    struct tc_slice job;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    int32_t rank;
    int32_t gpu_index;
    bool set;
    int64_t time_ns; /* of the newest sample */
    int64_t since_ns;
    struct tc_raw raw; /* the first sample that said so */
};

static const struct tc_record_type JOB = {
    .size = sizeof(struct watch_job),
    .texts = {TC_TEXT(struct watch_job, name)},
    .keys = {{TC_FIELD(struct watch_job, name)}},
};
static const struct tc_record_type FLAG = {
    .size = sizeof(struct flag),
    .texts = {TC_TEXT(struct flag, job), TC_TEXT(struct flag, node), TC_TEXT(struct flag, ns),
              TC_TEXT(struct flag, pod)},
    .keys = {{TC_FIELD(struct flag, job), TC_FIELD(struct flag, rank)}},
    .chain = {TC_FIELD(struct flag, job_at)},
};

struct nccl_watch *tc__watch_create(struct tc_detector_base *base, const struct nccl_nodes *nodes,
                                    const int64_t *threshold_ns, int64_t retention_ns)
{
    struct nccl_watch *w = tc_new(base->arena, struct nccl_watch, 1);
    if (w == NULL) {
        return NULL;
    }
    *w = (struct nccl_watch){.base = base, .nodes = nodes, .threshold_ns = threshold_ns};
    bool ok = tc__window_open(&w->jobs, base, &JOB, JOB_RING_BYTES, retention_ns) &&
              tc__window_open(&w->flags, base, &FLAG, FLAG_RING_BYTES, retention_ns) &&
              tc__ras_init(w, retention_ns) &&
              tc__waiting_init(&w->due, base->arena, &w->jobs, NCCL_WATCH_DUE_MAX, NULL);
    return ok ? w : NULL;
}

struct watch_job *tc__watch_job(struct nccl_watch *w, struct tc_slice name)
{
    struct watch_job key = {.name = name, .flags_ns = TC_TIME_NONE, .ras_ns = TC_TIME_NONE};
    struct watch_job *job = tc__window_get_or_add(&w->jobs, &key, w->base->now_ns);
    if (job != NULL) {
        job->head.seen_ns = w->base->now_ns;
    }
    return job;
}

size_t tc__watch_sort(int32_t *ranks, size_t count, struct tc_arena *scratch)
{
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    struct tc_sort_pair *pairs = tc_new(scratch, struct tc_sort_pair, count);
    struct tc_sort_pair *spare = tc_new(scratch, struct tc_sort_pair, count);
    size_t kept = 0;
    for (size_t i = 0; spare != NULL && i < count; i++) {
        pairs[i] = (struct tc_sort_pair){(uint64_t)ranks[i], 0};
    }
    if (spare != NULL) {
        tc_sort_keys(pairs, spare, count);
    }
    for (size_t i = 0; spare != NULL && i < count; i++) {
        if (i == 0 || pairs[i].key != pairs[i - 1].key) {
            ranks[kept++] = (int32_t)pairs[i].key;
        }
    }
    if (spare != NULL) {
        tc_arena_rewind(scratch, mark);
    }
    return kept;
}

static void write_ranks(struct tc_buf *b, const struct tc_arg *arg)
{
    size_t shown = arg->count > RANKS_SHOWN ? RANKS_SHOWN - 1 : arg->count;
    tc_format(b, "rank{} {}", arg->count == 1 ? "" : "s",
              tc_as_ints(arg->object, arg->count, shown));
}

struct tc_arg tc__watch_as_ranks(const int32_t *ranks, size_t count)
{
    return (struct tc_arg){.write = write_ranks, .object = ranks, .count = count};
}

/* Lists are never NULL, however short. */
static const int32_t NO_RANKS[1];
static const struct tc_slice NO_REASONS[1];

static void attr_ranks(struct tc_draft *d, struct tc_slice key, const int32_t *ranks, size_t count)
{
    tc__draft_attr_ints(d, key, count == 0 ? NO_RANKS : ranks, count);
}

void tc__watch_attrs(struct tc_draft *d, const struct watch_facts *f)
{
    attr_ranks(d, KEY("culprit_ranks"), f->culprits, f->culprit_count);
    tc__nodes_put_culprits(d, f->places, f->place_count);
    tc__draft_attr_list(d, KEY("culprit_reasons"), f->reason_count == 0 ? NO_REASONS : f->reasons,
                        f->reason_count);
    attr_ranks(d, KEY("waiting_ranks"), f->waiting, f->waiting_count);
    attr_ranks(d, KEY("blocking_ranks"), NO_RANKS, 0);
    tc__draft_attr_any(d, KEY("process_group"), f->group);
    tc__draft_attr_any(d, KEY("op"), TC_LIT(""));
    tc__draft_attr_int(d, KEY("seq"), f->seq);
    tc__draft_attr_int(d, KEY("members"), f->members);
    tc__draft_attr_int(d, KEY("queued_collectives"), 0);
    if (f->stall_ns >= TC_SECOND) {
        tc__draft_attr_int(d, KEY("stall_seconds"), f->stall_ns / TC_SECOND);
    }
}

static const struct flag *newest_flag(const struct nccl_watch *w, const struct watch_job *job)
{
    struct flag key = {.job_at = job->head.pos};
    return tc__window_newest(&w->flags, &key);
}

/* Where a job's flags are: the oldest and the newest that are set. */
struct raised {
    int32_t *ranks;
    size_t count;
    const struct flag *first;
    const struct flag *last;
};

static bool later(const struct flag *a, const struct flag *b)
{
    return a->since_ns == b->since_ns ? a->rank > b->rank : a->since_ns > b->since_ns;
}

static struct raised raised_of(const struct nccl_watch *w, const struct watch_job *job)
{
    struct raised r = {.ranks = tc_new(w->base->scratch, int32_t, TC_VERDICT_RANKS_MAX)};
    for (const struct flag *f = r.ranks == NULL ? NULL : newest_flag(w, job); f != NULL;
         f = tc__window_older(&w->flags, f)) {
        if (!f->set || r.count == TC_VERDICT_RANKS_MAX) {
            continue;
        }
        r.ranks[r.count++] = f->rank;
        r.first = r.first == NULL || later(r.first, f) ? f : r.first;
        r.last = r.last == NULL || later(f, r.last) ? f : r.last;
    }
    r.count = tc__watch_sort(r.ranks, r.count, w->base->scratch);
    return r;
}

static void put_evidence(struct tc_draft *d, const struct flag *f, bool set)
{
    tc__draft_evidence(
        d, (struct tc_evidence){
               .kind = TC_LIT("metric"),
               .uid = tc__draft_format(d, "hang_flag:{}:{}:{}", f->job, f->rank,
                                       tc_as_time(f->since_ns)),
               .description = tc__draft_format(d, "rank {}: its watchdog {} that it hangs", f->rank,
                                               set ? "says" : "no longer says"),
               .time_ns = f->since_ns,
               .raw = f->raw,
           });
}

static void put_words(struct tc_draft *d, const struct watch_job *job, const struct raised *r)
{
    struct tc_finding *f = &d->finding;
    struct tc_arg of_job = tc_when(job->name.len > 0, " of job {}", job->name);
    f->key = tc__draft_format(d, "watchdog|{}@{}", job->name, tc_as_time(job->hung_ns));
    if (f->resolved) {
        f->headline = tc__draft_format(d, "No watchdog{} reports a hang any more", of_job);
        f->remediation = TC_LIT("Nothing: the ranks went on by themselves. If it comes back, take "
                                "Flight Recorder dumps while it hangs.");
    } else {
        f->headline =
            tc__draft_format(d, "The watchdogs of {}{} say that nothing finishes on their GPUs",
                             tc__watch_as_ranks(r->ranks, r->count), of_job);
        f->remediation =
            TC_LIT("A flag does not say who holds the others up: take Flight Recorder dumps or run "
                   "ncclras now, before the job is killed, and give them to tracecore.");
    }
}

static tc_status tell(struct nccl_watch *w, struct watch_job *job, const struct flag *ended,
                      const struct tc_sink *out)
{
    struct tc_arena *scratch = w->base->scratch;
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    struct raised r = raised_of(w, job);
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_nccl_hang, scratch);
    struct tc_finding *f = &d.finding;
    const struct flag *one = ended != NULL ? ended : r.first;
    if (one == NULL) { /* the window has forgotten them, or there was no memory */
        tc_arena_rewind(scratch, mark);
        return r.ranks == NULL ? TC_E_NOMEM : TC_OK;
    }
    f->resolved = ended != NULL;
    f->incomplete = w->flags.ring.dropped_count > 0;
    f->severity = TC_SEVERITY_CRITICAL;
    f->confidence = TC_CONFIDENCE_PARTIAL;
    f->discriminator = TC_LIT("watchdog");
    put_words(&d, job, &r);
    f->first_ns = job->hung_ns;
    f->last_ns = job->flags_ns;
    f->scope.job = job->name;
    if (r.count == 1) {
        f->scope.rank = one->rank;
        f->scope.node = one->node;
        f->scope.ns = one->ns;
        f->scope.pod = one->pod;
        f->scope.gpu_index = one->gpu_index;
    }
    tc__watch_attrs(&d, &(struct watch_facts){
                            .members = job->ranks, .waiting = r.ranks, .waiting_count = r.count});
    put_evidence(&d, one, ended == NULL);
    if (r.last != NULL && r.last != one) {
        put_evidence(&d, r.last, true);
    }
    tc_status status = tc__draft_emit(&d, out);
    tc_arena_rewind(scratch, mark);
    return status;
}

/* One verdict a job and sample, not one a rank. */
static tc_status judge_flags(struct nccl_watch *w, struct watch_job *job, const struct tc_sink *out)
{
    if (job->hanging > 0) {
        job->told = true;
        return tell(w, job, NULL, out);
    }
    if (!job->told) {
        return TC_OK;
    }
    job->told = false;
    const struct flag *last = NULL;
    for (const struct flag *f = newest_flag(w, job); f != NULL;
         f = tc__window_older(&w->flags, f)) {
        last = last == NULL || later(f, last) ? f : last;
    }
    return last == NULL ? TC_OK : tell(w, job, last, out);
}

static tc_status judge(void *state, void *record, int64_t now_ns, const struct tc_sink *out,
                       int64_t *io_due_ns)
{
    struct nccl_watch *w = state;
    struct watch_job *job = record;
    if (job->flags_ns >= now_ns || job->ras_ns >= now_ns) { /* more of its snapshot may come */
        *io_due_ns = (job->flags_ns > job->ras_ns ? job->flags_ns : job->ras_ns) + 1;
        return TC_OK;
    }
    job->due = false;
    TC_TRY(judge_flags(w, job, out));
    return tc__ras_judge(w, job, out);
}

tc_status tc__watch_on_tick(struct nccl_watch *w, int64_t now_ns, const struct tc_sink *out)
{
    return tc__waiting_run(&w->due, now_ns, judge, w, out);
}

tc_status tc__watch_due(struct nccl_watch *w, struct watch_job *job, const struct tc_sink *out)
{
    int64_t due_ns = (job->flags_ns > job->ras_ns ? job->flags_ns : job->ras_ns) + 1;
    if (job->due) {
        return TC_OK;
    }
    job->due = true;
    if (!tc__waiting_add(&w->due, job, due_ns)) {
        TC_TRY(tc__watch_on_tick(w, INT64_MAX, out));
        job->due = tc__waiting_add(&w->due, job, due_ns);
    }
    return TC_OK;
}

static struct flag *flag_of(struct nccl_watch *w, struct watch_job *job, const struct tc_event *ev)
{
    struct flag key = {.job = ev->scope.job,
                       .node = ev->scope.node,
                       .ns = ev->scope.ns,
                       .pod = ev->scope.pod,
                       .rank = ev->scope.rank,
                       .gpu_index = ev->scope.gpu_index,
                       .time_ns = TC_TIME_NONE,
                       .since_ns = TC_TIME_NONE,
                       .job_at = job->head.pos};
    struct flag *f = tc__window_get_or_add(&w->flags, &key, w->base->now_ns);
    if (f != NULL) {
        job->ranks += f->time_ns == TC_TIME_NONE;
        f->head.seen_ns = w->base->now_ns;
    }
    return f;
}

static tc_status on_flag(struct nccl_watch *w, const struct tc_event *ev, const struct tc_sink *out)
{
    if (ev->scope.rank < 0 || ev->time_ns == TC_TIME_NONE || !tc__scope_fits(&ev->scope) ||
        ev->scope.job.len > TC_SCOPE_TEXT_MAX) {
        w->base->ignored++;
        return TC_OK;
    }
    struct watch_job *job = tc__watch_job(w, ev->scope.job);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    if (job->due && ev->time_ns > job->flags_ns && job->flags_ns != TC_TIME_NONE) {
        TC_TRY(tc__watch_on_tick(w, ev->time_ns, out));
    }
    struct flag *f = flag_of(w, job, ev);
    if (f == NULL) {
        return TC_E_NOMEM;
    }
    if (f->time_ns != TC_TIME_NONE && ev->time_ns < f->time_ns) {
        return TC_OK; /* late: a newer sample is known */
    }
    bool set = ev->metric.value > 0;
    bool fresh = f->time_ns == TC_TIME_NONE;
    f->time_ns = ev->time_ns;
    job->flags_ns = ev->time_ns > job->flags_ns ? ev->time_ns : job->flags_ns;
    if (set == f->set && !fresh) {
        return TC_OK;
    }
    f->since_ns = ev->time_ns;
    f->raw = ev->raw;
    if (set && !f->set) {
        bool first = job->hanging++ == 0 && !job->told;
        job->hung_ns = first || ev->time_ns < job->hung_ns ? ev->time_ns : job->hung_ns;
    } else if (!set && f->set) {
        job->hanging--;
    }
    bool changed = set || f->set;
    f->set = set;
    return changed ? tc__watch_due(w, job, out) : TC_OK;
}

bool tc__watch_wants(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_METRIC || ev->kind == TC_EVENT_NCCL_RAS;
}

TC_SELDOM tc_status tc__watch_on_event(struct nccl_watch *w, const struct tc_event *ev,
                                       const struct tc_sink *out)
{
    if (ev->kind == TC_EVENT_METRIC && ev->metric.metric != TC_METRIC_HANG_FLAG) {
        return TC_OK;
    }
    return ev->kind == TC_EVENT_METRIC ? on_flag(w, ev, out) : tc__ras_on_event(w, ev, out);
}
