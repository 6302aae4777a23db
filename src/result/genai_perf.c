/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GenAI-Perf, AIPerf's predecessor: profile_export_genai_perf.json and its CSV. The same shape of
 * metrics with other settings beside them. It counts no requests in its first versions; its
 * inter_token_latency is a TPOT.
 */
#include "codec/codec.h"
#include "result/map_aiperf.h"

static const struct tc_fact FACTS[] = {
    TC_FACT("input_config/model/0|input_config/model_names/0|input_config/model|"
            "input_config/formatted_model_name",
            WORKLOAD, MODEL),
    TC_FACT("input_config/endpoint_type", WORKLOAD, PROTOCOL),
    TC_FACT("=succeeded", RUN, STATUS),
    TC_FACTS_END,
};

static int sniff(const struct tc_result_input *in)
{
    /* AIPerf lists the percentiles from p1 up. */
    return tc_slice_starts(in->bytes, TC_LIT("Metric,avg,min,max,p99")) ? TC_SNIFF_SURE
                                                                        : TC_SNIFF_NO;
}

static tc_status read_summary(struct tc_result *r, struct tc_json o, struct tc_error *err)
{
    double concurrency = 0;
    double rate = 0;
    if (!tc_map_has(o, "request_latency/avg")) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no 'request_latency' with an 'avg'");
    }
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", "");
    struct tc_serving_point p = {0};
    (void)tc_map_number_at(o,
                           "input_config/synthetic_input_tokens_mean|"
                           "input_config/input/synthetic_tokens/mean",
                           &p.input_tokens);
    (void)tc_map_number_at(o,
                           "input_config/output_tokens_mean|input_config/input/output_tokens/mean",
                           &p.output_tokens);
    (void)tc_map_number_at(
        o, "input_config/concurrency|input_config/perf_analyzer/stimulus/concurrency",
        &concurrency);
    (void)tc_map_number_at(
        o, "input_config/request_rate|input_config/perf_analyzer/stimulus/request_rate", &rate);
    tc_metrics_map(row, tc_serving_set_point(row, &p), o, true);
    tc_metrics_requests(row);
    tc_serving_asked(row, concurrency, rate);
    tc_map_facts(r, o, FACTS);
    struct tc_serving_common common = {0};
    tc_serving_common_add(&common, &p);
    tc_serving_common_tell(r, &common);
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc_metrics_read(in, r, read_summary, err);
}

const struct tc_reader tc_reader_genai_perf = {
    .name = "genai-perf",
    .summary = "GenAI-Perf: profile_export_genai_perf.json or .csv",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_TEXT,
    .keys =
        {
            {"request_latency/avg, input_config?, !aiperf_version?, "
             "input_config/perf_analyzer?|input_config/subcommand?|input_config/"
             "formatted_model_name?|"
             "input_config/model_names?|input_config/model?|telemetry_stats?",
             TC_SNIFF_SURE, TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_file,
};
