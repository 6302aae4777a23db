/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

static struct tc_rank_test test(struct tc_sorted base, struct tc_sorted candidate)
{
    struct tc_rank_test t;
    tc_arena_mark before = tc_arena_snapshot(&arena);
    assert_int_equal(tc_rank_test(base, candidate, &arena, &t), TC_OK);
    assert_given_back(before, 0);
    return t;
}

/* first, first + step ... */
static struct tc_sorted ladder(size_t n, double first, double step)
{
    double x[600];
    for (size_t i = 0; i < n; i++) {
        x[i] = first + step * (double)i;
    }
    return sorted_of(x, n);
}

static void separated_samples_have_the_least_p(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 28; n++) {
        struct tc_rank_test t = test(ladder(n, 0, 1), ladder(n, 100, 1));
        assert_int_equal(t.method, TC_RANK_EXACT);
        assert_near(t.u, (double)(n * n), 0);
        assert_near(t.delta, 1, 0);
        assert_near(t.p, tc_rank_least_p(n, n), 1e-15);
        t = test(ladder(n, 100, 1), ladder(n, 0, 1));
        assert_near(t.u, 0, 0);
        assert_near(t.delta, -1, 0);
        assert_near(t.p, tc_rank_least_p(n, n), 1e-15);
    }
}

static void published_values_come_out(void **state)
{
    (void)state;
    /* The example of Mann and Whitney's U in Hollander and Wolfe, table 4.1: p = 0.2544. */
    struct tc_rank_test t =
        test(SORTED(1.15, 0.88, 0.90, 0.74, 1.21),
             SORTED(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46));
    assert_near(t.u, 35, 0);
    assert_near(t.p, 0.25441225441225443, 1e-14);
    assert_near(t.delta, 0.4, 1e-15);
}

static void exact_ends_where_counts_are_no_longer_exact(void **state)
{
    (void)state;
    assert_int_equal(test(ladder(28, 0, 1), ladder(28, 0.5, 1)).method, TC_RANK_EXACT);
    assert_int_equal(test(ladder(29, 0, 1), ladder(29, 0.5, 1)).method, TC_RANK_NORMAL);
    /* 5 * 500 values of U, and 5 * 501. */
    assert_int_equal(test(ladder(5, 0.5, 1), ladder(500, 1, 1)).method, TC_RANK_EXACT);
    assert_int_equal(test(ladder(5, 0.5, 1), ladder(501, 1, 1)).method, TC_RANK_NORMAL);
}

static void ties_are_counted_as_they_are(void **state)
{
    (void)state;
    /* Two of 70 choices are this far out; the normal approximation says 0.013. */
    struct tc_rank_test t = test(SORTED(1, 1, 1, 1), SORTED(2, 2, 2, 2));
    assert_int_equal(t.method, TC_RANK_EXACT_TIES);
    assert_near(t.p, 2.0 / 70, 1e-15);
    assert_near(t.delta, 1, 0);
    /* Of the 20 choices three are the largest of these values: 3, 4 and any 2. */
    t = test(SORTED(1, 2, 2), SORTED(2, 3, 4));
    assert_near(t.u, 8, 0);
    assert_near(t.p, 2 * 3.0 / 20, 1e-15);
}

