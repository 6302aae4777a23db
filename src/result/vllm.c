/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM's `bench serve` and the benchmark_serving.py before it: one object a run, several one a
 * line with --append-result. Latencies are milliseconds, throughputs per second; `date` is the
 * local time of writing, at the end of the run. A metric over nothing is written as 0.
 */
#include "codec/codec.h"
#include "result/map_serving.h"

#define NOTE_TPOT "per request: (end-to-end latency - TTFT) / (output tokens - 1)"
#define NOTE_ITL "per gap between two received chunks, over all requests"

/* "p50" and "median" are the same number where both are there. */
static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"median", "p50"},
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
    {"_e2el_ms", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "ms", "e2e", NULL, NULL},
    /* Forks of 2024 */
    {"_latency_ms", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "ms", "e2e", NULL, NULL},
};

static const struct tc_map_value VALUES[] = {
    {"num_prompts", TC_SERVING_REQUESTS, "requests", "requests", NULL},
    {"completed", TC_SERVING_COMPLETED, "requests", "completed", NULL},
    {"failed", TC_SERVING_ERRORS, "requests", "errors", NULL},
    {"duration", TC_SERVING_DURATION_S, "s", "duration", NULL},
    {"total_input_tokens", TC_SERVING_INPUT_TOKENS, "tokens", "input_tokens", NULL},
    {"total_output_tokens", TC_SERVING_OUTPUT_TOKENS, "tokens", "output_tokens", NULL},
    {"request_throughput", TC_SERVING_REQUESTS_PER_S, "requests/s", "request_throughput", NULL},
    {"output_throughput", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s", "output_throughput", NULL},
    {"input_throughput", TC_SERVING_INPUT_TOKENS_PER_S, "tokens/s", "input_throughput", NULL},
    {"total_token_throughput", TC_SERVING_TOTAL_TOKENS_PER_S, "tokens/s", "total_throughput", NULL},
    {"request_goodput", TC_SERVING_GOODPUT, "requests/s", "goodput",
     "completed requests that met every objective given with --goodput"},
    /* Before 0.6.4 or so it had a colon. */
    {"request_goodput:", TC_SERVING_GOODPUT, "requests/s", "goodput",
     "completed requests that met every objective given with --goodput"},
    {"mean_client_queue_time_ms", TC_SERVING_QUEUE_MEAN, "ms", "queue", "in the client"},
    {"median_client_queue_time_ms", TC_SERVING_QUEUE_P50, "ms", "queue", "in the client"},
    {"p99_client_queue_time_ms", TC_SERVING_QUEUE_P99, "ms", "queue", "in the client"},
};

static const struct tc_serving_extra EXTRAS[] = {
    {"max_output_tokens_per_s", "tokens/s", "peak_output_throughput"},
    {"max_concurrent_requests", "requests", "peak_concurrency"},
    {"rtfx", "ratio", "audio_seconds_per_second"},
    {"input_sequence_throughput", "sequences/s", "input_sequence_throughput"},
    {"spec_decode_acceptance_rate", "%", "draft_acceptance"},
    {"spec_decode_acceptance_length", "tokens", "accepted_length"},
    {"spec_decode_num_drafts", "count", "drafts"},
    {"spec_decode_draft_tokens", "tokens", "draft_tokens"},
    {"spec_decode_accepted_tokens", "tokens", "accepted_tokens"},
    {"diffusion_committed_throughput", "tokens/s", "committed_throughput"},
    {"good_completed", "requests", "good_requests"},
    {"probe_median_e2el_ms", "ms", "probe_e2e"},
    {"probe_p99_e2el_ms", "ms", "probe_e2e"},
    {"probe_max_e2el_ms", "ms", "probe_e2e"},
};

static int sniff(const struct tc_result_input *in)
{
    struct tc_json o = tc_result_first(in);
    bool counted = tc_serving_has(o, "completed") && tc_serving_has(o, "duration") &&
                   tc_serving_has(o, "request_throughput");
    /* Some keep the latencies only. */
    bool cut = !tc_serving_has(o, "completed") && tc_serving_has(o, "model_id") &&
               tc_serving_has(o, "num_prompts") && tc_serving_has(o, "request_rate");
    if (!counted && !cut) {
        return TC_SNIFF_NO;
    }
    bool latency = tc_serving_has(o, "mean_ttft_ms") || tc_serving_has(o, "median_ttft_ms") ||
                   tc_serving_has(o, "p99_ttft_ms") || tc_serving_has(o, "mean_e2el_ms") ||
                   tc_serving_has(o, "median_e2el_ms");
    if (!latency) {
        return TC_SNIFF_NO;
    }
    return counted && tc_serving_has(o, "model_id") ? TC_SNIFF_SURE : TC_SNIFF_LIKELY;
}

/* What --metadata may have told: its values are strings. */
static void tell_metadata(struct tc_result *r, struct tc_json o)
{
    char data[128];
    struct tc_buf deployment = tc_buf_make(data, sizeof data);
    static const char *const SIZES[] = {"tp", "pp", "dp", "ep"};
    tc_serving_sizes(&deployment, o, SIZES, TC_COUNT(SIZES));
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, tc_buf_slice(&deployment));
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, tc_map_string_at(o, "model_id"));
    struct tc_slice backend = tc_map_string_at(o, "backend");
    if (backend.len == 0) {
        backend = tc_map_string_at(o, "endpoint_type");
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL, backend);
    tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER_VERSION,
                        tc_map_string_at(o, "version"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
}

