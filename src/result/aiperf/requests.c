/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AIPerf's profile_export.jsonl: one request per line, with its metrics or its error. The
 * distributions are computed here, over the requests of the profiling phase that did not fail:
 * percentiles by linear interpolation between the two nearest values (numpy's default, which AIPerf
 * uses for its summary), the standard deviation over the population.
 */
#include "result/requests.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/map_aiperf.h"
#include "result/stats_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Metrics of one file; what comes beyond is not of interest. */
#define SERIES_MAX 64
#define SERIES_NAME_MAX 64
#define SERIES_UNIT_MAX 32
#define NOTE_COMPUTED "computed by tracecore over the requests"

/* One metric over the requests; in our unit, from the tool's by the factor. */
struct series {
    char name[SERIES_NAME_MAX];
    char source_unit[SERIES_UNIT_MAX];
    const char *unit;
    double factor;
    struct tc__stats stats;
};

struct requests {
    struct series series[SERIES_MAX];
    size_t series_count;
    int64_t completed;
    int64_t errors;
    int64_t first_ns;
    int64_t last_ns;
    bool left_out; /* more metrics than SERIES_MAX */
};

/* ---- collecting ---- */

static void copy_name(char *to, size_t size, struct tc_slice from)
{
    size_t len = from.len < size ? from.len : size - 1;
    if (len > 0) {
        memcpy(to, from.ptr, len);
    }
    to[len] = '\0';
}

/* The series of that name and unit, made when it is new; NULL when there are too many. */
static struct series *series_of(struct requests *q, struct tc_slice name, struct tc_slice unit)
{
    if (name.len == 0 || name.len >= SERIES_NAME_MAX || unit.len >= SERIES_UNIT_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < q->series_count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(q->series[i].name)) &&
            tc_slice_eq(unit, tc_slice_cstr(q->series[i].source_unit))) {
            return &q->series[i];
        }
    }
    if (q->series_count == SERIES_MAX) {
        q->left_out = true;
        return NULL;
    }
    struct series *s = &q->series[q->series_count++];
    copy_name(s->name, sizeof s->name, name);
    copy_name(s->source_unit, sizeof s->source_unit, unit);
    s->unit = s->source_unit;
    s->factor = 1;
    (void)tc_map_unit(unit, &s->unit, &s->factor);
    return s;
}

static void push_metrics(struct requests *q, struct tc_json metrics)
{
    struct tc_json_iter it = tc_json_iter_make(metrics);
    struct tc_slice name;
    struct tc_json metric;
    while (tc_json_iter_next(&it, &name, &metric)) {
        struct tc_json v;
        if (tc_metrics_is_time(name) || tc_slice_eq(name, TC_LIT("request_count")) ||
            !tc_map_at(metric, "value", &v)) {
            continue;
        }
        struct series *s = series_of(q, name, tc_map_string_at(metric, "unit"));
        if (s != NULL) {
            tc__stats_add_json(&s->stats, v, s->factor);
        }
    }
}

static bool first_time(struct tc_json o, const char *paths, int64_t *out)
{
    return tc_map_int_at(o, paths, out) && *out > 0 && *out < TC_TIME_MAX;
}

/* The span of the measurement is that of the requests that succeeded. */
static void take_times(struct requests *q, struct tc_json o)
{
    int64_t start = 0;
    int64_t end = 0;
    double latency_ms = 0;
    if (!first_time(o, "metadata/request_start_ns|metadata/timestamp_ns", &start)) {
        return;
    }
    if (!first_time(o, "metadata/request_end_ns|metrics/max_response_timestamp/value", &end) &&
        tc_map_number_at(o, "metrics/request_latency/value", &latency_ms) && latency_ms >= 0 &&
        latency_ms < 1e12) {
        end = start + (int64_t)(latency_ms * 1e6);
    }
    if (q->first_ns == TC_TIME_NONE || start < q->first_ns) {
        q->first_ns = start;
    }
    if (end > 0 && (q->last_ns == TC_TIME_NONE || end > q->last_ns)) {
        q->last_ns = end;
    }
}

