/* SPDX-License-Identifier: Apache-2.0 */
#include "result/map_metrics.h"

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

#define NO TC_MAP_NO_COLUMN
#define NOTE_TPOT "per request: (request latency - TTFT) / (output tokens - 1)"
#define NOTE_ITL "per gap between two received chunks, over all requests"

/* Distributions. The units stand beside the values. */
static const struct tc_map_dist DISTS[] = {
    {"time_to_first_token", TC_SERVING_TTFT_MEAN, NO, NULL, "ttft", NULL, NULL},
    {"ttft", TC_SERVING_TTFT_MEAN, NO, NULL, "ttft", NULL, NULL},
    {"inter_token_latency", TC_SERVING_TPOT_MEAN, NO, NULL, "tpot", NOTE_TPOT, NULL},
    {"inter_chunk_latency", TC_SERVING_ITL_MEAN, TC_SERVING_JITTER, NULL, "itl", NOTE_ITL, NULL},
    {"request_latency", TC_SERVING_E2E_MEAN, NO, NULL, "e2e", NULL, NULL},
};

/* Single values: their "avg". */
static const struct {
    const char *name;
    size_t column;
    const char *measures;
    const char *unit; /* where the file names none */
} VALUES[] = {
    {"request_throughput", TC_SERVING_REQUESTS_PER_S, "request_throughput", "requests/sec"},
    {"output_token_throughput", TC_SERVING_OUTPUT_TOKENS_PER_S, "output_throughput", "tokens/sec"},
    {"input_token_throughput", TC_SERVING_INPUT_TOKENS_PER_S, "input_throughput", "tokens/sec"},
    {"total_token_throughput", TC_SERVING_TOTAL_TOKENS_PER_S, "total_throughput", "tokens/sec"},
    {"request_count", TC_SERVING_COMPLETED, "completed", "requests"},
    {"error_request_count", TC_SERVING_ERRORS, "errors", "requests"},
    {"benchmark_duration", TC_SERVING_DURATION_S, "duration", "sec"},
    {"total_isl", TC_SERVING_INPUT_TOKENS, "input_tokens", "tokens"},
    {"total_input_sequence_length", TC_SERVING_INPUT_TOKENS, "input_tokens", "tokens"},
    {"total_osl", TC_SERVING_OUTPUT_TOKENS, "output_tokens", "tokens"},
    {"total_output_sequence_length", TC_SERVING_OUTPUT_TOKENS, "output_tokens", "tokens"},
    {"goodput", TC_SERVING_GOODPUT, "goodput", "requests/sec"},
    {"request_goodput", TC_SERVING_GOODPUT, "goodput", "requests/sec"},
};

const struct tc_map_dist *tc_metrics_dist(struct tc_slice name)
{
    for (size_t i = 0; i < TC_COUNT(DISTS); i++) {
        if (tc_slice_eq(name, tc_slice_cstr(DISTS[i].path))) {
            return &DISTS[i];
        }
    }
    return NULL;
}

bool tc_metrics_put(struct tc_result *r, struct tc_result_row *row, struct tc_slice name,
                    struct tc_slice unit, const double *value, const char *field, const char *note)
{
    for (size_t i = 0; i < TC_COUNT(VALUES); i++) {
        if (!tc_slice_eq(name, tc_slice_cstr(VALUES[i].name))) {
            continue;
        }
        if (value != NULL && !tc_result_known(row, VALUES[i].column)) {
            tc_map_put(r, row, VALUES[i].column, *value,
                       unit.len > 0 ? tc_result_cstr(r, unit) : VALUES[i].unit, field,
                       VALUES[i].measures, note);
        }
        return true;
    }
    return false;
}

/* True when the metric is a single value with a column of its own: its average. */
static bool map_single(struct tc_result *r, struct tc_result_row *row, struct tc_json metric,
                       struct tc_slice name)
{
    char field[96];
    struct tc_buf b = tc_buf_make(field, sizeof field - 1);
    tc_buf_str(&b, name);
    tc_buf_lit(&b, ".avg");
    field[b.len] = '\0';
    double value = 0;
    bool known = tc_map_number_at(metric, "avg", &value);
    return tc_metrics_put(r, row, name, tc_map_string_at(metric, "unit"), known ? &value : NULL,
                          field, NULL);
}

