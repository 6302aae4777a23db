/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to be plotted: what runs measured at each point, and telemetry over time. */
#include "answers/question.h"
#include "base/format.h"
#include "compare/groups.h"
#include "diagnose/base.h"
#include "warehouse/answer.h"
#include "warehouse/sql_text.h"

#include <math.h>

/* Runs of a group whose points are given. */
#define RUNS_MAX 256

static tc_status ask(const struct tc_asked *asked, struct tc_grow *sql, const struct tc_bind *binds,
                     size_t bind_count, struct tc_answer *out, struct tc_error *err)
{
    struct tc_query query = {.sql = tc_grow_slice(sql),
                             .binds = binds,
                             .bind_count = bind_count,
                             .time_ns = asked->time_ns};
    tc_status status = sql->failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the query")
                                   : tc_answer_ask(asked->warehouse, &query, out, err);
    tc_grow_fini(sql);
    return status;
}

/* ---- points ---- */

#define SERVING                                                                                    \
    "SELECT run_id, tool, workload_point, concurrency, request_rate, started_at, ended_at, "       \
    "request_throughput, output_token_throughput, total_token_throughput, ttft_mean_ms, "          \
    "ttft_p50_ms, ttft_p90_ms, ttft_p95_ms, ttft_p99_ms, tpot_mean_ms, tpot_p50_ms, tpot_p99_ms, " \
    "itl_p50_ms, itl_p99_ms, e2e_mean_ms, e2e_p50_ms, e2e_p90_ms, e2e_p95_ms, e2e_p99_ms, "        \
    "queue_mean_ms, requests, errors, error_rate, goodput, cost_per_token_usd "                    \
    "FROM serving_outcome_fact WHERE run_id IN ("
#define TRAINING                                                                                   \
    "SELECT run_id, tool, phase, scale_point, gpus, started_at, ended_at, steps, "                 \
    "step_time_mean_ms, step_time_p50_ms, step_time_p95_ms, step_time_p99_ms, "                    \
    "tokens_per_second, tokens_per_second_per_gpu, samples_per_second, time_to_train_s, mfu_pct, " \
    "scaling_efficiency_pct, training_reliability_pct, restarts "                                  \
    "FROM training_outcome_fact WHERE run_id IN ("

static tc_status read_points(const struct tc_asked *asked, const struct tc_group *group,
                             const char *select, const char *order, struct tc_answer *out,
                             struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_grow sql = {0};
    tc_grow_str(&sql, tc_slice_cstr(select));
    for (size_t n = 0; n < group->run_count && n < RUNS_MAX; n++) {
        tc_grow_str(&sql, n > 0 ? TC_LIT(", ") : TC_EMPTY);
        tc_sql_put_text(&sql, tc_group_text(group, n, TC_GROUP_RUN_ID));
    }
    tc_grow_format(&sql, ") ORDER BY {} LIMIT {}", order, limit + 1);
    return ask(asked, &sql, NULL, 0, out, err);
}

/* Up to `limit` rows; whether there were more. */
static bool put_points(struct tc_json_out *j, const struct tc_answer *rows, size_t limit)
{
    tc_json_add_array(j);
    for (size_t row = 0; row < rows->row_count && row < limit; row++) {
        tc_answer_row_json(j, rows, row);
    }
    tc_json_end_array(j);
    return rows->row_count > limit;
}

static tc_status answer_group(const struct tc_asked *asked, const struct tc_group *group,
                              struct tc_reply *out, struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_answer serving;
    struct tc_answer training;
    TC_TRY(read_points(asked, group, SERVING,
                       "run_id, workload_point, concurrency, request_rate, tool", &serving, err));
    tc_status status =
        read_points(asked, group, TRAINING, "run_id, phase, scale_point, tool", &training, err);
    if (status != TC_OK) {
        tc_answer_fini(&serving);
        return status;
    }
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "runs");
    for (size_t n = 0; n < group->run_count && n < RUNS_MAX; n++) {
        tc_json_add_object(&j);
        tc_json_put_str(&j, "run_id", tc_group_text(group, n, TC_GROUP_RUN_ID));
        tc_json_put_str_or_null(&j, "name", tc_group_text(group, n, TC_GROUP_RUN_NAME));
        tc_json_put_str_or_null(&j, "replicate_group",
                                tc_group_text(group, n, TC_GROUP_REPLICATE_GROUP));
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    tc_json_key(&j, "serving");
    bool more = put_points(&j, &serving, limit);
    tc_json_key(&j, "training");
    more = put_points(&j, &training, limit) || more;
    tc_json_put_bool(&j, "truncated", more || group->run_count > RUNS_MAX);
    (void)tc_json_end_line(&j);
    tc_answer_fini(&serving);
    tc_answer_fini(&training);
    return TC_OK;
}

