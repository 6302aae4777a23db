/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "trtllm-bench"
#define BAR "==========================================================="
#define TITLE(text) BAR "\n= " text "\n" BAR

static void the_report_of_today(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("[01/02/2026-10:00:00] [TRT-LLM] [I] ", TITLE("PYTORCH BACKEND"),
              "Model:\t\t\tmeta-llama/Llama-3.1-8B", "Model Path:\t\tNone",
              "TensorRT LLM Version:\t1.2.0rc1", "Dtype:\t\t\tbfloat16", "KV Cache Dtype:\t\tFP8",
              "Quantization:\t\tFP8", "", TITLE("MACHINE DETAILS "),
              "NVIDIA B200, memory 179.06 GB, 3.99 GHz", "", TITLE("REQUEST DETAILS "),
              "Number of requests:             5000", "Number of concurrent requests:  3279.7",
              "Average Input Length (tokens):  2048.0000",
              "Average Output Length (tokens): 127.5000", TITLE("WORLD + RUNTIME INFORMATION "),
              "TP Size:                2", "PP Size:                1",
              "EP Size:                None", "KV Memory Percentage:   90.00%",
              "Issue Rate (req/sec):   8.3913E+13", "", TITLE("PERFORMANCE OVERVIEW "),
              "Request Throughput (req/sec):                     43.25",
              "Total Output Throughput (tokens/sec):             5530.5",
              "Total Token Throughput (tokens/sec):              94022.5",
              "Total Latency (ms):                               115716.5",
              "Average request latency (ms):                     75903.5",
              "Per User Output Throughput [w/ ctx] (tps/user):   2.5",
              "Per GPU Output Throughput (tps/gpu):              2765.25",
              "Average time-to-first-token [TTFT] (ms):          52667.5",
              "Average time-per-output-token [TPOT] (ms):        182.5",
              "Per User Output Speed (tps/user):                 5.5", "",
              "-- Per-Request Time-per-Output-Token [TPOT] Breakdown (ms)", "",
              "[TPOT] MINIMUM: 32.5", "[TPOT] MAXIMUM: 208.5", "[TPOT] AVERAGE: 182.5",
              "[TPOT] P50    : 204.5", "[TPOT] P90    : 206.25", "[TPOT] P95    : 206.5",
              "[TPOT] P99    : 206.75", "", "[TTFT] MINIMUM: 3914.5", "[TTFT] AVERAGE: 52667.5",
              "[TTFT] P99    : 107000.5", "[GTPS] AVERAGE: 5.75",
              "-- Request Latency Breakdown (ms) -----------------------", "",
              "[Latency] P50    : 78000.5", "[Latency] P99    : 110000.5",
              "[Latency] AVERAGE: 75903.5", TITLE("DATASET DETAILS"), "Number of Sequences:  5000"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "in=2048");
    assert_real(row, TC_SERVING_COMPLETED, 5000);
    assert_real(row, TC_SERVING_DURATION_S, 115.7165);
    assert_real(row, TC_SERVING_REQUESTS_PER_S, 43.25);
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 5530.5);
    assert_real(row, TC_SERVING_TOTAL_TOKENS_PER_S, 94022.5);
    assert_real(row, TC_SERVING_TTFT_MEAN, 52667.5);
    assert_unknown(row, TC_SERVING_TTFT_P50);
    assert_real(row, TC_SERVING_TTFT_P99, 107000.5);
    assert_real(row, TC_SERVING_TPOT_MEAN, 182.5);
    assert_real(row, TC_SERVING_TPOT_P50, 204.5);
    assert_real(row, TC_SERVING_TPOT_P90, 206.25);
    assert_real(row, TC_SERVING_E2E_P50, 78000.5);
    assert_unknown(row, TC_SERVING_ITL_MEAN);
    assert_unknown(row, TC_SERVING_CONCURRENCY);
    assert_real(find_slice(r, "tpot", "", 0), TC_SLICE_MIN, 32.5);
    assert_real(find_slice(r, "gen_tps", "", 0), TC_SLICE_MEAN, 5.75);
    assert_real(find_slice(r, "avg_num_concurrent_requests", "", 0), TC_SLICE_LAST, 3279.7);
    assert_real(find_slice(r, "output_throughput_per_gpu_tok_s", "", 0), TC_SLICE_LAST, 2765.25);
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "meta-llama/Llama-3.1-8B");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, "FP8");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, "tp_size=2 pp_size=1");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, "NVIDIA B200");
    /* The text does not say how many GPUs there were. */
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "");
    assert_fact(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER_VERSION, "1.2.0rc1");
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

