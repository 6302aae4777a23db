/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times that stand in front of kernel messages: since boot in brackets, and
 * dates with and without a year, a zone or seconds. Each function takes one shape
 * off the start of *io_s and dates the line; it returns false, and changes nothing,
 * when the shape is not there.
 */
#include "base/time.h"
#include "codec/kmsg/kmsg_priv.h"

#define DAY_NS (INT64_C(86400) * TC_SECOND)
/* Between two 29ths of February there may be eight years (1896 to 1904, 2096 to 2104). */
#define LEAP_GAP_YEARS 8
/* Digits of a fraction that nanoseconds can hold. */
#define FRACTION_DIGITS 9
/* Digits of the microseconds of journalctl -o short-unix. */
#define UNIX_DIGITS 6
/* Letters of the longest names of zones: "ChST", "CHADT". */
#define ZONE_LETTERS_MAX 5

/* Two digits at s[at]. */
static bool two_digits(struct tc_slice s, size_t at, int32_t *out)
{
    if (at + 2 > s.len || !tc__kmsg_is_digit(s.ptr[at]) || !tc__kmsg_is_digit(s.ptr[at + 1])) {
        return false;
    }
    *out = (s.ptr[at] - '0') * 10 + (s.ptr[at + 1] - '0');
    return true;
}

/* ".123" or ",123" at the start of s: bytes used, 0 when there is none. */
static size_t take_fraction(struct tc_slice s, int32_t *out_nanos)
{
    if (s.len < 2 || (s.ptr[0] != '.' && s.ptr[0] != ',') || !tc__kmsg_is_digit(s.ptr[1])) {
        return 0;
    }
    int32_t nanos = 0;
    size_t at = 1;
    for (size_t digits = 0; digits < FRACTION_DIGITS; digits++) {
        bool more = at < s.len && tc__kmsg_is_digit(s.ptr[at]);
        nanos = nanos * 10 + (more ? s.ptr[at] - '0' : 0);
        at += more;
    }
    while (at < s.len && tc__kmsg_is_digit(s.ptr[at])) {
        at++;
    }
    *out_nanos = nanos;
    return at;
}

/* "Sep 19 16:18:02.050705" at the start of *io_s. */
static bool take_date(struct tc_slice *io_s, struct tc_civil *out)
{
    struct tc_slice s = *io_s;
    struct tc_civil c = {.month = tc_time_month(tc_slice_head(s, 3))};
    if (c.month == 0 || s.len < 4 || s.ptr[3] != ' ') {
        return false;
    }
    s = tc__kmsg_skip_spaces(tc_slice_from(s, 3));
    uint64_t day = 0;
    size_t used = tc_slice_u64(tc_slice_head(s, 2), &day);
    if (used == 0 || used >= s.len || s.ptr[used] != ' ') {
        return false;
    }
    c.day = (int32_t)day;
    s = tc__kmsg_skip_spaces(tc_slice_from(s, used));
    if (!two_digits(s, 0, &c.hour) || !two_digits(s, 3, &c.minute) ||
        !two_digits(s, 6, &c.second) || s.ptr[2] != ':' || s.ptr[5] != ':') {
        return false;
    }
    s = tc_slice_from(s, 8);
    *io_s = tc_slice_from(s, take_fraction(s, &c.nanos));
    *out = c;
    return true;
}

/* A local date as a time; false when there is no such date or it does not fit. */
static bool local_time(const struct tc_codec_input *in, const struct tc_civil *c, int64_t *out)
{
    int64_t ns = 0;
    return tc_time_from_civil(c, &ns) &&
           !__builtin_sub_overflow(ns, in->utc_offset_s * TC_SECOND, out);
}

