/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a scrape says: when it was taken, of which node, and its place in order. */
#include "intake/scrapes.h"

#include "base/time.h"
#include "codec/node_name.h"

#include <string.h>

/* Unix times before 2001 or after 2100 are some other number. */
#define UNIX_MIN INT64_C(1000000000)
#define UNIX_MAX INT64_C(4102444800)

static size_t digits_at(struct tc_slice s, size_t at)
{
    size_t end = at;
    while (end < s.len && tc_is_digit(s.ptr[end])) {
        end++;
    }
    return end - at;
}

/* Exactly `count` digits at s[*io_at]; *io_at is behind them then. */
static bool take_digits(struct tc_slice s, size_t *io_at, size_t count, int32_t *out)
{
    int32_t value = 0;
    if (*io_at + count > s.len) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!tc_is_digit(s.ptr[*io_at + i])) {
            return false;
        }
        value = value * 10 + (s.ptr[*io_at + i] - '0');
    }
    *io_at += count;
    *out = value;
    return true;
}

static void skip_one_of(struct tc_slice s, size_t *io_at, const char *bytes)
{
    if (*io_at < s.len && s.ptr[*io_at] != '\0' && strchr(bytes, s.ptr[*io_at]) != NULL) {
        (*io_at)++;
    }
}

/* ".123" behind the seconds, then "Z", "+02:00" or "+0200"; "-02:00" needs its colon. */
static void take_rest(struct tc_slice s, size_t *io_at, struct tc_civil *c, int32_t *io_offset_s)
{
    size_t at = *io_at;
    size_t count = at < s.len && s.ptr[at] == '.' ? digits_at(s, at + 1) : 0;
    if (count > 0 && count <= 9) {
        at++;
        (void)take_digits(s, &at, count, &c->nanos);
        for (; count < 9; count++) {
            c->nanos *= 10;
        }
        *io_at = at;
    }
    if (at < s.len && (s.ptr[at] == 'Z' || s.ptr[at] == 'z')) {
        *io_offset_s = 0;
        *io_at = at + 1;
        return;
    }
    char sign = at < s.len ? s.ptr[at] : '\0';
    int32_t hours = 0;
    int32_t minutes = 0;
    at++;
    if ((sign != '+' && sign != '-') || !take_digits(s, &at, 2, &hours)) {
        return;
    }
    bool colon = at < s.len && s.ptr[at] == ':';
    at += colon;
    if ((sign == '+' || colon) && take_digits(s, &at, 2, &minutes) && hours < 24 && minutes < 60) {
        int32_t seconds = hours * 3600 + minutes * 60;
        *io_offset_s = sign == '-' ? -seconds : seconds;
        *io_at = at;
    }
}

/* A date and a time of day at s[at]: the bytes they take, 0 when there are none. */
static size_t date_at(struct tc_slice s, size_t at, int32_t utc_offset_s, int64_t *out_ns)
{
    struct tc_civil c = {0};
    /* Each part, and what may stand behind it: only between day and hour there has to be. */
    const struct {
        size_t digits;
        int32_t *value;
        const char *behind;
    } parts[] = {{4, &c.year, "-_."},  {2, &c.month, "-_."},   {2, &c.day, "Tt _-."},
                 {2, &c.hour, ":-_."}, {2, &c.minute, ":-_."}, {2, &c.second, ""}};
    size_t start = at;
    int64_t ns = 0;
    size_t end = at;
    for (size_t i = 0; i < TC_COUNT(parts); i++) {
        if (!take_digits(s, &at, parts[i].digits, parts[i].value)) {
            if (parts[i].value != &c.second) {
                return 0;
            }
            at = end; /* "T0506", "T05:06": to the minute */
            break;
        }
        end = at;
        skip_one_of(s, &at, parts[i].behind);
        if (parts[i].value == &c.day && at == end) {
            return 0;
        }
    }
    take_rest(s, &at, &c, &utc_offset_s);
    if ((at < s.len && tc_is_digit(s.ptr[at])) || !tc_time_from_civil(&c, &ns) ||
        __builtin_sub_overflow(ns, utc_offset_s * TC_SECOND, &ns) || ns < 0 || ns > TC_TIME_MAX) {
        return 0;
    }
    *out_ns = ns;
    return at - start;
}

static size_t unix_at(struct tc_slice s, size_t at, int64_t *out_ns)
{
    size_t count = digits_at(s, at);
    uint64_t number = 0;
    if ((count != 10 && count != 13) ||
        !tc_slice_is_u64(tc_slice_make(s.ptr + at, count), &number)) {
        return 0;
    }
    int64_t seconds = (int64_t)number / (count == 10 ? 1 : 1000);
    if (seconds < UNIX_MIN || seconds > UNIX_MAX) {
        return 0;
    }
    *out_ns = (int64_t)number * (count == 10 ? TC_SECOND : TC_SECOND / 1000);
    return count;
}

