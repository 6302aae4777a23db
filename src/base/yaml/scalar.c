/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars by YAML 1.2's core schema, and as PyYAML resolves them, which is YAML 1.1 with its own
 * edges: yes, no, on and off are booleans but y and n are not, 1e5 is a string and 1.0e+5 a number,
 * 010 is 8 and 0o10 a string, 1:30 is 90, and 2026-01-31 is a date.
 */
#include "base/yaml/scalar_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S(literal) TC_LIT(literal)
#define TAG(name) TC__YAML_TAG(name)
#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"

/* Longer texts are no numbers that anyone writes. */
#define CORE_NUMBER_MAX 128
#define PYTHON_NUMBER_MAX 1024

static bool is_null(struct tc_slice s)
{
    return tc_slice_is_any(s, "", "~", "null", "Null", "NULL");
}

static bool is_bool(struct tc_slice s, enum tc_yaml_schema schema)
{
    return tc_slice_is_any(s, "true", "True", "TRUE", "false", "False", "FALSE") ||
           (schema != TC_YAML_CORE_1_2 && tc_slice_is_any(s, "yes", "Yes", "YES", "no", "No", "NO",
                                                          "on", "On", "ON", "off", "Off", "OFF"));
}

/* The value of a boolean in any case of its letters; -1 for what is none. */
static int bool_value(struct tc_slice s)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};
    for (int i = 0; i < 6; i++) {
        if (tc_slice_eq_nocase(s, tc_slice_cstr(words[i]))) {
            return i % 2;
        }
    }
    return -1;
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

static size_t sign_len(struct tc_slice s)
{
    return s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+') ? 1 : 0;
}

/* (:[0-5]?[0-9])+ from `at` on; how many bytes. */
static size_t sixties(struct tc_slice s, size_t at)
{
    size_t start = at;
    while (at + 1 < s.len && s.ptr[at] == ':' && tc_is_digit(s.ptr[at + 1])) {
        bool two = at + 2 < s.len && tc_is_digit(s.ptr[at + 2]) && s.ptr[at + 1] <= '5';
        at += two ? 3 : 2;
    }
    return at - start;
}

/* [eE][-+][0-9]+ from `at` on, the sign needed or not; how many bytes. */
static size_t exponent(struct tc_slice s, size_t at, bool sign_needed)
{
    size_t letter = span(s, at, "eE");
    size_t sign = letter == 1 ? span(s, at + 1, "-+") : 0;
    size_t digits = span(s, at + letter + sign, DIGITS);
    bool is_whole = letter == 1 && sign <= 1 && (sign == 1 || !sign_needed) && digits > 0;
    return is_whole ? letter + sign + digits : 0;
}

static bool is_inf_or_nan(struct tc_slice s)
{
    return tc_slice_is_any(tc_slice_from(s, sign_len(s)), ".inf", ".Inf", ".INF") ||
           tc_slice_is_any(s, ".nan", ".NaN", ".NAN");
}

static bool is_core_int(struct tc_slice s)
{
    bool octal = tc_slice_starts(s, S("0o"));
    size_t at = octal || tc_slice_starts(s, S("0x")) ? 2 : sign_len(s);
    size_t n = span(s, at, octal ? "01234567" : at == 2 ? HEX_DIGITS : DIGITS);
    return n > 0 && at + n == s.len;
}

static bool is_core_real(struct tc_slice s)
{
    size_t at = sign_len(s);
    size_t whole = span(s, at, DIGITS);
    size_t point = at + whole < s.len && s.ptr[at + whole] == '.' ? 1 : 0;
    size_t fraction = point == 0 ? 0 : span(s, at + whole + 1, DIGITS);
    at += whole + point + fraction;
    return whole + fraction > 0 && at + exponent(s, at, false) == s.len;
}

