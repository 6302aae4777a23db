/* SPDX-License-Identifier: Apache-2.0 */
/* What pcie_aer says. */
#include "detect/pcie_aer/priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.pcie_rate_collapse." name)

const char *const tc__pcie_severities[PCIE_SEVERITIES + 1] = {
    [PCIE_CORRECTED] = "corrected", [PCIE_NONFATAL] = "nonfatal", [PCIE_FATAL] = "fatal"};
static const char *const SORTS[] = {
    [PCIE_IS_GPU] = "gpu", [PCIE_IS_NIC] = "nic", [PCIE_IS_OTHER] = "other"};

/* Another device told of it: the port above. */
static bool has_reporter(const struct pcie_errors *e)
{
    return e->reporter.known && !tc_bdf_eq(e->reporter, e->pci);
}

static struct tc_arg node_name(struct tc_slice node)
{
    return tc_as_known(node, "(unknown)");
}

/* "GPU 3 (0000:b3:00.0)", "NIC ens1f0 (0000:5c:00.0)", "PCIe device 0000:00:02.0" */
static void write_device(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct pcie_place *p = arg->object;
    struct tc_arg name = TC_ARG("");
    bool bracket = false;
    if (p->sort == PCIE_IS_GPU && p->scope.gpu_index >= 0) {
        name = TC_ARG(p->scope.gpu_index);
        bracket = true;
    } else if (p->sort == PCIE_IS_GPU && !p->scope.pci.known) {
        name = TC_ARG(p->scope.gpu_uuid);
    } else if (p->sort == PCIE_IS_NIC) {
        name = TC_ARG(p->nic);
        bracket = p->nic.len > 0;
    }
    static const char *const words[] = {
        [PCIE_IS_GPU] = "GPU", [PCIE_IS_NIC] = "NIC", [PCIE_IS_OTHER] = "PCIe device"};
    tc_format(b, "{} {}{}", words[p->sort], name,
              tc_when(p->scope.pci.known, bracket ? " ({})" : "{}", tc_as_pci(p->scope.pci)));
}

static struct tc_arg device(const struct pcie_place *p)
{
    return tc_as_written(write_device, p);
}

static struct tc_slice errors_headline(struct tc_draft *d, const struct pcie_errors *e,
                                       const struct pcie_place *p, enum pcie_severity worst,
                                       int64_t window_ns)
{
    int64_t count = e->counts[worst];
    struct tc_slice layer = e->layers[worst];
    return tc__draft_format(
        d, "{} on node {} reported {} {} PCIe error{}{}{}{}", device(p), node_name(e->node),
        count > 1 ? TC_ARG(count) : TC_ARG("a"), tc__pcie_severities[worst],
        tc_when(count > 1, "s in {}",
                tc__as_length(e->last[worst].time_ns - e->first[worst].time_ns)),
        tc_when(e->errors[worst].len > 0, ": {}", tc__pcie_text(&e->errors[worst])),
        tc_when(layer.len > 0, " ({} layer)",
                tc_slice_eq(layer, TC_LIT("data_link")) ? TC_LIT("data link") : layer),
        tc_when(d->finding.resolved, "; none for {}", tc_as_duration(window_ns)));
}

static struct tc_slice errors_remediation(struct tc_draft *d, const struct pcie_errors *e,
                                          const struct pcie_place *p, enum pcie_severity worst)
{
    const char *advice =
        worst == PCIE_FATAL ? "Drain node {} and power-cycle it; check seating, riser, cables and "
                              "power of {}{}; replace it, then its slot or riser, if it comes back."
        : worst == PCIE_NONFATAL
            ? "On node {}: a transaction was lost. Restart the work that used it, then check "
              "firmware and seating of {}{}; replace it, then its slot or riser, if it comes back."
            : "On node {}: nothing was lost yet, but the link is marginal. At the next drain "
              "reseat and clean the contacts of {}{}; replace it, then its slot or riser, if it "
              "comes back.";
    return tc__draft_format(d, advice, node_name(e->node), device(p),
                            p->sort == PCIE_IS_OTHER ? " and of what hangs below it (lspci -t)"
                                                     : "");
}

static void put_report(struct tc_draft *d, const struct pcie_errors *e, enum pcie_severity severity,
                       const struct tc_mark *mark)
{
    bool first = tc__mark_same(mark, &e->first[severity]);
    bool instant = mark->time_ns == e->first[severity].time_ns;
    bool many = e->counts[severity] > 1;
    struct tc_slice uid = tc__draft_format(d, "aer:{}:{}:{}:{}{}", e->node, tc_as_pci(e->pci),
                                           tc__pcie_severities[severity], tc_as_time(mark->time_ns),
                                           instant && !first ? ":last" : "");
    tc__draft_piece(
        d, TC_LIT("aer"), mark->time_ns, mark->raw, tc__mark_uid(mark, uid),
        tc__draft_format(
            d, "{} {} error{} of {}{}",
            many ? tc_when(true, "{} of {}", first ? "First" : "Last", e->counts[severity])
                 : TC_ARG("A"),
            tc__pcie_severities[severity], many ? "s" : "", tc_as_pci(e->pci),
            tc_when(has_reporter(e), ", reported by port {}", tc_as_pci(e->reporter))));
}

