/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/assert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char HEX[] = "0123456789abcdef";

const char tc_pairs[201] = "00010203040506070809101112131415161718192021222324"
                           "25262728293031323334353637383940414243444546474849"
                           "50515253545556575859606162636465666768697071727374"
                           "75767778798081828384858687888990919293949596979899";

/* A digit of v, or nothing where v is too short. */
#define DIGIT(v, least, unit) ((v) < (least) ? 0 : '0' + (v) / (unit) % 10)
#define SMALL(v)                                              \
    {                                                         \
        {DIGIT(v, 0,                                          \
               (v) < 10    ? 1                                \
               : (v) < 100 ? 10                               \
                           : 100),                            \
         DIGIT(v, 10, (v) < 100 ? 1 : 10), DIGIT(v, 100, 1)}, \
            (v) < 10    ? 1                                   \
            : (v) < 100 ? 2                                   \
                        : 3                                   \
    }
#define SMALL_10(v)                                                                           \
    SMALL(v), SMALL((v) + 1), SMALL((v) + 2), SMALL((v) + 3), SMALL((v) + 4), SMALL((v) + 5), \
        SMALL((v) + 6), SMALL((v) + 7), SMALL((v) + 8), SMALL((v) + 9)
#define SMALL_100(v)                                                                             \
    SMALL_10(v), SMALL_10((v) + 10), SMALL_10((v) + 20), SMALL_10((v) + 30), SMALL_10((v) + 40), \
        SMALL_10((v) + 50), SMALL_10((v) + 60), SMALL_10((v) + 70), SMALL_10((v) + 80),          \
        SMALL_10((v) + 90)

const struct tc_small tc_smalls[TC_SMALL_COUNT] = {
    SMALL_100(0),   SMALL_100(100), SMALL_100(200), SMALL_100(300), SMALL_100(400),
    SMALL_100(500), SMALL_100(600), SMALL_100(700), SMALL_100(800), SMALL_100(900)};

void tc_copy_long(char *to, const char *from, size_t len)
{
    memcpy(to, from, len);
}

/* Three digits, leading zeros included. */
static inline char *put_three(char *p, uint32_t value)
{
    *p = (char)('0' + value / 100);
    return tc_put_two(p + 1, value % 100);
}

char *tc_put_large(char *p, uint64_t value)
{
    if (value < 1000000) {
        uint32_t v = (uint32_t)value;
        return put_three(tc_put_u64(p, v / 1000), v % 1000);
    }
    uint32_t low = (uint32_t)(value % 1000000);
    p = tc_put_u64(p, value / 1000000); /* at most three times */
    return put_three(put_three(p, low / 1000), low % 1000);
}

void tc_buf_u64(struct tc_buf *b, uint64_t value)
{
    if (b->cap - b->len >= TC_PUT_U64_MAX) {
        tc_buf_end(b, tc_put_u64(b->data + b->len, value));
        return;
    }
    char digits[TC_PUT_U64_MAX];
    const char *end = tc_put_u64(digits, value);
    for (const char *p = digits; p < end; p++) {
        tc_buf_char(b, *p);
    }
}

void tc_buf_i64(struct tc_buf *b, int64_t value)
{
    if (b->cap - b->len > TC_PUT_U64_MAX) {
        tc_buf_end(b, tc_put_i64(b->data + b->len, value));
        return;
    }
    if (value < 0) {
        tc_buf_char(b, '-');
        tc_buf_u64(b, 0 - (uint64_t)value);
    } else {
        tc_buf_u64(b, (uint64_t)value);
    }
}

void tc_buf_hex(struct tc_buf *b, uint64_t value, unsigned digits)
{
    TC_ASSERT(digits >= 1 && digits <= 16);
    char out[16];
    for (unsigned i = digits; i > 0; i--) {
        out[i - 1] = HEX[value & 15];
        value >>= 4;
    }
    tc_buf_put(b, out, digits);
}

typedef uint8_t hex_lanes __attribute__((vector_size(16)));

/* Sixteen bytes become 32 digits at once: each nibble in a lane of its own, then '0'.. or 'a'.. */
static char *put_hex16(char *p, const uint8_t *bytes)
{
    hex_lanes x;
    memcpy(&x, bytes, sizeof x);
    hex_lanes high = x >> 4;
    hex_lanes low = x & 15;
    high += '0' + ((hex_lanes)(high > 9) & ('a' - '0' - 10));
    low += '0' + ((hex_lanes)(low > 9) & ('a' - '0' - 10));
    hex_lanes first =
        __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    hex_lanes second = __builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                               29, 14, 30, 15, 31);
    memcpy(p, &first, sizeof first);
    memcpy(p + sizeof first, &second, sizeof second);
    return p + 2 * sizeof x;
}

char *tc_put_hex_bytes(char *p, const uint8_t *bytes, size_t count)
{
    TC_ASSERT(count % 16 == 0);
    for (size_t i = 0; i < count; i += 16) {
        p = put_hex16(p, bytes + i);
    }
    return p;
}

