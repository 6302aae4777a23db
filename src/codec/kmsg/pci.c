/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCIe advanced error reports and slow links.
 *
 * The kernel logs one error report on several lines:
 *
 *   header   pcieport P: AER: Corrected error received: S
 *   body     driver D: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
 *   status   driver D:   device [8086:9d15] error status/mask=00000001/00002000
 *   bits     driver D:    [ 0] RxErr (First)
 *
 * P is the port that was told, S the source it was told, D the device whose
 * registers were read. Any line may be missing: the source could not be found,
 * the log was rate-limited or cut. So that a report counts once:
 *
 *   - a status line is always the event; severity, layer and port come from
 *     the body and the header among the lines above it;
 *   - a body is the event when no status line of D follows;
 *   - a header is the event when neither follows for P or S (for any device when
 *     it says "Multiple").
 *
 * "Above" and "follows" mean the next AER_LOOK_LINES lines of the same host, up to
 * another report of the same device. With several devices in one report each
 * status line is an event of its own. The device of the event is D, else S, else P.
 * Firmware-first machines log "aer_status:" in place of header, body and status;
 * "aer_uncor_severity:" behind it tells whether it was fatal.
 */
#include "base/buf.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/match_priv.h"

/* A report has a header, a body, a status line and up to five bits. */
#define AER_LOOK_LINES 8
/* All 32 names with their commas fit. */
#define ERRORS_MAX 512

enum part {
    PART_NONE,
    PART_HEADER,
    PART_BODY,
    PART_STATUS,
    PART_FIRMWARE,          /* aer_status: */
    PART_FIRMWARE_SEVERITY, /* aer_uncor_severity: */
    PART_DETAIL,            /* bits, TLP header and the like */
};

struct report {
    enum part part;
    bool multiple;
    struct tc_bdf device; /* the address the line starts with */
    struct tc_bdf source; /* header only */
    struct tc_slice severity;
    struct tc_slice layer;
    struct tc_slice device_id;
    int64_t status; /* -1 unknown */
    int64_t mask;
};

/* PCI Express Base Specification, 7.8.4: names as current kernels print them. */
static const char *const CORRECTABLE[32] = {
    [0] = "RxErr",    [6] = "BadTLP",       [7] = "BadDLLP",     [8] = "Rollover",
    [12] = "Timeout", [13] = "NonFatalErr", [14] = "CorrIntErr", [15] = "HeaderOF",
};

static const char *const UNCORRECTABLE[32] = {
    [0] = "Undefined",
    [4] = "DLP",
    [5] = "SDES",
    [12] = "TLP",
    [13] = "FCP",
    [14] = "CmpltTO",
    [15] = "CmpltAbrt",
    [16] = "UnxCmplt",
    [17] = "RxOF",
    [18] = "MalfTLP",
    [19] = "ECRC",
    [20] = "UnsupReq",
    [21] = "ACSViol",
    [22] = "UncorrIntErr",
    [23] = "BlockedTLP",
    [24] = "AtomicOpBlocked",
    [25] = "TLPBlockedErr",
    [26] = "PoisonTLPBlocked",
    [27] = "DMWrReqBlocked",
    [28] = "IDECheck",
    [29] = "MisIDETLP",
    [30] = "PCRC_CHECK",
    [31] = "TLPXlatBlocked",
};

/* "Uncorrectable (Fatal)"; what is not corrected has to say whether it was fatal. */
#define SEVERITY "{0<Corrected|Correctable|<Uncorrected|Uncorrectable>< (Fatal)| (Non-Fatal)>>}"

static struct tc_slice severity_of(struct tc_slice words)
{
    if (tc_slice_starts(words, TC_LIT("C"))) {
        return TC_LIT("corrected");
    }
    return tc_slice_ends(words, TC_LIT(" (Fatal)")) ? TC_LIT("fatal") : TC_LIT("nonfatal");
}

