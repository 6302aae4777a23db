/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "mlperf-inference"
#define BAR "================================================\n"
#define TITLE BAR "MLPerf Results Summary\n" BAR

static void a_server_run_with_tokens(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "some harness output\n" TITLE
        "SUT name : PySUT\nScenario : Server\nMode     : PerformanceOnly\n"
        "Completed samples per second : 264.96\nCompleted tokens per second: 74638.54\n"
        "Result is : VALID\n  Performance constraints satisfied : Yes\n"
        "TTFT Early Stopping Result:\n * Run successful.\n" BAR "Additional Stats\n" BAR
        "Scheduled samples per second : 270.5\n"
        "Min latency (ns)                : 1000000\nMax latency (ns)                : 9000000\n"
        "Mean latency (ns)               : 4000000\n50.00 percentile latency (ns)   : 3000000\n"
        "90.00 percentile latency (ns)   : 5000000\n95.00 percentile latency (ns)   : 6000000\n"
        "97.00 percentile latency (ns)   : 6500000\n99.00 percentile latency (ns)   : 7000000\n"
        "99.90 percentile latency (ns)   : 8000000\n\n"
        "Min First Token latency (ns)                : 100000\n"
        "Mean First Token latency (ns)               : 300000\n"
        "99.00 percentile first token latency (ns)   : 400000\n\n"
        "Min Time to Output Token (ns)                : 10000\n"
        "Mean Time per Output Token (ns)              : 30000\n"
        "99.00 percentile time to output token (ns)   : 40000\n" BAR "Test Parameters Used\n" BAR
        "samples_per_query : 1\ntarget_qps : 280\ntarget_latency (ns): 99\nttft_latency (ns): "
        "2000000000\ntpot_latency (ns): 200000000\nmin_duration (ms): 600000\n\n"
        "1 warning encountered. See detailed log.\n\nNo errors encountered during test.\n",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "scenario=Server");
    assert_real(row, TC_SERVING_REQUEST_RATE, 280);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 264.96);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 74638.54);
    assert_real(row, TC_SERVING_E2E_MEAN, 4);
    assert_real(row, TC_SERVING_E2E_P50, 3);
    assert_real(row, TC_SERVING_E2E_P90, 5);
    assert_real(row, TC_SERVING_E2E_P95, 6);
    assert_real(row, TC_SERVING_E2E_P99, 7);
    assert_real(row, TC_SERVING_TTFT_MEAN, 0.3);
    assert_real(row, TC_SERVING_TTFT_P99, 0.4);
    assert_unknown(row, TC_SERVING_TTFT_P50);
    assert_real(row, TC_SERVING_TPOT_MEAN, 0.03);
    assert_real(row, TC_SERVING_TPOT_P99, 0.04);
    assert_unknown(row, TC_SERVING_ITL_MEAN);
    assert_real(find_slice(r, "scheduled_samples_per_second", "", 0), TC_SLICE_LAST, 270.5);
    assert_real(find_slice(r, "latency", "", 0), TC_SLICE_MAX, 9);
    assert_real(find_slice(r, "time_per_output_token", "", 0), TC_SLICE_MIN, 0.01);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL, "open_loop");
    assert_defined(r);
    tc_result_destroy(r);
}

static void the_other_scenarios(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        TITLE
        "SUT name : A\nScenario : Offline\nMode     : PerformanceOnly\n"
        "Samples per second: 1234.5\nTokens per second: 99.5\n"
        "Tokens per second (inferred): 88.5\nResult is : VALID\n" TITLE
        "Scenario : SingleStream\nMode     : PerformanceOnly\n"
        "90.0th percentile latency (ns) : 7000000\nResult is : INVALID\n"
        "  Min duration satisfied : NO\n"
        "QPS w/ loadgen overhead         : 140.5\nQPS w/o loadgen overhead        : 141.5\n" TITLE
        "Scenario : MultiStream\nMode     : PerformanceOnly\n"
        "99th percentile latency (ns) : 9000000\nResult is : VALID\n"
        "Per-query latency:  \nMin latency (ns)                : 5000000\n",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "scenario=Offline");
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 1234.5);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 99.5);
    assert_real(find_slice(r, "tokens_per_second_inferred", "", 0), TC_SLICE_LAST, 88.5);
    row = find_row(r, TC_TABLE_SERVING, 1);
    assert_real(row, TC_SERVING_E2E_P90, 7);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 140.5);
    row = find_row(r, TC_TABLE_SERVING, 2);
    assert_real(row, TC_SERVING_E2E_P99, 9);
    assert_unknown(row, TC_SERVING_REQUESTS_PER_S);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    assert_true(has_note(r, "INVALID", false));
    assert_true(has_note(r, "min duration satisfied: NO", false));
    tc_result_destroy(r);
}

