/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that seals: what waits becomes objects, and it yields to whoever wants the core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/sealer.h"
#include "unit/evidence/evidence_testing.h"

#define MS (TC_SECOND / 1000)

static void half_of_a_free_core_is_used(void **state)
{
    (void)state;
    assert_int_equal(tc_sealer_sleep_ns(2 * MS, 2 * MS, 0), 2 * MS);
    assert_int_equal(tc_sealer_sleep_ns(2 * MS, 4 * MS, 100 * MS), 2 * MS);
    /* A step so short that it says nothing. */
    assert_int_equal(tc_sealer_sleep_ns(MS / 10, MS, 50 * MS), MS / 10);
}

static void it_sleeps_longer_while_the_core_is_wanted(void **state)
{
    (void)state;
    int64_t sleep_ns = 0;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < 20; i++) {
        int64_t longer_ns = tc_sealer_sleep_ns(2 * MS, 5 * MS, sleep_ns);
        assert_true(longer_ns >= 10 * MS && longer_ns >= sleep_ns && longer_ns <= 100 * MS);
        sleep_ns = longer_ns;
        sum_ns += sleep_ns;
    }
    assert_int_equal(sleep_ns, 100 * MS);
    assert_true(sum_ns > TC_SECOND);
}

static void what_waits_is_sealed_while_batches_come(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    config.segment_bytes = 1000;
    config.seals_apart = true;
    struct tc_store *s = open_store(&config);
    struct tc_sealer *sealer = NULL;
    struct tc_error err = {0};
    fill(s, 60, 2);
    assert_true(stats_of(s).waiting_bytes > 0);
    assert_int_equal(tc_sealer_create(s, &sealer, &err), TC_OK);
    for (size_t i = 0; i < 20; i++) {
        fill(s, 6, 2);
        struct seen seen = {.sized = true};
        walk_all(&seen, 0);
        assert_int_equal(seen.count, 60 + 6 * (i + 1));
        assert_int_equal(seen.bad, 0);
    }
    while (stats_of(s).waiting_bytes > 0) {
        (void)usleep(1000);
    }
    tc_sealer_destroy(sealer);
    assert_true(stats_of(s).sealed > 10);
    assert_int_equal(stats_of(s).seal_failures, 0);
    assert_int_equal(stats_of(s).kept_batches, 180);
    tc_store_close(s);
    tc_sealer_destroy(NULL);
}

/* It ends in the middle of its work, and nothing is lost. */
static void it_can_be_stopped_at_once(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    config.segment_bytes = 1000;
    config.seals_apart = true;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    fill(s, 120, 2);
    for (size_t i = 0; i < 10; i++) {
        struct tc_sealer *sealer = NULL;
        assert_int_equal(tc_sealer_create(s, &sealer, &err), TC_OK);
        tc_sealer_destroy(sealer);
    }
    tc_store_close(s);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 120);
    assert_int_equal(seen.bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_a_free_core_is_used),
        cmocka_unit_test(it_sleeps_longer_while_the_core_is_wanted),
        cmocka_unit_test_setup_teardown(what_waits_is_sealed_while_batches_come, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(it_can_be_stopped_at_once, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
