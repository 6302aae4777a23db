/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/event_json/event_json_priv.h"

#include "base/assert.h"
#include "base/json.h"
#include "base/json_raw.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "event/fields.h"

#include <string.h>

/* An event quotes a line of a log and adds to it; escapes make it longer. */
#define EVENT_LINE_MAX (TC_LINE_MAX * 4)

/* A power of two, twice the fields of the richest kind: an empty slot is always near. */
#define SLOTS 64

/* Bits for the table's fields; index_kind asserts that they suffice. */
#define SEEN_WORDS 4

#define BOM TC_LIT("\xef\xbb\xbf")

/* ---- lines ---- */

/* Walks the lines that are not blank. Zero it but for bytes. */
struct lines {
    struct tc_slice bytes;
    size_t next;   /* where the next line begins */
    size_t number; /* of the line last given, from 1 */
};

struct line {
    struct tc_slice text; /* without the white space around it */
    size_t offset;
    size_t number;
    bool ended; /* by a newline: what is not was perhaps cut off */
};

static bool next_line(struct lines *it, struct line *out)
{
    if (it->next == 0 && tc_slice_starts(it->bytes, BOM)) {
        it->next = BOM.len;
    }
    while (it->next < it->bytes.len) {
        struct tc_slice rest = tc_slice_from(it->bytes, it->next);
        size_t newline = tc_slice_find_byte(rest, '\n');
        bool ended = newline != TC_NPOS;
        struct tc_slice text = tc_slice_trim(tc_slice_head(rest, ended ? newline : rest.len));
        it->next = ended ? it->next + newline + 1 : it->bytes.len;
        it->number++;
        if (text.len > 0) {
            size_t offset = (size_t)(text.ptr - it->bytes.ptr);
            *out = (struct line){text, offset, it->number, ended};
            return true;
        }
    }
    return false;
}

static uint64_t count_lines(struct tc_slice bytes)
{
    struct lines it = {.bytes = bytes};
    struct line line;
    uint64_t count = 0;
    while (next_line(&it, &line)) {
        count++;
    }
    return count;
}

/* ---- reading ---- */

/* One call of decode. slots[kind] is a hash table from name to field index + 1, made when the
 * first event of the kind comes: a call that is paused after one event stays cheap. */
struct reader {
    const struct tc_codec_input *in;
    struct tc_json_parser *parser;
    const struct tc_field *fields;
    size_t field_count;
    uint32_t indexed; /* bits of the kinds that have their slots */
    uint8_t slots[TC_EVENT_KIND_COUNT][SLOTS];
};

/* What reading one line yields, beside its status. */
struct reading {
    struct tc_event event;
    struct tc_arena *arena; /* for strings; NULL: they stay in the parser */
    bool unknown_field;
    uint64_t seen[SEEN_WORDS];
};

static void index_kind(struct reader *r, enum tc_event_kind kind)
{
    size_t used = 0;
    TC_ASSERT(r->field_count < SEEN_WORDS * 64 && r->field_count < UINT8_MAX);
    for (size_t i = 0; i < r->field_count; i++) {
        if ((r->fields[i].kinds & TC_EVENT_BIT(kind)) == 0) {
            continue;
        }
        size_t at = (size_t)tc_slice_hash(r->fields[i].name, 0) & (SLOTS - 1);
        while (r->slots[kind][at] != 0) {
            at = (at + 1) & (SLOTS - 1);
        }
        r->slots[kind][at] = (uint8_t)(i + 1);
        used++;
        TC_ASSERT(used < SLOTS);
    }
    r->indexed |= TC_EVENT_BIT(kind);
}

/* The index of the kind's field of that name, or TC_NPOS. */
static size_t find_field(struct reader *r, enum tc_event_kind kind, struct tc_slice name)
{
    if ((r->indexed & TC_EVENT_BIT(kind)) == 0) {
        index_kind(r, kind);
    }
    size_t at = (size_t)tc_slice_hash(name, 0) & (SLOTS - 1);
    for (; r->slots[kind][at] != 0; at = (at + 1) & (SLOTS - 1)) {
        size_t i = (size_t)r->slots[kind][at] - 1;
        if (tc_slice_eq(r->fields[i].name, name)) {
            return i;
        }
    }
    return TC_NPOS;
}

