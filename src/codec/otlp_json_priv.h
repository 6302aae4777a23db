/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON's own tokens, strictly: white space, strings, numbers, and the skipping of what
 * nobody knows. What they mean to OTLP is in otlp_json.c.
 */
#ifndef TC_CODEC_OTLP_JSON_PRIV_H
#define TC_CODEC_OTLP_JSON_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A string, from its first quote; in->at is behind its last one then. */
bool tc__json_string_read(struct tc__json_in *in, struct tc__json_text *out);
/* Writes what the text means to `to`, which has room for raw.len bytes: bytes written. False when
 * an escape is none. Half of a pair of surrogates becomes U+FFFD. */
bool tc__json_unescape(struct tc_slice raw, char *to, size_t *out_length);
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
