/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of --profile-export-file (GenAI-Perf's profile_export.json too): experiments, each a
 * load with its requests: when it was sent, and when its responses came, in nanoseconds since 1970.
 * The distributions are computed here, over all requests of the file. How many tokens a response
 * has is not told, so there is no TPOT; the time to the first of several responses is the TTFT.
 */
#include "base/time.h"
#include "result/perf_analyzer/priv.h"
#include "result/stats_priv.h"

#include <stdio.h>

#define EXPERIMENTS_MAX 4096
#define MADE "computed by tracecore over the requests"
/* Before it a number of nanoseconds is none since 1970, but of a clock of its own. */
#define EPOCH_MIN_NS INT64_C(1000000000000000000)

enum group { TTFT, ITL, E2E, GROUPS };

static const struct {
    const char *field;
    const char *measures;
    const char *note;
    size_t column;
} GROUP_OF[GROUPS] = {
    {"first response - timestamp", "ttft", "of requests with several responses; " MADE,
     TC_SERVING_TTFT_MEAN},
    {"response gaps", "itl", "per gap between two responses, over all requests; " MADE,
     TC_SERVING_ITL_MEAN},
    {"last response - timestamp", "e2e", MADE, TC_SERVING_E2E_MEAN},
};

struct requests {
    struct tc__stats groups[GROUPS];
    int64_t completed;
    int64_t failed;
    int64_t first_ns;
    int64_t last_ns;
};

static tc_status bad_time(struct tc_error *err, const char *where, size_t index, const char *what)
{
    return tc_fail(err, TC_E_MALFORMED, 0, "%s/requests/%zu/%s: nanoseconds are needed", where,
                   index, what);
}

static bool read_time(struct tc_json v, int64_t *out)
{
    return tc_map_int_at(v, "", out) && *out >= 0 && *out < TC_TIME_MAX;
}

/* Whether a request says that it failed; else its responses tell. */
static bool says_failed(struct tc_json request)
{
    struct tc_json v;
    bool success = true;
    if (tc_map_at(request, "success", &v) && tc_json_bool(v, &success)) {
        return !success;
    }
    return tc_map_at(request, "error", &v);
}

static tc_status read_request(struct requests *q, struct tc_json request, const char *where,
                              size_t index, struct tc_error *err)
{
    struct tc_json v;
    struct tc_json times;
    int64_t start = 0;
    int64_t first = 0;
    int64_t last = 0;
    size_t count = 0;
    if (!tc_map_at(request, "timestamp", &v) || !read_time(v, &start)) {
        return bad_time(err, where, index, "timestamp");
    }
    if (says_failed(request) || !tc_map_at(request, "response_timestamps", &times) ||
        tc_json_type(times) != TC_JSON_ARRAY) {
        q->failed++;
        return TC_OK;
    }
    struct tc_json_iter it = tc_json_iter_make(times);
    while (tc_json_iter_next(&it, NULL, &v)) {
        int64_t at = 0;
        if (!read_time(v, &at)) {
            return bad_time(err, where, index, "response_timestamps");
        }
        if (count > 0) {
            tc__stats_add(&q->groups[ITL], (double)(at - last) / 1e6);
        }
        first = count == 0 ? at : first;
        last = at;
        count++;
    }
    if (count == 0) {
        q->failed++;
        return TC_OK;
    }
    q->first_ns = q->completed == 0 || start < q->first_ns ? start : q->first_ns;
    q->last_ns = q->completed == 0 || last > q->last_ns ? last : q->last_ns;
    q->completed++;
    tc__stats_add(&q->groups[E2E], (double)(last - start) / 1e6);
    if (count > 1) {
        tc__stats_add(&q->groups[TTFT], (double)(first - start) / 1e6);
    }
    return TC_OK;
}

static void put_group(struct tc_result_row *row, struct tc__stats *s, enum group g)
{
    char field[96];
    for (size_t i = TC_STAT_MEAN; s->count > 0 && i <= TC_STAT_P99; i++) {
        (void)snprintf(field, sizeof field, "%s.%s", GROUP_OF[g].field, tc_stat_names[i]);
        tc_map_put(row, GROUP_OF[g].column + i, tc__stats_at(s, (enum tc_stat)i), "ms", field,
                   GROUP_OF[g].measures, GROUP_OF[g].note);
    }
}

static void put_counts(struct tc_result_row *row, const struct requests *q)
{
    const struct tc_definition *counted = tc_result_define(
        row->result, "requests", "requests", "requests", "requests", "counted by tracecore");
    tc_result_int(row, TC_SERVING_REQUESTS, q->completed + q->failed, counted);
    tc_result_int(row, TC_SERVING_COMPLETED, q->completed, counted);
    tc_result_int(row, TC_SERVING_ERRORS, q->failed, counted);
    double seconds = q->completed == 0 ? 0 : (double)(q->last_ns - q->first_ns) / 1e9;
    if (seconds > 0) {
        tc_map_put(row, TC_SERVING_DURATION_S, seconds, "s", "last response - first timestamp",
                   "duration", MADE);
        tc_map_put(row, TC_SERVING_REQUESTS_PER_S, (double)q->completed / seconds, "requests/s",
                   "requests/duration", "request_throughput", MADE);
    }
    if (q->completed > 0 && q->first_ns >= EPOCH_MIN_NS) {
        tc_serving_times(row, q->first_ns, q->last_ns);
    }
}

static void put_load(struct tc_result_row *row, struct tc_json experiment)
{
    struct tc_slice mode = tc_map_string_at(experiment, "experiment/mode");
    double value = 0;
    if (tc_map_number_at(experiment, "experiment/value", &value)) {
        bool rate = tc_slice_eq(mode, TC_LIT("request_rate"));
        tc_serving_asked(row, rate ? 0 : value, rate ? value : 0);
    }
}

static tc_status read_requests(struct requests *q, struct tc_json experiment, const char *where,
                               struct tc_error *err)
{
    struct tc_json list;
    struct tc_json request;
    if (!tc_map_at(experiment, "requests", &list)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s/requests: a list is needed", where);
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &request); i++) {
        TC_TRY(read_request(q, request, where, i, err));
    }
    for (size_t g = 0; g < GROUPS; g++) {
        if (q->groups[g].status != TC_OK) {
            return tc_fail(err, q->groups[g].status, 0, "%s: too many responses", where);
        }
    }
    return TC_OK;
}

