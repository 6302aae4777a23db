/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP in JSON, as strictly as protobuf: over the whole body once, by the table of messages, with
 * a stack of the objects and lists that are open. Integers of 64 bits are strings or numbers, ids
 * are hex, bytes are base64, enums are numbers or names, null is "not there"; unknown members are
 * skipped.
 */
#include "codec/otlp/json_priv.h"
#include "codec/otlp/tape_priv.h"

#include <math.h>
#include <string.h>

#define ID16_DIGITS 32
#define ID8_DIGITS 16

static tc_status fail_here(struct tc__otlp_build *b, const struct tc__json_in *in,
                           const struct tc__otlp_field *f, const char *why)
{
    return tc__otlp_build_fail(b, (size_t)(in->at - b->body.ptr), f, why);
}

static tc_status fail(struct tc__otlp_build *b, const struct tc__json_in *in,
                      const struct tc__otlp_field *f)
{
    return fail_here(b, in, f, in->why);
}

/* ---- strings ---- */

/* What the string means: the body's bytes, or b->text's when it had escapes. */
static tc_status read_text(struct tc__otlp_build *b, struct tc__json_in *in,
                           const struct tc__otlp_field *f, struct tc_slice *out, bool *out_own)
{
    struct tc__json_text text;
    const char *start = in->at;
    if (!tc__json_string_read(in, &text)) {
        return fail(b, in, f);
    }
    *out = text.raw;
    *out_own = text.escaped;
    if (text.escaped) {
        char *to = b->text + b->text_length;
        if (!tc__json_unescape(text.raw, to, &out->len)) {
            in->at = start;
            return fail_here(b, in, f, "a string with a wrong escape");
        }
        out->ptr = to;
    }
    return TC_OK;
}

static bool is_base64(struct tc_slice s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == '=') {
        s.len--;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool good = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                    c == '+' || c == '/' || c == '-' || c == '_';
        if (!good) {
            return false;
        }
    }
    return s.len % 4 != 1;
}

static bool is_hex(struct tc_slice s)
{
    uint64_t digit = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (tc_slice_hex(tc_slice_make(s.ptr + i, 1), &digit) != 1) {
            return false;
        }
    }
    return true;
}

static tc_status read_string(struct tc__otlp_build *b, struct tc__json_in *in,
                             const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    struct tc_slice s = TC_EMPTY;
    bool own = false;
    struct tc__json_in start = *in;
    TC_TRY(read_text(b, in, f, &s, &own));
    size_t digits = f->type == TC__OTLP_T_ID16 ? ID16_DIGITS : ID8_DIGITS;
    switch (f->type) {
    case TC__OTLP_T_ID16:
    case TC__OTLP_T_ID8:
        if (s.len != 0 && (s.len != digits || !is_hex(s))) {
            return fail_here(b, &start, f,
                             s.len == digits ? "an id that is not hex" : "an id of a wrong length");
        }
        break;
    case TC__OTLP_T_BYTES:
        if (!is_base64(s)) {
            return fail_here(b, &start, f, "bytes that are not base64");
        }
        break;
    default:
        break;
    }
    tc__otlp_measure(b, f, s.len);
    struct tc__otlp_node *n = tc__otlp_value_node(
        b, frame, f, f->type == TC__OTLP_T_STRING ? TC__OTLP_N_STRING : TC__OTLP_N_BYTES);
    if (n == NULL) {
        return TC_OK;
    }
    n->at = own ? b->text_length : (uint32_t)(s.ptr - b->body.ptr);
    n->length = (uint32_t)s.len;
    n->own = own;
    b->text_length += own ? (uint32_t)s.len : 0;
    return TC_OK;
}

/* ---- numbers ---- */

/* A number, or one in a string; *out_word is set when the string is none. */
static tc_status read_number(struct tc__otlp_build *b, struct tc__json_in *in,
                             const struct tc__otlp_field *f, struct tc__json_number *out,
                             struct tc_slice *out_word)
{
    *out_word = TC_EMPTY;
    if (!tc__json_is(in, '"')) {
        return tc__json_number_read(in, out) ? TC_OK : fail(b, in, f);
    }
    struct tc_slice s;
    bool own = false;
    TC_TRY(read_text(b, in, f, &s, &own));
    struct tc__json_in inside = {.at = s.ptr, .end = s.ptr + s.len};
    if (!tc__json_number_read(&inside, out) || inside.at != inside.end) {
        *out_word = s.len == 0 ? TC_LIT(" ") : s;
    }
    return TC_OK;
}

