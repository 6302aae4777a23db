/* SPDX-License-Identifier: Apache-2.0 */
#include "result/map_aiperf.h"

#include "base/json/out.h"
#include "result/lines_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A metric has few statistics, a line of the CSV few fields. */
#define CSV_FIELDS_MAX 64
/* The JSON of a CSV: every field with quotes and a name. */
#define CSV_JSON_FACTOR 8
#define CSV_JSON_MORE 256

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"avg"},
              [TC_STAT_P50] = {"p50"},
              [TC_STAT_P90] = {"p90"},
              [TC_STAT_P95] = {"p95"},
              [TC_STAT_P99] = {"p99"},
              [TC_STAT_MIN] = {"min"},
              [TC_STAT_MAX] = {"max"},
              [TC_STAT_STD] = {"std"},
              [TC_STAT_COUNT] = {"count"}},
};

#define NOTE_TPOT "per request: (request latency - TTFT) / (output tokens - 1)"
#define NOTE_ITL "per gap between two received chunks, over all requests"

/* Distributions. The units stand beside the values. */
static const struct tc_map_dist DISTS[] = {
    TC_DIST("time_to_first_token", TTFT, NULL, NULL, NULL),
    TC_DIST("ttft", TTFT, NULL, NULL, NULL),
    TC_DIST("inter_token_latency", TPOT, NULL, NOTE_TPOT, NULL),
    TC_DIST_ITL("inter_chunk_latency", NULL, NOTE_ITL),
    TC_DIST("request_latency", E2E, NULL, NULL, NULL),
};

/* Single values: their "avg". The unit of the file, where it names one, comes before the column's.
 */
static const struct tc_fact VALUES[] = {
    TC_VALUE_IN("request_throughput", REQUESTS_PER_S, "requests/sec"),
    TC_VALUE_IN("output_token_throughput", OUTPUT_TOKENS_PER_S, "tokens/sec"),
    TC_VALUE_IN("input_token_throughput", INPUT_TOKENS_PER_S, "tokens/sec"),
    TC_VALUE_IN("total_token_throughput", TOTAL_TOKENS_PER_S, "tokens/sec"),
    TC_VALUE_IN("request_count", COMPLETED, "requests"),
    TC_VALUE_IN("error_request_count", ERRORS, "requests"),
    TC_VALUE_IN("benchmark_duration", DURATION_S, "sec"),
    TC_VALUE_IN("total_isl", INPUT_TOKENS, "tokens"),
    TC_VALUE_IN("total_input_sequence_length", INPUT_TOKENS, "tokens"),
    TC_VALUE_IN("total_osl", OUTPUT_TOKENS, "tokens"),
    TC_VALUE_IN("total_output_sequence_length", OUTPUT_TOKENS, "tokens"),
    TC_VALUE_IN("goodput", GOODPUT, "requests/sec"),
    TC_VALUE_IN("request_goodput", GOODPUT, "requests/sec"),
    TC_FACTS_END,
};

const struct tc_map_dist *tc_metrics_dist(struct tc_slice name)
{
    size_t i = tc_slice_row(name, DISTS, path);
    return i < TC_COUNT(DISTS) ? &DISTS[i] : NULL;
}

bool tc_metrics_put(struct tc_result_row *row, struct tc_slice name, struct tc_slice unit,
                    const double *value, const char *field, const char *note)
{
    for (const struct tc_fact *v = VALUES; v->path != NULL; v++) {
        if (!tc_slice_eq(name, tc_slice_cstr(v->path))) {
            continue;
        }
        if (value != NULL && !tc_result_known(row, v->column)) {
            tc_map_put(row, v->column, *value,
                       unit.len > 0 ? tc_result_cstr(row->result, unit) : v->unit, field,
                       tc_map_measures(v->column), note);
        }
        return true;
    }
    return false;
}

/* True when the metric is a single value with a column of its own: its average. */
static bool map_single(struct tc_result_row *row, struct tc_json metric, struct tc_slice name)
{
    char field[96];
    struct tc_buf b = tc_buf_make(field, sizeof field - 1);
    (void)tc_format(&b, "{}.avg", name);
    field[b.len] = '\0';
    double value = 0;
    bool known = tc_map_number_at(metric, "avg", &value);
    return tc_metrics_put(row, name, tc_map_string_at(metric, "unit"), known ? &value : NULL, field,
                          NULL);
}

