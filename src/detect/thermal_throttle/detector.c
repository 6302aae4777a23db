/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thermal_throttle: GPUs that heat or their power supply slows down, for long enough.
 * docs/patterns/thermal_throttle.md says what it claims and what it never does.
 *
 * Every sample either goes on with the runs of its GPU or ends them. A run that is long
 * enough makes its GPU a member of its group; groups are told after a grace, so that
 * GPUs which are slowed one after the other are told as one.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/health_priv.h"
#include "detect/thermal_throttle/priv.h"

/* NVML's clock event reasons. Idle, application clocks, the power cap, sync boost and
 * display clocks are how a GPU is run, and never count. */
#define REASON_HW_SLOWDOWN 0x8U
#define REASON_SW_THERMAL 0x20U
#define REASON_HW_THERMAL 0x40U
#define REASON_POWER_BRAKE 0x80U
#define REASONS_MAX 4294967295.0

/* The counter of time slowed: at least this share of the time between two samples. */
#define SLOWED_SHARE 0.5
/* It cannot grow faster than time, but for the jitter of two clocks. */
#define SLOWED_SHARE_MAX 1.1
/* An exporter measures this often and hands out the same number until then, to two servers too. */
#define COLLECTED_NS (30 * TC_SECOND)
/* No GPU is hotter; what says so is no temperature. */
#define CELSIUS_MAX 200

#define GPU_RING_BYTES ((size_t)16 << 20)
#define ARENA_BYTES ((size_t)32 << 20)

static const struct tc_record_type GPU = {
    .size = sizeof(struct heat_gpu),
    .texts = {TC_TEXT(struct heat_gpu, node), TC_TEXT(struct heat_gpu, uuid)},
    .keys = {{TC_FIELD(struct heat_gpu, id)}},
};

/* What is kept of a GPU, made when there is nothing. NULL when scratch is full. */
static struct heat_gpu *gpu_of(struct heat_state *st, const struct tc_gpu *names)
{
    for (unsigned i = 0; i < TC_GPU_IDS; i++) {
        struct heat_gpu key = {.id = tc_gpu_id(names, i)};
        struct heat_gpu *known = key.id == 0 ? NULL : tc__window_get(&st->gpus_window, &key);
        if (known != NULL) {
            return known;
        }
    }
    struct heat_gpu fresh = {
        .id = names->id,
        .node = names->node,
        .uuid = names->uuid,
        .pci = names->pci,
        .index = names->index,
        .sampled_ns = TC_TIME_NONE,
        .whole_ns = TC_TIME_NONE,
        .clear_ns = TC_TIME_NONE,
    };
    return tc__window_add(&st->gpus_window, &fresh, st->base.now_ns);
}

static int64_t run_ns(const struct tc_span *run)
{
    return run->count == 0 ? -1 : run->last_ns - run->first_ns;
}

static void step_run(struct tc_span *run, bool goes_on, const struct tc_event *ev)
{
    if (!goes_on) {
        run->count = 0;
    } else if (run->count == 0) {
        *run = tc__span_make(ev->time_ns, ev->raw);
    } else {
        tc__span_add(run, ev->time_ns, ev->raw);
    }
}

/* A temperature from the time before counts when it is not older than a gap. */
static void begin_peaks(const struct heat_state *st, struct heat_gpu *gpu, int64_t time_ns)
{
    gpu->peaks_ns = time_ns;
    for (size_t i = 0; i < HEAT_SENSORS; i++) {
        gpu->peak[i] = gpu->now[i];
        gpu->peak[i].known = gpu->now[i].known && time_ns - gpu->now[i].time_ns <= st->gap_ns;
    }
}

static void slow(const struct heat_state *st, struct heat_gpu *gpu, int64_t time_ns)
{
    if (!gpu->slowed && !gpu->hot) {
        begin_peaks(st, gpu, time_ns);
    }
    gpu->slowed = true;
    gpu->clear_ns = TC_TIME_NONE;
}

