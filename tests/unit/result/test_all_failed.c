/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in which no request succeeded: they are recorded as failed, with their counts and nothing
 * else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

/* The one row of a failed run; errors < 0: the file does not tell them. */
static void check_failed(const char *text, const char *tool, double errors)
{
    struct tc_result *r = read_text(text, tool);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_COMPLETED, 0);
    if (errors < 0) {
        assert_unknown(row, TC_SERVING_ERRORS);
    } else {
        assert_real(row, TC_SERVING_ERRORS, errors);
        assert_real(row, TC_SERVING_REQUESTS, errors);
        assert_real(row, TC_SERVING_ERROR_RATE, 1);
    }
    for (size_t c = TC_SERVING_TTFT_MEAN; c < TC_SERVING_E2E_MEAN + 5; c++) {
        assert_unknown(row, c);
    }
    for (size_t i = 0; find_row(r, TC_TABLE_SLICE, i) != NULL; i++) {
        const struct tc_result_row *slice = find_row(r, TC_TABLE_SLICE, i);
        assert_true(!tc_result_known(slice, TC_SLICE_MEAN) || !cell_is(slice, TC_SLICE_UNIT, "ms"));
    }
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    assert_true(has_note(r, "no request succeeded", false));
    assert_false(has_contradiction(r));
    tc_result_destroy(r);
}

static void every_reader_of_serving_records_a_failed_run(void **state)
{
    (void)state;
    check_failed(
        "{\"model_id\":\"m\",\"num_prompts\":20,\"completed\":0,\"failed\":20,\"duration\":2.5,"
        "\"request_throughput\":0.0,\"mean_ttft_ms\":0.0,\"median_ttft_ms\":0.0,"
        "\"p99_ttft_ms\":0.0,\"std_ttft_ms\":0.0,\"mean_itl_ms\":0.0,\"std_itl_ms\":0.0}",
        "vllm", 20);
    /* Before `failed` existed: none of them completed, so all failed. */
    check_failed("{\"model_id\":\"m\",\"num_prompts\":20,\"completed\":0,\"duration\":2.5,"
                 "\"request_throughput\":0.0,\"mean_ttft_ms\":0.0,\"median_ttft_ms\":0.0}",
                 "vllm", 20);
    check_failed(
        "{\"backend\":\"sglang\",\"dataset_name\":\"random\",\"completed\":0,\"duration\":1.5,"
        "\"request_throughput\":0,\"mean_e2e_latency_ms\":0,\"median_e2e_latency_ms\":0,"
        "\"mean_ttft_ms\":0,\"median_ttft_ms\":0}\n",
        "sglang", -1);
    check_failed("{\"model_id\":\"m\",\"num_prompts\":4,\"completed\":0,\"duration\":1.5,"
                 "\"median_ttft\":0.0,\"mean_ttft\":0.0,\"mean_e2el\":0.0}",
                 "inferencex", 4);
    check_failed("{\"metadata\":{\"guidellm_version\":\"0.3.1\"},\"benchmarks\":[{\"metrics\":{"
                 "\"request_totals\":{\"successful\":0,\"errored\":64,\"incomplete\":0},"
                 "\"request_latency\":{\"successful\":{\"mean\":0,\"count\":0,\"percentiles\":{"
                 "\"p50\":0}}}}}]}",
                 "guidellm", 64);
    check_failed("{\"load_summary\":{\"count\":10},\"successes\":{\"count\":0,\"latency\":{"
                 "\"request_latency\":null,\"time_to_first_token\":null},\"throughput\":{"
                 "\"requests_per_sec\":0.0}},\"failures\":{\"count\":10,\"request_latency\":null}}",
                 "inference-perf", 10);
    check_failed(
        "[{\"start_time\":1.5,\"end_time\":2.5,\"error\":{\"error_type\":\"E\"},\"info\":{}},"
        "{\"start_time\":2.0,\"end_time\":2.5,\"error\":{\"error_type\":\"E\"},\"info\":{}}]",
        "inference-perf-requests", 2);
    check_failed(
        "{\"metadata\":{\"worker_id\":\"w\",\"request_start_ns\":1},\"metrics\":{\"error_isl\":{"
        "\"value\":128,\"unit\":\"tokens\"}},\"error\":{\"code\":500}}\n"
        "{\"metadata\":{\"worker_id\":\"w\",\"request_start_ns\":2},\"metrics\":{},"
        "\"error\":{\"code\":500}}\n",
        "aiperf-requests", 2);
    check_failed(
        "{\"version\":\"0.2\",\"run\":{\"uid\":\"u\"},\"results\":{\"request_performance\":{"
        "\"aggregate\":{\"requests\":{\"total\":5,\"failures\":5},\"latency\":{"
        "\"request_latency\":{\"units\":\"ms\",\"mean\":0,\"p50\":0,\"p99\":0}}}}}}",
        "llm-d", 5);
}

