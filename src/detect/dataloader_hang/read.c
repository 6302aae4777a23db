/* SPDX-License-Identifier: Apache-2.0 */
/* What an event means to dataloader_hang: progress, a stall, evidence, or an end. */
#include "base/buf.h"
#include "detect/dataloader_hang/priv.h"
#include "detect/words_priv.h"

/* A pause of a month is as good as any longer one, and keeps sums of times small. */
#define SECONDS_MAX (31 * 86400)
/* A step over which prefetching has not got going yet. */
#define WARM_UP_STEP 1

static void word_set(struct dl_word *w, struct tc_slice s)
{
    w->len = tc__text_keep(w->text, sizeof w->text, s);
}

static void quote_set(struct dl_quote *q, struct tc_slice s)
{
    q->len =
        tc__text_keep(q->text, sizeof q->text, tc_slice_trim(tc_slice_head(s, 4 * DL_QUOTE_MAX)));
}

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int cmp_raw(struct tc_raw a, struct tc_raw b)
{
    return a.source == b.source ? (a.offset > b.offset) - (a.offset < b.offset)
                                : (a.source > b.source) - (a.source < b.source);
}

uint64_t tc__dl_pod_hash(struct tc_slice ns, struct tc_slice name)
{
    return name.len == 0 ? 0 : tc_slice_hash(name, tc_slice_hash(ns, 1)) | 1;
}

/* "rank 3 of llm-7 on gpu-04": what stands for a pod where there are none. */
static struct tc_slice rank_name(const struct tc_scope *scope, struct tc_arena *arena)
{
    size_t len = scope->node.len + scope->job.len + 32;
    char *text = tc_new(arena, char, len);
    struct tc_buf b = tc_buf_make(text, text == NULL ? 0 : len);
    return tc_format(&b, "rank {} of {} on {}", scope->rank, scope->job, scope->node);
}

bool tc__dl_read_names(const struct tc_scope *s, struct tc_arena *arena, struct dl_names *out)
{
    *out = (struct dl_names){
        .pod = {.node = s->node, .ns = s->ns, .name = s->pod, .uid = s->pod_uid},
        .job = s->job,
        .container = s->container,
        .rank = s->rank,
        .podless = s->pod.len == 0 && s->pod_uid.len == 0,
    };
    if (out->podless && s->rank >= 0 && s->node.len > 0) {
        out->pod.uid = rank_name(s, arena);
        return true;
    }
    return !out->podless;
}

bool tc__dl_add_names(struct dl_pod *io, const struct dl_names *names)
{
    bool learned = tc__text_fill(&io->node, names->pod.node);
    learned |= tc__text_fill(&io->ns, names->pod.ns);
    learned |= tc__text_fill(&io->name, names->pod.name);
    learned |= tc__text_fill(&io->uid, names->pod.uid);
    learned |= tc__text_fill(&io->job, names->job);
    learned |= tc__text_fill(&io->container, names->container);
    return learned;
}

bool tc__dl_makes_pod(const struct tc_event *ev)
{
    return ev->kind != TC_EVENT_K8S_EVENT &&
           (ev->kind != TC_EVENT_METRIC || ev->metric.metric == TC_METRIC_STEP);
}

void tc__dl_read_error(const struct tc_event *ev, struct dl_sign *out)
{
    *out = (struct dl_sign){
        .known = true,
        .time_ns = ev->time_ns,
        .last_ns = ev->time_ns,
        .raw = ev->raw,
        .rank = ev->scope.rank,
    };
    word_set(&out->uid, ev->uid);
    word_set(&out->what, ev->train.error_class);
    quote_set(&out->message, ev->train.message);
}

/*
 * The kubelet's word for a mount that failed is FailedMount; VolumeMountFailure is what the
 * specification and agents of storage vendors say. docs/ATTRIBUTES.md names the versions.
 */
