/* SPDX-License-Identifier: Apache-2.0 */
/*
 * straggler: one rank, node or link of a job that the others wait for.
 * docs/patterns/straggler.md says what it claims and what it never does.
 *
 * Here events are read: what a rank did in which cohort, where it runs, and what
 * excuses it. The rest is in the other files.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/span_priv.h"
#include "detect/straggler/priv.h"

#define ARENA_BYTES ((size_t)208 << 20)
/* A training step is no longer than this; a step time above it is no step time. */
#define STEP_SECONDS_MAX 864000.0

/* Collectives that no member can end before every member has taken part. */
static bool all_take_part(struct tc_slice op)
{
    return tc_slice_starts_any(op, "all", "_all", "reduce_scatter", "_reduce_scatter", "barrier");
}

/* The index of the event's rank, which it is placed by; STRAG_NONE when it has none. */
static uint32_t rank_of(struct straggler *st, const struct tc_event *ev)
{
    uint32_t job = tc__strag_job(st, ev->scope.job);
    uint32_t rank = job == STRAG_NONE ? STRAG_NONE : tc__strag_rank(st, job, ev->scope.rank);
    if (rank != STRAG_NONE) {
        tc__strag_place(st, &st->ranks[rank], &ev->scope);
    }
    return rank;
}

static int64_t known_or(int64_t a, int64_t b)
{
    return a == TC_TIME_NONE ? b : a;
}

static void on_collective(struct straggler *st, const struct tc_event *ev)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    uint32_t rank = rank_of(st, ev);
    uint32_t lane = rank == STRAG_NONE ? STRAG_NONE
                                       : tc__strag_lane(st, st->ranks[rank].job, STRAG_COLLECTIVES,
                                                        n->group_key, n->group);
    uint32_t seat = lane == STRAG_NONE ? STRAG_NONE : tc__strag_seat(st, lane, rank, STRAG_NONE);
    struct strag_cohort *c = NULL;
    struct strag_slot *slot =
        seat == STRAG_NONE ? NULL : tc__strag_slot(st, seat, n->seq, ev->time_ns, &c);
    if (slot == NULL) {
        return;
    }
    uint64_t op = tc_slice_hash(n->op, 0);
    c->mixed = c->mixed || (c->op != 0 && c->op != op);
    c->op = op;
    bool was_done = slot->completed_ns != TC_TIME_NONE;
    if (slot->created_ns == TC_TIME_NONE || ev->time_ns < slot->created_ns) {
        slot->created_ns = ev->time_ns;
        slot->raw = was_done ? slot->raw : ev->raw;
    }
    slot->started_ns = known_or(slot->started_ns, n->started_ns);
    slot->from_dump = n->from_dump;
    if (!was_done && n->completed_ns != TC_TIME_NONE) {
        slot->completed_ns = n->completed_ns;
        slot->raw = ev->raw;
        c->done++;
    }
    tc__strag_settle(st, c);
}

