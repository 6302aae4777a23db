/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records whose text is the kernel's: their lines go to the rules of the kmsg codec as structs,
 * gathered, so that lines which belong together see each other. Each leads back to its record,
 * which stays the evidence.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/otlp/record_priv.h"

#define S(literal) TC_LIT(literal)

#define LINES_MAX 512
/* For copies, per line; short ones leave room for long ones. */
#define LINE_BYTES 512
/* With less memory than this no lines are gathered. */
#define MEMORY_MIN ((size_t)4 << 10)
/* Lines of one body that are read. */
#define BODY_LINES 256

void tc__otlp_kernel_init(struct tc__otlp_kernel *b, struct tc_arena *arena, size_t room)
{
    size_t each = sizeof *b->lines + sizeof *b->of + LINE_BYTES;
    size_t cap = room / each < LINES_MAX ? room / each : LINES_MAX;
    *b = (struct tc__otlp_kernel){0};
    if (cap * each < MEMORY_MIN) {
        return;
    }
    b->lines = tc_arena_alloc_raw(arena, cap * sizeof *b->lines, alignof(struct tc__kmsg_line));
    b->of = tc_arena_alloc_raw(arena, cap * sizeof *b->of, alignof(struct tc__otlp_line));
    char *text = tc_arena_alloc_raw(arena, cap * LINE_BYTES, 1);
    if (b->lines != NULL && b->of != NULL && text != NULL) {
        b->text = tc_buf_make(text, cap * LINE_BYTES);
        b->cap = cap;
    }
}

void tc__otlp_kernel_drop(struct tc__otlp_kernel *b)
{
    tc_buf_reset(&b->text);
    b->count = 0;
    b->ruled = 0;
}

/* ---- one line ---- */

/* A message that only the kernel, or who quotes it, writes. */
static bool is_unmistakable(struct tc_slice message)
{
    return tc_slice_starts(message, S("NVRM: ")) ||
           (tc_slice_starts(message, S("nvidia-nvswitch")) &&
            tc_slice_contains(message, S(": SXid ("))) ||
           (tc_slice_contains(message, S("PCIe Bus Error: severity=")) &&
            !tc_slice_starts(message, S("{"))) ||
           tc_slice_starts(message, S("oom-kill:constraint="));
}

/*
 * The time of a record is the line's own when the Collector parsed it; if it did not, the line's
 * own date is better than the moment at which the line was read, which may be much later.
 */
static int64_t time_of_line(const struct tc__otlp_line *of, const struct tc__kmsg_line *line)
{
    if (of->time_ns != TC_TIME_NONE) {
        return of->time_ns;
    }
    bool dated = line->time_ns >= 0 && line->time_ns <= TC_TIME_MAX;
    return dated ? line->time_ns : of->observed_ns;
}

/* An Xid without a prefix needs no search for one. */
static void frame_line(const struct tc_codec_input *in, struct tc_slice raw,
                       struct tc__kmsg_line *out)
{
    if (!tc_slice_starts(raw, TC__KMSG_XID)) {
        tc__kmsg_frame(in, raw, out);
        return;
    }
    *out = (struct tc__kmsg_line){.raw = raw,
                                  .message = tc_slice_trim(raw),
                                  .time_ns = TC_TIME_NONE,
                                  .uptime_ns = TC_TIME_NONE,
                                  .count = 1,
                                  .origin = TC__KMSG_KERNEL};
}

/* Takes the prefix off. False when the line is not the kernel's. */
static bool read_raw(const struct tc__otlp *o, const struct tc__otlp_line *of, struct tc_slice raw,
                     struct tc__kmsg_line *out)
{
    int64_t now_ns = of->time_ns != TC_TIME_NONE ? of->time_ns : of->observed_ns;
    struct tc_codec_input in = {.bytes = raw,
                                .boot_ns = o->decode.in->boot_ns,
                                .now_ns = now_ns == TC_TIME_NONE ? o->decode.in->now_ns : now_ns,
                                .utc_offset_s = o->decode.in->utc_offset_s};
    frame_line(&in, raw, out);
    if (out->origin != TC__KMSG_KERNEL || out->message.len == 0 ||
        !(of->is_kernel || out->framed || is_unmistakable(out->message))) {
        return false;
    }
    out->node = tc_slice_or(of->told, out->node);
    out->node = tc_slice_or(out->node, of->host);
    out->node = tc_slice_or(out->node, o->decode.in->node);
    out->time_ns = time_of_line(of, out);
    out->uptime_ns = TC_TIME_NONE;
    return true;
}

/* ---- lines that wait ---- */

