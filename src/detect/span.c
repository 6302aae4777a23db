/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/span_priv.h"

struct tc_span tc__span_make(int64_t time_ns, struct tc_raw raw)
{
    return (struct tc_span){time_ns, time_ns, 1, raw, raw};
}

bool tc__raw_before(struct tc_raw a, struct tc_raw b)
{
    return a.source == b.source ? a.offset < b.offset : a.source < b.source;
}

void tc__span_add(struct tc_span *span, int64_t time_ns, struct tc_raw raw)
{
    span->count++;
    if (time_ns < span->first_ns ||
        (time_ns == span->first_ns && tc__raw_before(raw, span->first_raw))) {
        span->first_ns = time_ns;
        span->first_raw = raw;
    }
    if (time_ns > span->last_ns ||
        (time_ns == span->last_ns && tc__raw_before(raw, span->last_raw))) {
        span->last_ns = time_ns;
        span->last_raw = raw;
    }
}

int64_t tc__span_inside(const struct tc_span *span, int64_t from_ns, int64_t to_ns, int64_t *out_ns,
                        struct tc_raw *out_raw)
{
    bool first_in = span->first_ns >= from_ns && span->first_ns <= to_ns;
    bool last_in = span->last_ns >= from_ns && span->last_ns <= to_ns;
    if (!first_in && !last_in) {
        return 0;
    }
    *out_ns = last_in ? span->last_ns : span->first_ns;
    *out_raw = last_in ? span->last_raw : span->first_raw;
    return first_in && last_in ? span->count : span->count - 1;
}