/* A metric of one request in ms; NaN when it is not there, or in a unit that is none of time. */
static double latency_ms(struct tc_json o, const char *metric, const char *value)
{
    struct tc_json m;
    double number = 0;
    double factor = 1;
    const char *unit = "ms";
    if (!tc_map_at(o, metric, &m) || !tc_map_number_at(m, value, &number)) {
        return TC_UNKNOWN;
    }
    struct tc_slice spelling = tc_map_string_at(m, "unit");
    bool known = spelling.len == 0 || tc_map_unit(spelling, &unit, &factor);
    return known && strcmp(unit, "ms") == 0 ? number * factor : TC_UNKNOWN;
}

/* A request of AIPerf that was cancelled is an error with HTTP's 499. */
static void tell_error(struct tc_request *out, struct tc_json o)
{
    struct tc_json v;
    bool was = false;
    bool cancelled =
        (tc_map_at(o, "metadata/was_cancelled", &v) && tc_json_bool(v, &was) && was) ||
        tc_slice_eq(tc_map_string_at(o, "error/type"), TC_LIT("RequestCancellationError"));
    if (tc_map_at(o, "error", &v) || cancelled) {
        out->status = cancelled ? TC_REQUEST_CANCELLED : TC_REQUEST_FAILED;
        out->error = tc_map_string_at(o, "error/message|error/type|error");
    }
}

static int64_t moment_at(struct tc_json o, const char *paths)
{
    int64_t ns = 0;
    return first_time(o, paths, &ns) ? ns : TC_TIME_NONE;
}

static void tell_request(struct tc_result *r, struct tc_json o, const char *where)
{
    struct tc_request out = tc_request_at(where, SIZE_MAX);
    out.id = tc_map_string_at(o, "metadata/x_request_id|metadata/request_id");
    out.started_ns = moment_at(o, "metadata/request_start_ns|metadata/timestamp_ns");
    out.ended_ns = moment_at(o, "metadata/request_end_ns");
    out.ttft_ms = latency_ms(o, "metrics/time_to_first_token|metrics/ttft", "value");
    out.tpot_ms = latency_ms(o, "metrics/inter_token_latency", "value");
    out.e2e_ms = latency_ms(o, "metrics/request_latency", "value");
    out.input_tokens = tc_map_real_at(o, "metrics/input_sequence_length/value");
    out.output_tokens = tc_map_real_at(o, "metrics/output_sequence_length/value");
    if (out.started_ns != TC_TIME_NONE && out.ttft_ms >= 0 && out.ttft_ms < TC_REQUEST_MS_MAX) {
        out.first_token_ns = out.started_ns + (int64_t)(out.ttft_ms * 1e6);
    }
    if (out.started_ns != TC_TIME_NONE && out.ended_ns == TC_TIME_NONE && out.e2e_ms >= 0 &&
        out.e2e_ms < TC_REQUEST_MS_MAX) {
        out.ended_ns = out.started_ns + (int64_t)(out.e2e_ms * 1e6);
    }
    tell_error(&out, o);
    tc_result_request(r, 0, &out);
}

static void take_request(struct requests *q, struct tc_result *r, struct tc_json o,
                         const char *where)
{
    struct tc_slice phase = tc_map_string_at(o, "metadata/benchmark_phase|metadata/credit_phase");
    struct tc_json v;
    if (tc_slice_eq(phase, TC_LIT("warmup"))) {
        return;
    }
    tell_request(r, o, where);
    if (tc_map_at(o, "error", &v)) {
        q->errors++;
    } else if (tc_map_at(o, "metrics", &v)) {
        q->completed++;
        take_times(q, o);
        push_metrics(q, v);
    }
}

/* ---- statistics ---- */

