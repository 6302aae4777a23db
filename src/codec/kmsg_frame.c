/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prefixes kernel messages come with, line by line; a file may mix them:
 *
 *   6,3964,206764307,-;msg                          /dev/kmsg
 *   <4>[  123.456789] msg                           dmesg -r
 *   [  123.456789][  T291] msg                      dmesg
 *   [  +0.000844] msg                               dmesg -d, -H: undated
 *   [Thu Sep 19 02:29:46 2024] msg                  dmesg -T
 *   kern  :warn  : 2025-01-21T04:41:44,285060+00:00 msg    dmesg -x, --time-format iso
 *   2019-08-19T04:18:38.274652-04:00 host kernel: [ 261.27] msg    rsyslog, journalctl
 *   Sep 19 16:18:02 host kernel: [68183.615790] msg        BSD syslog
 *   host kernel: msg, kernel: msg, msg              quoted without a time
 *
 * A line with a syslog date and another tag than "kernel:" is another program's.
 */
#include "base/time.h"
#include "codec/kmsg_priv.h"

#define DAY_NS (INT64_C(86400) * TC_SECOND)
/* Between two 29ths of February there may be eight years (1896 to 1904, 2096 to 2104). */
#define LEAP_GAP_YEARS 8
/* Digits of a fraction that nanoseconds can hold. */
#define FRACTION_DIGITS 9
/* "authpriv:notice: ", the longest of these. */
#define DECODED_MAX 17
/* "message repeated N times": more is noise from outside, not a count. */
#define REPEAT_MAX 1000000000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}

static struct tc_slice word_of(struct tc_slice s, struct tc_slice *out_rest)
{
    struct tc_slice word = tc_slice_cut(s, ' ', out_rest);
    *out_rest = tc__kmsg_skip_spaces(*out_rest);
    return word;
}

/* Two digits at s[at]. */
static bool two_digits(struct tc_slice s, size_t at, int32_t *out)
{
    if (at + 2 > s.len || !is_digit(s.ptr[at]) || !is_digit(s.ptr[at + 1])) {
        return false;
    }
    *out = (s.ptr[at] - '0') * 10 + (s.ptr[at + 1] - '0');
    return true;
}

