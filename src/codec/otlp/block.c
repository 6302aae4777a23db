/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records whose text is in another format of ours: kernel messages go to the
 * kmsg codec and tracecore's own events to the event_json codec, as lines of a
 * text made here. Each line leads back to its record, which stays the evidence.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/event_json/event_json_priv.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/otlp/record_priv.h"
#include "event/fields.h"

#define S(literal) TC_LIT(literal)

#define BLOCK_LINES 512
/* Per line; short ones leave room for long ones. */
#define BLOCK_LINE_BYTES 512
#define BLOCK_NAME_BYTES 128
/* With less scratch than this there is no block. */
#define BLOCK_MIN ((size_t)4 << 10)
/* Lines of one body that are read. */
#define BODY_LINES 256
/* Before a message: a time, a node's name and "kernel: ". */
#define PREFIX_MAX 512

void tc__otlp_block_init(struct tc__otlp_block *b, const struct tc_codec *codec,
                         struct tc_arena *arena, size_t room)
{
    size_t each = sizeof *b->lines + BLOCK_LINE_BYTES + BLOCK_NAME_BYTES;
    size_t cap = room / each < BLOCK_LINES ? room / each : BLOCK_LINES;
    *b = (struct tc__otlp_block){.codec = codec, .now_ns = TC_TIME_NONE};
    if (cap * each < BLOCK_MIN) {
        return;
    }
    b->lines = tc_arena_alloc_raw(arena, cap * sizeof *b->lines, alignof(struct tc__otlp_line));
    char *text = tc_arena_alloc_raw(arena, cap * BLOCK_LINE_BYTES, 1);
    char *names = tc_arena_alloc_raw(arena, cap * BLOCK_NAME_BYTES, 1);
    if (b->lines != NULL && text != NULL && names != NULL) {
        b->text = tc_buf_make(text, cap * BLOCK_LINE_BYTES);
        b->names = tc_buf_make(names, cap * BLOCK_NAME_BYTES);
        b->cap = cap;
    }
}

/* What comes out of a block while it is read. */
struct delivery {
    struct tc__otlp *o;
    const struct tc__otlp_block *block;
};

