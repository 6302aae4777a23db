/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

#include <float.h>
#include <string.h>

static void values_are_sorted_and_the_input_is_left_alone(void **state)
{
    (void)state;
    const double values[] = {3, -1, 0, 5e-324, -1e308, 1e308, 2, -0.0};
    const double wanted[] = {-1e308, -1, 0, 0, 5e-324, 2, 3, 1e308};
    tc_arena_mark before = tc_arena_snapshot(&arena);
    struct tc_sorted s = sorted_of(values, COUNT(values));
    assert_int_equal(s.n, COUNT(wanted));
    assert_memory_equal(s.x, wanted, sizeof wanted);
    assert_true(values[0] == 3);
    assert_given_back(before, sizeof wanted + 64);
}

static void what_is_no_number_is_refused_by_its_place(void **state)
{
    (void)state;
    const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const double values[] = {1, 2, bad[i], 4};
        struct tc_sorted s = {.n = 77};
        struct tc_error err;
        assert_int_equal(tc_sorted_make(values, 4, &arena, &s, &err), TC_E_MALFORMED);
        assert_int_equal(err.offset, 2);
        assert_non_null(strstr(err.message, i == 0 ? "value 3 is NaN" : "value 3 is infinite"));
        assert_int_equal(s.n, 77);
    }
}

static void the_promised_memory_is_enough_and_less_is_an_error(void **state)
{
    (void)state;
    static double values[1000];
    static char block[TC_SORTED_BYTES(1000)];
    struct tc_arena a;
    struct tc_sorted s;
    for (size_t i = 0; i < 1000; i++) {
        values[i] = (double)(i * 7 % 1000);
    }
    tc_arena_init(&a, "exact", block, sizeof block);
    assert_int_equal(tc_sorted_make(values, 1000, &a, &s, NULL), TC_OK);
    assert_true(s.x[999] == 999);
    tc_arena_fini(&a);
    tc_arena_init(&a, "small", block, 1000 * 40 - 8);
    assert_int_equal(tc_sorted_make(values, 1000, &a, &s, NULL), TC_E_NOMEM);
    tc_arena_fini(&a);
}

static void medians_and_quantiles_of_few_values(void **state)
{
    (void)state;
    struct tc_sorted none = sorted_of(NULL, 0);
    assert_true(isnan(tc_sorted_median(none)));
    assert_true(isnan(tc_sorted_quantile(none, 0)));
    assert_near(tc_sorted_median(SORTED(7)), 7, 0);
    assert_near(tc_sorted_median(SORTED(4, 1)), 2.5, 0);
    assert_near(tc_sorted_median(SORTED(9, 1, 2)), 2, 0);
    struct tc_sorted s = SORTED(10, 20, 30, 40, 50);
    assert_near(tc_sorted_quantile(s, 0), 10, 0);
    assert_near(tc_sorted_quantile(s, 0.1), 14, 1e-12);
    assert_near(tc_sorted_quantile(s, 1), 50, 0);
    assert_true(isnan(tc_sorted_quantile(s, 1.01)));
    assert_true(isnan(tc_sorted_quantile(s, -0.01)));
    assert_true(isnan(tc_sorted_quantile(s, (double)NAN)));
}

static void the_middle_of_extremes_does_not_overflow_or_vanish(void **state)
{
    (void)state;
    assert_near(tc_sorted_median(SORTED(DBL_MAX, DBL_MAX)), DBL_MAX, 0);
    assert_near(tc_sorted_median(SORTED(-DBL_MAX, DBL_MAX)), 0, 0);
    assert_near(tc_sorted_median(SORTED(5e-324, 5e-324)), 5e-324, 0);
    struct tc_spread s = tc_sorted_spread(SORTED(-DBL_MAX, 0, DBL_MAX));
    assert_true(isfinite(s.mad) && isfinite(s.scale));
    assert_true(isfinite(tc_robust_z(&s, DBL_MAX)));
    s = tc_sorted_spread(SORTED(-DBL_MAX, -DBL_MAX, DBL_MAX));
    assert_near(s.median, -DBL_MAX, 0);
    assert_true(tc_robust_z(&s, DBL_MAX) > 1 && isfinite(tc_robust_z(&s, DBL_MAX)));
    s = tc_sorted_spread(SORTED(5e-324, 1e-323, 1.5e-323));
    assert_true(s.mad > 0 && s.scale > 0);
}

static struct tc_median_interval interval_of(size_t n, double level)
{
    double x[2000];
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i + 1;
    }
    return tc_sorted_median_interval(sorted_of(x, n), level);
}

