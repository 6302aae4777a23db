/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a network_link_fault verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/network_link_fault/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.network_link_fault." name)
#define ATTRS_MAX 8
#define EVIDENCE_MAX 16
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 4096
/* How often the names of node and device are written, at most. */
#define NAMES_MAX (2 * EVIDENCE_MAX + 8)
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

static void put_device(struct tc_buf *b, const struct link_port *p)
{
    if (p->device.len > 0) {
        tc_buf_str(b, p->device);
    } else {
        tc_buf_lit(b, "(not named)");
    }
}

static void put_port(struct tc_buf *b, const struct link_port *p)
{
    tc_buf_lit(b, "Port ");
    put_device(b, p);
    tc_buf_lit(b, " of node ");
    tc_buf_str(b, p->node);
}

/* "2.5 %" from parts of a million. */
static void put_percent(struct tc_buf *b, int64_t ppm)
{
    tc_buf_i64(b, ppm / 10000);
    tc_buf_char(b, '.');
    tc_buf_i64(b, ppm / 1000 % 10);
    tc_buf_lit(b, " %");
}

static void put_loss(struct tc_buf *b, const struct link_port *p)
{
    const struct link_loss *l = &p->loss;
    if (l->is_ping) {
        tc_buf_lit(b, "Up to ");
        put_percent(b, l->worst);
        tc_buf_lit(b, " of the probes from node ");
        tc_buf_str(b, p->node);
        tc_buf_lit(b, " to ");
        put_device(b, p);
        tc_buf_lit(b, " are lost, for ");
    } else {
        put_port(b, p);
        tc_buf_lit(b, " loses up to ");
        put_percent(b, l->worst);
        tc_buf_lit(b, " of what it receives, for ");
    }
    tc_buf_duration(b, l->last.time_ns - l->first.time_ns);
}

static int64_t last_mark(const struct link_log *log)
{
    return log->pushed == 0 ? 0 : log->marks[(log->pushed - 1) % LINK_MARKS].time_ns;
}

static void put_fault(struct tc_buf *b, const struct link_port *p, const struct link_knobs *k,
                      enum link_fault fault)
{
    enum link_source source = LINK_BY_DRIVER;
    int64_t flaps = tc__link_flaps(p, &source);
    bool symbols = tc__link_rate_sum(&p->symbol_rate, k->window_ns, p->last_ns) >=
                   tc__link_rate_sum(&p->receive_rate, k->window_ns, p->last_ns);
    if (fault == LINK_LOSS) {
        put_loss(b, p);
        return;
    }
    put_port(b, p);
    switch (fault) {
    case LINK_CABLE:
        tc_buf_lit(b, " reports a fault of its cable or module");
        tc_buf_str(b, p->cable_hot ? TC_LIT(": high temperature") : TC_EMPTY);
        break;
    case LINK_DOWN:
        tc_buf_lit(b, " is down since ");
        tc_buf_time(b, p->down_ns);
        break;
    case LINK_FLAP:
        tc_buf_lit(b, " went down ");
        tc_buf_i64(b, flaps);
        tc_buf_lit(b, " times within ");
        tc_buf_duration(b, last_mark(&p->logs[source]) - p->first_ns);
        break;
    default:
        tc_buf_lit(b, " counted ");
        tc_buf_i64(b, tc__link_errors(p, k, p->last_ns));
        tc_buf_str(b,
                   symbols ? TC_LIT(" symbol errors within ") : TC_LIT(" receive errors within "));
        tc_buf_duration(b, k->window_ns);
        break;
    }
}

static void put_end(struct tc_buf *b, const struct link_port *p, const struct link_knobs *k,
                    enum link_fault fault)
{
    if (fault == LINK_LOSS && p->loss.is_ping) {
        tc_buf_lit(b, "The probes from node ");
        tc_buf_str(b, p->node);
        tc_buf_lit(b, " to ");
        put_device(b, p);
        tc_buf_lit(b, " arrive again");
        return;
    }
    put_port(b, p);
    switch (fault) {
    case LINK_DOWN:
        tc_buf_lit(b, " is up again after ");
        tc_buf_duration(b, p->up.time_ns - p->down_ns);
        break;
    case LINK_FLAP:
        tc_buf_lit(b, " has not gone down for ");
        tc_buf_duration(b, k->window_ns);
        break;
    case LINK_LOSS:
        tc_buf_lit(b, " loses no more packets");
        break;
    default:
        tc_buf_lit(b, " has counted no error for ");
        tc_buf_duration(b, k->window_ns);
        break;
    }
}