/* A rule looks at a line from another one. */
static bool read_neighbour(void *owner, size_t at)
{
    struct tc__otlp *o = owner;
    struct tc__otlp_line *of = &o->kernel.of[at];
    if (of->state == TC__OTLP_LINE_RAW) {
        bool kernels = read_raw(o, of, o->kernel.lines[at].raw, &o->kernel.lines[at]);
        of->state = kernels ? TC__OTLP_LINE_READ : TC__OTLP_LINE_FOREIGN;
    }
    return of->state != TC__OTLP_LINE_FOREIGN;
}

static tc_status apply_rules(struct tc__otlp *o, size_t at)
{
    const struct tc__otlp_kernel *b = &o->kernel;
    struct tc_event ev;
    struct tc__kmsg_context c = {.line = &b->lines[at],
                                 .lines = b->lines,
                                 .line_count = b->count,
                                 .ready = read_neighbour,
                                 .owner = o,
                                 .arena = o->decode.out->arena,
                                 .scan = &o->kernel_scan};
    switch (tc__kmsg_apply(&c, &ev)) {
    case TC__KMSG_EVENT:
        return tc__decode_emit(&o->decode, &ev);
    case TC__KMSG_NOT_MINE:
        c.why = "no rule for this message";
        break;
    case TC__KMSG_BROKEN:
        break;
    case TC__KMSG_PART:
        return TC_OK;
    case TC__KMSG_NOMEM:
        return tc_fail(o->decode.err, TC_E_NOMEM, o->decode.raw_offset,
                       "kernel log: the arena \"%s\" is full", o->decode.out->arena->name);
    }
    return tc__decode_unknown(&o->decode, c.why);
}

tc_status tc__otlp_flush(struct tc__otlp *o)
{
    struct tc__otlp_kernel *b = &o->kernel;
    size_t raw_offset = o->decode.raw_offset;
    size_t raw_length = o->decode.raw_length;
    tc_status status = TC_OK;
    for (size_t i = 0; i < b->count && status == TC_OK; i++) {
        if (b->of[i].state == TC__OTLP_LINE_RULED) {
            /* Evidence, errors and what is unknown are about the record of the line. */
            o->decode.raw_offset = b->of[i].record.offset;
            o->decode.raw_length = b->of[i].record.length;
            status = apply_rules(o, i);
        }
    }
    tc__otlp_kernel_drop(b);
    o->decode.raw_offset = raw_offset;
    o->decode.raw_length = raw_length;
    return status;
}

/* The string itself where it outlives the call, else a copy of it. */
static struct tc_slice keep_string(struct tc__otlp *o, struct tc_slice s)
{
    if (s.len == 0 || tc__decode_lasts(&o->decode, s)) {
        return s;
    }
    size_t start = o->kernel.text.len;
    tc_buf_str(&o->kernel.text, s);
    return tc_buf_since(&o->kernel.text, start);
}

/* Records that follow each other are mostly of one node: then there is one copy of its name. */
static struct tc_slice keep_again(struct tc__otlp *o, struct tc_slice s, struct tc_slice last)
{
    return s.len == last.len && (s.ptr == last.ptr || tc_slice_eq(s, last)) ? last
                                                                            : keep_string(o, s);
}

/* A place for one line more, with strings of so many bytes, and what its record says of it. */
static tc_status add_line(struct tc__otlp *o, const struct tc__otlp_line *of, size_t bytes,
                          struct tc__kmsg_line **out)
{
    struct tc__otlp_kernel *b = &o->kernel;
    size_t need = bytes + of->told.len + of->host.len;
    if (b->count == b->cap || need > b->text.cap - b->text.len) {
        TC_TRY(tc__otlp_flush(o));
    }
    if (b->cap == 0 || need > b->text.cap) {
        return tc_fail(o->decode.err, TC_E_LIMIT, o->decode.raw_offset,
                       "a log record: no room for a line of %zu bytes", bytes);
    }
    const struct tc__otlp_line *last = b->count > 0 ? &b->of[b->count - 1] : NULL;
    struct tc__otlp_line *to = &b->of[b->count];
    *to = *of;
    to->record =
        (struct tc_raw){.offset = o->decode.raw_offset, .length = (uint32_t)o->decode.raw_length};
    to->told = keep_again(o, of->told, last == NULL ? TC_EMPTY : last->told);
    to->host = keep_again(o, of->host, last == NULL ? TC_EMPTY : last->host);
    *out = &b->lines[b->count++];
    return TC_OK;
}

/* Keeps a line that no rule begins with, as it came. */
static tc_status add_raw(struct tc__otlp *o, struct tc__otlp_line *of, struct tc_slice raw)
{
    struct tc__kmsg_line *line = NULL;
    of->state = TC__OTLP_LINE_RAW;
    TC_TRY(add_line(o, of, raw.len, &line));
    line->raw = keep_string(o, raw);
    return tc__decode_unknown(&o->decode, "no rule for this message");
}