static double sum_of(const struct series *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->stats.count; i++) {
        sum += s->stats.values[i];
    }
    return sum;
}

static double deviation_of(const struct series *s, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < s->stats.count; i++) {
        sum += (s->stats.values[i] - mean) * (s->stats.values[i] - mean);
    }
    return sqrt(sum / (double)s->stats.count);
}

static void put_stat(struct tc_result_row *row, size_t column, const struct series *s,
                     const char *statistic, const char *measures, const char *unit, double value)
{
    char field[SERIES_NAME_MAX + 16];
    (void)snprintf(field, sizeof field, "%s.%s", s->name, statistic);
    tc_map_put(row, column, value, unit, field, measures, NOTE_COMPUTED);
}

/* A series as columns of the row, where it has some. */
static void tell_columns(struct tc_result_row *row, struct series *s)
{
    const struct tc_map_dist *dist = tc_metrics_dist(tc_slice_cstr(s->name));
    if (dist == NULL || tc_result_known(row, dist->column)) {
        return;
    }
    const char *unit = s->unit[0] == '\0' ? "ms" : s->unit;
    if (strcmp(unit, "ms") == 0) {
        tc__result_bound(row, dist->column, &s->stats, 1);
    }
    const char *measures = tc_map_measures(dist->column);
    double mean = tc__stats_mean(&s->stats);
    for (size_t i = TC_STAT_MEAN; i <= TC_STAT_P99; i++) {
        put_stat(row, dist->column + i, s, i == TC_STAT_MEAN ? "avg" : tc_stat_names[i], measures,
                 unit, i == TC_STAT_MEAN ? mean : tc__stats_at(&s->stats, (enum tc_stat)i));
    }
    if (dist->std_column != TC_MAP_NO_COLUMN) {
        put_stat(row, dist->std_column, s, "std", measures, unit, deviation_of(s, mean));
    }
}

static void tell_slice(const struct tc_result_row *serving, struct series *s)
{
    const struct tc_map_dist *dist = tc_metrics_dist(tc_slice_cstr(s->name));
    struct tc_result_row *row =
        tc_map_add_slice(serving->result, serving->where,
                         tc_result_get_text(serving, TC_SERVING_WORKLOAD_POINT), s->name, s->unit);
    tc__stats_slice(&s->stats, row,
                    tc_result_define(serving->result, s->name,
                                     dist == NULL ? s->name : tc_map_measures(dist->column),
                                     s->source_unit, s->unit, NOTE_COMPUTED));
}

/* A sum over the requests, and its rate over the span. */
static void tell_total(struct tc_result_row *row, const struct requests *q, const char *name,
                       size_t total_column, size_t rate_column, double seconds)
{
    for (size_t i = 0; i < q->series_count; i++) {
        const struct series *s = &q->series[i];
        if (s->stats.count == 0 || strcmp(s->name, name) != 0) {
            continue;
        }
        double total = sum_of(s);
        put_stat(row, total_column, s, "sum", "tokens", "tokens", total);
        if (seconds > 0) {
            put_stat(row, rate_column, s, "sum/duration", "token_throughput", "tokens/s",
                     total / seconds);
        }
        return;
    }
}

