/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InferenceX (InferenceMAX): vLLM's benchmark_serving with milliseconds turned into seconds and the
 * suffix dropped. Two shapes: a run's own file, and the aggregate ("agg_*.json", or a list of them)
 * with hardware, deployment and throughput per GPU instead of counts. *_intvty is 1 / TPOT, so its
 * p99 is below its median: kept as single numbers. The agentic aggregates ("scenario_type") come
 * from AIPerf, and what they call itl is AIPerf's inter_token_latency: a TPOT; the later ones of
 * them have their statistics in objects (result_inferencex_agentic.c).
 */
#include "codec/codec.h"
#include "result/inferencex/priv.h"

#define NOTE_TPOT "per request: (end-to-end latency - TTFT) / (output tokens - 1)"
#define NOTE_ITL "per gap between two received chunks, over all requests"

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
    {"_ttft", TC_SERVING_TTFT_MEAN, TC_MAP_NO_COLUMN, "s", "ttft", NULL, NULL},
    {"_tpot", TC_SERVING_TPOT_MEAN, TC_MAP_NO_COLUMN, "s", "tpot", NOTE_TPOT, NULL},
    {"_itl", TC_SERVING_ITL_MEAN, TC_SERVING_JITTER, "s", "itl", NOTE_ITL, NULL},
    {"_e2el", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "s", "e2e", NULL, NULL},
};

/* Of agentic aggregates; "ttlt" is the time to the last token. */
static const struct tc_map_dist AGENTIC[] = {
    {"_ttft", TC_SERVING_TTFT_MEAN, TC_MAP_NO_COLUMN, "s", "ttft", NULL, NULL},
    {"_tpot", TC_SERVING_TPOT_MEAN, TC_MAP_NO_COLUMN, "s", "tpot", NOTE_TPOT, NULL},
    {"_itl", TC_SERVING_TPOT_MEAN, TC_MAP_NO_COLUMN, "s", "tpot", NOTE_TPOT, NULL},
    {"_e2el", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "s", "e2e", NULL, NULL},
    {"_ttlt", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN, "s", "e2e", NULL, NULL},
};

/* Statistics that have no column of their own. */
static const struct {
    const char *suffix;
    const char *unit;
} RESTS[] = {
    {"_ttft", "s"},
    {"_tpot", "s"},
    {"_itl", "s"},
    {"_e2el", "s"},
    {"_ttlt", "s"},
    {"_intvty", "tokens/s/user"},
    {"_qps", "requests/s"},
    {"_input_tokens", "tokens"},
    {"_output_tokens_actual", "tokens"},
    {"_output_tokens_expected", "tokens"},
};

