/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of each kind with every allocation of ours failing in turn: an answer, an error of the
 * protocol, or none with `failed` set; no crash and no leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/faulty.h"
#include "support/mcp_table.h"

#define CALLS_MAX 400
#define ASK(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

static const char *const MESSAGES[] = {
    ASK("initialize", "{\"protocolVersion\":\"2025-11-25\"}"),
    ASK("tools/list", "{}"),
    ASK("tools/call", "{\"name\":\"list_runs\"}"),
    ASK("tools/call", "{\"name\":\"explain_incident\",\"arguments\":{}}"),
    ASK("resources/list", "{}"),
    ASK("resources/read", "{\"uri\":\"tracecore://evidence/d\"}"),
    ASK("prompts/get", "{\"name\":\"on_call\"}"),
    ASK("completion/complete", "{\"ref\":{\"type\":\"ref/prompt\"},\"argument\":{\"name\":\"run\","
                               "\"value\":\"\"}}"),
    "{",
};

/* What was answered; false when the allocation that fails was not reached. */
static bool answer(const char *message, long at)
{
    struct mcp_table table = {
        .items = 40, .item_bytes = 1000, .bytes = tc_slice_make("\xff\x01", 2)};
    struct tc_grow out = {0};
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
    struct tc_mcp *m = mcp_table_create(&table);
    if (m != NULL) {
        tc_mcp_handle(m, tc_slice_cstr(message), 0, &out);
    }
    bool hit = tc_faulty_plan->hit;
    tc_faulty_plan->fault = FAULT_NONE;
    assert_true(m != NULL || hit);
    assert_true(m == NULL || out.failed ||
                tc_slice_starts(tc_grow_slice(&out), TC_LIT("{\"jsonrpc\":\"2.0\",")));
    assert_true(hit || !out.failed);
    tc_mcp_destroy(m);
    tc_grow_fini(&out);
    return hit;
}

static void each_allocation_fails_in_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < TC_COUNT(MESSAGES); i++) {
        long at = 0;
        while (at < CALLS_MAX && answer(MESSAGES[i], at)) {
            at++;
        }
        assert_true(at >= 2 && at < CALLS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_in_turn)};
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
