/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/quiet.h"

#include "base/time.h"

#define DAY_MINUTES 1440
#define DAYS 7
#define EVERY_DAY 0x7fU

static const char *const DAY_NAMES[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun", NULL};

static tc_status wrong(struct tc_error *err, struct tc_slice text)
{
    return tc_fail(err, TC_E_MALFORMED, 0,
                   "\"%.*s\" is no window; write 22:00-06:00, or Mon-Fri 22:00-06:00, with ; "
                   "between two",
                   TC_FMT(tc_slice_head(text, 64)));
}

/* "22:00"; 24:00 is the end of a day. -1 when it is none. */
static int32_t read_minute(struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice hour = tc_slice_cut(text, ':', &rest);
    uint64_t h = 0;
    uint64_t m = 0;
    bool good = hour.len == 2 && rest.len == 2 && tc_slice_is_u64(hour, &h) &&
                tc_slice_is_u64(rest, &m) && m < 60 && (h < 24 || (h == 24 && m == 0));
    return good ? (int32_t)(h * 60 + m) : -1;
}

static int read_day(struct tc_slice text)
{
    for (int i = 0; i < DAYS; i++) {
        if (tc_slice_eq_nocase(text, tc_slice_cstr(DAY_NAMES[i]))) {
            return i;
        }
    }
    return -1;
}

/* "Mon-Fri", "Sat,Sun": bits, 0 when it is none. */
static unsigned read_days(struct tc_slice text)
{
    unsigned days = 0;
    while (text.len > 0) {
        struct tc_slice last;
        struct tc_slice item = tc_slice_cut(text, ',', &text);
        struct tc_slice first = tc_slice_cut(item, '-', &last);
        int from = read_day(first);
        int to = first.len == item.len ? from : read_day(last);
        if (from < 0 || to < 0) {
            return 0;
        }
        for (int i = 0; i <= (to - from + DAYS) % DAYS; i++) {
            days |= 1U << (from + i) % DAYS;
        }
    }
    return days;
}

static tc_status read_window(struct tc_slice text, struct tc_quiet *out, struct tc_error *err)
{
    struct tc_slice hours = TC_EMPTY;
    struct tc_slice end = TC_EMPTY;
    struct tc_slice first = tc_slice_cut(text, ' ', &hours);
    bool has_days = first.len < text.len;
    unsigned days = has_days ? read_days(first) : EVERY_DAY;
    hours = has_days ? tc_slice_trim(hours) : text;
    int32_t from = read_minute(tc_slice_cut(hours, '-', &end));
    int32_t to = read_minute(end);
    if (days == 0 || from < 0 || to < 0 || from == to || from == DAY_MINUTES) {
        return wrong(err, text);
    }
    if (out->count == TC_QUIET_WINDOWS_MAX) {
        return tc_fail(err, TC_E_MALFORMED, 0, "more than %d windows", TC_QUIET_WINDOWS_MAX);
    }
    out->windows[out->count].days = days;
    out->windows[out->count].from_minute = from;
    out->windows[out->count++].to_minute = to;
    return TC_OK;
}

tc_status tc_quiet_read(struct tc_slice text, struct tc_quiet *out, struct tc_error *err)
{
    out->count = 0;
    text = tc_slice_trim(text);
    while (text.len > 0) {
        TC_TRY(read_window(tc_slice_trim(tc_slice_cut(text, ';', &text)), out, err));
    }
    return TC_OK;
}

bool tc_quiet_is(const struct tc_quiet *quiet, const struct tc_zone *zone, int64_t now_ns)
{
    if (now_ns < 0 || now_ns > TC_TIME_MAX) {
        return false;
    }
    int64_t local_s = now_ns / TC_SECOND + tc_zone_offset(zone, now_ns);
    int64_t minutes = (local_s < 0 ? 0 : local_s) / 60;
    int32_t minute = (int32_t)(minutes % DAY_MINUTES);
    unsigned today = (unsigned)((minutes / DAY_MINUTES + 3) % DAYS); /* 1970 began on a Thursday */
    unsigned yesterday = (today + DAYS - 1) % DAYS;
    for (size_t i = 0; i < quiet->count; i++) {
        int32_t from = quiet->windows[i].from_minute;
        int32_t to = quiet->windows[i].to_minute;
        unsigned days = quiet->windows[i].days;
        bool began_today =
            (days & 1U << today) != 0 && minute >= from && (minute < to || to < from);
        bool began_yesterday = (days & 1U << yesterday) != 0 && to < from && minute < to;
        if (began_today || began_yesterday) {
            return true;
        }
    }
    return false;
}
