/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

#include <float.h>

static struct tc_dip dip_of(struct tc_sorted s)
{
    struct tc_dip d;
    tc_arena_mark before = tc_arena_snapshot(&arena);
    assert_int_equal(tc_dip_test(s, &arena, &d), TC_OK);
    assert_given_back(before, 0);
    return d;
}

/* Ten runs of MLPerf's Stable Diffusion on one system: seconds to train. */
static const double MLPERF[] = {928.786, 942.337, 937.374, 699.847, 932.635,
                                699.511, 928.204, 699.148, 698.103, 931.182};

static void two_groups_of_runs_are_two_modes(void **state)
{
    (void)state;
    struct tc_dip d = dip_of(sorted_of(MLPERF, COUNT(MLPERF)));
    assert_near(d.dip, 0.19848414391940927, 1e-12);
    assert_true(d.p <= 0.001);
}

static void one_group_is_one_mode(void **state)
{
    (void)state;
    struct tc_dip d =
        dip_of(SORTED(928.786, 942.337, 937.374, 932.635, 928.204, 931.182, 930, 934));
    assert_true(d.p > 0.05);
    double even[100];
    for (size_t i = 0; i < 100; i++) {
        even[i] = (double)i / 7;
    }
    d = dip_of(sorted_of(even, 100));
    assert_near(d.dip, 1.0 / 200, 1e-12); /* the least there is */
    assert_near(d.p, 1, 0);
}

static void few_values_cannot_be_checked(void **state)
{
    (void)state;
    struct tc_dip d = dip_of(sorted_of(MLPERF, 7));
    assert_true(isnan(d.dip) && isnan(d.p));
    d = dip_of(sorted_of(MLPERF, 8));
    assert_true(d.dip > 0 && d.p <= 1);
    d = dip_of(sorted_of(NULL, 0));
    assert_true(isnan(d.p));
}

static void equal_values_are_one_mode(void **state)
{
    (void)state;
    double x[12] = {0};
    struct tc_dip d = dip_of(sorted_of(x, 12));
    assert_near(d.dip, 1.0 / 24, 1e-15);
    assert_near(d.p, 1, 0);
    x[11] = 5; /* and one odd value is no second one */
    d = dip_of(sorted_of(x, 12));
    assert_true(d.p > 0.05);
}

/* The same, rounded to whole numbers: a histogram with one peak. */
static void rounding_makes_no_modes(void **state)
{
    (void)state;
    struct tc_dip d = dip_of(SORTED(98, 99, 99, 100, 100, 100, 100, 101, 101, 102));
    assert_near(d.p, 1, 0);
    d = dip_of(SORTED(0.98, 0.99, 0.99, 1, 1, 1, 1, 1.01, 1.01, 1.02));
    assert_near(d.p, 1, 0);
    d = dip_of(SORTED(1, 1, 1, 1, 1, 2, 2, 2, 2, 2)); /* from 1.5, as likely as not */
    assert_near(d.p, 1, 0);
    /* But two peaks remain two. */
    d = dip_of(SORTED(1, 1, 2, 2, 2, 30, 30, 30, 31, 31));
    assert_true(d.p < 0.01);
    d = dip_of(SORTED(700, 700, 700, 700, 930, 930, 930, 930, 930, 930));
    assert_true(d.p < 0.01);
    /* Thirds are rounded to nothing: they stay as they are. */
    double x[10];
    for (size_t i = 0; i < 10; i++) {
        x[i] = (i < 5 ? 1 : 2) / 3.0;
    }
    d = dip_of(sorted_of(x, 10));
    assert_near(d.dip, 0.25, 1e-12); /* the most there is */
    /* Two steps of three at the ends of where the mode may be: one of them is not the mode. */
    d = dip_of(SORTED(0, 0, 0, 1 / 3.0, 1 / 3.0, 2 / 3.0, 2 / 3.0, 1, 1, 1, 4 / 3.0, 4 / 3.0));
    assert_near(d.dip, 3 / 24.0, 1e-12);
}

static void it_does_not_depend_on_units(void **state)
{
    (void)state;
    const double factors[] = {1e-300, 1e-9, -1, 1e300};
    double dip = dip_of(sorted_of(MLPERF, COUNT(MLPERF))).dip;
    for (size_t i = 0; i < COUNT(factors); i++) {
        double x[COUNT(MLPERF)];
        for (size_t k = 0; k < COUNT(MLPERF); k++) {
            x[k] = MLPERF[k] * factors[i];
        }
        assert_near(dip_of(sorted_of(x, COUNT(MLPERF))).dip, dip, 1e-12);
    }
    struct tc_dip d = dip_of(SORTED(-DBL_MAX, -1e308, -1e307, 0, 1e307, 1e308, 1.5e308, DBL_MAX));
    assert_true(d.dip >= 1.0 / 16 && d.dip <= 0.25);
    d = dip_of(SORTED(0, 5e-324, 1e-323, 1.5e-323, 2e-323, 2.5e-323, 3e-323, 3.5e-323));
    assert_near(d.p, 1, 0);
}

/* Shares of samples that are called multimodal at 0.05. */
static double share_called(size_t n, double (*draw)(uint64_t *), double spacing, size_t samples)
{
    uint64_t seed = 11;
    size_t called = 0;
    for (size_t k = 0; k < samples; k++) {
        double x[50];
        tc_arena_mark mark = tc_arena_snapshot(&arena);
        for (size_t i = 0; i < n; i++) {
            x[i] = draw(&seed) + (i % 2 == 0 ? 0 : spacing);
        }
        called += dip_of(sorted_of(x, n)).p <= 0.05;
        tc_arena_rewind(&arena, mark);
    }
    return (double)called / (double)samples;
}

static double draw_lognormal(uint64_t *state)
{
    return exp(draw_normal(state));
}

static void one_mode_is_seldom_called_two(void **state)
{
    (void)state;
    assert_true(share_called(10, draw_normal, 0, 1000) < 0.05);
    assert_true(share_called(10, draw_lognormal, 0, 1000) < 0.05);
    double uniform = share_called(10, tc_random_unit, 0, 2000);
    assert_true(uniform > 0.03 && uniform < 0.07); /* what the p is made for */
    assert_true(share_called(20, draw_normal, 10, 200) > 0.95);
}

static void memory_is_as_promised(void **state)
{
    (void)state;
    static char block[TC_DIP_BYTES(10)];
    struct tc_sorted s = sorted_of(MLPERF, 10);
    struct tc_arena a;
    struct tc_dip d;
    tc_arena_init(&a, "exact", block, sizeof block);
    assert_int_equal(tc_dip_test(s, &a, &d), TC_OK);
    tc_arena_fini(&a);
    tc_arena_init(&a, "small", block, 10 * 56 - 8);
    assert_int_equal(tc_dip_test(s, &a, &d), TC_E_NOMEM);
    tc_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_groups_of_runs_are_two_modes),
        cmocka_unit_test(one_group_is_one_mode),
        cmocka_unit_test(few_values_cannot_be_checked),
        cmocka_unit_test(equal_values_are_one_mode),
        cmocka_unit_test(rounding_makes_no_modes),
        cmocka_unit_test(it_does_not_depend_on_units),
        cmocka_unit_test(one_mode_is_seldom_called_two),
        cmocka_unit_test(memory_is_as_promised),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
