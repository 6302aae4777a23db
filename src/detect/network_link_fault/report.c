/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a network_link_fault verdict. */
#include "detect/detector.h"
#include "detect/network_link_fault/priv.h"
#include "detect/words_priv.h"

#define KEY(name) TC_LIT("tracecore.alert.network_link_fault." name)
/* Flaps that are shown as evidence: the first, and the last ones. */
#define FLAPS_SHOWN 4

static const struct {
    const char *name;
    const char *action;
} FAULTS[] = {
    [LINK_CABLE] = {"cable_fault",
                    "read the module with mlxlink -m or ethtool -m, clean and reseat "
                    "it, check its cooling, then exchange cable or module"},
    [LINK_DOWN] = {"link_down", "look at both ends of the cable with ethtool or ibstat, and at the "
                                "switch port; reseat or exchange the cable"},
    [LINK_FLAP] = {"link_flap",
                   "drain the node, look at the error counters of both ends with "
                   "ethtool -S or mlxlink, then reseat or exchange the cable or module"},
    [LINK_LOSS] = {"packet_loss",
                   "look at ethtool -S for where packets are lost (ring, CRC, pause), "
                   "and at the counters of the switch port"},
    [LINK_SYMBOL] = {"symbol_errors",
                     "read the bit error rate with mlxlink -c, clean and reseat the "
                     "cable, and exchange it if errors go on"},
    [LINK_RETRY] = {"ib_retry_exceeded",
                    "see first whether the peer and its node live; if they do, look at the port "
                    "counters of both ends (ibstat, perfquery, ethtool -S) and of the switches in "
                    "between, and for RoCE at PFC and ECN"},
};

/* The most telling of some faults. */
static enum link_fault first_of(unsigned faults)
{
    unsigned f = 0;
    while (f + 1 < LINK_FAULTS && (faults & 1U << f) == 0) {
        f++;
    }
    return (enum link_fault)f;
}

static struct tc_arg device(const struct link_port *p)
{
    return tc_as_known(p->device, "(not named)");
}

/* "2.5 %" from parts of a million. */
static void write_percent(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_format(b, "{}.{} %", arg->integer / 10000, arg->integer / 1000 % 10);
}

static struct tc_arg percent(int64_t ppm)
{
    return (struct tc_arg){.write = write_percent, .integer = ppm};
}

static bool is_probe(const struct link_port *p, enum link_fault fault)
{
    return fault == LINK_LOSS && p->loss.is_ping;
}

/* The way to somewhere, not a port of the node. */
static bool is_way(const struct link_port *p, enum link_fault fault)
{
    return is_probe(p, fault) || fault == LINK_RETRY;
}

static int64_t last_mark(const struct link_log *log)
{
    return log->pushed == 0 ? 0 : log->marks[(log->pushed - 1) % LINK_MARKS].time_ns;
}

/* What the port does, for a sentence that begins with it. */
static struct tc_slice what_it_does(struct tc_draft *d, const struct link_port *p,
                                    const struct link_knobs *k, enum link_fault fault)
{
    enum link_source source = LINK_BY_DRIVER;
    int64_t flaps = tc__link_flaps(p, &source);
    bool symbols = tc__link_rate_sum(&p->symbol_rate, k->window_ns, p->last_ns) >=
                   tc__link_rate_sum(&p->receive_rate, k->window_ns, p->last_ns);
    switch (fault) {
    case LINK_CABLE:
        return tc__draft_format(d, "reports a fault of its cable or module{}",
                                p->cable_hot ? ": high temperature" : "");
    case LINK_DOWN:
        return tc__draft_format(d, "went down {} and has not come up", tc_as_moment(p->down_ns));
    case LINK_FLAP:
        return tc__draft_format(d, "went down {} times within {}", flaps,
                                tc_as_duration(last_mark(&p->logs[source]) - p->first_ns));
    case LINK_LOSS:
        return tc__draft_format(d, "loses up to {} of what it receives, for {}",
                                percent(p->loss.worst),
                                tc_as_duration(p->loss.last.time_ns - p->loss.first.time_ns));
    default:
        return tc__draft_format(d, "counted {} {} errors within {}",
                                tc__link_errors(p, k, p->last_ns), symbols ? "symbol" : "receive",
                                tc_as_duration(k->window_ns));
    }
}

/* The same when it is over. */
static struct tc_slice what_ended(struct tc_draft *d, const struct link_port *p,
                                  const struct link_knobs *k, enum link_fault fault)
{
    switch (fault) {
    case LINK_DOWN:
        return tc__draft_format(d, "is up again after {}",
                                tc_as_duration(p->up.time_ns - p->down_ns));
    case LINK_FLAP:
        return tc__draft_format(d, "has not gone down for {}", tc_as_duration(k->window_ns));
    case LINK_LOSS:
        return TC_LIT("loses no more packets");
    default:
        return tc__draft_format(d, "has counted no error for {}", tc_as_duration(k->window_ns));
    }
}

