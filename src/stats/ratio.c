/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bootstrap of a ratio of medians. Resampling n values and taking the median is the same as
 * taking n uniform numbers, their middle one U (or two, for an even n), and the value at the place
 * n U of the sorted sample: so a draw costs a few operations, not n.
 */
#include "base/random.h"
#include "stats/stats.h"

#include <math.h>

#define DRAWS_MIN 100

/* The middle of 2a - 1 uniform numbers, Beta(a, a): Ulrich's formula (1984), without rejection. */
static double draw_middle(double a, uint64_t *state)
{
    double u = tc_random_unit(state);
    double angle = 2 * M_PI * tc_random_unit(state);
    return 0.5 + 0.5 * sqrt(1 - pow(u, 2 / (2 * a - 1))) * cos(angle);
}

static double value_at(struct tc_sorted s, double u)
{
    size_t i = (size_t)(u * (double)s.n);
    return s.x[i < s.n ? i : s.n - 1];
}

/*
 * For n = 2a: of 2a - 1 numbers M is the middle one, with a - 1 on each side. One more number falls
 * below M with probability M; then M is the upper of the two in the middle, and the lower one is
 * the largest of a numbers below M. Otherwise the other way round.
 */
static double draw_median(struct tc_sorted s, uint64_t *state)
{
    const size_t half = s.n / 2;
    if (s.n % 2 == 1) {
        return value_at(s, draw_middle((double)half + 1, state));
    }
    double a = (double)half;
    double middle = draw_middle(a, state);
    double edge = pow(tc_random_unit(state), 1 / a); /* the largest of a uniform numbers */
    double other = tc_random_unit(state) < middle ? middle * edge : 1 - (1 - middle) * edge;
    double x = value_at(s, middle);
    double y = value_at(s, other);
    const double two[] = {x < y ? x : y, x < y ? y : x};
    return tc_sorted_median((struct tc_sorted){two, 2});
}

static enum tc_ratio_flag flag_of(struct tc_sorted base, struct tc_sorted candidate, double b,
                                  double c)
{
    if (base.n == 0 || candidate.n == 0 || b == 0 || !isfinite(c / b)) {
        return TC_RATIO_ZERO;
    }
    if (c != 0 && signbit(c) != signbit(b)) {
        return TC_RATIO_SIGNS;
    }
    return base.n < TC_RATIO_MIN || candidate.n < TC_RATIO_MIN ? TC_RATIO_FEW : TC_RATIO_OK;
}

/* Fills ratios of resampled medians; how many. The others have a base of 0 or of another sign. */
static size_t draw_ratios(struct tc_sorted base, struct tc_sorted candidate, size_t draws,
                          uint64_t seed, double *out)
{
    bool is_negative = tc_sorted_median(base) < 0;
    uint64_t state = seed;
    size_t count = 0;
    for (size_t i = 0; i < draws; i++) {
        double b = draw_median(base, &state);
        double c = draw_median(candidate, &state);
        double ratio = c / b;
        if (b != 0 && (b < 0) == is_negative && isfinite(ratio)) {
            out[count++] = ratio;
        }
    }
    return count;
}

tc_status tc_ratio_of_medians(struct tc_sorted base, struct tc_sorted candidate, double level,
                              size_t draws, uint64_t seed, struct tc_arena *arena,
                              struct tc_ratio *out)
{
    if (!(level > 0 && level < 1) || draws < DRAWS_MIN || draws > TC_RATIO_DRAWS_MAX) {
        return TC_E_USAGE;
    }
    double b = tc_sorted_median(base);
    double c = tc_sorted_median(candidate);
    struct tc_ratio r = {.ratio = c / b, .low = (double)NAN, .high = (double)NAN};
    r.flag = flag_of(base, candidate, b, c);
    if (r.flag != TC_RATIO_OK) {
        r.ratio = r.flag == TC_RATIO_FEW ? r.ratio : (double)NAN;
        *out = r;
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(arena);
    struct tc_sorted sorted;
    double *ratios = tc_new(arena, double, draws);
    if (ratios == NULL) {
        return TC_E_NOMEM;
    }
    size_t count = draw_ratios(base, candidate, draws, seed, ratios);
    TC_TRY(tc_sorted_make(ratios, count, arena, &sorted, NULL));
    /* A draw without a ratio may lie anywhere: it counts as beyond both ends. */
    size_t beyond = (size_t)((1 - level) / 2 * (double)draws);
    if (draws - count <= beyond) {
        size_t cut = beyond - (draws - count);
        r.low = sorted.x[cut];
        r.high = sorted.x[count - 1 - cut];
    } else {
        r.flag = TC_RATIO_UNBOUNDED;
    }
    tc_arena_rewind(arena, mark);
    *out = r;
    return TC_OK;
}
