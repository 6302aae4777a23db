/* SPDX-License-Identifier: Apache-2.0 */
/* What pcie_aer says. */
#include "detect/finding_priv.h"
#include "detect/pcie_aer/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.pcie_rate_collapse." name)

#define ATTRS_MAX 16
#define EVIDENCE_MAX 8
/* All the words of a finding but for names that come from outside. */
#define WORDS_BYTES 4096
/* How often the names of a place are written, at most. */
#define NAMES_MAX 20

static const char *const SEVERITIES[PCIE_SEVERITIES] = {
    [PCIE_CORRECTED] = "corrected", [PCIE_NONFATAL] = "nonfatal", [PCIE_FATAL] = "fatal"};
static const char *const DISCRIMINATORS[PCIE_SEVERITIES] = {
    [PCIE_CORRECTED] = "corrected_storm", [PCIE_NONFATAL] = "nonfatal", [PCIE_FATAL] = "fatal"};
static const char *const SORTS[] = {
    [PCIE_IS_GPU] = "gpu", [PCIE_IS_NIC] = "nic", [PCIE_IS_OTHER] = "other"};

static void put_node(struct tc_buf *b, struct tc_slice node)
{
    tc_buf_str(b, node.len > 0 ? node : TC_LIT("(unknown)"));
}

static size_t text_bytes(const struct pcie_place *p)
{
    return WORDS_BYTES + NAMES_MAX * (p->scope.node.len + p->scope.gpu_uuid.len + PCIE_WORD_MAX);
}

/* "GPU 3 (0000:b3:00.0)", "NIC ens1f0 (0000:5c:00.0)", "PCIe device 0000:00:02.0" */
static void put_device(struct tc_buf *b, const struct pcie_place *p)
{
    bool bracket = false;
    if (p->sort == PCIE_IS_GPU) {
        tc_buf_lit(b, "GPU ");
        if (p->scope.gpu_index >= 0) {
            tc_buf_i64(b, p->scope.gpu_index);
            bracket = true;
        } else if (!p->scope.pci.known) {
            tc_buf_str(b, p->scope.gpu_uuid);
        }
    } else if (p->sort == PCIE_IS_NIC) {
        tc_buf_lit(b, "NIC ");
        tc_buf_str(b, p->nic);
        bracket = p->nic.len > 0;
    } else {
        tc_buf_lit(b, "PCIe device ");
    }
    if (p->scope.pci.known) {
        tc_buf_str(b, bracket ? TC_LIT(" (") : TC_EMPTY);
        tc_buf_bdf(b, p->scope.pci);
        tc_buf_str(b, bracket ? TC_LIT(")") : TC_EMPTY);
    }
}

static void put_seconds(struct tc_buf *b, int64_t ns)
{
    if (ns < TC_SECOND) {
        tc_buf_lit(b, "less than 1 s");
        return;
    }
    tc_buf_i64(b, ns / TC_SECOND);
    tc_buf_lit(b, " s");
}

static void put_layer(struct tc_buf *b, struct tc_slice layer)
{
    if (layer.len > 0) {
        tc_buf_lit(b, " (");
        tc_buf_str(b, tc_slice_eq(layer, TC_LIT("data_link")) ? TC_LIT("data link") : layer);
        tc_buf_lit(b, " layer)");
    }
}

static struct tc_slice errors_headline(struct tc_draft *d, const struct pcie_errors *e,
                                       const struct pcie_place *p, enum pcie_severity worst,
                                       int64_t window_ns)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    int64_t count = e->counts[worst];
    put_device(b, p);
    tc_buf_lit(b, " on node ");
    put_node(b, e->node);
    tc_buf_lit(b, " reported ");
    if (count > 1) {
        tc_buf_i64(b, count);
    } else {
        tc_buf_char(b, 'a');
    }
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc_slice_cstr(SEVERITIES[worst]));
    tc_buf_lit(b, " PCIe error");
    if (count > 1) {
        tc_buf_lit(b, "s in ");
        put_seconds(b, e->last[worst].time_ns - e->first[worst].time_ns);
    }
    if (e->errors[worst].len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, tc__pcie_text(&e->errors[worst]));
    }
    put_layer(b, e->layers[worst]);
    if (d->finding.resolved) {
        tc_buf_lit(b, "; none for ");
        put_seconds(b, window_ns);
    }
    return tc_buf_since(b, start);
}