/* A run is long enough. What made it so is told with it. */
static tc_status sustain(struct heat_state *st, struct heat_gpu *gpu, const struct tc_event *ev,
                         enum heat_kind kind, const struct tc_span *run, const struct tc_sink *out)
{
    bool counter = ev->metric.metric == TC_METRIC_GPU_THERMAL_VIOLATION;
    uint64_t reasons = counter ? 0 : (uint64_t)ev->metric.value;
    if (gpu->hot && tc__heat_is_member(st, gpu)) {
        tc__span_add(&gpu->episode, ev->time_ns, ev->raw);
        /* The bits know what the counter does not. */
        bool better = kind > gpu->kind || (gpu->by_counter && !counter);
        if (better) {
            gpu->kind = kind;
            gpu->reasons = reasons;
            gpu->by_counter = counter;
            gpu->by_health = false;
        }
        return tc__heat_stay(st, gpu, better, out);
    }
    gpu->hot = true;
    gpu->kind = kind;
    gpu->reasons = reasons;
    gpu->by_counter = counter;
    gpu->by_health = false;
    gpu->episode = *run;
    return tc__heat_join(st, gpu, ev->metric.rack, out);
}

/* A sample says that nothing slows the GPU, from since_ns on. */
static tc_status clear(struct heat_state *st, struct heat_gpu *gpu, const struct tc_event *ev,
                       int64_t since_ns, const struct tc_sink *out)
{
    gpu->slowed = false;
    if (gpu->clear_ns == TC_TIME_NONE) {
        gpu->clear_ns = since_ns;
    }
    if (!gpu->hot || ev->time_ns - gpu->clear_ns < st->clear_ns) {
        return TC_OK;
    }
    gpu->hot = false;
    gpu->cleared_ns = ev->time_ns;
    gpu->cleared_raw = ev->raw;
    return tc__heat_leave(st, gpu, out);
}

static void end_runs(struct heat_gpu *gpu)
{
    for (size_t i = 0; i < HEAT_KINDS; i++) {
        gpu->runs[i].count = 0;
    }
    gpu->heat.count = 0;
    gpu->clear_ns = TC_TIME_NONE;
    gpu->slowed = false;
}

/* The worst run that is long enough; of hardware and software in turns, the one more often. */
static const struct tc_span *long_run(const struct heat_state *st, const struct heat_gpu *gpu,
                                      enum heat_kind *out_kind)
{
    for (unsigned i = HEAT_KINDS; i > 0; i--) {
        if (run_ns(&gpu->runs[i - 1]) >= st->sustained_ns) {
            *out_kind = (enum heat_kind)(i - 1);
            return &gpu->runs[i - 1];
        }
    }
    bool mostly_hw = 2 * gpu->heat_hw_count >= gpu->heat.count;
    *out_kind = mostly_hw ? HEAT_HW_THERMAL : HEAT_SW_THERMAL;
    return run_ns(&gpu->heat) >= st->sustained_ns ? &gpu->heat : NULL;
}

static tc_status on_reasons(struct heat_state *st, struct heat_gpu *gpu, const struct tc_event *ev,
                            const struct tc_sink *out)
{
    uint64_t bits = (uint64_t)ev->metric.value;
    if (gpu->sampled_ns != TC_TIME_NONE && ev->time_ns <= gpu->sampled_ns) {
        return TC_OK;
    }
    /* Nobody saw what was in between. */
    if (gpu->sampled_ns != TC_TIME_NONE && ev->time_ns - gpu->sampled_ns > st->gap_ns) {
        end_runs(gpu);
    }
    gpu->sampled_ns = ev->time_ns;
    const bool now[HEAT_KINDS] = {
        [HEAT_SW_THERMAL] = (bits & REASON_SW_THERMAL) != 0,
        [HEAT_HW_SLOWDOWN] = (bits & REASON_HW_SLOWDOWN) != 0 &&
                             (bits & (REASON_HW_THERMAL | REASON_POWER_BRAKE)) == 0,
        [HEAT_POWER_BRAKE] = (bits & REASON_POWER_BRAKE) != 0,
        [HEAT_HW_THERMAL] = (bits & REASON_HW_THERMAL) != 0,
    };
    bool any = false;
    for (size_t i = 0; i < HEAT_KINDS; i++) {
        step_run(&gpu->runs[i], now[i], ev);
        any = any || now[i];
    }
    gpu->heat_hw_count = gpu->heat.count == 0 ? 0 : gpu->heat_hw_count;
    step_run(&gpu->heat, now[HEAT_SW_THERMAL] || now[HEAT_HW_THERMAL], ev);
    gpu->heat_hw_count += now[HEAT_HW_THERMAL];
    if (!any) {
        return clear(st, gpu, ev, ev->time_ns, out);
    }
    slow(st, gpu, ev->time_ns);
    enum heat_kind kind = HEAT_SW_THERMAL;
    const struct tc_span *run = long_run(st, gpu, &kind);
    return run == NULL ? TC_OK : sustain(st, gpu, ev, kind, run, out);
}

