/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protobuf wire format, read in place and written: tags, varints, fixed numbers and lengths.
 * Reading is bounded by the end of the bytes, without recursion or copies. A varint of more than 64
 * bits, a length past the end, field 0 and groups are malformed. What a field means is the
 * caller's.
 */
#ifndef TC_BASE_PB_H
#define TC_BASE_PB_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tc_pb_wire {
    TC_PB_VARINT = 0,
    TC_PB_FIXED64 = 1,
    TC_PB_LENGTH = 2,
    TC_PB_GROUP = 3, /* 3 and 4 begin and end a group: long out of use */
    TC_PB_FIXED32 = 5,
};

/* Invariant: at <= end. why is a literal once something was malformed, with at where it starts. */
struct tc_pb {
    const unsigned char *at;
    const unsigned char *end;
    const char *why;
};

/* The long way of tc_pb_varint. */
bool tc_pb_varint_long(struct tc_pb *p, uint64_t *out);

static inline bool tc_pb_varint(struct tc_pb *p, uint64_t *out)
{
    if (__builtin_expect(p->at < p->end && p->at[0] < 0x80, 1)) {
        *out = *p->at++;
        return true;
    }
    return tc_pb_varint_long(p, out);
}

/* A field's number and wire type. */
static inline bool tc_pb_tag(struct tc_pb *p, uint32_t *out_number, unsigned *out_wire)
{
    const unsigned char *start = p->at;
    uint64_t tag = 0;
    if (!tc_pb_varint(p, &tag)) {
        return false;
    }
    if (__builtin_expect(tag < 8 || tag > UINT32_MAX, 0)) {
        p->at = start;
        p->why = tag < 8 ? "field number 0" : "a field number that is too large";
        return false;
    }
    *out_number = (uint32_t)(tag >> 3);
    *out_wire = (unsigned)(tag & 7);
    return true;
}

/* A length that lies within the bytes. */
static inline bool tc_pb_length(struct tc_pb *p, size_t *out)
{
    const unsigned char *start = p->at;
    uint64_t length = 0;
    if (!tc_pb_varint(p, &length)) {
        return false;
    }
    if (__builtin_expect(length > (uint64_t)(p->end - p->at), 0)) {
        p->at = start;
        p->why = "a length past the end";
        return false;
    }
    *out = (size_t)length;
    return true;
}

/* Little-endian, as every machine is that this runs on: checked in pb.c. */
static inline bool tc_pb_fixed64(struct tc_pb *p, uint64_t *out)
{
    if (p->end - p->at < 8) {
        p->why = "cut off inside a number";
        return false;
    }
    memcpy(out, p->at, 8);
    p->at += 8;
    return true;
}

static inline bool tc_pb_fixed32(struct tc_pb *p, uint32_t *out)
{
    if (p->end - p->at < 4) {
        p->why = "cut off inside a number";
        return false;
    }
    memcpy(out, p->at, 4);
    p->at += 4;
    return true;
}

/* Over the value of a field that nobody knows. */
bool tc_pb_skip(struct tc_pb *p, unsigned wire);

static inline struct tc_pb tc_pb_make(struct tc_slice bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    return (struct tc_pb){at, bytes.len > 0 ? at + bytes.len : at, NULL};
}

/* ---- writing ---- */

void tc_pb_put_varint(struct tc_buf *b, uint64_t value);
void tc_pb_put_tag(struct tc_buf *b, uint32_t number, enum tc_pb_wire wire);
/* Fields: a varint, a fixed number, bytes with their length (also messages and strings). */
void tc_pb_put_number(struct tc_buf *b, uint32_t number, uint64_t value);
void tc_pb_put_fixed64(struct tc_buf *b, uint32_t number, uint64_t value);
void tc_pb_put_bytes(struct tc_buf *b, uint32_t number, struct tc_slice bytes);

#endif