/* Before 0.17: what is called total is the output's, and what is called P90 is the median. */
static void the_latency_report_of_before(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(TITLE("ENGINE DETAILS"), "Model:\t\t\tllama", "TensorRT-LLM Version:\t0.16.0",
              "Dtype:\t\t\tfloat16", "Quantization:\t\tNone", TITLE("GENERAL OVERVIEW"),
              "Number of requests:\t\t100", "Average Input Length (tokens):\t2048.0000",
              "Average Output Length (tokens):\t2048.0000",
              "Average request latency (ms):\t63456.0704", "", TITLE("THROUGHPUT OVERVIEW"),
              "Request Throughput (req/sec):\t\t  0.0158",
              "Total Token Throughput (tokens/sec):\t  32.2742",
              "Generation Token Throughput (tokens/sec): 32.3338", TITLE("LATENCY OVERVIEW"),
              "Total Latency (ms):\t\t  6345624.0554", "Average time-to-first-token (ms): 147.7502",
              "Average inter-token latency (ms): 30.9274", "Acceptance Rate (Speculative):\t  1.00",
              TITLE("GENERATION LATENCY BREAKDOWN"), "MIN (ms): 63266.8804", "MAX (ms): 63374.7770",
              "AVG (ms): 63308.3201", "P90 (ms): 63307.1885", "P95 (ms): 63331.7136",
              "P99 (ms): 63374.7770", TITLE("ACCEPTANCE BREAKDOWN"), "MIN: 1.00", "P90: 1.00"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "in=2048 out=2048");
    assert_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, 32.2742);
    assert_unknown(row, TC_SERVING_TOTAL_TOKENS_PER_S);
    assert_real(row, TC_SERVING_TTFT_MEAN, 147.7502);
    assert_real(row, TC_SERVING_TPOT_MEAN, 30.9274);
    assert_real(row, TC_SERVING_E2E_MEAN, 63456.0704);
    assert_unknown(row, TC_SERVING_E2E_P90);
    assert_real(find_slice(r, "generation_latency", "", 0), TC_SLICE_P50, 63307.1885);
    assert_real(find_slice(r, "generation_latency", "", 0), TC_SLICE_P99, 63374.777);
    assert_defined(r);
    tc_result_destroy(r);
}

static void the_file_of_report_json(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "{\"engine\":{\"model\":\"m\",\"version\":\"1.0.0\",\"backend\":\"Pytorch\",\"dtype\":"
        "\"bfloat16\","
        "\"quantization\":null},\"machine\":{\"name\":\"NVIDIA H100\",\"memory.total\":79.1},"
        "\"world_info\":{\"tp_size\":4,\"pp_size\":1,\"ep_size\":null,\"world_size\":4},"
        "\"request_info\":{\"num_requests\":10,\"avg_num_concurrent_requests\":3.5,"
        "\"avg_input_length\":100.0,\"avg_output_length\":50.0},\"performance\":{\"total_latency_"
        "ms\":"
        "2000.0,\"avg_request_latency_ms\":700.0,\"request_throughput_req_s\":5.0,"
        "\"system_output_throughput_tok_s\":250.0,\"system_total_throughput_tok_s\":750.0,"
        "\"output_throughput_per_user_tok_s\":70.0,\"output_throughput_per_gpu_tok_s\":62.5,"
        "\"request_latency_percentiles_ms\":{\"p50\":700.0,\"p90\":710.0,\"p95\":720.0,\"p99\":730."
        "0,"
        "\"minimum\":600.0,\"maximum\":730.0,\"average\":700.0}},\"streaming_metrics\":{"
        "\"token_output_speed_tok_s\":0.0,\"avg_ttft_ms\":0.0,\"avg_tpot_ms\":0.0,"
        "\"ttft_percentiles\":{\"p50\":0.0,\"average\":0.0,\"minimum\":0.0}},\"dataset\":{\"isl_"
        "stats\":{"
        "\"minimum\":90,\"maximum\":110},\"osl_stats\":{\"minimum\":50,\"maximum\":50}}}",
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_SERVING, 0);
    /* The mean of the inputs is a whole number, and they differ. */
    assert_cell(row, TC_SERVING_WORKLOAD_POINT, "out=50");
    assert_real(row, TC_SERVING_E2E_P90, 710);
    /* 0 stands for what was not streamed. */
    assert_unknown(row, TC_SERVING_TTFT_MEAN);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "4");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, "bfloat16");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    tc_result_destroy(r);
}

static void several_reports_have_a_row_each(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("0: " BAR, "0: = PERFORMANCE OVERVIEW", "0: Request Throughput (req/sec):  1.5",
              "0: Total Latency (ms):  10", "0: = PERFORMANCE OVERVIEW",
              "0: Request Throughput (req/sec):  2.5", "0: Request Throughput (req/sec):  9.5"),
        TOOL);
    assert_real(find_row(r, TC_TABLE_SERVING, 0), TC_SERVING_REQUESTS_PER_S, 1.5);
    assert_real(find_row(r, TC_TABLE_SERVING, 1), TC_SERVING_REQUESTS_PER_S, 2.5);
    assert_unknown(find_row(r, TC_TABLE_SERVING, 1), TC_SERVING_DURATION_S);
    assert_null(find_row(r, TC_TABLE_SERVING, 2));
    tc_result_destroy(r);
    refuse_text("= PERFORMANCE OVERVIEW\nTotal Latency (ms): 5\n", TOOL, "no request throughput");
    refuse_text("nothing\n", TOOL, "no line '= PERFORMANCE OVERVIEW'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_of_today),
        cmocka_unit_test(the_latency_report_of_before),
        cmocka_unit_test(the_file_of_report_json),
        cmocka_unit_test(several_reports_have_a_row_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
