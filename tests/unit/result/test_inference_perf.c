/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "inference-perf"

static void seconds_become_milliseconds(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"benchmark_time_seconds\":20.0,\"load_summary\":{\"count\":12,\"schedule_delay\":{"
        "\"mean\":0.001,\"min\":-0.002,\"median\":0.001,\"p99\":0.003,\"max\":0.004},"
        "\"send_duration\":18.5,\"requested_rate\":2.0,\"achieved_rate\":1.9,\"concurrency\":8},"
        "\"successes\":{\"count\":10,\"latency\":{\"request_latency\":{\"mean\":0.7,\"min\":0.4,"
        "\"median\":0.75,\"p90\":0.8,\"p95\":0.85,\"p99\":0.9,\"max\":1.0},"
        "\"normalized_time_per_output_token\":{\"mean\":0.011,\"p50\":0.012},"
        "\"time_per_output_token\":{\"mean\":0.005,\"p50\":0.006,\"p99\":0.007},"
        "\"time_to_first_token\":{\"mean\":0.03,\"median\":0.03,\"p90\":0.04},"
        "\"inter_token_latency\":{\"mean\":0.0055,\"median\":0.0001,\"p99\":0.02}},"
        "\"throughput\":{\"input_tokens_per_sec\":200.5,\"output_tokens_per_sec\":60.5,"
        "\"total_tokens_per_sec\":261,\"requests_per_sec\":0.5},\"prompt_len\":{\"mean\":128,"
        "\"min\":128,\"max\":128},\"output_len\":{\"mean\":64,\"min\":60,\"max\":66},"
        "\"output_tokens\":{\"total\":640},\"goodput_metrics\":{\"request_goodput\":0.4}},"
        "\"failures\":{\"count\":2,\"request_latency\":{\"mean\":5.0},\"prompt_len\":null}}",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "in=128 rate=2 concurrency=8");
    assert_real(row, TC_SERVING_REQUEST_RATE, 2);
    assert_real(row, TC_SERVING_CONCURRENCY, 8);
    assert_real(row, TC_SERVING_DURATION_S, 20);
    assert_real(row, TC_SERVING_E2E_MEAN, 700);
    assert_real(row, TC_SERVING_E2E_P50, 750);
    assert_real(row, TC_SERVING_E2E_P99, 900);
    assert_real(row, TC_SERVING_TTFT_P90, 40);
    assert_unknown(row, TC_SERVING_TTFT_P99);
    /* Per request, and per gap: two things. */
    assert_real(row, TC_SERVING_TPOT_P50, 6);
    assert_real(row, TC_SERVING_ITL_P50, 0.1);
    assert_real(row, TC_SERVING_REQUESTS, 12);
    assert_real(row, TC_SERVING_COMPLETED, 10);
    assert_real(row, TC_SERVING_ERRORS, 2);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS, 640);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 60.5);
    assert_real(row, TC_SERVING_GOODPUT, 0.4);
    assert_string_equal(row->definitions[TC_SERVING_TPOT_MEAN]->measures, "tpot");
    assert_string_equal(row->definitions[TC_SERVING_ITL_MEAN]->measures, "itl");
    const struct tc_result_row *slice = find_slice(r, "normalized_time_per_output_token", "", 0);
    assert_real(slice, TC_SLICE_P50, 12);
    assert_string_equal(slice->definitions[TC_SLICE_P50]->measures, "normalized_tpot");
    /* Early is no contradiction. */
    assert_real(find_slice(r, "schedule_delay", "rate=2", 0), TC_SLICE_MIN, -2);
    assert_real(find_slice(r, "send_duration", "", 0), TC_SLICE_LAST, 18.5);
    assert_real(find_slice(r, "failures.request_latency", "", 0), TC_SLICE_MEAN, 5000);
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