static const struct tc_map_value VALUES[] = {
    {"num_prompts", TC_SERVING_REQUESTS, "requests", "requests", NULL},
    {"num_requests_total", TC_SERVING_REQUESTS, "requests", "requests", NULL},
    {"completed", TC_SERVING_COMPLETED, "requests", "completed", NULL},
    {"num_requests_successful", TC_SERVING_COMPLETED, "requests", "completed", NULL},
    {"failed", TC_SERVING_ERRORS, "requests", "errors", NULL},
    {"duration", TC_SERVING_DURATION_S, "s", "duration", NULL},
    {"duration_seconds", TC_SERVING_DURATION_S, "s", "duration", NULL},
    {"total_input_tokens", TC_SERVING_INPUT_TOKENS, "tokens", "input_tokens", NULL},
    {"total_output_tokens", TC_SERVING_OUTPUT_TOKENS, "tokens", "output_tokens", NULL},
    {"request_throughput", TC_SERVING_REQUESTS_PER_S, "requests/s", "request_throughput", NULL},
    {"output_throughput", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s", "output_throughput", NULL},
    {"output_tput_tps", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s", "output_throughput", NULL},
    {"input_throughput", TC_SERVING_INPUT_TOKENS_PER_S, "tokens/s", "input_throughput", NULL},
    {"input_tput_tps", TC_SERVING_INPUT_TOKENS_PER_S, "tokens/s", "input_throughput", NULL},
    {"total_token_throughput", TC_SERVING_TOTAL_TOKENS_PER_S, "tokens/s", "total_throughput", NULL},
    {"total_tput_tps", TC_SERVING_TOTAL_TOKENS_PER_S, "tokens/s", "total_throughput", NULL},
    {"request_goodput", TC_SERVING_GOODPUT, "requests/s", "goodput", NULL},
};

static const struct tc_serving_extra EXTRAS[] = {
    {"tput_per_gpu", "tokens/s/GPU", "total_throughput_per_gpu"},
    {"output_tput_per_gpu", "tokens/s/GPU", "output_throughput_per_gpu"},
    {"input_tput_per_gpu", "tokens/s/GPU", "input_throughput_per_gpu"},
    {"good_completed", "requests", "good_requests"},
    {"max_output_tokens_per_s", "tokens/s", "peak_output_throughput"},
    {"max_concurrent_requests", "requests", "peak_concurrency"},
    {"total_prompt_tokens", "tokens", "server_prompt_tokens"},
    {"total_generation_tokens", "tokens", "server_generation_tokens"},
    {"theoretical_cache_hit_rate", "ratio", "cache_hit_rate"},
    {"theoretical_infinite_cache_hit_rate", "ratio", "cache_hit_rate"},
    {"server_gpu_cache_hit_rate", "ratio", "cache_hit_rate"},
    {"server_cpu_cache_hit_rate", "ratio", "cache_hit_rate"},
    {"response_cache_hit_rate", "ratio", "cache_hit_rate"},
    {"kv_cache_pool_tokens", "tokens", "kv_cache_size"},
    {"avg_power_w", "W", "gpu_power"},
    {"p75_power_w", "W", "gpu_power"},
    {"p90_power_w", "W", "gpu_power"},
    {"avg_total_gpu_power_w", "W", "total_gpu_power"},
    {"p75_total_gpu_power_w", "W", "total_gpu_power"},
    {"p90_total_gpu_power_w", "W", "total_gpu_power"},
    {"total_gpu_energy_j", "J", "total_gpu_energy"},
    {"joules_per_successful_query", "J/request", "energy_per_request"},
    {"joules_per_input_token", "J/token", "energy_per_input_token"},
    {"joules_per_output_token", "J/token", "energy_per_output_token"},
    {"joules_per_total_token", "J/token", "energy_per_token"},
};

static bool is_aggregate(struct tc_json o)
{
    return tc_serving_has(o, "tput_per_gpu") || tc_serving_has(o, "output_tput_per_gpu");
}

static int sniff(const struct tc_result_input *in)
{
    struct tc_json o = tc_result_first(in);
    bool latency = tc_serving_has(o, "median_ttft") || tc_serving_has(o, "mean_ttft") ||
                   tc_serving_has(o, "median_tpot") || tc_serving_has(o, "mean_tpot") ||
                   tc_serving_has(o, "median_e2el") || tc_serving_has(o, "mean_e2el");
    /* SGLang's first files have such names in milliseconds. */
    if (tc_serving_has(o, "median_e2e_latency") || tc_serving_has(o, "mean_e2e_latency")) {
        return TC_SNIFF_NO;
    }
    if (tc_serving_has(o, "hw") && (is_aggregate(o) || tc__inferencex_is_nested(o))) {
        return TC_SNIFF_SURE;
    }
    return latency && tc_serving_has(o, "model_id") && tc_serving_has(o, "completed")
               ? TC_SNIFF_SURE
               : TC_SNIFF_NO;
}

/* tp=8 ep=1, or prefill_tp=4 ... decode_tp=8 of a disaggregated deployment. */
static const char *const SIZES[] = {
    "tp",
    "pp",
    "ep",
    "dp_attention",
    "prefill_tp",
    "prefill_ep",
    "prefill_dp_attention",
    "prefill_num_workers",
    "decode_tp",
    "decode_ep",
    "decode_dp_attention",
    "decode_num_workers",
    "spec_decoding",
};
/* And what else tells the rows of an aggregate apart. */
static const char *const SETTINGS[] = {"hw", "framework", "precision"};

static void tell_facts(struct tc_result *r, struct tc_json o)
{
    struct tc_slice model = tc_map_string_at(o, "model");
    if (model.len == 0) {
        model = tc_map_string_at(o, "model_id");
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, model);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION,
                        tc_map_string_at(o, "precision"));
    tc_result_fact_text(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, tc_map_string_at(o, "hw"));
    int64_t prefill = 0;
    int64_t decode = 0;
    int64_t gpus = 0;
    if (tc_map_int_at(o, "num_gpus", &gpus) && gpus > 0 && gpus < INT32_MAX) {
        tc_result_fact_int(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, gpus);
    } else if (tc_map_int_at(o, "num_prefill_gpu", &prefill) &&
               tc_map_int_at(o, "num_decode_gpu", &decode) && prefill >= 0 && decode >= 0 &&
               prefill < INT32_MAX && decode < INT32_MAX) {
        tc_result_fact_int(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, prefill + decode);
    }
    tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER, tc_map_string_at(o, "framework"));
    tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE, tc_map_string_at(o, "image"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
    char data[256];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_serving_sizes(&b, o, SIZES, TC_COUNT(SIZES));
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, tc_buf_slice(&b));
}

