/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP in protobuf: over the whole body once, by the table of messages, with a stack of the
 * messages that are open. Every field has to have the wire type of its row; unknown ones
 * are skipped.
 */
#include "base/pb.h"
#include "codec/otlp/names_priv.h"
#include "codec/otlp/tape_priv.h"

#define ID16_BYTES 16
#define ID8_BYTES 8

/* Tags of the commonest fields: number << 3 | wire type. */
#define TAG_KEY 0x0a
#define TAG_VALUE 0x12
#define TAG_STRING_VALUE 0x0a
#define TAG_INT_VALUE 0x18
#define TAG_DOUBLE_VALUE 0x21
/* The largest varint of one byte. */
#define VARINT_ONE 0x7f
/* A pair with an empty key and the shortest value that is read the quick way: a small number. */
#define QUICK_PAIR_MIN 6
/* The length of a pair, the tag of its key and the length of that, as one number: the tag is right
 * and both lengths take one byte. */
#define SHORT_HEAD_MASK UINT32_C(0x80ff80)
#define SHORT_HEAD ((uint32_t)TAG_KEY << 8)

static size_t offset_of(const struct tc__otlp_build *b, const unsigned char *at)
{
    return (size_t)((const char *)at - b->body.ptr);
}

static tc_status fail(struct tc__otlp_build *b, const struct tc_pb *p,
                      const struct tc__otlp_field *f)
{
    return tc__otlp_build_fail(b, offset_of(b, p->at), f, p->why);
}

/* Numbers that follow each other without tags. */
static tc_status check_packed(struct tc__otlp_build *b, struct tc_pb *p,
                              const struct tc__otlp_field *f)
{
    size_t length = 0;
    if (!tc_pb_length(p, &length)) {
        return fail(b, p, f);
    }
    struct tc_pb inside = {.at = p->at, .end = p->at + length};
    p->at += length;
    while (inside.at < inside.end) {
        if (!tc_pb_skip(&inside, tc__otlp_wires[f->type])) {
            return fail(b, &inside, f);
        }
    }
    return TC_OK;
}

static tc_status check_string(struct tc__otlp_build *b, struct tc_pb *p,
                              const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    const unsigned char *start = p->at;
    size_t length = 0;
    if (!tc_pb_length(p, &length)) {
        return fail(b, p, f);
    }
    size_t wanted = f->type == TC__OTLP_T_ID16  ? ID16_BYTES
                    : f->type == TC__OTLP_T_ID8 ? ID8_BYTES
                                                : length;
    if (length != wanted && length != 0) {
        return tc__otlp_build_fail(b, offset_of(b, start), f, "an id of a wrong length");
    }
    tc__otlp_measure(b, f, length);
    struct tc__otlp_node *n = tc__otlp_value_node(
        b, frame, f, f->type == TC__OTLP_T_STRING ? TC__OTLP_N_STRING : TC__OTLP_N_BYTES);
    if (n != NULL) {
        n->at = (uint32_t)offset_of(b, p->at);
        n->length = (uint32_t)length;
    }
    p->at += length;
    return TC_OK;
}

/* What the wire has, as a number of ours. One beyond int64_t says nothing that is read. */
static void keep_number(struct tc__otlp_build *b, const struct tc__otlp_frame *frame,
                        const struct tc__otlp_field *f, uint64_t bits)
{
    bool is_double = f->type == TC__OTLP_T_DOUBLE;
    bool is_bool = f->type == TC__OTLP_T_BOOL;
    struct tc__otlp_node *n = tc__otlp_value_node(b, frame, f,
                                                  is_double ? TC__OTLP_N_DOUBLE
                                                  : is_bool ? TC__OTLP_N_BOOL
                                                            : TC__OTLP_N_INT);
    if (n == NULL) {
        return;
    }
    if (is_double) {
        memcpy(&n->number, &bits, sizeof n->number);
        return;
    }
    if (f->type == TC__OTLP_T_FIXED64 && bits > INT64_MAX) {
        bits = 0;
    }
    n->integer = is_bool ? bits != 0 : (int64_t)bits;
}