bool tc_metrics_is_time(struct tc_slice name)
{
    return tc_slice_ends(name, TC_LIT("_timestamp"));
}

static bool is_metric(struct tc_json v)
{
    struct tc_json statistic;
    return tc_json_type(v) == TC_JSON_OBJECT && tc_map_at(v, "avg|p50|p99", &statistic);
}

/* "p75" or "p99.9". */
static bool is_percentile(struct tc_slice name)
{
    double p = 0;
    return name.len > 1 && name.ptr[0] == 'p' && tc_map_parse_number(tc_slice_from(name, 1), &p);
}

/* What a latency has besides its columns: other percentiles and the deviation, as slices of their
 * own ("request_latency.p75"). */
static void map_rest(const struct tc_result_row *row, struct tc_slice point, struct tc_json metric,
                     const struct tc_map_dist *dist, bool with_std)
{
    struct tc_slice given = tc_map_string_at(metric, "unit");
    const char *unit = given.len > 0 ? tc_result_cstr(row->result, given) : "ms";
    struct tc_json_iter it = tc_json_iter_make(metric);
    struct tc_slice name;
    struct tc_json v;
    double value = 0;
    while (tc_json_iter_next(&it, &name, &v)) {
        bool is_std =
            with_std && dist->std_column == TC_MAP_NO_COLUMN && tc_slice_eq(name, TC_LIT("std"));
        bool has_column = false;
        for (size_t i = TC_STAT_P50; i <= TC_STAT_P99; i++) {
            has_column = has_column || tc_slice_eq(name, tc_slice_cstr(tc_stat_names[i]));
        }
        if (has_column || !(is_std || is_percentile(name)) || !tc_map_number(v, &value)) {
            continue;
        }
        char field[128];
        (void)snprintf(field, sizeof field, "%s.%.*s", dist->path, TC_FMT(tc_slice_head(name, 16)));
        tc_map_slice_number(row->result, row->where, point, field, tc_map_measures(dist->column),
                            unit, value, dist->note);
    }
}

void tc_metrics_map(struct tc_result_row *row, struct tc_slice point, struct tc_json metrics,
                    bool with_std)
{
    struct tc_json_iter it = tc_json_iter_make(metrics);
    struct tc_slice name;
    struct tc_json metric;
    while (row != NULL && tc_json_iter_next(&it, &name, &metric)) {
        if (!is_metric(metric) || tc_slice_find_byte(name, '/') != TC_NPOS ||
            tc_metrics_is_time(name) || map_single(row, metric, name)) {
            continue;
        }
        const char *kept = tc_result_cstr(row->result, name);
        const struct tc_map_dist *known = tc_metrics_dist(name);
        struct tc_map_dist dist = TC_DIST_SLICE(kept, NULL, kept, NULL, kept);
        if (known != NULL) {
            dist = *known;
            dist.slice = kept;
            dist.unit = tc_map_string_at(metric, "unit").len == 0 ? "ms" : NULL;
            dist.std_column = with_std ? dist.std_column : TC_MAP_NO_COLUMN;
        }
        tc_map_dists(row, point, metrics, &STYLE, &dist, 1);
        if (known != NULL) {
            map_rest(row, point, metric, known, with_std);
        }
    }
}

void tc_metrics_requests(struct tc_result_row *row)
{
    int64_t requests = 0;
    if (tc_result_known(row, TC_SERVING_COMPLETED) && tc_result_known(row, TC_SERVING_ERRORS) &&
        !tc_result_known(row, TC_SERVING_REQUESTS) &&
        !__builtin_add_overflow(tc_result_get_int(row, TC_SERVING_COMPLETED),
                                tc_result_get_int(row, TC_SERVING_ERRORS), &requests)) {
        tc_result_int(row, TC_SERVING_REQUESTS, requests,
                      tc_result_define(row->result, "request_count + error_request_count",
                                       "requests", "requests", "requests",
                                       "computed by tracecore"));
    }
}