static void an_interval_says_which_level_it_attains(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double level;
        double low;
        double high;
        double attained;
    } cases[] = {
        {1, 0.95, 1, 1, 0},
        {2, 0.95, 1, 2, 0.5},
        {3, 0.95, 1, 3, 0.75},
        {5, 0.95, 1, 5, 0.9375},
        {6, 0.95, 1, 6, 0.96875}, /* six are the first to reach 0.95 */
        {8, 0.95, 1, 8, 0.9921875},
        {9, 0.95, 2, 8, 0.9609375},
        {10, 0.95, 2, 9, 0.978515625},
        {10, 0.99, 1, 10, 0.998046875},
        {3, 0.75, 1, 3, 0.75}, /* exactly met */
        {4, 0.875, 1, 4, 0.875},
        {4, 0.8751, 1, 4, 0.875},
        {6, 0.78125, 2, 5, 0.78125},
        {6, 0.7813, 1, 6, 0.96875},
        {3, 0, 2, 2, 0}, /* nothing asked: the median itself */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tc_median_interval m = interval_of(cases[i].n, cases[i].level);
        assert_near(m.low, cases[i].low, 0);
        assert_near(m.high, cases[i].high, 0);
        assert_near(m.level, cases[i].attained, 1e-12);
    }
    struct tc_median_interval none = tc_sorted_median_interval(sorted_of(NULL, 0), 0.95);
    assert_true(isnan(none.low) && isnan(none.high) && none.level == 0);
    struct tc_median_interval many = interval_of(2000, 0.95);
    assert_near(many.low, 956, 0); /* 1000 - 1.96 sqrt(2000) / 2 */
    assert_near(many.high, 1045, 0);
    assert_in_range((uint64_t)(many.level * 1e6), 950000, 954000);
}

static void spread_is_by_the_median_of_distances(void **state)
{
    (void)state;
    struct tc_spread s = tc_sorted_spread(SORTED(1, 1, 2, 2, 4, 6, 9));
    assert_near(s.median, 2, 0);
    assert_near(s.mad, 1, 0);
    assert_near(s.scale, 1.482602218505602, 0);
    s = tc_sorted_spread(SORTED(1, 2, 4, 8)); /* distances 1, 1, 2, 5 from 3 */
    assert_near(s.mad, 1.5, 0);
    s = tc_sorted_spread(SORTED(7));
    assert_near(s.mad, 0, 0);
    assert_near(s.scale, 0, 0);
    s = tc_sorted_spread(sorted_of(NULL, 0));
    assert_true(isnan(s.median) && isnan(s.mad) && isnan(s.scale));
}

static void more_than_half_equal_falls_back_to_the_mean_distance(void **state)
{
    (void)state;
    struct tc_spread s = tc_sorted_spread(SORTED(5, 5, 5, 5, 6));
    assert_near(s.mad, 0, 0);
    assert_near(s.scale, 0.2 * 1.2533141373155003, 1e-15);
    assert_true(tc_is_outlier(&s, 6));
    assert_false(tc_is_outlier(&s, 5));
    s = tc_sorted_spread(SORTED(5, 5, 6)); /* three values do not tell which is odd */
    assert_false(tc_is_outlier(&s, 6));
}

static void outliers_begin_beyond_three_and_a_half_scales(void **state)
{
    (void)state;
    struct tc_spread s = {.median = 10, .mad = 1, .scale = 2};
    assert_false(tc_is_outlier(&s, 17));
    assert_true(tc_is_outlier(&s, 17.0001));
    assert_false(tc_is_outlier(&s, 3));
    assert_true(tc_is_outlier(&s, 2.9999));
    assert_near(tc_robust_z(&s, 13), 1.5, 0);
    assert_near(tc_robust_z(&s, 7), -1.5, 0);
}

static void of_equal_peers_anything_else_is_infinitely_far(void **state)
{
    (void)state;
    struct tc_spread s = tc_sorted_spread(SORTED(4, 4, 4));
    assert_near(tc_robust_z(&s, 4), 0, 0);
    assert_true(isinf(tc_robust_z(&s, 4.1)) == 1);
    assert_true(isinf(tc_robust_z(&s, 3.9)) == -1);
    assert_true(tc_is_outlier(&s, 4.1));
    assert_false(tc_is_outlier(&s, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_sorted_and_the_input_is_left_alone),
        cmocka_unit_test(what_is_no_number_is_refused_by_its_place),
        cmocka_unit_test(the_promised_memory_is_enough_and_less_is_an_error),
        cmocka_unit_test(medians_and_quantiles_of_few_values),
        cmocka_unit_test(the_middle_of_extremes_does_not_overflow_or_vanish),
        cmocka_unit_test(an_interval_says_which_level_it_attains),
        cmocka_unit_test(spread_is_by_the_median_of_distances),
        cmocka_unit_test(more_than_half_equal_falls_back_to_the_mean_distance),
        cmocka_unit_test(outliers_begin_beyond_three_and_a_half_scales),
        cmocka_unit_test(of_equal_peers_anything_else_is_infinitely_far),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
