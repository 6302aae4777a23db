/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triton's perf_analyzer: the table of -f, and the requests of --profile-export-file.
 */
#ifndef TC_RESULT_PERF_ANALYZER_PRIV_H
#define TC_RESULT_PERF_ANALYZER_PRIV_H

#include "result/map_serving.h"

bool tc__perf_analyzer_is_csv(struct tc_slice text);
TC_CHECKED tc_status tc__perf_analyzer_read_csv(const struct tc_result_input *in,
                                                struct tc_result *r, struct tc_error *err);
TC_CHECKED tc_status tc__perf_analyzer_read_export(const struct tc_result_input *in,
                                                   struct tc_result *r, struct tc_error *err);

#endif
