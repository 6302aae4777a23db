/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many occurrences of one thing as one: a span is kept no longer than a step, so that a storm costs
 * what its first event costs.
 */
#ifndef TC_DETECT_SPAN_PRIV_H
#define TC_DETECT_SPAN_PRIV_H

#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Invariant: first_ns <= last_ns. */
struct tc_span {
    int64_t first_ns;
    int64_t last_ns;
    int64_t count;
    struct tc_raw first_raw;
    struct tc_raw last_raw;
};

/* The order of evidence of one time: by source, then by place. */
bool tc__raw_before(struct tc_raw a, struct tc_raw b);

struct tc_span tc__span_make(int64_t time_ns, struct tc_raw raw);
/* Adds an occurrence. Of two at the same time the first in the input is the evidence. */
void tc__span_add(struct tc_span *span, int64_t time_ns, struct tc_raw raw);
/*
 * How many occurrences lie in [from_ns, to_ns], which is longer than the span;
 * when there is one, the last known of them. Only the ends of a span are known: one
 * that reaches over an edge counts without the end that is outside.
 */
int64_t tc__span_inside(const struct tc_span *span, int64_t from_ns, int64_t to_ns, int64_t *out_ns,
                        struct tc_raw *out_raw);

#endif