static tc_status add_ruled(struct tc__otlp *o, struct tc__otlp_line *of,
                           const struct tc__kmsg_line *read, enum tc__kmsg_origin origin)
{
    struct tc__kmsg_line *line = NULL;
    of->state = TC__OTLP_LINE_RULED;
    TC_TRY(add_line(o, of, read->message.len + read->node.len, &line));
    *line = (struct tc__kmsg_line){
        .message = keep_string(o, read->message),
        .node = keep_again(o, read->node, o->kernel.of[o->kernel.count - 1].told),
        .time_ns = read->time_ns,
        .uptime_ns = TC_TIME_NONE,
        .count = read->count,
        .origin = origin,
    };
    TC_ASSERT(!o->kernel.text.overflowed);
    o->kernel.ruled++;
    return TC_OK;
}

/*
 * An Xid at once: its line says everything by itself. Only where no line waits for its rules, since
 * those may look at what comes behind them. *out_done is false when it has to wait with them, or is
 * none.
 */
static tc_status deliver_xid(struct tc__otlp *o, const struct tc__kmsg_line *line, bool *out_done)
{
    struct tc_event ev;
    struct tc__kmsg_context c = {.line = line, .arena = o->decode.out->arena};
    *out_done = false;
    if (o->kernel.ruled > 0 || !tc_slice_starts(line->message, TC__KMSG_XID) ||
        tc__kmsg_xid(&c, &o->blank_xid, &ev) != TC__KMSG_EVENT) {
        return TC_OK;
    }
    *out_done = true;
    ev.time_ns = line->time_ns;
    ev.scope.node = line->node;
    bool lasts = tc__decode_lasts(&o->decode, line->message) &&
                 (line->node.len == 0 || tc__decode_lasts(&o->decode, line->node));
    return lasts ? tc__decode_emit_lasting(&o->decode, &ev) : tc__decode_emit(&o->decode, &ev);
}

/* ---- records ---- */

/*
 * Whether a text may hold what a rule begins with. Objects may: their strings are not as they
 * stand. Where somebody wants to know what was not understood, every line is read.
 */
static bool may_tell(const struct tc__otlp *o, struct tc_slice text)
{
    if (tc_slice_starts(text, TC__KMSG_XID)) {
        return true;
    }
    struct tc_slice first = tc_slice_from(text, tc_slice_bom(text));
    return o->decode.in->want_unknown || tc_slice_starts(tc__kmsg_skip_spaces(first), S("{")) ||
           tc__kmsg_has_literal(&o->kernel_scan, text);
}

/* One line of the kernel's, or of systemd-oomd's. *io_taken becomes true when it is that. */
static tc_status read_line(struct tc__otlp *o, struct tc__otlp_line *of, struct tc_slice raw,
                           bool is_oomd, bool *io_taken)
{
    struct tc__kmsg_line line;
    bool done = false;
    if (!read_raw(o, of, raw, &line)) {
        return TC_OK;
    }
    *io_taken = true;
    if (!is_oomd) {
        TC_TRY(deliver_xid(o, &line, &done));
    }
    return done ? TC_OK : add_ruled(o, of, &line, is_oomd ? TC__KMSG_OOMD : TC__KMSG_KERNEL);
}

tc_status tc__otlp_kernel_record(struct tc__otlp *o, const struct tc__otlp_record *r,
                                 enum tc__otlp_writer writer, bool *out_taken)
{
    struct tc_slice body = r->text;
    bool is_oomd = writer == TC__OTLP_BY_OOMD;
    bool tells = is_oomd || may_tell(o, body);
    bool is_one = tc_slice_find_byte(body, '\n') == TC_NPOS;
    *out_taken = false;
    if (!tells && !is_one && writer == TC__OTLP_BY_ANYBODY) {
        return TC_OK;
    }
    struct tc__otlp_line of = {
        .told = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_NODE)),
        .host = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOST)),
        .time_ns = r->time_ns,
        .observed_ns = r->observed_ns,
        .is_kernel = writer != TC__OTLP_BY_ANYBODY,
    };
    of.told = tc_slice_or(of.told, tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOSTNAME)));
    for (size_t i = 0; i < BODY_LINES && body.len > 0; i++) {
        struct tc_slice raw = is_one ? body : tc_slice_cut(body, '\n', &body);
        body = is_one ? TC_EMPTY : body;
        o->decode.cursor->cut += raw.len > TC_LINE_MAX;
        raw = tc_slice_head(raw, TC_LINE_MAX);
        if (is_oomd || (tells && (is_one || may_tell(o, raw)))) {
            TC_TRY(read_line(o, &of, raw, is_oomd, out_taken));
        } else {
            TC_TRY(add_raw(o, &of, raw));
            *out_taken = true;
        }
    }
    return TC_OK;
}
