/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM's `bench serve` and the benchmark_serving.py before it: one object per run, several one per
 * line with --append-result. Latencies are milliseconds, throughputs per second; `date` is the
 * local time of writing, at the end of the run. A metric over nothing is written as 0.
 */
#include "codec/codec.h"
#include "result/map_serving.h"

static const struct tc_map_dist DISTS[] = {
    TC_DIST("_ttft_ms", TTFT, "ms", NULL, NULL),
    TC_DIST("_tpot_ms", TPOT, "ms", TC_NOTE_TPOT, NULL),
    TC_DIST_ITL("_itl_ms", "ms", TC_NOTE_ITL),
    TC_DIST("_e2el_ms", E2E, "ms", NULL, NULL),
    TC_DIST("_latency_ms", E2E, "ms", NULL, NULL), /* forks of 2024 */
};

#define NOTE_GOODPUT "completed requests that met every objective given with --goodput"

static const struct tc_fact FACTS[] = {
    TC_VALUE("num_prompts", REQUESTS),
    TC_VALUE("completed", COMPLETED),
    TC_VALUE("failed", ERRORS),
    TC_VALUE("duration", DURATION_S),
    TC_VALUE("total_input_tokens", INPUT_TOKENS),
    TC_VALUE("total_output_tokens", OUTPUT_TOKENS),
    TC_VALUE("request_throughput", REQUESTS_PER_S),
    TC_VALUE("output_throughput", OUTPUT_TOKENS_PER_S),
    TC_VALUE("input_throughput", INPUT_TOKENS_PER_S),
    TC_VALUE("total_token_throughput", TOTAL_TOKENS_PER_S),
    TC_VALUE_NOTED("request_goodput", GOODPUT, NOTE_GOODPUT),
    TC_VALUE_NOTED("request_goodput:", GOODPUT, NOTE_GOODPUT), /* before 0.6.4 or so */
    TC_VALUE_NOTED("mean_client_queue_time_ms", QUEUE_MEAN, "in the client"),
    TC_VALUE_NOTED("median_client_queue_time_ms", QUEUE_P50, "in the client"),
    TC_VALUE_NOTED("p99_client_queue_time_ms", QUEUE_P99, "in the client"),
    TC_SINGLE("max_output_tokens_per_s", "tokens/s", "peak_output_throughput"),
    TC_SINGLE("max_concurrent_requests", "requests", "peak_concurrency"),
    TC_SINGLE("rtfx", "ratio", "audio_seconds_per_second"),
    TC_SINGLE("input_sequence_throughput", "sequences/s", "input_sequence_throughput"),
    TC_SINGLE("spec_decode_acceptance_rate", "%", "draft_acceptance"),
    TC_SINGLE("spec_decode_acceptance_length", "tokens", "accepted_length"),
    TC_SINGLE("spec_decode_num_drafts", "count", "drafts"),
    TC_SINGLE("spec_decode_draft_tokens", "tokens", "draft_tokens"),
    TC_SINGLE("spec_decode_accepted_tokens", "tokens", "accepted_tokens"),
    TC_SINGLE("diffusion_committed_throughput", "tokens/s", "committed_throughput"),
    TC_SINGLE("good_completed", "requests", "good_requests"),
    TC_SINGLE("probe_median_e2el_ms", "ms", "probe_e2e"),
    TC_SINGLE("probe_p99_e2el_ms", "ms", "probe_e2e"),
    TC_SINGLE("probe_max_e2el_ms", "ms", "probe_e2e"),
    /* What --metadata may have told: its values are strings. */
    TC_FACT("tp,pp,dp,ep", WORKLOAD, DEPLOYMENT),
    TC_FACT("model_id", WORKLOAD, MODEL),
    TC_FACT("backend|endpoint_type", WORKLOAD, PROTOCOL),
    TC_FACT("version", SOFTWARE, SERVER_VERSION),
    TC_FACT("=succeeded", RUN, STATUS),
    TC_FACTS_END,
};

#define LATENCY "mean_ttft_ms?|median_ttft_ms?|p99_ttft_ms?|mean_e2el_ms?|median_e2el_ms?"
#define COUNTED "completed?, duration?, request_throughput?, " LATENCY

static tc_status read_run(struct tc_result *r, struct tc_json o, const char *where,
                          struct tc_serving_common *common, struct tc_error *err)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    char data[160];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    /* With --ramp-up-strategy the rate goes from one to the other, and request_rate ("inf") says
     * nothing. */
    bool ramps = tc_map_string_at(o, "ramp_up_strategy").len > 0;
    if (ramps) {
        tc_map_point(&more, o, "ramp_up_strategy,ramp_up_start_rps,ramp_up_end_rps");
    }
    if (common->several) {
        /* A sweep's summary.json is a list of runs, several of them of one setting. */
        tc_map_point(&more, o, "run_number");
    }
    struct tc_serving_point p = {
        .input_tokens = tc_serving_each(o, "total_input_tokens", "completed"),
        .output_tokens = tc_serving_each(o, "total_output_tokens", "completed"),
        .dataset = tc_map_string_at(o, "dataset_name"),
        .more = tc_buf_slice(&more),
    };
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_map_values(row, o, FACTS);
    tc_map_dists(row, point, o, &tc_style_vllm, DISTS, TC_COUNT(DISTS));
    if (tc_map_has(o, "completed?")) {
        TC_TRY(tc_serving_completed(row, "completed", err));
    }
    TC_TRY(tc_serving_details(row, o, err));
    tc_serving_load(row, o,
                    tc_map_has(o, "multi_turn_concurrency?") ? "multi_turn_concurrency"
                                                             : "max_concurrency",
                    ramps ? "ramp_up_strategy" : "request_rate");
    tc_serving_common_add(common, &p);
    tc_map_facts(r, o, FACTS);
    tc_serving_date(row, o);
    tc_serving_rest(row, point, o, "_ms", "ms", FACTS);
    tc_serving_drop_zeros(row, DISTS, TC_COUNT(DISTS));
    return TC_OK;
}

const struct tc_reader tc_reader_vllm = {
    .name = "vllm",
    .summary = "vLLM bench serve (benchmark_serving.py): JSON, or JSON lines with --append-result",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .keys =
        {
            {COUNTED ", model_id?", TC_SNIFF_SURE, TC_OF_FIRST},
            {COUNTED, TC_SNIFF_LIKELY, TC_OF_FIRST},
            /* Some keep the latencies only. */
            {"!completed?, model_id?, num_prompts?, request_rate?, " LATENCY, TC_SNIFF_LIKELY,
             TC_OF_FIRST},
        },
    .read_run = read_run,
};
