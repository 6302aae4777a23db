/* SPDX-License-Identifier: Apache-2.0 */
#include "run/result_map_serving.h"

#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define POINT_MAX 512

struct tc_slice tc_serving_set_point(struct tc_result *r, struct tc_result_row *row,
                                     const struct tc_serving_point *point)
{
    char data[POINT_MAX];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    if (point->input_tokens > 0) {
        tc_map_point_number(&b, "in", point->input_tokens);
    }
    if (point->output_tokens > 0) {
        tc_map_point_number(&b, "out", point->output_tokens);
    }
    tc_map_point_text(&b, "dataset", point->dataset);
    if (point->more.len > 0) {
        tc_buf_str(&b, b.len > 0 ? TC_LIT(" ") : TC_EMPTY);
        tc_buf_str(&b, point->more);
    }
    tc_result_text(r, row, TC_SERVING_WORKLOAD_POINT, tc_buf_slice(&b));
    return row == NULL ? TC_EMPTY : row->cells[TC_SERVING_WORKLOAD_POINT].text;
}

void tc_serving_common_add(struct tc_serving_common *c, const struct tc_serving_point *point)
{
    char dataset[sizeof c->dataset];
    (void)snprintf(dataset, sizeof dataset, "%.*s", TC_FMT(point->dataset));
    if (c->rows++ == 0) {
        c->input_tokens = point->input_tokens;
        c->output_tokens = point->output_tokens;
        memcpy(c->dataset, dataset, sizeof dataset);
        return;
    }
    c->input_differs = c->input_differs || c->input_tokens != point->input_tokens;
    c->output_differs = c->output_differs || c->output_tokens != point->output_tokens;
    c->dataset_differs = c->dataset_differs || strcmp(c->dataset, dataset) != 0;
}

/* A length as the distribution that it is. */
static void tell_length(struct tc_result *r, size_t column, double tokens)
{
    char data[64];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_buf_lit(&b, "{\"mean\":");
    tc_buf_f64(&b, tokens);
    tc_buf_lit(&b, "}");
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, column, tc_buf_slice(&b));
}

void tc_serving_common_tell(struct tc_result *r, const struct tc_serving_common *c)
{
    if (!c->input_differs && c->input_tokens > 0) {
        tell_length(r, TC_WORKLOAD_PROMPT_TOKENS, c->input_tokens);
    }
    if (!c->output_differs && c->output_tokens > 0) {
        tell_length(r, TC_WORKLOAD_OUTPUT_TOKENS, c->output_tokens);
    }
    if (!c->dataset_differs) {
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DATASET, tc_slice_cstr(c->dataset));
    }
}

void tc_serving_load(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                     const char *concurrency, const char *rate)
{
    double value = 0;
    bool limited = tc_map_number_at(object, concurrency, &value);
    if (limited) {
        tc_result_real(row, TC_SERVING_CONCURRENCY, value, NULL);
    }
    bool paced = tc_map_number_at(object, rate, &value);
    if (paced) {
        tc_result_real(row, TC_SERVING_REQUEST_RATE, value, NULL);
    }
    struct tc_json stated;
    if (limited || paced || tc_map_at(object, rate, &stated)) {
        const char *model = paced ? "open_loop" : limited ? "closed_loop" : "burst";
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL,
                            tc_slice_cstr(model));
    }
}

void tc_serving_times(struct tc_result *r, struct tc_result_row *row, int64_t started_ns,
                      int64_t ended_ns)
{
    tc_result_time(row, TC_SERVING_STARTED, started_ns);
    tc_result_time(row, TC_SERVING_ENDED, ended_ns);
    tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_STARTED, started_ns);
    tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_ENDED, ended_ns);
}

void tc_serving_drop_zero(struct tc_result *r, struct tc_result_row *row, size_t mean_column)
{
    if (row == NULL || !row->cells[mean_column].known || row->cells[mean_column].real != 0) {
        return;
    }
    char where[64];
    (void)snprintf(where, sizeof where, "%.*s", TC_FMT(row->where));
    const struct tc_definition *d = row->cells[mean_column].definition;
    tc_result_note(r, false, where, d == NULL ? "" : d->field,
                   "a mean of 0 stands for nothing measured: unknown, with its percentiles");
    for (size_t i = 0; i <= TC_STAT_P99; i++) {
        row->cells[mean_column + i] = (struct tc_result_cell){.known = false};
    }
}

tc_status tc_serving_require_completed(const struct tc_result_row *row, const char *field,
                                       struct tc_error *err)
{
    if (row == NULL) {
        return TC_OK;
    }
    const struct tc_result_cell *completed = &row->cells[TC_SERVING_COMPLETED];
    if (!completed->known) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%.*s: no number of completed requests in '%s'",
                       TC_FMT(row->where), field);
    }
    if (completed->integer == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%.*s: '%s' is 0: no request succeeded, so nothing was measured",
                       TC_FMT(row->where), field);
    }
    return TC_OK;
}
