/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON's own tokens, strictly: white space, strings, numbers, and the skipping of what
 * nobody knows. What they mean to OTLP is in json.c.
 */
#ifndef TC_CODEC_OTLP_JSON_PRIV_H
#define TC_CODEC_OTLP_JSON_PRIV_H

#include "base/slice.h"

#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Invariant: at <= end. why is a literal once something was malformed; at is there then. */
struct tc__json_in {
    const char *at;
    const char *end;
    const char *why;
};

/* A string between its quotes, as it is written. */
struct tc__json_text {
    struct tc_slice raw;
    bool escaped;
};

/* A number as it is written, and its value where it is a whole one of at most 64 bits. */
struct tc__json_number {
    struct tc_slice raw;
    uint64_t magnitude;
    bool negative;
    bool whole;
};

static inline void tc__json_blank(struct tc__json_in *in)
{
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t')) {
        in->at++;
    }
}

static inline bool tc__json_is(const struct tc__json_in *in, char c)
{
    return in->at < in->end && *in->at == c;
}

/* The first byte from `at` on that is a quote, a backslash or a control character. */
static inline const char *tc__json_special(const char *at, const char *end)
{
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1f);
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control);
        __m128i hit = _mm_or_si128(
            control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask != 0) {
            return at + __builtin_ctz(mask);
        }
        at += 16;
    }
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at > 0x1f) {
        at++;
    }
    return at;
}

/* A string, from its first quote; in->at is behind its last one then. */
bool tc__json_string_read(struct tc__json_in *in, struct tc__json_text *out);
/* Writes what the text means to `to`, which has room for raw.len bytes: bytes written. False when
 * an escape is none. Half of a pair of surrogates becomes U+FFFD. */
bool tc__json_unescape(struct tc_slice raw, char *to, size_t *out_length);
/* The value of eight digits at `at`, which can be read; false when one is none. */
static inline bool tc__json_eight_digits(const char *at, uint64_t *out)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    if ((v & high) != UINT64_C(0x3030303030303030) ||
        ((v + UINT64_C(0x0606060606060606)) & high) != UINT64_C(0x3030303030303030)) {
        return false;
    }
    /* Neighbours are joined: to two digits, to four, to eight. The first digit is the lowest byte.
     */
    v &= ~high;
    v = (v * 10 + (v >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v * 100 + (v >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *out = (v * 10000 + (v >> 32)) & UINT32_MAX;
    return true;
}

/*
 * A whole number without a sign, of at most 18 digits, perhaps in quotes, as times and counts are:
 * what is behind it, or NULL for anything else.
 */
static inline const char *tc__json_quick_u64(const char *at, const char *end, uint64_t *out)
{
    bool quoted = at < end && *at == '"';
    const char *digits = at + quoted;
    const char *stop = end - digits > 20 ? digits + 20 : end;
    uint64_t value = 0;
    uint64_t eight = 0;
    for (at = digits; stop - at >= 8 && tc__json_eight_digits(at, &eight); at += 8) {
        value = value * 100000000 + eight;
    }
    for (; at < stop && (unsigned char)(*at - '0') < 10; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    size_t count = (size_t)(at - digits);
    /* 19 digits are below 2^64, and a 20th is not taken in. */
    if (count == 0 || count > 19 || (count > 1 && digits[0] == '0') || at == end) {
        return NULL;
    }
    if (quoted) {
        if (*at != '"' || end - at < 2) {
            return NULL;
        }
        at++;
    }
    *out = value;
    return *at == ',' || *at == '}' || *at == ']' ? at : NULL;
}

bool tc__json_number_read(struct tc__json_in *in, struct tc__json_number *out);
/* A whole number's value, or one that is written with a fraction or an exponent and is whole. */
bool tc__json_whole(const struct tc__json_number *n, uint64_t *out_magnitude);
/* False when it is beyond a double. */
bool tc__json_double(const struct tc__json_number *n, double *out);
/* true, false, null: the word at `at`, taken off. */
bool tc__json_word(struct tc__json_in *in, struct tc_slice word);
/* Over a value of any kind with at most depth_max levels. */
bool tc__json_skip(struct tc__json_in *in, size_t depth_max);

#endif
