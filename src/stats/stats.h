/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of few, skewed, sometimes odd measurements: everything goes by order and rank, nothing
 * assumes a normal distribution. docs/statistics.md says why each method, and its limits.
 *
 * Pure and repeatable: chance comes from a seed. Scratch memory comes from the caller's arena and
 * is given back before a function returns; TC_E_NOMEM when it does not fit. Values are finite: the
 * one way in, tc_sorted_make, and tc_changes_find refuse NaN and infinities.
 */
#ifndef TC_STATS_STATS_H
#define TC_STATS_STATS_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- order ------------------------------------------------------------------------------------
 */

/* Finite values, ascending; -0 is 0. Only tc_sorted_make makes one. */
struct tc_sorted {
    const double *x;
    size_t n;
};

/* Bytes of arena that tc_sorted_make takes for n values, 8 n of which stay. */
#define TC_SORTED_BYTES(n) ((size_t)(n)*40 + 256)

/*
 * A sorted copy in arena. TC_E_MALFORMED for a value that is NaN or infinite: err->offset is its
 * index, and err's message names it.
 */
TC_CHECKED tc_status tc_sorted_make(const double *values, size_t count, struct tc_arena *arena,
                                    struct tc_sorted *out, struct tc_error *err);

/* NaN for no values. */
double tc_sorted_median(struct tc_sorted s);
/* Linear between neighbours (type 7 of Hyndman and Fan, numpy's); q from 0 to 1. NaN for none. */
double tc_sorted_quantile(struct tc_sorted s, double q);

struct tc_median_interval {
    double low;
    double high;
    double level; /* attained: may be above what was asked, and below if n is too small for it */
};
/*
 * The k-th smallest to the k-th largest value, with the largest k whose level reaches the one asked
 * for: 1 - 2 P(Binomial(n, 1/2) < k). Exact for any continuous distribution. If not even k = 1
 * reaches it, the smallest to the largest, whose level is 1 - 2^(1 - n): 0.75 for 3 values, and 6
 * are needed for 0.95. NaN, level 0, for no values.
 */
struct tc_median_interval tc_sorted_median_interval(struct tc_sorted s, double level);

/* How far values lie from their median. */
struct tc_spread {
    double median;
    double mad;   /* median of the distances from the median */
    double scale; /* what a standard deviation would be: 1.4826 mad, or, if more than half of the
                     values are equal and mad is 0, 1.2533 times the mean distance; 0: all equal */
};
/* NaN for no values. A distance above the largest double is that. */
struct tc_spread tc_sorted_spread(struct tc_sorted s);
/*
 * (value - median) / scale: how far off a value is from those the spread is of. With scale 0 it is
 * 0 for the median itself, and infinite for any other value. The peers need not include the value:
 * then one odd value in few does not hide itself.
 */
double tc_robust_z(const struct tc_spread *peers, double value);
/* |z| above this is an outlier (Iglewicz and Hoaglin, 1993). */
#define TC_OUTLIER_Z 3.5
bool tc_is_outlier(const struct tc_spread *peers, double value);

/* ---- two samples ------------------------------------------------------------------------------
 */

enum tc_rank_method {
    TC_RANK_NONE,       /* a side is empty */
    TC_RANK_EXACT,      /* all arrangements counted */
    TC_RANK_EXACT_TIES, /* the same, with the ties as they are */
    TC_RANK_NORMAL,     /* normal approximation with corrections for ties and continuity */
};

struct tc_rank_test {
    double u;     /* pairs in which the candidate's value is the larger; a tie counts half */
    double p;     /* two-sided; 1 when all values are equal, NaN for TC_RANK_NONE */
    double delta; /* Cliff's: P(candidate > base) - P(candidate < base), -1 to 1; NaN as p */
    enum tc_rank_method method;
};

/* Exact for up to 2^53 arrangements (28 against 28, 8 against 150), with ties for up to this many
 * values together. */
#define TC_RANK_TIES_MAX 40
/* Bytes of arena that the test needs, whatever the number of values. */
#define TC_RANK_BYTES ((size_t)192 << 10)

/* Mann-Whitney U test (Wilcoxon rank sum) and Cliff's delta. */
TC_CHECKED tc_status tc_rank_test(struct tc_sorted base, struct tc_sorted candidate,
                                  struct tc_arena *arena, struct tc_rank_test *out);

/* The least p that n1 against n2 values can give: 2 / C(n1 + n2, n1); 1 if a side is empty. */
double tc_rank_least_p(size_t n1, size_t n2);
/* How many values per side it takes for a p of alpha or less; 0: no number suffices (alpha <= 0).
 */
size_t tc_rank_least_n(double alpha);

/* "negligible" (|delta| < 0.147), "small" (< 0.33), "medium" (< 0.474), "large"; "-" for NaN. */
const char *tc_delta_word(double delta);

