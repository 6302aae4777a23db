/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_stall: a checkpoint that does not end, or failed, while storage is in
 * trouble. docs/patterns/checkpoint_stall.md says what it claims and what it never does.
 *
 * Every begin is a record in the order of begins, found by its writer; once its
 * age reaches the threshold it is looked at once and, still open, joins the stall of
 * its checkpoint. A stall is told when a sign of storage trouble joins it.
 */
#include "detect/detector.h"
#include "base/assert.h"
#include "detect/checkpoint_stall/priv.h"
#include "detect/finding_priv.h"

#define WRITER_RING_BYTES ((size_t)4 << 20)
#define ENDED_RING_BYTES ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)24 << 20)

/* A writer is a rank of a job; without a rank a pod, without a pod a node. */
enum { BY_RANK, BY_POD, BY_NODE };

static const struct tc_record_type WRITER = {
    .size = sizeof(struct ckpt_writer),
    .text_min = 1,
    .texts = {TC_TEXT(struct ckpt_writer, job), TC_TEXT(struct ckpt_writer, node),
              TC_TEXT(struct ckpt_writer, ns), TC_TEXT(struct ckpt_writer, pod),
              TC_TEXT(struct ckpt_writer, pod_uid), TC_TEXT(struct ckpt_writer, container),
              TC_TEXT(struct ckpt_writer, path), TC_TEXT(struct ckpt_writer, uid)},
    .keys = {[BY_RANK] = {TC_FIELD(struct ckpt_writer, job), TC_FIELD(struct ckpt_writer, rank)},
             [BY_POD] = {TC_FIELD(struct ckpt_writer, job), TC_FIELD(struct ckpt_writer, rank),
                         TC_FIELD(struct ckpt_writer, ns), TC_FIELD(struct ckpt_writer, pod)},
             [BY_NODE] = {TC_FIELD(struct ckpt_writer, job), TC_FIELD(struct ckpt_writer, rank),
                          TC_FIELD(struct ckpt_writer, ns), TC_FIELD(struct ckpt_writer, pod),
                          TC_FIELD(struct ckpt_writer, node)}},
    .chain = {TC_FIELD(struct ckpt_writer, job), TC_FIELD(struct ckpt_writer, step)},
};
static const struct tc_record_type ENDED = {
    .size = sizeof(struct ckpt_ended),
    .text_min = 1,
    .texts = {TC_TEXT(struct ckpt_ended, ns), TC_TEXT(struct ckpt_ended, pod)},
    .keys = {{TC_FIELD(struct ckpt_ended, ns), TC_FIELD(struct ckpt_ended, pod)}},
};

static unsigned writer_key(const struct ckpt_writer *w)
{
    return w->rank >= 0 && w->job.len > 0 ? BY_RANK : (w->pod.len > 0 ? BY_POD : BY_NODE);
}

static struct ckpt_writer writer_from(const struct tc_event *ev)
{
    return (struct ckpt_writer){
        .job = ev->scope.job,
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .pod = ev->scope.pod,
        .pod_uid = ev->scope.pod_uid,
        .container = ev->scope.container,
        .rank = ev->scope.rank,
        .step = -1,
        .end_ns = TC_TIME_NONE,
        .next_ns = TC_TIME_NONE,
        .told_end_ns = TC_TIME_NONE,
    };
}

/* True when the checkpoint is no longer being written, whether it ended or not. */
static bool is_over(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                    struct ckpt_over *out)
{
    if (w->end_ns != TC_TIME_NONE && !w->failed) {
        *out = (struct ckpt_over){CKPT_ENDED, w->end_ns, w->end_raw};
        return true;
    }
    if (w->next_ns != TC_TIME_NONE) {
        *out = (struct ckpt_over){CKPT_NEXT, w->next_ns, w->next_raw};
        return true;
    }
    if (tc__ckpt_ended_with_all(st, w, out) || (w->in_loop && tc__ckpt_step_since(st, w, out))) {
        return true;
    }
    if (w->pod.len == 0) {
        return false;
    }
    struct ckpt_ended key = {.ns = w->ns, .pod = w->pod};
    const struct ckpt_ended *pod = tc__window_get(&st->ended, &key);
    if (pod == NULL || pod->end_ns < w->begin_ns) {
        return false;
    }
    *out = (struct ckpt_over){.why = CKPT_POD_GONE, .time_ns = pod->end_ns};
    return true;
}

