/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry files with every allocation of ours failing in turn: no crash, no leak, and a status
 * that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "support/faulty.h"
#include "telemetry/files.h"

#include <string.h>

#define CALLS_MAX 400
#define T0 (INT64_C(1772600760) * TC_SECOND)

static tc_status take(void *context, const struct tc_rows *rows)
{
    *(uint64_t *)context += rows->count;
    return TC_OK;
}

static void each_fails_in_turn(const char *text, uint64_t rows_expected)
{
    long at = 0;
    bool failed = false;
    for (; at < CALLS_MAX; at++) {
        uint64_t rows = 0;
        struct tc_telemetry_input in = {.name = TC_LIT("file"),
                                        .bytes = tc_slice_cstr(text),
                                        .taken_ns = T0,
                                        .run_id = TC_LIT("run-1")};
        struct tc_telemetry_out out = {.take = take, .context = &rows};
        struct tc_error err = {0};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        tc_status status = tc_telemetry_read(&in, &out, NULL, &err);
        bool hit = tc_faulty_plan->hit;
        *tc_faulty_plan = (struct plan){0};
        if (!hit) {
            assert_int_equal(status, TC_OK);
            assert_int_equal(rows, rows_expected);
            break;
        }
        /* A slicer that finds less memory tries with less. */
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_true(status != TC_OK || rows == rows_expected);
        assert_true(status == TC_OK || err.message[0] != '\0');
        failed = failed || status == TC_E_NOMEM;
    }
    assert_true(at > 0 && at < CALLS_MAX);
    assert_true(failed);
}

static void text_without_memory(void **state)
{
    (void)state;
    each_fails_in_turn("a{b=\"c\"} 1\nb{c=\"d\"} 2\na{b=\"c\"} 3\n", 3);
}

static void requests_without_memory(void **state)
{
    (void)state;
    each_fails_in_turn("{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"a\","
                       "\"gauge\":{\"dataPoints\":[{\"timeUnixNano\":\"1772600760000000000\","
                       "\"asDouble\":3.5}]}}]}]}]}\n",
                       1);
}

static void events_without_memory(void **state)
{
    (void)state;
    each_fails_in_turn("{\"kind\":\"metric\",\"time\":\"2026-03-04T05:06:00Z\",\"k8s.node.name\":"
                       "\"n1\",\"metric\":\"gpu_temperature\",\"value\":50}\n",
                       1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_without_memory),
        cmocka_unit_test(requests_without_memory),
        cmocka_unit_test(events_without_memory),
    };
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
