/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp/json_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Digits of a number that are looked at; its value needs far fewer. */
#define NUMBER_MAX 1024
/* Whole numbers up to this are exact as doubles. */
#define EXACT_MAX (UINT64_C(1) << 53)
/* Levels that tc__json_skip can remember: a bit each. */
#define SKIP_LEVELS 1024
#define SURROGATE_FIRST 0xd800
#define SURROGATE_LOW 0xdc00
#define SURROGATE_LAST 0xdfff
#define REPLACEMENT 0xfffd

static bool fail(struct tc__json_in *in, const char *why)
{
    in->why = why;
    return false;
}

bool tc__json_string_read(struct tc__json_in *in, struct tc__json_text *out)
{
    if (!tc__json_is(in, '"')) {
        return fail(in, "a string is expected");
    }
    const char *start = in->at + 1;
    const char *at = start;
    out->escaped = false;
    for (;;) {
        at = tc__json_special(at, in->end);
        if (at == in->end) {
            return fail(in, "a string that does not end");
        }
        if (*at == '"') {
            break;
        }
        if (*at != '\\' || in->end - at < 2) {
            in->at = at;
            return fail(in, *at == '\\' ? "a string that does not end"
                                        : "a control character in a string");
        }
        out->escaped = true;
        at += 2;
    }
    out->raw = tc_slice_make(start, (size_t)(at - start));
    in->at = at + 1;
    return true;
}