static const struct tc__otlp_line *line_at(const struct tc__otlp_block *b, uint64_t offset)
{
    size_t low = 0;
    size_t high = b->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (b->lines[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &b->lines[low];
}

/* Evidence, errors and what is unknown are about the record of the line. */
static const struct tc__otlp_line *point_at(const struct delivery *d, uint64_t offset)
{
    const struct tc__otlp_line *line = line_at(d->block, offset);
    d->o->k.raw_offset = line->raw_offset;
    d->o->k.raw_length = line->raw_length;
    return line;
}

static void fill(struct tc_slice *io, struct tc_slice value)
{
    *io = io->len > 0 ? *io : value;
}

static tc_status on_event(void *context, const struct tc_event *ev)
{
    const struct delivery *d = context;
    const struct tc__otlp_line *line = point_at(d, ev->raw.offset);
    struct tc_event own = *ev;
    fill(&own.scope.node, line->scope.node);
    fill(&own.scope.ns, line->scope.ns);
    fill(&own.scope.pod, line->scope.pod);
    fill(&own.scope.pod_uid, line->scope.pod_uid);
    fill(&own.scope.container, line->scope.container);
    fill(&own.scope.job, line->scope.job);
    fill(&own.scope.gpu_uuid, line->scope.gpu_uuid);
    own.scope.pci = own.scope.pci.known ? own.scope.pci : line->scope.pci;
    own.scope.rank = own.scope.rank >= 0 ? own.scope.rank : line->scope.rank;
    own.scope.gpu_index = own.scope.gpu_index >= 0 ? own.scope.gpu_index : line->scope.gpu_index;
    if (own.time_ns == TC_TIME_NONE) {
        own.time_ns = line->time_ns;
    }
    return tc__k8s_emit(&d->o->k, &own);
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)length;
    const struct delivery *d = context;
    (void)point_at(d, offset);
    return tc__k8s_unknown(&d->o->k, why);
}

void tc__otlp_block_drop(struct tc__otlp_block *b)
{
    tc_buf_reset(&b->text);
    tc_buf_reset(&b->names);
    b->count = 0;
}

tc_status tc__otlp_block_flush(struct tc__otlp *o, struct tc__otlp_block *b)
{
    if (b->count == 0) {
        return TC_OK;
    }
    struct delivery d = {.o = o, .block = b};
    struct tc_codec_input in = {.bytes = tc_buf_slice(&b->text),
                                .node = o->k.in->node,
                                .boot_ns = o->k.in->boot_ns,
                                .now_ns = b->now_ns,
                                .utc_offset_s = o->k.in->utc_offset_s,
                                .want_unknown = o->k.in->want_unknown};
    struct tc_codec_out out = {.event = on_event,
                               .unknown = on_unknown,
                               .context = &d,
                               .arena = o->k.out->arena,
                               .scratch = o->k.out->scratch};
    struct tc_codec_cursor cursor = {0};
    struct tc_error why = {0};
    tc_status status = TC_OK;
    bool bad = false;
    size_t raw_offset = o->k.raw_offset;
    size_t raw_length = o->k.raw_length;
    while (status == TC_OK && !cursor.done) {
        status = b == &o->events && o->line_parser != NULL
                     ? tc__event_json_decode(o->line_parser, &in, &cursor, &out, &why)
                     : b->codec->decode(&in, &cursor, &out, &why);
        bad = cursor.done && status == TC_E_MALFORMED;
    }
    o->k.cursor->cut += cursor.cut;
    if (bad) {
        /* Told in the words of the other codec, but not by the numbers of lines that nobody has. */
        struct tc_slice text = tc_slice_cstr(why.message);
        size_t colon = tc_slice_starts(text, S("line ")) ? tc_slice_find(text, S(": ")) : TC_NPOS;
        (void)point_at(&d, why.offset);
        if (o->k.bad.status == TC_OK) {
            (void)tc_fail(&o->k.bad, TC_E_MALFORMED, o->k.raw_offset, "a log record: %s",
                          why.message + (colon == TC_NPOS ? 0 : colon + 2));
        }
        status = TC_OK;
    } else if (status != TC_OK && o->k.err != NULL && why.status != TC_OK) {
        (void)tc_fail(o->k.err, status, o->k.raw_offset, "%s", why.message);
    }
    tc__otlp_block_drop(b);
    o->k.raw_offset = raw_offset;
    o->k.raw_length = raw_length;
    return status;
}

tc_status tc__otlp_flush(struct tc__otlp *o)
{
    TC_TRY(tc__otlp_block_flush(o, &o->kernel));
    return tc__otlp_block_flush(o, &o->events);
}

/* The strings of a scope, each a member to be replaced by a copy. */
#define SCOPE_STRINGS(s)                                                                           \
    {                                                                                              \
        &(s)->node, &(s)->ns, &(s)->pod, &(s)->pod_uid, &(s)->container, &(s)->job, &(s)->gpu_uuid \
    }

/* Records that follow each other mostly have one scope: then there is one copy of each string. */
static void keep_scope(struct tc__otlp_block *b, struct tc__otlp_line *line)
{
    struct tc_slice none = TC_EMPTY;
    struct tc_scope empty = TC_SCOPE_NONE;
    struct tc_scope *last = b->count > 0 ? &b->lines[b->count - 1].scope : &empty;
    struct tc_slice *mine[] = SCOPE_STRINGS(&line->scope);
    struct tc_slice *theirs[] = SCOPE_STRINGS(last);
    for (size_t i = 0; i < TC_COUNT(mine); i++) {
        if (mine[i]->len == 0 || (theirs[i]->ptr != NULL && tc_slice_eq(*mine[i], *theirs[i]))) {
            *mine[i] = mine[i]->len == 0 ? none : *theirs[i];
            continue;
        }
        size_t start = b->names.len;
        tc_buf_str(&b->names, *mine[i]);
        *mine[i] = tc_buf_since(&b->names, start);
    }
}

static size_t scope_bytes(const struct tc_scope *scope)
{
    return scope->node.len + scope->ns.len + scope->pod.len + scope->pod_uid.len +
           scope->container.len + scope->job.len + scope->gpu_uuid.len;
}

tc_status tc__otlp_block_begin(struct tc__otlp *o, struct tc__otlp_block *b, size_t bytes,
                               int64_t time_ns, const struct tc_scope *scope)
{
    size_t need = bytes + 1;
    size_t names = scope_bytes(scope);
    TC_TRY(tc__otlp_block_flush(o, b == &o->kernel ? &o->events : &o->kernel));
    if (b->count == b->cap || need > b->text.cap - b->text.len ||
        names > b->names.cap - b->names.len) {
        TC_TRY(tc__otlp_block_flush(o, b));
    }
    if (b->cap == 0 || need > b->text.cap || names > b->names.cap) {
        return tc_fail(o->k.err, TC_E_LIMIT, o->k.raw_offset,
                       "a log record: no room for a line of %zu bytes", bytes);
    }
    struct tc__otlp_line *line = &b->lines[b->count];
    *line = (struct tc__otlp_line){.start = b->text.len,
                                   .raw_offset = o->k.raw_offset,
                                   .raw_length = o->k.raw_length,
                                   .time_ns = time_ns,
                                   .scope = *scope};
    keep_scope(b, line);
    return TC_OK;
}

void tc__otlp_block_end(struct tc__otlp_block *b)
{
    tc_buf_char(&b->text, '\n');
    TC_ASSERT(!b->text.overflowed && !b->names.overflowed);
    b->count++;
}

/* ---- kernel messages ---- */

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

static bool is_plain_name(struct tc_slice name)
{
    bool plain = name.len > 0 && name.len <= PREFIX_MAX / 2;
    for (size_t i = 0; plain && i < name.len; i++) {
        char c = name.ptr[i];
        plain = tc__kmsg_is_alnum(c) || c == '-' || c == '.' || c == '_';
    }
    return plain;
}

/* The line as syslog would have it: "2026-03-01T10:00:00.5Z node kernel: message". */
static tc_status add_kernel_line(struct tc__otlp *o, const struct tc__kmsg_line *line,
                                 int64_t time_ns, struct tc_slice node, struct tc_slice tag)
{
    struct tc__otlp_block *b = &o->kernel;
    struct tc_scope scope = TC_SCOPE_NONE;
    scope.node = node;
    TC_TRY(tc__otlp_block_begin(o, b, PREFIX_MAX + line->message.len, time_ns, &scope));
    if (time_ns != TC_TIME_NONE) {
        tc_buf_time(&b->text, time_ns);
        tc_buf_char(&b->text, ' ');
    }
    /* Another name would not be taken for one there; it is the line's all the same. */
    if (is_plain_name(node)) {
        tc_buf_str(&b->text, node);
        tc_buf_char(&b->text, ' ');
    }
    tc_buf_str(&b->text, tag);
    tc_buf_lit(&b->text, ": ");
    if (line->count > 1) {
        tc_buf_lit(&b->text, "message repeated ");
        tc_buf_i64(&b->text, line->count);
        tc_buf_lit(&b->text, " times: [");
    }
    tc_buf_str(&b->text, line->message);
    if (line->count > 1) {
        tc_buf_char(&b->text, ']');
    }
    tc__otlp_block_end(b);
    return TC_OK;
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
 * An Xid at once, without the way through a block: its line says everything by itself. Only where
 * no lines wait, since those may look at what comes behind them. *out_done is false when the block
 * has to read it.
 */
static tc_status deliver_xid(struct tc__otlp *o, const struct tc__kmsg_line *line, int64_t time_ns,
                             struct tc_slice node, bool *out_done)
{
    struct tc_event ev;
    struct tc__kmsg_context c = {
        .in = o->k.in, .line = line, .arena = o->k.out->arena, .shape = TC__KMSG_LINES};
    *out_done = false;
    if (o->kernel.count > 0 || line->count > 1 || (o->k.in->node.len > 0 && !is_plain_name(node)) ||
        tc__kmsg_xid(&c, &o->blank_xid, &ev) != TC__KMSG_EVENT) {
        return TC_OK;
    }
    *out_done = true;
    ev.time_ns = time_ns;
    ev.scope.node = node;
    TC_TRY(tc__otlp_block_flush(o, &o->events));
    bool lasts =
        tc__k8s_lasts(&o->k, line->message) && (node.len == 0 || tc__k8s_lasts(&o->k, node));
    return lasts ? tc__k8s_deliver(&o->k, &ev) : tc__k8s_emit(&o->k, &ev);
}

/* An Xid without a prefix needs no search for one. */
static void frame(const struct tc_codec_input *in, struct tc_slice raw, struct tc__kmsg_line *out)
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

tc_status tc__otlp_kernel(struct tc__otlp *o, const struct tc__otlp_record *r,
                          struct tc_slice writer, bool *out_taken)
{
    struct tc_slice body = r->text;
    struct tc_slice told = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_NODE));
    struct tc_slice host = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOST));
    struct tc_codec_input in = {.bytes = body,
                                .boot_ns = o->k.in->boot_ns,
                                .now_ns = tc__otlp_time(r),
                                .utc_offset_s = o->k.in->utc_offset_s};
    *out_taken = false;
    fill(&told, tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HOSTNAME)));
    in.now_ns = in.now_ns == TC_TIME_NONE ? o->k.in->now_ns : in.now_ns;
    for (size_t i = 0; i < BODY_LINES && body.len > 0; i++) {
        struct tc__kmsg_line line;
        struct tc_slice raw = tc_slice_cut(body, '\n', &body);
        o->k.cursor->cut += raw.len > TC_LINE_MAX;
        frame(&in, tc_slice_head(raw, TC_LINE_MAX), &line);
        bool kernels = line.origin == TC__KMSG_KERNEL &&
                       (writer.len > 0 || line.framed || is_unmistakable(line.message));
        if (!kernels || line.message.len == 0) {
            continue;
        }
        struct tc_slice node = told;
        fill(&node, line.node);
        fill(&node, host);
        fill(&node, o->k.in->node);
        *out_taken = true;
        bool done = false;
        if (tc_slice_starts(line.message, TC__KMSG_XID) &&
            !tc_slice_eq(writer, S("systemd-oomd"))) {
            TC_TRY(deliver_xid(o, &line, time_of_line(r, &line), node, &done));
        }
        if (done) {
            continue;
        }
        TC_TRY(add_kernel_line(o, &line, time_of_line(r, &line), node,
                               writer.len > 0 ? writer : S("kernel")));
    }
    return TC_OK;
}