static void errors_attrs(struct tc_draft *d, const struct pcie_errors *e,
                         const struct pcie_place *p, enum pcie_severity worst)
{
    tc__draft_attr_text(d, KEY("device_type"), tc_slice_cstr(SORTS[p->sort]));
    tc__draft_attr_text(d, KEY("device"), p->nic);
    tc__draft_attr_text(d, KEY("device_id"), tc__pcie_text(&e->device_id));
    if (has_reporter(e)) {
        tc__draft_attr_text(d, KEY("reporter"), tc__draft_format(d, "{}", tc_as_pci(e->reporter)));
    }
    tc__draft_attr_text(d, KEY("errors"), tc__pcie_text(&e->errors[worst]));
    tc__draft_attr_text(d, KEY("layer"), e->layers[worst]);
    tc__draft_attr_some(d, KEY("fatal_count"), e->counts[PCIE_FATAL]);
    tc__draft_attr_some(d, KEY("nonfatal_count"), e->counts[PCIE_NONFATAL]);
    tc__draft_attr_some(d, KEY("corrected_count"), e->counts[PCIE_CORRECTED]);
}

static enum tc_severity errors_severity(const struct pcie_place *p, enum pcie_severity worst)
{
    /* What a GPU or a card to the network loses, a job loses. */
    bool critical = worst == PCIE_FATAL || (worst == PCIE_NONFATAL && p->sort != PCIE_IS_OTHER);
    return critical ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING;
}

tc_status tc__pcie_report_errors(const struct pcie_errors *e, const struct pcie_place *p,
                                 int64_t window_ns, bool resolved, bool incomplete,
                                 struct tc_arena *scratch, const struct tc_sink *out)
{
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_pcie_aer, scratch);
    struct tc_finding *f = &d.finding;
    enum pcie_severity worst = PCIE_CORRECTED;
    f->first_ns = INT64_MAX;
    for (unsigned i = 0; i < PCIE_SEVERITIES; i++) {
        if (e->counts[i] > 0) {
            worst = (enum pcie_severity)i;
            f->first_ns = e->first[i].time_ns < f->first_ns ? e->first[i].time_ns : f->first_ns;
            f->last_ns = e->last[i].time_ns > f->last_ns ? e->last[i].time_ns : f->last_ns;
        }
    }
    f->key = tc__draft_format(&d, "{}|{}|errors|{}", e->node, tc_as_pci(e->pci),
                              tc_as_time(e->since_ns));
    f->resolved = resolved;
    f->incomplete = incomplete;
    f->severity = errors_severity(p, worst);
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = worst == PCIE_CORRECTED ? TC_LIT("corrected_storm")
                                               : tc_slice_cstr(tc__pcie_severities[worst]);
    f->headline = errors_headline(&d, e, p, worst, window_ns);
    f->remediation = errors_remediation(&d, e, p, worst);
    f->scope = p->scope;
    errors_attrs(&d, e, p, worst);
    for (unsigned i = PCIE_SEVERITIES; i-- > 0;) {
        if (e->counts[i] > 0) {
            put_report(&d, e, (enum pcie_severity)i, &e->first[i]);
            if (!tc__mark_same(&e->first[i], &e->last[i])) {
                put_report(&d, e, (enum pcie_severity)i, &e->last[i]);
            }
        }
    }
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}

/* ---- the rate of a link ---------------------------------------------------------------------- */

/* What the link runs at, and could: from samples, or from the kernel's line; 0 is not known. */
struct rate {
    int64_t gen;
    int64_t gen_max;
    int64_t width;
    int64_t width_max;
};

static int64_t whole(const struct pcie_gauge *g)
{
    return g->mark.known ? (int64_t)g->value : 0;
}

static struct rate rate_of(const struct pcie_link *l)
{
    struct rate r = {whole(&l->now[PCIE_GEN]), whole(&l->now[PCIE_GEN_MAX]),
                     whole(&l->now[PCIE_WIDTH]), whole(&l->now[PCIE_WIDTH_MAX])};
    if (r.gen == 0 && r.width == 0) {
        r.width = l->line_width;
        r.width_max = l->line_width_max;
    }
    return r;
}

/* "Gen 4 x16"; 0 is not known. */
static void write_rate(struct tc_buf *b, const struct tc_arg *arg)
{
    int64_t gen = arg->integer;
    size_t width = arg->limit;
    tc_format(b, "{}{}{}", tc_when(gen > 0, "Gen {}", gen), gen > 0 && width > 0 ? " " : "",
              tc_when(width > 0, "x{}", width));
}

static struct tc_arg rate(int64_t gen, int64_t width)
{
    return (struct tc_arg){.write = write_rate, .integer = gen, .limit = (size_t)width};
}