void tc_buf_f64(struct tc_buf *b, double value)
{
    if (!isfinite(value)) {
        tc_buf_lit(b, "null");
        return;
    }
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        int len = snprintf(text, sizeof text, "%.*g", precision, value);
        TC_ASSERT(len > 0 && (size_t)len < sizeof text);
        if (precision == 17 || strtod(text, NULL) == value) {
            tc_buf_put(b, text, (size_t)len);
            return;
        }
    }
}

size_t tc_utf8_len(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80) {
        return 1;
    }
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || len > left) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
               (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : len;
}

/* True when none of the eight bytes is a control character, a quote, a backslash or non-ASCII. */
static bool plain8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    const uint64_t ones = 0x0101010101010101ULL;
    const uint64_t high = 0x8080808080808080ULL;
    uint64_t control = (w - ones * 0x20) & ~w;
    uint64_t quote = w ^ (ones * '"');
    uint64_t slash = w ^ (ones * '\\');
    uint64_t hit = control | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | w;
    return (hit & high) == 0;
}

static bool plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\' && (unsigned char)c < 0x80;
}

bool tc_slice_is_plain(struct tc_slice s)
{
    size_t i = 0;
    if (s.len >= 8) {
        while (i + 8 <= s.len && plain8(s.ptr + i)) {
            i += 8;
        }
        return i + 8 > s.len && plain8(s.ptr + s.len - 8); /* the last eight, some of them again */
    }
    while (i < s.len && plain(s.ptr[i])) {
        i++;
    }
    return i == s.len;
}

static void json_escape(struct tc_buf *b, unsigned char c)
{
    switch (c) {
    case '"':
        tc_buf_lit(b, "\\\"");
        break;
    case '\\':
        tc_buf_lit(b, "\\\\");
        break;
    case '\n':
        tc_buf_lit(b, "\\n");
        break;
    case '\r':
        tc_buf_lit(b, "\\r");
        break;
    case '\t':
        tc_buf_lit(b, "\\t");
        break;
    default:
        tc_buf_lit(b, "\\u");
        tc_buf_hex(b, c, 4);
        break;
    }
}

void tc_buf_escaped(struct tc_buf *b, struct tc_slice s)
{
    size_t i = 0;
    while (i < s.len) {
        size_t start = i;
        while (i + 8 <= s.len && plain8(s.ptr + i)) {
            i += 8;
        }
        while (i < s.len && plain(s.ptr[i])) {
            i++;
        }
        if (i > start) {
            tc_buf_put(b, s.ptr + start, i - start);
        }
        if (i == s.len) {
            break;
        }
        const unsigned char *at = (const unsigned char *)s.ptr + i;
        size_t len = tc_utf8_len(at, s.len - i);
        if (len > 1) {
            tc_buf_put(b, s.ptr + i, len);
        } else if (len == 1 && !plain(s.ptr[i])) {
            json_escape(b, *at);
        } else if (len == 0) {
            tc_buf_lit(b, "\xef\xbf\xbd");
            len = 1;
        }
        i += len;
    }
}

void tc_buf_json(struct tc_buf *b, struct tc_slice s)
{
    tc_buf_char(b, '"');
    tc_buf_escaped(b, s);
    tc_buf_char(b, '"');
}

/*
 * Characters that are not seen but change what is: C0 and C1 controls drive terminals; marks,
 * embeddings and isolates of writing direction (U+061C, U+200E/F, U+202A..E, U+2066..9) show
 * text in another order than it has; U+2028/9 break lines; others are nothing at all and make two
 * names look like one (U+200B, U+2060..F, U+FEFF, U+FFF9..B, tags U+E0000..7F). Joiners
 * (U+200C/D) stay: some scripts need them.
 */
bool tc_utf8_is_invisible(const unsigned char *at, size_t len)
{
    switch (len) {
    case 1:
        return at[0] < 0x20 || at[0] == 0x7f;
    case 2:
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    case 3:
        return (at[0] == 0xe2 && at[1] == 0x80 &&
                (at[2] == 0x8b || at[2] == 0x8e || at[2] == 0x8f ||
                 (at[2] >= 0xa8 && at[2] <= 0xae))) ||
               (at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf) ||
               (at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf) ||
               (at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xb9 && at[2] <= 0xbb);
    case 4:
        return at[0] == 0xf3 && at[1] == 0xa0 && at[2] <= 0x81;
    default:
        return false;
    }
}

void tc_buf_printable(struct tc_buf *b, struct tc_slice s)
{
    for (size_t i = 0; i < s.len;) {
        const unsigned char *at = (const unsigned char *)s.ptr + i;
        size_t len = tc_utf8_len(at, s.len - i);
        if (len == 0 || tc_utf8_is_invisible(at, len)) {
            tc_buf_lit(b, "\\x");
            tc_buf_hex(b, *at, 2);
            i++;
        } else {
            tc_buf_put(b, s.ptr + i, len);
            i += len;
        }
    }
}