static void tell_counts(struct tc_result *r, struct tc_result_row *row, const struct requests *q)
{
    const struct tc_definition *lines =
        tc_result_define(r, "lines", "requests", "requests", "requests", "counted by tracecore");
    tc_result_int(row, TC_SERVING_COMPLETED, q->completed, lines);
    tc_result_int(row, TC_SERVING_ERRORS, q->errors, lines);
    tc_result_int(row, TC_SERVING_REQUESTS, q->completed + q->errors, lines);
    double seconds = 0;
    if (q->first_ns != TC_TIME_NONE && q->last_ns > q->first_ns) {
        seconds = (double)(q->last_ns - q->first_ns) / 1e9;
        tc_result_real(row, TC_SERVING_DURATION_S, seconds,
                       tc_result_define(r, "request_end_ns - request_start_ns", "duration", "ns",
                                        "s", "first start to last end of requests that succeeded"));
        tc_result_real(row, TC_SERVING_REQUESTS_PER_S, (double)q->completed / seconds,
                       tc_result_define(r, "lines/duration", "request_throughput", "requests/s",
                                        "requests/s", NOTE_COMPUTED));
    }
    tell_total(row, q, "input_sequence_length", TC_SERVING_INPUT_TOKENS,
               TC_SERVING_INPUT_TOKENS_PER_S, seconds);
    tell_total(row, q, "output_sequence_length", TC_SERVING_OUTPUT_TOKENS,
               TC_SERVING_OUTPUT_TOKENS_PER_S, seconds);
    tc_serving_times(row, q->first_ns, q->last_ns);
}

/* ---- the file ---- */

static tc_status collect(const struct tc_result_input *in, struct requests *q, struct tc_result *r,
                         struct tc_error *err)
{
    struct tc_result_documents docs = {0};
    struct tc_json o;
    tc_status status = TC_OK;
    while ((status = tc_result_next(in, &docs, &o, err)) == TC_OK) {
        take_request(q, r, o, docs.where);
    }
    if (status != TC_E_NOTFOUND) {
        return status;
    }
    for (size_t i = 0; i < q->series_count; i++) {
        if (q->series[i].stats.status != TC_OK) {
            return tc_fail(err, q->series[i].stats.status, 0,
                           "no room for the values of %s over all requests", q->series[i].name);
        }
    }
    if (q->completed + q->errors == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "no request of the profiling phase: nothing was measured");
    }
    return TC_OK;
}

/* A length that all requests have. */
static double same_value(struct requests *q, const char *name)
{
    for (size_t i = 0; i < q->series_count; i++) {
        struct tc__stats *stats = &q->series[i].stats;
        if (stats->count > 0 && strcmp(q->series[i].name, name) == 0 &&
            tc__stats_min(stats) == tc__stats_max(stats)) {
            return tc__stats_min(stats);
        }
    }
    return 0;
}

static void tell(struct tc_result *r, struct requests *q)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", "");
    struct tc_serving_point p = {
        .input_tokens = same_value(q, "input_sequence_length"),
        .output_tokens = same_value(q, "output_sequence_length"),
    };
    (void)tc_serving_set_point(row, &p);
    tell_counts(r, row, q);
    for (size_t i = 0; row != NULL && i < q->series_count; i++) {
        if (q->series[i].stats.count > 0) {
            tell_columns(row, &q->series[i]);
            tell_slice(row, &q->series[i]);
        }
    }
    if (q->left_out) {
        tc_result_note(r, false, "", "metrics", "more than %d metrics: the rest is left out",
                       SERIES_MAX);
    }
    struct tc_serving_common common = {0};
    tc_serving_common_add(&common, &p);
    tc_serving_common_tell(r, &common);
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS, TC_LIT("succeeded"));
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct requests *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the requests of the file");
    }
    q->first_ns = TC_TIME_NONE;
    q->last_ns = TC_TIME_NONE;
    tc_status status = collect(in, q, r, err);
    if (status == TC_OK) {
        tell(r, q);
    }
    for (size_t i = 0; i < q->series_count; i++) {
        tc__stats_fini(&q->series[i].stats);
    }
    free(q);
    return status;
}

const struct tc_reader tc_reader_aiperf_requests = {
    .name = "aiperf-requests",
    .summary = "AIPerf: profile_export.jsonl, one request per line",
    .forms = 1u << TC_RESULT_JSON | 1u << TC_RESULT_LINES,
    .keys =
        {
            {"metadata, metrics{}, "
             "metadata/worker_id|metadata/request_start_ns|metadata/timestamp_ns",
             TC_SNIFF_SURE, TC_OF_FIRST},
        },
    .read = read_file,
};
