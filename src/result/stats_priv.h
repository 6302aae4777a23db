/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics over values that a log has one by one. Percentiles are interpolated linearly between
 * the two values around the rank p * (count - 1), as numpy does it.
 */
#ifndef TC_RESULT_STATS_PRIV_H
#define TC_RESULT_STATS_PRIV_H

#include "result/map.h"

#include <stdbool.h>
#include <stddef.h>

/* Values beyond this many are an error of the reader: TC_E_LIMIT. */
#define TC__STATS_MAX ((size_t)1 << 26)

/* Zeroed to begin with. */
struct tc__stats {
    double *values;
    size_t count;
    size_t cap;
    tc_status status;
    bool sorted;
};

void tc__stats_add(struct tc__stats *s, double value);
/* A number times the factor, or each of a list of them; nothing else. */
void tc__stats_add_json(struct tc__stats *s, struct tc_json v, double factor);
void tc__stats_fini(struct tc__stats *s);

/* count > 0 for all of these. */
double tc__stats_mean(const struct tc__stats *s);
double tc__stats_min(struct tc__stats *s);
double tc__stats_max(struct tc__stats *s);
/* 0 <= p <= 1 */
double tc__stats_percentile(struct tc__stats *s, double p);
/* The rank-th smallest, from 0; rank < count. */
double tc__stats_rank(struct tc__stats *s, size_t rank);
/* Any of them but TC_STAT_STD and TC_STAT_COUNT. */
double tc__stats_at(struct tc__stats *s, enum tc_stat stat);

/* What the percentiles of a serving row must be within, from the values of its requests times the
 * factor: requests.h. mean_column is TC_SERVING_TTFT_MEAN or another such. */
void tc__result_bound(struct tc_result_row *row, size_t mean_column, struct tc__stats *s,
                      double factor);

/* Count, minimum, maximum, mean, p50, p95 and p99 into a row of TC_TABLE_SLICE. Nothing when there
 * are none. */
void tc__stats_slice(struct tc__stats *s, struct tc_result_row *row,
                     const struct tc_definition *definition);

#endif
