/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"

#include <stddef.h>

#define DAY_S INT64_C(86400)
#define YEAR_MIN 1970
#define YEAR_MAX 2262 /* the last whose beginning fits 63 bits of nanoseconds */

/* Days since 1970-01-01 of a proleptic Gregorian date; years counted from March. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int32_t month_days(int32_t year, int32_t month)
{
    static const int8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

bool tc_time_from_civil(const struct tc_civil *c, int64_t *out_ns)
{
    if (c->year < YEAR_MIN || c->year > YEAR_MAX || c->month < 1 || c->month > 12 || c->day < 1 ||
        c->day > month_days(c->year, c->month) || c->hour < 0 || c->hour > 23 || c->minute < 0 ||
        c->minute > 59 || c->second < 0 || c->second > 60 || c->nanos < 0 ||
        c->nanos > TC_SECOND - 1) {
        return false;
    }
    int64_t second = c->second == 60 ? 59 : c->second;
    int64_t days = days_from_date(c->year, c->month, c->day);
    int64_t seconds = days * DAY_S + c->hour * 3600 + c->minute * 60 + second;
    int64_t ns = 0;
    if (__builtin_mul_overflow(seconds, TC_SECOND, &ns) ||
        __builtin_add_overflow(ns, c->nanos, &ns)) {
        return false;
    }
    *out_ns = ns;
    return true;
}

/*
 * The other way round, by Neri and Schneider ("Euclidean affine functions and their application to
 * calendar algorithms", 2022): three multiplications instead of a chain of divisions.
 */
static void date_from_days(int64_t days, struct tc_civil *out)
{
    uint32_t n1 = 4 * (uint32_t)(days + 719468) + 3;
    uint32_t century = n1 / 146097;
    uint32_t n2 = (n1 % 146097) | 3;
    uint64_t p2 = UINT64_C(2939745) * n2;
    uint32_t year = 100 * century + (uint32_t)(p2 >> 32);
    uint32_t day_of_year = (uint32_t)p2 / 2939745 / 4; /* from March */
    uint32_t n3 = 2141 * day_of_year + 197913;
    bool next_year = day_of_year >= 306;
    out->year = (int32_t)(year + next_year);
    out->month = (int32_t)((n3 >> 16) - (next_year ? 12 : 0));
    out->day = (int32_t)((n3 & 0xffff) / 2141 + 1);
}

/* A time as day since 1970, second of the day and nanosecond: all but the day are positive. */
static int64_t split(int64_t ns, int32_t *out_second, int32_t *out_nanos)
{
    int64_t seconds = ns / TC_SECOND;
    int64_t nanos = ns % TC_SECOND;
    if (nanos < 0) {
        nanos += TC_SECOND;
        seconds--;
    }
    int64_t day = seconds / DAY_S - (seconds % DAY_S < 0);
    *out_second = (int32_t)(seconds - day * DAY_S);
    *out_nanos = (int32_t)nanos;
    return day;
}

void tc_time_to_civil(int64_t ns, struct tc_civil *out)
{
    int32_t second = 0;
    date_from_days(split(ns, &second, &out->nanos), out);
    out->hour = second / 3600;
    out->minute = second / 60 % 60;
    out->second = second % 60;
}

/* Exactly `count` digits at s[at]; false otherwise. */
static bool digits(struct tc_slice s, size_t at, size_t count, int32_t *out)
{
    int32_t value = 0;
    if (at + count > s.len) {
        return false;
    }
    for (size_t i = at; i < at + count; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return false;
        }
        value = value * 10 + (s.ptr[i] - '0');
    }
    *out = value;
    return true;
}

static size_t fraction(struct tc_slice s, size_t at, int32_t *out_nanos)
{
    int32_t scale = 100000000;
    int32_t nanos = 0;
    size_t start = at;
    for (; at < s.len && tc_is_digit(s.ptr[at]); at++) {
        nanos += (s.ptr[at] - '0') * scale;
        scale /= 10;
    }
    *out_nanos = nanos;
    return at - start;
}

/* The zone at s[at], if there is one: bytes used, seconds east of UTC in *out. */
static size_t zone(struct tc_slice s, size_t at, int32_t *out)
{
    if (at < s.len && (s.ptr[at] == 'Z' || s.ptr[at] == 'z')) {
        *out = 0;
        return 1;
    }
    int32_t hours = 0;
    int32_t minutes = 0;
    if (at >= s.len || (s.ptr[at] != '+' && s.ptr[at] != '-') || !digits(s, at + 1, 2, &hours)) {
        return 0;
    }
    size_t colon = at + 3 < s.len && s.ptr[at + 3] == ':';
    if (!digits(s, at + 3 + colon, 2, &minutes) || hours > 23 || minutes > 59) {
        return 0;
    }
    int32_t seconds = hours * 3600 + minutes * 60;
    *out = s.ptr[at] == '-' ? -seconds : seconds;
    return 5 + colon;
}

