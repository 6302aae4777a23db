/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files with every allocation of ours failing in turn: "no memory" or the whole result,
 * never a crash, a leak or half of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/result.h"
#include "support/faulty.h"

#include <stdio.h>
#include <string.h>

#define CALLS_MAX 2000

static const char VLLM[] =
    "{\"model_id\":\"m\",\"completed\":2,\"num_prompts\":2,\"duration\":1,\"request_throughput\":2,"
    "\"mean_ttft_ms\":NaN,\"p99_ttft_ms\":3,\"median_ttft_ms\":4,\"std_ttft_ms\":1,"
    "\"date\":\"20260213-075258\",\"tp\":8}";

static const char REQUESTS[] =
    "{\"metadata\":{\"worker_id\":\"w\",\"request_start_ns\":1762294500000000000,"
    "\"request_end_ns\":1762294501000000000,\"benchmark_phase\":\"profiling\"},\"metrics\":{"
    "\"request_latency\":{\"value\":1000,\"unit\":\"ms\"},"
    "\"inter_chunk_latency\":{\"value\":[1,2,3],\"unit\":\"ms\"}},\"error\":null}\n"
    "{\"metadata\":{\"worker_id\":\"w\"},\"metrics\":{},\"error\":{\"code\":1}}\n";

static const char CSV[] = "Metric,avg,min,max,p1,p50,p99\n"
                          "Request Latency (ms),2,1,4,1,2,3\n"
                          "\n"
                          "Metric,Value\n"
                          "Request Count,5\n";

static void fail_every_allocation(const char *text, size_t rows)
{
    long at = 0;
    bool hit = true;
    for (; hit && at < CALLS_MAX; at++) {
        struct tc_result *r = NULL;
        struct tc_error err = {.status = TC_OK};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = at};
        tc_status status = tc_result_read(TC_LIT("f"), tc_slice_cstr(text), NULL, &r, &err);
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        if (status == TC_OK) {
            assert_int_equal(tc_result_rows(r), rows);
        } else {
            assert_true(hit);
            assert_int_equal(status, TC_E_NOMEM);
            assert_null(r);
        }
        tc_result_destroy(r);
    }
    assert_true(at > 3);
    assert_true(at < CALLS_MAX);
}

static void test_vllm(void **state)
{
    (void)state;
    fail_every_allocation(VLLM, 2);
}

static void test_requests(void **state)
{
    (void)state;
    fail_every_allocation(REQUESTS, 3);
}

static void test_csv(void **state)
{
    (void)state;
    fail_every_allocation(CSV, 3);
}

int main(void)
{
    if (tc_faulty_init() != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vllm),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
