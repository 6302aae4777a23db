/* SPDX-License-Identifier: Apache-2.0 */
/* The DuckDB engine through warehouse.h: what goes in comes out, all or nothing. */
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_was_committed_is_there_after_reopening(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 5000);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 5000);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 5000);
    assert_int_equal(wh_count(w, "SELECT sum(\"count\") FROM telemetry_slice_fact"), 5000 * 60);
    tc_warehouse_close(w);
}

static void rolled_back_rows_are_gone(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 300000); /* more than DuckDB's appender keeps to itself */
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 300000);
    wh_append_slices(w, 0, 10);
    tc_warehouse_rollback(w);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 0);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 0);
    tc_warehouse_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_committed_is_there_after_reopening, wh_setup,
                                        wh_teardown),
        cmocka_unit_test_setup_teardown(rolled_back_rows_are_gone, wh_setup, wh_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
