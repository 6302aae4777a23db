/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of rules, what they share, and the rules for NVIDIA's drivers: Xid,
 * SXid, inventory, NVLink discovery, peer memory.
 */
#include "base/limits.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/match_priv.h"

/* Codes above this are not Xids or SXids but torn or garbled lines. */
#define CODE_MAX 100000
/* The Xids whose text is that of NVLink 5: unit, severity, link, registers. */
#define NVLINK5_FIRST 144
#define NVLINK5_LAST 150
#define XID_NVLINK 74
#define XID_FALLEN_OFF 79
/* Hex digits of an NVLink 5 register: fewer at the end of a line are a torn number. */
#define REGISTER_DIGITS 8
#define UUID_LENGTH 40 /* "GPU-" and 36 */
/* "fallen off the bus" is the last of four lines that the driver prints at once. */
#define FALLEN_OFF_LINES 4
/* Why the driver refuses a GPU stands at most so many lines above that it does. */
#define REASON_LINES 16

size_t tc__kmsg_offset(const struct tc__kmsg_context *c)
{
    return c->lines != NULL ? (size_t)(c->line - c->lines)
                            : (size_t)(c->line->raw.ptr - c->in->bytes.ptr);
}

bool tc__kmsg_next(const struct tc__kmsg_context *c, size_t *io_at, struct tc__kmsg_line *out)
{
    if (c->lines != NULL) {
        size_t at = *io_at + 1;
        while (at < c->line_count && c->ready != NULL && !c->ready(c->owner, at)) {
            at++;
        }
        if (at >= c->line_count) {
            return false;
        }
        *io_at = at;
        *out = c->lines[at];
        return true;
    }
    struct tc_slice s = c->in->bytes;
    if (c->shape != TC__KMSG_LINES) {
        /* Over the record at *io_at, to the one behind it. */
        size_t at = *io_at;
        if (!tc__kmsg_record_next(c->shape, c->in, &at, NULL) ||
            !tc__kmsg_record_next(c->shape, c->in, &at, out)) {
            return false;
        }
        *io_at = (size_t)(out->raw.ptr - s.ptr);
        return true;
    }
    size_t end = tc_slice_find_byte(tc_slice_head(tc_slice_from(s, *io_at), TC_LINE_MAX + 1), '\n');
    if (end == TC_NPOS || *io_at + end + 1 >= s.len) {
        return false;
    }
    size_t start = *io_at + end + 1;
    struct tc_slice line = tc_slice_head(tc_slice_from(s, start), TC_LINE_MAX);
    size_t length = tc_slice_find_byte(line, '\n');
    tc__kmsg_frame(c->in, tc_slice_head(line, length), out);
    *io_at = start;
    return true;
}

bool tc__kmsg_prev(const struct tc__kmsg_context *c, size_t *io_at, struct tc__kmsg_line *out)
{
    if (c->lines != NULL) {
        size_t at = *io_at;
        while (at > 0 && c->ready != NULL && !c->ready(c->owner, at - 1)) {
            at--;
        }
        if (at == 0) {
            return false;
        }
        *io_at = at - 1;
        *out = c->lines[at - 1];
        return true;
    }
    struct tc_slice s = c->in->bytes;
    if (c->shape != TC__KMSG_LINES) {
        return tc__kmsg_record_prev(c->shape, c->in, io_at, out);
    }
    if (*io_at == 0) {
        return false;
    }
    size_t end = *io_at - 1;
    /* As far back as tc__kmsg_next looks ahead, so that two lines see each other or neither. */
    size_t stop = end > TC_LINE_MAX ? end - TC_LINE_MAX - 1 : 0;
    const char *newline = memrchr(s.ptr + stop, '\n', end - stop);
    if (newline == NULL && end > TC_LINE_MAX) {
        return false;
    }
    size_t start = newline == NULL ? 0 : (size_t)(newline - s.ptr) + 1;
    tc__kmsg_frame(c->in, tc_slice_make(s.ptr + start, end - start), out);
    *io_at = start;
    return true;
}