/* As the releases of 0.5 to 1.0 wrote it: queries first, with percentiles alone, then samples. */
static void multi_stream_takes_the_latencies_of_queries(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        TITLE "SUT name : Triton_Server\nScenario : Multi Stream\nMode     : Performance\n"
              "Samples per query : 1600\nResult is : VALID\n"
              "  Performance constraints satisfied : Yes\n\n" BAR "Additional Stats\n" BAR
              "Intervals between each IssueQuery:  \"qps\" : 20, \"ms\" : 50\n"
              "50.00 percentile : 1\n99.00 percentile : 1\n99.90 percentile : 2\n\n"
              "Per-query latency:  \"target_ns\" : 50000000, \"target_ms\" : 50\n"
              "50.00 percentile latency (ns)   : 43601234\n"
              "90.00 percentile latency (ns)   : 44500000\n"
              "99.00 percentile latency (ns)   : 46500000\n\n"
              "Per-sample latency:\n"
              "Min latency (ns)                : 9500000\n"
              "Max latency (ns)                : 51500000\n"
              "Mean latency (ns)               : 28500000\n"
              "50.00 percentile latency (ns)   : 29021234\n"
              "99.00 percentile latency (ns)   : 44000000\n\n" BAR "Test Parameters Used\n" BAR
              "samples_per_query : 1600\ntarget_qps : 20\n",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "scenario=MultiStream");
    assert_real(row, TC_SERVING_E2E_P50, 43.601234);
    assert_real(row, TC_SERVING_E2E_P90, 44.5);
    assert_real(row, TC_SERVING_E2E_P99, 46.5);
    /* The mean of the samples is none of the queries. */
    assert_unknown(row, TC_SERVING_E2E_MEAN);
    assert_unknown(find_slice(r, "latency", "", 0), TC_SLICE_MIN);
    assert_real(find_slice(r, "sample_latency", "", 0), TC_SLICE_P50, 29.021234);
    assert_real(find_slice(r, "sample_latency", "", 0), TC_SLICE_MEAN, 28.5);
    assert_real(find_slice(r, "sample_latency", "", 0), TC_SLICE_MAX, 51.5);
    assert_real(find_slice(r, "samples_per_query", "", 0), TC_SLICE_LAST, 1600);
    assert_defined(r);
    tc_result_destroy(r);
}

/* All samples of Offline are one query: what is counted, its rate and its latencies are samples. */
static void offline_counts_samples(void **state)
{
    (void)state;
    static const char *const COMMON[] = {
        ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"4.1\"}",
        ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Offline\"}",
        ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}",
        ":::MLLOG {\"key\": \"result_query_count\", \"value\": 1}",
        ":::MLLOG {\"key\": \"result_samples_per_second\", \"value\": 100.5}",
        ":::MLLOG {\"key\": \"result_mean_latency_ns\", \"value\": 4000000}",
    };
    struct tc_result *r = read_text(join_lines(COMMON, 6), TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_unknown(row, TC_SERVING_COMPLETED);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 100.5);
    tc_result_destroy(r);
    char text[4096];
    (void)snprintf(text, sizeof text, "%s%s", join_lines(COMMON, 6),
                   ":::MLLOG {\"key\": \"effective_samples_per_query\", \"value\": 24576}\n");
    r = read_text(text, TOOL);
    row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_COMPLETED, 24576);
    assert_real(row, TC_SERVING_E2E_MEAN, 4);
    assert_null(find_slice(r, "samples_per_query", "", 0));
    tc_result_destroy(r);
}

