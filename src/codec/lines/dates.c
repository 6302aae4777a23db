/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "codec/lines/lines_priv.h"

/* Where a date is looked for. */
#define DATE_WITHIN 96
/* The shortest: "2026-03-01 10:05:01". */
#define ISO_LENGTH 19
/* "10:05:01", "1103 10:05:01", "Nov  3 10:05:01" */
#define CLOCK_LENGTH 8
#define GLOG_LENGTH 13
#define SYSLOG_LENGTH 15

static bool two_digits(const char *p, int32_t *out)
{
    *out = (p[0] - '0') * 10 + (p[1] - '0');
    return tc_is_digit(p[0]) && tc_is_digit(p[1]);
}

/* "10:05:01" and a fraction; p has CLOCK_LENGTH bytes. */
static bool read_clock(struct tc_slice s, struct tc_civil *c)
{
    int32_t scale = 100000000;
    if (s.len < CLOCK_LENGTH || !two_digits(s.ptr, &c->hour) || s.ptr[2] != ':' ||
        !two_digits(s.ptr + 3, &c->minute) || s.ptr[5] != ':' ||
        !two_digits(s.ptr + 6, &c->second)) {
        return false;
    }
    if (s.len > CLOCK_LENGTH && s.ptr[CLOCK_LENGTH] == '.') {
        for (size_t i = CLOCK_LENGTH + 1; i < s.len && tc_is_digit(s.ptr[i]) && scale > 0; i++) {
            c->nanos += (s.ptr[i] - '0') * scale;
            scale /= 10;
        }
    }
    return true;
}

/* The latest year in which the date is not after now, to a day: zones differ. */
static int64_t in_year(const struct tc_codec_input *in, struct tc_civil c)
{
    struct tc_civil now;
    int64_t ns = TC_TIME_NONE;
    if (!tc_time_is_date(in->now_ns)) {
        return TC_TIME_NONE;
    }
    tc_time_to_civil(in->now_ns, &now);
    for (int32_t back = 0; back < 5; back++) {
        c.year = now.year - back;
        if (tc_time_from_civil(&c, &ns)) {
            ns -= in->utc_offset_s * TC_SECOND;
            if (ns <= in->now_ns + 86400 * TC_SECOND) {
                return ns < 0 ? TC_TIME_NONE : ns;
            }
        }
    }
    return TC_TIME_NONE;
}

/* glog, klog and PyTorch: "E1103 10:05:01.123456", in PyTorch also "E816" for August 16. */
static bool read_glog(const struct tc_codec_input *in, struct tc_slice s, int64_t *out_ns)
{
    struct tc_civil c = {0};
    size_t digits = 0;
    if (s.len < GLOG_LENGTH ||
        (s.ptr[0] != 'I' && s.ptr[0] != 'W' && s.ptr[0] != 'E' && s.ptr[0] != 'F')) {
        return false;
    }
    while (digits < 5 && tc_is_digit(s.ptr[1 + digits])) {
        digits++;
    }
    if ((digits != 3 && digits != 4) || s.ptr[1 + digits] != ' ') {
        return false;
    }
    c.month = digits == 3 ? s.ptr[1] - '0' : (s.ptr[1] - '0') * 10 + (s.ptr[2] - '0');
    (void)two_digits(s.ptr + digits - 1, &c.day);
    if (!read_clock(tc_slice_from(s, digits + 2), &c)) {
        return false;
    }
    *out_ns = in_year(in, c);
    return *out_ns != TC_TIME_NONE;
}

/* " 2026" or " UTC 2026" behind a clock, as date and nvidia-smi write it; 0 when there is none. */
static int32_t year_behind(struct tc_slice s)
{
    uint64_t year = 0;
    size_t at = tc_slice_starts(s, TC_LIT(" UTC ")) ? 5 : 1;
    size_t used = s.len > at && s.ptr[0] == ' ' ? tc_slice_u64(tc_slice_from(s, at), &year) : 0;
    return used == 4 && year >= 1970 && (at + used == s.len || !tc_is_word(s.ptr[at + used]))
               ? (int32_t)year
               : 0;
}

/* "Nov  3 10:05:01", "Nov  3 10:05:01 2026" */
static bool read_syslog(const struct tc_codec_input *in, struct tc_slice s, int64_t *out_ns)
{
    struct tc_civil c = {0};
    if (s.len < SYSLOG_LENGTH || s.ptr[3] != ' ' || s.ptr[6] != ' ' || !tc_is_digit(s.ptr[5])) {
        return false;
    }
    c.month = tc_time_month(tc_slice_head(s, 3));
    c.day = (tc_is_digit(s.ptr[4]) ? (s.ptr[4] - '0') * 10 : 0) + (s.ptr[5] - '0');
    if (c.month == 0 || !read_clock(tc_slice_from(s, 7), &c)) {
        return false;
    }
    c.year = year_behind(tc_slice_from(s, SYSLOG_LENGTH));
    if (c.year > 0 && tc_time_from_civil(&c, out_ns)) {
        *out_ns -= in->utc_offset_s * TC_SECOND;
        return *out_ns >= 0 && *out_ns <= TC_TIME_MAX;
    }
    *out_ns = in_year(in, c);
    return *out_ns != TC_TIME_NONE;
}

static bool read_iso(const struct tc_codec_input *in, struct tc_slice s, int64_t *out_ns)
{
    /* Python's and Go's loggers write slashes: "2026/11/03 10:05:01". */
    char text[ISO_LENGTH + 12];
    if (s.len < ISO_LENGTH || !tc_is_digit(s.ptr[0]) || (s.ptr[4] != '-' && s.ptr[4] != '/')) {
        return false;
    }
    if (s.ptr[4] == '/' && s.ptr[7] == '/') {
        s = tc_slice_head(s, sizeof text);
        for (size_t i = 0; i < s.len; i++) {
            text[i] = i == 4 || i == 7 ? '-' : s.ptr[i];
        }
        s.ptr = text;
    }
    return tc_time_parse(s, in->utc_offset_s, out_ns) > 0 && *out_ns >= 0 && *out_ns <= TC_TIME_MAX;
}

int64_t tc__line_date(const struct tc_codec_input *in, struct tc_slice line)
{
    size_t end = line.len < DATE_WITHIN ? line.len : DATE_WITHIN;
    for (size_t at = 0; at + GLOG_LENGTH <= end; at++) {
        int64_t ns = TC_TIME_NONE;
        if (at > 0 && tc_is_word(line.ptr[at - 1])) {
            continue;
        }
        struct tc_slice s = tc_slice_from(line, at);
        if (read_iso(in, s, &ns) || read_glog(in, s, &ns) || read_syslog(in, s, &ns)) {
            return ns;
        }
    }
    return TC_TIME_NONE;
}
