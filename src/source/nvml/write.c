/* SPDX-License-Identifier: Apache-2.0 */
/* What was read, as bytes to store: Prometheus text in the names of dcgm-exporter, and events. */
#include "base/format.h"
#include "codec/event_json/event_json.h"
#include "event/metric.h"
#include "source/nvml/priv.h"

#include <stdio.h>

/* One sample, or one event: names of a GPU are short, and that of a node has up to 255 bytes, each
 * of which may be escaped. */
#define LINE_MAX_BYTES ((size_t)4096)
/* States of event/metric.def. */
#define LINK_DOWN 2
#define LINK_UP 3

static const struct {
    const char *name;
    const char *type;
    uint64_t divisor;
} READINGS[] = {
#define READING(key, name, type, divisor) {name, type, divisor},
#include "source/nvml/readings.def"
#undef READING
};

/* As nvmlNvLinkErrorCounter_t counts. */
static const char *const COUNTERS[TC__NVML_COUNTERS] = {
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT",
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT",
};

/* ---- samples ---- */

static void write_labels(const struct tc__nvml *n, const struct tc__nvml_gpu *g, struct tc_buf *b)
{
    tc_buf_lit(b, "{gpu=\"");
    tc_buf_u64(b, g->index);
    tc_buf_char(b, '"');
    if (g->uuid[0] != '\0') {
        (void)tc_format(b, ",UUID=\"{}\"", g->uuid);
    }
    if (g->pci.known) {
        tc_buf_lit(b, ",pci_bus_id=\"");
        tc_buf_bdf(b, g->pci);
        tc_buf_char(b, '"');
    }
    tc_buf_lit(b, ",Hostname=");
    tc_buf_json(b, tc_slice_cstr(n->node));
    tc_buf_lit(b, "} ");
}

static void write_value(struct tc_buf *b, uint64_t value, uint64_t divisor)
{
    tc_buf_u64(b, value / divisor);
    if (divisor == 1000) {
        char digits[8];
        (void)snprintf(digits, sizeof digits, ".%03u", (unsigned)(value % divisor));
        tc_buf_str(b, tc_slice_cstr(digits));
    }
    tc_buf_char(b, '\n');
}

static void write_readings(const struct tc__nvml *n, size_t key, struct tc_grow *out)
{
    bool is_first = true;
    for (size_t i = 0; i < n->count; i++) {
        const struct tc__nvml_gpu *g = &n->gpus[i];
        if (!g->readings[key].known || !tc_grow_room(out, LINE_MAX_BYTES)) {
            continue;
        }
        if (is_first) {
            (void)tc_format(&out->buf, "# TYPE {} {}\n", READINGS[key].name, READINGS[key].type);
        }
        is_first = false;
        tc_buf_str(&out->buf, tc_slice_cstr(READINGS[key].name));
        write_labels(n, g, &out->buf);
        write_value(&out->buf, g->readings[key].value, READINGS[key].divisor);
    }
}

/* One link has a line once it counted something; the sum of all has one always, so that the first
 * error of a link is a rise. `link`: TC__NVML_LINKS_MAX is the sum. */
static bool link_value(const struct tc__nvml_gpu *g, size_t counter, size_t link, uint64_t *out)
{
    uint64_t sum = 0;
    bool known = false;
    if (link < TC__NVML_LINKS_MAX) {
        *out = g->counters[counter][link].value;
        return *out > 0;
    }
    for (size_t i = 0; i < TC__NVML_LINKS_MAX; i++) {
        uint64_t value = g->counters[counter][i].value;
        sum = sum > UINT64_MAX - value ? UINT64_MAX : sum + value;
        known = known || g->counters[counter][i].known;
    }
    *out = sum;
    return known;
}

static void write_counters(const struct tc__nvml *n, size_t counter, size_t link,
                           struct tc_grow *out)
{
    char name[64];
    bool is_first = true;
    if (link < TC__NVML_LINKS_MAX) {
        (void)snprintf(name, sizeof name, "%s_L%zu", COUNTERS[counter], link);
    } else {
        (void)snprintf(name, sizeof name, "%s_TOTAL", COUNTERS[counter]);
    }
    for (size_t i = 0; i < n->count; i++) {
        uint64_t value = 0;
        if (!link_value(&n->gpus[i], counter, link, &value) || !tc_grow_room(out, LINE_MAX_BYTES)) {
            continue;
        }
        if (is_first) {
            (void)tc_format(&out->buf, "# TYPE {} counter\n", name);
        }
        is_first = false;
        tc_buf_str(&out->buf, tc_slice_cstr(name));
        write_labels(n, &n->gpus[i], &out->buf);
        write_value(&out->buf, value, 1);
    }
}

void tc__nvml_write_metrics(const struct tc__nvml *n, struct tc_grow *out)
{
    for (size_t key = 0; key < TC__NVML_READINGS; key++) {
        write_readings(n, key, out);
    }
    for (size_t counter = 0; counter < TC__NVML_COUNTERS; counter++) {
        for (size_t link = 0; link <= TC__NVML_LINKS_MAX; link++) {
            write_counters(n, counter, link, out);
        }
    }
}

