/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus text 0.0.4 and OpenMetrics 1.0, as far as one file of the codec needs another:
 * a line, and where in a file one scrape ends and the next begins.
 */
#ifndef TC_CODEC_PROMETHEUS_PRIV_H
#define TC_CODEC_PROMETHEUS_PRIV_H

#include "base/slice.h"
#include "codec/codec.h"
#include "codec/metric/map_priv.h"
#include "codec/prometheus/prometheus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More labels than any exporter gives one sample. */
#define TC__PROM_LABELS_MAX TC__METRIC_PLACES

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

/* ---- kube.c: kube-state-metrics ---- */
struct tc__prom_kube;
/* NULL when nothing is made of a metric of that name. */
const struct tc__prom_kube *tc__prom_kube_find(struct tc_slice name);
/* True when the sample says something of a pod or node: *out is that, but for raw. */
bool tc__prom_kube_read(const struct tc__prom_kube *metric, const struct tc__prom_sample *sample,
                        int64_t time_ns, struct tc_event *out);

/*
 * The next line at *io_at, without '\n' and '\r' at its end, or a byte order mark before the
 * first; false when there is none.
 */
static inline bool tc__prom_line(struct tc_slice bytes, size_t *io_at, struct tc_slice *out)
{
    if (*io_at == 0) {
        *io_at = tc_slice_bom(bytes);
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

/* The scrape that a walk over a file is in, and what is known of its time. */
struct tc__prom_clock {
    uint64_t marker_at; /* see struct tc_prom_scrapes */
    uint64_t scrapes;
    uint64_t index;      /* of the scrape we are in, from 0; none yet: UINT64_MAX */
    uint64_t told_index; /* the scrape that told_ns is about */
    int64_t told_ns;     /* what a comment said */
    uint32_t marker_len;
    bool told;
    bool told_now; /* no sample came since */
};

/* Counts the scrapes of the bytes where nobody did before. */
void tc__prom_clock_init(struct tc__prom_clock *c, struct tc_slice bytes,
                         const struct tc_prom_scrapes *counted);
/* What a comment says is about the samples behind it. */
void tc__prom_clock_tell(struct tc__prom_clock *c, int64_t time_ns);
/* The time of a sample that says said_ns, else by the comment above it, else by when the last
 * scrape was taken: *out_assumed then. */
int64_t tc__prom_clock_time(struct tc__prom_clock *c, int64_t said_ns, int64_t taken_ns,
                            int64_t interval_ns, bool *out_assumed);

/* A line at `at`: whether a scrape begins there. A file of one has marker_len 0. */
static inline void tc__prom_clock_line(struct tc__prom_clock *c, struct tc_slice bytes, size_t at)
{
    c->index += c->marker_len > 0 && at < bytes.len && bytes.len - at >= c->marker_len &&
                memcmp(bytes.ptr + at, bytes.ptr + c->marker_at, c->marker_len) == 0;
}

/* What the first lines of an input look like. */
struct tc__prom_looks {
    unsigned samples;
    unsigned labelled; /* samples with labels, or of a metric that is read */
    unsigned metas;
    unsigned bad;
};

/* at_end: the bytes are all of the input, and their last line is whole. */
struct tc__prom_looks tc__prom_look(struct tc_slice bytes, bool at_end);

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
