/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones as the system's database has them (TZif, RFC 9636): a list of changes, and for the
 * time after the last of them a rule as POSIX writes it ("CET-1CEST,M3.5.0,M10.5.0/3"). Only the
 * 64-bit part of a file is read, which every file since 2005 has.
 */
#include "alert/quiet.h"

#include "base/time.h"

#include <endian.h>
#include <string.h>

#define HEAD_BYTES 44
#define OFFSET_MAX (26 * 3600)
#define DAY_S 86400

static uint32_t get32(const char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return be32toh(value);
}

static int64_t get64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return (int64_t)be64toh(value);
}

bool tc_zone_is_name(struct tc_slice text)
{
    bool good = text.len > 0 && text.ptr[0] != '/' && !tc_slice_contains(text, TC_LIT(".."));
    for (size_t i = 0; i < text.len && good; i++) {
        char c = text.ptr[i];
        good = tc_is_word(c) || c == '/' || c == '-' || c == '+';
    }
    return good;
}

bool tc_zone_fixed(struct tc_slice text, struct tc_zone *out)
{
    memset(out, 0, sizeof *out);
    if (text.len == 0 || tc_slice_eq_nocase(text, TC_LIT("UTC"))) {
        return true;
    }
    uint64_t hours = 0;
    uint64_t minutes = 0;
    bool has_sign = text.ptr[0] == '+' || text.ptr[0] == '-';
    if (!has_sign || text.len != 6 || text.ptr[3] != ':' ||
        !tc_slice_is_u64(tc_slice_make(text.ptr + 1, 2), &hours) ||
        !tc_slice_is_u64(tc_slice_make(text.ptr + 4, 2), &minutes) || hours > 14 || minutes > 59) {
        return false;
    }
    out->standard_s = (int32_t)(hours * 3600 + minutes * 60) * (text.ptr[0] == '-' ? -1 : 1);
    return true;
}

/* ---- the rule ------------------------------------------------------------------------------- */

/* Takes a name: letters, or anything in angle brackets. */
static bool take_name(struct tc_slice *io)
{
    size_t len = 0;
    if (io->len > 0 && io->ptr[0] == '<') {
        size_t end = tc_slice_find_byte(*io, '>');
        len = end == TC_NPOS ? 0 : end + 1;
    } else {
        while (len < io->len && tc_is_word(io->ptr[len]) && !tc_is_digit(io->ptr[len])) {
            len++;
        }
    }
    *io = tc_slice_from(*io, len);
    return len > 0;
}

/* "[+-]hh[:mm[:ss]]" in seconds. */
static bool take_time(struct tc_slice *io, int32_t *out)
{
    int32_t sign = 1;
    int32_t seconds = 0;
    int32_t unit = 3600;
    if (io->len > 0 && (io->ptr[0] == '-' || io->ptr[0] == '+')) {
        sign = io->ptr[0] == '-' ? -1 : 1;
        *io = tc_slice_from(*io, 1);
    }
    for (; unit > 0; unit /= 60) {
        uint64_t n = 0;
        size_t used = tc_slice_u64(*io, &n);
        if (used == 0 || n > 167) {
            return false;
        }
        seconds += (int32_t)n * unit;
        *io = tc_slice_from(*io, used);
        if (io->len == 0 || io->ptr[0] != ':') {
            break;
        }
        *io = tc_slice_from(*io, 1);
    }
    *out = sign * seconds;
    return unit > 0;
}

static bool take_number(struct tc_slice *io, char before, int32_t least, int32_t most, int32_t *out)
{
    uint64_t n = 0;
    struct tc_slice rest = tc_slice_from(*io, 1);
    size_t used = io->len > 0 && io->ptr[0] == before ? tc_slice_u64(rest, &n) : 0;
    if (used == 0 || n < (uint64_t)least || n > (uint64_t)most) {
        return false;
    }
    *out = (int32_t)n;
    *io = tc_slice_from(rest, used);
    return true;
}

static bool take_rule(struct tc_slice *io, struct tc_zone_rule *out)
{
    if (io->len == 0 || io->ptr[0] != ',') {
        return false;
    }
    *io = tc_slice_from(*io, 1);
    out->second = 2 * 3600;
    if (!take_number(io, 'M', 1, 12, &out->month) || !take_number(io, '.', 1, 5, &out->week) ||
        !take_number(io, '.', 0, 6, &out->day)) {
        return false;
    }
    if (io->len > 0 && io->ptr[0] == '/') {
        *io = tc_slice_from(*io, 1);
        return take_time(io, &out->second);
    }
    return true;
}

