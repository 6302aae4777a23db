/* SPDX-License-Identifier: Apache-2.0 */
/* SQL from outside: what it may ask, its limits; the tables. */
#include "support/asking.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tc_warehouse *w;
static struct asking a;

static int setup(void **state)
{
    int result = wh_setup(state);
    struct wh_room *room = *state;
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    cr_add_run(w, &(struct cr_run){.id = "run-1", .name = "<script>alert(1)</script>"});
    cr_add_run(w, &(struct cr_run){.id = "run-2", .name = "two"});
    asking_init(&a, w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static void values_keep_their_types(void **state)
{
    (void)state;
    struct tc_json r = ask_object(
        &a, "sql", "sql",
        "SELECT run_id, 1 + 1 AS two, 0.5::DOUBLE AS half, true AS yes, NULL AS none, "
        "TIMESTAMP '2026-11-15 03:00:00' AS at, [1, 2] AS list, 'NaN'::DOUBLE AS odd, 2 AS two "
        "FROM benchmark_run_fact ORDER BY run_id");
    assert_int_equal(asking_count(r, "columns"), 9);
    asking_is(r, "columns.1.name", "two");
    asking_is(r, "columns.1.type", "int");
    asking_is(r, "columns.6.type", "json");
    assert_int_equal(asking_count(r, "rows"), 2);
    asking_is(r, "rows.0.0", "run-1");
    asking_is(r, "rows.0.1", "2");
    asking_is(r, "rows.0.2", "0.5");
    asking_is(r, "rows.0.3", "true");
    asking_is(r, "rows.0.4", "null");
    asking_is(r, "rows.0.5", "2026-11-15T03:00:00Z");
    asking_is(r, "rows.0.6.1", "2");
    asking_is(r, "rows.0.7", "null");
    asking_is(r, "truncated", "false");
}

static void answers_are_bounded(void **state)
{
    (void)state;
    struct tc_json r = ask_object(&a, "sql", "sql", "SELECT * FROM range(5000)");
    assert_int_equal(asking_count(r, "rows"), 1000);
    asking_is(r, "truncated", "true");
    r = ask_object(&a, "sql", "sql", "SELECT * FROM range(5)", "limit", "5");
    assert_int_equal(asking_count(r, "rows"), 5);
    asking_is(r, "truncated", "false");
    r = ask_object(&a, "sql", "sql", "SELECT * FROM range(5) WHERE 1 = 0");
    assert_int_equal(asking_count(r, "rows"), 0);
    assert_int_equal(asking_count(r, "columns"), 1);
    /* What is long is left out row by row, and what is given stays whole. */
    static char longest[50000];
    (void)snprintf(longest, sizeof longest, "SELECT '%040000d' FROM range(1000)", 7);
    r = ask_object(&a, "sql", "sql", longest);
    assert_true(asking_count(r, "rows") < 420 && asking_count(r, "rows") > 50);
    asking_is(r, "truncated", "true");
    ask_refused(&a, TC_E_USAGE, "from 1 to 100000", "sql", "sql", "SELECT 1", "limit", "100001");
}

static void only_reading_is_allowed(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "DELETE FROM benchmark_run_fact",
        "DROP TABLE benchmark_run_fact",
        "SELECT 1; DROP TABLE benchmark_run_fact",
        "COPY benchmark_run_fact TO '/tmp/tracecore-out'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "ATTACH '/tmp/other.db'",
        "SET memory_limit = '1TB'",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "SELECT getenv('HOME')",
        "SELEC 1",
        "SELECT * FROM nothing",
        "   ",
    };
    for (size_t n = 0; n < TC_COUNT(wrong); n++) {
        if (ask(&a, "sql", "sql", wrong[n]) != TC_E_USAGE) {
            fail_msg("%s is answered, or not refused as wrong: %s", wrong[n], a.err.message);
        }
        assert_true(a.err.message[0] != '\0');
    }
    ask_refused(&a, TC_E_USAGE, "\"sql\" is missing", "sql", NULL);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM benchmark_run_fact"), 2);
}

static void a_query_has_its_time(void **state)
{
    (void)state;
    struct tc_asked asked;
    struct tc_reply reply = {0};
    struct tc_error err = {0};
    tc_asked_init(&asked, asking_question("sql"), ASKING_NOW_NS);
    asked.warehouse = w;
    asked.time_ns = 50000000;
    assert_int_equal(tc_asked_add(&asked, TC_LIT("sql"),
                                  TC_LIT("SELECT count(*) FROM range(1000000000) a JOIN "
                                         "range(1000000) b ON a.range % 7 = b.range % 5"),
                                  &err),
                     TC_OK);
    assert_int_equal(tc_question_answer(&asked, &reply, &err), TC_E_LIMIT);
    tc_asked_init(&asked, asking_question("sql"), ASKING_NOW_NS);
    asked.warehouse = w;
    asked.rows_max = 3;
    assert_int_equal(tc_asked_add(&asked, TC_LIT("sql"), TC_LIT("SELECT * FROM range(100)"), &err),
                     TC_OK);
    assert_int_equal(tc_question_answer(&asked, &reply, &err), TC_OK);
    assert_true(tc_slice_ends(tc_grow_slice(&reply.body),
                              TC_LIT("\"rows\":[[0],[1],[2]],\"truncated\":true}\n")));
    tc_reply_fini(&reply);
}

static void tables_are_described(void **state)
{
    (void)state;
    struct tc_json t = ask_object(&a, "tables", NULL);
    assert_int_equal(asking_count(t, "tables"), TC_TABLE_COUNT);
    asking_is(t, "tables.0.table", "benchmark_run_fact");
    asking_is(t, "tables.0.columns.0.name", "run_id");
    t = ask_object(&a, "tables", "table", "verdict_fact");
    assert_int_equal(asking_count(t, "tables"), 1);
    ask_refused(&a, TC_E_NOTFOUND, "there is no table \"<b>\"", "tables", "table", "<b>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_types), cmocka_unit_test(answers_are_bounded),
        cmocka_unit_test(only_reading_is_allowed), cmocka_unit_test(a_query_has_its_time),
        cmocka_unit_test(tables_are_described),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
