/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first step of the pivot: at which workload points is a run slower than its base? The values
 * of a point in the run beside the median of the base's runs, and their range.
 */
#ifndef TC_DIAGNOSE_POINTS_H
#define TC_DIAGNOSE_POINTS_H

#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "compare/samples.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One metric of one point. NaN where a side has none. */
struct tc_outcome {
    const struct tc_series *series; /* of the run, or of the base where the run has none */
    size_t point;                   /* in tc_points */
    double run;
    double base; /* median */
    double low;  /* of the base's runs */
    double high;
    double ratio; /* run / base */
    size_t base_count;
    bool is_worse; /* by its direction, by more than the base's own range and TC_WORSE_RATIO */
};
/* Of a base with more runs, the latest so many count. */
#define TC_DIAGNOSE_MEDIAN_MAX 64
/* A difference below this is none, whatever the range. */
#define TC_WORSE_RATIO 0.05

struct tc_slow_point {
    const struct tc_point *point;
    double worst; /* how many times worse the worst metric is; 1: none is */
    size_t worst_outcome;
    bool in_base;
    int64_t started_us; /* INT64_MIN: not known */
    int64_t ended_us;
};

struct tc_points {
    struct tc_series_set run;
    struct tc_series_set base; /* empty without a base */
    struct tc_outcome *outcomes;
    size_t outcome_count;
    struct tc_slow_point *points; /* those of the run, the worst first */
    size_t point_count;
};

/* base may be NULL. The caller owns *out, also after a failure. */
TC_CHECKED tc_status tc_points_read(struct tc_warehouse *w, const struct tc_group *run,
                                    const struct tc_group *base, struct tc_points *out,
                                    struct tc_error *err);
void tc_points_fini(struct tc_points *p);

/* A metric of a point by its column's name; NULL: none. */
const struct tc_outcome *tc_points_outcome(const struct tc_points *p, size_t point,
                                           const char *metric);

/* The point that a word means: its number in the list from 1, its text, or words of it. NULL when
 * there is none, or more than one: *out_hits. */
const struct tc_slow_point *tc_points_find(const struct tc_points *p, struct tc_slice word,
                                           size_t *out_hits);

#endif
