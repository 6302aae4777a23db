/* SPDX-License-Identifier: Apache-2.0 */
/* What a POST's head must say, and which status answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/mcp/talk.h"

#define MODERN(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" META params "}}"
#define LIST MODERN("tools/list", "")
#define CALL MODERN("tools/call", ",\"name\":\"list_runs\"")
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static struct tc_mcp_http head(const char *version, const char *method, const char *name)
{
    return (struct tc_mcp_http){tc_slice_cstr(version), tc_slice_cstr(method), tc_slice_cstr(name)};
}

static int status_of(struct talk *t, struct tc_mcp_http h, const char *message)
{
    int status = 0;
    (void)post(t, &h, message, &status);
    return status;
}

static void a_request_is_answered_and_a_notification_accepted(void **state)
{
    struct talk *t = *state;
    assert_int_equal(status_of(t, head("2026-07-28", "tools/list", ""), LIST), 200);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", "list_runs"), CALL), 200);
    assert_int_equal(status_of(t, head("2026-07-28", "", ""),
                               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}"),
                     202);
    assert_int_equal(t->said.buf.len, 0);
}

static void the_head_must_say_what_the_body_says(void **state)
{
    struct talk *t = *state;
    static const char mismatch[] = "\"code\":-32020";
    assert_int_equal(status_of(t, head("", "tools/list", ""), LIST), 400);
    assert_true(tc_slice_contains(tc_grow_slice(&t->said), tc_slice_cstr(mismatch)));
    assert_int_equal(status_of(t, head("2025-11-25", "tools/list", ""), LIST), 400);
    assert_true(tc_slice_contains(tc_grow_slice(&t->said), tc_slice_cstr(mismatch)));
    assert_int_equal(status_of(t, head("2026-07-28", "", ""), LIST), 400);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", ""), LIST), 400);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", ""), CALL), 400);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", "other"), CALL), 400);
    assert_true(tc_slice_contains(tc_grow_slice(&t->said), tc_slice_cstr(mismatch)));
}

static void a_name_may_be_encoded(void **state)
{
    struct talk *t = *state;
    assert_int_equal(
        status_of(t, head("2026-07-28", "tools/call", "=?base64?bGlzdF9ydW5z?="), CALL), 200);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", "=?base64?bGlzdF9ydW5?="), CALL),
                     400);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", "=?base64?!?="), CALL), 400);
    assert_int_equal(status_of(t, head("2026-07-28", "tools/call", "=?base64?="), CALL), 400);
}

static void revisions_are_checked(void **state)
{
    struct talk *t = *state;
    assert_int_equal(status_of(t, head("1900-01-01", "", ""), PING), 400);
    assert_says(tc_grow_slice(&t->said), "\"code\":-32022");
    assert_int_equal(status_of(t, head("2026-07-28", "ping", ""), PING), 400);
    assert_says(tc_grow_slice(&t->said), "\"code\":-32602");
    assert_int_equal(status_of(t, head("2025-11-25", "", ""), PING), 200);
    assert_int_equal(status_of(t, head("", "", ""), PING), 200);
}

static void an_unknown_method_is_404_from_the_stateless_revision_on(void **state)
{
    struct talk *t = *state;
    assert_int_equal(status_of(t, head("2026-07-28", "no/such", ""), MODERN("no/such", "")), 404);
    assert_says(tc_grow_slice(&t->said), "\"code\":-32601");
    assert_int_equal(status_of(t, head("2025-11-25", "", ""),
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}"),
                     200);
}

static void what_is_no_message_is_400(void **state)
{
    struct talk *t = *state;
    assert_int_equal(status_of(t, head("2026-07-28", "", ""), "{"), 400);
    assert_int_equal(status_of(t, head("2026-07-28", "", ""), "{}"), 400);
    assert_int_equal(status_of(t, head("2025-11-25", "", ""), "[" PING "]"), 400);
    assert_int_equal(status_of(t, head("2025-03-26", "", ""), "[" PING "]"), 200);
    assert_int_equal(status_of(t, head("", "", ""), "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]"),
                     202);
}

static void no_session_is_kept(void **state)
{
    struct talk *t = *state;
    assert_int_equal(status_of(t, head("", "", ""),
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                               "{\"protocolVersion\":\"2025-11-25\"}}"),
                     200);
    assert_says(tc_grow_slice(&t->said), "\"protocolVersion\":\"2025-11-25\"");
    assert_int_equal(status_of(t, head("", "", ""), "[" PING "]"), 200);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, talk_begin, talk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_answered_and_a_notification_accepted),
        CASE(the_head_must_say_what_the_body_says),
        CASE(a_name_may_be_encoded),
        CASE(revisions_are_checked),
        CASE(an_unknown_method_is_404_from_the_stateless_revision_on),
        CASE(what_is_no_message_is_400),
        CASE(no_session_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
