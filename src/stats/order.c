/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/sort.h"
#include "stats/stats.h"
#include "stats/stats_priv.h"

#include <float.h>
#include <math.h>

/* 1 / the 0.75 quantile of the normal distribution, and sqrt(pi / 2). */
#define SCALE_OF_MAD 1.482602218505602
#define SCALE_OF_MEAN 1.2533141373155003
/* Standard deviations from the middle beyond which a binomial has less than 1e-43 left. */
#define BINOMIAL_REACH 14
/* A level that is met exactly is met, whatever the last digits of the sum. */
#define ROUNDING 1e-12

/* The double that has this key. */
static double value_of(uint64_t key)
{
    double x;
    key = key >> 63 != 0 ? key & ~(UINT64_C(1) << 63) : ~key;
    memcpy(&x, &key, sizeof x);
    return x;
}

tc_status tc__check_finite(const double *values, size_t count, struct tc_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return tc_fail(err, TC_E_MALFORMED, i, "value %zu is %s, not a number", i + 1,
                           isnan(values[i]) ? "NaN" : "infinite");
        }
    }
    return TC_OK;
}

tc_status tc_sorted_make(const double *values, size_t count, struct tc_arena *arena,
                         struct tc_sorted *out, struct tc_error *err)
{
    TC_TRY(tc__check_finite(values, count, err));
    double *x = tc_new(arena, double, count);
    tc_arena_mark mark = tc_arena_snapshot(arena);
    struct tc_sort_pair *pairs = tc_new(arena, struct tc_sort_pair, count);
    struct tc_sort_pair *scratch = tc_new(arena, struct tc_sort_pair, count);
    if (scratch == NULL || pairs == NULL || x == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to sort %zu values", count);
    }
    for (size_t i = 0; i < count; i++) {
        pairs[i].key = tc__key_of(values[i]);
    }
    tc_sort_keys(pairs, scratch, count);
    for (size_t i = 0; i < count; i++) {
        x[i] = value_of(pairs[i].key);
    }
    tc_arena_rewind(arena, mark);
    *out = (struct tc_sorted){x, count};
    return TC_OK;
}

/* Between a and b >= a, a share of the way. */
static double between(double a, double b, double share)
{
    double d = b - a;
    double x = isfinite(d) ? a + share * d : a * (1 - share) + b * share;
    return x < b ? x : b;
}

double tc_sorted_quantile(struct tc_sorted s, double q)
{
    if (s.n == 0 || !(q >= 0 && q <= 1)) {
        return (double)NAN;
    }
    double at = q * (double)(s.n - 1);
    size_t i = (size_t)at;
    return i + 1 < s.n ? between(s.x[i], s.x[i + 1], at - (double)i) : s.x[s.n - 1];
}

double tc_sorted_median(struct tc_sorted s)
{
    return tc_sorted_quantile(s, 0.5);
}

/* P(Binomial(n, 1/2) = k). */
static double binomial_half(double n, double k)
{
    int sign;
    return exp(lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign) -
               n * M_LN2);
}

struct tc_median_interval tc_sorted_median_interval(struct tc_sorted s, double level)
{
    if (s.n == 0) {
        return (struct tc_median_interval){(double)NAN, (double)NAN, 0};
    }
    const double n = (double)s.n;
    double start = floor(n / 2 - BINOMIAL_REACH * sqrt(n) / 2);
    size_t k = start > 0 ? (size_t)start : 0; /* values left out at each end */
    double share = binomial_half(n, (double)k);
    double below = share; /* P(Binomial <= k) */
    /* One more left out while that leaves the level. */
    for (;;) {
        double next = share * (n - (double)k) / ((double)k + 1);
        if (2 * (k + 1) >= s.n || 1 - 2 * (below + next) < level - ROUNDING) {
            break;
        }
        k++;
        share = next;
        below += next;
    }
    double attained = 1 - 2 * below;
    return (struct tc_median_interval){s.x[k], s.x[s.n - 1 - k], attained > 0 ? attained : 0};
}

static double distance(double a, double b)
{
    double d = fabs(a - b);
    return isfinite(d) ? d : DBL_MAX;
}

/* The distances from the median, merged from both sides outwards, are in order: no scratch. */
static double middle_distance(struct tc_sorted s, double median)
{
    size_t right = 0; /* first value above the median, or equal */
    for (size_t high = s.n; right < high;) {
        size_t mid = right + (high - right) / 2;
        if (s.x[mid] < median) {
            right = mid + 1;
        } else {
            high = mid;
        }
    }
    size_t left = right; /* one behind the next below */
    double two[2] = {0, 0};
    for (size_t taken = 0; taken <= s.n / 2; taken++) {
        bool from_left = left > 0 && (right == s.n || distance(s.x[left - 1], median) <
                                                          distance(s.x[right], median));
        two[0] = two[1];
        two[1] = distance(s.x[from_left ? --left : right++], median);
    }
    return s.n % 2 == 0 ? between(two[0], two[1], 0.5) : two[1];
}

struct tc_spread tc_sorted_spread(struct tc_sorted s)
{
    if (s.n == 0) {
        return (struct tc_spread){(double)NAN, (double)NAN, (double)NAN};
    }
    struct tc_spread spread = {.median = tc_sorted_median(s)};
    spread.mad = middle_distance(s, spread.median);
    if (spread.mad > 0) {
        spread.scale = spread.mad * SCALE_OF_MAD;
    } else {
        double mean = 0;
        for (size_t i = 0; i < s.n; i++) {
            mean += distance(s.x[i], spread.median) / (double)s.n;
        }
        spread.scale = mean * SCALE_OF_MEAN;
    }
    spread.scale = isfinite(spread.scale) ? spread.scale : DBL_MAX;
    return spread;
}

double tc_robust_z(const struct tc_spread *peers, double value)
{
    double d = value - peers->median;
    if (d == 0) {
        return 0;
    }
    /* A difference that is no double is taken in halves. */
    return isfinite(d) ? d / peers->scale : (value / 2 - peers->median / 2) / (peers->scale / 2);
}

bool tc_is_outlier(const struct tc_spread *peers, double value)
{
    return fabs(tc_robust_z(peers, value)) > TC_OUTLIER_Z;
}