static bool in_range(unsigned type, uint64_t magnitude, bool negative)
{
    switch (type) {
    case TC__OTLP_T_UINT32:
    case TC__OTLP_T_FIXED32:
        return magnitude <= UINT32_MAX && (!negative || magnitude == 0);
    case TC__OTLP_T_ENUM:
    case TC__OTLP_T_SINT32:
        return magnitude <= (uint64_t)INT32_MAX + negative;
    case TC__OTLP_T_UINT64:
    case TC__OTLP_T_FIXED64:
        return !negative || magnitude == 0;
    default:
        return magnitude <= (uint64_t)INT64_MAX + negative;
    }
}

static void keep_integer(struct tc__otlp_build *b, const struct tc__otlp_frame *frame,
                         const struct tc__otlp_field *f, uint64_t magnitude, bool negative)
{
    struct tc__otlp_node *n = tc__otlp_value_node(b, frame, f, TC__OTLP_N_INT);
    if (n != NULL) {
        magnitude = f->type == TC__OTLP_T_FIXED64 && magnitude > INT64_MAX ? 0 : magnitude;
        n->integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    }
}

/* Of the name of an enum's value: those that are read. */
static uint64_t enum_value(struct tc_slice name)
{
    static const struct {
        const char *name;
        uint64_t value;
    } values[] = {{"AGGREGATION_TEMPORALITY_DELTA", 1},
                  {"SPAN_KIND_INTERNAL", 1},
                  {"SPAN_KIND_SERVER", 2},
                  {"SPAN_KIND_CLIENT", 3},
                  {"STATUS_CODE_OK", 1},
                  {"STATUS_CODE_ERROR", 2}};
    size_t row = tc_slice_row(name, values, name);
    return row < TC_COUNT(values) ? values[row].value : 0;
}

static tc_status read_integer(struct tc__otlp_build *b, struct tc__json_in *in,
                              const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    struct tc__json_number number;
    struct tc_slice word;
    struct tc__json_in start = *in;
    uint64_t magnitude = 0;
    const char *behind = tc__json_quick_u64(in->at, in->end, &magnitude);
    if (behind != NULL && in_range(f->type, magnitude, false)) {
        in->at = behind;
        keep_integer(b, frame, f, magnitude, false);
        return TC_OK;
    }
    TC_TRY(read_number(b, in, f, &number, &word));
    if (word.len > 0) {
        if (f->type != TC__OTLP_T_ENUM) {
            return fail_here(b, &start, f, "an integer is expected");
        }
        number = (struct tc__json_number){.whole = true, .magnitude = enum_value(word)};
    }
    if (!tc__json_whole(&number, &magnitude) || !in_range(f->type, magnitude, number.negative)) {
        return fail_here(b, &start, f, "an integer out of range");
    }
    keep_integer(b, frame, f, magnitude, number.negative);
    return TC_OK;
}

static tc_status read_double(struct tc__otlp_build *b, struct tc__json_in *in,
                             const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    struct tc__json_number number;
    struct tc_slice word;
    struct tc__json_in start = *in;
    double value = 0;
    TC_TRY(read_number(b, in, f, &number, &word));
    if (word.len > 0) {
        bool nan = tc_slice_eq(word, TC_LIT("NaN"));
        bool plus = tc_slice_eq(word, TC_LIT("Infinity"));
        if (!nan && !plus && !tc_slice_eq(word, TC_LIT("-Infinity"))) {
            return fail_here(b, &start, f, "a number is expected");
        }
        value = nan ? (double)NAN : plus ? HUGE_VAL : -HUGE_VAL;
    } else if (!tc__json_double(&number, &value)) {
        return fail_here(b, &start, f, "a number out of range");
    }
    struct tc__otlp_node *n = tc__otlp_value_node(b, frame, f, TC__OTLP_N_DOUBLE);
    if (n != NULL) {
        n->number = value;
    }
    return TC_OK;
}