/* A send or receive that has ended: how long its side took. */
static void on_transfer(struct straggler *st, const struct tc_event *ev)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    if (n->peer < 0 || n->completed_ns == TC_TIME_NONE || n->peer == ev->scope.rank) {
        return;
    }
    uint32_t own = rank_of(st, ev);
    uint32_t peer =
        own == STRAG_NONE ? STRAG_NONE : tc__strag_rank(st, st->ranks[own].job, n->peer);
    uint64_t key = tc_slice_hash(n->sizes_in.len > 0 ? n->sizes_in : n->sizes_out, n->group_key);
    uint32_t lane = peer == STRAG_NONE
                        ? STRAG_NONE
                        : tc__strag_lane(st, st->ranks[peer].job, STRAG_TRANSFERS, key, n->group);
    uint32_t seat = lane == STRAG_NONE ? STRAG_NONE
                                       : tc__strag_seat(st, lane, n->is_send ? own : peer,
                                                        n->is_send ? peer : own);
    if (seat == STRAG_NONE) {
        return;
    }
    struct strag_seat *s = &st->seats[seat];
    int64_t *done_ns = &s->done_ns[n->is_send ? 0 : 1];
    int64_t from_ns = known_or(n->started_ns, ev->time_ns);
    if (n->completed_ns <= *done_ns) {
        return; /* told before */
    }
    from_ns = *done_ns > from_ns ? *done_ns : from_ns;
    *done_ns = n->completed_ns;
    int64_t took_ns = n->completed_ns - from_ns;
    if (took_ns < 0 || took_ns >= STRAG_LONGEST_NS) {
        return;
    }
    struct strag_cohort *c = NULL;
    struct strag_slot *slot = tc__strag_slot(st, seat, -1, ev->time_ns, &c);
    if (slot != NULL && (n->is_send ? slot->created_ns : slot->started_ns) != TC_TIME_NONE) {
        tc__strag_judge(st, c);
        slot = tc__strag_slot(st, seat, -1, ev->time_ns, &c);
    }
    if (slot != NULL) {
        *(n->is_send ? &slot->created_ns : &slot->started_ns) = took_ns;
        slot->raw = n->is_send || slot->raw.length == 0 ? ev->raw : slot->raw;
    }
}

static bool is_training(struct tc_slice phase)
{
    return phase.len == 0 || tc_slice_eq_nocase(phase, TC_LIT("train")) ||
           tc_slice_eq_nocase(phase, TC_LIT("training"));
}

/* How long a step of a rank took; seq is -1 when the step has no number. */
static void on_duration(struct straggler *st, const struct tc_event *ev, enum strag_basis basis,
                        uint32_t rank, int64_t seq, double seconds)
{
    uint32_t lane = tc__strag_lane(st, st->ranks[rank].job, basis, seq >= 0, TC_EMPTY);
    uint32_t seat = lane == STRAG_NONE ? STRAG_NONE : tc__strag_seat(st, lane, rank, STRAG_NONE);
    struct strag_cohort *c = NULL;
    struct strag_slot *slot =
        seat == STRAG_NONE ? NULL : tc__strag_slot(st, seat, seq, ev->time_ns, &c);
    bool again = slot != NULL && slot->completed_ns != TC_TIME_NONE;
    if (again && seq < 0) {
        tc__strag_judge(st, c);
        slot = tc__strag_slot(st, seat, seq, ev->time_ns, &c);
        again = false;
    }
    if (slot == NULL || again) {
        return;
    }
    slot->completed_ns = (int64_t)(seconds * (double)TC_SECOND);
    slot->created_ns = ev->time_ns;
    slot->raw = ev->raw;
    c->done++;
    if (seq >= 0) {
        tc__strag_settle(st, c);
    }
}

static void on_step(struct straggler *st, const struct tc_event *ev)
{
    uint32_t job = tc__strag_job(st, ev->scope.job);
    if (job == STRAG_NONE) {
        return;
    }
    struct strag_job *j = &st->jobs[job];
    j->pausing = !is_training(ev->train.phase);
    if (ev->train.step > j->step) {
        j->step = ev->train.step;
        j->step_ns = ev->time_ns;
    }
    bool timed = ev->train.seconds > 0 && ev->train.seconds < STEP_SECONDS_MAX;
    if (j->pausing || ev->scope.rank < 0 || !timed) {
        return;
    }
    uint32_t rank = rank_of(st, ev);
    if (rank != STRAG_NONE) {
        on_duration(st, ev, STRAG_STEPS, rank, ev->train.step, ev->train.seconds);
    }
}

/*
 * A gauge is read again and again: a value is another step when it is another value, or when
 * there was time for one more step.
 */
