/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/otlp_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char text[512];

static struct tc_slice ok(enum tc_otlp_signal signal, enum tc_otlp_form form, uint64_t rejected,
                          const char *why)
{
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_otlp_answer_ok(&b, signal, form, rejected, tc_slice_cstr(why));
    return tc_buf_slice(&b);
}

#define assert_bytes(s, literal)                                    \
    do {                                                            \
        struct tc_slice got = (s);                                  \
        assert_int_equal(got.len, sizeof(literal) - 1);             \
        assert_memory_equal(got.ptr, literal, sizeof(literal) - 1); \
    } while (0)

static void a_full_success_says_nothing(void **state)
{
    (void)state;
    assert_bytes(ok(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, 0, ""), "");
    assert_bytes(ok(TC_OTLP_LOGS, TC_OTLP_JSON, 0, ""), "{}");
}

/* ExportLogsPartialSuccess: rejected_log_records = 1 (varint), error_message = 2. */
static void a_partial_success_counts_what_was_rejected(void **state)
{
    (void)state;
    assert_bytes(ok(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, 3, "too long"),
                 "\x0a\x0c\x08\x03\x12\x08too long");
    assert_bytes(ok(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, 300, ""), "\x0a\x03\x08\xac\x02");
    assert_bytes(ok(TC_OTLP_LOGS, TC_OTLP_JSON, 3, "too \"long\""),
                 "{\"partialSuccess\":{\"rejectedLogRecords\":\"3\",\"errorMessage\":\"too "
                 "\\\"long\\\"\"}}");
    assert_bytes(ok(TC_OTLP_METRICS, TC_OTLP_JSON, 1, "x"),
                 "{\"partialSuccess\":{\"rejectedDataPoints\":\"1\",\"errorMessage\":\"x\"}}");
    assert_bytes(ok(TC_OTLP_TRACES, TC_OTLP_JSON, 1, "x"),
                 "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"x\"}}");
}

/* google.rpc.Status: code = 1, message = 2. */
static void a_failure_is_a_status(void **state)
{
    (void)state;
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_otlp_answer_failure(&b, TC_OTLP_PROTOBUF, TC_ANSWER_BAD, TC_LIT("no"));
    assert_bytes(tc_buf_slice(&b), "\x08\x03\x12\x02no");
    b = tc_buf_make(text, sizeof text);
    tc_otlp_answer_failure(&b, TC_OTLP_JSON, TC_ANSWER_BUSY, TC_LIT("a\nb"));
    assert_bytes(tc_buf_slice(&b), "{\"code\":14,\"message\":\"a\\nb\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_success_says_nothing),
        cmocka_unit_test(a_partial_success_counts_what_was_rejected),
        cmocka_unit_test(a_failure_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
