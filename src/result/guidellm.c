/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GuideLLM's report: several benchmarks in one file, each a point. Distributions by outcome, of
 * which the successful ones count. request_latency and the times are seconds, the others say _ms.
 * Its inter_token_latency is per request (last - first token) / (tokens - 1), so a TPOT, weighted
 * by tokens; its time_per_output_token contains the first token's time and is kept as a slice.
 */
#include "base/time.h"
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/map_serving.h"
#include "result/requests.h"
#include "result/stats_priv.h"

#include <stdio.h>
#include <string.h>

#define BENCHMARKS_MAX 4096
/* Of a dataset; a longer text is none. */
#define NAME_MAX_BYTES 96

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"percentiles/p50", "median"},
              [TC_STAT_P90] = {"percentiles/p90"},
              [TC_STAT_P95] = {"percentiles/p95"},
              [TC_STAT_P99] = {"percentiles/p99"},
              [TC_STAT_MIN] = {"min"},
              [TC_STAT_MAX] = {"max"},
              [TC_STAT_STD] = {"std_dev"},
              [TC_STAT_COUNT] = {"count"}},
};

#define NOTE_TPOT                                                                               \
    "per request: (last - first token) / (output tokens - 1); a request counts as often as it " \
    "has tokens"

/* By the metric's name, which is that of the slice; the path goes to its successful requests. */
static const struct tc_map_dist DISTS[] = {
    TC_DIST("time_to_first_token_ms/successful", TTFT, "ms", NULL, "time_to_first_token_ms"),
    TC_DIST("inter_token_latency_ms/successful", TPOT, "ms", NOTE_TPOT, "inter_token_latency_ms"),
    TC_DIST("request_latency/successful", E2E, "s", NULL, "request_latency"),
    TC_DIST_SLICE("time_per_output_token_ms/successful", "ms", "normalized_tpot",
                  "per request: (last token - start) / output tokens", "time_per_output_token_ms"),
};

#define NOTE_RATE "over time: mean of the rate"

static const struct tc_fact FACTS[] = {
    TC_VALUE("metrics/request_totals/successful", COMPLETED),
    TC_VALUE("request_totals/successful", COMPLETED),
    TC_VALUE("run_stats/requests_made/successful", COMPLETED),
    TC_VALUE("metrics/request_totals/errored", ERRORS),
    TC_VALUE("request_totals/errored", ERRORS),
    TC_VALUE("run_stats/requests_made/errored", ERRORS),
    TC_VALUE("duration", DURATION_S),
    TC_VALUE("metrics/prompt_token_count/successful/total_sum", INPUT_TOKENS),
    TC_VALUE("metrics/output_token_count/successful/total_sum", OUTPUT_TOKENS),
    TC_VALUE("metrics/requests_per_second/successful/mean", REQUESTS_PER_S),
    TC_VALUE_NOTED("metrics/output_tokens_per_second/successful/mean", OUTPUT_TOKENS_PER_S,
                   NOTE_RATE),
    TC_VALUE_NOTED("metrics/prompt_tokens_per_second/successful/mean", INPUT_TOKENS_PER_S,
                   NOTE_RATE),
    TC_VALUE_NOTED("metrics/tokens_per_second/successful/mean", TOTAL_TOKENS_PER_S, NOTE_RATE),
    TC_FACTS_END,
};

/* Units of the other metrics, by the end of their names. */
static const char *unit_of(struct tc_slice name)
{
    if (tc_slice_ends(name, TC_LIT("_ms"))) {
        return "ms";
    }
    if (tc_slice_ends(name, TC_LIT("tokens_per_second"))) {
        return "tokens/s";
    }
    if (tc_slice_eq(name, TC_LIT("requests_per_second"))) {
        return "requests/s";
    }
    if (tc_slice_ends(name, TC_LIT("token_count"))) {
        return "tokens";
    }
    return tc_slice_eq(name, TC_LIT("request_concurrency")) ? "requests" : "count";
}

