/* SPDX-License-Identifier: Apache-2.0 */
/* Key and value in OTLP's JSON, as attributes and structured bodies have them. */
#ifndef TC_SIM_OTLP_PRIV_H
#define TC_SIM_OTLP_PRIV_H

#include "base/buf.h"

#include <stdint.h>

/* {"key":"...","value":{ with a comma before it when it is not the first; the value and two closing
 * braces follow. */
void tc__sim_put_key(struct tc_buf *b, struct tc_slice key);
void tc__sim_put_string(struct tc_buf *b, struct tc_slice key, struct tc_slice value);
void tc__sim_put_int(struct tc_buf *b, struct tc_slice key, int64_t value);
/* Milliseconds, written as seconds. */
void tc__sim_put_seconds(struct tc_buf *b, struct tc_slice key, int64_t ms);

#endif
