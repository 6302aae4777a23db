/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GenAI-Perf, AIPerf's predecessor: profile_export_genai_perf.json and its CSV. The same shape of
 * metrics with other settings beside them. It counts no requests in its first versions; its
 * inter_token_latency is a TPOT.
 */
#include "codec/codec.h"
#include "result/map_metrics.h"

#include <stdlib.h>

static bool has_latency(struct tc_json metrics)
{
    struct tc_json v;
    return tc_map_at(metrics, "request_latency/avg", &v);
}

static int sniff(const struct tc_result_input *in)
{
    if (in->form == TC_RESULT_TEXT) {
        /* AIPerf lists the percentiles from p1 up. */
        return tc_slice_starts(in->bytes, TC_LIT("Metric,avg,min,max,p99")) ? TC_SNIFF_SURE
                                                                            : TC_SNIFF_NO;
    }
    struct tc_json config;
    if (!has_latency(in->root) || !tc_json_get(in->root, TC_LIT("input_config"), &config) ||
        tc_serving_has(in->root, "aiperf_version")) {
        return TC_SNIFF_NO;
    }
    bool its_own =
        tc_serving_has(config, "perf_analyzer") || tc_serving_has(config, "subcommand") ||
        tc_serving_has(config, "formatted_model_name") || tc_serving_has(config, "model_names") ||
        tc_serving_has(config, "model") || tc_serving_has(in->root, "telemetry_stats");
    return its_own ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static void first(struct tc_json o, const char *const *paths, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_map_number_at(o, paths[i], out)) {
            return;
        }
    }
}

static void tell_config(struct tc_result *r, struct tc_result_row *row, struct tc_json o)
{
    static const char *const CONCURRENCY[] = {"input_config/concurrency",
                                              "input_config/perf_analyzer/stimulus/concurrency"};
    static const char *const RATE[] = {"input_config/request_rate",
                                       "input_config/perf_analyzer/stimulus/request_rate"};
    static const char *const MODEL[] = {"input_config/model/0", "input_config/model_names/0",
                                        "input_config/model", "input_config/formatted_model_name"};
    double concurrency = 0;
    double rate = 0;
    first(o, CONCURRENCY, TC_COUNT(CONCURRENCY), &concurrency);
    first(o, RATE, TC_COUNT(RATE), &rate);
    if (concurrency > 0) {
        tc_result_real(row, TC_SERVING_CONCURRENCY, concurrency, NULL);
    }
    if (rate > 0) {
        tc_result_real(row, TC_SERVING_REQUEST_RATE, rate, NULL);
    }
    if (concurrency > 0 || rate > 0) {
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL,
                            rate > 0 ? TC_LIT("open_loop") : TC_LIT("closed_loop"));
    }
    struct tc_slice model = TC_EMPTY;
    for (size_t i = 0; i < TC_COUNT(MODEL) && model.len == 0; i++) {
        model = tc_map_string_at(o, MODEL[i]);
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, model);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL,
                        tc_map_string_at(o, "input_config/endpoint_type"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
}

static tc_status read_summary(struct tc_result *r, struct tc_json o, struct tc_error *err)
{
    static const char *const INPUT[] = {"input_config/synthetic_input_tokens_mean",
                                        "input_config/input/synthetic_tokens/mean"};
    static const char *const OUTPUT[] = {"input_config/output_tokens_mean",
                                         "input_config/input/output_tokens/mean"};
    if (!has_latency(o)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no 'request_latency' with an 'avg'");
    }
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", "");
    struct tc_serving_point p = {0};
    first(o, INPUT, TC_COUNT(INPUT), &p.input_tokens);
    first(o, OUTPUT, TC_COUNT(OUTPUT), &p.output_tokens);
    struct tc_slice point = tc_serving_set_point(r, row, &p);
    tc_metrics_map(r, row, point, o, true);
    tc_metrics_requests(r, row);
    tell_config(r, row, o);
    struct tc_serving_common common = {0};
    tc_serving_common_add(&common, &p);
    tc_serving_common_tell(r, &common);
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    if (in->form != TC_RESULT_TEXT) {
        return read_summary(r, in->root, err);
    }
    char *json = NULL;
    size_t len = 0;
    struct tc_json root;
    TC_TRY(tc_metrics_csv(in->bytes, &json, &len, err));
    tc_status status = tc_json_parse(in->parser, tc_slice_make(json, len), &root, err);
    if (status == TC_OK) {
        status = read_summary(r, root, err);
    }
    free(json);
    return status;
}

const struct tc_reader tc_reader_genai_perf = {
    .name = "genai-perf",
    .summary = "GenAI-Perf: profile_export_genai_perf.json or .csv",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