static struct tc_slice headline(struct tc_draft *d, const struct link_port *p,
                                const struct link_knobs *k, enum link_fault fault)
{
    bool resolved = d->finding.resolved;
    if (fault == LINK_RETRY) { /* never seen to end */
        return tc__draft_format(
            d, "{} does not acknowledge what node {} sends over InfiniBand or RoCE",
            tc_as_known(p->device, "A peer"), p->node);
    }
    if (!is_probe(p, fault)) {
        return tc__draft_format(d, "Port {} of node {} {}", device(p), p->node,
                                resolved ? what_ended(d, p, k, fault)
                                         : what_it_does(d, p, k, fault));
    }
    if (resolved) {
        return tc__draft_format(d, "The probes from node {} to {} arrive again", p->node,
                                device(p));
    }
    return tc__draft_format(d, "Up to {} of the probes from node {} to {} are lost, for {}",
                            percent(p->loss.worst), p->node, device(p),
                            tc_as_duration(p->loss.last.time_ns - p->loss.first.time_ns));
}

static struct tc_slice remediation(struct tc_draft *d, const struct link_port *p,
                                   enum link_fault fault)
{
    if (d->finding.resolved) {
        return tc__draft_format(
            d, "Nothing now. If it comes back, look at port {} of node {} and its cable.",
            device(p), p->node);
    }
    if (is_probe(p, fault)) {
        return tc__draft_format(
            d,
            "On node {}: find the hop that loses packets on the way to {}: compare with other "
            "nodes and targets, then look at the ports they share.",
            p->node, device(p));
    }
    return tc__draft_format(d, "On node {}, {} {}: {}.", p->node,
                            fault == LINK_RETRY ? "way to" : "port", device(p),
                            FAULTS[fault].action);
}

/* Adds what a mark tells, unless it is evidence already. `what` is part of the uid and the text. */
static void add_evidence(struct tc_draft *d, const struct link_port *p, const char *kind,
                         const struct link_mark *m, const char *what, bool counts)
{
    for (size_t i = 0; i < d->finding.evidence_count; i++) {
        const struct tc_evidence *e = &d->evidence[i];
        if (e->time_ns == m->time_ns && e->raw.source == m->raw.source &&
            e->raw.offset == m->raw.offset) {
            return;
        }
    }
    tc__draft_piece(
        d, tc_slice_cstr(kind), m->time_ns, m->raw,
        tc__draft_format(d, "{}:{}:{}:{}:{}", kind, p->node, p->device, what,
                         tc_as_time(m->time_ns)),
        tc__draft_format(d, "{}: {}{}", device(p), what, tc_when(counts, ": {}", m->count)));
}

static void add_line(struct tc_draft *d, const struct link_port *p, const struct link_mark *m,
                     const char *what)
{
    add_evidence(d, p, "network_fault", m, what, false);
}

static void add_sample(struct tc_draft *d, const struct link_port *p, const struct link_mark *m,
                       const char *what)
{
    add_evidence(d, p, "metric", m, what, true);
}

static void add_flaps(struct tc_draft *d, const struct link_port *p)
{
    static const struct {
        const char *what;
        bool is_kernel;
    } sources[] = {
        [LINK_BY_DRIVER] = {"link down", true},
        [LINK_BY_IB_CORE] = {"port down", true},
        [LINK_BY_BOND] = {"down in its bond", true},
        [LINK_BY_DOWNED] = {"link failures counted", false},
        [LINK_BY_RECOVERY] = {"link recoveries counted", false},
        [LINK_BY_CARRIER] = {"carrier losses counted", false},
    };
    enum link_source source = LINK_BY_DRIVER;
    if (tc__link_flaps(p, &source) == 0) {
        return;
    }
    const struct link_log *log = &p->logs[source];
    uint64_t kept = log->pushed < LINK_MARKS ? log->pushed : LINK_MARKS;
    uint64_t shown = 0;
    for (uint64_t i = log->pushed - kept; i < log->pushed; i++) {
        const struct link_mark *m = &log->marks[i % LINK_MARKS];
        bool inside = m->count > 0 && m->time_ns >= p->first_ns;
        bool first = inside && shown == 0;
        shown += first;
        if (first || (inside && log->pushed - i < FLAPS_SHOWN)) {
            bool kernel = sources[source].is_kernel;
            add_evidence(d, p, kernel ? "network_fault" : "metric", m, sources[source].what,
                         !kernel);
        }
    }
}

static void add_rate(struct tc_draft *d, const struct link_port *p, const struct link_rate *rate,
                     const char *what)
{
    if (rate->last.count > 0) {
        add_sample(d, p, &rate->first, what);
        add_sample(d, p, &rate->last, what);
    }
}