static void map_aiperf(struct tc_result_row *row, struct tc_slice point, struct tc_json metrics)
{
    struct tc_json_iter it = tc_json_iter_make(metrics);
    struct tc_slice name;
    struct tc_json metric;
    while (row != NULL && tc_json_iter_next(&it, &name, &metric)) {
        struct tc_json mean;
        if (!tc_map_at(metric, "successful/mean", &mean) || name.len > 96 ||
            tc_slice_find_byte(name, '/') != TC_NPOS) {
            continue;
        }
        char path[128];
        (void)snprintf(path, sizeof path, "%.*s/successful", TC_FMT(name));
        const char *kept = tc_result_cstr(row->result, name);
        struct tc_map_dist dist = TC_DIST_SLICE(path, unit_of(name), kept, NULL, kept);
        for (size_t i = 0; i < TC_COUNT(DISTS); i++) {
            if (tc_slice_eq(name, tc_slice_cstr(DISTS[i].slice))) {
                dist = DISTS[i];
            }
        }
        tc_map_dists(row, point, metrics, &STYLE, &dist, 1);
    }
}

/* A number behind "key=" or "key: " in the text of a data argument. */
static double number_in(struct tc_slice text, struct tc_slice key)
{
    size_t at = tc_slice_find(text, key);
    uint64_t value = 0;
    if (at == TC_NPOS) {
        return 0;
    }
    struct tc_slice rest = tc_slice_from(text, at + key.len);
    while (rest.len > 0 && strchr("\"': =", rest.ptr[0]) != NULL) {
        rest = tc_slice_from(rest, 1);
    }
    return tc_slice_u64(rest, &value) > 0 ? (double)value : 0;
}

/* Lengths are those of the synthetic data: numbers in new reports, a text in older ones. */
static struct tc_serving_point point_of(struct tc_json root, struct tc_json b)
{
    struct tc_serving_point p = {0};
    struct tc_json data;
    if (tc_map_at(root, "config/spec/data/0", &data) ||
        tc_map_at(b, "config/requests/data/0", &data)) {
        (void)tc_map_number_at(data, "prompt_tokens", &p.input_tokens);
        (void)tc_map_number_at(data, "output_tokens", &p.output_tokens);
        p.dataset = tc_map_string_at(data, "kind");
        return p;
    }
    struct tc_slice text = tc_map_string_at(root, "args/data/0|args/data");
    text = text.len > 0 ? text : tc_map_string_at(b, "request_loader/data");
    p.input_tokens = number_in(text, TC_LIT("prompt_tokens"));
    p.output_tokens = number_in(text, TC_LIT("output_tokens"));
    if (p.input_tokens > 0) {
        p.dataset = TC_LIT("synthetic_text");
    } else {
        p.dataset = tc__path_last(text);
        p.dataset = p.dataset.len < NAME_MAX_BYTES ? p.dataset : TC_EMPTY;
    }
    return p;
}

/* Concurrent: streams; throughput: its limit; synchronous: one at a time. The limit of the paced
 * ones is a default, not what was asked for. */
static void tell_strategy(struct tc_result *r, struct tc_result_row *row, struct tc_json b)
{
    struct tc_json strategy;
    if (!tc_map_at(b, "config/strategy|args/strategy|scheduler/strategy", &strategy)) {
        return;
    }
    struct tc_slice type = tc_map_string_at(strategy, "type_");
    double concurrency = TC_UNKNOWN;
    double rate = TC_UNKNOWN;
    const char *model = NULL;
    if (tc_slice_eq(type, TC_LIT("synchronous"))) {
        concurrency = 1;
        model = "closed_loop";
    } else if (tc_slice_eq(type, TC_LIT("concurrent"))) {
        concurrency = tc_map_real_at(strategy, "streams|max_concurrency");
        model = "closed_loop";
    } else if (tc_slice_eq(type, TC_LIT("throughput"))) {
        concurrency = tc_map_real_at(strategy, "max_concurrency");
        model = "burst";
    } else if (tc_map_number_at(strategy, "rate", &rate)) {
        model = "open_loop";
    }
    tc_result_real(row, TC_SERVING_CONCURRENCY, concurrency, NULL);
    tc_result_real(row, TC_SERVING_REQUEST_RATE, rate, NULL);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL, tc_slice_cstr(model));
}

