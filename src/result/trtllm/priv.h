/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trtllm-bench: the report as text becomes the JSON that --report_json writes, and is read as such.
 */
#ifndef TC_RESULT_TRTLLM_PRIV_H
#define TC_RESULT_TRTLLM_PRIV_H

#include "result/map_serving.h"

/* Whether a text holds a report. */
bool tc__trtllm_is_text(struct tc_slice text);
/* Each report of a text, one after the other, by the function. */
TC_CHECKED tc_status tc__trtllm_read_text(const struct tc_result_input *in, struct tc_result *r,
                                          tc_status (*read)(struct tc_result *r,
                                                            struct tc_json report,
                                                            const char *where, bool several,
                                                            struct tc_error *err),
                                          struct tc_error *err);

#endif