/* AIPerf leaves out the metrics of requests that succeeded when there are none. */
static void aiperf_has_no_metrics_then(void **state)
{
    (void)state;
    check_failed(
        "{\"aiperf_version\":\"0.5.0\",\"error_request_count\":{\"unit\":\"requests\",\"avg\":10},"
        "\"input_config\":{\"endpoint\":{\"model_names\":[\"m\"]}},\"was_cancelled\":false,"
        "\"error_summary\":[{\"error_details\":{\"code\":500},\"count\":10}]}",
        "aiperf", 10);
    check_failed("{\"records\":{},\"input_config\":{},\"was_cancelled\":false,\"error_summary\":[{"
                 "\"count\":2},{\"count\":1}]}",
                 "aiperf", 3);
    check_failed(
        "{\"request_count\":{\"unit\":\"requests\",\"avg\":0},\"request_throughput\":{\"unit\":"
        "\"requests/sec\",\"avg\":0},\"input_config\":{},\"error_summary\":[{\"count\":5}]}",
        "aiperf", 5);
    check_failed("Metric,Value\nError Request Count (requests),10.00\n"
                 "Benchmark Duration (sec),2.50\n",
                 "aiperf", 10);
}

static void one_failed_run_of_several_keeps_its_counts(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "[{\"model_id\":\"m\",\"num_prompts\":2,\"completed\":2,\"duration\":1,\"request_"
        "throughput\":2,"
        "\"mean_ttft_ms\":5.5},{\"model_id\":\"m\",\"num_prompts\":2,\"completed\":0,\"failed\":2,"
        "\"duration\":1,\"request_throughput\":0,\"mean_ttft_ms\":0}]",
        "vllm");
    assert_real(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_TTFT_MEAN, 5.5);
    assert_real(find_row(r, TC_TABLE_SERVING, 1), TC_SERVING_ERRORS, 2);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    tc_result_destroy(r);
}

static void a_latency_of_nothing_is_a_contradiction(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"model_id\":\"m\",\"num_prompts\":2,\"completed\":0,\"failed\":2,\"duration\":1,"
        "\"request_throughput\":0,\"mean_ttft_ms\":5.5,\"p99_ttft_ms\":9}",
        "vllm");
    assert_true(has_note(r, "ttft_mean_ms is 5.5, and no request succeeded", true));
    assert_unknown(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_TTFT_MEAN);
    assert_unknown(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_TTFT_P99);
    tc_result_destroy(r);
    refuse_text(
        "{\"model_id\":\"m\",\"completed\":\"many\",\"duration\":1,\"request_throughput\":0,"
        "\"mean_ttft_ms\":5.5}",
        "vllm", "'completed' has no whole number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_of_serving_records_a_failed_run),
        cmocka_unit_test(aiperf_has_no_metrics_then),
        cmocka_unit_test(one_failed_run_of_several_keeps_its_counts),
        cmocka_unit_test(a_latency_of_nothing_is_a_contradiction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