static const char *expected(enum tc_field_type type)
{
    switch (type) {
    case TC_FIELD_STRING:
        return "a string";
    case TC_FIELD_TIME:
        return "an RFC 3339 time from 1970 to 2262, or nanoseconds since 1970 as an integer";
    case TC_FIELD_I64:
        return "an integer of 64 bits";
    case TC_FIELD_I32:
        return "an integer of 32 bits";
    case TC_FIELD_KEY:
        return "a string of 16 hex digits";
    case TC_FIELD_F64:
        return "a number";
    case TC_FIELD_BOOL:
        return "true or false";
    case TC_FIELD_BDF:
        return "a PCI address such as \"0000:b3:00.0\"";
    case TC_FIELD_STATE:
        return "\"scheduled\", \"started\" or \"completed\"";
    case TC_FIELD_METRIC:
        return "the name of a metric, as docs/events.md lists them";
    }
    return "";
}

/* Our integers are integers: what went through a double may have lost digits. */
static bool read_integer(struct tc_json v, int64_t min, int64_t max, int64_t *out)
{
    int64_t value = 0;
    if (tc_json_type(v) != TC_JSON_INT || !tc_json_int(v, &value) || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

static bool read_time(struct tc_json v, int32_t utc_offset_s, int64_t *out)
{
    struct tc_slice s;
    if (!tc_json_string(v, &s)) {
        return read_integer(v, INT64_MIN, INT64_MAX, out);
    }
    int64_t ns = 0;
    if (s.len == 0 || tc_time_parse(s, utc_offset_s, &ns) != s.len) {
        return false;
    }
    *out = ns;
    return true;
}

static bool read_bdf(struct tc_slice s, struct tc_bdf *out)
{
    struct tc_bdf bdf;
    if (s.len == 0 || tc_bdf_parse(s, &bdf) != s.len) {
        return false;
    }
    *out = bdf;
    return true;
}

static bool read_state(struct tc_slice s, uint8_t *out)
{
    for (size_t i = 0; i < TC__EVENT_STATES; i++) {
        if (tc_slice_eq(s, tc__event_states[i])) {
            *out = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static bool read_metric(struct tc_slice s, uint16_t *out)
{
    enum tc_metric metric;
    if (!tc_metric_parse(s, &metric)) {
        return false;
    }
    *out = (uint16_t)metric;
    return true;
}

/* Puts v into its place in the event. False when it is not what the field's type expects. */
static bool read_value(const struct tc_field *f, struct tc_json v, int32_t utc_offset_s,
                       struct reading *to)
{
    void *at = (char *)&to->event + f->offset;
    struct tc_slice s = TC_EMPTY;
    int64_t i = 0;
    switch (f->type) {
    case TC_FIELD_STRING:
        if (!tc_json_string(v, &s)) {
            return false;
        }
        *(struct tc_slice *)at =
            s.len == 0 ? TC_EMPTY : (to->arena == NULL ? s : tc_arena_copy(to->arena, s));
        return true;
    case TC_FIELD_TIME:
        return read_time(v, utc_offset_s, at);
    case TC_FIELD_I64:
        return read_integer(v, INT64_MIN, INT64_MAX, at);
    case TC_FIELD_I32:
        if (!read_integer(v, INT32_MIN, INT32_MAX, &i)) {
            return false;
        }
        *(int32_t *)at = (int32_t)i;
        return true;
    case TC_FIELD_KEY:
        return tc_json_string(v, &s) && s.len == 16 && tc_slice_hex(s, at) == s.len;
    case TC_FIELD_F64:
        return tc_json_double(v, at);
    case TC_FIELD_BOOL:
        return tc_json_bool(v, at);
    case TC_FIELD_BDF:
        return tc_json_string(v, &s) && read_bdf(s, at);
    case TC_FIELD_STATE:
        return tc_json_string(v, &s) && read_state(s, at);
    case TC_FIELD_METRIC:
        return tc_json_string(v, &s) && read_metric(s, at);
    }
    return false;
}

/* The keys that producers may leave to us: see nccl.group_key in fields.c. */
static void complete(struct tc_event *ev)
{
    if (ev->kind == TC_EVENT_NCCL_RECORD && ev->nccl.group_key == 0) {
        ev->nccl.group_key = tc_nccl_group_key(ev->scope.job, ev->nccl.group, TC_EMPTY);
    } else if (ev->kind == TC_EVENT_NCCL_GROUP && ev->group.group_key == 0) {
        ev->group.group_key = tc_nccl_group_key(ev->scope.job, ev->group.group, ev->group.ranks);
    }
}

static tc_status read_members(struct reader *r, const struct line *line, struct tc_json root,
                              struct reading *to, struct tc_error *err)
{
    struct tc_slice key;
    struct tc_json v;
    bool kind_seen = false;
    struct tc_json_iter it = tc_json_iter_make(root);
    while (tc_json_iter_next(&it, &key, &v)) {
        bool twice = false;
        if (tc_slice_eq(key, TC_LIT("kind"))) {
            twice = kind_seen;
            kind_seen = true;
        } else if (!tc_slice_eq(key, TC_LIT("raw"))) {
            size_t i = find_field(r, to->event.kind, key);
            if (i == TC_NPOS) {
                to->unknown_field = true;
                continue;
            }
            uint64_t bit = UINT64_C(1) << (i % 64);
            twice = (to->seen[i / 64] & bit) != 0;
            to->seen[i / 64] |= bit;
            if (!twice && tc_json_type(v) != TC_JSON_NULL &&
                !read_value(&r->fields[i], v, r->in->utc_offset_s, to)) {
                return tc_fail(err, TC_E_MALFORMED, line->offset, "line %zu: \"%.*s\" must be %s",
                               line->number, TC_FMT(r->fields[i].name),
                               expected(r->fields[i].type));
            }
        }
        if (twice) {
            return tc_fail(err, TC_E_MALFORMED, line->offset,
                           "line %zu: \"%.*s\" is there twice; keep one of them", line->number,
                           TC_FMT(key));
        }
    }
    return TC_OK;
}

static tc_status parse_line(struct reader *r, const struct line *line, struct tc_json *out_root,
                            struct tc_error *err)
{
    struct tc_error inner = {.status = TC_OK};
    if (line->text.len > EVENT_LINE_MAX) {
        return tc_fail(err, TC_E_MALFORMED, line->offset,
                       "line %zu: %zu bytes, and an event may have %zu; shorten its message",
                       line->number, line->text.len, EVENT_LINE_MAX);
    }
    tc_status status = tc_json_parse(r->parser, line->text, out_root, err == NULL ? NULL : &inner);
    if (status == TC_OK) {
        return TC_OK;
    }
    if (status == TC_E_NOMEM) {
        return tc_fail(err, status, line->offset, "line %zu: %s", line->number, inner.message);
    }
    if (!line->ended) {
        return tc_fail(
            err, TC_E_MALFORMED, line->offset,
            "line %zu: %s; it has no newline at its end: the file is torn, copy it again",
            line->number, inner.message);
    }
    return tc_fail(err, TC_E_MALFORMED, line->offset, "line %zu: %s; write one JSON object a line",
                   line->number, inner.message);
}

/*
 * Reads one line. TC_E_NOTFOUND when its kind is not ours, TC_E_NOMEM when the arena is full;
 * TC_E_MALFORMED with line and field in err. err may be NULL, then no text is made.
 */
static tc_status read_line(struct reader *r, const struct line *line, struct reading *to,
                           struct tc_error *err)
{
    struct tc_json root = {NULL, 0};
    struct tc_json v;
    struct tc_slice name;
    enum tc_event_kind kind;
    TC_TRY(parse_line(r, line, &root, err));
    if (!tc_json_get(root, TC_LIT("kind"), &v) || !tc_json_string(v, &name)) {
        return tc_fail(err, TC_E_MALFORMED, line->offset,
                       "line %zu: no \"kind\"; an event is an object that names its kind, "
                       "such as {\"kind\":\"xid\"}",
                       line->number);
    }
    if (!tc_event_kind_parse(name, &kind)) {
        return TC_E_NOTFOUND;
    }
    tc_event_init(&to->event, kind);
    to->event.raw = (struct tc_raw){r->in->source, (uint32_t)line->text.len, line->offset};
    to->unknown_field = false;
    memset(to->seen, 0, sizeof to->seen);
    TC_TRY(read_members(r, line, root, to, err));
    if (to->arena != NULL && !tc_arena_ok(to->arena)) {
        return tc_fail(err, TC_E_NOMEM, line->offset, "line %zu: no memory for its strings",
                       line->number);
    }
    complete(&to->event);
    return TC_OK;
}

static tc_status report(const struct reader *r, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, const struct line *line, const char *why)
{
    cursor->unknown++;
    if (!r->in->want_unknown || out->unknown == NULL) {
        return TC_OK;
    }
    return out->unknown(out->context, line->offset, line->text.len, why);
}

/* Reads one line and hands on what came of it. *out_bad when it is malformed. */
static tc_status take_line(struct reader *r, const struct line *line,
                           struct tc_codec_cursor *cursor, struct tc_codec_out *out, bool *out_bad,
                           struct tc_error *err)
{
    struct reading to = {.arena = out->arena};
    tc_arena_mark mark = tc_arena_snapshot(out->arena);
    tc_status status = read_line(r, line, &to, NULL);
    if (status == TC_E_NOMEM) {
        return tc_fail(err, TC_E_NOMEM, line->offset, "no memory for the event's strings");
    }
    if (status != TC_OK) {
        /* A full arena stays full for whoever filled it: only our own strings go back. */
        if (tc_arena_ok(out->arena)) {
            tc_arena_rewind(out->arena, mark);
        }
        if (status == TC_E_NOTFOUND) {
            return report(r, cursor, out, line, "unknown kind");
        }
        cursor->cut += line->text.len > EVENT_LINE_MAX;
        *out_bad = true;
        return report(r, cursor, out, line, "malformed event");
    }
    if (to.unknown_field) {
        TC_TRY(report(r, cursor, out, line, "unknown field"));
    }
    TC_TRY(out->event(out->context, &to.event));
    cursor->events++;
    cursor->undated += to.event.time_ns == TC_TIME_NONE && to.event.uptime_ns != TC_TIME_NONE;
    return TC_OK;
}

/* The error of the first malformed line, or TC_OK when all that is wrong is unknown kinds. */
static tc_status first_error(struct reader *r, struct tc_error *err)
{
    struct lines it = {.bytes = r->in->bytes};
    struct line line;
    struct reading to = {.arena = NULL};
    while (next_line(&it, &line)) {
        tc_status status = read_line(r, &line, &to, err);
        if (status != TC_OK && status != TC_E_NOTFOUND) {
            return status;
        }
    }
    return TC_OK;
}

static tc_status decode_lines(struct reader *r, struct tc_codec_cursor *cursor,
                              struct tc_codec_out *out, struct tc_error *err)
{
    bool resumed = cursor->offset > 0;
    bool bad = false;
    struct lines it = {.bytes = r->in->bytes, .next = cursor->offset};
    struct line line;
    while (next_line(&it, &line)) {
        uint64_t before = cursor->events;
        TC_TRY(take_line(r, &line, cursor, out, &bad, err));
        cursor->offset = it.next;
        if (out->pause && cursor->events > before) {
            return TC_OK;
        }
    }
    cursor->offset = it.next;
    cursor->done = true;
    /* Malformed lines do not stop the rest, and the cursor does not carry the first of them over
     * a pause. It is found again here: some line then did not become an event. */
    if (bad || (resumed && cursor->events < count_lines(r->in->bytes))) {
        return first_error(r, err);
    }
    return TC_OK;
}

tc_status tc__event_json_decode(struct tc_json_parser *parser, const struct tc_codec_input *in,
                                struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                                struct tc_error *err)
{
    if (cursor->done) {
        return TC_OK;
    }
    struct reader r = {.in = in, .parser = parser};
    r.fields = tc_fields(&r.field_count);
    return decode_lines(&r, cursor, out, err);
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct tc_json_parser *parser = cursor->done ? NULL : tc_json_parser_create();
    if (parser == NULL && !cursor->done) {
        return tc_fail(err, TC_E_NOMEM, cursor->offset, "no memory for a JSON parser");
    }
    tc_status status = tc__event_json_decode(parser, in, cursor, out, err);
    tc_json_parser_destroy(parser);
    return status;
}

/* Kubernetes objects have a kind too, but its name is in CamelCase and never one of ours. */
static int sniff(struct tc_slice head, bool at_end, struct tc_slice name)
{
    (void)at_end;
    (void)name;
    struct lines it = {.bytes = head};
    struct line line;
    struct tc_slice key;
    struct tc_slice value;
    enum tc_event_kind kind;
    if (!next_line(&it, &line)) {
        return TC_SNIFF_NO;
    }
    for (size_t at = 0; tc_json_raw_member(line.text, &at, &key, &value);) {
        if (tc_slice_eq(key, TC_LIT("kind"))) {
            bool ours = value.len >= 2 && value.ptr[0] == '"' &&
                        tc_event_kind_parse(tc_slice_make(value.ptr + 1, value.len - 2), &kind);
            return ours ? TC_SNIFF_SURE : TC_SNIFF_NO;
        }
    }
    return TC_SNIFF_NO;
}

const struct tc_codec tc_codec_event_json = {
    .name = "event_json",
    .summary = "tracecore's own events, one JSON object a line",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
};