static struct tc_slice errors_remediation(struct tc_draft *d, const struct pcie_errors *e,
                                          const struct pcie_place *p, enum pcie_severity worst)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    if (worst == PCIE_FATAL) {
        tc_buf_lit(b, "Drain node ");
        put_node(b, e->node);
        tc_buf_lit(b, " and power-cycle it; check seating, riser, cables and power of ");
    } else if (worst == PCIE_NONFATAL) {
        tc_buf_lit(b, "On node ");
        put_node(b, e->node);
        tc_buf_lit(b, ": a transaction was lost. Restart the work that used it, then check "
                      "firmware and seating of ");
    } else {
        tc_buf_lit(b, "On node ");
        put_node(b, e->node);
        tc_buf_lit(b, ": nothing was lost yet, but the link is marginal. At the next drain "
                      "reseat and clean the contacts of ");
    }
    put_device(b, p);
    if (p->sort == PCIE_IS_OTHER) {
        tc_buf_lit(b, " and of what hangs below it (lspci -t)");
    }
    tc_buf_lit(b, "; replace it, then its slot or riser, if it comes back.");
    return tc_buf_since(b, start);
}

static void put_report(struct tc_draft *d, const struct pcie_errors *e, enum pcie_severity severity,
                       const struct tc_mark *mark)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {.kind = TC_LIT("aer"), .time_ns = mark->time_ns, .raw = mark->raw};
    size_t start = b->len;
    tc_buf_lit(b, "aer:");
    tc_buf_str(b, e->node);
    tc_buf_char(b, ':');
    tc_buf_bdf(b, e->pci);
    tc_buf_char(b, ':');
    tc_buf_str(b, tc_slice_cstr(SEVERITIES[severity]));
    tc_buf_char(b, ':');
    tc_buf_time(b, mark->time_ns);
    bool first = tc__mark_same(mark, &e->first[severity]);
    bool instant = mark->time_ns == e->first[severity].time_ns;
    tc_buf_str(b, instant && !first ? TC_LIT(":last") : TC_EMPTY);
    out.uid = tc__mark_uid(mark, tc_buf_since(b, start));
    start = b->len;
    if (e->counts[severity] > 1) {
        tc_buf_str(b, first ? TC_LIT("First ") : TC_LIT("Last "));
        tc_buf_lit(b, "of ");
        tc_buf_i64(b, e->counts[severity]);
        tc_buf_char(b, ' ');
    } else {
        tc_buf_lit(b, "A ");
    }
    tc_buf_str(b, tc_slice_cstr(SEVERITIES[severity]));
    tc_buf_str(b, e->counts[severity] > 1 ? TC_LIT(" errors of ") : TC_LIT(" error of "));
    tc_buf_bdf(b, e->pci);
    if (e->reporter.known && !tc_bdf_eq(e->reporter, e->pci)) {
        tc_buf_lit(b, ", reported by port ");
        tc_buf_bdf(b, e->reporter);
    }
    out.description = tc_buf_since(b, start);
    tc__draft_evidence(d, out);
}

