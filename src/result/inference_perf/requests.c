/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inference-perf's per_request_lifecycle_metrics: a list of requests, each with its start, end,
 * token times and error, in seconds of a clock of its own. The statistics are computed here, by the
 * formulas that inference-perf uses for its summaries. Older files have tokens and token times in
 * "info" itself, newer ones in "request_metrics" and "response_metrics" of it.
 */
#include "result/requests.h"
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

static bool tokens_at(struct tc_json o, const char *paths, double *out)
{
    double value = 0;
    bool good = tc_map_number_at(o, paths, &value) && value >= 0 && value <= TOKENS_MAX;
    *out = good ? value : 0;
    return good;
}

static tc_status read_tokens(struct requests *q, struct tc_json o, const char *where, double start,
                             double output, struct tc_request *io_request)
{
    struct tc_json times;
    struct tc_json v;
    double first = 0;
    double last = 0;
    size_t count = 0;
    if (!tc_map_at(o, "info/response_metrics/output_token_times|info/output_token_times", &times)) {
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
        io_request->ttft_ms = (first - start) * MS_PER_S;
        io_request->first_token_ns = tc_request_moment(first);
        tc__stats_add(&q->groups[TTFT], io_request->ttft_ms);
        if (output > 1) {
            io_request->tpot_ms = (last - first) * MS_PER_S / (output - 1);
            tc__stats_add(&q->groups[TPOT], io_request->tpot_ms);
        }
    }
    return TC_OK;
}

static tc_status read_request(struct requests *q, struct tc_json o, const char *where)
{
    static const char INPUT[] = "info/request_metrics/text/input_tokens|info/input_tokens|"
                                "computed_metrics/input_tokens";
    static const char OUTPUT[] = "info/response_metrics/output_tokens|info/output_tokens|"
                                 "computed_metrics/output_tokens";
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
    struct tc_request request = tc_request_at(where, SIZE_MAX);
    request.id = tc_map_string_at(o, "request_id|info/request_id");
    request.started_ns = tc_request_moment(start);
    request.ended_ns = tc_request_moment(end);
    if (tc_map_at(o, "error", &error)) {
        request.status = TC_REQUEST_FAILED;
        request.error = tc_map_string_at(o, "error/error_msg|error/error_type|error");
        tc_result_request(q->r, 0, &request);
        q->failed++;
        return TC_OK;
    }
    q->completed++;
    bool has_input = tokens_at(o, INPUT, &input);
    bool has_output = tokens_at(o, OUTPUT, &output);
    q->has_input |= has_input;
    q->has_output |= has_output;
    request.e2e_ms = (end - start) * MS_PER_S;
    request.input_tokens = has_input ? input : TC_UNKNOWN;
    request.output_tokens = has_output ? output : TC_UNKNOWN;
    q->input_tokens += input;
    q->output_tokens += output;
    tc__stats_add(&q->groups[E2E], (end - start) * MS_PER_S);
    if (output > 0) {
        tc__stats_add(&q->groups[NTPOT], (end - start) * MS_PER_S / output);
    }
    TC_TRY(read_tokens(q, o, where, start, output, &request));
    tc_result_request(q->r, 0, &request);
    return TC_OK;
}

/* ---- rows ---- */

static void put_group(struct requests *q, struct tc_result_row *row, enum group g)
{
    struct tc__stats *s = &q->groups[g];
    char field[96];
    if (s->count == 0) {
        return;
    }
    tc__result_bound(row, GROUP_OF[g].column, s, 1);
    for (size_t i = TC_STAT_MEAN; GROUP_OF[g].column != TC_MAP_NO_COLUMN && i <= TC_STAT_P99; i++) {
        (void)snprintf(field, sizeof field, "requests.%s.%s", GROUP_OF[g].field, tc_stat_names[i]);
        tc_result_real(
            row, GROUP_OF[g].column + i, tc__stats_at(s, (enum tc_stat)i),
            tc_result_define(q->r, field, GROUP_OF[g].measures, "s", "ms", GROUP_OF[g].note));
    }
    (void)snprintf(field, sizeof field, "requests.%s", GROUP_OF[g].field);
    tc__stats_slice(
        s, tc_map_add_slice(q->r, S(""), TC_EMPTY, GROUP_OF[g].field, "ms"),
        tc_result_define(q->r, field, GROUP_OF[g].measures, "s", "ms", GROUP_OF[g].note));
}

static void put_number(struct tc_result_row *row, size_t column, double value, const char *field)
{
    const char *unit = tc_table_info(TC_TABLE_SERVING)->columns[column].unit;
    tc_map_put(row, column, value, unit, field, tc_map_measures(column), MADE);
}

static tc_status put_rows(struct requests *q)
{
    struct tc_result_row *row = tc_result_add(q->r, TC_TABLE_SERVING, "%s", "");
    double seconds = q->last - q->first;
    const struct {
        bool known;
        size_t column;
        double value;
        const char *field;
    } numbers[] = {
        {true, TC_SERVING_REQUESTS, (double)(q->completed + q->failed), "requests.count"},
        {true, TC_SERVING_COMPLETED, (double)q->completed, "requests.completed"},
        {true, TC_SERVING_ERRORS, (double)q->failed, "requests.failed"},
        {true, TC_SERVING_DURATION_S, seconds, "requests.duration"},
        {q->has_input && q->input_tokens <= TOKENS_MAX, TC_SERVING_INPUT_TOKENS,
         trunc(q->input_tokens), "requests.input_tokens"},
        {q->has_output && q->output_tokens <= TOKENS_MAX, TC_SERVING_OUTPUT_TOKENS,
         trunc(q->output_tokens), "requests.output_tokens"},
        {seconds > 0, TC_SERVING_REQUESTS_PER_S, (double)q->completed / seconds,
         "requests.completed/duration"},
        {seconds > 0 && q->has_output, TC_SERVING_OUTPUT_TOKENS_PER_S, q->output_tokens / seconds,
         "requests.output_tokens/duration"},
        {seconds > 0 && q->has_input, TC_SERVING_INPUT_TOKENS_PER_S, q->input_tokens / seconds,
         "requests.input_tokens/duration"},
    };
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        if (numbers[i].known) {
            put_number(row, numbers[i].column, numbers[i].value, numbers[i].field);
        }
    }
    for (size_t i = 0; i < GROUPS; i++) {
        if (q->groups[i].status != TC_OK) {
            return tc_fail(q->err, q->groups[i].status, 0, "too many values of %s",
                           GROUP_OF[i].field);
        }
        put_group(q, row, (enum group)i);
    }
    return tc_serving_completed(row, "error", q->err);
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
    .keys =
        {
            {"start_time, end_time, error?, info?|computed_metrics?", TC_SNIFF_SURE, TC_OF_LIST},
        },
    .read = read_file,
};
