/* SPDX-License-Identifier: Apache-2.0 */
#include "result/aiperf/priv.h"

#include <stdio.h>

/* More than anyone varies. */
#define COMBINATIONS_MAX 4096
#define POINT_MAX 256
#define NOTE_MEAN "the mean over several runs"

bool tc__aiperf_is_sweep(struct tc_json root)
{
    return tc_map_has(root, TC__AIPERF_REPEATED) || tc_map_has(root, TC__AIPERF_SWEEP);
}

/* "phases.profiling.concurrency" is concurrency. */
static struct tc_slice leaf(struct tc_slice name)
{
    size_t dot = 0;
    while ((dot = tc_slice_find_byte(name, '.')) != TC_NPOS) {
        name = tc_slice_from(name, dot + 1);
    }
    return name;
}

/* What was varied: load and lengths into their places, the rest into the point. */
static struct tc_serving_point tell_parameters(struct tc_result_row *row, struct tc_json all,
                                               struct tc_buf *more)
{
    struct tc_serving_point p = {0};
    struct tc_json_iter it = tc_json_iter_make(all);
    struct tc_slice name;
    struct tc_json v;
    while (tc_json_iter_next(&it, &name, &v)) {
        double value = 0;
        struct tc_slice last = leaf(name);
        bool known = tc_map_number(v, &value);
        if (known && tc_slice_eq(last, TC_LIT("concurrency"))) {
            tc_result_real(row, TC_SERVING_CONCURRENCY, value, NULL);
        } else if (known && (tc_slice_eq(last, TC_LIT("request_rate")) ||
                             tc_slice_eq(last, TC_LIT("rate")))) {
            tc_result_real(row, TC_SERVING_REQUEST_RATE, value, NULL);
        } else if (known && tc_slice_eq(last, TC_LIT("isl"))) {
            p.input_tokens = value;
        } else if (known && tc_slice_eq(last, TC_LIT("osl"))) {
            p.output_tokens = value;
        } else {
            char key[64];
            (void)snprintf(key, sizeof key, "%.*s", TC_FMT(last));
            if (known) {
                tc_map_point_number(more, key, value);
            } else {
                tc_map_point_text(more, key, tc_map_string_at(v, ""));
            }
        }
    }
    p.more = tc_buf_slice(more);
    return p;
}

/* The column behind a latency's mean for "p99", or TC_MAP_NO_COLUMN. */
static size_t column_of(const struct tc_map_dist *dist, struct tc_slice statistic)
{
    for (size_t i = TC_STAT_MEAN; i <= TC_STAT_P99; i++) {
        if (tc_slice_eq(statistic, tc_slice_cstr(i == TC_STAT_MEAN ? "avg" : tc_stat_names[i]))) {
            return dist->column + i;
        }
    }
    return TC_MAP_NO_COLUMN;
}

/* "time_to_first_token_p99": {"mean": ..., "unit": "ms"}. */
static void put_flat(struct tc_result_row *row, struct tc_slice point, struct tc_slice key,
                     struct tc_json metric, double mean)

{
    struct tc_result *r = row->result;
    struct tc_slice unit = tc_map_string_at(metric, "unit");
    size_t at = key.len;
    while (at > 0 && key.ptr[at - 1] != '_') {
        at--;
    }
    struct tc_slice statistic = tc_slice_from(key, at);
    struct tc_slice name = at > 0 ? tc_slice_head(key, at - 1) : key;
    char field[128];
    (void)snprintf(field, sizeof field, "%.*s.mean", (int)(key.len < 96 ? key.len : 96), key.ptr);
    const struct tc_map_dist *dist = tc_metrics_dist(name);
    size_t column = dist == NULL ? TC_MAP_NO_COLUMN : column_of(dist, statistic);
    if (column != TC_MAP_NO_COLUMN) {
        tc_map_put(row, column, mean, unit.len > 0 ? tc_result_cstr(r, unit) : "ms", field,
                   tc_map_measures(dist->column), NOTE_MEAN);
        return;
    }
    bool average = tc_slice_eq(statistic, TC_LIT("avg"));
    if ((average && tc_metrics_put(row, name, unit, &mean, field, NOTE_MEAN)) ||
        tc_metrics_put(row, key, unit, &mean, field, NOTE_MEAN)) {
        return;
    }
    tc_map_slice_number(r, row->where, point, tc_result_cstr(r, key), "of several runs",
                        tc_result_cstr(r, unit), mean, NOTE_MEAN);
}

static void read_metrics(struct tc_result_row *row, struct tc_slice point, struct tc_json metrics)
{
    /* The deviation is that of the runs: none, of one. */
    tc_metrics_map(row, point, metrics, false);
    struct tc_json_iter it = tc_json_iter_make(metrics);
    struct tc_slice key;
    struct tc_json metric;
    struct tc_json v;
    double mean = 0;
    while (row != NULL && tc_json_iter_next(&it, &key, &metric)) {
        bool one_run = tc_map_at(metric, "avg|p50|p99", &v);
        if (!one_run && !tc_metrics_is_time(key) && tc_map_number_at(metric, "mean", &mean)) {
            put_flat(row, point, key, metric, mean);
        }
    }
}

static tc_status read_combination(struct tc_result *r, struct tc_json one, const char *where,
                                  struct tc_serving_common *common, struct tc_error *err)
{
    struct tc_json parameters;
    struct tc_json metrics;
    char data[POINT_MAX];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    struct tc_serving_point p = {0};
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", where);
    if (row != NULL && tc_map_at(one, "parameters", &parameters)) {
        p = tell_parameters(row, parameters, &more);
    }
    struct tc_slice point = tc_serving_set_point(row, &p);
    tc_serving_common_add(common, &p);
    if (tc_map_at(one, "metrics", &metrics)) {
        read_metrics(row, point, metrics);
    }
    tc_metrics_requests(row);
    if (tc_result_known(row, TC_SERVING_COMPLETED)) {
        TC_TRY(tc_serving_completed(row, "request_count", err));
    }
    return TC_OK;
}

static tc_status read_combinations(struct tc_result *r, struct tc_json root,
                                   struct tc_serving_common *common, struct tc_error *err)
{
    struct tc_json list;
    struct tc_json one;
    if (tc_map_has(root, TC__AIPERF_REPEATED)) {
        return read_combination(r, root, "", common, err);
    }
    if (!tc_map_at(root, "per_combination_metrics", &list)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no 'per_combination_metrics' in the sweep");
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &one); i++) {
        char where[64];
        if (i == COMBINATIONS_MAX) {
            return tc_fail(err, TC_E_LIMIT, 0, "more than %d combinations in a sweep",
                           COMBINATIONS_MAX);
        }
        (void)snprintf(where, sizeof where, "/per_combination_metrics/%zu", i);
        TC_TRY(read_combination(r, one, where, common, err));
    }
    return TC_OK;
}

tc_status tc__aiperf_read_sweep(struct tc_result *r, struct tc_json root, struct tc_error *err)
{
    struct tc_serving_common common = {0};
    TC_TRY(read_combinations(r, root, &common, err));
    tc_serving_common_tell(r, &common);
    struct tc_json failed;
    bool incomplete = tc_map_at(root, "failed_runs/0|metadata/failed_runs/0", &failed);
    if (incomplete) {
        tc_result_note(r, false, "", "failed_runs", "some of the runs failed");
    }
    tc_result_tool_version(r, tc_map_string_at(root, "aiperf_version"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        incomplete ? TC_LIT("incomplete") : TC_LIT("succeeded"));
    return TC_OK;
}