/* ---- events ---- */

static struct tc_event event_of(const struct tc__nvml *n, const struct tc__nvml_gpu *g,
                                enum tc_event_kind kind, int64_t now_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.time_ns = now_ns;
    ev.scope.node = tc_slice_cstr(n->node);
    if (g != NULL) {
        ev.scope.gpu_uuid = tc_slice_cstr(g->uuid);
        ev.scope.pci = g->pci;
        ev.scope.gpu_index = (int32_t)g->index;
    }
    return ev;
}

static void write_event(const struct tc_event *ev, struct tc_grow *out)
{
    if (tc_grow_room(out, LINE_MAX_BYTES)) {
        tc_event_json_write(&out->buf, ev, NULL);
        tc_buf_char(&out->buf, '\n');
    }
}

static void write_gpu(const struct tc__nvml *n, const struct tc__nvml_gpu *g, int64_t now_ns,
                      struct tc_grow *out)
{
    char text[TC__NVML_TEXT_MAX + 16];
    struct tc_event ev = event_of(n, g, TC_EVENT_GPU_INVENTORY, now_ns);
    if (g->serial[0] != '\0') {
        (void)snprintf(text, sizeof text, "serial %s", g->serial);
        ev.fault.message = tc_slice_cstr(text);
    }
    write_event(&ev, out);
}

/* Boards without a bridge have links too, and all of them are inactive: that says nothing. */
static bool has_links(const struct tc__nvml_gpu *g)
{
    bool has = false;
    for (size_t i = 0; i < TC__NVML_LINKS_MAX; i++) {
        has = has || g->links[i].value == 1 || g->links_told[i].known;
    }
    return has;
}

static uint64_t write_links(const struct tc__nvml *n, struct tc__nvml_gpu *g, bool all,
                            int64_t now_ns, struct tc_grow *out)
{
    uint64_t count = 0;
    bool has = has_links(g);
    for (size_t i = 0; i < TC__NVML_LINKS_MAX && has; i++) {
        bool is_news = g->links[i].known && (all || !g->links_told[i].known ||
                                             g->links_told[i].value != g->links[i].value);
        if (is_news) {
            char number[8];
            struct tc_event ev = event_of(n, g, TC_EVENT_METRIC, now_ns);
            (void)snprintf(number, sizeof number, "%zu", i);
            ev.metric.metric = TC_METRIC_NVLINK_STATE;
            ev.metric.device = tc_slice_cstr(number);
            ev.metric.value = g->links[i].value == 1 ? LINK_UP : LINK_DOWN;
            write_event(&ev, out);
            g->links_told[i] = g->links[i];
            count++;
        }
    }
    return count;
}

static uint64_t write_lost(const struct tc__nvml *n, struct tc__nvml_gpu *g, bool all,
                           int64_t now_ns, struct tc_grow *out)
{
    bool is_lost = g->code == TC__NVML_GPU_IS_LOST || g->code == TC__NVML_RESET_REQUIRED;
    bool is_news = is_lost && (all || g->code_told != g->code);
    g->code_told = g->code;
    if (is_news) {
        struct tc_event ev = event_of(n, g, TC_EVENT_GPU_HEALTH, now_ns);
        ev.health.system = TC_LIT("driver");
        ev.health.severity = TC_LIT("failure");
        ev.health.message = tc_slice_cstr(tc__nvml_code_text(g->code));
        write_event(&ev, out);
    }
    return is_news;
}

uint64_t tc__nvml_write_news(struct tc__nvml *n, bool all, int64_t now_ns, struct tc_grow *out)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n->count; i++) {
        struct tc__nvml_gpu *g = &n->gpus[i];
        if (all && g->uuid[0] != '\0') {
            write_gpu(n, g, now_ns, out);
            count++;
        }
        count += write_links(n, g, all, now_ns, out);
        count += write_lost(n, g, all, now_ns, out);
    }
    return count;
}

void tc__nvml_write_xid(const struct tc__nvml *n, const struct tc__nvml_event *event,
                        int64_t now_ns, struct tc_grow *out)
{
    char text[96] = "told by NVML";
    const struct tc__nvml_gpu *g = NULL;
    for (size_t i = 0; i < n->count; i++) {
        g = n->gpus[i].handle == event->gpu ? &n->gpus[i] : g;
    }
    struct tc_event ev = event_of(n, g, TC_EVENT_XID, now_ns);
    if (event->gpu_instance != UINT32_MAX) {
        (void)snprintf(text, sizeof text, "told by NVML, GPU instance %u, compute instance %u",
                       event->gpu_instance, event->compute_instance);
    }
    ev.xid.code = (int64_t)event->data;
    ev.xid.message = tc_slice_cstr(text);
    write_event(&ev, out);
}
