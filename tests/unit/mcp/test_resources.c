/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, prompts, completion, and where a message is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/mcp/talk.h"

#define ASK(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define READ(uri) ASK("resources/read", "{\"uri\":\"" uri "\"}")
#define READ_MODERN(uri) ASK("resources/read", "{" META ",\"uri\":\"" uri "\"}")

static void runs_are_listed_first_then_incidents(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(t, ASK("resources/list", "{}"));
    assert_says(said,
                "\"uri\":\"tracecore://run/runs-0\",\"name\":\"runs-0\",\"title\":\"nightly\"");
    assert_says(said, "\"nextCursor\":\"incidents:\"");
    t->table.items = 60;
    assert_says(say(t, ASK("resources/list", "{}")), "\"nextCursor\":\"runs:more\"");
    t->table.items = 1;
    said = say(t, ASK("resources/list", "{\"cursor\":\"incidents:\"}"));
    assert_says(said, "\"uri\":\"tracecore://incident/incidents-0\"");
    assert_false(tc_slice_contains(said, TC_LIT("nextCursor")));
    assert_says(say(t, ASK("resources/list", "{\"cursor\":\"x\"}")), "-32602");
}

static void a_list_that_cannot_be_made_is_empty(void **state)
{
    struct talk *t = *state;
    t->table.fails_with = TC_E_NOTFOUND;
    struct tc_slice said = say(t, ASK("resources/list", "{}"));
    assert_says(said, "\"resources\":[]");
    assert_says(said, "\"nextCursor\":\"incidents:\"");
}

static void templates_say_what_can_be_read(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(t, ASK("resources/templates/list", "{}"));
    assert_says(said, "\"uriTemplate\":\"tracecore://run/{run}\"");
    assert_says(said, "\"uriTemplate\":\"tracecore://evidence/{digest}{?at}\"");
}

static void a_resource_is_read_by_its_address(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, READ("tracecore://run/a%20b")), "\\\"id\\\":\\\"a b\\\"");
    assert_string_equal(t->table.last, "run");
    assert_says(say(t, READ("tracecore://incident/i-1")), "\"mimeType\":\"application/json\"");
    assert_string_equal(t->table.last, "incident");
    t->table.bytes = TC_LIT("0123456789");
    assert_says(say(t, READ("tracecore://evidence/sha256:ab?at=4,3")), "\"text\":\"456789\"");
    t->table.bytes = tc_slice_make("\xff\x00", 2);
    assert_says(say(t, READ("tracecore://evidence/sha256:ab")),
                "\"blob\":\"/wA=\",\"_meta\":{\"untrusted\":true}");
    t->table.bytes = tc_slice_make("a\x1b[2J", 5);
    assert_says(say(t, READ("tracecore://evidence/sha256:ab")), "\"blob\":");
}

static void what_is_no_address_is_not_found(void **state)
{
    static const char *const wrong[] = {
        READ(""),
        READ("file:///etc/passwd"),
        READ("tracecore://"),
        READ("tracecore://run/"),
        READ("tracecore://runs/a"),
        READ("tracecore://run/a?at=1,2"),
        READ("tracecore://run/%"),
        READ("tracecore://run/%4"),
        READ("tracecore://run/%zz"),
        READ("tracecore://evidence/x?at="),
        READ("tracecore://evidence/x?at=x"),
        READ("tracecore://evidence/x?to=1,2"),
        READ("tracecore://incident/none"),
    };
    struct talk *t = *state;
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        assert_says(say(t, wrong[i]), "\"code\":-32002");
    }
    assert_says(say(t, READ_MODERN("tracecore://incident/none")), "\"code\":-32602");
    assert_says(say(t, READ_MODERN("x")), "\"code\":-32602");
    t->table.fails_with = TC_E_IO;
    assert_says(say(t, READ("tracecore://incident/i")), "\"code\":-32603");
}

static void a_long_address_is_refused(void **state)
{
    struct talk *t = *state;
    struct tc_grow g = {0};
    tc_grow_lit(&g, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
                    "\"uri\":\"tracecore://run/");
    for (int i = 0; i < 513; i++) {
        tc_grow_lit(&g, "a");
    }
    tc_grow_str(&g, tc_slice_make("\"}}", 4));
    assert_says(say(t, g.buf.data), "-32002");
    tc_grow_fini(&g);
}

static void what_is_too_long_is_read_in_parts(void **state)
{
    struct talk *t = *state;
    char *text = calloc(1, (256 << 10) + 1);
    t->table.bytes = tc_slice_make(text, 256 << 10);
    assert_says(say(t, READ("tracecore://evidence/d")), "\"blob\":");
    t->table.bytes.len++;
    assert_says(say(t, READ("tracecore://evidence/d")), "?at=OFFSET,LENGTH");
    assert_says(say(t, READ("tracecore://evidence/d?at=9,9")), "\"blob\":");
    free(text);
}