/* The first time in a name: where it starts and how long it is; false when there is none. */
static bool find_time(struct tc_slice s, int32_t utc_offset_s, size_t *out_at, size_t *out_len,
                      int64_t *out_ns)
{
    for (size_t at = 0; at < s.len; at++) {
        if (!tc_is_digit(s.ptr[at]) || (at > 0 && tc_is_digit(s.ptr[at - 1]))) {
            continue;
        }
        size_t length = date_at(s, at, utc_offset_s, out_ns);
        length = length == 0 ? unix_at(s, at, out_ns) : length;
        if (length > 0) {
            *out_at = at;
            *out_len = length;
            return true;
        }
    }
    return false;
}

bool tc_scrape_text_time(struct tc_slice text, int32_t utc_offset_s, int64_t *out_ns)
{
    size_t at = 0;
    size_t length = 0;
    return find_time(text, utc_offset_s, &at, &length, out_ns);
}

bool tc_scrape_name_time(struct tc_slice path, int32_t utc_offset_s, int64_t *out_ns)
{
    size_t at = 0;
    size_t length = 0;
    struct tc_slice folder = tc_slice_head(path, path.len - tc_path_base(path).len);
    folder.len -= folder.len > 0; /* the slash */
    return find_time(tc_path_base(path), utc_offset_s, &at, &length, out_ns) ||
           find_time(tc_path_base(folder), utc_offset_s, &at, &length, out_ns);
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.' || c == '@';
}

static struct tc_slice trim_separators(struct tc_slice s)
{
    while (s.len > 0 && is_separator(s.ptr[0])) {
        s = tc_slice_from(s, 1);
    }
    while (s.len > 0 && is_separator(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

/* Without a number that counts scrapes: "gpu-07_12". Names of hosts have no '_'. */
static struct tc_slice cut_counter(struct tc_slice s)
{
    size_t digits = 0;
    while (digits < s.len && tc_is_digit(s.ptr[s.len - 1 - digits])) {
        digits++;
    }
    bool counts = digits > 0 && digits < s.len && s.ptr[s.len - 1 - digits] == '_';
    return counts ? trim_separators(tc_slice_head(s, s.len - digits)) : s;
}

struct tc_slice tc_scrape_node(struct tc_slice path)
{
    /* Longer ones first where one starts like another. */
    static const struct tc_slice exporters[] = {
        {"nvidia_gpu_exporter", 19},
        {"nvidia-gpu-exporter", 19},
        {"dcgm-exporter", 13},
        {"dcgm_exporter", 13},
        {"node-exporter", 13},
        {"node_exporter", 13},
        {"ping-exporter", 13},
        {"ping_exporter", 13},
        {"prometheus", 10},
        {"metrics", 7},
        {"scrape", 6},
        {"dcgm", 4},
        {"ping", 4},
        {"prom", 4},
    };
    struct tc_slice base = tc_path_base(path);
    size_t at = 0;
    size_t length = 0;
    int64_t time_ns = 0;
    if (find_time(base, 0, &at, &length, &time_ns)) {
        base.len = at; /* what is behind the time is the extension, or a counter */
    } else {
        for (size_t i = base.len; i > 1; i--) {
            if (base.ptr[i - 1] == '.') {
                base.len = i - 1;
                break;
            }
        }
    }
    for (size_t i = 0; i < TC_COUNT(exporters); i++) {
        struct tc_slice rest = tc_slice_from(base, exporters[i].len);
        if (tc_slice_starts(base, exporters[i]) && rest.len > 1 && is_separator(rest.ptr[0])) {
            struct tc_slice node = cut_counter(trim_separators(rest));
            return tc_node_is_plain(node) ? node : TC_EMPTY;
        }
    }
    return TC_EMPTY;
}

int tc_natural_cmp(struct tc_slice a, struct tc_slice b)
{
    size_t i = 0;
    size_t j = 0;
    while (i < a.len && j < b.len) {
        size_t n = digits_at(a, i);
        size_t m = digits_at(b, j);
        if (n == 0 || m == 0) {
            if (a.ptr[i] != b.ptr[j]) {
                return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[j] ? -1 : 1;
            }
            i++;
            j++;
            continue;
        }
        struct tc_slice x = tc_slice_make(a.ptr + i, n);
        struct tc_slice y = tc_slice_make(b.ptr + j, m);
        while (x.len > 1 && x.ptr[0] == '0') {
            x = tc_slice_from(x, 1);
        }
        while (y.len > 1 && y.ptr[0] == '0') {
            y = tc_slice_from(y, 1);
        }
        int order = x.len != y.len ? (x.len < y.len ? -1 : 1) : tc_slice_cmp(x, y);
        if (order != 0) {
            return order;
        }
        i += n;
        j += m;
    }
    if (i < a.len || j < b.len) {
        return i < a.len ? 1 : -1;
    }
    return tc_slice_cmp(a, b); /* "01" and "1" */
}
