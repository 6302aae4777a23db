/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the samples of a file were taken, where they do not say: comments that do, and the
 * places where one scrape ends and the next begins in a file of several.
 */
#include "codec/prometheus/priv.h"
#include "codec/prometheus/prometheus.h"

#include "base/limits.h"
#include "base/time.h"
#include "codec/metric/map_priv.h"

/* Lines that decide what an input is. */
#define SNIFF_LINES 400
/* Lines before the first sample that are looked at. */
#define HEAD_LINES 4096
/* Bytes that are searched for the beginnings of scrapes in one step. */
#define COUNT_STEP ((size_t)16 << 20)
/* A unix time in seconds has ten digits, one in milliseconds thirteen. */
#define UNIX_S_DIGITS 10
#define UNIX_MS_DIGITS 13

static struct tc_slice next_word(struct tc_slice *io_rest)
{
    struct tc_slice s = tc__prom_skip(*io_rest);
    size_t length = 0;
    while (length < s.len && s.ptr[length] != ' ' && s.ptr[length] != '\t') {
        length++;
    }
    *io_rest = tc_slice_from(s, length);
    return tc_slice_head(s, length);
}

/* "2026-03-04T05:06:00Z", or a unix time in seconds or milliseconds; nothing may follow it. */
static bool read_time(struct tc_slice s, int32_t utc_offset_s, int64_t *out_ns)
{
    uint64_t number = 0;
    int64_t ns = 0;
    s = tc_slice_trim(s);
    size_t used = tc_time_parse(s, utc_offset_s, &ns);
    if (used > 0) {
        struct tc_slice rest = tc_slice_trim(tc_slice_from(s, used));
        if (rest.len > 0 && !tc_slice_eq(rest, TC_LIT("UTC"))) {
            return false;
        }
    } else {
        int64_t unit = s.len == UNIX_S_DIGITS ? TC_SECOND : TC_SECOND / 1000;
        if ((s.len != UNIX_S_DIGITS && s.len != UNIX_MS_DIGITS) || !tc_slice_is_u64(s, &number) ||
            __builtin_mul_overflow((int64_t)number, unit, &ns)) {
            return false;
        }
    }
    *out_ns = ns;
    return ns >= 0 && ns <= TC_TIME_MAX;
}

/* "# scraped at TIME", "# time: TIME", "# timestamp=TIME", "# scrape time TIME" and the like. */
static bool says_time(struct tc_slice text, int32_t utc_offset_s, int64_t *out_ns)
{
    static const struct tc_slice words[] = {
        {"scraped", 7},      {"scrape", 6},      {"time", 4},      {"timestamp", 9},
        {"date", 4},         {"at", 2},          {"collected", 9}, {"captured", 8},
        {"scrape_time", 11}, {"scraped_at", 10}, {"on", 2},
    };
    struct tc_slice rest = tc__prom_skip(text);
    bool any = false;
    for (;;) {
        size_t length = 0;
        bool known = false;
        for (size_t i = 0; i < TC_COUNT(words); i++) {
            struct tc_slice head = tc_slice_head(rest, words[i].len);
            char end = rest.len > words[i].len ? rest.ptr[words[i].len] : '\0';
            if (tc_slice_eq_nocase(head, words[i]) &&
                (end == ' ' || end == '\t' || end == ':' || end == '=')) {
                known = true;
                length = words[i].len;
            }
        }
        if (!known) {
            break;
        }
        any = true;
        rest = tc_slice_from(rest, length);
        while (rest.len > 0 && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t' || rest.ptr[0] == ':' ||
                                rest.ptr[0] == '=')) {
            rest = tc_slice_from(rest, 1);
        }
    }
    return any && read_time(rest, utc_offset_s, out_ns);
}

