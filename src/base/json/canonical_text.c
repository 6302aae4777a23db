/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/canonical.h"

#include "base/json/canonical_priv.h"

#include <math.h>
#include <stdlib.h>

/* An integer with more digits is longer than the parser takes: 2^64 has 20. */
#define PARSER_DIGITS 19
/* Digits of the largest double. */
#define INTEGER_DIGITS_MAX 309

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool all_digits(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return false;
        }
    }
    return true;
}

/*
 * The next integer that is too long for the parser, from *at on; *at is behind it then. Strings are
 * skipped. What is no JSON stays none whatever is found here.
 */
static bool next_long(struct tc_slice text, size_t *at, struct tc_slice *out)
{
    bool quoted = false;
    for (size_t i = *at; i < text.len; i++) {
        char c = text.ptr[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            size_t start = i;
            while (i < text.len && in_number(text.ptr[i])) {
                i++;
            }
            *out = tc_slice_make(text.ptr + start, i - start);
            if (out->len > PARSER_DIGITS && all_digits(tc_slice_from(*out, c == '-'))) {
                *at = i;
                return true;
            }
            i--;
        }
    }
    *at = text.len;
    return false;
}

static tc_status check_long(struct tc_slice number, size_t offset, struct tc_error *err)
{
    char text[INTEGER_DIGITS_MAX + 2];
    bool fits = number.len < sizeof text;
    if (fits) {
        memcpy(text, number.ptr, number.len);
        text[number.len] = '\0';
    }
    double value = fits ? strtod(text, NULL) : HUGE_VAL;
    if (!isfinite(value) || !tc__integer_is_double(number, value)) {
        return tc_fail(err, TC_E_MALFORMED, offset,
                       "byte %zu: an integer that no double is (%.24s...); write it as a string",
                       offset, fits ? text : "very long");
    }
    return TC_OK;
}

/* Writes long integers as doubles ("e0" behind them), so that the parser takes them. *out_copy
 * stays NULL where there is none. */
static tc_status rewrite(struct tc_slice text, char **out_copy, size_t *out_len,
                         struct tc_error *err)
{
    struct tc_slice number;
    size_t count = 0;
    for (size_t at = 0; next_long(text, &at, &number); count++) {
        TC_TRY(check_long(number, at - number.len, err));
    }
    if (count == 0) {
        return TC_OK;
    }
    size_t cap = text.len + 2 * count;
    char *copy = malloc(cap);
    if (copy == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %zu bytes of JSON", cap);
    }
    struct tc_buf b = tc_buf_make(copy, cap);
    size_t done = 0;
    for (size_t at = 0; next_long(text, &at, &number); done = at) {
        tc_buf_str(&b, tc_slice_make(text.ptr + done, at - done));
        tc_buf_lit(&b, "e0");
    }
    tc_buf_str(&b, tc_slice_from(text, done));
    *out_copy = copy;
    *out_len = b.len;
    return TC_OK;
}

/* The text is seldom longer than what it was made from; where it is, there is one more try with
 * all that it can need. */
static tc_status write_out(struct tc_json root, size_t text_len, char **out_text, size_t *out_len,
                           struct tc_error *err)
{
    const size_t caps[] = {text_len + 64, (text_len + 1) * TC_CANONICAL_GROWTH};
    tc_status status = TC_E_LIMIT;
    for (size_t i = 0; i < 2 && status == TC_E_LIMIT; i++) {
        char *memory = malloc(caps[i]);
        if (memory == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for canonical JSON of %zu bytes",
                           caps[i]);
        }
        struct tc_buf b = tc_buf_make(memory, caps[i]);
        status = tc_canonical_value(root, &b, err);
        if (status == TC_OK) {
            *out_text = memory;
            *out_len = b.len;
            return TC_OK;
        }
        free(memory);
    }
    return status;
}

tc_status tc_canonical_text(struct tc_slice json, char **out_text, size_t *out_len,
                            struct tc_error *err)
{
    char *copy = NULL;
    size_t copy_len = 0;
    struct tc_json root;
    TC_TRY(rewrite(json, &copy, &copy_len, err));
    struct tc_slice text = copy == NULL ? json : tc_slice_make(copy, copy_len);
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_status status = TC_E_NOMEM;
    if (parser == NULL) {
        (void)tc_fail(err, status, 0, "no memory for a JSON parser");
    } else {
        status = tc_json_parse(parser, text, &root, err);
    }
    if (status == TC_OK) {
        status = write_out(root, text.len, out_text, out_len, err);
    }
    tc_json_parser_destroy(parser);
    free(copy);
    return status;
}

tc_status tc_canonical_digest(struct tc_slice json, struct tc_digest *out, struct tc_error *err)
{
    char *text = NULL;
    size_t len = 0;
    TC_TRY(tc_canonical_text(json, &text, &len, err));
    tc_status status = tc_digest_sha256(tc_slice_make(text, len), out);
    free(text);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "SHA-256 cannot be set up");
}