/* ---- tracecore's own events ---- */

tc_status tc__otlp_event_line(struct tc__otlp *o, const struct tc__otlp_record *r,
                              struct tc_slice line)
{
    struct tc_scope scope = TC_SCOPE_NONE;
    tc__otlp_scope(o, r, &scope);
    TC_TRY(tc__otlp_block_begin(o, &o->events, line.len, tc__otlp_time(r), &scope));
    tc_buf_str(&o->events.text, line);
    tc__otlp_block_end(&o->events);
    return TC_OK;
}

/* The value as event_json has it for a field of that type; false when there is none. */
static bool write_value(struct tc__otlp *o, struct tc_buf *b, enum tc_field_type type,
                        struct tc__otlp_value v)
{
    double number = 0;
    bool is_number = tc__otlp_number(&v, &number);
    struct tc_slice text = tc__otlp_text(o, &v);
    switch (type) {
    case TC_FIELD_I64:
    case TC_FIELD_I32:
        if (!is_number || number < -9e18 || number > 9e18) {
            return false;
        }
        tc_buf_i64(b, (int64_t)number);
        return true;
    case TC_FIELD_F64:
        if (is_number) {
            tc_buf_f64(b, number);
        }
        return is_number;
    case TC_FIELD_BOOL:
        tc_buf_str(b, tc_slice_eq(text, S("true")) ? S("true") : S("false"));
        return true;
    case TC_FIELD_STRING:
    case TC_FIELD_TIME:
    case TC_FIELD_KEY:
    case TC_FIELD_BDF:
    case TC_FIELD_STATE:
    case TC_FIELD_METRIC:
        if (text.len > 0) {
            tc_buf_json(b, text);
        }
        return text.len > 0;
    }
    return false;
}

