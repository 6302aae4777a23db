/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of vLLM's --save-detailed and SGLang's --output-details: one element per request, in
 * seconds. They give the percentiles that the summary lacks, and the number of failures where the
 * summary does not count them.
 */
#include "result/map_serving.h"
#include "result/stats_priv.h"

#include <stdio.h>

#define NOTE_COMPUTED "computed by tracecore over the requests that succeeded"

/* A list that may not be there. */
struct list {
    bool there;
    struct tc_json_iter it;
};

/* The lists, walked side by side, and what they hold. */
struct details {
    struct list ttfts;
    struct list itls;
    struct list latencies;
    struct list lengths;
    struct list errors;
    int64_t requests;
    int64_t failed;
    struct tc__stats ttft;
    struct tc__stats itl;
    struct tc__stats e2e;
    struct tc__stats tpot;
};

static struct list list_of(struct tc_json o, const char *key)
{
    struct list list = {.there = false};
    struct tc_json v;
    if (tc_map_at(o, key, &v) && tc_json_type(v) == TC_JSON_ARRAY) {
        list = (struct list){.there = true, .it = tc_json_iter_make(v)};
    }
    return list;
}

static bool next(struct list *list, struct tc_json *out)
{
    return list->there && tc_json_iter_next(&list->it, NULL, out);
}

static bool next_number(struct list *list, double *out)
{
    struct tc_json v;
    return next(list, &v) && tc_map_number(v, out);
}

/* One request; false at the end of the first list. */
static bool take_request(struct details *d)
{
    struct tc_json v;
    struct tc_json gaps;
    double ttft = 0;
    double latency = 0;
    double length = 0;
    struct tc_slice error = TC_EMPTY;
    if (!next(&d->ttfts, &v)) {
        return false;
    }
    d->requests++;
    bool has_ttft = tc_map_number(v, &ttft);
    bool has_gaps = next(&d->itls, &gaps);
    bool has_latency = next_number(&d->latencies, &latency);
    bool has_length = next_number(&d->lengths, &length);
    if (next(&d->errors, &v)) {
        (void)tc_json_string(v, &error);
    }
    /* Where the errors are not told, 0 is the mark of a request that gave nothing. */
    if (error.len > 0 || !has_ttft || (ttft == 0 && !d->errors.there)) {
        d->failed++;
        return true;
    }
    tc__stats_add(&d->ttft, ttft);
    if (has_gaps) {
        tc__stats_add_json(&d->itl, gaps, 1);
    }
    if (has_latency) {
        tc__stats_add(&d->e2e, latency);
    }
    if (has_latency && has_length && length > 1) {
        tc__stats_add(&d->tpot, (latency - ttft) / (length - 1));
    }
    return true;
}

static void fill(struct tc_result_row *row, struct tc__stats *stats, size_t mean_column,
                 const char *list)
{
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
    };
    if (!d.ttfts.there || row == NULL) {
        return TC_OK;
    }
    while (take_request(&d)) {
    }
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