static struct tc_serving_point point_of(struct tc_json o, bool several, struct tc_buf *more)
{
    struct tc_serving_point p = {.dataset = tc_map_string_at(o, "dataset_name")};
    double value = 0;
    if (p.dataset.len == 0) {
        p.dataset = tc_map_string_at(o, "dataset/loader");
    }
    if (p.dataset.len == 0) {
        p.dataset = tc_map_string_at(o, "scenario_type");
    }
    p.input_tokens = tc_map_number_at(o, "isl", &value)
                         ? value
                         : tc_serving_each(o, "total_input_tokens", "completed");
    p.output_tokens = tc_map_number_at(o, "osl", &value)
                          ? value
                          : tc_serving_each(o, "total_output_tokens", "completed");
    if (several) {
        tc_serving_sizes(more, o, SETTINGS, TC_COUNT(SETTINGS));
        tc_serving_sizes(more, o, SIZES, TC_COUNT(SIZES));
    }
    p.more = tc_buf_slice(more);
    return p;
}

static tc_status read_run(struct tc_result *r, struct tc_json o, const char *where,
                          struct tc_serving_common *common, struct tc_error *err)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    char data[256];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    struct tc_serving_point p = point_of(o, common->several, &more);
    struct tc_slice point = tc_serving_set_point(r, row, &p);
    tc_map_values(r, row, o, VALUES, TC_COUNT(VALUES));
    bool agentic = tc_serving_has(o, "scenario_type");
    const struct tc_map_dist *dists = agentic ? AGENTIC : DISTS;
    size_t dist_count = agentic ? TC_COUNT(AGENTIC) : TC_COUNT(DISTS);
    tc_map_dists(r, row, point, o, &STYLE, dists, dist_count);
    if (tc__inferencex_is_nested(o)) {
        tc__inferencex_nested(r, row, point, o);
        TC_TRY(tc_serving_completed(r, row, "num_requests_successful", common, err));
    } else if (!is_aggregate(o)) {
        TC_TRY(tc_serving_completed(r, row, "completed", common, err));
    }
    const char *concurrency = tc_serving_has(o, "conc")    ? "conc"
                              : tc_serving_has(o, "users") ? "users"
                                                           : "max_concurrency";
    tc_serving_load(r, row, o, concurrency, "request_rate");
    tc_serving_common_add(common, &p);
    tell_facts(r, o);
    tc_serving_date(r, row, o);
    tc_serving_rest(r, row, point, o, "_ms", "ms", EXTRAS, TC_COUNT(EXTRAS));
    for (size_t i = 0; i < TC_COUNT(RESTS); i++) {
        tc_serving_rest(r, row, point, o, RESTS[i].suffix, RESTS[i].unit, NULL, 0);
    }
    for (size_t i = 0; i < dist_count; i++) {
        tc_serving_drop_zero(r, row, dists[i].column);
    }
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc_serving_read(in, r, read_run, err);
}

const struct tc_reader tc_reader_inferencex = {
    .name = "inferencex",
    .summary = "InferenceX: a run's file, or the aggregate, in seconds",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .sniff = sniff,
    .read = read_file,
};
