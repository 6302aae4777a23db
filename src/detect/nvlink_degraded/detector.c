/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvlink_degraded: NVLinks that went down, fatal errors of NVSwitches and of the links
 * of GPUs, and links that make errors at a rate. docs/patterns/nvlink_degraded.md says
 * what it claims and what it never does.
 *
 * One record a GPU or switch with faults, one a GPU or switch with sampled links; neither
 * grows with the number of events.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/nvlink_degraded/priv.h"

#define ARENA_BYTES ((size_t)120 << 20)

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct nvlink_state *st = state;
    st->directory = env->directory;
    return tc__nvlink_devices_init(st) && tc__nvlink_meters_init(st) ? TC_OK : TC_E_NOMEM;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct nvlink_state *st = state;
    (void)out;
    if (!tc__scope_fits(&ev->scope) || ev->time_ns == TC_TIME_NONE) {
        st->base.ignored++;
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_METRIC) {
        tc__nvlink_metric(st, ev);
    } else if (ev->kind == TC_EVENT_XID) {
        tc__nvlink_xid(st, ev);
    } else if (ev->kind == TC_EVENT_GPU_HEALTH) {
        tc__nvlink_health(st, ev);
    } else if (ev->kind == TC_EVENT_SXID) {
        tc__nvlink_sxid(st, ev);
    } else {
        tc__nvlink_driver_fault(st, ev);
    }
    return TC_OK;
}

/* Also when time is about to pass: what waited for the rest of its instant has it. */
static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tc__nvlink_run(state, now_ns, out);
}

/* Nothing more comes: what was waiting is told now. GPUs join their switches in the first walk. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct nvlink_state *st = state;
    (void)now_ns;
    st->finishing = true;
    tc_status status = TC_OK;
    for (int walk = 0; walk < 2 && status == TC_OK; walk++) {
        tc__waiting_hasten(&st->due, st->base.now_ns);
        status = tc__nvlink_run(st, st->base.now_ns, out);
    }
    st->finishing = false;
    return status;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS(
        "join", struct nvlink_state, join_ns, 10, 1, 3600,
        "longest time between a fatal SXid and the faults of GPUs that are put down to it"),
    TC_KNOB_SECONDS(
        "window", struct nvlink_state, window_ns, 300, 1, 86400,
        "time in which the errors of a GPU's links are counted, and of quiet that ends it"),
    TC_KNOB_NUMBER("crc_errors", struct nvlink_state, limits[NVLINK_CRC], 1000, 1, 1000000000,
                   "CRC errors, flit and data, in the window that make a storm"),
    TC_KNOB_NUMBER("replays", struct nvlink_state, limits[NVLINK_REPLAY], 100, 1, 1000000000,
                   "replays in the window that make a storm"),
    TC_KNOB_NUMBER("recoveries", struct nvlink_state, limits[NVLINK_RECOVERY], 10, 1, 1000000000,
                   "recoveries in the window that make a storm"),
};

const struct tc_detector tc_detector_nvlink_degraded = {
    .id = "9",
    .name = "nvlink_degraded",
    .summary = "An NVLink that is down or makes errors, or a fatal error of an NVSwitch",
    .kinds = TC_EVENT_BIT(TC_EVENT_SXID) | TC_EVENT_BIT(TC_EVENT_XID) |
             TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_DRIVER_FAULT) |
             TC_EVENT_BIT(TC_EVENT_GPU_HEALTH),
    .undated = true,
    .state_bytes = sizeof(struct nvlink_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_tick,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
