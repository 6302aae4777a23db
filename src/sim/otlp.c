/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/otlp_priv.h"

void tc__sim_put_key(struct tc_buf *b, struct tc_slice key)
{
    if (b->len > 0 && b->data[b->len - 1] == '}') {
        tc_buf_char(b, ',');
    }
    tc_buf_lit(b, "{\"key\":\"");
    tc_buf_str(b, key);
    tc_buf_lit(b, "\",\"value\":{");
}

void tc__sim_put_string(struct tc_buf *b, struct tc_slice key, struct tc_slice value)
{
    tc__sim_put_key(b, key);
    tc_buf_lit(b, "\"stringValue\":");
    tc_buf_json(b, value);
    tc_buf_lit(b, "}}");
}

void tc__sim_put_int(struct tc_buf *b, struct tc_slice key, int64_t value)
{
    tc__sim_put_key(b, key);
    tc_buf_lit(b, "\"intValue\":\"");
    tc_buf_i64(b, value);
    tc_buf_lit(b, "\"}}");
}

void tc__sim_put_seconds(struct tc_buf *b, struct tc_slice key, int64_t ms)
{
    tc__sim_put_key(b, key);
    tc_buf_lit(b, "\"doubleValue\":");
    tc_buf_i64(b, ms / 1000);
    tc_buf_char(b, '.');
    int64_t rest = ms % 1000;
    tc_buf_char(b, (char)('0' + rest / 100));
    tc_buf_char(b, (char)('0' + rest / 10 % 10));
    tc_buf_char(b, (char)('0' + rest % 10));
    tc_buf_lit(b, "}}");
}