enum tc_ratio_flag {
    TC_RATIO_OK,
    TC_RATIO_FEW,       /* fewer than TC_RATIO_MIN values on a side: no interval, but a ratio */
    TC_RATIO_UNBOUNDED, /* too many resamples have no ratio (base 0, or of the other sign) */
    TC_RATIO_SIGNS,     /* medians of opposite signs: neither ratio nor interval */
    TC_RATIO_ZERO,      /* base median 0, or a side is empty, or the ratio is no double: neither */
};
#define TC_RATIO_MIN 3

struct tc_ratio {
    double ratio; /* of medians, candidate / base */
    double low;   /* NaN unless TC_RATIO_OK */
    double high;
    enum tc_ratio_flag flag;
};

/* How many resamples serve: the ends of a 95 % interval then wander by a tenth of a percentile. */
#define TC_RATIO_DRAWS 10000
#define TC_RATIO_DRAWS_MAX 1000000
#define TC_RATIO_BYTES(draws) ((size_t)(draws)*48 + 512)

/*
 * Percentile bootstrap interval of the ratio of medians, both sides resampled on their own. A draw
 * takes constant time: the median of a resample of n sorted values is one of them (or the middle of
 * two), at the place n U, U the middle order statistic of n uniform numbers.
 * TC_E_USAGE unless 0 < level < 1 and 100 <= draws <= TC_RATIO_DRAWS_MAX.
 */
TC_CHECKED tc_status tc_ratio_of_medians(struct tc_sorted base, struct tc_sorted candidate,
                                         double level, size_t draws, uint64_t seed,
                                         struct tc_arena *arena, struct tc_ratio *out);

/* ---- many tests -------------------------------------------------------------------------------
 */

#define TC_ADJUST_BYTES(n) ((size_t)(n)*32 + 256)

/*
 * Benjamini-Hochberg: p values adjusted so that of those at most alpha, on average at most alpha
 * are false. NaN stays NaN and counts as no test. out may be p. TC_E_MALFORMED, and out untouched,
 * for a value below 0 or above 1.
 */
TC_CHECKED tc_status tc_adjust_p(const double *p, size_t count, struct tc_arena *arena,
                                 double *out);

/* ---- modes ------------------------------------------------------------------------------------
 */

/* Below this many values more than one mode cannot be told from chance. */
#define TC_DIP_MIN 8
#define TC_DIP_BYTES(n) ((size_t)(n)*56 + 512)

struct tc_dip {
    double dip; /* distance from the nearest distribution with one mode: 1/(2n) to 1/4 */
    double p;   /* how often n values of a uniform distribution have such a dip, 0.0001 at least and
                   1 above 0.9; NaN, and the dip too, for n < TC_DIP_MIN */
};

/* Hartigan's dip test. Equal values are spread over what they may have been rounded from. */
TC_CHECKED tc_status tc_dip_test(struct tc_sorted s, struct tc_arena *arena, struct tc_dip *out);

/* ---- a series ---------------------------------------------------------------------------------
 */

struct tc_change {
    size_t index;  /* of the first value after the change */
    double p;      /* of the permutation test */
    double before; /* median from the change before (or the start) to this one */
    double after;  /* median from here to the next change (or the end) */
};

struct tc_changes_options {
    double alpha;          /* a change has a p of at most this */
    uint32_t permutations; /* of a test, at least 2 / alpha - 1, or no p can be that small; 0: 999
                              for up to 2,000 values, fewer for more */
    size_t segment_min;    /* fewer values than this are never a level of their own; at least 2 */
    uint64_t seed;
};
#define TC_CHANGES_DEFAULT                                            \
    {                                                                 \
        .alpha = 0.05, .segment_min = 3, .seed = UINT64_C(0x74726163) \
    }
#define TC_CHANGES_ALPHA_MIN 0.0001
#define TC_CHANGES_POINTS_MAX 100000
#define TC_CHANGES_PERMUTATIONS_MAX 100000
#define TC_CHANGES_BYTES(n) ((size_t)(n)*112 + 4096)

/*
 * Change points of a series by E-divisive on ranks: hierarchical splits where the energy statistic
 * of the ranks is largest, each tested by permutation; where that finds nothing, neighbouring
 * windows are compared the same way, for levels that do not last. Then each is tested anew between
 * its neighbours and placed where two flat lines fit best. In order of index, in arena.
 * Assumes that values between changes are independent of each other.
 * TC_E_MALFORMED for a value that is NaN or infinite, TC_E_LIMIT for more than
 * TC_CHANGES_POINTS_MAX, TC_E_USAGE for options out of range.
 */
TC_CHECKED tc_status tc_changes_find(const double *series, size_t count,
                                     const struct tc_changes_options *options,
                                     struct tc_arena *arena, struct tc_change **out,
                                     size_t *out_count, struct tc_error *err);

#endif