static void errors_attrs(struct tc_draft *d, const struct pcie_errors *e,
                         const struct pcie_place *p, enum pcie_severity worst)
{
    tc__draft_attr_text(d, KEY("device_type"), tc_slice_cstr(SORTS[p->sort]));
    tc__draft_attr_text(d, KEY("device"), p->nic);
    tc__draft_attr_text(d, KEY("device_id"), tc__pcie_text(&e->device_id));
    if (e->reporter.known && !tc_bdf_eq(e->reporter, e->pci)) {
        size_t start = d->text.len;
        tc_buf_bdf(&d->text, e->reporter);
        tc__draft_attr_text(d, KEY("reporter"), tc_buf_since(&d->text, start));
    }
    tc__draft_attr_text(d, KEY("errors"), tc__pcie_text(&e->errors[worst]));
    tc__draft_attr_text(d, KEY("layer"), e->layers[worst]);
    if (e->counts[PCIE_FATAL] > 0) {
        tc__draft_attr_int(d, KEY("fatal_count"), e->counts[PCIE_FATAL]);
    }
    if (e->counts[PCIE_NONFATAL] > 0) {
        tc__draft_attr_int(d, KEY("nonfatal_count"), e->counts[PCIE_NONFATAL]);
    }
    if (e->counts[PCIE_CORRECTED] > 0) {
        tc__draft_attr_int(d, KEY("corrected_count"), e->counts[PCIE_CORRECTED]);
    }
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
    tc__draft_begin(&d, &tc_detector_pcie_aer, scratch, text_bytes(p), ATTRS_MAX, EVIDENCE_MAX);
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
    size_t start = d.text.len;
    tc_buf_str(&d.text, e->node);
    tc_buf_char(&d.text, '|');
    tc_buf_bdf(&d.text, e->pci);
    tc_buf_lit(&d.text, "|errors|");
    tc_buf_time(&d.text, e->since_ns);
    f->key = tc_buf_since(&d.text, start);
    f->resolved = resolved;
    f->incomplete = incomplete;
    f->severity = errors_severity(p, worst);
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(DISCRIMINATORS[worst]);
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

/* "Gen 4 x16" */
static void put_rate(struct tc_buf *b, int64_t gen, int64_t width)
{
    if (gen > 0) {
        tc_buf_lit(b, "Gen ");
        tc_buf_i64(b, gen);
    }
    if (width > 0) {
        tc_buf_str(b, gen > 0 ? TC_LIT(" x") : TC_LIT("x"));
        tc_buf_i64(b, width);
    }
}

static struct tc_slice link_headline(struct tc_draft *d, const struct pcie_link *l,
                                     const struct pcie_place *p, bool back)
{
    struct tc_buf *b = &d->text;
    struct rate r = rate_of(l);
    size_t start = b->len;
    put_device(b, p);
    tc_buf_lit(b, " on node ");
    put_node(b, p->scope.node);
    if (back) {
        tc_buf_lit(b, " is back at PCIe ");
        put_rate(b, r.gen, r.width);
        return tc_buf_since(b, start);
    }
    tc_buf_lit(b, " runs at PCIe ");
    put_rate(b, r.gen, r.width);
    tc_buf_lit(b, " instead of ");
    put_rate(b, r.gen > 0 ? r.gen_max : 0, r.width > 0 ? r.width_max : 0);
    if (l->low.busy.known) {
        tc_buf_lit(b, " while busy (");
        tc_buf_i64(b, (int64_t)l->low.util);
        tc_buf_lit(b, " %)");
    }
    tc_buf_lit(b, ", for ");
    put_seconds(b, l->low.last_ns - l->low.first_ns);
    return tc_buf_since(b, start);
}

static struct tc_slice link_remediation(struct tc_draft *d, const struct pcie_place *p)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_lit(b, "On node ");
    put_node(b, p->scope.node);
    tc_buf_lit(b, ": drain it, reset ");
    put_device(b, p);
    tc_buf_lit(b, " or reboot so that the link trains again; if it comes back below its maximum, "
                  "reseat the board and its riser, then replace them.");
    return tc_buf_since(b, start);
}

