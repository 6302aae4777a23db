/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars as PyYAML resolves them, which is YAML 1.1 with its own edges: yes, no, on and off are
 * booleans but y and n are not, 1e5 is a string and 1.0e+5 a number, 010 is 8 and 0o10 a string,
 * 1:30 is 90, and 2026-01-31 is a date.
 */
#include "contract/contract_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define TAG(name) TC_LIT("tag:yaml.org,2002:" name)

/* A number of this many characters is cut by nobody; longer ones are no numbers of a contract. */
#define NUMBER_MAX 1024

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_any(struct tc_slice s, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq(s, tc_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

#define IS_ANY(s, words) is_any((s), (words), sizeof(words) / sizeof(words)[0])

static bool is_null(struct tc_slice s)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    return IS_ANY(s, words);
}

static bool is_true(struct tc_slice s)
{
    static const char *const words[] = {"yes",  "Yes", "YES", "true", "True",
                                        "TRUE", "on",  "On",  "ON"};
    return IS_ANY(s, words);
}

static bool is_false(struct tc_slice s)
{
    static const char *const words[] = {"no",    "No",  "NO",  "false", "False",
                                        "FALSE", "off", "Off", "OFF"};
    return IS_ANY(s, words);
}

/* How many bytes of s from `at` on are among those of `set`. */
static size_t span(struct tc_slice s, size_t at, const char *set)
{
    size_t n = 0;
    while (at + n < s.len && s.ptr[at + n] != '\0' && strchr(set, s.ptr[at + n]) != NULL) {
        n++;
    }
    return n;
}

#define DIGITS "0123456789"

static size_t sign_len(struct tc_slice s)
{
    return s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+') ? 1 : 0;
}

/* (:[0-5]?[0-9])+ from `at` on; how many bytes. */
static size_t sixties(struct tc_slice s, size_t at)
{
    size_t start = at;
    while (at + 1 < s.len && s.ptr[at] == ':' && is_digit(s.ptr[at + 1])) {
        bool two = at + 2 < s.len && is_digit(s.ptr[at + 2]) && s.ptr[at + 1] <= '5';
        at += two ? 3 : 2;
    }
    return at - start;
}

/* [eE][-+][0-9]+ from `at` on, or nothing. */
static size_t exponent(struct tc_slice s, size_t at)
{
    if (at + 2 < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E') &&
        (s.ptr[at + 1] == '-' || s.ptr[at + 1] == '+')) {
        size_t digits = span(s, at + 2, DIGITS);
        return digits == 0 ? 0 : 2 + digits;
    }
    return 0;
}

static bool is_int(struct tc_slice s)
{
    size_t at = sign_len(s);
    if (at == s.len || !is_digit(s.ptr[at])) {
        return false;
    }
    if (s.ptr[at] == '0') {
        char base = at + 1 < s.len ? s.ptr[at + 1] : '\0';
        if (base == 'b' || base == 'x') {
            size_t n = span(s, at + 2, base == 'b' ? "01_" : DIGITS "abcdefABCDEF_");
            return n > 0 && at + 2 + n == s.len;
        }
        return at + 1 + span(s, at + 1, "01234567_") == s.len;
    }
    at += span(s, at, DIGITS "_");
    return at == s.len || (sixties(s, at) > 0 && at + sixties(s, at) == s.len);
}

static bool is_real(struct tc_slice s)
{
    static const char *const special[] = {".inf", ".Inf", ".INF"};
    static const char *const nan[] = {".nan", ".NaN", ".NAN"};
    size_t at = sign_len(s);
    if (IS_ANY(tc_slice_from(s, at), special) || IS_ANY(s, nan)) {
        return true;
    }
    if (s.len > 1 && s.ptr[0] == '.' && is_digit(s.ptr[1])) {
        at = 1 + span(s, 1, DIGITS "_");
        return at + exponent(s, at) == s.len;
    }
    if (at == s.len || !is_digit(s.ptr[at])) {
        return false;
    }
    at += span(s, at, DIGITS "_");
    size_t parts = sixties(s, at);
    at += parts;
    if (at == s.len || s.ptr[at] != '.') {
        return false;
    }
    at += 1 + span(s, at + 1, DIGITS "_");
    return at + (parts > 0 ? 0 : exponent(s, at)) == s.len;
}

/* One or two digits at *io_at; the number of them. */
static size_t short_number(struct tc_slice s, size_t *io_at, size_t most, int *out)
{
    size_t n = 0;
    *out = 0;
    while (n < most && *io_at < s.len && is_digit(s.ptr[*io_at])) {
        *out = *out * 10 + (s.ptr[*io_at] - '0');
        *io_at += 1;
        n++;
    }
    return n;
}

static bool take(struct tc_slice s, size_t *io_at, const char *set)
{
    if (span(s, *io_at, set) == 0) {
        return false;
    }
    *io_at += 1;
    return true;
}

struct when {
    int year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
    int zone_hour;
    int zone_minute;
    bool date_only;
};

/* The part behind the date: [Tt] or blanks, time, fraction, zone. */
static bool read_clock(struct tc_slice s, size_t at, struct when *w)
{
    if (!take(s, &at, "Tt")) {
        size_t blanks = span(s, at, " \t");
        if (blanks == 0) {
            return false;
        }
        at += blanks;
    }
    if (short_number(s, &at, 2, &w->hour) == 0 || !take(s, &at, ":") ||
        short_number(s, &at, 2, &w->minute) != 2 || !take(s, &at, ":") ||
        short_number(s, &at, 2, &w->second) != 2) {
        return false;
    }
    if (take(s, &at, ".")) {
        at += span(s, at, DIGITS);
    }
    size_t blanks = span(s, at, " \t");
    if (at == s.len) {
        return true;
    }
    at += blanks;
    if (take(s, &at, "Z")) {
        return at == s.len;
    }
    if (!take(s, &at, "-+") || short_number(s, &at, 2, &w->zone_hour) == 0) {
        return false;
    }
    return at == s.len ||
           (take(s, &at, ":") && short_number(s, &at, 2, &w->zone_minute) == 2 && at == s.len);
}

static bool is_time(struct tc_slice s, struct when *w)
{
    size_t at = 0;
    *w = (struct when){0};
    if (short_number(s, &at, 4, &w->year) != 4 || !take(s, &at, "-")) {
        return false;
    }
    size_t month = short_number(s, &at, 2, &w->month);
    if (month == 0 || !take(s, &at, "-")) {
        return false;
    }
    size_t day = short_number(s, &at, 2, &w->day);
    if (at == s.len) {
        w->date_only = true;
        return month == 2 && day == 2;
    }
    return day > 0 && read_clock(s, at, w);
}

static bool is_real_time(const struct when *w)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (w->year < 1 || w->month < 1 || w->month > 12 || w->day < 1) {
        return false;
    }
    bool leap = (w->year % 4 == 0 && w->year % 100 != 0) || w->year % 400 == 0;
    int last = days[w->month - 1] + (w->month == 2 && leap ? 1 : 0);
    return w->day <= last && w->hour < 24 && w->minute < 60 && w->second < 60 &&
           w->zone_hour * 60 + w->zone_minute < 24 * 60;
}

