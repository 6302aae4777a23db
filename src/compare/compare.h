/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison of two groups of runs: for each metric at each workload point both sides, the ratio
 * of medians with an interval, a rank test, and a verdict; and what else differs. The design is in
 * docs/internals/comparison.md, the methods are in docs/statistics.md. Text for a terminal is made
 * in cli; the one JSON form is here.
 */
#ifndef TC_COMPARE_COMPARE_H
#define TC_COMPARE_COMPARE_H

#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "compare/differs.h"
#include "compare/groups.h"
#include "compare/samples.h"
#include "stats/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TC_SIDE_BASE, TC_SIDE_CANDIDATE, TC_SIDES };

/* From the least that is known to the most. */
enum tc_pair_verdict {
    TC_PAIR_INSUFFICIENT, /* too few runs for any test to decide */
    TC_PAIR_MULTIMODAL,   /* a side has more than one mode: a median describes neither */
    TC_PAIR_SAME,         /* no difference shown */
    TC_PAIR_UNSTABLE,     /* there is one, but the spread of a side is larger */
    TC_PAIR_DIFFERENT,    /* of a metric that has no better */
    TC_PAIR_BETTER,
    TC_PAIR_WORSE,
    TC_PAIR_VERDICTS,
};

/* A part of the values of a side that has several modes. */
struct tc_mode {
    size_t count;
    double low;
    double high;
    double median;
};
#define TC_MODES_MAX 4

struct tc_pair_side {
    const struct tc_series *series;
    size_t n;
    struct tc_spread spread;
    double low; /* the smallest and the largest value */
    double high;
    struct tc_dip dip;
    struct tc_mode modes[TC_MODES_MAX];
    size_t mode_count; /* 0: one mode, as far as the test can tell */
    size_t outliers;   /* flagged, and kept */
};

struct tc_pair {
    struct tc_pair_side sides[TC_SIDES];
    bool is_main;
    bool is_equal; /* all values of both sides are one: there is nothing to test */
    struct tc_ratio ratio;
    struct tc_rank_test test;
    bool is_apart;     /* the sides are farther apart than the runs of either among themselves */
    double p_adjusted; /* NaN: not tested; of sides that are apart the test's own */
    size_t needed;     /* of an insufficient one: runs a side that could decide */
    enum tc_pair_verdict verdict;
};

/* What the series of a pair share. */
static inline const struct tc_series *tc_pair_series(const struct tc_pair *p)
{
    return p->sides[TC_SIDE_BASE].series;
}
/* How much larger one side is, whichever: |log ratio|; infinite where there is none (from 0). */
double tc_pair_size(const struct tc_pair *p);

enum tc_unpaired_why {
    TC_UNPAIRED_DEFINITIONS,
    TC_UNPAIRED_UNITS,
    TC_UNPAIRED_BASE_ONLY,
    TC_UNPAIRED_CANDIDATE_ONLY,
};

/* A series that is not compared. */
struct tc_unpaired {
    enum tc_unpaired_why why;
    const struct tc_series *base; /* NULL: only in the candidate */
    const struct tc_series *candidate;
};

struct tc_compare_options {
    struct tc_series_want want;
    double confidence; /* 0: the contract's, else 0.95 */
    /* Patterns of the metrics that are judged first; none: those of metrics.def. */
    const struct tc_slice *main_metrics;
    size_t main_metric_count;
    size_t draws; /* of the bootstrap of intervals; 0: as many as serve */
};

/* Owns all that it points to. */
struct tc_comparison {
    struct tc_group groups[TC_SIDES];
    struct tc_series_set sets[TC_SIDES];
    struct tc_differences differs;
    double confidence;
    double alpha;           /* 1 - confidence */
    int64_t min_replicates; /* the contract's, else TC_COMPARE_REPLICATES_MIN */
    struct tc_pair *pairs;  /* by table, point and metric */
    size_t pair_count;
    size_t counts[TC_PAIR_VERDICTS];
    size_t point_count; /* points that pairs have */
    size_t main_tested; /* pairs of the main family that were tested, and of the others */
    size_t other_tested;
    struct tc_unpaired *unpaired;
    size_t unpaired_count;
};

#define TC_COMPARE_REPLICATES_MIN 3
#define TC_COMPARE_CONFIDENCE 0.95
/* Of fewer values none can be told to be an outlier. */
#define TC_COMPARE_OUTLIERS_MIN 8
/* A dip test with a p up to this finds more than one mode. */
#define TC_COMPARE_DIP_ALPHA 0.01
/* Of alpha, the share of the main metrics; the rest is for all the others. */
#define TC_COMPARE_MAIN_SHARE 0.8

/*
 * Finds both groups, reads their values and compares them. A side that is one run, a metric that
 * no run has, or nothing to compare is a failure with a sentence; TC_E_NOTFOUND, TC_E_USAGE. The
 * caller owns *out.
 */
TC_CHECKED tc_status tc_compare(struct tc_warehouse *w, struct tc_slice base,
                                struct tc_slice candidate, const struct tc_compare_options *options,
                                struct tc_comparison *out, struct tc_error *err);
void tc_comparison_fini(struct tc_comparison *c);

/* The part behind reading: c has groups and sets, and gets pairs, their verdicts and the rest, but
 * for what else differs. */
TC_CHECKED tc_status tc_compare_sets(struct tc_comparison *c,
                                     const struct tc_compare_options *options,
                                     struct tc_error *err);

/* The one word for all of it: worse before better before different, then what was least decided. */
enum tc_pair_verdict tc_comparison_verdict(const struct tc_comparison *c);
/* "worse", "no difference shown". */
const char *tc_pair_verdict_name(enum tc_pair_verdict verdict);
const char *tc_unpaired_name(enum tc_unpaired_why why);
/* The pair that is worse (or else better, or different) by the most; NULL when there is none. */
const struct tc_pair *tc_comparison_foremost(const struct tc_comparison *c);

/* One or two sentences that answer the question (words.c). */
void tc_comparison_answer(const struct tc_comparison *c, struct tc_grow *out);
/* "1.63x [1.58, 1.71]", "-"; and "0.008", "<0.0001", "-". */
void tc_pair_ratio_put(struct tc_grow *g, const struct tc_pair *p);
void tc_pair_p_put(struct tc_grow *g, double p);
/* What is to be said of how sure it is: sentences with ends of lines between (words.c). */
void tc_comparison_doubts(const struct tc_comparison *c, struct tc_grow *out);

/* Word, kind and runs of a group as one JSON object; the whole comparison as one. */
void tc_group_json(struct tc_json_out *j, const struct tc_group *g);
void tc_comparison_json(struct tc_json_out *j, const struct tc_comparison *c);

#endif
