/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/nvidia_smi/priv.h"

/* A single value may be missing on a healthy board (the power of a laptop's GPU); of a GPU that is
 * gone, all are. */
#define ERRORS_ENOUGH 2
/* Below this performance state a link is slow to save power. */
#define PSTATE_BUSY_MAX 2
#define LINK_UP 3
#define LINK_DOWN 2

void tc__smi_begin(struct tc__lines *w, struct smi_gpu *g, const struct tc__line *line)
{
    *g = (struct smi_gpu){.line = *line, .begun = true, .index = -1, .pstate = -1};
    g->time_ns = tc__lines_time(w, line);
}

static tc_status deliver(struct tc__lines *w, const struct smi_gpu *g, struct tc_slice raw,
                         struct tc_event *ev)
{
    struct tc__line at = g->line;
    at.raw = raw.len > 0 ? raw : g->line.raw;
    ev->time_ns = g->time_ns;
    ev->scope.pci = g->pci;
    ev->scope.gpu_index = g->index;
    ev->scope.gpu_uuid = g->uuid;
    return tc__lines_deliver(w, &at, ev);
}

tc_status tc__smi_health(struct tc__lines *w, const struct smi_gpu *g, const struct tc__line *line,
                         struct tc_slice system, bool fails, struct tc_slice message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_HEALTH);
    ev.health.system = system;
    ev.health.severity = fails ? TC_LIT("failure") : TC_LIT("warning");
    ev.health.message = message;
    return deliver(w, g, line->raw, &ev);
}

static tc_status put_metric(struct tc__lines *w, const struct smi_gpu *g, enum tc_metric metric,
                            double value, struct tc_slice device, struct tc_slice raw)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.metric.device = device;
    return deliver(w, g, raw, &ev);
}

/* GT/s of a PCIe generation; 0 unknown. */
static double speed_of(double generation)
{
    static const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64};
    size_t at = generation >= 1 && generation < (double)TC_COUNT(speeds) ? (size_t)generation : 0;
    return speeds[at];
}

/* A link that runs below what it can do, and not to save power. */
static tc_status put_link(struct tc__lines *w, const struct smi_gpu *g)
{
    const struct smi_value *gen = &g->metrics[TC_METRIC_GPU_PCIE_GEN];
    const struct smi_value *gen_max = &g->metrics[TC_METRIC_GPU_PCIE_GEN_MAX];
    const struct smi_value *width = &g->metrics[TC_METRIC_GPU_PCIE_WIDTH];
    const struct smi_value *width_max = &g->metrics[TC_METRIC_GPU_PCIE_WIDTH_MAX];
    const struct smi_value *util = &g->metrics[TC_METRIC_GPU_UTIL];
    bool busy = g->pstate >= 0 && g->pstate <= PSTATE_BUSY_MAX && util->known && util->value > 0;
    bool narrow = width->known && width_max->known && width->value < width_max->value;
    bool slow = gen->known && gen_max->known && gen->value < gen_max->value && busy;
    if ((!narrow && !slow) || !g->pci.known) {
        return TC_OK;
    }
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_PCIE_LINK);
    ev.aer.width = width->known ? (int64_t)width->value : 0;
    ev.aer.width_max = width_max->known ? (int64_t)width_max->value : 0;
    ev.aer.speed_gts = speed_of(gen->value);
    ev.aer.speed_gts_max = speed_of(gen_max->value);
    return deliver(w, g, narrow ? width->raw : gen->raw, &ev);
}

/*
 * The states of the links, where at least one is active: boards without a bridge have links too,
 * and all of them are inactive.
 */
static tc_status put_links(struct tc__lines *w, const struct smi_gpu *g)
{
    static const char digits[SMI_LINKS_MAX][3] = {
        "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12",
        "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25",
        "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38",
        "39", "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50", "51",
        "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63"};
    bool any = false;
    for (size_t i = 0; i < SMI_LINKS_MAX; i++) {
        any = any || (g->links[i].known && g->links[i].value > 0);
    }
    for (size_t i = 0; any && i < SMI_LINKS_MAX; i++) {
        if (g->links[i].known) {
            double state = g->links[i].value > 0 ? LINK_UP : LINK_DOWN;
            TC_TRY(put_metric(w, g, TC_METRIC_NVLINK_STATE, state, tc_slice_cstr(digits[i]),
                              g->links[i].raw));
        }
    }
    return TC_OK;
}

static tc_status put_findings(struct tc__lines *w, const struct smi_gpu *g)
{
    struct tc__line at = g->line;
    if (g->lost || g->errors >= ERRORS_ENOUGH) {
        at.raw = g->error_raw;
        struct tc_slice says =
            g->lost ? TC_LIT("GPU is lost") : TC_LIT("the driver cannot read the GPU's values");
        TC_TRY(tc__smi_health(w, g, &at, TC_LIT("driver"), true, says));
    }
    if (g->finding.len > 0) {
        at.raw = g->finding_raw;
        TC_TRY(tc__smi_health(w, g, &at, g->finding_system, g->finding_fails, g->finding));
    }
    return TC_OK;
}

tc_status tc__smi_flush(struct tc__lines *w, struct smi_gpu *g)
{
    struct tc_event ev;
    if (!g->begun) {
        return TC_OK;
    }
    if (g->uuid.len > 0 && (g->pci.known || g->listed)) {
        struct smi_gpu named = {
            .line = g->line, .time_ns = g->time_ns, .uuid = g->uuid, .pci = g->pci};
        /* Numbers move up when a GPU is gone, so they name none from one list to the next. */
        named.index = g->pci.known ? g->index : -1;
        tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
        ev.fault.fault = g->listed ? TC_LIT("listed") : TC_EMPTY;
        ev.fault.count = g->attached > 0 ? g->attached : ev.fault.count;
        TC_TRY(deliver(w, &named, TC_EMPTY, &ev));
    }
    for (size_t i = 0; i < TC_METRIC_COUNT; i++) {
        const struct smi_value *v = &g->metrics[i];
        if (v->known) {
            TC_TRY(put_metric(w, g, (enum tc_metric)i, v->value, TC_EMPTY, v->raw));
        }
    }
    TC_TRY(put_link(w, g));
    TC_TRY(put_links(w, g));
    TC_TRY(put_findings(w, g));
    g->begun = false;
    return TC_OK;
}