bool tc__dl_read_storage(const struct tc_event *ev, int64_t window_ns, struct dl_sign *out)
{
    if (!tc_slice_is_any(ev->k8s.reason, "FailedMount", "VolumeMountFailure") ||
        tc__mount_is_config(ev->k8s.message)) {
        return false;
    }
    bool about_pod = tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"));
    *out = (struct dl_sign){
        .known = true,
        .time_ns = ev->time_ns,
        .last_ns = ev->time_ns,
        .about = about_pod ? tc__dl_pod_hash(ev->scope.ns, ev->k8s.object_name)
                           : tc__dl_pod_hash(ev->scope.ns, ev->scope.pod),
        .raw = ev->raw,
        .rank = -1,
    };
    int64_t first_ns = ev->k8s.first_ns;
    if (ev->k8s.count > 1 && first_ns >= 0 && first_ns < ev->time_ns) {
        out->time_ns = first_ns;
        out->dense = (ev->time_ns - first_ns) / ev->k8s.count <= window_ns;
    }
    word_set(&out->uid, ev->uid);
    word_set(&out->what, ev->k8s.reason);
    quote_set(&out->message, ev->k8s.message);
    return true;
}

/* An order that depends on nothing but the facts. */
static int sign_cmp(const struct dl_sign *a, const struct dl_sign *b)
{
    int by = cmp_i64(a->time_ns, b->time_ns);
    by = by != 0 ? by : cmp_i64(a->last_ns, b->last_ns);
    by = by != 0 ? by : tc_slice_cmp(tc__dl_word(&a->what), tc__dl_word(&b->what));
    by = by != 0 ? by : tc_slice_cmp(tc__dl_word(&a->uid), tc__dl_word(&b->uid));
    by = by != 0 ? by : tc_slice_cmp(tc__dl_quote(&a->message), tc__dl_quote(&b->message));
    by = by != 0 ? by : cmp_i64(a->rank, b->rank);
    return by != 0 ? by : cmp_raw(a->raw, b->raw);
}

bool tc__dl_signs_add(struct dl_signs *signs, const struct dl_sign *sign, int64_t window_ns)
{
    if (!signs->first.known || sign->time_ns - signs->last.last_ns > window_ns) {
        *signs = (struct dl_signs){*sign, *sign};
        return true;
    }
    bool changed = false;
    if (sign_cmp(sign, &signs->first) < 0 && signs->first.time_ns - sign->last_ns <= window_ns) {
        signs->first = *sign;
        changed = true;
    }
    /* Of what is last, the first of equal times: as a report of one fact by two goes. */
    int64_t later = sign->last_ns - signs->last.last_ns;
    if (later > 0 || (later == 0 && sign_cmp(sign, &signs->last) < 0)) {
        signs->last = *sign;
        changed = true;
    }
    /* What is too old to be joined with what comes makes room. */
    if (signs->last.time_ns - signs->first.last_ns > window_ns) {
        signs->first = signs->last;
    }
    return changed;
}