/*
 * "id=0010" is bus, device and function in 16 bits, in the domain of the port. A
 * source of all zeroes is what a port says when it was not told one.
 */
static void read_source(struct tc_slice s, struct report *r)
{
    uint64_t id = 0;
    if (!tc__kmsg_take(&s, TC_LIT("id="))) {
        (void)tc_bdf_parse(s, &r->source);
    } else if (tc_slice_hex(s, &id) > 0 && id <= UINT16_MAX) {
        r->source = (struct tc_bdf){.domain = r->device.domain,
                                    .bus = (uint8_t)(id >> 8),
                                    .device = (uint8_t)(id >> 3 & 0x1f),
                                    .function = (uint8_t)(id & 7),
                                    .known = true};
    }
    r->source.known =
        r->source.known && (r->source.bus | r->source.device | r->source.function) != 0;
}

static struct tc_slice layer_of(struct tc_slice s)
{
    return tc_slice_starts(s, TC_LIT("Physical Layer"))      ? TC_LIT("physical")
           : tc_slice_starts(s, TC_LIT("Data Link Layer"))   ? TC_LIT("data_link")
           : tc_slice_starts(s, TC_LIT("Transaction Layer")) ? TC_LIT("transaction")
                                                             : TC_EMPTY;
}

/* A status or mask register; -1 when it is none. */
static int64_t register_of(struct tc_slice digits)
{
    uint64_t value = 0;
    return tc_slice_hex(digits, &value) > 0 && value <= UINT32_MAX ? (int64_t)value : -1;
}

/* What a message says about an error report; part NONE when nothing. */
static struct report read_report(struct tc_slice message)
{
    enum { WORDS, TYPE, ID, STATUS, MASK, SOURCE, BIT = STATUS, MULTIPLE = TYPE };
    enum { ADDRESS, AER, TEXT };
    static const struct {
        enum part part;
        const char *says;
    } rows[] = {
        {PART_BODY, "PCIe Bus Error: severity=" SEVERITY "<*type={1*}|>"},
        {PART_STATUS, "device [{2*}] error status/mask={3%x}</{4%x}|>"},
        {PART_FIRMWARE, "aer_status: 0x{3%x}<, aer_mask: 0x{4%x}|>"},
        {PART_FIRMWARE_SEVERITY, "aer_uncor_severity: 0x{3%x}"},
        {PART_DETAIL, "<aer_layer=|TLP Header:|Error of this Agent>"},
        {PART_DETAIL, "[%s{3%d}] "},
        {PART_HEADER, "<{1Multiple }|>" SEVERITY
                      " error <received: |message received from |received from >{5*}"},
    };
    struct report r = {.part = PART_NONE, .status = -1, .mask = -1};
    struct tc_slice got[TC__TEXT_SLOTS];
    /* The driver and its device. */
    if (!tc__text_match(message, "%p {0%b}:%s{1<AER: |>}%s{2*}", got)) {
        return r;
    }
    (void)tc_bdf_parse(got[ADDRESS], &r.device);
    bool is_aer = got[AER].len > 0;
    struct tc_slice text = got[TEXT];
    for (size_t i = 0; i < TC_COUNT(rows) && r.part == PART_NONE; i++) {
        r.part = tc__text_match(text, rows[i].says, got) ? rows[i].part : PART_NONE;
    }
    if (r.part == PART_NONE || (r.part == PART_HEADER && !is_aer)) {
        return (struct report){.part = PART_NONE};
    }
    if (got[WORDS].len > 0) {
        r.severity = severity_of(got[WORDS]);
    }
    if (r.part == PART_DETAIL) {
        uint64_t bit = 0;
        (void)tc_slice_is_u64(got[BIT], &bit);
        r.part = bit < 32 ? PART_DETAIL : PART_NONE;
    } else if (r.part == PART_HEADER) {
        r.multiple = got[MULTIPLE].len > 0;
        read_source(got[SOURCE], &r);
    } else if (r.part == PART_BODY) {
        r.layer = layer_of(got[TYPE]);
    } else {
        r.device_id = got[ID];
        r.status = register_of(got[STATUS]);
        r.mask = register_of(got[MASK]);
        r.part = r.status < 0 ? PART_NONE : r.part;
    }
    return r;
}