static bool read_rule(struct tc_slice text, struct tc_zone *out)
{
    int32_t west = 0;
    if (!take_name(&text) || !take_time(&text, &west)) {
        return false;
    }
    out->standard_s = -west;
    if (text.len == 0) {
        return true;
    }
    west -= 3600;
    if (!take_name(&text) || (text.len > 0 && text.ptr[0] != ',' && !take_time(&text, &west)) ||
        !take_rule(&text, &out->begin) || !take_rule(&text, &out->end)) {
        return false;
    }
    out->summer_s = -west;
    out->has_summer = true;
    return text.len == 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* The counts of a head: isut, isstd, leap, time, type, char. */
struct head {
    size_t counts[6];
};

static bool read_head(struct tc_slice bytes, struct head *out)
{
    if (bytes.len < HEAD_BYTES || !tc_slice_starts(bytes, TC_LIT("TZif"))) {
        return false;
    }
    for (size_t i = 0; i < TC_COUNT(out->counts); i++) {
        out->counts[i] = get32(bytes.ptr + 20 + 4 * i);
        if (out->counts[i] > TC_ZONE_BYTES_MAX) {
            return false;
        }
    }
    return out->counts[4] > 0;
}

static size_t body_bytes(const struct head *h, size_t time_bytes)
{
    const size_t *c = h->counts;
    return c[3] * (time_bytes + 1) + c[4] * 6 + c[5] + c[2] * (time_bytes + 4) + c[1] + c[0];
}

/* The changes, the newest TC_ZONE_CHANGES_MAX of them. */
static bool read_changes(struct tc_slice body, const struct head *h, struct tc_zone *out)
{
    size_t count = h->counts[3];
    size_t type_count = h->counts[4];
    const char *types = body.ptr + count * 8;
    const char *infos = types + count;
    size_t skip = count > TC_ZONE_CHANGES_MAX ? count - TC_ZONE_CHANGES_MAX : 0;
    for (size_t i = skip; i < count; i++) {
        size_t type = (unsigned char)types[i];
        int64_t at_s = get64(body.ptr + i * 8);
        int32_t offset_s = type < type_count ? (int32_t)get32(infos + type * 6) : INT32_MAX;
        bool is_later = out->change_count == 0 || at_s > out->changes[out->change_count - 1].at_s;
        if (offset_s > OFFSET_MAX || offset_s < -OFFSET_MAX || !is_later) {
            return false;
        }
        out->changes[out->change_count].at_s = at_s;
        out->changes[out->change_count++].offset_s = offset_s;
    }
    out->first_s = (int32_t)get32(infos);
    out->standard_s = count > 0 ? out->changes[out->change_count - 1].offset_s : out->first_s;
    return out->first_s <= OFFSET_MAX && out->first_s >= -OFFSET_MAX;
}

tc_status tc_zone_read(struct tc_slice bytes, struct tc_zone *out, struct tc_error *err)
{
    struct head first;
    struct head second;
    memset(out, 0, sizeof *out);
    if (bytes.len > TC_ZONE_BYTES_MAX || !read_head(bytes, &first) || bytes.ptr[4] < '2') {
        return tc_fail(err, TC_E_MALFORMED, 0, "is no time zone");
    }
    struct tc_slice rest = tc_slice_from(bytes, HEAD_BYTES + body_bytes(&first, 4));
    struct tc_slice body = tc_slice_from(rest, HEAD_BYTES);
    if (!read_head(rest, &second) || body.len < body_bytes(&second, 8) ||
        !read_changes(body, &second, out)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "is a damaged time zone");
    }
    struct tc_slice footer = tc_slice_from(body, body_bytes(&second, 8));
    struct tc_slice rule = tc_slice_trim(footer);
    if (rule.len > 0 && !read_rule(rule, out)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "has a rule that is not understood: %.*s",
                       TC_FMT(tc_slice_head(rule, 60)));
    }
    return TC_OK;
}

/* ---- asking --------------------------------------------------------------------------------- */

/* When the rule comes true in a year, by a clock that shows the offset. */
static int64_t rule_time(const struct tc_zone_rule *rule, int32_t year, int32_t offset_s)
{
    struct tc_civil first = {.year = year, .month = rule->month, .day = 1};
    struct tc_civil next = {.year = rule->month == 12 ? year + 1 : year,
                            .month = rule->month == 12 ? 1 : rule->month + 1,
                            .day = 1};
    int64_t first_ns = 0;
    int64_t next_ns = 0;
    if (!tc_time_from_civil(&first, &first_ns) || !tc_time_from_civil(&next, &next_ns)) {
        return INT64_MAX;
    }
    int64_t day = first_ns / TC_SECOND / DAY_S;
    int64_t month_end = next_ns / TC_SECOND / DAY_S;
    int64_t weekday = (day + 4) % 7; /* 0: Sunday */
    day += (rule->day - weekday + 7) % 7 + (int64_t)(rule->week - 1) * 7;
    day -= day >= month_end ? 7 : 0; /* week 5 is the last */
    return day * DAY_S + rule->second - offset_s;
}

int32_t tc_zone_offset(const struct tc_zone *zone, int64_t ns)
{
    int64_t now_s = ns / TC_SECOND;
    size_t count = zone->change_count;
    bool is_ruled = count == 0 || now_s >= zone->changes[count - 1].at_s;
    if (!is_ruled) {
        size_t at = count;
        while (at > 0 && zone->changes[at - 1].at_s > now_s) {
            at--;
        }
        return at == 0 ? zone->first_s : zone->changes[at - 1].offset_s;
    }
    if (!zone->has_summer) {
        return zone->standard_s;
    }
    struct tc_civil now;
    tc_time_to_civil(ns, &now);
    int64_t begin_s = rule_time(&zone->begin, now.year, zone->standard_s);
    int64_t end_s = rule_time(&zone->end, now.year, zone->summer_s);
    bool is_summer =
        begin_s < end_s ? now_s >= begin_s && now_s < end_s : now_s >= begin_s || now_s < end_s;
    return is_summer ? zone->summer_s : zone->standard_s;
}
