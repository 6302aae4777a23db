/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus text 0.0.4 and OpenMetrics 1.0, as far as one file of the codec needs another:
 * a line, and where in a file one scrape ends and the next begins.
 */
#ifndef TC_CODEC_PROMETHEUS_PRIV_H
#define TC_CODEC_PROMETHEUS_PRIV_H

#include "base/slice.h"
#include "codec/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More labels than any exporter gives one sample. */
#define TC__PROM_LABELS_MAX 64

struct tc__prom_label {
    struct tc_slice key;
    struct tc_slice value;
    bool escaped; /* value holds backslashes that stand for other bytes */
};

/* A sample. Slices are of the line. */
struct tc__prom_sample {
    struct tc_slice series; /* name and labels, as they stand there */
    struct tc_slice name;
    double value;    /* may be NaN or infinite */
    int64_t time_ns; /* TC_TIME_NONE when the line has none */
    size_t label_count;
    struct tc__prom_label labels[TC__PROM_LABELS_MAX]; /* set up to label_count */
};

/* The metric's name at the start of a line; empty when it does not start with one. */
struct tc_slice tc__prom_name(struct tc_slice line);

/* NULL when line (without its end) is a sample, else what is wrong with it. */
const char *tc__prom_parse(struct tc_slice line, struct tc__prom_sample *out);

/* Undoes the escapes. Empty when the arena is full. */
struct tc_slice tc__prom_unescape(struct tc_slice value, struct tc_arena *arena);

#define TC__PROM_BOM TC_LIT("\xef\xbb\xbf")

/*
 * The next line at *io_at, without '\n' and '\r' at its end, or a byte order mark before the
 * first; false when there is none.
 */
static inline bool tc__prom_line(struct tc_slice bytes, size_t *io_at, struct tc_slice *out)
{
    if (*io_at == 0 && tc_slice_starts(bytes, TC__PROM_BOM)) {
        *io_at = TC__PROM_BOM.len;
    }
    if (*io_at >= bytes.len) {
        return false;
    }
    const char *start = bytes.ptr + *io_at;
    const char *end = memchr(start, '\n', bytes.len - *io_at);
    size_t length = end == NULL ? bytes.len - *io_at : (size_t)(end - start);
    *io_at += length + (end != NULL);
    if (length > 0 && start[length - 1] == '\r') {
        length--;
    }
    *out = tc_slice_make(start, length);
    return true;
}

/* Whether the line at `at` is the one that begins each scrape: that at marker_at. A file without
 * such a line has marker_len 0. */
static inline bool tc__prom_is_marked(struct tc_slice bytes, size_t at, size_t marker_at,
                                      size_t marker_len)
{
    return marker_len > 0 && at < bytes.len && bytes.len - at >= marker_len &&
           memcmp(bytes.ptr + at, bytes.ptr + marker_at, marker_len) == 0;
}

/* The time so many scrapes before time_ns, or after it when back < 0. TC_TIME_NONE: there is none.
 */
static inline int64_t tc__prom_shift(int64_t time_ns, int64_t interval_ns, int64_t back)
{
    int64_t by = 0;
    int64_t ns = 0;
    if (__builtin_mul_overflow(interval_ns, back, &by) ||
        __builtin_sub_overflow(time_ns, by, &ns) || ns < 0 || ns > TC_TIME_MAX) {
        return TC_TIME_NONE;
    }
    return ns;
}

/* Without blanks and tabs before it. */
struct tc_slice tc__prom_skip(struct tc_slice s);

enum tc__prom_comment {
    TC__PROM_PLAIN, /* a comment like any other */
    TC__PROM_META,  /* HELP, TYPE or UNIT of a metric, or EOF */
    TC__PROM_TIME,  /* says when the scrape was taken */
};

/*
 * What a comment is. META: *out_metric is the metric it is about, empty for EOF. TIME: *out_ns.
 */
enum tc__prom_comment tc__prom_comment(struct tc_slice line, int32_t utc_offset_s,
                                       struct tc_slice *out_metric, int64_t *out_ns);

#endif
