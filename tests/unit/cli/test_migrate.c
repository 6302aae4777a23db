/* SPDX-License-Identifier: Apache-2.0 */
/* Which minutes a migration reads together, and which targets it takes for its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/migrate/migrate.h"

#define M TC_MINUTE_US

static struct tc_migrate_minutes minutes(const struct tc_minute *items, size_t count)
{
    struct tc_migrate_minutes m = {0};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tc_migrate_minutes_add(&m, &items[i]), TC_OK);
    }
    return m;
}
#define MINUTES(...)                                 \
    minutes((const struct tc_minute[]){__VA_ARGS__}, \
            TC_COUNT(((const struct tc_minute[]){__VA_ARGS__})))

static void expect_chunk(const struct tc_migrate_minutes *source,
                         const struct tc_migrate_minutes *target, bool there, size_t *io_at,
                         int64_t from_us, int64_t to_us, uint64_t rows)
{
    struct tc_migrate_chunk chunk;
    assert_true(tc_migrate_next_chunk(source, target, there, 10, io_at, &chunk));
    assert_int_equal(chunk.from_us, from_us);
    assert_int_equal(chunk.to_us, to_us);
    assert_int_equal(chunk.rows, rows);
}

static void chunks_have_no_more_rows_than_asked_for_but_those_of_a_minute(void **state)
{
    struct tc_migrate_minutes source =
        MINUTES({TC_NO_TIME, 3}, {-M, 4}, {0, 6}, {M, 1}, {5 * M, 30}, {6 * M, 2}, {9 * M, 8});
    struct tc_migrate_minutes none = {0};
    struct tc_migrate_chunk chunk;
    size_t at = 0;
    (void)state;
    expect_chunk(&source, &none, false, &at, TC_NO_TIME, TC_NO_TIME, 3);
    expect_chunk(&source, &none, false, &at, -M, M, 10);
    expect_chunk(&source, &none, false, &at, M, 2 * M, 1);
    expect_chunk(&source, &none, false, &at, 5 * M, 6 * M, 30);
    expect_chunk(&source, &none, false, &at, 6 * M, 10 * M, 10);
    assert_false(tc_migrate_next_chunk(&source, &none, false, 10, &at, &chunk));
    at = 0;
    assert_false(tc_migrate_next_chunk(&source, &none, true, 10, &at, &chunk));
    tc_migrate_minutes_fini(&source);
}

static void chunks_do_not_reach_over_minutes_that_are_there(void **state)
{
    struct tc_migrate_minutes source = MINUTES({0, 1}, {M, 1}, {2 * M, 1}, {3 * M, 1}, {4 * M, 1});
    struct tc_migrate_minutes target = MINUTES({M, 1}, {2 * M, 1}, {4 * M, 1});
    struct tc_migrate_chunk chunk;
    size_t at = 0;
    (void)state;
    expect_chunk(&source, &target, false, &at, 0, M, 1);
    expect_chunk(&source, &target, false, &at, 3 * M, 4 * M, 1);
    assert_false(tc_migrate_next_chunk(&source, &target, false, 10, &at, &chunk));
    at = 0;
    expect_chunk(&source, &target, true, &at, M, 3 * M, 2);
    expect_chunk(&source, &target, true, &at, 4 * M, 5 * M, 1);
    assert_false(tc_migrate_next_chunk(&source, &target, true, 10, &at, &chunk));
    tc_migrate_minutes_fini(&source);
    tc_migrate_minutes_fini(&target);
}

static void a_target_fits_when_each_of_its_minutes_is_whole(void **state)
{
    struct tc_migrate_minutes source = MINUTES({TC_NO_TIME, 7}, {0, 5}, {M, 2});
    struct tc_migrate_minutes none = {0};
    struct tc_migrate_minutes part = MINUTES({0, 5});
    struct tc_migrate_minutes half = MINUTES({TC_NO_TIME, 7}, {0, 4});
    struct tc_migrate_minutes other = MINUTES({0, 5}, {7 * M, 1});
    struct tc_minute wrong;
    (void)state;
    assert_true(tc_migrate_minutes_fit(&source, &none, &wrong));
    assert_true(tc_migrate_minutes_fit(&source, &part, &wrong));
    assert_true(tc_migrate_minutes_fit(&source, &source, &wrong));
    assert_false(tc_migrate_minutes_fit(&source, &half, &wrong));
    assert_int_equal(wrong.minute_us, 0);
    assert_false(tc_migrate_minutes_fit(&source, &other, &wrong));
    assert_int_equal(wrong.minute_us, 7 * M);
    assert_int_equal(tc_migrate_minutes_rows(&source), 14);
    tc_migrate_minutes_fini(&source);
    tc_migrate_minutes_fini(&part);
    tc_migrate_minutes_fini(&half);
    tc_migrate_minutes_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_have_no_more_rows_than_asked_for_but_those_of_a_minute),
        cmocka_unit_test(chunks_do_not_reach_over_minutes_that_are_there),
        cmocka_unit_test(a_target_fits_when_each_of_its_minutes_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
