/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel log: where it is read, and how fast. A log of many gigabytes holds
 * few lines that matter, so the input is searched for the literals of literals.def
 * (base/scan.h) and only lines that hold one are parsed. Every rule needs
 * one of them: a new rule adds its own.
 *
 * Journal exports and pretty JSON are walked record by record instead; see journal.c.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/scan.h"
#include "codec/decode_priv.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/last_time_priv.h"
#include "codec/lines/lines_priv.h"

/* Lines that decide what an input is: enough to see past a banner. */
#define SNIFF_LINES 200
/* A line without a time has that of a line above, up to here. */
#define DATE_LOOK_LINES 200
/* One call of decode looks at lines that begin within so many bytes: a caller can give back the
 * pages behind it, where few lines are events. */
#define PIECE_BYTES ((size_t)16 << 20)

static const struct tc_slice LITERALS[] = {
#define LITERAL(bucket, text, groups) {(text), sizeof(text) - 1},
#include "codec/kmsg/literals.def"
#undef LITERAL
};

static const uint8_t BUCKETS[] = {
#define LITERAL(bucket, text, groups) (bucket),
#include "codec/kmsg/literals.def"
#undef LITERAL
};

enum {
    NO_RULES = 0,
    DRIVER = TC__KMSG_DRIVER,
    PCI = TC__KMSG_PCI,
    MEMORY = TC__KMSG_MEMORY,
    FAULTS = TC__KMSG_FAULTS,
};

static const uint8_t LITERAL_RULES[] = {
#define LITERAL(bucket, text, groups) (groups),
#include "codec/kmsg/literals.def"
#undef LITERAL
};

#define LITERAL_COUNT TC_COUNT(LITERALS)
/* Without those that say nothing about the message. */
#define MESSAGE_LITERAL_COUNT (LITERAL_COUNT - 3)

struct walk {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct tc_scan scan;
    size_t end; /* of the piece, for lines: the start of one, or the end of the input */
    enum tc__kmsg_shape shape;
};

/* A line or record to look at, and where to go on behind it. */
struct unit {
    struct tc__kmsg_line line;
    size_t next;
};

void tc__kmsg_scan_init(struct tc_scan *scan)
{
    tc_scan_init_in(scan, LITERALS, BUCKETS, MESSAGE_LITERAL_COUNT);
}

bool tc__kmsg_has_literal(const struct tc_scan *scan, struct tc_slice message)
{
    unsigned which = 0;
    return tc_scan_next(scan, message, 0, &which) != TC_NPOS;
}

unsigned tc__kmsg_rules_of(const struct tc_scan *scan, struct tc_slice message)
{
    unsigned rules = 0;
    unsigned which = 0;
    for (size_t at = tc_scan_next(scan, message, 0, &which);
         at != TC_NPOS && rules != TC__KMSG_ALL_RULES;
         at = tc_scan_next(scan, message, at + 1, &which)) {
        rules |= LITERAL_RULES[which];
    }
    return rules;
}

/* The end of the line that holds `at`. */
static size_t line_end(struct tc_slice s, size_t at)
{
    size_t length = tc_slice_find_byte(tc_slice_from(s, at), '\n');
    return length == TC_NPOS ? s.len : at + length;
}

/*
 * The start of the line that holds `hit`; TC_NPOS when that is more than TC_LINE_MAX
 * before it. `from` is the start of a line at or before it.
 */
static size_t line_start(struct tc_slice s, size_t from, size_t hit)
{
    size_t stop = hit - from > TC_LINE_MAX ? hit - TC_LINE_MAX : from;
    const char *newline = hit == stop ? NULL : memrchr(s.ptr + stop, '\n', hit - stop);
    if (newline != NULL) {
        return (size_t)(newline - s.ptr) + 1;
    }
    return stop == from ? from : TC_NPOS;
}

/* The next line worth a look: one with a literal, or any that is not empty. */
static bool next_line(struct walk *w, struct unit *out)
{
    struct tc_slice s = w->in->bytes;
    struct tc_slice piece = tc_slice_head(s, w->end);
    while (w->cursor->offset < piece.len) {
        size_t start = w->cursor->offset;
        size_t hit = start;
        if (!w->in->want_unknown) {
            unsigned which = 0;
            hit = tc_scan_next(&w->scan, piece, start, &which);
            if (hit == TC_NPOS) {
                break;
            }
            start = line_start(s, start, hit);
        }
        size_t end = line_end(s, hit);
        out->next = end < s.len ? end + 1 : end;
        if (start == TC_NPOS) {
            w->cursor->cut++;
            w->cursor->offset = out->next;
            continue;
        }
        struct tc_slice raw = tc_slice_make(s.ptr + start, end - start);
        if (!w->in->want_unknown && tc__line_cut_pair(raw, hit - start, &raw)) {
            start = (size_t)(raw.ptr - s.ptr);
            out->next = start + raw.len;
        }
        if (tc_slice_trim(tc_slice_head(raw, TC_LINE_MAX)).len == 0) {
            w->cursor->offset = out->next;
            continue;
        }
        if (raw.len > TC_LINE_MAX) {
            w->cursor->cut++;
            raw = tc_slice_head(raw, TC_LINE_MAX);
        }
        w->cursor->offset = start;
        tc__kmsg_frame(w->in, raw, &out->line);
        return true;
    }
    return false;
}