static struct tc_slice remediation(struct tc_draft *d, const struct link_port *p,
                                   enum link_fault fault, bool resolved)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    if (resolved) {
        tc_buf_lit(b, "Nothing now. If it comes back, look at port ");
        put_device(b, p);
        tc_buf_lit(b, " of node ");
        tc_buf_str(b, p->node);
        tc_buf_lit(b, " and its cable.");
        return tc_buf_since(b, start);
    }
    tc_buf_lit(b, "On node ");
    tc_buf_str(b, p->node);
    if (fault == LINK_LOSS && p->loss.is_ping) {
        tc_buf_lit(b, ": find the hop that loses packets on the way to ");
        put_device(b, p);
        tc_buf_lit(b, ": compare with other nodes and targets, then look at the ports they share.");
        return tc_buf_since(b, start);
    }
    tc_buf_lit(b, ", port ");
    put_device(b, p);
    tc_buf_lit(b, ": ");
    tc_buf_str(b, tc_slice_cstr(FAULTS[fault].action));
    tc_buf_char(b, '.');
    return tc_buf_since(b, start);
}

struct piece {
    struct link_mark mark;
    const char *kind;
    const char *what; /* part of the uid, and of the text */
    bool counts;      /* the text says how many */
};

static void put_evidence(struct tc_draft *d, const struct link_port *p, const struct piece *piece)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = tc_slice_cstr(piece->kind), .time_ns = piece->mark.time_ns, .raw = piece->mark.raw};
    size_t start = b->len;
    tc_buf_str(b, out.kind);
    tc_buf_char(b, ':');
    tc_buf_str(b, p->node);
    tc_buf_char(b, ':');
    tc_buf_str(b, p->device);
    tc_buf_char(b, ':');
    tc_buf_str(b, tc_slice_cstr(piece->what));
    tc_buf_char(b, ':');
    tc_buf_time(b, piece->mark.time_ns);
    out.uid = tc_buf_since(b, start);
    start = b->len;
    put_device(b, p);
    tc_buf_lit(b, ": ");
    tc_buf_str(b, tc_slice_cstr(piece->what));
    if (piece->counts) {
        tc_buf_lit(b, ": ");
        tc_buf_i64(b, piece->mark.count);
    }
    out.description = tc_buf_since(b, start);
    tc__draft_evidence(d, out);
}

/* In order of time, each once. */
static void add_piece(struct piece *pieces, size_t *io_count, struct piece piece)
{
    size_t at = *io_count;
    for (size_t i = 0; i < *io_count; i++) {
        const struct link_mark *m = &pieces[i].mark;
        if (m->time_ns == piece.mark.time_ns && m->raw.source == piece.mark.raw.source &&
            m->raw.offset == piece.mark.raw.offset) {
            return;
        }
    }
    if (at == EVIDENCE_MAX) {
        return;
    }
    for (; at > 0 && pieces[at - 1].mark.time_ns > piece.mark.time_ns; at--) {
        pieces[at] = pieces[at - 1];
    }
    pieces[at] = piece;
    ++*io_count;
}

static void add_flaps(struct piece *pieces, size_t *io_count, const struct link_port *p)
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
            add_piece(pieces, io_count,
                      (struct piece){*m, kernel ? "network_fault" : "metric", sources[source].what,
                                     !kernel});
        }
    }
}

static void add_rate(struct piece *pieces, size_t *io_count, const struct link_rate *rate,
                     const char *what)
{
    if (rate->last.count > 0) {
        add_piece(pieces, io_count, (struct piece){rate->first, "metric", what, true});
        add_piece(pieces, io_count, (struct piece){rate->last, "metric", what, true});
    }
}