/* Seconds since 1970, as a double. */
static int64_t moment(struct tc_json b, const char *path)
{
    double seconds = 0;
    if (!tc_map_number_at(b, path, &seconds) || seconds <= 0 ||
        seconds >= (double)TC_TIME_MAX / (double)TC_SECOND) {
        return TC_TIME_NONE;
    }
    /* A double of such seconds is exact to a quarter of a microsecond. */
    return (int64_t)(seconds * 1e6) * 1000;
}

static void tell_requests(struct tc_result *r, struct tc_result_row *row, struct tc_json b,
                          struct tc_slice point)
{
    int64_t requests = 0;
    if (row == NULL) {
        return;
    }
    if (tc_result_known(row, TC_SERVING_COMPLETED) && tc_result_known(row, TC_SERVING_ERRORS) &&
        !__builtin_add_overflow(tc_result_get_int(row, TC_SERVING_COMPLETED),
                                tc_result_get_int(row, TC_SERVING_ERRORS), &requests)) {
        tc_result_int(row, TC_SERVING_REQUESTS, requests,
                      tc_result_define(r, "request_totals.successful + request_totals.errored",
                                       "requests", "requests", "requests",
                                       "those that were cut off by the end are not counted"));
    }
    double cut_off = 0;
    if (tc_map_number_at(b,
                         "metrics/request_totals/incomplete|request_totals/incomplete|"
                         "run_stats/requests_made/incomplete",
                         &cut_off)) {
        tc_map_slice_value(r, row->where, point, "request_totals.incomplete", "incomplete_requests",
                           "requests", "requests", cut_off, NULL);
    }
}

/* ---- single requests ---- */

/* One of a list of the report. Older versions have their times in the request, newer ones in
 * "info". */
static struct tc_request request_of(struct tc_json o, const char *where, size_t index)
{
    struct tc_request q = tc_request_at(where, index);
    q.id = tc_map_string_at(o, "request_id|info/request_id");
    q.started_ns = tc_request_moment(
        tc_map_real_at(o, "request_start_time|start_time|info/timings/request_start"));
    q.ended_ns =
        tc_request_moment(tc_map_real_at(o, "request_end_time|end_time|info/timings/request_end"));
    q.first_token_ns =
        tc_request_moment(tc_map_real_at(o, "first_token_time|info/timings/first_token_iteration|"
                                            "info/timings/first_iteration"));
    q.ttft_ms = tc_map_real_at(o, "time_to_first_token_ms");
    q.tpot_ms = tc_map_real_at(o, "inter_token_latency_ms");
    q.e2e_ms = tc_map_real_at(o, "request_latency") * 1000;
    q.input_tokens = tc_map_real_at(o, "prompt_tokens|input_metrics/text_tokens");
    q.output_tokens = tc_map_real_at(o, "output_tokens|output_metrics/text_tokens");
    q.error = tc_map_string_at(o, "error|info/error");
    return q;
}

