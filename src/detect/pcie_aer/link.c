/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of the links of GPUs. The samples of one scrape come as one event each,
 * in any order: they are gathered, and looked at together once time has passed.
 *
 * A link that is not used slows down to save power, so its speed says something only
 * while the GPU is busy. Lanes are not given up for power, so a width below the
 * maximum is told, as partial, where no utilisation is known at all.
 */
#include "detect/pcie_aer/priv.h"

/* Exporters are scraped every few seconds to a minute; what is older than this is not "now". */
#define FRESH_NS (120 * TC_SECOND)
/* Samples of one scrape may be stamped a little apart: closer than this they count once. */
#define APART_NS TC_SECOND
/* PCI Express 8.0 is the newest generation that has been announced. */
#define GEN_MAX 8
#define WIDTH_MAX 32

#define RING_BYTES ((size_t)16 << 20)

static const struct tc_record_type LINK = {
    .size = sizeof(struct pcie_link),
    .texts = {TC_TEXT(struct pcie_link, node), TC_TEXT(struct pcie_link, uuid)},
    .keys = {{TC_FIELD(struct pcie_link, id)}},
};

static struct pcie_link *get_link(struct pcie_state *st, const struct tc_gpu *gpu, int64_t time_ns)
{
    struct pcie_link key = {.id = gpu->id,
                            .node = gpu->node,
                            .uuid = gpu->uuid,
                            .pci = gpu->pci,
                            .index = gpu->index,
                            .sample_ns = TC_TIME_NONE,
                            .resolved_ns = TC_TIME_NONE};
    struct pcie_link *known = tc__window_get(&st->links, &key);
    for (unsigned i = 1; known == NULL && i < TC_GPU_IDS && tc_gpu_id(gpu, i) != 0; i++) {
        struct pcie_link other = {.id = tc_gpu_id(gpu, i)};
        known = tc__window_get(&st->links, &other);
    }
    return known != NULL ? known : tc__window_add(&st->links, &key, time_ns);
}

static bool fresh(const struct pcie_gauge *g, int64_t at_ns)
{
    return g->mark.known && at_ns - g->mark.time_ns <= FRESH_NS;
}

/* Below its maximum now; the maximum may have been sampled long ago. */
static bool is_below(const struct pcie_link *l, enum pcie_measure now, enum pcie_measure max)
{
    return fresh(&l->now[now], l->sample_ns) && l->now[max].mark.known &&
           l->now[now].value < l->now[max].value;
}

static bool has_rate(const struct pcie_link *l)
{
    return l->now[PCIE_GEN].mark.known || l->now[PCIE_WIDTH].mark.known;
}

/* The kernel's line says that lanes are missing. */
static bool line_is_below(const struct pcie_link *l)
{
    return l->line.known && l->line_width < l->line_width_max;
}

static void extend(struct pcie_link *l, const struct tc_mark *sample, bool busy)
{
    struct pcie_run *run = &l->low;
    if (run->samples > 0 && l->sample_ns - run->last_ns > FRESH_NS) {
        run->samples = 0;
    }
    if (run->samples == 0) {
        *run = (struct pcie_run){.first_ns = l->sample_ns, .first = *sample};
        l->replay_sum = 0;
        l->replay_mark.known = false;
    } else if (l->sample_ns - run->last_ns < APART_NS) {
        return;
    }
    run->samples++;
    run->last_ns = l->sample_ns;
    run->last = *sample;
    run->busy.known = false;
    if (busy) {
        run->busy = l->now[PCIE_UTIL].mark;
        run->util = l->now[PCIE_UTIL].value;
    }
}

/* The link has been below its maximum for long enough: told once, and again when it gets worse. */
static tc_status tell_if_low(struct pcie_state *st, struct pcie_link *l, bool partial,
                             const struct tc_sink *out)
{
    const struct pcie_run *run = &l->low;
    if (run->samples < st->samples || run->last_ns - run->first_ns < st->busy_ns) {
        return TC_OK;
    }
    double gen = l->now[PCIE_GEN].value;
    double width = has_rate(l) ? l->now[PCIE_WIDTH].value : (double)l->line_width;
    bool worse = gen < l->told_gen || width < l->told_width;
    if (l->open && !worse && (!l->partial || partial)) {
        return TC_OK;
    }
    bool again = l->resolved_ns != TC_TIME_NONE && run->first_ns - l->resolved_ns <= st->window_ns;
    if (!l->open && !again) {
        l->since_ns = run->first_ns;
    }
    l->partial = partial;
    TC_TRY(tc__pcie_report_link(l, st, NULL, out));
    l->open = true;
    l->told_gen = gen;
    l->told_width = width;
    l->told_ns = run->last_ns;
    return TC_OK;
}