static tc_status answer_points(const struct tc_asked *asked, struct tc_reply *out,
                               struct tc_error *err)
{
    struct tc_group group;
    TC_TRY(tc_group_find(asked->warehouse, tc_asked_text(asked, "run"), TC_GROUP_WITH_FAILED,
                         &group, err));
    tc_status status = answer_group(asked, &group, out, err);
    tc_group_fini(&group);
    return status;
}

static const struct tc_param POINTS_PARAMS[] = {
    {.name = "run",
     .help = "A run's id, a replicate group, a name (all its runs), or an SQL condition.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    {.name = "limit",
     .help = "At most so many points of serving, and of training.",
     .kind = TC_PARAM_COUNT,
     .standard = "1000",
     .least = 1,
     .most = 10000},
};

static const struct tc_member POINTS_MEMBERS[] = {
    {.name = "runs", .type = "array", .help = "The runs that are meant."},
    {.name = "serving",
     .type = "array",
     .help = "Per run and point: concurrency, throughput and latencies."},
    {.name = "training",
     .type = "array",
     .help = "Per run, phase and scale: step times and throughput."},
    {.name = "truncated", .type = "boolean", .help = "There are more."},
};

const struct tc_question tc_question_points = {
    .name = "points",
    .path = "/api/v1/runs/{run}/points",
    .summary = "what runs measured at each workload point",
    .help = "The outcomes of a run or a group at each workload point, for curves of latency "
            "against throughput over concurrency.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = POINTS_PARAMS,
    .param_count = TC_COUNT(POINTS_PARAMS),
    .members = POINTS_MEMBERS,
    .member_count = TC_COUNT(POINTS_MEMBERS),
    .answer = answer_points,
};

/* ---- telemetry over time ---- */

enum {
    SLICE_FAMILY,
    SLICE_METRIC,
    SLICE_UNIT,
    SLICE_NODE,
    SLICE_GPU,
    SLICE_RANK,
    SLICE_POINT,
    SLICE_START,
    SLICE_VALUE,
    SLICE_LOW,
    SLICE_HIGH,
};

#define SLICES                                                                                   \
    "SELECT family, metric, unit, node_name, gpu_uuid, rank_id, point, window_start, CASE WHEN " \
    "mean IS NULL THEN last ELSE mean END AS value, CASE WHEN min IS NULL THEN last ELSE min "   \
    "END AS low, CASE WHEN max IS NULL THEN last ELSE max END AS high FROM "                     \
    "telemetry_slice_fact WHERE run_id = ? AND metric = ? AND window_start IS NOT NULL "

static tc_status read_slices(const struct tc_asked *asked, struct tc_slice run_id,
                             struct tc_answer *out, struct tc_error *err)
{
    static const struct {
        const char *param;
        const char *where;
    } filters[] = {{"family", "AND family = ? "},
                   {"node", "AND node_name = ? "},
                   {"gpu", "AND gpu_uuid = ? "}};
    struct tc_bind binds[2 + TC_COUNT(filters)] = {
        {.type = TC_COLUMN_TEXT, .as.text = run_id},
        {.type = TC_COLUMN_TEXT, .as.text = tc_asked_text(asked, "metric")},
    };
    size_t count = 2;
    struct tc_grow sql = {0};
    tc_grow_lit(&sql, SLICES);
    for (size_t n = 0; n < TC_COUNT(filters); n++) {
        struct tc_slice value = tc_asked_text(asked, filters[n].param);
        if (value.len > 0) {
            tc_grow_str(&sql, tc_slice_cstr(filters[n].where));
            binds[count++] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = value};
        }
    }
    tc_grow_format(&sql,
                   "ORDER BY family, node_name, gpu_uuid, rank_id, point, window_start LIMIT {}",
                   (size_t)TC_ANSWER_ROWS_MAX);
    return ask(asked, &sql, binds, count, out, err);
}

/* Whether two rows are of one series. */
static bool same_series(const struct tc_answer *s, size_t a, size_t b)
{
    for (size_t c = SLICE_FAMILY; c <= SLICE_POINT; c++) {
        if (!tc_answer_same(s, a, s, b, c)) {
            return false;
        }
    }
    return true;
}

/* Behind the last row of the series that begins at `row`. */
static size_t series_end(const struct tc_answer *s, size_t row)
{
    size_t end = row + 1;
    while (end < s->row_count && same_series(s, row, end)) {
        end++;
    }
    return end;
}

/* Rows from `from` to `to` as one point: their first time, mean, lowest and highest. */
static void put_point(struct tc_json_out *j, const struct tc_answer *s, size_t from, size_t to)
{
    double sum = 0;
    double low = (double)NAN;
    double high = (double)NAN;
    size_t count = 0;
    for (size_t row = from; row < to; row++) {
        if (tc_answer_known(s, row, SLICE_VALUE)) {
            sum += tc_answer_real(s, row, SLICE_VALUE);
            count++;
        }
        if (tc_answer_known(s, row, SLICE_LOW)) {
            low = fmin(low, tc_answer_real(s, row, SLICE_LOW));
            high = fmax(high, tc_answer_real(s, row, SLICE_HIGH));
        }
    }
    tc_json_add_array(j);
    tc_json_add_i64(j, tc_answer_int(s, from, SLICE_START) / 1000);
    tc_json_add_f64(j, count == 0 ? (double)NAN : sum / (double)count);
    tc_json_add_f64(j, low);
    tc_json_add_f64(j, high);
    tc_json_end_array(j);
}

