/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other watchdogs' word for a hang: a flag a rank. It says that the rank waits, not
 * for whom, so nobody is blamed.
 */
#include "base/sort.h"
#include "detect/detector.h"
#include "detect/nccl_hang/watch_priv.h"

#include <stddef.h>

#define KEY(name) TC_LIT("tracecore.alert.nccl_hang." name)
#define JOB_RING_BYTES ((size_t)512 << 10)
#define FLAG_RING_BYTES ((size_t)4 << 20)
#define ATTRS_MAX 12
#define EVIDENCE_MAX 4
#define WORDS_BYTES 2048
#define RANKS_SHOWN 8

/* The flag of one rank. */
struct flag {
    struct tc_window_head head;
    uint64_t next; /* the next rank of the job; may have left the window */
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

static const size_t JOB_TEXTS[] = {offsetof(struct watch_job, name)};
static const size_t FLAG_TEXTS[] = {offsetof(struct flag, job), offsetof(struct flag, node),
                                    offsetof(struct flag, ns), offsetof(struct flag, pod)};

static bool same_job(const void *record, const void *key)
{
    return tc_slice_eq(((const struct watch_job *)record)->name,
                       ((const struct watch_job *)key)->name);
}

static bool same_flag(const void *record, const void *key)
{
    const struct flag *a = record;
    const struct flag *b = key;
    return a->rank == b->rank && tc_slice_eq(a->job, b->job);
}

struct nccl_watch *tc__watch_create(const struct tc_detector_env *env, const int64_t *threshold_ns,
                                    const int64_t *retention_ns)
{
    struct nccl_watch *w = tc_new(env->arena, struct nccl_watch, 1);
    if (w == NULL) {
        return NULL;
    }
    size_t jobs = JOB_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct watch_job), 0);
    size_t flags = FLAG_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct flag), 0);
    *w = (struct nccl_watch){
        .threshold_ns = threshold_ns, .retention_ns = retention_ns, .scratch = env->scratch};
    bool ok = tc__window_init(&w->jobs, env->arena, JOB_RING_BYTES, jobs, 1, false) &&
              tc__window_init(&w->flags, env->arena, FLAG_RING_BYTES, flags, 1, false) &&
              tc__ras_init(w, env->arena);
    return ok ? w : NULL;
}

