/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stats/stats_testing.h"

#include <string.h>

#define LONG 300

static const struct tc_changes_options DEFAULT = TC_CHANGES_DEFAULT;
/* Noise around what is to be found has changes of its own in 1 of 100 series, not in 5. */
static const struct tc_changes_options STRICT = {.alpha = 0.01, .segment_min = 3, .seed = 1};
static double series[LONG];
static struct tc_change *found;
static size_t found_count;

static size_t find(const double *x, size_t n, const struct tc_changes_options *o)
{
    tc_arena_reset(&arena);
    assert_int_equal(tc_changes_find(x, n, o, &arena, &found, &found_count, NULL), TC_OK);
    for (size_t i = 0; i < found_count; i++) {
        assert_true(found[i].p > 0 && found[i].p <= o->alpha);
        assert_in_range(found[i].index, o->segment_min, n - o->segment_min);
        assert_true(i == 0 || found[i].index >= found[i - 1].index + o->segment_min);
        assert_true(i == 0 || found[i].before == found[i - 1].after);
    }
    return found_count;
}

static void fill_noise(size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        series[i] = 100 + draw_normal(&seed);
    }
}

static void raise_values(size_t from, size_t to, double by)
{
    for (size_t i = from; i < to; i++) {
        series[i] += by;
    }
}

static void a_step_is_found_at_its_place(void **state)
{
    (void)state;
    for (uint64_t seed = 3; seed <= 7; seed++) {
        fill_noise(100, seed);
        raise_values(60, 100, 8);
        assert_int_equal(find(series, 100, &STRICT), 1);
        assert_int_equal(found[0].index, 60);
        assert_near(found[0].before, 100, 1);
        assert_near(found[0].after, 108, 1);
    }
}

static void several_steps_are_found_in_order(void **state)
{
    (void)state;
    fill_noise(200, 3);
    raise_values(50, 200, 8);
    raise_values(90, 200, -20);
    raise_values(150, 200, 10);
    assert_int_equal(find(series, 200, &STRICT), 3);
    assert_int_equal(found[0].index, 50);
    assert_int_equal(found[1].index, 90);
    assert_int_equal(found[2].index, 150);
}

static void a_level_that_does_not_last_is_found(void **state)
{
    (void)state;
    fill_noise(200, 1);
    raise_values(90, 110, 8);
    assert_int_equal(find(series, 200, &STRICT), 2);
    assert_int_equal(found[0].index, 90);
    assert_int_equal(found[1].index, 110);
    fill_noise(200, 2);
    raise_values(97, 103, 8); /* six values */
    assert_int_equal(find(series, 200, &STRICT), 2);
    assert_int_equal(found[0].index, 97);
    assert_int_equal(found[1].index, 103);
}

static void a_single_spike_is_no_change(void **state)
{
    (void)state;
    static const size_t places[] = {0, 1, 50, 98, 99};
    size_t changes = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (size_t i = 0; i < COUNT(places); i++) {
            fill_noise(100, seed);
            size_t noise = find(series, 100, &STRICT);
            series[places[i]] = 1e6;
            changes += find(series, 100, &STRICT) > noise;
        }
    }
    assert_true(changes <= 1); /* of 50, at 0.01 */
}

static void two_odd_values_side_by_side_are_none_either(void **state)
{
    (void)state;
    size_t changes = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fill_noise(100, seed);
        raise_values(40, 42, 1e6);
        changes += find(series, 100, &STRICT);
    }
    assert_true(changes <= 1);
}

static void noise_has_few_changes(void **state)
{
    (void)state;
    size_t with = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        fill_noise(40, seed);
        with += find(series, 40, &DEFAULT) > 0;
    }
    assert_true(with <= 20); /* 10 of 200 are to be expected at 0.05 */
}

static void what_has_no_order_has_no_changes(void **state)
{
    (void)state;
    assert_int_equal(find(series, 0, &DEFAULT), 0);
    for (size_t i = 0; i < LONG; i++) {
        series[i] = 7;
    }
    for (size_t n = 1; n < 20; n++) {
        assert_int_equal(find(series, n, &DEFAULT), 0);
    }
    assert_int_equal(find(series, LONG, &DEFAULT), 0);
    for (size_t i = 0; i < LONG; i++) {
        series[i] = (double)(i % 2);
    }
    assert_int_equal(find(series, LONG, &DEFAULT), 0);
}

static void two_values_only_are_levels(void **state)
{
    (void)state;
    for (size_t n = 5; n < 60; n += 6) {
        for (size_t i = 0; i < 2 * n; i++) {
            series[i] = i < n ? 0 : 1;
        }
        assert_int_equal(find(series, 2 * n, &DEFAULT), 1);
        assert_int_equal(found[0].index, n);
        assert_near(found[0].before, 0, 0);
        assert_near(found[0].after, 1, 0);
    }
}

