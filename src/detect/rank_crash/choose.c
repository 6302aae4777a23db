/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a job failed first. The launcher's report decides where there is one; else the
 * first of those that failed by themselves. docs/patterns/rank_crash.md has the rules.
 */
#include "detect/rank_crash/priv.h"

#include "base/time.h"

#define SIG_ABORT 6

/* A time that is only an order says nothing of how long before a date it was. */
bool tc__crash_near(int64_t a_ns, int64_t b_ns, int64_t window_ns)
{
    if (tc_time_is_order(a_ns) != tc_time_is_order(b_ns)) {
        return true;
    }
    return (a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns) <= window_ns;
}

bool tc__crash_before(const struct crash_fact *a, const struct crash_fact *b)
{
    if (a->first != b->first) {
        return a->first;
    }
    if ((a->part == CRASH_OWN) != (b->part == CRASH_OWN)) {
        return a->part == CRASH_OWN;
    }
    if (a->mark.time_ns == b->mark.time_ns && a->mark.raw.source == b->mark.raw.source &&
        a->mark.raw.offset == b->mark.raw.offset) {
        return a->rank != b->rank ? a->rank < b->rank : a->teller < b->teller;
    }
    return tc__mark_before(&a->mark, &b->mark);
}

/* Somebody stopped the job before. At the same time only what stands above that in the same log
 * came first. */
static bool is_after_stop(const struct tc_mark *stop, const struct tc_mark *m)
{
    bool above = m->raw.source == stop->raw.source && m->raw.offset < stop->raw.offset;
    return stop->known && (m->time_ns > stop->time_ns || (m->time_ns == stop->time_ns && !above));
}

static bool is_usable(const struct crash_job *job, const struct crash_fact *f)
{
    return !f->gone && !f->caught && !is_after_stop(&job->stop, &f->mark);
}

/* An end without words, of a process whose words or whose watchdog say that it only followed. */
static bool has_followed(const struct crash_state *st, const struct crash_job *job,
                         const struct crash_fact *f)
{
    bool timed_out = job->watchdog.known ||
                     (job->is_job == 0 && st->watchdog.known &&
                      tc__crash_near(st->watchdog.time_ns, f->mark.time_ns, st->window_ns));
    return f->part == CRASH_FOLLOWED || (!f->words && (tc__crash_has_rank(job->followed, f->rank) ||
                                                       (f->rank < 0 && job->followed_any) ||
                                                       (f->signal == SIG_ABORT && timed_out)));
}

/* Whether two facts can be of one process. */
static bool is_same(const struct crash_fact *a, const struct crash_fact *b)
{
    if (a->rank >= 0 && b->rank >= 0) {
        return a->rank == b->rank;
    }
    if (a->pid >= 0 && b->pid >= 0) {
        return a->pid == b->pid;
    }
    if (a->node.len > 0 && b->node.len > 0 && !tc_slice_eq(a->node, b->node)) {
        return false;
    }
    return a->pod.len == 0 || b->pod.len == 0 || tc_slice_eq(a->pod, b->pod);
}

/* How sure that is. */
static bool is_surely_same(const struct crash_fact *a, const struct crash_fact *b)
{
    return (a->rank >= 0 && a->rank == b->rank) || (a->pid >= 0 && a->pid == b->pid);
}

static const struct crash_fact *next_fact(const struct crash_state *st,
                                          const struct crash_fact *before,
                                          const struct crash_job *job)
{
    struct crash_fact key = {.incident = job->incident};
    return before == NULL ? tc__window_newest(&st->facts, &key)
                          : tc__window_older(&st->facts, before);
}

/* The best of the facts that `want` takes, compared with the culprit. */
typedef bool (*want_fn)(const struct crash_state *st, const struct crash_job *job,
                        const struct crash_fact *f);

static const struct crash_fact *first_of(const struct crash_state *st, const struct crash_job *job,
                                         want_fn want)
{
    const struct crash_fact *best = NULL;
    for (const struct crash_fact *f = NULL; (f = next_fact(st, f, job)) != NULL;) {
        if (is_usable(job, f) && want(st, job, f) && (best == NULL || tc__crash_before(f, best))) {
            best = f;
        }
    }
    return best;
}

static bool wants_own(const struct crash_state *st, const struct crash_job *job,
                      const struct crash_fact *f)
{
    return f->part == CRASH_OWN && !has_followed(st, job, f);
}

/* The launcher names it, though its own words are of a consequence. A timeout is a hang. */
static bool wants_reported(const struct crash_state *st, const struct crash_job *job,
                           const struct crash_fact *f)
{
    return f->first && f->signal != 15 && f->signal != 13 && !job->watchdog.known &&
           has_followed(st, job, f) &&
           tc_slice_find_nocase(f->message, TC_LIT("timeout")) == TC_NPOS;
}

/* The words of a process that a launcher reported: its own, else those of nobody in particular. */
static const struct crash_fact *find_words(const struct crash_state *st,
                                           const struct crash_job *job,
                                           const struct crash_fact *culprit)
{
    const struct crash_fact *best = NULL;
    bool sure = false;
    if (culprit->words) {
        return culprit;
    }
    for (const struct crash_fact *f = NULL; (f = next_fact(st, f, job)) != NULL;) {
        if (!is_usable(job, f) || !f->words || !wants_own(st, job, f) || !is_same(f, culprit)) {
            continue;
        }
        bool same = is_surely_same(f, culprit);
        if (best == NULL || (same && !sure) || (same == sure && tc__crash_before(f, best))) {
            best = f;
            sure = same;
        }
    }
    return best;
}

/* How the process ended. Of several that could be it none is taken. */
static const struct crash_fact *find_end(const struct crash_state *st, const struct crash_job *job,
                                         const struct crash_fact *culprit)
{
    const struct crash_fact *best = NULL;
    bool sure = false;
    bool several = false;
    if (culprit->ends) {
        return culprit;
    }
    for (const struct crash_fact *f = NULL; (f = next_fact(st, f, job)) != NULL;) {
        if (f->gone || !f->ends || f->part == CRASH_FOLLOWED || !is_same(f, culprit)) {
            continue;
        }
        bool same = is_surely_same(f, culprit);
        several = several || (best != NULL && !same && !sure && !is_same(f, best));
        if (best == NULL || (same && !sure) || (same == sure && tc__crash_before(f, best))) {
            best = f;
            sure = same;
        }
    }
    return sure || !several ? best : NULL;
}

static int64_t count_ranks(const uint64_t *ranks)
{
    int64_t count = 0;
    for (size_t i = 0; i < CRASH_RANKS_MAX / 64; i++) {
        count += __builtin_popcountll(ranks[i]);
    }
    return count;
}

bool tc__crash_choose(const struct crash_state *st, const struct crash_job *job,
                      struct crash_choice *out)
{
    *out = (struct crash_choice){.culprit = first_of(st, job, wants_own)};
    if (out->culprit == NULL) {
        out->culprit = first_of(st, job, wants_reported);
        out->is_followed = out->culprit != NULL;
    }
    if (out->culprit == NULL) {
        return false;
    }
    out->words = find_words(st, job, out->culprit);
    out->end = find_end(st, job, out->culprit);
    out->proved = job->end.known;
    int32_t rank =
        out->culprit->rank >= 0 || out->words == NULL ? out->culprit->rank : out->words->rank;
    out->others = count_ranks(job->ended) - tc__crash_has_rank(job->ended, rank);
    bool log_ended = out->words != NULL && (out->words->last || job->torn.known);
    bool said = out->words != NULL || out->end != NULL;
    return said && (out->proved || log_ended);
}