void tc__kmsg_fault(const struct tc__kmsg_context *c, struct tc_event *ev, enum tc_event_kind kind,
                    struct tc_slice fault, struct tc_slice device)
{
    tc_event_init(ev, kind);
    ev->fault.fault = fault;
    ev->fault.device = device;
    ev->fault.message = c->line->message;
    ev->fault.count = c->line->count;
}

/* The number behind the first `word` of s ("Link 08", "link 14("); -1 when there is none. */
static int64_t number_after(struct tc_slice s, struct tc_slice word)
{
    size_t at = tc_slice_find_nocase(s, word);
    int64_t value = -1;
    if (at != TC_NPOS) {
        struct tc_slice rest = tc_slice_from(s, at + word.len);
        size_t used = tc_slice_i64(rest, &value);
        if (used == 0 || value < 0) {
            value = -1;
        }
    }
    return value;
}

/* "(PCI:0000:b3:00.0 GPU-I:05): 79" at the start of *io_s: the address and the code. */
static enum tc__kmsg_verdict take_code(struct tc__kmsg_context *c, struct tc_slice *io_s,
                                       struct tc_bdf *out_pci, int64_t *out_code)
{
    struct tc_slice inside;
    struct tc_slice s;
    if (!tc__kmsg_split(*io_s, TC_LIT("):"), &inside, &s)) {
        c->why = "Xid or SXid without a code";
        return TC__KMSG_BROKEN;
    }
    (void)tc__kmsg_take(&inside, TC_LIT("PCI:"));
    uint64_t code = 0;
    s = tc__kmsg_skip_spaces(s);
    size_t used = tc_slice_u64(s, &code);
    if (tc_bdf_parse(inside, out_pci) == 0) {
        c->why = "Xid or SXid without a PCI address";
        return TC__KMSG_BROKEN;
    }
    if (used == 0 || code > CODE_MAX) {
        c->why = "Xid or SXid without a code";
        return TC__KMSG_BROKEN;
    }
    s = tc_slice_from(s, used);
    (void)tc__kmsg_take(&s, TC_LIT(","));
    *io_s = tc__kmsg_skip_spaces(s);
    *out_code = (int64_t)code;
    return TC__KMSG_EVENT;
}

/* Takes "key=value, " off; the driver's "<unknown>" gives the empty slice. */
static struct tc_slice take_value(struct tc_slice *io_s, struct tc_slice key)
{
    if (!tc__kmsg_take(io_s, key)) {
        return TC_EMPTY;
    }
    struct tc_slice value = tc_slice_trim(tc_slice_cut(*io_s, ',', io_s));
    *io_s = tc__kmsg_skip_spaces(*io_s);
    bool unknown =
        tc_slice_eq(value, TC_LIT("<unknown>")) || tc_slice_eq(value, TC_LIT("'<unknown>'"));
    return unknown ? TC_EMPTY : value;
}

/* "Fatal" and "Nonfatal" of an Xid, "Non-fatal" of an SXid. */
static struct tc_slice severity_of(struct tc_slice word)
{
    if (tc_slice_eq_nocase(word, TC_LIT("fatal"))) {
        return TC_LIT("fatal");
    }
    if (tc_slice_eq_nocase(word, TC_LIT("nonfatal")) ||
        tc_slice_eq_nocase(word, TC_LIT("non-fatal"))) {
        return TC_LIT("nonfatal");
    }
    return TC_EMPTY;
}