/* The names of the bits that are set, comma-separated. One alone needs no memory. */
static bool name_errors(const struct tc__kmsg_context *c, const struct report *r,
                        struct tc_slice *out)
{
    char text[ERRORS_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    const char *const *names =
        tc_slice_eq(r->severity, TC_LIT("corrected")) ? CORRECTABLE : UNCORRECTABLE;
    uint32_t bits = r->status < 0 || r->severity.len == 0 ? 0 : (uint32_t)r->status;
    if (bits != 0 && (bits & (bits - 1)) == 0 && names[__builtin_ctz(bits)] != NULL) {
        *out = tc_slice_cstr(names[__builtin_ctz(bits)]);
        return true;
    }
    for (; bits != 0; bits &= bits - 1) {
        unsigned bit = (unsigned)__builtin_ctz(bits);
        if (b.len > 0) {
            tc_buf_char(&b, ',');
        }
        if (names[bit] != NULL) {
            tc_buf_str(&b, tc_slice_cstr(names[bit]));
        } else {
            tc_buf_lit(&b, "bit");
            tc_buf_u64(&b, bit);
        }
    }
    *out = b.len == 0 ? TC_EMPTY : tc_arena_copy(c->arena, tc_buf_slice(&b));
    return b.len == 0 || out->len == b.len;
}

static bool same_host(const struct tc__kmsg_context *c, const struct tc__kmsg_line *line)
{
    return line->origin == TC__KMSG_KERNEL && tc_slice_eq(line->node, c->line->node);
}

static bool is_about(const struct report *header, struct tc_bdf device)
{
    return header->multiple || tc_bdf_eq(header->device, device) ||
           tc_bdf_eq(header->source, device);
}

/* Severity, layer and reporting port of a body or status line, from the lines above it. */
static void look_back(const struct tc__kmsg_context *c, struct report *r, struct tc_bdf *out_port)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < AER_LOOK_LINES && tc__kmsg_prev(c, &at, &line); i++) {
        struct report above = read_report(line.message);
        if (!same_host(c, &line)) {
            continue;
        }
        bool same = tc_bdf_eq(above.device, r->device);
        if (above.part == PART_HEADER && is_about(&above, r->device)) {
            *out_port = above.device;
            if (r->severity.len == 0) {
                r->severity = above.severity;
            }
            return;
        }
        if (above.part == PART_BODY && same && r->severity.len == 0) {
            r->severity = above.severity;
            r->layer = above.layer;
        } else if (same && (above.part == PART_BODY || above.part == PART_STATUS)) {
            return; /* the report before this one */
        }
    }
}

/* Whether a later line carries the event of this header or body. */
static bool is_continued(const struct tc__kmsg_context *c, const struct report *r)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < AER_LOOK_LINES && tc__kmsg_next(c, &at, &line); i++) {
        struct report below = read_report(line.message);
        if (!same_host(c, &line)) {
            continue;
        }
        bool same = tc_bdf_eq(below.device, r->device);
        if (below.part == PART_HEADER && same) {
            return false;
        }
        if (r->part == PART_HEADER && (below.part == PART_BODY || below.part == PART_STATUS) &&
            is_about(r, below.device)) {
            return true;
        }
        if (r->part == PART_BODY && same && below.part != PART_DETAIL && below.part != PART_NONE) {
            return below.part == PART_STATUS;
        }
    }
    return false;
}