/*
 * The next record worth a look. Records without a literal are stepped over, since only
 * that tells where they end; the last is always looked at, since an export may be torn there.
 */
static bool next_record(struct walk *w, struct unit *out)
{
    struct tc_slice s = w->in->bytes;
    size_t hit = 0;
    for (;;) {
        size_t start = w->cursor->offset;
        unsigned which = 0;
        if (!w->in->want_unknown && hit <= start) {
            hit = tc_scan_next(&w->scan, s, start, &which);
        }
        out->next = start;
        if (!tc__kmsg_record_next(w->shape, w->in, &out->next, NULL)) {
            return false;
        }
        if (w->in->want_unknown || out->next > hit || out->next == s.len) {
            out->next = start;
            return tc__kmsg_record_next(w->shape, w->in, &out->next, &out->line);
        }
        w->cursor->offset = out->next;
    }
}

static tc_status report_unknown(struct walk *w, const struct unit *u, const char *why)
{
    if (!w->in->want_unknown) {
        return TC_OK;
    }
    return tc__codec_unknown(w->in, w->cursor, w->out, (size_t)(u->line.raw.ptr - w->in->bytes.ptr),
                             u->line.raw.len, why);
}

/* A record may be longer than evidence should be; its start has the time and the host. */
static struct tc_raw raw_of(struct walk *w, const struct unit *u)
{
    size_t length = u->line.raw.len;
    if (length > TC_LINE_MAX) {
        w->cursor->cut++;
        length = TC_LINE_MAX;
    }
    return (struct tc_raw){.source = w->in->source,
                           .length = (uint32_t)length,
                           .offset = (uint64_t)(u->line.raw.ptr - w->in->bytes.ptr)};
}

/* Of the nearest line above that has a date: dmesg -H heads each minute with one. */
static int64_t date_above(const struct walk *w, const struct unit *u)
{
    struct tc__kmsg_context c = {.in = w->in, .line = &u->line, .shape = w->shape};
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(&c);
    for (int i = 0; i < DATE_LOOK_LINES && tc__kmsg_prev(&c, &at, &line); i++) {
        if (line.time_ns != TC_TIME_NONE) {
            return line.time_ns;
        }
    }
    return TC_TIME_NONE;
}

static tc_status deliver(struct walk *w, const struct unit *u, struct tc_event *ev)
{
    ev->raw = raw_of(w, u);
    if (ev->time_ns == TC_TIME_NONE && ev->uptime_ns == TC_TIME_NONE) {
        ev->time_ns = date_above(w, u);
    }
    if (ev->scope.node.len == 0 && w->shape == TC__KMSG_LINES) {
        ev->scope.node = tc__heading_above(w->in, ev->raw.offset, &w->cursor->own[TC__OWN_HEADING]);
    }
    TC_TRY(w->out->event(w->out->context, ev));
    w->cursor->events++;
    w->cursor->undated += ev->time_ns == TC_TIME_NONE;
    return TC_OK;
}

/* What the rules make of the line; the arena keeps a message made of numbers only for an event. */
static enum tc__kmsg_verdict judge(struct walk *w, struct unit *u, struct tc__kmsg_context *c,
                                   struct tc_event *ev)
{
    if (u->line.numbers.len == 0) {
        return tc__kmsg_apply(c, ev);
    }
    tc_arena_mark mark = tc_arena_snapshot(c->arena);
    if (!tc__kmsg_unpack(w->in, c->arena, &u->line)) {
        return TC__KMSG_NOMEM;
    }
    enum tc__kmsg_verdict verdict = tc__kmsg_apply(c, ev);
    if (verdict != TC__KMSG_EVENT && verdict != TC__KMSG_NOMEM) {
        tc_arena_rewind(c->arena, mark);
    }
    return verdict;
}

static tc_status handle_message(struct walk *w, struct unit *u)
{
    struct tc_event ev;
    struct tc__kmsg_context c = {
        .scan = &w->scan, .in = w->in, .line = &u->line, .arena = w->out->arena, .shape = w->shape};
    switch (judge(w, u, &c, &ev)) {
    case TC__KMSG_EVENT:
        return deliver(w, u, &ev);
    case TC__KMSG_NOT_MINE:
        return report_unknown(w, u, "no rule for this message");
    case TC__KMSG_BROKEN:
        return report_unknown(w, u, c.why);
    case TC__KMSG_PART:
        return TC_OK;
    case TC__KMSG_NOMEM:
        break;
    }
    return tc_fail(w->err, TC_E_NOMEM, w->cursor->offset, "kernel log: the arena \"%s\" is full",
                   w->out->arena->name);
}