/* "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 ..." */
static void read_nvlink5(struct tc_slice message, struct tc_ev_xid *xid)
{
    struct tc_slice rest;
    struct tc_slice unit = tc_slice_cut(message, ' ', &rest);
    struct tc_slice severity = severity_of(tc_slice_cut(tc__kmsg_skip_spaces(rest), ' ', &rest));
    if (severity.len == 0) {
        return;
    }
    xid->unit = unit;
    xid->severity = severity;
    xid->link = number_after(rest, TC_LIT("Link "));
    struct tc_slice head;
    uint64_t value = 0;
    if (!tc__kmsg_split(rest, TC_LIT("(0x"), &head, &rest)) {
        return;
    }
    size_t used = tc_slice_hex(rest, &value);
    bool whole = used == REGISTER_DIGITS || (used > 0 && used < rest.len);
    if (whole && value <= UINT32_MAX) {
        xid->intrinfo = (int64_t)value;
        xid->subcode = (int64_t)(value >> 20 & 0x3f);
    }
}

/* "NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, Ch 00000008" */
enum tc__kmsg_verdict tc__kmsg_xid(struct tc__kmsg_context *c, const struct tc_event *blank,
                                   struct tc_event *ev)
{
    struct tc_slice s = tc_slice_from(c->line->message, TC__KMSG_XID.len);
    struct tc_bdf pci = {0};
    int64_t code = 0;
    enum tc__kmsg_verdict verdict = take_code(c, &s, &pci, &code);
    if (verdict != TC__KMSG_EVENT) {
        return verdict;
    }
    *ev = *blank;
    ev->scope.pci = pci;
    ev->xid.code = code;
    uint64_t pid = 0;
    if (tc_slice_is_u64(take_value(&s, TC_LIT("pid=")), &pid) && pid <= INT32_MAX) {
        ev->scope.pid = (int64_t)pid;
    }
    ev->xid.process = take_value(&s, TC_LIT("name="));
    ev->xid.message = s;
    if (code >= NVLINK5_FIRST && code <= NVLINK5_LAST) {
        read_nvlink5(s, &ev->xid);
    } else if (code == XID_NVLINK) {
        ev->xid.link = number_after(s, TC_LIT("link "));
    }
    return TC__KMSG_EVENT;
}

static enum tc__kmsg_verdict rule_xid(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_event blank;
    if (!tc_slice_starts(c->line->message, TC__KMSG_XID)) {
        return TC__KMSG_NOT_MINE;
    }
    tc_event_init(&blank, TC_EVENT_XID);
    return tc__kmsg_xid(c, &blank, ev);
}

/* "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress ..." */
static enum tc__kmsg_verdict rule_sxid(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_bdf pci = {0};
    int64_t code = 0;
    if (!tc__text_match(c->line->message, "nvidia-nvswitch<%d|>: SXid ({0*}", got)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice s = got[0];
    enum tc__kmsg_verdict verdict = take_code(c, &s, &pci, &code);
    if (verdict != TC__KMSG_EVENT) {
        return verdict;
    }
    struct tc_slice rest;
    tc_event_init(ev, TC_EVENT_SXID);
    ev->scope.pci = pci;
    ev->xid.code = code;
    ev->xid.message = s;
    ev->xid.severity = severity_of(tc_slice_cut(s, ',', &rest));
    ev->xid.link = number_after(s, TC_LIT("Link "));
    return TC__KMSG_EVENT;
}

/* The GPU that an earlier line of the same four names. */
static void find_fallen_gpu(const struct tc__kmsg_context *c, struct tc_bdf *out)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < FALLEN_OFF_LINES && tc__kmsg_prev(c, &at, &line); i++) {
        struct tc_slice s = line.message;
        if (line.origin == TC__KMSG_KERNEL && tc_slice_eq(line.node, c->line->node) &&
            tc__kmsg_take(&s, TC_LIT("NVRM: The NVIDIA GPU ")) && tc_bdf_parse(s, out) > 0) {
            return;
        }
    }
}

/*
 * The driver's other words for Xid 79. Usually an Xid line says the same: both
 * become events, since either may be missing.
 */