/* Only uncorrectable errors have a severity register; it says which bits are fatal. */
static struct tc_slice firmware_severity(const struct tc__kmsg_context *c, const struct report *r)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < AER_LOOK_LINES && tc__kmsg_next(c, &at, &line); i++) {
        struct report below = read_report(line.message);
        if (!same_host(c, &line) || !tc_bdf_eq(below.device, r->device)) {
            continue;
        }
        if (below.part == PART_FIRMWARE_SEVERITY) {
            int64_t raised = r->status & ~(r->mask < 0 ? 0 : r->mask);
            return (raised & below.status) != 0 ? TC_LIT("fatal") : TC_LIT("nonfatal");
        }
        if (below.part == PART_FIRMWARE) {
            break;
        }
    }
    return TC_LIT("corrected");
}

enum tc__kmsg_verdict tc__kmsg_rule_aer(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct report r = read_report(c->line->message);
    struct tc_bdf port = r.device;
    switch (r.part) {
    case PART_NONE:
        return TC__KMSG_NOT_MINE;
    case PART_DETAIL:
    case PART_FIRMWARE_SEVERITY:
        return TC__KMSG_PART;
    case PART_HEADER:
    case PART_BODY:
        if (is_continued(c, &r)) {
            return TC__KMSG_PART;
        }
        if (r.part == PART_BODY) {
            look_back(c, &r, &port);
        }
        break;
    case PART_STATUS:
        look_back(c, &r, &port);
        break;
    case PART_FIRMWARE:
        r.severity = firmware_severity(c, &r);
        break;
    }
    struct tc_slice errors;
    if (!name_errors(c, &r, &errors)) {
        return TC__KMSG_NOMEM;
    }
    tc_event_init(ev, TC_EVENT_AER);
    ev->scope.pci = r.source.known ? r.source : r.device;
    ev->aer.reporter = port;
    ev->aer.severity = r.severity;
    ev->aer.layer = r.layer;
    ev->aer.errors = errors;
    ev->aer.device_id = r.device_id;
    ev->aer.status = r.status;
    ev->aer.mask = r.mask;
    ev->aer.count = c->line->count;
    return TC__KMSG_EVENT;
}

/* The lanes of a link; 0 when it cannot have so many. */
static int64_t width_of(struct tc_slice digits)
{
    uint64_t width = 0;
    return tc_slice_is_u64(digits, &width) && width <= 32 ? (int64_t)width : 0;
}

/*
 * "pci 0000:01:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link
 * at 0000:00:00.0 (capable of 63.012 Gb/s with 16.0 GT/s PCIe x4 link)"; older kernels leave
 * "PCIe" out.
 */
static enum tc__kmsg_verdict rule_link(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { DEVICE, SPEED, WIDTH, PORT, BEST_SPEED, BEST_WIDTH };
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice s = c->line->message;
    double now = 0;
    double best = 0;
    if (!tc_slice_contains(s, TC_LIT(" Gb/s available PCIe bandwidth, limited by "))) {
        return TC__KMSG_NOT_MINE;
    }
    if (!tc__text_match(s,
                        "%p {0%b}* Gb/s available PCIe bandwidth, limited by {1%f} GT/s "
                        "<PCIe |>x{2%d} link< at {3%b}|>"
                        "<* Gb/s with {4%f} GT/s <PCIe |>x{5%d} link|>",
                        got) ||
        tc__text_number(got[SPEED], &now) == 0 || width_of(got[WIDTH]) == 0) {
        c->why = "PCIe bandwidth without a device or a rate";
        return TC__KMSG_BROKEN;
    }
    (void)tc__text_number(got[BEST_SPEED], &best);
    tc_event_init(ev, TC_EVENT_PCIE_LINK);
    (void)tc_bdf_parse(got[DEVICE], &ev->scope.pci);
    (void)tc_bdf_parse(got[PORT], &ev->aer.reporter);
    ev->aer.speed_gts = now;
    ev->aer.speed_gts_max = best;
    ev->aer.width = width_of(got[WIDTH]);
    ev->aer.width_max = width_of(got[BEST_WIDTH]);
    return TC__KMSG_EVENT;
}

const tc__kmsg_rule tc__kmsg_pci_rules[] = {tc__kmsg_rule_aer, rule_link, NULL};
