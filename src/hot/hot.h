/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hot metrics: what passes of telemetry, reduced to a few series that can be kept in memory and
 * scraped. Samples of all GPUs, ranks and servers that have the same allowed labels (labels.def)
 * become one series of a metric of metrics.def; every other label is dropped and counted. How many
 * series there are is bounded by a budget, whatever comes. docs/internals/hot-metrics.md has the
 * design. One thread; all memory is taken at creation.
 */
#ifndef TC_HOT_HOT_H
#define TC_HOT_HOT_H

#include "base/buf.h"
#include "base/status.h"
#include "codec/samples.h"

#include <stddef.h>
#include <stdint.h>

struct tc_hot;

struct tc_hot_config {
    size_t series_max; /* lines of the page: a gauge has three, a summary two */
    size_t page_bytes; /* the page is never longer */
    int64_t window_ns; /* gauges are over the samples of so long */
    int64_t stale_ns; /* a series without samples for so long leaves; older samples are not taken */
    uint64_t seed;    /* of hashes: what no sender can know */
};

#define TC_HOT_SERIES_MAX ((size_t)100000)

enum tc_hot_count {
    TC_HOT_SAMPLES,           /* that went into a series */
    TC_HOT_SAMPLES_OLD,       /* dated before stale_ns */
    TC_HOT_SAMPLES_AHEAD,     /* dated that much after our clock */
    TC_HOT_SAMPLES_REPEATED,  /* of a counter: no newer than the one before */
    TC_HOT_SAMPLES_NOT_VALUE, /* NaN, infinite, or DCGM's words for "none" */
    TC_HOT_SAMPLES_REQUEST,   /* of a counter with labels of one request: its rise is not known */
    TC_HOT_SAMPLES_REFUSED,   /* of series that were refused */
    TC_HOT_LABELS_REQUEST,    /* dropped: request_id, trace_id, a hash of a prompt ... */
    TC_HOT_LABELS_IDENTITY,   /* dropped: node, GPU, pod, rank, job ... */
    TC_HOT_LABELS_TAG,        /* dropped: anything else */
    TC_HOT_LABELS_UNFIT,      /* an allowed one, too long or no text */
    TC_HOT_REFUSED_BUDGET,    /* new series that series_max had no room for, each time they came */
    TC_HOT_REFUSED_PAGE,      /* the same for page_bytes */
    TC_HOT_EXPIRED,           /* series that left */
    TC_HOT_COUNT_MAX
};

/* NULL without memory. */
struct tc_hot *tc_hot_create(const struct tc_hot_config *config);
void tc_hot_destroy(struct tc_hot *h);

/* One sample, dated time_ns, that came at now_ns. Most are of no hot metric, and cost a look at
 * their name. Copies what it keeps; allocates nothing. */
void tc_hot_add(struct tc_hot *h, const struct tc_sample *sample, int64_t time_ns, int64_t now_ns);
/* Ends the window of gauges when it is over, and lets series go that nothing came for. */
void tc_hot_tick(struct tc_hot *h, int64_t now_ns);
/* All series as Prometheus text, at most page_bytes of it. */
void tc_hot_render(struct tc_hot *h, struct tc_buf *b);

/* Lines of the page now. */
size_t tc_hot_series(const struct tc_hot *h);
uint64_t tc_hot_count(const struct tc_hot *h, enum tc_hot_count which);

#endif
