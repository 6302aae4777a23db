/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody still has to read is kept beyond keep_bytes, up to hold_bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/evidence/evidence_testing.h"

#define KEEP ((uint64_t)32 << 10)
#define HOLD ((uint64_t)256 << 10)

/* A batch an object. */
static struct tc_store_config one_each(uint64_t hold)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 4096;
    config.keep_bytes = KEEP;
    config.hold_bytes = hold;
    return config;
}

static void add(struct tc_store *s, size_t count)
{
    struct tc_error err = {0};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(append_one(s, tc_store_next_number(s), 16 << 10), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
    }
}

static uint64_t first_there(void)
{
    struct seen seen = {.count = 0};
    walk_all(&seen, 0);
    return seen.numbers[0];
}

static void what_is_needed_stays(void **state)
{
    (void)state;
    struct tc_store_config config = one_each(HOLD);
    struct tc_store *s = open_store(&config);
    tc_store_hold(s, 5);
    add(s, 15);
    struct tc_store_stats stats = stats_of(s);
    assert_true(stats.object_bytes > KEEP && stats.object_bytes < KEEP + HOLD);
    assert_int_equal(stats.deleted, 4); /* those before the fifth */
    assert_int_equal(stats.deleted_held, 0);
    assert_int_equal(first_there(), 5);
    tc_store_hold(s, 12);
    add(s, 1);
    assert_int_equal(stats_of(s).deleted_held, 0);
    assert_int_equal(first_there(), 12);
    tc_store_hold(s, 0); /* nobody needs anything */
    add(s, 1);
    stats = stats_of(s);
    assert_true(stats.object_bytes <= KEEP);
    assert_int_equal(stats.deleted_held, 0);
    tc_store_close(s);
}

static void beyond_the_bound_it_goes_and_is_counted(void **state)
{
    (void)state;
    struct tc_store_config config = one_each(HOLD);
    struct tc_store *s = open_store(&config);
    tc_store_hold(s, 1);
    add(s, 60);
    struct tc_store_stats stats = stats_of(s);
    assert_true(stats.object_bytes <= KEEP + HOLD);
    assert_true(stats.deleted > 0);
    assert_int_equal(stats.deleted_held, stats.deleted);
    assert_int_equal(first_there(), stats.deleted + 1); /* the oldest went */
    tc_store_close(s);
}

/* Half of an object is needed: so is all of it, and only that half is counted. */
static void a_part_of_an_object(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_store_config config = one_each(0);
    struct tc_store *s = open_store(&config);
    tc_store_hold(s, 3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(append_one(s, tc_store_next_number(s), 8 << 10), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK); /* one object of four */
    add(s, 8);
    struct tc_store_stats stats = stats_of(s);
    assert_true(stats.deleted >= 1);
    assert_int_equal(stats.deleted_held, 2 + (stats.deleted - 1));
    tc_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_needed_stays, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(beyond_the_bound_it_goes_and_is_counted, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_part_of_an_object, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
