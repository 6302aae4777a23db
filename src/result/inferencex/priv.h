/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The later agentic aggregates of InferenceX: statistics by metric under "request_metrics", in
 * seconds, what the server said under "server_metrics", and "request_accounting", for the number of
 * all requests counts those of the warm-up.
 */
#ifndef TC_RESULT_INFERENCEX_PRIV_H
#define TC_RESULT_INFERENCEX_PRIV_H

#include "result/map_serving.h"

/* The keys of such a document. */
#define TC__INFERENCEX_NESTED "request_metrics/throughput|request_metrics/latency"
void tc__inferencex_nested(struct tc_result_row *row, struct tc_slice point, struct tc_json o);

#endif
