/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon counts of itself: one table (metrics.def), counted from any thread, shown as
 * Prometheus text. Every drop, limit and error has a line there, by reason.
 */
#ifndef TC_OBSERVE_METRICS_H
#define TC_OBSERVE_METRICS_H

#include "base/buf.h"
#include "base/slice.h"
#include "event/finding.h"

#include <stddef.h>
#include <stdint.h>

enum tc_counter {
#define COUNTER(id, name, labels, help) TC_COUNT_##id,
#define GAUGE(id, name, labels, help) TC_COUNT_##id,
#include "observe/metrics.def"
#undef COUNTER
#undef GAUGE
    TC_COUNTER_COUNT
};

/* Process-wide, as the process is what is observed. Relaxed atomics. */
void tc_count(enum tc_counter c, uint64_t by);
void tc_gauge(enum tc_counter c, int64_t value);
/* For what is counted elsewhere and copied here before rendering. */
void tc_counter_set(enum tc_counter c, uint64_t value);
uint64_t tc_counter_value(enum tc_counter c);

/* The same for each pattern: label pattern="name". */
enum tc_pattern_metric {
#define PATTERN_COUNTER(id, name, help) TC_PATTERN_##id,
#define PATTERN_GAUGE(id, name, help) TC_PATTERN_##id,
#include "observe/metrics_patterns.def"
#undef PATTERN_COUNTER
#undef PATTERN_GAUGE
    TC_PATTERN_METRIC_COUNT
};

/* detector: its index in tc_detectors(); one that is out of range is left out. */
void tc_pattern_count(size_t detector, enum tc_pattern_metric m, uint64_t by);
void tc_pattern_set(size_t detector, enum tc_pattern_metric m, uint64_t value);
uint64_t tc_pattern_value(size_t detector, enum tc_pattern_metric m);

/* The index of a detector by its name; SIZE_MAX when there is none. */
size_t tc_pattern_index(struct tc_slice name);

/* Verdicts told and incidents that are not resolved, of each pattern by severity. */
void tc_verdict_count(size_t detector, enum tc_severity severity, enum tc_verdict_status status);
void tc_open_incidents_reset(void);
void tc_open_incident_count(size_t detector, enum tc_severity severity);

/* A receiver of alerts, by its name in the configuration: label output="name". */
#define TC_METRICS_RECEIVERS_MAX 16
struct tc_metrics_receiver {
    char name[64];
    uint64_t delivered;
    uint64_t refused;
    uint64_t retries;
    uint64_t waiting;
    uint64_t oldest_s;
    uint64_t failing; /* 0 or 1 */
};
/* All there are now. Copies. */
void tc_metrics_receivers(const struct tc_metrics_receiver *receivers, size_t count);

/* A distribution of seconds with fixed buckets, 0.5 ms to 10 s. */
enum tc_histogram {
#define HISTOGRAM(id, name, labels, help) TC_HIST_##id,
#include "observe/metrics_histograms.def"
#undef HISTOGRAM
    TC_HISTOGRAM_COUNT
};
/* Negative times count as 0: clocks can be set back. */
void tc_observe(enum tc_histogram h, int64_t ns);

/* Called before each rendering, for counts that are kept above this room; NULL: none. */
void tc_metrics_source(void (*refresh)(void));

/* What comes after everything else of the text, in this order, from parts above this room. */
enum tc_metrics_part { TC_METRICS_SOURCES, TC_METRICS_FORWARD, TC_METRICS_HOT, TC_METRICS_PARTS };

/* NULL: nothing. Any thread may set it; `write` is called by the one that renders. */
void tc_metrics_more(enum tc_metrics_part part, void (*write)(void *context, struct tc_buf *b),
                     void *context);

/* Room for the whole text without what tc_metrics_more adds; a test compares it with the longest
 * there can be. */
#define TC_METRICS_TEXT_MAX ((size_t)192 << 10)
/* The same for TC_METRICS_SOURCES: eight numbers of each source, six of each of 64 targets whose
 * names have up to 127 bytes. */
#define TC_METRICS_SOURCES_MAX ((size_t)128 << 10)
/* And for TC_METRICS_FORWARD: seven numbers of each of eight addresses of up to 500 bytes. */
#define TC_METRICS_FORWARD_MAX ((size_t)64 << 10)

/*
 * The whole text: the table's metrics in its order, those of one name together wherever their rows
 * stand, then the patterns', the histograms, the process's own and what tc_metrics_more adds.
 * b->overflowed when b is small.
 */
void tc_metrics_render(struct tc_buf *b);

#endif
