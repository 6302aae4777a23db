/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP in protobuf: over the whole body once, by the table of messages, with a stack of the
 * messages that are open. Every field has to have the wire type of its row; unknown ones
 * are skipped.
 */
#include "codec/otlp_tape_priv.h"
#include "codec/pb_priv.h"

#define ID16_BYTES 16
#define ID8_BYTES 8

/* How a type is written. */
static const uint8_t WIRES[] = {
    [TC__OTLP_T_MESSAGE] = TC__PB_LENGTH,  [TC__OTLP_T_STRING] = TC__PB_LENGTH,
    [TC__OTLP_T_BYTES] = TC__PB_LENGTH,    [TC__OTLP_T_ID16] = TC__PB_LENGTH,
    [TC__OTLP_T_ID8] = TC__PB_LENGTH,      [TC__OTLP_T_BOOL] = TC__PB_VARINT,
    [TC__OTLP_T_ENUM] = TC__PB_VARINT,     [TC__OTLP_T_UINT32] = TC__PB_VARINT,
    [TC__OTLP_T_SINT32] = TC__PB_VARINT,   [TC__OTLP_T_INT64] = TC__PB_VARINT,
    [TC__OTLP_T_UINT64] = TC__PB_VARINT,   [TC__OTLP_T_FIXED32] = TC__PB_FIXED32,
    [TC__OTLP_T_FIXED64] = TC__PB_FIXED64, [TC__OTLP_T_SFIXED64] = TC__PB_FIXED64,
    [TC__OTLP_T_DOUBLE] = TC__PB_FIXED64,
};

static size_t offset_of(const struct tc__otlp_build *b, const unsigned char *at)
{
    return (size_t)((const char *)at - b->body.ptr);
}

static tc_status fail(struct tc__otlp_build *b, const struct tc__pb *p,
                      const struct tc__otlp_field *f)
{
    return tc__otlp_build_fail(b, offset_of(b, p->at), f, p->why);
}

/* Numbers that follow each other without tags. */
static tc_status check_packed(struct tc__otlp_build *b, struct tc__pb *p,
                              const struct tc__otlp_field *f)
{
    size_t length = 0;
    if (!tc__pb_length(p, &length)) {
        return fail(b, p, f);
    }
    struct tc__pb inside = {.at = p->at, .end = p->at + length};
    p->at += length;
    while (inside.at < inside.end) {
        if (!tc__pb_skip(&inside, WIRES[f->type])) {
            return fail(b, &inside, f);
        }
    }
    return TC_OK;
}

static tc_status check_string(struct tc__otlp_build *b, struct tc__pb *p,
                              const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    const unsigned char *start = p->at;
    size_t length = 0;
    if (!tc__pb_length(p, &length)) {
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

static tc_status check_number(struct tc__otlp_build *b, struct tc__pb *p,
                              const struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    uint64_t bits = 0;
    uint32_t half = 0;
    bool good = false;
    switch (WIRES[f->type]) {
    case TC__PB_VARINT:
        good = tc__pb_varint(p, &bits);
        break;
    case TC__PB_FIXED64:
        good = tc__pb_fixed64(p, &bits);
        break;
    default:
        good = tc__pb_fixed32(p, &half);
        bits = half;
        break;
    }
    if (!good) {
        return fail(b, p, f);
    }
    keep_number(b, frame, f, bits);
    return TC_OK;
}

static tc_status check_message(struct tc__otlp_build *b, struct tc__pb *p,
                               struct tc__otlp_frame *frame, const struct tc__otlp_field *f)
{
    size_t length = 0;
    if (!tc__pb_length(p, &length)) {
        return fail(b, p, f);
    }
    if (f->is_attributes && ++frame->attributes > b->limits.attributes_max) {
        tc__otlp_reject(b, "too many attributes");
    }
    TC_TRY(tc__otlp_begin(b, frame, f, offset_of(b, p->at), length));
    p->end = p->at + length;
    return TC_OK;
}

static tc_status check_field(struct tc__otlp_build *b, struct tc__pb *p,
                             struct tc__otlp_frame *frame)
{
    const unsigned char *start = p->at;
    uint32_t number = 0;
    unsigned wire = 0;
    if (!tc__pb_tag(p, &number, &wire)) {
        return fail(b, p, NULL);
    }
    const struct tc__otlp_field *f = tc__otlp_field_by_number(frame->message, number);
    if (f == NULL) {
        return tc__pb_skip(p, wire) ? TC_OK : fail(b, p, NULL);
    }
    if (wire != WIRES[f->type]) {
        if (f->many && wire == TC__PB_LENGTH) {
            return check_packed(b, p, f);
        }
        bool group = wire == TC__PB_GROUP || wire == TC__PB_GROUP + 1;
        return tc__otlp_build_fail(b, offset_of(b, start), f,
                                   group ? "a group" : "a wrong wire type");
    }
    if (f->type == TC__OTLP_T_MESSAGE) {
        return check_message(b, p, frame, f);
    }
    if (wire == TC__PB_LENGTH) {
        return check_string(b, p, frame, f);
    }
    return check_number(b, p, frame, f);
}

tc_status tc__otlp_pb_check(struct tc__otlp_build *b, enum tc__otlp_message_id request)
{
    const unsigned char *bytes = (const unsigned char *)b->body.ptr;
    struct tc__pb p = {.at = bytes, .end = bytes + b->body.len};
    b->frames[0] = (struct tc__otlp_frame){.message = &b->schema.messages[request],
                                           .node = TC__OTLP_NO_NODE,
                                           .end = (uint32_t)b->body.len,
                                           .keeps = true};
    b->depth = 1;
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
        TC_TRY(check_field(b, &p, frame));
    }
}