static void put_series(struct tc_json_out *j, const struct tc_answer *s, size_t from, size_t to,
                       size_t points)
{
    static const struct {
        const char *key;
        size_t column;
    } texts[] = {{"family", SLICE_FAMILY}, {"metric", SLICE_METRIC}, {"unit", SLICE_UNIT},
                 {"node", SLICE_NODE},     {"gpu", SLICE_GPU},       {"point", SLICE_POINT}};
    /* As many slices a point that there are no more than asked for. */
    size_t each = (to - from + points - 1) / points;
    tc_json_add_object(j);
    for (size_t n = 0; n < TC_COUNT(texts); n++) {
        tc_json_key_plain(j, tc_slice_cstr(texts[n].key));
        tc_json_add_str_or_null(j, tc_answer_text(s, from, texts[n].column));
    }
    tc_json_key(j, "rank");
    if (tc_answer_known(s, from, SLICE_RANK)) {
        tc_json_add_i64(j, tc_answer_int(s, from, SLICE_RANK));
    } else {
        tc_json_add_null(j);
    }
    tc_json_put_u64(j, "slices", to - from);
    tc_json_put_array(j, "points");
    for (size_t row = from; row < to; row += each) {
        put_point(j, s, row, row + each < to ? row + each : to);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static tc_status answer_run(const struct tc_asked *asked, struct tc_slice run_id,
                            struct tc_reply *out, struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    size_t points = (size_t)tc_asked_value(asked, "points")->count;
    struct tc_answer rows;
    size_t count = 0;
    size_t row = 0;
    TC_TRY(read_slices(asked, run_id, &rows, err));
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_str(&j, "run_id", run_id);
    tc_json_put_str(&j, "metric", tc_asked_text(asked, "metric"));
    tc_json_put_array(&j, "series");
    for (; row < rows.row_count && count < limit; count++) {
        size_t end = series_end(&rows, row);
        put_series(&j, &rows, row, end, points);
        row = end;
    }
    tc_json_end_array(&j);
    tc_json_put_bool(&j, "truncated", row < rows.row_count || rows.row_count == TC_ANSWER_ROWS_MAX);
    (void)tc_json_end_line(&j);
    tc_answer_fini(&rows);
    return TC_OK;
}

static tc_status answer_slices(const struct tc_asked *asked, struct tc_reply *out,
                               struct tc_error *err)
{
    struct tc_group run;
    TC_TRY(tc_one_run_find(asked->warehouse, tc_asked_text(asked, "run"), &run, err));
    tc_status status = answer_run(asked, tc_group_text(&run, 0, TC_GROUP_RUN_ID), out, err);
    tc_group_fini(&run);
    return status;
}

static const struct tc_param SLICES_PARAMS[] = {
    {.name = "run",
     .help = "The run: its id, the start of one, or its name.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    {.name = "metric",
     .help = "The metric by its whole name; `telemetry` of the run lists them.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "family", .help = "Only of this family, as dcgm.", .kind = TC_PARAM_TEXT},
    {.name = "node", .help = "Only of this node.", .kind = TC_PARAM_TEXT},
    {.name = "gpu", .help = "Only of the GPU with this UUID.", .kind = TC_PARAM_TEXT},
    {.name = "points",
     .help = "At most so many points a series; more slices are put together.",
     .kind = TC_PARAM_COUNT,
     .standard = "300",
     .least = 1,
     .most = 5000},
    {.name = "limit",
     .help = "At most so many series.",
     .kind = TC_PARAM_COUNT,
     .standard = "64",
     .least = 1,
     .most = 1000},
};

static const struct tc_member SLICES_MEMBERS[] = {
    {.name = "run_id", .type = "string", .help = "The run."},
    {.name = "metric", .type = "string", .help = "The metric."},
    {.name = "series",
     .type = "array",
     .help = "Each with its family, unit, node, GPU, rank and point, and its points as "
             "[milliseconds since 1970, mean, lowest, highest]."},
    {.name = "truncated", .type = "boolean", .help = "There are more series, or more slices."},
};

const struct tc_question tc_question_slices = {
    .name = "slices",
    .path = "/api/v1/runs/{run}/series",
    .summary = "telemetry of a run over time",
    .help = "One metric of a run's telemetry over time, a series per node, GPU, rank and device.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = SLICES_PARAMS,
    .param_count = TC_COUNT(SLICES_PARAMS),
    .members = SLICES_MEMBERS,
    .member_count = TC_COUNT(SLICES_MEMBERS),
    .answer = answer_slices,
};