/* ---- CSV ---- */

/* "Time to First Token (ms)" as time_to_first_token and ms; "HTTP Waiting (TTFB) (ms)" has the unit
 * in the last ones. Of one GPU: "gpu_power_usage.gpu0". */
static void put_name(struct tc_json_out *j, struct tc_slice label, struct tc_slice gpu,
                     struct tc_slice *out_unit)
{
    const char *last = label.len == 0 ? NULL : memrchr(label.ptr, '(', label.len);
    *out_unit = TC_EMPTY;
    if (last != NULL && tc_slice_ends(label, TC_LIT(")"))) {
        size_t open = (size_t)(last - label.ptr);
        *out_unit = tc_slice_make(label.ptr + open + 1, label.len - open - 2);
        label = tc_slice_trim(tc_slice_head(label, open));
    }
    char data[128];
    struct tc_buf name = tc_buf_make(data, sizeof data);
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i];
        tc_buf_char(&name, c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    tc_buf_str(&name, gpu.len > 0 ? TC_LIT(".") : TC_EMPTY);
    tc_buf_str(&name, gpu);
    tc_json_key_str(j, tc_buf_slice(&name));
}

/* One metric of the table whose columns are `names`. */
static void put_metric(struct tc_json_out *j, struct tc_slice line, const struct tc_slice *names,
                       size_t count)
{
    struct tc_slice label = TC_EMPTY;
    struct tc_slice field = TC_EMPTY;
    struct tc_slice gpu = TC_EMPTY;
    struct tc_slice unit = TC_EMPTY;
    size_t first = 1;
    (void)tc__csv_field(&line, &label);
    if (count > 1 && tc_slice_eq(names[1], TC_LIT("GPU"))) {
        (void)tc__csv_field(&line, &gpu);
        first = 2;
    }
    put_name(j, label, gpu, &unit);
    tc_json_add_object(j);
    tc_json_put_str(j, "unit", unit);
    for (size_t i = first; i < count && tc__csv_field(&line, &field); i++) {
        double value = 0;
        if (tc__csv_number(field, &value)) {
            bool single = tc_slice_eq(names[i], TC_LIT("Value"));
            tc_json_key_str(j, single ? TC_LIT("avg") : names[i]);
            tc_json_add_f64(j, value);
        }
    }
    tc_json_end_object(j);
}

static void put_lines(struct tc_json_out *j, struct tc_slice text)
{
    struct tc_slice names[CSV_FIELDS_MAX];
    size_t count = 0;
    while (text.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(text, '\n', &text));
        if (tc_slice_starts(line, TC_LIT("Metric,"))) {
            for (count = 0; count < CSV_FIELDS_MAX && tc__csv_field(&line, &names[count]);) {
                count++;
            }
        } else if (line.len == 0) {
            /* Between the tables; what follows the last one has another head. */
            count = 0;
        } else if (count > 0) {
            put_metric(j, line, names, count);
        }
    }
}

tc_status tc_metrics_read(const struct tc_result_input *in, struct tc_result *r,
                          tc_status (*read)(struct tc_result *r, struct tc_json root,
                                            struct tc_error *err),
                          struct tc_error *err)
{
    if (in->form != TC_RESULT_TEXT) {
        return read(r, in->root, err);
    }
    size_t size = in->bytes.len * CSV_JSON_FACTOR + CSV_JSON_MORE;
    char *json = malloc(size);
    if (json == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %zu bytes", size);
    }
    struct tc_buf b = tc_buf_make(json, size);
    struct tc_json root;
    struct tc_json_out j = tc_json_object_make(&b);
    put_lines(&j, in->bytes);
    tc_json_end_object(&j);
    tc_status status = b.overflowed ? tc_fail(err, TC_E_MALFORMED, 0,
                                              "the CSV has more fields than its heads name")
                                    : tc_json_parse(in->parser, tc_buf_slice(&b), &root, err);
    if (status == TC_OK) {
        status = read(r, root, err);
    }
    free(json);
    return status;
}