static void put_link_evidence(struct tc_draft *d, const struct pcie_place *p, struct tc_slice kind,
                              const struct tc_mark *mark, struct tc_slice description)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, kind);
    tc_buf_char(b, ':');
    tc_buf_str(b, p->scope.node);
    tc_buf_char(b, ':');
    if (p->scope.gpu_uuid.len > 0) {
        tc_buf_str(b, p->scope.gpu_uuid);
    } else if (p->scope.pci.known) {
        tc_buf_bdf(b, p->scope.pci);
    } else {
        tc_buf_i64(b, p->scope.gpu_index);
    }
    tc_buf_char(b, ':');
    tc_buf_time(b, mark->time_ns);
    tc__draft_evidence(d, (struct tc_evidence){
                              .kind = kind,
                              .uid = tc__mark_uid(mark, tc_buf_since(b, start)),
                              .description = description,
                              .time_ns = mark->time_ns,
                              .raw = mark->raw,
                          });
}

static struct tc_slice number_text(struct tc_draft *d, struct tc_slice before, double value,
                                   struct tc_slice after)
{
    size_t start = d->text.len;
    tc_buf_str(&d->text, before);
    tc_buf_i64(&d->text, (int64_t)value);
    tc_buf_str(&d->text, after);
    return tc_buf_since(&d->text, start);
}

static void link_evidence(struct tc_draft *d, const struct pcie_link *l, const struct pcie_place *p,
                          int64_t replay_count, const struct tc_mark *back)
{
    bool from_line = tc__mark_same(&l->low.first, &l->line);
    if (!from_line) {
        put_link_evidence(d, p, TC_LIT("link_sample"), &l->low.first,
                          TC_LIT("First sample of the link below its maximum"));
        if (!tc__mark_same(&l->low.first, &l->low.last)) {
            put_link_evidence(d, p, TC_LIT("link_sample"), &l->low.last,
                              number_text(d, TC_LIT("Sample "), (double)l->low.samples,
                                          TC_LIT(" in a row below the maximum")));
        }
    }
    if (l->line.known && l->line_width < l->line_width_max) {
        put_link_evidence(d, p, TC_LIT("pcie_link"), &l->line,
                          TC_LIT("The kernel found fewer lanes than the device has"));
    }
    if (l->low.busy.known) {
        put_link_evidence(d, p, TC_LIT("utilization"), &l->low.busy,
                          number_text(d, TC_LIT("The GPU was busy: "), l->low.util, TC_LIT(" %")));
    }
    if (l->replay_mark.known && l->replay_sum >= (double)replay_count) {
        put_link_evidence(d, p, TC_LIT("replays"), &l->replay_mark,
                          number_text(d, TC_EMPTY, l->replay_sum,
                                      TC_LIT(" packets sent again since the link is below its "
                                             "maximum")));
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
    if (r.gen > 0) {
        tc__draft_attr_int(d, KEY("gen"), r.gen);
    }
    if (r.gen_max > 0) {
        tc__draft_attr_int(d, KEY("gen_max"), r.gen_max);
    }
    if (r.width > 0) {
        tc__draft_attr_int(d, KEY("width"), r.width);
    }
    if (r.width_max > 0) {
        tc__draft_attr_int(d, KEY("width_max"), r.width_max);
    }
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
    struct pcie_place p = {.scope = TC_SCOPE_NONE, .sort = PCIE_IS_GPU};
    p.scope.node = l->node;
    p.scope.gpu_uuid = l->uuid;
    p.scope.pci = l->pci;
    p.scope.gpu_index = l->index;
    (void)tc_directory_complete(st->directory, &p.scope);
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_pcie_aer, st->scratch, text_bytes(&p), ATTRS_MAX,
                    EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    size_t start = d.text.len;
    tc_buf_str(&d.text, l->node);
    tc_buf_char(&d.text, '|');
    if (l->uuid.len > 0) {
        tc_buf_str(&d.text, l->uuid);
    } else if (l->pci.known) {
        tc_buf_bdf(&d.text, l->pci);
    } else {
        tc_buf_i64(&d.text, l->index);
    }
    tc_buf_lit(&d.text, "|rate|");
    tc_buf_time(&d.text, l->since_ns);
    f->key = tc_buf_since(&d.text, start);
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
