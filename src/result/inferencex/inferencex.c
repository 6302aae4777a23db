/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InferenceX (InferenceMAX): vLLM's benchmark_serving with milliseconds turned into seconds and the
 * suffix dropped. Two shapes: a run's own file, and the aggregate ("agg_*.json", or a list of them)
 * with hardware, deployment and throughput per GPU instead of counts. *_intvty is 1 / TPOT, so its
 * p99 is below its median: kept as single numbers. The agentic aggregates ("scenario_type") come
 * from AIPerf, and what they call itl is AIPerf's inter_token_latency: a TPOT; the later ones of
 * them have their statistics in objects (agentic.c).
 */
#include "codec/codec.h"
#include "result/inferencex/priv.h"

static const struct tc_map_dist DISTS[] = {
    TC_DIST("_ttft", TTFT, "s", NULL, NULL),
    TC_DIST("_tpot", TPOT, "s", TC_NOTE_TPOT, NULL),
    TC_DIST_ITL("_itl", "s", TC_NOTE_ITL),
    TC_DIST("_e2el", E2E, "s", NULL, NULL),
};

/* Of agentic aggregates; "ttlt" is the time to the last token. */
static const struct tc_map_dist AGENTIC[] = {
    TC_DIST("_ttft", TTFT, "s", NULL, NULL),        TC_DIST("_tpot", TPOT, "s", TC_NOTE_TPOT, NULL),
    TC_DIST("_itl", TPOT, "s", TC_NOTE_TPOT, NULL), TC_DIST("_e2el", E2E, "s", NULL, NULL),
    TC_DIST("_ttlt", E2E, "s", NULL, NULL),
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

/* tp=8 ep=1, or prefill_tp=4 ... decode_tp=8 of a disaggregated deployment. */
#define SIZES                                                                         \
    "tp,pp,ep,dp_attention,prefill_tp,prefill_ep,prefill_dp_attention,"               \
    "prefill_num_workers,decode_tp,decode_ep,decode_dp_attention,decode_num_workers," \
    "spec_decoding"

static const struct tc_fact FACTS[] = {
    TC_VALUE("num_prompts", REQUESTS),
    TC_VALUE("num_requests_total", REQUESTS),
    TC_VALUE("completed", COMPLETED),
    TC_VALUE("num_requests_successful", COMPLETED),
    TC_VALUE("failed", ERRORS),
    TC_VALUE("duration", DURATION_S),
    TC_VALUE("duration_seconds", DURATION_S),
    TC_VALUE("total_input_tokens", INPUT_TOKENS),
    TC_VALUE("total_output_tokens", OUTPUT_TOKENS),
    TC_VALUE("request_throughput", REQUESTS_PER_S),
    TC_VALUE("output_throughput", OUTPUT_TOKENS_PER_S),
    TC_VALUE("output_tput_tps", OUTPUT_TOKENS_PER_S),
    TC_VALUE("input_throughput", INPUT_TOKENS_PER_S),
    TC_VALUE("input_tput_tps", INPUT_TOKENS_PER_S),
    TC_VALUE("total_token_throughput", TOTAL_TOKENS_PER_S),
    TC_VALUE("total_tput_tps", TOTAL_TOKENS_PER_S),
    TC_VALUE("request_goodput", GOODPUT),
    TC_SINGLE("tput_per_gpu", "tokens/s/GPU", "total_throughput_per_gpu"),
    TC_SINGLE("output_tput_per_gpu", "tokens/s/GPU", "output_throughput_per_gpu"),
    TC_SINGLE("input_tput_per_gpu", "tokens/s/GPU", "input_throughput_per_gpu"),
    TC_SINGLE("good_completed", "requests", "good_requests"),
    TC_SINGLE("max_output_tokens_per_s", "tokens/s", "peak_output_throughput"),
    TC_SINGLE("max_concurrent_requests", "requests", "peak_concurrency"),
    TC_SINGLE("total_prompt_tokens", "tokens", "server_prompt_tokens"),
    TC_SINGLE("total_generation_tokens", "tokens", "server_generation_tokens"),
    TC_SINGLE("theoretical_cache_hit_rate", "ratio", "cache_hit_rate"),
    TC_SINGLE("theoretical_infinite_cache_hit_rate", "ratio", "cache_hit_rate"),
    TC_SINGLE("server_gpu_cache_hit_rate", "ratio", "cache_hit_rate"),
    TC_SINGLE("server_cpu_cache_hit_rate", "ratio", "cache_hit_rate"),
    TC_SINGLE("response_cache_hit_rate", "ratio", "cache_hit_rate"),
    TC_SINGLE("kv_cache_pool_tokens", "tokens", "kv_cache_size"),
    TC_SINGLE("avg_power_w", "W", "gpu_power"),
    TC_SINGLE("p75_power_w", "W", "gpu_power"),
    TC_SINGLE("p90_power_w", "W", "gpu_power"),
    TC_SINGLE("avg_total_gpu_power_w", "W", "total_gpu_power"),
    TC_SINGLE("p75_total_gpu_power_w", "W", "total_gpu_power"),
    TC_SINGLE("p90_total_gpu_power_w", "W", "total_gpu_power"),
    TC_SINGLE("total_gpu_energy_j", "J", "total_gpu_energy"),
    TC_SINGLE("joules_per_successful_query", "J/request", "energy_per_request"),
    TC_SINGLE("joules_per_input_token", "J/token", "energy_per_input_token"),
    TC_SINGLE("joules_per_output_token", "J/token", "energy_per_output_token"),
    TC_SINGLE("joules_per_total_token", "J/token", "energy_per_token"),
    TC_FACT("model|model_id", WORKLOAD, MODEL),
    TC_FACT("precision", WORKLOAD, PRECISION),
    TC_FACT("hw", HARDWARE, GPU_MODEL),
    TC_FACTS_END,
};
static const struct tc_fact SOFTWARE[] = {
    TC_FACT("framework", SOFTWARE, SERVER),
    TC_FACT("image", SOFTWARE, IMAGE),
    TC_FACT("=succeeded", RUN, STATUS),
    TC_FACT(SIZES, WORKLOAD, DEPLOYMENT),
    TC_FACTS_END,
};

#define AGGREGATE "tput_per_gpu?|output_tput_per_gpu?"
/* SGLang's first files have such names in milliseconds. */
#define NOT_SGLANG "!median_e2e_latency?|mean_e2e_latency?, "

static void tell_facts(struct tc_result *r, struct tc_json o)
{
    int64_t prefill = 0;
    int64_t decode = 0;
    int64_t gpus = 0;
    tc_map_facts(r, o, FACTS);
    if (tc_map_int_at(o, "num_gpus", &gpus) && gpus > 0 && gpus < INT32_MAX) {
        tc_result_fact_int(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, gpus);
    } else if (tc_map_int_at(o, "num_prefill_gpu", &prefill) &&
               tc_map_int_at(o, "num_decode_gpu", &decode) && prefill >= 0 && decode >= 0 &&
               prefill < INT32_MAX && decode < INT32_MAX) {
        tc_result_fact_int(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, prefill + decode);
    }
    tc_map_facts(r, o, SOFTWARE);
}

static struct tc_serving_point point_of(struct tc_json o, bool several, struct tc_buf *more)
{
    double value = 0;
    struct tc_serving_point p = {
        .dataset = tc_map_string_at(o, "dataset_name|dataset/loader|scenario_type"),
        .input_tokens = tc_map_number_at(o, "isl", &value)
                            ? value
                            : tc_serving_each(o, "total_input_tokens", "completed"),
        .output_tokens = tc_map_number_at(o, "osl", &value)
                             ? value
                             : tc_serving_each(o, "total_output_tokens", "completed"),
    };
    if (several) {
        /* And what else tells the rows of an aggregate apart. */
        tc_map_point(more, o, "hw,framework,precision," SIZES);
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
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_map_values(row, o, FACTS);
    bool agentic = tc_map_has(o, "scenario_type?");
    const struct tc_map_dist *dists = agentic ? AGENTIC : DISTS;
    size_t dist_count = agentic ? TC_COUNT(AGENTIC) : TC_COUNT(DISTS);
    tc_map_dists(row, point, o, &tc_style_vllm, dists, dist_count);
    if (tc_map_has(o, TC__INFERENCEX_NESTED)) {
        tc__inferencex_nested(row, point, o);
        TC_TRY(tc_serving_completed(row, "num_requests_successful", err));
    } else if (!tc_map_has(o, AGGREGATE)) {
        TC_TRY(tc_serving_completed(row, "completed", err));
    }
    const char *concurrency = tc_map_has(o, "conc?")    ? "conc"
                              : tc_map_has(o, "users?") ? "users"
                                                        : "max_concurrency";
    tc_serving_load(row, o, concurrency, "request_rate");
    tc_serving_common_add(common, &p);
    tell_facts(r, o);
    tc_serving_date(row, o);
    tc_serving_rest(row, point, o, "_ms", "ms", FACTS);
    for (size_t i = 0; i < TC_COUNT(RESTS); i++) {
        tc_serving_rest(row, point, o, RESTS[i].suffix, RESTS[i].unit, NULL);
    }
    tc_serving_drop_zeros(row, dists, dist_count);
    return TC_OK;
}

const struct tc_reader tc_reader_inferencex = {
    .name = "inferencex",
    .summary = "InferenceX: a run's file, or the aggregate, in seconds",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .keys =
        {
            {NOT_SGLANG "hw?, " AGGREGATE "|" TC__INFERENCEX_NESTED, TC_SNIFF_SURE, TC_OF_FIRST},
            {NOT_SGLANG "model_id?, completed?, median_ttft?|mean_ttft?|median_tpot?|mean_tpot?|"
                        "median_e2el?|mean_e2el?",
             TC_SNIFF_SURE, TC_OF_FIRST},
        },
    .read_run = read_run,
};