static bool is_python_int(struct tc_slice s)
{
    size_t at = sign_len(s);
    if (at == s.len || !tc_is_digit(s.ptr[at])) {
        return false;
    }
    if (s.ptr[at] == '0') {
        char base = at + 1 < s.len ? s.ptr[at + 1] : '\0';
        if (base == 'b' || base == 'x') {
            size_t n = span(s, at + 2, base == 'b' ? "01_" : HEX_DIGITS "_");
            return n > 0 && at + 2 + n == s.len;
        }
        return at + 1 + span(s, at + 1, "01234567_") == s.len;
    }
    at += span(s, at, DIGITS "_");
    return at == s.len || (sixties(s, at) > 0 && at + sixties(s, at) == s.len);
}

static bool is_python_real(struct tc_slice s)
{
    size_t at = sign_len(s);
    if (s.len > 1 && s.ptr[0] == '.' && tc_is_digit(s.ptr[1])) {
        at = 1 + span(s, 1, DIGITS "_");
        return at + exponent(s, at, true) == s.len;
    }
    if (at == s.len || !tc_is_digit(s.ptr[at])) {
        return false;
    }
    at += span(s, at, DIGITS "_");
    size_t parts = sixties(s, at);
    at += parts;
    if (at == s.len || s.ptr[at] != '.') {
        return false;
    }
    at += 1 + span(s, at + 1, DIGITS "_");
    return at + (parts > 0 ? 0 : exponent(s, at, true)) == s.len;
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
};

/* Up to `most` digits at *io_at; the number of them. */
static size_t read_digits(struct tc_slice s, size_t *io_at, size_t most, int *out)
{
    size_t n = 0;
    *out = 0;
    while (n < most && *io_at < s.len && tc_is_digit(s.ptr[*io_at])) {
        *out = *out * 10 + (s.ptr[*io_at] - '0');
        *io_at += 1;
        n++;
    }
    return n;
}

static bool skip_one_of(struct tc_slice s, size_t *io_at, const char *set)
{
    if (span(s, *io_at, set) == 0) {
        return false;
    }
    *io_at += 1;
    return true;
}

/* The part behind the date: [Tt] or blanks, time, fraction, zone. */
static bool read_clock(struct tc_slice s, size_t at, struct when *w)
{
    if (!skip_one_of(s, &at, "Tt")) {
        size_t blanks = span(s, at, " \t");
        if (blanks == 0) {
            return false;
        }
        at += blanks;
    }
    if (read_digits(s, &at, 2, &w->hour) == 0 || !skip_one_of(s, &at, ":") ||
        read_digits(s, &at, 2, &w->minute) != 2 || !skip_one_of(s, &at, ":") ||
        read_digits(s, &at, 2, &w->second) != 2) {
        return false;
    }
    if (skip_one_of(s, &at, ".")) {
        at += span(s, at, DIGITS);
    }
    size_t blanks = span(s, at, " \t");
    if (at == s.len) {
        return true;
    }
    at += blanks;
    if (skip_one_of(s, &at, "Z")) {
        return at == s.len;
    }
    if (!skip_one_of(s, &at, "-+") || read_digits(s, &at, 2, &w->zone_hour) == 0) {
        return false;
    }
    return at == s.len || (skip_one_of(s, &at, ":") &&
                           read_digits(s, &at, 2, &w->zone_minute) == 2 && at == s.len);
}

/* Whether it is written as a date, or a date and time. */
static bool read_time(struct tc_slice s, struct when *w)
{
    size_t at = 0;
    *w = (struct when){0};
    if (read_digits(s, &at, 4, &w->year) != 4 || !skip_one_of(s, &at, "-")) {
        return false;
    }
    size_t month = read_digits(s, &at, 2, &w->month);
    if (month == 0 || !skip_one_of(s, &at, "-")) {
        return false;
    }
    size_t day = read_digits(s, &at, 2, &w->day);
    if (at == s.len) {
        return month == 2 && day == 2;
    }
    return day > 0 && read_clock(s, at, w);
}