static void on_sample(struct straggler *st, const struct tc_event *ev)
{
    double seconds = ev->metric.value;
    if (ev->scope.rank < 0 || !(seconds > 0) || seconds >= STEP_SECONDS_MAX) {
        st->base.ignored++;
        return;
    }
    uint32_t at = rank_of(st, ev);
    if (at == STRAG_NONE || st->jobs[st->ranks[at].job].pausing) {
        return;
    }
    struct strag_rank *rank = &st->ranks[at];
    bool known = rank->step_ns != TC_TIME_NONE;
    int64_t passed_ns = known ? ev->time_ns - rank->step_ns : 0;
    bool changed = seconds < rank->step_seconds || seconds > rank->step_seconds;
    if (known &&
        (passed_ns <= 0 || (!changed && passed_ns < (int64_t)(seconds * (double)TC_SECOND)))) {
        return;
    }
    rank->step_ns = ev->time_ns;
    rank->step_seconds = seconds;
    on_duration(st, ev, STRAG_SAMPLES, at, -1, seconds);
}

static void on_throttle(struct straggler *st, const struct tc_event *ev)
{
    double bits = ev->metric.value;
    const struct tc_gpu *gpu = tc_directory_event_gpu(st->directory);
    if (gpu == NULL || !(bits >= 0) || bits > (double)UINT32_MAX) {
        st->base.ignored++;
        return;
    }
    /* That it is slowed down is kept; that it is not any more does not undo it. */
    struct strag_hot *hot = &st->hot[gpu->id % st->most.hot];
    if (((uint64_t)bits & STRAG_HOT_BITS) == 0) {
        return;
    }
    if (hot->id == gpu->id && hot->time_ns == ev->time_ns) { /* another reason of that moment */
        hot->bits |= (uint64_t)bits;
        hot->raw = tc__raw_before(ev->raw, hot->raw) ? ev->raw : hot->raw;
    } else if (hot->id != gpu->id || hot->time_ns < ev->time_ns) {
        *hot = (struct strag_hot){gpu->id, ev->time_ns, (uint64_t)bits, ev->raw};
    }
}

static void on_metric(struct straggler *st, const struct tc_event *ev)
{
    if (ev->metric.metric == TC_METRIC_STEP_SECONDS) {
        on_sample(st, ev);
    } else if (ev->metric.metric == TC_METRIC_GPU_THROTTLE) {
        on_throttle(st, ev);
        if (ev->scope.rank >= 0) {
            (void)rank_of(st, ev);
        }
    }
}

static void on_group(struct straggler *st, const struct tc_event *ev)
{
    uint32_t job = tc__strag_job(st, ev->scope.job);
    uint32_t lane = job == STRAG_NONE ? STRAG_NONE
                                      : tc__strag_lane(st, job, STRAG_COLLECTIVES,
                                                       ev->group.group_key, ev->group.group);
    size_t at = 0;
    int32_t rank = 0;
    uint32_t listed = 0;
    if (lane == STRAG_NONE || st->lanes[lane].listed > 0) {
        return;
    }
    while (listed < st->most.slots && tc_rank_list_next(ev->group.ranks, &at, &rank)) {
        listed++;
    }
    st->lanes[lane].listed = listed;
}

