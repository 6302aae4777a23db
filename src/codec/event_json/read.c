/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/event_json/event_json_priv.h"

#include "base/assert.h"
#include "base/json/json.h"
#include "base/json/raw.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "codec/decode_priv.h"
#include "event/fields.h"

#include <string.h>

/* An event quotes a line of a log and adds to it; escapes make it longer. */
#define EVENT_LINE_MAX (TC_LINE_MAX * 4)

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
    if (it->next == 0) {
        it->next = tc_slice_bom(it->bytes);
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

/* One call of decode. */
struct reader {
    const struct tc_codec_input *in;
    struct tc_json_parser *parser;
    struct tc__event_index index;
};

static void index_kind(struct tc__event_index *x, enum tc_event_kind kind)
{
    size_t used = 0;
    x->fields = tc_fields(&x->field_count);
    TC_ASSERT(x->field_count < TC__EVENT_SEEN_WORDS * 64 && x->field_count < UINT8_MAX);
    for (size_t i = 0; i < x->field_count; i++) {
        if ((x->fields[i].kinds & TC_EVENT_BIT(kind)) == 0) {
            continue;
        }
        size_t at = (size_t)tc_slice_hash(x->fields[i].name, 0) & (TC__EVENT_SLOTS - 1);
        while (x->slots[kind][at] != 0) {
            at = (at + 1) & (TC__EVENT_SLOTS - 1);
        }
        x->slots[kind][at] = (uint8_t)(i + 1);
        used++;
        TC_ASSERT(used < TC__EVENT_SLOTS);
    }
    x->indexed |= TC_EVENT_BIT(kind);
}

const struct tc_field *tc__event_field(struct tc__event_index *x, struct tc__event_draft *d,
                                       struct tc_slice name, bool *out_again)
{
    enum tc_event_kind kind = d->event.kind;
    if ((x->indexed & TC_EVENT_BIT(kind)) == 0) {
        index_kind(x, kind);
    }
    size_t at = (size_t)tc_slice_hash(name, 0) & (TC__EVENT_SLOTS - 1);
    for (; x->slots[kind][at] != 0; at = (at + 1) & (TC__EVENT_SLOTS - 1)) {
        size_t i = (size_t)x->slots[kind][at] - 1;
        if (tc_slice_eq(x->fields[i].name, name)) {
            uint64_t bit = UINT64_C(1) << (i % 64);
            *out_again = (d->seen[i / 64] & bit) != 0;
            d->seen[i / 64] |= bit;
            return &x->fields[i];
        }
    }
    return NULL;
}

/* What a value must be, for people. */
static const char *const EXPECTED[] = {
    [TC_FIELD_STRING] = "a string",
    [TC_FIELD_TIME] = "an RFC 3339 time from 1970 to 2262, or nanoseconds since 1970 as an integer",
    [TC_FIELD_I64] = "an integer of 64 bits",
    [TC_FIELD_I32] = "an integer of 32 bits",
    [TC_FIELD_KEY] = "a string of 16 hex digits",
    [TC_FIELD_F64] = "a number",
    [TC_FIELD_BOOL] = "true or false",
    [TC_FIELD_BDF] = "a PCI address such as \"0000:b3:00.0\"",
    [TC_FIELD_STATE] = "\"scheduled\", \"started\" or \"completed\"",
    [TC_FIELD_METRIC] = "the name of a metric, as docs/events.md lists them",
};

/* Our integers are integers: what went through a double may have lost digits. */
static bool read_integer(const struct tc__event_value *v, int64_t min, int64_t max, int64_t *out)
{
    if (v->type != TC_JSON_INT || v->integer < min || v->integer > max) {
        return false;
    }
    *out = v->integer;
    return true;
}

static bool read_time(const struct tc__event_value *v, int32_t utc_offset_s, int64_t *out)
{
    if (v->type != TC_JSON_STRING) {
        return read_integer(v, INT64_MIN, INT64_MAX, out);
    }
    int64_t ns = 0;
    if (v->text.len == 0 || tc_time_parse(v->text, utc_offset_s, &ns) != v->text.len) {
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
static bool put_value(struct tc__event_draft *d, const struct tc_field *f,
                      const struct tc__event_value *v)
{
    void *at = (char *)&d->event + f->offset;
    bool is_text = v->type == TC_JSON_STRING;
    struct tc_slice s = v->text;
    int64_t i = 0;
    switch (f->type) {
    case TC_FIELD_STRING:
        if (is_text) {
            *(struct tc_slice *)at =
                s.len == 0 ? TC_EMPTY : (d->arena == NULL ? s : tc_arena_copy(d->arena, s));
        }
        return is_text;
    case TC_FIELD_TIME:
        return read_time(v, d->utc_offset_s, at);
    case TC_FIELD_I64:
        return read_integer(v, INT64_MIN, INT64_MAX, at);
    case TC_FIELD_I32:
        if (!read_integer(v, INT32_MIN, INT32_MAX, &i)) {
            return false;
        }
        *(int32_t *)at = (int32_t)i;
        return true;
    case TC_FIELD_KEY:
        return is_text && s.len == 16 && tc_slice_hex(s, at) == s.len;
    case TC_FIELD_F64:
        if (v->type == TC_JSON_INT || v->type == TC_JSON_DOUBLE) {
            *(double *)at = v->number;
            return true;
        }
        return false;
    case TC_FIELD_BOOL:
        if (v->type == TC_JSON_BOOL) {
            *(bool *)at = v->truth;
        }
        return v->type == TC_JSON_BOOL;
    case TC_FIELD_BDF:
        return is_text && read_bdf(s, at);
    case TC_FIELD_STATE:
        return is_text && read_state(s, at);
    case TC_FIELD_METRIC:
        return is_text && read_metric(s, at);
    }
    return false;
}

tc_status tc__event_put(struct tc__event_draft *d, const struct tc_field *f,
                        const struct tc__event_value *v, struct tc_error *err)
{
    return put_value(d, f, v) ? TC_OK
                              : tc_fail(err, TC_E_MALFORMED, 0, "\"%.*s\" must be %s",
                                        TC_FMT(f->name), EXPECTED[f->type]);
}

void tc__event_begin(struct tc__event_draft *d, enum tc_event_kind kind)
{
    tc_event_init(&d->event, kind);
    d->unknown_field = false;
    memset(d->seen, 0, sizeof d->seen);
}

/* The keys: see nccl.group_key in fields.c. */
void tc__event_end(struct tc__event_draft *d)
{
    struct tc_event *ev = &d->event;
    if (ev->kind == TC_EVENT_NCCL_RECORD && ev->nccl.group_key == 0) {
        ev->nccl.group_key = tc_nccl_group_key(ev->scope.job, ev->nccl.group, TC_EMPTY);
    } else if (ev->kind == TC_EVENT_NCCL_GROUP && ev->group.group_key == 0) {
        ev->group.group_key = tc_nccl_group_key(ev->scope.job, ev->group.group, ev->group.ranks);
    }
}

static struct tc__event_value value_of(struct tc_json v)
{
    struct tc__event_value out = {.type = tc_json_type(v)};
    (void)tc_json_string(v, &out.text);
    (void)tc_json_bool(v, &out.truth);
    (void)tc_json_double(v, &out.number);
    if (out.type == TC_JSON_INT) {
        (void)tc_json_int(v, &out.integer);
    }
    out.type = out.type == TC_JSON_UINT ? TC_JSON_DOUBLE : out.type;
    return out;
}

static tc_status read_members(struct tc__event_index *x, struct tc_json root,
                              struct tc__event_draft *d, struct tc_error *err)
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
            const struct tc_field *f = tc__event_field(x, d, key, &twice);
            d->unknown_field = d->unknown_field || f == NULL;
            if (f != NULL && !twice && tc_json_type(v) != TC_JSON_NULL) {
                struct tc__event_value value = value_of(v);
                TC_TRY(tc__event_put(d, f, &value, err));
            }
        }
        if (twice) {
            return tc_fail(err, TC_E_MALFORMED, 0, "\"%.*s\" is there twice; keep one of them",
                           TC_FMT(key));
        }
    }
    return TC_OK;
}