/* The samples that a report holds: all requests unless it was told to keep fewer. */
static tc_status read_requests(struct tc_result_row *row, struct tc_json b, size_t index,
                               struct tc_error *err)
{
    static const struct {
        const char *list;
        enum tc_request_status status;
    } LISTS[] = {{"successful", TC_REQUEST_SUCCEEDED},
                 {"errored", TC_REQUEST_FAILED},
                 {"incomplete", TC_REQUEST_CANCELLED}};
    struct tc__stats ttft = {0};
    struct tc__stats e2e = {0};
    for (size_t l = 0; row != NULL && l < TC_COUNT(LISTS); l++) {
        char where[64];
        char path[32];
        struct tc_json list;
        struct tc_json o;
        (void)snprintf(path, sizeof path, "requests/%s", LISTS[l].list);
        (void)snprintf(where, sizeof where, "/benchmarks/%zu/%s", index, path);
        if (!tc_map_at(b, path, &list) || tc_json_type(list) != TC_JSON_ARRAY) {
            continue;
        }
        struct tc_json_iter it = tc_json_iter_make(list);
        for (size_t n = 0; tc_json_iter_next(&it, NULL, &o); n++) {
            struct tc_request q = request_of(o, where, n);
            q.status = LISTS[l].status;
            tc_result_request(row->result, row->at, &q);
            if (q.status == TC_REQUEST_SUCCEEDED && isfinite(q.ttft_ms)) {
                tc__stats_add(&ttft, q.ttft_ms);
            }
            if (q.status == TC_REQUEST_SUCCEEDED && isfinite(q.e2e_ms)) {
                tc__stats_add(&e2e, q.e2e_ms);
            }
        }
    }
    /* Of a sample, percentiles differ from those of all. */
    bool all = tc_result_known(row, TC_SERVING_COMPLETED) &&
               tc_result_get_int(row, TC_SERVING_COMPLETED) == (int64_t)e2e.count;
    tc_status status = ttft.status != TC_OK ? ttft.status : e2e.status;
    if (status == TC_OK && all) {
        tc__result_bound(row, TC_SERVING_TTFT_MEAN, &ttft, 1);
        tc__result_bound(row, TC_SERVING_E2E_MEAN, &e2e, 1);
    }
    tc__stats_fini(&ttft);
    tc__stats_fini(&e2e);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no room for the requests");
}

static tc_status read_benchmark(struct tc_result *r, struct tc_json root, struct tc_json b,
                                size_t index, struct tc_serving_common *common,
                                struct tc_error *err)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "/benchmarks/%zu", index);
    struct tc_serving_point p = point_of(root, b);
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_map_values(row, b, FACTS);
    TC_TRY(tc_serving_completed(row, "metrics/request_totals/successful", err));
    struct tc_json metrics;
    if (tc_map_at(b, "metrics", &metrics)) {
        map_aiperf(row, point, metrics);
    }
    tell_requests(r, row, b, point);
    tell_strategy(r, row, b);
    int64_t started = moment(b, "start_time");
    int64_t ended = moment(b, "end_time");
    tc_serving_times(row, started == TC_TIME_NONE ? moment(b, "run_stats/start_time") : started,
                     ended == TC_TIME_NONE ? moment(b, "run_stats/end_time") : ended);
    tc_serving_common_add(common, &p);
    struct tc_slice model = tc_map_string_at(b, "config/backend/model|worker/backend_model");
    model = model.len > 0 ? model : tc_map_string_at(root, "args/model");
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, model);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL,
                        tc_map_string_at(b, "config/backend/request_format"));
    return read_requests(row, b, index, err);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc_json list;
    if (!tc_map_at(in->root, "benchmarks", &list)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no 'benchmarks' in the report");
    }
    tc_result_tool_version(r, tc_map_string_at(in->root, "metadata/guidellm_version"));
    struct tc_json second;
    struct tc_serving_common common = {.several = tc_map_at(list, "1", &second)};
    struct tc_json_iter it = tc_json_iter_make(list);
    struct tc_json b;
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &b); i++) {
        if (i == BENCHMARKS_MAX) {
            return tc_fail(err, TC_E_LIMIT, 0, "more than %d benchmarks in a report",
                           BENCHMARKS_MAX);
        }
        TC_TRY(read_benchmark(r, in->root, b, i, &common, err));
    }
    tc_serving_common_tell(r, &common);
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
    return TC_OK;
}

const struct tc_reader tc_reader_guidellm = {
    .name = "guidellm",
    .summary = "GuideLLM: the report (JSON or YAML), one point per benchmark",
    .forms = 1u << TC_RESULT_JSON,
    .keys =
        {
            {"benchmarks/0/metrics, "
             "metadata/guidellm_version|benchmarks/0/metrics/time_to_first_token_ms|"
             "benchmarks/0/metrics/request_latency/successful",
             TC_SNIFF_SURE, TC_OF_FILE},
        },
    .read = read_file,
};