static tc_status check_number(struct tc__otlp_build *b, struct tc_pb *p,
                              const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    uint64_t bits = 0;
    uint32_t half = 0;
    bool good = false;
    switch (tc__otlp_wires[f->type]) {
    case TC_PB_VARINT:
        good = tc_pb_varint(p, &bits);
        break;
    case TC_PB_FIXED64:
        good = tc_pb_fixed64(p, &bits);
        break;
    default:
        good = tc_pb_fixed32(p, &half);
        bits = half;
        break;
    }
    if (!good) {
        return fail(b, p, f);
    }
    keep_number(b, frame, f, bits);
    return TC_OK;
}

/* ---- what most values and attributes are, without frames ---- */

/* An integer that ends where the value does. */
static __attribute__((noinline)) bool quick_int(const unsigned char *at, const unsigned char *end,
                                                struct tc__otlp_node *out)
{
    struct tc_pb p = {.at = at, .end = end};
    uint64_t v = 0;
    if (!tc_pb_varint(&p, &v) || p.at != end) {
        return false;
    }
    out->integer = (int64_t)v;
    return true;
}

/* A length of one or two bytes at `at`, which is what most have: the bytes it takes, or 0. Three
 * bytes can be read. */
static inline size_t quick_length(const unsigned char *at, size_t *out)
{
    if (at[0] <= VARINT_ONE) {
        *out = at[0];
        return 1;
    }
    *out = (size_t)(at[0] & VARINT_ONE) | (size_t)at[1] << 7;
    return at[1] <= VARINT_ONE ? 2 : 0;
}

/*
 * A value of one field that fills it: the node it becomes, but for keep and next. False for
 * anything else, which the long way reads or refuses.
 */
static inline __attribute__((always_inline)) bool quick_value(const struct tc__otlp_build *b,
                                                              const unsigned char *at,
                                                              const unsigned char *end,
                                                              struct tc__otlp_node *out)
{
    if (end - at < 3) {
        out->type = TC__OTLP_N_INT;
        return end - at == 2 && at[0] == TAG_INT_VALUE && quick_int(at + 1, end, out);
    }
    switch (at[0]) {
    case TAG_STRING_VALUE: {
        size_t length = 0;
        const unsigned char *text = at + 1 + quick_length(at + 1, &length);
        if (text == at + 1 || length != (size_t)(end - text) ||
            length > b->limits.value_bytes_max) {
            return false;
        }
        out->at = (uint32_t)offset_of(b, text);
        out->length = (uint32_t)length;
        out->type = TC__OTLP_N_STRING;
        return true;
    }
    case TAG_INT_VALUE:
        out->type = TC__OTLP_N_INT;
        return quick_int(at + 1, end, out);
    case TAG_DOUBLE_VALUE:
        out->type = TC__OTLP_N_DOUBLE;
        memcpy(&out->number, at + 1, end - at == 9 ? sizeof out->number : 0);
        return end - at == 9;
    default:
        return false;
    }
}

static inline bool quick_any(struct tc__otlp_build *b, const unsigned char *at,
                             const unsigned char *end, unsigned keep, bool keeps)
{
    /* Written in place: a struct that was just put together is slow to copy. */
    struct tc__otlp_node *n = &b->nodes[b->count];
    if (b->count >= b->cap || b->values >= b->limits.depth_max || !quick_value(b, at, end, n) ||
        !tc__otlp_count(b, 1)) {
        return false;
    }
    if (keeps) {
        tc__otlp_keep_value(b, keep);
    }
    return true;
}

/* A key and a value at `at`, behind the tag of the pair: what is behind them, or NULL. The value is
 * written one node behind the pair's. */
static inline __attribute__((always_inline)) const unsigned char *
quick_pair(const struct tc__otlp_build *b, const unsigned char *at, const unsigned char *end,
           struct tc__otlp_node *pair, struct tc_slice *out_key)
{
    size_t length = 0;
    if (end - at < QUICK_PAIR_MIN) {
        return NULL;
    }
    size_t used = quick_length(at, &length);
    at += used;
    if (used == 0 || length > (size_t)(end - at) || length < QUICK_PAIR_MIN) {
        return NULL;
    }
    end = at + length;
    size_t key = at[1];
    if (at[0] != TAG_KEY || key > VARINT_ONE || key + QUICK_PAIR_MIN > length ||
        key > b->limits.key_bytes_max) {
        return NULL;
    }
    *out_key = tc_slice_make((const char *)at + 2, key);
    at += 2 + key;
    if (at[0] != TAG_VALUE) {
        return NULL;
    }
    used = quick_length(at + 1, &length);
    at += 1 + used;
    return used != 0 && length == (size_t)(end - at) && quick_value(b, at, end, pair + 1) ? end
                                                                                          : NULL;
}