static tc_status read_bool(struct tc__otlp_build *b, struct tc__json_in *in,
                           const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    bool yes = tc__json_word(in, TC_LIT("true"));
    if (!yes && !tc__json_word(in, TC_LIT("false"))) {
        return fail_here(b, in, f, "true or false is expected");
    }
    struct tc__otlp_node *n = tc__otlp_value_node(b, frame, f, TC__OTLP_N_BOOL);
    if (n != NULL) {
        n->integer = yes;
    }
    return TC_OK;
}

/* ---- what most values and attributes are, without frames ---- */

/* Whether the literal is at `at`. */
#define AT(at, end, literal)                          \
    ((size_t)((end) - (at)) >= sizeof(literal) - 1 && \
     memcmp((at), (literal), sizeof(literal) - 1) == 0)

/*
 * A value's member and the end of its object, written without blanks: "stringValue":"text"} or
 * "intValue":"5"}. What is behind it, or NULL for anything else, which the long way reads or
 * refuses. out is the node, but for keep and next.
 */
static const char *quick_value(const struct tc__otlp_build *b, const char *at, const char *end,
                               struct tc__otlp_node *out)
{
    uint64_t v = 0;
    if (AT(at, end, "\"stringValue\":\"")) {
        at += sizeof "\"stringValue\":\"" - 1;
        const char *close = tc__json_special(at, end);
        if (!AT(close, end, "\"}") || (size_t)(close - at) > b->limits.value_bytes_max) {
            return NULL;
        }
        out->at = (uint32_t)(at - b->body.ptr);
        out->length = (uint32_t)(close - at);
        out->type = TC__OTLP_N_STRING;
        return close + 2;
    }
    if (AT(at, end, "\"intValue\":")) {
        at = tc__json_quick_u64(at + sizeof "\"intValue\":" - 1, end, &v);
        out->integer = (int64_t)v;
        out->type = TC__OTLP_N_INT;
        return at != NULL && *at == '}' && v <= INT64_MAX ? at + 1 : NULL;
    }
    return NULL;
}

static const char *quick_any(struct tc__otlp_build *b, const char *at, const char *end,
                             unsigned keep, bool keeps)
{
    /* Written in place: a struct that was just put together is slow to copy. */
    struct tc__otlp_node *n = &b->nodes[b->count];
    if (b->values >= b->limits.depth_max || b->count >= b->cap) {
        return NULL;
    }
    at = quick_value(b, at + 1, end, n);
    if (at == NULL || !tc__otlp_count(b, 1)) {
        return NULL;
    }
    if (keeps) {
        tc__otlp_keep_value(b, keep);
    }
    return at;
}

/* {"key":"k","value":{...}} */
static const char *quick_pair(struct tc__otlp_build *b, const struct tc__otlp_frame *frame,
                              const char *at, const char *end, unsigned keep, bool keeps)
{
    struct tc__otlp_node *n = &b->nodes[b->count + 1];
    if (!AT(at, end, "{\"key\":\"") || b->values >= b->limits.depth_max || b->count + 1 >= b->cap) {
        return NULL;
    }
    const char *key = at + sizeof "{\"key\":\"" - 1;
    at = tc__json_special(key, end);
    size_t length = (size_t)(at - key);
    if (length > b->limits.key_bytes_max || !AT(at, end, "\",\"value\":{")) {
        return NULL;
    }
    at = quick_value(b, at + sizeof "\",\"value\":{" - 1, end, n);
    if (at == NULL || at == end || *at != '}' || !tc__otlp_count(b, 2)) {
        return NULL;
    }
    if (keeps) {
        struct tc_slice name = tc_slice_make(key, length);
        tc__otlp_write_pair(b, b->count, keep, name,
                            tc__otlp_name_by(b, tc__otlp_names_in(b, frame), name, b->count));
        b->count += 2;
    }
    return at + 1;
}

/* ---- objects and lists ---- */

