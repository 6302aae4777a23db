/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pb_priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed numbers are copied as they are");

/* Bytes of the longest varint, of which the last holds one bit. */
#define VARINT_MAX 10

bool tc__pb_varint_long(struct tc__pb *p, uint64_t *out)
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

static bool skip_bytes(struct tc__pb *p, size_t count)
{
    if ((size_t)(p->end - p->at) < count) {
        p->why = "cut off inside a number";
        return false;
    }
    p->at += count;
    return true;
}

bool tc__pb_skip(struct tc__pb *p, unsigned wire)
{
    uint64_t ignored = 0;
    size_t length = 0;
    switch (wire) {
    case TC__PB_VARINT:
        return tc__pb_varint(p, &ignored);
    case TC__PB_FIXED64:
        return skip_bytes(p, 8);
    case TC__PB_LENGTH:
        return tc__pb_length(p, &length) && skip_bytes(p, length);
    case TC__PB_FIXED32:
        return skip_bytes(p, 4);
    default: /* three bits from outside, not one of our enums */
        p->why = wire < TC__PB_FIXED32 ? "a group" : "an unknown wire type";
        return false;
    }
}
