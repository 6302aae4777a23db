/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter seen in samples: how much it has grown since the last one. A value
 * below the last one means that its producer started again: that is no rise, and
 * neither is the first sample. A sample that is not newer than the last says nothing.
 */
#ifndef TC_DETECT_COUNTER_PRIV_H
#define TC_DETECT_COUNTER_PRIV_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_counter {
    double value;
    int64_t time_ns;
    bool known;
};

static inline double tc__counter_rise(struct tc_counter *c, double value, int64_t time_ns)
{
    if (c->known && time_ns <= c->time_ns) {
        return 0;
    }
    double rise = c->known && value > c->value ? value - c->value : 0;
    *c = (struct tc_counter){value, time_ns, true};
    return rise;
}

#endif
