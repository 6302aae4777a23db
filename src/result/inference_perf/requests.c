/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inference-perf's per_request_lifecycle_metrics: a list of requests, each with its start, end,
 * token times and error, in seconds of a clock of its own. The statistics are computed here, by the
 * formulas that inference-perf uses for its summaries. Older files have tokens and token times in
 * "info" itself, newer ones in "request_metrics" and "response_metrics" of it.
 */
#include "codec/codec.h"
#include "result/map_serving.h"
#include "result/stats_priv.h"

#include <math.h>
#include <stdio.h>

#define S(literal) TC_LIT(literal)

#define MADE "computed by tracecore over the requests"
#define MS_PER_S 1000.0
/* A number of tokens beyond this is none. */
#define TOKENS_MAX 1e12

enum group { TTFT, TPOT, ITL, E2E, NTPOT, GROUPS };

static const struct {
    const char *field;
    const char *measures;
    const char *note;
    size_t column;
} GROUP_OF[GROUPS] = {
    {"time_to_first_token", "ttft", MADE, TC_SERVING_TTFT_MEAN},
    {"time_per_output_token", "tpot",
     "per request: (last token - first token) / (output tokens - 1); " MADE, TC_SERVING_TPOT_MEAN},
    {"inter_token_latency", "itl", "per gap between two output tokens, over all requests; " MADE,
     TC_SERVING_ITL_MEAN},
    {"request_latency", "e2e", MADE, TC_SERVING_E2E_MEAN},
    {"normalized_time_per_output_token", "normalized_tpot",
     "per request: end-to-end latency / output tokens; " MADE, TC_MAP_NO_COLUMN},
};

struct requests {
    struct tc_result *r;
    struct tc_error *err;
    struct tc__stats groups[GROUPS];
    int64_t completed;
    int64_t failed;
    double input_tokens;
    double output_tokens;
    bool has_input;
    bool has_output;
    double first;
    double last;
};

static int sniff(const struct tc_result_input *in)
{
    struct tc_json o = tc_result_first(in);
    struct tc_json v;
    if (tc_json_type(in->root) != TC_JSON_ARRAY || !tc_map_at(o, "start_time", &v) ||
        !tc_map_at(o, "end_time", &v) || !tc_json_get(o, S("error"), &v)) {
        return TC_SNIFF_NO;
    }
    return tc_json_get(o, S("info"), &v) || tc_json_get(o, S("computed_metrics"), &v)
               ? TC_SNIFF_SURE
               : TC_SNIFF_NO;
}

/* The first of several places that has a number of tokens. */
static bool tokens_at(struct tc_json o, const char *const *paths, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        if (tc_map_number_at(o, paths[i], &value) && value >= 0 && value <= TOKENS_MAX) {
            *out = value;
            return true;
        }
    }
    return false;
}

static tc_status read_tokens(struct requests *q, struct tc_json o, const char *where, double start,
                             double output)
{
    struct tc_json times;
    struct tc_json v;
    double first = 0;
    double last = 0;
    size_t count = 0;
    if (!tc_map_at(o, "info/response_metrics/output_token_times", &times) &&
        !tc_map_at(o, "info/output_token_times", &times)) {
        return TC_OK;
    }
    struct tc_json_iter it = tc_json_iter_make(times);
    while (tc_json_iter_next(&it, NULL, &v)) {
        double at = 0;
        if (!tc_map_number(v, &at)) {
            return tc_fail(q->err, TC_E_MALFORMED, 0, "%s/info/output_token_times/%zu: no number",
                           where, count);
        }
        if (count == 0) {
            first = at;
        } else {
            tc__stats_add(&q->groups[ITL], (at - last) * MS_PER_S);
        }
        if (count > 0 && at < last) {
            tc_result_note(q->r, true, where, "output_token_times",
                           "a token came %.6f s before the one before it", last - at);
        }
        last = at;
        count++;
    }
    /* As inference-perf has it: one token alone says nothing of a stream. */
    if (count > 1) {
        tc__stats_add(&q->groups[TTFT], (first - start) * MS_PER_S);
        if (output > 1) {
            tc__stats_add(&q->groups[TPOT], (last - first) * MS_PER_S / (output - 1));
        }
    }
    return TC_OK;
}

static tc_status read_request(struct requests *q, struct tc_json o, const char *where)
{
    static const char *const inputs[] = {"info/request_metrics/text/input_tokens",
                                         "info/input_tokens", "computed_metrics/input_tokens"};
    static const char *const outputs[] = {"info/response_metrics/output_tokens",
                                          "info/output_tokens", "computed_metrics/output_tokens"};
    struct tc_json error;
    double start = 0;
    double end = 0;
    double input = 0;
    double output = 0;
    if (!tc_map_number_at(o, "start_time", &start) || !tc_map_number_at(o, "end_time", &end)) {
        return tc_fail(q->err, TC_E_MALFORMED, 0, "%s: start_time and end_time are needed", where);
    }
    if (end < start) {
        tc_result_note(q->r, true, where, "end_time", "end_time is %.6f s before start_time",
                       start - end);
    }
    bool is_first = q->completed + q->failed == 0;
    q->first = is_first || start < q->first ? start : q->first;
    q->last = is_first || end > q->last ? end : q->last;
    if (tc_map_at(o, "error", &error)) {
        q->failed++;
        return TC_OK;
    }
    q->completed++;
    if (tokens_at(o, inputs, TC_COUNT(inputs), &input)) {
        q->input_tokens += input;
        q->has_input = true;
    }
    if (tokens_at(o, outputs, TC_COUNT(outputs), &output)) {
        q->output_tokens += output;
        q->has_output = true;
    }
    tc__stats_add(&q->groups[E2E], (end - start) * MS_PER_S);
    if (output > 0) {
        tc__stats_add(&q->groups[NTPOT], (end - start) * MS_PER_S / output);
    }
    return read_tokens(q, o, where, start, output);
}

