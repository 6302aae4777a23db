/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hbm_ecc: errors of a GPU's memory, and what became of them.
 * docs/patterns/hbm_ecc.md says what it claims and what it never does.
 *
 * Kept by GPU: the counters and flags as they were last seen, and one incident that
 * grows. What changed is told at the next tick: all that happened at one time is
 * told as one, in whatever order it came.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/hbm_ecc/priv.h"

/* No counter of errors is above this; a double holds every number below. */
#define VALUE_MAX 9e15

#define GPU_RING_BYTES ((size_t)16 << 20)
#define STORM_RING_BYTES ((size_t)8 << 20)
#define ARENA_BYTES ((size_t)96 << 20)

static const struct tc_record_type GPU = {
    .size = sizeof(struct ecc_gpu),
    .keys = {{TC_FIELD(struct ecc_gpu, id)}},
};
static const struct tc_record_type STORM = {.size = sizeof(struct ecc_storm)};

struct ecc_gpu *tc__ecc_gpu(const struct ecc_state *st, uint64_t id)
{
    struct ecc_gpu key = {.id = id};
    return tc__window_get(&st->gpus, &key);
}

/* Two names turned out to be one GPU: what is not known under the one is known under the other. */
static void take_over(const struct ecc_state *st, struct ecc_gpu *to, struct ecc_gpu *from)
{
    for (size_t i = 0; i < ECC_COUNTERS; i++) {
        to->counters[i] = to->counters[i].known ? to->counters[i] : from->counters[i];
    }
    for (size_t i = 0; i < ECC_GAUGES; i++) {
        to->gauges[i] = to->gauges[i].known ? to->gauges[i] : from->gauges[i];
    }
    to->storm = tc__window_at(&st->storms, to->storm) != NULL ? to->storm : from->storm;
    if (tc__window_at(&st->incidents, to->incident) == NULL) {
        to->incident = from->incident;
        to->last = from->last;
        from->incident = TC_RING_NONE;
    }
}

/* What is kept of a GPU; NULL when nothing is. */
static struct ecc_gpu *known_gpu(const struct ecc_state *st, const struct tc_gpu *names)
{
    struct ecc_gpu *gpu = NULL;
    for (unsigned i = 0; i < TC_GPU_IDS; i++) {
        uint64_t id = tc_gpu_id(names, i);
        struct ecc_gpu *part = id == 0 ? NULL : tc__ecc_gpu(st, id);
        if (part == NULL || part->taken_over) {
            continue;
        }
        if (gpu != NULL) {
            take_over(st, gpu, part);
            part->taken_over = true;
        }
        gpu = gpu == NULL ? part : gpu;
    }
    return gpu;
}

/* The same, made when there is none. NULL when scratch is full. */
static struct ecc_gpu *gpu_of(struct ecc_state *st, const struct tc_gpu *names)
{
    struct ecc_gpu *gpu = known_gpu(st, names);
    if (gpu != NULL) {
        return gpu;
    }
    struct ecc_gpu fresh = {.id = names->id};
    return tc__window_add(&st->gpus, &fresh, st->base.now_ns);
}

/* The GPU of a process that does not say which it used: that of its rank, or any of its node. */
static struct tc_gpu nameless_gpu(const struct ecc_state *st, const struct tc_event *ev)
{
    struct tc_scope scope = ev->scope;
    tc_directory_place(st->directory, &scope);
    struct tc_gpu gpu = {
        .node = scope.node.len > 0 ? scope.node : ECC_NO_NODE,
        .ns = scope.ns,
        .pod = scope.pod,
        .container = scope.container,
        .job = scope.job,
        .index = -1,
        .rank = scope.rank,
    };
    /* Not one of the directory's ids, which count from 1. */
    uint64_t hash = tc_slice_hash(gpu.node, (uint64_t)gpu.rank + 1);
    hash = tc_slice_hash(gpu.job, tc_slice_hash(gpu.pod, hash));
    gpu.id = hash | UINT64_C(1) << 63;
    return gpu;
}

/* The GPU of an open incident is known by more names than were told. */
static tc_status on_names(struct ecc_state *st, const struct tc_gpu *names,
                          const struct ecc_gpu *gpu, const struct tc_sink *out)
{
    struct ecc_incident *in = gpu == NULL ? NULL : tc__ecc_incident_at(st, gpu);
    bool more = in != NULL && in->end == ECC_OPEN && in->told != ECC_NONE &&
                (tc__ecc_names(names) & ~in->told_names) != 0;
    return more ? tc__ecc_tell_soon(st, in, out) : TC_OK;
}