/*
 * What most pairs are, as quick_pair: all lengths take one byte, and limits allow for them. A text
 * is read at once.
 */
static inline __attribute__((always_inline)) const unsigned char *
short_pair(const struct tc__otlp_build *b, const unsigned char *at, const unsigned char *end,
           struct tc__otlp_node *pair, struct tc_slice *out_key)
{
    uint32_t head = 0;
    if (end - at < 4) {
        return NULL;
    }
    memcpy(&head, at, sizeof head);
    size_t length = head & UINT8_MAX;
    size_t key = head >> 16 & UINT8_MAX;
    if ((head & SHORT_HEAD_MASK) != SHORT_HEAD || length >= (size_t)(end - at) ||
        key + QUICK_PAIR_MIN > length) {
        return NULL;
    }
    const unsigned char *value = at + 3 + key;
    const uint32_t text = (uint32_t)(length - key - 6);
    const uint32_t tag = TAG_VALUE | (text + 2) << 8;
    *out_key = tc_slice_make((const char *)at + 3, key);
    end = at + 1 + length;
    memcpy(&head, value, sizeof head);
    if (head == (tag | TAG_STRING_VALUE << 16 | text << 24)) {
        tc__otlp_write_place(pair + 1, offset_of(b, value + 4), text);
        pair[1].type = TC__OTLP_N_STRING;
        return end;
    }
    return (head & UINT16_MAX) == tag && quick_value(b, value + 2, end, pair + 1) ? end : NULL;
}

/* How many pairs limits and the tape have room for. */
static uint32_t room_for_pairs(const struct tc__otlp_build *b, const struct tc__otlp_frame *frame,
                               const struct tc__otlp_field *f)
{
    uint32_t nodes = b->cap - b->count;
    uint32_t room = (nodes < b->left ? nodes : b->left) / 2;
    size_t max = b->limits.attributes_max;
    size_t left = max > frame->attributes ? max - frame->attributes : 0;
    return f->is_attributes && left < room ? (uint32_t)left : room;
}

/*
 * Pairs come in a row: reads them as long as they are plain, from the first, behind whose tag p is.
 * False when that one is not.
 */
static __attribute__((noinline)) bool quick_pairs(struct tc__otlp_build *b, struct tc_pb *p,
                                                  struct tc__otlp_frame *frame,
                                                  const struct tc__otlp_field *f)
{
    const unsigned tag = (unsigned)f->number << 3 | TC_PB_LENGTH;
    const bool keeps = frame->keeps && f->keep != TC__OTLP_K_NONE;
    const bool allows =
        b->limits.key_bytes_max >= VARINT_ONE && b->limits.value_bytes_max >= VARINT_ONE;
    const struct tc__otlp_names *names = tc__otlp_names_in(b, frame);
    const unsigned char *at = p->at;
    const unsigned char *end = p->end;
    uint32_t node = b->count;
    uint32_t count = 0;
    struct tc_slice key;
    if (b->values >= b->limits.depth_max || tag > VARINT_ONE) {
        return false;
    }
    const uint32_t room = room_for_pairs(b, frame, f);
    while (count < room) {
        const unsigned char *behind = allows ? short_pair(b, at, end, &b->nodes[node], &key) : NULL;
        if (behind == NULL) {
            behind = quick_pair(b, at, end, &b->nodes[node], &key);
        }
        if (behind == NULL) {
            break;
        }
        count++;
        if (keeps) {
            tc__otlp_write_pair(b, node, f->keep, key, tc__otlp_name_by(b, names, key, node));
            node += 2;
        }
        p->at = behind;
        if (behind == end || *behind != tag) {
            break;
        }
        at = behind + 1;
    }
    b->left -= 2 * count;
    b->count = node;
    frame->attributes += f->is_attributes ? count : 0;
    return count > 0;
}

