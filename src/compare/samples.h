/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of metrics of a group of runs. A series is metric x workload point x definition x
 * unit, with one value per run: a run is a replicate, a request is not. Where a run has several
 * rows of one point, the median of them is its value. Series of two definitions or units are
 * never one.
 */
#ifndef TC_COMPARE_SAMPLES_H
#define TC_COMPARE_SAMPLES_H

#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "compare/metrics.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_SERIES_MAX 65536
#define TC_SERIES_VALUES_MAX ((size_t)32 << 20) /* values in all */

/* Where a metric was measured. */
struct tc_point {
    struct tc_slice text; /* "in=1024 out=128 concurrency=64"; "the whole" */
    enum tc_table table;  /* serving, training, or slices of a tool */
    struct tc_slice key; /* workload_point; phase and scale_point; of a slice its point and scope */
    double concurrency;  /* serving; NaN: not limited */
    double request_rate; /* serving; NaN: as fast as it goes */
};

struct tc_series {
    struct tc_slice name;       /* "ttft_p99_ms", "fio:read_bw" */
    struct tc_slice definition; /* "vllm:p99_ttft_ms" */
    struct tc_slice unit;       /* empty: none */
    const struct tc_point *point;
    enum tc_better better;
    bool is_main;
    size_t order; /* of the metric among those of its point */
    size_t count; /* runs that have a value */
    const double *values;
    const uint32_t *runs; /* whose they are: rows of the group, ascending */
    size_t merged;        /* runs with several rows of the point */
    size_t not_finite;    /* rows that are NaN or infinite, and left out */
};

/* A tool that measured, and its version: "vllm 0.8.5". */
struct tc_series_tool {
    struct tc_slice text;
    size_t rows;
};
#define TC_SERIES_TOOLS_MAX 32

/* Borrows nothing of the group. Series are sorted: by table, point, metric, definition, unit. */
struct tc_series_set {
    struct tc_series *series;
    size_t series_count;
    struct tc_point *points;
    size_t point_count;
    struct tc_series_tool tools[TC_SERIES_TOOLS_MAX]; /* by name; further ones are left out */
    size_t tool_count;
    struct tc__series_memory *memory;
};

struct tc_series_want {
    const struct tc_slice *metrics; /* patterns (tc_run_metric_matches); none: all */
    size_t metric_count;
    const struct tc_slice *points; /* words that the point's text has; none: all */
    size_t point_count;
    bool outcomes_only; /* nothing of tools: telemetry, among which they are, is not read */
};

/*
 * Reads the values of the runs of the group that count. TC_E_LIMIT: more series or values than
 * there is room for; err says how to choose fewer. No series is no failure. The caller owns *out.
 */
TC_CHECKED tc_status tc_series_set_read(struct tc_warehouse *w, const struct tc_group *group,
                                        const struct tc_series_want *want,
                                        struct tc_series_set *out, struct tc_error *err);
void tc_series_set_fini(struct tc_series_set *s);

/* The order of series, also of two groups: <0, 0 (the same metric, point, definition and unit). */
int tc_series_compare(const struct tc_series *a, const struct tc_series *b);
/* The same metric at the same point, whatever definition and unit. */
int tc_series_compare_metric(const struct tc_series *a, const struct tc_series *b);
/* Whether all blank-separated words of the pattern (globs) are words of the point's text. */
bool tc_point_matches(struct tc_slice pattern, struct tc_slice text);

#endif