/*
 * A flag that is up stands until a reset: it needs no samples before it, nor to be told apart from
 * those of other nodes in the same file.
 */
static bool is_standing(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_GPU_HEALTH ||
           (ev->kind == TC_EVENT_METRIC && ev->metric.value > 0 &&
            (ev->metric.metric == TC_METRIC_GPU_ROW_PENDING ||
             ev->metric.metric == TC_METRIC_GPU_ROW_FAILURE ||
             ev->metric.metric == TC_METRIC_GPU_PAGES_PENDING));
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct ecc_state *st = state;
    bool metric = ev->kind == TC_EVENT_METRIC;
    bool xid = ev->kind == TC_EVENT_XID;
    bool cuda = ev->kind == TC_EVENT_DRIVER_FAULT;
    bool health = ev->kind == TC_EVENT_GPU_HEALTH;
    struct tc_gpu nameless;
    if ((cuda && !tc_slice_eq(ev->fault.fault, TC_LIT("cuda_ecc"))) ||
        (health && !tc__ecc_wants_health(&ev->health)) ||
        (metric && !tc__ecc_wants_metric(&ev->metric)) ||
        (xid && tc__ecc_fact_of_xid(ev->xid.code) == ECC_FACTS)) {
        return TC_OK;
    }
    bool bad = metric && !(ev->metric.value >= 0 && ev->metric.value <= VALUE_MAX);
    const struct tc_gpu *names = tc_directory_event_gpu(st->directory);
    if (names == NULL && (xid || is_standing(ev)) && ev->scope.node.len == 0) {
        struct tc_scope scope = ev->scope;
        scope.node = ECC_NO_NODE;
        names = tc_directory_learn_gpu(st->directory, &scope, ev->time_ns);
    }
    if (names == NULL && cuda && tc__scope_fits(&ev->scope)) {
        nameless = nameless_gpu(st, ev);
        names = &nameless;
    }
    if (ev->time_ns == TC_TIME_NONE || bad || names == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    if (!metric && !xid && !cuda && !health) {
        return on_names(st, names, known_gpu(st, names), out);
    }
    struct ecc_news n = {ev, names, gpu_of(st, names)};
    if (n.gpu == NULL) {
        return tc__ecc_no_room(st);
    }
    TC_TRY(on_names(st, names, n.gpu, out));
    return cuda     ? tc__ecc_on_cuda(st, &n, out)
           : xid    ? tc__ecc_on_xid(st, &n, out)
           : health ? tc__ecc_on_health(st, &n, out)
                    : tc__ecc_on_metric(st, &n, out);
}

/* What was said of GPUs when their incidents began is all that names those. */
static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    (void)out;
    tc__ecc_settle_names(state);
    return TC_OK;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tc__ecc_tell_due(state, now_ns, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    return tc__ecc_tell_due(state, INT64_MAX, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct ecc_state *st = state;
    st->directory = env->directory;
    st->seen_ns = TC_TIME_NONE;
    bool ok = tc__window_open(&st->gpus, &st->base, &GPU, GPU_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__window_open(&st->storms, &st->base, &STORM, STORM_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__ecc_incidents_init(st);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_NUMBER("uncorrected", struct ecc_state, uncorrected, 1, 1, 1000000,
                   "uncorrectable errors inside the window that make a verdict"),
    TC_KNOB_NUMBER("corrected", struct ecc_state, corrected, 100, 1, 1000000000,
                   "corrected errors inside the window that make a verdict"),
    TC_KNOB_SECONDS("window", struct ecc_state, window_ns, 600, 1, 86400,
                    "time over which errors are counted together"),
    TC_KNOB_SECONDS("apart", struct ecc_state, apart_ns, 86400, 1, 30 * 86400,
                    "errors of one GPU further apart than this are two incidents"),
};

const struct tc_detector tc_detector_hbm_ecc = {
    .id = "3",
    .name = "hbm_ecc",
    .summary = "The memory of a GPU has errors; says how bad they are and what mends them.",
    .kinds = TC_EVENT_BIT(TC_EVENT_XID) | TC_EVENT_BIT(TC_EVENT_METRIC) |
             TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE) |
             TC_EVENT_BIT(TC_EVENT_DRIVER_FAULT) | TC_EVENT_BIT(TC_EVENT_GPU_HEALTH),
    .undated = true,
    .state_bytes = sizeof(struct ecc_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