/* Of the attributes those that are fields of the kind, once each, as an event's line. */
static void write_event(struct tc__otlp *o, struct tc_k8s_val record, enum tc_event_kind kind,
                        struct tc_buf *b)
{
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    tc_buf_lit(b, "{\"kind\":");
    tc_buf_json(b, tc_event_kind_name(kind));
    for (size_t i = 0; i < count; i++) {
        struct tc_k8s_iter it = tc__k8s_attributes(record);
        struct tc_slice key;
        struct tc_k8s_val value;
        bool wanted = (fields[i].kinds & TC_EVENT_BIT(kind)) != 0;
        for (size_t n = 0; wanted && n < TC__OTLP_LABELS_MAX && tc__k8s_next(&it, &key, &value);
             n++) {
            if (!tc_slice_eq(key, fields[i].name)) {
                continue;
            }
            struct tc_buf before = *b;
            tc_buf_lit(b, ",");
            tc_buf_json(b, key);
            tc_buf_lit(b, ":");
            if (!write_value(o, b, fields[i].type, tc__otlp_value_read(value))) {
                *b = before;
            }
            break;
        }
    }
    tc_buf_char(b, '}');
}

tc_status tc__otlp_event(struct tc__otlp *o, const struct tc__otlp_record *r,
                         enum tc_event_kind kind)
{
    /* Escapes and names of fields make it longer than it is in the record, but not much. */
    size_t room = 2 * o->k.raw_length + PREFIX_MAX;
    char *bytes = tc_new(o->k.out->scratch, char, room);
    if (bytes == NULL) {
        return tc_fail(o->k.err, TC_E_NOMEM, o->k.raw_offset, "no room for an event's text");
    }
    struct tc_buf line = tc_buf_make(bytes, room);
    write_event(o, r->v, kind, &line);
    if (line.overflowed) {
        return tc__k8s_unknown(&o->k, "an event with too long values");
    }
    return tc__otlp_event_line(o, r, tc_buf_slice(&line));
}