static enum tc__kmsg_verdict rule_fallen_off(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_bdf pci = {0};
    if (!tc__kmsg_take(&s, TC_LIT("NVRM: ")) ||
        !tc_slice_contains(s, TC_LIT("fallen off the bus"))) {
        return TC__KMSG_NOT_MINE;
    }
    if (tc_slice_starts(s, TC_LIT("fallen off the bus"))) {
        find_fallen_gpu(c, &pci);
    } else if (tc__text_match(s, "<The NVIDIA |>GPU <at |><PCI:|>{0%b}", got)) {
        (void)tc_bdf_parse(got[0], &pci);
    }
    if (!pci.known) {
        c->why = "a GPU fell off the bus, without its PCI address";
        return TC__KMSG_BROKEN;
    }
    tc_event_init(ev, TC_EVENT_XID);
    ev->scope.pci = pci;
    ev->xid.code = XID_FALLEN_OFF;
    ev->xid.message = c->line->message;
    return TC__KMSG_EVENT;
}

/* "NVRM: GPU at PCI:0000:9b:00: GPU-660d987e-5b28-3bf6-2a2d-1d5ecae7f6df" */
static enum tc__kmsg_verdict rule_inventory(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { ADDRESS, UUID };
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(c->line->message, "NVRM: GPU at PCI:<{0%b}: {1GPU-*}$|>", got)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice uuid = tc_slice_head(got[UUID], UUID_LENGTH);
    if (!tc_is_uuid(tc_slice_from(uuid, 4))) {
        c->why = "GPU inventory without an address or a UUID";
        return TC__KMSG_BROKEN;
    }
    tc_event_init(ev, TC_EVENT_GPU_INVENTORY);
    (void)tc_bdf_parse(got[ADDRESS], &ev->scope.pci);
    ev->scope.gpu_uuid = uuid;
    return TC__KMSG_EVENT;
}

/* "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: ... failed", in capitals or not. */
static enum tc__kmsg_verdict rule_discovery(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    if (!tc_slice_starts(s, TC_LIT("NVRM: knvlink")) || !tc_slice_contains(s, TC_LIT("RxDet")) ||
        tc_slice_find_nocase(s, TC_LIT("failed")) == TC_NPOS) {
        return TC__KMSG_NOT_MINE;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_DRIVER_FAULT, TC_LIT("nvlink_discovery_failed"), TC_EMPTY);
    return TC__KMSG_EVENT;
}

bool tc__kmsg_said_above(const struct tc__kmsg_context *c, const char *const *words)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < REASON_LINES && tc__kmsg_prev(c, &at, &line); i++) {
        if (line.origin != TC__KMSG_KERNEL || !tc_slice_eq(line.node, c->line->node)) {
            continue;
        }
        for (const char *const *word = words; *word != NULL; word++) {
            if (tc_slice_contains(line.message, tc_slice_cstr(*word))) {
                return true;
            }
        }
    }
    return false;
}

/*
 * "nvidia: probe of 0000:5d:00.0 failed with error -1", since Linux 6.9 "nvidia 0000:5d:00.0: probe
 * with driver nvidia failed with error -1". The driver refuses boards that it does not support,
 * too.
 */
static enum tc__kmsg_verdict rule_probe(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const char *const reasons[] = {"Legacy drivers", "not supported by", "already bound to",
                                          "claims ownership", NULL};
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice s = c->line->message;
    if (!tc__text_match(s, "nvidia: probe of {0%b} failed with error", got) &&
        !tc__text_match(s, "nvidia {0%b}: probe with driver nvidia failed with error", got)) {
        return TC__KMSG_NOT_MINE;
    }
    bool refused = tc__kmsg_said_above(c, reasons);
    tc__kmsg_fault(c, ev, TC_EVENT_DRIVER_FAULT,
                   refused ? TC_LIT("gpu_not_supported") : TC_LIT("gpu_probe_failed"), TC_EMPTY);
    (void)tc_bdf_parse(got[0], &ev->scope.pci);
    return TC__KMSG_EVENT;
}

