/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "llm-d"

static void a_report_of_version_0_1(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "version: '0.1'\n"
        "scenario:\n"
        "  host:\n    type: [replica]\n    accelerator:\n    - {model: H100, count: 8, memory: "
        "80}\n"
        "  platform:\n    engine:\n    - {name: vllm, version: 0.9.0}\n"
        "  model: {name: a/b, quantization: fp8}\n"
        "  load: {name: inference-perf, type: long-input}\n"
        "metrics:\n"
        "  time: {duration: 16.5, start: 1749570583.5, stop: 1749570600}\n"
        "  requests:\n    total: 32\n    failures: 1\n    incomplete: 2\n"
        "    input_length: {units: count, mean: 600, min: 4, p50: 364, max: 3836}\n"
        "  latency:\n"
        "    request_latency: {units: ms, mean: 3, p50: 2, p90: 5, p99: 6}\n"
        "    time_to_first_token: {units: s, mean: 0.8, p95: 2}\n"
        "    time_per_output_token: {units: s/token, mean: 0.02}\n"
        "    inter_token_latency: {units: ms/token, mean: 21, stddev: 3}\n"
        "    normalized_time_per_output_token: {units: ms/token, mean: 40}\n"
        "  throughput: {requests_per_sec: 1.5, output_tokens_per_sec: 30, "
        "total_tokens_per_sec: 60}\n"
        "  service:\n    queue_size: {units: count, mean: 3}\n"
        "  resources:\n    accelerator:\n"
        "    - memory:\n        consumption: {units: GiB, mean: 2}\n      power: {units: Watts, "
        "mean: 410}\n"
        "    - power: {units: Watts, mean: 500}\n",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_E2E_P90, 5);
    assert_real(row, TC_SERVING_TTFT_MEAN, 800);
    assert_real(row, TC_SERVING_TTFT_P95, 2000);
    assert_real(row, TC_SERVING_TPOT_MEAN, 20);
    assert_real(row, TC_SERVING_ITL_MEAN, 21);
    assert_real(row, TC_SERVING_JITTER, 3);
    assert_real(row, TC_SERVING_REQUESTS, 32);
    assert_real(row, TC_SERVING_COMPLETED, 29);
    assert_real(row, TC_SERVING_ERRORS, 3);
    assert_real(row, TC_SERVING_DURATION_S, 16.5);
    assert_real(row, TC_SERVING_STARTED, 1749570583500000);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 1.5);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "dataset=long-input");
    assert_real(find_slice(r, "latency.normalized_time_per_output_token", "", 0), TC_SLICE_MEAN,
                40);
    assert_real(find_slice(r, "requests.input_length", "", 0), TC_SLICE_MAX, 3836);
    assert_real(find_slice(r, "resources.accelerator.power", "index=1", 0), TC_SLICE_MEAN, 500);
    const struct tc_result_row *memory =
        find_slice(r, "resources.accelerator.memory.consumption", "index=0", 0);
    assert_real(memory, TC_SLICE_MEAN, 2147483648.0);
    assert_cell(memory, TC_SLICE_UNIT, "bytes");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "8");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "a/b");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, "fp8");
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("0.1")));
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

#define REPORT(version, more)                                                                   \
    "{\"version\":" version ",\"run\":{\"uid\":\"u1\",\"cid\":\"c1\",\"time\":{\"start\":"      \
    "\"2025-11-05T18:00:42Z\",\"end\":\"2025-11-05T18:17:03Z\",\"duration\":\"PT1M2.5S\"}},"    \
    "\"scenario\":{\"load\":{\"standardized\":{\"tool\":\"inference-perf\",\"rate_qps\":10,"    \
    "\"concurrency\":null,\"stage\":3,\"input_seq_len\":{\"distribution\":\"fixed\",\"value\":" \
    "2148}}},\"stack\":[{\"metadata\":{\"label\":\"svc\"},\"standardized\":{\"kind\":"          \
    "\"inference_engine\",\"tool\":\"vllm\",\"tool_version\":\"1\",\"replicas\":2,"             \
    "\"accelerator\":{\"model\":\"H100\",\"count\":8},\"model\":{\"name\":\"m\"}}},{"           \
    "\"standardized\":{\"kind\":\"generic\"}}]},\"results\":{\"request_performance\":{"         \
    "\"aggregate\":{\"requests\":{\"total\":5,\"failures\":0},\"latency\":{"                    \
    "\"time_to_first_token\":{\"units\":\"s\",\"mean\":0.036,\"p50\":0.03,\"p99\":0.05}},"      \
    "\"throughput\":{\"request_rate\":{\"units\":\"queries/s\",\"mean\":2},"                    \
    "\"output_token_rate\":{\"units\":\"tokens/s\",\"mean\":200}}}}" more "}}"

