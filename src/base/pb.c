/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pb.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed numbers are copied as they are");

/* Bytes of the longest varint, of which the last holds one bit. */
#define VARINT_MAX 10

bool tc_pb_varint_long(struct tc_pb *p, uint64_t *out)
{
    uint64_t value = 0;
    size_t room = (size_t)(p->end - p->at);
    for (size_t i = 0; i < VARINT_MAX; i++) {
        if (i == room) {
            p->why = "cut off inside a varint";
            return false;
        }
        uint64_t byte = p->at[i];
        if (i == VARINT_MAX - 1 && byte > 1) {
            break;
        }
        value |= (byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            p->at += i + 1;
            *out = value;
            return true;
        }
    }
    p->why = "a varint of more than 64 bits";
    return false;
}

static bool skip_bytes(struct tc_pb *p, size_t count)
{
    if ((size_t)(p->end - p->at) < count) {
        p->why = "cut off inside a number";
        return false;
    }
    p->at += count;
    return true;
}

bool tc_pb_skip(struct tc_pb *p, unsigned wire)
{
    uint64_t ignored = 0;
    size_t length = 0;
    switch (wire) {
    case TC_PB_VARINT:
        return tc_pb_varint(p, &ignored);
    case TC_PB_FIXED64:
        return skip_bytes(p, 8);
    case TC_PB_LENGTH:
        return tc_pb_length(p, &length) && skip_bytes(p, length);
    case TC_PB_FIXED32:
        return skip_bytes(p, 4);
    default: /* three bits from outside, not one of our enums */
        p->why = wire < TC_PB_FIXED32 ? "a group" : "an unknown wire type";
        return false;
    }
}

void tc_pb_put_varint(struct tc_buf *b, uint64_t value)
{
    while (value >= 0x80) {
        tc_buf_char(b, (char)(unsigned char)(value | 0x80));
        value >>= 7;
    }
    tc_buf_char(b, (char)value);
}

void tc_pb_put_tag(struct tc_buf *b, uint32_t number, enum tc_pb_wire wire)
{
    tc_pb_put_varint(b, (uint64_t)number << 3 | wire);
}

void tc_pb_put_number(struct tc_buf *b, uint32_t number, uint64_t value)
{
    tc_pb_put_tag(b, number, TC_PB_VARINT);
    tc_pb_put_varint(b, value);
}

void tc_pb_put_fixed64(struct tc_buf *b, uint32_t number, uint64_t value)
{
    tc_pb_put_tag(b, number, TC_PB_FIXED64);
    tc_buf_put(b, (const char *)&value, sizeof value);
}

void tc_pb_put_bytes(struct tc_buf *b, uint32_t number, struct tc_slice bytes)
{
    tc_pb_put_tag(b, number, TC_PB_LENGTH);
    tc_pb_put_varint(b, bytes.len);
    tc_buf_str(b, bytes);
}
