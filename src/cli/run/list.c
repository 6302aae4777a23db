/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore run list`: the runs, newest first. */
#include "base/format.h"
#include "cli/command.h"
#include "cli/run/run.h"
#include "cli/say.h"
#include "cli/since.h"

#include <string.h>

#define LIMIT_DEFAULT 50
#define BINDS_MAX 4
#define ID_LEN (sizeof "run-0123456789abcdef" - 1)

/* The columns of the query. */
enum {
    LIST_ID,
    LIST_NAME,
    LIST_CLASS,
    LIST_TYPE,
    LIST_STATUS,
    LIST_STARTED,
    LIST_ADDED,
    LIST_POINTS,
    LIST_GROUP,
    LIST_REPLICATE,
    LIST_PUBLISHABLE,
    LIST_INCIDENTS,
};

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
    char sql[2048];
    struct tc_bind binds[BINDS_MAX];
    size_t bind_count;
    uint64_t limit; /* 0: all */
};

static void where(struct wish *w, const char *condition, struct tc_bind bind)
{
    struct tc_buf b = tc_buf_make(w->sql, sizeof w->sql - 1);
    b.len = strlen(w->sql);
    (void)tc_format(&b, "{}{}", w->bind_count == 0 ? "WHERE " : "AND ", condition);
    w->sql[b.len] = '\0';
    w->binds[w->bind_count++] = bind;
}

static struct tc_bind text_bind(const char *text)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(text)};
}

/* False when something is wrong with the arguments, which was said. */
static bool make_wish(const struct tc_run_args *args, struct wish *w)
{
    int64_t since = 0;
    *w = (struct wish){.sql = SELECT_RUNS, .limit = LIMIT_DEFAULT};
    if (args->name != NULL) {
        where(w, "r.name = ? ", text_bind(args->name));
    }
    if (args->benchmark_class != NULL &&
        !tc_slice_is_any(tc_slice_cstr(args->benchmark_class), "exploratory", "publication_grade",
                         "realism_grade")) {
        tc_say("run", "--class takes exploratory, publication_grade or realism_grade, not \"%s\"",
               args->benchmark_class);
        return false;
    }
    if (args->benchmark_class != NULL) {
        where(w, "r.benchmark_class = ? ", text_bind(args->benchmark_class));
    }
    if (args->since != NULL) {
        if (!tc_since_parse(args->since, &since)) {
            tc_say("run",
                   "--since takes a time such as 2026-11-15T03:00:00Z or how long ago, such as 15m "
                   "or 2h, not \"%s\"",
                   args->since);
            return false;
        }
        where(w, "r.added_at >= ? ",
              (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = since / 1000});
    }
    if (args->limit != NULL && !tc_slice_is_u64(tc_slice_cstr(args->limit), &w->limit)) {
        tc_say("run", "--limit takes a number, 0 for all, not \"%s\"", args->limit);
        return false;
    }
    struct tc_buf b = tc_buf_make(w->sql, sizeof w->sql - 1);
    b.len = strlen(w->sql);
    tc_buf_lit(&b, "ORDER BY r.added_at DESC, r.run_id");
    w->sql[b.len] = '\0';
    return true;
}

/* Ids that are digests are short for people: the start of one is enough for `run show`. */
#define ID_SHOWN 12

static void put_cell(struct tc_text_table *t, const struct tc_answer *s, size_t row, size_t column)
{
    struct tc_grow g = {0};
    tc_answer_value(&g, s, row, column);
    struct tc_slice text = tc_grow_slice(&g);
    if (column == LIST_ID && text.len == ID_LEN && tc_slice_starts(text, TC_LIT("run-"))) {
        text = tc_slice_head(text, ID_SHOWN);
    } else if (column == LIST_CLASS && tc_slice_ends(text, TC_LIT("_grade"))) {
        text = tc_slice_head(text, text.len - sizeof "_grade" + 1);
    } else if (column == LIST_STARTED) {
        text = tc_slice_head(text, sizeof "2026-11-16" - 1);
    }
    t->failed |= g.failed;
    tc_text_table_cell(t, text);
    tc_grow_fini(&g);
}

static void put_table(struct tc_grow *g, const struct tc_answer *s, size_t count)
{
    static const struct {
        const char *head;
        size_t column;
        bool right;
    } columns[] = {
        {"run", LIST_ID, false},          {"name", LIST_NAME, false},
        {"class", LIST_CLASS, false},     {"status", LIST_STATUS, false},
        {"started", LIST_STARTED, false}, {"incidents", LIST_INCIDENTS, true},
        {"points", LIST_POINTS, true},    {"rep", LIST_REPLICATE, true},
        {"type", LIST_TYPE, false},
    };
    bool any = false;
    for (size_t row = 0; row < count; row++) {
        any = any || tc_answer_int(s, row, LIST_INCIDENTS) > 0;
    }
    struct tc_text_table t = {.flexible = 1, .flexible_min = 14};
    size_t used[TC_COUNT(columns)];
    for (size_t c = 0; c < TC_COUNT(columns); c++) {
        if (any || columns[c].column != LIST_INCIDENTS) {
            used[t.column_count] = columns[c].column;
            t.heads[t.column_count] = columns[c].head;
            t.right[t.column_count++] = columns[c].right;
        }
    }
    for (size_t row = 0; row < count; row++) {
        for (size_t c = 0; c < t.column_count; c++) {
            put_cell(&t, s, row, used[c]);
        }
    }
    (void)tc_text_table_print(&t, g, "");
    tc_text_table_fini(&t);
}

static int print_list(const struct tc_run_args *args, const struct wish *w,
                      const struct tc_answer *s)
{
    struct tc_grow g = {0};
    size_t count = w->limit == 0 || s->row_count < w->limit ? s->row_count : (size_t)w->limit;
    size_t left = s->row_count - count;
    if (args->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        for (size_t row = 0; row < count; row++) {
            tc_answer_row_json(&j, s, row);
            (void)tc_json_done_line(&j);
        }
    } else if (count > 0) {
        put_table(&g, s, count);
    }
    if (count == 0) {
        tc_say("run", "%s",
               w->bind_count > 0 ? "no run is like that"
                                 : "there is no run yet; add one with `tracecore run add`");
    } else if (left > 0) {
        tc_say("run", "%s%zu more; --limit 0 shows all", s->cut ? "more than " : "", left);
    }
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

int tc_run_list(const struct tc_run_args *args)
{
    struct wish w;
    struct tc_answer s;
    struct tc_error err = {0};
    if (!make_wish(args, &w)) {
        return tc_command_misused(&tc_command_run);
    }
    struct tc_warehouse *warehouse = tc_run_open(args);
    if (warehouse == NULL) {
        return TC_EXIT_BAD;
    }
    int code = TC_EXIT_BAD;
    if (tc_answer_query(warehouse, w.sql, w.binds, w.bind_count, &s, &err) != TC_OK) {
        tc_say("run", "%s", err.message);
    } else {
        code = print_list(args, &w, &s);
        tc_answer_fini(&s);
    }
    tc_warehouse_close(warehouse);
    return code;
}