/* Attributes, the first of which p is at: as many as can be read without frames. */
static bool read_pairs(struct tc__otlp_build *b, struct tc_pb *p, struct tc__otlp_frame *frame,
                       const struct tc__otlp_field *f)
{
    const unsigned char *start = p->at;
    uint32_t node = b->count;
    bool is_run = tc__otlp_is_run(b, frame, f);
    size_t same = is_run ? tc__otlp_same_run(b, frame, start, (size_t)(p->end - start)) : 0;
    if (same > 0) {
        p->at += same;
        return true;
    }
    if (!quick_pairs(b, p, frame, f)) {
        return false;
    }
    if (is_run) {
        tc__otlp_keep_run(b, start, p->at, node);
    }
    return true;
}

static tc_status check_message(struct tc__otlp_build *b, struct tc_pb *p,
                               struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    size_t length = 0;
    if (f->message == TC__OTLP_M_KEY_VALUE && read_pairs(b, p, frame, f)) {
        return TC_OK;
    }
    if (!tc_pb_length(p, &length)) {
        return fail(b, p, f);
    }
    if (f->is_attributes && ++frame->attributes > b->limits.attributes_max) {
        tc__otlp_reject(b, "too many attributes");
    }
    const unsigned char *end = p->at + length;
    bool keeps = frame->keeps && f->keep != TC__OTLP_K_NONE;
    if (f->message == TC__OTLP_M_ANY_VALUE && frame->message->role != TC__OTLP_PAIR &&
        quick_any(b, p->at, end, f->keep, keeps)) {
        p->at = end;
        return TC_OK;
    }
    TC_TRY(tc__otlp_begin(b, frame, f, offset_of(b, p->at), length));
    p->end = end;
    return TC_OK;
}

/* A field of the wire type of its row; p is behind its tag. */
static inline tc_status check_known(struct tc__otlp_build *b, struct tc_pb *p,
                                    struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    if (f->type == TC__OTLP_T_MESSAGE) {
        return check_message(b, p, frame, f);
    }
    if (tc__otlp_wires[f->type] == TC_PB_LENGTH) {
        return check_string(b, p, frame, f);
    }
    return check_number(b, p, frame, f);
}

/*
 * A tag of several bytes, of another wire type than its field's, or of a field that is not known.
 * *out is the field to go on with; NULL when there is no more to do.
 */
static tc_status find_odd(struct tc__otlp_build *b, struct tc_pb *p,
                          const struct tc__otlp_frame *frame, const struct tc__otlp_field **out)
{
    const unsigned char *start = p->at;
    uint32_t number = 0;
    unsigned wire = 0;
    *out = NULL;
    if (!tc_pb_tag(p, &number, &wire)) {
        return fail(b, p, NULL);
    }
    const struct tc__otlp_field *f = tc__otlp_field_by_number(frame->message, number);
    if (f == NULL) {
        return tc_pb_skip(p, wire) ? TC_OK : fail(b, p, NULL);
    }
    if (wire == tc__otlp_wires[f->type]) {
        *out = f;
        return TC_OK;
    }
    if (f->many && wire == TC_PB_LENGTH) {
        return check_packed(b, p, f);
    }
    bool group = wire == TC_PB_GROUP || wire == TC_PB_GROUP + 1;
    return tc__otlp_build_fail(b, offset_of(b, start), f, group ? "a group" : "a wrong wire type");
}

tc_status tc__otlp_pb_check(struct tc__otlp_build *b, enum tc__otlp_message_id request)
{
    const unsigned char *bytes = (const unsigned char *)b->body.ptr;
    struct tc_pb p = {.at = bytes, .end = bytes + b->body.len};
    tc__otlp_open(b, request);
    for (;;) {
        struct tc__otlp_frame *frame = &b->frames[b->depth - 1];
        while (p.at == p.end) {
            if (b->depth == 1) {
                return TC_OK;
            }
            tc__otlp_end(b);
            frame = &b->frames[b->depth - 1];
            p.end = bytes + frame->end;
        }
        const struct tc__otlp_field *f = tc__otlp_field_by_tag(frame->message, *p.at);
        p.at += f != NULL;
        if (f == NULL) {
            TC_TRY(find_odd(b, &p, frame, &f));
        }
        if (f != NULL) {
            TC_TRY(check_known(b, &p, frame, f));
        }
    }
}
