/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of Prometheus text or OpenMetrics. Read generously: blanks and tabs may stand
 * wherever a token ends, a comma may follow the last label, and names may be quoted inside the
 * braces, as in newer exporters, or be the label __name__, as promtool writes them.
 */
#include "codec/prometheus/priv.h"

#include "base/arena.h"
#include "base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest number that is read; shortest forms have 24 characters. */
#define NUMBER_MAX 127
/* A double holds integers up to here, and powers of ten up to 10^22. */
#define EXACT_MAX (UINT64_C(1) << 53)
#define EXACT_POWER 22
/* A timestamp from here on counts milliseconds: as seconds it would be after the year 5000. */
#define MILLIS_FROM INT64_C(100000000000)

struct tc_slice tc__prom_skip(struct tc_slice s)
{
    size_t at = 0;
    while (at < s.len && tc_is_blank(s.ptr[at])) {
        at++;
    }
    return tc_slice_from(s, at);
}

/* Bytes of names: 1, and 2 for those that may not come first. */
static const uint8_t NAME_BYTES[256] = {
    ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1,
    ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1,
    ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1,
    ['y'] = 1, ['z'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1,
    ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
    ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1,
    ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['_'] = 1, [':'] = 1, ['0'] = 2, ['1'] = 2,
    ['2'] = 2, ['3'] = 2, ['4'] = 2, ['5'] = 2, ['6'] = 2, ['7'] = 2, ['8'] = 2, ['9'] = 2,
};

struct tc_slice tc__prom_name(struct tc_slice line)
{
    size_t length = 0;
    if (line.len == 0 || NAME_BYTES[(unsigned char)line.ptr[0]] != 1) {
        return tc_slice_head(line, 0);
    }
    do {
        length++;
    } while (length < line.len && NAME_BYTES[(unsigned char)line.ptr[length]] != 0);
    return tc_slice_head(line, length);
}

/* The quoted string at s[*io_at], which is its first quote; *io_at is behind the last one then. */
static bool take_quoted(struct tc_slice s, size_t *io_at, struct tc_slice *out, bool *out_escaped)
{
    size_t start = *io_at + 1;
    size_t at = start;
    *out_escaped = false;
    while (at < s.len) {
        const char *quote = memchr(s.ptr + at, '"', s.len - at);
        if (quote == NULL) {
            return false;
        }
        size_t end = (size_t)(quote - s.ptr);
        const char *slash = memchr(s.ptr + at, '\\', end - at);
        if (slash == NULL) {
            *out = tc_slice_make(s.ptr + start, end - start);
            *io_at = end + 1;
            return true;
        }
        *out_escaped = true;
        at = (size_t)(slash - s.ptr) + 2; /* behind what the backslash takes with it */
    }
    return false;
}

static size_t skip_blanks(struct tc_slice s, size_t at)
{
    while (at < s.len && tc_is_blank(s.ptr[at])) {
        at++;
    }
    return at;
}

/*
 * One label at s[*io_at], which is behind it then. A quoted string alone is the metric's name:
 * the key is empty then.
 */
static bool take_label(struct tc_slice s, size_t *io_at, struct tc__prom_label *out)
{
    size_t at = *io_at;
    bool quoted = s.ptr[at] == '"';
    bool escaped = false;
    if (quoted) {
        if (!take_quoted(s, &at, &out->key, &escaped)) {
            return false;
        }
    } else {
        out->key = tc__prom_name(tc_slice_from(s, at));
        at += out->key.len;
    }
    at = skip_blanks(s, at);
    if (at < s.len && s.ptr[at] == '=' && out->key.len > 0) {
        at = skip_blanks(s, at + 1);
        if (at >= s.len || s.ptr[at] != '"' || !take_quoted(s, &at, &out->value, &out->escaped)) {
            return false;
        }
    } else if (quoted) {
        *out = (struct tc__prom_label){.value = out->key, .escaped = escaped};
    } else {
        return false;
    }
    *io_at = at;
    return true;
}

/*
 * The labels at s[*io_at], which is behind the opening brace, and behind the closing one then. A
 * name among them becomes the sample's. NULL, or what is wrong.
 */
static const char *take_labels(struct tc_slice s, size_t *io_at, struct tc__prom_sample *out)
{
    size_t at = skip_blanks(s, *io_at);
    while (at < s.len && s.ptr[at] != '}') {
        if (out->label_count == TC__PROM_LABELS_MAX) {
            return "it has more labels than are read";
        }
        struct tc__prom_label *label = &out->labels[out->label_count];
        if (!take_label(s, &at, label)) {
            return "its labels cannot be read";
        }
        bool named = label->key.len == 0 || tc_slice_eq(label->key, TC_LIT("__name__"));
        if (named && out->name.len > 0) {
            return "it has two names";
        }
        if (named) {
            out->name = label->value;
        } else {
            out->label_count++;
        }
        at = skip_blanks(s, at);
        if (at < s.len && s.ptr[at] == ',') {
            at = skip_blanks(s, at + 1);
        } else if (at < s.len && s.ptr[at] != '}') {
            return "its labels cannot be read";
        }
    }
    *io_at = at + 1;
    return at < s.len ? NULL : "its labels do not end";
}

struct tc_slice tc__prom_unescape(struct tc_slice value, struct tc_arena *arena)
{
    char *text = tc_new(arena, char, value.len);
    size_t length = 0;
    if (text == NULL) {
        return TC_EMPTY;
    }
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\\' && i + 1 < value.len) {
            i++;
            c = value.ptr[i] == 'n' ? '\n' : value.ptr[i];
        }
        text[length++] = c;
    }
    return tc_slice_make(text, length);
}

