/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time is int64_t nanoseconds since 1970 UTC everywhere. This is the calendar:
 * parsing and printing, without the C library's time zones, locale or clock.
 */
#ifndef TC_BASE_TIME_H
#define TC_BASE_TIME_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_SECOND INT64_C(1000000000)
#define TC_TIME_NONE INT64_MIN /* "no time is known" */
/*
 * Times from here up to 0 are no dates. Events without a date are given them, so that they come in
 * the order of their input and before all that have one (intake/stream.h); they say how one stands
 * to the other in that order, never how long before.
 */
#define TC_TIME_UNDATED_MIN (-(INT64_C(1) << 62))
/* 2200-01-01. No event is dated outside 1970..2200: sums and differences of times stay in range. */
#define TC_TIME_MAX (INT64_C(7258118400) * TC_SECOND)

/* False for TC_TIME_NONE and for what stands for an order only. */
static inline bool tc_time_is_date(int64_t ns)
{
    return ns >= 0;
}

/* Only an order: no date, and not unknown either. See TC_TIME_UNDATED_MIN. */
static inline bool tc_time_is_order(int64_t ns)
{
    return ns < 0 && ns != TC_TIME_NONE;
}

struct tc_civil {
    int32_t year;  /* 1970..2262 */
    int32_t month; /* 1..12 */
    int32_t day;
    int32_t hour;
    int32_t minute;
    int32_t second; /* 60 is taken as 59 of a leap second's minute */
    int32_t nanos;
};

/* False when a field is out of range or the time does not fit. */
bool tc_time_from_civil(const struct tc_civil *c, int64_t *out_ns);
void tc_time_to_civil(int64_t ns, struct tc_civil *out);

/*
 * RFC 3339 at the start of s, and its relatives in real logs: 'T' or ' ' between
 * date and time, '.' or ',' before the fraction (any number of digits), zone
 * "Z", "+hh:mm", "+hhmm" or none (then UTC plus assumed_offset_s). Returns the bytes used,
 * 0 when s does not start with such a time.
 */
size_t tc_time_parse(struct tc_slice s, int32_t assumed_offset_s, int64_t *out_ns);

/* Month 1..12 from its English three-letter name, 0 when it is none. */
int32_t tc_time_month(struct tc_slice name);

/* "2026-11-15T03:04:05.123456789Z" with as many fraction digits as needed (0, 3, 6, 9). */
void tc_buf_time(struct tc_buf *b, int64_t ns);

#define TC_PUT_TIME_MAX 30

/* The same for many times close together: the calendar is worked out once a day. */
struct tc_time_cache {
    int64_t ns;  /* the time that text shows */
    int64_t day; /* since 1970 */
    size_t len;
    char text[TC_PUT_TIME_MAX];
    bool known;
};

void tc_buf_time_cached(struct tc_buf *b, int64_t ns, struct tc_time_cache *cache);
/* Makes the cache show ns. */
void tc_time_show(struct tc_time_cache *cache, int64_t ns);

/* The caller has TC_PUT_TIME_MAX bytes of room, all of which may be written; returns the end. */
static inline char *tc_put_time(char *p, int64_t ns, struct tc_time_cache *cache)
{
    if (!cache->known || cache->ns != ns) {
        tc_time_show(cache, ns);
    }
    __builtin_memcpy(p, cache->text, TC_PUT_TIME_MAX);
    return p + cache->len;
}

/* A duration for people: "340 ms", "41 s", "5 min 3 s", "2 h 4 min", "3 d 2 h". */
void tc_buf_duration(struct tc_buf *b, int64_t ns);

#endif