static void a_summary_of_all_stages_as_yaml(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text("load_summary:\n  count: 3\nsuccesses:\n  count: 3\n  latency:\n"
                  "    request_latency:\n      mean: 0.5\n      p50: 0.25\n"
                  "    time_to_first_token: null\n"
                  "failures:\n  count: 0\n",
                  TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "stage=all");
    assert_real(row, TC_SERVING_E2E_MEAN, 500);
    assert_unknown(row, TC_SERVING_TTFT_MEAN);
    assert_unknown(row, TC_SERVING_REQUEST_RATE);
    tc_result_destroy(r);
}

static void what_the_server_says_is_kept_apart(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"load_summary\":{},\"successes\":{\"count\":12242,\"rate\":111.5,\"prompt_len\":{"
        "\"mean\":11684,\"rate\":22158.5},\"queue_len\":{\"mean\":259},\"request_latency\":{"
        "\"mean\":6.07,\"median\":7.24,\"p90\":9.4,\"p99\":9.9},\"time_per_output_token\":{"
        "\"mean\":0.03}},\"failures\":{}}",
        TOOL);
    assert_null(find_row(r, TC_TABLE_SERVING, 0));
    assert_real(find_slice(r, "server.request_latency", "", 0), TC_SLICE_P50, 7240);
    assert_real(find_slice(r, "server.time_per_output_token", "", 0), TC_SLICE_MEAN, 30);
    assert_real(find_slice(r, "server.queue_len", "", 0), TC_SLICE_MEAN, 259);
    assert_real(find_slice(r, "server.rate", "", 0), TC_SLICE_LAST, 111.5);
    assert_defined(r);
    tc_result_destroy(r);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text("{\"load_summary\":{\"count\":9},\"successes\":{\"count\":10,\"latency\":{"
                  "\"request_latency\":{\"mean\":-0.7,\"median\":0.95,\"p99\":0.9}}},\"failures\":{"
                  "\"count\":2}}",
                  TOOL);
    assert_true(has_note(r, "above", true));
    assert_true(has_note(r, "negative", true));
    assert_true(has_note(r, "9 requests are not 10 completed and 2 failed", true));
    tc_result_destroy(r);
    refuse_text("{\"load_summary\":{\"count\":9},\"successes\":{\"latency\":{}},\"failures\":{}}",
                TOOL, "successes/count");
    refuse_text("{\"load_summary\":{\"count\":9},\"succ", TOOL, "cut off");
}

/* What the server says has a p90 and no p95, and a slice has no column for it. */
static void the_90th_percentile_of_slices_is_kept(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"load_summary\":{},\"successes\":{\"count\":12242,\"rate\":111.5,\"prompt_len\":{"
        "\"mean\":"
        "11684,\"rate\":22158.5},\"queue_len\":{\"mean\":259},\"request_latency\":{\"mean\":6.25,"
        "\"median\":7.5,\"p90\":9.5,\"p99\":10}},\"failures\":{}}",
        TOOL);
    const struct tc_result_row *slice = find_slice(r, "server.request_latency.p90", "", 0);
    assert_real(slice, TC_SLICE_LAST, 9500);
    assert_string_equal(slice->definitions[TC_SLICE_LAST]->measures, "server_e2e");
    assert_null(find_slice(r, "server.queue_len.p90", "", 0));
    assert_defined(r);
    tc_result_destroy(r);
    r = read_text(
        "{\"load_summary\":{\"count\":1,\"requested_rate\":2.0},\"successes\":{\"count\":1,"
        "\"latency\":{\"request_latency\":{\"mean\":0.5,\"p90\":0.75},"
        "\"normalized_time_per_output_token\":{\"mean\":0.5,\"p90\":0.75}}},\"failures\":{"
        "\"count\":0}}",
        TOOL);
    /* One that has a column stays there alone. */
    assert_real(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_E2E_P90, 750);
    assert_null(find_slice(r, "request_latency.p90", "", 0));
    slice = find_slice(r, "normalized_time_per_output_token.p90", "", 0);
    assert_real(slice, TC_SLICE_LAST, 750);
    /* The rate is part of the point already. */
    assert_cell(slice, TC_SLICE_POINT, "rate=2");
    tc_result_destroy(r);
}

