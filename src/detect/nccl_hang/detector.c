/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "detect/nccl_hang/exit_priv.h"
#include "detect/nccl_hang/priv.h"
#include "detect/nccl_hang/watch_priv.h"

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("threshold", struct nccl_hang, threshold_ns, 300, 1, 86400,
                    "how long a collective may stay uncompleted before it counts as hung"),
    TC_KNOB_SECONDS("retention", struct nccl_hang, retention_ns, 6 * 3600, 60, 7 * 86400,
                    "how long records are kept"),
};

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct nccl_hang *st = state;
    TC_TRY(tc__nccl_init(st));
    st->settles = env->lag_ns > 0;
    st->nodes = tc__nodes_create(&st->base, env->directory);
    st->watch = tc__watch_create(&st->base, st->nodes, &st->threshold_ns, st->retention_ns);
    st->exits = tc__exits_create(&st->base);
    return st->watch == NULL || st->exits == NULL || st->nodes == NULL ? TC_E_NOMEM : TC_OK;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct nccl_hang *st = state;
    if (ev->kind == TC_EVENT_NCCL_RECORD) { /* most events by far */
        return tc__nccl_on_record(st, ev, out);
    }
    if (ev->kind == TC_EVENT_NETWORK_FAULT) {
        return tc__nccl_on_sizes(st, ev, out);
    }
    if ((TC_EVENT_BIT(ev->kind) & NCCL_NODE_KINDS) != 0) {
        tc__nodes_on_event(st->nodes, ev);
        return TC_OK;
    }
    /* Reports are compared by the time between them, and so is the end of a job with what hung. */
    bool undated = tc_time_is_order(ev->time_ns);
    if (undated && (ev->kind == TC_EVENT_NCCL_RAS || tc__exits_wants(ev))) {
        return TC_OK;
    }
    if (tc__exits_wants(ev)) {
        tc__exits_on_event(st->exits, ev);
        return TC_OK;
    }
    return tc__watch_wants(ev) ? tc__watch_on_event(st->watch, ev, out)
                               : tc__nccl_on_other(st, ev, out);
}

/* What a job had pending when it exited cleanly has gone with it. */
static tc_status forget_job(struct nccl_hang *st, const struct nccl_eval *e, int64_t end_ns,
                            const struct tc_sink *out)
{
    for (uint32_t i = 0; i < e->pending_count; i++) {
        struct nccl_record *r = tc__nccl_pending(e, i);
        if (r->open != 0) {
            TC_TRY(tc__nccl_report_done(st, r, end_ns, true, out));
        }
        r->state = TC_NCCL_COMPLETED;
    }
    return TC_OK;
}

tc_status tc__nccl_evaluate(struct nccl_hang *st, bool all, const struct tc_sink *out)
{
    struct nccl_all jobs;
    st->dirty = false;
    st->unjudged = st->unjudged && !all;
    tc__nccl_collect(st, &jobs);
    for (bool found = true; found;) {
        struct nccl_eval eval = {0};
        tc_arena_reset(&st->eval);
        TC_TRY(tc__nccl_analyse(st, all, &jobs, &eval, &found));
        int64_t end_ns = TC_TIME_NONE;
        if (found && tc__exits_is_over(st, &eval, &end_ns)) {
            TC_TRY(forget_job(st, &eval, end_ns, out));
        } else if (found) {
            TC_TRY(tc__nccl_report(st, &eval, out));
        }
    }
    return TC_OK;
}

/* Each record is looked at once for its age: the ring is in order of arrival. */
static void find_due(struct nccl_hang *st, int64_t now_ns)
{
    uint64_t pos = st->aged;
    uint64_t aged = pos;
    int64_t issued_by_ns = now_ns - st->threshold_ns;
    bool dirty = false;
    const struct nccl_record *r = tc_ring_after(&st->records, pos, &pos);
    while (r != NULL && r->created_ns <= issued_by_ns) {
        dirty |= r->state != TC_NCCL_COMPLETED;
        aged = pos;
        if (dirty && st->newest_ns <= issued_by_ns) { /* so have all that follow */
            aged = st->newest_pos;
            break;
        }
        r = tc_ring_follow(&st->records, r, &pos);
    }
    st->aged = aged;
    st->dirty |= dirty;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct nccl_hang *st = state;
    if (now_ns > st->now_ns) {
        st->now_ns = now_ns;
    }
    TC_TRY(tc__watch_on_tick(st->watch, now_ns, out));
    bool was_dirty = st->dirty;
    st->dirty = false;
    find_due(st, st->now_ns);
    if (st->dirty || tc__exits_take_news(st->exits)) {
        return tc__nccl_evaluate(st, false, out);
    }
    st->dirty = was_dirty;
    return TC_OK;
}

/* A dump is what its rank left: it has no more to say. One that comes later says more. */
static tc_status on_settle(void *state, const struct tc_sink *out)
{
    return tc__nccl_evaluate(state, true, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct nccl_hang *st = state;
    TC_TRY(tc__watch_on_tick(st->watch, INT64_MAX, out));
    st->has_now = now_ns != TC_TIME_NONE;
    st->now_ns = now_ns > st->now_ns ? now_ns : st->now_ns;
    st->ends = true;
    tc_status status = tc__nccl_evaluate(st, !st->has_now, out);
    st->ends = false;
    return status;
}

static uint64_t dropped(const void *state)
{
    const struct nccl_hang *st = state;
    return st->records.dropped_count + st->lost + st->restarts;
}

static uint64_t held_bytes(const void *state)
{
    const struct nccl_hang *st = state;
    return tc_ring_touched(&st->records) + tc_map_touched(&st->record_index);
}

const struct tc_detector tc_detector_nccl_hang = {
    .id = "1",
    .name = "nccl_hang",
    .summary = "A collective that does not complete, and the ranks it waits for",
    .kinds = TC_EVENT_BIT(TC_EVENT_NCCL_RECORD) | TC_EVENT_BIT(TC_EVENT_NCCL_GROUP) |
             TC_EVENT_BIT(TC_EVENT_NCCL_STATUS) | TC_EVENT_BIT(TC_EVENT_NCCL_DUMP) |
             TC_EVENT_BIT(TC_EVENT_NCCL_RAS) | TC_EVENT_BIT(TC_EVENT_METRIC) |
             TC_EVENT_BIT(TC_EVENT_RANK_PLACE) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_TRAIN_STEP) | TC_EVENT_BIT(TC_EVENT_NETWORK_FAULT) |
             NCCL_NODE_KINDS,
    .undated = true,
    .state_bytes = sizeof(struct nccl_hang),
    .arena_bytes = NCCL_ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_settle = on_settle,
    .on_finish = on_finish,
    .dropped = dropped,
    .held_bytes = held_bytes,
};