bool tc_metrics_is_time(struct tc_slice name)
{
    return tc_slice_ends(name, TC_LIT("_timestamp"));
}

static bool is_metric(struct tc_json v)
{
    struct tc_json statistic;
    return tc_json_type(v) == TC_JSON_OBJECT &&
           (tc_map_at(v, "avg", &statistic) || tc_map_at(v, "p50", &statistic) ||
            tc_map_at(v, "p99", &statistic));
}

/* "p75" or "p99.9". */
static bool is_percentile(struct tc_slice name)
{
    double p = 0;
    return name.len > 1 && name.ptr[0] == 'p' && tc_map_parse_number(tc_slice_from(name, 1), &p);
}

/* What a latency has besides its columns: other percentiles and the deviation, as slices of their
 * own ("request_latency.p75"). */
static void map_rest(struct tc_result *r, const struct tc_result_row *row, struct tc_slice point,
                     struct tc_json metric, const struct tc_map_dist *dist, bool with_std)
{
    static const char *const COLUMNS[] = {"p50", "p90", "p95", "p99"};
    struct tc_slice given = tc_map_string_at(metric, "unit");
    const char *unit = given.len > 0 ? tc_result_cstr(r, given) : "ms";
    const char *stored = unit;
    double factor = 1;
    (void)tc_map_unit(tc_slice_cstr(unit), &stored, &factor);
    struct tc_json_iter it = tc_json_iter_make(metric);
    struct tc_slice name;
    struct tc_json v;
    double value = 0;
    while (tc_json_iter_next(&it, &name, &v)) {
        bool is_std = with_std && dist->std_column == NO && tc_slice_eq(name, TC_LIT("std"));
        bool has_column = false;
        for (size_t i = 0; i < TC_COUNT(COLUMNS); i++) {
            has_column = has_column || tc_slice_eq(name, tc_slice_cstr(COLUMNS[i]));
        }
        if (has_column || !(is_std || is_percentile(name)) || !tc_map_number(v, &value)) {
            continue;
        }
        char data[128];
        struct tc_buf b = tc_buf_make(data, sizeof data - 1);
        tc_buf_str(&b, tc_slice_cstr(dist->path));
        tc_buf_char(&b, '.');
        tc_buf_str(&b, tc_slice_head(name, 16));
        data[b.len] = '\0';
        tc_map_slice_value(r, row->where, point, data, dist->measures, unit, stored,
                           factor == 1 ? value : value * factor, dist->note);
    }
}

void tc_metrics_map(struct tc_result *r, struct tc_result_row *row, struct tc_slice point,
                    struct tc_json metrics, bool with_std)
{
    struct tc_json_iter it = tc_json_iter_make(metrics);
    struct tc_slice name;
    struct tc_json metric;
    while (row != NULL && tc_json_iter_next(&it, &name, &metric)) {
        if (!is_metric(metric) || tc_slice_find_byte(name, '/') != TC_NPOS ||
            tc_metrics_is_time(name) || map_single(r, row, metric, name)) {
            continue;
        }
        const char *kept = tc_result_cstr(r, name);
        const struct tc_map_dist *known = tc_metrics_dist(name);
        struct tc_map_dist dist = {kept, NO, NO, NULL, kept, NULL, kept};
        if (known != NULL) {
            dist = *known;
            dist.slice = kept;
            dist.unit = tc_map_string_at(metric, "unit").len == 0 ? "ms" : NULL;
            dist.std_column = with_std ? dist.std_column : NO;
        }
        tc_map_dists(r, row, point, metrics, &STYLE, &dist, 1);
        if (known != NULL) {
            map_rest(r, row, point, metric, known, with_std);
        }
    }
}

void tc_metrics_requests(struct tc_result *r, struct tc_result_row *row)
{
    if (row == NULL || !tc_result_known(row, TC_SERVING_COMPLETED) ||
        !tc_result_known(row, TC_SERVING_ERRORS) || tc_result_known(row, TC_SERVING_REQUESTS)) {
        return;
    }
    int64_t requests = 0;
    if (!__builtin_add_overflow(tc_result_get_int(row, TC_SERVING_COMPLETED),
                                tc_result_get_int(row, TC_SERVING_ERRORS), &requests)) {
        tc_result_int(row, TC_SERVING_REQUESTS, requests,
                      tc_result_define(r, "request_count + error_request_count", "requests",
                                       "requests", "requests", "computed by tracecore"));
    }
}