static void ties_are_approximated_beyond_forty_values(void **state)
{
    (void)state;
    double x[21];
    for (size_t i = 0; i < 21; i++) {
        x[i] = (double)(i / 2);
    }
    assert_int_equal(test(sorted_of(x, 20), sorted_of(x, 20)).method, TC_RANK_EXACT_TIES);
    assert_int_equal(test(sorted_of(x, 20), sorted_of(x, 21)).method, TC_RANK_NORMAL);
    /* The largest table that is exact fits its promise. */
    static char block[TC_RANK_BYTES];
    struct tc_arena a;
    for (size_t n = 1; n < TC_RANK_TIES_MAX; n++) {
        double y[TC_RANK_TIES_MAX] = {0};
        struct tc_rank_test t;
        tc_arena_init(&a, "exact", block, sizeof block);
        assert_int_equal(tc_rank_test(sorted_of(y, n), sorted_of(y, TC_RANK_TIES_MAX - n), &a, &t),
                         TC_OK);
        assert_near(t.p, 1, 0);
        tc_arena_fini(&a);
    }
    tc_arena_init(&a, "small", block, 64);
    struct tc_rank_test t;
    assert_int_equal(tc_rank_test(SORTED(1, 1), SORTED(1, 1), &a, &t), TC_E_NOMEM);
    tc_arena_fini(&a);
}

static void equal_values_are_no_difference_and_empty_sides_no_test(void **state)
{
    (void)state;
    struct tc_rank_test t = test(SORTED(3, 3, 3), SORTED(3, 3, 3));
    assert_near(t.p, 1, 0);
    assert_near(t.delta, 0, 0);
    double same[50] = {0};
    t = test(sorted_of(same, 50), sorted_of(same, 50));
    assert_int_equal(t.method, TC_RANK_NORMAL);
    assert_near(t.p, 1, 0);
    t = test(sorted_of(NULL, 0), SORTED(1, 2));
    assert_int_equal(t.method, TC_RANK_NONE);
    assert_true(isnan(t.p) && isnan(t.delta));
    t = test(SORTED(1), SORTED(2));
    assert_near(t.p, 1, 0);
}

static void the_least_p_says_how_many_runs_are_needed(void **state)
{
    (void)state;
    assert_near(tc_rank_least_p(3, 3), 0.1, 1e-15);
    assert_near(tc_rank_least_p(4, 4), 2.0 / 70, 1e-15);
    assert_near(tc_rank_least_p(3, 5), 2.0 / 56, 1e-15);
    assert_near(tc_rank_least_p(0, 9), 1, 0);
    assert_near(tc_rank_least_p(1, 1), 1, 0);
    assert_near(tc_rank_least_p(100000, 100000), 0, 0);
    assert_int_equal(tc_rank_least_n(0.05), 4);
    assert_int_equal(tc_rank_least_n(0.1), 3);
    assert_int_equal(tc_rank_least_n(0.0999), 4);
    assert_int_equal(tc_rank_least_n(0.01), 5);
    assert_int_equal(tc_rank_least_n(1), 1);
    assert_int_equal(tc_rank_least_n(0), 0);
    assert_int_equal(tc_rank_least_n(-1), 0);
    assert_int_equal(tc_rank_least_n((double)NAN), 0);
    assert_in_range(tc_rank_least_n(5e-324), 500, 520);
}

static void effect_sizes_have_words(void **state)
{
    (void)state;
    assert_string_equal(tc_delta_word(0), "negligible");
    assert_string_equal(tc_delta_word(0.1469), "negligible");
    assert_string_equal(tc_delta_word(-0.147), "small");
    assert_string_equal(tc_delta_word(0.3299), "small");
    assert_string_equal(tc_delta_word(0.33), "medium");
    assert_string_equal(tc_delta_word(-0.4739), "medium");
    assert_string_equal(tc_delta_word(0.474), "large");
    assert_string_equal(tc_delta_word(-1), "large");
    assert_string_equal(tc_delta_word((double)NAN), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separated_samples_have_the_least_p),
        cmocka_unit_test(published_values_come_out),
        cmocka_unit_test(exact_ends_where_counts_are_no_longer_exact),
        cmocka_unit_test(ties_are_counted_as_they_are),
        cmocka_unit_test(ties_are_approximated_beyond_forty_values),
        cmocka_unit_test(equal_values_are_no_difference_and_empty_sides_no_test),
        cmocka_unit_test(the_least_p_says_how_many_runs_are_needed),
        cmocka_unit_test(effect_sizes_have_words),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
