/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC and revisions: what is answered, what is refused and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/mcp/talk.h"

static void what_is_no_json_is_a_parse_error(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, "{"), "\"code\":-32700");
    assert_says(say(t, "hello"), "\"code\":-32700");
    assert_says(say(t, "{\"a\":1}{"), "\"code\":-32700");
    assert_false(tc_slice_contains(say(t, "{"), TC_LIT("\"id\"")));
}

static void what_is_no_message_is_an_invalid_request(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, "17"), "\"code\":-32600");
    assert_says(say(t, "{}"), "\"code\":-32600");
    assert_says(say(t, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}"), "\"code\":-32600");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1}"), "\"id\":1");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), "-32600");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}"), "-32600");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}"), "-32600");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}"),
                "-32602");
}

static void a_message_that_is_too_long_is_refused_before_it_is_parsed(void **state)
{
    struct talk *t = *state;
    size_t len = TC_MCP_MESSAGE_MAX + 1;
    char *text = malloc(len + 1);
    memset(text, ' ', len);
    text[len] = '\0';
    assert_says(say(t, text), "\"code\":-32600");
    free(text);
}

static void ids_come_back_as_they_were(void **state)
{
    struct talk *t = *state;
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}"),
                "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":{}}");
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"ping\"}"),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{}}");
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"method\":\"ping\"}"),
                "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"result\":{}}");
}

static void notifications_and_responses_are_not_answered(void **state)
{
    struct talk *t = *state;
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}"), "");
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
    assert_text(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}"), "");
}

static void an_unknown_method_is_named(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/run\"}");
    assert_says(said, "\"code\":-32601");
    assert_says(said, "tools/run");
}

#define INITIALIZE(version)                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\"" \
    ":{\"protocolVersion\":\"" version "\",\"capabilities\":{}}}"

static void initialize_agrees_on_a_revision(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, INITIALIZE("2025-11-25")), "\"protocolVersion\":\"2025-11-25\"");
    assert_says(say(t, INITIALIZE("2025-06-18")), "\"protocolVersion\":\"2025-06-18\"");
    assert_says(say(t, INITIALIZE("2025-03-26")), "\"protocolVersion\":\"2025-03-26\"");
    assert_says(say(t, INITIALIZE("2019-01-01")), "\"protocolVersion\":\"2025-11-25\"");
    assert_says(say(t, INITIALIZE("2026-07-28")), "\"protocolVersion\":\"2025-11-25\"");
    assert_says(say(t, INITIALIZE("")), "\"code\":-32602");
    assert_says(say(t, INITIALIZE("2025-11-25")), "\"serverInfo\":{\"name\":\"tracecore\"");
}

static void the_stateless_revision_discovers(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(
        t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}");
    assert_says(said, "\"resultType\":\"complete\"");
    assert_says(said, "\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\"");
    assert_says(said, "\"ttlMs\":3600000,\"cacheScope\":\"public\"");
    assert_says(said, "io.modelcontextprotocol/serverInfo");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}"), "-32602");
    /* What it removed is not there, and what came with it is not there before. */
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}"),
                "-32601");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":"
                       "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\"}}}"),
                "-32601");
}

static void each_stateless_request_says_what_it_must(void **state)
{
    struct talk *t = *state;
    struct tc_slice said =
        say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
               "\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\"}}}");
    assert_says(said, "\"code\":-32022");
    assert_says(said, "\"requested\":\"1900-01-01\"");
    assert_says(said, "\"supported\":[\"2026-07-28\"");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}}}"),
                "\"code\":-32602");
    assert_says(say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}"),
                "clientCapabilities");
}

static void old_revisions_have_no_new_members(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    assert_false(tc_slice_contains(said, TC_LIT("resultType")));
    assert_false(tc_slice_contains(said, TC_LIT("ttlMs")));
    assert_false(tc_slice_contains(said, TC_LIT("serverInfo")));
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"

static void batches_are_of_one_revision(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, "[" PING("1") "]"), "\"code\":-32600");
    (void)say(t, INITIALIZE("2025-11-25"));
    assert_says(say(t, "[" PING("1") "]"), "\"code\":-32600");
    (void)say(t, INITIALIZE("2025-03-26"));
    assert_text(say(t, "[" PING("1") ",{\"jsonrpc\":\"2.0\",\"method\":\"n\"}," PING("2") "]"),
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
                "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]");
    assert_text(say(t, "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]"), "");
    assert_says(say(t, "[]"), "\"code\":-32600");
    assert_says(say(t, "[1]"), "[{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600");
}

/* As many requests as that; the caller frees it. */
static char *batch_of(int count)
{
    struct tc_grow g = {0};
    for (int i = 0; i < count; i++) {
        tc_grow_str(&g, i == 0 ? TC_LIT("[" PING("1")) : TC_LIT("," PING("1")));
    }
    tc_grow_str(&g, tc_slice_make("]", 2));
    return g.buf.data;
}

static void a_batch_has_a_limit(void **state)
{
    struct talk *t = *state;
    char *most = batch_of(TC_MCP_BATCH_MAX);
    char *too_many = batch_of(TC_MCP_BATCH_MAX + 1);
    (void)say(t, INITIALIZE("2025-03-26"));
    assert_true(tc_slice_starts(say(t, most), TC_LIT("[{\"jsonrpc\"")));
    assert_says(say(t, too_many), "\"code\":-32600");
    free(most);
    free(too_many);
}

static void ids_are_found_without_parsing(void **state)
{
    struct tc_slice id;
    (void)state;
    assert_true(tc_mcp_request_id(TC_LIT(PING("\"x\"")), &id));
    assert_text(id, "\"x\"");
    assert_false(tc_mcp_request_id(TC_LIT("{\"id\":1,\"result\":{}}"), &id));
    assert_true(tc_mcp_cancels(TC_LIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                      "\"params\":{\"requestId\":12}}"),
                               &id));
    assert_text(id, "12");
    assert_false(tc_mcp_cancels(TC_LIT(PING("1")), &id));
    assert_false(tc_mcp_cancels(TC_LIT("garbage"), &id));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, talk_begin, talk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_no_json_is_a_parse_error),
        CASE(what_is_no_message_is_an_invalid_request),
        CASE(a_message_that_is_too_long_is_refused_before_it_is_parsed),
        CASE(ids_come_back_as_they_were),
        CASE(notifications_and_responses_are_not_answered),
        CASE(an_unknown_method_is_named),
        CASE(initialize_agrees_on_a_revision),
        CASE(the_stateless_revision_discovers),
        CASE(each_stateless_request_says_what_it_must),
        CASE(old_revisions_have_no_new_members),
        CASE(batches_are_of_one_revision),
        CASE(a_batch_has_a_limit),
        CASE(ids_are_found_without_parsing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
