/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon counts of itself: one table (metrics.def), counted from any thread, shown as
 * Prometheus text. Every drop, limit and error has a line there, by reason.
 */
#ifndef TC_SERVER_METRICS_H
#define TC_SERVER_METRICS_H

#include "base/buf.h"

#include <stdint.h>

enum tc_counter {
#define COUNTER(id, name, labels, help) TC_COUNT_##id,
#define GAUGE(id, name, labels, help) TC_COUNT_##id,
#include "server/metrics.def"
#undef COUNTER
#undef GAUGE
    TC_COUNTER_COUNT
};

/* Process-wide, as the process is what is observed. Relaxed atomics. */
void tc_count(enum tc_counter c, uint64_t by);
void tc_gauge(enum tc_counter c, int64_t value);
uint64_t tc_counter_value(enum tc_counter c);

/* A distribution of seconds with fixed buckets. */
enum tc_histogram {
#define HISTOGRAM(id, name, labels, help) TC_HIST_##id,
#include "server/metrics_histograms.def"
#undef HISTOGRAM
    TC_HISTOGRAM_COUNT
};
void tc_observe(enum tc_histogram h, int64_t ns);

/* The whole text, in the order of the table. */
void tc_metrics_render(struct tc_buf *b);

#endif
