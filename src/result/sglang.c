/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SGLang's bench_serving: one object per run and line, appended to a file over many runs. The first
 * versions wrote milliseconds under names without a unit ("median_ttft"), which InferenceX uses for
 * seconds. request_rate may be the literal Infinity, which is no JSON. Failed requests are not
 * counted; a metric over nothing is written as 0.
 */
#include "codec/codec.h"
#include "result/map_serving.h"

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"median"},
              TC_STYLE_P90_P99,
              [TC_STAT_STD] = {"std"}},
    .flat = true,
};

static const struct tc_map_dist DISTS[] = {
    TC_DIST("_ttft_ms", TTFT, "ms", NULL, NULL),
    TC_DIST("_tpot_ms", TPOT, "ms", TC_NOTE_TPOT, NULL),
    TC_DIST_ITL("_itl_ms", "ms", TC_NOTE_ITL),
    TC_DIST("_e2e_latency_ms", E2E, "ms", NULL, NULL),
    /* 2024 */
    TC_DIST("_ttft", TTFT, "ms", NULL, NULL),
    TC_DIST("_itl", ITL, "ms", TC_NOTE_ITL, NULL),
    TC_DIST("_e2e_latency", E2E, "ms", NULL, NULL),
};

static const struct tc_fact FACTS[] = {
    TC_VALUE("completed", COMPLETED),
    TC_VALUE("duration", DURATION_S),
    TC_VALUE("benchmark_duration", DURATION_S),
    TC_VALUE("total_input_tokens", INPUT_TOKENS),
    TC_VALUE("total_input", INPUT_TOKENS),
    TC_VALUE("total_output_tokens", OUTPUT_TOKENS),
    TC_VALUE("total_output", OUTPUT_TOKENS),
    TC_VALUE("request_throughput", REQUESTS_PER_S),
    TC_VALUE("input_throughput", INPUT_TOKENS_PER_S),
    TC_VALUE("output_throughput", OUTPUT_TOKENS_PER_S),
    TC_VALUE("output_token_throughput", OUTPUT_TOKENS_PER_S),
    TC_VALUE("total_throughput", TOTAL_TOKENS_PER_S),
    TC_SINGLE("concurrency", "requests", "mean_concurrency"),
    TC_SINGLE("accept_length", "tokens", "accepted_length"),
    TC_SINGLE("max_output_tokens_per_s", "tokens/s", "peak_output_throughput"),
    TC_SINGLE("max_concurrent_requests", "requests", "peak_concurrency"),
    TC_SINGLE("total_output_tokens_retokenized", "tokens", "output_tokens_retokenized"),
    TC_SINGLE("total_output_retokenized", "tokens", "output_tokens_retokenized"),
    TC_SINGLE("total_input_vision_tokens", "tokens", "input_vision_tokens"),
    TC_SINGLE("output_throughput_retokenized", "tokens/s", "output_throughput_retokenized"),
    TC_SINGLE("total_throughput_retokenized", "tokens/s", "total_throughput_retokenized"),
    /* server_info is what the server says of itself: its arguments, since some version its
     * version. */
    TC_FACT("server_info/model_path|model_id", WORKLOAD, MODEL),
    TC_FACT("backend", WORKLOAD, PROTOCOL),
    TC_FACT("server_info/version", SOFTWARE, SERVER_VERSION),
    TC_FACTS_END,
};
static const struct tc_fact DEPLOYMENT[] = {
    TC_FACT("server_info/tp_size,server_info/dp_size,server_info/ep_size,server_info/pp_size",
            WORKLOAD, DEPLOYMENT),
    TC_FACT("=succeeded", RUN, STATUS),
    TC_FACTS_END,
};

#define LATENCY    \
    "completed?, " \
    "median_e2e_latency_ms?|mean_e2e_latency_ms?|median_e2e_latency?|mean_e2e_latency?"

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

static void tell_server(struct tc_result *r, struct tc_json o)
{
    struct tc_slice precision = tc_map_string_at(o, "server_info/quantization|server_info/dtype");
    tc_map_facts(r, o, FACTS);
    if (tc_map_string_at(o, "server_info/version").len > 0) {
        tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER, TC_LIT("sglang"));
    }
    if (!tc_slice_eq(precision, TC_LIT("auto"))) {
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, precision);
    }
    tc_map_facts(r, o, DEPLOYMENT);
}

static tc_status read_run(struct tc_result *r, struct tc_json o, const char *where,
                          struct tc_serving_common *common, struct tc_error *err)
{
    char data[64];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    struct tc_serving_point p = point_of(o, &more);
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_map_values(row, o, FACTS);
    tc_map_dists(row, point, o, &STYLE, DISTS, TC_COUNT(DISTS));
    TC_TRY(tc_serving_completed(row, "completed", err));
    TC_TRY(tc_serving_details(row, o, err));
    tc_serving_load(row, o, "max_concurrency", "request_rate");
    tc_serving_common_add(common, &p);
    tell_server(r, o);
    tc_serving_rest(row, point, o, "_ms", "ms", FACTS);
    tc_serving_drop_zeros(row, DISTS, 4);
    return TC_OK;
}

const struct tc_reader tc_reader_sglang = {
    .name = "sglang",
    .summary = "SGLang bench_serving: JSON lines, one per run",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .keys =
        {
            {LATENCY ", dataset_name?|random_input_len?", TC_SNIFF_SURE, TC_OF_FIRST},
            {LATENCY, TC_SNIFF_LIKELY, TC_OF_FIRST},
        },
    .read_run = read_run,
};
