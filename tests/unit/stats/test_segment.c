/* SPDX-License-Identifier: Apache-2.0 */
/* The two statistics of a split, beside their definitions written out. */
#include "unit/stats/stats_testing.h"

#include "stats/segment_priv.h"

#define MOST 60

/* Twice the mean rank. */
static double rank_of(const double *x, size_t n, size_t i)
{
    double rank = 1;
    for (size_t k = 0; k < n; k++) {
        rank += x[k] < x[i] ? 2 : x[k] == x[i];
    }
    return rank;
}

/* Sum of distances of ranks, of values from a to b to those from c to d. */
static double distances(const double *rank, size_t a, size_t b, size_t c, size_t d)
{
    double sum = 0;
    for (size_t i = a; i < b; i++) {
        for (size_t k = c; k < d; k++) {
            sum += fabs(rank[i] - rank[k]);
        }
    }
    return sum;
}

/* Q of the header of energy.c, times (m + k) / 2: what the room leaves out. */
static double energy_of(const double *rank, size_t n, size_t split)
{
    double m = (double)split;
    double k = (double)(n - split);
    double between = distances(rank, 0, split, split, n) / (m * k);
    double left = distances(rank, 0, split, 0, split) / (m * (m - 1));
    double right = distances(rank, split, n, split, n) / (k * (k - 1));
    return m * k / (m + k) * (2 * between - left - right) * (m + k) / 2;
}

static void fill_series(double *x, size_t n, double step, bool tied, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = draw_normal(seed) + (i < n / 3 ? 0 : step);
        x[i] = tied ? rint(x[i] * 2) : x[i];
    }
}

static void energy_is_as_defined(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct tc__segment s;
    tc__segment_init(&s, MOST, &arena);
    for (size_t trial = 0; trial < 60; trial++) {
        size_t n = 6 + trial % (MOST - 6);
        size_t least = 2 + trial % 2;
        double x[MOST];
        double rank[MOST];
        double wanted = -1;
        size_t wanted_at = 0;
        size_t at;
        fill_series(x, n, (double)(trial % 4), trial % 3 == 0, &seed);
        for (size_t i = 0; i < n; i++) {
            rank[i] = rank_of(x, n, i);
        }
        for (size_t i = least; i + least <= n; i++) {
            double q = energy_of(rank, n, i);
            if (q > wanted + 1e-9) {
                wanted = q;
                wanted_at = i;
            }
        }
        tc__segment_fill(&s, x, n);
        double q = tc__split_by_energy(&s, least, HUGE_VAL, &at);
        assert_near(q, wanted > 0 ? wanted : 0, 1e-9 * (1 + fabs(wanted)));
        assert_int_equal(at, wanted > 0 ? wanted_at : 0);
        assert_true(tc__split_by_energy(&s, least, q / 2, &at) >=
                    q / 2); /* and it may stop early */
    }
}

static void windows_are_as_defined(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct tc__segment s;
    tc__segment_init(&s, MOST, &arena);
    for (size_t trial = 0; trial < 40; trial++) {
        size_t n = 8 + trial % (MOST - 8);
        double x[MOST];
        double wanted = 0;
        size_t at;
        fill_series(x, n, (double)(trial % 5), trial % 2 == 0, &seed);
        struct tc_spread spread = tc_sorted_spread(sorted_of(x, n));
        for (size_t h = 4; 2 * h <= n; h *= 2) {
            for (size_t i = h; i + h <= n; i++) {
                double d = 0;
                for (size_t k = 0; k < h; k++) {
                    double behind = tc_robust_z(&spread, x[i + k]);
                    double before = tc_robust_z(&spread, x[i - 1 - k]);
                    d += fmax(-3, fmin(3, behind)) - fmax(-3, fmin(3, before));
                }
                wanted = fmax(wanted, fabs(d) / sqrt(2 * (double)h));
            }
        }
        tc__segment_fill(&s, x, n);
        /* In units of 1 / 1024, rounded for each value. */
        assert_near(tc__split_by_windows(&s, 3, HUGE_VAL, &at) / 1024, wanted, 0.01);
        assert_true(wanted == 0 || (at >= 4 && at + 4 <= n));
    }
    assert_near(tc__split_by_windows(&s, 40, HUGE_VAL, &(size_t){0}), 0, 0); /* no room for two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_as_defined),
        cmocka_unit_test(windows_are_as_defined),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
