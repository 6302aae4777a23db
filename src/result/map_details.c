/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of vLLM's --save-detailed and SGLang's --output-details: one element per request, in
 * seconds. They give the requests, the percentiles that the summary lacks, and the number of
 * failures where the summary does not count them. A request that has no latency of its own took as
 * long as its first token and the gaps behind it.
 */
#include "base/time.h"
#include "result/map_serving.h"
#include "result/requests.h"
#include "result/stats_priv.h"

#include <stdio.h>

#define NOTE_COMPUTED "computed by tracecore over the requests that succeeded"

#define MS_PER_S 1000.0

/* A list that may not be there. */
struct list {
    bool there;
    bool ended; /* before the first list did */
    const char *name;
    struct tc_json_iter it;
};

/* The lists, walked side by side, and what they hold. */
struct details {
    struct list ttfts;
    struct list itls;
    struct list latencies;
    struct list lengths;
    struct list errors;
    struct list inputs;
    struct list starts;
    const struct tc_result_row *row;
    char where[160];
    int64_t requests;
    int64_t failed;
    struct tc__stats ttft;
    struct tc__stats itl;
    struct tc__stats e2e;
    struct tc__stats tpot;
};

static struct list list_of(struct tc_json o, const char *key)
{
    struct list list = {.name = key};
    struct tc_json v;
    if (tc_map_at(o, key, &v) && tc_json_type(v) == TC_JSON_ARRAY) {
        list.there = true;
        list.it = tc_json_iter_make(v);
    }
    return list;
}

static bool next(struct list *list, struct tc_json *out)
{
    if (!list->there || list->ended) {
        return false;
    }
    list->ended = !tc_json_iter_next(&list->it, NULL, out);
    return !list->ended;
}

/* NaN when there is none. */
static double next_number(struct list *list)
{
    struct tc_json v;
    double value = 0;
    return next(list, &v) && tc_map_number(v, &value) ? value : TC_UNKNOWN;
}

/* What the lists say of one request; NaN: nothing. */
struct request {
    double ttft;
    double latency;
    double input;
    double length;
    double start;
    struct tc_json gaps;
    bool has_gaps;
    struct tc_slice error;
    bool failed;
};

static double sum_of(struct tc_json gaps)
{
    struct tc_json_iter it = tc_json_iter_make(gaps);
    struct tc_json v;
    double sum = 0;
    double value = 0;
    while (tc_json_iter_next(&it, NULL, &v)) {
        sum += tc_map_number(v, &value) ? value : 0;
    }
    return sum;
}

static void tell_request(const struct details *d, const struct request *q)
{
    struct tc_request out = tc_request_at(d->where, (size_t)d->requests - 1);
    double latency = q->latency;
    out.error = q->error;
    out.status = q->failed ? TC_REQUEST_FAILED : TC_REQUEST_SUCCEEDED;
    out.input_tokens = q->input;
    out.started_ns = tc_request_moment(q->start);
    if (!q->failed) {
        bool is_list = q->has_gaps && tc_json_type(q->gaps) == TC_JSON_ARRAY;
        latency = isnan(latency) && is_list ? q->ttft + sum_of(q->gaps) : latency;
        out.output_tokens = q->length;
        out.ttft_ms = q->ttft * MS_PER_S;
        out.e2e_ms = latency * MS_PER_S;
        out.tpot_ms = q->length > 1 ? (latency - q->ttft) * MS_PER_S / (q->length - 1) : TC_UNKNOWN;
        out.first_token_ns = tc_request_moment(q->start + q->ttft);
        out.ended_ns = tc_request_moment(q->start + latency);
    }
    tc_result_request(d->row->result, d->row->at, &out);
}

/* One request; false at the end of the first list. */
static bool take_request(struct details *d)
{
    struct tc_json v;
    struct request q = {.ttft = TC_UNKNOWN, .error = TC_EMPTY};
    if (!next(&d->ttfts, &v)) {
        return false;
    }
    d->requests++;
    bool has_ttft = tc_map_number(v, &q.ttft);
    q.has_gaps = next(&d->itls, &q.gaps);
    q.latency = next_number(&d->latencies);
    q.length = next_number(&d->lengths);
    q.input = next_number(&d->inputs);
    q.start = next_number(&d->starts);
    if (next(&d->errors, &v)) {
        (void)tc_json_string(v, &q.error);
    }
    /* Where the errors are not told, 0 is the mark of a request that gave nothing. */
    q.failed = q.error.len > 0 || !has_ttft || (q.ttft == 0 && !d->errors.there);
    tell_request(d, &q);
    if (q.failed) {
        d->failed++;
        return true;
    }
    tc__stats_add(&d->ttft, q.ttft);
    if (q.has_gaps) {
        tc__stats_add_json(&d->itl, q.gaps, 1);
    }
    if (!isnan(q.latency)) {
        tc__stats_add(&d->e2e, q.latency);
    }
    if (!isnan(q.latency) && q.length > 1) {
        tc__stats_add(&d->tpot, (q.latency - q.ttft) / (q.length - 1));
    }
    return true;
}