tc_status tc__event_read(struct tc__event_index *x, struct tc_json_parser *parser,
                         struct tc_slice json, struct tc__event_draft *d, struct tc_error *err)
{
    struct tc_json root = {NULL, 0};
    struct tc_json v;
    struct tc_slice name;
    enum tc_event_kind kind;
    if (json.len > EVENT_LINE_MAX) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%zu bytes, and an event may have %zu; shorten its message", json.len,
                       EVENT_LINE_MAX);
    }
    struct tc_error inner = {.status = TC_OK};
    tc_status status = tc_json_parse(parser, json, &root, err == NULL ? NULL : &inner);
    if (status != TC_OK) {
        return status == TC_E_NOMEM
                   ? tc_fail(err, status, 0, "%s", inner.message)
                   : tc_fail(err, TC_E_MALFORMED, 0, "%s; %s", inner.message, d->advice);
    }
    if (!tc_json_get(root, TC_LIT("kind"), &v) || !tc_json_string(v, &name)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "no \"kind\"; an event is an object that names its kind, "
                       "such as {\"kind\":\"xid\"}");
    }
    if (!tc_event_kind_parse(name, &kind)) {
        return TC_E_NOTFOUND;
    }
    tc__event_begin(d, kind);
    TC_TRY(read_members(x, root, d, err));
    if (d->arena != NULL && !tc_arena_ok(d->arena)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for its strings");
    }
    tc__event_end(d);
    return TC_OK;
}

