/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SGLang's bench_serving: one object a run and line, appended to a file over many runs. The first
 * versions wrote milliseconds under names without a unit ("median_ttft"), which InferenceX uses for
 * seconds. request_rate may be the literal Infinity, which is no JSON. Failed requests are not
 * counted; a metric over nothing is written as 0.
 */
#include "codec/codec.h"
#include "result/map_serving.h"

#define NOTE_TPOT "per request: (end-to-end latency - TTFT) / (output tokens - 1)"
#define NOTE_ITL "per gap between two received chunks, over all requests"

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"median"},
              [TC_STAT_P90] = {"p90"},
              [TC_STAT_P95] = {"p95"},
              [TC_STAT_P99] = {"p99"},
              [TC_STAT_STD] = {"std"}},
    .flat = true,
};

static const struct tc_map_dist DISTS[] = {
    {"_ttft_ms", TC_SERVING_TTFT_MEAN, TC_MAP_NO_COLUMN, "ms", "ttft", NULL, NULL},
    {"_tpot_ms", TC_SERVING_TPOT_MEAN, TC_MAP_NO_COLUMN, "ms", "tpot", NOTE_TPOT, NULL},
    {"_itl_ms", TC_SERVING_ITL_MEAN, TC_SERVING_JITTER, "ms", "itl", NOTE_ITL, NULL},
    {"_e2e_latency_ms", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "ms", "e2e", NULL, NULL},
    /* 2024 */
    {"_ttft", TC_SERVING_TTFT_MEAN, TC_MAP_NO_COLUMN, "ms", "ttft", NULL, NULL},
    {"_itl", TC_SERVING_ITL_MEAN, TC_MAP_NO_COLUMN, "ms", "itl", NOTE_ITL, NULL},
    {"_e2e_latency", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "ms", "e2e", NULL, NULL},
};

