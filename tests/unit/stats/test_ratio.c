/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

#include <float.h>

#define DRAWS TC_RATIO_DRAWS

static struct tc_ratio ratio(struct tc_sorted base, struct tc_sorted candidate)
{
    struct tc_ratio r;
    tc_arena_mark before = tc_arena_snapshot(&arena);
    assert_int_equal(tc_ratio_of_medians(base, candidate, 0.95, DRAWS, 1, &arena, &r), TC_OK);
    assert_given_back(before, 0);
    assert_true((r.flag == TC_RATIO_OK) == isfinite(r.low));
    assert_true((r.flag == TC_RATIO_OK) == isfinite(r.high));
    return r;
}

static void the_interval_holds_the_ratio_and_narrows_with_n(void **state)
{
    (void)state;
    double width_before = HUGE_VAL;
    for (size_t n = 5; n <= 320; n *= 4) {
        double x[320];
        double y[320];
        uint64_t seed = n;
        for (size_t i = 0; i < n; i++) {
            x[i] = 100 + draw_normal(&seed);
            y[i] = 150 + draw_normal(&seed);
        }
        struct tc_ratio r = ratio(sorted_of(x, n), sorted_of(y, n));
        assert_int_equal(r.flag, TC_RATIO_OK);
        assert_true(r.low <= r.ratio && r.ratio <= r.high);
        assert_near(r.ratio, 1.5, 0.03);
        assert_true(r.high - r.low < width_before);
        width_before = r.high - r.low;
    }
}

static void the_same_seed_gives_the_same_interval(void **state)
{
    (void)state;
    struct tc_sorted base = SORTED(1, 2, 3, 4, 5, 6, 7);
    struct tc_sorted candidate = SORTED(2, 3, 5, 7, 11, 13);
    struct tc_ratio a = ratio(base, candidate);
    struct tc_ratio b = ratio(base, candidate);
    assert_memory_equal(&a, &b, sizeof a);
}

