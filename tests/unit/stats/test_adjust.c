/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

static void the_example_of_the_paper(void **state)
{
    (void)state;
    /* Benjamini and Hochberg 1995, section 3.2: four of fifteen at 0.05, the fourth being 0.0095.
     */
    const double p[15] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                          0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double adjusted[15];
    tc_arena_mark before = tc_arena_snapshot(&arena);
    assert_int_equal(tc_adjust_p(p, 15, &arena, adjusted), TC_OK);
    assert_given_back(before, 0);
    assert_near(adjusted[0], 0.0015, 1e-12);
    assert_near(adjusted[3], 0.035625, 1e-12);
    for (size_t i = 0; i < 15; i++) {
        assert_true((adjusted[i] <= 0.05) == (i < 4));
        assert_true(adjusted[i] >= p[i] && adjusted[i] <= 1);
    }
}

static void order_does_not_matter_and_equal_stays_equal(void **state)
{
    (void)state;
    double p[] = {0.04, 0.01, 0.03, 0.01};
    assert_int_equal(tc_adjust_p(p, 4, &arena, p), TC_OK); /* in place */
    assert_near(p[0], 0.04, 1e-15);
    assert_near(p[1], 0.02, 1e-15);
    assert_near(p[2], 0.04, 1e-15); /* 0.03 * 4 / 3, and no more than that above it */
    assert_near(p[3], 0.02, 1e-15);
}

static void what_was_not_tested_does_not_count(void **state)
{
    (void)state;
    double p[] = {(double)NAN, 0.01, (double)NAN, 0.02, (double)NAN};
    assert_int_equal(tc_adjust_p(p, 5, &arena, p), TC_OK);
    assert_true(isnan(p[0]) && isnan(p[2]) && isnan(p[4]));
    assert_near(p[1], 0.02, 1e-15);
    assert_near(p[3], 0.02, 1e-15);
    double nothing[] = {(double)NAN};
    assert_int_equal(tc_adjust_p(nothing, 1, &arena, nothing), TC_OK);
    assert_true(isnan(nothing[0]));
    assert_int_equal(tc_adjust_p(NULL, 0, &arena, NULL), TC_OK);
    double ends[] = {-0.0, 0, 1};
    assert_int_equal(tc_adjust_p(ends, 3, &arena, ends), TC_OK);
    assert_true(ends[0] == 0 && ends[1] == 0 && ends[2] == 1);
}

static void what_is_no_probability_is_refused(void **state)
{
    (void)state;
    const double bad[] = {-0.001, 1.001, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < COUNT(bad); i++) {
        double p[] = {0.5, bad[i]};
        double out[] = {7, 7};
        assert_int_equal(tc_adjust_p(p, 2, &arena, out), TC_E_MALFORMED);
        assert_true(out[0] == 7 && out[1] == 7);
    }
}

static void memory_is_as_promised(void **state)
{
    (void)state;
    static char block[TC_ADJUST_BYTES(500)];
    static double p[500];
    struct tc_arena a;
    tc_arena_init(&a, "exact", block, sizeof block);
    assert_int_equal(tc_adjust_p(p, 500, &a, p), TC_OK);
    tc_arena_fini(&a);
    tc_arena_init(&a, "small", block, 500 * 32 - 8);
    assert_int_equal(tc_adjust_p(p, 500, &a, p), TC_E_NOMEM);
    tc_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_paper),
        cmocka_unit_test(order_does_not_matter_and_equal_stays_equal),
        cmocka_unit_test(what_was_not_tested_does_not_count),
        cmocka_unit_test(what_is_no_probability_is_refused),
        cmocka_unit_test(memory_is_as_promised),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