/* With --ramp-up-strategy the rate goes from one to the other, and request_rate ("inf") says
 * nothing. */
static bool tell_ramp(struct tc_json o, struct tc_buf *more)
{
    static const char *const RAMP[] = {"ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps"};
    if (tc_map_string_at(o, RAMP[0]).len == 0) {
        return false;
    }
    tc_serving_sizes(more, o, RAMP, TC_COUNT(RAMP));
    return true;
}

static tc_status read_run(struct tc_result *r, struct tc_json o, const char *where,
                          struct tc_serving_common *common, struct tc_error *err)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    /* A sweep's summary.json is a list of runs, several of them of one setting. */
    static const char *const REPEATS[] = {"run_number"};
    char data[160];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    bool ramps = tell_ramp(o, &more);
    if (common->several) {
        tc_serving_sizes(&more, o, REPEATS, 1);
    }
    struct tc_serving_point p = {
        .input_tokens = tc_serving_each(o, "total_input_tokens", "completed"),
        .output_tokens = tc_serving_each(o, "total_output_tokens", "completed"),
        .dataset = tc_map_string_at(o, "dataset_name"),
        .more = tc_buf_slice(&more),
    };
    struct tc_slice point = tc_serving_set_point(r, row, &p);
    tc_map_values(r, row, o, VALUES, TC_COUNT(VALUES));
    tc_map_dists(r, row, point, o, &STYLE, DISTS, TC_COUNT(DISTS));
    if (tc_serving_has(o, "completed")) {
        TC_TRY(tc_serving_completed(r, row, "completed", common, err));
    } else {
        common->any_completed = true;
    }
    TC_TRY(tc_serving_details(r, row, o, err));
    const char *concurrency =
        tc_serving_has(o, "multi_turn_concurrency") ? "multi_turn_concurrency" : "max_concurrency";
    tc_serving_load(r, row, o, concurrency, ramps ? "ramp_up_strategy" : "request_rate");
    tc_serving_common_add(common, &p);
    tell_metadata(r, o);
    tc_serving_date(r, row, o);
    tc_serving_rest(r, row, point, o, "_ms", "ms", EXTRAS, TC_COUNT(EXTRAS));
    for (size_t i = 0; i < TC_COUNT(DISTS); i++) {
        tc_serving_drop_zero(r, row, DISTS[i].column);
    }
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc_serving_read(in, r, read_run, err);
}

const struct tc_reader tc_reader_vllm = {
    .name = "vllm",
    .summary = "vLLM bench serve (benchmark_serving.py): JSON, or JSON lines with --append-result",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .sniff = sniff,
    .read = read_file,
};
