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
    size_t each = sizeof *b->lines + sizeof *b->records + LINE_BYTES;
    size_t cap = room / each < LINES_MAX ? room / each : LINES_MAX;
    *b = (struct tc__otlp_kernel){0};
    if (cap * each < MEMORY_MIN) {
        return;
    }
    b->lines = tc_arena_alloc_raw(arena, cap * sizeof *b->lines, alignof(struct tc__kmsg_line));
    b->records = tc_arena_alloc_raw(arena, cap * sizeof *b->records, alignof(struct tc_raw));
    char *text = tc_arena_alloc_raw(arena, cap * LINE_BYTES, 1);
    if (b->lines != NULL && b->records != NULL && text != NULL) {
        b->text = tc_buf_make(text, cap * LINE_BYTES);
        b->cap = cap;
    }
}

void tc__otlp_kernel_drop(struct tc__otlp_kernel *b)
{
    tc_buf_reset(&b->text);
    b->count = 0;
}

static tc_status read_line(struct tc__otlp *o, size_t at)
{
    const struct tc__otlp_kernel *b = &o->kernel;
    struct tc_event ev;
    struct tc__kmsg_context c = {.line = &b->lines[at],
                                 .lines = b->lines,
                                 .line_count = b->count,
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
    return o->decode.in->want_unknown ? tc__decode_unknown(&o->decode, c.why) : TC_OK;
}

tc_status tc__otlp_flush(struct tc__otlp *o)
{
    struct tc__otlp_kernel *b = &o->kernel;
    size_t raw_offset = o->decode.raw_offset;
    size_t raw_length = o->decode.raw_length;
    tc_status status = TC_OK;
    for (size_t i = 0; i < b->count && status == TC_OK; i++) {
        /* Evidence, errors and what is unknown are about the record of the line. */
        o->decode.raw_offset = b->records[i].offset;
        o->decode.raw_length = b->records[i].length;
        status = read_line(o, i);
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

/* Gathers a line for the record that decode.raw_offset points at. Its time and node are known. */
static tc_status add_line(struct tc__otlp *o, const struct tc__kmsg_line *line)
{
    struct tc__otlp_kernel *b = &o->kernel;
    size_t need = line->message.len + line->node.len;
    if (b->count == b->cap || need > b->text.cap - b->text.len) {
        TC_TRY(tc__otlp_flush(o));
    }
    if (b->cap == 0 || need > b->text.cap) {
        return tc_fail(o->decode.err, TC_E_LIMIT, o->decode.raw_offset,
                       "a log record: no room for a line of %zu bytes", line->message.len);
    }
    /* Records that follow each other are mostly of one node: then there is one copy of its name. */
    const struct tc__kmsg_line *last = b->count > 0 ? &b->lines[b->count - 1] : NULL;
    bool is_same = last != NULL && tc_slice_eq(last->node, line->node);
    b->records[b->count] =
        (struct tc_raw){.offset = o->decode.raw_offset, .length = (uint32_t)o->decode.raw_length};
    b->lines[b->count] = (struct tc__kmsg_line){
        .message = keep_string(o, line->message),
        .node = is_same ? last->node : keep_string(o, line->node),
        .time_ns = line->time_ns,
        .uptime_ns = TC_TIME_NONE,
        .count = line->count,
        .origin = line->origin,
    };
    TC_ASSERT(!b->text.overflowed);
    b->count++;
    return TC_OK;
}

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
static int64_t time_of_line(const struct tc__otlp_record *r, const struct tc__kmsg_line *line)
{
    int64_t ns = r->time_ns;
    if (ns == TC_TIME_NONE && line->time_ns >= 0 && line->time_ns <= TC_TIME_MAX) {
        ns = line->time_ns;
    }
    return ns != TC_TIME_NONE ? ns : tc__otlp_time(r);
}

/*
 * An Xid at once: its line says everything by itself. Only where no lines wait, since those may
 * look at what comes behind them. *out_done is false when it has to wait with them, or is none.
 */
static tc_status deliver_xid(struct tc__otlp *o, const struct tc__kmsg_line *line, int64_t time_ns,
                             struct tc_slice node, bool *out_done)
{
    struct tc_event ev;
    struct tc__kmsg_context c = {.line = line, .arena = o->decode.out->arena};
    *out_done = false;
    if (o->kernel.count > 0 || !tc_slice_starts(line->message, TC__KMSG_XID) ||
        tc__kmsg_xid(&c, &o->blank_xid, &ev) != TC__KMSG_EVENT) {
        return TC_OK;
    }
    *out_done = true;
    ev.time_ns = time_ns;
    ev.scope.node = node;
    bool lasts = tc__decode_lasts(&o->decode, line->message) &&
                 (node.len == 0 || tc__decode_lasts(&o->decode, node));
    return lasts ? tc__decode_emit_lasting(&o->decode, &ev) : tc__decode_emit(&o->decode, &ev);
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

tc_status tc__otlp_kernel_record(struct tc__otlp *o, const struct tc__otlp_record *r,
                                 struct tc_slice writer, bool *out_taken)
{
    struct tc_slice body = r->text;
    struct tc_slice told = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_NODE));
    struct tc_slice host = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOST));
    struct tc_codec_input in = {.bytes = body,
                                .boot_ns = o->decode.in->boot_ns,
                                .now_ns = tc__otlp_time(r),
                                .utc_offset_s = o->decode.in->utc_offset_s};
    bool is_oomd = tc_slice_eq(writer, S("systemd-oomd"));
    *out_taken = false;
    told = tc_slice_or(told, tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOSTNAME)));
    in.now_ns = in.now_ns == TC_TIME_NONE ? o->decode.in->now_ns : in.now_ns;
    for (size_t i = 0; i < BODY_LINES && body.len > 0; i++) {
        struct tc__kmsg_line line;
        struct tc_slice raw = tc_slice_cut(body, '\n', &body);
        o->decode.cursor->cut += raw.len > TC_LINE_MAX;
        frame_line(&in, tc_slice_head(raw, TC_LINE_MAX), &line);
        bool kernels = line.origin == TC__KMSG_KERNEL &&
                       (writer.len > 0 || line.framed || is_unmistakable(line.message));
        if (!kernels || line.message.len == 0) {
            continue;
        }
        struct tc_slice node = told;
        node = tc_slice_or(node, line.node);
        node = tc_slice_or(node, host);
        node = tc_slice_or(node, o->decode.in->node);
        *out_taken = true;
        bool done = false;
        int64_t time_ns = time_of_line(r, &line);
        if (!is_oomd) {
            TC_TRY(deliver_xid(o, &line, time_ns, node, &done));
        }
        if (!done) {
            line.node = node;
            line.time_ns = time_ns;
            line.origin = is_oomd ? TC__KMSG_OOMD : TC__KMSG_KERNEL;
            TC_TRY(add_line(o, &line));
        }
    }
    return TC_OK;
}