struct watch_job *tc__watch_job(struct nccl_watch *w, struct tc_slice name)
{
    struct watch_job key = {.name = name, .flags_ns = TC_TIME_NONE, .ras_ns = TC_TIME_NONE};
    struct tc_window_place place =
        tc__window_find(&w->jobs, &w->jobs.index, tc_slice_hash(name, 0), same_job, &key);
    struct watch_job *job = place.record;
    if (job == NULL) {
        job = tc__window_push(&w->jobs, w->scratch, &key, sizeof key, JOB_TEXTS,
                              TC_COUNT(JOB_TEXTS), w->now_ns);
        if (job == NULL) {
            return NULL;
        }
        tc__window_put(&w->jobs, &w->jobs.index, place, job);
    }
    job->head.seen_ns = w->now_ns;
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

void tc__watch_put_ranks(struct tc_buf *b, const int32_t *ranks, size_t count)
{
    size_t shown = count > RANKS_SHOWN ? RANKS_SHOWN - 1 : count;
    tc_buf_str(b, count == 1 ? TC_LIT("rank ") : TC_LIT("ranks "));
    for (size_t i = 0; i < shown; i++) {
        bool last = i + 1 == shown && shown == count;
        tc_buf_str(b, i == 0 ? TC_EMPTY : last ? TC_LIT(" and ") : TC_LIT(", "));
        tc_buf_i64(b, ranks[i]);
    }
    if (shown < count) {
        tc_buf_lit(b, " and ");
        tc_buf_u64(b, count - shown);
        tc_buf_lit(b, " more");
    }
}

/* Lists are never NULL, however short. */
static const int32_t NO_RANKS[1];
static const struct tc_slice NO_REASONS[1];

static void attr_ranks(struct tc_draft *d, struct tc_slice key, const int32_t *ranks, size_t count)
{
    tc__draft_attr(d, (struct tc_attr){.key = key,
                                       .type = TC_ATTR_INTS,
                                       .ints = count == 0 ? NO_RANKS : ranks,
                                       .count = count});
}

static void attr_any_text(struct tc_draft *d, struct tc_slice key, struct tc_slice value)
{
    tc__draft_attr(d, (struct tc_attr){.key = key, .type = TC_ATTR_STRING, .string = value});
}

void tc__watch_attrs(struct tc_draft *d, const struct watch_facts *f)
{
    attr_ranks(d, KEY("culprit_ranks"), f->culprits, f->culprit_count);
    tc__draft_attr(d, (struct tc_attr){.key = KEY("culprit_reasons"),
                                       .type = TC_ATTR_STRINGS,
                                       .strings = f->reason_count == 0 ? NO_REASONS : f->reasons,
                                       .count = f->reason_count});
    attr_ranks(d, KEY("waiting_ranks"), f->waiting, f->waiting_count);
    attr_ranks(d, KEY("blocking_ranks"), NO_RANKS, 0);
    attr_any_text(d, KEY("process_group"), f->group);
    attr_any_text(d, KEY("op"), TC_LIT(""));
    tc__draft_attr_int(d, KEY("seq"), f->seq);
    tc__draft_attr_int(d, KEY("members"), f->members);
    tc__draft_attr_int(d, KEY("queued_collectives"), 0);
    if (f->stall_ns >= TC_SECOND) {
        tc__draft_attr_int(d, KEY("stall_seconds"), f->stall_ns / TC_SECOND);
    }
}

static struct flag *next_flag(const struct nccl_watch *w, const struct watch_job *job,
                              const struct flag *before)
{
    struct flag *f = tc__window_at(&w->flags, before == NULL ? job->newest_flag : before->next);
    return f;
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
    struct raised r = {.ranks = tc_new(w->scratch, int32_t, TC_VERDICT_RANKS_MAX)};
    for (const struct flag *f = NULL; r.ranks != NULL && (f = next_flag(w, job, f)) != NULL;) {
        if (!f->set || r.count == TC_VERDICT_RANKS_MAX) {
            continue;
        }
        r.ranks[r.count++] = f->rank;
        r.first = r.first == NULL || later(r.first, f) ? f : r.first;
        r.last = r.last == NULL || later(f, r.last) ? f : r.last;
    }
    r.count = tc__watch_sort(r.ranks, r.count, w->scratch);
    return r;
}

static void put_evidence(struct tc_draft *d, const struct flag *f, bool set)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {.kind = TC_LIT("metric"), .time_ns = f->since_ns, .raw = f->raw};
    size_t start = b->len;
    tc_buf_lit(b, "hang_flag:");
    tc_buf_str(b, f->job);
    tc_buf_char(b, ':');
    tc_buf_i64(b, f->rank);
    tc_buf_char(b, ':');
    tc_buf_time(b, f->since_ns);
    out.uid = tc_buf_since(b, start);
    start = b->len;
    tc_buf_lit(b, "rank ");
    tc_buf_i64(b, f->rank);
    tc_buf_str(b, set ? TC_LIT(": its watchdog says that it hangs")
                      : TC_LIT(": its watchdog no longer says that it hangs"));
    out.description = tc_buf_since(b, start);
    tc__draft_evidence(d, out);
}

static void put_job(struct tc_buf *b, const struct watch_job *job)
{
    if (job->name.len > 0) {
        tc_buf_lit(b, " of job ");
        tc_buf_str(b, job->name);
    }
}

static void put_words(struct tc_draft *d, const struct watch_job *job, const struct raised *r)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_lit(b, "watchdog|");
    tc_buf_str(b, job->name);
    tc_buf_char(b, '@');
    tc_buf_time(b, job->hung_ns);
    d->finding.key = tc_buf_since(b, start);
    start = b->len;
    if (d->finding.resolved) {
        tc_buf_lit(b, "No watchdog");
        put_job(b, job);
        tc_buf_lit(b, " reports a hang any more");
    } else {
        tc_buf_lit(b, "The watchdogs of ");
        tc__watch_put_ranks(b, r->ranks, r->count);
        put_job(b, job);
        tc_buf_lit(b, " say that nothing finishes on their GPUs");
    }
    d->finding.headline = tc_buf_since(b, start);
    d->finding.remediation =
        d->finding.resolved
            ? TC_LIT("Nothing: the ranks went on by themselves. If it comes back, take Flight "
                     "Recorder dumps while it hangs.")
            : TC_LIT("A flag does not say who holds the others up: take Flight Recorder dumps or "
                     "run ncclras now, before the job is killed, and give them to tracecore.");
}