static void a_report_of_version_0_2(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        REPORT(
            "0.2",
            ",\"observability\":{\"components\":[{\"component_label\":\"svc\",\"aggregate\":{"
            "\"gpu_utilization\":{\"units\":\"percent\",\"mean\":76,\"max\":96}},\"time_series\":{"
            "\"gpu_utilization\":{\"units\":\"percent\",\"series\":[{\"ts\":"
            "\"2025-11-05T18:05:00Z\",\"mean\":73,\"p95\":80},{\"ts\":\"2025-11-05T18:10:00Z\","
            "\"value\":78}]}}}],\"epp_score\":{\"components\":[{\"component_id\":\"pod-1\","
            "\"statistics\":{\"units\":\"score\",\"mean\":0.8,\"graph_path\":\"x.png\"}}]},"
            "\"pod_startup_times\":{\"pods\":[{\"name\":\"p1\",\"node\":\"n1\",\"role\":"
            "\"decode\",\"startup_seconds\":72.5}]}},\"component_health\":[{\"component_label\":"
            "\"svc\",\"total_restarts\":3}],\"profiling\":{\"anything\":5}"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "in=2148 stage=3");
    assert_real(row, TC_SERVING_TTFT_MEAN, 36);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 2);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 200);
    assert_real(row, TC_SERVING_REQUEST_RATE, 10);
    assert_real(row, TC_SERVING_DURATION_S, 62.5);
    assert_real(row, TC_SERVING_COMPLETED, 5);
    const struct tc_result_row *all = find_slice(r, "observability.gpu_utilization", "", 0);
    assert_cell(all, TC_SLICE_POINT, "in=2148 stage=3 component=svc rate=10");
    assert_real(all, TC_SLICE_MAX, 96);
    assert_real(all, TC_SLICE_START, 1762365642000000);
    const struct tc_result_row *first = find_slice(r, "observability.gpu_utilization", "", 1);
    assert_real(first, TC_SLICE_P95, 80);
    assert_real(first, TC_SLICE_START, 1762365900000000);
    assert_real(first, TC_SLICE_END, 1762365900000000);
    assert_real(find_slice(r, "observability.gpu_utilization", "", 2), TC_SLICE_LAST, 78);
    /* A unit of nobody's list, in a member of nobody's schema, is kept. */
    row = find_slice(r, "observability.epp_score", "component=pod-1", 0);
    assert_cell(row, TC_SLICE_UNIT, "score");
    assert_real(row, TC_SLICE_MEAN, 0.8);
    row = find_slice(r, "observability.pod_startup_times.startup_seconds", "name=p1", 0);
    assert_real(row, TC_SLICE_LAST, 72.5);
    assert_cell(row, TC_SLICE_NODE, "n1");
    assert_real(find_slice(r, "component_health.total_restarts", "component=svc", 0), TC_SLICE_LAST,
                3);
    assert_null(find_slice(r, "profiling.anything", "", 0));
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "16");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_JOB_UID, "u1");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROMPT_TOKENS,
                "{\"distribution\":\"fixed\",\"value\":2148}");
    assert_true(tc_slice_eq(tc_result_version(r), TC_LIT("0.2")));
    assert_defined(r);
    tc_result_destroy(r);
}

static void a_version_that_is_not_known_is_told(void **state)
{
    (void)state;
    struct tc_result *r = read_text(REPORT("\"0.3\"", ""), TOOL);
    assert_true(has_note(r, "version '0.3' is not known: read as 0.2.1", false));
    assert_real(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_TTFT_P99, 50);
    tc_result_destroy(r);
    refuse_text("{\"version\":\"0.9\",\"run\":{},\"outcome\":{}}", TOOL, "version '0.9'");
}

static void a_unit_that_is_not_known_is_refused(void **state)
{
    (void)state;
    refuse_text(REPORT("\"0.2\"", ",\"observability\":{\"drop_rate\":{\"units\":\"furlongs\","
                                  "\"mean\":1}}"),
                TOOL, "/results/observability/drop_rate/units: 'furlongs'");
    refuse_text(
        "{\"version\":\"0.2\",\"run\":{},\"results\":{\"request_performance\":{\"aggregate\":{"
        "\"latency\":{\"a/b\":{\"units\":\"minutes\",\"mean\":1}}}}}}",
        TOOL, "/results/request_performance/aggregate/latency/a~1b/units: 'minutes'");
}