static bool hex4(const char *at, const char *end, uint32_t *out)
{
    uint64_t value = 0;
    if (end - at < 4 || tc_slice_hex(tc_slice_make(at, 4), &value) != 4) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static size_t put_utf8(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* "\u00e9", and two of them for what is beyond 16 bits; *io_at is behind "\u". */
static bool take_unicode(const char **io_at, const char *end, uint32_t *out)
{
    uint32_t low = 0;
    if (!hex4(*io_at, end, out)) {
        return false;
    }
    *io_at += 4;
    if (*out < SURROGATE_FIRST || *out > SURROGATE_LAST) {
        return true;
    }
    if (*out < SURROGATE_LOW && end - *io_at >= 6 && (*io_at)[0] == '\\' && (*io_at)[1] == 'u' &&
        hex4(*io_at + 2, end, &low) && low >= SURROGATE_LOW && low <= SURROGATE_LAST) {
        *io_at += 6;
        *out = 0x10000 + ((*out - SURROGATE_FIRST) << 10) + (low - SURROGATE_LOW);
        return true;
    }
    *out = REPLACEMENT;
    return true;
}

bool tc__json_unescape(struct tc_slice raw, char *to, size_t *out_length)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *at = raw.ptr;
    const char *end = raw.ptr + raw.len;
    size_t length = 0;
    while (at < end) {
        if (*at != '\\') {
            const char *next = memchr(at, '\\', (size_t)(end - at));
            size_t plain = (size_t)((next == NULL ? end : next) - at);
            memcpy(to + length, at, plain);
            length += plain;
            at += plain;
            continue;
        }
        if (end - at < 2) {
            return false;
        }
        char c = at[1];
        const char *name = c == '\0' ? NULL : strchr(names, c);
        at += 2;
        uint32_t code = 0;
        if (name != NULL) {
            to[length++] = meant[name - names];
        } else if (c == 'u' && take_unicode(&at, end, &code)) {
            length += put_utf8(code, to + length);
        } else {
            return false;
        }
    }
    *out_length = length;
    return true;
}

bool tc__json_number_read(struct tc__json_in *in, struct tc__json_number *out)
{
    const char *at = in->at;
    bool fits = true;
    uint64_t magnitude = 0;
    bool negative = tc__json_is(in, '-');
    at += negative;
    const char *digits = at;
    while (at < in->end && tc_is_digit(*at)) {
        fits = fits && !__builtin_mul_overflow(magnitude, 10, &magnitude) &&
               !__builtin_add_overflow(magnitude, (uint64_t)(*at - '0'), &magnitude);
        at++;
    }
    if (at == digits || (at - digits > 1 && digits[0] == '0')) {
        return fail(in, at == digits ? "a number is expected" : "a number that begins with 0");
    }
    bool whole = fits;
    if (at < in->end && *at == '.') {
        const char *fraction = ++at;
        while (at < in->end && tc_is_digit(*at)) {
            at++;
        }
        if (at == fraction) {
            return fail(in, "a number without digits behind its point");
        }
        whole = false;
    }
    if (at < in->end && (*at | 0x20) == 'e') {
        at++;
        at += at < in->end && (*at == '+' || *at == '-');
        const char *exponent = at;
        while (at < in->end && tc_is_digit(*at)) {
            at++;
        }
        if (at == exponent) {
            return fail(in, "a number without digits in its exponent");
        }
        whole = false;
    }
    *out = (struct tc__json_number){.raw = tc_slice_make(in->at, (size_t)(at - in->at)),
                                    .magnitude = magnitude,
                                    .negative = negative,
                                    .whole = whole};
    in->at = at;
    return true;
}

/*
 * A decimal fraction of few digits: both the digits as a whole number and the power of ten are
 * exact as doubles, so their quotient is rounded once, as strtod rounds. False for all others.
 */
static bool quick_fraction(const struct tc__json_number *n, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = n->raw.ptr + n->negative;
    const char *end = n->raw.ptr + n->raw.len;
    const char *point = NULL;
    uint64_t digits = 0;
    for (; at < end && digits <= EXACT_MAX; at++) {
        if (tc_is_digit(*at)) {
            digits = digits * 10 + (uint64_t)(*at - '0');
        } else if (*at == '.') { /* there is one at the most */
            point = at + 1;
        } else {
            return false;
        }
    }
    size_t power = point == NULL ? 0 : (size_t)(end - point);
    if (digits > EXACT_MAX || power >= TC_COUNT(powers)) {
        return false;
    }
    double value = (double)digits / powers[power];
    *out = n->negative ? -value : value;
    return true;
}

bool tc__json_double(const struct tc__json_number *n, double *out)
{
    char text[NUMBER_MAX + 1];
    if (n->whole && n->magnitude <= EXACT_MAX) {
        *out = n->negative ? -(double)n->magnitude : (double)n->magnitude;
        return true;
    }
    if (quick_fraction(n, out)) {
        return true;
    }
    if (n->raw.len > NUMBER_MAX) {
        return false;
    }
    memcpy(text, n->raw.ptr, n->raw.len);
    text[n->raw.len] = '\0';
    double value = strtod(text, NULL);
    if (!isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool tc__json_whole(const struct tc__json_number *n, uint64_t *out_magnitude)
{
    double value = 0;
    if (n->whole) {
        *out_magnitude = n->magnitude;
        return true;
    }
    if (!tc__json_double(n, &value) || floor(value) != value || fabs(value) >= 0x1p63) {
        return false;
    }
    *out_magnitude = (uint64_t)fabs(value);
    return true;
}

bool tc__json_word(struct tc__json_in *in, struct tc_slice word)
{
    if ((size_t)(in->end - in->at) < word.len || memcmp(in->at, word.ptr, word.len) != 0) {
        return false;
    }
    in->at += word.len;
    return true;
}

static bool skip_scalar(struct tc__json_in *in)
{
    struct tc__json_text text;
    struct tc__json_number number;
    if (tc__json_is(in, '"')) {
        return tc__json_string_read(in, &text);
    }
    if (tc__json_word(in, TC_LIT("true")) || tc__json_word(in, TC_LIT("false")) ||
        tc__json_word(in, TC_LIT("null"))) {
        return true;
    }
    return tc__json_number_read(in, &number);
}

/* "key": inside of an object. */
static bool skip_key(struct tc__json_in *in)
{
    struct tc__json_text key;
    if (!tc__json_string_read(in, &key)) {
        return false;
    }
    tc__json_blank(in);
    if (!tc__json_is(in, ':')) {
        return fail(in, "a colon is expected");
    }
    in->at++;
    tc__json_blank(in);
    return true;
}

bool tc__json_skip(struct tc__json_in *in, size_t depth_max)
{
    tc__json_blank(in);
    if (!tc__json_is(in, '{') && !tc__json_is(in, '[')) {
        return skip_scalar(in);
    }
    uint8_t is_object[SKIP_LEVELS / 8] = {0};
    size_t depth = 0;
    bool closed = false; /* a value was just read */
    depth_max = depth_max < SKIP_LEVELS ? depth_max : SKIP_LEVELS;
    do {
        tc__json_blank(in);
        bool object = depth > 0 && (is_object[(depth - 1) / 8] >> ((depth - 1) % 8) & 1) != 0;
        char close = object ? '}' : ']';
        if (depth > 0 && tc__json_is(in, close)) {
            in->at++;
            depth--;
            closed = true;
            continue;
        }
        if (closed) {
            if (!tc__json_is(in, ',')) {
                return fail(in, "a comma or the end of a list or an object is expected");
            }
            in->at++;
            tc__json_blank(in);
        }
        if (object && !skip_key(in)) {
            return false;
        }
        if (tc__json_is(in, '{') || tc__json_is(in, '[')) {
            if (depth == depth_max) {
                return fail(in, "nested too deeply");
            }
            uint8_t bit = (uint8_t)(1U << (depth % 8));
            uint8_t *byte = &is_object[depth / 8];
            *byte = (uint8_t)(*in->at == '{' ? *byte | bit : *byte & ~bit);
            depth++;
            in->at++;
            closed = false;
            continue;
        }
        if (!skip_scalar(in)) {
            return false;
        }
        closed = true;
    } while (depth > 0);
    return true;
}