static void segments_have_the_least_length(void **state)
{
    (void)state;
    struct tc_changes_options o = DEFAULT;
    fill_noise(60, 4);
    raise_values(54, 60, 50);
    o.segment_min = 6;
    assert_int_equal(find(series, 60, &o), 1);
    assert_int_equal(found[0].index, 54);
    o.segment_min = 7;
    assert_true(find(series, 60, &o) == 0 || found[0].index == 53);
    o.segment_min = 31;
    assert_int_equal(find(series, 60, &o), 0);
}

static void only_the_order_of_values_counts_for_whether(void **state)
{
    (void)state;
    double other[100];
    fill_noise(100, 6);
    raise_values(30, 100, 4);
    assert_int_equal(find(series, 100, &DEFAULT), 1);
    size_t index = found[0].index;
    double p = found[0].p;
    const double factors[] = {1e-310, 1e300};
    for (size_t k = 0; k < COUNT(factors); k++) {
        for (size_t i = 0; i < 100; i++) {
            other[i] = series[i] * factors[k];
        }
        assert_int_equal(find(other, 100, &DEFAULT), 1);
        assert_int_equal(found[0].index, index);
        assert_near(found[0].p, p, 0);
    }
}

static void the_same_seed_gives_the_same_changes(void **state)
{
    (void)state;
    struct tc_change first[8];
    fill_noise(150, 9);
    raise_values(70, 150, 1);
    size_t count = find(series, 150, &DEFAULT);
    assert_in_range(count, 1, COUNT(first));
    memcpy(first, found, count * sizeof *first);
    assert_int_equal(find(series, 150, &DEFAULT), count);
    assert_memory_equal(first, found, count * sizeof *first);
}

static void wrong_options_and_values_are_refused(void **state)
{
    (void)state;
    const struct tc_changes_options bad[] = {
        {.alpha = 0, .segment_min = 3},
        {.alpha = 0.00009, .segment_min = 3},
        {.alpha = 1, .segment_min = 3},
        {.alpha = (double)NAN, .segment_min = 3},
        {.alpha = 0.05, .segment_min = 1},
        {.alpha = 0.05, .segment_min = 3, .permutations = 38},
        {.alpha = 0.05, .segment_min = 3, .permutations = TC_CHANGES_PERMUTATIONS_MAX + 1},
    };
    struct tc_error err;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(tc_changes_find(series, 9, &bad[i], &arena, &found, &found_count, &err),
                         TC_E_USAGE);
    }
    const struct tc_changes_options least = {.alpha = 0.05, .segment_min = 2, .permutations = 39};
    fill_noise(20, 1);
    raise_values(10, 20, 100);
    assert_int_equal(find(series, 20, &least), 1);
    assert_near(found[0].p, 0.05, 1e-15);
    series[4] = (double)NAN;
    assert_int_equal(tc_changes_find(series, 20, &DEFAULT, &arena, &found, &found_count, &err),
                     TC_E_MALFORMED);
    assert_int_equal(err.offset, 4);
    assert_int_equal(tc_changes_find(series, TC_CHANGES_POINTS_MAX + 1, &DEFAULT, &arena, &found,
                                     &found_count, &err),
                     TC_E_LIMIT);
}

static void memory_is_as_promised(void **state)
{
    (void)state;
    static char block[TC_CHANGES_BYTES(LONG)];
    struct tc_changes_options o = DEFAULT;
    struct tc_arena a;
    o.segment_min = 2;
    fill_noise(LONG, 1);
    for (size_t i = 0; i < LONG; i += 50) {
        raise_values(i, LONG, 20);
    }
    tc_arena_init(&a, "exact", block, sizeof block);
    assert_int_equal(tc_changes_find(series, LONG, &o, &a, &found, &found_count, NULL), TC_OK);
    assert_int_equal(found_count, 5);
    tc_arena_fini(&a);
    tc_arena_init(&a, "small", block, LONG * 64);
    assert_int_equal(tc_changes_find(series, LONG, &o, &a, &found, &found_count, NULL), TC_E_NOMEM);
    tc_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_found_at_its_place),
        cmocka_unit_test(several_steps_are_found_in_order),
        cmocka_unit_test(a_level_that_does_not_last_is_found),
        cmocka_unit_test(a_single_spike_is_no_change),
        cmocka_unit_test(two_odd_values_side_by_side_are_none_either),
        cmocka_unit_test(noise_has_few_changes),
        cmocka_unit_test(what_has_no_order_has_no_changes),
        cmocka_unit_test(two_values_only_are_levels),
        cmocka_unit_test(segments_have_the_least_length),
        cmocka_unit_test(only_the_order_of_values_counts_for_whether),
        cmocka_unit_test(the_same_seed_gives_the_same_changes),
        cmocka_unit_test(wrong_options_and_values_are_refused),
        cmocka_unit_test(memory_is_as_promised),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