int64_t tc__ckpt_peer_gone(const struct checkpoint_stall *st, const struct ckpt_writer *w)
{
    int64_t gone_ns = INT64_MAX;
    const struct ckpt_writer *peer = tc__window_newest(&st->writers, w);
    for (unsigned i = 0; peer != NULL && i < CKPT_PEERS_VISITED_MAX; i++) {
        struct ckpt_over over;
        if (is_over(st, peer, &over) && over.why == CKPT_POD_GONE && over.time_ns < gone_ns) {
            gone_ns = over.time_ns;
        }
        peer = tc__window_older(&st->writers, peer);
    }
    return gone_ns;
}

static bool same_checkpoint(const struct ckpt_writer *a, const struct ckpt_writer *b)
{
    if (!tc_slice_eq(a->job, b->job) || !tc__ckpt_same_step(a->step, b->step)) {
        return false;
    }
    return a->job.len > 0 ||
           (tc_slice_eq(a->pod, b->pod) &&
            tc_slice_eq(a->pod.len > 0 ? a->ns : a->node, a->pod.len > 0 ? b->ns : b->node));
}

/* The stall that gives way to another when there are too many: of who has the most of them. */
static struct ckpt_stall *crowding_stall(const struct checkpoint_stall *st)
{
    uint64_t writers[CKPT_STALLS_MAX];
    for (size_t i = 0; i < CKPT_STALLS_MAX; i++) {
        writers[i] = st->stalls[i].writers[0];
    }
    return &st->stalls[tc__window_crowder(&st->writers, writers, CKPT_STALLS_MAX)];
}

/* The stall of the writer's checkpoint. */
static struct ckpt_stall *stall_of(struct checkpoint_stall *st, const struct ckpt_writer *w)
{
    struct ckpt_stall *spare = NULL;
    for (uint32_t i = 0; i < st->stall_count; i++) {
        struct ckpt_stall *s = &st->stalls[i];
        const struct ckpt_writer *first = s->used ? tc__ckpt_writer(st, s, 0) : NULL;
        if (first != NULL && same_checkpoint(first, w)) {
            return s;
        }
        spare = !s->used && spare == NULL ? s : spare;
    }
    if (spare == NULL && st->stall_count < CKPT_STALLS_MAX) {
        spare = &st->stalls[st->stall_count++];
    }
    if (spare == NULL) {
        st->base.dropped++;
        spare = crowding_stall(st);
    }
    *spare = (struct ckpt_stall){.used = true};
    return spare;
}

/* The writer is stuck, or said that it failed. */
static void join(struct checkpoint_stall *st, struct ckpt_writer *w)
{
    if (w->in_stall) {
        return;
    }
    struct ckpt_stall *s = stall_of(st, w);
    w->in_stall = true;
    s->failed = s->failed || w->failed;
    st->dirty = true;
    if (s->writer_count < CKPT_WRITERS_MAX) {
        s->writers[s->writer_count++] = w->head.pos;
    } else {
        s->more++;
    }
}

static bool has_proof(const struct ckpt_stall *s)
{
    return s->pieces[CKPT_K8S].known || s->pieces[CKPT_KERNEL].known ||
           s->pieces[CKPT_WRITES].known;
}

/* True when none of its writers writes any more; *out is what came last. */
static bool all_over(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                     struct ckpt_over *out)
{
    *out = (struct ckpt_over){.time_ns = INT64_MIN};
    for (uint32_t i = 0; i < s->writer_count; i++) {
        const struct ckpt_writer *w = tc__ckpt_writer(st, s, i);
        struct ckpt_over over;
        if (w != NULL && !is_over(st, w, &over)) {
            return false;
        }
        if (w != NULL && over.time_ns > out->time_ns) {
            *out = over;
        }
    }
    return true;
}

static tc_status tend(struct checkpoint_stall *st, struct ckpt_stall *s, bool dirty,
                      const struct tc_sink *out)
{
    const struct ckpt_writer *first = tc__ckpt_writer(st, s, 0);
    struct ckpt_over over;
    if (first == NULL) {
        s->used = false; /* too long ago */
        return TC_OK;
    }
    if (all_over(st, s, &over)) {
        s->used = false;
        s->told_ns = over.time_ns - first->begin_ns;
        return s->reported ? tc__ckpt_report(st, s, &over, out) : TC_OK;
    }
    bool changed = dirty && tc__ckpt_look(st, s);
    bool grown = s->reported && s->told < s->writer_count + s->more;
    if (!has_proof(s) || (!changed && !grown)) {
        return TC_OK;
    }
    s->goes_on = tc__ckpt_went_on(st, first);
    s->reported = true;
    s->told = s->writer_count + s->more;
    s->told_ns = (s->failed && first->failed ? first->end_ns : st->base.now_ns) - first->begin_ns;
    return tc__ckpt_report(st, s, NULL, out);
}

