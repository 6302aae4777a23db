/* SPDX-License-Identifier: Apache-2.0 */
/* Which hot metric a sample is of. Asked once for each name and each new series. */
#include "hot/hot_priv.h"

#include "base/assert.h"
#include "telemetry/names.h"

#include <assert.h>

#define NO_METRIC(id, name, labels, least, help)
#define NO_OURS(metric, id, factor)
#define NO_NAMED(name, id, factor)

#define OURS NO_OURS
#define NAMED NO_NAMED
const struct tc__hot_row tc__hot_rows[TC__HOT_METRIC_COUNT] = {
#define ROW(id, row_name, row_labels, row_least, row_help, row_kind) \
    [TC__HOT_##id] = {(row_name), (row_labels), (row_help), (row_least), (row_kind)},
#define GAUGE(id, name, labels, least, help) ROW(id, name, labels, least, help, TC__HOT_GAUGE)
#define COUNTER(id, name, labels, least, help) ROW(id, name, labels, least, help, TC__HOT_COUNTER)
#define EDGE(id, name, labels, least, help) ROW(id, name, labels, least, help, TC__HOT_EDGE)
#define SUMMARY(id, name, labels, least, help) ROW(id, name, labels, least, help, TC__HOT_SUMMARY)
#include "hot/metrics.def"
#undef GAUGE
#undef COUNTER
#undef EDGE
#undef SUMMARY
#undef OURS
};

#define GAUGE NO_METRIC
#define COUNTER NO_METRIC
#define EDGE NO_METRIC
#define SUMMARY NO_METRIC

/* Of event/metric.def; factor 0: none. */
static const struct {
    uint8_t metric;
    double factor;
} BY_METRIC[TC_METRIC_COUNT] = {
#define OURS(from, id, by) [TC_METRIC_##from] = {TC__HOT_##id, (by)},
#include "hot/metrics.def"
#undef OURS
#undef NAMED
#define OURS NO_OURS
};

static const struct {
    struct tc_slice name;
    uint8_t metric;
    double factor;
} BY_NAME[] = {
#define NAMED(from, id, by) {{from, sizeof(from) - 1}, TC__HOT_##id, (by)},
#include "hot/metrics.def"
};

static_assert(TC__HOT_METRIC_COUNT < UINT8_MAX, "a metric's number fits");

size_t tc__hot_lines(enum tc__hot_kind kind)
{
    return kind == TC__HOT_GAUGE ? TC__HOT_STAT_COUNT : kind == TC__HOT_SUMMARY ? 2 : 1;
}

static bool cut_end(struct tc_slice *io, struct tc_slice end)
{
    bool has = tc_slice_ends(*io, end);
    io->len -= has ? end.len : 0;
    return has;
}

/* The row of a name, and of a summary which part of it that is; false when there is none. */
static bool find_name(struct tc_slice plain, struct tc__hot_route *out)
{
    struct tc_slice base = plain;
    bool is_count = cut_end(&base, TC_LIT("_count"));
    bool is_part = is_count || cut_end(&base, TC_LIT("_sum"));
    for (size_t i = 0; i < TC_COUNT(BY_NAME); i++) {
        bool is_summary = tc__hot_rows[BY_NAME[i].metric].kind == TC__HOT_SUMMARY;
        if (tc_slice_eq(BY_NAME[i].name, is_summary ? base : plain) && (!is_summary || is_part)) {
            out->metric = BY_NAME[i].metric;
            out->factor = is_summary && is_count ? 1 : BY_NAME[i].factor;
            out->is_count = is_summary && is_count;
            return true;
        }
    }
    return false;
}

struct tc__hot_route tc__hot_route_of(const struct tc_sample *sample,
                                      const struct tc_series_meaning *meaning)
{
    char text[TC_PLAIN_NAME_MAX];
    struct tc__hot_route route = {
        .metric = TC__HOT_METRIC_COUNT, .how = meaning->how, .scale = meaning->scale};
    if (meaning->metric != TC_METRIC_NONE) {
        if (BY_METRIC[meaning->metric].factor != 0) {
            route.metric = BY_METRIC[meaning->metric].metric;
            route.factor = BY_METRIC[meaning->metric].factor;
        }
        return route;
    }
    (void)find_name(tc_plain_name(sample->name, true, text), &route);
    return route;
}