static tc_status tell(struct nccl_watch *w, struct watch_job *job, const struct flag *ended,
                      const struct tc_sink *out)
{
    tc_arena_mark mark = tc_arena_snapshot(w->scratch);
    struct raised r = raised_of(w, job);
    struct tc_draft d;
    size_t names = job->name.len;
    tc__draft_begin(&d, &tc_detector_nccl_hang, w->scratch, WORDS_BYTES + 6 * names, ATTRS_MAX,
                    EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    const struct flag *one = ended != NULL ? ended : r.first;
    if (one == NULL) { /* the window has forgotten them, or there was no memory */
        tc_arena_rewind(w->scratch, mark);
        return r.ranks == NULL ? TC_E_NOMEM : TC_OK;
    }
    f->resolved = ended != NULL;
    f->incomplete = w->flags.ring.dropped_count > 0;
    f->severity = f->resolved ? TC_SEVERITY_INFO : TC_SEVERITY_CRITICAL;
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
    tc_arena_rewind(w->scratch, mark);
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
    for (const struct flag *f = NULL; (f = next_flag(w, job, f)) != NULL;) {
        last = last == NULL || later(f, last) ? f : last;
    }
    return last == NULL ? TC_OK : tell(w, job, last, out);
}

static tc_status judge(struct nccl_watch *w, struct watch_job *job, const struct tc_sink *out)
{
    job->due = false;
    TC_TRY(judge_flags(w, job, out));
    return tc__ras_judge(w, job, out);
}

tc_status tc__watch_due(struct nccl_watch *w, struct watch_job *job, const struct tc_sink *out)
{
    if (job->due) {
        return TC_OK;
    }
    if (w->due_count == NCCL_WATCH_DUE_MAX) {
        TC_TRY(tc__watch_on_tick(w, INT64_MAX, out));
    }
    job->due = true;
    w->due[w->due_count++] = job->head.pos;
    return TC_OK;
}

tc_status tc__watch_on_tick(struct nccl_watch *w, int64_t now_ns, const struct tc_sink *out)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < w->due_count; i++) {
        struct watch_job *job = tc__window_at(&w->jobs, w->due[i]);
        if (job == NULL) {
            continue;
        }
        if (job->flags_ns >= now_ns || job->ras_ns >= now_ns) {
            w->due[kept++] = w->due[i]; /* more of its snapshot may come */
            continue;
        }
        TC_TRY(judge(w, job, out));
    }
    w->due_count = kept;
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
                       .next = job->newest_flag};
    uint64_t hash = tc_hash_mix(tc_slice_hash(ev->scope.job, 1), (uint64_t)ev->scope.rank);
    struct tc_window_place place =
        tc__window_find(&w->flags, &w->flags.index, hash, same_flag, &key);
    struct flag *f = place.record;
    if (f == NULL) {
        f = tc__window_push(&w->flags, w->scratch, &key, sizeof key, FLAG_TEXTS,
                            TC_COUNT(FLAG_TEXTS), w->now_ns);
        if (f == NULL) {
            return NULL;
        }
        tc__window_put(&w->flags, &w->flags.index, place, f);
        job->newest_flag = f->head.pos;
        job->ranks++;
    }
    f->head.seen_ns = w->now_ns;
    return f;
}

static tc_status on_flag(struct nccl_watch *w, const struct tc_event *ev, const struct tc_sink *out)
{
    if (ev->scope.rank < 0 || ev->time_ns == TC_TIME_NONE || !tc__scope_fits(&ev->scope) ||
        ev->scope.job.len > TC_SCOPE_TEXT_MAX) {
        w->ignored++;
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
    if (ev->time_ns > w->now_ns) {
        w->now_ns = ev->time_ns;
        int64_t before_ns = w->now_ns - *w->retention_ns;
        tc__window_expire(&w->jobs, before_ns);
        tc__window_expire(&w->flags, before_ns);
        tc__window_expire(&w->comms, before_ns);
        tc__window_expire(&w->ranks, before_ns);
    }
    return ev->kind == TC_EVENT_METRIC ? on_flag(w, ev, out) : tc__ras_on_event(w, ev, out);
}

uint64_t tc__watch_dropped(const struct nccl_watch *w)
{
    return w->jobs.ring.dropped_count + w->flags.ring.dropped_count + w->comms.ring.dropped_count +
           w->ranks.ring.dropped_count;
}