static tc_status begin_object(struct tc__otlp_build *b, struct tc__json_in *in,
                              struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    const char *behind = NULL;
    bool keeps = frame->keeps && f->keep != TC__OTLP_K_NONE;
    if (!tc__json_is(in, '{')) {
        return fail_here(b, in, f, "an object is expected");
    }
    if (f->is_attributes && ++frame->attributes > b->limits.attributes_max) {
        tc__otlp_reject(b, "too many attributes");
    }
    if (f->message == TC__OTLP_M_KEY_VALUE) {
        behind = quick_pair(b, frame, in->at, in->end, f->keep, keeps);
    } else if (f->message == TC__OTLP_M_ANY_VALUE && frame->message->role != TC__OTLP_PAIR) {
        behind = quick_any(b, in->at, in->end, f->keep, keeps);
    }
    if (behind != NULL) {
        in->at = behind;
        return TC_OK;
    }
    TC_TRY(tc__otlp_begin(b, frame, f, (size_t)(in->at - b->body.ptr), 0));
    in->at++;
    return TC_OK;
}

/* One value of a field, or the beginning of a message. */
static tc_status read_value(struct tc__otlp_build *b, struct tc__json_in *in,
                            struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    switch ((enum tc__otlp_type)f->type) {
    case TC__OTLP_T_MESSAGE:
        return begin_object(b, in, frame, f);
    case TC__OTLP_T_STRING:
    case TC__OTLP_T_BYTES:
    case TC__OTLP_T_ID16:
    case TC__OTLP_T_ID8:
        return read_string(b, in, frame, f);
    case TC__OTLP_T_BOOL:
        return read_bool(b, in, frame, f);
    case TC__OTLP_T_DOUBLE:
        return read_double(b, in, frame, f);
    case TC__OTLP_T_ENUM:
    case TC__OTLP_T_UINT32:
    case TC__OTLP_T_SINT32:
    case TC__OTLP_T_INT64:
    case TC__OTLP_T_UINT64:
    case TC__OTLP_T_FIXED32:
    case TC__OTLP_T_FIXED64:
    case TC__OTLP_T_SFIXED64:
        break;
    }
    return read_integer(b, in, frame, f);
}

/*
 * The attributes of a list that just began, as long as they are plain and have no blanks between
 * them. Those of a data point that came before are not read again.
 */
static void quick_pairs(struct tc__otlp_build *b, struct tc__json_in *in,
                        struct tc__otlp_frame *list)
{
    const struct tc__otlp_field *f = list->field;
    const char *start = in->at - 1;
    const bool keeps = list->keeps && f->keep != TC__OTLP_K_NONE;
    const bool is_run = tc__otlp_is_run(b, list, f);
    uint32_t node = b->count;
    size_t same = is_run ? tc__otlp_same_run(b, list, start, (size_t)(in->end - start)) : 0;
    if (same > 0) {
        in->at = start + same - 1;
        list->first = false;
        return;
    }
    const char *at = in->at;
    while (list->attributes < b->limits.attributes_max) {
        at = quick_pair(b, list, at, in->end, f->keep, keeps);
        if (at == NULL) {
            return;
        }
        list->attributes++;
        list->first = false;
        in->at = at;
        if (at == in->end || *at != ',') {
            break;
        }
        at++;
    }
    if (is_run && tc__json_is(in, ']')) {
        tc__otlp_keep_run(b, start, in->at + 1, node);
    }
}

/* A list takes the place of its owner: what is in it is the owner's. */
static tc_status begin_list(struct tc__otlp_build *b, struct tc__json_in *in,
                            const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    if (!tc__json_is(in, '[')) {
        return fail_here(b, in, f, "a list is expected");
    }
    struct tc__otlp_frame *list = &b->frames[b->depth++];
    *list = *frame;
    list->field = f;
    list->list = true;
    list->first = true;
    in->at++;
    if (f->is_attributes) {
        quick_pairs(b, in, list);
    }
    return TC_OK;
}