/* Without underscores and sign, NUL at the end; false when it is empty or far too long. */
static bool digits_of(struct tc_slice s, char *out, size_t cap, bool *out_minus)
{
    size_t n = 0;
    size_t at = sign_len(s);
    *out_minus = at == 1 && s.ptr[0] == '-';
    for (; at < s.len; at++) {
        if (s.ptr[at] == '_') {
            continue;
        }
        if (n + 1 == cap) {
            return false;
        }
        out[n++] = s.ptr[at];
    }
    out[n] = '\0';
    return n > 0;
}

static void put_int(struct tc__node *node, bool minus, double value, uint64_t exact, bool fits)
{
    node->kind = TC__INT;
    node->real = minus ? -value : value;
    node->too_big = !fits || exact > INT64_MAX;
    node->integer = node->too_big ? INT64_MAX : (int64_t)exact;
    node->integer = minus ? -node->integer : node->integer;
}

/* Base 2, 8, 10, 16, or 60 with colons. */
static bool read_int(struct tc_slice s, struct tc__node *node)
{
    char digits[NUMBER_MAX];
    bool minus = false;
    if (!digits_of(s, digits, sizeof digits, &minus)) {
        return false;
    }
    const char *at = digits;
    unsigned base = 10;
    if (at[0] == '0' && at[1] != '\0') {
        base = at[1] == 'b' ? 2 : at[1] == 'x' ? 16 : 8;
        at += base == 8 ? 1 : 2;
    }
    if (*at == '\0') {
        return false;
    }
    uint64_t exact = 0;
    double value = 0;
    bool fits = true;
    uint64_t part = 0; /* of base 60 */
    uint64_t before = 0;
    double part_value = 0;
    double before_value = 0;
    for (; *at != '\0'; at++) {
        if (*at == ':') {
            fits = fits && !__builtin_mul_overflow(before + part, 60, &before);
            before_value = (before_value + part_value) * 60;
            part = 0;
            part_value = 0;
            continue;
        }
        unsigned digit = is_digit(*at) ? (unsigned)(*at - '0') : ((unsigned)*at | 0x20U) - 'a' + 10;
        if (digit >= base) {
            return false;
        }
        fits = fits && !__builtin_mul_overflow(part, base, &part) &&
               !__builtin_add_overflow(part, digit, &part);
        part_value = part_value * base + digit;
    }
    fits = fits && !__builtin_add_overflow(before, part, &exact);
    value = before_value + part_value;
    put_int(node, minus, value, exact, fits);
    return true;
}