/* Of resamples of 1, 2, 3 the median is 1, 2, 3 with 7/27, 13/27, 7/27. */
static void draws_are_those_of_resampling(void **state)
{
    (void)state;
    struct tc_ratio r;
    struct tc_sorted base = SORTED(1, 1, 1);
    struct tc_sorted three = SORTED(1, 2, 3);
    /* Half of what is left out at each end, on both sides of 7/27 = 0.2593. */
    assert_int_equal(tc_ratio_of_medians(base, three, 1 - 2 * 0.24, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.low == 1 && r.high == 3);
    assert_int_equal(tc_ratio_of_medians(base, three, 1 - 2 * 0.28, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.low == 2 && r.high == 2);
    /* Of four values 0, 0, 0, 1: the median is 1 if three or four are, 0.5 with two: 13/256,
     * 54/256. */
    base = SORTED(1, 1, 1, 1);
    struct tc_sorted four = SORTED(0, 0, 0, 1);
    assert_int_equal(tc_ratio_of_medians(base, four, 1 - 2 * 0.045, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.high == 1);
    assert_int_equal(tc_ratio_of_medians(base, four, 1 - 2 * 0.057, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.high == 0.5);
    assert_int_equal(tc_ratio_of_medians(base, four, 1 - 2 * 0.25, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.high == 0.5);
    assert_int_equal(tc_ratio_of_medians(base, four, 1 - 2 * 0.27, 100000, 1, &arena, &r), TC_OK);
    assert_true(r.high == 0);
}

static void without_a_ratio_there_is_a_flag(void **state)
{
    (void)state;
    struct tc_sorted one = SORTED(1, 2, 3);
    struct tc_ratio r = ratio(SORTED(-1, 0, 1), one);
    assert_int_equal(r.flag, TC_RATIO_ZERO);
    assert_true(isnan(r.ratio));
    r = ratio(sorted_of(NULL, 0), one);
    assert_int_equal(r.flag, TC_RATIO_ZERO);
    r = ratio(one, sorted_of(NULL, 0));
    assert_int_equal(r.flag, TC_RATIO_ZERO);
    r = ratio(SORTED(5e-324, 5e-324, 5e-324), SORTED(1e300, 1e300, 1e300));
    assert_int_equal(r.flag, TC_RATIO_ZERO);
    r = ratio(SORTED(-1, -2, -3), one);
    assert_int_equal(r.flag, TC_RATIO_SIGNS);
    assert_true(isnan(r.ratio));
    r = ratio(SORTED(1, 2), one);
    assert_int_equal(r.flag, TC_RATIO_FEW);
    assert_near(r.ratio, 2 / 1.5, 1e-15);
    r = ratio(SORTED(0, 0, 1, 1, 1), one); /* 0 is the median of a third of all resamples */
    assert_int_equal(r.flag, TC_RATIO_UNBOUNDED);
    assert_near(r.ratio, 2, 0);
}

static void seldom_resamples_without_a_ratio_widen_the_interval(void **state)
{
    (void)state;
    struct tc_ratio r = ratio(SORTED(0, 9, 10, 10, 10, 10, 11), SORTED(20, 20, 20));
    assert_int_equal(r.flag, TC_RATIO_OK);
    assert_true(r.low <= 2 && r.high >= 2);
    /* 0 is the median of 1.0 % of resamples, 9 of 9.8 %: with 10.35 % beyond each end the upper one
     * is the ratio to 9, as the former are beyond both. */
    assert_int_equal(tc_ratio_of_medians(SORTED(0, 9, 10, 10, 10, 10, 11), SORTED(20, 20, 20),
                                         1 - 2 * 0.1035, 100000, 1, &arena, &r),
                     TC_OK);
    assert_near(r.high, 20.0 / 9, 1e-12);
}

static void both_sides_may_be_negative_and_the_candidate_zero(void **state)
{
    (void)state;
    struct tc_ratio r = ratio(SORTED(-1, -2, -3), SORTED(-2, -4, -6));
    assert_int_equal(r.flag, TC_RATIO_OK);
    assert_near(r.ratio, 2, 0);
    assert_true(r.low > 0);
    r = ratio(SORTED(1, 2, 3), SORTED(0, 0, 0));
    assert_int_equal(r.flag, TC_RATIO_OK);
    assert_true(r.ratio == 0 && r.low == 0 && r.high == 0);
    r = ratio(SORTED(4, 4, 4), SORTED(6, 6, 6));
    assert_true(r.low == 1.5 && r.high == 1.5);
    r = ratio(SORTED(DBL_MAX, DBL_MAX, DBL_MAX), SORTED(DBL_MAX, DBL_MAX, DBL_MAX / 2));
    assert_int_equal(r.flag, TC_RATIO_OK);
    assert_near(r.ratio, 1, 0);
}

static void wrong_parameters_are_refused_and_memory_is_as_promised(void **state)
{
    (void)state;
    struct tc_sorted s = SORTED(1, 2, 3);
    struct tc_ratio r;
    assert_int_equal(tc_ratio_of_medians(s, s, 0, DRAWS, 1, &arena, &r), TC_E_USAGE);
    assert_int_equal(tc_ratio_of_medians(s, s, 1, DRAWS, 1, &arena, &r), TC_E_USAGE);
    assert_int_equal(tc_ratio_of_medians(s, s, (double)NAN, DRAWS, 1, &arena, &r), TC_E_USAGE);
    assert_int_equal(tc_ratio_of_medians(s, s, 0.95, 99, 1, &arena, &r), TC_E_USAGE);
    assert_int_equal(tc_ratio_of_medians(s, s, 0.95, TC_RATIO_DRAWS_MAX + 1, 1, &arena, &r),
                     TC_E_USAGE);
    static char block[TC_RATIO_BYTES(1000)];
    struct tc_arena a;
    tc_arena_init(&a, "exact", block, sizeof block);
    assert_int_equal(tc_ratio_of_medians(s, s, 0.95, 1000, 1, &a, &r), TC_OK);
    tc_arena_fini(&a);
    tc_arena_init(&a, "small", block, 48 * 1000 - 8);
    assert_int_equal(tc_ratio_of_medians(s, s, 0.95, 1000, 1, &a, &r), TC_E_NOMEM);
    tc_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_holds_the_ratio_and_narrows_with_n),
        cmocka_unit_test(the_same_seed_gives_the_same_interval),
        cmocka_unit_test(draws_are_those_of_resampling),
        cmocka_unit_test(without_a_ratio_there_is_a_flag),
        cmocka_unit_test(seldom_resamples_without_a_ratio_widen_the_interval),
        cmocka_unit_test(both_sides_may_be_negative_and_the_candidate_zero),
        cmocka_unit_test(wrong_parameters_are_refused_and_memory_is_as_promised),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