static const struct tc_map_value VALUES[] = {
    {"completed", TC_SERVING_COMPLETED, "requests", "completed", NULL},
    {"duration", TC_SERVING_DURATION_S, "s", "duration", NULL},
    {"benchmark_duration", TC_SERVING_DURATION_S, "s", "duration", NULL},
    {"total_input_tokens", TC_SERVING_INPUT_TOKENS, "tokens", "input_tokens", NULL},
    {"total_input", TC_SERVING_INPUT_TOKENS, "tokens", "input_tokens", NULL},
    {"total_output_tokens", TC_SERVING_OUTPUT_TOKENS, "tokens", "output_tokens", NULL},
    {"total_output", TC_SERVING_OUTPUT_TOKENS, "tokens", "output_tokens", NULL},
    {"request_throughput", TC_SERVING_REQUESTS_PER_S, "requests/s", "request_throughput", NULL},
    {"input_throughput", TC_SERVING_INPUT_TOKENS_PER_S, "tokens/s", "input_throughput", NULL},
    {"output_throughput", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s", "output_throughput", NULL},
    {"output_token_throughput", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s", "output_throughput",
     NULL},
    {"total_throughput", TC_SERVING_TOTAL_TOKENS_PER_S, "tokens/s", "total_throughput", NULL},
};

static const struct tc_serving_extra EXTRAS[] = {
    {"concurrency", "requests", "mean_concurrency"},
    {"accept_length", "tokens", "accepted_length"},
    {"max_output_tokens_per_s", "tokens/s", "peak_output_throughput"},
    {"max_concurrent_requests", "requests", "peak_concurrency"},
    {"total_output_tokens_retokenized", "tokens", "output_tokens_retokenized"},
    {"total_output_retokenized", "tokens", "output_tokens_retokenized"},
    {"total_input_vision_tokens", "tokens", "input_vision_tokens"},
    {"output_throughput_retokenized", "tokens/s", "output_throughput_retokenized"},
    {"total_throughput_retokenized", "tokens/s", "total_throughput_retokenized"},
};

static int sniff(const struct tc_result_input *in)
{
    struct tc_json o = tc_result_first(in);
    bool latency = tc_serving_has(o, "median_e2e_latency_ms") ||
                   tc_serving_has(o, "mean_e2e_latency_ms") ||
                   tc_serving_has(o, "median_e2e_latency") || tc_serving_has(o, "mean_e2e_latency");
    if (!latency || !tc_serving_has(o, "completed")) {
        return TC_SNIFF_NO;
    }
    return tc_serving_has(o, "dataset_name") || tc_serving_has(o, "random_input_len")
               ? TC_SNIFF_SURE
               : TC_SNIFF_LIKELY;
}

/* The lengths that were asked for hold for the random datasets; with a range ratio below 1 they are
 * the longest. */
static struct tc_serving_point point_of(struct tc_json o, struct tc_buf *more)
{
    struct tc_serving_point p = {.dataset = tc_map_string_at(o, "dataset_name")};
    double value = 0;
    if (tc_slice_starts(p.dataset, TC_LIT("random")) || p.dataset.len == 0) {
        p.input_tokens = tc_map_number_at(o, "random_input_len", &value) ? value : 0;
        p.output_tokens = tc_map_number_at(o, "random_output_len", &value) ? value : 0;
        if (tc_map_number_at(o, "random_range_ratio", &value) && value != 1) {
            tc_map_point_number(more, "range", value);
        }
    } else if (tc_map_number_at(o, "sharegpt_output_len", &value)) {
        p.output_tokens = value;
    }
    p.more = tc_buf_slice(more);
    return p;
}

/* server_info is what the server says of itself: its arguments, since some version its version. */
static void tell_server(struct tc_result *r, struct tc_json o)
{
    struct tc_slice model = tc_map_string_at(o, "server_info/model_path");
    if (model.len == 0) {
        model = tc_map_string_at(o, "model_id");
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, model);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL, tc_map_string_at(o, "backend"));
    struct tc_slice version = tc_map_string_at(o, "server_info/version");
    if (version.len > 0) {
        tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER, TC_LIT("sglang"));
        tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER_VERSION, version);
    }
    struct tc_slice precision = tc_map_string_at(o, "server_info/quantization");
    if (precision.len == 0) {
        precision = tc_map_string_at(o, "server_info/dtype");
    }
    if (!tc_slice_eq(precision, TC_LIT("auto"))) {
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, precision);
    }
    char data[96];
    struct tc_buf deployment = tc_buf_make(data, sizeof data);
    static const char *const SIZES[] = {"tp_size", "dp_size", "ep_size", "pp_size"};
    struct tc_json info;
    if (tc_map_at(o, "server_info", &info)) {
        tc_serving_sizes(&deployment, info, SIZES, TC_COUNT(SIZES));
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, tc_buf_slice(&deployment));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
}

static tc_status read_run(struct tc_result *r, struct tc_json o, const char *where,
                          struct tc_serving_common *common, struct tc_error *err)
{
    char data[64];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    struct tc_serving_point p = point_of(o, &more);
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    struct tc_slice point = tc_serving_set_point(r, row, &p);
    tc_map_values(r, row, o, VALUES, TC_COUNT(VALUES));
    tc_map_dists(r, row, point, o, &STYLE, DISTS, TC_COUNT(DISTS));
    TC_TRY(tc_serving_completed(r, row, "completed", common, err));
    TC_TRY(tc_serving_details(r, row, o, err));
    tc_serving_load(r, row, o, "max_concurrency", "request_rate");
    tc_serving_common_add(common, &p);
    tell_server(r, o);
    tc_serving_rest(r, row, point, o, "_ms", "ms", EXTRAS, TC_COUNT(EXTRAS));
    for (size_t i = 0; i < 4; i++) {
        tc_serving_drop_zero(r, row, DISTS[i].column);
    }
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc_serving_read(in, r, read_run, err);
}

const struct tc_reader tc_reader_sglang = {
    .name = "sglang",
    .summary = "SGLang bench_serving: JSON lines, one a run",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .sniff = sniff,
    .read = read_file,
};