static tc_status handle(struct walk *w, struct unit *u)
{
    switch (u->line.origin) {
    case TC__KMSG_KERNEL:
    case TC__KMSG_OOMD:
        return handle_message(w, u);
    case TC__KMSG_FOREIGN:
        return report_unknown(w, u, "not a kernel line");
    case TC__KMSG_COMMENT:
        return report_unknown(w, u, "comment");
    case TC__KMSG_CONTINUATION:
        break;
    }
    return TC_OK;
}

static bool next_unit(struct walk *w, struct unit *out)
{
    return w->shape == TC__KMSG_LINES ? next_line(w, out) : next_record(w, out);
}

/* Where the piece ends that begins at the cursor. Literals do not reach over the end of a line. */
static size_t piece_end(const struct walk *w)
{
    struct tc_slice s = w->in->bytes;
    size_t at = w->cursor->offset;
    if (w->shape != TC__KMSG_LINES || at >= s.len || s.len - at <= PIECE_BYTES) {
        return s.len;
    }
    size_t end = line_end(s, at + PIECE_BYTES);
    return end < s.len ? end + 1 : end;
}

/* On failure the cursor stays at the line, so the call can be made again; a tear ends the input. */
static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct walk w = {.in = in, .cursor = cursor, .out = out, .err = err};
    struct unit u;
    w.shape = tc__kmsg_shape_of(in->bytes);
    w.end = piece_end(&w);
    tc_scan_init_in(&w.scan, LITERALS, BUCKETS, LITERAL_COUNT);
    while (next_unit(&w, &u)) {
        uint64_t events = cursor->events;
        TC_TRY(handle(&w, &u));
        cursor->offset = u.next;
        if (w.shape == TC__KMSG_EXPORT && u.line.torn) {
            cursor->done = true;
            return tc_fail(err, TC_E_MALFORMED, u.line.torn_at,
                           "journal export: this field is cut off, or its length is wrong: "
                           "nothing behind it can be read");
        }
        if (cursor->events != events && out->pause) {
            return TC_OK;
        }
    }
    cursor->offset = w.end;
    cursor->done = w.end == in->bytes.len;
    return TC_OK;
}

/*
 * An input is ours when its lines have the prefixes of system logs, or hold our
 * literals: half of them make it likely, one makes it possible.
 */
static int sniff(struct tc_codec_head head)
{
    struct tc_codec_input in = {
        .bytes = head.bytes, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    struct tc_codec_cursor cursor = {0};
    struct walk w = {.in = &in, .cursor = &cursor};
    struct unit u;
    w.shape = tc__kmsg_shape_of(head.bytes);
    w.end = head.bytes.len;
    tc__kmsg_scan_init(&w.scan);
    if (w.shape == TC__KMSG_EXPORT) {
        bool timed =
            tc_slice_starts(tc_slice_from(head.bytes, tc_slice_bom(head.bytes)), TC_LIT("__")) ||
            tc_slice_contains(head.bytes, TC_LIT("\n__REALTIME_TIMESTAMP="));
        return timed ? TC_SNIFF_SURE : TC_SNIFF_MAYBE;
    }
    size_t lines = 0;
    size_t ours = 0;
    while (lines < SNIFF_LINES && next_unit(&w, &u)) {
        cursor.offset = u.next;
        bool torn = !head.at_end && u.next == head.bytes.len;
        if (u.line.origin == TC__KMSG_COMMENT || (torn && lines > 0)) {
            continue;
        }
        lines++;
        if (u.line.sure) {
            return TC_SNIFF_SURE;
        }
        ours += u.line.framed ||
                (u.line.origin == TC__KMSG_KERNEL && tc__kmsg_has_literal(&w.scan, u.line.message));
    }
    if (ours == 0) {
        return TC_SNIFF_NO;
    }
    return ours * 2 >= lines ? TC_SNIFF_LIKELY : TC_SNIFF_MAYBE;
}

static int64_t time_in(const struct tc_codec_input *in, struct tc_slice raw)
{
    struct tc__kmsg_line line;
    tc__kmsg_frame(in, raw, &line);
    return line.time_ns;
}

static int64_t last_time(const struct tc_codec_input *in)
{
    if (tc__kmsg_shape_of(in->bytes) == TC__KMSG_LINES) {
        return tc__last_time(in, time_in);
    }
    return tc__last_time_by_key(in->bytes, TC_LIT("__REALTIME_TIMESTAMP"), TC_SECOND / 1000000);
}

const struct tc_codec tc_codec_kmsg = {
    .name = "kmsg",
    .summary = "kernel log: /dev/kmsg, dmesg, syslog, systemd journal",
    .known_by = "prefixes of system logs, or wordings of the kernel; in JSON, CRI, syslog, pdsh or "
                "quotes too",
    .gives = "xid, sxid, aer, pcie_link, gpu_inventory, oom_kill, memory_error, storage_error, "
             "network_fault, stuck_task, process_fault, driver_fault",
    .example =
        "[  123.456789] NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, GPU has fallen off the bus.",
    .ordered = true,
    .picks_lines = true,
    .sniff = sniff,
    .decode = decode,
    .last_time = last_time,
};
