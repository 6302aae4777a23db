/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A metric over the history of runs: where its level changed, at which run, and what changed with
 * it. A single value that is far off is listed as a spike; it is no change.
 */
#ifndef TC_COMPARE_TREND_H
#define TC_COMPARE_TREND_H

#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "compare/compare.h"
#include "compare/groups.h"
#include "compare/samples.h"
#include "stats/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer values than this have no history: a change needs three on either side. */
#define TC_TREND_MIN 6
#define TC_TREND_FACTS_MAX 8

/* A level that begins at a value of the series. */
struct tc_trend_change {
    size_t at; /* of the first value after it */
    double p;
    double before; /* medians */
    double after;
    enum tc_pair_verdict verdict;     /* better, worse or different */
    size_t facts[TC_TREND_FACTS_MAX]; /* columns of the group that changed at this very run */
    size_t fact_count;
};

struct tc_trend_series {
    const struct tc_series *series;
    bool is_short; /* fewer than TC_TREND_MIN values: nothing is said of changes */
    struct tc_trend_change *changes;
    size_t change_count;
    size_t *spikes; /* values far off the level around them */
    size_t spike_count;
    bool has_modes; /* a level has more than one mode: none of its values is a spike */
};

struct tc_trend_options {
    struct tc_slice runs; /* a word as of compare; empty: the case that was measured last */
    struct tc_series_want want;
    double alpha; /* 0: 0.01 */
};

/* Owns all that it points to. */
struct tc_trend {
    struct tc_group group;
    struct tc_series_set set;
    struct tc_trend_series *items;
    size_t count;
    size_t changed; /* items with a change */
    double alpha;
};

/* TC_E_NOTFOUND when there is no such run, or none has the metric; the caller owns *out. */
TC_CHECKED tc_status tc_trend(struct tc_warehouse *w, const struct tc_trend_options *options,
                              struct tc_trend *out, struct tc_error *err);
void tc_trend_fini(struct tc_trend *t);

/* Whether there is a series in which something could be found: neither too short nor of one value
 * for ever. */
bool tc_trend_is_history(const struct tc_trend *t);
/* One or two sentences. */
void tc_trend_answer(const struct tc_trend *t, struct tc_grow *g);
void tc_trend_json(struct tc_json_out *j, const struct tc_trend *t);

#endif