static struct tc_slice take_word(struct tc_slice *io_rest)
{
    struct tc_slice s = tc__prom_skip(*io_rest);
    size_t length = 0;
    while (length < s.len && !tc_is_blank(s.ptr[length])) {
        length++;
    }
    *io_rest = tc_slice_from(s, length);
    return tc_slice_head(s, length);
}

/* The parts of a decimal number: (-1)^negative * mantissa * 10^power. */
struct decimal {
    uint64_t mantissa; /* its first 19 digits */
    int32_t power;
    bool negative;
    bool exact; /* the mantissa holds all of it */
};

/* Digits at s[*io_at] into d; how many there were. After a point each moves the power down. */
static size_t take_digits(struct tc_slice s, size_t *io_at, struct decimal *d, bool after_point)
{
    size_t start = *io_at;
    for (; *io_at < s.len && tc_is_digit(s.ptr[*io_at]); (*io_at)++) {
        unsigned digit = (unsigned)(s.ptr[*io_at] - '0');
        if (d->mantissa < UINT64_C(1000000000000000000)) {
            d->mantissa = d->mantissa * 10 + digit;
            d->power -= after_point;
        } else {
            d->exact = d->exact && digit == 0;
            d->power += !after_point;
        }
    }
    return *io_at - start;
}

static bool take_decimal(struct tc_slice s, struct decimal *d)
{
    size_t at = 0;
    *d = (struct decimal){.exact = true};
    if (s.len > NUMBER_MAX) {
        return false;
    }
    if (at < s.len && (s.ptr[at] == '-' || s.ptr[at] == '+')) {
        d->negative = s.ptr[at] == '-';
        at++;
    }
    size_t count = take_digits(s, &at, d, false);
    if (at < s.len && s.ptr[at] == '.') {
        at++;
        count += take_digits(s, &at, d, true);
    }
    if (count == 0) {
        return false;
    }
    if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
        int64_t power = 0;
        at += at + 1 < s.len && s.ptr[at + 1] == '+' ? 2 : 1;
        size_t used = tc_slice_i64(tc_slice_from(s, at), &power);
        if (used == 0 || power > 100000 || power < -100000) {
            return false;
        }
        at += used;
        d->power += (int32_t)power;
    }
    return at == s.len;
}

static double to_double(struct tc_slice s, const struct decimal *d)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->exact && d->mantissa <= EXACT_MAX && d->power >= -EXACT_POWER &&
        d->power <= EXACT_POWER) { /* one correctly rounded operation on exact numbers */
        double value = (double)d->mantissa;
        value = d->power < 0 ? value / powers[-d->power] : value * powers[d->power];
        return d->negative ? -value : value;
    }
    char text[NUMBER_MAX + 1];
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    return strtod(text, NULL);
}

static bool parse_value(struct tc_slice s, double *out)
{
    struct decimal d;
    if (take_decimal(s, &d)) {
        *out = to_double(s, &d);
        return true;
    }
    bool negative = tc_slice_starts(s, TC_LIT("-"));
    struct tc_slice word = tc_slice_from(s, negative || tc_slice_starts(s, TC_LIT("+")));
    if (tc_slice_eq_nocase(word, TC_LIT("inf")) || tc_slice_eq_nocase(word, TC_LIT("infinity"))) {
        *out = negative ? -HUGE_VAL : HUGE_VAL;
        return true;
    }
    *out = (double)NAN;
    return tc_slice_eq_nocase(word, TC_LIT("nan"));
}

/*
 * Milliseconds (0.0.4) or seconds with a fraction (OpenMetrics); how large it is tells which.
 * False when it is no number, or no time that we take.
 */
static bool parse_time(struct tc_slice s, int64_t *out_ns)
{
    struct decimal d;
    if (!take_decimal(s, &d) || d.negative || !d.exact || d.power > EXACT_POWER) {
        return false;
    }
    /* The exponent is gone after these: value = mantissa * 10^power ns of a second, in integers. */
    __extension__ typedef unsigned __int128 wide;
    double value = to_double(s, &d);
    bool millis = value >= (double)MILLIS_FROM;
    int32_t power = d.power + (millis ? 6 : 9);
    wide ns = d.mantissa;
    for (; power > 0 && ns <= (wide)TC_TIME_MAX; power--) {
        ns *= 10;
    }
    for (; power < 0 && ns > 0; power++) {
        ns /= 10;
    }
    if (ns > (wide)TC_TIME_MAX) {
        return false;
    }
    *out_ns = (int64_t)ns;
    return true;
}

const char *tc__prom_parse(struct tc_slice line, struct tc__prom_sample *out)
{
    struct tc_slice start = tc__prom_skip(line);
    out->name = tc__prom_name(start);
    out->label_count = 0;
    out->time_ns = TC_TIME_NONE;
    size_t at = skip_blanks(start, out->name.len);
    if (at < start.len && start.ptr[at] == '{') {
        at++;
        const char *why = take_labels(start, &at, out);
        if (why != NULL) {
            return why;
        }
        if (out->name.len == 0) {
            return "no name of a metric";
        }
        out->series = tc_slice_head(start, at);
    } else if (out->name.len == 0 || at == out->name.len) {
        return "not a sample";
    } else {
        out->series = out->name;
    }
    struct tc_slice rest = tc_slice_from(start, at);
    if (!parse_value(take_word(&rest), &out->value)) {
        return "its value is not a number";
    }
    struct tc_slice word = take_word(&rest);
    if (word.len > 0 && word.ptr[0] != '#' && !parse_time(word, &out->time_ns)) {
        return "its time cannot be read";
    }
    if (word.len > 0 && word.ptr[0] != '#') {
        word = take_word(&rest);
    }
    return word.len > 0 && word.ptr[0] != '#' ? "something follows its time" : NULL;
}