/* ".123" or ",123" at the start of s: bytes used, 0 when there is none. */
static size_t take_fraction(struct tc_slice s, int32_t *out_nanos)
{
    if (s.len < 2 || (s.ptr[0] != '.' && s.ptr[0] != ',') || !is_digit(s.ptr[1])) {
        return 0;
    }
    int32_t nanos = 0;
    size_t at = 1;
    for (size_t digits = 0; digits < FRACTION_DIGITS; digits++) {
        bool more = at < s.len && is_digit(s.ptr[at]);
        nanos = nanos * 10 + (more ? s.ptr[at] - '0' : 0);
        at += more;
    }
    while (at < s.len && is_digit(s.ptr[at])) {
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

static void set_uptime(const struct tc_codec_input *in, int64_t uptime_ns,
                       struct tc__kmsg_line *out)
{
    int64_t ns = 0;
    out->uptime_ns = uptime_ns;
    if (in->boot_ns != TC_TIME_NONE && !__builtin_add_overflow(in->boot_ns, uptime_ns, &ns)) {
        out->time_ns = ns;
    }
}

static void set_date(int64_t time_ns, struct tc__kmsg_line *out)
{
    if (time_ns != TC_TIME_NONE) {
        out->time_ns = time_ns;
        out->uptime_ns = TC_TIME_NONE;
    }
}

/* "[  T291]" and "[    C0]": the task or CPU that logged it. */
static void take_caller(struct tc_slice *io_s)
{
    if (io_s->len == 0 || io_s->ptr[0] != '[') {
        return;
    }
    struct tc_slice s = tc__kmsg_skip_spaces(tc_slice_from(*io_s, 1));
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

/*
 * "[  123.456789]" with an optional caller, or the "[  +0.000844]" of a delta, at
 * the start of *io_s. A number that is no time (it does not fit) is taken off too.
 */
static bool take_uptime(const struct tc_codec_input *in, struct tc_slice *io_s,
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
    if (!tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    take_caller(&s);
    if (!delta && seconds < INT64_MAX / TC_SECOND && out->time_ns == TC_TIME_NONE) {
        set_uptime(in, (int64_t)seconds * TC_SECOND + nanos, out);
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
    if (s.len < 5 || s.ptr[0] != '[' || !is_upper(s.ptr[1]) || s.ptr[4] != ' ') {
        return false;
    }
    s = tc__kmsg_skip_spaces(tc_slice_from(s, 4));
    uint64_t year = 0;
    if (!take_date(&s, &c) || !tc__kmsg_take(&s, TC_LIT(" "))) {
        return false;
    }
    size_t used = tc_slice_u64(tc_slice_head(s, 4), &year);
    s = tc_slice_from(s, used);
    if (used != 4 || !tc__kmsg_take(&s, TC_LIT("]"))) {
        return false;
    }
    int64_t ns = TC_TIME_NONE;
    c.year = (int32_t)year;
    set_date(local_time(in, &c, &ns) ? ns : TC_TIME_NONE, out);
    *io_s = tc__kmsg_skip_spaces(s);
    return true;
}

/* "name[123]:" */
static bool is_program_tag(struct tc_slice word)
{
    size_t open = tc_slice_find_byte(word, '[');
    uint64_t pid = 0;
    if (open == TC_NPOS || open == 0) {
        return false;
    }
    struct tc_slice rest = tc_slice_from(word, open + 1);
    rest = tc_slice_from(rest, tc_slice_u64(rest, &pid));
    return tc_slice_eq(rest, TC_LIT("]:"));
}

/* A host's name has a letter or a digit ("..." is what people leave of one). */
static bool is_host(struct tc_slice word)
{
    bool has_name = false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        has_name = has_name || is_alnum(c);
        if (!is_alnum(c) && c != '-' && c != '.' && c != '_' && c != ':') {
            return false;
        }
    }
    return has_name && word.ptr[word.len - 1] != ':';
}

/*
 * "[host] [kern.level] kernel:" at the start of *io_s, taken off with the uptime
 * behind it. False, *io_s as it was, when it is not there.
 */
static bool take_tag(const struct tc_codec_input *in, struct tc_slice *io_s,
                     struct tc__kmsg_line *out)
{
    struct tc_slice host = TC_EMPTY;
    struct tc_slice s = *io_s;
    struct tc_slice word = word_of(s, &s);
    if (!tc_slice_eq(word, TC_LIT("kernel:"))) {
        host = word;
        word = word_of(s, &s);
        if (tc_slice_starts(word, TC_LIT("kern."))) {
            word = word_of(s, &s);
        }
        if (!tc_slice_eq(word, TC_LIT("kernel:")) || tc_slice_ends(host, TC_LIT(":"))) {
            return false;
        }
    }
    if (is_host(host)) {
        out->node = host;
    }
    out->framed = true;
    (void)take_uptime(in, &s, out);
    *io_s = s;
    return true;
}

/* 206764307 of "6,3964,206764307,-;msg". Facilities other than 0 are written by programs. */
static bool take_record(const struct tc_codec_input *in, struct tc_slice *io_s,
                        struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    uint64_t field[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        size_t used = tc_slice_u64(s, &field[i]);
        if (used == 0 || used >= s.len || s.ptr[used] != ',') {
            return false;
        }
        s = tc_slice_from(s, used + 1);
    }
    size_t end = tc_slice_find_byte(s, ';');
    if (end == TC_NPOS || strchr("-c+", s.ptr[0]) == NULL || s.ptr[0] == '\0') {
        return false;
    }
    if (field[2] < INT64_MAX / 1000) {
        set_uptime(in, (int64_t)field[2] * 1000, out);
    }
    out->origin = field[0] >> 3 == 0 ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
    out->framed = true;
    out->sure = true;
    *io_s = tc_slice_from(s, end + 1);
    return true;
}

/* "<4>" of dmesg -r: the priority, with the facility in its upper bits. */
static void take_priority(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    struct tc_slice s = *io_s;
    uint64_t priority = 0;
    if (!tc__kmsg_take(&s, TC_LIT("<"))) {
        return;
    }
    s = tc_slice_from(s, tc_slice_u64(s, &priority));
    if (s.len + 1 < io_s->len && tc__kmsg_take(&s, TC_LIT(">"))) {
        out->origin = priority >> 3 == 0 ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
        *io_s = s;
    }
}

/* "kern  :warn  : " of dmesg -x: two words padded to six columns. */
static void take_decoded(struct tc_slice *io_s, struct tc__kmsg_line *out)
{
    static const struct tc_slice levels[] = {
        {"emerg", 5}, {"alert", 5},  {"crit", 4}, {"err", 3},
        {"warn", 4},  {"notice", 6}, {"info", 4}, {"debug", 5},
    };
    struct tc_slice rest;
    struct tc_slice facility = tc_slice_cut(tc_slice_head(*io_s, DECODED_MAX), ':', &rest);
    struct tc_slice level = tc_slice_cut(rest, ':', &rest);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (tc_slice_eq(tc_slice_trim(level), levels[i])) {
            bool kernel = tc_slice_eq(tc_slice_trim(facility), TC_LIT("kern"));
            out->origin = kernel ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN;
            out->framed = true;
            *io_s = tc__kmsg_skip_spaces(tc_slice_from(*io_s, facility.len + level.len + 2));
            return;
        }
    }
}

/*
 * An ISO time. dmesg writes a comma before the fraction, and the message follows;
 * after any other a "host name[pid]:" means that a program logged the line.
 */
static bool take_iso(const struct tc_codec_input *in, struct tc_slice *io_s,
                     struct tc__kmsg_line *out)
{
    int64_t ns = 0;
    struct tc_slice s = *io_s;
    size_t used = tc_time_parse(s, in->utc_offset_s, &ns);
    if (used == 0 || (used < s.len && s.ptr[used] != ' ')) {
        return false;
    }
    bool dmesg = s.ptr[10] == 'T' && used > 19 && s.ptr[19] == ',';
    set_date(ns, out);
    s = tc__kmsg_skip_spaces(tc_slice_from(s, used));
    if (!take_tag(in, &s, out)) {
        struct tc_slice rest;
        struct tc_slice host = word_of(s, &rest);
        bool program = !dmesg && (is_program_tag(host) || is_program_tag(word_of(rest, &rest)));
        out->framed = out->framed || dmesg || program;
        if (program) {
            out->origin = TC__KMSG_FOREIGN;
        }
    }
    *io_s = s;
    return true;
}

/* "Sep 19 16:18:02 host tag: ": every such line has a tag, so without ours it is foreign. */
static bool take_syslog(const struct tc_codec_input *in, struct tc_slice *io_s,
                        struct tc__kmsg_line *out)
{
    struct tc_civil c;
    struct tc_slice s = *io_s;
    if (!take_date(&s, &c) || s.len == 0 || s.ptr[0] != ' ') {
        return false;
    }
    s = tc__kmsg_skip_spaces(s);
    set_date(yearless_time(in, c), out);
    out->framed = true;
    if (!take_tag(in, &s, out)) {
        out->origin = TC__KMSG_FOREIGN;
    }
    *io_s = s;
    return true;
}

/* " SUBSYSTEM=pci": what /dev/kmsg prints after a record. */
static bool is_continuation(struct tc_slice s)
{
    size_t at = 1;
    while (at < s.len && (is_upper(s.ptr[at]) || s.ptr[at] == '_')) {
        at++;
    }
    return s.len > 0 && s.ptr[0] == ' ' && at > 1 && at < s.len && s.ptr[at] == '=';
}

void tc__kmsg_frame_message(const struct tc_codec_input *in, struct tc_slice message,
                            struct tc__kmsg_line *out)
{
    struct tc_slice s = tc_slice_trim(message);
    struct tc_slice inner = s;
    uint64_t count = 0;
    out->message = s;
    if (!tc__kmsg_take(&inner, TC_LIT("message repeated "))) {
        return;
    }
    inner = tc_slice_from(inner, tc_slice_u64(inner, &count));
    if (count == 0 || count > REPEAT_MAX || !tc__kmsg_take(&inner, TC_LIT(" times: [")) ||
        !tc_slice_ends(inner, TC_LIT("]"))) {
        return;
    }
    inner = tc_slice_trim(tc_slice_head(inner, inner.len - 1));
    (void)take_uptime(in, &inner, out);
    out->message = inner;
    out->count = (int64_t)count;
}

void tc__kmsg_frame(const struct tc_codec_input *in, struct tc_slice raw, struct tc__kmsg_line *out)
{
    struct tc_slice s = raw;
    *out = (struct tc__kmsg_line){.raw = raw,
                                  .node = in->node,
                                  .time_ns = TC_TIME_NONE,
                                  .uptime_ns = TC_TIME_NONE,
                                  .count = 1,
                                  .origin = TC__KMSG_KERNEL};
    if (tc_slice_starts(s, TC_LIT("#"))) {
        out->origin = TC__KMSG_COMMENT;
        return;
    }
    if (is_continuation(s)) {
        out->origin = TC__KMSG_CONTINUATION;
        return;
    }
    if (tc_slice_starts(s, TC_LIT("{")) && tc__kmsg_frame_json(in, s, out)) {
        return;
    }
    if (!take_record(in, &s, out)) {
        take_priority(&s, out);
        take_decoded(&s, out);
        if (take_uptime(in, &s, out) || take_ctime(in, &s, out)) {
            out->framed = true;
            (void)take_tag(in, &s, out);
        } else if (!take_iso(in, &s, out) && !take_syslog(in, &s, out)) {
            (void)take_tag(in, &s, out);
        }
    }
    tc__kmsg_frame_message(in, s, out);
}