/* All reasons of one moment are known: from here on they are as any other sample. */
static tc_status close_parts(struct heat_state *st, struct heat_gpu *gpu, const struct tc_sink *out)
{
    struct heat_parts *p = &gpu->parts;
    if (!p->pending) {
        return TC_OK;
    }
    struct tc_event ev;
    p->pending = false;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = p->time_ns;
    ev.raw = p->raw;
    ev.metric.metric = TC_METRIC_GPU_THROTTLE;
    ev.metric.value = p->bits;
    ev.metric.rack = tc_slice_make(p->rack, p->rack_len);
    return on_reasons(st, gpu, &ev, out);
}

/* One reason, on or off; those of one moment come in any order. */
static void on_reason(const struct heat_state *st, struct heat_gpu *gpu, const struct tc_event *ev)
{
    struct heat_parts *p = &gpu->parts;
    bool whole = gpu->whole_ns != TC_TIME_NONE && ev->time_ns - gpu->whole_ns <= st->gap_ns;
    if (whole || (p->time_ns > ev->time_ns && p->time_ns != TC_TIME_NONE)) {
        return; /* known already, or late */
    }
    uint32_t bits = (uint32_t)ev->metric.value;
    bool first = !p->pending;
    bool better = (bits != 0) == (p->bits != 0) ? tc__raw_before(ev->raw, p->raw) : bits != 0;
    if (first || better) {
        p->raw = ev->raw;
    }
    p->bits = first ? bits : p->bits | bits;
    p->time_ns = ev->time_ns;
    p->pending = true;
    if (ev->metric.rack.len <= HEAT_RACK_MAX && ev->metric.rack.len > 0) {
        p->rack_len = (uint8_t)ev->metric.rack.len;
        memcpy(p->rack, ev->metric.rack.ptr, p->rack_len);
    }
}

/* The reasons say that it is slowed, and are not old. */
static bool has_reasons(const struct heat_state *st, const struct heat_gpu *gpu, int64_t time_ns)
{
    bool any = gpu->heat.count > 0 || gpu->runs[HEAT_HW_SLOWDOWN].count > 0 ||
               gpu->runs[HEAT_POWER_BRAKE].count > 0;
    return any && time_ns - gpu->sampled_ns <= st->gap_ns;
}

/*
 * The counter of time slowed by heat covers all of the time between two samples. It does
 * not say whether hardware or software did it: the lesser is claimed.
 */
