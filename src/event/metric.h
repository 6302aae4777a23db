/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics that detectors read: one number each, with one name and one unit,
 * whatever exporter it came from. One table, metric.def.
 */
#ifndef TC_EVENT_METRIC_H
#define TC_EVENT_METRIC_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_metric {
    TC_METRIC_NONE, /* not known: an event without one */
#define METRIC(name, text, type, unit, help) TC_METRIC_##name,
#include "event/metric.def"
#undef METRIC
    TC_METRIC_COUNT
};

enum tc_metric_type {
    TC_METRIC_GAUGE,   /* a value now */
    TC_METRIC_COUNTER, /* only grows, and starts again at 0 with its producer */
};

struct tc_metric_info {
    struct tc_slice name;
    enum tc_metric_type type;
    const char *unit;
    const char *help;
};

/* metric < TC_METRIC_COUNT; the name of TC_METRIC_NONE is empty. */
const struct tc_metric_info *tc_metric_info(enum tc_metric metric);
/* False when no metric has that name. */
bool tc_metric_parse(struct tc_slice name, enum tc_metric *out);

#endif
