/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AIPerf's summary: profile_export_aiperf.json, flat or (its first versions) under "records", the
 * same as CSV, rounded, and the summary of a sweep. Units stand beside the values. Its
 * inter_token_latency is a TPOT, its inter_chunk_latency what others call inter-token latency;
 * request_count counts the successful ones. start_time is local time without a zone; the first
 * versions have nanoseconds as well.
 */
#include "base/time.h"
#include "codec/codec.h"
#include "result/aiperf/priv.h"

#include <inttypes.h>

/* Of the metrics of a run. */
#define LATENCY(at)                                                                     \
    at "request_latency/avg|" at "request_latency/p50|" at "request_throughput/avg|" at \
       "ttft/avg|" at "time_to_first_token/avg"

static int sniff(const struct tc_result_input *in)
{
    /* Where no request succeeded there is no table of statistics. */
    bool failed = tc_slice_starts(in->bytes, TC_LIT("Metric,Value")) &&
                  tc_slice_contains(in->bytes, TC_LIT("Error Request Count"));
    return failed || tc_slice_starts(in->bytes, TC_LIT("Metric,avg,")) ? TC_SNIFF_LIKELY
                                                                       : TC_SNIFF_NO;
}

static const struct tc_fact FACTS[] = {
    TC_FACT("input_config/endpoint/model_names/0|input_config/models/items/0/name|"
            "input_config/models/0/name|input_config/models/0|input_config/model",
            WORKLOAD, MODEL),
    TC_FACT("input_config/endpoint/type|input_config/endpoint/endpoint_type", WORKLOAD, PROTOCOL),
    TC_FACTS_END,
};

/* A length that was not asked for, but that all requests had. */
static double same_length(struct tc_json metrics, const char *min, const char *max)
{
    double low = 0;
    double high = 0;
    bool known = tc_map_number_at(metrics, min, &low) && tc_map_number_at(metrics, max, &high);
    return known && low == high ? low : 0;
}

/* Where the versions have a length that was asked for. */
/* clang-format off */
#define LENGTHS(long, short)                              \
    "input_config/input/prompt/" long "/mean|"            \
    "input_config/dataset/prompts/" short "/mean|"        \
    "input_config/dataset/prompts/" short "|"             \
    "input_config/datasets/0/prompts/" short "/mean|"     \
    "input_config/datasets/0/prompts/" short "/value|"    \
    "input_config/datasets/0/prompts/" short
/* clang-format on */

static struct tc_serving_point point_of(struct tc_json o, struct tc_json metrics)
{
    struct tc_serving_point p = {
        .dataset = tc_map_string_at(
            o, "input_config/input/public_dataset|input_config/input/custom_dataset_type|"
               "input_config/dataset/type|input_config/datasets/0/dataset|"
               "input_config/datasets/0/format|input_config/datasets/0/type"),
    };
    (void)tc_map_number_at(o, LENGTHS("input_tokens", "isl"), &p.input_tokens);
    (void)tc_map_number_at(o, LENGTHS("output_tokens", "osl"), &p.output_tokens);
    if (p.input_tokens == 0) {
        p.input_tokens =
            same_length(metrics, "input_sequence_length/min", "input_sequence_length/max");
    }
    if (p.output_tokens == 0) {
        p.output_tokens =
            same_length(metrics, "output_sequence_length/min", "output_sequence_length/max");
    }
    return p;
}

/* A phase that the results do not count. */
static bool is_warm_up(struct tc_slice name, struct tc_json phase)
{
    struct tc_json v;
    bool excluded = false;
    if (tc_map_at(phase, "exclude_from_results", &v) && tc_json_bool(v, &excluded) && excluded) {
        return true;
    }
    return tc_slice_eq(name, TC_LIT("warmup")) ||
           tc_slice_eq(tc_map_string_at(phase, "name"), TC_LIT("warmup")) ||
           tc_slice_eq(tc_map_string_at(phase, "kind"), TC_LIT("warmup"));
}

/* Of 0.9 on the load is that of a phase; with several that count there is no one load. */
static bool find_phase(struct tc_json o, struct tc_json *out)
{
    struct tc_json phases;
    struct tc_json phase;
    struct tc_slice name = TC_EMPTY;
    size_t count = 0;
    if (!tc_map_at(o, "input_config/phases", &phases)) {
        return false;
    }
    struct tc_json_iter it = tc_json_iter_make(phases);
    while (tc_json_iter_next(&it, &name, &phase)) {
        if (!is_warm_up(name, phase)) {
            *out = phase;
            count++;
        }
    }
    return count == 1;
}

static void tell_config(struct tc_result_row *row, struct tc_json o)
{
    double concurrency = 0;
    double rate = 0;
    struct tc_json phase;
    (void)tc_map_number_at(o,
                           "input_config/loadgen/concurrency|input_config/runtime/concurrency|"
                           "input_config/load/concurrency",
                           &concurrency);
    (void)tc_map_number_at(o, "input_config/loadgen/request_rate|input_config/load/request_rate",
                           &rate);
    if (find_phase(o, &phase)) {
        (void)tc_map_number_at(phase, "concurrency", &concurrency);
        (void)tc_map_number_at(phase, "rate", &rate);
    }
    tc_serving_asked(row, concurrency, rate);
}

/* Failures: where they are not a metric, from the summary of errors, which is empty without any.
 * Where they are, both must agree. */
