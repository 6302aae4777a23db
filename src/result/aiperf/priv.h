/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AIPerf's summary of a sweep (profile_export_aiperf_sweep.json): a row per combination of what was
 * varied; and of several runs of one (profile_export_aiperf_aggregate.json). With one run of each,
 * metrics are written as in a run's own file; with several, every statistic of a metric
 * ("time_to_first_token_p99") has a mean over the runs.
 */
#ifndef TC_RESULT_AIPERF_PRIV_H
#define TC_RESULT_AIPERF_PRIV_H

#include "result/map_aiperf.h"

/* Several runs of one combination: their metrics stand at the top. */
#define TC__AIPERF_REPEATED "metadata/aggregation_type=confidence, metrics{}"
#define TC__AIPERF_SWEEP "per_combination_metrics/0/metrics{}"

bool tc__aiperf_is_sweep(struct tc_json root);
TC_CHECKED tc_status tc__aiperf_read_sweep(struct tc_result *r, struct tc_json root,
                                           struct tc_error *err);

#endif