static void prompts_are_listed_and_filled_in(void **state)
{
    struct talk *t = *state;
    struct tc_slice said = say(t, ASK("prompts/list", "{}"));
    assert_says(said, "tail_latency_regression");
    assert_says(said, "low_gpu_utilization");
    assert_says(said, "distributed_straggler");
    assert_says(said, "scheduler_backpressure");
    assert_says(said, "on_call");
    said = say(t, ASK("prompts/get", "{\"name\":\"distributed_straggler\",\"arguments\":{\"run\":"
                                     "\"tuesday-1\",\"base\":\"monday\"}}"));
    assert_says(said, "slows run \\\"tuesday-1\\\" compared with \\\"monday\\\"");
    assert_false(tc_slice_contains(said, TC_LIT("{run}")));
    said = say(t, ASK("prompts/get", "{\"name\":\"distributed_straggler\",\"arguments\":{\"run\":"
                                     "\"tuesday-1\"}}"));
    assert_says(said, "an earlier run of the same name");
    assert_says(say(t, ASK("prompts/get", "{\"name\":\"on_call\"}")), "what is broken now, and");
    assert_says(say(t, ASK("prompts/get", "{\"name\":\"on_call\",\"arguments\":{\"node\":\"n\"}}")),
                "now on node \\\"n\\\", and");
}

static void wrong_prompts_and_arguments_are_refused(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, ASK("prompts/get", "{\"name\":\"x\"}")), "Unknown prompt: x");
    assert_says(say(t, ASK("prompts/get", "{}")), "-32602");
    assert_says(say(t, ASK("prompts/get", "{\"name\":\"low_gpu_utilization\"}")),
                "Missing argument: run");
    assert_says(
        say(t, ASK("prompts/get", "{\"name\":\"on_call\",\"arguments\":{\"node\":\"a\\nb\"}}")),
        "-32602");
    assert_says(
        say(t, ASK("prompts/get", "{\"name\":\"on_call\",\"arguments\":{\"node\":\"a\\\"b\"}}")),
        "-32602");
}

#define COMPLETE(argument, value)                            \
    ASK("completion/complete",                               \
        "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"x\"}," \
        "\"argument\":{\"name\":\"" argument "\",\"value\":\"" value "\"}}")

static void runs_are_completed(void **state)
{
    struct talk *t = *state;
    assert_says(say(t, COMPLETE("run", "runs-1")), "\"values\":[\"runs-1\"],\"hasMore\":false");
    assert_says(say(t, COMPLETE("base", "x")), "\"values\":[]");
    assert_says(say(t, COMPLETE("node", "")), "\"values\":[]");
    assert_says(say(t, ASK("completion/complete", "{}")), "-32602");
    t->table.fails_with = TC_E_NOTFOUND;
    assert_says(say(t, COMPLETE("run", "")), "\"values\":[]");
    t->table.fails_with = TC_E_NOMEM;
    assert_says(say(t, COMPLETE("run", "")), "-32603");
}

static enum tc_question_place place(struct talk *t, const char *message)
{
    return tc_mcp_place(t->m, tc_slice_cstr(message));
}

static void a_message_says_where_it_is_answered(void **state)
{
    struct talk *t = *state;
    assert_int_equal(place(t, ASK("tools/call", "{\"name\":\"list_incidents\"}")), TC_PLACE_LIVE);
    assert_int_equal(place(t, ASK("tools/call", "{\"name\":\"list_runs\"}")), TC_PLACE_TABLES);
    assert_int_equal(place(t, ASK("resources/list", "{}")), TC_PLACE_TABLES);
    assert_int_equal(place(t, ASK("resources/list", "{\"cursor\":\"incidents:\"}")), TC_PLACE_LIVE);
    assert_int_equal(place(t, READ("tracecore://incident/x")), TC_PLACE_LIVE);
    assert_int_equal(place(t, READ("tracecore://run/x")), TC_PLACE_TABLES);
    assert_int_equal(place(t, "[]"), TC_PLACE_TABLES);
    assert_int_equal(place(t, "{"), TC_PLACE_TABLES);
    assert_int_equal(place(t, ASK("tools/call", "[]")), TC_PLACE_TABLES);
    assert_int_equal(t->table.asked, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, talk_begin, talk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(runs_are_listed_first_then_incidents),    CASE(a_list_that_cannot_be_made_is_empty),
        CASE(templates_say_what_can_be_read),          CASE(a_resource_is_read_by_its_address),
        CASE(what_is_no_address_is_not_found),         CASE(a_long_address_is_refused),
        CASE(what_is_too_long_is_read_in_parts),       CASE(prompts_are_listed_and_filled_in),
        CASE(wrong_prompts_and_arguments_are_refused), CASE(runs_are_completed),
        CASE(a_message_says_where_it_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
