/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include "base/time.h"

/* "1h30m15s": more parts than that are no way to write a time. */
#define DURATION_PARTS_MAX 6
#define FRACTION_DIGITS_MAX 9

struct unit {
    const char *name;
    uint64_t scale;
};

static const struct unit DURATION_UNITS[] = {
    {"d", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},
    {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", 1000000},
    {"us", 1000},
    {"ns", 1},
};

/* Those that are shown first; the others are only read, the last four if that is loose. */
static const struct unit SIZE_UNITS[] = {
    {"TiB", UINT64_C(1) << 40},
    {"GiB", UINT64_C(1) << 30},
    {"MiB", UINT64_C(1) << 20},
    {"KiB", UINT64_C(1) << 10},
    {"TB", UINT64_C(1000000000000)},
    {"GB", 1000000000},
    {"MB", 1000000},
    {"kB", 1000},
    {"KB", 1000},
    {"B", 1},
    {"T", UINT64_C(1) << 40},
    {"G", UINT64_C(1) << 30},
    {"M", UINT64_C(1) << 20},
    {"K", UINT64_C(1) << 10},
};

#define SIZE_UNITS_SHOWN 4
#define SIZE_UNITS_STRICT 10

static const struct unit *find_unit(const struct unit *units, size_t count, struct tc_slice name,
                                    bool any_case)
{
    for (size_t i = 0; i < count; i++) {
        struct tc_slice unit = tc_slice_cstr(units[i].name);
        if (any_case ? tc_slice_eq_nocase(name, unit) : tc_slice_eq(name, unit)) {
            return &units[i];
        }
    }
    return NULL;
}

static size_t count_between(struct tc_slice s, char first, char last)
{
    size_t len = 0;
    while (len < s.len && s.ptr[len] >= first && s.ptr[len] <= last) {
        len++;
    }
    return len;
}

/* Digits behind a point as billionths. */
static bool read_fraction(struct tc_slice digits, uint64_t *out)
{
    if (digits.len == 0 || digits.len > FRACTION_DIGITS_MAX || tc_slice_u64(digits, out) == 0) {
        return false;
    }
    for (size_t i = digits.len; i < FRACTION_DIGITS_MAX; i++) {
        *out *= 10;
    }
    return true;
}

/* "1.5h" and the like at the start of *io_rest, added to *io_ns. */
static bool read_part(struct tc_slice *io_rest, bool is_first, int64_t *io_ns)
{
    struct tc_slice s = *io_rest;
    uint64_t whole = 0;
    uint64_t fraction = 0;
    size_t used = tc_slice_u64(s, &whole);
    if (used == 0) {
        return false;
    }
    s = tc_slice_from(s, used);
    if (s.len > 0 && s.ptr[0] == '.') {
        s = tc_slice_from(s, 1);
        size_t digits = count_between(s, '0', '9');
        if (!read_fraction(tc_slice_head(s, digits), &fraction)) {
            return false;
        }
        s = tc_slice_from(s, digits);
    }
    struct tc_slice name = tc_slice_head(s, count_between(s, 'a', 'z'));
    *io_rest = tc_slice_from(s, name.len);
    bool bare = name.len == 0 && is_first && s.len == 0;
    const struct unit *unit =
        find_unit(DURATION_UNITS, TC_COUNT(DURATION_UNITS), bare ? TC_LIT("s") : name, false);
    uint64_t ns = 0;
    if (unit == NULL || __builtin_mul_overflow(whole, unit->scale, &ns) || ns > INT64_MAX) {
        return false;
    }
    /* A billionth of a day is 86400 ns: this fits, and rounds down to whole nanoseconds. */
    uint64_t rest = unit->scale >= (uint64_t)TC_SECOND
                        ? fraction * (unit->scale / (uint64_t)TC_SECOND)
                        : fraction * unit->scale / (uint64_t)TC_SECOND;
    return !__builtin_add_overflow(*io_ns, (int64_t)ns, io_ns) &&
           !__builtin_add_overflow(*io_ns, (int64_t)rest, io_ns);
}

bool tc_duration_parse(struct tc_slice text, int64_t *out_ns)
{
    int64_t ns = 0;
    size_t parts = 0;
    do {
        if (parts == DURATION_PARTS_MAX || !read_part(&text, parts == 0, &ns)) {
            return false;
        }
        parts++;
    } while (text.len > 0);
    *out_ns = ns;
    return true;
}

bool tc_moment_parse(struct tc_slice text, int64_t now_ns, int64_t *out_ns)
{
    int64_t ago_ns = 0;
    /* "2026" is a year that lacks the rest, not so many seconds. */
    bool has_unit = text.len > 0 && !tc_is_digit(text.ptr[text.len - 1]);
    if (has_unit && tc_duration_parse(text, &ago_ns) && ago_ns <= TC_TIME_MAX) {
        *out_ns = now_ns - ago_ns;
        return true;
    }
    return text.len > 0 && tc_time_parse(text, 0, out_ns) == text.len;
}

bool tc_size_parse(struct tc_slice text, enum tc_size_units units, uint64_t *out_bytes)
{
    bool loose = units == TC_SIZE_LOOSE;
    uint64_t number = 0;
    size_t used = tc_slice_u64(text, &number);
    struct tc_slice name = tc_slice_from(text, used);
    const struct unit *unit =
        find_unit(SIZE_UNITS, loose ? TC_COUNT(SIZE_UNITS) : SIZE_UNITS_STRICT,
                  name.len == 0 ? TC_LIT("B") : name, loose);
    uint64_t bytes = 0;
    if (used == 0 || unit == NULL || __builtin_mul_overflow(number, unit->scale, &bytes)) {
        return false;
    }
    *out_bytes = bytes;
    return true;
}

static void put_largest(struct tc_buf *b, const struct unit *units, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count && value > 0; i++) {
        if (value % units[i].scale == 0) {
            tc_buf_u64(b, value / units[i].scale);
            tc_buf_str(b, tc_slice_cstr(units[i].name));
            return;
        }
    }
    tc_buf_u64(b, value);
}

void tc_buf_duration_exact(struct tc_buf *b, int64_t ns)
{
    put_largest(b, DURATION_UNITS, TC_COUNT(DURATION_UNITS), ns < 0 ? 0 : (uint64_t)ns);
}

void tc_buf_size_exact(struct tc_buf *b, uint64_t bytes)
{
    put_largest(b, SIZE_UNITS, SIZE_UNITS_SHOWN, bytes);
}
