/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *tc_base64_put(char *to, struct tc_slice bytes, bool padded)
{
    const uint8_t *from = (const uint8_t *)bytes.ptr;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t v = (uint32_t)from[i] << 16;
        v |= left > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        v |= left > 2 ? from[i + 2] : 0;
        for (size_t letter = 0; letter < 4; letter++) {
            if (letter <= left) {
                *to++ = LETTERS[v >> (18 - 6 * letter) & 63];
            } else if (padded) {
                *to++ = '=';
            }
        }
    }
    return to;
}

/* 0..63, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+' || c == '-') {
        return 62;
    }
    return c == '/' || c == '_' ? 63 : -1;
}

bool tc_base64_get(struct tc_slice text, uint8_t *to, size_t *out_len)
{
    size_t len = text.len;
    if (len % 4 == 0) {
        for (int pads = 0; pads < 2 && len > 0 && text.ptr[len - 1] == '='; pads++) {
            len--;
        }
    }
    if (len % 4 == 1) {
        return false;
    }
    uint32_t bits = 0;
    unsigned have = 0;
    size_t made = 0;
    for (size_t i = 0; i < len; i++) {
        int v = value_of(text.ptr[i]);
        if (v < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[made++] = (uint8_t)(bits >> have);
        }
    }
    *out_len = made;
    return (bits & ((1U << have) - 1)) == 0; /* one text for one value */
}
