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
#include <stdlib.h>

/* The first that is there. */
static struct tc_slice first_string(struct tc_json o, const char *const *paths, size_t count)
{
    struct tc_slice found = TC_EMPTY;
    for (size_t i = 0; i < count && found.len == 0; i++) {
        found = tc_map_string_at(o, paths[i]);
    }
    return found;
}

static double first_number(struct tc_json o, const char *const *paths, size_t count)
{
    double found = 0;
    for (size_t i = 0; i < count; i++) {
        if (tc_map_number_at(o, paths[i], &found)) {
            return found;
        }
    }
    return 0;
}

#define FIRST_STRING(o, ...)                         \
    first_string((o), (const char *[]){__VA_ARGS__}, \
                 sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))
#define FIRST_NUMBER(o, ...)                         \
    first_number((o), (const char *[]){__VA_ARGS__}, \
                 sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

static bool has_latency(struct tc_json metrics)
{
    struct tc_json v;
    return tc_map_at(metrics, "request_latency/avg", &v) ||
           tc_map_at(metrics, "request_latency/p50", &v) ||
           tc_map_at(metrics, "request_throughput/avg", &v) || tc_map_at(metrics, "ttft/avg", &v) ||
           tc_map_at(metrics, "time_to_first_token/avg", &v);
}

static int sniff(const struct tc_result_input *in)
{
    if (in->form == TC_RESULT_TEXT) {
        return tc_slice_starts(in->bytes, TC_LIT("Metric,avg,")) ? TC_SNIFF_LIKELY : TC_SNIFF_NO;
    }
    struct tc_json records;
    if (tc__aiperf_is_sweep(in->root)) {
        return TC_SNIFF_SURE;
    }
    if (tc_json_get(in->root, TC_LIT("records"), &records) && has_latency(records)) {
        return TC_SNIFF_SURE;
    }
    if (!has_latency(in->root)) {
        return TC_SNIFF_NO;
    }
    return tc_serving_has(in->root, "aiperf_version") ? TC_SNIFF_SURE : TC_SNIFF_LIKELY;
}

/* A length that was not asked for, but that all requests had. */
static double same_length(struct tc_json metrics, const char *min, const char *max)
{
    double low = 0;
    double high = 0;
    bool known = tc_map_number_at(metrics, min, &low) && tc_map_number_at(metrics, max, &high);
    return known && low == high ? low : 0;
}

static struct tc_serving_point point_of(struct tc_json o, struct tc_json metrics)
{
    struct tc_serving_point p = {
        .input_tokens = FIRST_NUMBER(
            o, "input_config/input/prompt/input_tokens/mean",
            "input_config/dataset/prompts/isl/mean", "input_config/dataset/prompts/isl",
            "input_config/datasets/0/prompts/isl/mean", "input_config/datasets/0/prompts/isl/value",
            "input_config/datasets/0/prompts/isl"),
        .output_tokens = FIRST_NUMBER(
            o, "input_config/input/prompt/output_tokens/mean",
            "input_config/dataset/prompts/osl/mean", "input_config/dataset/prompts/osl",
            "input_config/datasets/0/prompts/osl/mean", "input_config/datasets/0/prompts/osl/value",
            "input_config/datasets/0/prompts/osl"),
        .dataset = FIRST_STRING(o, "input_config/input/public_dataset",
                                "input_config/input/custom_dataset_type",
                                "input_config/dataset/type", "input_config/datasets/0/dataset",
                                "input_config/datasets/0/format", "input_config/datasets/0/type"),
    };
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

static void tell_config(struct tc_result *r, struct tc_result_row *row, struct tc_json o)
{
    double concurrency =
        FIRST_NUMBER(o, "input_config/loadgen/concurrency", "input_config/runtime/concurrency",
                     "input_config/load/concurrency");
    double rate =
        FIRST_NUMBER(o, "input_config/loadgen/request_rate", "input_config/load/request_rate");
    struct tc_json phase;
    if (find_phase(o, &phase)) {
        (void)tc_map_number_at(phase, "concurrency", &concurrency);
        (void)tc_map_number_at(phase, "rate", &rate);
    }
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
    tc_result_fact_text(
        r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL,
        FIRST_STRING(o, "input_config/endpoint/model_names/0", "input_config/models/items/0/name",
                     "input_config/models/0/name", "input_config/models/0", "input_config/model"));
    tc_result_fact_text(
        r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL,
        FIRST_STRING(o, "input_config/endpoint/type", "input_config/endpoint/endpoint_type"));
}

/* Failures: where they are not a metric, from the summary of errors, which is empty without any.
 * Where they are, both must agree. */
static void count_errors(struct tc_result *r, struct tc_result_row *row, struct tc_json o)
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
            tc_result_note(r, true, "/error_summary", "error_request_count",
                           "error_request_count is %" PRId64
                           ", and the counts of error_summary make %" PRId64,
                           told, errors);
        }
        return;
    }
    tc_result_int(row, TC_SERVING_ERRORS, errors,
                  tc_result_define(r, "error_summary.count", "errors", "requests", "requests",
                                   "the sum over the kinds of errors"));
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
    tc_serving_times(r, row, started, ended);
}

static tc_status read_summary(struct tc_result *r, struct tc_json o, struct tc_error *err)
{
    struct tc_json metrics = o;
    (void)tc_json_get(o, TC_LIT("records"), &metrics);
    const char *where = metrics.at == o.at ? "" : "/records";
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    struct tc_serving_point p = point_of(o, metrics);
    struct tc_slice point = tc_serving_set_point(r, row, &p);
    tc_metrics_map(r, row, point, metrics, true);
    count_errors(r, row, o);
    tc_metrics_requests(r, row);
    /* Other tools copy the summary without the counts. */
    if (row != NULL && tc_result_known(row, TC_SERVING_COMPLETED)) {
        TC_TRY(tc_serving_require_completed(row, "request_count", err));
    }
    tell_config(r, row, o);
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

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    if (in->form != TC_RESULT_TEXT && tc__aiperf_is_sweep(in->root)) {
        return tc__aiperf_read_sweep(r, in->root, err);
    }
    if (in->form != TC_RESULT_TEXT) {
        return read_summary(r, in->root, err);
    }
    char *json = NULL;
    size_t len = 0;
    struct tc_json root;
    TC_TRY(tc_metrics_csv(in->bytes, &json, &len, err));
    tc_status status = tc_json_parse(in->parser, tc_slice_make(json, len), &root, err);
    if (status == TC_OK && !has_latency(root)) {
        status = tc_fail(err, TC_E_MALFORMED, 0,
                         "no 'Request Latency' and no 'Time to First Token' in the table");
    }
    if (status == TC_OK) {
        status = read_summary(r, root, err);
    }
    free(json);
    return status;
}

const struct tc_reader tc_reader_aiperf = {
    .name = "aiperf",
    .summary = "AIPerf: profile_export_aiperf.json or .csv, or a sweep's summary",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