/* As another tool passes it on: no counts of what succeeded or failed. */
static void a_part_of_a_report(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text("{\"load_summary\":{\"count\":79},\"successes\":{\"latency\":{"
                  "\"request_latency\":{\"mean\":4.5}},\"throughput\":{\"requests_per_sec\":0.5}}}",
                  TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_E2E_MEAN, 4500);
    assert_real(row, TC_SERVING_REQUESTS, 79);
    assert_false(tc_result_known(row, TC_SERVING_COMPLETED));
    tc_result_destroy(r);
}

static void requests_are_summed_up(void **state)
{
    (void)state;
    /* Of both layouts of "info": tokens at 0.1, 0.2, 0.4 s; at 1.3 and 1.9 s; a failure. */
    struct tc_result *r = read_text(
        "[{\"start_time\":0.0,\"end_time\":0.5,\"request\":\"{}\",\"info\":{\"input_tokens\":10,"
        "\"output_tokens\":3,\"output_token_times\":[0.1,0.2,0.4]},\"error\":null},"
        "{\"start_time\":1.0,\"end_time\":2.0,\"info\":{\"request_metrics\":{\"text\":{"
        "\"input_tokens\":30}},\"response_metrics\":{\"output_tokens\":2,\"output_token_times\":["
        "1.3,1.9]}},\"error\":null},"
        "{\"start_time\":1.5,\"end_time\":4.0,\"info\":null,\"error\":{\"error_type\":\"x\"}}]",
        "inference-perf-requests");
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_REQUESTS, 3);
    assert_real(row, TC_SERVING_COMPLETED, 2);
    assert_real(row, TC_SERVING_ERRORS, 1);
    assert_real(row, TC_SERVING_DURATION_S, 4);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 0.5);
    assert_real(row, TC_SERVING_INPUT_TOKENS, 40);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS, 5);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 1.25);
    assert_real(row, TC_SERVING_TTFT_MEAN, 200);
    assert_real(row, TC_SERVING_TTFT_P90, 280);
    assert_real(row, TC_SERVING_TPOT_MEAN, 375);
    assert_real(row, TC_SERVING_ITL_MEAN, 300);
    assert_real(row, TC_SERVING_ITL_P50, 200);
    assert_real(row, TC_SERVING_E2E_P99, 995);
    assert_real(find_slice(r, "inter_token_latency", "", 0), TC_SLICE_COUNT, 3);
    assert_real(find_slice(r, "normalized_time_per_output_token", "", 0), TC_SLICE_MAX, 500);
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
    r = read_text("[{\"start_time\":2,\"end_time\":1,\"info\":{\"output_tokens\":2,"
                  "\"output_token_times\":[1.5,1.2]},\"error\":null}]",
                  "inference-perf-requests");
    assert_true(has_note(r, "end_time is 1.000000 s before", true));
    assert_true(has_note(r, "a token came 0.300000 s before", true));
    tc_result_destroy(r);
    refuse_text("[{\"start_time\":2,\"end_time\":3,\"info\":{\"output_token_times\":[1,\"x\"]},"
                "\"error\":null}]",
                "inference-perf-requests", "/0/info/output_token_times/1");
    refuse_text("[{\"start_time\":2,\"end_time\":3,\"info\":{},\"error\":\"x\"},{}]",
                "inference-perf-requests", "/1: start_time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_90th_percentile_of_slices_is_kept),
        cmocka_unit_test(a_part_of_a_report),
        cmocka_unit_test(seconds_become_milliseconds),
        cmocka_unit_test(a_summary_of_all_stages_as_yaml),
        cmocka_unit_test(what_the_server_says_is_kept_apart),
        cmocka_unit_test(what_cannot_be_is_told),
        cmocka_unit_test(requests_are_summed_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