/* Looks at what one scrape told. */
static tc_status close_sample(struct pcie_state *st, struct pcie_link *l, const struct tc_sink *out)
{
    if (!l->unclosed) {
        return TC_OK;
    }
    l->unclosed = false;
    bool known = fresh(&l->now[PCIE_UTIL], l->sample_ns);
    bool busy = known && l->now[PCIE_UTIL].value >= (double)st->busy_percent;
    bool narrow = is_below(l, PCIE_WIDTH, PCIE_WIDTH_MAX);
    bool low = narrow || is_below(l, PCIE_GEN, PCIE_GEN_MAX);
    if (!has_rate(l)) {
        /* Only the kernel's line: every busy sample after it counts. */
        if (line_is_below(l) && busy && l->now[PCIE_UTIL].mark.time_ns == l->sample_ns) {
            extend(l, &l->line, true);
            return tell_if_low(st, l, true, out);
        }
        l->low.samples = known && !busy ? 0 : l->low.samples;
        return TC_OK;
    }
    if (!l->sampled) {
        return TC_OK;
    }
    if (low && (busy || (narrow && !known))) {
        extend(l, &l->now[narrow ? PCIE_WIDTH : PCIE_GEN].mark, busy);
        return tell_if_low(st, l, !busy, out);
    }
    if (l->open && !low && (busy || l->partial)) {
        const struct tc_mark *back = &l->now[PCIE_WIDTH].mark;
        back = back->known && back->time_ns == l->sample_ns ? back : &l->now[PCIE_GEN].mark;
        TC_TRY(tc__pcie_report_link(l, st, back, out));
        l->open = false;
        l->resolved_ns = l->sample_ns;
    }
    l->low.samples = 0;
    return TC_OK;
}

static bool waits_before(const void *a, const void *b)
{
    const struct pcie_link *x = a;
    const struct pcie_link *y = b;
    if (x->sample_ns != y->sample_ns) {
        return x->sample_ns < y->sample_ns;
    }
    int order = tc_slice_cmp(x->node, y->node);
    order = order != 0 ? order : tc_slice_cmp(x->uuid, y->uuid);
    return order != 0 ? order < 0 : x->index < y->index;
}

bool tc__pcie_links_init(struct pcie_state *st)
{
    size_t links = RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct pcie_link), 0);
    return tc__window_open(&st->links, &st->base, &LINK, RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->links_due, st->base.arena, &st->links, links, waits_before);
}

static bool read_measure(const struct tc_ev_metric *m, enum pcie_measure *out)
{
    /* Exporters say 0 for a rate that they cannot read. */
    static const struct {
        uint16_t metric;
        double min;
        double max;
    } measures[PCIE_MEASURES] = {
        [PCIE_GEN] = {TC_METRIC_GPU_PCIE_GEN, 1, GEN_MAX},
        [PCIE_GEN_MAX] = {TC_METRIC_GPU_PCIE_GEN_MAX, 1, GEN_MAX},
        [PCIE_WIDTH] = {TC_METRIC_GPU_PCIE_WIDTH, 1, WIDTH_MAX},
        [PCIE_WIDTH_MAX] = {TC_METRIC_GPU_PCIE_WIDTH_MAX, 1, WIDTH_MAX},
        [PCIE_UTIL] = {TC_METRIC_GPU_UTIL, 0, 100},
    };
    for (unsigned i = 0; i < PCIE_MEASURES; i++) {
        if (measures[i].metric == m->metric) {
            *out = (enum pcie_measure)i;
            return m->value >= measures[i].min && m->value <= measures[i].max;
        }
    }
    return false;
}

static void add_replays(struct pcie_link *l, const struct tc_event *ev)
{
    double rise = tc__counter_rise(&l->replays, ev->metric.value, ev->time_ns);
    if (rise > 0) {
        l->replay_sum += rise;
        l->replay_mark = tc__mark(ev);
    }
}