static void put_trail(struct tc_draft *d, const struct link_port *p, unsigned faults, bool resolved)
{
    struct piece pieces[EVIDENCE_MAX];
    size_t count = 0;
    if ((faults & 1U << LINK_CABLE) != 0) {
        const char *what = p->cable_hot ? "module error, high temperature" : "module error";
        add_piece(pieces, &count, (struct piece){p->cable_first, "network_fault", what, false});
        add_piece(pieces, &count, (struct piece){p->cable_last, "network_fault", what, false});
    }
    add_flaps(pieces, &count, p);
    if ((faults & 1U << LINK_DOWN) != 0) {
        bool metric = p->gauge.time_ns == p->down_ns;
        add_piece(pieces, &count,
                  (struct piece){{p->down_ns, 1, p->down_raw},
                                 metric ? "metric" : "network_fault",
                                 "link down",
                                 false});
        if (p->gauge.time_ns != TC_TIME_NONE) {
            add_piece(pieces, &count,
                      (struct piece){p->gauge, "metric", "reported as down", false});
        }
    }
    if ((faults & 1U << LINK_LOSS) != 0) {
        const char *what =
            p->loss.is_ping ? "probes lost of a million" : "packets lost of a million";
        add_piece(pieces, &count, (struct piece){p->loss.first, "metric", what, true});
        add_piece(pieces, &count, (struct piece){p->loss.last, "metric", what, true});
    }
    if ((faults & 1U << LINK_SYMBOL) != 0) {
        add_rate(pieces, &count, &p->symbol_rate, "symbol errors counted");
        add_rate(pieces, &count, &p->receive_rate, "receive errors counted");
    }
    if (resolved && (faults & 1U << LINK_DOWN) != 0) {
        add_piece(pieces, &count, (struct piece){p->up, "network_fault", "link up", false});
    }
    for (size_t i = 0; i < count; i++) {
        put_evidence(d, p, &pieces[i]);
    }
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
    tc__draft_attr(
        d, (struct tc_attr){
               .key = KEY("faults"), .type = TC_ATTR_STRINGS, .strings = names, .count = count});
    if (flaps > 0) {
        tc__draft_attr_int(d, KEY("flaps"), flaps);
    }
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
}

static struct tc_slice put_key(struct tc_draft *d, const struct link_port *p)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, p->node);
    tc_buf_char(b, '|');
    tc_buf_str(b, p->device);
    tc_buf_char(b, '@');
    tc_buf_time(b, p->first_ns);
    return tc_buf_since(b, start);
}

tc_status tc__link_report(const struct link_port *p, const struct link_knobs *k, unsigned had,
                          int64_t now_ns, struct tc_arena *scratch, const struct tc_sink *out)
{
    struct tc_draft d;
    struct tc_slice names[LINK_FAULTS];
    bool resolved = p->faults == 0;
    unsigned faults = resolved ? had : p->faults;
    enum link_fault fault = first_of(faults);
    size_t text_bytes = WORDS_BYTES + NAMES_MAX * (p->node.len + p->device.len);
    tc__draft_begin(&d, &tc_detector_network_link_fault, scratch, text_bytes, ATTRS_MAX,
                    EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    f->key = put_key(&d, p);
    f->resolved = resolved;
    bool critical = !resolved && (faults & 1U << LINK_DOWN) != 0;
    f->severity = resolved   ? TC_SEVERITY_INFO
                  : critical ? TC_SEVERITY_CRITICAL
                             : TC_SEVERITY_WARNING;
    /* Probes say that the way is bad, not which port of it; a gap may hide a reboot. */
    bool doubtful = (fault == LINK_LOSS && p->loss.is_ping) || (fault == LINK_DOWN && p->partial);
    f->confidence = doubtful ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(FAULTS[fault].name);
    size_t start = d.text.len;
    if (resolved) {
        put_end(&d.text, p, k, fault);
    } else {
        put_fault(&d.text, p, k, fault);
    }
    f->headline = tc_buf_since(&d.text, start);
    f->remediation = remediation(&d, p, fault, resolved);
    f->first_ns = p->first_ns;
    f->last_ns = now_ns > p->last_ns ? now_ns : p->last_ns;
    f->scope.node = p->node;
    f->scope.pci = p->pci;
    put_attrs(&d, p, k, faults, names);
    put_trail(&d, p, faults, resolved);
    return tc__draft_emit(&d, out);
}