/* ---- CSV ---- */

/* The next field of a line; quotes around it are taken off (none of these files has quotes inside).
 * False at the end of the line. */
static bool next_field(struct tc_slice *io_line, struct tc_slice *out)
{
    if (io_line->ptr == NULL) {
        return false;
    }
    struct tc_slice line = *io_line;
    if (line.len > 0 && line.ptr[0] == '"') {
        size_t end = tc_slice_find_byte(tc_slice_from(line, 1), '"');
        end = end == TC_NPOS ? line.len - 1 : end;
        *out = tc_slice_make(line.ptr + 1, end);
        line = tc_slice_from(line, end + 2);
        *io_line = line.len > 0 && line.ptr[0] == ',' ? tc_slice_from(line, 1) : TC_EMPTY;
        return true;
    }
    size_t comma = tc_slice_find_byte(line, ',');
    *out = comma == TC_NPOS ? line : tc_slice_head(line, comma);
    *io_line = comma == TC_NPOS ? TC_EMPTY : tc_slice_from(line, comma + 1);
    return true;
}

/* "Time to First Token (ms)" as time_to_first_token and ms; "HTTP Waiting (TTFB) (ms)" has the unit
 * in the last ones. */
static void put_name(struct tc_buf *b, struct tc_slice label, struct tc_slice *out_unit)
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
    tc_buf_json(b, tc_buf_slice(&name));
}

/* "1,234.50" without its commas, if that is a number. */
static bool parse_value(struct tc_slice text, double *out)
{
    char data[64];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ',') {
            tc_buf_char(&b, text.ptr[i]);
        }
    }
    return !b.overflowed && tc_map_parse_number(tc_slice_trim(tc_buf_slice(&b)), out);
}

/* One metric of the table whose columns are `names`. */
static void put_metric(struct tc_buf *b, struct tc_slice line, const struct tc_slice *names,
                       size_t count)
{
    struct tc_slice field = TC_EMPTY;
    struct tc_slice unit = TC_EMPTY;
    (void)next_field(&line, &field);
    tc_buf_str(b, b->len > 1 ? TC_LIT(",") : TC_EMPTY);
    put_name(b, field, &unit);
    tc_buf_lit(b, ":{\"unit\":");
    tc_buf_json(b, unit);
    for (size_t i = 1; i < count && next_field(&line, &field); i++) {
        double value = 0;
        if (parse_value(field, &value)) {
            bool single = tc_slice_eq(names[i], TC_LIT("Value"));
            tc_buf_char(b, ',');
            tc_buf_json(b, single ? TC_LIT("avg") : names[i]);
            tc_buf_char(b, ':');
            tc_buf_f64(b, value);
        }
    }
    tc_buf_char(b, '}');
}

static void put_lines(struct tc_buf *b, struct tc_slice text)
{
    struct tc_slice names[CSV_FIELDS_MAX];
    size_t count = 0;
    while (text.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(text, '\n', &text));
        if (tc_slice_starts(line, TC_LIT("Metric,"))) {
            for (count = 0; count < CSV_FIELDS_MAX && next_field(&line, &names[count]);) {
                count++;
            }
        } else if (line.len == 0) {
            /* Between the tables; what follows the last one has another head. */
            count = 0;
        } else if (count > 0) {
            put_metric(b, line, names, count);
        }
    }
}

tc_status tc_metrics_csv(struct tc_slice text, char **out_json, size_t *out_len,
                         struct tc_error *err)
{
    size_t size = text.len * CSV_JSON_FACTOR + CSV_JSON_MORE;
    char *json = malloc(size);
    if (json == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %zu bytes", size);
    }
    struct tc_buf b = tc_buf_make(json, size);
    tc_buf_char(&b, '{');
    put_lines(&b, text);
    tc_buf_char(&b, '}');
    if (b.overflowed) {
        free(json);
        return tc_fail(err, TC_E_MALFORMED, 0, "the CSV has more fields than its heads name");
    }
    *out_json = json;
    *out_len = b.len;
    return TC_OK;
}