static tc_status read_experiment(struct tc_result *r, struct tc_json experiment, size_t index,
                                 struct tc_error *err)
{
    struct requests q = {.completed = 0};
    char where[48];
    (void)snprintf(where, sizeof where, "/experiments/%zu", index);
    tc_status status = read_requests(&q, experiment, where, err);
    if (status == TC_OK) {
        struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
        if (row != NULL) {
            put_load(row, experiment);
            put_counts(row, &q);
            for (size_t g = 0; g < GROUPS; g++) {
                put_group(row, &q.groups[g], (enum group)g);
            }
        }
    }
    for (size_t g = 0; g < GROUPS; g++) {
        tc__stats_fini(&q.groups[g]);
    }
    return status;
}

tc_status tc__perf_analyzer_read_export(const struct tc_result_input *in, struct tc_result *r,
                                        struct tc_error *err)
{
    struct tc_json list;
    struct tc_json experiment;
    if (!tc_map_at(in->root, "experiments", &list)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "/experiments: a list is needed");
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &experiment); i++) {
        if (i == EXPERIMENTS_MAX) {
            return tc_fail(err, TC_E_LIMIT, 0, "more than %d experiments in a file",
                           EXPERIMENTS_MAX);
        }
        TC_TRY(read_experiment(r, experiment, i, err));
    }
    tc_result_tool_version(r, tc_map_string_at(in->root, "version"));
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL,
                        tc_map_string_at(in->root, "service_kind"));
    return TC_OK;
}