/* "NVRM: GPU 0000:c1:00.0: RmInitAdapter failed! (0x24:0x65:1461)", also without its firmware. */
static enum tc__kmsg_verdict rule_init(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const char *const reasons[] = {"Direct firmware load for nvidia",
                                          "No firmware image found", NULL};
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(c->line->message, "NVRM: GPU {0%b}*: RmInitAdapter failed", got)) {
        return TC__KMSG_NOT_MINE;
    }
    bool missing = tc__kmsg_said_above(c, reasons);
    tc__kmsg_fault(c, ev, TC_EVENT_DRIVER_FAULT,
                   missing ? TC_LIT("gpu_firmware_missing") : TC_LIT("gpu_init_failed"), TC_EMPTY);
    (void)tc_bdf_parse(got[0], &ev->scope.pci);
    return TC__KMSG_EVENT;
}

/*
 * "NVRM: Attempting to remove device 0000:5d:00.0 with non-zero usage count!": its port reported
 * that the card is gone. Without such a report it is an administrator who removes the device.
 */
static enum tc__kmsg_verdict rule_removed(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const char *const reasons[] = {": Link Down", ": Card not present", NULL};
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(c->line->message,
                        "NVRM: Attempting to remove device {0%b} with non-zero usage count", got) ||
        !tc__kmsg_said_above(c, reasons)) {
        return TC__KMSG_NOT_MINE;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_DRIVER_FAULT, TC_LIT("gpu_unreachable"), TC_EMPTY);
    (void)tc_bdf_parse(got[0], &ev->scope.pci);
    return TC__KMSG_EVENT;
}

static const tc__kmsg_rule DRIVER_RULES[] = {rule_xid,       rule_sxid,      rule_fallen_off,
                                             rule_inventory, rule_probe,     rule_init,
                                             rule_removed,   rule_discovery, NULL};

/* Those that know lines without a literal: details of a report that another line tells. */
static const tc__kmsg_rule PART_RULES[] = {tc__kmsg_rule_aer, tc__kmsg_rule_cgroup_stats, NULL};

static enum tc__kmsg_verdict apply_list(const tc__kmsg_rule *list, struct tc__kmsg_context *c,
                                        struct tc_event *ev)
{
    enum tc__kmsg_verdict verdict = TC__KMSG_NOT_MINE;
    for (; *list != NULL && verdict == TC__KMSG_NOT_MINE; list++) {
        verdict = (*list)(c, ev);
    }
    return verdict;
}

static enum tc__kmsg_verdict apply_rules(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const struct {
        unsigned group;
        const tc__kmsg_rule *rules;
    } lists[] = {{TC__KMSG_DRIVER, DRIVER_RULES},
                 {TC__KMSG_PCI, tc__kmsg_pci_rules},
                 {TC__KMSG_MEMORY, tc__kmsg_memory_rules},
                 {TC__KMSG_FAULTS, tc__kmsg_fault_rules}};
    if (c->line->origin == TC__KMSG_OOMD) {
        return tc__kmsg_rule_oomd(c, ev);
    }
    unsigned groups = TC__KMSG_ALL_RULES;
    if (c->scan != NULL) {
        groups = tc__kmsg_rules_of(c->scan, c->line->message);
        if (groups == 0) {
            return apply_list(PART_RULES, c, ev);
        }
    }
    enum tc__kmsg_verdict verdict = TC__KMSG_NOT_MINE;
    for (size_t i = 0; i < TC_COUNT(lists) && verdict == TC__KMSG_NOT_MINE; i++) {
        if ((groups & lists[i].group) != 0) {
            verdict = apply_list(lists[i].rules, c, ev);
        }
    }
    return verdict;
}

enum tc__kmsg_verdict tc__kmsg_apply(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum tc__kmsg_verdict verdict = apply_rules(c, ev);
    if (verdict == TC__KMSG_EVENT) {
        ev->time_ns = c->line->time_ns;
        ev->uptime_ns = c->line->uptime_ns;
        ev->scope.node = c->line->node;
    }
    return verdict;
}
