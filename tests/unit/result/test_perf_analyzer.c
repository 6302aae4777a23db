/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "perf-analyzer"
#define HEAD                                                                                      \
    "Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,"   \
    "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency," \
    "p99 latency"

/* As the manual has it. */
static void the_table_has_a_row_per_load(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("Concurrency," HEAD, "1,69.2,225,2148,64,206,11781,19,0,13891,18795,19753,21018",
              "3,84.2,237,1768,21673,209,11742,17,0,35398,43984,47085,51701"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_CONCURRENCY, 1);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 69.2);
    assert_real(row, TC_SERVING_QUEUE_MEAN, 0.064);
    assert_real(row, TC_SERVING_E2E_P50, 13.891);
    assert_real(row, TC_SERVING_E2E_P90, 18.795);
    assert_real(row, TC_SERVING_E2E_P99, 21.018);
    assert_unknown(row, TC_SERVING_E2E_MEAN);
    assert_unknown(row, TC_SERVING_COMPLETED);
    row = find_row(r, TC_TABLE_SERVING, 1);
    assert_real(row, TC_SERVING_CONCURRENCY, 3);
    assert_real(find_slice(r, "Server Compute Infer", "concurrency=1", 0), TC_SLICE_LAST, 11.781);
    assert_real(find_slice(r, "Server Compute Infer", "concurrency=3", 0), TC_SLICE_LAST, 11.742);
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL, "closed_loop");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
    r = read_text(LINES("Request Rate," HEAD ",Avg latency,request/response,response wait,Avg GPU "
                        "Utilization",
                        "20.5,69.2,225,2148,64,206,11781,19,0,13891,18795,19753,21018,14000,5,6,"
                        "GPU-ab:0.5;"),
                  TOOL);
    row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_REQUEST_RATE, 20.5);
    assert_unknown(row, TC_SERVING_CONCURRENCY);
    assert_real(row, TC_SERVING_E2E_MEAN, 14);
    assert_real(find_slice(r, "response wait", "rate=20.5", 0), TC_SLICE_LAST, 0.006);
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL, "open_loop");
    tc_result_destroy(r);
    refuse_text("Concurrency," HEAD "\n1,69.2,225,21\n", TOOL, "line 2: 4 fields");
    refuse_text("Concurrency,Latency\n1,2\n", TOOL, "no head");
}

static void the_export_has_the_requests(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"service_kind\":\"triton\",\"endpoint\":\"\",\"experiments\":[{\"experiment\":{\"mode\":"
        "\"concurrency\",\"value\":10},\"requests\":[{\"timestamp\":1700000000000000000,"
        "\"sequence_id\":1,\"response_timestamps\":[1700000000010000000,1700000000030000000,"
        "1700000000050000000]},{\"timestamp\":1700000000100000000,\"response_timestamps\":["
        "1700000000130000000,1700000000140000000]},{\"timestamp\":1700000000150000000,"
        "\"response_timestamps\":[]}],\"window_boundaries\":[1,5]},{\"experiment\":{\"mode\":"
        "\"request_rate\",\"value\":2.5},\"requests\":[{\"timestamp\":5,\"response_timestamps\":["
        "3000005]}]}],\"version\":\"1.2.3\"}",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_CONCURRENCY, 10);
    assert_real(row, TC_SERVING_REQUESTS, 3);
    assert_real(row, TC_SERVING_COMPLETED, 2);
    assert_real(row, TC_SERVING_ERRORS, 1);
    assert_real(row, TC_SERVING_E2E_MEAN, 45);
    assert_real(row, TC_SERVING_E2E_P50, 45);
    assert_real(row, TC_SERVING_TTFT_MEAN, 20);
    assert_real(row, TC_SERVING_ITL_MEAN, 50.0 / 3);
    assert_unknown(row, TC_SERVING_TPOT_MEAN);
    assert_real(row, TC_SERVING_DURATION_S, 0.14);
    assert_true(tc_result_known(row, TC_SERVING_STARTED));
    row = find_row(r, TC_TABLE_SERVING, 1);
    assert_real(row, TC_SERVING_REQUEST_RATE, 2.5);
    assert_real(row, TC_SERVING_E2E_MEAN, 3);
    /* One response says nothing of a stream, and 5 ns are no time since 1970. */
    assert_unknown(row, TC_SERVING_TTFT_MEAN);
    assert_unknown(row, TC_SERVING_STARTED);
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("1.2.3")));
    tc_result_destroy(r);
    refuse_text("{\"experiments\":[{\"experiment\":{},\"requests\":[{\"timestamp\":\"x\"}]}]}",
                TOOL, "/experiments/0/requests/0/timestamp");
    refuse_text("{\"experiments\":[{\"experiment\":{},\"requests\":[{\"timestamp\":1,"
                "\"response_timestamps\":[-2]}]}]}",
                TOOL, "response_timestamps");
    refuse_text("{\"experiments\":[{\"experiment\":{}}]}", TOOL, "/experiments/0/requests");
    /* A response before its request cannot be. */
    r = read_text("{\"experiments\":[{\"experiment\":{},\"requests\":[{\"timestamp\":9000000,"
                  "\"response_timestamps\":[1000000]}]}]}",
                  TOOL);
    assert_true(has_contradiction(r));
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_a_row_per_load),
        cmocka_unit_test(the_export_has_the_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
