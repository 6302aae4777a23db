/* SPDX-License-Identifier: Apache-2.0 */
#include "event/metric.h"

#include "base/assert.h"

static const struct tc_metric_info METRICS[TC_METRIC_COUNT] = {
    [TC_METRIC_NONE] = {.unit = "", .help = ""},
#define METRIC(id, text, sort, what, meaning) \
    [TC_METRIC_##id] = {                      \
        .name = {text, sizeof(text) - 1},     \
        .type = TC_METRIC_##sort,             \
        .unit = (what),                       \
        .help = (meaning),                    \
    },
#include "event/metric.def"
#undef METRIC
};

const struct tc_metric_info *tc_metric_info(enum tc_metric metric)
{
    TC_ASSERT((unsigned)metric < TC_METRIC_COUNT);
    return &METRICS[metric];
}

bool tc_metric_parse(struct tc_slice name, enum tc_metric *out)
{
    for (unsigned i = TC_METRIC_NONE + 1; i < TC_METRIC_COUNT; i++) {
        if (tc_slice_eq(name, METRICS[i].name)) {
            *out = (enum tc_metric)i;
            return true;
        }
    }
    return false;
}