static void on_checkpoint(struct straggler *st, const struct tc_event *ev)
{
    uint32_t job = tc__strag_job(st, ev->scope.job);
    if (job == STRAG_NONE) {
        return;
    }
    struct strag_job *j = &st->jobs[job];
    bool begins = tc_slice_eq(ev->train.state, TC_LIT("begin"));
    if (begins && ev->time_ns > j->ckpt_end_ns && j->ckpt_end_ns >= j->ckpt_begin_ns) {
        j->written[j->written_count++ % STRAG_CHECKPOINTS] =
            (struct strag_span){j->ckpt_begin_ns, j->ckpt_end_ns};
    }
    int64_t *at = begins ? &j->ckpt_begin_ns : &j->ckpt_end_ns;
    *at = ev->time_ns > *at ? ev->time_ns : *at;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct straggler *st = state;
    (void)out; /* what was found is told with the next tick */
    if (!tc__scope_fits(&ev->scope) || ev->scope.job.len > TC_SCOPE_TEXT_MAX) {
        st->base.ignored++;
        return TC_OK;
    }
    /* Where something runs, and who is in a group, holds at any time. */
    if (ev->kind == TC_EVENT_NCCL_GROUP) {
        on_group(st, ev);
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_RANK_PLACE) {
        if (ev->scope.rank >= 0) {
            (void)rank_of(st, ev);
        }
        return TC_OK;
    }
    if (ev->time_ns < 0) {
        st->base.ignored++;
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_NCCL_RECORD) {
        if (ev->scope.rank < 0 || ev->nccl.seq < 0 || ev->nccl.group.len > TC_SCOPE_TEXT_MAX) {
            st->base.ignored++;
        } else if (ev->nccl.is_p2p) {
            on_transfer(st, ev);
        } else if (all_take_part(ev->nccl.op)) {
            on_collective(st, ev);
        }
    } else if (ev->kind == TC_EVENT_METRIC) {
        on_metric(st, ev);
    } else if (ev->kind == TC_EVENT_TRAIN_STEP) {
        on_step(st, ev);
    } else if (ev->kind == TC_EVENT_CHECKPOINT) {
        on_checkpoint(st, ev);
    }
    return TC_OK;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct straggler *st = state;
    tc__strag_expire(st, now_ns);
    return tc__strag_tell(st, false, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct straggler *st = state;
    (void)now_ns;
    tc__strag_expire(st, INT64_MAX);
    return tc__strag_tell(st, true, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct straggler *st = state;
    st->directory = env->directory;
    st->walked_ns = INT64_MIN;
    return tc__strag_init(st) ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_NUMBER("margin_percent", struct straggler, margin_percent, 20, 1, 1000,
                   "how much longer than its peers a straggler takes, more than"),
    TC_KNOB_NUMBER(
        "steps", struct straggler, steps, 10, 3, STRAG_STEPS_MAX,
        "steps or collectives that are looked at, and that it must keep up in to be well"),
    TC_KNOB_NUMBER("most_percent", struct straggler, most_percent, 80, 51, 100,
                   "share of them that it is late in, at least"),
    TC_KNOB_NUMBER("floor_ms", struct straggler, floor_ms, 5, 0, 3600000,
                   "being late by no more than so many milliseconds never counts"),
    TC_KNOB_SECONDS(
        "span", struct straggler, span_ns, 3, 1, 86400,
        "time from the first late collective to the last, at least, where no steps are told"),
    TC_KNOB_NUMBER("warmup", struct straggler, warmup, 2, 0, 1000000,
                   "steps and sequence ids below this are warm-up"),
    TC_KNOB_SECONDS("gpu_window", struct straggler, gpu_window_ns, 300, 1, 86400,
                    "longest time between being late and the GPU being slowed down"),
};

/* Tables of what was named since they were full the last time, and the steps that are compared. */
static uint64_t held_bytes(const void *state)
{
    const struct straggler *st = state;
    return tc_ring_touched(&st->cohorts) + st->name_count * sizeof *st->names +
           st->job_count * sizeof *st->jobs + st->rank_count * sizeof *st->ranks +
           st->lane_count * sizeof *st->lanes + st->seat_count * sizeof *st->seats;
}

const struct tc_detector tc_detector_straggler = {
    .id = "6",
    .name = "straggler",
    .summary = "One rank, node or link is slower than its peers and all of them wait; names it.",
    .kinds = TC_EVENT_BIT(TC_EVENT_NCCL_RECORD) | TC_EVENT_BIT(TC_EVENT_NCCL_GROUP) |
             TC_EVENT_BIT(TC_EVENT_TRAIN_STEP) | TC_EVENT_BIT(TC_EVENT_CHECKPOINT) |
             TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE),
    .state_bytes = sizeof(struct straggler),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
    .held_bytes = held_bytes,
};