/* Those whose age has reached the threshold, once each, in the order of their begins. */
static void look_at_ages(struct checkpoint_stall *st)
{
    for (;;) {
        struct ckpt_writer *w = tc__window_at(&st->writers, st->due);
        if (w == NULL && st->due != TC_RING_NONE) {
            w = tc__window_first_after(&st->writers, st->due);
        }
        if (w == NULL || w->begin_ns > st->base.now_ns - st->threshold_ns) {
            return;
        }
        struct ckpt_over over;
        if (!w->failed && !is_over(st, w, &over)) {
            join(st, w);
        }
        st->due = w->next;
        if (st->due == TC_RING_NONE) {
            return;
        }
    }
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct checkpoint_stall *st = state;
    look_at_ages(st);
    bool dirty = st->dirty;
    st->dirty = false;
    for (uint32_t i = 0; i < st->stall_count && (dirty || st->moved); i++) {
        if (st->stalls[i].used) {
            TC_TRY(tend(st, &st->stalls[i], dirty, out));
        }
    }
    st->moved = false;
    while (st->stall_count > 0 && !st->stalls[st->stall_count - 1].used) {
        st->stall_count--;
    }
    /* Not before: after a long silence, what was known before it is looked at once more. */
    int64_t kept_ns = CKPT_KEPT_NS > 2 * st->threshold_ns ? CKPT_KEPT_NS : 2 * st->threshold_ns;
    tc__window_expire(&st->writers, now_ns - kept_ns);
    /* A stall is looked at when it is due; from then on only what is new matters. */
    tc__window_expire(&st->signs, now_ns - 2 * (st->threshold_ns + st->window_ns));
    tc__window_expire(&st->disks, now_ns - kept_ns);
    tc__window_expire(&st->ended, now_ns - kept_ns);
    return TC_OK;
}