/* The field of the key at in->at, and the colon behind it; NULL when it is not known. */
static tc_status read_key(struct tc__otlp_build *b, struct tc__json_in *in,
                          struct tc__otlp_frame *frame, const struct tc__otlp_field **out)
{
    const struct tc__otlp_message *m = frame->message;
    struct tc_slice key = TC_EMPTY;
    bool own = false;
    /* Members mostly come in the order of the table. */
    if (frame->guess < m->field_count) {
        const struct tc__otlp_field *f = &m->fields[frame->guess];
        size_t length = f->name.len;
        if ((size_t)(in->end - in->at) > length + 3 && in->at[length + 1] == '"' &&
            in->at[length + 2] == ':' && in->at[0] == '"' &&
            tc_bytes_eq(in->at + 1, f->name.ptr, length)) {
            frame->guess++;
            *out = f;
            in->at += length + 3;
            tc__json_blank(in);
            return TC_OK;
        }
    }
    TC_TRY(read_text(b, in, NULL, &key, &own));
    *out = tc__otlp_field_by_key(m, key);
    if (*out != NULL) {
        frame->guess = (uint8_t)(*out - m->fields + 1);
    }
    tc__json_blank(in);
    if (!tc__json_is(in, ':')) {
        return fail_here(b, in, *out, "a colon is expected");
    }
    in->at++;
    tc__json_blank(in);
    return TC_OK;
}

static void end_object(struct tc__otlp_build *b, struct tc__json_in *in)
{
    const struct tc__otlp_frame *frame = &b->frames[b->depth - 1];
    in->at++;
    if (frame->node != TC__OTLP_NO_NODE && b->nodes[frame->node].type == TC__OTLP_N_MESSAGE) {
        struct tc__otlp_node *n = &b->nodes[frame->node];
        n->length = (uint32_t)(in->at - b->body.ptr) - n->at;
    }
    tc__otlp_end(b);
}

static tc_status in_object(struct tc__otlp_build *b, struct tc__json_in *in,
                           struct tc__otlp_frame *frame)
{
    const struct tc__otlp_field *f = NULL;
    if (tc__json_is(in, '}')) {
        end_object(b, in);
        return TC_OK;
    }
    if (!frame->first) {
        if (!tc__json_is(in, ',')) {
            return fail_here(b, in, NULL, "a comma or } is expected");
        }
        in->at++;
        tc__json_blank(in);
    }
    frame->first = false;
    TC_TRY(read_key(b, in, frame, &f));
    if (f == NULL) {
        return tc__json_skip(in, b->limits.depth_max) ? TC_OK : fail(b, in, NULL);
    }
    if (tc__json_is(in, 'n') && tc__json_word(in, TC_LIT("null"))) {
        return TC_OK;
    }
    return f->many ? begin_list(b, in, frame, f) : read_value(b, in, frame, f);
}

static tc_status in_list(struct tc__otlp_build *b, struct tc__json_in *in,
                         struct tc__otlp_frame *frame)
{
    const struct tc__otlp_field *f = frame->field;
    if (tc__json_is(in, ']')) {
        in->at++;
        b->depth--;
        b->frames[b->depth - 1].attributes = frame->attributes;
        return TC_OK;
    }
    if (!frame->first) {
        if (!tc__json_is(in, ',')) {
            return fail_here(b, in, f, "a comma or ] is expected");
        }
        in->at++;
        tc__json_blank(in);
    }
    frame->first = false;
    return read_value(b, in, frame, f);
}

tc_status tc__otlp_json_check(struct tc__otlp_build *b, enum tc__otlp_message_id request)
{
    struct tc__json_in in = {.at = b->body.ptr, .end = b->body.ptr + b->body.len};
    tc__otlp_open(b, request);
    tc__json_blank(&in);
    if (!tc__json_is(&in, '{')) {
        return fail_here(b, &in, NULL, "an object is expected");
    }
    in.at++;
    while (b->depth > 0) {
        struct tc__otlp_frame *frame = &b->frames[b->depth - 1];
        tc__json_blank(&in);
        TC_TRY(frame->list ? in_list(b, &in, frame) : in_object(b, &in, frame));
    }
    tc__json_blank(&in);
    return in.at == in.end ? TC_OK : fail_here(b, &in, NULL, "more behind the request");
}