static int64_t saturated_sum(int64_t a, int64_t b)
{
    int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
        return b < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

/*
 * The time of a date without a year: the latest that is not more than a day
 * after now, else the first that is not more than a day before boot.
 */
static int64_t yearless_time(const struct tc_codec_input *in, struct tc_civil c)
{
    bool by_now = in->now_ns != TC_TIME_NONE;
    if (!by_now && in->boot_ns == TC_TIME_NONE) {
        return TC_TIME_NONE;
    }
    int64_t limit =
        by_now ? saturated_sum(in->now_ns, DAY_NS) : saturated_sum(in->boot_ns, -DAY_NS);
    struct tc_civil edge;
    tc_time_to_civil(saturated_sum(limit, in->utc_offset_s * TC_SECOND), &edge);
    for (int32_t step = 0; step <= LEAP_GAP_YEARS; step++) {
        int64_t ns = 0;
        c.year = by_now ? edge.year - step : edge.year + step;
        if (local_time(in, &c, &ns) && (by_now ? ns <= limit : ns >= limit)) {
            return ns;
        }
    }
    return TC_TIME_NONE;
}

void tc__kmsg_set_uptime(const struct tc_codec_input *in, int64_t uptime_ns,
                         struct tc__kmsg_line *out)
{
    int64_t ns = 0;
    out->uptime_ns = uptime_ns;
    if (in->boot_ns != TC_TIME_NONE && !__builtin_add_overflow(in->boot_ns, uptime_ns, &ns)) {
        out->time_ns = ns;
    }
}

void tc__kmsg_set_date(int64_t time_ns, struct tc__kmsg_line *out)
{
    if (time_ns != TC_TIME_NONE) {
        out->time_ns = time_ns;
        out->uptime_ns = TC_TIME_NONE;
    }
}

/* "[  T291]" and "[    C0]": the task or CPU that logged it. */
static void take_caller(struct tc_slice *io_s)
{
    struct tc_slice s = tc__kmsg_skip_spaces(*io_s);
    if (!tc__kmsg_take(&s, TC_LIT("["))) {
        return;
    }
    s = tc__kmsg_skip_spaces(s);
    uint64_t id = 0;
    if (s.len == 0 || (s.ptr[0] != 'T' && s.ptr[0] != 'C')) {
        return;
    }
    s = tc_slice_from(s, 1);
    s = tc_slice_from(s, tc_slice_u64(s, &id));
    if (tc__kmsg_take(&s, TC_LIT("]"))) {
        *io_s = s;
    }
}

/* " <    0.000844>" of dmesg -d: the time since the line before. */
static void take_delta(struct tc_slice *io_s)
{
    struct tc_slice s = tc__kmsg_skip_spaces(*io_s);
    uint64_t seconds = 0;
    int32_t nanos = 0;
    if (!tc__kmsg_take(&s, TC_LIT("<"))) {
        return;
    }
    s = tc__kmsg_skip_spaces(s);
    s = tc_slice_from(s, tc_slice_u64(s, &seconds));
    s = tc_slice_from(s, take_fraction(s, &nanos));
    if (tc__kmsg_take(&s, TC_LIT(">"))) {
        *io_s = s;
    }
}

/*
 * "[  123.456789]" with an optional caller, or the "[  +0.000844]" of a delta, at
 * the start of *io_s. A number that is no time (it does not fit) is taken off too.
 */
bool tc__kmsg_take_uptime(const struct tc_codec_input *in, struct tc_slice *io_s,
                          struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    if (!tc__kmsg_take(&s, TC_LIT("["))) {
        return false;
    }
    s = tc__kmsg_skip_spaces(s);
    bool delta = tc__kmsg_take(&s, TC_LIT("+"));
    uint64_t seconds = 0;
    int32_t nanos = 0;
    size_t used = tc_slice_u64(s, &seconds);
    if (used == 0) {
        return false;
    }
    s = tc_slice_from(s, used);
    s = tc_slice_from(s, take_fraction(s, &nanos));
    take_delta(&s);
    if (!tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    take_caller(&s);
    if (!delta && seconds < INT64_MAX / TC_SECOND && out->time_ns == TC_TIME_NONE) {
        tc__kmsg_set_uptime(in, (int64_t)seconds * TC_SECOND + nanos, out);
    }
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/* "[Thu Sep 19 02:29:46 2024]" at the start of *io_s. */
static bool take_ctime(const struct tc_codec_input *in, struct tc_slice *io_s,
                       struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    struct tc_civil c;
    if (s.len < 5 || s.ptr[0] != '[' || !tc__kmsg_is_upper(s.ptr[1]) || s.ptr[4] != ' ') {
        return false;
    }
    s = tc__kmsg_skip_spaces(tc_slice_from(s, 4));
    uint64_t year = 0;
    if (!take_date(&s, &c) || !tc__kmsg_take(&s, TC_LIT(" "))) {
        return false;
    }
    size_t used = tc_slice_u64(tc_slice_head(s, 4), &year);
    s = tc_slice_from(s, used);
    take_delta(&s);
    if (used != 4 || !tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    int64_t ns = TC_TIME_NONE;
    c.year = (int32_t)year;
    tc__kmsg_set_date(local_time(in, &c, &ns) ? ns : TC_TIME_NONE, out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/* "[2026-04-22T21:26:20.599488292Z]: " of Talos. */
static bool take_bracket_iso(const struct tc_codec_input *in, struct tc_slice *io_s,
                             struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    int64_t ns = TC_TIME_NONE;
    if (!tc__kmsg_take(&s, TC_LIT("["))) {
        return false;
    }
    size_t used = tc_time_parse(s, in->utc_offset_s, &ns);
    s = tc_slice_from(s, used);
    if (used == 0 || !tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    (void)tc__kmsg_take(&s, TC_LIT(":"));
    tc__kmsg_set_date(ns, out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/* "[Mar 7 10:00]", "[Mar17 10:00]": dmesg -H, on the first line of a minute. */
static bool take_heading(const struct tc_codec_input *in, struct tc_slice *io_s,
                         struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    if (!tc__kmsg_take(&s, TC_LIT("["))) {
        return false;
    }
    struct tc_civil c = {.month = tc_time_month(tc_slice_head(s, 3))};
    s = tc__kmsg_skip_spaces(tc_slice_from(s, 3));
    uint64_t day = 0;
    size_t used = tc_slice_u64(tc_slice_head(s, 2), &day);
    s = tc_slice_from(s, used);
    if (c.month == 0 || used == 0 || !tc__kmsg_take(&s, TC_LIT(" ")) ||
        !two_digits(s, 0, &c.hour) || !two_digits(s, 3, &c.minute) || s.ptr[2] != ':') {
        return false;
    }
    s = tc_slice_from(s, 5);
    if (!tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    c.day = (int32_t)day;
    tc__kmsg_set_date(yearless_time(in, c), out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

bool tc__kmsg_take_bracket_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                                struct tc__kmsg_line *out)
{
    return take_ctime(in, io_s, out) || take_heading(in, io_s, out) ||
           take_bracket_iso(in, io_s, out);
}

bool tc__kmsg_take_syslog_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                               struct tc__kmsg_line *out)
{
    struct tc_civil c;
    struct tc_slice s = *io_s;
    int64_t ns = TC_TIME_NONE;
    uint64_t year = 0;
    bool dated = tc_slice_u64(tc_slice_head(s, 5), &year) == 4 && s.len > 4 && s.ptr[4] == ' ';
    s = dated ? tc_slice_from(s, 5) : s; /* "2026 Mar 14 02:17:33", as SONiC may have it */
    if (!take_date(&s, &c) || s.len == 0 || s.ptr[0] != ' ') {
        return false;
    }
    c.year = (int32_t)year;
    tc__kmsg_set_date(!dated                    ? yearless_time(in, c)
                      : local_time(in, &c, &ns) ? ns
                                                : TC_TIME_NONE,
                      out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/*
 * "UTC", "+03" or "-0330" as seconds. Other names mean one zone here and another there (CST):
 * for those it is the input's.
 */
static bool zone_of(const struct tc_codec_input *in, struct tc_slice word, int32_t *out_s)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    if (word.len > 0 && (word.ptr[0] == '+' || word.ptr[0] == '-')) {
        bool whole = two_digits(word, 1, &hours) &&
                     (word.len == 3 || (word.len == 5 && two_digits(word, 3, &minutes)));
        int32_t seconds = hours * 3600 + minutes * 60;
        *out_s = word.ptr[0] == '-' ? -seconds : seconds;
        return whole;
    }
    for (size_t i = 0; i < word.len; i++) {
        if (!tc__kmsg_is_alnum(word.ptr[i]) || tc__kmsg_is_digit(word.ptr[i])) {
            return false;
        }
    }
    bool utc = tc_slice_eq(word, TC_LIT("UTC")) || tc_slice_eq(word, TC_LIT("GMT"));
    *out_s = utc ? 0 : in->utc_offset_s;
    return word.len > 0 && word.len <= ZONE_LETTERS_MAX;
}

bool tc__kmsg_take_full_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                             struct tc__kmsg_line *out)
{
    static const struct tc_slice days[] = {
        {"Mon ", 4}, {"Tue ", 4}, {"Wed ", 4}, {"Thu ", 4}, {"Fri ", 4}, {"Sat ", 4}, {"Sun ", 4},
    };
    struct tc_slice s = *io_s;
    size_t day = 0;
    while (day < TC_COUNT(days) && !tc__kmsg_take(&s, days[day])) {
        day++;
    }
    int64_t ns = 0;
    int32_t zone_s = 0;
    size_t used = day == TC_COUNT(days) ? 0 : tc_time_parse(s, 0, &ns);
    s = tc_slice_from(s, used);
    if (used == 0 || !tc__kmsg_take(&s, TC_LIT(" ")) ||
        !zone_of(in, tc_slice_cut(s, ' ', &s), &zone_s) ||
        __builtin_sub_overflow(ns, zone_s * TC_SECOND, &ns)) {
        return false;
    }
    tc__kmsg_set_date(ns, out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

bool tc__kmsg_take_unix(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    uint64_t seconds = 0;
    int32_t nanos = 0;
    s = tc_slice_from(s, tc_slice_u64(s, &seconds));
    size_t used = s.len == io_s->len ? 0 : take_fraction(s, &nanos);
    s = tc_slice_from(s, used);
    if (used != UNIX_DIGITS + 1 || seconds >= (uint64_t)(TC_TIME_MAX / TC_SECOND) ||
        !tc__kmsg_take(&s, TC_LIT(" "))) {
        return false;
    }
    tc__kmsg_set_date((int64_t)seconds * TC_SECOND + nanos, out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}