static tc_status on_violation(struct heat_state *st, struct heat_gpu *gpu,
                              const struct tc_event *ev, const struct tc_sink *out)
{
    struct tc_counter before = gpu->violation;
    struct tc_raw before_raw = gpu->violation_raw;
    if (before.known && ev->metric.value == before.value &&
        ev->time_ns - before.time_ns < COLLECTED_NS) {
        return TC_OK; /* not measured anew, as far as anyone can tell */
    }
    double rise = tc__counter_rise(&gpu->violation, ev->metric.value, ev->time_ns);
    if (before.known && ev->time_ns <= before.time_ns) {
        return TC_OK;
    }
    gpu->violation_raw = ev->raw;
    double passed = before.known ? (double)(ev->time_ns - before.time_ns) : 0;
    bool unknown = !before.known || ev->time_ns - before.time_ns > st->gap_ns ||
                   ev->metric.value < before.value || rise > passed * SLOWED_SHARE_MAX;
    if (unknown) {
        gpu->counted.count = 0;
        return TC_OK;
    }
    if (rise < passed * SLOWED_SHARE) {
        gpu->counted.count = 0;
        gpu->slowed = has_reasons(st, gpu, ev->time_ns);
        /* Slowed for a part of the time: neither slowed nor clear. */
        return rise > 0 || gpu->slowed ? TC_OK : clear(st, gpu, ev, before.time_ns, out);
    }
    slow(st, gpu, ev->time_ns);
    if (gpu->counted.count == 0) {
        gpu->counted = tc__span_make(before.time_ns, before_raw);
    }
    tc__span_add(&gpu->counted, ev->time_ns, ev->raw);
    return run_ns(&gpu->counted) < st->sustained_ns
               ? TC_OK
               : sustain(st, gpu, ev, HEAT_SW_THERMAL, &gpu->counted, out);
}

static void on_temperature(struct heat_gpu *gpu, const struct tc_event *ev)
{
    size_t sensor = ev->metric.metric == TC_METRIC_GPU_MEM_TEMP ? HEAT_MEMORY : HEAT_CORE;
    struct heat_peak now = {ev->metric.value, ev->time_ns, ev->raw, true};
    struct heat_peak *last = &gpu->now[sensor];
    struct heat_peak *peak = &gpu->peak[sensor];
    if (now.celsius <= 0 || now.celsius > CELSIUS_MAX ||
        (last->known && now.time_ns <= last->time_ns)) {
        return;
    }
    *last = now;
    /* One of the scrape that it began with stands for those before, whichever is told first. */
    bool with_it = now.time_ns == gpu->peaks_ns && peak->time_ns < now.time_ns;
    if (gpu->slowed && (!peak->known || with_it || now.celsius > peak->celsius)) {
        *peak = now;
    }
}

/*
 * DCGM watched the GPU itself and says that heat slows it: that needs no samples. As with the
 * counter, it does not say whether hardware or software did it.
 */