static struct tc_slice link_headline(struct tc_draft *d, const struct pcie_link *l,
                                     const struct pcie_place *p, bool back)
{
    struct rate r = rate_of(l);
    if (back) {
        return tc__draft_format(d, "{} on node {} is back at PCIe {}", device(p),
                                node_name(p->scope.node), rate(r.gen, r.width));
    }
    return tc__draft_format(d, "{} on node {} runs at PCIe {} instead of {}{}, for {}", device(p),
                            node_name(p->scope.node), rate(r.gen, r.width),
                            rate(r.gen > 0 ? r.gen_max : 0, r.width > 0 ? r.width_max : 0),
                            tc_when(l->low.busy.known, " while busy ({} %)", (int64_t)l->low.util),
                            tc__as_length(l->low.last_ns - l->low.first_ns));
}

static struct tc_slice link_remediation(struct tc_draft *d, const struct pcie_place *p)
{
    return tc__draft_format(
        d,
        "On node {}: drain it, reset {} or reboot so that the link trains again; if it comes back "
        "below its maximum, reseat the board and its riser, then replace them.",
        node_name(p->scope.node), device(p));
}

static void put_link_evidence(struct tc_draft *d, const struct pcie_place *p, struct tc_slice kind,
                              const struct tc_mark *mark, struct tc_slice description)
{
    struct tc_slice uid = tc__draft_format(d, "{}:{}:{}:{}", kind, p->scope.node,
                                           tc_as_gpu_id(&p->scope), tc_as_time(mark->time_ns));
    tc__draft_piece(d, kind, mark->time_ns, mark->raw, tc__mark_uid(mark, uid), description);
}

static void link_evidence(struct tc_draft *d, const struct pcie_link *l, const struct pcie_place *p,
                          int64_t replay_count, const struct tc_mark *back)
{
    bool from_line = tc__mark_same(&l->low.first, &l->line);
    if (!from_line) {
        put_link_evidence(d, p, TC_LIT("link_sample"), &l->low.first,
                          TC_LIT("First sample of the link below its maximum"));
        if (!tc__mark_same(&l->low.first, &l->low.last)) {
            put_link_evidence(
                d, p, TC_LIT("link_sample"), &l->low.last,
                tc__draft_format(d, "Sample {} in a row below the maximum", l->low.samples));
        }
    }
    if (l->line.known && l->line_width < l->line_width_max) {
        put_link_evidence(d, p, TC_LIT("pcie_link"), &l->line,
                          TC_LIT("The kernel found fewer lanes than the device has"));
    }
    if (l->low.busy.known) {
        put_link_evidence(d, p, TC_LIT("utilization"), &l->low.busy,
                          tc__draft_format(d, "The GPU was busy: {} %", (int64_t)l->low.util));
    }
    if (l->replay_mark.known && l->replay_sum >= (double)replay_count) {
        put_link_evidence(d, p, TC_LIT("replays"), &l->replay_mark,
                          tc__draft_format(d,
                                           "{} packets sent again since the link is below its "
                                           "maximum",
                                           (int64_t)l->replay_sum));
    }
    if (back != NULL) {
        put_link_evidence(d, p, TC_LIT("link_sample"), back,
                          TC_LIT("The link is at its maximum again"));
    }
}

static void link_attrs(struct tc_draft *d, const struct pcie_link *l, int64_t replay_count)
{
    struct rate r = rate_of(l);
    tc__draft_attr_text(d, KEY("device_type"), TC_LIT("gpu"));
    tc__draft_attr_some(d, KEY("gen"), r.gen);
    tc__draft_attr_some(d, KEY("gen_max"), r.gen_max);
    tc__draft_attr_some(d, KEY("width"), r.width);
    tc__draft_attr_some(d, KEY("width_max"), r.width_max);
    if (l->low.busy.known) {
        tc__draft_attr_int(d, KEY("utilization"), (int64_t)l->low.util);
    }
    tc__draft_attr_int(d, KEY("seconds"), (l->low.last_ns - l->low.first_ns) / TC_SECOND);
    if (l->replay_mark.known && l->replay_sum >= (double)replay_count) {
        tc__draft_attr_int(d, KEY("replays"), (int64_t)l->replay_sum);
    }
}

tc_status tc__pcie_report_link(const struct pcie_link *l, const struct pcie_state *st,
                               const struct tc_mark *back, const struct tc_sink *out)
{
    struct pcie_place p = {.scope = tc__gpu_scope(l->node, l->uuid, l->pci, l->index),
                           .sort = PCIE_IS_GPU};
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_pcie_aer, st->base.scratch);
    struct tc_finding *f = &d.finding;
    /* By what was known of the GPU when it was first sampled. */
    f->key = tc__draft_format(&d, "{}|{}|rate|{}", l->node, tc_as_gpu_id(&p.scope),
                              tc_as_time(l->since_ns));
    (void)tc_directory_complete(st->directory, &p.scope);
    f->resolved = back != NULL;
    f->incomplete = st->links.lost_ns >= l->since_ns;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = l->partial ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = TC_LIT("rate_collapse");
    f->headline = link_headline(&d, l, &p, back != NULL);
    f->remediation = link_remediation(&d, &p);
    f->first_ns = l->since_ns;
    f->last_ns = back != NULL ? back->time_ns : l->low.last_ns;
    f->scope = p.scope;
    link_attrs(&d, l, st->replay_count);
    link_evidence(&d, l, &p, st->replay_count, back);
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
