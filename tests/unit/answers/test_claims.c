/* SPDX-License-Identifier: Apache-2.0 */
/* Published numbers: publishing, the list by pages, the way back; reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/asking.h"
#include "support/published.h"

#include <stdio.h>
#include <string.h>

static struct asking a;

static int setup(void **state)
{
    int result = pb_setup(state);
    struct pb_room *room = *state;
    asking_init(&a, room->w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    return pb_teardown(state);
}

static void numbers_are_listed_by_pages(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    char first[TC_NUMBER_ID_BYTES];
    char cursor[2048];
    struct tc_slice next;
    struct tc_json list = ask_object(&a, "numbers", NULL);
    assert_int_equal(asking_count(list, "numbers"), 0);
    asking_is(list, "audit.entries", "0");
    asking_is(list, "audit.head", "null");
    pb_published(room, first);
    struct tc_json outcome = ask_object(&a, "publish", "query", PB_QUERY, "metric", "ttft_p99_ms",
                                        "report_row", "<script>", "unstable", "only a test");
    asking_is(outcome, "published", "true");
    asking_is(outcome, "claim.report_row", "<script>");
    struct tc_slice text;
    assert_true(tc_json_string(asking_at(outcome, "number_id"), &text));
    (void)snprintf(id, sizeof id, "%.*s", TC_FMT(text));
    list = ask_object(&a, "numbers", "limit", "1");
    asking_is(list, "numbers.0.number_id", id);
    asking_is(list, "numbers.0.by", "a test");
    asking_is(list, "audit.whole", "true");
    assert_true(tc_json_string(asking_at(list, "next"), &next));
    (void)snprintf(cursor, sizeof cursor, "%.*s", TC_FMT(next));
    list = ask_object(&a, "numbers", "limit", "1", "cursor", cursor);
    asking_is(list, "numbers.0.number_id", first);
    asking_is(list, "next", "null");
    ask_refused(&a, TC_E_USAGE, "\"cursor\"", "runs", "cursor", cursor);
    ask_refused(&a, TC_E_USAGE, "\"cursor\"", "numbers", "cursor", "x");
}

static void a_number_leads_back_to_its_bytes(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    pb_published(room, id);
    struct tc_json chain = ask_object(&a, "lineage", "number", id);
    asking_is(chain, "publication_safe", "true");
    asking_is(chain, "broken_step", "null");
    assert_int_equal(asking_count(chain, "steps"), TC_STEP_COUNT);
    asking_is(chain, "claim.metric", "ttft_p99_ms");
    ask_refused(&a, TC_E_NOTFOUND, "not in the audit log", "lineage", "number", "num-0");
    ask_refused(&a, TC_E_NOTFOUND, "not in the audit log", "lineage", "number", "../../x");
    ask_refused(&a, TC_E_USAGE, "\"number\" is missing", "lineage", NULL);
}

static void publishing_asks_what_the_command_asks(void **state)
{
    (void)state;
    ask_refused(&a, TC_E_USAGE, "\"metric\" is missing", "publish", "group", "r1");
    ask_refused(&a, TC_E_USAGE, "of which runs?", "publish", "metric", "ttft_p99_ms");
    ask_refused(&a, TC_E_USAGE, "of which runs?", "publish", "metric", "ttft_p99_ms", "group", "r1",
                "query", PB_QUERY);
    ask_refused(&a, TC_E_USAGE, "\"unit\" goes with", "publish", "metric", "ttft_p99_ms", "group",
                "r1", "unit", "ms");
    ask_refused(&a, TC_E_NOTFOUND, "nothing", "publish", "metric", "ttft_p99_ms", "group",
                "nothing");
    ask_refused(&a, TC_E_USAGE, "", "publish", "metric", "ttft_p99_ms", "query",
                "DELETE FROM benchmark_run_fact");
    struct tc_json dry =
        ask_object(&a, "publish", "metric", "ttft_p99_ms", "query", PB_QUERY, "dry_run", "");
    asking_is(dry, "published", "false");
    asking_is(dry, "was_there", "false");
    assert_int_equal(asking_count(ask_object(&a, "numbers", NULL), "numbers"), 0);
}

static void reports_have_three_forms(void **state)
{
    (void)state;
    assert_int_equal(ask(&a, "report", "runs", "r1"), TC_OK);
    assert_null(a.reply.content_type);
    assert_true(tc_slice_starts(tc_grow_slice(&a.reply.body), TC_LIT("{")));
    assert_int_equal(ask(&a, "report", "runs", "r1", "format", "markdown", "for", "product"),
                     TC_OK);
    assert_string_equal(a.reply.content_type, "text/markdown; charset=utf-8");
    assert_true(tc_slice_starts(tc_grow_slice(&a.reply.body), TC_LIT("# ")));
    assert_int_equal(ask(&a, "report", "runs", "r1", "format", "html"), TC_OK);
    assert_string_equal(a.reply.content_type, "text/html; charset=utf-8");
    assert_true(tc_slice_starts(tc_grow_slice(&a.reply.body), TC_LIT("<!")));
    ask_refused(&a, TC_E_USAGE, "one of engineering product partner", "report", "runs", "r1", "for",
                "me");
    ask_refused(&a, TC_E_NOTFOUND, "r9", "report", "runs", "r9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_listed_by_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(a_number_leads_back_to_its_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(publishing_asks_what_the_command_asks, setup, teardown),
        cmocka_unit_test_setup_teardown(reports_have_three_forms, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
