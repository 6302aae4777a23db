/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trtllm-bench (TensorRT-LLM): the throughput and latency reports, as printed or as the file of
 * --report_json. Its TPOT (before 0.17 "inter-token latency") is per request (last - first token) /
 * (tokens - 1). Percentiles are the value at rank count * p, without interpolation. It does not
 * count failures: a request that fails ends the benchmark.
 */
#include "codec/codec.h"
#include "result/trtllm/priv.h"

#include <math.h>

#define NOTE_RANK "the value at rank count * p, not interpolated"
#define NOTE_TPOT "per request: (last token - first token) / (output tokens - 1)"

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"average"},
              [TC_STAT_P50] = {"p50"},
              TC_STYLE_P90_P99,
              [TC_STAT_MIN] = {"minimum"},
              [TC_STAT_MAX] = {"maximum"}},
};

static const struct tc_map_dist DISTS[] = {
    TC_DIST("streaming_metrics/ttft_percentiles", TTFT, "ms", NOTE_RANK, "ttft"),
    TC_DIST("streaming_metrics/tpot_percentiles", TPOT, "ms", NOTE_TPOT "; " NOTE_RANK, "tpot"),
    TC_DIST("performance/request_latency_percentiles_ms", E2E, "ms", NOTE_RANK, "request_latency"),
    TC_DIST_SLICE("streaming_metrics/gen_tps_percentiles", "tokens/s/user", "generation_rate",
                  "per request: (output tokens - 1) / (last token - first token); " NOTE_RANK,
                  "gen_tps"),
    TC_DIST_SLICE("performance/generation_latency_ms", "ms", "generation_time",
                  "per request: last token - first token; " NOTE_RANK, "generation_latency"),
};

static const struct tc_fact FACTS[] = {
    TC_VALUE_NOTED("request_info/num_requests", COMPLETED,
                   "all requests: the tool counts no failures"),
    TC_VALUE_IN("performance/total_latency_ms", DURATION_S, "ms"),
    TC_VALUE("performance/request_throughput_req_s", REQUESTS_PER_S),
    TC_VALUE("performance/system_output_throughput_tok_s", OUTPUT_TOKENS_PER_S),
    TC_VALUE("performance/system_total_throughput_tok_s", TOTAL_TOKENS_PER_S),
    TC_VALUE_NOTED("performance/avg_request_latency_ms", E2E_MEAN, NULL),
    TC_VALUE_NOTED("streaming_metrics/avg_ttft_ms", TTFT_MEAN, NULL),
    TC_VALUE_NOTED("streaming_metrics/avg_tpot_ms", TPOT_MEAN, NOTE_TPOT),
    TC_SINGLE_NAMED("performance/output_throughput_per_user_tok_s",
                    "output_throughput_per_user_tok_s", "tokens/s/user",
                    "output_throughput_per_user"),
    TC_SINGLE_NAMED("performance/output_throughput_per_gpu_tok_s",
                    "output_throughput_per_gpu_tok_s", "tokens/s/GPU", "output_throughput_per_gpu"),
    TC_SINGLE_NAMED("streaming_metrics/token_output_speed_tok_s", "token_output_speed_tok_s",
                    "tokens/s/user", "generation_rate"),
    TC_SINGLE_NAMED("request_info/avg_num_concurrent_requests", "avg_num_concurrent_requests",
                    "requests", "reached_concurrency"),
    TC_FACT("engine/model", WORKLOAD, MODEL),
    TC_FACT("engine/quantization|engine/dtype", WORKLOAD, PRECISION),
    TC_FACT("world_info/tp_size,world_info/pp_size,world_info/ep_size", WORKLOAD, DEPLOYMENT),
    TC_FACT("world_info/world_size", HARDWARE, GPU_COUNT),
    TC_FACT("machine/name", HARDWARE, GPU_MODEL),
    TC_FACT("=TensorRT-LLM", SOFTWARE, SERVER),
    TC_FACT("engine/version", SOFTWARE, SERVER_VERSION),
    TC_FACT("=inference", RUN, WORKLOAD_TYPE),
    TC_FACT("=succeeded", RUN, STATUS),
    TC_FACTS_END,
};

/* A length that all requests had: as the dataset says, or a mean that is a whole number. */
static double length_of(struct tc_json report, const char *low, const char *high, const char *mean)
{
    double min = 0;
    double max = 0;
    double value = 0;
    if (tc_map_number_at(report, low, &min) && tc_map_number_at(report, high, &max)) {
        return min == max ? min : 0;
    }
    return tc_map_number_at(report, mean, &value) && value == floor(value) ? value : 0;
}

static tc_status read_report(struct tc_result *r, struct tc_json report, const char *where,
                             bool several, struct tc_error *err)
{
    char data[96];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    struct tc_serving_point point = {
        .input_tokens = length_of(report, "dataset/isl_stats/minimum", "dataset/isl_stats/maximum",
                                  "request_info/avg_input_length"),
        .output_tokens = length_of(report, "dataset/osl_stats/minimum", "dataset/osl_stats/maximum",
                                   "request_info/avg_output_length"),
    };
    if (several) {
        tc_map_point(&more, report, "world_info/tp_size,world_info/pp_size,world_info/ep_size");
    }
    point.more = tc_buf_slice(&more);
    struct tc_slice text = tc_serving_set_point(row, &point);
    /* The distributions first: an average stands in both places, rounded alike. */
    tc_map_dists(row, text, report, &STYLE, DISTS, TC_COUNT(DISTS));
    tc_map_values(row, report, FACTS);
    if (row != NULL && !tc_result_known(row, TC_SERVING_REQUESTS_PER_S)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: no request throughput in the report",
                       where[0] == '\0' ? "/performance" : where);
    }
    tc_map_facts(r, report, FACTS);
    tc_map_singles(r, text, report, FACTS, NULL);
    struct tc_serving_common common = {.several = several};
    tc_serving_common_add(&common, &point);
    tc_serving_common_tell(r, &common);
    tc_result_tool_version(r, tc_map_string_at(report, "engine/version"));
    /* Without streaming nothing is known of single tokens, and 0 is written. */
    tc_serving_drop_zeros(row, DISTS, 3);
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    return tc__trtllm_is_text(in->bytes) ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return in->form == TC_RESULT_TEXT ? tc__trtllm_read_text(in, r, read_report, err)
                                      : read_report(r, in->root, "", false, err);
}

const struct tc_reader tc_reader_trtllm_bench = {
    .name = "trtllm-bench",
    .summary = "trtllm-bench: the printed report of throughput or latency, or its --report_json",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON,
    .keys =
        {
            {"engine{}, performance{}, "
             "performance/request_throughput_req_s?|performance/avg_request_latency_ms?",
             TC_SNIFF_SURE, TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_file,
};