static tc_status on_health(struct heat_state *st, const struct tc_event *ev,
                           const struct tc_sink *out)
{
    int64_t number = 0;
    if (tc__health_of(&ev->health, &number) != TC__HEALTH_SLOWED || ev->time_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    const struct tc_gpu *names = tc__health_gpu(st->directory, ev);
    if (names == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    struct heat_gpu *gpu = gpu_of(st, names);
    if (gpu == NULL) {
        return TC_E_NOMEM;
    }
    slow(st, gpu, ev->time_ns);
    if (gpu->hot && tc__heat_is_member(st, gpu)) {
        tc__span_add(&gpu->episode, ev->time_ns, ev->raw);
        return tc__heat_stay(st, gpu, false, out);
    }
    gpu->hot = true;
    gpu->kind = HEAT_SW_THERMAL;
    gpu->reasons = 0;
    gpu->by_counter = true;
    gpu->by_health = true;
    gpu->episode = tc__span_make(ev->time_ns, ev->raw);
    return tc__heat_join(st, gpu, TC_EMPTY, out);
}

static bool is_wanted(const struct tc_ev_metric *m)
{
    switch (m->metric) {
    case TC_METRIC_GPU_TEMP:
    case TC_METRIC_GPU_MEM_TEMP:
    case TC_METRIC_GPU_THROTTLE:
    case TC_METRIC_GPU_THERMAL_VIOLATION:
        return true;
    default:
        return false;
    }
}

/* A reason that is no number of bits, or a time below zero, is not a sample. */
static bool is_sane(const struct tc_event *ev)
{
    bool reasons = ev->metric.metric == TC_METRIC_GPU_THROTTLE;
    return ev->time_ns >= 0 && ev->metric.value >= 0 &&
           (!reasons || ev->metric.value <= REASONS_MAX) &&
           ev->metric.rack.len <= TC_SCOPE_TEXT_MAX;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct heat_state *st = state;
    bool metric = ev->kind == TC_EVENT_METRIC;
    if (ev->kind == TC_EVENT_NODE_CONDITION) {
        return tc__heat_learn_rack(st, ev);
    }
    if (ev->kind == TC_EVENT_GPU_HEALTH) {
        return on_health(st, ev, out);
    }
    if (metric && !is_wanted(&ev->metric)) {
        return TC_OK;
    }
    bool sane = metric ? is_sane(ev) : ev->time_ns >= 0;
    const struct tc_gpu *names = sane ? tc_directory_event_gpu(st->directory) : NULL;
    if (names == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    if (!metric) {
        return TC_OK; /* the names were all */
    }
    struct heat_gpu *gpu = gpu_of(st, names);
    if (gpu == NULL) {
        return TC_E_NOMEM;
    }
    if (gpu->parts.pending && ev->time_ns > gpu->parts.time_ns) {
        TC_TRY(close_parts(st, gpu, out));
    }
    switch (ev->metric.metric) {
    case TC_METRIC_GPU_THROTTLE:
        if (ev->metric.device.len > 0) {
            on_reason(st, gpu, ev);
            return TC_OK;
        }
        gpu->whole_ns = ev->time_ns > gpu->whole_ns ? ev->time_ns : gpu->whole_ns;
        return on_reasons(st, gpu, ev, out);
    case TC_METRIC_GPU_THERMAL_VIOLATION:
        return on_violation(st, gpu, ev, out);
    default:
        on_temperature(gpu, ev);
        return TC_OK;
    }
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tc__heat_tell_due(state, now_ns, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct heat_state *st = state;
    const struct tc_ring *ring = &st->gpus_window.ring;
    uint64_t pos = TC_RING_NONE;
    struct heat_gpu *gpu = tc_ring_oldest(&st->gpus_window.ring, &pos);
    (void)now_ns;
    for (; gpu != NULL; gpu = tc_ring_next(ring, pos, &pos)) {
        TC_TRY(close_parts(st, gpu, out));
    }
    return tc__heat_tell_all(state, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct heat_state *st = state;
    st->directory = env->directory;
    bool ok = tc__window_open(&st->gpus_window, &st->base, &GPU, GPU_RING_BYTES, TC_KEPT_ALWAYS) &&
              tc__heat_groups_init(st);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("sustained", struct heat_state, sustained_ns, 30, 1, 86400,
                    "time over which every sample must say that the GPU is slowed"),
    TC_KNOB_SECONDS("gap", struct heat_state, gap_ns, 180, 1, 86400,
                    "samples further apart than this prove nothing of the time between them"),
    TC_KNOB_SECONDS("clear", struct heat_state, clear_ns, 60, 1, 86400,
                    "time without a reason after which a GPU is no longer slowed"),
    TC_KNOB_SECONDS("grace", struct heat_state, grace_ns, 30, 1, 3600,
                    "time to wait for more GPUs of the node or rack before a verdict"),
    TC_KNOB_NUMBER("gpus", struct heat_state, gpus, 2, 2, 64,
                   "GPUs of one node slowed at once that put it down to the node"),
};

const struct tc_detector tc_detector_thermal_throttle = {
    .id = "4",
    .name = "thermal_throttle",
    .summary = "Heat or power supply slows GPUs down; says whether GPU, node or rack is at fault.",
    .kinds = TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |
             TC_EVENT_BIT(TC_EVENT_RANK_PLACE) | TC_EVENT_BIT(TC_EVENT_NODE_CONDITION) |
             TC_EVENT_BIT(TC_EVENT_GPU_HEALTH),
    .undated = true, /* what DCGM says; samples need a date */
    .state_bytes = sizeof(struct heat_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