static bool is_in_calendar(const struct when *w)
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

/* Without underscores and sign, ended by a NUL; false when nothing is left, or far too much. */
static bool digits_of(struct tc_slice s, enum tc_yaml_schema schema, char out[PYTHON_NUMBER_MAX])
{
    size_t cap = schema == TC_YAML_CORE_1_2 ? CORE_NUMBER_MAX : PYTHON_NUMBER_MAX;
    size_t n = 0;
    for (size_t at = sign_len(s); at < s.len; at++) {
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

/* The base of the digits; *io_at behind its mark. */
static unsigned base_of(const char **io_at, enum tc_yaml_schema schema)
{
    const char *at = *io_at;
    if (at[0] != '0' || at[1] == '\0') {
        return 10;
    }
    if (schema == TC_YAML_CORE_1_2) {
        unsigned base = at[1] == 'x' ? 16 : at[1] == 'o' ? 8 : 10;
        *io_at += base == 10 ? 0 : 2;
        return base;
    }
    unsigned base = at[1] == 'b' ? 2 : at[1] == 'x' ? 16 : 8;
    *io_at += base == 8 ? 1 : 2;
    return base;
}

/* Base 2, 8, 10, 16, or 60 with colons. False when there are no digits, or others. */
static bool read_int(struct tc_slice s, enum tc_yaml_schema schema, struct tc_yaml_number *out)
{
    char digits[PYTHON_NUMBER_MAX];
    if (!digits_of(s, schema, digits)) {
        return false;
    }
    const char *at = digits;
    unsigned base = base_of(&at, schema);
    if (*at == '\0') {
        return false;
    }
    uint64_t part = 0; /* of base 60 */
    uint64_t before = 0;
    double part_real = 0;
    double before_real = 0;
    bool fits = true;
    for (; *at != '\0'; at++) {
        if (*at == ':') {
            fits = fits && !__builtin_mul_overflow(before + part, 60, &before);
            before_real = (before_real + part_real) * 60;
            part = 0;
            part_real = 0;
            continue;
        }
        unsigned digit =
            tc_is_digit(*at) ? (unsigned)(*at - '0') : ((unsigned)*at | 0x20U) - 'a' + 10;
        if (digit >= base) {
            return false;
        }
        fits = fits && !__builtin_mul_overflow(part, base, &part) &&
               !__builtin_add_overflow(part, digit, &part);
        part_real = part_real * base + digit;
    }
    fits = fits && !__builtin_add_overflow(before, part, &part);
    bool is_negative = s.ptr[0] == '-';
    /* Sums of digits are rounded more than once. */
    double real =
        base == 10 && strchr(digits, ':') == NULL ? strtod(digits, NULL) : before_real + part_real;
    *out = (struct tc_yaml_number){.real = is_negative ? -real : real,
                                   .magnitude = fits ? part : UINT64_MAX,
                                   .is_negative = is_negative,
                                   .is_exact = fits};
    /* JSON of the core schema has no other base to write it in. */
    return schema != TC_YAML_CORE_1_2 || fits || base == 10;
}

static bool read_real(struct tc_slice s, enum tc_yaml_schema schema, struct tc_yaml_number *out)
{
    char digits[PYTHON_NUMBER_MAX];
    if (!digits_of(s, schema, digits)) {
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
    *out = (struct tc_yaml_number){.real = s.ptr[0] == '-' ? -value : value};
    return true;
}

/* Python's float() takes what the patterns above do not. */
static bool read_tagged_real(struct tc_slice s, struct tc_yaml_number *out)
{
    s = tc_slice_trim(s);
    size_t at = sign_len(s);
    bool word = at < s.len && !tc_is_digit(s.ptr[at]) && s.ptr[at] != '.';
    bool hex = at + 1 < s.len && s.ptr[at] == '0' && (s.ptr[at + 1] | 0x20) == 'x';
    return !word && !hex && read_real(s, TC_YAML_PYTHON_1_1, out);
}

/* A scalar that is plain and has no tag. */
static enum tc_yaml_fault resolve_plain(struct tc_slice s, enum tc_yaml_schema schema,
                                        enum tc_yaml_kind *out)
{
    bool is_core = schema == TC_YAML_CORE_1_2;
    struct tc_yaml_number number;
    struct when w;
    *out = TC_YAML_STRING;
    if (is_null(s)) {
        *out = TC_YAML_NULL;
    } else if (schema == TC_YAML_TEXT) {
        return TC_YAML_FAULT_NONE;
    } else if (is_bool(s, schema)) {
        *out = TC_YAML_BOOL;
    } else if (is_core ? is_core_int(s) : is_python_int(s)) {
        *out = TC_YAML_INT;
        return read_int(s, schema, &number) ? TC_YAML_FAULT_NONE : TC_YAML_FAULT_INTEGER;
    } else if (is_inf_or_nan(s) || (is_core ? is_core_real(s) : is_python_real(s))) {
        *out = TC_YAML_REAL;
        return read_real(s, schema, &number) ? TC_YAML_FAULT_NONE : TC_YAML_FAULT_NUMBER;
    } else if (!is_core && read_time(s, &w)) {
        *out = TC_YAML_TIME;
        return is_in_calendar(&w) ? TC_YAML_FAULT_NONE : TC_YAML_FAULT_DATE;
    } else if (!is_core && (tc_slice_eq(s, S("=")) || tc_slice_eq(s, S("<<")))) {
        return TC_YAML_FAULT_SIGN;
    }
    return TC_YAML_FAULT_NONE;
}

/* Tags that a scalar may have; of the core schema the first five. */
static const struct {
    struct tc_slice tag;
    enum tc_yaml_kind kind;
} TAGS[] = {
    {{"str", 3}, TC_YAML_STRING},     {{"null", 4}, TC_YAML_NULL},  {{"bool", 4}, TC_YAML_BOOL},
    {{"int", 3}, TC_YAML_INT},        {{"float", 5}, TC_YAML_REAL}, {{"binary", 6}, TC_YAML_BYTES},
    {{"timestamp", 9}, TC_YAML_TIME},
};

/* Whether PyYAML takes a text for what its tag says. */
static bool fits_python_tag(struct tc_slice text, enum tc_yaml_kind kind)
{
    struct tc_yaml_number number;
    struct when w;
    return kind == TC_YAML_BOOL   ? bool_value(text) >= 0
           : kind == TC_YAML_INT  ? read_int(text, TC_YAML_PYTHON_1_1, &number)
           : kind == TC_YAML_REAL ? read_tagged_real(text, &number)
           : kind == TC_YAML_TIME ? read_time(text, &w) && is_in_calendar(&w)
                                  : true;
}

enum tc_yaml_fault tc__yaml_resolve(struct tc_yaml_node *n, struct tc_slice tag,
                                    enum tc_yaml_schema schema)
{
    bool is_core = schema == TC_YAML_CORE_1_2;
    bool is_bare = tag.len == 0 || tc_slice_eq(tag, S("!"));
    bool has_tag = n->has_tag && schema != TC_YAML_TEXT;
    n->kind = TC_YAML_STRING;
    if (!has_tag ? n->is_plain : is_bare && !is_core && (tag.len > 0 || n->is_plain)) {
        return resolve_plain(n->text, schema, &n->kind);
    }
    if (!has_tag || is_bare) {
        return TC_YAML_FAULT_NONE;
    }
    struct tc_slice name = tc_slice_starts(tag, TAG("")) ? tc_slice_from(tag, TAG("").len) : tag;
    for (size_t i = 0; name.len < tag.len && i < (is_core ? 5 : TC_COUNT(TAGS)); i++) {
        if (!tc_slice_eq(name, TAGS[i].tag)) {
            continue;
        }
        enum tc_yaml_kind found = TC_YAML_STRING;
        n->kind = TAGS[i].kind;
        if (!is_core) {
            return fits_python_tag(n->text, n->kind) ? TC_YAML_FAULT_NONE : TC_YAML_FAULT_TAG_VALUE;
        }
        if (n->kind == TC_YAML_STRING) {
            return TC_YAML_FAULT_NONE;
        }
        bool is_right = resolve_plain(n->text, schema, &found) == TC_YAML_FAULT_NONE &&
                        (found == n->kind || (n->kind == TC_YAML_REAL && found == TC_YAML_INT));
        n->kind = found;
        return is_right ? TC_YAML_FAULT_NONE : TC_YAML_FAULT_TAG_VALUE;
    }
    return TC_YAML_FAULT_TAG;
}

enum tc_yaml_kind tc_yaml_kind_of(struct tc_slice text, enum tc_yaml_schema schema)
{
    enum tc_yaml_kind kind = TC_YAML_STRING;
    return resolve_plain(text, schema, &kind) == TC_YAML_FAULT_NONE ? kind : TC_YAML_UNKNOWN;
}

struct tc_yaml_number tc_yaml_number(const struct tc_yaml_node *n, enum tc_yaml_schema schema)
{
    struct tc_yaml_number number = {0};
    if (n->kind == TC_YAML_BOOL) {
        number.magnitude = bool_value(n->text) == 1;
        number.real = (double)number.magnitude;
    } else if (n->kind == TC_YAML_INT) {
        (void)read_int(n->text, schema, &number);
    } else if (n->kind == TC_YAML_REAL) {
        (void)read_real(tc_slice_trim(n->text), schema, &number);
    }
    return number;
}

/* The grammar of JSON's numbers, without a sign. */
static bool is_json_number(struct tc_slice s)
{
    size_t at = span(s, 0, DIGITS);
    if (at == 0 || (at > 1 && s.ptr[0] == '0')) {
        return false;
    }
    if (at < s.len && s.ptr[at] == '.') {
        size_t fraction = span(s, at + 1, DIGITS);
        at += fraction == 0 ? 0 : 1 + fraction;
    }
    return at + exponent(s, at, false) == s.len;
}

/* An integer of a magnitude of at most `most`. */
static bool put_int(struct tc_buf *b, const struct tc_yaml_number *n, uint64_t most)
{
    if (!n->is_exact || n->magnitude > most) {
        return false;
    }
    tc_buf_str(b, n->is_negative ? S("-") : TC_EMPTY);
    tc_buf_u64(b, n->magnitude);
    return true;
}

bool tc__yaml_put_number(struct tc_buf *b, const struct tc_yaml_node *n, enum tc_yaml_schema schema)
{
    struct tc_yaml_number number = tc_yaml_number(n, schema);
    bool is_core = schema == TC_YAML_CORE_1_2;
    char digits[PYTHON_NUMBER_MAX];
    if (n->kind == TC_YAML_INT) {
        /* Zero has no sign in Python. */
        number.is_negative = number.is_negative && (is_core || number.magnitude > 0);
        uint64_t most = !is_core ? INT64_MAX : number.is_negative ? (uint64_t)1 << 63 : UINT64_MAX;
        if (put_int(b, &number, most)) {
            return true;
        }
    } else if (is_core && isfinite(number.real) && digits_of(n->text, schema, digits) &&
               is_json_number(tc_slice_cstr(digits))) {
        tc_buf_str(b, n->text.ptr[0] == '-' ? S("-") : TC_EMPTY);
        tc_buf_str(b, tc_slice_cstr(digits));
        return true;
    }
    if (!is_core && (n->kind == TC_YAML_INT || !isfinite(number.real))) {
        return false;
    }
    tc_buf_f64(b, number.real);
    return true;
}
