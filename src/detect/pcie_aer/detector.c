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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ERROR_RING_BYTES ((size_t)8 << 20)
#define LINK_RING_BYTES ((size_t)16 << 20)
#define NIC_RING_BYTES ((size_t)256 << 10)
#define ARENA_BYTES ((size_t)40 << 20)

/* A card's record, at least. */
#define NIC_BYTES 64

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct pcie_state *st = state;
    size_t errors = ERROR_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct pcie_errors), 0);
    size_t links = LINK_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct pcie_link), 0);
    st->scratch = env->scratch;
    st->directory = env->directory;
    st->now_ns = TC_TIME_NONE;
    bool ok =
        tc__window_init(&st->errors, env->arena, ERROR_RING_BYTES, errors, 1, false) &&
        tc__window_init(&st->links, env->arena, LINK_RING_BYTES, links, 1, false) &&
        tc__window_init(&st->nics, env->arena, NIC_RING_BYTES, NIC_RING_BYTES / NIC_BYTES, 1,
                        false) &&
        tc__waiting_init(&st->errors_due, env->arena, &st->errors, errors,
                         tc__pcie_errors_before) &&
        tc__waiting_init(&st->links_due, env->arena, &st->links, links, tc__pcie_links_before);
    return ok ? TC_OK : TC_E_NOMEM;
}

static tc_status run(struct pcie_state *st, const struct tc_sink *out)
{
    TC_TRY(tc__pcie_errors_run(st, st->now_ns, out));
    return tc__pcie_links_run(st, st->now_ns, out);
}

static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    if (now_ns <= st->now_ns) {
        return TC_OK;
    }
    st->now_ns = now_ns;
    return run(st, out);
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    bool inventory = ev->kind == TC_EVENT_GPU_INVENTORY;
    if (!tc__scope_fits(&ev->scope) || (!inventory && ev->time_ns == TC_TIME_NONE)) {
        st->ignored++;
        return TC_OK;
    }
    TC_TRY(on_advance(st, ev->time_ns, out));
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

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    st->now_ns = now_ns > st->now_ns ? now_ns : st->now_ns;
    return run(st, out);
}

/* Nothing more comes: what was waiting for the rest of its instant is told now. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct pcie_state *st = state;
    if (now_ns != TC_TIME_NONE) {
        TC_TRY(on_tick(state, now_ns, out));
    }
    st->finishing = true;
    tc__waiting_hasten(&st->errors_due, st->now_ns);
    tc__waiting_hasten(&st->links_due, st->now_ns);
    tc_status status = run(st, out);
    st->finishing = false;
    return status;
}

static void stats(const void *state, struct tc_detector_stats *out)
{
    const struct pcie_state *st = state;
    *out = (struct tc_detector_stats){
        .dropped = st->errors.ring.dropped_count + st->links.ring.dropped_count,
        .late = st->late,
        .ignored = st->ignored,
    };
}

static const struct tc_param PARAMS[] = {
    {.name = "window",
     .type = TC_PARAM_DURATION,
     .value = 300 * TC_SECOND,
     .min = TC_SECOND,
     .max = 86400 * TC_SECOND,
     .offset = offsetof(struct pcie_state, window_ns),
     .help = "time in which corrected errors are counted, and of quiet that ends a storm"},
    {.name = "corrected",
     .type = TC_PARAM_COUNT,
     .value = 50,
     .min = 2,
     .max = 1000000,
     .offset = offsetof(struct pcie_state, corrected),
     .help = "corrected errors of one device in the window that make a storm"},
    {.name = "busy",
     .type = TC_PARAM_COUNT,
     .value = 10,
     .min = 1,
     .max = 100,
     .offset = offsetof(struct pcie_state, busy_percent),
     .help = "utilisation in percent from which on a GPU is busy"},
    {.name = "busy_for",
     .type = TC_PARAM_DURATION,
     .value = 30 * TC_SECOND,
     .min = TC_SECOND,
     .max = 86400 * TC_SECOND,
     .offset = offsetof(struct pcie_state, busy_ns),
     .help = "how long a link must be below its maximum while its GPU is busy"},
    {.name = "samples",
     .type = TC_PARAM_COUNT,
     .value = 3,
     .min = 1,
     .max = 1000,
     .offset = offsetof(struct pcie_state, samples),
     .help = "samples in a row that must show it"},
    {.name = "replays",
     .type = TC_PARAM_COUNT,
     .value = 8,
     .min = 1,
     .max = 1000000000,
     .offset = offsetof(struct pcie_state, replay_count),
     .help = "PCIe replays from which on they are told with a slow link"},
};

const struct tc_detector tc_detector_pcie_aer = {
    .id = "5",
    .name = "pcie_aer",
    .summary = "PCIe errors of a device, or a link below its maximum while the GPU is busy",
    .kinds = TC_EVENT_BIT(TC_EVENT_AER) | TC_EVENT_BIT(TC_EVENT_PCIE_LINK) |
             TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |
             TC_EVENT_BIT(TC_EVENT_NETWORK_FAULT),
    .state_bytes = sizeof(struct pcie_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
    .stats = stats,
};