static tc_status on_begin(struct checkpoint_stall *st, const struct tc_event *ev,
                          struct ckpt_writer *old, struct ckpt_writer *w)
{
    w->step = ev->train.step;
    w->in_loop = tc_slice_eq(ev->train.phase, TC_LIT("train"));
    w->path = tc__text_clip(ev->train.path, CKPT_PATH_MAX);
    w->uid = tc__text_clip(ev->uid, CKPT_TEXT_MAX);
    w->raw = ev->raw;
    if (old != NULL && !tc__ckpt_is_next(old, w)) {
        return TC_OK; /* told before, or late */
    }
    if (old != NULL && old->told_end_ns == w->begin_ns) {
        w->told_end_ns = old->told_end_ns;
        w->told_end_step = old->told_end_step;
        w->told_end_raw = old->told_end_raw;
        w->end_ns = tc__ckpt_ends(w, w->told_end_step) ? w->told_end_ns : TC_TIME_NONE;
        w->end_raw = w->told_end_raw;
    }
    if (old != NULL && old->end_ns == TC_TIME_NONE) {
        old->next_ns = ev->time_ns;
        old->next_raw = ev->raw;
    }
    /* That another attempt begins does not undo a failure; that one ends does. */
    w->before = old == NULL ? TC_RING_NONE : (old->failed ? old->head.pos : old->before);
    if (w->in_loop && w->begin_ns > st->newest_loop_ns) {
        st->newest_loop_ns = w->begin_ns;
    }
    struct ckpt_writer *kept = tc__window_add(&st->writers, w, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_index(&st->writers, writer_key(w), kept);
    struct ckpt_writer *before = tc__window_at(&st->writers, st->newest);
    if (before != NULL) {
        before->next = kept->head.pos;
    }
    st->due = st->due == TC_RING_NONE ? kept->head.pos : st->due;
    st->newest = kept->head.pos;
    return TC_OK;
}

static tc_status on_checkpoint(struct checkpoint_stall *st, const struct tc_event *ev)
{
    struct ckpt_writer w = writer_from(ev);
    bool begin = tc_slice_eq(ev->train.state, TC_LIT("begin"));
    bool failed = tc_slice_eq(ev->train.state, TC_LIT("failed"));
    bool end = tc_slice_eq(ev->train.state, TC_LIT("end"));
    if ((!begin && !failed && !end) || (w.job.len == 0 && w.pod.len == 0 && w.node.len == 0)) {
        st->base.ignored++;
        return TC_OK;
    }
    w.begin_ns = ev->time_ns;
    w.step = ev->train.step;
    struct ckpt_writer *old = tc__window_get_by(&st->writers, writer_key(&w), &w);
    if (begin) {
        return on_begin(st, ev, old, &w);
    }
    bool matches =
        old != NULL && ev->time_ns >= old->begin_ns && tc__ckpt_ends(old, ev->train.step);
    if (!matches && (failed || old == NULL)) {
        /* Its begin was not seen, or comes with the same time. */
        TC_TRY(on_begin(st, ev, NULL, &w));
        old = tc__window_at(&st->writers, st->newest);
        matches = true;
    }
    if (end && ev->time_ns >= old->told_end_ns) {
        bool later = ev->time_ns > old->told_end_ns || ev->train.step > old->told_end_step;
        old->told_end_step = later ? ev->train.step : old->told_end_step;
        old->told_end_raw = later ? ev->raw : old->told_end_raw;
        old->told_end_ns = ev->time_ns;
    }
    if (matches && (old->end_ns == TC_TIME_NONE || (old->failed && end))) {
        old->end_ns = ev->time_ns;
        old->end_raw = ev->raw;
        old->failed = failed;
        struct ckpt_writer *before = failed ? NULL : tc__window_at(&st->writers, old->before);
        if (failed) {
            join(st, old);
        } else if (before != NULL) {
            before->next_ns = ev->time_ns;
            before->next_raw = ev->raw;
        }
    }
    return end && w.rank < 0 ? tc__ckpt_on_end_of_all(st, ev) : TC_OK;
}

/* The pod has ended: nothing is written any more. */
static tc_status on_pod(struct checkpoint_stall *st, const struct tc_event *ev)
{
    if (!tc_slice_is_any(ev->pod.phase, "Succeeded", "Failed") || ev->scope.pod.len == 0) {
        return TC_OK;
    }
    struct ckpt_ended pod = {.ns = ev->scope.ns, .pod = ev->scope.pod, .end_ns = ev->time_ns};
    struct ckpt_ended *known = tc__window_get_or_add(&st->ended, &pod, st->base.now_ns);
    if (known == NULL) {
        return TC_E_NOMEM;
    }
    known->end_ns = ev->time_ns > known->end_ns ? ev->time_ns : known->end_ns;
    return TC_OK;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct checkpoint_stall *st = state;
    (void)out; /* what was found is told with the next tick */
    if (!tc__scope_fits(&ev->scope) || ev->scope.job.len > TC_SCOPE_TEXT_MAX || ev->time_ns < 0) {
        st->base.ignored++;
        return TC_OK;
    }
    st->moved = st->moved || ev->kind == TC_EVENT_CHECKPOINT || ev->kind == TC_EVENT_POD_STATE;
    if (ev->kind == TC_EVENT_CHECKPOINT || ev->kind == TC_EVENT_TRAIN_STEP) {
        struct tc_event placed = *ev;
        tc_directory_place(st->directory, &placed.scope);
        return ev->kind == TC_EVENT_CHECKPOINT ? on_checkpoint(st, &placed)
                                               : tc__ckpt_on_step(st, &placed);
    }
    return ev->kind == TC_EVENT_POD_STATE ? on_pod(st, ev) : tc__ckpt_take_sign(st, ev);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    const struct checkpoint_stall *st = state;
    (void)now_ns;
    return st->base.now_ns == TC_TIME_NONE ? TC_OK : on_tick(state, st->base.now_ns, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct checkpoint_stall *st = state;
    struct tc_detector_base *base = &st->base;
    st->directory = env->directory;
    st->stalls = tc_new(env->arena, struct ckpt_stall, CKPT_STALLS_MAX);
    bool ok = st->stalls != NULL && tc__ckpt_signs_init(st) &&
              tc__window_open(&st->writers, base, &WRITER, WRITER_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__window_open(&st->ended, base, &ENDED, ENDED_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__ckpt_jobs_init(st);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("threshold", struct checkpoint_stall, threshold_ns, 600, 1, 86400,
                    "time from the begin of a checkpoint until it counts as stalled"),
    TC_KNOB_SECONDS(
        "window", struct checkpoint_stall, window_ns, 300, 1, 86400,
        "storage trouble this long before the begin, or after a failure, still explains it"),
    TC_KNOB_SECONDS("slow_write", struct checkpoint_stall, slow_write_ns, 1, 1, 3600,
                    "mean time of a write, between two samples, from which a disk is slow"),
};

const struct tc_detector tc_detector_checkpoint_stall = {
    .id = "11",
    .name = "checkpoint_stall",
    .summary = "A checkpoint does not end while storage is in trouble; names volume and node.",
    .kinds = TC_EVENT_BIT(TC_EVENT_CHECKPOINT) | TC_EVENT_BIT(TC_EVENT_TRAIN_STEP) |
             TC_EVENT_BIT(TC_EVENT_K8S_EVENT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_STORAGE_ERROR) | TC_EVENT_BIT(TC_EVENT_METRIC),
    .state_bytes = sizeof(struct checkpoint_stall),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