static void the_detail_log_and_the_metadata(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"4.1 @ abc\", \"time_ms\": 0.1}\n"
        ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Server\", \"time_ms\": 0.1}\n"
        ":::MLLOG {\"key\": \"effective_target_qps\", \"value\": 12.5, \"time_ms\": 0.1}\n"
        ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\", \"time_ms\": 1}\n"
        ":::MLLOG {\"key\": \"result_completed_samples_per_sec\", \"value\": 11.5}\n"
        ":::MLLOG {\"key\": \"result_mean_latency_ns\", \"value\": 4000000}\n"
        ":::MLLOG {\"key\": \"result_99.00_percentile_latency_ns\", \"value\": 7000000}\n"
        ":::MLLOG {\"key\": \"result_first_token_99.00_percentile_latency_ns\", \"value\": "
        "400000}\n"
        ":::MLLOG {\"key\": \"result_time_per_output_token_99.00_percentile_ns\", \"value\": "
        "40000}\n",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_REQUEST_RATE, 12.5);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 11.5);
    assert_real(row, TC_SERVING_E2E_MEAN, 4);
    assert_real(row, TC_SERVING_E2E_P99, 7);
    assert_real(row, TC_SERVING_TTFT_P99, 0.4);
    assert_real(row, TC_SERVING_TPOT_P99, 0.04);
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("4.1 @ abc")));
    tc_result_destroy(r);
    r = read_text(
        LINES(":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"4.1\"}",
              ":::MLLOG {\"key\": \"requested_scenario\", \"value\": \"MultiStream\"}",
              ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}",
              ":::MLLOG {\"key\": \"result_min_query_latency_ns\", \"value\": 5000000}",
              ":::MLLOG {\"key\": \"result_99.00_percentile_per_query_latency_ns\", \"value\": "
              "9000000}",
              ":::MLLOG {\"key\": \"result_99.00_percentile_latency_ns\", \"value\": 4000000}",
              ":::MLLOG {\"key\": \"effective_target_latency_percentile\", \"value\": 0.99}"),
        TOOL);
    row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "scenario=MultiStream");
    assert_real(row, TC_SERVING_E2E_P99, 9);
    assert_real(find_slice(r, "latency", "", 0), TC_SLICE_MIN, 5);
    tc_result_destroy(r);
    r = read_text("{\"benchmark_full\":\"gptj-99\",\"scenario\":\"Server\",\"result_validity\":"
                  "\"INVALID\",\"result_completed_tokens_per_second\":55.5,"
                  "\"result_scheduled_samples_per_sec\":3,\"tensorrt_version\":\"8.6.0\"}",
                  TOOL);
    row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 55.5);
    /* What was scheduled is not what a server completed. */
    assert_unknown(row, TC_SERVING_REQUESTS_PER_S);
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "gptj-99");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    tc_result_destroy(r);
}

static void what_is_cut_or_contradicts_is_told(void **state)
{
    (void)state;
    refuse_text(TITLE "SUT name : PySUT\n", TOOL, "line:2: no scenario");
    refuse_text("nothing\n", TOOL, "no line 'MLPerf Results Summary'");
    struct tc_result *r = read_text(TITLE "Scenario : Server\nMode     : AccuracyOnly\n", TOOL);
    assert_true(has_note(r, "no verdict", false));
    assert_true(has_note(r, "AccuracyOnly", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
    r = read_text(TITLE "Scenario : Server\nResult is : VALID\n50.00 percentile latency (ns) : 9\n"
                        "99.00 percentile latency (ns) : 8\nMin latency (ns) : -5\n",
                  TOOL);
    assert_true(has_note(r, "above", true));
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_run_with_tokens),
        cmocka_unit_test(the_other_scenarios),
        cmocka_unit_test(multi_stream_takes_the_latencies_of_queries),
        cmocka_unit_test(offline_counts_samples),
        cmocka_unit_test(the_detail_log_and_the_metadata),
        cmocka_unit_test(what_is_cut_or_contradicts_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