static void count_errors(struct tc_result_row *row, struct tc_json o)
{
    struct tc_json summary;
    if (row == NULL || !tc_json_get(o, TC_LIT("error_summary"), &summary) ||
        tc_json_type(summary) != TC_JSON_ARRAY) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(summary);
    struct tc_json entry;
    int64_t errors = 0;
    while (tc_json_iter_next(&it, NULL, &entry)) {
        int64_t count = 0;
        if (!tc_map_int_at(entry, "count", &count) ||
            __builtin_add_overflow(errors, count, &errors)) {
            return;
        }
    }
    if (tc_result_known(row, TC_SERVING_ERRORS)) {
        int64_t told = tc_result_get_int(row, TC_SERVING_ERRORS);
        if (errors > 0 && errors != told) {
            tc_result_note(row->result, true, "/error_summary", "error_request_count",
                           "error_request_count is %" PRId64
                           ", and the counts of error_summary make %" PRId64,
                           told, errors);
        }
        return;
    }
    tc_result_int(row, TC_SERVING_ERRORS, errors,
                  tc_result_define(row->result, "error_summary.count", "errors", "requests",
                                   "requests", "the sum over the kinds of errors"));
}

/* There are no metrics of requests that succeeded where none did: only what failed is counted. */
static void count_nothing(struct tc_result_row *row, struct tc_json metrics)
{
    if (tc_result_known(row, TC_SERVING_ERRORS) && !tc_result_known(row, TC_SERVING_COMPLETED) &&
        tc_result_get_int(row, TC_SERVING_ERRORS) > 0 && !tc_map_has(metrics, LATENCY(""))) {
        tc_result_int(row, TC_SERVING_COMPLETED, 0,
                      tc_result_define(row->result, "request_count", "completed", "requests",
                                       "requests", "not there: no metric of a success is"));
    }
}

/* A moment in nanoseconds, written as a double. */
static int64_t moment(struct tc_json metrics, const char *path)
{
    double ns = 0;
    if (!tc_map_number_at(metrics, path, &ns) || ns <= 0 || ns >= (double)TC_TIME_MAX) {
        return TC_TIME_NONE;
    }
    return (int64_t)ns;
}

static void tell_times(struct tc_result *r, struct tc_result_row *row, struct tc_json o,
                       struct tc_json metrics)
{
    int64_t started = moment(metrics, "min_request_timestamp/avg");
    int64_t ended = moment(metrics, "max_response_timestamp/avg");
    if (started == TC_TIME_NONE) {
        started = moment(metrics, "minimum_request_timestamp/avg");
        ended = moment(metrics, "maximum_response_timestamp/avg");
    }
    if (started == TC_TIME_NONE) {
        started = tc_serving_iso_time(r, TC_EMPTY, "start_time", tc_map_string_at(o, "start_time"));
        ended = tc_serving_iso_time(r, TC_EMPTY, "end_time", tc_map_string_at(o, "end_time"));
    }
    tc_serving_times(row, started, ended);
}

static tc_status read_summary(struct tc_result *r, struct tc_json o, struct tc_error *err)
{
    if (tc__aiperf_is_sweep(o)) {
        return tc__aiperf_read_sweep(r, o, err);
    }
    struct tc_json metrics = o;
    (void)tc_json_get(o, TC_LIT("records"), &metrics);
    const char *where = metrics.at == o.at ? "" : "/records";
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    struct tc_serving_point p = point_of(o, metrics);
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_metrics_map(row, point, metrics, true);
    count_errors(row, o);
    count_nothing(row, metrics);
    tc_metrics_requests(row);
    /* Other tools copy the summary without the counts. */
    if (tc_result_known(row, TC_SERVING_COMPLETED)) {
        TC_TRY(tc_serving_completed(row, "request_count", err));
    }
    tell_config(row, o);
    tc_map_facts(r, o, FACTS);
    tell_times(r, row, o, metrics);
    struct tc_serving_common common = {0};
    tc_serving_common_add(&common, &p);
    tc_serving_common_tell(r, &common);
    tc_result_tool_version(r, tc_map_string_at(o, "aiperf_version"));
    struct tc_json v;
    bool cancelled = false;
    if (tc_map_at(o, "was_cancelled", &v) && tc_json_bool(v, &cancelled) && cancelled) {
        tc_result_note(r, false, "", "was_cancelled", "the run was cancelled before its end");
    }
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        cancelled ? TC_LIT("incomplete") : TC_LIT("succeeded"));
    return TC_OK;
}

static tc_status read_csv(struct tc_result *r, struct tc_json root, struct tc_error *err)
{
    return tc_map_has(root, LATENCY("") "|error_request_count/avg")
               ? read_summary(r, root, err)
               : tc_fail(err, TC_E_MALFORMED, 0,
                         "no 'Request Latency' and no 'Time to First Token' in the table");
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc_metrics_read(in, r, in->form == TC_RESULT_TEXT ? read_csv : read_summary, err);
}

const struct tc_reader tc_reader_aiperf = {
    .name = "aiperf",
    .summary = "AIPerf: profile_export_aiperf.json or .csv, or a sweep's summary",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_TEXT,
    .keys =
        {
            {TC__AIPERF_REPEATED, TC_SNIFF_SURE, TC_OF_FILE},
            {TC__AIPERF_SWEEP, TC_SNIFF_SURE, TC_OF_FILE},
            {LATENCY("records/"), TC_SNIFF_SURE, TC_OF_FILE},
            {"aiperf_version?, " LATENCY(""), TC_SNIFF_SURE, TC_OF_FILE},
            {LATENCY(""), TC_SNIFF_LIKELY, TC_OF_FILE},
            {"input_config{}, error_summary/0/count, was_cancelled?|aiperf_version?", TC_SNIFF_SURE,
             TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_file,
};