static void every_unit_of_the_schema_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        const char *stored;
        double factor;
    } units[] = {
        {"count", "count", 1},
        {"pixels", "pixels", 1},
        {"percent", "%", 1},
        {"fraction", "ratio", 1},
        {"ratio", "ratio", 1},
        {"ms", "ms", 1},
        {"s", "ms", 1000},
        {"bytes", "bytes", 1},
        {"MB", "bytes", 1e6},
        {"GB", "bytes", 1e9},
        {"TB", "bytes", 1e12},
        {"MiB", "bytes", 1048576.0},
        {"GiB", "bytes", 1073741824.0},
        {"TiB", "bytes", 1099511627776.0},
        {"Mbit/s", "bit/s", 1e6},
        {"Gbit/s", "bit/s", 1e9},
        {"Tbit/s", "bit/s", 1e12},
        {"GiB/s", "bytes/s", 1073741824.0},
        {"MB/s", "bytes/s", 1e6},
        {"GB/s", "bytes/s", 1e9},
        {"TB/s", "bytes/s", 1e12},
        {"ms/token", "ms", 1},
        {"s/token", "ms", 1000},
        {"tokens/s", "tokens/s", 1},
        {"queries/s", "requests/s", 1},
        {"images/s", "images/s", 1},
        {"videos/s", "videos/s", 1},
        {"audios/s", "audios/s", 1},
        {"Watts", "W", 1},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"version\":\"0.2\",\"run\":{},\"scenario\":{},\"results\":{"
                       "\"observability\":{\"drop_rate\":{\"units\":\"%s\",\"mean\":2}}}}",
                       units[i].unit);
        struct tc_result *r = read_text(text, TOOL);
        const struct tc_result_row *row = find_slice(r, "observability.drop_rate", "", 0);
        assert_cell(row, TC_SLICE_UNIT, units[i].stored);
        assert_real(row, TC_SLICE_MEAN, 2 * units[i].factor);
        tc_result_destroy(r);
    }
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"version\":\"0.2\",\"run\":{\"time\":{\"start\":\"2025-11-05T18:00:42Z\",\"end\":"
        "\"2025-11-05T18:00:00Z\",\"duration\":\"P1X\"}},\"results\":{\"request_performance\":{"
        "\"aggregate\":{\"requests\":{\"total\":5,\"failures\":9},\"latency\":{\"request_latency\":"
        "{"
        "\"units\":\"ms\",\"p50\":9,\"p99\":8}}}}}}",
        TOOL);
    assert_true(has_note(r, "5 requests are fewer than 9 failed", true));
    assert_true(has_note(r, "above", true));
    assert_true(has_note(r, "42.000 s before the start", false));
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_unknown(row, TC_SERVING_STARTED);
    assert_unknown(row, TC_SERVING_DURATION_S);
    tc_result_destroy(r);
}

/* A report of a generator with its words for what is measured. */
static struct tc_result *read_of(const char *tool)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "version: '0.2'\n"
        "run: {uid: u-1}\n"
        "scenario:\n  load:\n    standardized:\n"
        "      tool: %s\n      stage: 0\n      concurrency: 16\n      rate_qps: .inf\n"
        "      input_seq_len: {distribution: fixed, min: 1008, max: 1012, value: 1009.5}\n"
        "      output_seq_len: {distribution: fixed, min: 200, max: 200, value: 200.0}\n"
        "results:\n  request_performance:\n    aggregate:\n      latency:\n"
        "        inter_token_latency: {units: s/token, mean: 0.012, median: 0.011, "
        "stddev: 0.001}\n"
        "        time_per_output_token: {units: ms/token, mean: 20, p50: 19}\n"
        "      requests: {total: 500, failures: 0}\n",
        tool);
    return read_text(text, TOOL);
}

static void words_are_those_of_the_generator(void **state)
{
    (void)state;
    struct tc_result *r = read_of("guidellm");
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_TPOT_MEAN, 12);
    assert_real(row, TC_SERVING_TPOT_P50, 11);
    assert_false(tc_result_known(row, TC_SERVING_ITL_MEAN));
    assert_false(tc_result_known(row, TC_SERVING_JITTER));
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "out=200 stage=0");
    assert_false(tc_result_known(row, TC_SERVING_REQUEST_RATE));
    const struct tc_result_row *slice =
        find_slice(r, "request_performance.latency.time_per_output_token",
                   "out=200 stage=0 concurrency=16", 0);
    assert_string_equal(slice->definitions[TC_SLICE_MEAN]->measures, "normalized_tpot");
    tc_result_destroy(r);
    r = read_of("aiperf");
    row = find_row(r, TC_TABLE_SERVING, 0);
    /* Of the two the report's own time per output token comes first. */
    assert_real(row, TC_SERVING_TPOT_MEAN, 20);
    assert_false(tc_result_known(row, TC_SERVING_ITL_MEAN));
    tc_result_destroy(r);
    r = read_of("vllm-benchmark");
    row = find_row(r, TC_TABLE_SERVING, 0);
    assert_real(row, TC_SERVING_TPOT_MEAN, 20);
    assert_real(row, TC_SERVING_ITL_MEAN, 12);
    assert_real(row, TC_SERVING_JITTER, 1);
    tc_result_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_generator),
        cmocka_unit_test(a_report_of_version_0_1),
        cmocka_unit_test(a_report_of_version_0_2),
        cmocka_unit_test(a_version_that_is_not_known_is_told),
        cmocka_unit_test(a_unit_that_is_not_known_is_refused),
        cmocka_unit_test(every_unit_of_the_schema_is_known),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