static bool read_real(struct tc_slice s, struct tc__node *node)
{
    char digits[NUMBER_MAX];
    bool minus = false;
    if (!digits_of(s, digits, sizeof digits, &minus)) {
        return false;
    }
    double value = 0;
    if (tc_slice_eq_nocase(tc_slice_cstr(digits), S(".inf"))) {
        value = (double)INFINITY;
    } else if (tc_slice_eq_nocase(tc_slice_cstr(digits), S(".nan"))) {
        value = (double)NAN;
    } else {
        const char *at = digits;
        for (;;) {
            char *end = NULL;
            value = value * 60 + strtod(at, &end);
            if (end == at || (*end != ':' && *end != '\0')) {
                return false;
            }
            if (*end == '\0') {
                break;
            }
            at = end + 1;
        }
    }
    node->kind = TC__REAL;
    node->real = minus ? -value : value;
    return true;
}

static bool read_time(struct tc_slice s, struct tc__node *node)
{
    struct when w;
    node->kind = TC__TIME;
    return is_time(s, &w) && is_real_time(&w);
}

/* A scalar without a tag. */
static bool resolve(struct tc_slice s, struct tc__node *node, const char **out_why)
{
    struct when w;
    if (is_null(s)) {
        node->kind = TC__NULL;
    } else if (is_true(s) || is_false(s)) {
        node->kind = TC__BOOL;
        node->integer = is_true(s) ? 1 : 0;
    } else if (is_real(s)) {
        *out_why = "a number that cannot be read";
        return read_real(s, node);
    } else if (is_int(s)) {
        *out_why = "an integer that cannot be read";
        return read_int(s, node);
    } else if (is_time(s, &w)) {
        *out_why = "there is no such date; write it in quotes if it is a name";
        return read_time(s, node);
    } else if (tc_slice_eq(s, S("=")) || tc_slice_eq(s, S("<<"))) {
        *out_why = "= and << mean something else in YAML; write it in quotes";
        return false;
    } else {
        node->kind = TC__STRING;
    }
    return true;
}

/* Python's int() and float() take what the patterns above do not. */
static bool read_tagged_real(struct tc_slice s, struct tc__node *node)
{
    s = tc_slice_trim(s);
    size_t at = sign_len(s);
    bool word = at < s.len && !is_digit(s.ptr[at]) && s.ptr[at] != '.';
    bool hex = at + 1 < s.len && s.ptr[at] == '0' && (s.ptr[at + 1] | 0x20) == 'x';
    return !word && !hex && read_real(s, node);
}

bool tc__contract_scalar(struct tc_slice text, bool plain, struct tc_slice tag,
                         struct tc__node *node, const char **out_why)
{
    node->plain = plain;
    if (tag.len == 0 ? plain : tc_slice_eq(tag, S("!"))) {
        return resolve(text, node, out_why);
    }
    if (tag.len == 0 || tc_slice_eq(tag, TAG("str"))) {
        node->kind = TC__STRING;
        return true;
    }
    *out_why = "the value does not fit its tag";
    if (tc_slice_eq(tag, TAG("null"))) {
        node->kind = TC__NULL;
        return true;
    }
    if (tc_slice_eq(tag, TAG("bool"))) {
        node->kind = TC__BOOL;
        for (size_t i = 0; i < 6; i++) {
            static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};
            if (tc_slice_eq_nocase(text, tc_slice_cstr(words[i]))) {
                node->integer = (int64_t)(i % 2);
                return true;
            }
        }
        return false;
    }
    if (tc_slice_eq(tag, TAG("int"))) {
        return read_int(text, node);
    }
    if (tc_slice_eq(tag, TAG("float"))) {
        return read_tagged_real(text, node);
    }
    if (tc_slice_eq(tag, TAG("timestamp"))) {
        return read_time(text, node);
    }
    if (tc_slice_eq(tag, TAG("binary"))) {
        node->kind = TC__BYTES;
        return true;
    }
    *out_why = "a tag that a contract cannot have";
    return false;
}