/* Phases in which no step of training ends, and rightly so. */
static bool phase_pauses(struct tc_slice phase)
{
    static const char *const words[] = {"eval",       "evaluation", "validation", "val",
                                        "checkpoint", "done",       "finished",   "completed"};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        if (tc_slice_eq_nocase(phase, tc_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

/* When the rank of a stall last made progress; any rank of the pod where that is not known. */
static int64_t progress_of(const struct dl_pod *pod, int32_t rank)
{
    if (rank >= 0) {
        const struct dl_rank *r = &pod->ranks[rank % DL_RANKS];
        if (r->known && r->rank == rank) {
            return r->time_ns;
        }
    }
    return pod->progress.known ? pod->progress.time_ns : TC_TIME_NONE;
}

/* Of two steps that may have ended an incident, the earlier. */
static bool ends_better(const struct dl_step *a, const struct dl_step *b)
{
    int by = cmp_i64(a->time_ns, b->time_ns);
    by = by != 0 ? by : cmp_i64(a->step, b->step);
    return !b->known || (by != 0 ? by : cmp_raw(a->raw, b->raw)) < 0;
}

/* The stall is over: what a watchdog said of it no longer holds. */
static bool end_stall(struct dl_pod *pod, const struct dl_step *step, bool pod_ended)
{
    struct dl_incident *in = &pod->incident;
    bool changed = pod->report.known;
    pod->report.known = false;
    if (in->open && ends_better(step, &in->end)) {
        in->end = *step;
        in->pod_ended = pod_ended;
        changed = true;
    }
    return changed;
}

/*
 * A sample of the step says that a step has ended only when it is another one
 * than before: up, or down after a restart. An event says so by itself; several
 * may end in one second, which is all that some logs tell.
 */
static bool is_progress(const struct dl_rank *known, const struct tc_event *ev, int32_t rank,
                        int64_t step)
{
    if (!known->known || known->rank != rank) {
        return true;
    }
    return ev->kind == TC_EVENT_TRAIN_STEP ? ev->time_ns >= known->time_ns
                                           : ev->time_ns > known->time_ns && step != known->step;
}

/* Seconds as nanoseconds, cut at SECONDS_MAX. */
static int64_t span_of(double seconds)
{
    if (!(seconds > 0)) {
        return 0;
    }
    return seconds < SECONDS_MAX ? (int64_t)(seconds * (double)TC_SECOND) : SECONDS_MAX * TC_SECOND;
}

static int64_t step_of(const struct tc_event *ev)
{
    if (ev->kind != TC_EVENT_METRIC) {
        return ev->train.step;
    }
    double value = ev->metric.value;
    return value >= 0 && value < 9e15 ? (int64_t)value : -1;
}

bool tc__dl_on_step(struct dl_pod *pod, const struct tc_event *ev)
{
    int32_t rank = ev->scope.rank;
    struct dl_step now = {ev->time_ns, step_of(ev), ev->raw, true};
    struct dl_rank *slot = &pod->ranks[rank < 0 ? DL_RANKS : rank % DL_RANKS];
    if (!is_progress(slot, ev, rank, now.step)) {
        return false;
    }
    bool same_time = slot->known && slot->rank == rank && slot->time_ns == now.time_ns;
    int64_t step = same_time ? tc__dl_max(slot->step, now.step) : now.step;
    *slot = (struct dl_rank){step, now.time_ns, rank, true};
    struct dl_step *last = &pod->progress;
    int64_t gap_ns = last->known ? now.time_ns - last->time_ns : 0;
    bool newer = !last->known || gap_ns > 0 ||
                 (gap_ns == 0 && (now.step > last->step ||
                                  (now.step == last->step && cmp_raw(now.raw, last->raw) < 0)));
    if (gap_ns >= 0) {
        int64_t took_ns = ev->kind == TC_EVENT_TRAIN_STEP ? span_of(ev->train.seconds) : 0;
        int64_t pace_ns = gap_ns > 0 ? pod->pace_ns - pod->pace_ns / 8 : pod->pace_ns;
        pod->pace_ns = tc__dl_max(pace_ns, tc__dl_max(gap_ns, took_ns));
        /* Of two steps that end at one time either may be the one of evaluation. */
        bool pauses = ev->kind == TC_EVENT_TRAIN_STEP && phase_pauses(ev->train.phase);
        pod->paused = pauses || (pod->paused && gap_ns == 0 && last->known);
    }
    if (newer) {
        *last = now;
    }
    const struct dl_incident *in = &pod->incident;
    bool ends_report =
        pod->report.known && progress_of(pod, pod->report.rank) > pod->report.last_ns;
    bool ends_incident = in->open && progress_of(pod, in->stall.rank) >
                                         (in->stall.tracked ? in->stall.start_ns : in->stall.to_ns);
    if (ends_incident) {
        return end_stall(pod, &now, false);
    }
    if (ends_report) {
        pod->report.known = false;
    }
    return ends_report;
}

/* The later report; of equal times the one that says more. */
static bool report_better(const struct dl_report *a, const struct dl_report *b)
{
    int by = cmp_i64(a->last_ns, b->last_ns);
    by = by != 0 ? by : cmp_i64(a->seconds, b->seconds);
    by = by != 0 ? by : -cmp_i64(a->rank, b->rank);
    by = by != 0 ? by : -tc_slice_cmp(tc__dl_word(&a->uid), tc__dl_word(&b->uid));
    return (by != 0 ? by : -cmp_raw(a->raw, b->raw)) > 0;
}

bool tc__dl_on_report(struct dl_pod *pod, const struct tc_event *ev, const struct dl_limits *limits)
{
    int64_t span_ns = span_of(ev->train.seconds);
    if (span_ns == 0) {
        return false; /* not known */
    }
    struct dl_report now = {
        .first_ns = ev->time_ns,
        .last_ns = ev->time_ns,
        .seconds = span_ns / TC_SECOND,
        .step = ev->train.step,
        .raw = ev->raw,
        .rank = ev->scope.rank,
        .known = true,
    };
    word_set(&now.uid, ev->uid);
    int64_t start_ns = tc__dl_max(0, ev->time_ns - span_ns);
    /* Whoever counts from a moment after the last report saw a step in between. */
    const struct dl_incident *in = &pod->incident;
    bool over = (pod->report.known && start_ns > pod->report.last_ns) ||
                (in->open && start_ns > in->stall.to_ns);
    bool changed = false;
    if (over) {
        struct dl_step implied = {start_ns, -1, ev->raw, true};
        changed = end_stall(pod, &implied, false);
    }
    int64_t step = now.step >= 0 || !pod->progress.known ? now.step : pod->progress.step;
    bool warm_up = step >= 0 && step <= WARM_UP_STEP;
    bool pauses = phase_pauses(ev->train.phase);
    pod->paused =
        pod->paused || (pauses && pod->progress.known && ev->time_ns >= pod->progress.time_ns);
    pauses = pauses || (ev->train.phase.len == 0 && pod->paused);
    if (span_ns < limits->threshold_ns || warm_up || pauses) {
        return changed;
    }
    /* Steps that we saw ourselves outweigh a watchdog that did not. */
    int64_t progress_ns = progress_of(pod, now.rank);
    if (progress_ns > start_ns && ev->time_ns - progress_ns < limits->threshold_ns) {
        return changed;
    }
    struct dl_report *known = &pod->report;
    if (!known->known) {
        *known = now;
        return true;
    }
    int64_t first_ns = known->first_ns < now.first_ns ? known->first_ns : now.first_ns;
    changed = changed || first_ns < known->first_ns;
    if (report_better(&now, known)) {
        *known = now;
        changed = true;
    }
    known->first_ns = first_ns;
    return changed;
}

bool tc__dl_on_checkpoint(struct dl_checkpoint *c, const struct tc_event *ev)
{
    bool begins = tc_slice_eq_nocase(ev->train.state, TC_LIT("begin"));
    bool ends = tc_slice_eq_nocase(ev->train.state, TC_LIT("end")) ||
                tc_slice_eq_nocase(ev->train.state, TC_LIT("failed"));
    int64_t *to = begins ? &c->begin_ns : &c->end_ns;
    if ((!begins && !ends) || *to >= ev->time_ns) {
        return false;
    }
    *to = ev->time_ns;
    return true;
}

bool tc__dl_on_end(struct dl_pod *pod, const struct tc_event *ev)
{
    bool ended = false;
    if (ev->kind == TC_EVENT_POD_STATE) {
        ended = tc_slice_is_any(ev->pod.phase, "Succeeded", "Failed") ||
                tc_slice_is_any(ev->pod.reason, "Deleted", "Evicted");
    } else {
        ended = tc_slice_eq(ev->k8s.reason, TC_LIT("Evicted"));
        if (!ended && !tc_slice_eq(ev->k8s.reason, TC_LIT("Killing"))) {
            return false;
        }
    }
    /* That it runs says nothing of an end. */
    if (!ended && ev->kind == TC_EVENT_POD_STATE && ev->pod.exit_code < 0 &&
        ev->pod.reason.len == 0) {
        return false;
    }
    pod->restarted_ns = tc__dl_max(pod->restarted_ns, ev->time_ns);
    if (!ended) {
        return true;
    }
    pod->ended_ns = tc__dl_max(pod->ended_ns, ev->time_ns);
    /* The end of a pod that went on to train is the end of one of its containers. */
    struct dl_step end = {ev->time_ns, -1, ev->raw, true};
    bool after = !pod->progress.known || ev->time_ns >= pod->progress.time_ns;
    if (after && pod->incident.open) {
        (void)end_stall(pod, &end, true);
    }
    return true;
}
