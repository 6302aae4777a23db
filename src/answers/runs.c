/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/runs.h"
#include "answers/cursor.h"
#include "answers/question.h"
#include "base/format.h"

#define BINDS_MAX 6

#define SELECT_RUNS                                                                               \
    "SELECT r.run_id AS run_id, r.name AS name, r.benchmark_class AS benchmark_class, "           \
    "r.workload_type AS workload_type, r.status AS status, r.started_at AS started_at, "          \
    "r.added_at AS added_at, "                                                                    \
    "CASE WHEN s.points IS NULL THEN 0 ELSE s.points END + "                                      \
    "CASE WHEN t.points IS NULL THEN 0 ELSE t.points END AS points, "                             \
    "r.replicate_group AS replicate_group, r.replicate_index AS replicate_index, "                \
    "r.publishable AS publishable, "                                                              \
    "CASE WHEN v.incidents IS NULL THEN 0 ELSE v.incidents END AS incidents "                     \
    "FROM benchmark_run_fact r "                                                                  \
    "LEFT JOIN (SELECT run_id, count(*) AS points FROM serving_outcome_fact GROUP BY run_id) s "  \
    "ON s.run_id = r.run_id "                                                                     \
    "LEFT JOIN (SELECT run_id, count(*) AS points FROM training_outcome_fact GROUP BY run_id) t " \
    "ON t.run_id = r.run_id "                                                                     \
    "LEFT JOIN (SELECT run_id, count(DISTINCT incident_id) AS incidents FROM verdict_fact "       \
    "WHERE run_id IS NOT NULL GROUP BY run_id) v ON v.run_id = r.run_id "

struct wish {
    struct tc_grow sql;
    struct tc_bind binds[BINDS_MAX];
    size_t bind_count;
    size_t conditions;
};

static void where(struct wish *w, const char *condition)
{
    tc_grow_format(&w->sql, "{}{} ", w->conditions++ == 0 ? "WHERE " : "AND ", condition);
}

static void bind_text(struct wish *w, struct tc_slice text)
{
    w->binds[w->bind_count++] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = text};
}

static void bind_time(struct wish *w, int64_t us)
{
    w->binds[w->bind_count++] = (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = us};
}

static void make_wish(const struct tc_runs_want *want, struct wish *w)
{
    tc_grow_lit(&w->sql, SELECT_RUNS);
    if (want->name.len > 0) {
        where(w, "r.name = ?");
        bind_text(w, want->name);
    }
    if (want->benchmark_class.len > 0) {
        where(w, "r.benchmark_class = ?");
        bind_text(w, want->benchmark_class);
    }
    if (want->has_since) {
        where(w, "r.added_at >= ?");
        bind_time(w, want->since_us);
    }
    if (want->after_id.len > 0) {
        where(w, "(r.added_at < ? OR (r.added_at = ? AND r.run_id > ?))");
        bind_time(w, want->after_us);
        bind_time(w, want->after_us);
        bind_text(w, want->after_id);
    }
    tc_grow_lit(&w->sql, "ORDER BY r.added_at DESC, r.run_id");
    if (want->rows_max > 0) {
        tc_grow_format(&w->sql, " LIMIT {}", want->rows_max);
    }
}

tc_status tc_runs_list(struct tc_warehouse *w, const struct tc_runs_want *want,
                       struct tc_answer *out, struct tc_error *err)
{
    struct wish wish = {0};
    make_wish(want, &wish);
    struct tc_query query = {
        .sql = tc_grow_slice(&wish.sql), .binds = wish.binds, .bind_count = wish.bind_count};
    tc_status status = wish.sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the query")
                                       : tc_answer_ask(w, &query, out, err);
    tc_grow_fini(&wish.sql);
    return status;
}

/* ---- the question ---- */

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    const struct tc_param_value *since = tc_asked_value(asked, "since");
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_cursor after;
    struct tc_answer runs;
    TC_TRY(tc_cursor_read(asked, &after, err));
    struct tc_runs_want want = {.name = tc_asked_text(asked, "name"),
                                .benchmark_class = tc_asked_text(asked, "class"),
                                .has_since = since->is_given,
                                .since_us = since->count / 1000,
                                .after_us = after.at,
                                .after_id = after.key,
                                .rows_max = limit + 1};
    TC_TRY(tc_runs_list(asked->warehouse, &want, &runs, err));
    size_t count = runs.row_count < limit ? runs.row_count : limit;
    bool has_more = runs.row_count > limit;
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "runs");
    for (size_t row = 0; row < count; row++) {
        tc_answer_row_json(&j, &runs, row);
    }
    tc_json_end_array(&j);
    tc_cursor_put(&j, asked->question, has_more,
                  has_more ? tc_answer_int(&runs, count - 1, TC_RUNS_ADDED) : 0,
                  has_more ? tc_answer_text(&runs, count - 1, TC_RUNS_ID) : TC_EMPTY);
    (void)tc_json_end_line(&j);
    tc_answer_fini(&runs);
    return TC_OK;
}

static const struct tc_param PARAMS[] = {
    {.name = "name", .help = "Only runs of this name.", .kind = TC_PARAM_TEXT},
    {.name = "class",
     .help = "Only runs of this class of benchmark.",
     .kind = TC_PARAM_WORD,
     .words = TC_RUNS_CLASSES},
    {.name = "since", .help = "Only runs that were added then or later.", .kind = TC_PARAM_TIME},
    TC_PARAM_LIMIT("50", 1000),
    TC_PARAM_CURSOR,
};

static const struct tc_member MEMBERS[] = {
    {.name = "runs",
     .type = "array",
     .help = "Newest first: run_id, name, class, status, times, points, replicate, incidents."},
    TC_MEMBER_NEXT,
};

const struct tc_question tc_question_runs = {
    .name = "runs",
    .tool = "list_runs",
    .path = "/api/v1/runs",
    .summary = "list runs, newest first",
    .help = "Lists benchmark runs, newest first. Ask it to find the ids, names and replicate "
            "groups that the other questions take.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