tc_status tc__pcie_metric(struct pcie_state *st, const struct tc_event *ev,
                          const struct tc_sink *out)
{
    enum pcie_measure measure = PCIE_UTIL;
    bool replays = ev->metric.metric == TC_METRIC_GPU_PCIE_REPLAYS;
    if (!replays && !read_measure(&ev->metric, &measure)) {
        return TC_OK;
    }
    const struct tc_gpu *gpu = tc_directory_event_gpu(st->directory);
    struct pcie_link *l = gpu == NULL ? NULL : get_link(st, gpu, ev->time_ns);
    if (l == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    if (replays) {
        if (ev->time_ns > l->sample_ns) {
            TC_TRY(close_sample(st, l, out)); /* so that a run begins before its replays */
        }
        add_replays(l, ev);
        return TC_OK;
    }
    if (ev->time_ns < l->sample_ns) {
        st->base.late++;
        return TC_OK;
    }
    if (ev->time_ns > l->sample_ns) {
        TC_TRY(close_sample(st, l, out));
        l->sample_ns = ev->time_ns;
        l->sampled = false;
        l->unclosed = true;
    }
    struct pcie_gauge *g = &l->now[measure];
    struct tc_mark mark = tc__mark(ev);
    /* Of two values at one time the higher, whichever came first. */
    bool second = g->mark.known && g->mark.time_ns == ev->time_ns;
    if (!second || ev->metric.value > g->value ||
        (ev->metric.value >= g->value && tc__mark_before(&mark, &g->mark))) {
        *g = (struct pcie_gauge){ev->metric.value, mark};
    }
    l->sampled = l->sampled || measure == PCIE_GEN || measure == PCIE_WIDTH;
    bool telling = l->open || line_is_below(l) || is_below(l, PCIE_WIDTH, PCIE_WIDTH_MAX) ||
                   is_below(l, PCIE_GEN, PCIE_GEN_MAX);
    if (telling && l->waits) {
        tc__waiting_hasten(&st->links_due, ev->time_ns + 1);
    } else if (telling) {
        l->waits = tc__waiting_add(&st->links_due, l, ev->time_ns + 1);
    }
    return TC_OK;
}

/*
 * "available PCIe bandwidth, limited by": said when a device is found, before its driver
 * trains the link, so the speed means nothing yet. And a slow slot above the device is how
 * the machine was built: only lanes that are missing at the device itself are noted.
 */
void tc__pcie_line(struct pcie_state *st, const struct tc_event *ev)
{
    const struct tc_ev_aer *a = &ev->aer;
    bool itself = !a->reporter.known || tc_bdf_eq(a->reporter, ev->scope.pci);
    if (!ev->scope.pci.known || a->width < 1 || a->width_max < 1 || !itself) {
        st->base.ignored += !ev->scope.pci.known;
        return;
    }
    const struct tc_gpu *gpu = tc_directory_event_gpu(st->directory);
    struct pcie_link *l = gpu == NULL ? NULL : get_link(st, gpu, ev->time_ns);
    if (l == NULL) {
        return;
    }
    struct tc_mark mark = tc__mark(ev);
    if (tc__mark_last(&l->line, &mark)) {
        l->line_width = a->width;
        l->line_width_max = a->width_max;
    }
}

static tc_status visit(void *state, void *record, int64_t now_ns, const struct tc_sink *out,
                       int64_t *io_due_ns)
{
    struct pcie_state *st = state;
    struct pcie_link *l = record;
    if (now_ns > l->sample_ns || st->finishing) {
        TC_TRY(close_sample(st, l, out));
        if (st->finishing && l->open && l->low.samples > 0 && l->low.last_ns > l->told_ns) {
            l->told_ns = l->low.last_ns;
            TC_TRY(tc__pcie_report_link(l, st, NULL, out)); /* for how long, in the end */
        }
        *io_due_ns = l->open ? now_ns + FRESH_NS : TC_WAITING_NEVER;
    } else {
        *io_due_ns = l->sample_ns + 1;
    }
    l->waits = *io_due_ns != TC_WAITING_NEVER;
    return TC_OK;
}

tc_status tc__pcie_links_run(struct pcie_state *st, int64_t now_ns, const struct tc_sink *out)
{
    return tc__waiting_run(&st->links_due, now_ns, visit, st, out);
}