static void put_trail(struct tc_draft *d, const struct link_port *p, unsigned faults)
{
    bool down = (faults & 1U << LINK_DOWN) != 0;
    if ((faults & 1U << LINK_CABLE) != 0) {
        const char *what = p->cable_hot ? "module error, high temperature" : "module error";
        add_line(d, p, &p->cable_first, what);
        add_line(d, p, &p->cable_last, what);
    }
    add_flaps(d, p);
    if (down) {
        struct link_mark since = {p->down_ns, 1, p->down_raw};
        bool metric = p->gauge.time_ns == p->down_ns;
        add_evidence(d, p, metric ? "metric" : "network_fault", &since, "link down", false);
    }
    if (down && p->gauge.time_ns != TC_TIME_NONE) {
        add_evidence(d, p, "metric", &p->gauge, "reported as down", false);
    }
    if ((faults & 1U << LINK_LOSS) != 0) {
        const char *what =
            p->loss.is_ping ? "probes lost of a million" : "packets lost of a million";
        add_sample(d, p, &p->loss.first, what);
        add_sample(d, p, &p->loss.last, what);
    }
    if ((faults & 1U << LINK_SYMBOL) != 0) {
        add_rate(d, p, &p->symbol_rate, "symbol errors counted");
        add_rate(d, p, &p->receive_rate, "receive errors counted");
    }
    if ((faults & 1U << LINK_RETRY) != 0) {
        add_line(d, p, &p->retry_first, "transfer retries exceeded");
        add_line(d, p, &p->retry_last, "transfer retries exceeded");
    }
    if (down && d->finding.resolved) {
        add_line(d, p, &p->up, "link up");
    }
    tc__draft_sort(d);
}

static void put_attrs(struct tc_draft *d, const struct link_port *p, const struct link_knobs *k,
                      unsigned faults, struct tc_slice *names)
{
    size_t count = 0;
    enum link_source source = LINK_BY_DRIVER;
    int64_t flaps = tc__link_flaps(p, &source);
    for (unsigned f = 0; f < LINK_FAULTS; f++) {
        if ((faults & 1U << f) != 0) {
            names[count++] = tc_slice_cstr(FAULTS[f].name);
        }
    }
    tc__draft_attr_text(d, KEY("device"), p->device);
    tc__draft_attr_list(d, KEY("faults"), names, count);
    tc__draft_attr_some(d, KEY("flaps"), flaps);
    if ((faults & 1U << LINK_DOWN) != 0 && p->last_ns >= p->down_ns) {
        tc__draft_attr_int(d, KEY("down_seconds"), (p->last_ns - p->down_ns) / TC_SECOND);
    }
    if ((faults & 1U << LINK_LOSS) != 0) {
        tc__draft_attr_int(d, KEY("loss_ppm"), p->loss.worst);
    }
    if ((faults & 1U << LINK_SYMBOL) != 0) {
        tc__draft_attr_int(d, KEY("errors"), tc__link_errors(p, k, p->last_ns));
    }
    if ((faults & 1U << LINK_CABLE) != 0) {
        tc__draft_attr_int(d, KEY("module_errors"), p->cable_last.count);
    }
    if ((faults & 1U << LINK_RETRY) != 0) {
        tc__draft_attr_int(d, KEY("retry_errors"), p->retry_last.count);
    }
}

tc_status tc__link_report(const struct link_port *p, const struct link_knobs *k, unsigned had,
                          int64_t now_ns, struct tc_arena *scratch, const struct tc_sink *out)
{
    struct tc_draft d;
    struct tc_slice names[LINK_FAULTS];
    bool resolved = p->faults == 0;
    unsigned faults = resolved ? had : p->faults;
    enum link_fault fault = first_of(faults);
    tc__draft_open(&d, &tc_detector_network_link_fault, scratch);
    struct tc_finding *f = &d.finding;
    f->key = tc__draft_format(&d, "{}|{}@{}", p->node, p->device, tc_as_time(p->first_ns));
    f->resolved = resolved;
    bool critical = (faults & (1U << LINK_DOWN | 1U << LINK_RETRY)) != 0;
    f->severity = critical ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING;
    /* Probes and retries say that the way is bad, not which port of it; a gap may hide a reboot. */
    bool doubtful = is_way(p, fault) || (fault == LINK_DOWN && p->partial);
    f->confidence = doubtful ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(FAULTS[fault].name);
    f->headline = headline(&d, p, k, fault);
    f->remediation = remediation(&d, p, fault);
    f->first_ns = p->first_ns;
    f->last_ns = now_ns > p->last_ns ? now_ns : p->last_ns;
    f->scope.node = p->node;
    f->scope.pci = p->pci;
    put_attrs(&d, p, k, faults, names);
    put_trail(&d, p, faults);
    return tc__draft_emit(&d, out);
}
