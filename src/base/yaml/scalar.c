/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain scalars by YAML 1.2's core schema, and by PyYAML's reading of YAML 1.1. The second is not
 * what YAML 1.1 says: 1e3 is text there (a float needs a dot, and its exponent a sign), 0o7 is
 * text, 010 is eight, 1:30 is ninety. Dates are text in both.
 */
#include "base/yaml/scalar_priv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S(literal) TC_LIT(literal)
/* Longer texts are no numbers that anyone writes. */
#define NUMBER_MAX 128

/* A cursor over the text. */
struct scan {
    const char *at;
    const char *end;
};

static bool is_one_of(struct tc_slice text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq(text, tc_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_null(struct tc_slice text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    return is_one_of(text, words, sizeof words / sizeof words[0]);
}

static bool is_true(struct tc_slice text, enum tc_yaml_schema schema)
{
    static const char *const words[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON"};
    return is_one_of(text, words, schema == TC_YAML_CORE_1_2 ? 3 : 9);
}

static bool is_false(struct tc_slice text, enum tc_yaml_schema schema)
{
    static const char *const words[] = {"false", "False", "FALSE", "no", "No",
                                        "NO",    "off",   "Off",   "OFF"};
    return is_one_of(text, words, schema == TC_YAML_CORE_1_2 ? 3 : 9);
}

static bool take(struct scan *s, const char *set)
{
    bool there = s->at < s->end && *s->at != '\0' && strchr(set, *s->at) != NULL;
    s->at += there;
    return there;
}

static size_t take_all(struct scan *s, const char *set)
{
    const char *start = s->at;
    while (take(s, set)) {
    }
    return (size_t)(s->at - start);
}

#define DIGITS "0123456789"

/* "e" and a sign that must be there, or may be. False when an "e" is not followed by that. */
static bool take_exponent(struct scan *s, bool sign_needed)
{
    if (!take(s, "eE")) {
        return true;
    }
    bool has_sign = take(s, "+-");
    return (has_sign || !sign_needed) && take_all(s, DIGITS) > 0;
}

static bool is_inf_or_nan(struct tc_slice text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF"};
    static const char *const nans[] = {".nan", ".NaN", ".NAN"};
    struct tc_slice bare = text;
    if (text.len > 0 && (text.ptr[0] == '+' || text.ptr[0] == '-')) {
        bare = tc_slice_from(text, 1);
    }
    return is_one_of(bare, words, 3) || is_one_of(text, nans, 3);
}

static enum tc__yaml_kind core_number(struct tc_slice text)
{
    struct scan s = {text.ptr, text.ptr + text.len};
    if (tc_slice_starts(text, S("0o")) || tc_slice_starts(text, S("0x"))) {
        s.at += 2;
        bool some = take_all(&s, text.ptr[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF") > 0;
        return some && s.at == s.end ? TC__YAML_INT : TC__YAML_STRING;
    }
    (void)take(&s, "+-");
    size_t whole = take_all(&s, DIGITS);
    if (whole > 0 && s.at == s.end) {
        return TC__YAML_INT;
    }
    size_t fraction = take(&s, ".") ? take_all(&s, DIGITS) : 0;
    bool ok = whole + fraction > 0 && take_exponent(&s, false) && s.at == s.end;
    return ok ? TC__YAML_FLOAT : TC__YAML_STRING;
}

/* "(:[0-5]?[0-9])+" */
static bool take_sixties(struct scan *s)
{
    bool some = false;
    while (take(s, ":")) {
        const char *start = s->at;
        size_t n = take_all(s, DIGITS);
        if (n == 0 || n > 2 || (n == 2 && *start > '5')) {
            return false;
        }
        some = true;
    }
    return some;
}

static bool python_is_int(struct tc_slice text)
{
    struct scan s = {text.ptr, text.ptr + text.len};
    (void)take(&s, "+-");
    struct tc_slice bare = tc_slice_make(s.at, (size_t)(s.end - s.at));
    if (tc_slice_starts(bare, S("0b")) || tc_slice_starts(bare, S("0x"))) {
        s.at += 2;
        return take_all(&s, bare.ptr[1] == 'b' ? "01_" : "0123456789abcdefABCDEF_") > 0 &&
               s.at == s.end;
    }
    if (take(&s, "0")) {
        (void)take_all(&s, "01234567_");
        return s.at == s.end;
    }
    if (!take(&s, DIGITS)) {
        return false;
    }
    (void)take_all(&s, DIGITS "_");
    return s.at == s.end || (take_sixties(&s) && s.at == s.end);
}

static bool python_is_float(struct tc_slice text)
{
    struct scan s = {text.ptr, text.ptr + text.len};
    if (take(&s, ".")) {
        return take(&s, DIGITS) && take_all(&s, DIGITS "_") < NUMBER_MAX &&
               take_exponent(&s, true) && s.at == s.end;
    }
    (void)take(&s, "+-");
    if (!take(&s, DIGITS)) {
        return false;
    }
    (void)take_all(&s, DIGITS "_");
    struct scan sixties = s;
    if (take(&s, ".")) {
        (void)take_all(&s, DIGITS "_");
        return take_exponent(&s, true) && s.at == s.end;
    }
    return take_sixties(&sixties) && take(&sixties, ".") &&
           take_all(&sixties, DIGITS "_") < NUMBER_MAX && sixties.at == sixties.end;
}

/* The text without underscores and plus sign, ended. False when it is too long. */
static bool number_text(struct tc_slice text, char out[NUMBER_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (len + 1 == NUMBER_MAX) {
            return false;
        }
        if (text.ptr[i] != '_' && !(i == 0 && text.ptr[i] == '+')) {
            out[len++] = text.ptr[i];
        }
    }
    out[len] = '\0';
    return true;
}

/* 1:30 and 1:30.5, with or without a minus. */
static double sixties_value(const char *p)
{
    double sign = *p == '-' ? -1 : 1;
    double value = 0;
    p += *p == '-';
    for (;;) {
        char *end = NULL;
        value = value * 60 + strtod(p, &end);
        if (*end != ':') {
            return sign * value;
        }
        p = end + 1;
    }
}

/* The base that the text is written in; *io_p behind its mark. */
static int base_of(const char **io_p, enum tc_yaml_schema schema)
{
    const char *p = *io_p;
    int base = 10;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'b' || p[1] == 'o')) {
        base = p[1] == 'x' ? 16 : p[1] == 'b' ? 2 : 8;
        *io_p += 2;
    } else if (schema == TC_YAML_PYTHON_1_1 && p[0] == '0' && p[1] != '\0') {
        base = 8;
        *io_p += 1;
    }
    return base;
}

/* False when there are no digits, or more than 64 bits of another base than ten. */
static bool put_int(struct tc_buf *b, const char *text, enum tc_yaml_schema schema)
{
    bool negative = *text == '-';
    const char *p = text + negative;
    if (strchr(p, ':') != NULL) {
        tc_buf_f64(b, sixties_value(text));
        return true;
    }
    int base = base_of(&p, schema);
    if (!isxdigit((unsigned char)*p)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(p, &end, base);
    bool fits = errno == 0 && (!negative || value <= 1ULL << 63);
    if (fits && *end == '\0') {
        tc_buf_str(b, negative ? S("-") : TC_EMPTY);
        tc_buf_u64(b, value);
        return true;
    }
    if (base != 10 || *end != '\0') {
        return false;
    }
    tc_buf_f64(b, strtod(text, NULL));
    return true;
}

enum tc__yaml_kind tc__yaml_kind(struct tc_slice text, enum tc_yaml_schema schema)
{
    if (is_null(text)) {
        return TC__YAML_NULL;
    }
    if (is_true(text, schema) || is_false(text, schema)) {
        return TC__YAML_BOOL;
    }
    if (strchr("+-.0123456789", text.ptr[0]) == NULL || text.ptr[0] == '\0') {
        return TC__YAML_STRING;
    }
    if (is_inf_or_nan(text)) {
        return TC__YAML_FLOAT;
    }
    char number[NUMBER_MAX];
    enum tc__yaml_kind kind = schema == TC_YAML_CORE_1_2 ? core_number(text)
                              : python_is_int(text)      ? TC__YAML_INT
                              : python_is_float(text)    ? TC__YAML_FLOAT
                                                         : TC__YAML_STRING;
    if (kind == TC__YAML_STRING) {
        return kind;
    }
    char written[TC__YAML_PUT_MAX(0)];
    struct tc_buf b = tc_buf_make(written, sizeof written);
    bool ok = number_text(text, number) && (kind == TC__YAML_FLOAT || put_int(&b, number, schema));
    return ok ? kind : TC__YAML_WRONG;
}

/* The grammar of JSON's numbers with a fraction or an exponent. */
static bool is_json_float(const char *text)
{
    struct scan s = {text, text + strlen(text)};
    (void)take(&s, "-");
    if (!take(&s, "0") && take_all(&s, DIGITS) == 0) {
        return false;
    }
    if (take(&s, ".") && take_all(&s, DIGITS) == 0) {
        return false;
    }
    return take_exponent(&s, false) && s.at == s.end;
}

static void put_float(struct tc_buf *b, const char *text)
{
    double value = 0;
    if (strchr(text, ':') != NULL) {
        value = sixties_value(text);
    } else if (!isdigit((unsigned char)text[strcspn(text, DIGITS)])) {
        value = (double)NAN; /* .inf, .nan */
    } else {
        value = strtod(text, NULL);
    }
    if (isfinite(value) && is_json_float(text)) {
        tc_buf_str(b, tc_slice_cstr(text));
    } else {
        tc_buf_f64(b, value);
    }
}

void tc__yaml_put(struct tc_buf *b, struct tc_slice text, enum tc__yaml_kind kind,
                  enum tc_yaml_schema schema)
{
    char number[NUMBER_MAX];
    switch (kind) {
    case TC__YAML_NULL:
        tc_buf_lit(b, "null");
        return;
    case TC__YAML_BOOL:
        tc_buf_str(b, is_true(text, schema) ? S("true") : S("false"));
        return;
    case TC__YAML_INT:
        if (number_text(text, number)) {
            (void)put_int(b, number, schema);
        }
        return;
    case TC__YAML_FLOAT:
        if (number_text(text, number)) {
            put_float(b, number);
        }
        return;
    case TC__YAML_STRING:
    case TC__YAML_WRONG:
        break;
    }
    tc_buf_json(b, text);
}