enum tc__prom_comment tc__prom_comment(struct tc_slice line, int32_t utc_offset_s,
                                       struct tc_slice *out_metric, int64_t *out_ns)
{
    struct tc_slice text = tc_slice_from(line, 1);
    struct tc_slice rest = text;
    struct tc_slice word = next_word(&rest);
    *out_metric = TC_EMPTY;
    if (tc_slice_eq(word, TC_LIT("EOF"))) {
        return tc_slice_trim(rest).len == 0 ? TC__PROM_META : TC__PROM_PLAIN;
    }
    if (tc_slice_eq(word, TC_LIT("HELP")) || tc_slice_eq(word, TC_LIT("TYPE")) ||
        tc_slice_eq(word, TC_LIT("UNIT"))) {
        *out_metric = next_word(&rest);
        return out_metric->len > 0 ? TC__PROM_META : TC__PROM_PLAIN;
    }
    return says_time(text, utc_offset_s, out_ns) ? TC__PROM_TIME : TC__PROM_PLAIN;
}

/* How often the marker starts a line that begins in [start, end). */
static uint64_t count_marker(struct tc_slice bytes, struct tc_slice marker, size_t start,
                             size_t end)
{
    uint64_t count = 0;
    size_t at = start;
    while (marker.len > 0 && at < end) {
        struct tc_slice window = tc_slice_head(tc_slice_from(bytes, at), end - at + marker.len - 1);
        size_t found = tc_slice_find(window, marker);
        if (found == TC_NPOS) {
            break;
        }
        at += found;
        bool first = at == 0 || at == tc_slice_bom(bytes);
        count += first || bytes.ptr[at - 1] == '\n';
        at++;
    }
    return count;
}

/* What every scrape begins with: the series and the blank behind it, or "# TYPE name " alike. */
static struct tc_slice marker_of(struct tc_slice bytes, struct tc_slice part)
{
    size_t start = (size_t)(part.ptr - bytes.ptr);
    bool closed = part.ptr[part.len - 1] == '}';
    return tc_slice_head(tc_slice_from(bytes, start), part.len + !closed);
}

void tc_prom_count_begin(struct tc_prom_count *c, struct tc_slice bytes)
{
    struct tc_slice line;
    struct tc__prom_sample sample;
    bool told = false;
    size_t at = 0;
    *c = (struct tc_prom_count){.scrapes = {.count = 1}, .bytes = bytes, .at = bytes.len};
    for (unsigned lines = 0; lines < HEAD_LINES && tc__prom_line(bytes, &at, &line); lines++) {
        struct tc_slice metric;
        int64_t time_ns = 0;
        if (line.len > TC_LINE_MAX) {
            continue;
        }
        if (line.len > 0 && line.ptr[0] == '#') {
            enum tc__prom_comment comment = tc__prom_comment(line, 0, &metric, &time_ns);
            told = told || comment == TC__PROM_TIME;
            if (comment == TC__PROM_META && metric.len > 0 && c->meta.len == 0) {
                struct tc_slice part =
                    tc_slice_head(line, (size_t)(metric.ptr + metric.len - line.ptr));
                c->meta = marker_of(bytes, part);
            }
        } else if (tc__prom_parse(line, &sample) == NULL) {
            bool undated = sample.time_ns == TC_TIME_NONE;
            c->scrapes.undated = undated && !told;
            c->series = marker_of(bytes, sample.series);
            c->at = undated ? 0 : bytes.len;
            return;
        }
    }
}

bool tc_prom_count_more(struct tc_prom_count *c)
{
    size_t left = c->bytes.len - c->at;
    size_t end = c->at + (left < COUNT_STEP ? left : COUNT_STEP);
    if (left > 0) {
        c->series_count += count_marker(c->bytes, c->series, c->at, end);
        c->meta_count += count_marker(c->bytes, c->meta, c->at, end);
        c->at = end;
        return true;
    }
    /*
     * The first series again means that the same exporter was asked again. A series may be gone
     * from a later scrape; the line about its metric is still there.
     */
    if (c->series_count > 1) {
        bool by_meta = c->meta_count >= c->series_count;
        struct tc_slice marker = by_meta ? c->meta : c->series;
        c->scrapes.count = by_meta ? c->meta_count : c->series_count;
        c->scrapes.marker_at = (size_t)(marker.ptr - c->bytes.ptr);
        c->scrapes.marker_len = marker.len;
    }
    return false;
}