/* ---- rows ---- */

static void put_group(struct requests *q, struct tc_result_row *row, enum group g)
{
    static const double points[] = {0.5, 0.9, 0.95, 0.99};
    static const char *const names[] = {"p50", "p90", "p95", "p99"};
    struct tc__stats *s = &q->groups[g];
    char field[96];
    if (s->count == 0) {
        return;
    }
    (void)snprintf(field, sizeof field, "requests.%s.mean", GROUP_OF[g].field);
    const struct tc_definition *mean =
        tc_result_define(q->r, field, GROUP_OF[g].measures, "s", "ms", GROUP_OF[g].note);
    if (GROUP_OF[g].column != TC_MAP_NO_COLUMN) {
        tc_result_real(row, GROUP_OF[g].column, tc__stats_mean(s), mean);
        for (size_t i = 0; i < TC_COUNT(points); i++) {
            (void)snprintf(field, sizeof field, "requests.%s.%s", GROUP_OF[g].field, names[i]);
            tc_result_real(
                row, GROUP_OF[g].column + 1 + i, tc__stats_percentile(s, points[i]),
                tc_result_define(q->r, field, GROUP_OF[g].measures, "s", "ms", GROUP_OF[g].note));
        }
    }
    struct tc_result_row *slice = tc_result_add(q->r, TC_TABLE_SLICE, "%s", "");
    (void)snprintf(field, sizeof field, "requests.%s", GROUP_OF[g].field);
    tc_result_text(slice, TC_SLICE_METRIC, tc_slice_cstr(GROUP_OF[g].field));
    tc_result_text(slice, TC_SLICE_UNIT, S("ms"));
    tc__stats_slice(
        s, slice, tc_result_define(q->r, field, GROUP_OF[g].measures, "s", "ms", GROUP_OF[g].note));
}

static void put_number(struct requests *q, struct tc_result_row *row, size_t column, double value,
                       const char *field, const char *measures)
{
    const struct tc_column *c = &tc_table_info(TC_TABLE_SERVING)->columns[column];
    const struct tc_definition *d = tc_result_define(q->r, field, measures, c->unit, c->unit, MADE);
    if (c->type == TC_COLUMN_INT) {
        tc_result_int(row, column, (int64_t)value, d);
    } else {
        tc_result_real(row, column, value, d);
    }
}

static tc_status put_rows(struct requests *q)
{
    struct tc_result_row *row = tc_result_add(q->r, TC_TABLE_SERVING, "%s", "");
    double seconds = q->last - q->first;
    put_number(q, row, TC_SERVING_REQUESTS, (double)(q->completed + q->failed), "requests.count",
               "requests");
    put_number(q, row, TC_SERVING_COMPLETED, (double)q->completed, "requests.completed",
               "completed");
    put_number(q, row, TC_SERVING_ERRORS, (double)q->failed, "requests.failed", "errors");
    put_number(q, row, TC_SERVING_DURATION_S, seconds, "requests.duration", "duration");
    if (q->has_input && q->input_tokens <= TOKENS_MAX) {
        put_number(q, row, TC_SERVING_INPUT_TOKENS, q->input_tokens, "requests.input_tokens",
                   "input_tokens");
    }
    if (q->has_output && q->output_tokens <= TOKENS_MAX) {
        put_number(q, row, TC_SERVING_OUTPUT_TOKENS, q->output_tokens, "requests.output_tokens",
                   "output_tokens");
    }
    if (seconds > 0) {
        put_number(q, row, TC_SERVING_REQUESTS_PER_S, (double)q->completed / seconds,
                   "requests.completed/duration", "request_throughput");
        if (q->has_output) {
            put_number(q, row, TC_SERVING_OUTPUT_TOKENS_PER_S, q->output_tokens / seconds,
                       "requests.output_tokens/duration", "output_throughput");
        }
        if (q->has_input) {
            put_number(q, row, TC_SERVING_INPUT_TOKENS_PER_S, q->input_tokens / seconds,
                       "requests.input_tokens/duration", "input_throughput");
        }
    }
    for (size_t i = 0; i < GROUPS; i++) {
        if (q->groups[i].status != TC_OK) {
            return tc_fail(q->err, q->groups[i].status, 0, "too many values of %s",
                           GROUP_OF[i].field);
        }
        put_group(q, row, (enum group)i);
    }
    return tc_serving_require_completed(row, "error", q->err);
}

static tc_status read_all(struct requests *q, const struct tc_result_input *in)
{
    struct tc_result_documents docs = {0};
    struct tc_json o;
    tc_status status = TC_OK;
    while ((status = tc_result_next(in, &docs, &o, q->err)) == TC_OK) {
        TC_TRY(read_request(q, o, docs.where));
    }
    return status == TC_E_NOTFOUND ? put_rows(q) : status;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct requests q = {.r = r, .err = err};
    tc_status status = read_all(&q, in);
    for (size_t i = 0; i < GROUPS; i++) {
        tc__stats_fini(&q.groups[i]);
    }
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("inference"));
    return status;
}

const struct tc_reader tc_reader_inference_perf_requests = {
    .name = "inference-perf-requests",
    .summary = "inference-perf per-request lifecycle metrics (JSON list of requests)",
    .forms = 1u << TC_RESULT_JSON,
    .sniff = sniff,
    .read = read_file,
};
