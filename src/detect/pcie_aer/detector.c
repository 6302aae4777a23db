/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcie_aer: errors that PCIe devices report, and links that run below what they
 * can do while their GPU is busy. docs/patterns/pcie_aer.md says what it claims
 * and what it never does.
 *
 * One record a device with errors, one a GPU with a sampled link; neither grows
 * with the number of events.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/pcie_aer/priv.h"

#define ARENA_BYTES ((size_t)40 << 20)

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct pcie_state *st = state;
    st->directory = env->directory;
    bool ok = tc__pcie_errors_init(st) && tc__pcie_links_init(st);
    return ok ? TC_OK : TC_E_NOMEM;
}

/* Also when time is about to pass: what waited for the rest of its instant has it. */
static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    TC_TRY(tc__pcie_errors_run(state, now_ns, out));
    return tc__pcie_links_run(state, now_ns, out);
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    bool inventory = ev->kind == TC_EVENT_GPU_INVENTORY;
    if (!tc__scope_fits(&ev->scope) || (!inventory && ev->time_ns == TC_TIME_NONE)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (ev->kind == TC_EVENT_METRIC) {
        return tc__pcie_metric(st, ev, out);
    } else if (ev->kind == TC_EVENT_AER) {
        tc__pcie_aer(st, ev);
    } else if (ev->kind == TC_EVENT_PCIE_LINK) {
        tc__pcie_line(st, ev);
    } else if (!inventory || (ev->scope.gpu_uuid.len == 0 && ev->scope.gpu_index < 0)) {
        tc__pcie_learn_nic(st, ev); /* a network card, by its faults or as no GPU */
    }
    return TC_OK;
}

/* Nothing more comes: what was waiting for the rest of its instant is told now. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    (void)now_ns;
    st->finishing = true;
    tc__waiting_hasten(&st->errors_due, st->base.now_ns);
    tc__waiting_hasten(&st->links_due, st->base.now_ns);
    tc_status status = on_tick(st, st->base.now_ns, out);
    st->finishing = false;
    return status;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("window", struct pcie_state, window_ns, 300, 1, 86400,
                    "time in which corrected errors are counted, and of quiet that ends a storm"),
    TC_KNOB_NUMBER("corrected", struct pcie_state, corrected, 50, 2, 1000000,
                   "corrected errors of one device in the window that make a storm"),
    TC_KNOB_NUMBER("busy", struct pcie_state, busy_percent, 10, 1, 100,
                   "utilisation in percent from which on a GPU is busy"),
    TC_KNOB_SECONDS("busy_for", struct pcie_state, busy_ns, 30, 1, 86400,
                    "how long a link must be below its maximum while its GPU is busy"),
    TC_KNOB_NUMBER("samples", struct pcie_state, samples, 3, 1, 1000,
                   "samples in a row that must show it"),
    TC_KNOB_NUMBER("replays", struct pcie_state, replay_count, 8, 1, 1000000000,
                   "PCIe replays from which on they are told with a slow link"),
};

const struct tc_detector tc_detector_pcie_aer = {
    .id = "5",
    .name = "pcie_aer",
    .summary = "PCIe errors of a device, or a link below its maximum while the GPU is busy",
    .kinds = TC_EVENT_BIT(TC_EVENT_AER) | TC_EVENT_BIT(TC_EVENT_PCIE_LINK) |
             TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |
             TC_EVENT_BIT(TC_EVENT_NETWORK_FAULT),
    .undated = true,
    .state_bytes = sizeof(struct pcie_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_tick,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