void tc__prom_clock_init(struct tc__prom_clock *c, struct tc_slice bytes,
                         const struct tc_prom_scrapes *counted)
{
    struct tc_prom_count count;
    if (counted == NULL) {
        tc_prom_count_begin(&count, bytes);
        while (tc_prom_count_more(&count)) {
        }
        counted = &count.scrapes;
    }
    *c = (struct tc__prom_clock){.marker_at = counted->marker_at,
                                 .marker_len = (uint32_t)counted->marker_len,
                                 .scrapes = counted->count,
                                 .index = counted->marker_len > 0 ? UINT64_MAX : 0};
}

void tc__prom_clock_tell(struct tc__prom_clock *c, int64_t time_ns)
{
    c->told_ns = time_ns;
    c->told = true;
    c->told_now = true;
}

/* The time so many scrapes before time_ns, or after it when back < 0. TC_TIME_NONE: there is none.
 */
static int64_t shift(int64_t time_ns, int64_t interval_ns, int64_t back)
{
    int64_t by = 0;
    int64_t ns = 0;
    if (__builtin_mul_overflow(interval_ns, back, &by) ||
        __builtin_sub_overflow(time_ns, by, &ns) || ns < 0 || ns > TC_TIME_MAX) {
        return TC_TIME_NONE;
    }
    return ns;
}

int64_t tc__prom_clock_time(struct tc__prom_clock *c, int64_t said_ns, int64_t taken_ns,
                            int64_t interval_ns, bool *out_assumed)
{
    int64_t interval = interval_ns > 0 ? interval_ns : TC_SCRAPE_INTERVAL;
    uint64_t index = c->index == UINT64_MAX ? 0 : c->index;
    if (c->told_now) {
        c->told_now = false;
        c->told_index = index;
    }
    *out_assumed = said_ns == TC_TIME_NONE && !c->told;
    if (said_ns != TC_TIME_NONE) {
        return said_ns;
    }
    if (c->told) {
        return shift(c->told_ns, interval, (int64_t)c->told_index - (int64_t)index);
    }
    uint64_t last = c->scrapes - 1;
    return taken_ns <= 0 ? TC_TIME_NONE
                         : shift(taken_ns, interval, index < last ? (int64_t)(last - index) : 0);
}

struct tc__prom_looks tc__prom_look(struct tc_slice bytes, bool at_end)
{
    struct tc__prom_looks l = {0};
    struct tc_slice line;
    size_t at = 0;
    for (unsigned lines = 0; lines < SNIFF_LINES && tc__prom_line(bytes, &at, &line); lines++) {
        struct tc_slice text = tc__prom_skip(line);
        struct tc_slice metric;
        struct tc__prom_sample sample;
        struct tc__metric_use use;
        int64_t time_ns = 0;
        bool torn = !at_end && at == bytes.len && bytes.ptr[bytes.len - 1] != '\n';
        if (text.len == 0 || torn) {
            continue;
        }
        if (text.ptr[0] == '#') {
            l.metas += tc__prom_comment(text, 0, &metric, &time_ns) == TC__PROM_META;
            continue;
        }
        /* "replicas: 3" is YAML. */
        bool ok = text.len <= TC_LINE_MAX && tc__prom_parse(text, &sample) == NULL &&
                  !tc_slice_ends(sample.series, TC_LIT(":"));
        l.samples += ok;
        l.bad += !ok;
        l.labelled += ok && (sample.label_count > 0 || tc__metric_map(sample.name, &use));
    }
    return l;
}