/* Lists that are not as long as the first one: which request a value is of is not certain then. */
static void note_lengths(struct details *d)
{
    struct list *const all[] = {&d->itls,   &d->latencies, &d->lengths,
                                &d->errors, &d->inputs,    &d->starts};
    struct tc_json v;
    for (size_t i = 0; i < TC_COUNT(all); i++) {
        if (all[i]->there && (all[i]->ended || next(all[i], &v))) {
            tc_result_note(d->row->result, false, d->row->where, all[i]->name,
                           "has %s values than ttfts, which has %lld",
                           all[i]->ended ? "fewer" : "more", (long long)d->requests);
        }
    }
}

static void fill(struct tc_result_row *row, struct tc__stats *stats, size_t mean_column,
                 const char *list)
{
    tc__result_bound(row, mean_column, stats, MS_PER_S);
    for (size_t i = TC_STAT_MEAN; stats->count > 0 && i <= TC_STAT_P99; i++) {
        char field[64];
        (void)snprintf(field, sizeof field, "%s.%s", list, tc_stat_names[i]);
        if (!tc_result_known(row, mean_column + i)) {
            tc_map_put(row, mean_column + i, tc__stats_at(stats, (enum tc_stat)i), "s", field,
                       tc_map_measures(mean_column), NOTE_COMPUTED);
        }
    }
}

static void count_requests(struct tc_result_row *row, const struct details *d)
{
    if (!d->errors.there || d->requests == 0) {
        return;
    }
    const struct tc_definition *counted =
        tc_result_define(row->result, "errors", "requests", "requests", "requests",
                         "counted by tracecore in the list");
    if (!tc_result_known(row, TC_SERVING_ERRORS)) {
        tc_result_int(row, TC_SERVING_ERRORS, d->failed, counted);
    }
    if (!tc_result_known(row, TC_SERVING_REQUESTS)) {
        tc_result_int(row, TC_SERVING_REQUESTS, d->requests, counted);
    }
}

static tc_status first_failure(const struct details *d)
{
    const struct tc__stats *const all[] = {&d->ttft, &d->itl, &d->e2e, &d->tpot};
    for (size_t i = 0; i < TC_COUNT(all); i++) {
        if (all[i]->status != TC_OK) {
            return all[i]->status;
        }
    }
    return TC_OK;
}

tc_status tc_serving_details(struct tc_result_row *row, struct tc_json o, struct tc_error *err)
{
    struct details d = {
        .ttfts = list_of(o, "ttfts"),
        .itls = list_of(o, "itls"),
        .latencies = list_of(o, "latencies"),
        .lengths = list_of(o, "output_lens"),
        .errors = list_of(o, "errors"),
        .inputs = list_of(o, "input_lens"),
        .starts = list_of(o, "start_times"),
        .row = row,
    };
    if (!d.ttfts.there || row == NULL) {
        return TC_OK;
    }
    (void)snprintf(d.where, sizeof d.where, "%.*s/ttfts", TC_FMT(row->where));
    while (take_request(&d)) {
    }
    note_lengths(&d);
    tc_status status = first_failure(&d);
    int64_t completed = tc_result_get_int(row, TC_SERVING_COMPLETED);
    if (status == TC_OK && tc_result_known(row, TC_SERVING_COMPLETED) &&
        completed != (int64_t)d.ttft.count) {
        tc_result_note(row->result, false, row->where, "ttfts",
                       "has %zu requests that succeeded, the summary has %lld: not used",
                       d.ttft.count, (long long)completed);
    } else if (status == TC_OK) {
        fill(row, &d.ttft, TC_SERVING_TTFT_MEAN, "ttfts");
        fill(row, &d.itl, TC_SERVING_ITL_MEAN, "itls");
        fill(row, &d.e2e, TC_SERVING_E2E_MEAN, "latencies");
        fill(row, &d.tpot, TC_SERVING_TPOT_MEAN, "latencies-ttfts");
        count_requests(row, &d);
    } else {
        status = tc_fail(err, status, 0, "no room for the values of the requests");
    }
    tc__stats_fini(&d.ttft);
    tc__stats_fini(&d.itl);
    tc__stats_fini(&d.e2e);
    tc__stats_fini(&d.tpot);
    return status;
}