size_t tc_time_parse(struct tc_slice s, int32_t assumed_offset_s, int64_t *out_ns)
{
    struct tc_civil c = {0};
    if (s.len < 19 || !digits(s, 0, 4, &c.year) || s.ptr[4] != '-' || !digits(s, 5, 2, &c.month) ||
        s.ptr[7] != '-' || !digits(s, 8, 2, &c.day) ||
        (s.ptr[10] != 'T' && s.ptr[10] != 't' && s.ptr[10] != ' ') || !digits(s, 11, 2, &c.hour) ||
        s.ptr[13] != ':' || !digits(s, 14, 2, &c.minute) || s.ptr[16] != ':' ||
        !digits(s, 17, 2, &c.second)) {
        return 0;
    }
    size_t at = 19;
    if (at + 1 < s.len && (s.ptr[at] == '.' || s.ptr[at] == ',')) {
        size_t used = fraction(s, at + 1, &c.nanos);
        at += used == 0 ? 0 : used + 1;
    }
    int32_t offset_s = assumed_offset_s;
    at += zone(s, at, &offset_s);
    int64_t ns = 0;
    if (!tc_time_from_civil(&c, &ns) || __builtin_sub_overflow(ns, offset_s * TC_SECOND, &ns)) {
        return 0;
    }
    *out_ns = ns;
    return at;
}

int32_t tc_time_month(struct tc_slice name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int32_t i = 0; i < 12 && name.len == 3; i++) {
        if (memcmp(names + (ptrdiff_t)i * 3, name.ptr, 3) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Everything up to the hour. */
static void show_day(struct tc_time_cache *cache, int64_t day)
{
    struct tc_civil c;
    date_from_days(day, &c);
    memcpy(cache->text, "0000-00-00T00:00:00", 19);
    (void)tc_put_two(cache->text, (uint32_t)(c.year / 100));
    (void)tc_put_two(cache->text + 2, (uint32_t)(c.year % 100));
    (void)tc_put_two(cache->text + 5, (uint32_t)(c.month));
    (void)tc_put_two(cache->text + 8, (uint32_t)(c.day));
    cache->day = day;
}

void tc_time_show(struct tc_time_cache *cache, int64_t ns)
{
    int32_t second = 0;
    int32_t nanos = 0;
    int64_t day = split(ns, &second, &nanos);
    if (!cache->known || cache->day != day) {
        show_day(cache, day);
    }
    (void)tc_put_two(cache->text + 11, (uint32_t)(second / 3600));
    (void)tc_put_two(cache->text + 14, (uint32_t)(second / 60 % 60));
    (void)tc_put_two(cache->text + 17, (uint32_t)(second % 60));
    size_t len = 19;
    if (nanos != 0) {
        /* A leading 1 keeps the zeros in front; the point takes its place. */
        (void)tc_put_u64(cache->text + len, (uint64_t)(nanos + TC_SECOND));
        cache->text[len] = '.';
        len = nanos % 1000000 == 0 ? 23 : nanos % 1000 == 0 ? 26 : 29;
    }
    cache->text[len] = 'Z';
    cache->len = len + 1;
    cache->ns = ns;
    cache->known = true;
}

void tc_buf_time_cached(struct tc_buf *b, int64_t ns, struct tc_time_cache *cache)
{
    if (b->cap - b->len >= TC_PUT_TIME_MAX) {
        tc_buf_end(b, tc_put_time(b->data + b->len, ns, cache));
        return;
    }
    char text[TC_PUT_TIME_MAX];
    const char *end = tc_put_time(text, ns, cache);
    for (const char *p = text; p < end; p++) {
        tc_buf_char(b, *p);
    }
}

void tc_buf_time(struct tc_buf *b, int64_t ns)
{
    struct tc_time_cache cache = {.known = false};
    tc_buf_time_cached(b, ns, &cache);
}

void tc_buf_duration(struct tc_buf *b, int64_t ns)
{
    static const struct {
        int64_t seconds;
        struct tc_slice unit;
    } units[] = {{86400, {" d", 2}}, {3600, {" h", 2}}, {60, {" min", 4}}, {1, {" s", 2}}};
    if (ns < 0) {
        tc_buf_char(b, '-');
        ns = ns == INT64_MIN ? INT64_MAX : -ns;
    }
    if (ns < TC_SECOND) {
        tc_buf_i64(b, ns / 1000000);
        tc_buf_lit(b, " ms");
        return;
    }
    int64_t rest = ns / TC_SECOND;
    size_t i = 0;
    while (rest < units[i].seconds) { /* ends at the seconds: there is one at least */
        i++;
    }
    tc_buf_i64(b, rest / units[i].seconds);
    tc_buf_str(b, units[i].unit);
    rest %= units[i].seconds;
    if (rest > 0 && rest >= units[i + 1].seconds) {
        tc_buf_char(b, ' ');
        tc_buf_i64(b, rest / units[i + 1].seconds);
        tc_buf_str(b, units[i + 1].unit);
    }
}
