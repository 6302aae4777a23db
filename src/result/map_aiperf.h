/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AIPerf's and GenAI-Perf's way to write metrics: {"name": {"unit": "ms", "avg": 1, "p50": ...}}.
 * Every one becomes a slice; those with columns of their own fill these too.
 */
#ifndef TC_RESULT_MAP_AIPERF_H
#define TC_RESULT_MAP_AIPERF_H

#include "result/map_serving.h"

/* `metrics` may hold other members: only objects with statistics are taken. `with_std`: "std" is
 * that of the requests, not of several runs. */
void tc_metrics_map(struct tc_result_row *row, struct tc_slice point, struct tc_json metrics,
                    bool with_std);

/* A metric that is one number, into its column of the row; NULL: not known. False when a metric of
 * that name has no such column. */
bool tc_metrics_put(struct tc_result_row *row, struct tc_slice name, struct tc_slice unit,
                    const double *value, const char *field, const char *note);

/* How a metric of that name (any spelling over the versions) is stored; NULL: as a slice only. */
const struct tc_map_dist *tc_metrics_dist(struct tc_slice name);

/* A metric that is a moment, not a measure. */
bool tc_metrics_is_time(struct tc_slice name);

/* Reads a summary, from JSON or from the CSV of such metrics. */
TC_CHECKED tc_status tc_metrics_read(const struct tc_result_input *in, struct tc_result *r,
                                     tc_status (*read)(struct tc_result *r, struct tc_json root,
                                                       struct tc_error *err),
                                     struct tc_error *err);

/* Completed and failed make the requests of a row, where both are known. */
void tc_metrics_requests(struct tc_result_row *row);

#endif