static tc_status report(const struct reader *r, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, const struct line *line, const char *why)
{
    return tc__codec_unknown(r->in, cursor, out, line->offset, line->text.len, why);
}

static struct tc__event_draft draft_of(const struct reader *r, const struct line *line,
                                       struct tc_arena *arena)
{
    return (struct tc__event_draft){
        .arena = arena,
        .utc_offset_s = r->in->utc_offset_s,
        .advice = line->ended ? "write one JSON object a line"
                              : "it has no newline at its end: the file is torn, copy it again",
    };
}

/* Reads one line and hands on what came of it. *out_bad when it is malformed. */
static tc_status take_line(struct reader *r, const struct line *line,
                           struct tc_codec_cursor *cursor, struct tc_codec_out *out, bool *out_bad,
                           struct tc_error *err)
{
    struct tc__event_draft d = draft_of(r, line, out->arena);
    tc_arena_mark mark = tc_arena_snapshot(out->arena);
    tc_status status = tc__event_read(&r->index, r->parser, line->text, &d, NULL);
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
    if (d.unknown_field) {
        TC_TRY(report(r, cursor, out, line, "unknown field"));
    }
    d.event.raw = (struct tc_raw){r->in->source, (uint32_t)line->text.len, line->offset};
    TC_TRY(out->event(out->context, &d.event));
    cursor->events++;
    cursor->undated += d.event.time_ns == TC_TIME_NONE && d.event.uptime_ns != TC_TIME_NONE;
    return TC_OK;
}

/* The error of the first malformed line, or TC_OK when all that is wrong is unknown kinds. */
static tc_status first_error(struct reader *r, struct tc_error *err)
{
    struct lines it = {.bytes = r->in->bytes};
    struct line line;
    while (next_line(&it, &line)) {
        struct tc_error why = {0};
        struct tc__event_draft d = draft_of(r, &line, NULL);
        tc_status status = tc__event_read(&r->index, r->parser, line.text, &d, &why);
        if (status != TC_OK && status != TC_E_NOTFOUND) {
            return tc_fail(err, status, line.offset, "line %zu: %s", line.number, why.message);
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

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    if (cursor->done) {
        return TC_OK;
    }
    struct reader r = {.in = in, .parser = tc_json_parser_create()};
    if (r.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, cursor->offset, "no memory for a JSON parser");
    }
    tc_status status = decode_lines(&r, cursor, out, err);
    tc_json_parser_destroy(r.parser);
    return status;
}

/* Kubernetes objects have a kind too, but its name is in CamelCase and never one of ours. */
static int sniff(struct tc_codec_head head)
{
    struct lines it = {.bytes = head.bytes};
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
    .known_by = "one object per line with `kind`",
    .gives = "every kind: docs/events.md",
    .example = "{\"kind\":\"xid\",\"time\":\"2026-03-01T10:00:00Z\",\"xid\":79}",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
};
