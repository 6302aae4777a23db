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

/* "Corrected", "Correctable", "Uncorrected (Non-Fatal)", "Uncorrectable (Fatal)" at the start. */
static struct tc_slice take_severity(struct tc_slice *io_s)
{
    if (tc__kmsg_take(io_s, TC_LIT("Corrected")) || tc__kmsg_take(io_s, TC_LIT("Correctable"))) {
        return TC_LIT("corrected");
    }
    if (!tc__kmsg_take(io_s, TC_LIT("Uncorrected")) &&
        !tc__kmsg_take(io_s, TC_LIT("Uncorrectable"))) {
        return TC_EMPTY;
    }
    if (tc__kmsg_take(io_s, TC_LIT(" (Fatal)"))) {
        return TC_LIT("fatal");
    }
    return tc__kmsg_take(io_s, TC_LIT(" (Non-Fatal)")) ? TC_LIT("nonfatal") : TC_EMPTY;
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

static void read_header(struct tc_slice s, struct report *r)
{
    r->multiple = tc__kmsg_take(&s, TC_LIT("Multiple "));
    r->severity = take_severity(&s);
    if (r->severity.len > 0 && (tc__kmsg_take(&s, TC_LIT(" error received: ")) ||
                                tc__kmsg_take(&s, TC_LIT(" error message received from ")) ||
                                tc__kmsg_take(&s, TC_LIT(" error received from ")))) {
        r->part = PART_HEADER;
        read_source(s, r);
    }
}

static void read_body(struct tc_slice s, struct report *r)
{
    struct tc_slice head;
    r->severity = take_severity(&s);
    if (r->severity.len == 0) {
        return;
    }
    r->part = PART_BODY;
    if (tc__kmsg_split(s, TC_LIT("type="), &head, &s)) {
        if (tc_slice_starts(s, TC_LIT("Physical Layer"))) {
            r->layer = TC_LIT("physical");
        } else if (tc_slice_starts(s, TC_LIT("Data Link Layer"))) {
            r->layer = TC_LIT("data_link");
        } else if (tc_slice_starts(s, TC_LIT("Transaction Layer"))) {
            r->layer = TC_LIT("transaction");
        }
    }
}

/* A status or mask register at the start of *io_s. */
static bool take_register(struct tc_slice *io_s, int64_t *out)
{
    uint64_t value = 0;
    size_t used = tc_slice_hex(*io_s, &value);
    if (used == 0 || value > UINT32_MAX) {
        return false;
    }
    *out = (int64_t)value;
    *io_s = tc_slice_from(*io_s, used);
    return true;
}

/* "device [8086:6f04] error status/mask=00001000/00002000" behind "device [" */
static void read_status(struct tc_slice s, struct report *r)
{
    struct tc_slice id;
    if (!tc__kmsg_split(s, TC_LIT("] error status/mask="), &id, &s)) {
        return;
    }
    int64_t status = -1;
    if (take_register(&s, &status)) {
        r->part = PART_STATUS;
        r->device_id = id;
        r->status = status;
        if (tc__kmsg_take(&s, TC_LIT("/"))) {
            (void)take_register(&s, &r->mask);
        }
    }
}

/* "aer_status: 0x00000001, aer_mask: 0x00002000" behind "aer_status: 0x" */
static void read_firmware(struct tc_slice s, struct report *r)
{
    if (take_register(&s, &r->status)) {
        r->part = PART_FIRMWARE;
        if (tc__kmsg_take(&s, TC_LIT(", aer_mask: 0x"))) {
            (void)take_register(&s, &r->mask);
        }
    }
}

/* What a message says about an error report; part NONE when nothing. */
static struct report read_report(struct tc_slice message)
{
    struct report r = {.part = PART_NONE, .status = -1, .mask = -1};
    struct tc_slice s;
    (void)tc_slice_cut(message, ' ', &s); /* the driver */
    size_t used = tc_bdf_parse(s, &r.device);
    if (used == 0 || used >= s.len || s.ptr[used] != ':') {
        return r;
    }
    s = tc__kmsg_skip_spaces(tc_slice_from(s, used + 1));
    bool aer = tc__kmsg_take(&s, TC_LIT("AER: "));
    s = tc__kmsg_skip_spaces(s);
    if (tc__kmsg_take(&s, TC_LIT("PCIe Bus Error: severity="))) {
        read_body(s, &r);
    } else if (tc__kmsg_take(&s, TC_LIT("device ["))) {
        read_status(s, &r);
    } else if (tc__kmsg_take(&s, TC_LIT("aer_status: 0x"))) {
        read_firmware(s, &r);
    } else if (tc__kmsg_take(&s, TC_LIT("aer_uncor_severity: 0x"))) {
        r.part = take_register(&s, &r.status) ? PART_FIRMWARE_SEVERITY : PART_NONE;
    } else if (tc_slice_starts(s, TC_LIT("aer_layer=")) ||
               tc_slice_starts(s, TC_LIT("TLP Header:")) ||
               tc_slice_starts(s, TC_LIT("Error of this Agent"))) {
        r.part = PART_DETAIL;
    } else if (tc__kmsg_take(&s, TC_LIT("["))) {
        uint64_t bit = 0;
        s = tc__kmsg_skip_spaces(s);
        s = tc_slice_from(s, tc_slice_u64(s, &bit));
        r.part = bit < 32 && tc_slice_starts(s, TC_LIT("] ")) ? PART_DETAIL : PART_NONE;
    } else if (aer) {
        read_header(s, &r);
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

static enum tc__kmsg_verdict rule_aer(struct tc__kmsg_context *c, struct tc_event *ev)
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

/* "31.504" at the start of *io_s. */
static bool take_decimal(struct tc_slice *io_s, double *out)
{
    uint64_t whole = 0;
    size_t used = tc_slice_u64(tc_slice_head(*io_s, 9), &whole);
    if (used == 0) {
        return false;
    }
    double value = (double)whole;
    struct tc_slice s = tc_slice_from(*io_s, used);
    if (s.len > 1 && s.ptr[0] == '.') {
        uint64_t fraction = 0;
        size_t digits = tc_slice_u64(tc_slice_head(tc_slice_from(s, 1), 9), &fraction);
        double scale = 1;
        for (size_t i = 0; i < digits; i++) {
            scale *= 10;
        }
        value += (double)fraction / scale;
        s = tc_slice_from(s, 1 + digits);
    }
    *io_s = s;
    *out = value;
    return true;
}

/* "8.0 GT/s PCIe x4 link" at the start of *io_s; older kernels leave "PCIe" out. */
static bool take_rate(struct tc_slice *io_s, double *out_speed, int64_t *out_width)
{
    uint64_t width = 0;
    struct tc_slice s = *io_s;
    if (!take_decimal(&s, out_speed) || !tc__kmsg_take(&s, TC_LIT(" GT/s "))) {
        return false;
    }
    (void)tc__kmsg_take(&s, TC_LIT("PCIe "));
    if (!tc__kmsg_take(&s, TC_LIT("x"))) {
        return false;
    }
    size_t used = tc_slice_u64(s, &width);
    s = tc_slice_from(s, used);
    if (used == 0 || width == 0 || width > 32 || !tc__kmsg_take(&s, TC_LIT(" link"))) {
        return false;
    }
    *out_width = (int64_t)width;
    *io_s = s;
    return true;
}

/*
 * "pci 0000:01:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link
 * at 0000:00:00.0 (capable of 63.012 Gb/s with 16.0 GT/s PCIe x4 link)"
 */
static enum tc__kmsg_verdict rule_link(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice head;
    struct tc_slice s;
    struct tc_bdf device = {0};
    struct tc_bdf at = {0};
    double now = 0;
    double best = 0;
    int64_t width = 0;
    int64_t width_best = 0;
    if (!tc__kmsg_split(c->line->message, TC_LIT(" Gb/s available PCIe bandwidth, limited by "),
                        &head, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    (void)tc_slice_cut(head, ' ', &head);
    if (tc_bdf_parse(head, &device) == 0 || !take_rate(&s, &now, &width)) {
        c->why = "PCIe bandwidth without a device or a rate";
        return TC__KMSG_BROKEN;
    }
    if (tc__kmsg_take(&s, TC_LIT(" at "))) {
        (void)tc_bdf_parse(s, &at);
    }
    if (tc__kmsg_split(s, TC_LIT(" Gb/s with "), &head, &s)) {
        (void)take_rate(&s, &best, &width_best);
    }
    tc_event_init(ev, TC_EVENT_PCIE_LINK);
    ev->scope.pci = device;
    ev->aer.reporter = at;
    ev->aer.speed_gts = now;
    ev->aer.speed_gts_max = best;
    ev->aer.width = width;
    ev->aer.width_max = width_best;
    return TC__KMSG_EVENT;
}

const tc__kmsg_rule tc__kmsg_pci_rules[] = {rule_aer, rule_link, NULL};
